/*
 * A run of gzip members, inflated in order with ISA-L. CRC32 and length of every member are
 * checked; zeros after the last member are padding, anything else there is an error. Members that
 * are BGZF blocks should end with BGZF's empty one (kc_chunk.open_end).
 */
#ifndef KC_IO_INFLATE_GZIP_STREAM_H
#define KC_IO_INFLATE_GZIP_STREAM_H

#include "io/input/chunk.h"
#include "io/input/input.h"

struct kc_gzip_stream;

/*
 * Begin at the input's current place. head [nhead] are bytes already read from the input.
 * KC_ENOMEM; free with kc_gzip_close.
 */
enum kc_status kc_gzip_open(struct kc_gzip_stream **stream, struct kc_input *in,
                            size_t buffer_nbytes, const uint8_t *head, size_t nhead,
                            struct kc_error *err);

/* Fill the chunk up to nbytes of text, or to an open end of BGZF; sets chunk->last at the end of
 * the input. KC_EINPUT, KC_EIO, KC_ENOMEM. */
enum kc_status kc_gzip_fill(struct kc_gzip_stream *stream, struct kc_chunk *chunk, size_t nbytes,
                            struct kc_error *err);

void kc_gzip_close(struct kc_gzip_stream *stream);

#endif
