/*
 * kcount query: print the counts of given k-mers, in the order of the queries.
 *
 * k-mers are collected into a batch, looked up by all threads, and printed in order.
 */
#include "app/cli/command.h"
#include "app/cli/machine.h"
#include "app/cli/message.h"
#include "app/cli/misplaced.h"
#include "app/cli/shell.h"
#include "app/store/sequences.h"
#include "app/store/stores.h"
#include "base/parallel.h"
#include "io/input/input.h"
#include "kmer/kmer.h"
#include "kmer/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below MIN_PARALLEL k-mers, starting threads takes longer than the work. */
enum { BATCH_NKMERS = 1 << 17, MIN_PARALLEL = 1 << 12 };

struct query_settings {
        uint64_t nthreads;
        const char *file;
        bool quiet;
};

struct query {
        const struct invocation *call;
        struct kc_store *store;
        struct kc_lookup **lookups; /* one per thread */
        int nthreads, k;
        bool stranded;
        struct text_out *out;
        uint64_t *kmers; /* [BATCH_NKMERS * nwords], in the order of the queries */
        uint32_t *counts;
        size_t n;
        char *text; /* lines of TEXT_NKMERS k-mers */
        uint64_t nshort, nskipped;
};

enum { TEXT_NKMERS = 1 << 10 };

static enum kc_status look_up(void *ctx, int worker, struct kc_error *err)
{
        struct query *q = ctx;
        size_t nwords = (size_t)kc_kmer_nwords(q->k);
        size_t nworkers = q->n >= MIN_PARALLEL ? (size_t)q->nthreads : 1;
        size_t begin = q->n * (size_t)worker / nworkers;
        size_t end = q->n * ((size_t)worker + 1) / nworkers;
        enum kc_status status = KC_OK;
        for (size_t i = begin; i < end; i++) {
                uint64_t kmer[KC_MAX_WORDS];
                memcpy(kmer, q->kmers + i * nwords, nwords * sizeof *kmer);
                if (!q->stranded)
                        kc_kmer_canonical(kmer, q->k);
                KC_TRY(kc_lookup_count(q->lookups[worker], kmer, &q->counts[i], err));
        }
out:
        return status;
}

static enum kc_status answer_batch(struct query *q, struct kc_error *err)
{
        enum kc_status status;
        int nworkers = q->n >= MIN_PARALLEL ? q->nthreads : 1;
        KC_TRY(kc_parallel(nworkers, look_up, NULL, q, err));
        const struct kc_kmer_text format = { .k = q->k, .min_count = 0, .max_count = UINT32_MAX };
        size_t nwords = (size_t)kc_kmer_nwords(q->k);
        for (size_t i = 0; i < q->n; i += TEXT_NKMERS) {
                size_t n = q->n - i < TEXT_NKMERS ? q->n - i : TEXT_NKMERS;
                char *end = kc_kmer_text_lines(&format, q->kmers + i * nwords, q->counts + i, n,
                                               q->text);
                text_out_write(q->out, q->text, (size_t)(end - q->text));
        }
        q->n = 0;
        status = text_out_status(q->out, err);
out:
        return status;
}

/* Replace kmer by its last k - 1 bases and one more base. */
static void append_base(uint64_t *kmer, int k, int code)
{
        int nwords = kc_kmer_nwords(k);
        for (int i = nwords - 1; i > 0; i--)
                kmer[i] = kmer[i] << 2 | kmer[i - 1] >> 62;
        kmer[0] = kmer[0] << 2 | (uint64_t)code;
        kmer[nwords - 1] &= kc_kmer_top_mask(k);
}

static enum kc_status ask_sequence(struct query *q, const char *text, size_t length,
                                   struct kc_error *err)
{
        size_t nwords = (size_t)kc_kmer_nwords(q->k), run = 0;
        uint64_t kmer[KC_MAX_WORDS] = { 0 };
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < length; i++) {
                int code = kc_base_code((unsigned char)text[i]);
                if (code < 0) {
                        q->nskipped++;
                        run = 0;
                        continue;
                }
                append_base(kmer, q->k, code);
                if (++run < (size_t)q->k)
                        continue;
                memcpy(q->kmers + q->n * nwords, kmer, nwords * sizeof *kmer);
                if (++q->n == BATCH_NKMERS)
                        KC_TRY(answer_batch(q, err));
        }
out:
        return status;
}

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

static enum kc_status ask_argument(struct query *q, const char *text, struct kc_error *err)
{
        struct kc_error refused = { 0 };
        if (misplaced_check_sequence(q->call, text, q->k, &refused) == KC_OK)
                return ask_sequence(q, text, strlen(text), err);
        return is_prefix(text, q->k) ? advise_range(q->call->operands[0], text, &refused, err)
                                     : kc_fail_as(err, &refused);
}

static enum kc_status ask_file(struct query *q, const char *path, struct kc_error *err)
{
        struct kc_records *records = NULL;
        struct kc_record_batch batch = { 0 };
        bool is_empty = true;
        enum kc_status status;
        KC_TRY(sequences_open(&records, path, q->k, err));
        do {
                KC_TRY(kc_records_next(records, &batch, err));
                is_empty &= batch.n == 0;
                for (size_t i = 0; i < batch.n; i++) {
                        const struct kc_seq_record *record = &batch.records[i];
                        q->nshort += sequences_is_short(record, q->k);
                        KC_TRY(ask_sequence(q, batch.bytes + record->bases, record->nbases, err));
                }
        } while (batch.n > 0);
        if (is_empty)
                message_print("kcount: warning: %s has no sequences\n", kc_input_name(path));
out:
        kc_record_batch_free(&batch);
        kc_records_close(records);
        return status;
}

static enum kc_status open_query(struct query *q, const struct invocation *call,
                                 struct kc_error *err)
{
        struct kc_store_info info;
        enum kc_status status;
        q->call = call;
        KC_TRY(stores_open(&q->store, call->operands[0], err));
        kc_store_get_info(q->store, &info);
        q->k = info.k;
        q->stranded = info.stranded;
        size_t nwords = (size_t)kc_kmer_nwords(q->k);
        q->kmers = malloc(BATCH_NKMERS * nwords * sizeof *q->kmers);
        q->counts = malloc(BATCH_NKMERS * sizeof *q->counts);
        q->text = malloc(TEXT_NKMERS * kc_kmer_text_line_nbytes(q->k));
        q->lookups = calloc((size_t)q->nthreads, sizeof(struct kc_lookup *));
        if (!q->kmers || !q->counts || !q->text || !q->lookups)
                return kc_fail(err, KC_ENOMEM, "out of memory for queries");
        for (int i = 0; i < q->nthreads; i++)
                KC_TRY(kc_lookup_open(&q->lookups[i], q->store, err));
out:
        return status;
}

static void close_query(struct query *q)
{
        for (int i = 0; q->lookups && i < q->nthreads; i++)
                kc_lookup_close(q->lookups[i]);
        free(q->lookups);
        free(q->text);
        free(q->counts);
        free(q->kmers);
        kc_store_close(q->store);
}

static enum kc_status run_query(const struct invocation *call, struct kc_error *err)
{
        const struct query_settings *s = call->settings;
        struct query query = { .nthreads = machine_nthreads(s->nthreads), .out = call->out };
        char example[EXAMPLE_NBYTES];
        enum kc_status status;
        if (call->noperands < 2 && s->file == NULL)
                return kc_fail(err, KC_EUSAGE, "query needs a SEQUENCE, or -f FILE%s",
                               command_example(call->command, example));
        KC_TRY(misplaced_check_first(call, err));
        KC_TRY(open_query(&query, call, err));
        for (int i = 1; i < call->noperands; i++)
                KC_TRY(ask_argument(&query, call->operands[i], err));
        if (s->file)
                KC_TRY(ask_file(&query, s->file, err));
        KC_TRY(answer_batch(&query, err));
        if (!s->quiet)
                sequences_report_skipped(query.k, query.nshort, query.nskipped);
out:
        close_query(&query);
        return status;
}

#define FIELD(member) offsetof(struct query_settings, member)

static const struct option_spec query_options[] = {
        OPTION(TEXT, "file", FIELD(file),
               "Query all k-mers of a FASTA, FASTQ or text file. They come after those of "
               "the arguments. In a text file, the first field of each line is used. The "
               "file may be compressed with gzip, BGZF, zstd, bzip2 or xz; - is standard input. "
               "For k-mers that contain letters other than A, C, G, T and U, and for sequences "
               "shorter than k, no line is printed; they are reported on standard error.",
               .letter = 'f', .argument = "FILE", .is_input = true),
        OPTION_THREADS(FIELD(nthreads)),
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
