#include "gpu/count.cuh"

#include "gpu/bins.cuh"
#include "gpu/order.cuh"

#include <cub/cub.cuh>
#include <new>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

enum {
        TASK_NRECORDS = 2048, /* a larger bin is cut into pieces of so many records */
        THREADS = 256,
        WARP = 32,
};

enum stage { FIND, SPLIT, COUNT, ORDER, NSTAGES };

/* What the host must learn from the device while a batch is counted. Pinned. */
struct told {
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
        uint64_t *found;        /* [records_cap] as they come */
        uint64_t *records;      /* [records_cap] by bin */
        Key *kmers;             /* [2 * pairs_cap] */
        uint32_t *counts;       /* [2 * pairs_cap] */
        uint32_t *offsets;      /* [2^bits + 1] of the bins' records */
        uint32_t *pieces;       /* [2^bits + 1] tasks before each bin */
        kc_task *tasks;         /* [tasks_cap] */
        uint64_t *bounds;       /* [tasks_cap] most k-mers in a task and all before it */
        uint64_t *cursors;      /* [2] records found, pairs */
        uint32_t *last;         /* [1] */
        unsigned char *cub_memory;
        size_t cub_nbytes;
        told *heard; /* pinned */

        cudaEvent_t events[2];
        double ms[NSTAGES];
};

/* ---- memory ---- */

/* Bins of 4096 k-mers for tables of 2048 slots, 2048 for 1024: at usual coverage a table is a third full
 * in the end, and even all distinct they need few tables. */
template <class Key> static int bin_bits_for(uint64_t nkmers)
{
        const int max_bits = sizeof(Key) == 8 ? 19 : (int)KC_RECORD_MAX_BIN_BITS;
        const uint64_t bin_nkmers = sizeof(Key) == 8 ? 4096 : 2048;
        int bits = 0;
        while (bits < max_bits && bin_nkmers << bits < nkmers)
                bits++;
        return bits;
}

/* Half the k-mers may be distinct before a batch becomes more than one run. */
static uint64_t pairs_for(uint64_t nkmers)
{
        const uint64_t least = (uint64_t)TASK_NRECORDS * 128;
        return nkmers / 2 < least ? least : nkmers / 2;
}

struct sizes {
        uint64_t records, pairs, tasks, nbins;
        size_t cub;
};

/* Temporary memory of CUB's sorting and scanning of so many items, with a margin. */
static size_t cub_nbytes_for(uint64_t nitems)
{
        return (size_t)nitems / 4 + (4 << 20);
}

template <class Key> static sizes sizes_for(int k, uint64_t nkmers)
{
        sizes s = {};
        s.nbins = UINT64_C(1) << bin_bits_for<Key>(nkmers);
        s.records = kc_superkmer_expected(k, nkmers);
        s.pairs = pairs_for(nkmers);
        s.tasks = s.nbins + s.records / TASK_NRECORDS;
        s.cub = cub_nbytes_for(s.records > s.tasks ? s.records : s.tasks);
        return s;
}

template <class Key> size_t kc_gpu_counter_nbytes(int k, uint64_t nkmers)
{
        sizes s = sizes_for<Key>(k, nkmers);
        return 2 * s.records * sizeof(uint64_t) +
               2 * s.pairs * (sizeof(Key) + sizeof(uint32_t)) + 2 * s.nbins * sizeof(uint32_t) +
               s.tasks * (sizeof(kc_task) + sizeof(uint64_t)) + s.cub +
               (64 << 20); /* the slab hash's arena, alignment */
}

template <class Key>
static enum kc_status take_memory(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = c->gpu;
        sizes s = sizes_for<Key>(c->k, c->max_nkmers);
        c->records_cap = s.records;
        c->pairs_cap = s.pairs;
        c->tasks_cap = s.tasks;
        c->cub_nbytes = s.cub;
        kc_count_tables_plan<Key>(gpu, c->kind, &c->table, &c->arena_nbytes);
        KC_TRY(kc_gpu_alloc(gpu, &c->table.arena, c->arena_nbytes, err));
        KC_TRY(kc_gpu_new(gpu, &c->found, s.records, err));
        KC_TRY(kc_gpu_new(gpu, &c->records, s.records, err));
        KC_TRY(kc_gpu_new(gpu, &c->kmers, 2 * s.pairs, err));
        KC_TRY(kc_gpu_new(gpu, &c->counts, 2 * s.pairs, err));
        KC_TRY(kc_gpu_new(gpu, &c->offsets, s.nbins + 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->pieces, s.nbins + 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->tasks, s.tasks, err));
        KC_TRY(kc_gpu_new(gpu, &c->bounds, s.tasks, err));
        KC_TRY(kc_gpu_new(gpu, &c->cursors, 2, err));
        KC_TRY(kc_gpu_new(gpu, &c->last, 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->cub_memory, c->cub_nbytes, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&c->heard, sizeof *c->heard)));
        for (cudaEvent_t &event : c->events)
                KC_TRY(KC_CUDA(cudaEventCreate(&event)));
out:
        return status;
}

template <class Key> void kc_gpu_counter_free(struct kc_gpu_counter<Key> *c)
{
        if (c == NULL)
                return;
        struct kc_gpu *gpu = c->gpu;
        uint64_t nbins = UINT64_C(1) << c->max_bin_bits;
        kc_gpu_release(gpu, c->table.arena, c->arena_nbytes);
        kc_gpu_delete(gpu, c->found, c->records_cap);
        kc_gpu_delete(gpu, c->records, c->records_cap);
        kc_gpu_delete(gpu, c->kmers, 2 * c->pairs_cap);
        kc_gpu_delete(gpu, c->counts, 2 * c->pairs_cap);
        kc_gpu_delete(gpu, c->offsets, nbins + 1);
        kc_gpu_delete(gpu, c->pieces, nbins + 1);
        kc_gpu_delete(gpu, c->tasks, c->tasks_cap);
        kc_gpu_delete(gpu, c->bounds, c->tasks_cap);
        kc_gpu_delete(gpu, c->cursors, 2);
        kc_gpu_delete(gpu, c->last, 1);
        kc_gpu_delete(gpu, c->cub_memory, c->cub_nbytes);
        (void)cudaFreeHost(c->heard);
        for (cudaEvent_t event : c->events)
                if (event != NULL)
                        (void)cudaEventDestroy(event);
        delete c;
}

template <class Key>
enum kc_status kc_gpu_counter_new(struct kc_gpu_counter<Key> **counter, struct kc_gpu *gpu, int k,
                                  bool stranded, enum kc_gpu_table table, uint64_t max_nkmers,
                                  struct kc_error *err)
{
        kc_gpu_counter<Key> *c = new (std::nothrow) kc_gpu_counter<Key>();
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        c->gpu = gpu;
        c->k = k;
        c->stranded = stranded;
        c->kind = table;
        c->max_nkmers = max_nkmers;
        c->max_bin_bits = bin_bits_for<Key>(max_nkmers);
        enum kc_status status = take_memory(c, err);
        if (status != KC_OK) {
                kc_gpu_counter_free(c);
                return status;
        }
        *counter = c;
        return KC_OK;
}

/* ---- time ---- */

template <class Key> static enum kc_status begin_time(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        return KC_CUDA(cudaEventRecord(c->events[0], c->gpu->stream));
}

/* Waits for the stream. */
template <class Key>
static enum kc_status end_time(kc_gpu_counter<Key> *c, enum stage stage, struct kc_error *err)
{
        enum kc_status status;
        float ms;
        KC_TRY(KC_CUDA(cudaEventRecord(c->events[1], c->gpu->stream)));
        KC_TRY(KC_CUDA(cudaEventSynchronize(c->events[1])));
        KC_TRY(KC_CUDA(cudaEventElapsedTime(&ms, c->events[0], c->events[1])));
        c->ms[stage] += ms;
out:
        return status;
}

template <class Key>
struct kc_gpu_counter_times kc_gpu_counter_get_times(const struct kc_gpu_counter<Key> *c)
{
        return { c->ms[FIND], c->ms[SPLIT], c->ms[COUNT], c->ms[ORDER] };
}

/* ---- bins to tasks ---- */

/* Where each bin begins among the sorted records; offsets[nbins] = n. A record that follows one of
 * another bin says so for all bins in between. */
__global__ void offsets_kernel(const uint64_t *records, uint64_t n, uint32_t nbins,
                               uint32_t *offsets)
{
        uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
        if (i > n)
                return;
        uint32_t from = i == 0 ? 0 : kc_record_bin(records[i - 1]) + 1;
        uint32_t to = i == n ? nbins : kc_record_bin(records[i]);
        for (uint32_t bin = from; bin <= to; bin++)
                offsets[bin] = (uint32_t)i;
}

struct pieces_of {
        const uint32_t *offsets;
        uint32_t nbins;
        __device__ uint32_t operator()(uint32_t bin) const
        {
                uint32_t n = bin < nbins ? offsets[bin + 1] - offsets[bin] : 0;
                return (n + TASK_NRECORDS - 1) / TASK_NRECORDS;
        }
};

/* Exclusive sums of the bins' pieces, and their total. */
template <class Key>
static enum kc_status sum_pieces(kc_gpu_counter<Key> *c, uint32_t nbins, struct kc_error *err)
{
        thrust::counting_iterator<uint32_t> bins(0);
        auto pieces = thrust::make_transform_iterator(bins, pieces_of{ c->offsets, nbins });
        size_t nbytes = c->cub_nbytes;
        return KC_CUDA(cub::DeviceScan::ExclusiveSum(c->cub_memory, nbytes, pieces, c->pieces,
                                                     nbins + 1, c->gpu->stream));
}

/* The bin that a task is a piece of: the last one with so many tasks before it or fewer. */
__device__ static uint32_t bin_of_task(const uint32_t *pieces, uint32_t nbins, uint32_t task)
{
        uint32_t low = 0, high = nbins; /* pieces[low] <= task < pieces[high] */
        while (high - low > 1) {
                uint32_t middle = low + (high - low) / 2;
                if (pieces[middle] <= task)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* One warp a task; bounds[t] is the number of its k-mers. */
__global__ void tasks_kernel(const uint64_t *records, const uint32_t *offsets,
                             const uint32_t *pieces, uint32_t nbins, kc_task *tasks,
                             uint64_t *bounds)
{
        uint32_t t = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
        if (t >= pieces[nbins])
                return;
        uint32_t bin = bin_of_task(pieces, nbins, t);
        uint32_t first = offsets[bin] + (t - pieces[bin]) * TASK_NRECORDS;
        uint32_t n = min(offsets[bin + 1] - first, (uint32_t)TASK_NRECORDS), nkmers = 0;
        for (uint32_t i = lane; i < n; i += WARP)
                nkmers += kc_record_nkmers(records[first + i]);
        nkmers = __reduce_add_sync(~0u, nkmers);
        if (lane == 0) {
                tasks[t] = { first, n };
                bounds[t] = nkmers;
        }
}

/* Sorted records to tasks, bounds (summed up) and heard->ntasks. */
template <class Key>
static enum kc_status make_tasks(kc_gpu_counter<Key> *c, const kc_superkmer_setup *setup,
                                 struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = c->gpu->stream;
        const uint32_t nbins = 1u << setup->bin_bits;
        const uint64_t n = c->heard->nrecords;
        size_t nbytes = c->cub_nbytes;
        offsets_kernel<<<kc_ceil_div(n + 1, THREADS), THREADS, 0, stream>>>(c->records, n, nbins,
                                                                            c->offsets);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(sum_pieces(c, nbins, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->heard->ntasks, c->pieces + nbins, sizeof(uint32_t),
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        if (c->heard->ntasks == 0)
                return KC_OK;
        tasks_kernel<<<kc_ceil_div((size_t)c->heard->ntasks * WARP, THREADS), THREADS, 0, stream>>>(
                c->records, c->offsets, c->pieces, nbins, c->tasks, c->bounds);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cub::DeviceScan::InclusiveSum(c->cub_memory, nbytes, c->bounds, c->bounds,
                                                     (int)c->heard->ntasks, stream)));
out:
        return status;
}

/* ---- tasks to runs ---- */

/* *last: tasks first .. *last - 1 have at most `room` k-mers. */
__global__ void wave_kernel(const uint64_t *bounds, uint32_t first, uint32_t ntasks, uint64_t room,
                            uint32_t *last)
{
        uint64_t limit = (first == 0 ? 0 : bounds[first - 1]) + room;
        uint32_t low = first, high = ntasks;
        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (bounds[middle] <= limit)
                        low = middle + 1;
                else
                        high = middle;
        }
        *last = low;
}

template <class Key> struct pair_buffers {
        Key *kmers, *kmers_tmp;
        uint32_t *counts, *counts_tmp;
};

template <class Key> static pair_buffers<Key> get_pairs(const kc_gpu_counter<Key> *c)
{
        return { c->kmers, c->kmers + c->pairs_cap, c->counts, c->counts + c->pairs_cap };
}

/* Count as many tasks from *first on as there is surely room for. */
template <class Key>
static enum kc_status count_wave(kc_gpu_counter<Key> *c, const kc_gpu_reads *reads, uint32_t *first,
                                 struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = c->gpu->stream;
        const pair_buffers<Key> pairs = get_pairs(c);
        const kc_pairs_out<Key> out = { pairs.kmers, pairs.counts, &c->cursors[1] };
        wave_kernel<<<1, 1, 0, stream>>>(c->bounds, *first, c->heard->ntasks,
                                         c->pairs_cap - c->heard->npairs, c->last);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->heard->last, c->last, sizeof(uint32_t),
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        KC_TRY(begin_time(c, err));
        KC_TRY(kc_count_tasks<Key>(c->gpu, c->kind, &c->table, c->k, c->stranded, reads->words,
                                   c->records, c->tasks, *first, c->heard->last, &out, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->heard->npairs, &c->cursors[1], sizeof(uint64_t),
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(end_time(c, COUNT, err));
        *first = c->heard->last;
out:
        return status;
}

/* The pairs so far become a run. */
template <class Key>
static enum kc_status give_run(kc_gpu_counter<Key> *c, const struct kc_gpu_run_taker<Key> *taker,
                               uint64_t *nsaturated, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> run = {};
        pair_buffers<Key> p = get_pairs(c);
        KC_TRY(begin_time(c, err));
        KC_TRY(kc_gpu_order<Key>(c->gpu, c->k, p.kmers, p.counts, p.kmers_tmp, p.counts_tmp,
                                 c->heard->npairs, &run, nsaturated, err));
        KC_TRY(end_time(c, ORDER, err));
        KC_TRY(taker->take(taker->ctx, &run, err));
        c->heard->npairs = 0;
        KC_TRY(KC_CUDA(cudaMemsetAsync(&c->cursors[1], 0, sizeof(uint64_t), c->gpu->stream)));
out:
        return status;
}

/* Room that is worth another wave, while tasks are left. */
template <class Key> static bool has_room(const kc_gpu_counter<Key> *c)
{
        return c->pairs_cap - c->heard->npairs >= c->pairs_cap / 8;
}

template <class Key>
static enum kc_status count_tasks(kc_gpu_counter<Key> *c, const kc_gpu_reads *reads,
                                  const struct kc_gpu_run_taker<Key> *taker, uint64_t *nsaturated,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint32_t first = 0;
        c->heard->npairs = 0;
        KC_TRY(KC_CUDA(cudaMemsetAsync(&c->cursors[1], 0, sizeof(uint64_t), c->gpu->stream)));
        while (first < c->heard->ntasks) {
                uint32_t before = first;
                KC_TRY(count_wave(c, reads, &first, err));
                if (first == c->heard->ntasks || first == before || !has_room(c))
                        KC_TRY(give_run(c, taker, nsaturated, err));
        }
out:
        return status;
}

/* ---- a batch ---- */

template <class Key>
static enum kc_status find(kc_gpu_counter<Key> *c, const kc_superkmer_setup *setup,
                           const kc_gpu_reads *reads, size_t first, size_t nspans,
                           struct kc_error *err)
{
        enum kc_status status;
        uint64_t *n = &c->cursors[0];
        KC_TRY(begin_time(c, err));
        KC_TRY(kc_superkmer_find(c->gpu, setup, reads, first, nspans, c->found, c->records_cap, n,
                                 err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->heard->nrecords, n, sizeof *n, cudaMemcpyDeviceToHost,
                                       c->gpu->stream)));
        KC_TRY(end_time(c, FIND, err));
out:
        return status;
}

/* By bin: the multisplit. */
template <class Key>
static enum kc_status split(kc_gpu_counter<Key> *c, const kc_superkmer_setup *setup,
                            struct kc_error *err)
{
        enum kc_status status;
        const int bin_shift = KC_RECORD_POSITION_BITS + KC_RECORD_LENGTH_BITS;
        cub::DoubleBuffer<uint64_t> buffers(c->found, c->records);
        size_t nbytes = c->cub_nbytes;
        KC_TRY(begin_time(c, err));
        if (setup->bin_bits > 0) /* else all are in one bin, as they were found */
                KC_TRY(KC_CUDA(cub::DeviceRadixSort::SortKeys(
                        c->cub_memory, nbytes, buffers, c->heard->nrecords, bin_shift,
                        bin_shift + setup->bin_bits, c->gpu->stream)));
        c->records = buffers.Current();
        c->found = buffers.Alternate();
        KC_TRY(make_tasks(c, setup, err));
        KC_TRY(end_time(c, SPLIT, err));
out:
        return status;
}

/* Spans with more records than were planned for are counted in halves. One span always fits. */
template <class Key>
static enum kc_status count_spans(kc_gpu_counter<Key> *c, const kc_superkmer_setup *setup,
                                  const kc_gpu_reads *reads, size_t first, size_t nspans,
                                  const struct kc_gpu_run_taker<Key> *taker, uint64_t *nsaturated,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(find(c, setup, reads, first, nspans, err));
        if (c->heard->nrecords > c->records_cap) {
                size_t half = nspans / 2;
                KC_TRY(count_spans(c, setup, reads, first, half, taker, nsaturated, err));
                KC_TRY(count_spans(c, setup, reads, first + half, nspans - half, taker, nsaturated,
                                   err));
                return KC_OK;
        }
        KC_TRY(split(c, setup, err));
        KC_TRY(count_tasks(c, reads, taker, nsaturated, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_counter_count(struct kc_gpu_counter<Key> *c,
                                    const struct kc_gpu_reads *reads,
                                    const struct kc_gpu_run_taker<Key> *taker,
                                    uint64_t *nsaturated, struct kc_error *err)
{
        if (reads->nkmers > c->max_nkmers)
                return kc_fail(err, KC_EUSAGE, "a batch of %llu k-mers is more than was planned for",
                               (unsigned long long)reads->nkmers);
        if (reads->nspans == 0)
                return KC_OK;
        kc_superkmer_setup setup = kc_superkmer_setup_for(c->k, bin_bits_for<Key>(reads->nkmers),
                                                          kc_stretch<Key>::MAX_NBASES);
        return count_spans(c, &setup, reads, 0, reads->nspans, taker, nsaturated, err);
}

#define INSTANTIATE(Key) \
        template size_t kc_gpu_counter_nbytes<Key>(int, uint64_t); \
        template enum kc_status kc_gpu_counter_new<Key>(struct kc_gpu_counter<Key> **, \
                                                        struct kc_gpu *, int, bool, \
                                                        enum kc_gpu_table, uint64_t, \
                                                        struct kc_error *); \
        template void kc_gpu_counter_free<Key>(struct kc_gpu_counter<Key> *); \
        template enum kc_status kc_gpu_counter_count<Key>( \
                struct kc_gpu_counter<Key> *, const struct kc_gpu_reads *, \
                const struct kc_gpu_run_taker<Key> *, uint64_t *, struct kc_error *); \
        template struct kc_gpu_counter_times kc_gpu_counter_get_times<Key>( \
                const struct kc_gpu_counter<Key> *);
KC_GPU_KEYS(INSTANTIATE)
