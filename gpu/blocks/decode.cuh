/*
 * Decodes blocks (kmer/block_codec.h) into pairs, on the device: those of .kc files for joins, and
 * those of runs that were kept on the host for merges.
 */
#ifndef KC_GPU_BLOCKS_DECODE_CUH
#define KC_GPU_BLOCKS_DECODE_CUH

#include "gpu/device/run.cuh"

/* A block, as the host knows it from an index. */
template <class Key> struct kc_decode_block {
        Key first;
        uint64_t at;     /* where it begins in the words */
        uint32_t nwords; /* without its checksum */
        uint32_t n;      /* k-mers that it should hold */
        uint32_t run;
};

/* A run: how its counts become values of joins (kmer/join.h), and what decoding finds in it. To
 * leave the counts as they are: no mark, and a mask of all bits. */
struct kc_decode_run {
        uint64_t mark;       /* set in all values */
        uint32_t count_mask; /* 0: counts are ignored */
        /* out: how many pairs of its blocks are below `from`, and below `end`; the sum of the
         * counts of those in between */
        unsigned long long nbelow_from, nbelow_end, sum;
};

/* What to decode; all in device memory. */
template <class Key> struct kc_decode_range {
        const uint64_t *words; /* of the blocks, followed by KC_BLOCK_PADDING more words */
        const struct kc_decode_block<Key> *blocks; /* [nblocks] run after run, ascending */
        size_t nblocks;
        struct kc_decode_run *runs; /* its out fields must be zero */
        Key from, end;
        bool has_end; /* otherwise there is no upper bound */
};

/*
 * Decode: block b's pairs go to pairs->kmers and pairs->counts starting at b * KC_BLOCK_NKMERS, so
 * a run's pairs are contiguous if all its blocks but the last are full.
 *   refused  out, device: nblocks - b for the first block b that is malformed, does not have the
 *            given numbers of words and k-mers, or is not ascending and below the next block of its
 *            run; 0 if there is none. Nothing outside the words and the pairs is read or written,
 *            whatever the words are
 * Returns with the work queued on gpu->stream. KC_EDEVICE.
 */
template <class Key, class Value>
enum kc_status kc_gpu_decode(struct kc_gpu *gpu, const struct kc_decode_range<Key> *range,
                             const struct kc_gpu_run<Key, Value> *pairs,
                             unsigned long long *refused, struct kc_error *err);

#endif
