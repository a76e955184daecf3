/*
 * Plain text. For a regular file, the lock covers only the choice of the next range of bytes, which
 * is read without it; a pipe is read under the lock.
 */
#include "io/inflate/source.h"

#include <stdlib.h>

static enum kc_status take(struct kc_source *source, struct kc_chunk *chunk, struct kc_error *err)
{
        struct kc_input *in = &source->input;
        enum kc_status status;
        size_t got = source->chunk_nbytes;
        KC_TRY(kc_chunk_reserve(chunk, got, err));
        if (in->regular) {
                uint64_t left = in->size - in->offset;
                if (left <= got) {
                        got = (size_t)left;
                        chunk->last = true;
                }
                chunk->packed_offset = in->offset;
                in->offset += got;
        } else {
                KC_TRY(kc_input_read(in, chunk->buffer + chunk->front, got, &got, err));
                chunk->last = got < source->chunk_nbytes;
        }
        chunk->end = chunk->front + got;
        chunk->input_nbytes = got;
out:
        return status;
}

/* Whether the file has become longer since it was opened: what was read may end within a record. */
static enum kc_status check_growth(const struct kc_input *in, struct kc_error *err)
{
        bool longer;
        enum kc_status status = kc_input_is_longer(in, in->size, &longer, err);
        if (status == KC_OK && longer)
                return kc_fail_at(err, KC_EINPUT, 0, kc_byte_of(in->name, in->size),
                                  "%s became longer while it was being read: it ended at byte %llu",
                                  in->name, (unsigned long long)in->size);
        return status;
}

static enum kc_status decode(struct kc_source *source, struct kc_chunk *chunk, struct kc_error *err)
{
        const struct kc_input *in = &source->input;
        enum kc_status status = KC_OK;
        size_t want = chunk->end - chunk->front, got;
        if (!in->regular)
                return KC_OK;
        KC_TRY(kc_input_read_at(in, chunk->buffer + chunk->front, want, chunk->packed_offset, &got,
                                err));
        if (got < want)
                return kc_fail_at(err, KC_EINPUT, 0,
                                  kc_byte_of(in->name, chunk->packed_offset + got),
                                  "%s became shorter while it was being read: it ends at byte %llu",
                                  in->name, (unsigned long long)(chunk->packed_offset + got));
        if (chunk->last && source->must_not_grow)
                KC_TRY(check_growth(in, err));
out:
        return status;
}

static void free_plain(struct kc_source *source)
{
        free(source);
}

static const struct kc_source_ops plain_ops = {
        .take = take,
        .decode = decode,
        .free = free_plain,
};

struct kc_source *kc_source_new_plain(void)
{
        struct kc_source *source = calloc(1, sizeof *source);
        if (source != NULL)
                source->ops = &plain_ops;
        return source;
}
