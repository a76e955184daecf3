/*
 * kcount hist: how many distinct k-mers have each count, in a .kc file or in reads.
 */
#include "app/cli/bridge.h"
#include "app/cli/command.h"
#include "app/cli/output_name.h"
#include "app/cli/shell.h"
#include "app/cli/terminal.h"
#include "app/count/count.h"
#include "app/count/ranks.h"
#include "app/hist/gc.h"
#include "app/hist/matrix.h"
#include "app/hist/plot.h"
#include "app/hist/tail.h"
#include "app/library/machine.h"
#include "app/store/stores.h"
#include "kmer/kmer.h"
#include "kmer/remedy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct hist_settings {
        struct count_settings counting;
        uint64_t max_count;
        bool genomescope, jellyfish, plot, gc;
        int format; /* 0: not given */
};
static_assert(offsetof(struct hist_settings, counting) == 0, "see COUNT_FIELD");

enum { FORMAT_TSV = 1, FORMAT_KAT };

/* ---- --plot ---- */

/* What is printed. */
struct result {
        struct kc_histogram_row *rows; /* [nrows] */
        size_t nrows;
        int k;
        bool stranded;
        const char *store; /* the .kc file; NULL: reads were counted */
};

/* The rows that --min and --max leave. */
static struct histogram select_rows(struct result *r, const struct hist_settings *s)
{
        size_t n = 0;
        for (size_t i = 0; i < r->nrows; i++)
                if (r->rows[i].count >= s->counting.min_count &&
                    r->rows[i].count <= s->counting.max_count)
                        r->rows[n++] = r->rows[i];
        return (struct histogram){ r->rows, n, r->k };
}

/* Whether the command can be repeated, and is short enough to be. */
static bool is_repeatable(const struct invocation *call)
{
        enum { MOST = 400 };
        size_t nletters = 0;
        struct stat st;
        for (size_t i = 0; i < call->nwords; i++)
                nletters += strlen(call->words[i]) + 1;
        for (int i = 0; i < call->noperands; i++)
                if (call->operands[i][0] != '@' &&
                    (stat(call->operands[i], &st) != 0 || !S_ISREG(st.st_mode)))
                        return false;
        return nletters <= MOST;
}

/* The words as typed, with --genomescope in place of --plot. */
static const char *join_for_model(const struct invocation *call, char line[SHELL_LINE_NBYTES])
{
        const char *const end = line + SHELL_LINE_NBYTES;
        char *to = shell_append(line, end, call->words[0]);
        for (size_t i = 1; i < call->nwords; i++)
                to = shell_append_next(to, end,
                                       strcmp(call->words[i], "--plot") == 0 ? "--genomescope"
                                                                             : call->words[i]);
        return line;
}

/* The name of the table for a model, quoted for a shell; "" when out of memory. */
static const char *name_table(const struct invocation *call, const struct result *r,
                              char quoted[SHELL_LINE_NBYTES])
{
        char *name = r->store != NULL ? strdup(r->store) : output_name(call->operands[0]);
        char table[SHELL_LINE_NBYTES];
        quoted[0] = '\0';
        if (name == NULL)
                return quoted;
        snprintf(table, sizeof table, "%.*s.hist", (int)output_stem_length(name), name);
        free(name);
        return shell_word(table, quoted);
}

/* How a model is fitted. Commands are to be pasted, so they are not broken into lines. */
static void put_hint(const struct invocation *call, const struct result *r, int width)
{
        char hist[SHELL_LINE_NBYTES], table[SHELL_LINE_NBYTES];
        if (is_repeatable(call) && *name_table(call, r, table) != '\0')
                text_out_printf(call->out,
                                "for a model:\n  kcount %s > %s\n"
                                "  genomescope2 -i %s -o model -k %d\n",
                                join_for_model(call, hist), table, table, r->k);
        else
                text_out_words(call->out, "for a model: see 'kcount hist --help'", 0, 0, width);
}

/* The last row covers all counts from its own up; jellyfish histo gives them a row after N. */
static void put_rows(struct text_out *out, struct result *r, const struct hist_settings *s)
{
        const struct histogram selected = select_rows(r, s);
        const size_t nrows =
                tail_fold(r->rows, selected.nrows, s->max_count + s->jellyfish, s->genomescope);
        for (size_t i = 0; i < nrows; i++)
                text_out_printf(out, "%" PRIu64 "%c%" PRIu64 "\n", r->rows[i].count,
                                s->jellyfish ? ' ' : '\t', r->rows[i].ndistinct);
}

static void put_plot(const struct invocation *call, struct result *r, const struct hist_settings *s)
{
        const struct terminal_size paper = { .ncolumns = 80, .nrows = 50 };
        const struct terminal_size size = terminal_size(STDOUT_FILENO, paper);
        const struct plot_page page = {
                .width = size.ncolumns,
                .height = size.nrows < paper.nrows ? size.nrows : paper.nrows,
                .utf8 = terminal_takes_utf8(),
        };
        const struct histogram histogram = select_rows(r, s);
        if (plot_histogram(call->out, &histogram, r->stranded, &page))
                put_hint(call, r, page.width);
}

/* ---- a .kc file, or reads ---- */

static bool is_stdin(const char *operand)
{
        return strcmp(operand, "-") == 0;
}

/* The first operand that is a .kc file, or NULL. */
static const char *find_store(const struct invocation *call)
{
        for (int i = 0; i < call->noperands; i++)
                if (!is_stdin(call->operands[i]) && kc_store_recognizes(call->operands[i]))
                        return call->operands[i];
        return NULL;
}

/* The first option that the user gave and that applies only to reads, or NULL. */
static const struct option_spec *find_counting_option(const struct invocation *call)
{
        static const char *const others[] = { "plot", "max-count", "genomescope", "jellyfish",
                                              "gc",   "format",    "json",        "min",
                                              "max",  "threads",   "quiet",       "no-progress",
                                              NULL };
        return invocation_other_option(call, others);
}

static enum kc_status check_store(const struct invocation *call, const char *store,
                                  struct kc_error *err)
{
        const struct option_spec *option = find_counting_option(call);
        char name[OPTION_NAME_NBYTES];
        if (call->noperands > 1)
                return kc_fail_file(err, KC_EUSAGE, KC_REMEDY_READ_COUNTS, store,
                                    "%s is a .kc file: hist takes one .kc file alone, or reads",
                                    store);
        if (option != NULL)
                return kc_fail(err, KC_EUSAGE,
                               "%s is a .kc file, whose k-mers are counted already: %s is only for "
                               "reads",
                               store, option_name(option, name));
        return KC_OK;
}

/* Whether the command can only be meant for reads. */
static bool is_for_reads(const struct invocation *call)
{
        const char *operand = call->operands[0];
        return call->noperands > 1 || is_stdin(operand) || operand[0] == '@' ||
               find_counting_option(call) != NULL;
}

/*
 * Whether to count reads or to print the histogram of a .kc file. A single file that may be either
 * is opened as a .kc file: the store's message says what is wrong with it, and the advice names -k.
 */
static enum kc_status choose(const struct invocation *call, bool *reads, struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        const char *store = find_store(call);
        *reads = store == NULL && is_for_reads(call);
        if (store != NULL)
                return check_store(call, store, err);
        if (*reads && s->counting.ks.n == 0)
                return count_ask_for_k(call, err);
        if (s->counting.ks.n > 1)
                return kc_fail(err, KC_EUSAGE,
                               "hist prints the histogram of one k; 'kcount count' takes several");
        return KC_OK;
}

static enum kc_status copy_rows(const struct kcount_row *rows, size_t nrows, struct result *r,
                                struct kc_error *err)
{
        r->rows = malloc((nrows + 1) * sizeof *r->rows);
        if (r->rows == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a histogram");
        for (size_t i = 0; i < nrows; i++)
                r->rows[i] = (struct kc_histogram_row){ rows[i].count, rows[i].number };
        r->nrows = nrows;
        return KC_OK;
}

static enum kc_status read_rows(const char *path, uint64_t nthreads, struct result *r,
                                struct kc_error *err)
{
        struct kcount_histogram_options options = KCOUNT_HISTOGRAM_OPTIONS_INIT;
        struct kcount_counts *counts = NULL;
        struct kcount_info info = { .size = sizeof info };
        struct kcount_row *rows = NULL;
        struct kcount_error *error = NULL;
        size_t nrows;
        enum kc_status status;
        KC_TRY(stores_open_counts(&counts, path, err));
        options.nthreads = (int)nthreads;
        KC_TRY(bridge_check(kcount_histogram(counts, &options, &rows, &nrows, &error), &error,
                            err));
        KC_TRY(copy_rows(rows, nrows, r, err));
        kcount_get_info(counts, &info);
        r->k = info.k;
        r->stranded = info.stranded;
        r->store = path;
out:
        kcount_free(rows);
        kcount_close(counts);
        return status;
}

/* A .kc file in a pipe, which find_store cannot look into, was taken for reads. */
static enum kc_status advise(const struct kc_error *refused, struct kc_error *err)
{
        if (refused->remedies & KC_REMEDY_READ_COUNTS)
                return kc_fail(err, refused->status,
                               "%s; to print its histogram, save it as a file and leave out -k",
                               refused->message);
        return kc_fail_as(err, refused);
}

static enum kc_status count_rows(const struct invocation *call, struct result *r,
                                 struct kc_error *err)
{
        const struct count_settings *counting =
                &((const struct hist_settings *)call->settings)->counting;
        struct kc_error refused = { 0 };
        if (count_histogram(call, &r->rows, &r->nrows, &refused) != KC_OK)
                return advise(&refused, err);
        r->k = (int)counting->ks.values[0];
        r->stranded = counting->stranded;
        return KC_OK;
}

/* ---- --gc ---- */

static enum kc_status check_gc(const struct invocation *call, struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        const bool is_matrix = s->format == FORMAT_KAT;
        if (!s->gc && (s->format != 0 || s->counting.common.json))
                return kc_fail(err, KC_EUSAGE,
                               "--format and --json are for the histogram by GC content: add --gc");
        if (s->gc && (s->plot || s->genomescope || s->jellyfish))
                return kc_fail(err, KC_EUSAGE,
                               "--gc prints a table by GC content: leave out --plot, --genomescope "
                               "and --jellyfish");
        if (is_matrix && s->counting.common.json)
                return kc_fail(err, KC_EUSAGE,
                               "--format kat and --json both print on standard output");
        if (is_matrix && invocation_has(call, "max-count") && s->max_count > MATRIX_MOST)
                return kc_fail(err, KC_EUSAGE,
                               "--format kat prints all columns: --max-count may be at most %d",
                               MATRIX_MOST);
        return KC_OK;
}

/* The count to whose rows those of all greater counts are added. */
static uint64_t last_of_gc(const struct invocation *call)
{
        const struct hist_settings *s = call->settings;
        const bool is_matrix = s->format == FORMAT_KAT;
        return is_matrix && !invocation_has(call, "max-count") ? MATRIX_LAST : s->max_count;
}

/* Count the reads into a file without a name. *nthreads is lowered to what -m allows. */
static enum kc_status count_for_gc(const struct invocation *call, struct kcount_counts **counts,
                                   int *nthreads, struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        const uint64_t memory = s->counting.memory_nbytes;
        struct kc_error refused = { 0 };
        enum kc_status status;
        KC_TRY(ranks_require_one(call->ranks, "hist --gc", err));
        if (count_operands(call, counts, &refused) != KC_OK)
                return advise(&refused, err);
        status = kc_memory_limit_threads(memory > 0 ? memory : kc_memory_default_nbytes(1),
                                         MEMORY_THREAD_NBYTES, "a histogram", nthreads, err);
out:
        return status;
}

static enum kc_status read_gc(const struct invocation *call, bool reads, struct gc_histogram *h,
                              struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        struct writing writing = writing_of(call, &s->counting.common);
        static const char *const stage = "merging";
        struct bridge_progress progress = { writing.job, &stage, 1 };
        struct kcount_gc_options options = KCOUNT_GC_OPTIONS_INIT;
        struct kcount_counts *counts = NULL;
        struct kcount_info info = { .size = sizeof info };
        struct kcount_error *error = NULL;
        enum kc_status status;
        /* greater counts may be taken together unless some of them are left out */
        const uint64_t last = last_of_gc(call);
        const bool is_bounded = s->counting.max_count == UINT32_MAX &&
                                s->counting.min_count <= last && last < UINT32_MAX;
        KC_TRY(reads ? count_for_gc(call, &counts, &writing.nthreads, err)
                     : stores_open_counts(&counts, h->file, err));
        options.max_count = is_bounded ? (uint32_t)last : 0;
        options.nthreads = writing.nthreads;
        options.progress = bridge_progress;
        options.progress_ctx = &progress;
        KC_TRY(bridge_check(kcount_gc_histogram(counts, &options, &h->cells, &h->ncells, &error),
                            &error, err));
        gc_select(h, s->counting.min_count, s->counting.max_count, last);
        kcount_get_info(counts, &info);
        h->k = info.k;
out:
        kcount_close(counts);
        return status;
}

static void put_gc_json(const struct invocation *call, const struct gc_histogram *h)
{
        const struct hist_settings *s = call->settings;
        const struct writing writing = writing_of(call, &s->counting.common);
        struct json json = { .out = call->out };
        writing_json_begin(&json, &writing);
        json_string(&json, "file", h->file);
        json_number(&json, "k", (uint64_t)h->k);
        json_number(&json, "min_count", s->counting.min_count);
        json_number(&json, "max_count", s->counting.max_count);
        json_number(&json, "last_count", last_of_gc(call));
        gc_put_json(&json, h);
        writing_json_costs(&json, &writing, NULL, 0);
        json_end(&json, '}');
}

static enum kc_status run_gc(const struct invocation *call, bool reads, struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        struct gc_histogram h = { .file = call->operands[0] };
        enum kc_status status;
        KC_TRY(read_gc(call, reads, &h, err));
        if (s->counting.common.json)
                put_gc_json(call, &h);
        else if (s->format == FORMAT_KAT)
                KC_TRY(gc_put_matrix(call->out, &h, (uint32_t)last_of_gc(call), err));
        else
                gc_put_table(call->out, &h);
out:
        kcount_free(h.cells);
        return status;
}

/* ---- the command ---- */

static enum kc_status check_forms(const struct invocation *call, struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        if (s->genomescope && s->jellyfish)
                return kc_fail(err, KC_EUSAGE,
                               "--genomescope and --jellyfish ask for different last rows");
        if (s->plot && (s->genomescope || s->jellyfish || invocation_has(call, "max-count")))
                return kc_fail(err, KC_EUSAGE,
                               "--plot draws bars: --max-count, --genomescope and --jellyfish are "
                               "for the table");
        return KC_OK;
}

static enum kc_status run_hist(const struct invocation *call, struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        struct result result = { 0 };
        bool reads;
        enum kc_status status;
        KC_TRY(options_check_range(s->counting.min_count, s->counting.max_count, err));
        KC_TRY(check_forms(call, err));
        KC_TRY(check_gc(call, err));
        KC_TRY(choose(call, &reads, err));
        if (!reads)
                KC_TRY(ranks_require_one(call->ranks, "hist of a .kc file", err));
        if (s->gc)
                return run_gc(call, reads, err);
        if (reads)
                KC_TRY(count_rows(call, &result, err));
        else
                KC_TRY(read_rows(call->operands[0], s->counting.common.nthreads, &result, err));
        if (ranks_is_first(call->ranks) && s->plot)
                put_plot(call, &result, s);
        else if (ranks_is_first(call->ranks))
                put_rows(call->out, &result, s);
out:
        free(result.rows);
        return status;
}

static const struct option_spec hist_options[] = {
        OPTION(FLAG, "plot", offsetof(struct hist_settings, plot),
               "Draw bars instead of the table. Below them it prints where errors end, the "
               "peak, and the approximate genome size."),
        OPTION(NUMBER, "max-count", offsetof(struct hist_settings, max_count),
               "Add all k-mers with a count over N to row N.", .argument = "N", .min = 1,
               .max = UINT32_MAX, .preset = "10000"),
        OPTION(FLAG, "genomescope", offsetof(struct hist_settings, genomescope),
               "Let GenomeScope include all repeats in the genome size. Row N is the sum of all "
               "counts from N up, divided by N and rounded down, instead of the number of "
               "k-mers. FastK's Histex -G does the same with N = 1000."),
        OPTION(FLAG, "jellyfish", offsetof(struct hist_settings, jellyfish),
               "Print as 'jellyfish histo -h N' does; N: --max-count. A space separates "
               "the columns, not a tab, and row N + 1 has all k-mers with a count over N. "
               "MultiQC's Jellyfish module draws files of this form whose names end with "
               "_jf.hist."),
        OPTION(FLAG, "gc", offsetof(struct hist_settings, gc),
               "Print the histogram by GC content and count. A header line comes "
               "first; the columns are gc (bases that are G or C, 0 to k), count, distinct (the "
               "number of k-mers) and sum (of their counts). --max-count applies to each gc "
               "separately."),
        OPTION(WORD, "format", offsetof(struct hist_settings, format),
               "With --gc: tsv (default), or kat, for KAT's plots. kat is the matrix that 'kat "
               "gcp' writes: a row for each gc, from 0 to k (KAT leaves out k), and a column for "
               "each count, from 0 to N of --max-count (default: 1000).",
               .argument = "FORMAT", .words = "tsv kat"),
        OPTION_MIN(COUNT_FIELD(min_count)),
        OPTION_MAX(COUNT_FIELD(max_count)),
        COUNT_KMER("; required for reads. Only one k is possible, but -k may be repeated "
                   "with the same number."),
        COUNT_STRANDED,
        COUNT_HPC,
        COUNT_OPTIONS,
        WRITING_OPTIONS(COUNT_FIELD(common)),
        { 0 },
};

const struct command command_hist = {
        .name = "hist",
        .run = run_hist,
        .operands = "FILE.kc | FILE... -k K",
        .group = COMMAND_LOOKS,
        .base = &command_count,
        .summary = "Print the histogram of counts, of a .kc file or of reads",
        .description =
                "One line per count, ascending: the count, a tab, the number of distinct k-mers "
                "that have it. Counts that no k-mer has are left out. GenomeScope 2 reads this "
                "table as it is.\n\n"
                "With -k, hist counts the reads in FILE... as 'kcount count' does, with the "
                "same kinds of input and the same options, but it writes no .kc file and, "
                "without --gc, does not keep the k-mers, which saves time and memory. It prints "
                "the same lines as hist would print for the .kc file; a summary goes to standard "
                "error.\n\n"
                "--plot draws the histogram as bars, as wide as the terminal or, in a pipe, 80 "
                "columns. They are scaled to the peak beyond the sequencing errors; bars of "
                "errors that are longer are cut and end with '>>'. If the peak is at a high "
                "count, a bar stands for several counts. The last lines give the peak and the "
                "size of the genome if it is haploid: the sum of all counts beyond the errors, "
                "divided by the count at the peak. The bars are '#' unless the locale is "
                "UTF-8.\n\n"
                "For a .kc file, only --plot, --max-count, --genomescope, --jellyfish, --gc, "
                "--format, --json, --min, --max and --threads apply; the other options are for "
                "reads.\n\n"
                "With --gc, reads are counted into a temporary file in the folder of --tmp, and "
                "--json prints the table as JSON on standard output.",
        .examples = "  kcount hist --plot reads.kc\n"
                    "  kcount hist reads_1.fq.gz reads_2.fq.gz -k 21 --genomescope > reads.hist\n"
                    "  genomescope2 -i reads.hist -o model -k 21\n"
                    "  kcount hist --jellyfish reads.kc > reads_jf.hist\n"
                    "  kcount hist --gc reads.kc > reads.gc.tsv\n"
                    "  kcount hist --gc reads.fq.gz -k 27 --format kat > reads.mx\n",
        .options = hist_options,
        .settings_nbytes = sizeof(struct hist_settings),
        .by_ranks = true,
        .min_operands = 1,
        .max_operands = -1,
};
