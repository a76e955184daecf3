/*
 * Blocks of .kc files (kmer/block_codec.h) to pairs for joins, on the device.
 */
#ifndef KC_GPU_BLOCKS_DECODE_CUH
#define KC_GPU_BLOCKS_DECODE_CUH

#include "gpu/device/run.cuh"

/* A block, as the host knows it from an index. */
template <class Key> struct kc_decode_block {
        Key first;
        uint64_t at;     /* where it begins in the words */
        uint32_t nwords; /* without its checksum */
        uint32_t n;      /* k-mers that it is to hold */
        uint32_t run;
};

/* A run: how its counts become values of joins (kmer/join.h), and what is found in it. */
struct kc_decode_run {
        uint64_t mark;       /* of all values */
        uint32_t count_mask; /* 0: counts are of no meaning */
        /* out: of the pairs of its blocks, those below `from` and below `end`; the sum of the
         * counts between the two */
        unsigned long long nbelow_from, nbelow_end, sum;
};

/* What to decode; all in device memory. */
template <class Key> struct kc_decode_range {
        const uint64_t *words; /* the blocks', with KC_BLOCK_PADDING words behind them */
        const struct kc_decode_block<Key> *blocks; /* [nblocks] run after run, ascending */
        size_t nblocks;
        struct kc_decode_run *runs; /* zero, where they are out */
        Key from, end;
        bool has_end; /* else there is no bound */
};

/*
 * Decode: block b's pairs to pairs->kmers and pairs->counts from b * KC_BLOCK_NKMERS on, so that a
 * run's pairs follow one another if all its blocks but the last are full.
 *   refused  out, device: of the first block that is none of so many words and k-mers, or not in
 *            ascending order before the next of its run, nblocks - b; 0 if there is none. Nothing
 *            outside of the words and the pairs is read or written, whatever the words are
 * Returns with the work on gpu->stream.
 */
template <class Key>
enum kc_status kc_gpu_decode(struct kc_gpu *gpu, const struct kc_decode_range<Key> *range,
                             const struct kc_gpu_run<Key, uint64_t> *pairs,
                             unsigned long long *refused, struct kc_error *err);

#endif
