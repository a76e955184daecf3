/*
 * kcount remove: remove k-mers from a .kc file, by a run of tombstones.
 */
#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/cli/message.h"
#include "app/cli/misplaced.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/cli/writing.h"
#include "app/library/inside.h"
#include "app/library/memory.h"
#include "app/library/same_file.h"
#include "app/store/removals.h"
#include "app/store/stores.h"
#include "cpu/cpu_engine.h"
#include "kmer/kmer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_MIB = 1024 }; /* the bound without -m */

struct remove_settings {
        struct writing_settings common;
        uint64_t memory_nbytes, gpu_memory_nbytes, gpu_batch_nkmers;
        const char *file, *device;
};

struct removing {
        const struct remove_settings *settings;
        struct writing writing;
        const char *path;
        int k;
        bool stranded;
        char *tmp_dir;
        char **compressed; /* the arguments, if the file is of homopolymer-compressed reads */
        struct removals removals;
        struct tombstones tombstones;
        struct kc_count_totals totals;
};

/* A sequence typed by hand that is too short or holds other letters must be a mistake. */
static enum kc_status check_arguments(const struct removals *r, const struct invocation *call,
                                      struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < r->narguments; i++)
                KC_TRY(misplaced_check_sequence(call, r->arguments[i], r->k, err));
out:
        return status;
}

static enum kc_status open_all(struct removing *r, const struct invocation *call,
                               struct kc_error *err)
{
        enum kc_status status;
        r->tmp_dir = kc_path_folder(r->path);
        if (r->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (r->settings->file != NULL)
                KC_TRY(kc_output_check_files(&r->path, 1, &r->settings->file, 1, err));
        KC_TRY(stores_append(&r->writing.writer, r->path, true, &r->k, &r->stranded, err));
        r->removals.arguments = call->operands + 1;
        r->removals.narguments = (size_t)call->noperands - 1;
        r->removals.k = r->k;
        KC_TRY(check_arguments(&r->removals, call, err));
        r->removals.hpc = kc_store_writes_hpc(r->writing.writer);
        if (r->removals.hpc) {
                KC_TRY(sequences_compress(r->removals.arguments, r->removals.narguments, r->k,
                                          &r->compressed, err));
                r->removals.arguments = (const char *const *)r->compressed;
        }
        if (r->settings->file != NULL)
                KC_TRY(sequences_open(&r->removals.file, r->settings->file, r->k, r->removals.hpc,
                                      err));
        KC_TRY(tombstones_init(&r->tombstones, kc_store_sink(r->writing.writer), r->k, err));
out:
        return status;
}

/* Lowers the number of threads if there is not enough memory for all. */
static struct kc_count_params engine_params(struct removing *r)
{
        const uint64_t wanted = r->settings->memory_nbytes;
        const struct memory_plan plan =
                kc_memory_plan_count(wanted ? wanted : USUAL_MIB * MEMORY_MIB, r->writing.nthreads,
                                     r->writing.device.cuda);
        r->writing.nthreads = plan.nthreads;
        return (struct kc_count_params){ .k = r->k,
                                         .stranded = r->stranded,
                                         .nthreads = plan.nthreads,
                                         .memory_nbytes = plan.engine_nbytes,
                                         .tmp_dir = r->tmp_dir };
}

static enum kc_status sort_on_device(void *ctx, struct kc_error *err)
{
        struct removing *r = ctx;
        struct writing *w = &r->writing;
        const struct kc_count_params params = engine_params(r);
        const struct kc_gpu_params gpu = { .device = w->device.indices[0],
                                           .table = w->device.table,
                                           .memory_nbytes = r->settings->gpu_memory_nbytes,
                                           .batch_nkmers = r->settings->gpu_batch_nkmers };
        const struct kc_batch_source source = removals_source(&r->removals);
        const struct kc_run_sink sink = tombstones_sink(&r->tombstones);
        return kc_gpu_count(&params, &gpu, &source, &sink, w->job, &r->totals, &w->gpu, err);
}

static enum kc_status sort_on_cpu(void *ctx, struct kc_error *err)
{
        struct removing *r = ctx;
        const struct kc_count_params params = engine_params(r);
        const struct kc_batch_source source = removals_source(&r->removals);
        const struct kc_run_sink sink = tombstones_sink(&r->tombstones);
        return kc_cpu_count(&params, &source, &sink, r->writing.job, &r->totals, err);
}

static enum kc_status sort_kmers(struct removing *r, struct kc_error *err)
{
        static const char *const labels[] = { "reading", "sorting", "writing" };
        const struct writing_work work = {
                .ctx = r,
                .on_device = sort_on_device,
                .on_cpu = sort_on_cpu,
                .progress = { labels, KC_NSTAGES, PROGRESS_PARTS },
        };
        const struct remove_settings *s = r->settings;
        enum kc_status status;
        KC_TRY(device_choose(&r->writing.device, device_if_named(s->device), 0, r->k, DEVICE_COUNTS,
                             err));
        KC_TRY(writing_run(&r->writing, &work, err));
out:
        return status;
}

/* Record one k-mer per tombstone, not what the engine has counted. */
static enum kc_status commit(struct removing *r, struct kc_error *err)
{
        const struct kc_store_origin origin = { .names = &r->settings->file,
                                                .nnames = r->settings->file != NULL,
                                                .nreads = r->removals.nsequences,
                                                .nbases = r->removals.nbases,
                                                .nskipped = r->removals.nskipped,
                                                .nkmers = r->totals.ndistinct };
        return writing_commit(&r->writing, &origin, err);
}

/* ---- the report: ctx is a struct removing ---- */

static void put_text(const void *ctx, struct text_out *out)
{
        const struct removing *r = ctx;
        const struct kc_store_info *info = &r->writing.written.info;
        const struct writing_costs costs = { .spilled_nbytes = r->totals.spilled_nbytes };
        char size[FORMATTED_NBYTES];
        writing_put_number(out, "sequences", r->removals.nsequences);
        writing_put_number(out, "k-mers to remove", r->totals.ndistinct);
        text_out_printf(out, "removed from %s, now %u runs, %s\n", r->path, info->nruns,
                        format_size(info->file_nbytes, size));
        writing_put_costs(out, &r->writing, &costs);
}

static void put_json(const void *ctx, size_t number, struct json *json)
{
        (void)number;
        const struct removing *r = ctx;
        const struct kcount_info info = kc_library_describe(&r->writing.written.info);
        char device[DEVICE_NAME_NBYTES];
        writing_json_output(json, r->path, &info);
        json_number(json, "runs", info.nruns);
        json_string(json, "device", device_name(&r->writing.device, device));
        json_number(json, "sequences", r->removals.nsequences);
        json_number(json, "short_sequences", r->removals.nshort);
        json_number(json, "skipped_letters", r->removals.nskipped);
        json_number(json, "distinct", r->totals.ndistinct);
        writing_json_costs(json, &r->writing, NULL, 0);
}

static void report(const struct removing *r)
{
        if (!r->settings->common.quiet)
                sequences_report_skipped(r->k, r->removals.nshort, r->removals.nskipped);
        writing_report(&r->writing, &(struct writing_report){
                                            .ctx = r, .put_text = put_text, .put_json = put_json });
}

static void close_all(struct removing *r)
{
        kc_store_abort(r->writing.writer);
        kc_records_close(r->removals.file);
        removals_destroy(&r->removals);
        sequences_free(r->compressed, r->removals.narguments);
        free(r->tombstones.ones);
        free(r->tmp_dir);
}

static enum kc_status run_remove(const struct invocation *call, struct kc_error *err)
{
        const struct remove_settings *s = call->settings;
        struct removing r = { .settings = s,
                              .writing = writing_of(call, &s->common),
                              .path = call->operands[0] };
        char example[EXAMPLE_NBYTES];
        enum kc_status status;
        if (call->noperands < 2 && s->file == NULL)
                return kc_fail(err, KC_EUSAGE, "remove needs a SEQUENCE, or -f FILE%s",
                               command_example(call->command, example));
        status = misplaced_check_first(call, err);
        if (status == KC_OK)
                status = device_check(s->device, 0, DEVICE_MERGES, err);
        if (status != KC_OK)
                return status;
        removals_init(&r.removals);
        signals_install(r.writing.job);
        KC_TRY(open_all(&r, call, err));
        KC_TRY(sort_kmers(&r, err));
        if (r.totals.ndistinct == 0) {
                message_print("kcount: warning: no k-mer to remove: no sequence has %d bases in "
                              "a row; %s is unchanged\n",
                              r.k, r.path);
                goto out;
        }
        KC_TRY(commit(&r, err));
        report(&r);
out:
        close_all(&r);
        return status;
}

#define FIELD(member) offsetof(struct remove_settings, member)

static const struct option_spec remove_options[] = {
        OPTION(TEXT, "file", FIELD(file),
               "Remove all k-mers of a FASTA, FASTQ or text file. In a text file, the first field "
               "of each line is used, so that the output of dump can be given. The file may be "
               "compressed with gzip, BGZF, zstd, bzip2 or xz; - is standard input. Sequences "
               "shorter than k and letters other than A, C, G, T and U are reported on standard "
               "error.",
               .letter = 'f', .argument = "FILE", .is_input = true),
        OPTION_THREADS(FIELD(common.nthreads)),
        OPTION(SIZE, "memory", FIELD(memory_nbytes),
               "Hard limit on memory, at least 256M; default: 1G. What does not fit is spilled to "
               "temporary files beside FILE.kc, and with little memory, fewer threads run than -t "
               "allows. One sequence of -f at a time is held in memory, however long.",
               .letter = 'm', .argument = "SIZE", .min = MEMORY_LEAST_MIB * MEMORY_MIB),
        OPTION_DEVICE(FIELD(device)),
        OPTION_GPU_MEMORY(FIELD(gpu_memory_nbytes)),
        OPTION_GPU_BATCH(FIELD(gpu_batch_nkmers)),
        WRITING_OPTIONS(FIELD(common)),
        { 0 },
};

const struct command command_remove = {
        .name = "remove",
        .run = run_remove,
        .operands = "FILE.kc [SEQUENCE]...",
        .group = COMMAND_CHANGES,
        .summary = "Remove k-mers from a .kc file",
        .description =
                "Removes all k-mers of the sequences, whatever their counts; a sequence is k "
                "letters long or longer. Unless the file was counted with --stranded, a k-mer "
                "and its reverse complement are the same. The runs that the file has are not "
                "rewritten: a run of tombstones is appended, which hides the k-mers in the runs "
                "before it. If add brings one of them back later, its count starts again from "
                "0. 'kcount compact' drops the removed k-mers and the tombstones.\n\n"
                "Until the command is complete, the file stays as it was, also for programs "
                "that are reading it, and after a crash. Only one command at a time may change "
                "a file. To get a file without the k-mers of another .kc file, see subtract.",
        .examples = "  kcount remove sample.kc -f adapters.fa\n"
                    "  kcount dump sample.kc --max 1 | kcount remove sample.kc -f -\n",
        .options = remove_options,
        .settings_nbytes = sizeof(struct remove_settings),
        .min_operands = 1,
        .max_operands = -1,
};
