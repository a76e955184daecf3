/*
 * Runs passes through the stages find, split, count and order, and measures the time of each.
 */
#include "gpu/count/count_internal.cuh"

#include <algorithm>

/* ---- time ---- */

template <class Key>
enum kc_status kc_counter_begin_time(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        return KC_CUDA(cudaEventRecord(c->events[0], c->gpu->stream));
}

/* Waits for the stream. */
template <class Key>
enum kc_status kc_counter_end_time(kc_gpu_counter<Key> *c, enum count_stage stage,
                                   struct kc_error *err)
{
        enum kc_status status;
        float ms;
        KC_TRY(KC_CUDA(cudaEventRecord(c->events[1], c->gpu->stream)));
        KC_TRY(KC_CUDA(cudaEventSynchronize(c->events[1])));
        KC_TRY(KC_CUDA(cudaEventElapsedTime(&ms, c->events[0], c->events[1])));
        c->ms[stage] += ms;
out:
        return status;
}

template <class Key>
struct kc_gpu_counter_times kc_gpu_counter_get_times(const struct kc_gpu_counter<Key> *c)
{
        return { c->ms[FIND], c->ms[SPLIT], c->ms[COUNT], c->ms[ORDER] };
}

/* ---- rounds ---- */

template <class Key>
static enum kc_status forget_records(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        c->readback->nrecords = 0;
        return KC_CUDA(cudaMemsetAsync(&c->cursors[0], 0, sizeof(uint64_t), c->gpu->stream));
}

/* Count the records found so far. */
template <class Key> static enum kc_status end_round(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (c->readback->nrecords > 0) {
                KC_TRY(kc_counter_split(c, err));
                KC_TRY(kc_counter_count_tasks(c, err));
        }
        KC_TRY(forget_records(c, err));
out:
        return status;
}

/* ---- a pass ---- */

namespace
{

/* Some of a pass's reads: groups of chunks that are on the device, or of a chunk that was copied
 * there. */
struct kept_groups {
        struct kc_gpu_chunks chunks;
        uint32_t first, ngroups;
        bool copied;
};

} // namespace

template <class Key>
static enum kc_status find(kc_gpu_counter<Key> *c, const kept_groups *groups, struct kc_error *err)
{
        enum kc_status status;
        uint64_t *n = &c->cursors[0];
        const struct kc_records_out out = { c->found, c->max_records, n,
                                            groups->copied ? c->copies : NULL, c->copies_position };
        KC_TRY(kc_counter_begin_time(c, err));
        KC_TRY(kc_superkmer_find(c->gpu, &c->setup.superkmers, &c->bins, &groups->chunks,
                                 groups->first, groups->ngroups, &out, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->nrecords, n, sizeof *n, cudaMemcpyDeviceToHost,
                                       c->gpu->stream)));
        KC_TRY(kc_counter_end_time(c, FIND, err));
out:
        return status;
}

/*
 * Find the groups' records. If there is no room for all of them, first count the records found
 * before, as a round of their own; if those of the groups do not fit alone either, take the groups
 * in two halves. The records of a single group always fit.
 */
template <class Key>
static enum kc_status collect(kc_gpu_counter<Key> *c, const kept_groups *groups,
                              struct kc_error *err)
{
        enum kc_status status;
        const uint64_t before = c->readback->nrecords;
        kept_groups half = *groups;
        KC_TRY(find(c, groups, err));
        if (c->readback->nrecords <= c->max_records)
                return KC_OK;
        if (before == 0 && groups->ngroups == 1)
                return kc_fail(err, KC_EUSAGE, "a counter is too small for the records of a group");
        c->rounds = true;
        c->readback->nrecords = before;
        KC_TRY(end_round(c, err));
        if (before > 0)
                return collect(c, groups, err);
        half.ngroups = (groups->ngroups + 1) / 2;
        KC_TRY(collect(c, &half, err));
        half.first += half.ngroups;
        half.ngroups = groups->ngroups - half.ngroups;
        if (half.ngroups > 0)
                KC_TRY(collect(c, &half, err));
out:
        return status;
}

template <class Key>
static enum kc_status collect_all(kc_gpu_counter<Key> *c, struct kc_gpu_kept *kept,
                                  struct kc_error *err)
{
        enum kc_status status;
        kept_groups groups = { c->chunks, 0, c->chunks.ngroups, false };
        KC_TRY(collect(c, &groups, err));
        groups.copied = true;
        for (;;) {
                KC_TRY(kc_gpu_kept_next(kept, &groups.chunks, err));
                if (groups.chunks.n == 0)
                        break;
                groups.ngroups = groups.chunks.ngroups;
                KC_TRY(collect(c, &groups, err));
        }
out:
        return status;
}

/* Divide the memory for records. */
template <class Key>
static void arrange_records(kc_gpu_counter<Key> *c, const struct kc_gpu_kept *kept)
{
        const bool copies = kc_gpu_kept_pass_nbytes(kept) > 0;
        c->max_records = kc_gpu_counter_max_records(&c->setup.superkmers, &c->caps, kept);
        c->found = c->words;
        c->records = c->found + c->max_records;
        c->copies = copies ? c->records + c->max_records : NULL;
}

/* Bins of the usual size; bins are at least two points wide. */
template <class Key>
static int choose_bin_bits(const kc_gpu_counter<Key> *c, const struct kc_gpu_pass *pass,
                           uint64_t npoints)
{
        int bits = kc_counter_bin_bits<Key>(c->setup.table, pass->nkmers);
        if (bits > c->max_bin_bits)
                bits = c->max_bin_bits;
        while (UINT64_C(2) << bits > npoints)
                bits--;
        return bits;
}

static uint64_t points_of(const struct kc_gpu_pass *pass)
{
        return pass->width == 0 ? UINT64_C(1) << 32 : pass->width;
}

template <class Key> static void choose_bins(kc_gpu_counter<Key> *c, const struct kc_gpu_pass *pass)
{
        const uint64_t npoints = points_of(pass);
        c->bin_bits = choose_bin_bits(c, pass, npoints);
        c->bins = { pass->first, pass->width,
                    (uint32_t)((UINT64_C(1) << (32 + c->bin_bits)) / npoints) };
}

/* Clear the blocks' totals. */
template <class Key> static enum kc_status clear_cells(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = c->gpu->stream;
        KC_TRY(KC_CUDA(cudaMemsetAsync(c->cells, 0, KC_COUNT_NCELLS * sizeof *c->cells, stream)));
        if (c->rows != NULL)
                KC_TRY(KC_CUDA(cudaMemsetAsync(
                        c->rows, 0, KC_COUNT_NTALLIES * KC_RUN_NROWS * sizeof *c->rows, stream)));
out:
        return status;
}

template <class Key> static enum kc_status add_rows(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        uint64_t rows[KC_COUNT_NTALLIES * KC_RUN_NROWS];
        const uint64_t unique = c->counted->dropped.nunique;
        enum kc_status status = KC_OK;
        if (c->rows == NULL)
                return KC_OK;
        KC_TRY(kc_gpu_read(c->gpu, rows, c->rows, KC_COUNT_NTALLIES * KC_RUN_NROWS, err));
        for (int i = 0; i < KC_COUNT_NTALLIES * KC_RUN_NROWS; i++)
                c->counted->rows[i % KC_RUN_NROWS] += rows[i];
        c->counted->rows[1] = unique; /* the kernel counts these in the cells only */
out:
        return status;
}

/* Add the blocks' totals to the caller's. */
template <class Key> static enum kc_status add_cells(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        struct kc_count_cell cells[KC_COUNT_NCELLS];
        enum kc_status status = kc_gpu_read(c->gpu, cells, c->cells, KC_COUNT_NCELLS, err);
        for (int i = 0; i < KC_COUNT_NCELLS && status == KC_OK; i++) {
                const struct kc_run_dropped dropped = { cells[i].ndistinct, cells[i].nkmers,
                                                        cells[i].nunique };
                kc_run_add_dropped(&c->counted->dropped, &dropped);
                c->counted->npartial += cells[i].npartial;
        }
        return status == KC_OK ? add_rows(c, err) : status;
}

template <class Key>
static enum kc_status begin_pass(kc_gpu_counter<Key> *c, const struct kc_gpu_pass *pass,
                                 const struct kc_gpu_run_taker<Key> *taker,
                                 struct kc_gpu_counted *counted, struct kc_error *err)
{
        enum kc_status status;
        c->taker = taker;
        c->counted = counted;
        c->rounds = false;
        choose_bins(c, pass);
        KC_TRY(clear_cells(c, err));
        KC_TRY(forget_records(c, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_counter_count(struct kc_gpu_counter<Key> *c, struct kc_gpu_kept *kept,
                                    const struct kc_gpu_pass *pass,
                                    const struct kc_gpu_run_taker<Key> *taker,
                                    struct kc_gpu_counted *counted, struct kc_error *err)
{
        enum kc_status status;
        size_t ncopies_words;
        arrange_records(c, kept);
        ncopies_words =
                c->copies == NULL ? 0 : c->max_records * (size_t)c->setup.superkmers.copy_nwords;
        KC_TRY(begin_pass(c, pass, taker, counted, err));
        KC_TRY(kc_gpu_kept_begin(kept, c->copies, ncopies_words, &c->chunks, &c->copies_position,
                                 err));
        KC_TRY(collect_all(c, kept, err));
        KC_TRY(end_round(c, err));
        KC_TRY(add_cells(c, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_counter_begin_time<Key>(kc_gpu_counter<Key> *, \
                                                           struct kc_error *); \
        template enum kc_status kc_counter_end_time<Key>(kc_gpu_counter<Key> *, enum count_stage, \
                                                         struct kc_error *); \
        template enum kc_status kc_gpu_counter_count<Key>( \
                struct kc_gpu_counter<Key> *, struct kc_gpu_kept *, const struct kc_gpu_pass *, \
                const struct kc_gpu_run_taker<Key> *, struct kc_gpu_counted *, struct kc_error *); \
        template struct kc_gpu_counter_times kc_gpu_counter_get_times<Key>( \
                const struct kc_gpu_counter<Key> *);
KC_GPU_KEYS(INSTANTIATE)
