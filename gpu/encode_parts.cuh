/*
 * An encoder and its slots, and what passes between its host side (encode_memory.cu, encode.cu) and
 * its kernels. Inside of encode.
 */
#ifndef KC_GPU_ENCODE_PARTS_CUH
#define KC_GPU_ENCODE_PARTS_CUH

#include "gpu/encode.cuh"

/* What the kernels find. */
struct encode_totals {
        unsigned long long npairs; /* of the range, that pass the filter */
        unsigned long long nwords; /* of the blocks and their checksums */
        unsigned long long nbig;   /* counts from KC_RUN_NROWS up */
        unsigned long long ndropped_distinct, ndropped_kmers, nunique; /* by the filter */
        unsigned long long rows[KC_RUN_NROWS];
        alignas(16) uint64_t last_kmer[2];
};

/* Counts outside are dropped. */
struct encode_filter {
        uint32_t min_count, max_count;
};

/* Page-locked memory that grows. */
struct encode_pinned {
        void *memory;
        size_t cap;
};

template <class Key> struct encode_slot {
        /* on the device, of worst-case size */
        uint64_t *words;
        uint32_t *block_nwords, *big_counts;
        Key *firsts;
        /* page-locked */
        struct encode_pinned host_words, host_nwords, host_big, host_firsts;
        struct encode_totals *found;
        cudaEvent_t done; /* the download */
        size_t n, nblocks;
};

template <class Key> struct kc_gpu_encoder {
        struct kc_gpu *gpu;
        struct encode_filter filter;
        size_t max_pairs, max_blocks;
        int k, nslots;
        struct encode_slot<Key> *slots;
        size_t ncarry;
        /* on the device */
        struct encode_totals *totals;
        Key *carry_kmers, *kept_kmers; /* kept: [max_pairs], where there is a filter */
        uint32_t *carry_counts, *kept_counts;
        uint64_t *heads, *sizes, *offsets;
        void *scan_scratch;
        size_t scan_nbytes;
};

static inline bool keeps_all(const struct encode_filter *filter)
{
        return filter->min_count <= 1 && filter->max_count == UINT32_MAX;
}

/* Make it at least so large; where it grows, what was in it is lost. */
enum kc_status kc_encode_grow(struct encode_pinned *pinned, size_t nbytes, struct kc_error *err);

/* Bytes of scratch memory that the scan of n sizes takes. */
size_t kc_encode_scan_nbytes(size_t n);

#endif
