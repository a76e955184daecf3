#include "io/inflate/stream.h"
#include "io/input/damage.h"

#include <stdlib.h>

enum { MIN_BUFFER = 32 };

enum kc_status kc_stream_trailing(const struct kc_stream *stream, bool padded, struct kc_error *err)
{
        const struct kc_input *in = &stream->base.input;
        return kc_damage_trailing(&(struct kc_trailing){ in->name, stream->library->format,
                                                         stream->end, in->regular ? in->size : 0,
                                                         padded },
                                  err);
}

enum kc_status kc_stream_corrupt(const struct kc_stream *stream, const char *why,
                                 struct kc_error *err)
{
        const struct kc_error_place at =
                kc_byte_of(stream->base.input.name, kc_stream_place(stream));
        return kc_fail_at(err, KC_EINPUT, 0, at,
                          "%s is corrupt near byte %llu: %s: %s" KC_DAMAGE_REMEDY, at.file,
                          (unsigned long long)at.number, stream->library->format, why);
}

static enum kc_status set_up(struct kc_stream *stream, struct kc_error *err)
{
        stream->buffer_nbytes = stream->base.chunk_nbytes / 4;
        if (stream->buffer_nbytes < MIN_BUFFER)
                stream->buffer_nbytes = MIN_BUFFER;
        stream->buffer = malloc(stream->buffer_nbytes);
        if (stream->buffer == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        return stream->library->begin(stream, err);
}

static enum kc_status refill(struct kc_stream *stream, struct kc_chunk *chunk, struct kc_error *err)
{
        if (stream->nin > 0 || stream->input_ended)
                return KC_OK;
        enum kc_status status = kc_input_read(&stream->base.input, stream->buffer,
                                              stream->buffer_nbytes, &stream->nin, err);
        stream->in = stream->buffer;
        stream->input_ended = stream->nin < stream->buffer_nbytes;
        chunk->input_nbytes += stream->nin;
        return status;
}

static enum kc_status inflate_some(struct kc_stream *stream, struct kc_error *err)
{
        const bool starved = stream->nin == 0; /* the library may still hold text back */
        const size_t before = stream->nout;
        enum kc_status status = stream->library->inflate(stream, err);
        if (status != KC_OK)
                return status;
        if (starved && stream->nout == before && stream->within)
                return kc_damage_truncated(stream->base.input.name, stream->library->format,
                                           kc_stream_place(stream), err);
        if (!stream->within)
                stream->end = kc_stream_place(stream);
        return KC_OK;
}

static enum kc_status take(struct kc_source *source, struct kc_chunk *chunk, struct kc_error *err)
{
        struct kc_stream *stream = (struct kc_stream *)source;
        enum kc_status status;
        stream->nout = source->chunk_nbytes;
        if (stream->buffer == NULL)
                KC_TRY(set_up(stream, err));
        KC_TRY(kc_chunk_reserve(chunk, source->chunk_nbytes, err));
        stream->out = chunk->buffer + chunk->front;
        while (stream->nout > 0 && !chunk->last) {
                KC_TRY(refill(stream, chunk, err));
                if (stream->nin == 0 && !stream->within)
                        chunk->last = true;
                else
                        KC_TRY(inflate_some(stream, err));
        }
out:
        chunk->end = chunk->front + source->chunk_nbytes - stream->nout;
        return status;
}

static void free_stream(struct kc_source *source)
{
        struct kc_stream *stream = (struct kc_stream *)source;
        stream->library->free(stream);
        free(stream->buffer);
        free(stream);
}

static const struct kc_source_ops stream_ops = { .take = take, .free = free_stream };

struct kc_source *kc_source_new_stream(const struct kc_stream_library *library)
{
        struct kc_stream *stream = calloc(1, sizeof *stream);
        if (stream == NULL)
                return NULL;
        stream->base.ops = &stream_ops;
        stream->library = library;
        return &stream->base;
}
