/*
 * Stretches to k-mers: a warp takes up to 32 stretches and shares their k-mers out evenly among its
 * lanes.
 */
#ifndef KC_GPU_COUNT_EXPAND_CUH
#define KC_GPU_COUNT_EXPAND_CUH

#include "gpu/count/fold.cuh"
#include "gpu/device/warp.cuh"

/* What the lanes of a warp tell one another, in shared memory. */
template <class Key> struct kc_expander {
        uint32_t heads[kc_stretch<Key>::MAX_NBASES]; /* bit i%32 of word i/32: k-mer i is its
                                                        stretch's first */
        uint32_t before[32];                         /* k-mers of the stretches before */
};

/*
 * Take a stretch of nkmers k-mers from each lane, 0 from a lane without one, which has none behind
 * it that has one. Returns the number of their k-mers. For the whole warp.
 */
template <class Key>
__device__ static uint32_t kc_expand_begin(kc_expander<Key> *x, uint32_t nkmers)
{
        const uint32_t lane = kc_warp_lane(), sum = kc_warp_scan(nkmers);
        const uint32_t total = __shfl_sync(~0u, sum, 31), before = sum - nkmers;
        __syncwarp();
        for (uint32_t i = lane; i * 32 < total; i += 32)
                x->heads[i] = 0;
        __syncwarp();
        x->before[lane] = before;
        if (nkmers > 0)
                atomicOr(&x->heads[before / 32], 1u << before % 32);
        __syncwarp();
        return total;
}

/* Whose k-mer number round * 32 + lane is, and which of its k-mers. */
struct kc_place {
        uint32_t owner, offset;
};

/* `owners` is the number of stretches that begin before this round, updated. Rounds ascend from 0;
 * a lane beyond the total gets the last owner and an offset up to 31 too far. */
template <class Key>
__device__ static kc_place kc_expand(const kc_expander<Key> *x, uint32_t round, uint32_t *owners)
{
        const uint32_t lane = kc_warp_lane();
        const uint32_t heads = x->heads[round];
        const uint32_t owner = *owners + __popc(heads & ((2u << lane) - 1)) - 1;
        *owners += __popc(heads);
        return { owner, round * 32 + lane - x->before[owner] };
}

/* The k bases from a place on, as they lie there, with any bits above them. Up to two words of 32
 * bits behind the last that holds one of them are read. */
__device__ static inline kc_key64 kc_cut_bases(const uint32_t *bases, uint32_t from, kc_key64)
{
        const uint32_t *word = bases + from / 16;
        const uint32_t shift = 2 * (from % 16);
        uint32_t low = __funnelshift_r(word[0], word[1], shift);
        uint32_t high = __funnelshift_r(word[1], word[2], shift);
        return (kc_key64)high << 32 | low;
}

__device__ static inline kc_key128 kc_cut_bases(const uint32_t *bases, uint32_t from, kc_key128)
{
        return (kc_key128)kc_cut_bases(bases + 2, from, kc_key64()) << 64 |
               kc_cut_bases(bases, from, kc_key64());
}

#endif
