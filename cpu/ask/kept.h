/*
 * A whole table in memory, for callers that ask it again and again. Its k-mers are in parts
 * (plan.h), each with an index (index.h) that fits into a cache.
 */
#ifndef KC_CPU_ASK_KEPT_H
#define KC_CPU_ASK_KEPT_H

#include "cpu/ask/index.h"
#include "cpu/ask/plan.h"

struct kc_job;

/* Zero-initialise; free with kc_ask_kept_free. Once loaded, several threads may use it at once. */
struct kc_ask_kept {
        struct kc_ask_plan plan;
        struct kc_ask_index *parts; /* [nparts] */
        uint32_t nparts;
};

/* What a thread needs for finding. Zero-initialise; free with kc_ask_finder_free. */
struct kc_ask_finder {
        uint64_t *kmers;                   /* [cap * nwords] by part */
        uint16_t *parts;                   /* [cap] of the k-mers, in the order given */
        uint32_t *places, *answers, *ends; /* [cap], [cap], [nparts] */
        size_t cap;
};

/* About how many bytes of memory a table takes. */
uint64_t kc_ask_kept_nbytes(const struct kc_ask_table *table);

/*
 * Load a table, by nthreads threads. KC_ENOMEM, KC_ECANCELED, and failures of the table.
 *   job   its units are k-mers; may be NULL
 *   fits  out: false if too many k-mers have the same prefix for an index; then nothing has been
 *         loaded
 */
enum kc_status kc_ask_kept_load(struct kc_ask_kept *kept, const struct kc_ask_table *table,
                                int nthreads, struct kc_job *job, bool *fits, struct kc_error *err);
void kc_ask_kept_free(struct kc_ask_kept *kept);

/* The counts of n k-mers in the form that the table has; 0 for those that it does not have.
 * KC_ENOMEM. */
enum kc_status kc_ask_kept_find(const struct kc_ask_kept *kept, struct kc_ask_finder *finder,
                                const uint64_t *kmers, size_t n, uint32_t *counts,
                                struct kc_error *err);
void kc_ask_finder_free(struct kc_ask_finder *finder);

#endif
