/*
 * An encoder and its slots, and what its host side (encode_memory.cu, encode.cu) shares with its
 * kernels. Private to encode*.cu.
 */
#ifndef KC_GPU_BLOCKS_ENCODE_INTERNAL_CUH
#define KC_GPU_BLOCKS_ENCODE_INTERNAL_CUH

#include "gpu/blocks/encode.cuh"

/* What the kernels find in a range. */
struct encode_totals {
        unsigned long long nbig; /* counts of at least KC_RUN_NROWS */
        unsigned long long rows[KC_RUN_NROWS];
};

/* Pinned memory that grows. */
struct encode_pinned {
        void *memory;
        size_t cap;
};

enum {
        ENCODE_NSTAGES = 2,
        ENCODE_USUAL_NBIG = 1 << 14, /* big counts that are downloaded before their number is
                                        known */
};

/* The words of a range, on the device, of worst-case size. One stage is encoded into while the
 * previous one is downloaded. */
struct encode_stage {
        uint64_t *words;
        cudaEvent_t downloaded; /* all of it is on the host, or the stage was never used */
};

/* What is known of a range's blocks, on the device or in pinned memory. */
template <class Key> struct encode_index {
        uint32_t *block_nwords; /* [max_blocks] */
        Key *firsts, *lasts;    /* [max_blocks] */
        struct encode_totals *totals;
};

/* A part while it is downloaded, and on the host. */
template <class Key> struct encode_slot {
        struct encode_pinned words;
        cudaEvent_t done; /* the download */
        struct kc_run_blocks blocks;
        uint32_t *block_nwords; /* [part_blocks] */
        Key *firsts;            /* [part_blocks] */
        Key last;
        uint64_t rows[KC_RUN_NROWS];
        uint32_t *big_counts; /* [big_cap] */
        size_t big_cap;
};

template <class Key> struct kc_gpu_encoder {
        struct kc_gpu *gpu;
        struct kc_gpu_encoder_caps caps;
        size_t max_blocks, part_blocks; /* maximum of a range, of a part */
        int k;
        struct encode_slot<Key> *slots;
        size_t ncarry;
        /* the last range put: what is left to be downloaded */
        struct encode_stage stages[ENCODE_NSTAGES];
        uint64_t nputs;
        size_t n, nblocks, next_block, next_word;
        struct encode_index<Key> found, host; /* on the device; pinned */
        uint32_t *big_counts;                 /* on the device, of worst-case size */
        struct encode_pinned host_big;
        /* on the device */
        Key *carry_kmers;
        uint32_t *carry_counts;
        uint64_t *heads, *sizes, *offsets;
        void *scan_scratch;
        size_t scan_nbytes;
};

/* Make it at least nbytes large; if it grows, its contents are lost. KC_ENOMEM. */
enum kc_status kc_encode_grow(struct encode_pinned *pinned, size_t nbytes, struct kc_error *err);

/* Bytes of scratch memory that the scan of n sizes takes. */
size_t kc_encode_scan_nbytes(size_t n);

#endif
