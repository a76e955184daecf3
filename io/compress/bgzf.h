/*
 * Writing BGZF: text becomes blocks, each a gzip member of its own, and an empty one ends the file.
 */
#ifndef KC_IO_COMPRESS_BGZF_H
#define KC_IO_COMPRESS_BGZF_H

#include "io/input/bgzf_header.h"

#include <libdeflate.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        KC_BGZF_TEXT_NBYTES = 0xff00, /* most text in a block that bgzip and samtools write */
        KC_BGZF_LAST_NBYTES = 28,
};

/* The empty block that marks the end of a file. */
extern const uint8_t KC_BGZF_LAST[KC_BGZF_LAST_NBYTES];

/*
 * Make a block of n bytes of text, at most KC_BGZF_TEXT_NBYTES. Its bytes depend on the text and on
 * the compressor's level alone.
 *   block  out [KC_BGZF_MAX_NBYTES]
 * Returns the bytes written; 0 if they do not fit, which libdeflate rules out.
 */
size_t kc_bgzf_deflate(struct libdeflate_compressor *compressor, const void *text, size_t n,
                       uint8_t *block);

#ifdef __cplusplus
}
#endif
#endif
