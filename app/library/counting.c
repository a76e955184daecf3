/* Counting for callers of the library. */
#include "app/library/counter.h"
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/output.h"
#include "app/library/references.h"
#include "app/library/same_file.h"
#include "app/library/working.h"
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
        char notice[KCOUNT_NOTICE_NBYTES]; /* why no device has counted, if that is a surprise */
        struct kc_job job;
        struct kc_counter counter;
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
        struct kc_counter_devices *d = &c->counter.devices;
        const int k = c->options.k;
        enum kc_status status;
        int n;
        KC_TRY(kc_device_parse(device, d->indices, &d->n, err));
        d->reader = KC_READING_FASTER;
        d->may_fall_back = strcmp(device, "auto") == 0;
        d->used = d->n > 0 && kc_gpu_has_engine() && k <= KC_GPU_ENGINE_MAX_K;
        if (d->n == 0 || d->may_fall_back || d->used)
                return KC_OK;
        if (!kc_gpu_has_engine())
                return kc_gpu_devices(NULL, 0, &n, err); /* it fails, and says why */
        status = kc_fail_remedy(err, KC_EUSAGE, KC_REMEDY_CPU,
                                "the CUDA engine supports k up to %d, but k is %d",
                                KC_GPU_ENGINE_MAX_K, k);
out:
        return status;
}

/* That the machine has no device is not worth a notice. */
static void note_fall_back(void *ctx, const struct kc_error *reason)
{
        struct count_call *c = ctx;
        if (reason->status != KC_ENODEVICE)
                snprintf(c->notice, sizeof c->notice, "%s: counted on the CPU", reason->message);
}

static void set_up(struct count_call *c)
{
        const struct kcount_count_options *o = &c->options;
        struct kc_counter *counter = &c->counter;
        counter->tasks[0].k = o->k;
        counter->ntasks = 1;
        counter->stranded = o->stranded;
        counter->min_quality = o->min_quality;
        counter->selection.hpc = o->hpc;
        counter->accept_empty = o->accept_empty;
        counter->nthreads = kc_machine_nthreads((uint64_t)o->nthreads);
        counter->bounded = o->memory_nbytes > 0;
        counter->memory_nbytes = counter->bounded ? o->memory_nbytes : kc_memory_guest_nbytes();
        counter->job = &c->job;
        counter->fell_back = note_fall_back;
        counter->ctx = c;
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
        set_up(c);
out:
        return status;
}

/* ---- before counting ---- */

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

static enum kc_status open_files(struct count_call *c, struct kc_error *err)
{
        const char *output = c->output.path;
        const char *const *names;
        enum kc_status status;
        KC_TRY(kc_counter_open_files(&c->counter, c->input.paths, c->input.npaths, err));
        const size_t n = kc_reader_names(c->counter.reader, &names);
        KC_TRY(kc_output_check_files(&output, 1, names, n, err));
        KC_TRY(kc_references_check(&output, 1, names, n, err));
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
        return c->input.next == NULL ? open_files(c, err)
                                     : kc_counter_open_sequences(&c->counter, &giver, err);
}

/* ---- counting ---- */

/* ctx: a struct count_call. */
static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct count_call *c = ctx;
        const char *output = c->output.path;
        enum kc_status status;
        if (c->input.next == NULL)
                KC_TRY(kc_output_check_operands(&output, 1, c->input.paths, c->input.npaths, err));
        KC_TRY(create_store(c, err));
        KC_TRY(open_input(c, err));
        const struct kc_run_sink sink = kc_store_sink(c->output.writer);
        c->counter.tasks[0].sink = &sink;
        KC_TRY(kc_counter_run(&c->counter, err));
        const struct kc_reader_totals read = kc_counter_read_totals(&c->counter);
        const struct kc_store_origin origin = kc_counter_origin(&c->counter, 0, &read);
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
        c.counter.tmp_folder = c.output.tmp_folder;
        const struct kc_working working = {
                &c, work, &c.job, stages, c.options.progress, c.options.progress_ctx
        };
        KC_TRY(kc_working_run(&working, &err));
        KC_TRY(kc_library_output_hand_over(&c.output, counts, &err));
        if (counts != NULL)
                strcpy((*counts)->notice, c.notice);
out:
        kc_library_output_close(&c.output);
        kc_counter_close(&c.counter);
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
