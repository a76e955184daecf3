/*
 * The kernels that merge two sorted runs (merge.cuh), with a rule that decides what becomes of each
 * k-mer. Private to merge.cu and join.cu.
 *
 * A rule is
 *
 *      in, out      types: a value of either run, of the result (no longer than in)
 *      CHOOSES      whether it can drop k-mers, so that lengths depend on values
 *      tally        what each thread counts along the way, in the first kernel that applies the
 *                   rule; zeroed by {}
 *      operator()   (in a, in b, out *result, tally *): false drops the k-mer. A run without the
 *                   k-mer passes the value 0
 *      add          (tally): adds it to the device's total
 */
#ifndef KC_GPU_RUNS_MERGE_RULE_CUH
#define KC_GPU_RUNS_MERGE_RULE_CUH

#include "gpu/runs/merge_steps.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

/* One step by the rule; false: its k-mer is dropped. */
template <class Rule, class Key>
static __device__ bool merge_step(struct kc_merge_walk<Key> *walk, unsigned na,
                                  const typename Rule::in *values, const Rule &rule, Key *kmer,
                                  typename Rule::out *value, typename Rule::tally *tally)
{
        struct kc_merge_cut<unsigned> at = walk->at;
        struct kc_merge_item<Key> item = kc_merge_walk_step(walk);
        typename Rule::in a = item.in_a ? values[at.a] : 0;
        typename Rule::in b = item.in_b ? values[na + at.b] : 0;
        *kmer = item.kmer;
        return rule(a, b, value, tally);
}

/* The number of the thread's steps that yield a k-mer. */
template <class Rule, class Key>
static __device__ unsigned count_steps(const struct merge_tile<Rule, Key> &tile,
                                       const typename Rule::in *values, const Rule &rule,
                                       typename Rule::tally *tally)
{
        struct kc_merge_walk<Key> walk;
        unsigned end = begin_walk(&walk, tile), n = 0;
        while (walk.at.a + walk.at.b < end) {
                Key kmer;
                typename Rule::out value;
                if (Rule::CHOOSES)
                        n += merge_step(&walk, tile.na, values, rule, &kmer, &value, tally);
                else
                        n += ((void)kc_merge_walk_step(&walk), 1);
        }
        return n;
}

template <class Rule, class Key, class Value>
static __global__ void __launch_bounds__(kc_merge_shape<Key, Value>::NTHREADS)
        merge_length_kernel(struct kc_gpu_run<Key, Value> a, struct kc_gpu_run<Key, Value> b,
                            const struct kc_merge_cut<size_t> *cuts, Rule rule, uint32_t *lengths)
{
        using shape = kc_merge_shape<Key, Value>;
        using reduce = cub::BlockReduce<unsigned, shape::NTHREADS>;
        using tile_type = merge_tile<Rule, Key>;
        __shared__ tile_type tile;
        __shared__ Value values[Rule::CHOOSES ? shape::CAP : 1];
        __shared__ typename reduce::TempStorage reduce_storage;
        load_kmers(&tile, a, b, &cuts[blockIdx.x]);
        if (Rule::CHOOSES)
                load_values(values, a, b, &cuts[blockIdx.x]);
        kc_merge_wait_for_loads();
        typename Rule::tally tally = {};
        unsigned n = reduce(reduce_storage).Sum(count_steps(tile, values, rule, &tally));
        if (Rule::CHOOSES)
                rule.add(tally);
        if (threadIdx.x == 0)
                lengths[blockIdx.x] = n;
}

/* One block suffices: there are few tiles compared to pairs. */
enum { SCAN_NTHREADS = 1024 };

static __global__ void __launch_bounds__(SCAN_NTHREADS)
        merge_start_kernel(const uint32_t *lengths, size_t n, size_t *starts)
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

/* The pairs of one thread, one per step; bit i of `kept` is set if pair i is kept. */
template <class Rule, class Key> struct merged {
        Key kmers[kc_merge_shape<Key, typename Rule::in>::NITEMS];
        typename Rule::out values[kc_merge_shape<Key, typename Rule::in>::NITEMS];
        uint32_t kept;
        typename Rule::tally tally;
};

/* Steps are unrolled so that the pairs stay in registers. */
template <class Rule, class Key>
static __device__ void walk_tile(const struct merge_tile<Rule, Key> &tile,
                                 const typename Rule::in *values, const Rule &rule,
                                 struct merged<Rule, Key> *merged)
{
        struct kc_merge_walk<Key> walk;
        unsigned end = begin_walk(&walk, tile);
        merged->kept = 0;
        merged->tally = {};
#pragma unroll
        for (int i = 0; i < kc_merge_shape<Key, typename Rule::in>::NITEMS; i++) {
                if (walk.at.a + walk.at.b >= end)
                        continue;
                if (merge_step(&walk, tile.na, values, rule, &merged->kmers[i], &merged->values[i],
                               &merged->tally))
                        merged->kept |= 1u << i;
        }
}

/* Store the kept items contiguously; unrolled so that the items stay in registers. */
template <class Rule, class T, int NITEMS>
static __device__ void put_kept(T *to, const T (&items)[NITEMS], uint32_t kept)
{
        int n = 0;
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                if (kept >> i & 1)
                        to[Rule::CHOOSES ? n++ : i] = items[i]; /* if nothing is dropped, the first
                                                                   items are the kept ones */
}

/* Each thread's pairs go to their places in the tile, whose input is no longer needed, and from
 * there in order to the result. */
template <class Rule, class Key, class Value>
static __global__ void __launch_bounds__(kc_merge_shape<Key, Value>::NTHREADS, 4)
        merge_runs_kernel(struct kc_gpu_run<Key, Value> a, struct kc_gpu_run<Key, Value> b,
                          const struct kc_merge_cut<size_t> *cuts, const size_t *starts, Rule rule,
                          struct kc_gpu_run<Key, typename Rule::out> result)
{
        using shape = kc_merge_shape<Key, Value>;
        using scan = cub::BlockScan<unsigned, shape::NTHREADS>;
        using tile_type = merge_tile<Rule, Key>;
        __shared__ tile_type tile;
        __shared__ Value values[shape::CAP];
        __shared__ typename scan::TempStorage scan_storage;
        typename Rule::out *out = (typename Rule::out *)values;
        load_kmers(&tile, a, b, &cuts[blockIdx.x]);
        load_values(values, a, b, &cuts[blockIdx.x]);
        kc_merge_wait_for_loads();
        struct merged<Rule, Key> merged;
        walk_tile(tile, values, rule, &merged);
        if (!Rule::CHOOSES)
                rule.add(merged.tally);
        unsigned place, n;
        scan(scan_storage).ExclusiveSum((unsigned)__popc(merged.kept), place, n);
        __syncthreads();
        put_kept<Rule>(tile.kmers + place, merged.kmers, merged.kept);
        put_kept<Rule>(out + place, merged.values, merged.kept);
        __syncthreads();
        size_t start = starts[blockIdx.x];
        for (unsigned i = threadIdx.x; i < n; i += shape::NTHREADS) {
                result.kmers[start + i] = tile.kmers[i];
                result.counts[start + i] = out[i];
        }
}

/* ---- the steps of a merge, see merge.cuh ---- */

template <class Key, class Value>
static enum kc_status take_plan(struct kc_gpu *gpu, struct kc_gpu_merge<Key, Value> *merge,
                                struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(gpu, &merge->cuts, merge->ntiles + 1, err));
        KC_TRY(kc_gpu_new(gpu, &merge->lengths, merge->ntiles, err));
        KC_TRY(kc_gpu_new(gpu, &merge->starts, merge->ntiles + 1, err));
out:
        return status;
}

template <class Key, class Value>
static void free_plan(struct kc_gpu *gpu, struct kc_gpu_merge<Key, Value> *merge)
{
        kc_gpu_delete(gpu, merge->cuts, merge->ntiles + 1);
        kc_gpu_delete(gpu, merge->lengths, merge->ntiles);
        kc_gpu_delete(gpu, merge->starts, merge->ntiles + 1);
        *merge = {};
}

template <class Key, class Value, class Rule>
static enum kc_status plan_by(struct kc_gpu *gpu, struct kc_gpu_merge<Key, Value> *merge,
                              const struct kc_gpu_run<Key, Value> *a,
                              const struct kc_gpu_run<Key, Value> *b, const Rule &rule,
                              struct kc_error *err)
{
        using shape = kc_merge_shape<Key, Value>;
        enum kc_status status;
        enum { CUT_NTHREADS = 128 };
        *merge = {};
        merge->a = *a;
        merge->b = *b;
        merge->ntiles = kc_merge_count_tiles<Key, Value>(a->n + b->n);
        if (merge->ntiles == 0)
                return KC_OK;
        KC_TRY(take_plan(gpu, merge, err));
        merge_cut_kernel<<<kc_ceil_div(merge->ntiles + 1, CUT_NTHREADS), CUT_NTHREADS, 0,
                           gpu->stream>>>(*a, *b, merge->ntiles, merge->cuts);
        KC_TRY(KC_LAUNCHED());
        merge_length_kernel<<<(unsigned)merge->ntiles, shape::NTHREADS, 0, gpu->stream>>>(
                *a, *b, merge->cuts, rule, merge->lengths);
        KC_TRY(KC_LAUNCHED());
        merge_start_kernel<<<1, SCAN_NTHREADS, 0, gpu->stream>>>(merge->lengths, merge->ntiles,
                                                                 merge->starts);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(gpu, &merge->n, merge->starts + merge->ntiles, 1, err));
out:
        if (status != KC_OK)
                free_plan(gpu, merge);
        return status;
}

template <class Key, class Value, class Rule>
static enum kc_status make_by(struct kc_gpu *gpu, const struct kc_gpu_merge<Key, Value> *merge,
                              const Rule &rule, struct kc_gpu_run<Key, typename Rule::out> *result,
                              struct kc_error *err)
{
        result->n = merge->n;
        if (merge->ntiles == 0)
                return KC_OK;
        merge_runs_kernel<<<(unsigned)merge->ntiles, kc_merge_shape<Key, Value>::NTHREADS, 0,
                            gpu->stream>>>(merge->a, merge->b, merge->cuts, merge->starts, rule,
                                           *result);
        return KC_LAUNCHED();
}

/* Plan and make a merge into a new run of exactly the needed size. */
template <class Key, class Value, class Rule>
static enum kc_status merge_by(struct kc_gpu *gpu, const struct kc_gpu_run<Key, Value> *a,
                               const struct kc_gpu_run<Key, Value> *b, const Rule &rule,
                               struct kc_gpu_run<Key, typename Rule::out> *result,
                               struct kc_error *err)
{
        enum kc_status status;
        kc_gpu_merge<Key, Value> merge = {};
        *result = {};
        KC_TRY(plan_by(gpu, &merge, a, b, rule, err));
        KC_TRY(kc_gpu_run_new(gpu, result, merge.n, err));
        KC_TRY(make_by(gpu, &merge, rule, result, err));
out:
        free_plan(gpu, &merge);
        if (status != KC_OK)
                kc_gpu_run_free(gpu, result);
        return status;
}

#endif
