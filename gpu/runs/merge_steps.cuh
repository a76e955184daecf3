/*
 * The first steps of a kernel that walks two sorted runs (merge.cuh): tiles are cut and loaded, and
 * each thread begins its walk. Private to merge_rule.cuh and cells.cu.
 *
 * A rule has the type of the runs' values, `in`.
 */
#ifndef KC_GPU_RUNS_MERGE_STEPS_CUH
#define KC_GPU_RUNS_MERGE_STEPS_CUH

#include "gpu/device/warp.cuh"
#include "gpu/runs/merge_tile.cuh"

/* Add up over the warp, then to *sum. All 32 lanes take part. */
static inline __device__ void add_to(uint64_t *sum, uint64_t x)
{
        for (int d = 16; d > 0; d /= 2)
                x += __shfl_xor_sync(UINT32_MAX, x, d);
        if (kc_warp_lane() == 0 && x != 0)
                atomicAdd((unsigned long long *)sum, (unsigned long long)x);
}

/* A tile in shared memory. */
template <class Rule, class Key> struct merge_tile {
        Key kmers[kc_merge_shape<Key, typename Rule::in>::CAP]; /* a's part, then b's */
        unsigned na, nb;
};

template <class Key, class Value>
static __global__ void merge_cut_kernel(struct kc_gpu_run<Key, Value> a,
                                        struct kc_gpu_run<Key, Value> b, size_t ntiles,
                                        struct kc_merge_cut<size_t> *cuts)
{
        size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
        if (t > ntiles)
                return;
        size_t diagonal = t * kc_merge_shape<Key, Value>::LENGTH, n = a.n + b.n;
        cuts[t] = kc_merge_cut_at(a.kmers, a.n, b.kmers, b.n, diagonal < n ? diagonal : n);
}

template <class Rule, class Key, class Value>
static __device__ void load_kmers(struct merge_tile<Rule, Key> *tile,
                                  const struct kc_gpu_run<Key, Value> &a,
                                  const struct kc_gpu_run<Key, Value> &b,
                                  const struct kc_merge_cut<size_t> *cut)
{
        unsigned na = (unsigned)(cut[1].a - cut[0].a), nb = (unsigned)(cut[1].b - cut[0].b);
        kc_merge_load<Key, kc_merge_shape<Key, Value>::NTHREADS>(tile->kmers, a.kmers + cut[0].a,
                                                                 na, b.kmers + cut[0].b, nb);
        if (threadIdx.x == 0) {
                tile->na = na;
                tile->nb = nb;
        }
}

template <class Key, class Value>
static __device__ void load_values(Value *values, const struct kc_gpu_run<Key, Value> &a,
                                   const struct kc_gpu_run<Key, Value> &b,
                                   const struct kc_merge_cut<size_t> *cut)
{
        kc_merge_load<Value, kc_merge_shape<Key, Value>::NTHREADS>(
                values, a.counts + cut[0].a, (unsigned)(cut[1].a - cut[0].a), b.counts + cut[0].b,
                (unsigned)(cut[1].b - cut[0].b));
}

/* Start the thread's walk; returns the diagonal before which its last step begins. */
template <class Rule, class Key>
static __device__ unsigned begin_walk(struct kc_merge_walk<Key> *walk,
                                      const struct merge_tile<Rule, Key> &tile)
{
        enum { NITEMS = kc_merge_shape<Key, typename Rule::in>::NITEMS };
        unsigned n = tile.na + tile.nb, begin = threadIdx.x * NITEMS;
        begin = begin < n ? begin : n;
        kc_merge_walk_begin(walk, tile.kmers, tile.na, tile.kmers + tile.na, tile.nb, begin);
        unsigned end = begin + NITEMS;
        return end < n ? end : n;
}

#endif
