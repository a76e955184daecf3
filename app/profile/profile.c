/*
 * Workers tally the counts of the records in a block, and format the text of those that are whole,
 * as far as their buffers have room. The rest is done in the order of the blocks: pieces of
 * records, which follow earlier pieces, and what did not fit.
 */
#include "app/profile/profile.h"

#include "app/profile/device_total.h"

#include <stdlib.h>
#include <string.h>

enum { WORKER_TEXT_NBYTES = 1 << 20, STREAM_NBYTES = 1 << 16 };

/* What is known about a record, about the first pieces of one, or about all records. */
struct sum {
        uint64_t length;
        struct kc_ask_summary summary;
        struct kc_window_tally tally;
};

struct profile_worker {
        struct profile_text text;
        size_t next; /* the first record of the block whose text is not in `text` */
        struct kc_window_tally record;
        /* of the first and of the last record, if they are pieces */
        struct kc_window_tally pieces[2];
        struct sum total; /* of all blocks so far */
        uint64_t nsequences;
};

struct profiling {
        const struct profile_request *request;
        struct text_out *out;
        struct json *json;
        struct profile_worker *workers; /* [request->nthreads] */
        bool has_begun;
        /* Used by the worker that writes: */
        struct profile_text stream;
        struct kc_window_tally tally; /* of a record */
        struct sum *pieces;           /* of a record: those so far */
        struct profile_track track;
};

static bool is_wanted(const struct kc_seq_record *record)
{
        return !(record->flags & KC_RECORD_REPEATED);
}

static bool is_whole(const struct kc_seq_record *record)
{
        return (record->flags & KC_RECORD_WHOLE) == KC_RECORD_WHOLE;
}

static enum kc_status name_of(const struct kc_record_batch *batch, size_t i,
                              struct profile_name *name, struct kc_error *err)
{
        const struct kc_seq_record *record = &batch->records[i];
        return profile_name_init(name, batch->bytes + record->name, record->name_nbytes, err);
}

/* ---- sums ---- */

static void sum_clear(struct sum *sum)
{
        sum->length = 0;
        sum->summary = KC_ASK_NOTHING;
        kc_window_tally_clear(&sum->tally);
}

/* Add a record, or a piece of one. tally: of its counts. */
static enum kc_status sum_add(struct sum *sum, const struct kc_seq_record *record,
                              const struct kc_ask_answer *answer,
                              const struct kc_window_tally *tally, struct kc_error *err)
{
        sum->length += record->nbases - record->noverlap;
        kc_ask_summary_append(&sum->summary, &answer->summary);
        return kc_window_tally_join(&sum->tally, tally, err);
}

static enum kc_status sum_join(struct sum *sum, const struct sum *other, struct kc_error *err)
{
        sum->length += other->length;
        kc_ask_summary_append(&sum->summary, &other->summary);
        return kc_window_tally_join(&sum->tally, &other->tally, err);
}

static struct profile_row row_of(uint64_t length, const struct kc_ask_summary *summary,
                                 struct kc_window_tally *tally)
{
        struct profile_row row = { .length = length, .summary = *summary };
        if (tally->n > 0)
                kc_window_tally_quartiles(tally, row.quarters);
        return row;
}

/* ---- blocks, by all workers at once ---- */

/* Where the counts of record i are tallied. */
static struct kc_window_tally *tally_of(struct profile_worker *w,
                                        const struct kc_record_batch *batch, size_t i)
{
        return is_whole(&batch->records[i]) ? &w->record : &w->pieces[i > 0];
}

static enum kc_status tally_answer(struct kc_window_tally *tally,
                                   const struct kc_ask_answer *answer, struct kc_error *err)
{
        kc_window_tally_clear(tally);
        return kc_window_tally_add(tally, answer->counts, answer->summary.nvalid, err);
}

static enum kc_status tally_record(const struct profiling *p, struct profile_worker *w,
                                   const struct asked *block, size_t i, struct kc_error *err)
{
        const struct kc_seq_record *record = &block->batch->records[i];
        const struct kc_ask_answer *answer = &block->answers[0][i];
        struct kc_window_tally *tally = tally_of(w, block->batch, i);
        enum kc_status status;
        KC_TRY(tally_answer(tally, answer, err));
        if (p->request->wants_total)
                KC_TRY(sum_add(&w->total, record, answer, tally, err));
out:
        return status;
}

/* Put what is printed of a whole record. tally: of its counts, if rows are printed. */
static void put_record(const struct profiling *p, struct profile_text *text,
                       const struct profile_name *name, const struct kc_seq_record *record,
                       const struct kc_ask_answer *answer, struct kc_window_tally *tally)
{
        if (p->request->form == PROFILE_TABLE) {
                const struct profile_row row = row_of(record->nbases, &answer->summary, tally);
                profile_put_row(text, name, &row);
        } else {
                struct profile_track track = { 0 };
                profile_track_put(&track, &p->request->track, text, name, 0, answer);
                profile_track_end(&track, &p->request->track, text, name);
        }
}

static uint64_t most_text(const struct profiling *p, const struct profile_name *name,
                          const struct kc_ask_answer *answer)
{
        return p->request->form == PROFILE_TABLE
                       ? name->nbytes + PROFILE_ROW_NBYTES
                       : profile_track_nbytes(name, answer->summary.nvalid);
}

/* Put the record's text into the worker's buffer, if that has room. */
static enum kc_status format_record(const struct profiling *p, struct profile_worker *w,
                                    const struct asked *block, size_t i, struct kc_error *err)
{
        const struct kc_ask_answer *answer = &block->answers[0][i];
        struct profile_name name;
        enum kc_status status;
        KC_TRY(name_of(block->batch, i, &name, err));
        if (profile_text_has_room(&w->text, most_text(p, &name, answer))) {
                put_record(p, &w->text, &name, &block->batch->records[i], answer, &w->record);
                w->next = i + 1;
        }
out:
        profile_name_free(&name);
        return status;
}

static bool wants_tallies(const struct profile_request *request)
{
        return request->form == PROFILE_TABLE || request->form == PROFILE_JSON ||
               request->wants_total;
}

static enum kc_status format(void *ctx, int worker, const struct asked *block, struct kc_error *err)
{
        const struct profiling *p = ctx;
        const struct kc_record_batch *batch = block->batch;
        const enum profile_form form = p->request->form;
        struct profile_worker *w = &p->workers[block->slot];
        enum kc_status status = KC_OK;
        (void)worker;
        w->text.used = 0;
        w->next = batch->n > 0 && !is_whole(&batch->records[0]); /* write does the first piece */
        for (size_t i = 0; i < batch->n; i++) {
                if (!is_wanted(&batch->records[i])) {
                        w->next += w->next == i;
                        continue;
                }
                w->nsequences += (batch->records[i].flags & KC_RECORD_BEGINS) != 0;
                if (wants_tallies(p->request))
                        KC_TRY(tally_record(p, w, block, i, err));
                if (w->next == i && is_whole(&batch->records[i]) &&
                    (form == PROFILE_TABLE || form == PROFILE_POSITIONS))
                        KC_TRY(format_record(p, w, block, i, err));
        }
out:
        return status;
}

/* ---- in the order of the blocks ---- */

static enum kc_status write_json(struct json *json, const struct profile_name *name,
                                 const struct profile_row *row, struct kc_error *err)
{
        char *text = strndup(name->bytes, name->nbytes);
        if (text == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the name of a sequence");
        json_begin(json, NULL, '{');
        json_string(json, "name", text);
        profile_json_row(json, row);
        json_end(json, '}');
        free(text);
        return KC_OK;
}

static enum kc_status write_whole(struct profiling *p, const struct profile_name *name,
                                  const struct kc_seq_record *record,
                                  const struct kc_ask_answer *answer, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (p->request->form != PROFILE_POSITIONS)
                KC_TRY(tally_answer(&p->tally, answer, err));
        if (p->request->form != PROFILE_JSON) {
                put_record(p, &p->stream, name, record, answer, &p->tally);
                return KC_OK;
        }
        const struct profile_row row = row_of(record->nbases, &answer->summary, &p->tally);
        KC_TRY(write_json(p->json, name, &row, err));
out:
        return status;
}

static void write_positions(struct profiling *p, const struct profile_name *name,
                            const struct kc_seq_record *record, const struct kc_ask_answer *answer)
{
        const struct profile_track_setup *setup = &p->request->track;
        if (record->flags & KC_RECORD_BEGINS)
                p->track = (struct profile_track){ 0 };
        profile_track_put(&p->track, setup, &p->stream, name, record->offset - record->noverlap,
                          answer);
        if (record->flags & KC_RECORD_ENDS)
                profile_track_end(&p->track, setup, &p->stream, name);
}

/* tally: of the piece. */
static enum kc_status write_piece(struct profiling *p, const struct profile_name *name,
                                  const struct kc_seq_record *record,
                                  const struct kc_ask_answer *answer,
                                  const struct kc_window_tally *tally, struct kc_error *err)
{
        struct sum *sum = p->pieces;
        enum kc_status status;
        if (p->request->form == PROFILE_POSITIONS) {
                write_positions(p, name, record, answer);
                return KC_OK;
        }
        if (record->flags & KC_RECORD_BEGINS)
                sum_clear(sum);
        KC_TRY(sum_add(sum, record, answer, tally, err));
        if (!(record->flags & KC_RECORD_ENDS))
                return KC_OK;
        const struct profile_row row = row_of(sum->length, &sum->summary, &sum->tally);
        if (p->request->form == PROFILE_JSON)
                return write_json(p->json, name, &row, err);
        profile_put_row(&p->stream, name, &row);
out:
        return status;
}

static enum kc_status write_record(struct profiling *p, struct profile_worker *w,
                                   const struct asked *block, size_t i, struct kc_error *err)
{
        const struct kc_seq_record *record = &block->batch->records[i];
        const struct kc_ask_answer *answer = &block->answers[0][i];
        struct profile_name name;
        enum kc_status status;
        KC_TRY(name_of(block->batch, i, &name, err));
        if (is_whole(record))
                KC_TRY(write_whole(p, &name, record, answer, err));
        else
                KC_TRY(write_piece(p, &name, record, answer, tally_of(w, block->batch, i), err));
out:
        profile_name_free(&name);
        return status;
}

/* Not before there are results: if an input cannot be read, an error is all that is printed. */
static void begin_output(struct profiling *p)
{
        if (!p->has_begun)
                p->request->begin(p->request->ctx);
        p->has_begun = true;
}

static enum kc_status write_block(void *ctx, const struct asked *block, struct kc_error *err)
{
        struct profiling *p = ctx;
        const struct kc_record_batch *batch = block->batch;
        struct profile_worker *w = &p->workers[block->slot];
        enum kc_status status = KC_OK;
        if (p->request->form == PROFILE_NONE)
                return KC_OK;
        begin_output(p);
        if (batch->n > 0 && !is_whole(&batch->records[0])) {
                KC_TRY(write_record(p, w, block, 0, err));
                profile_text_flush(&p->stream);
        }
        text_out_write(p->out, w->text.bytes, w->text.used);
        for (size_t i = w->next; i < batch->n; i++)
                if (is_wanted(&batch->records[i]))
                        KC_TRY(write_record(p, w, block, i, err));
        profile_text_flush(&p->stream);
        KC_TRY(text_out_status(p->out, err));
out:
        return status;
}

/* ---- all inputs ---- */

static enum kc_status open_text(struct profile_text *text, size_t nbytes, struct kc_error *err)
{
        text->size = nbytes;
        text->bytes = malloc(nbytes);
        return text->bytes != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for text");
}

static enum kc_status open_profiling(struct profiling *p, struct kc_error *err)
{
        const size_t nthreads = (size_t)p->request->nthreads;
        enum kc_status status = KC_OK;
        p->pieces = calloc(1, sizeof *p->pieces);
        p->workers = calloc(nthreads, sizeof *p->workers);
        if (p->pieces == NULL || p->workers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu threads", nthreads);
        KC_TRY(open_text(&p->stream, STREAM_NBYTES, err));
        p->stream.out = p->out;
        for (size_t i = 0; i < nthreads; i++) {
                KC_TRY(open_text(&p->workers[i].text, WORKER_TEXT_NBYTES, err));
                sum_clear(&p->workers[i].total);
        }
out:
        return status;
}

static void close_profiling(struct profiling *p)
{
        for (int i = 0; p->workers != NULL && i < p->request->nthreads; i++) {
                struct profile_worker *w = &p->workers[i];
                kc_window_tally_free(&w->record);
                kc_window_tally_free(&w->pieces[0]);
                kc_window_tally_free(&w->pieces[1]);
                kc_window_tally_free(&w->total.tally);
                free(w->text.bytes);
        }
        if (p->pieces != NULL)
                kc_window_tally_free(&p->pieces->tally);
        kc_window_tally_free(&p->tally);
        free(p->pieces);
        free(p->workers);
        free(p->stream.bytes);
}

static enum kc_status join_totals(struct profiling *p, struct profile_total *total,
                                  struct kc_error *err)
{
        struct profile_worker *first = &p->workers[0];
        enum kc_status status = KC_OK;
        for (int i = 1; i < p->request->nthreads; i++) {
                KC_TRY(sum_join(&first->total, &p->workers[i].total, err));
                first->nsequences += p->workers[i].nsequences;
        }
        total->nsequences = first->nsequences;
        total->row = row_of(first->total.length, &first->total.summary, &first->total.tally);
out:
        return status;
}

uint64_t profile_thread_nbytes(void)
{
        return WORKER_TEXT_NBYTES + sizeof(struct profile_worker);
}

static enum kc_status profile_input(struct profiling *p, size_t i,
                                    const struct asking_consumer *consumer, struct kc_asker *shared,
                                    struct kc_error *err)
{
        const struct profile_request *request = p->request;
        struct kc_store_info info;
        kc_store_get_info(request->store, &info);
        const uint64_t own_nbytes = (uint64_t)request->nthreads * profile_thread_nbytes();
        const struct asking_options options = { .nthreads = request->nthreads,
                                                .memory_nbytes =
                                                        request->memory_nbytes - own_nbytes,
                                                .min_count = request->min_count,
                                                .max_count = request->max_count,
                                                .wants_counts = true,
                                                .device = request->device,
                                                .shared = shared,
                                                .job = request->job };
        const struct asking_input input = { .paths = { request->inputs->names[i] },
                                            .hpc = info.hpc,
                                            .accepted =
                                                    KC_RECORDS_ALIGNMENTS | KC_RECORDS_SYMBOLS };
        struct kc_error own = { 0 };
        const enum kc_status status =
                asking_run(request->store, &input, &options, consumer, NULL, &own);
        if (status == KC_OK)
                return KC_OK;
        return status == KC_EINPUT ? kc_inputs_blame(request->inputs, i, &own, err)
                                   : kc_fail_as(err, &own);
}

enum kc_status profile_run(const struct profile_request *request, struct text_out *out,
                           struct json *json, struct profile_total *total, struct kc_error *err)
{
        struct profiling p = { .request = request, .out = out, .json = json };
        const struct asking_consumer consumer = { .ctx = &p,
                                                  .format = format,
                                                  .write = write_block };
        struct kc_asker shared = { 0 };
        enum kc_status status;
        bool done = false;
        if (request->form == PROFILE_NONE && request->device->cuda &&
            !request->device->options.spread)
                KC_TRY(device_total(request, total, &done, err));
        if (done) {
                begin_output(&p);
                return KC_OK;
        }
        KC_TRY(open_profiling(&p, err));
        for (size_t i = 0; i < request->inputs->n; i++)
                KC_TRY(profile_input(&p, i, &consumer, &shared, err));
        KC_TRY(join_totals(&p, total, err));
        begin_output(&p);
out:
        kc_asking_close(&shared);
        close_profiling(&p);
        return status;
}
