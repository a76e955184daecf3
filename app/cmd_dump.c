/*
 * kcount dump: print all k-mers with their counts, in order.
 *
 * The key space is cut into parts of about PART_NBYTES of text. Threads take parts in order, format
 * each into a buffer of their own, and write it after all earlier parts have been written.
 */
#include "app/command.h"
#include "app/machine.h"
#include "app/output_check.h"
#include "app/signals.h"
#include "app/stores.h"
#include "base/parallel.h"
#include "base/turn.h"
#include "kmer/kmer.h"
#include "kmer/text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PART_NBYTES = 1 << 20, BUFFER_NBYTES = 2 << 20, MAX_PARTS = 1 << 20 };

struct dump_settings {
        uint64_t nthreads, min_count, max_count;
        const char *output, *columns;
        bool fasta;
};

struct dump {
        struct kc_store *store;
        struct kc_kmer_text format;
        struct text_out *out;
        uint64_t *bounds; /* part p is [bounds[p - 1], bounds[p]) */
        size_t nbounds;
        atomic_size_t next_part;
        struct kc_turn turn; /* the part that may be written now */
};

/* The text of the part that a thread has taken. */
struct dump_part {
        size_t number;
        char *text;
        size_t used;
};

static void give_up(void *ctx)
{
        struct dump *dump = ctx;
        kc_turn_stop(&dump->turn);
}

static enum kc_status write_text(struct dump *dump, struct dump_part *part, struct kc_error *err)
{
        if (!kc_turn_wait(&dump->turn, part->number))
                return kc_fail(err, KC_ECANCELED, "another thread failed");
        text_out_write(dump->out, part->text, part->used);
        part->used = 0;
        return text_out_status(dump->out, err);
}

/* Format n pairs, writing whenever the buffer is full. */
static enum kc_status put_pairs(struct dump *dump, struct dump_part *part, const uint64_t *kmers,
                                const uint32_t *counts, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t line_nbytes = kc_kmer_text_line_nbytes(dump->format.k);
        size_t nwords = (size_t)kc_kmer_nwords(dump->format.k);
        while (n > 0) {
                size_t fits = (BUFFER_NBYTES - part->used) / line_nbytes;
                if (fits == 0) {
                        KC_TRY(write_text(dump, part, err));
                        continue;
                }
                size_t m = n < fits ? n : fits;
                char *end = kc_kmer_text_lines(&dump->format, kmers, counts, m,
                                               part->text + part->used);
                part->used = (size_t)(end - part->text);
                kmers += m * nwords;
                counts += m;
                n -= m;
        }
out:
        return status;
}

static enum kc_status dump_part(struct dump *dump, struct dump_part *part, struct kc_error *err)
{
        int nwords = kc_kmer_nwords(dump->format.k);
        bool is_first = part->number == 0, is_last = part->number == dump->nbounds;
        uint64_t to[KC_MAX_WORDS];
        const uint64_t *bound = dump->bounds + part->number * (size_t)nwords;
        const uint64_t *from = is_first ? NULL : bound - nwords;
        if (!is_last)
                kc_kmer_decrement(bound, nwords, to);

        struct kc_cursor *cursor = NULL;
        enum kc_status status;
        KC_TRY(kc_cursor_open(&cursor, dump->store, from, is_last ? NULL : to, err));
        for (;;) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t n;
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
                if (n == 0)
                        break;
                KC_TRY(put_pairs(dump, part, kmers, counts, n, err));
        }
        KC_TRY(write_text(dump, part, err));
        kc_turn_pass(&dump->turn);
out:
        kc_cursor_close(cursor);
        return status;
}

static enum kc_status work(void *ctx, int worker, struct kc_error *err)
{
        (void)worker;
        struct dump *dump = ctx;
        struct dump_part part = { .text = malloc(BUFFER_NBYTES) };
        if (part.text == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the text of a part");
        enum kc_status status = KC_OK;
        for (;;) {
                part.number = atomic_fetch_add(&dump->next_part, 1);
                if (part.number > dump->nbounds)
                        break;
                KC_TRY(dump_part(dump, &part, err));
        }
out:
        free(part.text);
        return status;
}

static enum kc_status dump_store(struct dump *dump, int nthreads, struct kc_error *err)
{
        struct kc_store_info info;
        kc_store_get_info(dump->store, &info);
        dump->format.k = info.k;
        uint64_t nparts = info.ndistinct * ((uint64_t)info.k + 4) / PART_NBYTES + 1;
        if (nparts > MAX_PARTS)
                nparts = MAX_PARTS;
        enum kc_status status;
        if (nthreads > 1)
                KC_TRY(kc_store_split(dump->store, nparts, &dump->bounds, &dump->nbounds, err));
        kc_turn_init(&dump->turn);
        if ((size_t)nthreads > dump->nbounds + 1)
                nthreads = (int)dump->nbounds + 1;
        status = kc_parallel(nthreads, work, give_up, dump, err);
        kc_turn_destroy(&dump->turn);
out:
        free(dump->bounds);
        return status;
}

/* Dump into a new file; on failure nothing of it remains. */
static enum kc_status dump_to_file(struct dump *dump, int nthreads, const char *path,
                                   struct kc_error *err)
{
        struct text_out file;
        signals_install(NULL);
        enum kc_status status = text_out_open(&file, path, err);
        if (status != KC_OK)
                return status;
        dump->out = &file;
        status = dump_store(dump, nthreads, err);
        if (status == KC_OK)
                status = text_out_close(&file, err);
        else
                text_out_abort(&file);
        if (text_out_pipe_closed(&file))
                signals_die_by_pipe();
        return status;
}

static enum kc_status choose_form(const struct dump_settings *s, enum kc_kmer_text_form *form,
                                  struct kc_error *err)
{
        if (s->columns != NULL && s->fasta)
                return kc_fail(err, KC_EUSAGE, "--fasta prints no columns: leave out --columns");
        if (s->fasta)
                *form = KC_KMER_TEXT_FASTA;
        else if (s->columns == NULL || strcmp(s->columns, "tab") == 0)
                *form = KC_KMER_TEXT_TAB;
        else if (strcmp(s->columns, "space") == 0)
                *form = KC_KMER_TEXT_SPACE;
        else
                return kc_fail(err, KC_EUSAGE, "--columns: '%s' is not one of tab or space",
                               s->columns);
        return KC_OK;
}

static enum kc_status run_dump(const struct invocation *call, struct kc_error *err)
{
        const struct dump_settings *s = call->settings;
        const char *input = call->operands[0];
        bool to_stdout = s->output == NULL || strcmp(s->output, "-") == 0;
        int nthreads = machine_nthreads(s->nthreads);
        struct dump dump = { .format = { .min_count = (uint32_t)s->min_count,
                                         .max_count = (uint32_t)s->max_count },
                             .out = call->out };
        enum kc_status status;
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
        KC_TRY(choose_form(s, &dump.format.form, err));
        if (!to_stdout)
                KC_TRY(output_check_files(&s->output, 1, &input, 1, err));
        KC_TRY(stores_open(&dump.store, input, err));
        KC_TRY(to_stdout ? dump_store(&dump, nthreads, err)
                         : dump_to_file(&dump, nthreads, s->output, err));
out:
        kc_store_close(dump.store);
        return status;
}

#define FIELD(member) offsetof(struct dump_settings, member)

static const struct option_spec dump_options[] = {
        { .type = OPTION_FLAG,
          .name = "fasta",
          .offset = FIELD(fasta),
          .help = "Print FASTA with the counts as names. 'jellyfish dump' prints the same." },
        { .type = OPTION_TEXT,
          .name = "columns",
          .argument = "SEPARATOR",
          .words = "tab space",
          .offset = FIELD(columns),
          .help = "What is between a k-mer and its count: tab or space. kmc_dump, kmc_tools and "
                  "'jellyfish dump -c -t' print a tab, 'jellyfish dump -c' a space. Default: "
                  "tab." },
        OPTION_MIN(FIELD(min_count)),
        OPTION_MAX(FIELD(max_count)),
        { .type = OPTION_OUTPUT,
          .letter = 'o',
          .name = "output",
          .argument = "FILE",
          .offset = FIELD(output),
          .help = "Write to a file instead of standard output. A file of that name is replaced "
                  "when the dump is complete." },
        OPTION_THREADS(FIELD(nthreads)),
        { 0 },
};

const struct command command_dump = {
        .name = "dump",
        .run = run_dump,
        .operands = "FILE.kc",
        .group = COMMAND_LOOKS,
        .summary = "Print all k-mers with their counts, sorted",
        .description = "One line per k-mer, in alphabetical order: the k-mer, a tab, its count. "
                       "Other programs print the same lines in another order, or with another "
                       "separator: see --columns and --fasta.",
        .examples = "  kcount dump reads.kc | head\n"
                    "  kcount dump reads.kc --min 2 --fasta -o solid.fa\n"
                    "  kcount dump reads.kc --columns space -o reads.txt\n",
        .options = dump_options,
        .settings_nbytes = sizeof(struct dump_settings),
        .min_operands = 1,
        .max_operands = 1,
};
