#include "gpu/merge_tile.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

template <class Key> struct tile {
        Key kmers[kc_merge_shape<Key>::CAP]; /* a's part, then b's */
        unsigned na, nb;
};

template <class Key>
static __global__ void cut_kernel(struct kc_gpu_run<Key> a, struct kc_gpu_run<Key> b,
                                  size_t ntiles, struct kc_merge_cut<size_t> *cuts)
{
        size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
        if (t > ntiles)
                return;
        size_t diagonal = t * kc_merge_shape<Key>::LENGTH, n = a.n + b.n;
        cuts[t] = kc_merge_cut_at(a.kmers, a.n, b.kmers, b.n, diagonal < n ? diagonal : n);
}

template <class Key>
static __device__ void load_kmers(struct tile<Key> *tile, const struct kc_gpu_run<Key> &a,
                                  const struct kc_gpu_run<Key> &b,
                                  const struct kc_merge_cut<size_t> *cut)
{
        unsigned na = (unsigned)(cut[1].a - cut[0].a), nb = (unsigned)(cut[1].b - cut[0].b);
        kc_merge_load<Key, kc_merge_shape<Key>::NTHREADS>(tile->kmers, a.kmers + cut[0].a, na,
                                                          b.kmers + cut[0].b, nb);
        if (threadIdx.x == 0) {
                tile->na = na;
                tile->nb = nb;
        }
}

/* Where the thread begins, and the diagonal before which its steps begin. */
template <class Key>
static __device__ unsigned begin_walk(struct kc_merge_walk<Key> *walk, const struct tile<Key> &tile)
{
        unsigned n = tile.na + tile.nb, begin = threadIdx.x * kc_merge_shape<Key>::NITEMS;
        begin = begin < n ? begin : n;
        kc_merge_walk_begin(walk, tile.kmers, tile.na, tile.kmers + tile.na, tile.nb, begin);
        unsigned end = begin + kc_merge_shape<Key>::NITEMS;
        return end < n ? end : n;
}

template <class Key>
static __global__ void __launch_bounds__(kc_merge_shape<Key>::NTHREADS)
        length_kernel(struct kc_gpu_run<Key> a, struct kc_gpu_run<Key> b,
                      const struct kc_merge_cut<size_t> *cuts, uint32_t *lengths)
{
        using reduce = cub::BlockReduce<unsigned, kc_merge_shape<Key>::NTHREADS>;
        __shared__ struct tile<Key> tile;
        __shared__ typename reduce::TempStorage reduce_storage;
        load_kmers(&tile, a, b, &cuts[blockIdx.x]);
        kc_merge_wait_for_loads();
        struct kc_merge_walk<Key> walk;
        unsigned end = begin_walk(&walk, tile), n = 0;
        for (; walk.at.a + walk.at.b < end; n++)
                (void)kc_merge_walk_step(&walk);
        n = reduce(reduce_storage).Sum(n);
        if (threadIdx.x == 0)
                lengths[blockIdx.x] = n;
}

/* One block: tiles are few beside the pairs. */
enum { SCAN_NTHREADS = 1024 };

static __global__ void __launch_bounds__(SCAN_NTHREADS)
        start_kernel(const uint32_t *lengths, size_t n, size_t *starts)
{
        using scan = cub::BlockScan<size_t, SCAN_NTHREADS>;
        __shared__ typename scan::TempStorage storage;
        size_t before = 0;
        for (size_t base = 0; base < n; base += SCAN_NTHREADS) {
                size_t i = base + threadIdx.x, start, sum;
                scan(storage).ExclusiveSum(i < n ? (size_t)lengths[i] : 0, start, sum);
                if (i < n)
                        starts[i] = before + start;
                before += sum;
                __syncthreads();
        }
        if (threadIdx.x == 0)
                starts[n] = before;
}

/* The pairs of one thread. */
template <class Key> struct merged {
        Key kmers[kc_merge_shape<Key>::NITEMS];
        uint32_t counts[kc_merge_shape<Key>::NITEMS];
        unsigned n;
        uint64_t nsaturated;
};

/* Steps are unrolled so that the pairs stay in registers. */
template <class Key>
static __device__ void walk_tile(const struct tile<Key> &tile, const uint32_t *counts,
                                 struct merged<Key> *merged)
{
        struct kc_merge_walk<Key> walk;
        unsigned end = begin_walk(&walk, tile);
        merged->n = 0;
        merged->nsaturated = 0;
#pragma unroll
        for (int i = 0; i < kc_merge_shape<Key>::NITEMS; i++) {
                if (walk.at.a + walk.at.b >= end)
                        continue;
                struct kc_merge_cut<unsigned> at = walk.at;
                struct kc_merge_item<Key> item = kc_merge_walk_step(&walk);
                uint32_t a = item.in_a ? counts[at.a] : 0;
                uint32_t b = item.in_b ? counts[tile.na + at.b] : 0;
                merged->kmers[i] = item.kmer;
                merged->counts[i] = kc_count_add(a, b);
                merged->nsaturated += (uint64_t)a + b - merged->counts[i];
                merged->n++;
        }
}

/* The thread's pairs take their places in the tile, whose input nobody needs any more, and leave
 * in order. */
template <class Key>
static __global__ void __launch_bounds__(kc_merge_shape<Key>::NTHREADS, 4)
        merge_kernel(struct kc_gpu_run<Key> a, struct kc_gpu_run<Key> b,
                     const struct kc_merge_cut<size_t> *cuts, const size_t *starts,
                     uint64_t *nsaturated, struct kc_gpu_run<Key> result)
{
        using shape = kc_merge_shape<Key>;
        using scan = cub::BlockScan<unsigned, shape::NTHREADS>;
        __shared__ struct tile<Key> tile;
        __shared__ uint32_t counts[shape::CAP];
        __shared__ typename scan::TempStorage scan_storage;
        const struct kc_merge_cut<size_t> *cut = &cuts[blockIdx.x];
        load_kmers(&tile, a, b, cut);
        kc_merge_load<uint32_t, shape::NTHREADS>(counts, a.counts + cut[0].a,
                                                 (unsigned)(cut[1].a - cut[0].a),
                                                 b.counts + cut[0].b,
                                                 (unsigned)(cut[1].b - cut[0].b));
        kc_merge_wait_for_loads();
        struct merged<Key> merged;
        walk_tile(tile, counts, &merged);
        if (merged.nsaturated)
                atomicAdd((unsigned long long *)nsaturated, (unsigned long long)merged.nsaturated);
        unsigned place, n;
        scan(scan_storage).ExclusiveSum(merged.n, place, n);
        __syncthreads();
        kc_merge_put(tile.kmers + place, merged.kmers, merged.n);
        kc_merge_put(counts + place, merged.counts, merged.n);
        __syncthreads();
        size_t start = starts[blockIdx.x];
        for (unsigned i = threadIdx.x; i < n; i += shape::NTHREADS) {
                result.kmers[start + i] = tile.kmers[i];
                result.counts[start + i] = counts[i];
        }
}

template <class Key> size_t kc_gpu_merge_nbytes(size_t n)
{
        size_t ntiles = kc_merge_count_tiles<Key>(n);
        return (ntiles + 1) * (sizeof(struct kc_merge_cut<size_t>) + sizeof(size_t)) +
               ntiles * sizeof(uint32_t);
}

template <class Key>
static enum kc_status take_plan(struct kc_gpu *gpu, struct kc_gpu_merge<Key> *merge,
                                struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(gpu, &merge->cuts, merge->ntiles + 1, err));
        KC_TRY(kc_gpu_new(gpu, &merge->lengths, merge->ntiles, err));
        KC_TRY(kc_gpu_new(gpu, &merge->starts, merge->ntiles + 1, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_merge_plan(struct kc_gpu *gpu, struct kc_gpu_merge<Key> *merge,
                                 const struct kc_gpu_run<Key> *a, const struct kc_gpu_run<Key> *b,
                                 struct kc_error *err)
{
        enum kc_status status;
        enum { CUT_NTHREADS = 128 };
        *merge = {};
        merge->a = *a;
        merge->b = *b;
        merge->ntiles = kc_merge_count_tiles<Key>(a->n + b->n);
        if (merge->ntiles == 0)
                return KC_OK;
        KC_TRY(take_plan(gpu, merge, err));
        cut_kernel<<<kc_ceil_div(merge->ntiles + 1, CUT_NTHREADS), CUT_NTHREADS, 0, gpu->stream>>>(
                *a, *b, merge->ntiles, merge->cuts);
        KC_TRY(KC_LAUNCHED());
        length_kernel<<<(unsigned)merge->ntiles, kc_merge_shape<Key>::NTHREADS, 0, gpu->stream>>>(
                *a, *b, merge->cuts, merge->lengths);
        KC_TRY(KC_LAUNCHED());
        start_kernel<<<1, SCAN_NTHREADS, 0, gpu->stream>>>(merge->lengths, merge->ntiles,
                                                           merge->starts);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&merge->n, merge->starts + merge->ntiles, sizeof merge->n,
                                       cudaMemcpyDeviceToHost, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        if (status != KC_OK)
                kc_gpu_merge_free(gpu, merge);
        return status;
}

template <class Key>
enum kc_status kc_gpu_merge_make(struct kc_gpu *gpu, const struct kc_gpu_merge<Key> *merge,
                                 uint64_t *nsaturated, struct kc_gpu_run<Key> *result,
                                 struct kc_error *err)
{
        result->n = merge->n;
        if (merge->ntiles == 0)
                return KC_OK;
        merge_kernel<<<(unsigned)merge->ntiles, kc_merge_shape<Key>::NTHREADS, 0, gpu->stream>>>(
                merge->a, merge->b, merge->cuts, merge->starts, nsaturated, *result);
        return KC_LAUNCHED();
}

template <class Key> void kc_gpu_merge_free(struct kc_gpu *gpu, struct kc_gpu_merge<Key> *merge)
{
        kc_gpu_delete(gpu, merge->cuts, merge->ntiles + 1);
        kc_gpu_delete(gpu, merge->lengths, merge->ntiles);
        kc_gpu_delete(gpu, merge->starts, merge->ntiles + 1);
        *merge = {};
}

template <class Key>
enum kc_status kc_gpu_merge_runs(struct kc_gpu *gpu, const struct kc_gpu_run<Key> *a,
                                 const struct kc_gpu_run<Key> *b, uint64_t *nsaturated,
                                 struct kc_gpu_run<Key> *result, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_merge<Key> merge = {};
        *result = {};
        KC_TRY(kc_gpu_merge_plan(gpu, &merge, a, b, err));
        KC_TRY(kc_gpu_run_new(gpu, result, merge.n, err));
        KC_TRY(kc_gpu_merge_make(gpu, &merge, nsaturated, result, err));
out:
        kc_gpu_merge_free(gpu, &merge);
        if (status != KC_OK)
                kc_gpu_run_free(gpu, result);
        return status;
}

#define INSTANTIATE(Key) \
        template size_t kc_gpu_merge_nbytes<Key>(size_t); \
        template enum kc_status kc_gpu_merge_plan(struct kc_gpu *, struct kc_gpu_merge<Key> *, \
                                                  const struct kc_gpu_run<Key> *, \
                                                  const struct kc_gpu_run<Key> *, \
                                                  struct kc_error *); \
        template enum kc_status kc_gpu_merge_make( \
                struct kc_gpu *, const struct kc_gpu_merge<Key> *, uint64_t *, \
                struct kc_gpu_run<Key> *, struct kc_error *); \
        template void kc_gpu_merge_free(struct kc_gpu *, struct kc_gpu_merge<Key> *); \
        template enum kc_status kc_gpu_merge_runs( \
                struct kc_gpu *, const struct kc_gpu_run<Key> *, const struct kc_gpu_run<Key> *, \
                uint64_t *, struct kc_gpu_run<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
