/*
 * kcount import: converts a file of counts from another program to a .kc file.
 */
#include "app/cli/advice.h"
#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/cli/message.h"
#include "app/cli/output_name.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/cli/writing.h"
#include "app/library/inside.h"
#include "app/library/memory.h"
#include "app/library/same_file.h"
#include "cpu/cpu_engine.h"
#include "io/formats/import.h"
#include "kmer/hpc.h"
#include "kmer/kmer.h"

#include <stdio.h>
#include <stdlib.h>

struct import_settings {
        struct writing_settings common;
        uint64_t memory_nbytes, min_count, max_count;
        const char *output, *tmp;
        bool canonical, stranded, hpc, force;
};

struct importing {
        const struct import_settings *settings;
        struct writing writing;
        const char *path;
        char *tmp_dir, *name; /* name: of the input, as the output records it */
        struct memory_plan plan;
        struct kc_import *import;
        struct kc_import_info info;
        struct kc_pair_source pairs; /* of the file */
        struct kc_import_totals read;
        struct kc_count_totals totals;
        uint64_t npairs;
};

static enum kc_import_strands wanted_strands(const struct import_settings *s)
{
        if (s->canonical)
                return KC_IMPORT_CANONICAL;
        return s->stranded ? KC_IMPORT_STRANDED : KC_IMPORT_AS_DECLARED;
}

static enum kc_status check_settings(const struct importing *m, struct kc_error *err)
{
        const struct import_settings *s = m->settings;
        enum kc_status status;
        if (s->canonical && s->stranded)
                return kc_fail(err, KC_EUSAGE,
                               "--canonical and --stranded cannot be used "
                               "together");
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
        KC_TRY(output_check_stdout(s->output, "-o", err));
        KC_TRY(kc_output_check_files(&s->output, 1, &m->path, 1, err));
        KC_TRY(output_check(s->output, false, s->force, err));
out:
        return status;
}

static enum kc_status open_import(struct importing *m, struct kc_error *err)
{
        const struct import_settings *s = m->settings;
        const uint64_t wanted = s->memory_nbytes;
        const char *const *paths;
        enum kc_status status;
        m->plan = kc_memory_plan_count(wanted ? wanted : kc_memory_default_nbytes(1),
                                       m->writing.nthreads, false);
        m->writing.nthreads = m->plan.nthreads;
        KC_TRY(kc_import_open(&m->import, m->path, m->writing.nthreads, wanted_strands(s), err));
        kc_import_get_info(m->import, &m->info);
        const size_t npaths = kc_import_paths(m->import, &paths);
        KC_TRY(kc_output_check_files(&s->output, 1, paths, npaths, err));
        m->tmp_dir = kc_path_folder(s->output);
        if (m->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (asprintf(&m->name, "imported from %s: %s", m->info.what, m->path) < 0) {
                m->name = NULL; /* POSIX leaves it undefined */
                return kc_fail(err, KC_ENOMEM, "out of memory");
        }
out:
        return status;
}

static enum kc_status create_output(struct importing *m, struct kc_error *err)
{
        const struct import_settings *s = m->settings;
        const struct kc_store_options options = { .k = m->info.k,
                                                  .stranded = m->info.stranded,
                                                  .hpc = s->hpc,
                                                  .replace = s->force,
                                                  .guard = signals_guard,
                                                  .min_count = (uint32_t)s->min_count,
                                                  .max_count = (uint32_t)s->max_count };
        return kc_store_create(&m->writing.writer, s->output, &options, err);
}

static enum kc_status refuse_uncompressed(const struct importing *m, const uint64_t *kmer,
                                          struct kc_error *err)
{
        char text[KC_MAX_K + 1];
        kc_kmer_format(kmer, m->info.k, text);
        text[m->info.k] = '\0';
        return kc_fail(err, KC_EUSAGE,
                       "%s has the k-mer %s, which is not homopolymer-compressed: leave out --hpc",
                       m->path, text);
}

/* With --hpc. ctx: a struct importing. */
static enum kc_status next_compressed(void *ctx, int worker, struct kc_pair_batch *batch,
                                      struct kc_error *err)
{
        const struct importing *m = ctx;
        const size_t nwords = (size_t)kc_kmer_nwords(m->info.k);
        enum kc_status status;
        KC_TRY(m->pairs.next(m->pairs.ctx, worker, batch, err));
        for (size_t i = 0; i < batch->n; i++)
                if (!kc_hpc_is_compressed(batch->kmers + i * nwords, m->info.k))
                        return refuse_uncompressed(m, batch->kmers + i * nwords, err);
out:
        return status;
}

/* ctx: a struct importing. */
static enum kc_status order(void *ctx, struct kc_error *err)
{
        struct importing *m = ctx;
        const struct kc_count_params params = { .k = m->info.k,
                                                .nthreads = m->writing.nthreads,
                                                .memory_nbytes = m->plan.engine_nbytes,
                                                .tmp_dir = m->settings->tmp != NULL
                                                                   ? m->settings->tmp
                                                                   : m->tmp_dir };
        struct kc_pair_source source = m->pairs = kc_import_source(m->import);
        const struct kc_run_sink sink = kc_store_sink(m->writing.writer);
        enum kc_status status;
        if (m->settings->hpc) {
                source.ctx = m;
                source.next = next_compressed;
        }
        KC_TRY(kc_cpu_order(&params, &source, &sink, m->writing.job, &m->totals, &m->npairs, err));
        KC_TRY(kc_import_check_whole(m->import, m->npairs, m->totals.ndistinct, err));
out:
        return status;
}

static enum kc_status write_output(struct importing *m, struct kc_error *err)
{
        static const char *const labels[] = { "reading", "sorting", "sorting" };
        const struct writing_work work = { .ctx = m,
                                           .on_cpu = order,
                                           .progress = { labels, KC_NSTAGES, PROGRESS_KMERS } };
        const char *const name = m->name;
        enum kc_status status;
        KC_TRY(create_output(m, err));
        KC_TRY(writing_run(&m->writing, &work, err));
        kc_import_get_info(m->import, &m->info);
        kc_import_get_totals(m->import, &m->read);
        kc_store_set_stranded(m->writing.writer, m->info.stranded);
        const struct kc_store_origin origin = { .names = &name,
                                                .nnames = 1,
                                                .nkmers = m->totals.nkmers + m->read.nsaturated,
                                                .nsaturated =
                                                        m->totals.nsaturated + m->read.nsaturated };
        KC_TRY(writing_commit(&m->writing, &origin, err));
out:
        return status;
}

/* ---- the report: ctx is a struct importing ---- */

static void warn_if_empty(const struct importing *m)
{
        const struct kc_store_info *r = &m->writing.written.info;
        if (r->ndistinct > 0)
                return;
        if (r->ndropped_distinct > 0)
                message_print(WRITING_ALL_DROPPED, m->info.k);
        else if (m->read.noutside > 0)
                message_print(WRITING_EMPTY
                              "all counts in %s are outside the range that it states\n",
                              m->path);
        else if (m->read.nzero > 0)
                message_print(WRITING_EMPTY "all counts in %s are 0\n", m->path);
        else
                message_print(WRITING_EMPTY "%s holds none\n", m->path);
}

static void put_text(const void *ctx, struct text_out *out)
{
        const struct importing *m = ctx;
        const struct kc_store_info *r = &m->writing.written.info;
        const uint64_t nrepeated = m->npairs - m->totals.ndistinct;
        const struct writing_costs costs = { .spilled_nbytes = m->totals.spilled_nbytes };
        char size[FORMATTED_NBYTES], label[64];
        text_out_printf(out, "%s is %s with %s k-mers\n", m->path, m->info.what,
                        m->info.stranded ? "stranded" : "canonical");
        writing_put_number(out, "k-mers read", m->npairs);
        if (nrepeated > 0)
                writing_put_number(out, "of these, repeated", nrepeated);
        if (m->read.nzero > 0)
                writing_put_number(out, "count 0, left out", m->read.nzero);
        if (m->read.noutside > 0)
                writing_put_number(out, "outside KMC's range", m->read.noutside);
        if (m->read.natlimit > 0)
                writing_put_number(out, "at the file's limit", m->read.natlimit);
        if (r->nsaturated > 0)
                writing_put_number(out, "lost to saturation", r->nsaturated);
        snprintf(label, sizeof label, "%d-mers", r->k);
        writing_put_number(out, label, r->sum);
        writing_put_number(out, "  distinct", r->ndistinct);
        text_out_printf(out, "%s does not record the numbers of reads and bases\n", m->info.what);
        text_out_printf(out, "wrote %s, %s\n", m->settings->output,
                        format_size(r->file_nbytes, size));
        writing_put_costs(out, &m->writing, &costs);
}

static void put_json(const void *ctx, size_t number, struct json *json)
{
        (void)number;
        const struct importing *m = ctx;
        const struct kcount_info r = kc_library_describe(&m->writing.written.info);
        const double *seconds = m->totals.stage_seconds;
        const struct writing_stage stages[] = { { "read", seconds[KC_STAGE_PARTITION] },
                                                { "sort", seconds[KC_STAGE_ORDER] } };
        json_string(json, "input", m->path);
        json_string(json, "format", m->info.what);
        writing_json_output(json, m->settings->output, &r);
        json_bool(json, "hpc", r.hpc);
        json_number(json, "kmers_read", m->npairs);
        json_number(json, "repeated_kmers", m->npairs - m->totals.ndistinct);
        json_number(json, "zero_counts", m->read.nzero);
        json_number(json, "outside_range", m->read.noutside);
        json_number(json, "at_limit", m->read.natlimit);
        writing_json_counts(json, &r);
        json_number(json, "spilled_bytes", m->totals.spilled_nbytes);
        writing_json_costs(json, &m->writing, stages, 2);
}

static enum kc_status run_import(const struct invocation *call, struct kc_error *err)
{
        const struct import_settings *s = call->settings;
        struct importing m = { .settings = s,
                               .writing = writing_of(call, &s->common),
                               .path = call->operands[0] };
        enum kc_status status;
        KC_TRY(check_settings(&m, err));
        signals_install(m.writing.job);
        KC_TRY(open_import(&m, err));
        KC_TRY(write_output(&m, err));
        advice_warn(kc_import_warning(m.import));
        warn_if_empty(&m);
        writing_report(&m.writing, &(struct writing_report){
                                           .ctx = &m, .put_text = put_text, .put_json = put_json });
out:
        kc_store_abort(m.writing.writer);
        kc_import_close(m.import);
        free(m.tmp_dir);
        free(m.name);
        return status;
}

static char *propose_output(const struct invocation *call)
{
        return output_name_imported(call->operands[0]);
}

#define FIELD(member) offsetof(struct import_settings, member)

static const struct option_spec import_options[] = {
        OPTION(OUTPUT, "output", FIELD(output), "The .kc file to write. Required.", .letter = 'o',
               .argument = "FILE", .required = true, .propose = propose_output),
        OPTION_THREADS(FIELD(common.nthreads)),
        OPTION_MEMORY(FIELD(memory_nbytes)),
        OPTION_TMP(FIELD(tmp)),
        OPTION(FLAG, "canonical", FIELD(canonical),
               "Count a k-mer and its reverse complement together. The one that comes first "
               "in the alphabet is kept, with the sum of both counts."),
        OPTION(FLAG, "stranded", FIELD(stranded),
               "Treat the k-mers of text as stranded. Default: they are stranded unless all "
               "of them are canonical. This option is an error for a file that declares its "
               "k-mers canonical."),
        OPTION(FLAG, "hpc", FIELD(hpc),
               "The k-mers come from homopolymer-compressed reads, as those of 'FastK -c' and "
               "'meryl count compress' do; no FILE declares this. A k-mer with two equal bases "
               "in a row is then an error. See 'kcount count --help'."),
        OPTION_MIN(FIELD(min_count)),
        OPTION_MAX(FIELD(max_count)),
        OPTION_FORCE(FIELD(force)),
        WRITING_OPTIONS(FIELD(common)),
        { 0 },
};

const struct command command_import = {
        .name = "import",
        .run = run_import,
        .operands = "FILE",
        .group = COMMAND_CONVERTS,
        .summary = "Convert from kmc, jellyfish, kff, fastk or text",
        .description =
                "FILE is one of the following; its content decides which, not its name:\n\n"
                "A KMC database, as kmc writes it or sorted by kmc_tools: NAME, NAME.kmc_pre or "
                "NAME.kmc_suf.\n"
                "A KFF file of version 1, such as 'kmc -okff' writes, with counts of up to 8 bytes "
                "or none (then each count is 1).\n"
                "A Jellyfish file, binary or text.\n"
                "A FastK table: NAME or NAME.ktab, with its hidden parts beside it.\n"
                "Text: a k-mer and its count on each line, with blanks or a tab between them, as "
                "dump, 'jellyfish dump -c' and kmc_dump print, or FASTA with counts as names, as "
                "'jellyfish dump' prints. It may be compressed with gzip, BGZF, zstd, "
                "bzip2 or xz, and may come from standard input (-).\n\n"
                "The .kc file has the k-mers, counts and strands of FILE. Text does not declare "
                "whether its k-mers are canonical: the .kc file is canonical if every one of them "
                "is, and otherwise stranded. If a k-mer occurs several times in text, or in a KFF "
                "file that allows it, its counts are added up; in other files that is an error. A "
                "canonical KFF file may hold a k-mer or its reverse complement; in other canonical "
                "files, a k-mer that is not canonical is an error. k-mers with counts outside the "
                "range that a KMC database states are left out, as kmc_dump leaves them out, and "
                "reported.\n\n"
                "Counts over 4294967295 become 4294967295, and k-mers with count 0 are left out; "
                "both are reported. Programs stop counting at the largest count that their file "
                "can hold (FastK at 32767, kmc at 255 without -cs); the report shows how many "
                "k-mers have that count, since they may have occurred more often. None of these "
                "files records the numbers of reads, bases and skipped letters, which are 0 in the "
                ".kc file. info shows where its counts came from.\n\n"
                "If import finds that FILE is damaged or truncated, it fails and writes no output. "
                "Jellyfish's own files and text do not state how many k-mers they hold, so import "
                "can only suspect that their end is missing: it warns if the last record of a "
                "Jellyfish file is far from the end of the hash table, or if the last line of text "
                "has no line end.",
        .examples = "  jellyfish dump -c sample.jf | kcount import - -o sample.kc\n"
                    "  kcount import sample.kmc_pre -o sample.kc\n"
                    "  kcount import sample.kff -o sample.kc\n"
                    "  kcount import counts.txt.gz -o sample.kc -m 4G\n",
        .options = import_options,
        .settings_nbytes = sizeof(struct import_settings),
        .min_operands = 1,
        .max_operands = 1,
        .for_more = "one file; import each file by itself, then join them with 'kcount merge'",
};
