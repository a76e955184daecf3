/*
 * kcount filter: keep the reads whose k-mers have counts in a range.
 */
#include "app/cli/command.h"
#include "app/cli/device.h"
#include "app/cli/file_check.h"
#include "app/cli/misplaced.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/cli/writing.h"
#include "app/filter/paths.h"
#include "app/filter/run.h"
#include "app/library/memory.h"
#include "app/store/stores.h"
#include "base/new_file.h"
#include "io/input/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
        HELD_MIB = 8,        /* memory for the text of a record in pieces */
        OUTPUTS_DIVISOR = 8, /* the share of memory for text that waits to be compressed */
        THREAD_MIB = 16,     /* for a thread's batches and lists */
};

struct filter_settings {
        struct writing_settings common;
        struct option_names output, rest;
        const char *names, *table, *tmp;
        const char *at_least, *at_most;
        int denominator, pairs; /* as judge.h numbers them, but from 1 */
        uint64_t min_count, max_count, memory_nbytes;
        bool drop, interleaved, trim, count, force;
        struct device_asks asks;
};

struct filter {
        const struct invocation *call;
        const struct filter_settings *settings;
        struct writing writing;
        struct kc_store *store;
        const char *const *inputs; /* [ninputs] */
        int ninputs;
        char *tmp_dir;
        struct outputs_settings wanted;
        struct paths_made made;
        struct filter_run run;
        uint64_t asking_nbytes, names_nbytes; /* memory for asking_run, and for names of
                                                 alignments */
        struct device_answers device;
};

/* ---- the rules ---- */

static enum kc_status parse_bound(const char *option, const char *text, struct judge_bound *bound,
                                  struct kc_error *err)
{
        if (judge_parse(text, bound))
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "%s: '%s' is neither a whole number nor a share up to 100%%",
                       option, text);
}

static enum kc_status set_judge(const struct filter_settings *s, struct judge *judge,
                                struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(parse_bound("--at-least", s->at_least, &judge->at_least, err));
        judge->at_most.value = UINT64_MAX;
        if (s->at_most != NULL)
                KC_TRY(parse_bound("--at-most", s->at_most, &judge->at_most, err));
        judge->denominator = (enum judge_denominator)(s->denominator - 1);
        judge->pairs = (enum judge_pairs)(s->pairs - 1);
        judge->drops = s->drop;
        if (judge_is_empty(judge))
                return kc_fail(err, KC_EUSAGE,
                               "--at-least %s is above --at-most %s; to keep reads without such "
                               "k-mers, use --drop",
                               s->at_least, s->at_most);
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
out:
        return status;
}

/* ---- what goes in and out ---- */

static enum kc_status check_inputs(const struct filter *f, struct kc_error *err)
{
        const struct filter_settings *s = f->settings;
        if (f->ninputs == 2 && s->interleaved)
                return kc_fail(err, KC_EUSAGE,
                               "--interleaved is for one input, which has both mates");
        if (f->ninputs == 2 && strcmp(f->inputs[0], "-") == 0 && strcmp(f->inputs[1], "-") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "standard input cannot be both inputs; if mates follow each other "
                               "in it, use --interleaved");
        if (s->trim && s->drop)
                return kc_fail(err, KC_EUSAGE,
                               "--trim keeps the beginning of reads, and --drop inverts what is "
                               "kept: give one of them");
        return KC_OK;
}

/* Only one thing can be printed on standard output. */
static enum kc_status check_standard_output(const struct filter *f, struct kc_error *err)
{
        const struct filter_settings *s = f->settings;
        const char *paths[NOUTPUTS];
        const size_t n = outputs_paths(&f->wanted, paths);
        if (n == 0 && !s->count) {
                char example[EXAMPLE_NBYTES];
                return kc_fail(err, KC_EUSAGE, "-o/--output FILE is required%s",
                               command_example(f->call->command, example));
        }
        if (s->count && s->common.json)
                return kc_fail(err, KC_EUSAGE, "--json has the numbers that --count prints");
        for (size_t i = 0; i < n; i++)
                if (strcmp(paths[i], "-") == 0 && (s->count || s->common.json))
                        return kc_fail(err, KC_EUSAGE,
                                       "%s prints on standard output, so reads cannot be written "
                                       "there",
                                       s->count ? "--count" : "--json");
        return KC_OK;
}

static enum kc_status set_paths(struct filter *f, struct kc_error *err)
{
        const struct filter_settings *s = f->settings;
        const char *const inputs[] = { f->call->operands[0], f->inputs[0], f->inputs[1] };
        enum kc_status status;
        f->wanted = (struct outputs_settings){ .standard = f->call->out, .force = s->force };
        KC_TRY(paths_of_reads(&s->output, "-o", f->inputs, f->ninputs, OUTPUTS_KEPT, &f->wanted,
                              &f->made, err));
        KC_TRY(paths_of_reads(&s->rest, "--rest", f->inputs, f->ninputs, OUTPUTS_REST, &f->wanted,
                              &f->made, err));
        f->wanted.paths[OUTPUTS_NAMES] = s->names;
        f->wanted.paths[OUTPUTS_TABLE] = s->table;
        KC_TRY(outputs_choose_kind(&f->wanted, err));
        KC_TRY(check_standard_output(f, err));
        KC_TRY(outputs_check(&f->wanted, inputs, (size_t)f->ninputs + 1, err));
out:
        return status;
}

/* Temporary files go where the first output goes. */
static enum kc_status set_tmp_dir(struct filter *f, struct kc_error *err)
{
        const char *paths[NOUTPUTS] = { NULL }, *wanted = f->settings->tmp;
        outputs_paths(&f->wanted, paths);
        const bool is_file = paths[0] != NULL && text_out_makes_file(paths[0]);
        f->tmp_dir = wanted != NULL ? strdup(wanted)
                     : is_file      ? kc_path_folder(paths[0])
                                    : strdup(".");
        return f->tmp_dir != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

/* Whether the input may be SAM or BAM, as far as the names of the outputs tell. */
static bool may_be_alignments(const struct filter *f)
{
        return f->ninputs == 1 && !f->settings->interleaved && f->wanted.kind != OUTPUTS_TEXT;
}

/* What n threads need, without memory for text that waits. */
static uint64_t least_nbytes(const struct filter *f, int n)
{
        struct outputs_settings least = f->wanted;
        least.nthreads = n;
        least.memory_nbytes = 0;
        return (uint64_t)n * THREAD_MIB * MEMORY_MIB + outputs_nbytes(&least);
}

static enum kc_status limit_threads(struct filter *f, uint64_t nbytes, struct kc_error *err)
{
        int *n = &f->writing.nthreads;
        enum kc_status status;
        KC_TRY(kc_memory_limit_threads(nbytes, THREAD_MIB * MEMORY_MIB, "filtering", n, err));
        while (*n > 1 && least_nbytes(f, *n) > nbytes - MEMORY_PROCESS_NBYTES)
                --*n;
        f->wanted.nthreads = *n;
out:
        return status;
}

/* Divide the memory among text that waits, names of alignments, and asking. */
static enum kc_status divide_memory(struct filter *f, struct kc_error *err)
{
        const uint64_t wanted = f->settings->memory_nbytes;
        const uint64_t nbytes = wanted > 0 ? wanted : kc_memory_default_nbytes(1);
        const uint64_t all = nbytes - MEMORY_PROCESS_NBYTES - HELD_MIB * MEMORY_MIB;
        const char *paths[NOUTPUTS];
        const size_t n = outputs_paths(&f->wanted, paths);
        enum kc_status status;
        KC_TRY(limit_threads(f, nbytes, err));
        f->wanted.memory_nbytes = n > 0 ? all / OUTPUTS_DIVISOR / n : 0;
        const uint64_t left = all - outputs_nbytes(&f->wanted);
        f->names_nbytes = may_be_alignments(f) ? left / 2 : 0;
        f->asking_nbytes = left - f->names_nbytes;
out:
        return status;
}

/* ---- the work ---- */

static enum kc_status ask(void *ctx, struct kc_error *err)
{
        struct filter *f = ctx;
        return filter_run(&f->run, err);
}

static void set_asking(struct filter *f, bool hpc)
{
        const struct filter_settings *s = f->settings;
        f->run.input =
                (struct asking_input){ .paths = { f->inputs[0],
                                                  f->ninputs == 2 ? f->inputs[1] : NULL },
                                       .interleaved = s->interleaved,
                                       .hpc = hpc,
                                       .accepted = KC_RECORDS_SYMBOLS | KC_RECORDS_ALIGNMENTS };
        f->run.options = (struct asking_options){ .nthreads = f->writing.nthreads,
                                                  .memory_nbytes = f->asking_nbytes,
                                                  .min_count = (uint32_t)s->min_count,
                                                  .max_count = (uint32_t)s->max_count,
                                                  .device = &f->device,
                                                  .job = f->writing.job };
}

static void set_alignments(struct filter *f)
{
        struct stat found;
        const char *path = f->inputs[0];
        struct alignments *alignments = &f->run.alignments;
        alignments->filtering = &f->run.filtering;
        alignments->program =
                (struct kc_alignment_program){ "kcount", KCOUNT_VERSION, f->call->line };
        alignments->path = path;
        alignments->is_paired = f->ninputs == 2 || f->settings->interleaved;
        alignments->is_rule_given = invocation_has(f->call, "pairs");
        alignments->can_repeat =
                strcmp(path, "-") != 0 && stat(path, &found) == 0 && S_ISREG(found.st_mode);
        alignments->can_restart = f->run.outputs.makes_files;
        alignments->names_nbytes = f->names_nbytes;
        alignments->job = f->writing.job;
}

static enum kc_status open_filtering(struct filter *f, const struct kc_store_info *info,
                                     struct kc_error *err)
{
        struct filtering *filtering = &f->run.filtering;
        filtering->k = info->k;
        filtering->nthreads = f->writing.nthreads;
        filtering->nslots = asking_nslots(&f->run.options);
        filtering->trims = f->settings->trim;
        filtering->in_step = f->ninputs == 2;
        filtering->names[0] = kc_input_name(f->inputs[0]);
        filtering->names[1] = kc_input_name(f->inputs[f->ninputs - 1]);
        filtering->outputs = &f->run.outputs;
        filtering->held = held_begin(f->tmp_dir, HELD_MIB * MEMORY_MIB);
        return filtering_open(filtering, err);
}

static enum kc_status open_all(struct filter *f, struct kc_error *err)
{
        const char *path = f->call->operands[0];
        struct kc_store_info info;
        enum kc_status status;
        KC_TRY(stores_open(&f->store, path, err));
        kc_store_get_info(f->store, &info);
        if (info.hpc && f->settings->trim)
                return kc_fail(err, KC_EUSAGE,
                               "%s was counted with --hpc, and its k-mers have no place in reads "
                               "that are not compressed: leave out --trim",
                               path);
        stores_warn_absent(&info, path);
        KC_TRY(device_choose_map(&f->device, &f->settings->asks, info.k, info.stranded,
                                 f->settings->common.quiet, err));
        set_asking(f, info.hpc);
        KC_TRY(open_filtering(f, &info, err));
        KC_TRY(outputs_open(&f->run.outputs, &f->wanted, err));
        f->run.store = f->store;
        f->run.wanted = &f->wanted;
        set_alignments(f);
out:
        return status;
}

/* Only if all outputs are new files can it be said that nothing was written. */
static bool makes_files(const struct filter *f)
{
        const char *paths[NOUTPUTS];
        const size_t n = outputs_paths(&f->wanted, paths);
        bool all = true;
        for (size_t i = 0; i < n; i++)
                all &= text_out_makes_file(paths[i]);
        return all;
}

/* ---- the report ---- */

static void put_text(const void *ctx, struct text_out *out)
{
        const struct filter *f = ctx;
        const struct filtering *filtering = &f->run.filtering;
        const struct writing_costs costs = { .spilled_nbytes = filtering->held.spilled_nbytes };
        char kept[FORMATTED_NBYTES], reads[FORMATTED_NBYTES], share[FORMATTED_NBYTES];
        const char *paths[NOUTPUTS];
        const size_t n = outputs_paths(&f->wanted, paths);
        size_t nfiles = 0; /* without standard output */
        for (size_t i = 0; i < n; i++)
                if (strcmp(paths[i], "-") != 0)
                        paths[nfiles++] = paths[i];
        if (nfiles > 0) {
                writing_put_names(out, paths, nfiles);
                text_out_puts(out, "\n");
        }
        format_share(filtering->totals.nkept, filtering->totals.nreads, share);
        text_out_printf(out, "kept %s of %s reads%s%s%s\n",
                        format_number(filtering->totals.nkept, kept),
                        format_number(filtering->totals.nreads, reads), share[0] ? " (" : "", share,
                        share[0] ? ")" : "");
        device_put_answers(out, &f->device);
        writing_put_costs(out, &f->writing, &costs);
}

static void put_json(const void *ctx, size_t number, struct json *json)
{
        const struct filter *f = ctx;
        const char *paths[NOUTPUTS];
        const size_t n = outputs_paths(&f->wanted, paths);
        struct kc_store_info info;
        (void)number;
        kc_store_get_info(f->store, &info);
        json_string(json, "file", f->call->operands[0]);
        json_strings(json, "inputs", f->inputs, (size_t)f->ninputs);
        json_strings(json, "outputs", paths, n);
        json_number(json, "k", (uint64_t)info.k);
        json_number(json, "reads", f->run.filtering.totals.nreads);
        json_number(json, "kept", f->run.filtering.totals.nkept);
        device_json_answers(json, &f->device);
        writing_json_costs(json, &f->writing, NULL, 0);
}

static void report(const struct filter *f)
{
        const struct writing_report all = { .ctx = f, .put_text = put_text, .put_json = put_json };
        writing_report(&f->writing, &all);
        if (f->settings->count)
                text_out_printf(f->call->out, "%" PRIu64 "\t%" PRIu64 "\n",
                                f->run.filtering.totals.nkept, f->run.filtering.totals.nreads);
}

/* ---- the command ---- */

static enum kc_status work(struct filter *f, struct kc_error *err)
{
        static const char *const label = "filtering";
        const struct writing_work filtering = { .ctx = f,
                                                .on_cpu = ask,
                                                .progress = { &label, 1, PROGRESS_BYTES },
                                                .hidden = !makes_files(f) };
        enum kc_status status;
        signals_install(makes_files(f) ? f->writing.job : NULL);
        KC_TRY(open_all(f, err));
        KC_TRY(writing_run(&f->writing, &filtering, err));
        KC_TRY(outputs_commit(&f->run.outputs, err));
        report(f);
out:
        if (outputs_pipe_closed(&f->run.outputs))
                signals_die_by_pipe();
        return status;
}

static enum kc_status run_filter(const struct invocation *call, struct kc_error *err)
{
        const struct filter_settings *s = call->settings;
        struct filter f = { .call = call,
                            .settings = s,
                            .writing = writing_of(call, &s->common),
                            .inputs = call->operands + 1,
                            .ninputs = call->noperands - 1,
                            .run.filtering.held.fd = -1 };
        enum kc_status status;
        KC_TRY(misplaced_check_first(call, err));
        KC_TRY(set_judge(s, &f.run.filtering.judge, err));
        KC_TRY(check_inputs(&f, err));
        KC_TRY(set_paths(&f, err));
        KC_TRY(set_tmp_dir(&f, err));
        KC_TRY(divide_memory(&f, err));
        KC_TRY(work(&f, err));
out:
        outputs_close(&f.run.outputs);
        alignments_close(&f.run.alignments);
        filtering_close(&f.run.filtering);
        kc_store_close(f.store);
        paths_free(&f.made);
        free(f.tmp_dir);
        return status;
}

#define FIELD(member) offsetof(struct filter_settings, member)

static const struct option_spec filter_options[] = {
        OPTION(OUTPUTS, "output", FIELD(output),
               "Write the reads that are kept to FILE. - is standard output. They are compressed "
               "as BGZF (level 1) if the name ends in .gz, and with zstd if it ends in .zst. With "
               "two inputs, give -o twice; or give it once, for FILE_1 and FILE_2 with the "
               "endings of FILE or, if it has none, of the inputs. Alignments go to .bam or .sam. "
               "Files appear when they are complete.",
               .letter = 'o', .argument = "FILE"),
        OPTION(TEXT, "at-least", FIELD(at_least),
               "Keep reads with at least N k-mers in range, or P%. P% is a share of the read's "
               "k-mers (see --denominator), and may have decimals. A read without any k-mer never "
               "passes.",
               .argument = "N|P%", .preset = "1"),
        OPTION(TEXT, "at-most", FIELD(at_most), "Keep reads with at most N k-mers in range, or P%.",
               .argument = "N|P%"),
        OPTION(NUMBER, "min", FIELD(min_count),
               "A k-mer is in range if its count is at least N. The count of a k-mer that the "
               "file lacks is 0.",
               .argument = "N", .max = UINT32_MAX, .preset = "1"),
        OPTION(NUMBER, "max", FIELD(max_count), "A k-mer is in range if its count is at most N.",
               .argument = "N", .max = UINT32_MAX, .preset = "4294967295"),
        OPTION(WORD, "denominator", FIELD(denominator),
               "What P% is a share of: valid or all k-mers. valid leaves out those that contain "
               "letters other than A, C, G, T and U, and compares exactly. all is the rule of "
               "kmc_tools: P% of length - k + 1, rounded down.",
               .argument = "D", .words = "valid all", .preset = "valid"),
        OPTION(FLAG, "drop", FIELD(drop), "Drop the reads that pass, and keep all others."),
        OPTION(WORD, "pairs", FIELD(pairs),
               "Which mates of a pair must pass: any, both or pooled. With pooled, the k-mers of "
               "both mates are judged together. Both mates are kept, or neither. The same holds "
               "for the reads of a name in SAM or BAM.",
               .argument = "RULE", .words = "any both pooled", .preset = "any"),
        OPTION(FLAG, "interleaved", FIELD(interleaved),
               "Mates follow each other in the only input. They do so in the output, too."),
        OPTION(FLAG, "trim", FIELD(trim),
               "Cut reads before the first k-mer out of range. What is left ends with the last "
               "base of the k-mer before it, and is judged by --at-least and --at-most. A read "
               "whose first k-mer is out of range is dropped, and so is its mate. Dropped reads "
               "are not cut."),
        OPTION(OUTPUTS, "rest", FIELD(rest),
               "Write all other reads to FILE. As for -o, its name may end in .gz, .zst, .bam or "
               ".sam, and two inputs need two files.",
               .argument = "FILE"),
        OPTION(OUTPUT, "names", FIELD(names),
               "Write the names of the reads that are kept to FILE. A name ends at its first "
               "blank. A pair has one name, without /1.",
               .argument = "FILE"),
        OPTION(OUTPUT, "table", FIELD(table),
               "Write a table of all reads, kept or not, to FILE. It has a header, and columns "
               "separated by tabs: name, valid k-mers, k-mers in range, and the smallest count, "
               "the largest, and the sum of the counts. With --trim, they are those of the whole "
               "read.",
               .argument = "FILE"),
        OPTION(FLAG, "count", FIELD(count),
               "Print how many reads are kept, and of how many. -o may then be left out."),
        OPTION_THREADS(FIELD(common.nthreads)),
        OPTION_MEMORY(FIELD(memory_nbytes)),
        OPTIONS_ASK(FIELD(asks)),
        OPTION_TMP(FIELD(tmp)),
        OPTION_FORCE(FIELD(force)),
        WRITING_OPTIONS(FIELD(common)),
        { 0 },
};

const struct command command_filter = {
        .name = "filter",
        .run = run_filter,
        .operands = "FILE.kc READS [MATES]",
        .group = COMMAND_LOOKS,
        .summary = "Keep the reads whose k-mers have counts in a range",
        .description =
                "Reads are FASTQ or FASTA, which may be compressed with gzip, BGZF, zstd, bzip2 "
                "or xz; - is standard input. They come out in their order, and their names, "
                "qualities and line breaks stay as they are.\n\n"
                "A read passes if the number of its k-mers in range, those with a count from "
                "--min to --max, is at least --at-least and at most --at-most. Shares are "
                "compared exactly, in whole numbers: 50% means 2 x found >= valid. If FILE.kc was "
                "counted with --hpc, reads are judged as if their homopolymers were compressed, "
                "and written as they are; --trim is refused.\n\n"
                "Mates are read from two files in step, or from one with --interleaved. Their "
                "names must be the same up to the first blank and to /1 or /2.\n\n"
                "From SAM or BAM, filter writes SAM or BAM. All records of a name are kept, or "
                "none: the primary ones, which have whole reads, are judged as mates are. If the "
                "records of a name do not follow each other, the file is read twice, and -m must "
                "have room for all names; a pipe must then come from 'samtools collate'.",
        .examples = "  kcount filter host.kc reads_1.fq.gz reads_2.fq.gz --drop -o clean\n",
        .options = filter_options,
        .settings_nbytes = sizeof(struct filter_settings),
        .min_operands = 2,
        .max_operands = 3,
        .for_more = "a .kc file, a file of reads, and one of mates; each output needs an option",
};
