/*
 * Inflates BGZF blocks on the device.
 *
 * A warp inflates a block. Its lanes decode different stretches of the same deflate block at once,
 * each from a guessed bit on: prefix codes soon get back into step, so that after two or three
 * rounds every lane begins where the previous lane ended (strips.cuh). The literals and matches
 * found are then turned into text 32 bytes at a time (expand.cuh).
 */
#ifndef KC_GPU_INFLATE_INFLATE_CUH
#define KC_GPU_INFLATE_INFLATE_CUH

#include "gpu/device/context.cuh"
#include "io/input/bgzf_blocks.h"

/* Bytes that must be readable after the compressed bytes and after the text; both must be aligned
 * to 4 bytes. They are ignored. */
enum { KC_INFLATE_PADDING = 4 };

enum kc_inflate_status {
        KC_INFLATE_SOUND = 0,
        KC_INFLATE_INVALID,  /* not deflate data, or data that go on beyond the block's end */
        KC_INFLATE_LENGTH,   /* more or less text than stated */
        KC_INFLATE_TRAILING, /* bytes follow the deflate data */
        KC_INFLATE_CRC,      /* the text has another checksum */
        KC_INFLATE_TABLE,    /* the block is not within the bytes or the text, or is too large */
};

/* What to inflate; all in device memory. */
struct kc_inflate {
        const uint8_t *bytes; /* [nbytes], and the padding */
        size_t nbytes;
        const struct kc_bgzf_block *blocks; /* [nblocks]; their texts must not overlap */
        size_t nblocks;
        uint8_t *text; /* [text_nbytes], and the padding */
        size_t text_nbytes;
        uint32_t *status; /* [nblocks] out: kc_inflate_status */
};

/*
 * Inflate all blocks, and compare their lengths and checksums.
 *   refused  out, device: nblocks - b for the first block b whose status is not KC_INFLATE_SOUND; 0
 *            if there is none. Some of the text of such a block may have been written. Whatever the
 *            bytes are, nothing is written outside the blocks' texts
 * Returns with the work queued on `on`. KC_EDEVICE.
 */
enum kc_status kc_gpu_inflate(struct kc_gpu_stream on, const struct kc_inflate *inflate,
                              unsigned long long *refused, struct kc_error *err);

#endif
