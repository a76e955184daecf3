#include "app/counting.h"

#include "app/machine.h"
#include "app/output_name.h"
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
        struct writing writing;
        bool adds;                      /* output is a .kc file to which a run is added */
        struct kc_histogram *histogram; /* takes the counts if nothing is written; or NULL */
        int k;
        bool stranded;
        const char *const *inputs;
        size_t ninputs;
        char *output; /* NULL if nothing is written */
        char *tmp_dir;
        uint64_t memory_nbytes;
        struct memory_plan plan; /* how memory_nbytes is divided */
        bool tried_device;
        struct kc_reader *reader;
        struct kc_count_totals totals;
        struct kc_histogram_row *rows; /* [nrows] if they are wanted */
        size_t nrows;
};

/* Two thirds of the default bound, which is half of the available memory. Pinned memory cannot be
 * swapped, and input, --tmp and output may be on a RAM disk; runs also spill to --tmp. */
static uint64_t pinned_memory(uint64_t memory_nbytes)
{
        return memory_nbytes / 3 * 2;
}

static enum kc_status check_settings(const struct count_settings *s, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
        if (s->output)
                KC_TRY(output_check_stdout(s->output, "-o", err));
        if (s->output && *s->output == '\0')
                return kc_fail(err, KC_EUSAGE, "-o/--output: the file's name is empty");
        if (s->histogram && !s->common.json)
                return kc_fail(err, KC_EUSAGE,
                               "--histogram adds the histogram to the summary in JSON; it needs "
                               "--json");
        KC_TRY(device_check(s->device, s->table, err));
out:
        return status;
}

static enum kc_status resolve(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        count->memory_nbytes = s->memory_nbytes ? s->memory_nbytes : memory_default_nbytes();
        if (!count->adds) {
                count->k = (int)s->k;
                count->stranded = s->stranded;
        }
        if (!count->adds && count->histogram == NULL)
                count->output = s->output ? strdup(s->output) : output_name(count->inputs[0]);
        if (s->tmp_dir != NULL || count->histogram != NULL)
                count->tmp_dir = strdup(s->tmp_dir ? s->tmp_dir : ".");
        else if (count->output != NULL)
                count->tmp_dir = kc_path_folder(count->output);
        if (count->tmp_dir == NULL || (count->output == NULL && count->histogram == NULL))
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

/* To be called once the engine is chosen, because the number of threads that share the memory
 * depends on it. */
static void plan_memory(struct count *count)
{
        const struct count_settings *s = count->settings;
        struct writing *w = &count->writing;
        count->plan = memory_plan_count(count->memory_nbytes, w->nthreads, w->device.cuda);
        if (s->engine_memory_nbytes)
                count->plan.engine_nbytes = s->engine_memory_nbytes;
        else
                w->nthreads = count->plan.nthreads;
        if (w->device.cuda && !s->memory_nbytes)
                count->plan.reader_nbytes = 0; /* pinned_memory leaves enough for any reader */
}

static enum kc_status open_reader(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_reader_options reading = { .k = count->k,
                                             .min_quality = (int)s->min_quality,
                                             .nworkers = count->writing.nthreads,
                                             .memory_nbytes = count->plan.reader_nbytes,
                                             .bound = count->plan.reader_bound,
                                             .job = count->writing.job };
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
                                            .max_count = (uint32_t)s->max_count,
                                            .wants_rows = s->histogram };
        return kc_store_create(&count->writing.writer, count->output, &storing, err);
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

/* Check that none of the names is the output's. */
static enum kc_status check_names(const struct count *count, const char *const *names, size_t n,
                                  struct kc_error *err)
{
        return count->output != NULL ? output_check_inputs(count->output, names, n, err) : KC_OK;
}

/* An @LIST is an input, too. */
static enum kc_status check_operands(const struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < count->ninputs; i++) {
                const char *name = count->inputs[i] + (count->inputs[i][0] == '@');
                KC_TRY(check_names(count, &name, 1, err));
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
        if (!count->adds && count->output != NULL) {
                KC_TRY(output_check(count->output, count->settings->force, err));
                KC_TRY(create_store(count, err));
        }
        KC_TRY(try_tmp(count->tmp_dir, err));
        plan_memory(count);
        KC_TRY(open_reader(count, err));
        size_t nnames = kc_reader_names(count->reader, &names);
        KC_TRY(check_names(count, names, nnames, err));
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
        return atomic_load(&count->writing.job->total) > 0;
}

static struct kc_count_params engine_params(const struct count *count)
{
        return (struct kc_count_params){
                .k = count->k,
                .stranded = count->stranded,
                .nthreads = count->writing.nthreads,
                .memory_nbytes = count->plan.engine_nbytes,
                .tmp_dir = count->tmp_dir,
                .expected_nbases = kc_reader_expected_nbases(count->reader),
        };
}

static struct kc_run_sink sink_of(const struct count *count)
{
        return count->histogram != NULL ? kc_histogram_sink(count->histogram)
                                        : kc_store_sink(count->writing.writer);
}

static enum kc_status count_on_device(void *ctx, struct kc_error *err)
{
        struct count *count = ctx;
        struct writing *w = &count->writing;
        const struct count_settings *s = count->settings;
        const struct kc_count_params params = engine_params(count);
        const struct kc_gpu_params gpu = {
                .device = w->device.index,
                .table = w->device.table,
                .memory_nbytes = s->gpu_memory_nbytes,
                .pinned_nbytes = s->memory_nbytes ? 0 : pinned_memory(count->memory_nbytes),
                .batch_nkmers = s->gpu_batch_nkmers,
                .read_ahead = is_rereadable(count),
                .trace = s->gpu_trace,
        };
        const struct kc_batch_source source = kc_reader_source(count->reader);
        const struct kc_run_sink sink = sink_of(count);
        count->tried_device = true;
        return kc_gpu_count(&params, &gpu, &source, &sink, w->job, &count->totals, &w->gpu, err);
}

/* After a device that could not start: plan for the CPU, from the beginning of the input. */
static enum kc_status begin_again(struct count *count, struct kc_error *err)
{
        plan_memory(count);
        if (!is_rereadable(count))
                return KC_OK;
        kc_reader_close(count->reader);
        count->reader = NULL;
        return open_reader(count, err);
}

static enum kc_status count_on_cpu(void *ctx, struct kc_error *err)
{
        struct count *count = ctx;
        struct writing *w = &count->writing;
        enum kc_status status;
        if (count->tried_device)
                KC_TRY(begin_again(count, err));
        const struct kc_count_params params = engine_params(count);
        const struct kc_batch_source source = kc_reader_source(count->reader);
        const struct kc_run_sink sink = sink_of(count);
        KC_TRY(kc_cpu_count(&params, &source, &sink, w->job, &count->totals, err));
out:
        return status;
}

static enum kc_status count_somewhere(struct count *count, struct kc_error *err)
{
        static const char *const stages[KC_NSTAGES] = { "read", "count", "order" };
        const struct writing_work work = { .ctx = count,
                                           .on_device = count_on_device,
                                           .on_cpu = count_on_cpu,
                                           .stages = stages,
                                           .first_in_bytes = true };
        return writing_run(&count->writing, &work, err);
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
        enum kc_status status = writing_commit(&count->writing, &origin, err);
        count->rows = count->writing.written.rows;
        count->nrows = count->writing.written.nrows;
        return status;
}

/* Take the rows, which the summary then describes in place of a file. */
static enum kc_status take_rows(struct count *count, struct kc_error *err)
{
        struct kc_store_written *written = &count->writing.written;
        enum kc_status status = kc_histogram_rows(count->histogram, &count->totals, &count->rows,
                                                  &count->nrows, err);
        written->info.k = count->k;
        if (status == KC_OK && count->nrows > 0 && count->rows[0].count == 1)
                written->nunique = count->rows[0].ndistinct;
        return status;
}

static void report(const struct count *count)
{
        const struct writing *w = &count->writing;
        struct summary summary = { .adds = count->adds,
                                   .output = count->output,
                                   .nthreads = w->nthreads,
                                   .min_quality = (int)count->settings->min_quality,
                                   .memory_nbytes = count->memory_nbytes,
                                   .device = w->device,
                                   .gpu = w->gpu,
                                   .reader_only = count->settings->reader_only,
                                   .counted = count->totals,
                                   .stored = w->written.info,
                                   .nunique = w->written.nunique,
                                   .rows = count->rows,
                                   .nrows = count->nrows,
                                   .wall_seconds = kc_clock_seconds() - w->call->start_seconds,
                                   .user_seconds = machine_user_seconds(),
                                   .system_seconds = machine_system_seconds(),
                                   .peak_nbytes = machine_peak_nbytes() };
        kc_reader_totals(count->reader, &summary.read);
        summary.ninputs = kc_reader_names(count->reader, &summary.inputs);
        if (count->adds) /* nothing is dropped from an added run */
                summary.stored.ndropped_distinct = summary.stored.ndropped_kmers = 0;
        writing_report(w, &(struct writing_report){ &summary, summary_put_text, summary_put_json });
}

static void warn_if_nothing(const struct count *count)
{
        if (count->totals.nkmers == 0)
                fprintf(stderr,
                        "kcount: warning: no k-mer was counted: no read has %d usable bases "
                        "in a row\n",
                        count->k);
}

/* --reader-only */
static enum kc_status only_read(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        plan_memory(count);
        KC_TRY(open_reader(count, err));
        KC_TRY(reader_only(count->reader, count->writing.nthreads, err));
        report(count);
out:
        return status;
}

static enum kc_status count_all(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        enum kc_status status;
        KC_TRY(resolve(count, err));
        if (s->reader_only)
                return only_read(count, err);
        KC_TRY(device_choose(&count->writing.device, s->device, s->table, count->k, DEVICE_COUNTS,
                             s->common.quiet, err));
        KC_TRY(open_all(count, err));
        KC_TRY(count_somewhere(count, err));
        KC_TRY(count->histogram != NULL ? take_rows(count, err) : commit(count, err));
        warn_if_nothing(count);
        report(count);
out:
        return status;
}

static void close_count(struct count *count)
{
        kc_store_abort(count->writing.writer);
        kc_reader_close(count->reader);
        kc_histogram_free(count->histogram);
        free(count->rows);
        free(count->tmp_dir);
        free(count->output);
}

/* The inputs are the operands from `first` on. */
static struct count begin(const struct invocation *call, int first)
{
        const struct count_settings *settings = call->settings;
        return (struct count){ .settings = settings,
                               .writing = writing_of(call, &settings->common),
                               .inputs = call->operands + first,
                               .ninputs = (size_t)(call->noperands - first) };
}

enum kc_status counting_create(const struct invocation *call, struct kc_error *err)
{
        struct count count = begin(call, 0);
        enum kc_status status;
        KC_TRY(check_settings(count.settings, err));
        signals_install(count.writing.job);
        KC_TRY(count_all(&count, err));
out:
        close_count(&count);
        return status;
}

enum kc_status counting_add(const struct invocation *call, struct kc_error *err)
{
        struct count count = begin(call, 1);
        enum kc_status status;
        count.adds = true;
        KC_TRY(check_settings(count.settings, err));
        count.output = strdup(call->operands[0]);
        if (count.output == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        signals_install(count.writing.job);
        KC_TRY(stores_append(&count.writing.writer, count.output, false, &count.k, &count.stranded,
                             err));
        KC_TRY(count_all(&count, err));
out:
        close_count(&count);
        return status;
}

enum kc_status counting_histogram(const struct invocation *call, struct kc_histogram_row **rows,
                                  size_t *nrows, struct kc_error *err)
{
        struct count count = begin(call, 0);
        enum kc_status status;
        KC_TRY(check_settings(count.settings, err));
        KC_TRY(kc_histogram_new(&count.histogram, err));
        signals_install(count.writing.job);
        KC_TRY(count_all(&count, err));
        *rows = count.rows;
        *nrows = count.nrows;
        count.rows = NULL; /* the caller's */
out:
        close_count(&count);
        return status;
}
