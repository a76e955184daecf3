/*
 * Answering the k-mers of sequences from a table of counts (kmer/ask.h): partition, join, replay.
 *
 *      add      the k-mers of each block go to lists by their leading bits (lists.h); which list
 *               each went to is kept in their order
 *      answer   threads draw lists: decode the range of the table that a list belongs to once (for
 *               each thread if the table is small), in the cache, and write answers over the
 *               k-mers (join.h)
 *      take     read the answers back from the lists, in the order of the k-mers
 *
 * Lists are stable and each belongs to one thread, so no place is stored with a k-mer, and nothing
 * is scattered over memory: the cost is a few sequential passes over the k-mers, and one over the
 * table in each round. It is for many k-mers: for few of them, looking up each is faster.
 */
#ifndef KC_CPU_ASK_H
#define KC_CPU_ASK_H

#include "kmer/ask.h"
#include "kmer/ask_table.h"

/* To force rounds, partitions and chunks in tests; 0: choose. */
struct kc_cpu_ask_tuning {
        uint32_t nparts;
        uint32_t chunk_nbytes; /* a power of two, 128 .. 4096 */
        uint32_t piece_nkmers; /* of the table, indexed at a time */
        uint32_t group_nkmers; /* asked k-mers that are answered together, if pieces are several */
};

/*
 * Open an asker; its close frees everything. table->ctx must outlive it; the structures themselves
 * are needed only during this call. tuning NULL: choose everything. KC_ENOMEM, and what the table's
 * split returns.
 */
enum kc_status kc_cpu_ask_open(struct kc_asker *asker, const struct kc_ask_table *table,
                               const struct kc_ask_setup *setup,
                               const struct kc_cpu_ask_tuning *tuning, struct kc_error *err);

/* As the add of an asker from kc_cpu_ask_open, for a block of one sequence that is given by its
 * k-mers instead of its letters: n k-mers in the form that the table has, 1 <= n < 2^31. */
enum kc_status kc_cpu_ask_add_kmers(const struct kc_asker *asker, int thread, const uint64_t *kmers,
                                    uint32_t n, bool *full, struct kc_error *err);

#endif
