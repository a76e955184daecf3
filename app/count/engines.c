#include "app/count/count_internal.h"

#include "app/cli/fall_back.h"
#include "app/cli/message.h"
#include "app/count/joint_count.h"
#include "base/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell_fall_back(void *ctx, const struct kc_error *reason)
{
        struct writing *w = &((struct count *)ctx)->writing;
        w->device.cuda = !fall_back_to_cpu(reason, "counting", w->settings->quiet);
}

/* Those that count together with this one, if there are any. */
static void set_ranks(struct count *count)
{
        struct kc_counter *counter = &count->counter;
        const struct kc_exchange *exchange = ranks_exchange(count->ranks);
        counter->ranks = (struct kc_counter_ranks){ 0 };
        if (exchange != NULL)
                counter->ranks =
                        (struct kc_counter_ranks){ exchange, exchange->rank, exchange->nranks,
                                                   ranks_nbytes(count->ranks), joint_count };
}

/* What the options of kcount.h do not say. */
void count_set_up(struct count *count)
{
        const struct count_settings *s = count->settings;
        struct kc_counter *counter = &count->counter;
        counter->nthreads = count->writing.nthreads;
        counter->memory_nbytes = s->memory_nbytes
                                         ? s->memory_nbytes
                                         : kc_memory_default_nbytes(ranks_local(count->ranks));
        counter->engine_nbytes = s->engine_memory_nbytes;
        counter->storing.wants_rows = s->histogram;
        counter->job = count->writing.job;
        counter->fell_back = tell_fall_back;
        counter->ctx = count;
        set_ranks(count);
        for (int i = 0; i < count->noutputs; i++) {
                count->outputs[i].totals = &counter->tasks[i].totals;
                count->outputs[i].counted = &counter->outputs[i];
        }
}

static int largest_k(const struct count *count)
{
        int k = 1;
        for (int i = 0; i < count->noutputs; i++)
                k = count->outputs[i].k > k ? count->outputs[i].k : k;
        return k;
}

static struct kc_counter_devices devices_of(const struct count *count)
{
        const struct device_choice *device = &count->writing.device;
        const struct count_settings *s = count->settings;
        struct kc_counter_devices devices = {
                .used = device->cuda,
                .may_fall_back = device->may_fall_back,
                .n = device->ndevices,
                .reader = (enum kc_reading_place)s->reader,
                .params = { .table = device->table,
                            .memory_nbytes = s->gpu_memory_nbytes,
                            .batch_nkmers = s->gpu_batch_nkmers,
                            .walk_npasses = (int)s->gpu_walk_npasses,
                            .trace = ranks_is_first(count->ranks) ? s->gpu_trace : NULL },
        };
        memcpy(devices.indices, device->indices, sizeof devices.indices);
        return devices;
}

/* With several ranks, devices count only if the user asks for them, and only leaders count. */
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
        if (count->ranks != NULL) {
                ranks_elect_leaders(count->ranks, device->cuda, s->common.nthreads,
                                    &count->counter.nthreads, &count->counter.memory_nbytes);
                set_ranks(count);
                if (device->cuda && s->reader == KC_READING_DEVICE &&
                    count->counter.ranks.nranks > 0)
                        return kc_fail(err, KC_EUSAGE,
                                       "--reader device: with processes on several machines, the "
                                       "host reads");
        }
        count->counter.devices = devices_of(count);
        count->counter.devices.all = count->ranks != NULL && strchr(s->device, ':') == NULL;
out:
        return status;
}

/* On a device or on the CPU, as counter->devices says. */
static enum kc_status count_on_either(void *ctx, struct kc_error *err)
{
        struct count *count = ctx;
        struct writing *w = &count->writing;
        struct kc_counter *counter = &count->counter;
        const enum kc_status status = kc_counter_run(counter, err);
        memcpy(w->device.indices, counter->devices.indices, sizeof w->device.indices);
        w->device.ndevices = counter->devices.n;
        w->device.nleft_out = counter->devices.nleft_out;
        w->nthreads = counter->nthreads;
        w->gpu = counter->reports[0];
        return status;
}

/* Name the stages, in the order of their numbers (kc_stage_of, joint_merging_stage). On the CPU, a
 * histogram needs no third one.
 *   labels  out [1 + KC_NSTAGES * noutputs]; the last noutputs are used only by several ranks */
static void name_stages(struct count *count, const char **labels)
{
        static const char *const usual[] = { "reading", "counting", "writing", "merging" };
        labels[0] = usual[0];
        for (int i = 0; i < count->noutputs; i++)
                for (int stage = 1; stage <= KC_NSTAGES; stage++) {
                        char *label = count->outputs[i].labels[stage - 1];
                        const size_t nbytes = sizeof count->outputs[i].labels[0];
                        const char *name =
                                usual[count->counter.target == KC_COUNTER_HISTOGRAM ? 1 : stage];
                        if (count->noutputs > 1)
                                snprintf(label, nbytes, "%s %d-mers", name, count->outputs[i].k);
                        else
                                snprintf(label, nbytes, "%s", name);
                        labels[stage < KC_NSTAGES ? kc_stage_of(i, (enum kc_stage)stage)
                                                  : joint_merging_stage(count->noutputs, i)] =
                                label;
                }
}

enum kc_status count_on_engine(struct count *count, struct kc_error *err)
{
        const char *labels[1 + KC_NSTAGES * OPTION_NUMBERS_MAX];
        const int neach = ranks_exchange(count->ranks) != NULL ? KC_NSTAGES : KC_NSTAGES - 1;
        name_stages(count, labels);
        const struct writing_work work = { .ctx = count,
                                           .on_device = count_on_either,
                                           .on_cpu = count_on_either,
                                           .progress = { labels, 1 + neach * count->noutputs,
                                                         PROGRESS_BYTES } };
        return count->counter.target == KC_COUNTER_NAMELESS
                       ? writing_run_part(&count->writing, &work, err)
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
        struct kc_reader *reader = count->counter.reader;
        struct kc_batch_source source = kc_reader_source(reader);
        const enum kc_status status =
                kc_parallel(count->writing.nthreads, drain, NULL, &source, err);
        kc_reader_totals(reader, &count->counter.read);
        return status;
}
