/*
 * kcount remove: remove k-mers from a .kc file, by a run of tombstones.
 */
#include "app/command.h"
#include "app/device.h"
#include "app/json.h"
#include "app/kmer_text.h"
#include "app/machine.h"
#include "app/memory.h"
#include "app/output_name.h"
#include "app/progress.h"
#include "app/removals.h"
#include "app/signals.h"
#include "app/size.h"
#include "app/stores.h"
#include "base/clock.h"
#include "cpu/cpu_engine.h"
#include "kmer/kmer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_MIB = 1024 }; /* the bound without -m */

struct remove_settings {
        uint64_t nthreads, memory_nbytes, gpu_memory_nbytes, gpu_batch_nkmers;
        const char *file, *device;
        bool json, quiet, no_progress;
};

struct removing {
        const struct remove_settings *settings;
        const char *path;
        int nthreads, k;
        bool stranded;
        char *tmp_dir;
        struct kc_job *job;
        struct kc_store_writer *writer;
        struct removals removals;
        struct tombstones tombstones;
        struct kc_count_totals totals;
        struct device_choice device;
        struct kc_gpu_report gpu; /* valid if device.cuda */
        struct kc_store_written written;
};

/* A sequence typed by hand that is too short or holds other letters must be a mistake. */
static enum kc_status check_arguments(const struct removals *r, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < r->narguments; i++)
                KC_TRY(kmer_text_check(r->arguments[i], r->k, err));
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
                KC_TRY(output_check_inputs(r->path, &r->settings->file, 1, err));
        KC_TRY(stores_append(&r->writer, r->path, true, &r->k, &r->stranded, err));
        r->removals.arguments = call->operands + 1;
        r->removals.narguments = (size_t)call->noperands - 1;
        r->removals.k = r->k;
        KC_TRY(check_arguments(&r->removals, err));
        if (r->settings->file != NULL)
                KC_TRY(sequences_open(&r->removals.file, r->settings->file, err));
        KC_TRY(tombstones_init(&r->tombstones, kc_store_sink(r->writer), r->k, err));
out:
        return status;
}

static enum kc_status run_engine(struct removing *r, struct kc_error *err)
{
        const uint64_t wanted = r->settings->memory_nbytes;
        const struct memory_plan plan = memory_plan_count(wanted ? wanted : USUAL_MIB * MEMORY_MIB,
                                                          r->nthreads, r->device.cuda);
        const struct kc_count_params params = { .k = r->k,
                                                .stranded = r->stranded,
                                                .nthreads = plan.nthreads,
                                                .memory_nbytes = plan.engine_nbytes,
                                                .tmp_dir = r->tmp_dir };
        const struct kc_gpu_params gpu = { .device = r->device.index,
                                           .table = r->device.table,
                                           .memory_nbytes = r->settings->gpu_memory_nbytes,
                                           .batch_nkmers = r->settings->gpu_batch_nkmers };
        const struct kc_batch_source source = removals_source(&r->removals);
        const struct kc_run_sink sink = tombstones_sink(&r->tombstones);
        return r->device.cuda ? kc_gpu_count(&params, &gpu, &source, &sink, r->job, &r->totals,
                                             &r->gpu, err)
                              : kc_cpu_count(&params, &source, &sink, r->job, &r->totals, err);
}

static enum kc_status sort_kmers(struct removing *r, struct kc_error *err)
{
        static const char *const names[KC_NSTAGES] = { "read", "sort", "write" };
        const bool quiet = r->settings->quiet;
        struct kc_error own = { 0 };
        enum kc_status status;
        KC_TRY(device_choose(&r->device, device_if_named(r->settings->device), NULL, r->k,
                             DEVICE_COUNTS, quiet, err));
        struct progress *progress =
                progress_start(r->job, names, false, !quiet && !r->settings->no_progress);
        status = run_engine(r, &own);
        progress_stop(progress);
        if (status != KC_OK)
                status = kc_fail(err, status, "%s", own.message);
        else if (signals_caught())
                status = kc_fail(err, KC_ECANCELED, "interrupted");
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
        struct kc_store_writer *writer = r->writer;
        r->writer = NULL; /* commit frees it, even on failure */
        return kc_store_commit(writer, &origin, &r->written, err);
}

/* ---- the report ---- */

static void put_text(const struct removing *r, const struct invocation *call)
{
        const struct kc_store_info *info = &r->written.info;
        char number[FORMATTED_NBYTES], size[FORMATTED_NBYTES];
        struct text_out out;
        text_out_stderr(&out);
        text_out_printf(&out, "  %-22s %18s\n", "sequences",
                        format_number(r->removals.nsequences, number));
        text_out_printf(&out, "  %-22s %18s\n", "k-mers to remove",
                        format_number(r->totals.ndistinct, number));
        text_out_printf(&out, "wall %.2f s\nremoved from %s, now %u runs, %s\nkcount %s: %s\n",
                        kc_clock_seconds() - call->start_seconds, r->path, info->nruns,
                        format_size(info->file_nbytes, size), KCOUNT_VERSION, call->line);
        text_out_flush(&out);
}

static void put_json(const struct removing *r, const struct invocation *call)
{
        const struct kc_store_info *info = &r->written.info;
        struct json json = { .out = call->out };
        char device[16];
        json_begin(&json, NULL, '{');
        json_string(&json, "version", KCOUNT_VERSION);
        json_string(&json, "command", call->line);
        json_string(&json, "output", r->path);
        json_number(&json, "output_bytes", info->file_nbytes);
        json_number(&json, "runs", info->nruns);
        json_number(&json, "k", (uint64_t)info->k);
        json_bool(&json, "stranded", info->stranded);
        json_string(&json, "device", device_name(&r->device, device));
        json_number(&json, "sequences", r->removals.nsequences);
        json_number(&json, "short_sequences", r->removals.nshort);
        json_number(&json, "skipped_letters", r->removals.nskipped);
        json_number(&json, "distinct", r->totals.ndistinct);
        json_begin(&json, "seconds", '{');
        json_real(&json, "wall", kc_clock_seconds() - call->start_seconds);
        json_end(&json, '}');
        json_number(&json, "peak_memory_bytes", machine_peak_nbytes());
        json_end(&json, '}');
}

static void report(const struct removing *r, const struct invocation *call)
{
        if (!r->settings->quiet) {
                sequences_tell_skipped(r->k, r->removals.nshort, r->removals.nskipped);
                put_text(r, call);
        }
        if (r->settings->json)
                put_json(r, call);
}

static void close_all(struct removing *r)
{
        kc_store_abort(r->writer);
        sequences_close(r->removals.file);
        removals_destroy(&r->removals);
        free(r->tombstones.ones);
        free(r->tmp_dir);
}

static enum kc_status run_remove(const struct invocation *call, struct kc_error *err)
{
        /* static, because the signal thread uses it until the process ends */
        static struct kc_job job;
        const struct remove_settings *s = call->settings;
        struct removing r = { .settings = s,
                              .path = call->operands[0],
                              .nthreads = s->nthreads ? (int)s->nthreads : machine_ncores(),
                              .job = &job };
        enum kc_status status;
        if (call->noperands < 2 && s->file == NULL)
                return kc_fail(err, KC_EUSAGE, "remove needs a SEQUENCE, or -f FILE");
        status = device_check(s->device, NULL, err);
        if (status != KC_OK)
                return status;
        removals_init(&r.removals);
        signals_install(&job);
        KC_TRY(open_all(&r, call, err));
        KC_TRY(sort_kmers(&r, err));
        if (r.totals.ndistinct == 0) {
                fprintf(stderr,
                        "kcount: warning: no k-mer to remove: no stretch of bases is %d "
                        "long; %s is unchanged\n",
                        r.k, r.path);
                goto out;
        }
        KC_TRY(commit(&r, err));
        report(&r, call);
out:
        close_all(&r);
        return status;
}

#define FIELD(member) offsetof(struct remove_settings, member)

static const struct option_spec remove_options[] = {
        { .type = OPTION_TEXT,
          .letter = 'f',
          .name = "file",
          .argument = "FILE",
          .offset = FIELD(file),
          .help = "Remove all k-mers of this file as well: FASTA, FASTQ, or lines of which the "
                  "first field is taken (as dump prints them); plain or compressed with gzip, BGZF "
                  "or zstd; - is standard input. Sequences shorter than k and letters outside ACGTU "
                  "are reported on standard error." },
        OPTION_THREADS(FIELD(nthreads)),
        OPTION_MEMORY(
                FIELD(memory_nbytes),
                "Bound on the memory of the whole process, such as 512M (at least 256M). What "
                "does not fit is spilled to files without a name in the folder of DB.kc; with "
                "a small bound, fewer threads work than -t allows. One sequence of -f at a time "
                "is held in memory, whatever the bound. Default: 1G."),
        OPTION_DEVICE(
                FIELD(device),
                "Where to sort the k-mers: auto, cpu, cuda, or cuda:N for one of several "
                "devices. The file is the same. auto is cpu, because a device takes longer to "
                "begin than most lists to sort."),
        OPTION_GPU_MEMORY(FIELD(gpu_memory_nbytes),
                          "Bound on the device memory that is taken, at least 256M. Default: nine "
                          "tenths of what is free on the device."),
        OPTION_GPU_BATCH(FIELD(gpu_batch_nkmers)),
        OPTION_JSON(FIELD(json), "Print the summary as JSON on standard output as well."),
        OPTION_QUIET(FIELD(quiet)),
        OPTION_NO_PROGRESS(FIELD(no_progress)),
        { 0 },
};

const struct command command_remove = {
        .name = "remove",
        .run = run_remove,
        .operands = "DB.kc [SEQUENCE]...",
        .summary = "Remove k-mers from a .kc file",
        .description =
                "All k-mers of the sequences are removed, whatever their counts; a sequence is k "
                "letters long or longer. Unless the file was counted with --stranded, a k-mer and "
                "its reverse complement are one. What is in the file is not rewritten: a run of "
                "tombstones is appended, which hide the k-mers in the runs before it. If add "
                "brings one of them again later, it counts anew. 'kcount compact' drops what is "
                "removed, and the tombstones.\n\n"
                "Until the command is complete, the file stays as it was, also for readers at work "
                "and after a crash. One command at a time may change a file. To get a file without "
                "the k-mers of another .kc file, see subtract.",
        .examples = "  kcount remove sample.kc -f adapters.fa\n"
                    "  kcount dump sample.kc --max 1 | kcount remove sample.kc -f -\n",
        .options = remove_options,
        .settings_nbytes = sizeof(struct remove_settings),
        .min_operands = 1,
        .max_operands = -1,
};
