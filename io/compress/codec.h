/*
 * How one block is compressed. Private to io/compress.
 */
#ifndef KC_IO_COMPRESS_CODEC_H
#define KC_IO_COMPRESS_CODEC_H

#include "io/compressor.h"

#include <stdbool.h>

struct kc_codec {
        size_t text_nbytes, block_nbytes; /* most text in a block, and the room that it needs */
        size_t state_nbytes;              /* what open takes, at most */
        void *(*open)(void);              /* for one thread; NULL: out of memory */
        /* Returns the block's length; 0: out of memory. */
        size_t (*compress)(void *state, const void *text, size_t n, void *block);
        void (*close)(void *state); /* NULL is fine */
        /* What follows the last block. empty: there was no block. Returns its length, up to
         * KC_CODEC_END_NBYTES. */
        size_t (*end)(bool empty, void *to);
};

enum { KC_CODEC_END_NBYTES = 64 };

/* NULL: no compression. */
const struct kc_codec *kc_codec_of(enum kc_compression compression);

#endif
