#include "gpu/runs/ranges.cuh"

#include "gpu/blocks/decode.cuh"
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

template <class Key> void kc_lsm_run_free(struct kc_host_store *store, struct kc_lsm_run<Key> *run)
{
        if (run == NULL)
                return;
        kc_gpu_run_free(store->gpu, &run->device);
        kc_coded_run_free(store, &run->host);
        kc_host_store_note(store, run->fences.nfences * sizeof(Key), 0);
        free(run->fences.kmers);
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

/* What a range takes of one run on the host: whole blocks, of which it needs the pairs
 * [skip, skip + n). */
struct host_share {
        size_t first_block, nblocks, skip;
};

/* What a range takes of the runs. */
template <class Key> struct range_share {
        struct kc_gpu_run<Key> *parts; /* [nruns] pairs on the device; cap = 0 unless they are a
                                          part's own */
        struct host_share *hosts;      /* [nruns] */
        Key split;
        bool is_last; /* it holds all remaining pairs */
        bool is_ready;
        /* the blocks of all runs on the host, one run after another */
        uint64_t *words;                     /* [nwords] device */
        struct kc_decode_block<Key> *blocks; /* [nblocks] device */
        struct kc_decode_block<Key> *pinned; /* [max_blocks] the same */
        size_t nwords, nblocks;
};

} // namespace

template <class Key> struct kc_ranges {
        struct kc_gpu *gpu;
        struct kc_host_store *store;
        struct kc_lsm_run<Key> **runs;
        const struct kc_fences<Key> **fences; /* [nruns] of the runs */
        size_t nruns, max_pairs;
        uint64_t *nsaturated;
        struct range_share<Key> share, ahead;
        struct kc_gpu_run<Key> decoded; /* of the range, all runs on the host */
        struct kc_gpu_run<Key> range;   /* the one returned last; it owns its memory if cap > 0 */
        struct below<Key> *queries;     /* [nruns] pinned */
        size_t max_blocks;              /* of runs on the host, in a range */
        struct kc_decode_run *decoding; /* [nruns] device */
        unsigned long long *refused;    /* device: see kc_gpu_decode */
        cudaEvent_t taken, uploaded;
};

template <class Key> static size_t count_on_host(struct kc_lsm_run<Key> *const *runs, size_t nruns)
{
        size_t n = 0;
        for (size_t i = 0; i < nruns; i++)
                n += runs[i]->on_host;
        return n;
}

/* Blocks of which a range of max_pairs takes pairs; of each run, the first and the last in part. */
static size_t most_blocks(size_t nhost, size_t max_pairs)
{
        return nhost > 0 ? max_pairs / KC_BLOCK_NKMERS + 2 * nhost : 0;
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
        const size_t nblocks = most_blocks(nhost < nmerged ? nhost : nmerged, max_pairs);
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
static enum kc_status take_share(struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                                 struct kc_error *err)
{
        const size_t n = ranges->nruns;
        share->parts = (struct kc_gpu_run<Key> *)calloc(n, sizeof *share->parts);
        share->hosts = (struct host_share *)calloc(n, sizeof *share->hosts);
        if (share->parts == NULL || share->hosts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (ranges->max_blocks == 0)
                return KC_OK;
        return KC_CUDA(cudaHostAlloc((void **)&share->pinned,
                                     ranges->max_blocks * sizeof *share->pinned,
                                     cudaHostAllocDefault));
}

/* Describe the runs for kc_gpu_decode: all counts as they are. */
template <class Key>
static enum kc_status prepare_decoding(struct kc_ranges<Key> *ranges, struct kc_error *err)
{
        enum kc_status status;
        const size_t n = ranges->nruns;
        struct kc_decode_run *runs = (struct kc_decode_run *)calloc(n, sizeof *runs);
        if (runs == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = 0; i < n; i++)
                runs[i].count_mask = UINT32_MAX;
        KC_TRY(kc_gpu_new(ranges->gpu, &ranges->refused, 1, err));
        KC_TRY(kc_gpu_new(ranges->gpu, &ranges->decoding, n, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(ranges->decoding, runs, n * sizeof *runs,
                                       cudaMemcpyHostToDevice, ranges->gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(ranges->gpu->stream)));
out:
        free(runs);
        return status;
}

template <class Key>
static enum kc_status take_arrays(struct kc_ranges<Key> *ranges, struct kc_error *err)
{
        enum kc_status status;
        const size_t n = ranges->nruns, nhost = count_on_host(ranges->runs, n);
        ranges->max_blocks = most_blocks(nhost, ranges->max_pairs);
        KC_TRY(take_share(ranges, &ranges->share, err));
        KC_TRY(take_share(ranges, &ranges->ahead, err));
        ranges->fences = (const struct kc_fences<Key> **)calloc(n, sizeof *ranges->fences);
        if (ranges->fences == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(KC_CUDA(cudaHostAlloc((void **)&ranges->queries, n * sizeof *ranges->queries,
                                     cudaHostAllocDefault)));
        KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&ranges->taken, cudaEventDisableTiming)));
        KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&ranges->uploaded, cudaEventDisableTiming)));
        if (nhost > 0)
                KC_TRY(prepare_decoding(ranges, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_ranges_new(struct kc_ranges<Key> **out, struct kc_host_store *store,
                             struct kc_lsm_run<Key> **runs, size_t nruns, size_t max_pairs,
                             uint64_t *nsaturated, struct kc_error *err)
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

template <class Key> static void drop_blocks(struct kc_gpu *gpu, struct range_share<Key> *share)
{
        kc_gpu_delete(gpu, share->words, share->nwords);
        kc_gpu_delete(gpu, share->blocks, share->nblocks);
        share->words = NULL;
        share->blocks = NULL;
        share->nwords = share->nblocks = 0;
}

template <class Key>
static void drop_share(struct kc_ranges<Key> *ranges, struct range_share<Key> *share)
{
        for (size_t i = 0; share->parts != NULL && i < ranges->nruns; i++)
                drop_part(ranges->gpu, &share->parts[i]);
        drop_blocks(ranges->gpu, share);
        share->is_ready = false;
}

template <class Key>
static void free_share(struct kc_ranges<Key> *ranges, struct range_share<Key> *share)
{
        drop_share(ranges, share);
        if (share->pinned != NULL)
                (void)cudaFreeHost(share->pinned);
        free(share->parts);
        free(share->hosts);
}

template <class Key> void kc_ranges_free(struct kc_ranges<Key> *ranges)
{
        if (ranges == NULL)
                return;
        /* No copy may be under way to memory that is freed here. */
        (void)cudaStreamSynchronize(ranges->gpu->upload);
        (void)cudaStreamSynchronize(ranges->gpu->stream);
        free_share(ranges, &ranges->share);
        free_share(ranges, &ranges->ahead);
        drop_part(ranges->gpu, &ranges->range);
        drop_part(ranges->gpu, &ranges->decoded);
        kc_gpu_delete(ranges->gpu, ranges->decoding, ranges->nruns);
        kc_gpu_delete(ranges->gpu, ranges->refused, 1);
        if (ranges->queries != NULL)
                (void)cudaFreeHost(ranges->queries);
        if (ranges->taken != NULL)
                (void)cudaEventDestroy(ranges->taken);
        if (ranges->uploaded != NULL)
                (void)cudaEventDestroy(ranges->uploaded);
        free(ranges->fences);
        free(ranges);
        (void)cudaGetLastError();
}

/* A single run is cut by rank, several runs by k-mer. */
template <class Key>
static void choose_split(const struct kc_ranges<Key> *ranges, struct range_share<Key> *share)
{
        size_t left = kc_fences_left(ranges->fences, ranges->nruns);
        share->is_last = left <= ranges->max_pairs;
        if (!share->is_last && ranges->nruns > 1)
                share->split = kc_fences_split(ranges->fences, ranges->nruns, ranges->max_pairs);
}

/* Upper bound on the pairs that the range takes from run i. */
template <class Key>
static size_t share_bound(const struct kc_ranges<Key> *ranges, const struct range_share<Key> *share,
                          size_t i)
{
        const struct kc_fences<Key> *fences = ranges->fences[i];
        if (share->is_last)
                return fences->n - fences->at;
        if (ranges->nruns == 1)
                return ranges->max_pairs;
        return kc_fences_bound(fences, share->split);
}

/* Choose the blocks that the range takes of run i, which is on the host, and list them. */
template <class Key>
static void list_blocks(const struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                        size_t i)
{
        const struct kc_lsm_run<Key> *run = ranges->runs[i];
        struct host_share *of = &share->hosts[i];
        const size_t begin = run->fences.at, end = begin + share->parts[i].n;
        of->first_block = begin / KC_BLOCK_NKMERS;
        of->nblocks = kc_ceil_div(end, KC_BLOCK_NKMERS) - of->first_block;
        of->skip = begin % KC_BLOCK_NKMERS;
        if (begin == end)
                of->nblocks = 0;
        for (size_t b = of->first_block; b < of->first_block + of->nblocks; b++) {
                const size_t left = run->fences.n - b * KC_BLOCK_NKMERS;
                const uint64_t nwords = run->host.starts[b + 1] - run->host.starts[b];
                share->pinned[share->nblocks++] = {
                        run->fences.kmers[b], share->nwords, (uint32_t)nwords - 1,
                        (uint32_t)(left < KC_BLOCK_NKMERS ? left : (size_t)KC_BLOCK_NKMERS),
                        (uint32_t)i
                };
                share->nwords += nwords;
        }
}

/* Decide what the range takes of each run. */
template <class Key>
static void take_parts(const struct kc_ranges<Key> *ranges, struct range_share<Key> *share)
{
        for (size_t i = 0; i < ranges->nruns; i++) {
                const struct kc_lsm_run<Key> *run = ranges->runs[i];
                struct kc_gpu_run<Key> *part = &share->parts[i];
                *part = {};
                part->n = share_bound(ranges, share, i);
                if (run->on_host) {
                        list_blocks(ranges, share, i);
                } else {
                        part->kmers = run->device.kmers + run->fences.at;
                        part->counts = run->device.counts + run->fences.at;
                }
        }
        if (share->nblocks > 0)
                share->nwords += KC_BLOCK_PADDING;
}

/* Memory is allocated in the order of gpu->stream but written in that of gpu->upload, hence the
 * event. */
template <class Key>
static enum kc_status take_blocks(struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = ranges->gpu;
        KC_TRY(kc_gpu_new(gpu, &share->words, share->nwords, err));
        KC_TRY(kc_gpu_new(gpu, &share->blocks, share->nblocks, err));
        KC_TRY(KC_CUDA(cudaEventRecord(ranges->taken, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(gpu->upload, ranges->taken, 0)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(share->blocks, share->pinned,
                                       share->nblocks * sizeof *share->blocks,
                                       cudaMemcpyHostToDevice, gpu->upload)));
out:
        return status;
}

/* Start copying a range's blocks to the device. */
template <class Key>
static enum kc_status fetch(struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                            struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t *to;
        if (kc_fences_left(ranges->fences, ranges->nruns) == 0)
                return KC_OK;
        choose_split(ranges, share);
        take_parts(ranges, share);
        KC_TRY(take_blocks(ranges, share, err));
        to = share->words;
        for (size_t i = 0; i < ranges->nruns && share->nblocks > 0; i++) {
                const struct host_share *of = &share->hosts[i];
                const struct kc_coded_run *run = &ranges->runs[i]->host;
                if (of->nblocks == 0)
                        continue;
                const uint64_t *starts = run->starts + of->first_block;
                const size_t nwords = starts[of->nblocks] - starts[0];
                KC_TRY(kc_host_bytes_read(ranges->store, &run->bytes, starts[0] * sizeof *to,
                                          nwords * sizeof *to, to, err));
                to += nwords;
        }
        KC_TRY(KC_CUDA(cudaEventRecord(ranges->uploaded, ranges->gpu->upload)));
        share->is_ready = true;
out:
        return status;
}

/* Decode the range's blocks, and set the parts of runs on the host. */
template <class Key>
static enum kc_status decode_parts(struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> *decoded = &ranges->decoded;
        struct kc_decode_range<Key> range = {
        };
        size_t at = 0;
        range.words = share->words;
        range.blocks = share->blocks;
        range.nblocks = share->nblocks;
        range.runs = ranges->decoding;
        KC_TRY(kc_gpu_run_new(ranges->gpu, decoded, share->nblocks * KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_decode(ranges->gpu, &range, decoded, ranges->refused, err));
        for (size_t i = 0; i < ranges->nruns; i++) {
                const struct host_share *of = &share->hosts[i];
                struct kc_gpu_run<Key> *part = &share->parts[i];
                if (of->nblocks == 0)
                        continue;
                part->kmers = decoded->kmers + at + of->skip;
                part->counts = decoded->counts + at + of->skip;
                at += of->nblocks * KC_BLOCK_NKMERS;
        }
        drop_blocks(ranges->gpu, share);
out:
        return status;
}

/* Waits for the decoding. */
template <class Key>
static enum kc_status check_decoded(struct kc_ranges<Key> *ranges, struct kc_error *err)
{
        unsigned long long refused;
        enum kc_status status = kc_gpu_read(ranges->gpu, &refused, ranges->refused, 1, err);
        if (status == KC_OK && refused != 0)
                status = kc_fail(err, KC_EIO, "temporary data in memory or in %s has been damaged",
                                 ranges->store->tmp_dir);
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
static enum kc_status cut_parts(struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                                struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = ranges->gpu->stream;
        for (size_t i = 0; i < ranges->nruns; i++)
                ranges->queries[i] = { share->parts[i].kmers, share->parts[i].n, 0 };
        range_below_kernel<<<kc_ceil_div(ranges->nruns, NTHREADS), NTHREADS, 0, stream>>>(
                ranges->queries, ranges->nruns, share->split);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        for (size_t i = 0; i < ranges->nruns; i++)
                share->parts[i].n = ranges->queries[i].nbelow;
out:
        return status;
}

/* The chunks of runs on the host that no range needs any more go back to the store. */
template <class Key>
static enum kc_status give_back(struct kc_ranges<Key> *ranges, struct kc_error *err)
{
        enum kc_status status;
        if (ranges->max_blocks == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaEventSynchronize(ranges->uploaded)));
        for (size_t i = 0; i < ranges->nruns; i++) {
                struct kc_coded_run *run = &ranges->runs[i]->host;
                const size_t block = ranges->runs[i]->fences.at / KC_BLOCK_NKMERS;
                if (ranges->runs[i]->on_host && block <= run->nblocks)
                        kc_host_bytes_give_back(ranges->store, &run->bytes,
                                                run->starts[block] * sizeof *run->starts);
        }
out:
        return status;
}

/* Decode the parts, cut them at the split, and advance the runs past it. */
template <class Key>
static enum kc_status settle(struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                             struct kc_error *err)
{
        enum kc_status status;
        const bool on_host = share->nblocks > 0;
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(ranges->gpu->stream, ranges->uploaded, 0)));
        if (on_host)
                KC_TRY(decode_parts(ranges, share, err));
        if (!share->is_last && ranges->nruns > 1)
                KC_TRY(cut_parts(ranges, share, err));
        if (on_host)
                KC_TRY(check_decoded(ranges, err));
        for (size_t i = 0; i < ranges->nruns; i++)
                ranges->runs[i]->fences.at += share->parts[i].n;
        KC_TRY(give_back(ranges, err));
out:
        return status;
}

/* The smallest non-empty part other than *except; NULL if there is none. */
template <class Key>
static struct kc_gpu_run<Key> *smallest(struct kc_gpu_run<Key> *parts, size_t n,
                                        const struct kc_gpu_run<Key> *except) {
        struct kc_gpu_run<Key> *found = NULL;
        for (size_t i = 0; i < n; i++)
                if (parts[i].n > 0 && &parts[i] != except &&
                    (found == NULL || parts[i].n < found->n))
                        found = &parts[i];
        return found;
}

/* Merge the two smallest parts until only one is left, which is the range. */
template <class Key>
static enum kc_status merge_parts(struct kc_ranges<Key> *ranges, struct range_share<Key> *share,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> *a, *b, merged;
        for (;;) {
                a = smallest<Key>(share->parts, ranges->nruns, NULL);
                b = smallest<Key>(share->parts, ranges->nruns, a);
                if (b == NULL)
                        break;
                KC_TRY(kc_gpu_merge_runs(ranges->gpu, a, b, ranges->nsaturated, &merged, err));
                drop_part(ranges->gpu, a);
                drop_part(ranges->gpu, b);
                *a = merged;
        }
        status = KC_OK;
        if (a != NULL) {
                ranges->range = *a;
                *a = {};
        }
        drop_share(ranges, share);
out:
        return status;
}

template <class Key>
enum kc_status kc_ranges_next(struct kc_ranges<Key> *ranges, struct kc_gpu_run<Key> *range,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct range_share<Key> fetched;
        *range = {};
        drop_part(ranges->gpu, &ranges->range);
        drop_part(ranges->gpu, &ranges->decoded);
        KC_TRY(kc_host_store_check(ranges->store, err));
        if (!ranges->ahead.is_ready)
                KC_TRY(fetch(ranges, &ranges->ahead, err));
        if (!ranges->ahead.is_ready)
                return KC_OK;
        fetched = ranges->ahead;
        ranges->ahead = ranges->share;
        ranges->share = fetched;
        KC_TRY(settle(ranges, &ranges->share, err));
        KC_TRY(fetch(ranges, &ranges->ahead, err));
        KC_TRY(merge_parts(ranges, &ranges->share, err));
        *range = ranges->range;
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_lsm_run_add_fences( \
                struct kc_host_store *, struct kc_lsm_run<Key> *, const struct kc_gpu_run<Key> *, \
                struct kc_error *); \
        template void kc_lsm_run_free(struct kc_host_store *, struct kc_lsm_run<Key> *); \
        template size_t kc_ranges_nbytes(struct kc_lsm_run<Key> *const *, size_t, size_t, size_t); \
        template enum kc_status kc_ranges_new(struct kc_ranges<Key> **, struct kc_host_store *, \
                                              struct kc_lsm_run<Key> **, size_t, size_t, \
                                              uint64_t *, struct kc_error *); \
        template enum kc_status kc_ranges_next(struct kc_ranges<Key> *, struct kc_gpu_run<Key> *, \
                                               struct kc_error *); \
        template void kc_ranges_free(struct kc_ranges<Key> *);
KC_GPU_KEYS(INSTANTIATE)
