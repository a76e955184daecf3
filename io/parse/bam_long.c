#include "io/parse/bam_long.h"
#include "io/parse/select.h"
#include "kmer/hpc.h"

#include <string.h>

/* A part of one field of the record that lies in the chunk. */
struct field_part {
        size_t at;      /* in the buffer */
        uint64_t first; /* within the field */
        size_t n;
};

void kc_bam_long_free(struct kc_bam_long *l)
{
        kc_bytes_free(&l->sequence);
}

static bool wants_qualities(const struct kc_bam_long *l)
{
        return l->decoder->min_quality > 0;
}

void kc_bam_long_begin(struct kc_bam_long *l, const struct kc_bam_record *record,
                       struct kc_problem *problem)
{
        l->active = true;
        l->taken = kc_takes_flags(&l->selection, record->flags);
        l->record = *record;
        l->at = 0;
        l->ncontext = 0;
        l->sequence.nbytes = 0;
        if (wants_qualities(l) && l->taken && (record->nbases + UINT64_C(1)) / 2 > l->held.nbytes)
                kc_problem_set_held(problem, &l->held, record->nbases, 2);
}

/* The part of the record's bytes [from, to) that lies in [at, at + n) of the buffer. */
static struct field_part part_of(const struct kc_bam_long *l, uint64_t from, uint64_t to, size_t at,
                                 size_t n)
{
        uint64_t begin = l->at > from ? l->at : from, end = l->at + n < to ? l->at + n : to;
        if (begin >= end)
                return (struct field_part){ .n = 0 };
        return (struct field_part){ .at = at + (size_t)(begin - l->at),
                                    .first = begin - from,
                                    .n = (size_t)(end - begin) };
}

/* Keep the end of what was passed on: up to k - 1 letters that all count. */
static void set_context(struct kc_bam_long *l, const uint8_t *letters, size_t n)
{
        struct kc_backward b = { .want = l->k - 1, .hpc = l->selection.hpc };
        for (; n > 0 && b.have < b.want && kc_base_code(letters[n - 1]) >= 0; n--)
                kc_backward_take(&b, letters[n - 1]);
        memcpy(l->context, b.letters + KC_MAX_K - b.have, (size_t)b.have);
        l->ncontext = b.have;
}

/* Index n letters at `at`, with the context put before them. from: the place of the first of them
 * in the sequence as it is stored. */
static enum kc_status give(struct kc_bam_long *l, struct kc_chunk *chunk, size_t at, uint64_t from,
                           size_t n, struct kc_error *err)
{
        size_t ncontext = (size_t)l->ncontext, begin = at - ncontext;
        uint8_t *letters = chunk->buffer + begin;
        struct kc_record record = { .seq = (uint32_t)begin,
                                    .nbases = (uint32_t)(ncontext + n),
                                    .qual = KC_NO_QUALITY,
                                    .ncontext = (uint16_t)ncontext,
                                    .turned = l->record.reverse };
        memcpy(letters, l->context, ncontext);
        set_context(l, letters, record.nbases);
        if (l->record.reverse)
                kc_bam_reverse(letters, record.nbases);
        kc_chunk_skip(chunk, &record,
                      l->record.reverse ? l->record.nbases - (from + n) : from - ncontext,
                      l->selection.nskip);
        return kc_chunk_add_record(chunk, record, err);
}

/* Without qualities: index these packed bases, whose letters go after the chunk's text. */
static enum kc_status give_bases(struct kc_bam_long *l, struct kc_chunk *chunk,
                                 struct field_part part, struct kc_error *err)
{
        enum kc_status status;
        uint64_t first = 2 * part.first, last = first + 2 * part.n;
        size_t n = (size_t)((last < l->record.nbases ? last : l->record.nbases) - first);
        size_t at = chunk->end + (size_t)l->ncontext;
        KC_TRY(kc_chunk_reserve(chunk, at + n - chunk->front, err));
        kc_bam_decode(l->decoder, l->record.reverse, chunk->buffer + part.at, 0, n, NULL,
                      chunk->buffer + at);
        chunk->end = at + n;
        KC_TRY(give(l, chunk, at, first, n, err));
out:
        return status;
}

/* Index the bases whose qualities these are, in the place of the qualities. */
static enum kc_status give_with_qualities(struct kc_bam_long *l, struct kc_chunk *chunk,
                                          struct field_part part, struct kc_error *err)
{
        uint8_t *qual = chunk->buffer + part.at;
        if (part.first == 0)
                l->has_qualities = *qual != KC_BAM_NO_QUALITY;
        chunk->nlow_quality +=
                kc_bam_decode(l->decoder, l->record.reverse, l->sequence.data, (size_t)part.first,
                              part.n, l->has_qualities ? qual : NULL, qual);
        return give(l, chunk, part.at, part.first, part.n, err);
}

static enum kc_status give_pieces(struct kc_bam_long *l, struct kc_chunk *chunk, size_t at,
                                  size_t n, struct kc_error *err)
{
        const struct kc_bam_record *r = &l->record;
        struct field_part bases = part_of(l, r->bases, r->qual, at, n);
        struct field_part qual = part_of(l, r->qual, r->qual + r->nbases, at, n);
        enum kc_status status = KC_OK;
        if (bases.n > 0 && !wants_qualities(l))
                return give_bases(l, chunk, bases, err);
        if (bases.n > 0)
                KC_TRY(kc_bytes_append(&l->sequence, chunk->buffer + bases.at, bases.n, err));
        if (qual.n > 0 && wants_qualities(l))
                KC_TRY(give_with_qualities(l, chunk, qual, err));
out:
        return status;
}

enum kc_status kc_bam_long_read(struct kc_bam_long *l, struct kc_chunk *chunk, size_t at,
                                size_t end, size_t *next, struct kc_error *err)
{
        uint64_t left = l->record.nbytes - l->at;
        size_t n = left < end - at ? (size_t)left : end - at;
        enum kc_status status = KC_OK;
        *next = at + n;
        if (l->taken)
                KC_TRY(give_pieces(l, chunk, at, n, err));
        l->at += n;
        l->active = l->at < l->record.nbytes;
        if (l->active)
                goto out;
        chunk->nreads += l->taken;
        if (!l->taken)
                kc_chunk_leave_out(chunk, l->record.flags, l->record.nbases);
out:
        return status;
}
