#include "gpu/runs/lsm.cuh"

#include "gpu/runs/merge.cuh"
#include "gpu/runs/ranges.cuh"

#include <cstdlib>

template <class Key> struct kc_gpu_lsm {
        struct kc_gpu *gpu;
        struct kc_host_store store;
        struct kc_run_coder<Key> coder;
        struct kc_lsm_run<Key> **runs; /* [nruns] oldest first */
        size_t nruns, cap;
        uint64_t *nsaturated;          /* device */
        struct kc_ranges<Key> *ranges; /* NULL until the first kc_gpu_lsm_next or kc_gpu_lsm_cut */
};

template <class Key>
static enum kc_status give_longest(void *lsm, bool *gave, struct kc_error *err);

/* Chunks of 2 MiB are copied at nearly the full rate; smaller ones are for little memory, so that
 * many fit. */
static size_t chunk_nbytes(const struct kc_gpu_lsm_setup *setup)
{
        enum { MIN_NBYTES = 64 << 10, MAX_NBYTES = 2 << 20, MIN_NCHUNKS = 16 };
        if (setup->chunk_nbytes)
                return setup->chunk_nbytes;
        size_t n = MAX_NBYTES;
        while (setup->host_nbytes != 0 && n > MIN_NBYTES && n * MIN_NCHUNKS > setup->host_nbytes)
                n /= 2;
        return n;
}

template <class Key>
enum kc_status kc_gpu_lsm_new(struct kc_gpu_lsm<Key> **out, struct kc_gpu *gpu,
                              const struct kc_gpu_lsm_setup *setup, struct kc_error *err)
{
        enum { CODER_SHARE = 64 }; /* the coder has one part in this many of the device's memory */
        enum kc_status status;
        struct kc_gpu_lsm<Key> *lsm = (struct kc_gpu_lsm<Key> *)calloc(1, sizeof *lsm);
        *out = NULL;
        if (lsm == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        struct kc_host_store_setup store = {};
        store.chunk_nbytes = chunk_nbytes(setup);
        store.max_pinned_nbytes = setup->host_nbytes;
        store.tmp_dir = setup->tmp_dir;
        store.nthreads = setup->nthreads;
        store.gate = setup->gate;
        lsm->gpu = gpu;
        KC_TRY(kc_host_store_open(&lsm->store, gpu, &store, err));
        KC_TRY(kc_run_coder_open(&lsm->coder, gpu, gpu->limit_nbytes / CODER_SHARE, err));
        KC_TRY(kc_gpu_new(gpu, &lsm->nsaturated, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(lsm->nsaturated, 0, sizeof *lsm->nsaturated, gpu->stream)));
        gpu->spare = { lsm, give_longest<Key> };
        *out = lsm;
        lsm = NULL;
out:
        kc_gpu_lsm_free(lsm);
        return status;
}

template <class Key> void kc_gpu_lsm_free(struct kc_gpu_lsm<Key> *lsm)
{
        if (lsm == NULL)
                return;
        (void)kc_gpu_take_spare(lsm->gpu);
        kc_ranges_free(lsm->ranges);
        for (size_t i = 0; i < lsm->nruns; i++)
                kc_lsm_run_free(&lsm->store, lsm->runs[i]);
        kc_gpu_delete(lsm->gpu, lsm->nsaturated, 1);
        kc_run_coder_close(&lsm->coder);
        kc_host_store_close(&lsm->store);
        free(lsm->runs);
        free(lsm);
}

/* Append an empty run as the newest. */
template <class Key>
static enum kc_status add_run(struct kc_gpu_lsm<Key> *lsm, struct kc_error *err)
{
        if (lsm->nruns == lsm->cap) {
                size_t cap = lsm->cap ? 2 * lsm->cap : 16;
                void *runs = realloc(lsm->runs, cap * sizeof *lsm->runs);
                if (runs == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                lsm->runs = (struct kc_lsm_run<Key> **)runs;
                lsm->cap = cap;
        }
        void *run = calloc(1, sizeof *lsm->runs[0]);
        if (run == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        lsm->runs[lsm->nruns++] = (struct kc_lsm_run<Key> *)run;
        return KC_OK;
}

template <class Key> static void drop_run(struct kc_gpu_lsm<Key> *lsm, size_t i)
{
        kc_lsm_run_free(&lsm->store, lsm->runs[i]);
        for (size_t k = i + 1; k < lsm->nruns; k++)
                lsm->runs[k - 1] = lsm->runs[k];
        lsm->nruns--;
}

/* The newest run on the device among the first n; n if there is none. */
template <class Key> static size_t newest_on_device(const struct kc_gpu_lsm<Key> *lsm, size_t n)
{
        for (size_t i = n; i > 0; i--)
                if (!lsm->runs[i - 1]->on_host)
                        return i - 1;
        return n;
}

/*
 * KC_ENOMEM, with nothing changed, if that would take more than three quarters of the device's
 * memory. The runs may then stay as they are, since ranges can be merged from any number of runs;
 * moving one to the host would cost more than the merge saves.
 */
template <class Key>
static enum kc_status merge_runs(struct kc_gpu_lsm<Key> *lsm, size_t older, size_t newer,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> *a = &lsm->runs[older]->device, *b = &lsm->runs[newer]->device;
        size_t n = a->n > b->n ? a->n : b->n;
        const size_t needed = kc_gpu_merge_nbytes<Key>(a->n + b->n) + kc_gpu_run_nbytes<Key>(n);
        if (lsm->gpu->used_nbytes + needed > lsm->gpu->limit_nbytes / 4 * 3)
                return KC_ENOMEM;
        struct kc_gpu_run<Key> merged;
        struct kc_gpu_spare spare = kc_gpu_take_spare(lsm->gpu);
        status = kc_gpu_merge_runs(lsm->gpu, a, b, lsm->nsaturated, &merged, err);
        lsm->gpu->spare = spare;
        if (status != KC_OK)
                return status;
        kc_gpu_run_free(lsm->gpu, a);
        *a = merged;
        kc_lsm_run_drop_fences(&lsm->store, lsm->runs[older]);
        drop_run(lsm, newer);
        return KC_OK;
}

template <class Key>
static enum kc_status merge_levels(struct kc_gpu_lsm<Key> *lsm, struct kc_error *err)
{
        for (;;) {
                size_t newer = newest_on_device(lsm, lsm->nruns);
                size_t older = newest_on_device(lsm, newer);
                if (older == newer ||
                    !kc_lsm_should_merge(lsm->runs[older]->device.n, lsm->runs[newer]->device.n))
                        return KC_OK;
                struct kc_error error = {};
                enum kc_status status = merge_runs(lsm, older, newer, &error);
                if (status == KC_ENOMEM)
                        return KC_OK;
                if (status != KC_OK)
                        return kc_fail_as(err, &error);
        }
}

template <class Key>
enum kc_status kc_gpu_lsm_insert(struct kc_gpu_lsm<Key> *lsm, struct kc_gpu_run<Key> *run,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (lsm->ranges != NULL)
                status = kc_fail(err, KC_EUSAGE, "a run was inserted after the merge had begun");
        else if (run->n > 0)
                status = add_run(lsm, err);
        if (status != KC_OK || run->n == 0) {
                kc_gpu_run_free(lsm->gpu, run);
                return status;
        }
        lsm->runs[lsm->nruns - 1]->device = *run;
        *run = {};
        return merge_levels(lsm, err);
}

template <class Key>
static enum kc_status move_to_host(struct kc_gpu_lsm<Key> *lsm, struct kc_lsm_run<Key> *run,
                                   struct kc_error *err)
{
        enum kc_status status;
        if (run->fences.nfences == 0)
                KC_TRY(kc_lsm_run_add_fences(&lsm->store, run, &run->device, err));
        KC_TRY(kc_coded_run_append(&lsm->store, &lsm->coder, &run->host, &run->device, true, err));
        kc_gpu_run_free(lsm->gpu, &run->device);
        run->on_host = true;
out:
        return status;
}

/* The shortest run on the device with a capacity of at least npairs, otherwise the longest; NULL if
 * no run is on the device. */
template <class Key>
static struct kc_lsm_run<Key> *run_to_move(const struct kc_gpu_lsm<Key> *lsm, size_t npairs) {
        struct kc_lsm_run<Key> *found = NULL;
        for (size_t i = 0; i < lsm->nruns; i++) {
                struct kc_lsm_run<Key> *run = lsm->runs[i];
                if (run->on_host)
                        continue;
                size_t cap = run->device.cap;
                if (found == NULL || (found->device.cap < npairs && cap > found->device.cap) ||
                    (cap >= npairs && cap < found->device.cap))
                        found = run;
        }
        return found;
}

/* Move the longest run on the device to the host: it takes part in the fewest merges, and frees the
 * most memory for later. */
template <class Key>
static enum kc_status give_longest(void *ctx, bool *gave, struct kc_error *err)
{
        struct kc_gpu_lsm<Key> *lsm = (struct kc_gpu_lsm<Key> *)ctx;
        struct kc_lsm_run<Key> *run = run_to_move(lsm, SIZE_MAX);
        *gave = run != NULL;
        return run != NULL ? move_to_host(lsm, run, err) : KC_OK;
}

template <class Key>
enum kc_status kc_gpu_lsm_make_room(struct kc_gpu_lsm<Key> *lsm, size_t nbytes,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu *gpu = lsm->gpu;
        bool gave = lsm->ranges == NULL;
        while (gave && kc_gpu_room(gpu) < nbytes)
                KC_TRY(give_longest<Key>(lsm, &gave, err));
        if (!gave)
                kc_gpu_forget_refusals(gpu);
        if (kc_gpu_room(gpu) < nbytes)
                status = kc_gpu_no_room(gpu, nbytes, err);
out:
        return status;
}

/* Make the fences of all runs that have none yet. */
template <class Key>
static enum kc_status fence_runs(struct kc_gpu_lsm<Key> *lsm, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < lsm->nruns; i++) {
                struct kc_lsm_run<Key> *run = lsm->runs[i];
                if (run->fences.nfences == 0)
                        KC_TRY(kc_lsm_run_add_fences(&lsm->store, run, &run->device, err));
        }
out:
        return status;
}

/* How the runs are merged: how many at a time, in ranges of how many pairs. */
struct merge_plan {
        size_t nmerged, max_pairs;
};

/* The longest range, up to max_pairs, for which a merge of nmerged runs fits in kc_gpu_room. */
template <class Key>
static size_t fitting_pairs(const struct kc_gpu_lsm<Key> *lsm, size_t nmerged, size_t max_pairs)
{
        size_t low = 0, high = max_pairs;
        while (low < high) {
                const size_t middle = high - (high - low) / 2;
                if (kc_ranges_nbytes(lsm->runs, lsm->nruns, nmerged, middle) <=
                    kc_gpu_room(lsm->gpu))
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}

/* Ranges of this length, from up to this many runs, are merged about as fast as host memory is
 * read. The number matters because a merge of short parts costs as much as one of long parts. */
static const size_t GOOD_NPAIRS = 1 << 19, GOOD_NRUNS = 128;

/* With room for the pairs between four fences of each run, a range is at least half its maximum
 * length. */
enum { FENCES_NPAIRS = 4 * KC_FENCE_NPAIRS };

/* The longest ranges that fit in kc_gpu_room, of all runs if possible, otherwise of fewer. */
template <class Key>
static struct merge_plan fitting_plan(const struct kc_gpu_lsm<Key> *lsm, size_t max_pairs)
{
        struct merge_plan plan = { lsm->nruns < GOOD_NRUNS ? lsm->nruns : GOOD_NRUNS, 0 };
        for (;;) {
                plan.max_pairs = fitting_pairs(lsm, plan.nmerged, max_pairs);
                if (plan.nmerged <= 2 || plan.max_pairs >= plan.nmerged * FENCES_NPAIRS)
                        return plan;
                plan.nmerged -= plan.nmerged / 8 + 1;
        }
}

/* Likewise, but checked by allocating that much on the device. */
template <class Key>
static enum kc_status find_room(struct kc_gpu_lsm<Key> *lsm, size_t max_pairs,
                                struct merge_plan *plan, struct kc_error *err)
{
        const size_t all = (size_t)kc_gpu_lsm_npairs(lsm);
        for (;;) {
                struct kc_error refusal = {};
                *plan = fitting_plan(lsm, max_pairs);
                const size_t n = plan->max_pairs;
                const size_t needed =
                        kc_ranges_nbytes(lsm->runs, lsm->nruns, plan->nmerged, n < all ? n : all);
                enum kc_status status = n > 0 ? kc_gpu_hold(lsm->gpu, needed, &refusal) : KC_OK;
                if (status == KC_OK)
                        return KC_OK;
                if (status != KC_ENOMEM)
                        return kc_fail_as(err, &refusal);
        }
}

/* Longest first. Insertion sort, as there are few runs. */
template <class Key> static void sort_by_length(struct kc_lsm_run<Key> **runs, size_t nruns)
{
        for (size_t i = 1; i < nruns; i++) {
                struct kc_lsm_run<Key> *run = runs[i];
                size_t k = i;
                for (; k > 0 && runs[k - 1]->fences.n < run->fences.n; k--)
                        runs[k] = runs[k - 1];
                runs[k] = run;
        }
}

/* Write the merge of runs to the host. */
template <class Key>
static enum kc_status merge_to_host(struct kc_gpu_lsm<Key> *lsm, struct kc_lsm_run<Key> **runs,
                                    size_t nruns, size_t max_pairs, struct kc_lsm_run<Key> *merged,
                                    struct kc_error *err)
{
        enum kc_status status;
        const kc_range_cuts<Key> none = {};
        struct kc_ranges<Key> *ranges = NULL;
        struct kc_gpu_run<Key> range;
        merged->on_host = true;
        KC_TRY(kc_ranges_new(&ranges, &lsm->store, runs, nruns, max_pairs, &none, lsm->nsaturated,
                             err));
        do {
                KC_TRY(kc_ranges_next(ranges, &range, err));
                KC_TRY(kc_lsm_run_add_fences(&lsm->store, merged, &range, err));
                KC_TRY(kc_coded_run_append(&lsm->store, &lsm->coder, &merged->host, &range,
                                           range.n == 0, err));
        } while (range.n > 0);
out:
        kc_ranges_free(ranges);
        return status;
}

/* Merge the n shortest runs into one on the host; used if there are too many runs for one merge. */
template <class Key>
static enum kc_status merge_shortest(struct kc_gpu_lsm<Key> *lsm, size_t n, size_t max_pairs,
                                     struct kc_error *err)
{
        enum kc_status status;
        sort_by_length(lsm->runs, lsm->nruns);
        KC_TRY(add_run(lsm, err));
        KC_TRY(merge_to_host(lsm, lsm->runs + lsm->nruns - 1 - n, n, max_pairs,
                             lsm->runs[lsm->nruns - 1], err));
        for (size_t i = 0; i < n; i++)
                drop_run(lsm, lsm->nruns - 2);
out:
        return status;
}

/* Decide how long ranges are. Runs move to the host while ranges would be short; while there are
 * too many runs even for ranges of that length, the shortest are merged. */
template <class Key>
static enum kc_status plan_ranges(struct kc_gpu_lsm<Key> *lsm, size_t *max_pairs,
                                  struct kc_error *err)
{
        const size_t good = *max_pairs / 4 < GOOD_NPAIRS ? *max_pairs / 4 : GOOD_NPAIRS;
        for (;;) {
                struct merge_plan plan;
                enum kc_status status = find_room(lsm, *max_pairs, &plan, err);
                if (status != KC_OK)
                        return status;
                struct kc_lsm_run<Key> *run = run_to_move(lsm, KC_RANGES_NCOPIES * good);
                if (plan.max_pairs < good && run != NULL) {
                        status = move_to_host(lsm, run, err);
                } else if (plan.max_pairs < 2 * FENCES_NPAIRS && lsm->nruns > 0) {
                        status = kc_gpu_no_room(
                                lsm->gpu,
                                kc_ranges_nbytes(lsm->runs, lsm->nruns, plan.nmerged, good), err);
                } else if (lsm->nruns > plan.nmerged) {
                        const size_t over = lsm->nruns - plan.nmerged + 1; /* merging these into
                                                                              one suffices */
                        status = merge_shortest(lsm, over < plan.nmerged ? over : plan.nmerged,
                                                plan.max_pairs, err);
                } else {
                        *max_pairs = plan.max_pairs;
                        return KC_OK;
                }
                if (status != KC_OK)
                        return status;
        }
}

template <class Key>
enum kc_status kc_gpu_lsm_plan(struct kc_gpu_lsm<Key> *lsm, size_t *max_pairs, struct kc_error *err)
{
        enum kc_status status;
        (void)kc_gpu_take_spare(lsm->gpu); /* from now on, runs move only as planned here */
        kc_gpu_forget_refusals(lsm->gpu);
        KC_TRY(fence_runs(lsm, err));
        KC_TRY(plan_ranges(lsm, max_pairs, err));
out:
        return status;
}

template <class Key> void kc_gpu_lsm_unplan(struct kc_gpu_lsm<Key> *lsm)
{
        lsm->gpu->spare = { lsm, give_longest<Key> };
}

template <class Key> size_t kc_gpu_lsm_nruns(const struct kc_gpu_lsm<Key> *lsm)
{
        return lsm->nruns;
}

template <class Key>
const struct kc_fences<Key> *kc_gpu_lsm_fences(const struct kc_gpu_lsm<Key> *lsm, size_t run) {
        return &lsm->runs[run]->fences;
}

template <class Key>
enum kc_status kc_gpu_lsm_cut(struct kc_gpu_lsm<Key> *lsm, size_t max_pairs,
                              const struct kc_range_cuts<Key> *cuts, struct kc_error *err)
{
        return kc_ranges_new(&lsm->ranges, &lsm->store, lsm->runs, lsm->nruns, max_pairs, cuts,
                             lsm->nsaturated, err);
}

template <class Key>
enum kc_status kc_gpu_lsm_next(struct kc_gpu_lsm<Key> *lsm, size_t max_pairs,
                               struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        const kc_range_cuts<Key> none = {};
        *range = {};
        if (lsm->ranges == NULL) {
                KC_TRY(kc_gpu_lsm_plan(lsm, &max_pairs, err));
                KC_TRY(kc_gpu_lsm_cut(lsm, max_pairs, &none, err));
        }
        KC_TRY(kc_ranges_next(lsm->ranges, range, err));
out:
        return status;
}

template <class Key> bool kc_gpu_lsm_is_still(const struct kc_gpu_lsm<Key> *lsm)
{
        return lsm->nruns == 1 && !lsm->runs[0]->on_host;
}

template <class Key>
enum kc_status kc_gpu_lsm_merge(struct kc_gpu_lsm<Key> *lsm, struct kc_gpu_run<Key> *parts,
                                size_t nparts, struct kc_gpu_run<Key> *result, struct kc_error *err)
{
        return kc_gpu_merge_all(lsm->gpu, parts, nparts, lsm->nsaturated, result, err);
}

template <class Key> uint64_t kc_gpu_lsm_spilled_nbytes(const struct kc_gpu_lsm<Key> *lsm)
{
        return lsm->store.written_nbytes;
}

template <class Key> uint64_t kc_gpu_lsm_npairs(const struct kc_gpu_lsm<Key> *lsm)
{
        uint64_t n = 0;
        for (size_t i = 0; i < lsm->nruns; i++)
                n += lsm->runs[i]->on_host ? lsm->runs[i]->fences.n : lsm->runs[i]->device.n;
        return n;
}

template <class Key>
enum kc_status kc_gpu_lsm_nsaturated(const struct kc_gpu_lsm<Key> *lsm, uint64_t *nsaturated,
                                     struct kc_error *err)
{
        return kc_gpu_read(lsm->gpu, nsaturated, lsm->nsaturated, 1, err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_lsm_new(struct kc_gpu_lsm<Key> **, struct kc_gpu *, \
                                               const struct kc_gpu_lsm_setup *, \
                                               struct kc_error *); \
        template void kc_gpu_lsm_free(struct kc_gpu_lsm<Key> *); \
        template enum kc_status kc_gpu_lsm_insert(struct kc_gpu_lsm<Key> *, \
                                                  struct kc_gpu_run<Key> *, struct kc_error *); \
        template enum kc_status kc_gpu_lsm_make_room(struct kc_gpu_lsm<Key> *, size_t, \
                                                     struct kc_error *); \
        template enum kc_status kc_gpu_lsm_plan(struct kc_gpu_lsm<Key> *, size_t *, \
                                                struct kc_error *); \
        template void kc_gpu_lsm_unplan(struct kc_gpu_lsm<Key> *); \
        template size_t kc_gpu_lsm_nruns(const struct kc_gpu_lsm<Key> *); \
        template const struct kc_fences<Key> *kc_gpu_lsm_fences(const struct kc_gpu_lsm<Key> *, \
                                                                size_t); \
        template enum kc_status kc_gpu_lsm_cut(struct kc_gpu_lsm<Key> *, size_t, \
                                               const struct kc_range_cuts<Key> *, \
                                               struct kc_error *); \
        template bool kc_gpu_lsm_is_still(const struct kc_gpu_lsm<Key> *); \
        template enum kc_status kc_gpu_lsm_merge(struct kc_gpu_lsm<Key> *, \
                                                 struct kc_gpu_run<Key> *, size_t, \
                                                 struct kc_gpu_run<Key> *, struct kc_error *); \
        template enum kc_status kc_gpu_lsm_next(struct kc_gpu_lsm<Key> *, size_t, \
                                                struct kc_gpu_run<Key> *, struct kc_error *); \
        template uint64_t kc_gpu_lsm_spilled_nbytes(const struct kc_gpu_lsm<Key> *); \
        template uint64_t kc_gpu_lsm_npairs(const struct kc_gpu_lsm<Key> *); \
        template enum kc_status kc_gpu_lsm_nsaturated(const struct kc_gpu_lsm<Key> *, uint64_t *, \
                                                      struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
