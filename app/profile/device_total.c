#include "app/profile/device_total.h"

#include "app/ask/choice.h"
#include "app/cli/device.h"
#include "app/cli/fall_back.h"
#include "app/library/device.h"
#include "app/library/device_asker.h"
#include "app/library/memory.h"
#include "io/reader.h"

#include <string.h>

enum { READER_FRACTION = 2 }; /* the reader gets one part in so many of the memory */

struct totaling {
        const struct profile_request *request;
        struct kc_reader *reader;
        struct kc_window_tally tally;
};

static enum kc_status put(void *ctx, uint32_t count, uint64_t n, struct kc_error *err)
{
        return kc_window_tally_add_equal(&((struct totaling *)ctx)->tally, count, n, err);
}

static void clear(void *ctx)
{
        kc_window_tally_clear(&((struct totaling *)ctx)->tally);
}

static enum kc_status open_reader(struct totaling *t, struct kc_error *err)
{
        const struct profile_request *request = t->request;
        struct kc_store_info info;
        kc_store_get_info(request->store, &info);
        const struct kc_reader_options options = {
                .k = info.k,
                .selection.hpc = info.hpc,
                .nworkers = request->nthreads,
                .job = request->job,
                .memory_nbytes = request->memory_nbytes / READER_FRACTION,
                .bound = { .fixed_nbytes = MEMORY_PROCESS_NBYTES, .factor = READER_FRACTION },
        };
        struct kc_inputs inputs = { 0 };
        const enum kc_status status = kc_inputs_copy(&inputs, request->inputs, err);
        if (status == KC_OK)
                return kc_reader_open_inputs(&t->reader, &inputs, &options, err);
        kc_inputs_free(&inputs);
        return status;
}

/*
 * Whether the device should inflate and parse the files. Here the device is already open, unlike
 * when counting begins. Inflating takes the host's cores a long time; but plain text they parse as
 * fast as it can be copied, if there are more than a few cores.
 */
static bool reads_on_device(const struct totaling *t, struct kc_stored_source *source)
{
        enum { FEW_CORES = 4 };
        const int ndevices = t->request->device->options.ndevices;
        bool plain = false;
        if (!kc_reader_stored(t->reader, UINT64_MAX, source))
                return false;
        for (size_t i = 0; i < source->nfiles; i++)
                plain |= !source->files[i].bgzf;
        if (plain && t->request->nthreads > FEW_CORES)
                return false;
        return ndevices == 1 ||
               kc_reader_stored(t->reader, kc_device_part_nbytes(source, ndevices, 0), source);
}

/* Whether the inputs can be read once more: their sizes are known, and none is standard input. */
static bool is_rereadable(const struct totaling *t)
{
        const char *const *names;
        const size_t n = kc_reader_names(t->reader, &names);
        for (size_t i = 0; i < n; i++)
                if (strcmp(names[i], "-") == 0)
                        return false;
        return kc_reader_expected_nbases(t->reader) > 0;
}

static enum kc_status look_up(struct totaling *t, bool *began, struct kc_error *err)
{
        const struct profile_request *request = t->request;
        const struct kc_gpu_ask_table table = kc_device_table(request->store);
        const struct kc_batch_source batches = kc_reader_source(t->reader);
        struct kc_stored_source stored;
        const struct kc_gpu_ask_reads reads = {
                .batches = &batches,
                .stored = reads_on_device(t, &stored) ? &stored : NULL,
                .nthreads = request->nthreads,
                .memory_nbytes = request->memory_nbytes - request->memory_nbytes / READER_FRACTION,
                .read_ahead = is_rereadable(t),
                .job = request->job,
        };
        const struct kc_ask_tally tally = { t, put, clear };
        return kc_gpu_ask_tally(&table, &request->device->options, &reads, &tally, began, err);
}

/* Whether the device should do it, as far as the files' sizes tell: for few letters, no table
 * should be loaded; and the user may have left the choice. */
static bool is_for_device(const struct totaling *t)
{
        const struct profile_request *request = t->request;
        const uint64_t nbases = kc_reader_expected_nbases(t->reader);
        struct kc_store_info info;
        kc_store_get_info(request->store, &info);
        if (nbases > 0 && nbases < kc_lookup_few(&info))
                return false;
        return !request->device->may_fall_back ||
               (nbases > 0 && asking_device_is_faster(info.ndistinct, nbases, request->nthreads));
}

static void get_total(struct totaling *t, struct profile_total *total)
{
        struct kc_reader_totals read;
        kc_reader_totals(t->reader, &read);
        total->nsequences = read.nreads;
        total->row = (struct profile_row){
                .length = read.nbases,
                .summary = kc_window_tally_summary(&t->tally, t->request->min_count,
                                                   t->request->max_count),
        };
        if (t->tally.n > 0)
                kc_window_tally_quartiles(&t->tally, total->row.quarters);
}

/* Whether an asker does it, in turns or without the device, after the device has failed to start. A
 * device that is missing or out of order is not tried twice. */
static bool goes_on(const struct profile_request *request, const struct kc_error *reason)
{
        struct device_answers *device = request->device;
        if (reason->status == KC_ENOMEM)
                return true;
        if (!device->may_fall_back || !fall_back_to_cpu(reason, "answering", device->quiet))
                return false;
        device->cuda = false;
        return true;
}

enum kc_status device_total(const struct profile_request *request, struct profile_total *total,
                            bool *done, struct kc_error *err)
{
        struct totaling t = { .request = request };
        struct kc_error refusal = { 0 };
        enum kc_status status;
        bool began;
        *done = false;
        KC_TRY(open_reader(&t, err));
        if (!is_for_device(&t))
                goto out;
        status = look_up(&t, &began, &refusal);
        if (status == KC_OK)
                get_total(&t, total);
        *done = request->device->used = status == KC_OK;
        if (status == KC_OK || (!began && goes_on(request, &refusal)))
                status = KC_OK;
        else
                status = kc_fail_as(err, &refusal);
out:
        kc_reader_close(t.reader);
        kc_window_tally_free(&t.tally);
        return status;
}
