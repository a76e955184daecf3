/*
 * kcount query: print the counts of given k-mers, in the order of the queries.
 *
 * The arguments are one block of sequences, which is looked up; files go through app/ask/asking.h.
 */
#include "app/ask/asking.h"
#include "app/cli/command.h"
#include "app/cli/device.h"
#include "app/cli/message.h"
#include "app/cli/misplaced.h"
#include "app/cli/shell.h"
#include "app/library/lookup_asker.h"
#include "app/library/machine.h"
#include "app/library/memory.h"
#include "app/store/sequences.h"
#include "app/store/stores.h"
#include "io/input/input.h"
#include "kmer/kmer.h"
#include "kmer/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        THREAD_MIB = 8,     /* at least, with text and what it reads at a time */
        TEXT_FRACTION = 16, /* of the memory is for text... */
        MAX_TEXT_MIB = 8,   /* ...but no more than this for each thread */
};

struct query_settings {
        uint64_t nthreads, memory_nbytes;
        const char *file;
        struct device_asks asks;
        bool quiet;
};

/* What a thread has formatted. */
struct query_lines {
        char *text; /* [query.text_nkmers lines] */
        size_t nkmers;
        char *end;
        /* Where it goes on, if the text is full before the block ends. */
        size_t sequence, stretch;
        uint32_t window; /* of the stretch */
        const uint32_t *counts;
        uint64_t nshort, nskipped;
        char *compressed; /* [compressed_cap] the sequence, if homopolymers are compressed */
        size_t compressed_cap;
};

struct query {
        const struct invocation *call;
        struct kc_store *store;
        int nthreads, k;
        bool hpc; /* the file is of homopolymer-compressed reads, so queries are compressed */
        char **compressed;      /* the arguments, then */
        uint64_t memory_nbytes; /* for asking */
        struct device_answers device;
        size_t text_nkmers;
        struct query_lines *lines; /* [nthreads] */
        struct text_out *out;
};

/* ---- lines ---- */

static void begin_sequence(struct query_lines *lines, size_t sequence)
{
        lines->sequence = sequence;
        lines->stretch = 0;
        lines->window = 0;
        lines->counts = NULL;
}

/* Format what is left of a sequence. False if the text is full before its end. */
static bool put_sequence(const struct query *q, struct query_lines *lines, const char *bases,
                         const struct kc_ask_answer *answer)
{
        if (lines->counts == NULL)
                lines->counts = answer->counts;
        while (lines->stretch < answer->nstretches) {
                const struct kc_ask_stretch *stretch = &answer->stretches[lines->stretch];
                const size_t left = stretch->n - lines->window,
                             room = q->text_nkmers - lines->nkmers;
                const size_t n = left < room ? left : room;
                lines->end = kc_kmer_text_windows(q->k, bases + stretch->begin + lines->window,
                                                  lines->counts, n, lines->end);
                lines->counts += n;
                lines->nkmers += n;
                lines->window += (uint32_t)n;
                if (n < left)
                        return false;
                lines->stretch++;
                lines->window = 0;
        }
        return true;
}

static void write_lines(const struct query *q, struct query_lines *lines)
{
        text_out_write(q->out, lines->text, (size_t)(lines->end - lines->text));
        lines->end = lines->text;
        lines->nkmers = 0;
}

/* ---- a file ---- */

static uint64_t count_skipped(const char *bases, size_t n)
{
        uint64_t nskipped = 0;
        for (size_t i = 0; i < n; i++)
                nskipped += kc_base_code((unsigned char)bases[i]) < 0;
        return nskipped;
}

/* Secondary and supplementary alignments repeat the reads of other records. */
static bool is_repeated(const struct kc_seq_record *record)
{
        return record->flags & KC_RECORD_REPEATED;
}

/* The letters of a record whose k-mers were looked up. */
static const char *asked_letters(const struct query *q, struct query_lines *lines,
                                 const struct kc_record_batch *batch, size_t i)
{
        struct kc_seq_record record = batch->records[i];
        if (!q->hpc)
                return batch->bytes + record.bases;
        if (lines->counts == NULL) /* at its beginning; later its letters are there already */
                kc_record_compress(&record, batch->bytes, q->k - 1, lines->compressed);
        return lines->compressed;
}

/* Format records until the text is full; false at the end of the block. */
static bool put_records(const struct query *q, struct query_lines *lines, const struct asked *block)
{
        const struct kc_record_batch *batch = block->batch;
        while (lines->sequence < batch->n) {
                const size_t i = lines->sequence;
                if (!put_sequence(q, lines, asked_letters(q, lines, batch, i),
                                  &block->answers[0][i]))
                        return true;
                begin_sequence(lines, i + 1);
        }
        return false;
}

static void tally(struct query_lines *lines, const struct asked *block)
{
        const struct kc_record_batch *batch = block->batch;
        for (size_t i = 0; i < batch->n; i++) {
                const struct kc_seq_record *record = &batch->records[i];
                const struct kc_ask_summary *summary = &block->answers[0][i].summary;
                if (is_repeated(record))
                        continue;
                const bool is_short = summary->nwindows == 0;
                lines->nshort += is_short && (record->flags & KC_RECORD_WHOLE) == KC_RECORD_WHOLE;
                if (is_short || summary->nvalid < summary->nwindows)
                        lines->nskipped +=
                                count_skipped(batch->bytes + record->bases, record->nbases);
        }
}

static enum kc_status reserve_compressed(struct query_lines *lines,
                                         const struct kc_record_batch *batch, struct kc_error *err)
{
        uint32_t longest = 1;
        for (size_t i = 0; i < batch->n; i++)
                if (batch->records[i].nbases > longest)
                        longest = batch->records[i].nbases;
        return sequences_reserve(&lines->compressed, &lines->compressed_cap, longest, err);
}

/* Each window is in one piece of its record, so pieces can be treated as records here. */
static enum kc_status format_block(void *ctx, int worker, const struct asked *block,
                                   struct kc_error *err)
{
        const struct query *q = ctx;
        struct query_lines *lines = &q->lines[block->slot];
        enum kc_status status = KC_OK;
        (void)worker;
        if (q->hpc)
                KC_TRY(reserve_compressed(lines, block->batch, err));
        tally(lines, block);
        begin_sequence(lines, 0);
        put_records(q, lines, block);
out:
        return status;
}

static enum kc_status write_block(void *ctx, const struct asked *block, struct kc_error *err)
{
        const struct query *q = ctx;
        struct query_lines *lines = &q->lines[block->slot];
        write_lines(q, lines);
        while (put_records(q, lines, block))
                write_lines(q, lines);
        write_lines(q, lines);
        return text_out_status(q->out, err);
}

static enum kc_status ask_file(struct query *q, const char *path, struct kc_error *err)
{
        const struct asking_input input = { .paths = { path },
                                            .hpc = q->hpc,
                                            .accepted = KC_RECORDS_LINES | KC_RECORDS_ALIGNMENTS };
        const struct asking_options options = {
                .nthreads = q->nthreads,
                .memory_nbytes = q->memory_nbytes,
                .max_count = UINT32_MAX,
                .wants_counts = true,
                .device = &q->device,
        };
        const struct asking_consumer consumer = { .ctx = q,
                                                  .format = format_block,
                                                  .write = write_block };
        uint64_t nrecords;
        enum kc_status status;
        KC_TRY(asking_run(q->store, &input, &options, &consumer, &nrecords, err));
        if (nrecords == 0)
                message_print("kcount: warning: %s has no sequences\n", kc_input_name(path));
out:
        return status;
}

/* ---- arguments ---- */

/* Whether the text is too short, but may be the beginning of a k-mer. */
static bool is_prefix(const char *text, int k)
{
        size_t n = 0;
        while (text[n] != '\0' && kc_base_code((unsigned char)text[n]) >= 0)
                n++;
        return text[n] == '\0' && n > 0 && n < (size_t)k;
}

static enum kc_status advise_range(const char *path, const char *text,
                                   const struct kc_error *refused, struct kc_error *err)
{
        const char *const words[] = { path, text, text };
        char line[SHELL_LINE_NBYTES];
        return kc_fail_reworded(err, refused, "%s; for k-mers that begin with it: kcount range %s",
                                refused->message, shell_line(words, 3, line));
}

static enum kc_status check_argument(const struct query *q, const char *text, struct kc_error *err)
{
        struct kc_error refused = { 0 };
        if (misplaced_check_sequence(q->call, text, q->k, &refused) == KC_OK)
                return KC_OK;
        return is_prefix(text, q->k) ? advise_range(q->call->operands[0], text, &refused, err)
                                     : kc_fail_as(err, &refused);
}

/* Print the answers to the sequences [n] that the asker was given. */
static enum kc_status print_answers(const struct query *q, const struct kc_asker *asker,
                                    const struct kc_ask_sequence *sequences, size_t n,
                                    struct kc_error *err)
{
        struct query_lines *lines = &q->lines[0];
        struct kc_ask_answer *answers = malloc(n * sizeof *answers);
        enum kc_status status;
        if (answers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for queries");
        KC_TRY(asker->take(asker->ctx, 0, answers, n, err));
        for (size_t i = 0; i < n; i++) {
                begin_sequence(lines, i);
                while (!put_sequence(q, lines, sequences[i].bases, &answers[i]))
                        write_lines(q, lines);
        }
        write_lines(q, lines);
        status = text_out_status(q->out, err);
out:
        free(answers);
        return status;
}

static enum kc_status ask_sequences(const struct query *q, const struct kc_ask_sequence *sequences,
                                    size_t n, struct kc_error *err)
{
        const struct kc_ask_setup setup = { .nthreads = 1,
                                            .memory_nbytes = UINT64_MAX,
                                            .max_count = UINT32_MAX,
                                            .wants_counts = true };
        struct kc_asker asker;
        bool full = false;
        enum kc_status status;
        KC_TRY(kc_lookup_asker_open(&asker, q->store, &setup, err));
        status = asker.add(asker.ctx, 0, sequences, n, &full, err);
        if (status == KC_OK)
                status = asker.answer(asker.ctx, err);
        if (status == KC_OK)
                status = print_answers(q, &asker, sequences, n, err);
        asker.close(asker.ctx);
out:
        return status;
}

static enum kc_status ask_arguments(struct query *q, struct kc_error *err)
{
        const size_t n = (size_t)q->call->noperands - 1;
        const char *const *texts = q->call->operands + 1;
        struct kc_ask_sequence *sequences = malloc((n + 1) * sizeof *sequences);
        enum kc_status status = KC_OK;
        if (sequences == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for queries");
        for (size_t i = 0; i < n; i++)
                KC_TRY(check_argument(q, texts[i], err));
        if (q->hpc) {
                KC_TRY(sequences_compress(texts, n, q->k, &q->compressed, err));
                texts = (const char *const *)q->compressed;
        }
        for (size_t i = 0; i < n; i++)
                sequences[i] = (struct kc_ask_sequence){ texts[i], (uint32_t)strlen(texts[i]) };
        if (n > 0)
                KC_TRY(ask_sequences(q, sequences, n, err));
out:
        free(sequences);
        return status;
}

/* ---- the command ---- */

/* Divide the memory among threads, their text, and asking. */
static enum kc_status plan_memory(struct query *q, uint64_t bound_nbytes, struct kc_error *err)
{
        const uint64_t nbytes = bound_nbytes ? bound_nbytes : kc_memory_default_nbytes(1);
        enum kc_status status;
        KC_TRY(kc_memory_limit_threads(nbytes, THREAD_MIB * MEMORY_MIB, "queries", &q->nthreads,
                                       err));
        uint64_t text_nbytes = nbytes / TEXT_FRACTION / (uint64_t)q->nthreads;
        if (text_nbytes > MAX_TEXT_MIB * MEMORY_MIB)
                text_nbytes = MAX_TEXT_MIB * MEMORY_MIB;
        q->text_nkmers = text_nbytes / kc_kmer_text_line_nbytes(q->k);
        q->memory_nbytes = nbytes - MEMORY_PROCESS_NBYTES - text_nbytes * (uint64_t)q->nthreads;
out:
        return status;
}

static enum kc_status open_query(struct query *q, const struct invocation *call,
                                 struct kc_error *err)
{
        const struct query_settings *s = call->settings;
        struct kc_store_info info;
        enum kc_status status;
        q->call = call;
        q->out = call->out;
        KC_TRY(stores_open(&q->store, call->operands[0], err));
        kc_store_get_info(q->store, &info);
        q->k = info.k;
        q->hpc = info.hpc;
        KC_TRY(device_choose_map(&q->device, &s->asks, q->k, info.stranded, s->quiet, err));
        q->nthreads = kc_machine_nthreads(s->nthreads);
        KC_TRY(plan_memory(q, s->memory_nbytes, err));
        q->lines = calloc((size_t)q->nthreads, sizeof *q->lines);
        for (int i = 0; q->lines != NULL && i < q->nthreads; i++) {
                struct query_lines *lines = &q->lines[i];
                lines->text = malloc(q->text_nkmers * kc_kmer_text_line_nbytes(q->k));
                if (lines->text == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for queries");
                lines->end = lines->text;
        }
        if (q->lines == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for queries");
out:
        return status;
}

static void close_query(struct query *q)
{
        for (int i = 0; q->lines != NULL && i < q->nthreads; i++) {
                free(q->lines[i].text);
                free(q->lines[i].compressed);
        }
        free(q->lines);
        if (q->compressed != NULL)
                sequences_free(q->compressed, (size_t)q->call->noperands - 1);
        kc_store_close(q->store);
}

static void report_skipped(const struct query *q)
{
        uint64_t nshort = 0, nskipped = 0;
        for (int i = 0; i < q->nthreads; i++) {
                nshort += q->lines[i].nshort;
                nskipped += q->lines[i].nskipped;
        }
        sequences_report_skipped(q->k, nshort, nskipped);
}

static enum kc_status run_query(const struct invocation *call, struct kc_error *err)
{
        const struct query_settings *s = call->settings;
        struct query query = { 0 };
        char example[EXAMPLE_NBYTES];
        enum kc_status status;
        if (call->noperands < 2 && s->file == NULL)
                return kc_fail(err, KC_EUSAGE, "query needs a SEQUENCE, or -f FILE%s",
                               command_example(call->command, example));
        KC_TRY(misplaced_check_first(call, err));
        KC_TRY(open_query(&query, call, err));
        KC_TRY(ask_arguments(&query, err));
        if (s->file)
                KC_TRY(ask_file(&query, s->file, err));
        text_out_flush(query.out); /* the reports come after the lines */
        KC_TRY(text_out_status(query.out, err));
        if (!s->quiet)
                report_skipped(&query);
        if (s->file)
                device_report_answers(&query.device);
out:
        close_query(&query);
        return status;
}

#define FIELD(member) offsetof(struct query_settings, member)

static const struct option_spec query_options[] = {
        OPTION(TEXT, "file", FIELD(file),
               "Query all k-mers of a FASTA, FASTQ or text file. They come after those of "
               "the arguments. In a text file, the first field of each line is used. The "
               "file may be compressed with gzip, BGZF, zstd, bzip2 or xz, or be BAM, SAM or "
               "CRAM; - is standard input. For k-mers that contain letters other than A, C, "
               "G, T and U, and for sequences shorter than k, no line is printed; they are "
               "reported on standard error.",
               .letter = 'f', .argument = "FILE", .is_input = true),
        OPTION_THREADS(FIELD(nthreads)),
        OPTION(SIZE, "memory", FIELD(memory_nbytes),
               "Hard limit on memory, at least 256M; default: 3/4 of free memory. With little "
               "memory, FILE.kc is read several times, and fewer threads run than -t allows.",
               .letter = 'm', .argument = "SIZE", .min = MEMORY_LEAST_MIB * MEMORY_MIB),
        OPTIONS_ASK(FIELD(asks)),
        OPTION_QUIET(FIELD(quiet)),
        { 0 },
};

const struct command command_query = {
        .name = "query",
        .run = run_query,
        .operands = "FILE.kc [SEQUENCE]...",
        .group = COMMAND_LOOKS,
        .summary = "Print the counts of given k-mers or sequences",
        .description = "One line for each k-mer of each sequence, in the order given: the k-mer, a "
                       "tab, its count, which is 0 if the file does not have it. A sequence has k "
                       "letters or more, in either case; U counts as T.\n\n"
                       "Unless the file was counted with --stranded, a k-mer and its reverse "
                       "complement have the same count, and either may be given; the one given is "
                       "printed.",
        .examples = "  kcount query reads.kc ACGTACGTACGTACGTACGTACGTACGTACG\n"
                    "  kcount query reads.kc -f genes.fa > genes.counts\n"
                    "  kcount dump a.kc | kcount query b.kc -f -\n",
        .options = query_options,
        .settings_nbytes = sizeof(struct query_settings),
        .min_operands = 1,
        .max_operands = -1,
};
