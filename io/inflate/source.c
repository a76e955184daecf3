#include "io/inflate/source.h"
#include "io/inflate/stream.h"

#include <stdlib.h>

enum { GUNZIP_MIN_CHUNKS = 2 }; /* a smaller file is not worth many threads */

static struct kc_source *new_source(const struct kc_input *in, enum kc_container container,
                                    size_t chunk_nbytes, int nworkers)
{
        switch (container) {
        case KC_CONTAINER_GZIP:
                if (nworkers > 1 && in->size / GUNZIP_MIN_CHUNKS >= chunk_nbytes &&
                    kc_source_can_gunzip(in))
                        return kc_source_new_gunzip();
                return kc_source_new_gzip();
        case KC_CONTAINER_BGZF:
                return kc_source_new_bgzf();
        case KC_CONTAINER_ZSTD:
                return kc_source_new_stream(&kc_stream_zstd);
        case KC_CONTAINER_BZIP2:
                return kc_source_new_stream(&kc_stream_bzip2);
        case KC_CONTAINER_XZ:
                return kc_source_new_stream(&kc_stream_xz);
        default:
                return kc_source_new_plain();
        }
}

enum kc_status kc_source_open(struct kc_source **source, struct kc_input *in,
                              enum kc_container container, size_t chunk_nbytes, int nworkers,
                              struct kc_error *err)
{
        struct kc_source *s = new_source(in, container, chunk_nbytes, nworkers);
        *source = s;
        if (s == NULL) {
                kc_input_close(in);
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        }
        s->input = *in;
        s->chunk_nbytes = chunk_nbytes;
        s->memory_nbytes = SIZE_MAX;
        s->nworkers = nworkers;
        s->part.end = UINT64_MAX;
        s->inflates = container != KC_CONTAINER_PLAIN;
        s->serial = (s->ops->decode == NULL && s->ops->fill == NULL) ||
                    (container == KC_CONTAINER_PLAIN && !in->regular);
        pthread_mutex_init(&s->lock, NULL);
        return KC_OK;
}

/* Under the lock. */
static bool take(struct kc_source *source, struct kc_chunk *chunk)
{
        if (source->ended)
                return false;
        chunk->seq = source->next_seq++;
        enum kc_status status = source->ops->take(source, chunk, &chunk->error);
        if (status != KC_OK)
                chunk->last = true;
        source->ended = chunk->last;
        return true;
}

/* Blocks that were taken before a failure are decoded, too: an error in one of them comes first in
 * the file's order. */
static void decode_taken(struct kc_source *source, struct kc_chunk *chunk)
{
        struct kc_error earlier = { .status = KC_OK };
        if (chunk->error.status == KC_OK)
                source->ops->decode(source, chunk, &chunk->error);
        else if (chunk->packed_nbytes > 0 && source->ops->decode(source, chunk, &earlier) != KC_OK)
                chunk->error = earlier;
}

bool kc_source_fill(struct kc_source *source, struct kc_chunk *chunk)
{
        if (source->ops->fill != NULL)
                return source->ops->fill(source, chunk);
        pthread_mutex_lock(&source->lock);
        bool taken = take(source, chunk);
        pthread_mutex_unlock(&source->lock);
        if (taken && source->ops->decode != NULL)
                decode_taken(source, chunk);
        return taken;
}

void kc_source_close(struct kc_source *source)
{
        if (source == NULL)
                return;
        kc_input_close(&source->input);
        pthread_mutex_destroy(&source->lock);
        source->ops->free(source);
}
