/*
 * bzip2, any number of streams; the library checks the checksum of each block and stream.
 */
#include "io/inflate/stream.h"

#include <bzlib.h>
#include <limits.h>
#include <stdlib.h>

static enum kc_status begin(struct kc_stream *stream, struct kc_error *err)
{
        stream->state = calloc(1, sizeof(bz_stream));
        return stream->state != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for reading");
}

/* Report why the library cannot go on. */
static enum kc_status explain(const struct kc_stream *stream, int code, struct kc_error *err)
{
        switch (code) {
        case BZ_MEM_ERROR:
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        case BZ_DATA_ERROR_MAGIC:
                if (stream->end > 0)
                        return kc_stream_trailing(stream, false, err);
                return kc_stream_corrupt(stream, "a stream does not begin as it should", err);
        default:
                return kc_stream_corrupt(stream, "data or checksum is wrong", err);
        }
}

static unsigned at_most(size_t n)
{
        return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

static int inflate_stream(struct kc_stream *stream, bz_stream *bz)
{
        const unsigned nin = at_most(stream->nin), nout = at_most(stream->nout);
        bz->next_in = (char *)stream->in;
        bz->avail_in = nin;
        bz->next_out = (char *)stream->out;
        bz->avail_out = nout;
        const int code = BZ2_bzDecompress(bz);
        stream->in += nin - bz->avail_in;
        stream->nin -= nin - bz->avail_in;
        stream->out += nout - bz->avail_out;
        stream->nout -= nout - bz->avail_out;
        return code;
}

static enum kc_status inflate(struct kc_stream *stream, struct kc_error *err)
{
        bz_stream *bz = stream->state;
        if (!stream->within && BZ2_bzDecompressInit(bz, 0, 0) != BZ_OK)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        stream->within = true;
        const int code = inflate_stream(stream, bz);
        if (code == BZ_OK)
                return KC_OK;
        if (code != BZ_STREAM_END)
                return explain(stream, code, err);
        BZ2_bzDecompressEnd(bz);
        stream->within = false;
        return KC_OK;
}

static void free_state(struct kc_stream *stream)
{
        if (stream->within)
                BZ2_bzDecompressEnd(stream->state);
        free(stream->state);
}

const struct kc_stream_library kc_stream_bzip2 = { "bzip2", begin, inflate, free_state };
