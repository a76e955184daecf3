#include "app/counting.h"

#include "app/exporting.h"
#include "app/joint_devices.h"
#include "app/machine.h"
#include "app/output_name.h"
#include "app/rank_guests.h"
#include "app/rank_report.h"
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

/* What is counted with one k. */
struct count_output {
        int k;
        char *path;        /* NULL if nothing is written */
        char *export_path; /* NULL if the file is not exported as well */
        struct kc_store_writer *writer;
        struct kc_store_guest *guest; /* of a rank that writes to rank 0's file; or NULL */
        struct kc_run_sink sink;
        uint64_t nguest; /* bytes that this guest has written */
        /* when it has been counted */
        struct device_choice device;
        struct kc_gpu_report gpu;
        struct kc_count_totals totals;
        struct kc_store_written written;
        struct kc_histogram_row *rows; /* [nrows] if they are wanted */
        size_t nrows;
        char labels[KC_NSTAGES - 1][16]; /* of its stages, for the progress bar */
};

/* A count in progress: what was opened, and what will be reported. */
struct count {
        const struct count_settings *settings;
        struct writing writing;
        bool adds;                      /* the output is a .kc file to which a run is added */
        struct kc_histogram *histogram; /* takes the counts if nothing is written; or NULL */
        struct count_output outputs[OPTION_NUMBERS_MAX];
        int noutputs;
        bool stranded;
        enum kc_file_format format; /* of the exports */
        const char *const *inputs;
        size_t ninputs;
        char *tmp_dir;
        uint64_t memory_nbytes;
        struct memory_plan plan; /* how memory_nbytes is divided */
        bool rereadable;         /* all inputs, from their beginning */
        bool tried_device;
        struct kc_reader *reader;
        struct ranks *ranks;            /* that count together; or NULL */
        struct rank_report *reports;    /* [ranks_count] when they have counted; or NULL */
        struct writing_settings silent; /* of a rank that does not report */
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
        if (s->output && s->ks.n > 1 && s->output[strlen(s->output) - 1] == '/')
                return kc_fail(err, KC_EUSAGE, "-o/--output: '%s' is a folder, not a file",
                               s->output);
        if (s->histogram && !s->common.json)
                return kc_fail(err, KC_EUSAGE,
                               "--histogram adds the histogram to the summary in JSON; it needs "
                               "--json");
        KC_TRY(device_check(s->device, s->table, DEVICE_COUNTS, err));
        if (strcmp(s->reader, "auto") != 0 && strcmp(s->reader, "host") != 0 &&
            strcmp(s->reader, "device") != 0)
                return kc_fail(err, KC_EUSAGE, "--reader: '%s' is not one of auto, host, device",
                               s->reader);
out:
        return status;
}

/* The names of new files: one, or one for each k. */
static enum kc_status name_outputs(struct count *count, struct kc_error *err)
{
        const char *given = count->settings->output;
        char *name = given ? strdup(given) : output_name(count->inputs[0]);
        bool named = name != NULL;
        for (int i = 0; i < count->noutputs && named; i++) {
                struct count_output *o = &count->outputs[i];
                o->path = count->noutputs == 1 ? strdup(name) : output_name_for(name, o->k);
                named = o->path != NULL;
        }
        free(name);
        return named ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

static enum kc_status resolve(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        enum kc_status status = KC_OK;
        count->memory_nbytes = s->memory_nbytes ? s->memory_nbytes
                                                : memory_default_nbytes(ranks_local(count->ranks));
        if (!count->adds) {
                count->noutputs = (int)s->ks.n;
                for (int i = 0; i < count->noutputs; i++)
                        count->outputs[i].k = (int)s->ks.values[i];
                count->stranded = s->stranded;
        }
        if (!count->adds && count->histogram == NULL)
                KC_TRY(name_outputs(count, err));
        if (s->tmp_dir != NULL || count->histogram != NULL)
                count->tmp_dir = strdup(s->tmp_dir ? s->tmp_dir : ".");
        else
                count->tmp_dir = kc_path_folder(count->outputs[0].path);
        if (count->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
out:
        return status;
}

static struct exporting export_of(const struct count *count, const struct count_output *o)
{
        const struct count_settings *s = count->settings;
        return (struct exporting){ .format = count->format,
                                   .output = o->export_path,
                                   .min_count = (uint32_t)s->min_count,
                                   .max_count = (uint32_t)s->max_count,
                                   .force = s->force };
}

/* Name the exports, and find out before anything is read whether they can be written. */
static enum kc_status prepare_exports(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(exporting_format(count->settings->format, &count->format, err));
        for (int i = 0; i < count->noutputs; i++) {
                struct count_output *o = &count->outputs[i];
                o->export_path = exporting_name(o->path, count->format);
                if (o->export_path == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                const struct exporting exporting = export_of(count, o);
                KC_TRY(exporting_check(&exporting, o->k, count->stranded, err));
        }
out:
        return status;
}

/* Export the files that have just been written. */
static enum kc_status export_all(const struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < count->noutputs && status == KC_OK; i++) {
                const struct count_output *o = &count->outputs[i];
                const struct exporting exporting = export_of(count, o);
                struct kc_store *store = NULL;
                status = kc_store_open(&store, o->path, err);
                if (status == KC_OK)
                        status = exporting_write(&exporting, store, err);
                kc_store_close(store);
        }
        return status;
}

/* To be called once the engine is chosen, because the number of threads that share the memory
 * depends on it. */
static void plan_memory(struct count *count)
{
        const struct count_settings *s = count->settings;
        struct writing *w = &count->writing;
        const uint64_t messages = ranks_nbytes(count->ranks, w->nthreads);
        const uint64_t rest = count->memory_nbytes > 2 * messages ? count->memory_nbytes - messages
                                                                  : count->memory_nbytes / 2;
        count->plan = memory_plan_count(rest, w->nthreads, w->device.cuda);
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
        int min_k = KC_MAX_K, max_k = 1;
        for (int i = 0; i < count->noutputs; i++) {
                const int k = count->outputs[i].k;
                min_k = k < min_k ? k : min_k;
                max_k = k > max_k ? k : max_k;
        }
        struct kc_reader_options reading = { .k = min_k,
                                             .max_k = max_k,
                                             .min_quality = (int)s->min_quality,
                                             .nworkers = count->writing.nthreads,
                                             .memory_nbytes = count->plan.reader_nbytes,
                                             .bound = count->plan.reader_bound,
                                             .job = count->writing.job };
        if (count->ranks != NULL) {
                reading.rank = count->ranks->exchange.rank;
                reading.nranks = ranks_count(count->ranks);
        }
        kc_reader_close(count->reader);
        count->reader = NULL;
        return kc_reader_open(&count->reader, count->inputs, count->ninputs, &reading, err);
}

static enum kc_status create_store(const struct count *count, struct count_output *o,
                                   struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_store_options storing = { .k = o->k,
                                            .stranded = count->stranded,
                                            .replace = s->force,
                                            .guard = signals_guard,
                                            .min_count = (uint32_t)s->min_count,
                                            .max_count = (uint32_t)s->max_count,
                                            .wants_rows = s->histogram };
        return kc_store_create(&o->writer, o->path, &storing, err);
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

/* Check that none of the names is an output's. */
static enum kc_status check_names(const struct count *count, const char *const *names, size_t n,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < count->noutputs; i++)
                if (count->outputs[i].path != NULL)
                        KC_TRY(output_check_inputs(count->outputs[i].path, names, n, err));
out:
        return status;
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

static enum kc_status create_outputs(struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < count->noutputs; i++)
                KC_TRY(output_check(count->outputs[i].path, count->settings->force, err));
        for (int i = 0; i < count->noutputs; i++)
                KC_TRY(create_store(count, &count->outputs[i], err));
out:
        return status;
}

/* Whether this rank creates new files. */
static bool writes_file(const struct count *count)
{
        return !count->adds && count->histogram == NULL && ranks_is_first(count->ranks);
}

static void cancel_nothing(void *ctx)
{
        (void)ctx;
}

static struct kc_run_sink sink_of(const struct count *count, const struct count_output *o)
{
        const struct count_settings *s = count->settings;
        if (count->histogram != NULL)
                return kc_histogram_sink(count->histogram);
        if (o->writer != NULL)
                return kc_store_sink(o->writer);
        /* the engine gives a rank that writes no file nothing, but filters what it counts */
        return (struct kc_run_sink){ .filter = { s->min_count ? (uint32_t)s->min_count : 1,
                                                 s->max_count ? (uint32_t)s->max_count
                                                              : UINT32_MAX },
                                     .cancel = cancel_nothing };
}

/* Refuse whatever can be refused before any input is read: opening the reader may wait for standard
 * input. */
static enum kc_status open_all(struct count *count, struct kc_error *err)
{
        const char *const *names;
        enum kc_status status;
        KC_TRY(check_operands(count, err));
        if (writes_file(count))
                KC_TRY(create_outputs(count, err));
        for (int i = 0; i < count->noutputs; i++)
                count->outputs[i].sink = sink_of(count, &count->outputs[i]);
        KC_TRY(try_tmp(count->tmp_dir, err));
        plan_memory(count);
        KC_TRY(open_reader(count, err));
        count->rereadable = is_rereadable(count);
        size_t nnames = kc_reader_names(count->reader, &names);
        KC_TRY(check_names(count, names, nnames, err));
out:
        return status;
}

/* Let the other ranks write to rank 0's files, if they can open them. */
static enum kc_status share_outputs(struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (count->ranks == NULL || count->histogram != NULL || count->settings->gather)
                return KC_OK;
        for (int i = 0; i < count->noutputs; i++) {
                struct count_output *o = &count->outputs[i];
                KC_TRY(rank_guests_invite(count->ranks, o->writer, o->path, o->k, &o->guest, err));
                if (o->guest != NULL)
                        o->sink.guest = kc_store_guest_interface(o->guest);
        }
out:
        return status;
}

/* This rank has written everything that it writes to rank 0's files. */
static enum kc_status end_guests(struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < count->noutputs; i++) {
                struct count_output *o = &count->outputs[i];
                if (o->guest != NULL)
                        KC_TRY(kc_store_guest_end(o->guest, &o->nguest, err));
        }
out:
        return status;
}

static struct kc_count_params engine_params(const struct count *count)
{
        return (struct kc_count_params){
                .stranded = count->stranded,
                .nthreads = count->writing.nthreads,
                .memory_nbytes = count->plan.engine_nbytes,
                .tmp_dir = count->tmp_dir,
                .expected_nbases = kc_reader_expected_nbases(count->reader),
                .exchange = count->ranks != NULL ? &count->ranks->exchange : NULL,
        };
}

/*
 * Whether the device should inflate and parse the files. By default it does if that is faster:
 * BGZF and BAM, which take the host's cores a long time, if there is enough for a few rounds; and
 * plain text if there are few cores, and so much of it that they could parse only a part before
 * the device is open. On an H200 with 4 cores, the device read it in 0.85 of the host's time.
 */
static bool reads_on_device(const struct count *count, const struct kc_stored_source *source)
{
        enum { FEW_CORES = 4, LEAST_PACKED_MIB = 64, LEAST_PLAIN_MIB = 4096 };
        bool plain = false;
        uint64_t nbytes = 0;
        if (strcmp(count->settings->reader, "auto") != 0)
                return strcmp(count->settings->reader, "device") == 0;
        for (size_t i = 0; i < source->nfiles; i++) {
                plain |= !source->files[i].bgzf;
                nbytes += source->files[i].nbytes;
        }
        if (plain && count->writing.nthreads > FEW_CORES)
                return false;
        return nbytes >= (uint64_t)(plain ? LEAST_PLAIN_MIB : LEAST_PACKED_MIB) * MEMORY_MIB;
}

/* How much of the files a device reads at a time, if several devices read them: little enough that
 * all of them are busy until the end, but enough to be worth the effort. */
static uint64_t part_nbytes(const struct count *count, const struct kc_stored_source *source)
{
        enum { LEAST_MIB = 256, PARTS_EACH = 8 };
        const uint64_t nparts = (uint64_t)count->writing.device.ndevices * PARTS_EACH;
        const uint64_t small = count->settings->gpu_batch_nkmers;
        const uint64_t least = small != 0 ? small : LEAST_MIB * MEMORY_MIB;
        uint64_t nbytes = 0;
        for (size_t i = 0; i < source->nfiles; i++)
                nbytes += source->files[i].nbytes;
        return nbytes / nparts > least ? nbytes / nparts : least;
}

/* The files, if the device should read them. */
static const struct kc_stored_source *choose_reader(const struct count *count,
                                                    struct kc_stored_source *source)
{
        if (!kc_reader_stored(count->reader, UINT64_MAX, source) || !reads_on_device(count, source))
                return NULL;
        if (count->writing.device.ndevices > 1 &&
            !kc_reader_stored(count->reader, part_nbytes(count, source), source))
                return NULL;
        return source;
}

/* What is counted, for an engine. */
static void begin_tasks(const struct count *count, struct kc_count_task *tasks)
{
        for (int i = 0; i < count->noutputs; i++)
                tasks[i] = (struct kc_count_task){ .k = count->outputs[i].k,
                                                   .sink = &count->outputs[i].sink };
}

static void end_tasks(struct count *count, const struct kc_count_task *tasks)
{
        for (int i = 0; i < count->noutputs; i++) {
                count->outputs[i].totals = tasks[i].totals;
                count->outputs[i].device = count->writing.device;
        }
}

/* stored: space for the files, if the device should read them */
static struct kc_gpu_params device_params(const struct count *count,
                                          struct kc_stored_source *stored)
{
        const struct device_choice *device = &count->writing.device;
        const struct count_settings *s = count->settings;
        struct kc_gpu_params gpu = {
                .device = device->indices[0],
                .nothers = device->ndevices - 1,
                .table = device->table,
                .memory_nbytes = s->gpu_memory_nbytes,
                .pinned_nbytes = s->memory_nbytes ? 0 : pinned_memory(count->memory_nbytes),
                .batch_nkmers = s->gpu_batch_nkmers,
                .read_ahead = count->rereadable,
                .stored = choose_reader(count, stored),
                .trace = ranks_is_first(count->ranks) ? s->gpu_trace : NULL,
        };
        memcpy(gpu.others, device->indices + 1, (size_t)gpu.nothers * sizeof *gpu.others);
        return gpu;
}

static enum kc_status count_on_device(void *ctx, struct kc_error *err)
{
        struct count *count = ctx;
        struct writing *w = &count->writing;
        struct kc_count_task tasks[OPTION_NUMBERS_MAX];
        struct kc_gpu_report reports[OPTION_NUMBERS_MAX];
        struct kc_stored_source stored;
        const struct kc_batch_source source = kc_reader_source(count->reader);
        const struct kc_count_params params = engine_params(count);
        const struct kc_gpu_params gpu = device_params(count, &stored);
        const struct joint_devices_setup joint = { &params, &gpu, &source, w->job };
        enum kc_status status;
        count->tried_device = true;
        begin_tasks(count, tasks);
        if (count->ranks != NULL)
                status = joint_devices_count(&joint, tasks, count->noutputs, reports, err);
        else
                status = kc_gpu_count_all(&params, &gpu, &source, tasks, count->noutputs, w->job,
                                          reports, err);
        end_tasks(count, tasks);
        for (int i = 0; i < count->noutputs; i++)
                count->outputs[i].gpu = reports[i];
        w->gpu = reports[0];
        return status;
}

/* After a device that could not start: plan for the CPU, from the beginning of the input. */
static enum kc_status begin_again(struct count *count, struct kc_error *err)
{
        plan_memory(count);
        return count->rereadable ? open_reader(count, err) : KC_OK;
}

static enum kc_status count_on_cpu(void *ctx, struct kc_error *err)
{
        struct count *count = ctx;
        struct kc_count_task tasks[OPTION_NUMBERS_MAX];
        enum kc_status status;
        if (count->tried_device)
                KC_TRY(begin_again(count, err));
        const struct kc_count_params params = engine_params(count);
        const struct kc_batch_source source = kc_reader_source(count->reader);
        begin_tasks(count, tasks);
        KC_TRY(kc_cpu_count_all(&params, &source, tasks, count->noutputs, count->writing.job, err));
        end_tasks(count, tasks);
out:
        return status;
}

/* The names of the stages, in the order of their numbers (kc_stage_of).
 *   names  out [1 + 2 * noutputs] */
static void name_stages(struct count *count, const char **names)
{
        static const char *const usual[KC_NSTAGES] = { "read", "count", "order" };
        const bool with_k = count->noutputs > 1;
        names[0] = usual[0];
        for (int i = 0; i < count->noutputs; i++)
                for (int stage = 1; stage < KC_NSTAGES; stage++) {
                        char *label = count->outputs[i].labels[stage - 1];
                        const size_t nbytes = sizeof count->outputs[i].labels[0];
                        if (with_k)
                                snprintf(label, nbytes, "%s %d", usual[stage], count->outputs[i].k);
                        else
                                snprintf(label, nbytes, "%s", usual[stage]);
                        names[kc_stage_of(i, (enum kc_stage)stage)] = label;
                }
}

static enum kc_status count_somewhere(struct count *count, struct kc_error *err)
{
        const char *stages[1 + (KC_NSTAGES - 1) * OPTION_NUMBERS_MAX];
        name_stages(count, stages);
        const struct writing_work work = { .ctx = count,
                                           .on_device = count_on_device,
                                           .on_cpu = count_on_cpu,
                                           .stages = stages,
                                           .first_in_bytes = true };
        return writing_run(&count->writing, &work, err);
}

/* What this process has read, or all ranks have. */
static struct kc_reader_totals read_totals(const struct count *count)
{
        struct kc_reader_totals totals;
        if (count->reports != NULL)
                return rank_reports_read(count->reports, ranks_count(count->ranks));
        kc_reader_totals(count->reader, &totals);
        return totals;
}

static struct kc_store_origin origin_of(const struct count *count, const struct count_output *o)
{
        const struct kc_reader_totals read = read_totals(count);
        struct kc_store_origin origin = { .nreads = read.nreads,
                                          .nbases = read.nbases,
                                          .nskipped = read.nskipped,
                                          .nlow_quality = read.nlow_quality,
                                          .nkmers = o->totals.nkmers,
                                          .nsaturated = o->totals.nsaturated };
        origin.nnames = kc_reader_names(count->reader, &origin.names);
        return origin;
}

static enum kc_status commit_all(struct count *count, struct kc_error *err)
{
        struct kc_store_origin origins[OPTION_NUMBERS_MAX];
        struct kc_store_written written[OPTION_NUMBERS_MAX];
        struct kc_store_writer *writers[OPTION_NUMBERS_MAX];
        for (int i = 0; i < count->noutputs; i++) {
                origins[i] = origin_of(count, &count->outputs[i]);
                writers[i] = count->outputs[i].writer;
                count->outputs[i].writer = NULL; /* commit frees it, even on failure */
        }
        enum kc_status status =
                kc_stores_commit(writers, (size_t)count->noutputs, origins, written, err);
        for (int i = 0; i < count->noutputs && status == KC_OK; i++) {
                count->outputs[i].written = written[i];
                count->outputs[i].rows = written[i].rows;
                count->outputs[i].nrows = written[i].nrows;
        }
        return status;
}

static enum kc_status commit_added(struct count *count, struct kc_error *err)
{
        struct count_output *o = &count->outputs[0];
        const struct kc_store_origin origin = origin_of(count, o);
        struct kc_store_writer *writer = o->writer;
        o->writer = NULL; /* commit frees it, even on failure */
        return kc_store_commit(writer, &origin, &o->written, err);
}

/* Take the rows, which the summary then describes in place of a file. */
static enum kc_status take_rows(struct count *count, struct kc_error *err)
{
        struct count_output *o = &count->outputs[0];
        enum kc_status status =
                kc_histogram_rows(count->histogram, &o->totals, &o->rows, &o->nrows, err);
        o->written.info.k = o->k;
        if (status == KC_OK && o->nrows > 0 && o->rows[0].count == 1)
                o->written.nunique = o->rows[0].ndistinct;
        return status;
}

static enum kc_status commit(struct count *count, struct kc_error *err)
{
        if (count->histogram != NULL)
                return take_rows(count, err);
        return count->adds ? commit_added(count, err) : commit_all(count, err);
}

/* Rank 0 has written what the other ranks have not. */
static void add_first_rank(struct count *count)
{
        for (int i = 0; i < count->noutputs && count->reports != NULL; i++) {
                uint64_t *first = &count->reports[0].nwritten[i];
                *first = count->outputs[i].written.info.file_nbytes;
                for (int rank = 1; rank < ranks_count(count->ranks); rank++)
                        *first -= count->reports[rank].nwritten[i];
        }
}

/* What is the same for each k. */
static struct summary summary_of(const struct count *count)
{
        const struct writing *w = &count->writing;
        struct summary summary = { .adds = count->adds,
                                   .nthreads = w->nthreads,
                                   .min_quality = (int)count->settings->min_quality,
                                   .memory_nbytes = count->memory_nbytes,
                                   .reader_only = count->settings->reader_only,
                                   .wall_seconds = kc_clock_seconds() - w->call->start_seconds,
                                   .user_seconds = machine_user_seconds(),
                                   .system_seconds = machine_system_seconds(),
                                   .peak_nbytes = machine_peak_nbytes() };
        summary.read = read_totals(count);
        summary.ranks = count->reports;
        summary.nranks = count->reports != NULL ? ranks_count(count->ranks) : 0;
        summary.ninputs = kc_reader_names(count->reader, &summary.inputs);
        return summary;
}

static void report(const struct count *count)
{
        const struct summary common = summary_of(count);
        struct summary each[OPTION_NUMBERS_MAX];
        for (int i = 0; i < count->noutputs; i++) {
                const struct count_output *o = &count->outputs[i];
                each[i] = common;
                each[i].output = o->path;
                each[i].number = i;
                each[i].device = o->device;
                each[i].gpu = o->gpu;
                each[i].counted = o->totals;
                each[i].stored = o->written.info;
                each[i].nunique = o->written.nunique;
                each[i].rows = o->rows;
                each[i].nrows = o->nrows;
                if (count->adds) /* nothing is dropped from an added run */
                        each[i].stored.ndropped_distinct = each[i].stored.ndropped_kmers = 0;
        }
        const struct summaries all = { each, common.reader_only ? 1 : (size_t)count->noutputs };
        writing_report(&count->writing, &(struct writing_report){ .ctx = &all,
                                                                  .put_text = summary_put_text,
                                                                  .put_json = summary_put_json,
                                                                  .nobjects = all.n });
}

static void warn_if_nothing(const struct count *count)
{
        for (int i = 0; i < count->noutputs; i++)
                if (count->outputs[i].totals.nkmers == 0)
                        fprintf(stderr,
                                "kcount: warning: no k-mer was counted: no read has %d usable "
                                "bases in a row\n",
                                count->outputs[i].k);
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

static int largest_k(const struct count *count)
{
        int k = 1;
        for (int i = 0; i < count->noutputs; i++)
                k = count->outputs[i].k > k ? count->outputs[i].k : k;
        return k;
}

/* With several ranks, devices count only if the user asks for them. */
static enum kc_status choose_device(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct device_choice *device = &count->writing.device;
        const bool quiet = count->writing.settings->quiet;
        const char *wanted = s->device;
        enum kc_status status;
        if (count->ranks != NULL && s->table == NULL)
                wanted = device_if_named(wanted);
        KC_TRY(device_choose(device, wanted, s->table, largest_k(count), DEVICE_COUNTS, quiet,
                             err));
        if (count->ranks == NULL || !device->cuda)
                return KC_OK;
        if (strcmp(s->reader, "device") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "--reader device: with several processes, the host reads");
        KC_TRY(device_choose_for(device, wanted, ranks_local_number(count->ranks), err));
out:
        return status;
}

/* Everything that can be refused before counting. */
static enum kc_status prepare(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        enum kc_status status;
        KC_TRY(resolve(count, err));
        if (s->reader_only)
                return KC_OK;
        if (s->format != NULL && ranks_is_first(count->ranks))
                KC_TRY(prepare_exports(count, err));
        KC_TRY(choose_device(count, err));
        KC_TRY(open_all(count, err));
out:
        return status;
}

/* After counting: let rank 0 have what the others know. */
static enum kc_status gather(struct count *count, struct kc_error *err)
{
        struct rank_report own = { 0 };
        enum kc_status status;
        if (count->ranks == NULL)
                return KC_OK;
        if (count->histogram != NULL)
                KC_TRY(rank_histograms_add(count->ranks, count->histogram, err));
        kc_reader_totals(count->reader, &own.read);
        device_name(&count->writing.device, own.device);
        for (int i = 0; i < count->noutputs; i++) {
                own.ncounted[i] = count->outputs[i].totals.nown;
                own.nspilled[i] = count->outputs[i].totals.spilled_nbytes;
                own.nwritten[i] = count->outputs[i].nguest;
        }
        KC_TRY(rank_reports_gather(count->ranks, &own, &count->reports, err));
        for (int i = 0; i < count->noutputs; i++)
                for (int rank = 1; rank < ranks_count(count->ranks); rank++)
                        count->outputs[i].totals.spilled_nbytes += count->reports[rank].nspilled[i];
out:
        return status;
}

/* If the ranks saw different inputs, reads would be counted twice, or not at all. */
static enum kc_status check_same_inputs(const struct count *count, struct kc_error *err)
{
        bool same;
        enum kc_status status =
                ranks_compare(count->ranks, kc_reader_fingerprint(count->reader), &same, err);
        if (status == KC_OK && !same)
                status = kc_fail(err, KC_EINPUT,
                                 "this process does not see the same inputs, of the same sizes, as "
                                 "rank 0");
        return status;
}

static enum kc_status count_together(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(check_same_inputs(count, err));
        KC_TRY(share_outputs(count, err));
        KC_TRY(count_somewhere(count, err));
        KC_TRY(end_guests(count, err));
        KC_TRY(gather(count, err));
out:
        return status;
}

/* Rank 0, or the only process: write the outputs, and report. */
static enum kc_status finish(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(commit(count, err));
        add_first_rank(count);
        warn_if_nothing(count);
        report(count);
        if (count->settings->format != NULL)
                KC_TRY(export_all(count, err));
out:
        return status;
}

/* Only rank 0 speaks. */
static void silence(struct count *count)
{
        if (ranks_is_first(count->ranks))
                return;
        count->silent = *count->writing.settings;
        count->silent.quiet = true;
        count->silent.json = false;
        count->writing.settings = &count->silent;
}

static enum kc_status count_all(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        silence(count);
        KC_TRY(ranks_agree(count->ranks, prepare(count, err), err));
        ranks_set_patience(count->ranks, (double)count->settings->rank_patience);
        if (count->settings->reader_only)
                return only_read(count, err);
        KC_TRY(ranks_agree(count->ranks, count_together(count, err), err));
        if (ranks_is_first(count->ranks))
                KC_TRY(finish(count, err));
out:
        return status;
}

static void close_count(struct count *count)
{
        for (int i = 0; i < count->noutputs; i++) {
                kc_store_abort(count->outputs[i].writer);
                kc_store_leave(count->outputs[i].guest);
                free(count->outputs[i].rows);
                free(count->outputs[i].path);
                free(count->outputs[i].export_path);
        }
        kc_reader_close(count->reader);
        kc_histogram_free(count->histogram);
        free(count->reports);
        free(count->tmp_dir);
}

/* The inputs are the operands from `first` on. */
static struct count begin(const struct invocation *call, int first)
{
        const struct count_settings *settings = call->settings;
        const int nthreads = machine_nthreads(settings->common.nthreads);
        struct count count = { .settings = settings,
                               .writing = writing_of(call, &settings->common),
                               .ranks = call->ranks,
                               .inputs = call->operands + first,
                               .ninputs = (size_t)(call->noperands - first) };
        if (settings->common.nthreads == 0)
                count.writing.nthreads = ranks_share_of_cores(call->ranks, nthreads);
        return count;
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

static enum kc_status warn_of_sums(const char *path, struct kc_error *err)
{
        struct kc_store *store;
        struct kc_store_info info;
        enum kc_status status = kc_store_open(&store, path, err);
        if (status != KC_OK)
                return status;
        kc_store_get_info(store, &info);
        stores_warn_filtered(&info, path);
        kc_store_close(store);
        return KC_OK;
}

enum kc_status counting_add(const struct invocation *call, struct kc_error *err)
{
        struct count count = begin(call, 1);
        enum kc_status status;
        struct count_output *o = &count.outputs[0];
        count.adds = true;
        count.noutputs = 1;
        KC_TRY(check_settings(count.settings, err));
        o->path = strdup(call->operands[0]);
        if (o->path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        signals_install(count.writing.job);
        KC_TRY(stores_append(&o->writer, o->path, false, &o->k, &count.stranded, err));
        KC_TRY(warn_of_sums(o->path, err));
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
        *rows = count.outputs[0].rows;
        *nrows = count.outputs[0].nrows;
        count.outputs[0].rows = NULL; /* the caller's */
out:
        close_count(&count);
        return status;
}
