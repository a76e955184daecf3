/*
 * Walks over the reads and runs passes through the stages find, split, count and order; measures
 * the time of each stage.
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

/* ---- records of a pass ---- */

namespace
{

/* Some of the reads: groups of chunks that are on the device, or of a chunk that was copied
 * there. */
struct kept_groups {
        struct kc_gpu_chunks chunks;
        uint32_t first, ngroups;
        bool copied;
};

} // namespace

template <class Key>
static enum kc_status forget_records(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        kc_counter_nrecords(c) = 0;
        return KC_CUDA(cudaMemsetAsync(&c->nfound[c->number], 0, sizeof(uint64_t), c->gpu->stream));
}

/* Add the list of pass `number`, which begins at `records`, to *out. */
template <class Key>
static void add_list(const kc_gpu_counter<Key> *c, int number, uint64_t *records,
                     struct kc_records_out *out)
{
        out->bins[out->nlists] = c->bins[number];
        out->lists[out->nlists++] = { records, c->max_records, &c->nfound[number] };
}

/* Find the records in the groups, and wait for the stream. */
template <class Key>
static enum kc_status find_for(kc_gpu_counter<Key> *c, const kept_groups *groups,
                               const struct kc_records_out *out, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_counter_begin_time(c, err));
        KC_TRY(kc_superkmer_find(c->gpu, &c->setup.superkmers, &groups->chunks, groups->first,
                                 groups->ngroups, out, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&kc_counter_nrecords(c), &c->nfound[c->number],
                                       sizeof(uint64_t), cudaMemcpyDeviceToHost, c->gpu->stream)));
        KC_TRY(kc_counter_end_time(c, FIND, err));
out:
        return status;
}

/* Find the records of the current pass in the groups. */
template <class Key>
static enum kc_status find(kc_gpu_counter<Key> *c, const kept_groups *groups, struct kc_error *err)
{
        struct kc_records_out out = {};
        add_list(c, c->number, c->found, &out);
        out.copies = groups->copied ? c->copies : NULL;
        out.copies_position = c->copies_position;
        return find_for(c, groups, &out, err);
}

/* The reads that are on the device. */
template <class Key> static kept_groups groups_on_device(const kc_gpu_counter<Key> *c)
{
        return { c->chunks, 0, c->chunks.ngroups, false };
}

/* Call work(groups) for the reads that are not on the device. */
template <class Key, class Work>
static enum kc_status for_copied(kc_gpu_counter<Key> *c, Work work, struct kc_error *err)
{
        enum kc_status status;
        kept_groups groups = {};
        groups.copied = true;
        for (;;) {
                KC_TRY(kc_gpu_kept_next(c->kept, &groups.chunks, err));
                if (groups.chunks.n == 0)
                        break;
                groups.ngroups = groups.chunks.ngroups;
                KC_TRY(work(&groups));
        }
out:
        return status;
}

template <class Key> static enum kc_status find_copied(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        return for_copied(
                c, [&](const kept_groups *groups) { return find(c, groups, err); }, err);
}

template <class Key> static enum kc_status begin_reads(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        const size_t ncopies_words =
                c->copies == NULL ? 0 : c->max_records * (size_t)c->setup.superkmers.copy_nwords;
        return kc_gpu_kept_begin(c->kept, c->copies, ncopies_words, &c->chunks, &c->copies_position,
                                 err);
}

/* ---- a walk ---- */

/* Divide the memory for records. */
template <class Key> static void arrange_records(kc_gpu_counter<Key> *c)
{
        const bool copies = kc_gpu_kept_pass_nbytes(c->kept) > 0;
        const int nlists = kc_gpu_counter_max_passes(&c->caps, c->kept);
        c->max_records = kc_gpu_counter_max_records(&c->setup.superkmers, &c->caps, c->kept);
        c->spare = c->words + (uint64_t)nlists * c->max_records;
        c->copies = copies ? c->spare + c->max_records : NULL;
}

/* Bins of the usual size; bins are at least two points wide. */
template <class Key>
static int choose_bin_bits(const kc_gpu_counter<Key> *c, const struct kc_gpu_pass *pass,
                           uint64_t npoints)
{
        int bits = kc_counter_bin_bits<Key>(c->setup.table, pass->nkmers, pass->total_nkmers,
                                            c->max_bin_bits);
        while (UINT64_C(2) << bits > npoints)
                bits--;
        return bits;
}

static uint64_t points_of(const struct kc_gpu_pass *pass)
{
        return pass->width == 0 ? UINT64_C(1) << 32 : pass->width;
}

template <class Key>
static void choose_bins(kc_gpu_counter<Key> *c, int number, const struct kc_gpu_pass *pass)
{
        const uint64_t npoints = points_of(pass);
        const int bits = choose_bin_bits(c, pass, npoints);
        c->passes[number] = *pass;
        c->bin_bits[number] = bits;
        c->bins[number] = { pass->first, pass->width,
                            (uint32_t)((UINT64_C(1) << (32 + bits)) / npoints) };
}

/* Turn to a pass, whose records were found. */
template <class Key> static void set_pass(kc_gpu_counter<Key> *c, int number)
{
        c->number = number;
        c->found = c->words + (uint64_t)number * c->max_records;
        c->records = c->spare;
}

template <class Key>
enum kc_status kc_gpu_counter_begin(struct kc_gpu_counter<Key> *c, struct kc_gpu_kept *kept,
                                    const struct kc_gpu_pass *passes, int npasses,
                                    struct kc_records_out *lists, struct kc_error *err)
{
        enum kc_status status;
        c->kept = kept;
        arrange_records(c);
        *lists = {};
        for (int i = 0; i < npasses; i++) {
                choose_bins(c, i, &passes[i]);
                add_list(c, i, c->words + (uint64_t)i * c->max_records, lists);
        }
        set_pass(c, 0);
        KC_TRY(KC_CUDA(cudaMemsetAsync(c->nfound, 0, KC_GPU_MAX_WALK_PASSES * sizeof *c->nfound,
                                       c->gpu->stream)));
        KC_TRY(begin_reads(c, err)); /* waits for the stream */
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_counter_find(struct kc_gpu_counter<Key> *c,
                                   const struct kc_records_out *lists, int part, int nparts,
                                   struct kc_error *err)
{
        kept_groups groups = groups_on_device(c);
        const uint64_t all = groups.ngroups, n = (uint64_t)nparts;
        groups.first = (uint32_t)(all * (uint64_t)part / n);
        groups.ngroups = (uint32_t)(all * (uint64_t)(part + 1) / n) - groups.first;
        return find_for(c, &groups, lists, err);
}

template <class Key>
enum kc_status kc_gpu_counter_walk(struct kc_gpu_counter<Key> *c, struct kc_gpu_kept *kept,
                                   const struct kc_gpu_pass *passes, int npasses,
                                   struct kc_error *err)
{
        struct kc_records_out lists = {};
        const enum kc_status status = kc_gpu_counter_begin(c, kept, passes, npasses, &lists, err);
        return status == KC_OK ? kc_gpu_counter_find(c, &lists, 0, 1, err) : status;
}

/* ---- passes that do not fit ---- */

/* Add the k-mers of the records found so far to the sums. */
template <class Key> static enum kc_status end_round(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t nkmers;
        if (kc_counter_nrecords(c) > 0) {
                KC_TRY(kc_counter_split(c, err));
                KC_TRY(kc_counter_add_sums(c, c->tasks, c->readback->ntasks, err));
                KC_TRY(kc_gpu_read(c->gpu, &nkmers, &c->bounds[c->readback->ntasks - 1], 1, err));
                c->nsummed += nkmers;
        }
        KC_TRY(forget_records(c, err));
out:
        return status;
}

template <class Key>
static enum kc_status collect(kc_gpu_counter<Key> *c, const kept_groups *groups,
                              struct kc_error *err);

/*
 * The groups' records were found, after `before` others, and there was no room for all of them.
 * First sum those others; if the records of the groups do not fit alone either, take the groups in
 * two halves. The records of a single group always fit.
 */
template <class Key>
static enum kc_status fit_in(kc_gpu_counter<Key> *c, const kept_groups *groups, uint64_t before,
                             struct kc_error *err)
{
        enum kc_status status;
        kept_groups half = *groups;
        if (before == 0 && groups->ngroups == 1)
                return kc_fail(err, KC_EUSAGE, "a counter is too small for the records of a group");
        kc_counter_nrecords(c) = before;
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

/* Find the groups' records of the pass; if there is no room, sum some. */
template <class Key>
static enum kc_status collect(kc_gpu_counter<Key> *c, const kept_groups *groups,
                              struct kc_error *err)
{
        enum kc_status status;
        const uint64_t before = kc_counter_nrecords(c);
        KC_TRY(find(c, groups, err));
        if (kc_counter_nrecords(c) > c->max_records)
                KC_TRY(fit_in(c, groups, before, err));
out:
        return status;
}

/* Add all k-mers of the pass to the sums, in rounds over parts of the reads. */
template <class Key> static enum kc_status sum_rounds(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        kept_groups groups;
        c->nsummed = 0;
        KC_TRY(forget_records(c, err));
        KC_TRY(begin_reads(c, err));
        groups = groups_on_device(c);
        KC_TRY(collect(c, &groups, err));
        KC_TRY(for_copied(
                c, [&](const kept_groups *copied) { return collect(c, copied, err); }, err));
        KC_TRY(end_round(c, err));
out:
        return status;
}

/* Count a load that has more records than fit. */
template <class Key>
static enum kc_status count_in_rounds(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_counter_recount(
                c, UINT64_MAX, [&] { return sum_rounds(c, err); }, err));
        KC_TRY(kc_counter_give_run(c, err));
        c->counted->nkmers += c->nsummed;
        c->counted->nrecounted += c->nsummed;
out:
        return status;
}

template <class Key>
static enum kc_status count_found(kc_gpu_counter<Key> *c, struct kc_error *err);

/* Walk over the reads again for some of the points of the pass, and count. */
template <class Key>
static enum kc_status count_points(kc_gpu_counter<Key> *c, const struct kc_gpu_pass *points,
                                   struct kc_error *err)
{
        enum kc_status status;
        kept_groups groups;
        choose_bins(c, c->number, points);
        KC_TRY(forget_records(c, err));
        KC_TRY(begin_reads(c, err));
        groups = groups_on_device(c);
        KC_TRY(find(c, &groups, err));
        KC_TRY(find_copied(c, err));
        KC_TRY(count_found(c, err));
out:
        return status;
}

/* Count the pass in halves. */
template <class Key>
static enum kc_status count_halves(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_pass half = c->passes[c->number];
        const uint64_t npoints = points_of(&half), nkmers = half.nkmers;
        half.nkmers = nkmers / 2 + 1;
        half.width = (uint32_t)(npoints / 2);
        KC_TRY(count_points(c, &half, err));
        half.first += half.width;
        half.width = (uint32_t)(npoints - npoints / 2);
        KC_TRY(count_points(c, &half, err));
out:
        return status;
}

/* ---- a pass ---- */

/* Count the records that were found, if there was room for all of them. */
template <class Key> static enum kc_status count_found(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        if (kc_counter_nrecords(c) > c->max_records)
                return points_of(&c->passes[c->number]) >> KC_LOAD_SHIFT > 1
                               ? count_halves(c, err)
                               : count_in_rounds(c, err);
        if (kc_counter_nrecords(c) == 0)
                return KC_OK;
        KC_TRY(kc_counter_split(c, err));
        KC_TRY(kc_counter_count_tasks(c, err));
out:
        return status;
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
                c->counted->nsaturated += cells[i].nsaturated;
        }
        return status == KC_OK ? add_rows(c, err) : status;
}

template <class Key>
enum kc_status kc_gpu_counter_count(struct kc_gpu_counter<Key> *c, int number,
                                    const struct kc_gpu_run_taker<Key> *taker,
                                    struct kc_gpu_counted *counted, struct kc_error *err)
{
        enum kc_status status;
        c->taker = taker;
        c->counted = counted;
        set_pass(c, number);
        KC_TRY(kc_gpu_read(c->gpu, &kc_counter_nrecords(c), &c->nfound[number], 1, err));
        KC_TRY(clear_cells(c, err));
        KC_TRY(kc_counter_forget_pairs(c, err));
        KC_TRY(find_copied(c, err));
        KC_TRY(count_found(c, err));
        KC_TRY(add_cells(c, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_counter_begin_time<Key>(kc_gpu_counter<Key> *, \
                                                           struct kc_error *); \
        template enum kc_status kc_counter_end_time<Key>(kc_gpu_counter<Key> *, enum count_stage, \
                                                         struct kc_error *); \
        template enum kc_status kc_gpu_counter_begin<Key>( \
                struct kc_gpu_counter<Key> *, struct kc_gpu_kept *, const struct kc_gpu_pass *, \
                int, struct kc_records_out *, struct kc_error *); \
        template enum kc_status kc_gpu_counter_find<Key>(struct kc_gpu_counter<Key> *, \
                                                         const struct kc_records_out *, int, int, \
                                                         struct kc_error *); \
        template enum kc_status kc_gpu_counter_walk<Key>( \
                struct kc_gpu_counter<Key> *, struct kc_gpu_kept *, const struct kc_gpu_pass *, \
                int, struct kc_error *); \
        template enum kc_status kc_gpu_counter_count<Key>( \
                struct kc_gpu_counter<Key> *, int, const struct kc_gpu_run_taker<Key> *, \
                struct kc_gpu_counted *, struct kc_error *); \
        template struct kc_gpu_counter_times kc_gpu_counter_get_times<Key>( \
                const struct kc_gpu_counter<Key> *);
KC_GPU_KEYS(INSTANTIATE)
