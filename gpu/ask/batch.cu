#include "gpu/ask/batch.cuh"

#include "gpu/ask/window.cuh"
#include "gpu/device/warp.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };

/* ---- k-mers ---- */

template <class Key>
static __global__ void kmers_kernel(const uint64_t *words, const uint32_t *firsts,
                                    uint32_t nstretches, uint32_t nwindows, int k, bool stranded,
                                    Key *kmers)
{
        const uint32_t window = blockIdx.x * THREADS + threadIdx.x;
        if (window >= nwindows)
                return;
        const uint32_t stretch = kc_count_below(firsts, nstretches, window + 1) - 1;
        const uint64_t from = window + (uint64_t)stretch * ((uint32_t)k - 1);
        kmers[window] = kc_ask_window_kmer<Key>(words, from, k, stranded);
}

template <class Key>
enum kc_status kc_ask_make_kmers(cudaStream_t stream, const struct kc_ask_arrays *arrays,
                                 const struct kc_ask_sizes *sizes, int k, bool stranded, Key *kmers,
                                 struct kc_error *err)
{
        kmers_kernel<<<kc_ceil_div(sizes->nwindows, THREADS), THREADS, 0, stream>>>(
                arrays->words, arrays->firsts, sizes->nstretches, sizes->nwindows, k, stranded,
                kmers);
        return KC_LAUNCHED();
}

/* ---- summaries ---- */

static __device__ void gather(struct kc_ask_part_summary *s)
{
        for (int d = 16; d > 0; d /= 2) {
                const uint32_t nlead = __shfl_xor_sync(UINT32_MAX, s->nlead, d);
                const uint32_t min = __shfl_xor_sync(UINT32_MAX, s->min, d);
                const uint32_t max = __shfl_xor_sync(UINT32_MAX, s->max, d);
                s->sum += __shfl_xor_sync(UINT32_MAX, (unsigned long long)s->sum, d);
                s->nfound += __shfl_xor_sync(UINT32_MAX, s->nfound, d);
                s->nlead = nlead < s->nlead ? nlead : s->nlead;
                s->min = min < s->min ? min : s->min;
                s->max = max > s->max ? max : s->max;
        }
}

/* A warp for each part. */
static __global__ void summaries_kernel(const uint32_t *counts, const struct kc_ask_part *parts,
                                        uint32_t nparts, uint32_t min_count, uint32_t max_count,
                                        struct kc_ask_part_summary *summaries)
{
        const uint32_t number = blockIdx.x * WARPS + threadIdx.x / 32;
        if (number >= nparts)
                return;
        const struct kc_ask_part part = parts[number];
        struct kc_ask_part_summary s = { 0, 0, part.n, UINT32_MAX, 0 };
        for (uint32_t i = kc_warp_lane(); i < part.n; i += 32) {
                const uint32_t count = counts[part.first + i];
                const bool in_range = count >= min_count && count <= max_count;
                s.sum += count;
                s.nfound += in_range;
                s.nlead = in_range || i > s.nlead ? s.nlead : i;
                s.min = count < s.min ? count : s.min;
                s.max = count > s.max ? count : s.max;
        }
        gather(&s);
        if (kc_warp_lane() == 0)
                summaries[number] = s;
}

enum kc_status kc_ask_summarize_parts(cudaStream_t stream, const struct kc_ask_arrays *arrays,
                                      const struct kc_ask_sizes *sizes,
                                      const struct kc_ask_setup *setup, struct kc_error *err)
{
        summaries_kernel<<<kc_ceil_div(sizes->nparts, WARPS), THREADS, 0, stream>>>(
                arrays->counts, arrays->parts, sizes->nparts, setup->min_count, setup->max_count,
                arrays->summaries);
        return KC_LAUNCHED();
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_make_kmers(cudaStream_t, const struct kc_ask_arrays *, \
                                                  const struct kc_ask_sizes *, int, bool, Key *, \
                                                  struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
