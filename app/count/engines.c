#include "app/count/count_internal.h"

#include "app/cli/message.h"
#include "app/count/joint_devices.h"
#include "app/library/device.h"
#include "base/parallel.h"
#include "cpu/cpu_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void count_plan_memory(struct count *count)
{
        const struct count_settings *s = count->settings;
        struct writing *w = &count->writing;
        const uint64_t messages = ranks_nbytes(count->ranks, w->nthreads);
        const uint64_t nbytes = count->memory_nbytes - count->only_nbytes;
        const uint64_t rest = nbytes > 2 * messages ? nbytes - messages : nbytes / 2;
        count->plan = kc_memory_plan_count(rest, w->nthreads, w->device.cuda);
        if (s->engine_memory_nbytes)
                count->plan.engine_nbytes = s->engine_memory_nbytes;
        else
                w->nthreads = count->plan.nthreads;
        if (w->device.cuda && !s->memory_nbytes)
                count->plan.reader_nbytes = 0; /* what may be pinned leaves enough for any reader */
}

static int largest_k(const struct count *count)
{
        int k = 1;
        for (int i = 0; i < count->noutputs; i++)
                k = count->outputs[i].k > k ? count->outputs[i].k : k;
        return k;
}

/* With several ranks, devices count only if the user asks for them. */
enum kc_status count_choose_device(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct device_choice *device = &count->writing.device;
        const char *wanted = s->device;
        enum kc_status status;
        if (count->ranks != NULL && s->table == 0)
                wanted = device_if_named(wanted);
        KC_TRY(device_choose(device, wanted, s->table, largest_k(count), DEVICE_COUNTS, err));
        if (s->only != NULL && device->cuda) {
                if (!device->may_fall_back)
                        message_print("kcount: the CUDA engine does not support --only: counting "
                                      "on the CPU\n");
                device->cuda = false;
        }
        if (count->ranks == NULL || !device->cuda)
                return KC_OK;
        ranks_elect_leaders(count->ranks, s->common.nthreads, &count->writing.nthreads,
                            &count->memory_nbytes);
        if (s->reader == KC_READING_DEVICE && ranks_count(count->ranks) > 1)
                return kc_fail(err, KC_EUSAGE,
                               "--reader device: with processes on several machines, the host "
                               "reads");
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
                .exchange = ranks_exchange(count->ranks),
        };
}

/* What is counted, for an engine. */
static void begin_tasks(const struct count *count, struct kc_count_task *tasks)
{
        for (int i = 0; i < count->noutputs; i++)
                tasks[i] = (struct kc_count_task){ .k = count->outputs[i].k,
                                                   .sink = &count->outputs[i].sink,
                                                   .only = count->settings->only != NULL
                                                                   ? &count->outputs[i].only
                                                                   : NULL };
}

static void end_tasks(struct count *count, const struct kc_count_task *tasks)
{
        for (int i = 0; i < count->noutputs; i++)
                count->outputs[i].totals = tasks[i].totals;
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
                .nleft_out = device->nleft_out,
                .table = device->table,
                .memory_nbytes = s->gpu_memory_nbytes,
                .pinned_nbytes =
                        s->memory_nbytes ? 0 : kc_device_pinned_nbytes(count->memory_nbytes),
                .batch_nkmers = s->gpu_batch_nkmers,
                .walk_npasses = (int)s->gpu_walk_npasses,
                .read_ahead = count->rereadable,
                .stored = kc_device_files(count->reader, (enum kc_reading_place)s->reader,
                                          count->writing.nthreads, device->ndevices,
                                          s->gpu_batch_nkmers, stored),
                .trace = ranks_is_first(count->ranks) ? s->gpu_trace : NULL,
        };
        memcpy(gpu.others, device->indices + 1,
               (size_t)(gpu.nothers + gpu.nleft_out) * sizeof *gpu.others);
        return gpu;
}

/* With a bound on its memory, or on what it counts at a time, the first device may need the
 * others. */
static enum kc_status choose_devices(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct device_choice *device = &count->writing.device;
        const bool any = s->gpu_memory_nbytes == 0 && s->gpu_batch_nkmers == 0;
        const uint64_t nbases = any ? kc_reader_expected_nbases(count->reader) : 0;
        enum kc_status status = KC_OK;
        if (count->ranks != NULL)
                KC_TRY(device_choose_all(device, s->device, nbases, err));
        device_leave_out(device, nbases);
out:
        return status;
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
        const enum kc_status chosen = choose_devices(count, err);
        if (chosen != KC_OK)
                return chosen;
        const struct kc_gpu_params gpu = device_params(count, &stored);
        const struct joint_devices_setup joint = { &params, &gpu, &source, w->job };
        enum kc_status status;
        count->tried_device = true;
        begin_tasks(count, tasks);
        if (params.exchange != NULL)
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

/* A device could not start: plan for the CPU, from the beginning of the input. */
static enum kc_status begin_again(struct count *count, struct kc_error *err)
{
        count_plan_memory(count);
        return count->rereadable ? count_reopen_reader(count, err) : KC_OK;
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

/* Name the stages, in the order of their numbers (kc_stage_of). On the CPU, a histogram needs no
 * third one.
 *   labels  out [1 + 2 * noutputs] */
static void name_stages(struct count *count, const char **labels)
{
        static const char *const usual[KC_NSTAGES] = { "reading", "counting", "writing" };
        labels[0] = usual[0];
        for (int i = 0; i < count->noutputs; i++)
                for (int stage = 1; stage < KC_NSTAGES; stage++) {
                        char *label = count->outputs[i].labels[stage - 1];
                        const size_t nbytes = sizeof count->outputs[i].labels[0];
                        const char *name = usual[count->histogram != NULL ? 1 : stage];
                        if (count->noutputs > 1)
                                snprintf(label, nbytes, "%s %d-mers", name, count->outputs[i].k);
                        else
                                snprintf(label, nbytes, "%s", name);
                        labels[kc_stage_of(i, (enum kc_stage)stage)] = label;
                }
}

enum kc_status count_on_engine(struct count *count, struct kc_error *err)
{
        const char *labels[1 + (KC_NSTAGES - 1) * OPTION_NUMBERS_MAX];
        name_stages(count, labels);
        const struct writing_work work = {
                .ctx = count,
                .on_device = count_on_device,
                .on_cpu = count_on_cpu,
                .progress = { labels, 1 + (KC_NSTAGES - 1) * count->noutputs, PROGRESS_BYTES }
        };
        return count->is_temporary ? writing_run_part(&count->writing, &work, err)
                                   : writing_run(&count->writing, &work, err);
}

/* ---- --reader-only ---- */

enum { BATCH_WORDS = 64 << 10, BATCH_SEGMENTS = BATCH_WORDS / 4 };

static enum kc_status drain(void *ctx, int worker, struct kc_error *err)
{
        const struct kc_batch_source *source = ctx;
        struct kc_batch batch = { .words_cap = BATCH_WORDS, .segments_cap = BATCH_SEGMENTS };
        enum kc_status status = KC_OK;
        batch.words = malloc((BATCH_WORDS + KC_BATCH_PADDING) * sizeof *batch.words);
        batch.segments = malloc(BATCH_SEGMENTS * sizeof *batch.segments);
        if (batch.words == NULL || batch.segments == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for a sequence batch");
        do {
                if (status == KC_OK)
                        status = source->next(source->ctx, worker, &batch, err);
        } while (status == KC_OK && batch.nsegments > 0);
        free(batch.words);
        free(batch.segments);
        return status;
}

enum kc_status count_nothing(struct count *count, struct kc_error *err)
{
        struct kc_batch_source source = kc_reader_source(count->reader);
        return kc_parallel(count->writing.nthreads, drain, NULL, &source, err);
}
