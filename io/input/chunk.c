#include "io/input/chunk.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_FRONT = 16 << 10, FIRST_RECORDS = 1024 };

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for reading");
}

static enum kc_status resize(struct kc_chunk *chunk, size_t front, size_t capacity,
                             struct kc_error *err)
{
        if (front + capacity > KC_CHUNK_MAX)
                return no_memory(err);
        uint8_t *buffer = malloc(front + capacity + KC_CHUNK_SLACK);
        if (buffer == NULL)
                return no_memory(err);
        size_t moved = front - chunk->front;
        if (chunk->end > chunk->start)
                memcpy(buffer + chunk->start + moved, chunk->buffer + chunk->start,
                       chunk->end - chunk->start);
        memset(buffer + front + capacity, 0, KC_CHUNK_SLACK);
        free(chunk->buffer);
        chunk->buffer = buffer;
        chunk->front = front;
        chunk->capacity = capacity;
        chunk->start += moved;
        chunk->text += moved;
        chunk->end += moved;
        return KC_OK;
}

enum kc_status kc_chunk_init(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err)
{
        *chunk = (struct kc_chunk){ 0 };
        enum kc_status status;
        KC_TRY(resize(chunk, FIRST_FRONT, nbytes, err));
        KC_TRY(kc_chunk_reserve_records(chunk, FIRST_RECORDS, err));
        kc_chunk_clear(chunk);
out:
        return status;
}

void kc_chunk_free(struct kc_chunk *chunk)
{
        free(chunk->buffer);
        free(chunk->records);
        free(chunk->packed);
        libdeflate_free_decompressor(chunk->inflater);
        *chunk = (struct kc_chunk){ 0 };
}

void kc_chunk_clear(struct kc_chunk *chunk)
{
        chunk->start = chunk->text = chunk->end = chunk->front;
        chunk->nrecords = chunk->next = 0;
        chunk->copied = chunk->copy = 0;
        chunk->nreads = chunk->nblanks = chunk->nleft_out = chunk->nlow_quality = 0;
        chunk->last = false;
        chunk->input_nbytes = 0;
        chunk->packed_nbytes = 0;
        chunk->nskip = chunk->nkept = 0;
        chunk->is_cut = false;
        chunk->error = (struct kc_error){ 0 };
        chunk->open_end = (struct kc_open_end){ 0 };
}

/* nbytes and half as much again, as far as the buffer's limit allows beside `rest`. */
static size_t with_spare(size_t nbytes, size_t rest)
{
        size_t most = KC_CHUNK_MAX > rest ? KC_CHUNK_MAX - rest : 0;
        return nbytes > most || nbytes + nbytes / 2 < most ? nbytes + nbytes / 2 : most;
}

enum kc_status kc_chunk_reserve_front(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err)
{
        if (nbytes <= chunk->front)
                return KC_OK;
        return resize(chunk, with_spare(nbytes, chunk->capacity), chunk->capacity, err);
}

enum kc_status kc_chunk_reserve(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err)
{
        if (nbytes <= chunk->capacity)
                return KC_OK;
        return resize(chunk, chunk->front, with_spare(nbytes, chunk->front), err);
}

enum kc_status kc_chunk_reserve_packed(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err)
{
        if (nbytes <= chunk->packed_cap)
                return KC_OK;
        uint8_t *packed = realloc(chunk->packed, 2 * nbytes);
        if (packed == NULL)
                return no_memory(err);
        chunk->packed = packed;
        chunk->packed_cap = 2 * nbytes;
        return KC_OK;
}

enum kc_status kc_chunk_reserve_records(struct kc_chunk *chunk, size_t more, struct kc_error *err)
{
        if (more <= chunk->records_cap - chunk->nrecords)
                return KC_OK;
        size_t cap = 2 * chunk->records_cap + more;
        struct kc_record *records = realloc(chunk->records, cap * sizeof *records);
        if (records == NULL)
                return no_memory(err);
        chunk->records = records;
        chunk->records_cap = cap;
        return KC_OK;
}

enum kc_status kc_bytes_append(struct kc_bytes *bytes, const void *data, size_t nbytes,
                               struct kc_error *err)
{
        if (nbytes == 0)
                return KC_OK;
        if (nbytes > bytes->cap - bytes->nbytes) {
                size_t cap = 2 * (bytes->nbytes + nbytes);
                uint8_t *grown = realloc(bytes->data, cap);
                if (grown == NULL)
                        return no_memory(err);
                bytes->data = grown;
                bytes->cap = cap;
        }
        memcpy(bytes->data + bytes->nbytes, data, nbytes);
        bytes->nbytes += nbytes;
        return KC_OK;
}

void kc_bytes_free(struct kc_bytes *bytes)
{
        free(bytes->data);
        *bytes = (struct kc_bytes){ 0 };
}

enum kc_status kc_chunk_take_over(struct kc_chunk *chunk, struct kc_bytes *kept,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_chunk_reserve_front(chunk, kept->nbytes, err));
        chunk->start = chunk->text - kept->nbytes;
        if (kept->nbytes > 0)
                memcpy(chunk->buffer + chunk->start, kept->data, kept->nbytes);
        kept->nbytes = 0;
out:
        return status;
}
