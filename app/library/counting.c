/* Counting for callers of the library, as app/count does it for the program. */
#include "app/library/device.h"
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/memory.h"
#include "app/library/output.h"
#include "app/library/references.h"
#include "app/library/same_file.h"
#include "app/library/working.h"
#include "cpu/cpu_engine.h"
#include "io/reader.h"
#include "io/sequences.h"
#include "kmer/remedy.h"

#include <stdio.h>
#include <string.h>

enum { MAX_QUALITY = 93 };

/* What to count: files, or sequences if next is set. */
struct count_input {
        const char *const *paths;
        size_t npaths;
        kcount_next_sequences *next;
        void *ctx;
};

struct count_call {
        struct count_input input;
        struct kcount_count_options options;
        struct kc_library_output output;
        int devices[KC_GPU_MAX_DEVICES], ndevices;
        bool on_device, may_fall_back;
        char notice[KCOUNT_NOTICE_NBYTES]; /* why no device has counted, if that is a surprise */
        uint64_t memory_nbytes;
        struct memory_plan plan;
        struct kc_job job;
        struct kc_reader *reader;
        struct kc_sequences *sequences;
        bool rereadable; /* whether the inputs can be read again from the beginning */
        struct kc_count_totals totals;
};

/* ---- the options ---- */

static enum kc_status check_numbers(const struct kcount_count_options *o, struct kc_error *err)
{
        const struct kc_library_limits limits = { o->min_count, o->max_count, o->nthreads,
                                                  o->memory_nbytes };
        if (o->k < 1 || o->k > KCOUNT_MAX_K)
                return kc_fail(err, KC_EUSAGE, "k is %d; it must be 1 to %d", o->k, KCOUNT_MAX_K);
        if (o->min_quality < 0 || o->min_quality > MAX_QUALITY)
                return kc_fail(err, KC_EUSAGE, "min_quality is %d; it must be 0 to %d",
                               o->min_quality, MAX_QUALITY);
        return kc_library_check_limits(&limits, err);
}

static enum kc_status check_input(const struct count_call *c, struct kc_error *err)
{
        if (c->input.next == NULL)
                return c->input.npaths > 0 ? KC_OK : kc_fail(err, KC_EUSAGE, "no file is named");
        if (c->options.hpc || c->options.min_quality > 0)
                return kc_fail(err, KC_EUSAGE,
                               "hpc and min_quality are for files, not for sequences in memory");
        return KC_OK;
}

static enum kc_status choose_device(struct count_call *c, struct kc_error *err)
{
        const char *device = c->options.device != NULL ? c->options.device : "auto";
        const int k = c->options.k;
        enum kc_status status;
        int n;
        KC_TRY(kc_device_parse(device, c->devices, &c->ndevices, err));
        c->may_fall_back = strcmp(device, "auto") == 0;
        c->on_device = c->ndevices > 0 && kc_gpu_has_engine() && k <= KC_GPU_ENGINE_MAX_K;
        if (c->ndevices == 0 || c->may_fall_back || c->on_device)
                return KC_OK;
        if (!kc_gpu_has_engine())
                return kc_gpu_devices(NULL, 0, &n, err); /* it fails, and says why */
        status = kc_fail_remedy(err, KC_EUSAGE, KC_REMEDY_CPU,
                                "the CUDA engine supports k up to %d, but k is %d",
                                KC_GPU_ENGINE_MAX_K, k);
out:
        return status;
}

/* Copy the options and check them. given: may be NULL. */
static enum kc_status take_options(struct count_call *c, const struct kcount_count_options *given,
                                   struct kc_error *err)
{
        const struct kcount_count_options usual = KCOUNT_COUNT_OPTIONS_INIT;
        enum kc_status status;
        c->options = usual;
        KC_TRY(kc_library_take_options(&c->options, sizeof usual, given,
                                       offsetof(struct kcount_count_options, stranded),
                                       "KCOUNT_COUNT_OPTIONS_INIT", err));
        KC_TRY(check_numbers(&c->options, err));
        KC_TRY(check_input(c, err));
        KC_TRY(choose_device(c, err));
        c->memory_nbytes =
                c->options.memory_nbytes > 0 ? c->options.memory_nbytes : kc_memory_guest_nbytes();
out:
        return status;
}

/* ---- before counting ---- */

static void plan_memory(struct count_call *c)
{
        const int nthreads = kc_machine_nthreads((uint64_t)c->options.nthreads);
        c->plan = kc_memory_plan_count(c->memory_nbytes, nthreads, c->on_device);
        if (c->on_device && c->options.memory_nbytes == 0)
                c->plan.reader_nbytes = 0; /* what may be pinned leaves enough for a reader */
}

static struct kc_reader_options reading_of(struct count_call *c)
{
        return (struct kc_reader_options){ .k = c->options.k,
                                           .min_quality = c->options.min_quality,
                                           .selection = { .hpc = c->options.hpc },
                                           .empty = c->options.accept_empty,
                                           .nworkers = c->plan.nthreads,
                                           .memory_nbytes = c->plan.reader_nbytes,
                                           .bound = c->plan.reader_bound,
                                           .job = &c->job };
}

static enum kc_status create_store(struct count_call *c, struct kc_error *err)
{
        const struct kc_store_options storing = { .k = c->options.k,
                                                  .stranded = c->options.stranded,
                                                  .hpc = c->options.hpc,
                                                  .replace = c->options.replace,
                                                  .min_count = c->options.min_count,
                                                  .max_count = c->options.max_count };
        return kc_library_output_create(&c->output, &storing, err);
}

static enum kc_status open_reader(struct count_call *c, struct kc_error *err)
{
        const char *output = c->output.path;
        const char *const *names;
        const struct kc_reader_options reading = reading_of(c);
        enum kc_status status;
        KC_TRY(kc_reader_open(&c->reader, c->input.paths, c->input.npaths, &reading, err));
        const size_t n = kc_reader_names(c->reader, &names);
        KC_TRY(kc_output_check_files(&output, 1, names, n, err));
        KC_TRY(kc_references_check(&output, 1, names, n, err));
        c->rereadable = kc_reader_is_rereadable(c->reader);
out:
        return status;
}

/* Pass on the sequences that the caller gives. */
static enum kc_status give(void *ctx, struct kc_sequence *sequences, size_t cap, size_t *n,
                           struct kc_error *err)
{
        struct count_call *c = ctx;
        struct kcount_sequence given[64];
        const size_t most = sizeof given / sizeof *given, room = cap < most ? cap : most;
        if (!c->input.next(c->input.ctx, given, room, n))
                return kc_fail(err, KC_ECANCELED, "the caller gave no more sequences");
        if (*n > room)
                return kc_fail(err, KC_EUSAGE,
                               "the callback gave %zu sequences, where there was room for %zu", *n,
                               room);
        for (size_t i = 0; i < *n; i++)
                sequences[i] = (struct kc_sequence){ given[i].bases, given[i].nbases };
        return KC_OK;
}

static enum kc_status open_input(struct count_call *c, struct kc_error *err)
{
        const struct kc_sequence_giver giver = { c, give };
        if (c->input.next == NULL)
                return open_reader(c, err);
        return kc_sequences_open(&c->sequences, c->options.k, c->plan.nthreads, &giver, &c->job,
                                 err);
}

/* ---- counting ---- */

static struct kc_batch_source source_of(const struct count_call *c)
{
        return c->reader != NULL ? kc_reader_source(c->reader) : kc_sequences_source(c->sequences);
}

static struct kc_count_params params_of(const struct count_call *c)
{
        return (struct kc_count_params){
                .stranded = c->options.stranded,
                .nthreads = c->plan.nthreads,
                .memory_nbytes = c->plan.engine_nbytes,
                .tmp_dir = c->output.tmp_folder,
                .expected_nbases = c->reader != NULL ? kc_reader_expected_nbases(c->reader) : 0,
        };
}

/* stored: out, the files if devices should read them; it must outlive the result */
static struct kc_gpu_params gpu_params_of(const struct count_call *c, uint64_t nbases,
                                          struct kc_stored_source *stored)
{
        const int ndevices = kc_devices_worth(c->ndevices, nbases);
        struct kc_gpu_params gpu = {
                .device = c->devices[0],
                .nothers = ndevices - 1,
                .nleft_out = c->ndevices - ndevices,
                .table = KC_TABLE_WARPDRIVE,
                .pinned_nbytes = c->options.memory_nbytes > 0
                                         ? 0
                                         : kc_device_pinned_nbytes(c->memory_nbytes),
                .read_ahead = c->rereadable,
        };
        if (c->reader != NULL)
                gpu.stored = kc_device_files(c->reader, KC_READING_FASTER, c->plan.nthreads,
                                             ndevices, 0, stored);
        memcpy(gpu.others, c->devices + 1, (size_t)(c->ndevices - 1) * sizeof *gpu.others);
        return gpu;
}

/* *began: whether the device was initialized. */
static enum kc_status count_on_device(struct count_call *c, struct kc_count_task *task, bool *began,
                                      struct kc_error *err)
{
        struct kc_stored_source stored;
        struct kc_gpu_report report;
        const struct kc_count_params params = params_of(c);
        const struct kc_gpu_params gpu = gpu_params_of(c, params.expected_nbases, &stored);
        const struct kc_batch_source source = source_of(c);
        const enum kc_status status =
                kc_gpu_count_all(&params, &gpu, &source, task, 1, &c->job, &report, err);
        *began = report.began;
        return status;
}

static enum kc_status count_on_cpu(struct count_call *c, struct kc_count_task *task,
                                   struct kc_error *err)
{
        const struct kc_count_params params = params_of(c);
        const struct kc_batch_source source = source_of(c);
        return kc_cpu_count_all(&params, &source, task, 1, &c->job, err);
}

/* A device could not start: plan for the CPU, and read the inputs from the beginning. That the
 * machine has no device is not worth a notice. */
static enum kc_status begin_again(struct count_call *c, const struct kc_error *reason,
                                  struct kc_error *err)
{
        if (reason->status != KC_ENODEVICE)
                snprintf(c->notice, sizeof c->notice, "%s: counted on the CPU", reason->message);
        c->on_device = false;
        plan_memory(c);
        const struct kc_reader_options reading = reading_of(c);
        return c->rereadable ? kc_reader_reopen(&c->reader, &reading, err) : KC_OK;
}

static enum kc_status count_on_engine(struct count_call *c, struct kc_error *err)
{
        const struct kc_run_sink sink = kc_store_sink(c->output.writer);
        struct kc_count_task task = { .k = c->options.k, .sink = &sink };
        enum kc_status status;
        if (c->on_device) {
                struct kc_error own = { 0 };
                bool began;
                status = count_on_device(c, &task, &began, &own);
                if (status != KC_OK && (began || !c->may_fall_back || !kc_device_is_unusable(&own)))
                        return kc_fail_as(err, &own);
                if (status != KC_OK)
                        KC_TRY(begin_again(c, &own, err));
        }
        if (!c->on_device)
                KC_TRY(count_on_cpu(c, &task, err));
        c->totals = task.totals;
out:
        return status;
}

/* ---- afterwards ---- */

static struct kc_store_origin origin_of(const struct count_call *c)
{
        struct kc_store_origin origin = { .nkmers = c->totals.nkmers,
                                          .nsaturated = c->totals.nsaturated };
        if (c->reader != NULL) {
                struct kc_reader_totals read;
                kc_reader_totals(c->reader, &read);
                origin.nreads = read.nreads;
                origin.nbases = read.nbases;
                origin.nskipped = read.nskipped;
                origin.nlow_quality = read.nlow_quality;
                origin.nnames = kc_reader_names(c->reader, &origin.names);
        } else {
                const struct kc_sequence_totals read = kc_sequences_totals(c->sequences);
                origin.nreads = read.nsequences;
                origin.nbases = read.nletters;
                origin.nskipped = read.nskipped;
        }
        return origin;
}

/* ctx: a struct count_call. */
static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct count_call *c = ctx;
        const char *output = c->output.path;
        enum kc_status status;
        if (c->input.next == NULL)
                KC_TRY(kc_output_check_operands(&output, 1, c->input.paths, c->input.npaths, err));
        KC_TRY(create_store(c, err));
        plan_memory(c);
        KC_TRY(open_input(c, err));
        KC_TRY(count_on_engine(c, err));
        const struct kc_store_origin origin = origin_of(c);
        KC_TRY(kc_library_output_commit(&c->output, &origin, &c->job, err));
out:
        return status;
}

static enum kcount_status count(const struct count_input *input,
                                const struct kcount_count_options *options, const char *output,
                                struct kcount_counts **counts, struct kcount_error **error)
{
        static const char *const stages[KC_NSTAGES] = { "reading", "counting", "writing" };
        struct count_call c = { .input = *input };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(take_options(&c, options, &err));
        KC_TRY(kc_library_output_name(&c.output, output, c.options.tmp_folder, counts != NULL,
                                      c.options.guard, &err));
        const struct kc_working working = {
                &c, work, &c.job, stages, c.options.progress, c.options.progress_ctx
        };
        KC_TRY(kc_working_run(&working, &err));
        KC_TRY(kc_library_output_hand_over(&c.output, counts, &err));
        if (counts != NULL)
                strcpy((*counts)->notice, c.notice);
out:
        kc_library_output_close(&c.output);
        kc_reader_close(c.reader);
        kc_sequences_close(c.sequences);
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}

enum kcount_status kcount_count_files(const char *const *paths, size_t npaths,
                                      const struct kcount_count_options *options,
                                      const char *output, struct kcount_counts **counts,
                                      struct kcount_error **error)
{
        const struct count_input input = { .paths = paths, .npaths = npaths };
        return count(&input, options, output, counts, error);
}

enum kcount_status kcount_count_sequences(kcount_next_sequences *next, void *ctx,
                                          const struct kcount_count_options *options,
                                          const char *output, struct kcount_counts **counts,
                                          struct kcount_error **error)
{
        const struct count_input input = { .next = next, .ctx = ctx };
        return count(&input, options, output, counts, error);
}
