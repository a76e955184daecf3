/*
 * xz, any number of streams; the library checks the checksum of each block if it has one. After a
 * stream may come padding: zeros, a multiple of 4. (Section 2.2 of the .xz file format.)
 */
#include "io/inflate/stream.h"

#include <lzma.h>
#include <stdlib.h>

enum { PADDING_UNIT = 4, MAX_MEMORY = 1 << 30 };

struct xz {
        lzma_stream stream;
        bool inside;     /* a stream has begun, and has not ended yet */
        size_t npadding; /* zeros after the last stream */
};

static enum kc_status begin(struct kc_stream *stream, struct kc_error *err)
{
        static const lzma_stream initial = LZMA_STREAM_INIT;
        struct xz *xz = calloc(1, sizeof *xz);
        if (xz == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        xz->stream = initial;
        stream->state = xz;
        return KC_OK;
}

static uint64_t memory_limit(const struct kc_stream *stream)
{
        return stream->base.memory_nbytes < MAX_MEMORY ? stream->base.memory_nbytes : MAX_MEMORY;
}

static enum kc_status dictionary_too_large(const struct kc_stream *stream, struct kc_error *err)
{
        const struct xz *xz = stream->state;
        const char *name = stream->base.input.name;
        const unsigned memory = memory_limit(stream) < MAX_MEMORY ? KC_REMEDY_MORE_MEMORY : 0;
        const unsigned long long needed = lzma_memusage(&xz->stream);
        return kc_fail_filter(err, memory | KC_REMEDY_FILTER, name, "xz -dc FILE",
                              "%s was compressed with a dictionary that takes %llu MiB of memory",
                              name, (needed + (1 << 20) - 1) >> 20);
}

/* Report why the library cannot go on. */
static enum kc_status explain(const struct kc_stream *stream, lzma_ret code, struct kc_error *err)
{
        const struct xz *xz = stream->state;
        switch (code) {
        case LZMA_MEM_ERROR:
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        case LZMA_MEMLIMIT_ERROR:
                return dictionary_too_large(stream, err);
        case LZMA_FORMAT_ERROR:
                if (stream->end > 0)
                        return kc_stream_trailing(stream, xz->npadding >= PADDING_UNIT, err);
                return kc_stream_corrupt(stream, "a stream does not begin as it should", err);
        case LZMA_OPTIONS_ERROR:
                return kc_stream_corrupt(stream, "filters or flags that are not known", err);
        default:
                return kc_stream_corrupt(stream, "data or checksum is wrong", err);
        }
}

static lzma_ret inflate_stream(struct kc_stream *stream, lzma_stream *lzma)
{
        lzma->next_in = stream->in;
        lzma->avail_in = stream->nin;
        lzma->next_out = stream->out;
        lzma->avail_out = stream->nout;
        const lzma_ret code = lzma_code(lzma, LZMA_RUN);
        stream->in = lzma->next_in;
        stream->nin = lzma->avail_in;
        stream->out = lzma->next_out;
        stream->nout = lzma->avail_out;
        return code;
}

/* Skip padding up to the next stream, or as much as there is of it. Returns whether a stream may
 * begin at stream->in. */
static bool skip_padding(struct kc_stream *stream, struct xz *xz)
{
        while (stream->nin > 0 && *stream->in == 0) {
                stream->in++;
                stream->nin--;
                if (++xz->npadding % PADDING_UNIT == 0)
                        stream->end = kc_stream_place(stream);
        }
        stream->within = xz->npadding % PADDING_UNIT != 0;
        return stream->nin > 0;
}

static enum kc_status begin_stream(struct kc_stream *stream, struct xz *xz, struct kc_error *err)
{
        static const uint8_t first = 0xfd;
        if (*stream->in != first || stream->within)
                return explain(stream, LZMA_FORMAT_ERROR, err);
        if (lzma_stream_decoder(&xz->stream, memory_limit(stream), 0) != LZMA_OK)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        stream->within = xz->inside = true;
        return KC_OK;
}

static enum kc_status inflate(struct kc_stream *stream, struct kc_error *err)
{
        struct xz *xz = stream->state;
        enum kc_status status = KC_OK;
        if (!xz->inside) {
                if (!skip_padding(stream, xz))
                        goto out;
                KC_TRY(begin_stream(stream, xz, err));
        }
        const lzma_ret code = inflate_stream(stream, &xz->stream);
        if (code == LZMA_STREAM_END) {
                stream->within = xz->inside = false;
                xz->npadding = 0;
        } else if (code != LZMA_OK && code != LZMA_BUF_ERROR) {
                status = explain(stream, code, err);
        }
out:
        return status;
}

static void free_state(struct kc_stream *stream)
{
        struct xz *xz = stream->state;
        if (xz != NULL)
                lzma_end(&xz->stream);
        free(xz);
}

const struct kc_stream_library kc_stream_xz = { "xz", begin, inflate, free_state };
