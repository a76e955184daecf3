#include "io/records/text.h"

#include "io/input/damage.h"
#include "io/input/foreign.h"
#include "io/parse/line.h"
#include "kmer/hpc.h"

#include <stdlib.h>
#include <string.h>

void kc_record_text_init(struct kc_record_text *text, const char *name,
                         const struct kc_records_options *options)
{
        *text = (struct kc_record_text){
                .name = name,
                .options = *options,
                .kernels = kc_kernels_best(),
                .last_byte = '\n',
        };
        kc_order_init(&text->order);
        kc_fastq_text_init(&text->fastq, name, text->kernels,
                           kc_record_context(&text->options) + 1);
        text->fastq.piecewise.hpc = text->piece.hpc = options->hpc;
        text->fastq.record_max = options->record_max;
        text->fastq.keeps_text = true;
}

void kc_record_text_destroy(struct kc_record_text *text)
{
        kc_order_destroy(&text->order);
        kc_bytes_free(&text->carry);
        kc_bytes_free(&text->piece_name);
        kc_fastq_text_free(&text->fastq);
}

enum kc_status kc_record_memory_reserve(struct kc_record_memory *memory, struct kc_error *err)
{
        if (memory->n == memory->cap) {
                const size_t cap = memory->cap + memory->cap / 2 + 1024;
                struct kc_seq_record *records =
                        realloc(memory->records, cap * sizeof *memory->records);
                if (records == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for reading");
                memory->records = records;
                memory->cap = cap;
        }
        memory->records[memory->n] = (struct kc_seq_record){ 0 };
        return KC_OK;
}

void kc_record_compress(struct kc_seq_record *record, const char *bytes, int overlap, char *to)
{
        /* what comes before the overlap is there only to be compared with */
        const uint32_t before =
                record->noverlap > overlap ? record->noverlap - (uint32_t)overlap : 0;
        memcpy(to, bytes + record->bases, record->nbases);
        const size_t n = kc_hpc_compress((uint8_t *)to, record->nbases);
        if (before > 0)
                memmove(to, to + before, n - before);
        record->nbases = (uint32_t)n - before;
        record->noverlap -= (uint16_t)before;
}

/* ---- split ---- */

/* The first byte that is not blank shows the format; what comes before it belongs to no record. A
 * byte order mark may be cut by the end of the chunk: then its bytes are kept. */
static enum kc_status find_format(struct kc_record_text *text, struct kc_chunk *chunk,
                                  struct kc_record_cut *cut, struct kc_error *err)
{
        const unsigned accepted = text->options.accepted;
        size_t n = chunk->end - chunk->text;
        enum kc_status status;
        if (!text->begun) {
                KC_TRY(kc_chunk_take_over(chunk, &text->carry, err));
                chunk->text = chunk->start;
                n = chunk->end - chunk->text;
                if (n < KC_BOM_NBYTES && !chunk->last)
                        return kc_bytes_append(&text->carry, chunk->buffer + chunk->text, n, err);
                if (n >= KC_BOM_NBYTES &&
                    memcmp(chunk->buffer + chunk->text, KC_BOM, KC_BOM_NBYTES) == 0)
                        chunk->text += KC_BOM_NBYTES;
                text->begun = true;
        }
        size_t line = chunk->text;
        for (; chunk->text < chunk->end; chunk->text++) {
                const uint8_t c = chunk->buffer[chunk->text];
                if (!kc_line_is_space(c))
                        break;
                text->nlines += c == '\n';
                line = c == '\n' ? chunk->text + 1 : line;
        }
        n = chunk->end - chunk->text;
        if (n == 0)
                return KC_OK;
        const uint8_t *first = chunk->buffer + chunk->text;
        if (*first == '@')
                text->format = KC_RECORD_FASTQ;
        else if (*first == '>' || (*first == ';' && (accepted & KC_RECORDS_SYMBOLS)))
                text->format = KC_RECORD_FASTA;
        else if (accepted & KC_RECORDS_LINES)
                text->format = KC_RECORD_LINES, chunk->text = line;
        else
                return kc_foreign_refuse(text->name, KC_CONTAINER_PLAIN, first, n, err);
        cut->fastq.nlines = text->kernels->count_lines(first, n, &cut->fastq.binary);
        chunk->start = chunk->text;
out:
        return status;
}

/* Add a line end to FASTQ that does not end with one. */
static void end_text(struct kc_record_text *text, struct kc_chunk *chunk, struct kc_record_cut *cut)
{
        if (chunk->end > chunk->text)
                text->last_byte = chunk->buffer[chunk->end - 1];
        cut->added_eol = chunk->last && text->last_byte != '\n';
        if (cut->added_eol) {
                chunk->buffer[chunk->end++] = '\n';
                cut->fastq.nlines++;
        }
}

static enum kc_status split(struct kc_record_text *text, struct kc_record_memory *memory,
                            struct kc_record_cut *cut, struct kc_error *err)
{
        struct kc_chunk *chunk = &memory->chunk;
        enum kc_status status = KC_OK;
        if (text->format == KC_RECORD_UNKNOWN)
                KC_TRY(find_format(text, chunk, cut, err));
        cut->format = text->format;
        if (text->format == KC_RECORD_FASTQ) {
                end_text(text, chunk, cut);
                status = kc_fastq_text_split(&text->fastq, chunk, &cut->fastq, err);
        } else if (text->format != KC_RECORD_UNKNOWN) {
                status = kc_record_split(text, memory, cut, err);
        }
out:
        return status;
}

/* ---- parse and confirm ---- */

/* Out of turn. FASTQ that is not strict is left to the confirmation. */
static enum kc_status parse(const struct kc_record_text *text, struct kc_record_memory *memory,
                            struct kc_record_cut *cut, bool *strict, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (cut->format == KC_RECORD_UNKNOWN)
                return KC_OK;
        if (cut->format != KC_RECORD_FASTQ)
                return kc_record_parse(text, memory, cut, err);
        KC_TRY(kc_fastq_text_scan(&text->fastq, &memory->chunk, &cut->fastq, strict, err));
        if (*strict)
                KC_TRY(kc_record_take_fastq(text, memory, cut->fastq.whole, cut, err));
out:
        return status;
}

static enum kc_status report(const struct kc_record_text *text, const struct kc_record_cut *cut,
                             struct kc_error *err)
{
        const struct kc_problem *problem = &cut->problem;
        const unsigned long long record = text->nrecords + problem->record;
        if (cut->bad_line == 0)
                return kc_problem_report(problem, text->name, text->fastq.checker, text->nrecords,
                                         err);
        if (cut->format == KC_RECORD_LINES)
                return kc_fail(err, KC_EINPUT, "%s: line %llu %s", text->name,
                               (unsigned long long)cut->bad_line, problem->what);
        return kc_fail(err, KC_EINPUT, "%s: line %llu %s (record %llu)", text->name,
                       (unsigned long long)cut->bad_line, problem->what, record);
}

/* In confirm's turn: count the records of the batch. *first: number of the first one. */
static void number(struct kc_record_text *text, struct kc_record_memory *memory,
                   struct kc_record_batch *batch, uint64_t *first)
{
        const size_t n = memory->n;
        if (n == 0)
                return;
        struct kc_seq_record *head = &memory->records[0], *last = &memory->records[n - 1];
        const bool continues = !kc_record_begins(head);
        batch->number = text->nbatches++;
        *first = text->nrecords - continues;
        text->nrecords += n - continues;
        if (continues)
                head->offset = text->offset;
        text->offset = last->offset + last->nbases - last->noverlap;
}

static enum kc_status confirm(struct kc_record_text *text, struct kc_record_memory *memory,
                              struct kc_record_cut *cut, bool strict, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (cut->format == KC_RECORD_FASTQ && strict && !atomic_load(&text->fastq.general))
                KC_TRY(kc_fastq_text_confirm(&text->fastq, &memory->chunk, true, err));
        else if (cut->format == KC_RECORD_FASTQ)
                KC_TRY(kc_record_take_general(text, memory, cut, err));
        KC_TRY(report(text, cut, err));
out:
        return status;
}

enum kc_status kc_record_text_parse(struct kc_record_text *text, struct kc_record_batch *batch,
                                    struct kc_error *err)
{
        struct kc_record_memory *memory = batch->memory;
        struct kc_chunk *chunk = &memory->chunk;
        struct kc_record_cut cut = { 0 };
        struct kc_error own = chunk->error; /* kept until it is this chunk's turn to report it */
        bool strict = false;
        uint64_t first = 0;
        memory->n = 0;
        if (chunk->open_end.found)
                kc_damage_no_end_block(text->name, chunk->open_end.offset, !chunk->last,
                                       "gzip -dc FILE", &own);
        cut.fastq.nlines = text->kernels->count_lines(chunk->buffer + chunk->text,
                                                      chunk->end - chunk->text, &cut.fastq.binary);
        kc_turn_wait(&text->order.split, chunk->seq);
        if (own.status == KC_OK)
                split(text, memory, &cut, &own);
        kc_turn_pass(&text->order.split);

        if (own.status == KC_OK)
                parse(text, memory, &cut, &strict, &own);

        kc_turn_wait(&text->order.confirm, chunk->seq);
        if (!text->order.failed && own.status == KC_OK)
                confirm(text, memory, &cut, strict, &own);
        enum kc_status status = kc_order_settle(&text->order, chunk, &own, err);
        if (text->order.failed)
                memory->n = 0;
        number(text, memory, batch, &first);
        kc_turn_pass(&text->order.confirm);

        for (size_t i = 0; i < memory->n; i++)
                memory->records[i].number = first + i;
        return status;
}
