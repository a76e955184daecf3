/*
 * Portions of files. Workers claim them slice by slice, in the order of the files, and copy them to
 * the device.
 */
#include "gpu/intake/intake_internal.cuh"

#include <cstdlib>
#include <sys/mman.h>

enum { HUGE_PAGE_NBYTES = 2 << 20 };

static size_t portion_stride(const struct kc_gpu_intake *intake)
{
        return kc_round_up(MARGIN_NBYTES + intake->portion_nbytes + KC_INFLATE_PADDING,
                           MAX_SLICE_NBYTES);
}

static size_t memory_nbytes(const struct kc_gpu_intake *intake)
{
        return kc_round_up(NPORTIONS * portion_stride(intake), HUGE_PAGE_NBYTES);
}

enum kc_status kc_intake_map(struct kc_gpu_intake *intake, struct kc_error *err)
{
        intake->memory = (uint8_t *)aligned_alloc(HUGE_PAGE_NBYTES, memory_nbytes(intake));
        if (intake->memory == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        (void)madvise(intake->memory, memory_nbytes(intake), MADV_HUGEPAGE); /* only advice */
        for (int i = 0; i < NPORTIONS; i++)
                intake->portions[i].host = intake->memory + (size_t)i * portion_stride(intake);
        return KC_OK;
}

void kc_intake_unmap(struct kc_gpu_intake *intake)
{
        if (intake->pinned)
                (void)cudaHostUnregister(intake->memory);
        free(intake->memory);
        intake->memory = NULL;
        intake->pinned = false;
}

/* ---- workers ---- */

namespace
{

struct intake_slice {
        struct intake_portion *portion; /* NULL: there are no more */
        size_t at, n;                   /* in the portion */
};

} // namespace

/* Let workers fill the next portion. False if no file is left. */
static bool begin_portion(struct kc_gpu_intake *intake, struct intake_portion *portion)
{
        const struct kc_stored_source *source = intake->setup.source;
        struct intake_place *next = &intake->next;
        if (next->file == source->nfiles)
                return false;
        const uint64_t left = source->files[next->file].nbytes - next->offset;
        portion->file = next->file;
        portion->offset = next->offset;
        portion->nbytes = left < intake->portion_nbytes ? left : intake->portion_nbytes;
        portion->ends_file = portion->nbytes == left;
        portion->nslices = kc_ceil_div(portion->nbytes, intake->slice_nbytes);
        portion->nclaimed = portion->ncopied = 0;
        portion->is_short = false;
        portion->filling = true;
        next->offset += portion->nbytes;
        if (portion->ends_file)
                *next = { next->file + 1, 0 };
        return true;
}

/* Claim a slice, if there is one. The caller is inside the gate. */
static struct intake_slice claim(struct kc_gpu_intake *intake)
{
        struct intake_slice slice = {};
        struct intake_portion *portion = &intake->portions[intake->nbegun % NPORTIONS];
        const bool busy = portion->filling && portion->nclaimed == portion->nslices;
        if (busy || (!portion->filling && !begin_portion(intake, portion)))
                return slice;
        slice.portion = portion;
        slice.at = portion->nclaimed++ * intake->slice_nbytes;
        slice.n = portion->nbytes - slice.at;
        if (slice.n > intake->slice_nbytes)
                slice.n = intake->slice_nbytes;
        if (portion->nclaimed == portion->nslices)
                intake->nbegun++;
        return slice;
}

/* Wait for a slice, or for the end. */
static enum kc_status take_slice(struct kc_gpu_intake *intake, struct intake_slice *slice,
                                 struct kc_error *err)
{
        enum kc_status status;
        *slice = {};
        kc_gate_enter(intake->gate);
        status = kc_gate_check(intake->gate, err);
        while (status == KC_OK && !intake->over) {
                *slice = claim(intake);
                if (slice->portion != NULL)
                        break;
                status = kc_gate_wait(intake->gate, KC_GATE_WORKERS, err);
        }
        intake->nreading += slice->portion != NULL;
        kc_gate_leave(intake->gate);
        return status;
}

/* *ready: the thread may copy to the device; otherwise the intake is over. */
static enum kc_status wait_for_device(struct kc_gpu_intake *intake, bool *ready,
                                      struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_gate_enter(intake->gate);
        while (status == KC_OK && !intake->attached && !intake->over)
                status = kc_gate_wait(intake->gate, KC_GATE_WORKERS, err);
        *ready = intake->attached && !intake->over;
        kc_gate_leave(intake->gate);
        return status == KC_OK && *ready ? KC_CUDA(cudaSetDevice(intake->gpu->device)) : status;
}

static enum kc_status copy_slice(struct kc_gpu_intake *intake, const struct intake_slice *slice,
                                 bool *is_short, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_stored_source *source = intake->setup.source;
        struct intake_portion *portion = slice->portion;
        const size_t at = MARGIN_NBYTES + slice->at;
        bool ready = false;
        size_t got;
        KC_TRY(source->read(source->ctx, portion->file, portion->offset + slice->at,
                            portion->host + at, slice->n, &got, err));
        *is_short = got < slice->n;
        KC_TRY(wait_for_device(intake, &ready, err));
        if (ready)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(portion->device + at, portion->host + at, slice->n,
                                               cudaMemcpyHostToDevice, intake->gpu->upload)));
out:
        return status;
}

static void done(struct kc_gpu_intake *intake, const struct intake_slice *slice, bool is_short)
{
        kc_gate_enter(intake->gate);
        intake->nreading--;
        slice->portion->is_short |= is_short;
        if (++slice->portion->ncopied == slice->portion->nslices || intake->over)
                kc_gate_wake(intake->gate, KC_GATE_DRIVER);
        kc_gate_leave(intake->gate);
}

enum kc_status kc_gpu_intake_read(struct kc_gpu_intake *intake, bool *foreign, struct kc_error *err)
{
        enum kc_status status;
        struct intake_slice slice;
        for (;;) {
                bool is_short = false;
                KC_TRY(take_slice(intake, &slice, err));
                if (slice.portion == NULL)
                        break;
                status = copy_slice(intake, &slice, &is_short, err);
                done(intake, &slice, is_short);
                if (status != KC_OK)
                        goto out;
        }
        *foreign = intake->foreign;
out:
        return status;
}

/* ---- the driver ---- */

enum kc_status kc_intake_next_portion(struct kc_gpu_intake *intake, struct intake_portion **portion,
                                      struct kc_error *err)
{
        struct intake_portion *next = &intake->portions[intake->ntaken % NPORTIONS];
        const struct kc_stored_source *source = intake->setup.source;
        kc_gate_enter(intake->gate);
        enum kc_status status = kc_gate_check(intake->gate, err);
        while (status == KC_OK && (!next->filling || next->ncopied < next->nslices) &&
               (next->filling || intake->next.file < source->nfiles))
                status = kc_gate_wait(intake->gate, KC_GATE_DRIVER, err);
        *portion = next->filling ? next : NULL;
        intake->ntaken += next->filling;
        kc_gate_leave(intake->gate);
        return status;
}

void kc_intake_give_back(struct kc_gpu_intake *intake, struct intake_portion *portion)
{
        kc_gate_enter(intake->gate);
        portion->filling = false;
        kc_gate_wake(intake->gate, KC_GATE_WORKERS);
        kc_gate_leave(intake->gate);
}
