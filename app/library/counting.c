/* Counting for callers of the library. */
#include "app/library/inside.h"
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/output.h"
#include "app/library/references.h"
#include "app/library/same_file.h"
#include "app/library/working.h"
#include "base/temp_file.h"
#include "kmer/remedy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QUALITY = 93 };

/* What to count, and where to: files, or sequences if next is set. */
struct count_request {
        const char *const *paths;
        size_t npaths;
        kcount_next_sequences *next;
        void *ctx;
        const struct kcount_count_options *options;
        const int *ks; /* NULL: that of the options */
        size_t nks;
        /* Either files */
        const char *const *outputs;    /* [nks] or NULL */
        struct kcount_counts **counts; /* out [nks], or NULL */
        /* or a histogram */
        struct kcount_row **rows; /* out; NULL: files are wanted */
        size_t *nrows;
};

struct count_call {
        const struct count_request *request;
        struct kcount_count_options options;
        struct kc_library_output outputs[KC_COUNTER_MAX_TASKS]; /* unless it is a histogram */
        char notice[KCOUNT_NOTICE_NBYTES]; /* why no device has counted, if that is a surprise */
        const struct kcount_count_inside *inside; /* NULL: a program that is not kcount */
        struct kc_job job;
        struct kc_counter *counter; /* the program's, or freed here */
};

/* ---- the options ---- */

static enum kc_status take_ks(struct count_call *c, struct kc_error *err)
{
        const struct count_request *r = c->request;
        const int *ks = r->ks != NULL ? r->ks : &c->options.k;
        if (r->nks < 1 || r->nks > KC_COUNTER_MAX_TASKS)
                return kc_fail(err, KC_EUSAGE, "ks has %zu values; it must have 1 to %d", r->nks,
                               KC_COUNTER_MAX_TASKS);
        for (size_t i = 0; i < r->nks; i++) {
                if (ks[i] < 1 || ks[i] > KCOUNT_MAX_K)
                        return kc_fail(err, KC_EUSAGE, "k is %d; it must be 1 to %d", ks[i],
                                       KCOUNT_MAX_K);
                for (size_t j = 0; j < i; j++)
                        if (ks[j] == ks[i])
                                return kc_fail(err, KC_EUSAGE, "k = %d is given twice", ks[i]);
                c->counter->tasks[i].k = ks[i];
        }
        c->counter->ntasks = (int)r->nks;
        return KC_OK;
}

static enum kc_status check_numbers(const struct kcount_count_options *o, struct kc_error *err)
{
        if (o->min_quality < 0 || o->min_quality > MAX_QUALITY)
                return kc_fail(err, KC_EUSAGE, "min_quality is %d; it must be 0 to %d",
                               o->min_quality, MAX_QUALITY);
        if (o->hpc && o->skip > 0)
                return kc_fail(err, KC_EUSAGE, "skip and hpc cannot be used together");
        if (o->require_flags & (KC_FLAGS_REPEATED | o->exclude_flags))
                return kc_fail(
                        err, KC_EUSAGE,
                        "no alignment with all of require_flags is counted: 0x%x of them "
                        "are excluded, or mark secondary or supplementary alignments",
                        (unsigned)(o->require_flags & (KC_FLAGS_REPEATED | o->exclude_flags)));
        return kc_library_check_bounds(o->min_count, o->max_count, o->memory_nbytes, err);
}

static enum kc_status check_input(const struct count_call *c, struct kc_error *err)
{
        const struct count_request *r = c->request;
        const struct kcount_count_options *o = &c->options;
        if (r->next == NULL && r->npaths == 0)
                return kc_fail(err, KC_EUSAGE, "no file is named");
        for (size_t i = 0; i < r->npaths && o->only != NULL && strcmp(o->only, "-") == 0; i++)
                if (strcmp(r->paths[i], "-") == 0)
                        return kc_fail(err, KC_EUSAGE,
                                       "standard input cannot be both reads and only");
        if (r->next != NULL && (o->hpc || o->min_quality > 0 || o->skip > 0 ||
                                o->require_flags != 0 || o->exclude_flags != 0))
                return kc_fail(err, KC_EUSAGE,
                               "hpc, min_quality, skip, require_flags and exclude_flags are for "
                               "files, not for sequences in memory");
        return KC_OK;
}

static enum kc_status choose_device(struct count_call *c, struct kc_error *err)
{
        const char *device = c->options.device != NULL ? c->options.device : "auto";
        struct kc_counter_devices *d = &c->counter->devices;
        enum kc_status status;
        int k = 1, n;
        KC_TRY(kc_device_parse(device, d->indices, &d->n, err));
        for (int i = 0; i < c->counter->ntasks; i++)
                k = c->counter->tasks[i].k > k ? c->counter->tasks[i].k : k;
        d->reader = KC_READING_FASTER;
        d->may_fall_back = strcmp(device, "auto") == 0;
        d->used = d->n > 0 && kc_gpu_has_engine() && k <= KC_GPU_ENGINE_MAX_K &&
                  c->options.only == NULL;
        if (d->n == 0 || d->may_fall_back || d->used || c->options.only != NULL)
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
        struct kc_counter *counter = c->counter;
        if (c->request->rows != NULL)
                counter->target = KC_COUNTER_HISTOGRAM;
        else if (c->request->outputs == NULL)
                counter->target = KC_COUNTER_NAMELESS;
        counter->stranded = o->stranded;
        counter->min_quality = o->min_quality;
        counter->selection =
                (struct kc_selection){ o->skip, o->require_flags, o->exclude_flags, o->hpc };
        counter->storing.replace = o->replace;
        counter->storing.guard = o->guard;
        counter->storing.min_count = o->min_count;
        counter->storing.max_count = o->max_count;
        counter->accept_empty = o->accept_empty;
        counter->bounded = o->memory_nbytes > 0;
        if (counter->bounded)
                counter->memory_nbytes = o->memory_nbytes;
        if (c->inside != NULL)
                return;
        if (!counter->bounded)
                counter->memory_nbytes = kc_memory_guest_nbytes();
        counter->nthreads = kc_machine_nthreads((uint64_t)o->nthreads);
        counter->job = &c->job;
        counter->fell_back = note_fall_back;
        counter->ctx = c;
}

/* Check the options, and give the counter what they say. */
static enum kc_status check_options(struct count_call *c, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(take_ks(c, err));
        KC_TRY(check_numbers(&c->options, err));
        KC_TRY(check_input(c, err));
        if (c->inside == NULL)
                KC_TRY(choose_device(c, err));
        set_up(c);
out:
        return status;
}

/* ---- before counting ---- */

/* How many files are written. */
static int noutputs(const struct count_call *c)
{
        return c->request->rows != NULL ? 0 : c->counter->ntasks;
}

static enum kc_status name_outputs(struct count_call *c, struct kc_error *err)
{
        const struct count_request *r = c->request;
        const char *tmp_folder = c->options.tmp_folder;
        enum kc_status status = KC_OK;
        for (int i = 0; i < noutputs(c); i++) {
                const char *path = r->outputs != NULL ? r->outputs[i] : NULL;
                if (r->outputs != NULL && path == NULL)
                        return kc_fail(err, KC_EUSAGE, "the output for k = %d is NULL",
                                       c->counter->tasks[i].k);
                KC_TRY(kc_library_output_name(&c->outputs[i], path, tmp_folder,
                                              r->counts != NULL || c->inside != NULL,
                                              c->options.guard, err));
        }
        if (noutputs(c) > 0)
                c->counter->tmp_folder = c->outputs[0].tmp_folder;
        else
                c->counter->tmp_folder = tmp_folder != NULL ? tmp_folder : ".";
out:
        return status;
}

/* No input may be an output.
 *   check  kc_output_check_operands or _files */
static enum kc_status check_files(const struct count_call *c, const char *const *inputs, size_t n,
                                  enum kc_status (*check)(const char *const *outputs,
                                                          size_t noutputs,
                                                          const char *const *inputs, size_t ninputs,
                                                          struct kc_error *err),
                                  struct kc_error *err)
{
        const char *paths[KC_COUNTER_MAX_TASKS];
        size_t npaths = 0;
        for (int i = 0; i < noutputs(c); i++)
                if (!c->outputs[i].is_nameless)
                        paths[npaths++] = c->outputs[i].path;
        return check(paths, npaths, inputs, n, err);
}

static enum kc_status check_operands(const struct count_call *c, struct kc_error *err)
{
        const struct count_request *r = c->request;
        const char *const *only = &c->options.only;
        enum kc_status status = KC_OK;
        if (c->inside != NULL)
                return KC_OK; /* the program has checked more files */
        if (r->next == NULL)
                KC_TRY(check_files(c, r->paths, r->npaths, kc_output_check_operands, err));
        if (*only != NULL) {
                KC_TRY(check_files(c, only, 1, kc_output_check_operands, err));
                KC_TRY(check_files(c, only, 1, kc_output_check_files, err));
        }
out:
        return status;
}

static enum kc_status step(const struct count_call *c, enum kc_count_step step,
                           struct kc_error *err)
{
        return c->inside != NULL ? c->inside->step(c->inside->ctx, step, err) : KC_OK;
}

static enum kc_status create_files(struct count_call *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < noutputs(c) && status == KC_OK; i++) {
                const struct kc_store_options storing = kc_counter_storing(c->counter, i);
                status = kc_store_create(&c->counter->outputs[i].writer, c->outputs[i].path,
                                         &storing, err);
        }
        return status;
}

/* A file without a name is itself in the folder of temporary files: try that folder first, so that
 * the error says that no temporary file can be made there. The program's error differs. */
static enum kc_status create_outputs(struct count_call *c, struct kc_error *err)
{
        const bool tries_first = c->counter->target == KC_COUNTER_NAMELESS && c->inside == NULL;
        const bool creates = c->counter->target != KC_COUNTER_RUN && c->counter->ranks.rank == 0;
        enum kc_status status;
        KC_TRY(step(c, KC_COUNT_CREATES, err));
        if (tries_first)
                KC_TRY(kc_temp_file_try(c->counter->tmp_folder, err));
        if (creates)
                KC_TRY(create_files(c, err));
        KC_TRY(step(c, KC_COUNT_CREATED, err));
        if (!tries_first)
                KC_TRY(kc_temp_file_try(c->counter->tmp_folder, err));
        status = kc_counter_set_sinks(c->counter, err);
out:
        return status;
}

static enum kc_status open_files(struct count_call *c, struct kc_error *err)
{
        const struct count_request *r = c->request;
        const char *const *names;
        enum kc_status status;
        KC_TRY(kc_counter_open_files(c->counter, r->paths, r->npaths, err));
        if (c->inside != NULL)
                return KC_OK; /* the program will check more files */
        const size_t n = kc_reader_names(c->counter->reader, &names);
        KC_TRY(check_files(c, names, n, kc_output_check_files, err));
        KC_TRY(check_files(c, names, n, kc_references_check, err));
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
        if (!c->request->next(c->request->ctx, given, room, n))
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
        return c->request->next == NULL ? open_files(c, err)
                                        : kc_counter_open_sequences(c->counter, &giver, err);
}

/* ---- counting ---- */

/* Open what was written, for the caller. */
static enum kc_status open_outputs(struct count_call *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < noutputs(c); i++) {
                struct kc_library_output *o = &c->outputs[i];
                o->store = c->counter->outputs[i].store;
                c->counter->outputs[i].store = NULL; /* the output's now */
                if (o->is_wanted && o->store == NULL)
                        KC_TRY(kc_store_open(&o->store, o->path, err));
        }
out:
        return status;
}

/* Everything that can fail before the inputs are read. */
static enum kc_status prepare(struct count_call *c, struct kc_error *err)
{
        enum kc_status status;
        if (c->inside != NULL && c->inside->reads_only)
                return open_input(c, err);
        KC_TRY(check_operands(c, err));
        if (c->options.only != NULL)
                KC_TRY(kc_counter_read_only(c->counter, c->options.only, err));
        KC_TRY(create_outputs(c, err));
        KC_TRY(open_input(c, err));
        status = step(c, KC_COUNT_OPENED, err);
out:
        return status;
}

/* ctx: a struct count_call. */
static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct count_call *c = ctx;
        enum kc_status status;
        KC_TRY(prepare(c, err));
        KC_TRY(kc_counter_run(c->counter, err));
        KC_TRY(kc_library_may_commit(&c->job, c->options.guard, err));
        KC_TRY(kc_counter_commit(c->counter, err));
        status = open_outputs(c, err);
out:
        return status;
}

/* The same for the program. */
static enum kc_status work_inside(struct count_call *c, struct kc_error *err)
{
        const struct kcount_count_inside *inside = c->inside;
        enum kc_status status;
        c->counter = inside->counter;
        status = check_options(c, err);
        if (status == KC_OK)
                status = name_outputs(c, err);
        if (status == KC_OK)
                status = prepare(c, err);
        KC_TRY(inside->agree(inside->ctx, status, err));
        KC_TRY(inside->count(inside->ctx, err));
        if (c->counter->ranks.rank == 0 && !inside->reads_only)
                KC_TRY(kc_counter_commit(c->counter, err));
out:
        if (err->status == KC_OK)
                err->status = status; /* another rank has the message */
        return status;
}

/* ---- afterwards ---- */

static enum kc_status warn_of_inputs(const struct count_call *c, struct kc_error *err)
{
        const struct kcount_count_options *o = &c->options;
        const char *const *names;
        if (o->warn == NULL)
                return KC_OK;
        if (c->notice[0] != '\0')
                o->warn(o->warn_ctx, c->notice);
        if (c->counter->reader == NULL)
                return KC_OK;
        uint8_t *marks = malloc(kc_reader_names(c->counter->reader, &names));
        if (marks == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        kc_reader_marks(c->counter->reader, marks);
        kc_counter_warn(c->counter, marks, o->warn, o->warn_ctx);
        free(marks);
        return KC_OK;
}

static void give_statistics(const struct count_call *c)
{
        struct kcount_statistics *to = c->options.statistics;
        const struct kc_counter *counter = c->counter;
        const struct kc_reader_totals read = counter->read;
        struct kcount_statistics all = {
                .nreads = read.nreads,
                .nbases = read.nbases,
                .nskipped = read.nskipped,
                .nlow_quality = read.nlow_quality,
                .nleft_out = read.nleft_out,
                .input_nbytes = read.input_nbytes,
                .text_nbytes = read.text_nbytes,
                .nthreads = counter->nthreads,
                .memory_nbytes = counter->memory_nbytes,
                .reading_seconds = counter->tasks[0].totals.stage_seconds[KC_STAGE_PARTITION],
                .ndevices = counter->devices.used ? counter->devices.n : 0,
        };
        if (to == NULL)
                return;
        for (int i = 0; i < counter->ntasks; i++) {
                const struct kc_count_totals *totals = &counter->tasks[i].totals;
                const uint64_t peak = counter->devices.used ? counter->reports[i].peak_nbytes : 0;
                all.spilled_nbytes += totals->spilled_nbytes;
                all.counting_seconds += totals->stage_seconds[KC_STAGE_COUNT];
                all.writing_seconds += totals->stage_seconds[KC_STAGE_ORDER];
                all.device_nbytes = peak > all.device_nbytes ? peak : all.device_nbytes;
        }
        all.size = to->size;
        memcpy(to, &all, to->size < sizeof all ? to->size : sizeof all);
}

/* Hand over everything, or nothing. */
static enum kc_status hand_over(struct count_call *c, struct kc_error *err)
{
        const struct count_request *r = c->request;
        const struct kcount_count_options *o = &c->options;
        const struct kc_store_written *written = &c->counter->outputs[0].written;
        struct kcount_counts *counts[KC_COUNTER_MAX_TASKS] = { NULL };
        enum kc_status status = KC_OK;
        KC_TRY(warn_of_inputs(c, err));
        for (int i = 0; i < noutputs(c) && r->counts != NULL; i++) {
                KC_TRY(kc_library_output_hand_over(&c->outputs[i], &counts[i], err));
                strcpy(counts[i]->notice, c->notice);
        }
        for (int i = 0; i < noutputs(c) && r->counts != NULL; i++) {
                r->counts[i] = counts[i];
                counts[i] = NULL;
        }
        if (r->rows != NULL)
                KC_TRY(kc_library_rows(written->rows, written->nrows, o->min_count, o->max_count,
                                       r->rows, r->nrows, err));
        give_statistics(c);
out:
        for (int i = 0; i < noutputs(c); i++)
                kcount_close(counts[i]);
        return status;
}

/* The names of the stages, in the order of their numbers (kc_stage_of). */
static void name_stages(const char *stages[1 + (KC_NSTAGES - 1) * KC_COUNTER_MAX_TASKS])
{
        stages[0] = "reading";
        for (int i = 0; i < KC_COUNTER_MAX_TASKS; i++) {
                stages[kc_stage_of(i, KC_STAGE_COUNT)] = "counting";
                stages[kc_stage_of(i, KC_STAGE_ORDER)] = "writing";
        }
}

static enum kc_status work_outside(struct count_call *c, struct kc_error *err)
{
        const char *stages[1 + (KC_NSTAGES - 1) * KC_COUNTER_MAX_TASKS];
        const struct kc_working working = {
                c, work, &c->job, stages, c->options.progress, c->options.progress_ctx
        };
        enum kc_status status;
        name_stages(stages);
        c->counter = calloc(1, sizeof *c->counter);
        if (c->counter == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(check_options(c, err));
        KC_TRY(name_outputs(c, err));
        KC_TRY(kc_working_run(&working, err));
        status = hand_over(c, err);
out:
        kc_counter_close(c->counter);
        return status;
}

static enum kcount_status count(const struct count_request *request, struct kcount_error **error)
{
        struct count_call c = { .request = request, .options = KCOUNT_COUNT_OPTIONS_INIT };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(kc_library_take_options(&c.options, sizeof c.options, &c.options.nthreads,
                                       request->options, "KCOUNT_COUNT_OPTIONS_INIT", &err));
        c.inside = c.options.inside;
        status = c.inside != NULL ? work_inside(&c, &err) : work_outside(&c, &err);
out:
        for (int i = 0; i < KC_COUNTER_MAX_TASKS; i++)
                kc_library_output_close(&c.outputs[i]);
        if (c.inside == NULL)
                free(c.counter);
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}

enum kcount_status kcount_count_files(const char *const *paths, size_t npaths,
                                      const struct kcount_count_options *options,
                                      const char *output, struct kcount_counts **counts,
                                      struct kcount_error **error)
{
        const struct count_request request = { .paths = paths,
                                               .npaths = npaths,
                                               .options = options,
                                               .nks = 1,
                                               .outputs = output != NULL ? &output : NULL,
                                               .counts = counts };
        return count(&request, error);
}

enum kcount_status kcount_count_several(const char *const *paths, size_t npaths, const int *ks,
                                        size_t nks, const struct kcount_count_options *options,
                                        const char *const *outputs, struct kcount_counts **counts,
                                        struct kcount_error **error)
{
        const struct count_request request = { .paths = paths,
                                               .npaths = npaths,
                                               .options = options,
                                               .ks = ks,
                                               .nks = ks != NULL ? nks : 0,
                                               .outputs = outputs,
                                               .counts = counts };
        return count(&request, error);
}

enum kcount_status kcount_count_histogram(const char *const *paths, size_t npaths,
                                          const struct kcount_count_options *options,
                                          struct kcount_row **rows, size_t *nrows,
                                          struct kcount_error **error)
{
        const struct count_request request = { .paths = paths,
                                               .npaths = npaths,
                                               .options = options,
                                               .nks = 1,
                                               .rows = rows,
                                               .nrows = nrows };
        return count(&request, error);
}

enum kcount_status kcount_count_sequences(kcount_next_sequences *next, void *ctx,
                                          const struct kcount_count_options *options,
                                          const char *output, struct kcount_counts **counts,
                                          struct kcount_error **error)
{
        const struct count_request request = { .next = next,
                                               .ctx = ctx,
                                               .options = options,
                                               .nks = 1,
                                               .outputs = output != NULL ? &output : NULL,
                                               .counts = counts };
        return count(&request, error);
}
