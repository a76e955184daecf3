/*
 * A stream: a source whose text a library decompresses, all of it under the source's lock. The file
 * consists of parts that the library reads one after the other (frames of zstd, streams of bzip2
 * and xz).
 */
#ifndef KC_IO_INFLATE_STREAM_H
#define KC_IO_INFLATE_STREAM_H

#include "io/inflate/source.h"

struct kc_stream {
        struct kc_source base;
        const struct kc_stream_library *library;
        void *state; /* the library's */
        uint8_t *buffer;
        size_t buffer_nbytes;
        bool input_ended;
        const uint8_t *in; /* [nin] what the library has not taken yet */
        size_t nin;
        uint8_t *out; /* [nout] room for text */
        size_t nout;
        bool within;  /* a part has begun, and has not ended yet */
        uint64_t end; /* where the last whole part ends; 0: none has ended */
};

struct kc_stream_library {
        const char *format;
        /* Make stream->state. KC_ENOMEM. */
        enum kc_status (*begin)(struct kc_stream *stream, struct kc_error *err);
        /* Take some of in, write some text to out, and set within. KC_EINPUT, KC_ENOMEM. */
        enum kc_status (*inflate)(struct kc_stream *stream, struct kc_error *err);
        /* Free stream->state, which may be NULL. */
        void (*free)(struct kc_stream *stream);
};

extern const struct kc_stream_library kc_stream_bzip2, kc_stream_xz, kc_stream_zstd;

/* The place in the file of the next byte that the library takes. */
static inline uint64_t kc_stream_place(const struct kc_stream *stream)
{
        return stream->base.input.offset - stream->nin;
}

/* Report that what comes after stream->end is not part of it.
 *   padded  it comes after zeros
 * Returns KC_EINPUT. */
enum kc_status kc_stream_trailing(const struct kc_stream *stream, bool padded,
                                  struct kc_error *err);

/* Report what the library found at fault. Returns KC_EINPUT. */
enum kc_status kc_stream_corrupt(const struct kc_stream *stream, const char *why,
                                 struct kc_error *err);

#endif
