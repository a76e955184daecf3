#include "gpu/runs/ranges.cuh"

#include "gpu/runs/coded_range.cuh"
#include "gpu/runs/merge.cuh"

#include <cstdlib>
#include <cstring>

enum { NTHREADS = 256 };

/* Write to pinned memory, which needs neither device memory nor a second copy. */
template <class Key>
static __global__ void range_sample_kernel(const Key *kmers, size_t n, Key *fences)
{
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
        if (i < n)
                fences[i] = kmers[i * KC_FENCE_NPAIRS];
}

template <class Key>
static enum kc_status sample(struct kc_host_store *store, const Key *kmers, size_t n, Key *fences,
                             struct kc_error *err)
{
        enum kc_status status;
        struct kc_host_stage *stage;
        cudaStream_t stream = store->gpu->stream;
        KC_TRY(kc_host_store_stage(store, &stage, err));
        range_sample_kernel<<<kc_ceil_div(n, NTHREADS), NTHREADS, 0, stream>>>(
                kmers, n, (Key *)stage->memory);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        memcpy(fences, stage->memory, n * sizeof(Key));
out:
        return status;
}

template <class Key>
enum kc_status kc_lsm_run_add_fences(struct kc_host_store *store, struct kc_lsm_run<Key> *run,
                                     const struct kc_gpu_run<Key> *pairs, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_fences<Key> *fences = &run->fences;
        size_t nfences = kc_fences_count(fences->n + pairs->n);
        size_t first = fences->nfences * KC_FENCE_NPAIRS - fences->n;
        size_t max_n = KC_HOST_STAGE_NBYTES / sizeof(Key), n;
        if (nfences == fences->nfences) {
                fences->n += pairs->n;
                return KC_OK;
        }
        Key *kmers = (Key *)realloc(fences->kmers, nfences * sizeof(Key));
        if (kmers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        fences->kmers = kmers;
        kc_host_store_note(store, fences->nfences * sizeof(Key), nfences * sizeof(Key));
        for (; fences->nfences < nfences; fences->nfences += n, first += n * KC_FENCE_NPAIRS) {
                n = nfences - fences->nfences < max_n ? nfences - fences->nfences : max_n;
                KC_TRY(sample(store, pairs->kmers + first, n, kmers + fences->nfences, err));
        }
        fences->n += pairs->n;
out:
        return status;
}

template <class Key>
void kc_lsm_run_drop_fences(struct kc_host_store *store, struct kc_lsm_run<Key> *run)
{
        kc_host_store_note(store, run->fences.nfences * sizeof(Key), 0);
        free(run->fences.kmers);
        run->fences = {};
}

template <class Key> void kc_lsm_run_free(struct kc_host_store *store, struct kc_lsm_run<Key> *run)
{
        if (run == NULL)
                return;
        kc_gpu_run_free(store->gpu, &run->device);
        kc_coded_run_free(store, &run->host);
        kc_lsm_run_drop_fences(store, run);
        free(run);
}

namespace
{

/* A query to the device: how many k-mers are below the split. */
template <class Key> struct below {
        const Key *kmers;
        size_t n;
        size_t nbelow; /* the answer */
};

/* What a range takes from the runs. */
template <class Key> struct pending_range {
        struct kc_gpu_run<Key> *parts;    /* [nruns] pairs of each run, once they are on the device;
                                            cap = 0 unless they are a part's own */
        struct kc_coded_range<Key> coded; /* of runs on the host */
        Key split;
        bool is_last; /* it holds all remaining pairs */
        bool is_ready;
};

} // namespace

template <class Key> struct kc_ranges {
        struct kc_gpu *gpu;
        struct kc_host_store *store;
        struct kc_lsm_run<Key> **runs;
        const struct kc_fences<Key> **fences; /* [nruns] of the runs */
        size_t nruns, max_pairs;
        struct kc_range_cuts<Key> cuts;
        size_t next_cut;
        uint64_t *nsaturated;
        struct pending_range<Key> current, ahead;
        struct kc_gpu_run<Key> decoded; /* of the range, all runs on the host */
        struct kc_gpu_run<Key> range;   /* the one returned last; it owns its memory if cap > 0 */
        struct below<Key> *queries;     /* [nruns] pinned */
        struct kc_range_decoder decoder;
};

template <class Key> static size_t count_on_host(struct kc_lsm_run<Key> *const *runs, size_t nruns)
{
        size_t n = 0;
        for (size_t i = 0; i < nruns; i++)
                n += runs[i]->on_host;
        return n;
}

/*
 * With runs on the host: the next range's blocks, and this range's decoded pairs. The pairs being
 * merged, and the result of a merge, are never more than the range's. With just two runs, only the
 * result of their one merge needs memory.
 */
template <class Key>
size_t kc_ranges_nbytes(struct kc_lsm_run<Key> *const *runs, size_t nruns, size_t nmerged,
                        size_t max_pairs)
{
        enum { OTHER_NBYTES = 64 << 10 };
        const size_t nhost = count_on_host(runs, nruns);
        const size_t nblocks = kc_coded_most_blocks(nhost < nmerged ? nhost : nmerged, max_pairs);
        size_t block_nwords = 0;
        for (size_t i = 0; i < nruns; i++)
                if (runs[i]->host.max_nwords > block_nwords)
                        block_nwords = runs[i]->host.max_nwords;
        const size_t ncopies = nmerged > 2 ? 2 : nmerged > 1 ? 1 : 0;
        return nblocks * (block_nwords * sizeof(uint64_t) + sizeof(struct kc_decode_block<Key>)) +
               kc_gpu_run_nbytes<Key>(nblocks * KC_BLOCK_NKMERS) +
               ncopies * kc_gpu_run_nbytes<Key>(max_pairs) + kc_gpu_merge_nbytes<Key>(max_pairs) +
               OTHER_NBYTES;
}

template <class Key>
static enum kc_status take_pending(const struct kc_ranges<Key> *ranges,
                                   struct pending_range<Key> *pending, struct kc_error *err)
{
        const size_t nhost = count_on_host(ranges->runs, ranges->nruns);
        pending->parts = (struct kc_gpu_run<Key> *)calloc(ranges->nruns, sizeof *pending->parts);
        if (pending->parts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return kc_coded_range_new(&pending->coded, nhost,
                                  kc_coded_most_blocks(nhost, ranges->max_pairs), err);
}

template <class Key>
static enum kc_status take_arrays(struct kc_ranges<Key> *ranges, struct kc_error *err)
{
        enum kc_status status;
        const size_t n = ranges->nruns;
        ranges->fences = (const struct kc_fences<Key> **)calloc(n, sizeof *ranges->fences);
        if (ranges->fences == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(take_pending(ranges, &ranges->current, err));
        KC_TRY(take_pending(ranges, &ranges->ahead, err));
        KC_TRY(kc_range_decoder_open(&ranges->decoder, ranges->gpu, n, err));
        KC_TRY(KC_CUDA(cudaHostAlloc((void **)&ranges->queries, n * sizeof *ranges->queries,
                                     cudaHostAllocDefault)));
out:
        return status;
}

template <class Key>
enum kc_status kc_ranges_new(struct kc_ranges<Key> **out, struct kc_host_store *store,
                             struct kc_lsm_run<Key> **runs, size_t nruns, size_t max_pairs,
                             const struct kc_range_cuts<Key> *cuts, uint64_t *nsaturated,
                             struct kc_error *err)
{
        struct kc_ranges<Key> *ranges = (struct kc_ranges<Key> *)calloc(1, sizeof *ranges);
        *out = ranges;
        if (ranges == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        ranges->gpu = store->gpu;
        ranges->store = store;
        ranges->runs = runs;
        ranges->nruns = nruns;
        ranges->max_pairs = max_pairs;
        ranges->cuts = *cuts;
        ranges->nsaturated = nsaturated;
        if (nruns == 0)
                return KC_OK;
        enum kc_status status = take_arrays(ranges, err);
        for (size_t i = 0; i < nruns && status == KC_OK; i++)
                ranges->fences[i] = &runs[i]->fences;
        if (status != KC_OK) {
                kc_ranges_free(ranges);
                *out = NULL;
        }
        return status;
}

template <class Key> static void drop_part(struct kc_gpu *gpu, struct kc_gpu_run<Key> *part)
{
        if (part->cap > 0)
                kc_gpu_run_free(gpu, part);
        *part = {};
}

template <class Key>
static void drop_parts(struct kc_ranges<Key> *ranges, struct pending_range<Key> *pending)
{
        for (size_t i = 0; pending->parts != NULL && i < ranges->nruns; i++)
                drop_part(ranges->gpu, &pending->parts[i]);
        pending->is_ready = false;
}

template <class Key>
static void free_pending(struct kc_ranges<Key> *ranges, struct pending_range<Key> *pending)
{
        drop_parts(ranges, pending);
        kc_coded_range_free(ranges->gpu, &pending->coded);
        free(pending->parts);
}

template <class Key> void kc_ranges_free(struct kc_ranges<Key> *ranges)
{
        if (ranges == NULL)
                return;
        /* No copy may be under way to memory that is freed here. */
        (void)cudaStreamSynchronize(ranges->gpu->upload);
        (void)cudaStreamSynchronize(ranges->gpu->stream);
        free_pending(ranges, &ranges->current);
        free_pending(ranges, &ranges->ahead);
        drop_part(ranges->gpu, &ranges->range);
        drop_part(ranges->gpu, &ranges->decoded);
        kc_range_decoder_close(&ranges->decoder, ranges->gpu);
        if (ranges->queries != NULL)
                (void)cudaFreeHost(ranges->queries);
        free(ranges->fences);
        free(ranges);
        (void)cudaGetLastError();
}

/* A single run is cut by rank, unless the caller has the cuts; several runs by k-mer. */
template <class Key> static bool cuts_by_rank(const struct kc_ranges<Key> *ranges)
{
        return ranges->nruns == 1 && !ranges->cuts.are_given;
}

template <class Key>
static void choose_split(struct kc_ranges<Key> *ranges, struct pending_range<Key> *pending)
{
        const size_t left = kc_fences_left(ranges->fences, ranges->nruns);
        const struct kc_range_cuts<Key> *cuts = &ranges->cuts;
        pending->is_last =
                cuts->are_given ? ranges->next_cut == cuts->n : left <= ranges->max_pairs;
        if (pending->is_last)
                return;
        if (cuts->are_given)
                pending->split = cuts->at[ranges->next_cut++];
        else if (!cuts_by_rank(ranges))
                pending->split = kc_fences_split(ranges->fences, ranges->nruns, ranges->max_pairs);
}

/* Upper bound on the pairs that the range takes from run i. */
template <class Key>
static size_t part_bound(const struct kc_ranges<Key> *ranges,
                         const struct pending_range<Key> *pending, size_t i)
{
        const struct kc_fences<Key> *fences = ranges->fences[i];
        if (pending->is_last)
                return fences->n - fences->at;
        if (cuts_by_rank(ranges))
                return ranges->max_pairs;
        return kc_fences_bound(fences, pending->split);
}

/* Start copying a range's pairs from runs on the host. */
template <class Key>
static enum kc_status fetch(struct kc_ranges<Key> *ranges, struct pending_range<Key> *pending,
                            struct kc_error *err)
{
        enum kc_status status;
        if (kc_fences_left(ranges->fences, ranges->nruns) == 0)
                return KC_OK;
        choose_split(ranges, pending);
        for (size_t i = 0; i < ranges->nruns; i++) {
                const struct kc_lsm_run<Key> *run = ranges->runs[i];
                struct kc_gpu_run<Key> *part = &pending->parts[i];
                *part = {};
                part->n = part_bound(ranges, pending, i);
                if (!run->on_host) {
                        part->kmers = run->device.kmers + run->fences.at;
                        part->counts = run->device.counts + run->fences.at;
                } else if (part->n > 0) {
                        kc_coded_range_add(&pending->coded, &run->host, &run->fences, i, part->n);
                }
        }
        KC_TRY(kc_coded_range_copy(ranges->store, &pending->coded, err));
        pending->is_ready = true;
out:
        return status;
}

template <class Key>
static __global__ void range_below_kernel(struct below<Key> *queries, size_t n, Key split)
{
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
        if (i < n)
                queries[i].nbelow = kc_count_below(queries[i].kmers, queries[i].n, split);
}

template <class Key>
static enum kc_status cut_parts(struct kc_ranges<Key> *ranges, struct pending_range<Key> *pending,
                                struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = ranges->gpu->stream;
        for (size_t i = 0; i < ranges->nruns; i++)
                ranges->queries[i] = { pending->parts[i].kmers, pending->parts[i].n, 0 };
        range_below_kernel<<<kc_ceil_div(ranges->nruns, NTHREADS), NTHREADS, 0, stream>>>(
                ranges->queries, ranges->nruns, pending->split);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        for (size_t i = 0; i < ranges->nruns; i++)
                pending->parts[i].n = ranges->queries[i].nbelow;
out:
        return status;
}

/* Give the chunks of runs on the host that no range needs any more back to the store. */
template <class Key> static void give_back(struct kc_ranges<Key> *ranges)
{
        for (size_t i = 0; i < ranges->nruns; i++) {
                struct kc_lsm_run<Key> *run = ranges->runs[i];
                if (run->on_host)
                        kc_coded_run_give_back(ranges->store, &run->host,
                                               run->fences.at / KC_BLOCK_NKMERS);
        }
}

/* Decode the parts, cut them at the split, and advance the runs past it. */
template <class Key>
static enum kc_status settle(struct kc_ranges<Key> *ranges, struct pending_range<Key> *pending,
                             struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const bool on_host = pending->coded.nblocks > 0;
        if (on_host)
                KC_TRY(kc_coded_range_decode(ranges->gpu, &pending->coded, &ranges->decoder,
                                             &ranges->decoded, pending->parts, err));
        if (!pending->is_last && !cuts_by_rank(ranges))
                KC_TRY(cut_parts(ranges, pending, err));
        if (on_host)
                KC_TRY(kc_range_decoder_check(&ranges->decoder, ranges->store, err));
        for (size_t i = 0; i < ranges->nruns; i++)
                ranges->runs[i]->fences.at += pending->parts[i].n;
        give_back(ranges);
out:
        return status;
}

template <class Key>
enum kc_status kc_ranges_next(struct kc_ranges<Key> *ranges, struct kc_gpu_run<Key> *range,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct pending_range<Key> fetched;
        *range = {};
        drop_part(ranges->gpu, &ranges->range);
        drop_part(ranges->gpu, &ranges->decoded);
        KC_TRY(kc_host_store_check(ranges->store, err));
        if (!ranges->ahead.is_ready)
                KC_TRY(fetch(ranges, &ranges->ahead, err));
        if (!ranges->ahead.is_ready)
                return KC_OK;
        fetched = ranges->ahead;
        ranges->ahead = ranges->current;
        ranges->current = fetched;
        KC_TRY(settle(ranges, &ranges->current, err));
        KC_TRY(fetch(ranges, &ranges->ahead, err));
        KC_TRY(kc_gpu_merge_all(ranges->gpu, ranges->current.parts, ranges->nruns,
                                ranges->nsaturated, &ranges->range, err));
        ranges->current.is_ready = false;
        *range = ranges->range;
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_lsm_run_add_fences( \
                struct kc_host_store *, struct kc_lsm_run<Key> *, const struct kc_gpu_run<Key> *, \
                struct kc_error *); \
        template void kc_lsm_run_drop_fences(struct kc_host_store *, struct kc_lsm_run<Key> *); \
        template void kc_lsm_run_free(struct kc_host_store *, struct kc_lsm_run<Key> *); \
        template size_t kc_ranges_nbytes(struct kc_lsm_run<Key> *const *, size_t, size_t, size_t); \
        template enum kc_status kc_ranges_new( \
                struct kc_ranges<Key> **, struct kc_host_store *, struct kc_lsm_run<Key> **, \
                size_t, size_t, const struct kc_range_cuts<Key> *, uint64_t *, struct kc_error *); \
        template enum kc_status kc_ranges_next(struct kc_ranges<Key> *, struct kc_gpu_run<Key> *, \
                                               struct kc_error *); \
        template void kc_ranges_free(struct kc_ranges<Key> *);
KC_GPU_KEYS(INSTANTIATE)
