/*
 * Private to gpu/count: a counter and the state shared by its source files, its memory (memory.cu),
 * records to bins to tasks (multisplit.cu), tasks to runs (runs.cu), and batches (count.cu).
 */
#ifndef KC_GPU_COUNT_COUNT_INTERNAL_CUH
#define KC_GPU_COUNT_COUNT_INTERNAL_CUH

#include "gpu/count/bins.cuh"
#include "gpu/count/count.cuh"
#include "gpu/count/superkmer.cuh"

enum { TASK_NRECORDS = 2048 }; /* a larger bin is cut into pieces of this many records */

enum count_stage { FIND, SPLIT, COUNT, ORDER, NSTAGES };

/* What the device reports to the host while a batch is counted. */
struct count_readback {
        uint64_t nrecords, npairs;
        uint32_t ntasks, last;
};

template <class Key> struct kc_gpu_counter {
        struct kc_gpu *gpu;
        int k;
        bool stranded;
        enum kc_gpu_table kind;
        kc_table_setup table;
        size_t arena_nbytes;
        uint64_t max_nkmers;
        int max_bin_bits;

        uint64_t records_cap, pairs_cap, tasks_cap;
        uint64_t *found;   /* [records_cap] in the order found */
        uint64_t *records; /* [records_cap] by bin */
        Key *kmers;        /* [2 * pairs_cap] */
        uint32_t *counts;  /* [2 * pairs_cap] */
        uint32_t *offsets; /* [2^bits + 1] of the bins' records */
        uint32_t *pieces;  /* [2^bits + 1] number of tasks before each bin */
        kc_task *tasks;    /* [tasks_cap] */
        uint64_t *bounds;  /* [tasks_cap] k-mers in each task and all before it */
        uint64_t *cursors; /* [2] numbers of records found and of pairs */
        uint32_t *last;    /* [1] end of the next wave of tasks */
        unsigned char *cub_memory;
        size_t cub_nbytes;
        struct count_readback *readback; /* pinned */

        cudaEvent_t events[2];
        double ms[NSTAGES];
};

/* Bits of a bin number for a batch of nkmers k-mers: there are 2^bits bins. */
template <class Key> int kc_counter_bin_bits(uint64_t nkmers);

/* Measure the device time of a stage. The end waits for the stream. */
template <class Key>
enum kc_status kc_counter_begin_time(kc_gpu_counter<Key> *c, struct kc_error *err);
template <class Key>
enum kc_status kc_counter_end_time(kc_gpu_counter<Key> *c, enum count_stage stage,
                                   struct kc_error *err);

/* The multisplit: sort the records found by bin, then set tasks, bounds (cumulative) and
 * readback->ntasks. */
template <class Key>
enum kc_status kc_counter_split(kc_gpu_counter<Key> *c, const kc_superkmer_setup *setup,
                                struct kc_error *err);

/* Count all tasks and hand the runs to the taker. */
template <class Key>
enum kc_status kc_counter_count_tasks(kc_gpu_counter<Key> *c, const kc_gpu_reads *reads,
                                      const struct kc_gpu_run_taker<Key> *taker,
                                      uint64_t *nsaturated, struct kc_error *err);

#endif
