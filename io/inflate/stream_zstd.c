/*
 * Zstandard, any number of frames; the library checks each frame's checksum if it has one.
 */
#include "io/inflate/stream.h"
#include "io/input/damage.h"

#include <zstd.h>
#include <zstd_errors.h>

enum { MAX_WINDOW_LOG = 27 }; /* the library's own limit, unless another is set */

/* Of the longest window that a frame may ask for. */
static int window_log_of(const struct kc_stream *stream)
{
        int window_log = MAX_WINDOW_LOG;
        while (stream->base.memory_nbytes >> window_log == 0)
                window_log--;
        return window_log;
}

static enum kc_status begin(struct kc_stream *stream, struct kc_error *err)
{
        stream->state = ZSTD_createDStream();
        if (stream->state == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        ZSTD_DCtx_setParameter(stream->state, ZSTD_d_windowLogMax, window_log_of(stream));
        return KC_OK;
}

static enum kc_status window_too_large(const struct kc_stream *stream, struct kc_error *err)
{
        const int window_log = window_log_of(stream);
        const unsigned memory = window_log < MAX_WINDOW_LOG ? KC_REMEDY_MORE_MEMORY : 0;
        const char *name = stream->base.input.name;
        return kc_fail_filter(err, memory | KC_REMEDY_FILTER, name, "zstd -dc --long=31 FILE",
                              "%s was compressed with a window of more than %d MiB, which must fit "
                              "in memory",
                              name, 1 << (window_log - 20));
}

/* Report why the library cannot go on. */
static enum kc_status explain(const struct kc_stream *stream, size_t code, struct kc_error *err)
{
        const char *name = stream->base.input.name;
        switch (ZSTD_getErrorCode(code)) {
        case ZSTD_error_memory_allocation:
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        case ZSTD_error_frameParameter_windowTooLarge:
                return window_too_large(stream, err);
        case ZSTD_error_dictionary_wrong:
                return kc_fail_filter(err, KC_REMEDY_FILTER, name, "zstd -dc -D DICT FILE",
                                      "%s was compressed with a zstd dictionary, without which it "
                                      "cannot be read",
                                      name);
        case ZSTD_error_prefix_unknown:
                if (stream->end > 0)
                        return kc_stream_trailing(stream, false, err);
                break;
        default:
                break;
        }
        return kc_stream_corrupt(stream, ZSTD_getErrorName(code), err);
}

static enum kc_status inflate(struct kc_stream *stream, struct kc_error *err)
{
        ZSTD_inBuffer in = { .src = stream->in, .size = stream->nin };
        ZSTD_outBuffer out = { .dst = stream->out, .size = stream->nout };
        const size_t code = ZSTD_decompressStream(stream->state, &out, &in);
        stream->in += in.pos;
        stream->nin -= in.pos;
        stream->out += out.pos;
        stream->nout -= out.pos;
        if (ZSTD_isError(code))
                return explain(stream, code, err);
        stream->within = code != 0;
        return KC_OK;
}

static void free_state(struct kc_stream *stream)
{
        ZSTD_freeDStream(stream->state);
}

const struct kc_stream_library kc_stream_zstd = { "zstd", begin, inflate, free_state };
