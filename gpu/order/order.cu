/*
 * Order by buckets that fit in shared memory; gpu/order/plan.cuh defines cells, splits and buckets.
 *
 *      count coarse cells in a sample ─▶ plan splits ─▶ pack the pairs, and move them to their
 *      splits ─▶ count cells ─▶ plan buckets ─▶ move the pairs to their buckets
 *        ─▶ each bucket sorted by one block
 *
 * No step needs to be stable, so a tile of pairs reserves its place in each split or bucket that it
 * has pairs of by one atomic add. A bucket with more pairs than a block can sort is either a single
 * cell or the rest of a split that has too many buckets; such buckets are taken out and sorted
 * together by radix sort (gpu/order/plain.cu).
 */
#include "gpu/order/order.cuh"
#include "gpu/order/rare.cuh"
#include "gpu/order/sort.cuh"
#include "gpu/order/split.cuh"

enum {
        MIN_PAIRS = 1 << 19, /* for fewer pairs the radix sort is as fast */
        SAMPLE_STEP = 16,    /* the sizes of splits are estimated from one pair in this many */
};

/* Place a table in the allocation; if memory is NULL, only add up the size. */
template <class T> static void place(T **table, char *memory, size_t *nbytes, size_t n)
{
        *table = memory == NULL ? NULL : (T *)(memory + *nbytes);
        *nbytes += (n * sizeof(T) + 255) / 256 * 256;
}

static void place_tables(struct order_tables *t, char *memory)
{
        size_t nbytes = 0;
        place(&t->state, memory, &nbytes, 1);
        place(&t->coarse, memory, &nbytes, KC_ORDER_NCOARSE);
        place(&t->cells, memory, &nbytes, KC_ORDER_NCELLS);
        t->zero_nbytes = nbytes;
        place(&t->splits, memory, &nbytes, KC_ORDER_FANOUT);
        place(&t->cursors, memory, &nbytes, KC_ORDER_FANOUT * CURSOR_STRIDE);
        place(&t->first_swath, memory, &nbytes, KC_ORDER_FANOUT + 1);
        place(&t->first_pair, memory, &nbytes, KC_ORDER_FANOUT);
        place(&t->nbuckets, memory, &nbytes, KC_ORDER_FANOUT);
        place(&t->first_bucket, memory, &nbytes, KC_ORDER_FANOUT + 1);
        place(&t->pair_ends, memory, &nbytes, KC_ORDER_FANOUT * KC_ORDER_FANOUT);
        place(&t->buckets, memory, &nbytes, t->max_buckets);
        place(&t->bucket_cursors, memory, &nbytes, t->max_buckets);
        place(&t->oversized, memory, &nbytes, t->max_buckets);
        place(&t->split_of, memory, &nbytes, KC_ORDER_NCOARSE);
        place(&t->cell_ends, memory, &nbytes, KC_ORDER_FANOUT * KC_ORDER_FANOUT);
        place(&t->bucket_of, memory, &nbytes, KC_ORDER_NCELLS);
        t->nbytes = nbytes;
}

/* Most pairs in a split such that it has at most KC_ORDER_FANOUT buckets, whatever the sizes of its
 * cells. */
template <class Key> static constexpr size_t max_split_npairs()
{
        return (size_t)kc_order_size<Key>::CAP * (KC_ORDER_FANOUT / 2 - 1);
}

/* Most pairs in all such that there are at most KC_ORDER_FANOUT splits. */
template <class Key> static constexpr size_t max_npairs()
{
        return max_split_npairs<Key>() * ((KC_ORDER_FANOUT - KC_ORDER_NPREFIXES) / 2);
}

/* Exceptions are kept in the upper half of counts_tmp. */
template <class Key> static void place_exceptions(struct order_work<Key> *work)
{
        uintptr_t begin = (uintptr_t)(work->in.counts_tmp + work->in.n / 2);
        uintptr_t end = (uintptr_t)(work->in.counts_tmp + work->in.n);
        begin = (begin + alignof(struct exception<Key>) - 1) / alignof(struct exception<Key>) *
                alignof(struct exception<Key>);
        size_t n = begin < end ? (end - begin) / sizeof(struct exception<Key>) : 0;
        work->exceptions = (struct exception<Key> *)begin;
        work->max_exceptions = n < MAX_EXCEPTIONS ? (uint32_t)n : (uint32_t)MAX_EXCEPTIONS;
}

static enum kc_status mark(struct kc_gpu *gpu, cudaEvent_t *marks, int at, struct kc_error *err)
{
        return marks == NULL ? KC_OK : KC_CUDA(cudaEventRecord(marks[at], gpu->stream));
}

/* Whether there is room for splits whose sizes are estimated from a sample of the pairs. The
 * estimate may be too high by as many pairs as a swath of sampled pairs stands for. */
template <class Key> static bool can_sample(const struct order_work<Key> *work)
{
        const size_t cap = kc_order_size<Key>::CAP;
        const size_t n = work->in.n + SAMPLE_STEP * SWATH_NTILES * cap;
        return n <= max_npairs<Key>() && n + n / 32 + KC_ORDER_FANOUT * cap <= work->in.cap;
}

/* Move the pairs to splits in kmers_tmp, and plan the buckets. One pair in `step` is counted to
 * choose the splits; unless step is 1, state.overflowed says whether a split lacked room. */
template <class Key>
static enum kc_status split(struct kc_gpu *gpu, struct order_work<Key> *work, uint32_t step,
                            cudaEvent_t *marks, struct kc_error *err)
{
        enum { SWATH = kc_order_size<Key>::CAP * SWATH_NTILES };
        enum kc_status status;
        unsigned nswaths = kc_ceil_div(work->in.n, SWATH);
        const int nbytes = sizeof(struct split_shared<Key>);
        const uint32_t cap = kc_order_size<Key>::CAP;
        static_assert(sizeof(struct split_shared<Key>) <= KC_GPU_BLOCK_SHARED_NBYTES &&
                              sizeof(struct sort_shared<Key>) <= KC_GPU_BLOCK_SHARED_NBYTES,
                      "shared memory");
        static_assert(cap % (2 * NTHREADS) == 0, "all threads have as many pairs and counters");
        struct order_tables *t = &work->tables;
        KC_TRY(mark(gpu, marks, KC_ORDER_BEGIN, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(t->state, 0, t->zero_nbytes, gpu->stream)));
        order_count_coarse_kernel<<<kc_ceil_div(nswaths, step), NTHREADS, 0, gpu->stream>>>(
                work->in.kmers, work->in.n, work->in.k, step, t->coarse);
        KC_TRY(KC_LAUNCHED());
        order_plan_splits_kernel<<<1, PLAN_NTHREADS, 0, gpu->stream>>>(
                *t, (uint32_t)max_split_npairs<Key>(), step, cap);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(mark(gpu, marks, KC_ORDER_COARSE_COUNTED, err));
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(order_split_kernel<Key>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize, nbytes)));
        order_split_kernel<<<nswaths, NTHREADS, nbytes, gpu->stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        order_measure_splits_kernel<<<1, PLAN_NTHREADS, 0, gpu->stream>>>(*t, SWATH);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(mark(gpu, marks, KC_ORDER_SPLIT, err));
        order_count_cells_kernel<<<nswaths + KC_ORDER_FANOUT, NTHREADS, 0, gpu->stream>>>(
                work->in.kmers_tmp, *t);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(mark(gpu, marks, KC_ORDER_CELLS_COUNTED, err));
        order_plan_buckets_kernel<<<KC_ORDER_FANOUT, PLAN_NTHREADS, 0, gpu->stream>>>(*t, cap);
        KC_TRY(KC_LAUNCHED());
        order_number_buckets_kernel<<<KC_ORDER_FANOUT, PLAN_NTHREADS, 0, gpu->stream>>>(*t, cap);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(gpu, &work->state, work->tables.state, 1, err));
        KC_TRY(mark(gpu, marks, KC_ORDER_PLANNED, err));
out:
        return status;
}

/* Sort the pairs of all oversized buckets into *kmers and *counts; NULL if there are none. */
template <class Key>
static enum kc_status order_oversized(struct kc_gpu *gpu, struct order_work<Key> *work, Key **kmers,
                                      uint32_t **counts, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = (size_t)work->state.noversized_pairs;
        kc_order_input<Key> in = { work->in.k,          n,
                                   work->in.kmers_tmp,  work->in.kmers_tmp + n,
                                   work->in.counts_tmp, work->in.counts };
        *kmers = NULL;
        *counts = NULL;
        if (n == 0)
                return KC_OK;
        order_unpack_oversized_kernel<<<dim3(work->state.noversized, 16), 256, 0, gpu->stream>>>(
                *work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_order_sort(gpu, &in, kmers, counts, err));
        order_find_oversized_kernel<<<kc_ceil_div(work->state.noversized, 128), 128, 0,
                                      gpu->stream>>>(*work, *kmers, (uint32_t)n);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Move the pairs to their buckets and sort each bucket; the run is written to kmers and counts. */
template <class Key>
static enum kc_status sort_buckets(struct kc_gpu *gpu, struct order_work<Key> *work, Key *kmers,
                                   uint32_t *counts, cudaEvent_t *marks, struct kc_error *err)
{
        enum { SWATH = kc_order_size<Key>::CAP * SWATH_NTILES };
        enum kc_status status;
        const int split_nbytes = sizeof(struct split_shared<Key>);
        const int sort_nbytes = sizeof(struct sort_shared<Key>);
        unsigned nswaths = kc_ceil_div(work->in.n, SWATH) + work->state.nsplits;
        Key *big_kmers;
        uint32_t *big_counts;
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(order_bucket_kernel<Key>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            split_nbytes)));
        order_bucket_kernel<<<nswaths, NTHREADS, split_nbytes, gpu->stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(order_oversized(gpu, work, &big_kmers, &big_counts, err));
        KC_TRY(mark(gpu, marks, KC_ORDER_BUCKETED, err));
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(order_sort_buckets_kernel<Key>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            sort_nbytes)));
        order_sort_buckets_kernel<<<work->state.nbuckets, NTHREADS, sort_nbytes, gpu->stream>>>(
                *work, big_kmers, big_counts, kmers, counts);
        KC_TRY(KC_LAUNCHED());
        if (work->state.nexceptions != 0) {
                order_add_exceptions_kernel<<<kc_ceil_div(work->state.nexceptions, 256), 256, 0,
                                              gpu->stream>>>(*work, kmers, counts);
                KC_TRY(KC_LAUNCHED());
        }
        KC_TRY(mark(gpu, marks, KC_ORDER_SORTED, err));
out:
        return status;
}

/* Whether the plan can be carried out; room: there is memory for a run of all pairs. */
template <class Key> static bool plan_holds(const struct order_work<Key> *work, bool room)
{
        const struct order_state *state = &work->state;
        return state->nexceptions <= work->max_exceptions &&
               state->noversized_pairs <= work->in.n / 2 && (room || state->noversized == 0);
}

template <class Key>
enum kc_status kc_order_by_buckets(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                   struct kc_gpu_run<Key> *run, bool *done, cudaEvent_t *marks,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        order_work<Key> work = {};
        struct order_tables *tables = &work.tables;
        void *memory = NULL;
        bool own = false;
        *run = {};
        *done = false;
        if (in->n > max_npairs<Key>() || in->k < KC_ORDER_MIN_K)
                return KC_OK;
        work.in = *in;
        work.packing = kc_order_packing_for<Key>(in->k);
        place_exceptions(&work);
        tables->max_buckets = 2 * (in->n / kc_order_size<Key>::CAP + KC_ORDER_FANOUT);
        place_tables(tables, NULL);
        if (kc_gpu_room(gpu) < tables->nbytes)
                return KC_OK;
        KC_TRY(kc_gpu_alloc(gpu, &memory, tables->nbytes, err));
        place_tables(tables, (char *)memory);
        if (can_sample(&work))
                KC_TRY(split(gpu, &work, SAMPLE_STEP, marks, err));
        if (!can_sample(&work) || work.state.overflowed != 0)
                KC_TRY(split(gpu, &work, 1, marks, err));
        own = kc_gpu_room(gpu) >= kc_gpu_run_nbytes<Key>(in->n);
        if (!plan_holds(&work, own))
                goto out;
        if (own)
                KC_TRY(kc_gpu_run_new(gpu, run, in->n, err));
        KC_TRY(sort_buckets(gpu, &work, own ? run->kmers : in->kmers_tmp,
                            own ? run->counts : in->counts, marks, err));
        run->n = in->n;
        *done = true;
out:
        kc_gpu_release(gpu, memory, tables->nbytes);
        if (*done && !own)
                return kc_order_copy_run(gpu, in->kmers_tmp, in->counts, in->n, run, err);
        if (!*done)
                kc_gpu_run_free(gpu, run);
        return status;
}

template <class Key>
enum kc_status kc_gpu_order(struct kc_gpu *gpu, int k, Key *kmers, uint32_t *counts, Key *kmers_tmp,
                            uint32_t *counts_tmp, size_t n, size_t cap, struct kc_gpu_run<Key> *run,
                            struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_order_input<Key> in = { k, n, kmers, kmers_tmp, counts, counts_tmp, cap };
        bool done = false;
        if (n >= MIN_PAIRS)
                KC_TRY(kc_order_by_buckets(gpu, &in, run, &done, (cudaEvent_t *)NULL, err));
        if (!done)
                KC_TRY(kc_order_plainly(gpu, &in, run, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_order_by_buckets( \
                struct kc_gpu *, const struct kc_order_input<Key> *, struct kc_gpu_run<Key> *, \
                bool *, cudaEvent_t *, struct kc_error *); \
        template enum kc_status kc_gpu_order(struct kc_gpu *, int, Key *, uint32_t *, Key *, \
                                             uint32_t *, size_t, size_t, struct kc_gpu_run<Key> *, \
                                             struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
