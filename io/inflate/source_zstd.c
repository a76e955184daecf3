/*
 * Zstandard, any number of frames; the library checks each frame's checksum if it has one.
 */
#include "io/inflate/source.h"
#include "io/input/damage.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { MIN_BUFFER = 32, MAX_WINDOW_LOG = 27 }; /* the library's own limit, unless another is set */

struct zstd_source {
        struct kc_source base;
        ZSTD_DStream *stream;
        uint8_t *buffer;
        size_t buffer_nbytes;
        ZSTD_inBuffer in;
        bool input_ended;
        int window_log;     /* of the longest window that a frame may ask for */
        size_t expected;    /* bytes that the library still needs of this frame; 0: between
                               frames */
        uint64_t frame_end; /* where the last whole frame ends */
};

static enum kc_status set_up(struct zstd_source *z, struct kc_error *err)
{
        z->buffer_nbytes = z->base.chunk_nbytes / 4;
        if (z->buffer_nbytes < MIN_BUFFER)
                z->buffer_nbytes = MIN_BUFFER;
        z->buffer = malloc(z->buffer_nbytes);
        z->stream = ZSTD_createDStream();
        if (z->buffer == NULL || z->stream == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        z->in.src = z->buffer;
        for (z->window_log = MAX_WINDOW_LOG; z->base.memory_nbytes >> z->window_log == 0;)
                z->window_log--;
        ZSTD_DCtx_setParameter(z->stream, ZSTD_d_windowLogMax, z->window_log);
        return KC_OK;
}

static enum kc_status refill(struct zstd_source *z, struct kc_chunk *chunk, struct kc_error *err)
{
        if (z->in.pos < z->in.size || z->input_ended)
                return KC_OK;
        z->in.pos = 0;
        enum kc_status status =
                kc_input_read(&z->base.input, z->buffer, z->buffer_nbytes, &z->in.size, err);
        z->input_ended = z->in.size < z->buffer_nbytes;
        chunk->input_nbytes += z->in.size;
        return status;
}

static unsigned long long place(const struct zstd_source *z)
{
        return z->base.input.offset - (z->in.size - z->in.pos);
}

static enum kc_status window_too_large(const struct zstd_source *z, struct kc_error *err)
{
        const unsigned memory = z->window_log < MAX_WINDOW_LOG ? KC_REMEDY_MORE_MEMORY : 0;
        return kc_fail_filter(err, memory | KC_REMEDY_FILTER, z->base.input.name,
                              "zstd -dc --long=31 FILE",
                              "%s was compressed with a window of more than %d MiB, which must fit "
                              "in memory",
                              z->base.input.name, 1 << (z->window_log - 20));
}

/* Report why the library cannot go on. */
static enum kc_status explain(const struct zstd_source *z, size_t code, struct kc_error *err)
{
        const struct kc_input *in = &z->base.input;
        switch (ZSTD_getErrorCode(code)) {
        case ZSTD_error_memory_allocation:
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        case ZSTD_error_frameParameter_windowTooLarge:
                return window_too_large(z, err);
        case ZSTD_error_dictionary_wrong:
                return kc_fail_filter(err, KC_REMEDY_FILTER, in->name, "zstd -dc -D DICT FILE",
                                      "%s was compressed with a zstd dictionary, without which it "
                                      "cannot be read",
                                      in->name);
        case ZSTD_error_prefix_unknown:
                if (z->frame_end > 0)
                        return kc_damage_trailing(
                                &(struct kc_trailing){ in->name, "zstd", z->frame_end,
                                                       in->regular ? in->size : 0, false },
                                err);
                break;
        default:
                break;
        }
        return kc_fail(err, KC_EINPUT, "%s is corrupt near byte %llu: zstd: %s" KC_DAMAGE_REMEDY,
                       in->name, place(z), ZSTD_getErrorName(code));
}

static enum kc_status inflate_some(struct zstd_source *z, ZSTD_outBuffer *out, struct kc_error *err)
{
        bool starved = z->in.pos == z->in.size; /* the library may still hold text back */
        size_t before = out->pos;
        size_t code = ZSTD_decompressStream(z->stream, out, &z->in);
        if (ZSTD_isError(code))
                return explain(z, code, err);
        if (starved && out->pos == before && code != 0)
                return kc_damage_truncated(z->base.input.name, "zstd", place(z), err);
        z->expected = code;
        if (code == 0)
                z->frame_end = place(z);
        return KC_OK;
}

static enum kc_status take(struct kc_source *source, struct kc_chunk *chunk, struct kc_error *err)
{
        struct zstd_source *z = (struct zstd_source *)source;
        enum kc_status status;
        ZSTD_outBuffer out = { .size = source->chunk_nbytes };
        if (z->stream == NULL)
                KC_TRY(set_up(z, err));
        KC_TRY(kc_chunk_reserve(chunk, source->chunk_nbytes, err));
        out.dst = chunk->buffer + chunk->front;
        while (out.pos < out.size && !chunk->last) {
                KC_TRY(refill(z, chunk, err));
                if (z->in.pos == z->in.size && z->expected == 0)
                        chunk->last = true;
                else
                        KC_TRY(inflate_some(z, &out, err));
        }
out:
        chunk->end = chunk->front + out.pos;
        return status;
}

static void free_zstd(struct kc_source *source)
{
        struct zstd_source *z = (struct zstd_source *)source;
        ZSTD_freeDStream(z->stream);
        free(z->buffer);
        free(z);
}

static const struct kc_source_ops zstd_ops = { .take = take, .free = free_zstd };

struct kc_source *kc_source_new_zstd(void)
{
        struct zstd_source *z = calloc(1, sizeof *z);
        if (z == NULL)
                return NULL;
        z->base.ops = &zstd_ops;
        return &z->base;
}
