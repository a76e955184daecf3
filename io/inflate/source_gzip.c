/*
 * ISA-L inflates, and checks each member's CRC32 and length. The member headers are read here,
 * because ISA-L's own reader gets a header's checksum wrong if the header crosses a buffer's end.
 *
 *      1f 8b 08 FLG | 6 bytes | FEXTRA: length, bytes | FNAME: ... 0 | FCOMMENT: ... 0 | FHCRC: 2
 *
 * Source: RFC 1952.
 */
#include "io/inflate/gzip_stream.h"

#include "io/inflate/source.h"
#include "io/input/bgzf_header.h"
#include "io/input/damage.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_BUFFER = 32, MAX_BUFFER = 256 << 10 };

struct kc_gzip_stream {
        struct kc_input *input;
        struct inflate_state state;
        bool in_member;
        bool bgzf; /* the member, or the last one, is a BGZF block... */
        bool open; /* ...with text, and it has ended */
        bool input_ended;
        size_t buffer_nbytes;
        uint8_t buffer[];
};

enum kc_status kc_gzip_open(struct kc_gzip_stream **stream, struct kc_input *in,
                            size_t buffer_nbytes, const uint8_t *head, size_t nhead,
                            struct kc_error *err)
{
        if (buffer_nbytes < MIN_BUFFER)
                buffer_nbytes = MIN_BUFFER;
        if (buffer_nbytes > MAX_BUFFER)
                buffer_nbytes = MAX_BUFFER;
        if (buffer_nbytes < nhead)
                buffer_nbytes = nhead;
        struct kc_gzip_stream *s = malloc(sizeof *s + buffer_nbytes);
        *stream = s;
        if (s == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        s->input = in;
        s->in_member = s->bgzf = s->open = s->input_ended = false;
        s->buffer_nbytes = buffer_nbytes;
        isal_inflate_init(&s->state);
        if (nhead > 0)
                memcpy(s->buffer, head, nhead);
        s->state.next_in = s->buffer;
        s->state.avail_in = (uint32_t)nhead;
        return KC_OK;
}

static uint64_t place(const struct kc_gzip_stream *stream)
{
        return stream->input->offset - stream->state.avail_in;
}

/* Make at least one byte of input available, unless the input is at its end. */
static enum kc_status refill(struct kc_gzip_stream *stream, struct kc_chunk *chunk,
                             struct kc_error *err)
{
        if (stream->state.avail_in > 0 || stream->input_ended)
                return KC_OK;
        size_t got;
        enum kc_status status =
                kc_input_read(stream->input, stream->buffer, stream->buffer_nbytes, &got, err);
        stream->input_ended = got < stream->buffer_nbytes;
        stream->state.next_in = stream->buffer;
        stream->state.avail_in = (uint32_t)got;
        chunk->input_nbytes += got;
        return status;
}

static enum kc_status truncated(const struct kc_gzip_stream *stream, struct kc_error *err)
{
        return kc_damage_truncated(stream->input->name, "gzip", place(stream), err);
}

/* There should be another member at the current place. */
static enum kc_status refuse_trailing(const struct kc_gzip_stream *stream, uint64_t offset,
                                      bool padded, struct kc_error *err)
{
        const struct kc_input *in = stream->input;
        return kc_damage_trailing(&(struct kc_trailing){ in->name, "gzip", offset,
                                                         in->regular ? in->size : 0, padded },
                                  err);
}

/* A member's header while it is read. */
struct header {
        struct kc_gzip_stream *stream;
        struct kc_chunk *chunk;
        uint32_t crc; /* of the bytes so far */
        uint8_t bytes[KC_BGZF_LONGEST_NBYTES];
        size_t nbytes; /* of them, as many as fit */
};

static enum kc_status get_byte(struct header *h, uint8_t *byte, struct kc_error *err)
{
        struct inflate_state *state = &h->stream->state;
        enum kc_status status = refill(h->stream, h->chunk, err);
        if (status != KC_OK)
                return status;
        if (state->avail_in == 0)
                return truncated(h->stream, err);
        *byte = *state->next_in++;
        state->avail_in--;
        h->crc = libdeflate_crc32(h->crc, byte, 1);
        if (h->nbytes < sizeof h->bytes)
                h->bytes[h->nbytes++] = *byte;
        return KC_OK;
}

static enum kc_status get_u16(struct header *h, uint32_t *value, struct kc_error *err)
{
        uint8_t low = 0, high = 0;
        enum kc_status status;
        KC_TRY(get_byte(h, &low, err));
        KC_TRY(get_byte(h, &high, err));
out:
        *value = low | (uint32_t)high << 8;
        return status;
}

static enum kc_status skip_string(struct header *h, struct kc_error *err)
{
        uint8_t byte;
        enum kc_status status;
        do
                status = get_byte(h, &byte, err);
        while (status == KC_OK && byte != 0);
        return status;
}

enum { FHCRC = 2, FEXTRA = 4, FNAME = 8, FCOMMENT = 16, RESERVED = 0xe0 };

static enum kc_status read_header(struct header *h, struct kc_error *err)
{
        static const uint8_t magic[3] = { 0x1f, 0x8b, 8 };
        enum kc_status status = KC_OK;
        uint64_t begin = place(h->stream);
        uint8_t fixed[10], byte;
        uint32_t length = 0, crc;
        for (size_t i = 0; i < sizeof fixed; i++) {
                KC_TRY(get_byte(h, &fixed[i], err));
                if (i < sizeof magic && fixed[i] != magic[i])
                        return refuse_trailing(h->stream, begin, false, err);
        }
        uint8_t flags = fixed[3];
        if (flags & RESERVED)
                return kc_damage_corrupt(h->stream->input->name,
                                         "unknown flags in the gzip header at", begin, err);
        if (flags & FEXTRA)
                KC_TRY(get_u16(h, &length, err));
        for (; length > 0; length--)
                KC_TRY(get_byte(h, &byte, err));
        h->stream->bgzf = kc_bgzf_parse(h->bytes, h->nbytes, &(struct kc_bgzf_header){ 0 });
        if (flags & FNAME)
                KC_TRY(skip_string(h, err));
        if (flags & FCOMMENT)
                KC_TRY(skip_string(h, err));
        uint32_t want = h->crc & 0xffff;
        if (flags & FHCRC) {
                KC_TRY(get_u16(h, &crc, err));
                if (crc != want)
                        return kc_damage_corrupt(h->stream->input->name,
                                                 "wrong checksum of the gzip header at", begin,
                                                 err);
        }
out:
        return status;
}

/* Skip zeros after a member; *ended if they go on to the end of the input. After BGZF, they are
 * padding only if its end-of-file block comes before them. */
static enum kc_status skip_padding(struct kc_gzip_stream *stream, struct kc_chunk *chunk,
                                   bool *ended, struct kc_error *err)
{
        struct inflate_state *state = &stream->state;
        bool padding = false;
        while (state->avail_in > 0 && *state->next_in == 0) {
                if (stream->open)
                        return kc_damage_no_end_block(stream->input->name, place(stream), false,
                                                      "gzip -dc FILE", err);
                padding = true;
                state->next_in++;
                state->avail_in--;
                enum kc_status status = refill(stream, chunk, err);
                if (status != KC_OK)
                        return status;
        }
        *ended = state->avail_in == 0;
        if (padding && !*ended)
                return refuse_trailing(stream, place(stream), true, err);
        return KC_OK;
}

static enum kc_status begin_member(struct kc_gzip_stream *stream, struct kc_chunk *chunk,
                                   struct kc_error *err)
{
        struct header header = { .stream = stream, .chunk = chunk };
        enum kc_status status;
        KC_TRY(skip_padding(stream, chunk, &chunk->last, err));
        const uint64_t end = place(stream);
        stream->bgzf = false;
        if (!chunk->last)
                KC_TRY(read_header(&header, err));
        if (stream->open && !stream->bgzf)
                chunk->open_end = (struct kc_open_end){ .found = true, .offset = end };
        stream->open = false;
        if (chunk->last)
                goto out;
        isal_inflate_reset(&stream->state);
        stream->state.crc_flag = ISAL_GZIP_NO_HDR_VER;
        stream->in_member = true;
out:
        return status;
}

static const char *explain(int code)
{
        switch (code) {
        case ISAL_INCORRECT_CHECKSUM:
                return "checksum or length of a gzip member is wrong, found before";
        default:
                return "invalid compressed data, found before";
        }
}

static enum kc_status inflate_some(struct kc_gzip_stream *stream, struct kc_error *err)
{
        struct inflate_state *state = &stream->state;
        int code = isal_inflate(state);
        if (code < 0)
                return kc_damage_corrupt(stream->input->name, explain(code), place(stream), err);
        if (state->block_state == ISAL_BLOCK_FINISH) {
                stream->in_member = false;
                stream->open = stream->bgzf && state->total_out > 0;
        } else if (state->avail_out > 0 && state->avail_in == 0 && stream->input_ended) {
                return truncated(stream, err);
        }
        return KC_OK;
}

enum kc_status kc_gzip_fill(struct kc_gzip_stream *stream, struct kc_chunk *chunk, size_t nbytes,
                            struct kc_error *err)
{
        struct inflate_state *state = &stream->state;
        enum kc_status status;
        KC_TRY(kc_chunk_reserve(chunk, nbytes, err));
        state->next_out = chunk->buffer + chunk->front;
        state->avail_out = (uint32_t)nbytes;
        while (state->avail_out > 0 && !chunk->last && !chunk->open_end.found) {
                KC_TRY(refill(stream, chunk, err));
                if (stream->in_member)
                        KC_TRY(inflate_some(stream, err));
                else
                        KC_TRY(begin_member(stream, chunk, err));
        }
out:
        chunk->end = chunk->front + nbytes - state->avail_out;
        return status;
}

void kc_gzip_close(struct kc_gzip_stream *stream)
{
        free(stream);
}

struct gzip_source {
        struct kc_source base;
        struct kc_gzip_stream *stream;
};

static enum kc_status take(struct kc_source *source, struct kc_chunk *chunk, struct kc_error *err)
{
        struct gzip_source *gz = (struct gzip_source *)source;
        enum kc_status status;
        if (gz->stream == NULL)
                KC_TRY(kc_gzip_open(&gz->stream, &source->input, source->chunk_nbytes / 4, NULL, 0,
                                    err));
        KC_TRY(kc_gzip_fill(gz->stream, chunk, source->chunk_nbytes, err));
out:
        return status;
}

static void free_gzip(struct kc_source *source)
{
        kc_gzip_close(((struct gzip_source *)source)->stream);
        free(source);
}

static const struct kc_source_ops gzip_ops = { .take = take, .free = free_gzip };

struct kc_source *kc_source_new_gzip(void)
{
        struct gzip_source *gz = calloc(1, sizeof *gz);
        if (gz == NULL)
                return NULL;
        gz->base.ops = &gzip_ops;
        return &gz->base;
}
