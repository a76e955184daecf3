#include "io/parse/bam.h"

#include "io/input/damage.h"
#include "io/parse/select.h"

#include <stdio.h>
#include <stdlib.h>

/* What the split decided about one chunk. */
struct bam_cut {
        size_t from, to;  /* whole records lie there */
        uint64_t nbefore; /* records that ended before them */
        uint32_t nrefs;
        struct kc_problem problem; /* of the record after the whole ones, or of the header */
        bool in_header, too_long;  /* the problem is in the header; is not damage */
};

struct kc_bam *kc_bam_new(const char *name, const struct kc_kernels *kernels, int k,
                          int min_quality, const struct kc_selection *selection,
                          const struct kc_limits *limits)
{
        struct kc_bam *bam = calloc(1, sizeof *bam);
        if (bam == NULL)
                return NULL;
        bam->name = name;
        kc_bam_decoder_init(&bam->decoder, kernels, min_quality);
        bam->record_max = limits->record_max;
        bam->piecewise.decoder = &bam->decoder;
        bam->piecewise.k = k;
        bam->piecewise.held = limits->held;
        bam->piecewise.selection = *selection;
        kc_order_init(&bam->order);
        return bam;
}

void kc_bam_free(struct kc_bam *bam)
{
        if (bam == NULL)
                return;
        kc_order_destroy(&bam->order);
        kc_bytes_free(&bam->carry);
        kc_bam_long_free(&bam->piecewise);
        free(bam);
}

/* ---- split ---- */

static bool is_refused(const struct bam_cut *cut)
{
        return cut->problem.what[0] != 0;
}

/* Hop over the whole records from `at` on; returns where the first incomplete one begins. */
static size_t hop(struct kc_bam *bam, const struct kc_chunk *chunk, size_t at, size_t end,
                  struct bam_cut *cut)
{
        while (end - at >= KC_BAM_LENGTH_NBYTES) {
                uint64_t nbytes = kc_bam_record_nbytes(chunk->buffer + at);
                if (nbytes == 0)
                        snprintf(cut->problem.what, sizeof cut->problem.what,
                                 "has the impossible length %d",
                                 (int)kc_bam_u32(chunk->buffer + at));
                if (nbytes == 0 || nbytes > end - at)
                        break;
                at += nbytes;
                bam->nrecords++;
        }
        return at;
}

/* How many bytes of the incomplete record at `at` are needed to read it whole or, if it is too long
 * for that, to begin reading it in pieces. */
static uint64_t needed(const struct kc_bam *bam, const uint8_t *record, size_t n)
{
        if (n < KC_BAM_LENGTH_NBYTES)
                return KC_BAM_LENGTH_NBYTES;
        uint64_t nbytes = kc_bam_record_nbytes(record);
        if (nbytes <= bam->record_max)
                return nbytes;
        if (n < KC_BAM_FIXED_NBYTES)
                return KC_BAM_FIXED_NBYTES;
        uint64_t nhead = kc_bam_record_nhead(record);
        return nhead < nbytes ? nhead : nbytes;
}

/* Begin to read the record at *at in pieces if it is too long to be held, once enough of it is
 * there; *at: where the unread text begins. */
static enum kc_status begin_long(struct kc_bam *bam, struct kc_chunk *chunk, size_t end, size_t *at,
                                 struct bam_cut *cut, struct kc_error *err)
{
        const uint8_t *bytes = chunk->buffer + *at;
        struct kc_bam_record record;
        bam->need = needed(bam, bytes, end - *at);
        if (bam->need > end - *at)
                return KC_OK;
        bam->need = 0;
        kc_bam_record_parse(bytes, cut->nrefs, &record, &cut->problem);
        if (is_refused(cut))
                return KC_OK;
        kc_bam_long_begin(&bam->piecewise, &record, &cut->problem);
        cut->too_long = is_refused(cut);
        if (cut->too_long)
                return KC_OK;
        return kc_bam_long_read(&bam->piecewise, chunk, *at, end, at, err);
}

/* Split the records in [*at, end); *at: where the unread text begins. */
static enum kc_status split_records(struct kc_bam *bam, struct kc_chunk *chunk, size_t end,
                                    size_t *at, struct bam_cut *cut, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (bam->piecewise.active) {
                KC_TRY(kc_bam_long_read(&bam->piecewise, chunk, *at, end, at, err));
                bam->nrecords += !bam->piecewise.active;
        }
        cut->nrefs = bam->header.nrefs;
        cut->nbefore = bam->nrecords;
        cut->from = *at;
        cut->to = *at = hop(bam, chunk, *at, end, cut);
        if (!is_refused(cut) && !bam->piecewise.active)
                KC_TRY(begin_long(bam, chunk, end, at, cut, err));
out:
        return status;
}

static void check_end(const struct kc_bam *bam, size_t nleft, struct bam_cut *cut)
{
        if (is_refused(cut))
                return;
        cut->in_header = bam->header.place != KC_BAM_RECORDS;
        if (cut->in_header || bam->piecewise.active || nleft > 0)
                snprintf(cut->problem.what, sizeof cut->problem.what,
                         "is truncated: the file ends within it");
}

static enum kc_status split(struct kc_bam *bam, struct kc_chunk *chunk, struct bam_cut *cut,
                            struct kc_error *err)
{
        enum kc_status status;
        size_t n = chunk->end - chunk->text;
        if (bam->carry.nbytes + n < bam->need && !chunk->last)
                return kc_bytes_append(&bam->carry, chunk->buffer + chunk->text, n, err);
        bam->need = 0;
        KC_TRY(kc_chunk_take_over(chunk, &bam->carry, err));
        size_t end = chunk->end; /* a record in pieces puts letters after it */
        size_t at = kc_bam_header_read(&bam->header, chunk, chunk->start, &cut->problem);
        cut->in_header = is_refused(cut);
        if (bam->header.place == KC_BAM_RECORDS)
                KC_TRY(split_records(bam, chunk, end, &at, cut, err));
        if (chunk->last)
                check_end(bam, end - at, cut);
        else
                KC_TRY(kc_bytes_append(&bam->carry, chunk->buffer + at, end - at, err));
out:
        return status;
}

/* own: why the chunk could not be filled, if so; its message tells how many records precede it. */
static void split_in_turn(struct kc_bam *bam, struct kc_chunk *chunk, struct bam_cut *cut,
                          struct kc_error *own)
{
        struct kc_error failure = { .status = KC_OK };
        if (bam->stopped)
                return;
        split(bam, chunk, cut, &failure);
        if (own->status == KC_EINPUT)
                kc_fail_reworded(&failure, own, "%s (alignment records read: %llu)", own->message,
                                 (unsigned long long)bam->nrecords);
        if (own->status == KC_OK || own->status == KC_EINPUT)
                *own = failure;
        bam->stopped = own->status != KC_OK || is_refused(cut);
}

/* ---- scan ---- */

static enum kc_status report(const struct kc_bam *bam, uint64_t record,
                             const struct kc_problem *problem, bool damage, struct kc_error *err)
{
        return kc_problem_fail(problem, bam->name, record, err, "%s: alignment record %llu %s%s",
                               bam->name, (unsigned long long)record, problem->what,
                               damage ? KC_DAMAGE_REMEDY : "");
}

static enum kc_status report_cut(const struct kc_bam *bam, const struct bam_cut *cut,
                                 uint64_t record, struct kc_error *err)
{
        if (!is_refused(cut))
                return KC_OK;
        if (cut->in_header)
                return kc_fail(err, KC_EINPUT, "%s: its header %s" KC_DAMAGE_REMEDY, bam->name,
                               cut->problem.what);
        return report(bam, record, &cut->problem, !cut->too_long, err);
}

/* Index the read at `at`, with its letters in the place of its qualities. */
static enum kc_status add_read(const struct kc_bam *bam, struct kc_chunk *chunk, size_t at,
                               const struct kc_bam_record *r, struct kc_error *err)
{
        size_t place = at + (size_t)r->qual;
        uint8_t *qual = chunk->buffer + place;
        chunk->nreads++;
        if (r->nbases == 0)
                return KC_OK;
        bool masked = bam->decoder.min_quality > 0 && *qual != KC_BAM_NO_QUALITY;
        chunk->nlow_quality +=
                kc_bam_decode(&bam->decoder, r->reverse, chunk->buffer + at + r->bases, 0,
                              r->nbases, masked ? qual : NULL, qual);
        if (r->reverse)
                kc_bam_reverse(qual, r->nbases);
        struct kc_record record = { .seq = (uint32_t)place,
                                    .nbases = r->nbases,
                                    .qual = KC_NO_QUALITY };
        kc_chunk_skip(chunk, &record, 0, bam->piecewise.selection.nskip);
        return kc_chunk_add_record(chunk, record, err);
}

/* The whole records, then the one after them. */
static enum kc_status scan(const struct kc_bam *bam, struct kc_chunk *chunk,
                           const struct bam_cut *cut, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_problem problem = { 0 };
        struct kc_bam_record record;
        uint64_t number = cut->nbefore + 1;
        for (size_t at = cut->from; at < cut->to; at += record.nbytes, number++) {
                kc_bam_record_parse(chunk->buffer + at, cut->nrefs, &record, &problem);
                if (problem.what[0] != 0)
                        return report(bam, number, &problem, true, err);
                if (kc_takes_flags(&bam->piecewise.selection, record.flags))
                        KC_TRY(add_read(bam, chunk, at, &record, err));
                else
                        kc_chunk_leave_out(chunk, record.flags, record.nbases);
        }
        status = report_cut(bam, cut, number, err);
out:
        return status;
}

enum kc_status kc_bam_parse(struct kc_bam *bam, struct kc_chunk *chunk, struct kc_error *err)
{
        struct bam_cut cut = { 0 };
        struct kc_error own = chunk->error; /* kept until it is this chunk's turn to report it */

        kc_turn_wait(&bam->order.split, chunk->seq);
        split_in_turn(bam, chunk, &cut, &own);
        kc_turn_pass(&bam->order.split);

        if (own.status == KC_OK)
                scan(bam, chunk, &cut, &own);

        kc_turn_wait(&bam->order.confirm, chunk->seq);
        enum kc_status status = kc_order_settle(&bam->order, chunk, &own, err);
        kc_turn_pass(&bam->order.confirm);
        return status;
}
