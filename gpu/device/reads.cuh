/*
 * Packed reads in device memory: the input for counting a batch.
 */
#ifndef KC_GPU_DEVICE_READS_CUH
#define KC_GPU_DEVICE_READS_CUH

#include <cstddef>
#include <cstdint>

/*
 * A stretch of nkmers + k - 1 bases inside one segment of a batch; the first is base `base` of word
 * `word`. Segments are cut into spans of up to KC_SPAN_NKMERS k-mers, the share of one thread, so
 * that long and short reads load the device equally. Consecutive spans of a segment share k-1
 * bases.
 */
struct kc_span {
        uint32_t word;
        uint16_t base;   /* 0 .. 31 */
        uint16_t nkmers; /* 1 .. KC_SPAN_NKMERS */
};

enum { KC_SPAN_NKMERS = 128 };

struct kc_gpu_reads {
        const uint64_t *words;       /* device, packed as in kmer/batch.h; nothing after the last
                                        base is read */
        const struct kc_span *spans; /* device */
        size_t nwords, nspans;
        uint64_t nkmers; /* in all spans */
};

#endif
