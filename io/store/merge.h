/*
 * Merging the runs of one or several .kc files, k-mer by k-mer, in order.
 *
 * A tree of two-way merges (kmer/join.h); its leaves are walks over runs.
 */
#ifndef KC_IO_STORE_MERGE_H
#define KC_IO_STORE_MERGE_H

#include "io/store/join.h"

struct kc_merge;

/* Whether a <= b; without a branch for k-mers of one or two words, because which of two comes first
 * is unpredictable. */
static inline __attribute__((always_inline)) bool kc_kmer_is_at_most(const uint64_t *a,
                                                                     const uint64_t *b, int nwords)
{
        if (nwords == 1)
                return *a <= *b;
        if (nwords == 2)
                return (a[1] < b[1]) | ((a[1] == b[1]) & (a[0] <= b[0]));
        return kc_kmer_compare(a, b, nwords) <= 0;
}

/* A store by itself: its runs merged. */
static inline struct kc_set kc_set_of_one(struct kc_store *const *store)
{
        return (struct kc_set){ store, 1, KC_SET_UNION, KC_RULE_SUM };
}

/* The bytes that a merge of nruns runs takes, with k-mers of nwords words. */
size_t kc_merge_nbytes(size_t nruns, int nwords);

/*
 * Make the tree. All stores have the same k and strands (kc_set_check), and outlive the merge. A
 * merge serves one thread; several may merge the same stores. Call kc_merge_range before the first
 * kc_merge_next. KC_ECORRUPT, KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_merge_open(struct kc_merge **merge, const struct kc_set *set,
                             struct kc_error *err);
void kc_merge_close(struct kc_merge *merge); /* NULL is fine */

/* Begin at from and go up to and including to; NULL: no bound. Both must outlive the walk over the
 * range. */
enum kc_status kc_merge_range(struct kc_merge *merge, const uint64_t *from, const uint64_t *to,
                              struct kc_error *err);

/*
 * The next pairs, ascending: *kmers [*n * nwords] and *counts [*n] are owned by the merge and valid
 * until the next call; *n = 0 at the end. KC_ECORRUPT, KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_merge_next(struct kc_merge *merge, const uint64_t **kmers,
                             const uint32_t **counts, size_t *n, struct kc_error *err);

/* Totals of all ranges since the merge was opened; owned by the merge. */
const struct kc_join_totals *kc_merge_get_totals(const struct kc_merge *merge);

#endif
