/*
 * Finds the BGZF blocks in a buffer by their headers alone, to be inflated elsewhere.
 */
#ifndef KC_IO_INPUT_BGZF_BLOCKS_H
#define KC_IO_INPUT_BGZF_BLOCKS_H

#include "io/input/bgzf_header.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kc_bgzf_block {
        uint64_t at;      /* where its deflate data begin in the buffer */
        uint64_t text_at; /* where its text begins */
        uint32_t nbytes;  /* of deflate data */
        uint32_t text_nbytes;
        uint32_t crc;    /* CRC32 of the text */
        uint32_t header; /* where the block itself begins: this many bytes before `at` */
};

/* Why kc_bgzf_find stopped. */
enum kc_bgzf_stop {
        KC_BGZF_END,      /* the buffer ends after a whole block */
        KC_BGZF_PARTIAL,  /* the rest of the buffer may be the beginning of a block */
        KC_BGZF_FULL,     /* the table, or the room for text, is full */
        KC_BGZF_FOREIGN,  /* what follows is not a BGZF block */
        KC_BGZF_TOO_LONG, /* the next block claims more text than a block can have */
};

/* The blocks found. The caller gives `blocks` and the capacities; the rest must be zero at first.
 * */
struct kc_bgzf_table {
        struct kc_bgzf_block *blocks; /* [cap] */
        size_t cap, n;
        uint64_t cap_text_nbytes, text_nbytes; /* of all blocks */
};

/*
 * Append the blocks that begin at bytes[*at] to the table, their texts one after the other.
 *   *at  in/out: advances to the end of the last block taken; if the buffer ends within a block,
 *        the bytes from there on must come again with the rest of it
 */
enum kc_bgzf_stop kc_bgzf_find(struct kc_bgzf_table *table, const uint8_t *bytes, size_t n,
                               size_t *at);

#ifdef __cplusplus
}
#endif

#endif
