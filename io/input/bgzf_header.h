/*
 * The header of a BGZF block: a gzip member header whose extra field holds the block's size.
 *
 *      byte 0         3    4          10    12              12+XLEN
 *      1f 8b 08 | FLG=4 | 6 bytes | XLEN | 'B' 'C' 2 0 BSIZE-1 ... | deflate | CRC32 | ISIZE |
 *
 * Source: the SAM/BAM format specification, section 4.1.
 */
#ifndef KC_IO_INPUT_BGZF_HEADER_H
#define KC_IO_INPUT_BGZF_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        KC_BGZF_FIXED_NBYTES = 12,    /* before the extra field */
        KC_BGZF_USUAL_NBYTES = 18,    /* a header with only BC in its extra field */
        KC_BGZF_LONGEST_NBYTES = 256, /* a longer header is not taken for BGZF's */
        KC_BGZF_FOOTER_NBYTES = 8,
        KC_BGZF_MAX_NBYTES = 65536, /* of a block, and of the text in it */
};

struct kc_bgzf_header {
        uint32_t header_nbytes; /* 12 + XLEN */
        uint32_t block_nbytes;  /* the whole block */
};

static inline uint32_t kc_bgzf_u16(const uint8_t *bytes)
{
        return bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t kc_bgzf_u32(const uint8_t *bytes)
{
        return kc_bgzf_u16(bytes) | kc_bgzf_u16(bytes + 2) << 16;
}

/* Length of the header that begins with these KC_BGZF_FIXED_NBYTES; 0 if it is not BGZF's. */
static inline uint32_t kc_bgzf_header_nbytes(const uint8_t *bytes)
{
        if (bytes[0] != 0x1f || bytes[1] != 0x8b || bytes[2] != 8 || bytes[3] != 4)
                return 0;
        return KC_BGZF_FIXED_NBYTES + kc_bgzf_u16(bytes + 10);
}

/* False if bytes do not begin with a complete BGZF header. */
static inline bool kc_bgzf_parse(const uint8_t *bytes, size_t n, struct kc_bgzf_header *header)
{
        if (n < KC_BGZF_FIXED_NBYTES)
                return false;
        header->header_nbytes = kc_bgzf_header_nbytes(bytes);
        if (header->header_nbytes == 0 || header->header_nbytes > n)
                return false;
        for (uint32_t at = KC_BGZF_FIXED_NBYTES; at + 4 <= header->header_nbytes;) {
                uint32_t len = kc_bgzf_u16(bytes + at + 2);
                if (bytes[at] == 'B' && bytes[at + 1] == 'C' && len == 2 &&
                    at + 6 <= header->header_nbytes) {
                        header->block_nbytes = kc_bgzf_u16(bytes + at + 4) + 1;
                        return header->block_nbytes >=
                               header->header_nbytes + KC_BGZF_FOOTER_NBYTES;
                }
                at += 4 + len;
        }
        return false;
}

#endif
