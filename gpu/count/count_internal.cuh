/*
 * Private to gpu/count: a counter and the state shared by its source files, its memory (memory.cu),
 * records to bins to tasks (multisplit.cu), tasks to runs (runs.cu), tasks that no table holds
 * (recount.cu), and passes (count.cu).
 */
#ifndef KC_GPU_COUNT_COUNT_INTERNAL_CUH
#define KC_GPU_COUNT_COUNT_INTERNAL_CUH

#include "gpu/count/bins.cuh"
#include "gpu/count/count.cuh"
#include "gpu/count/sums.cuh"

enum { TASK_NRECORDS = 2048 }; /* a larger bin is cut into pieces of this many records */

enum count_stage { FIND, SPLIT, COUNT, ORDER, NSTAGES };

/* A wave of tasks ends before task `end`; nkmers is the number of k-mers in all tasks, not only in
 * the wave. */
struct task_wave {
        uint64_t nkmers;
        uint32_t end;
};

/* What the device reports to the host during a pass. */
struct count_readback {
        uint64_t nrecords; /* of the pass: found, but not counted yet */
        uint64_t npairs;
        uint32_t ntasks;
        struct task_wave wave;
        struct kc_recount_totals again;
};

template <class Key> struct kc_gpu_counter {
        struct kc_gpu *gpu;
        struct kc_gpu_counter_setup setup;
        struct kc_gpu_counter_caps caps;
        kc_table_setup table;
        size_t arena_nbytes;
        int max_bin_bits;
        uint64_t tasks_cap;

        uint64_t *words;             /* [caps.nwords] lists of records, and copies */
        Key *kmers;                  /* [2 * caps.npairs] */
        uint32_t *counts;            /* [2 * caps.npairs] */
        uint32_t *offsets;           /* [2^bits + 1] of the bins' records */
        uint32_t *pieces;            /* [2^bits + 1] number of tasks before each bin */
        kc_task *tasks;              /* [tasks_cap] */
        uint64_t *bounds;            /* [tasks_cap] k-mers in each task and all before it */
        uint64_t *nfound;            /* [KC_GPU_MAX_WALK_PASSES] numbers of records, by pass */
        struct kc_recounts again;    /* [tasks_cap] those that no table holds */
        uint64_t *npairs;            /* [1] number of pairs */
        struct task_wave *wave;      /* [1] the next one */
        struct kc_count_cell *cells; /* [KC_COUNT_NCELLS] */
        uint64_t *rows;              /* [KC_COUNT_NTALLIES][KC_RUN_NROWS], or NULL */
        unsigned char *cub_memory;
        size_t cub_nbytes;
        struct count_readback *readback; /* pinned */

        /* the walk: words has a list of max_records records for each pass that it may have, a
         * spare one, and copies */
        struct kc_gpu_kept *kept;
        uint64_t max_records;
        uint64_t *spare;
        uint64_t *copies; /* [max_records * superkmers.copy_nwords] bases of records, or NULL */
        uint64_t copies_position;
        struct kc_gpu_chunks chunks;
        struct kc_gpu_pass passes[KC_GPU_MAX_WALK_PASSES];
        struct kc_bins bins[KC_GPU_MAX_WALK_PASSES];
        int bin_bits[KC_GPU_MAX_WALK_PASSES];

        /* the pass */
        int number;
        uint64_t *found;   /* [max_records] in the order found */
        uint64_t *records; /* [max_records] by bin */
        const struct kc_gpu_run_taker<Key> *taker;
        struct kc_gpu_counted *counted;
        struct kc_sums<Key> sums; /* of a recount */
        uint64_t nsummed;         /* k-mers that a recount in rounds has added to them */

        cudaEvent_t events[2];
        double ms[NSTAGES];
};

/* Bits of a bin number for a pass of nkmers k-mers, of total_nkmers in all passes: there are 2^bits
 * bins, at most 2^most. */
template <class Key>
int kc_counter_bin_bits(enum kc_gpu_table table, uint64_t nkmers, uint64_t total_nkmers, int most);

template <class Key> static inline uint64_t &kc_counter_nrecords(kc_gpu_counter<Key> *c)
{
        return c->readback->nrecords;
}

/* Measure the device time of a stage. The end waits for the stream. */
template <class Key>
enum kc_status kc_counter_begin_time(kc_gpu_counter<Key> *c, struct kc_error *err);
template <class Key>
enum kc_status kc_counter_end_time(kc_gpu_counter<Key> *c, enum count_stage stage,
                                   struct kc_error *err);

/* The multisplit: sort the records found by bin, then set tasks, bounds (cumulative) and
 * readback->ntasks. */
template <class Key> enum kc_status kc_counter_split(kc_gpu_counter<Key> *c, struct kc_error *err);

/* For kernels: what tasks count, and where pairs go. */
template <class Key> struct kc_tasks_in kc_counter_tasks(const kc_gpu_counter<Key> *c);
template <class Key> kc_pairs_out<Key> kc_counter_pairs(const kc_gpu_counter<Key> *c);

/* Count all tasks and hand the runs to the taker. */
template <class Key>
enum kc_status kc_counter_count_tasks(kc_gpu_counter<Key> *c, struct kc_error *err);

template <class Key>
enum kc_status kc_counter_forget_pairs(kc_gpu_counter<Key> *c, struct kc_error *err);

/* Order the pairs so far into a run, and hand it to the taker. If there are none, do nothing. */
template <class Key>
enum kc_status kc_counter_give_run(kc_gpu_counter<Key> *c, struct kc_error *err);

/* Begin to sum one of nparts parts of at most nkmers k-mers; add tasks; then append the sums to the
 * pairs, unless they did not all fit. */
template <class Key>
enum kc_status kc_counter_begin_sums(kc_gpu_counter<Key> *c, uint64_t nkmers, uint32_t part,
                                     uint32_t nparts, struct kc_error *err);
template <class Key>
enum kc_status kc_counter_add_sums(kc_gpu_counter<Key> *c, const kc_task *tasks, uint32_t ntasks,
                                   struct kc_error *err);
template <class Key>
enum kc_status kc_counter_end_sums(kc_gpu_counter<Key> *c, bool *fit, struct kc_error *err);

/* Sum the tasks that add() adds, in as many parts as necessary. Then the counter has the pairs
 * of the last part; those of others were handed to the taker if there was no room for all. */
template <class Key, class Add>
static enum kc_status kc_counter_recount(kc_gpu_counter<Key> *c, uint64_t nkmers, Add add,
                                         struct kc_error *err)
{
        enum { MAX_PARTS = 1 << 24 };
        enum kc_status status = KC_OK;
        uint32_t part = 0, nparts = 1;
        while (part < nparts) {
                bool fit;
                KC_TRY(kc_counter_begin_sums(c, nkmers, part, nparts, err));
                KC_TRY(add());
                KC_TRY(kc_counter_end_sums(c, &fit, err));
                part = fit ? part + 1 : 2 * part;
                nparts *= fit ? 1 : 2;
                if (nparts > MAX_PARTS)
                        return kc_fail(err, KC_EDEVICE,
                                       "k-mers do not fit in a table, whatever part of them is "
                                       "counted; please report this");
        }
out:
        return status;
}

#endif
