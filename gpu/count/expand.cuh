/*
 * From stretches to k-mers: a warp takes up to 32 stretches and divides their k-mers evenly among
 * its lanes.
 */
#ifndef KC_GPU_COUNT_EXPAND_CUH
#define KC_GPU_COUNT_EXPAND_CUH

#include "gpu/count/fold.cuh"
#include "gpu/device/warp.cuh"

/* What the lanes of a warp share, in shared memory. */
template <class Key> struct kc_expander {
        /* Bit i%32 of word i/32: k-mer i is the first of its stretch. */
        uint32_t heads[1 << kc_record_length_bits<Key>()];
        uint32_t before[32]; /* number of k-mers in the stretches before */
};

/*
 * Each lane passes a stretch of nkmers k-mers; lanes without a stretch pass 0 and come after all
 * lanes that have one. Returns the total number of k-mers. For the whole warp.
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

/* The stretch of k-mer number round * 32 + lane, and the k-mer's number in that stretch. */
struct kc_place {
        uint32_t owner, offset;
};

/* `owners` is the number of stretches that begin before this round; it is updated. Call for
 * rounds in order from 0. A lane past the last k-mer gets the last owner and an offset up to 31
 * too large. */
template <class Key>
__device__ static kc_place kc_expand(const kc_expander<Key> *x, uint32_t round, uint32_t *owners)
{
        const uint32_t lane = kc_warp_lane();
        const uint32_t heads = x->heads[round];
        const uint32_t owner = *owners + __popc(heads & ((2u << lane) - 1)) - 1;
        *owners += __popc(heads);
        return { owner, round * 32 + lane - x->before[owner] };
}

/* The k bases from number `from` on, still packed, with arbitrary bits above them. Reads up to two
 * 32-bit words past the last one that is needed. */
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

template <int N>
__device__ static inline kc_key_wide<N> kc_cut_bases(const uint32_t *bases, uint32_t from,
                                                     kc_key_wide<N>)
{
        kc_key_wide<N> key;
        for (int i = 0; i < N; i++)
                key.words[i] = kc_cut_bases(bases + 2 * i, from, kc_key64());
        return key;
}

#endif
