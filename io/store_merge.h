/*
 * Merging: the runs of one .kc file or of several, k-mer by k-mer, in order.
 *
 * A tree of two-way merges. The leaves are walks over runs; below the node that stands for a file,
 * nodes join older runs with newer ones, and above it, files by a rule:
 *
 *                    rule                       An item is a k-mer and a value of 64 bits:
 *                   /    \
 *              file A    file B                 | removed | had | mark 14 | sum of counts 48 |
 *              /    \       |
 *           runs   run    run                   removed  a tombstone hides what is older
 *           0, 1    2      0                    had      it hid counts
 *                                               mark     which files have the k-mer
 *
 * Joining is associative (a newer item that says "removed" replaces an older one, else sums add
 * up), so the tree may be balanced; the marks add up to what tells the presence in each file.
 * Sums are cut off at UINT32_MAX at the end, or at each file where the rule is none of adding.
 */
#ifndef KC_STORE_MERGE_H
#define KC_STORE_MERGE_H

#include "io/store_file.h"

struct kc_merge;

/* A store by itself: its runs merged. */
static inline struct kc_set kc_set_of_one(struct kc_store *const *store)
{
        return (struct kc_set){ store, 1, KC_SET_UNION, KC_RULE_SUM };
}

/* What went in and did not come out; of all ranges since the merge was opened. */
struct kc_merge_totals {
        uint64_t nread;             /* sum of counts read, without tombstones */
        uint64_t nkept;             /* sum of counts given */
        uint64_t nsaturated;        /* cut off sums above UINT32_MAX (by rules that add) */
        uint64_t nremoved;          /* sum of counts that tombstones hid */
        uint64_t ndropped_distinct; /* k-mers of a file that its tombstones removed, and k-mers of
                                       any file that the operation left out */
};

/*
 * Make the tree. All stores have the same k and strands (kc_set_check), and outlive the merge. One
 * thread; several may merge the same stores. Give a range before the first next.
 */
enum kc_status kc_merge_open(struct kc_merge **merge, const struct kc_set *set,
                             struct kc_error *err);
void kc_merge_close(struct kc_merge *merge); /* NULL is fine */

/* Begin at from, up to and with to; NULL: no bound. Both must outlive the walk over the range. */
enum kc_status kc_merge_range(struct kc_merge *merge, const uint64_t *from, const uint64_t *to,
                              struct kc_error *err);

/*
 * The next pairs, ascending: *kmers [*n * nwords] and *counts [*n], the merge's, valid until the
 * next call; *n = 0: end.
 */
enum kc_status kc_merge_next(struct kc_merge *merge, const uint64_t **kmers,
                             const uint32_t **counts, size_t *n, struct kc_error *err);

const struct kc_merge_totals *kc_merge_get_totals(const struct kc_merge *merge);

#endif
