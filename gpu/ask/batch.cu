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

/* Include window number i of the part. */
static __device__ void include(struct kc_ask_part_summary *s, uint32_t i, uint32_t count,
                               bool in_range)
{
        s->sum += count;
        s->nfound += in_range;
        s->nlead = in_range || i > s->nlead ? s->nlead : i;
        s->nabsent += count == 0;
        s->least = count > 0 && count < s->least ? count : s->least;
        s->max = count > s->max ? count : s->max;
}

static __device__ void gather(struct kc_ask_part_summary *s)
{
        for (int d = 16; d > 0; d /= 2) {
                const uint32_t nlead = __shfl_xor_sync(UINT32_MAX, s->nlead, d);
                const uint32_t least = __shfl_xor_sync(UINT32_MAX, s->least, d);
                const uint32_t max = __shfl_xor_sync(UINT32_MAX, s->max, d);
                s->sum += __shfl_xor_sync(UINT32_MAX, (unsigned long long)s->sum, d);
                s->nfound += __shfl_xor_sync(UINT32_MAX, s->nfound, d);
                s->nabsent += __shfl_xor_sync(UINT32_MAX, s->nabsent, d);
                s->nlead = nlead < s->nlead ? nlead : s->nlead;
                s->least = least < s->least ? least : s->least;
                s->max = max > s->max ? max : s->max;
        }
}

/* A warp for each part. */
static __global__ void summaries_kernel(struct kc_ask_arrays arrays, uint32_t nparts,
                                        uint32_t min_count, uint32_t max_count)
{
        const uint32_t number = blockIdx.x * WARPS + threadIdx.x / 32;
        if (number >= nparts)
                return;
        const struct kc_ask_part part = arrays.parts[number];
        const uint32_t marks_at = kc_ask_marks_at(part.first, number);
        struct kc_ask_part_summary s = { 0, 0, part.n, 0, UINT32_MAX, 0 };
        for (uint32_t at = 0; at < part.n; at += 32) {
                const uint32_t i = at + kc_warp_lane();
                const uint32_t count = i < part.n ? arrays.counts[part.first + i] : 0;
                const bool in_range = count >= min_count && count <= max_count;
                const uint32_t marks = __ballot_sync(UINT32_MAX, in_range != (min_count == 0));
                if (arrays.marks != NULL && kc_warp_lane() == 0)
                        arrays.marks[marks_at + at / 32] = marks;
                if (i < part.n)
                        include(&s, i, count, in_range);
        }
        gather(&s);
        if (kc_warp_lane() == 0)
                arrays.summaries[number] = s;
}

enum kc_status kc_ask_summarize_parts(cudaStream_t stream, const struct kc_ask_arrays *arrays,
                                      const struct kc_ask_sizes *sizes,
                                      const struct kc_ask_setup *setup, struct kc_error *err)
{
        summaries_kernel<<<kc_ceil_div(sizes->nparts, WARPS), THREADS, 0, stream>>>(
                *arrays, sizes->nparts, setup->min_count, setup->max_count);
        return KC_LAUNCHED();
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_make_kmers(cudaStream_t, const struct kc_ask_arrays *, \
                                                  const struct kc_ask_sizes *, int, bool, Key *, \
                                                  struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
