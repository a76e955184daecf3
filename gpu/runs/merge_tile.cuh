/*
 * Shared by merges of sorted runs: tiles of keys with values in shared memory.
 */
#ifndef KC_GPU_RUNS_MERGE_TILE_CUH
#define KC_GPU_RUNS_MERGE_TILE_CUH

#include "gpu/runs/merge.cuh"

#include <cuda_pipeline.h>

/* The number of items per thread is odd, so that the threads of a warp start in different banks. A
 * tile of k-mers and values takes a little under 48 KB, so that four blocks share a
 * multiprocessor. */
template <class Key, class Value = uint32_t> struct kc_merge_shape {
        enum {
                NTHREADS = 256,
                MOST_NBYTES = 184, /* per thread */
                NITEMS = (MOST_NBYTES / (sizeof(Key) + sizeof(Value)) - 1) | 1,
                LENGTH = NTHREADS * NITEMS,
                CAP = LENGTH + 1, /* a tile may have one item more or one less: see
                                     kc_merge_cut_at */
        };
        static_assert(CAP * (sizeof(Key) + sizeof(Value)) + 1024 <= 48 << 10,
                      "a tile fits in a block's static shared memory");
};

template <class Key, class Value = uint32_t> static inline size_t kc_merge_count_tiles(size_t n)
{
        return (n + kc_merge_shape<Key, Value>::LENGTH - 1) / kc_merge_shape<Key, Value>::LENGTH;
}

/* Start copying two parts of an array to shared memory, b's part after a's. At most 16 bytes can be
 * copied at a time; longer items are copied word by word. */
template <class T, int NTHREADS>
static __device__ void kc_merge_load(T *to, const T *a, unsigned na, const T *b, unsigned nb)
{
        if constexpr (sizeof(T) > 16) {
                enum { NWORDS = sizeof(T) / sizeof(uint64_t) };
                kc_merge_load<uint64_t, NTHREADS>((uint64_t *)to, (const uint64_t *)a, na * NWORDS,
                                                  (const uint64_t *)b, nb * NWORDS);
        } else {
                for (unsigned i = threadIdx.x; i < na + nb; i += NTHREADS)
                        __pipeline_memcpy_async(&to[i], i < na ? &a[i] : &b[i - na], sizeof(T));
        }
}

static inline __device__ void kc_merge_wait_for_loads(void)
{
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
}

/* Store the first n; unrolled so that the items stay in registers. */
template <class T, int NITEMS>
static __device__ void kc_merge_put(T *to, const T (&items)[NITEMS], unsigned n)
{
#pragma unroll
        for (unsigned i = 0; i < NITEMS; i++)
                if (i < n)
                        to[i] = items[i];
}

#endif
