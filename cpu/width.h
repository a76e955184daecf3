/*
 * The parts of the engine that depend on the width of a k-mer, compiled once for each number of
 * words.
 */
#ifndef KC_WIDTH_H
#define KC_WIDTH_H

#include "cpu/lists.h"
#include "kmer/kmer_set.h"
#include "kmer/run.h"

struct kc_counter_totals {
        uint64_t ndistinct; /* including those dropped */
        uint64_t nsaturated;
        struct kc_run_dropped dropped;
};

/* What both counters and sorters need to know. */
struct kc_width_setup {
        int k;
        bool stranded;
        int prefix_bits;       /* top bits of a k-mer that choose its list of pairs */
        size_t scratch_nbytes; /* memory that one thread may use */
        struct kc_run_filter filter;
        const struct kc_kmer_set *only;   /* a counter drops all other k-mers; NULL: none */
        const struct kc_run_sink *counts; /* takes the counts of each bin; NULL: pairs are wanted */
        struct kc_lists *pairs;           /* not used if only counts are wanted */
        /* For a sorter. NULL: the pairs are final. Otherwise a k-mer may be in several pairs, and
         * no filter has been applied: the sorter adds up the counts of equal k-mers, filters, and
         * adds to these totals, except to dropped, which it reports to the sink. */
        struct kc_counter_totals *sums;
};

struct kc_width {
        /*
         * A counter or sorter must be freed even if creating it failed; free accepts NULL.
         *
         * Counting: a counter belongs to one thread. count() counts all k-mers of a bin and applies
         * the filter; it can, because no k-mer is in two bins. All pairs kept are in setup->pairs
         * only after flush(). If only counts are wanted, setup->counts has them after count(), and
         * flush() is not called.
         */
        enum kc_status (*counter_new)(void **counter, const struct kc_width_setup *setup,
                                      struct kc_error *err);
        enum kc_status (*count)(void *counter, struct kc_list_reader *reader, uint32_t bin,
                                int worker, struct kc_counter_totals *totals, struct kc_error *err);
        enum kc_status (*flush)(void *counter, int worker, struct kc_error *err);
        /* Instead of counting: add n pairs (kmer/pairs.h) to setup->pairs, unfiltered. */
        enum kc_status (*collect)(void *counter, const uint64_t *kmers, const uint32_t *counts,
                                  size_t n, int worker, struct kc_error *err);
        void (*counter_free)(void *counter);

        /*
         * Ordering: sort the pairs of one list and pass them to the sink as part `list` of the run.
         */
        enum kc_status (*sorter_new)(void **sorter, const struct kc_width_setup *setup,
                                     struct kc_error *err);
        enum kc_status (*sort)(void *sorter, struct kc_list_reader *reader, uint32_t list,
                               const struct kc_run_sink *sink, struct kc_error *err);
        void (*sorter_free)(void *sorter);
};

/* nwords: 1 .. KC_MAX_WORDS. */
const struct kc_width *kc_width(int nwords);

#endif
