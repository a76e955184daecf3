/*
 * kcount profile: print the counts along sequences, a line for each of them or for each position.
 */
#include "app/cli/command.h"
#include "app/cli/device.h"
#include "app/cli/file_check.h"
#include "app/cli/misplaced.h"
#include "app/cli/shell.h"
#include "app/cli/size.h"
#include "app/count/references.h"
#include "app/library/memory.h"
#include "app/library/references.h"
#include "app/library/same_file.h"
#include "app/profile/profile.h"
#include "app/store/dumping.h"
#include "app/store/stores.h"
#include "io/input/input.h"
#include "kmer/kmer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct profile_settings {
        struct dumping_settings common;
        uint64_t memory_nbytes, min_count, max_count, unique_min, unique_max;
        bool total, positions;
        int format; /* as enum profile_format, but from 1; 0: not given */
        struct device_asks asks;
};

struct profile_command {
        const struct profile_settings *settings;
        const char *database, *path; /* path NULL: standard output */
        struct kc_inputs inputs;
        struct kc_store_info info;
        struct writing writing;
        struct profile_request request;
        struct device_answers device;
        struct profile_total total;
        struct text_out *out;
        struct json json;
};

/* ---- options ---- */

static enum profile_format format_of(const struct profile_settings *s)
{
        return s->format != 0 ? (enum profile_format)(s->format - 1) : PROFILE_TSV;
}

/* The options that apply only to positions, or only without them. */
static enum kc_status check_positions(const struct invocation *call, struct kc_error *err)
{
        const struct profile_settings *s = call->settings;
        const bool labels =
                invocation_has(call, "unique-min") || invocation_has(call, "unique-max");
        if (s->format != 0 && !s->positions)
                return kc_fail(err, KC_EUSAGE,
                               "--format is a format of positions: add --positions");
        if (labels && !(s->positions && format_of(s) == PROFILE_BED))
                return kc_fail(err, KC_EUSAGE,
                               "--unique-min and --unique-max choose the labels of BED: add "
                               "--positions --format bed");
        if (s->positions && (invocation_has(call, "min") || invocation_has(call, "max")))
                return kc_fail(err, KC_EUSAGE,
                               "--min and --max say which windows the table counts as found; "
                               "--positions prints all counts");
        return KC_OK;
}

static enum kc_status check_options(const struct invocation *call, struct kc_error *err)
{
        const struct profile_settings *s = call->settings;
        enum kc_status status;
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
        KC_TRY(check_positions(call, err));
        if (s->unique_min > s->unique_max)
                return kc_fail(err, KC_EUSAGE, "--unique-min is above --unique-max");
        if (s->positions && s->total)
                return kc_fail(err, KC_EUSAGE,
                               "--positions and --total: print either a line for each position, "
                               "or one for all");
        if (s->positions && s->common.common.json && dumping_path(&s->common) == NULL)
                return kc_fail(err, KC_EUSAGE,
                               "--positions and --json both print on standard output: name a file "
                               "for the positions with -o");
out:
        return status;
}

static enum profile_form form_of(const struct profile_settings *s)
{
        if (s->positions)
                return PROFILE_POSITIONS;
        if (s->total)
                return PROFILE_NONE;
        return s->common.common.json && dumping_path(&s->common) == NULL ? PROFILE_JSON
                                                                         : PROFILE_TABLE;
}

/* ---- files ---- */

static bool is_sequence(const char *name)
{
        const char *at = name;
        while (kc_base_code((unsigned char)*at) >= 0)
                at++;
        return *at == '\0' && at > name;
}

/* A sequence was typed in the place of a file. */
static enum kc_status advise_query(const char *database, const char *sequence,
                                   const struct kc_error *refused, struct kc_error *err)
{
        const char *const words[] = { database, sequence };
        char line[SHELL_LINE_NBYTES];
        return kc_fail_reworded(err, refused, "%s; for the counts of a sequence: kcount query %s",
                                refused->message, shell_line(words, 2, line));
}

static enum kc_status check_exist(const char *database, const struct kc_inputs *inputs,
                                  struct kc_error *err)
{
        for (size_t i = 0; i < inputs->n; i++) {
                const char *name = inputs->names[i];
                struct kc_error own = { 0 }, blamed = { 0 };
                if (strcmp(name, "-") == 0 || access(name, F_OK) == 0)
                        continue;
                kc_input_open_failed(name, errno, &own);
                kc_inputs_blame(inputs, i, &own, &blamed);
                return is_sequence(name) ? advise_query(database, name, &blamed, err)
                                         : kc_fail_as(err, &blamed);
        }
        return KC_OK;
}

static enum kc_status find_inputs(struct profile_command *p, const struct invocation *call,
                                  struct kc_error *err)
{
        const char *const *files = call->operands + 1;
        const size_t nfiles = (size_t)call->noperands - 1;
        enum kc_status status;
        if (p->path != NULL)
                KC_TRY(kc_output_check_operands(&p->path, 1, files, nfiles, err));
        KC_TRY(dumping_check(&p->settings->common, &p->database, 1, err));
        KC_TRY(kc_inputs_resolve(&p->inputs, files, nfiles, err));
        KC_TRY(check_exist(p->database, &p->inputs, err));
        if (p->path == NULL)
                return KC_OK;
        const char *const *names = (const char *const *)p->inputs.names;
        KC_TRY(kc_output_check_files(&p->path, 1, names, p->inputs.n, err));
        KC_TRY(kc_references_check(&p->path, 1, names, p->inputs.n, err));
out:
        return status;
}

static enum kc_status open_all(struct profile_command *p, const struct invocation *call,
                               struct kc_error *err)
{
        enum kc_status status;
        p->settings = call->settings;
        p->database = call->operands[0];
        p->path = dumping_path(&p->settings->common);
        p->out = call->out;
        p->json.out = call->out;
        p->writing = writing_of(call, &p->settings->common.common);
        KC_TRY(find_inputs(p, call, err));
        KC_TRY(stores_open(&p->request.store, p->database, err));
        kc_store_get_info(p->request.store, &p->info);
        if (p->info.hpc && p->settings->positions)
                return kc_fail(err, KC_EUSAGE,
                               "%s was counted with --hpc, and its k-mers have no positions in "
                               "sequences that are not compressed: leave out --positions",
                               p->database);
        stores_warn_absent(&p->info, p->database);
        KC_TRY(device_choose_map(&p->device, &p->settings->asks, p->info.k, p->info.stranded,
                                 p->settings->common.common.quiet, err));
        p->request.device = &p->device;
out:
        return status;
}

/* Threads that the bound on memory allows, and what it leaves for them. */
static enum kc_status plan_memory(struct profile_command *p, struct kc_error *err)
{
        enum { ASKING_MIB = 12 }; /* that a thread holds of the input, and of answers */
        const uint64_t wanted = p->settings->memory_nbytes;
        const uint64_t nbytes = wanted > 0 ? wanted : kc_memory_default_nbytes(1);
        enum kc_status status;
        KC_TRY(kc_memory_limit_threads(nbytes, profile_thread_nbytes() + ASKING_MIB * MEMORY_MIB,
                                       "profiling", &p->writing.nthreads, err));
        p->request.nthreads = p->writing.nthreads;
        p->request.job = p->writing.job;
        p->request.memory_nbytes = nbytes - MEMORY_PROCESS_NBYTES;
out:
        return status;
}

/* ---- reports ---- */

static void put_text(const void *ctx, struct text_out *out)
{
        const struct profile_command *p = ctx;
        char number[FORMATTED_NBYTES];
        writing_put_names(out, &p->path, 1);
        text_out_printf(out, ", %s sequence%s\n", format_number(p->total.nsequences, number),
                        p->total.nsequences == 1 ? "" : "s");
        device_put_answers(out, &p->device);
}

static void put_json_setup(const struct profile_command *p, struct json *json)
{
        json_string(json, "file", p->database);
        json_number(json, "k", (uint64_t)p->info.k);
        json_bool(json, "stranded", p->info.stranded);
        json_strings(json, "inputs", (const char *const *)p->inputs.names, p->inputs.n);
        if (p->path != NULL)
                json_string(json, "output", p->path);
        json_number(json, "min_count", p->settings->min_count);
        json_number(json, "max_count", p->settings->max_count);
}

static void put_json_total(const struct profile_command *p, struct json *json)
{
        json_number(json, "reads", p->total.nsequences);
        json_begin(json, "total", '{');
        profile_json_row(json, &p->total.row);
        json_end(json, '}');
        device_json_answers(json, &p->device);
        writing_json_costs(json, &p->writing, NULL, 0);
}

static void put_json(const void *ctx, size_t number, struct json *json)
{
        (void)number;
        put_json_setup(ctx, json);
        put_json_total(ctx, json);
}

/* ---- work ---- */

/* Whether JSON takes the place of the table. */
static bool prints_json(const struct profile_command *p)
{
        return p->settings->common.common.json && p->path == NULL;
}

/* Print the header of the table, and the row of the total if that is given. */
static void put_header(const struct profile_command *p, const struct profile_row *total)
{
        static const struct profile_name name = { .bytes = "total", .nbytes = 5 };
        char bytes[PROFILE_ROW_NBYTES];
        struct profile_text text = { .bytes = bytes, .size = sizeof bytes, .out = p->out };
        profile_put_header(&text);
        if (total != NULL)
                profile_put_row(&text, &name, total);
        profile_text_flush(&text);
}

static void begin_json(struct profile_command *p)
{
        writing_json_begin(&p->json, &p->writing);
        put_json_setup(p, &p->json);
        if (p->request.form == PROFILE_JSON)
                json_begin(&p->json, "sequences", '[');
}

static void end_json(struct profile_command *p)
{
        if (p->request.form == PROFILE_JSON)
                json_end(&p->json, ']');
        put_json_total(p, &p->json);
        json_end(&p->json, '}');
}

/* ctx of these: the struct profile_command. */

static void begin(void *ctx)
{
        struct profile_command *p = ctx;
        if (prints_json(p))
                begin_json(p);
        else if (p->request.form == PROFILE_TABLE)
                put_header(p, NULL);
}

/* Print on p->out, which is a file or standard output. */
static enum kc_status print(void *ctx, struct kc_error *err)
{
        struct profile_command *p = ctx;
        enum kc_status status;
        KC_TRY(profile_run(&p->request, p->out, &p->json, &p->total, err));
        if (prints_json(p))
                end_json(p);
        else if (p->settings->total)
                put_header(p, &p->total.row);
        KC_TRY(text_out_status(p->out, err));
out:
        return status;
}

static enum kc_status print_to_stdout(struct profile_command *p, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(print(p, err));
        text_out_flush(p->out);
        KC_TRY(text_out_status(p->out, err));
        device_report_answers(&p->device);
out:
        return status;
}

static enum kc_status fill_file(void *ctx, struct kc_error *err)
{
        struct profile_command *p = ctx;
        enum kc_status status = print(p, err);
        return status == KC_OK ? text_out_finish(p->out, err) : status;
}

static enum kc_status print_to_file(struct profile_command *p, struct kc_error *err)
{
        static const char *const label = "profiling";
        const struct writing_work work = { .ctx = p,
                                           .on_cpu = fill_file,
                                           .progress = { &label, 1, PROGRESS_BYTES } };
        const struct writing_report report = { .ctx = p,
                                               .put_text = put_text,
                                               .put_json = put_json };
        struct text_out file;
        enum kc_status status;
        p->out = &file;
        KC_TRY(writing_run_text(&p->writing, &work, &file, p->path, p->settings->common.force,
                                err));
        writing_report(&p->writing, &report);
out:
        return status;
}

static enum kc_status run_profile(const struct invocation *call, struct kc_error *err)
{
        const struct profile_settings *s = call->settings;
        struct profile_command p = {
                .request = { .form = form_of(s),
                             .inputs = &p.inputs,
                             .track = { .unique_min = (uint32_t)s->unique_min,
                                        .unique_max = (uint32_t)s->unique_max },
                             .wants_total = s->total || s->common.common.json,
                             .min_count = (uint32_t)s->min_count,
                             .max_count = (uint32_t)s->max_count,
                             .begin = begin,
                             .ctx = &p },
        };
        enum kc_status status;
        KC_TRY(misplaced_check_first(call, err));
        KC_TRY(check_options(call, err));
        p.request.track.format = format_of(s);
        KC_TRY(open_all(&p, call, err));
        KC_TRY(plan_memory(&p, err));
        KC_TRY(p.path != NULL ? print_to_file(&p, err) : print_to_stdout(&p, err));
out:
        kc_store_close(p.request.store);
        kc_inputs_free(&p.inputs);
        return status;
}

#define FIELD(member) offsetof(struct profile_settings, member)

static const struct option_spec profile_options[] = {
        OPTION(FLAG, "total", FIELD(total), "Print one line for all input, not one per sequence."),
        OPTION(FLAG, "positions", FIELD(positions),
               "Print the count at each position instead. A position is that of the first base of "
               "a k-mer; the last k-mer of a run reaches k - 1 bases further. Positions where no "
               "k-mer begins, at the end or because of N, are left out."),
        OPTION(WORD, "format", FIELD(format),
               "Format of positions: tsv (default), bedgraph, wig, bed. tsv has the name, the "
               "position from 0, and the count. bedgraph has a line for each run of positions "
               "with the same count: name, start, end (from 0, without the end), count. wig is "
               "variableStep, whose positions begin at 1. bed has a line for each run of "
               "positions that are absent, unique or repeated, with this word in column 4; see "
               "--unique-min. No format has a track line.",
               .argument = "FORMAT", .words = "tsv bedgraph wig bed"),
        OPTION(NUMBER, "unique-min", FIELD(unique_min),
               "Smallest count that bed calls unique. Lower ones are absent.", .argument = "N",
               .min = 1, .max = UINT32_MAX, .preset = "1"),
        OPTION(NUMBER, "unique-max", FIELD(unique_max),
               "Largest count that bed calls unique. Higher ones are repeated.", .argument = "N",
               .min = 1, .max = UINT32_MAX, .preset = "1"),
        OPTION(NUMBER, "min", FIELD(min_count), "A window is found if its count is at least N.",
               .argument = "N", .min = 1, .max = UINT32_MAX, .preset = "1"),
        OPTION(NUMBER, "max", FIELD(max_count), "A window is found if its count is at most N.",
               .argument = "N", .min = 1, .max = UINT32_MAX, .preset = "4294967295"),
        DUMPING_OPTIONS(FIELD(common)),
        OPTION_THREADS(FIELD(common.common.nthreads)),
        OPTION_MEMORY(FIELD(memory_nbytes)),
        OPTIONS_ASK(FIELD(asks)),
        WRITING_OPTIONS(FIELD(common.common)),
        { 0 },
};

const struct command command_profile = {
        .name = "profile",
        .run = run_profile,
        .operands = "DB.kc FILE...",
        .group = COMMAND_LOOKS,
        .summary = "Print the counts along reads or contigs",
        .description =
                "Prints a table with a header line and a line for each sequence, in the order of "
                "the input. Its columns are separated by tabs:\n\n"
                "name: the header up to its first blank, or * if that is empty; control "
                "characters and bytes that are not UTF-8 are written like \\x1b. length: letters. "
                "windows: places where a k-mer begins; k-mers with letters other than A, C, G, T "
                "and U, such as N, are left out. found: windows whose count in DB.kc is from "
                "--min to --max, so by default those whose k-mer DB.kc has. share: found divided "
                "by windows, with six decimals. min, q1, median, q3, max, mean: of the counts of "
                "all windows, 0 for absent k-mers. Quartiles are exact, and interpolated as R and "
                "NumPy do by default; the mean has three decimals. A sequence without windows has "
                "NA in the last seven columns.\n\n"
                "FILE is what 'kcount count' reads: FASTQ, FASTA, SAM, BAM or CRAM, compressed or "
                "not; - is standard input, and @LIST a file that names one input per line. "
                "Secondary and supplementary alignments are left out, and the others are taken as "
                "the reads were sequenced. Unless DB.kc was counted with --stranded, a k-mer and "
                "its reverse complement have the same count. k-mers that --min or --max dropped "
                "when DB.kc was made count as absent; a warning says so. If DB.kc was counted with "
                "--hpc, homopolymers of the sequences are compressed before k-mers are looked up; "
                "the column length is that of the original sequence, and --positions is "
                "refused.\n\n"
                "With --json, the table and the total are printed as one JSON object on standard "
                "output. With -o as well, the file has the table, and the JSON only the total.",
        .examples = "  kcount profile reads.kc contigs.fa > contigs.tsv\n"
                    "  kcount profile reads.kc assembly.fa --total\n"
                    "  kcount profile reads.kc contigs.fa --positions --format wig -o counts.wig\n",
        .options = profile_options,
        .settings_nbytes = sizeof(struct profile_settings),
        .min_operands = 2,
        .max_operands = -1,
};
