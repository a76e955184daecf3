/*
 * What the stages of the CPU engine share (cpu/cpu_engine.c): its state, and the functions that one
 * file offers to the others. Stages are called by one thread, and start the others.
 */
#ifndef KC_CPU_ENGINE_INTERNAL_H
#define KC_CPU_ENGINE_INTERNAL_H

#include "base/parallel.h"
#include "cpu/cpu_engine.h"
#include "cpu/lists.h"
#include "cpu/width.h"
#include "ranks/exchange.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MIN_BINS = 64 }; /* also the fewest lists of pairs, however small the input */

/* What is counted with one k. */
struct counting {
        int k;
        const struct kc_run_sink *sink;
        const struct kc_width *width;
        struct kc_width_setup setup;
        struct kc_lists bins, pairs;
        uint32_t *bin_order; /* bins, largest first */
        atomic_uint_fast64_t nkmers;
        struct kc_counter_totals counted; /* in the end, by all ranks */
        uint64_t nown;                    /* distinct k-mers that this rank has counted */
        uint64_t spilled_nbytes;          /* by lists that are released already */
};

struct cpu_engine {
        const struct kc_count_params *params;
        const struct kc_batch_source *source;
        const struct kc_pair_source *pairs; /* to order pairs instead of counting; or NULL */
        struct kc_job *job;
        struct kc_arena arena;
        size_t nchunks;             /* of the arena, which lists may hold */
        atomic_size_t pool;         /* of these, free for lists beyond quotas */
        struct counting *countings; /* [ncountings] */
        int ncountings;
        int current;      /* the one that is being counted or ordered */
        atomic_uint next; /* the next bin or list to take */
        atomic_bool failed;
        atomic_uint_fast64_t npairs; /* taken from pairs */
        pthread_mutex_t lock; /* guards counted while bins are counted or lists are ordered */
};

/* The k that is being counted or ordered. */
static inline struct counting *kc_engine_current(const struct cpu_engine *e)
{
        return &e->countings[e->current];
}

/* KC_ECANCELED if the user or a failure of another thread stops this one. */
static inline enum kc_status kc_engine_check(const struct cpu_engine *e, struct kc_error *err)
{
        if (kc_job_is_canceled(e->job) || atomic_load_explicit(&e->failed, memory_order_relaxed))
                return kc_fail(err, KC_ECANCELED, "canceled");
        return KC_OK;
}

/* Begin to take bins or lists: `total` units of progress. */
static inline void kc_engine_begin_stage(struct cpu_engine *e, enum kc_stage stage, uint64_t total)
{
        atomic_store(&e->next, 0);
        kc_job_begin_stage(e->job, kc_stage_of(e->current, stage), total);
}

/* The smallest power of two that is at least n and low, but no more than high. Both low and high
 * are powers of two. */
static inline uint32_t kc_engine_power_of_two(uint64_t n, uint32_t low, uint32_t high)
{
        uint32_t power = low;
        while (power < high && power < n)
                power *= 2;
        return power;
}

/* Threads that append to lists: workers, and the exchange's, which appends what others send. */
static inline size_t kc_engine_nwriters(const struct cpu_engine *e)
{
        return (size_t)e->params->nthreads + (e->params->exchange != NULL);
}

/* Halve `most` until one chunk per list and thread takes at most a quarter of the memory, or of an
 * equal share of it for each k. */
static inline uint32_t kc_engine_fit_lists(const struct cpu_engine *e, uint32_t most)
{
        const size_t nheads = kc_engine_nwriters(e) * (size_t)e->ncountings;
        while (most > 2 && most * nheads * 4 > e->nchunks)
                most /= 2;
        return most;
}

/* False: the sink takes only counts. */
static inline bool kc_engine_wants_pairs(const struct counting *c)
{
        return c->setup.counts == NULL;
}

/* ---- cpu_engine.c ---- */

/* A thread has failed: stop the others. ctx: the engine. */
void kc_engine_stop(void *ctx);

/* ---- engine_partition.c ---- */

/* Cut the batches into super-k-mers, in the bins of each k. */
enum kc_status kc_engine_partition(struct cpu_engine *e, struct kc_error *err);

/* ---- engine_count.c ---- */

/*
 * Bins may take all memory except an eighth, which is reserved for pairs. So a thread that stores a
 * pair always finds room, or has chunks of its own to spill, whatever other threads hold.
 * Returns how many of a thread's chunks are reserved.
 */
size_t kc_engine_pairs_quota(const struct cpu_engine *e);

/* Make the lists for the pairs of the current k. KC_ENOMEM. */
enum kc_status kc_engine_init_pairs(struct cpu_engine *e, struct kc_error *err);

/* Count the bins of the current k. Its pairs are then in lists, or have gone to the sink. */
enum kc_status kc_engine_count(struct cpu_engine *e, struct kc_error *err);

/* Add what a thread has counted. Leaves counted.dropped alone, which other threads may be reading:
 * sorters report to the sink what they drop. */
void kc_engine_add_sums(struct cpu_engine *e, const struct kc_counter_totals *sums);

/* Free lists that have been read, and their files. */
void kc_engine_release_lists(struct counting *c, struct kc_lists *lists);

/* ---- engine_pairs.c ---- */

/* Put existing pairs into lists. */
enum kc_status kc_engine_take_pairs(struct cpu_engine *e, struct kc_error *err);

/* ---- engine_order.c ---- */

/* Sort the lists of the current k, and give them to the sink. */
enum kc_status kc_engine_order(struct cpu_engine *e, struct kc_error *err);

#endif
