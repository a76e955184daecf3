/*
 * Portions of files. Workers claim them slice by slice, in the order of the parts, and copy them to
 * the devices.
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
        struct kc_gpu_intake *intake; /* NULL: there are no more */
        struct intake_portion *portion;
        size_t at, n; /* in the portion */
};

} // namespace

/* Take the next part. If it is the last one, wake the other intakes: there are no more. */
static bool begin_part(struct kc_gpu_intake *intake)
{
        struct kc_gpu_intakes *all = intake->all;
        if (all->next_part == all->source->nparts)
                return false;
        intake->next = { &all->source->parts[all->next_part++], 0 };
        if (all->next_part == all->source->nparts)
                kc_gate_wake_all(all->gate);
        return true;
}

/* Let workers fill the next portion. False if no part is left. */
static bool begin_portion(struct kc_gpu_intake *intake, struct intake_portion *portion)
{
        struct intake_place *next = &intake->next;
        if (next->part == NULL && !begin_part(intake))
                return false;
        const uint64_t left = next->part->nbytes - next->offset;
        portion->part = next->part;
        portion->offset = next->part->offset + next->offset;
        portion->nbytes = left < intake->portion_nbytes ? left : intake->portion_nbytes;
        portion->ends_part = portion->nbytes == left;
        portion->nslices = kc_ceil_div(portion->nbytes, intake->slice_nbytes);
        portion->nclaimed = portion->ncopied = 0;
        portion->is_short = false;
        portion->filling = true;
        next->offset += portion->nbytes;
        if (portion->ends_part)
                next->part = NULL;
        return true;
}

/* Claim a slice for the intake, if there is one. The caller is inside the gate. */
static struct intake_slice claim(struct kc_gpu_intake *intake)
{
        struct intake_slice slice = {};
        struct intake_portion *portion = &intake->portions[intake->nbegun % NPORTIONS];
        const bool busy = portion->filling && portion->nclaimed == portion->nslices;
        if (busy || (!portion->filling && !begin_portion(intake, portion)))
                return slice;
        slice.intake = intake;
        slice.portion = portion;
        slice.at = portion->nclaimed++ * intake->slice_nbytes;
        slice.n = portion->nbytes - slice.at;
        if (slice.n > intake->slice_nbytes)
                slice.n = intake->slice_nbytes;
        if (portion->nclaimed == portion->nslices)
                intake->nbegun++;
        intake->nreading++;
        return slice;
}

/* Claim a slice for any intake, if reading is not over. Each worker begins with a different intake,
 * so that all are served. */
static struct intake_slice claim_any(const struct kc_gpu_intakes *all, int worker)
{
        struct intake_slice slice = {};
        for (int i = 0; i < all->n && slice.intake == NULL && !all->over; i++) {
                struct kc_gpu_intake *intake = all->reading[(worker + i) % all->n];
                if (intake != NULL && !intake->over)
                        slice = claim(intake);
        }
        return slice;
}

/* Wait for a slice, or for the end. */
static enum kc_status take_slice(struct kc_gpu_intakes *all, int worker, struct intake_slice *slice,
                                 struct kc_error *err)
{
        const auto claimed = [&] {
                *slice = claim_any(all, worker);
                return all->over || slice->intake != NULL;
        };
        return kc_gate_await(all->gate, KC_GATE_WORKERS, claimed, err);
}

/* *ready: the thread may copy to the device; otherwise the intake is over. */
static enum kc_status wait_for_device(struct kc_gpu_intake *intake, bool *ready,
                                      struct kc_error *err)
{
        const auto decided = [&] {
                *ready = intake->attached && !intake->over;
                return intake->attached || intake->over;
        };
        const enum kc_status status = kc_gate_await(intake->gate, KC_GATE_WORKERS, decided, err);
        return status == KC_OK && *ready ? KC_CUDA(cudaSetDevice(intake->gpu->device)) : status;
}

static enum kc_status copy_slice(const struct intake_slice *slice, bool *is_short,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_intake *intake = slice->intake;
        const struct kc_stored_source *source = intake->source;
        struct intake_portion *portion = slice->portion;
        const size_t at = MARGIN_NBYTES + slice->at;
        bool ready = false;
        size_t got;
        KC_TRY(source->read(source->ctx, portion->part->file, portion->offset + slice->at,
                            portion->host + at, slice->n, &got, err));
        *is_short = got < slice->n;
        KC_TRY(wait_for_device(intake, &ready, err));
        if (ready)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(portion->device + at, portion->host + at, slice->n,
                                               cudaMemcpyHostToDevice, intake->gpu->upload)));
out:
        return status;
}

static void done(const struct intake_slice *slice, bool is_short)
{
        struct kc_gpu_intake *intake = slice->intake;
        kc_gate_enter(intake->gate);
        intake->nreading--;
        slice->portion->is_short |= is_short;
        if (++slice->portion->ncopied == slice->portion->nslices || intake->over)
                kc_gate_wake(intake->gate, intake->bell);
        kc_gate_leave(intake->gate);
}

enum kc_status kc_gpu_intakes_read(struct kc_gpu_intakes *all, int worker, bool *foreign,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct intake_slice slice;
        for (;;) {
                bool is_short = false;
                KC_TRY(take_slice(all, worker, &slice, err));
                if (slice.intake == NULL)
                        break;
                status = copy_slice(&slice, &is_short, err);
                done(&slice, is_short);
                if (status != KC_OK)
                        goto out;
        }
        *foreign = all->foreign;
out:
        return status;
}

/* ---- the device's thread ---- */

/* Whether the next portion is yet to come. */
static bool is_coming(const struct kc_gpu_intake *intake, const struct intake_portion *next)
{
        const struct kc_gpu_intakes *all = intake->all;
        if (all->foreign)
                return false;
        if (next->filling)
                return next->ncopied < next->nslices;
        return intake->next.part != NULL || all->next_part < all->source->nparts;
}

enum kc_status kc_intake_next_portion(struct kc_gpu_intake *intake, struct intake_portion **portion,
                                      struct kc_error *err)
{
        struct intake_portion *next = &intake->portions[intake->ntaken % NPORTIONS];
        const auto decided = [&] {
                *portion = next->filling && !intake->all->foreign ? next : NULL;
                return !is_coming(intake, next);
        };
        const enum kc_status status = kc_gate_await(intake->gate, intake->bell, decided, err);
        intake->ntaken += status == KC_OK && *portion != NULL;
        return status;
}

void kc_intake_give_back(struct kc_gpu_intake *intake, struct intake_portion *portion)
{
        kc_gate_tell(intake->gate, KC_GATE_WORKERS, [&] { portion->filling = false; });
}
