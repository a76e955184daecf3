/*
 * BGZF for tools that write reads: text becomes blocks, and KC_BGZF_LAST follows the last one.
 */
#ifndef BENCH_BGZF_H
#define BENCH_BGZF_H

#include "io/compress/bgzf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The room that bgzf_deflate needs for n bytes of text. */
size_t bgzf_room_nbytes(size_t n);

/*
 * Write text as blocks of nearly equal size, of which only the last one may end with a line. The
 * bytes depend on the text and on the compressor's level alone.
 *   out      [bgzf_room_nbytes(n)]
 * Returns the bytes written: 0 if n is 0, or if a block does not fit, which libdeflate rules out.
 */
size_t bgzf_deflate(struct libdeflate_compressor *compressor, const char *text, size_t n,
                    uint8_t *out);

#ifdef __cplusplus
}
#endif

#endif
