#include "app/counting.h"

#include "app/device.h"
#include "app/machine.h"
#include "app/output_name.h"
#include "app/progress.h"
#include "app/reader_only.h"
#include "app/signals.h"
#include "app/stores.h"
#include "app/summary.h"
#include "base/clock.h"
#include "base/temp_file.h"
#include "cpu/cpu_engine.h"
#include "io/reader.h"
#include "kmer/kmer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A count in progress: what was opened, and what will be reported. */
struct count {
        const struct count_settings *settings;
        bool adds; /* output is a .kc file to which a run is added */
        int k;
        bool stranded;
        const char *const *inputs;
        size_t ninputs;
        char *output, *tmp_dir;
        int nthreads;
        uint64_t memory_nbytes;
        struct memory_plan plan; /* how memory_nbytes is divided */
        struct kc_job *job;
        struct device_choice device;
        struct kc_reader *reader;
        struct kc_store_writer *writer;
        struct kc_count_totals totals;
        struct kc_gpu_report gpu;
        struct kc_store_written written;
};

/* Two thirds of the default bound, which is half of the available memory. Pinned memory cannot be
 * swapped, and input, --tmp and output may be on a RAM disk; runs also spill to --tmp. */
static uint64_t pinned_memory(uint64_t memory_nbytes)
{
        return memory_nbytes / 3 * 2;
}

static enum kc_status check_settings(const struct count_settings *s, struct kc_error *err)
{
        if (s->min_count > s->max_count)
                return kc_fail(err, KC_EUSAGE, "--min %llu is above --max %llu",
                               (unsigned long long)s->min_count, (unsigned long long)s->max_count);
        if (s->output && strcmp(s->output, "-") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "a .kc file cannot be written to standard output; name a file with "
                               "-o");
        if (s->output && *s->output == '\0')
                return kc_fail(err, KC_EUSAGE, "-o/--output: the file's name is empty");
        return device_check(s->device, s->table, err);
}

static enum kc_status resolve(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        count->nthreads = s->nthreads ? (int)s->nthreads : machine_ncores();
        count->memory_nbytes = s->memory_nbytes ? s->memory_nbytes : memory_default_nbytes();
        if (!count->adds) {
                count->k = (int)s->k;
                count->stranded = s->stranded;
                count->output = s->output ? strdup(s->output) : output_name(count->inputs[0]);
        }
        if (count->output)
                count->tmp_dir = s->tmp_dir ? strdup(s->tmp_dir) : kc_path_folder(count->output);
        if (count->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

/* To be called once the engine is chosen, because the number of threads that share the memory
 * depends on it. */
static void plan_memory(struct count *count)
{
        const struct count_settings *s = count->settings;
        count->plan = memory_plan_count(count->memory_nbytes, count->nthreads, count->device.cuda);
        if (s->engine_memory_nbytes)
                count->plan.engine_nbytes = s->engine_memory_nbytes;
        else
                count->nthreads = count->plan.nthreads;
        if (count->device.cuda && !s->memory_nbytes)
                count->plan.reader_nbytes = 0; /* pinned_memory leaves enough for any reader */
}

static enum kc_status open_reader(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_reader_options reading = { .k = count->k,
                                             .min_quality = (int)s->min_quality,
                                             .nworkers = count->nthreads,
                                             .memory_nbytes = count->plan.reader_nbytes,
                                             .bound = count->plan.reader_bound,
                                             .job = count->job };
        return kc_reader_open(&count->reader, count->inputs, count->ninputs, &reading, err);
}

static enum kc_status create_store(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_store_options storing = { .k = count->k,
                                            .stranded = count->stranded,
                                            .replace = s->force,
                                            .guard = signals_guard,
                                            .min_count = (uint32_t)s->min_count,
                                            .max_count = (uint32_t)s->max_count };
        return kc_store_create(&count->writer, count->output, &storing, err);
}

/* Report an unusable folder now, not when memory is used up. */
static enum kc_status try_tmp(const char *folder, struct kc_error *err)
{
        int fd;
        enum kc_status status = kc_temp_file_open(folder, &fd, err);
        if (status == KC_OK)
                close(fd);
        return status;
}

/* An @LIST is an input, too. */
static enum kc_status check_operands(const struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < count->ninputs; i++) {
                const char *name = count->inputs[i] + (count->inputs[i][0] == '@');
                KC_TRY(output_check_inputs(count->output, &name, 1, err));
        }
out:
        return status;
}

/* Refuse whatever can be refused before any input is read: opening the reader may wait for standard
 * input. */
static enum kc_status open_all(struct count *count, struct kc_error *err)
{
        const char *const *names;
        enum kc_status status;
        KC_TRY(check_operands(count, err));
        if (!count->adds) {
                KC_TRY(output_check(count->output, count->settings->force, err));
                KC_TRY(create_store(count, err));
        }
        KC_TRY(try_tmp(count->tmp_dir, err));
        plan_memory(count);
        KC_TRY(open_reader(count, err));
        size_t nnames = kc_reader_names(count->reader, &names);
        KC_TRY(output_check_inputs(count->output, names, nnames, err));
out:
        return status;
}

/* Whether all inputs can be read again from their beginning: their sizes are known, and none is one
 * of our own descriptors, whose file position htslib advances when it reads. */
static bool is_rereadable(const struct count *count)
{
        const char *const *names;
        size_t n = kc_reader_names(count->reader, &names);
        for (size_t i = 0; i < n; i++)
                if (strcmp(names[i], "-") == 0)
                        return false;
        return atomic_load(&count->job->total) > 0;
}

static enum kc_status run_cuda(struct count *count, const struct kc_count_params *params,
                               const struct kc_batch_source *source, const struct kc_run_sink *sink,
                               struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_gpu_params gpu = {
                .device = count->device.index,
                .table = count->device.table,
                .memory_nbytes = s->gpu_memory_nbytes,
                .pinned_nbytes = s->memory_nbytes ? 0 : pinned_memory(count->memory_nbytes),
                .batch_nkmers = s->gpu_batch_nkmers,
                .read_ahead = is_rereadable(count),
                .trace = s->gpu_trace,
        };
        return kc_gpu_count(params, &gpu, source, sink, count->job, &count->totals, &count->gpu,
                            err);
}

static enum kc_status run_engine(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_count_params params = {
                .k = count->k,
                .stranded = count->stranded,
                .nthreads = count->nthreads,
                .memory_nbytes = count->plan.engine_nbytes,
                .tmp_dir = count->tmp_dir,
                .expected_nbases = kc_reader_expected_nbases(count->reader),
        };
        static const char *const names[KC_NSTAGES] = { "read", "count", "order" };
        struct kc_batch_source source = kc_reader_source(count->reader);
        struct kc_run_sink sink = kc_store_sink(count->writer);
        struct progress *progress =
                progress_start(count->job, names, true, !s->quiet && !s->no_progress);
        enum kc_status status;
        if (count->device.cuda)
                status = run_cuda(count, &params, &source, &sink, err);
        else
                status = kc_cpu_count(&params, &source, &sink, count->job, &count->totals, err);
        progress_stop(progress);
        return status;
}

/* Count on the CPU, from the beginning of the input. */
static enum kc_status run_again(struct count *count, struct kc_error *err)
{
        plan_memory(count);
        if (is_rereadable(count)) {
                kc_reader_close(count->reader);
                count->reader = NULL;
                enum kc_status status = open_reader(count, err);
                if (status != KC_OK)
                        return status;
        }
        return run_engine(count, err);
}

static enum kc_status run_some_engine(struct count *count, struct kc_error *err)
{
        struct kc_error own = { 0 };
        enum kc_status status = run_engine(count, &own);
        if (device_fall_back(&count->device, DEVICE_COUNTS, &count->gpu, &own,
                             count->settings->quiet))
                return run_again(count, err);
        return status == KC_OK ? KC_OK : kc_fail(err, status, "%s", own.message);
}

static enum kc_status commit(struct count *count, struct kc_error *err)
{
        struct kc_reader_totals read;
        kc_reader_totals(count->reader, &read);
        struct kc_store_origin origin = { .nreads = read.nreads,
                                          .nbases = read.nbases,
                                          .nskipped = read.nskipped,
                                          .nlow_quality = read.nlow_quality,
                                          .nkmers = count->totals.nkmers,
                                          .nsaturated = count->totals.nsaturated };
        origin.nnames = kc_reader_names(count->reader, &origin.names);
        struct kc_store_writer *writer = count->writer;
        count->writer = NULL; /* commit frees it, even on failure */
        if (signals_caught()) {
                kc_store_abort(writer);
                return kc_fail(err, KC_ECANCELED, "interrupted");
        }
        return kc_store_commit(writer, &origin, &count->written, err);
}

static struct summary summarize(const struct count *count, const struct invocation *call)
{
        struct summary summary = { .command_line = call->line,
                                   .adds = count->adds,
                                   .output = count->output,
                                   .nthreads = count->nthreads,
                                   .min_quality = (int)count->settings->min_quality,
                                   .memory_nbytes = count->memory_nbytes,
                                   .device = count->device,
                                   .gpu = count->gpu,
                                   .counted = count->totals,
                                   .stored = count->written.info,
                                   .nunique = count->written.nunique,
                                   .wall_seconds = kc_clock_seconds() - call->start_seconds,
                                   .user_seconds = machine_user_seconds(),
                                   .system_seconds = machine_system_seconds(),
                                   .peak_nbytes = machine_peak_nbytes() };
        kc_reader_totals(count->reader, &summary.read);
        summary.ninputs = kc_reader_names(count->reader, &summary.inputs);
        return summary;
}

static void report(const struct count_settings *settings, const struct invocation *call,
                   const struct summary *summary)
{
        if (!settings->quiet) {
                struct text_out messages;
                text_out_stderr(&messages);
                summary_text(&messages, summary);
                text_out_flush(&messages);
        }
        if (settings->json)
                summary_json(call->out, summary);
}

static void report_count(const struct count *count, const struct invocation *call)
{
        struct summary summary = summarize(count, call);
        if (count->adds) /* nothing is dropped from an added run */
                summary.stored.ndropped_distinct = summary.stored.ndropped_kmers = 0;
        if (summary.counted.nkmers == 0)
                fprintf(stderr,
                        "kcount: warning: no k-mer was counted: no stretch of usable bases "
                        "is %d long\n",
                        summary.stored.k);
        report(count->settings, call, &summary);
}

/* --reader-only */
static enum kc_status only_read(struct count *count, const struct invocation *call,
                                struct kc_error *err)
{
        enum kc_status status;
        plan_memory(count);
        KC_TRY(open_reader(count, err));
        KC_TRY(reader_only(count->reader, count->nthreads, err));
        struct summary summary = summarize(count, call);
        summary.reader_only = true;
        report(count->settings, call, &summary);
out:
        return status;
}

static enum kc_status count_all(struct count *count, const struct invocation *call,
                                struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        enum kc_status status;
        KC_TRY(resolve(count, err));
        if (s->reader_only)
                return only_read(count, call, err);
        KC_TRY(device_choose(&count->device, s->device, s->table, count->k, DEVICE_COUNTS, s->quiet,
                             err));
        KC_TRY(open_all(count, err));
        KC_TRY(run_some_engine(count, err));
        KC_TRY(commit(count, err));
        report_count(count, call);
out:
        return status;
}

static void close_count(struct count *count)
{
        kc_store_abort(count->writer);
        kc_reader_close(count->reader);
        free(count->tmp_dir);
        free(count->output);
}

enum kc_status counting_create(const struct invocation *call, struct kc_error *err)
{
        /* static, because the signal thread uses it until the process ends */
        static struct kc_job job;
        struct count count = { .settings = call->settings,
                               .job = &job,
                               .inputs = call->operands,
                               .ninputs = (size_t)call->noperands };
        enum kc_status status;
        KC_TRY(check_settings(count.settings, err));
        signals_install(&job);
        KC_TRY(count_all(&count, call, err));
out:
        close_count(&count);
        return status;
}

enum kc_status counting_add(const struct invocation *call, struct kc_error *err)
{
        static struct kc_job job;
        struct count count = { .settings = call->settings,
                               .adds = true,
                               .job = &job,
                               .inputs = call->operands + 1,
                               .ninputs = (size_t)call->noperands - 1 };
        enum kc_status status;
        KC_TRY(check_settings(count.settings, err));
        count.output = strdup(call->operands[0]);
        if (count.output == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        signals_install(&job);
        KC_TRY(stores_append(&count.writer, count.output, false, &count.k, &count.stranded, err));
        KC_TRY(count_all(&count, call, err));
out:
        close_count(&count);
        return status;
}
