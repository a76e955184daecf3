/*
 * A warp encodes a block, in rows of 32 pairs, and knows nothing of other blocks but where its own
 * words go:
 *
 *      filter   only where it can drop something: count what passes, scan, move
 *               (encode_filter.cuh)
 *      plan     the counts and the two ends of each block: its layout; the histogram on the way
 *               (encode_plan.cuh)
 *      scan     of the blocks' sizes
 *      encode   every word of every block (encode_block.cuh)
 *      carry    what fills no block, to the front of the next range (encode_filter.cuh)
 *
 * The source of pairs is in two pieces, the carry and the range, of which only block 0 sees both.
 * Nothing here asks the host, which learns the sizes in the end and starts the download.
 */
#include "gpu/encode_block.cuh"
#include "gpu/encode_filter.cuh"
#include "gpu/encode_plan.cuh"

#include <cub/device/device_scan.cuh>

enum { GRID_PER_PROCESSOR = 8 }; /* thread blocks, which go on to the next work */

size_t kc_encode_scan_nbytes(size_t n)
{
        size_t nbytes = 0;
        uint64_t *none = NULL;
        if (cub::DeviceScan::ExclusiveSum(NULL, nbytes, none, none, n) != cudaSuccess)
                (void)cudaGetLastError();
        return nbytes;
}

/* Thread blocks for so many warps' work. */
static unsigned grid_for(const struct kc_gpu *gpu, size_t nwarps)
{
        unsigned most = (unsigned)gpu->nmultiprocessors * GRID_PER_PROCESSOR;
        unsigned grid = kc_ceil_div(nwarps, WARPS);
        return grid < most ? grid : most;
}

/* offsets from sizes, of n. */
template <class Key>
static enum kc_status scan(struct kc_gpu_encoder<Key> *e, size_t n, struct kc_error *err)
{
        return KC_CUDA(cub::DeviceScan::ExclusiveSum(e->scan_scratch, e->scan_nbytes, e->sizes,
                                                     e->offsets, n, e->gpu->stream));
}

template <class Key>
static enum kc_status filter_range(struct kc_gpu_encoder<Key> *e,
                                   const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        const size_t ntiles = kc_ceil_div(range->n, KC_BLOCK_NKMERS);
        const unsigned grid = grid_for(e->gpu, ntiles + 1);
        count_passing_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(
                range->counts, range->n, e->filter, ntiles, e->sizes, e->totals);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(scan(e, ntiles + 1, err));
        move_passing_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(
                range->kmers, range->counts, range->n, e->filter, ntiles, e->offsets,
                e->kept_kmers, e->kept_counts, e->totals);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Set up the source: the carry and what the filter leaves of the range. */
template <class Key>
static enum kc_status begin(struct kc_gpu_encoder<Key> *e, const struct kc_gpu_run<Key> *range,
                            bool last, struct encode_source<Key> *src, struct kc_error *err)
{
        enum kc_status status;
        *src = { e->carry_kmers, range->kmers, e->carry_counts, range->counts,
                 e->ncarry,      last,         e->totals };
        begin_kernel<<<1, THREADS, 0, e->gpu->stream>>>(e->totals, range->n);
        KC_TRY(KC_LAUNCHED());
        if (range->n > 0 && !keeps_all(&e->filter)) {
                KC_TRY(filter_range(e, range, err));
                src->kmers = e->kept_kmers;
                src->counts = e->kept_counts;
        }
out:
        return status;
}

/* Blocks of at most npairs pairs into the slot's device memory. */
template <class Key>
static enum kc_status encode(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                             const struct encode_source<Key> *src, size_t npairs,
                             struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct encode_plans<Key> plans = {};
        plans.firsts = s->firsts;
        plans.heads = e->heads;
        plans.block_nwords = s->block_nwords;
        plans.sizes = e->sizes;
        plans.offsets = e->offsets;
        plans.big_counts = s->big_counts;
        plans.max_blocks = src->last ? kc_ceil_div(npairs, KC_BLOCK_NKMERS)
                                     : npairs / KC_BLOCK_NKMERS;
        const unsigned grid = grid_for(e->gpu, plans.max_blocks + 1);
        if (plans.max_blocks == 0)
                return KC_OK;
        plan_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(*src, plans);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(scan(e, plans.max_blocks + 1, err));
        encode_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(*src, plans, s->words);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Wait for the kernels, and take in what they found. */
template <class Key>
static enum kc_status learn(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s, bool last,
                            struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = e->gpu->stream;
        size_t npairs;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(s->found, e->totals, sizeof *s->found,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        npairs = e->ncarry + s->found->npairs;
        e->ncarry = last ? 0 : npairs % KC_BLOCK_NKMERS;
        s->n = npairs - e->ncarry;
        s->nblocks = kc_ceil_div(s->n, KC_BLOCK_NKMERS);
out:
        return status;
}

template <class Key>
static enum kc_status download_array(struct kc_gpu_encoder<Key> *e, struct encode_pinned *to,
                                     const void *from, size_t nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (nbytes == 0)
                return KC_OK;
        if (nbytes > to->cap)
                KC_TRY(kc_encode_grow(to, nbytes + nbytes / 8, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(to->memory, from, nbytes, cudaMemcpyDeviceToHost,
                                       e->gpu->download)));
out:
        return status;
}

template <class Key>
static enum kc_status download(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                               struct kc_error *err)
{
        enum kc_status status;
        const struct encode_totals *found = s->found;
        KC_TRY(download_array(e, &s->host_nwords, s->block_nwords,
                              s->nblocks * sizeof *s->block_nwords, err));
        KC_TRY(download_array(e, &s->host_firsts, s->firsts, s->nblocks * sizeof *s->firsts, err));
        KC_TRY(download_array(e, &s->host_big, s->big_counts, found->nbig * sizeof *s->big_counts,
                              err));
        KC_TRY(download_array(e, &s->host_words, s->words, found->nwords * sizeof *s->words, err));
        KC_TRY(KC_CUDA(cudaEventRecord(s->done, e->gpu->download)));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_encoder_put(struct kc_gpu_encoder<Key> *e, int slot,
                                  const struct kc_gpu_run<Key> *range, bool last,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct encode_slot<Key> *s = &e->slots[slot];
        struct encode_source<Key> src;
        if (range->n > e->max_pairs)
                return kc_fail(err, KC_EUSAGE, "%zu pairs to encode are more than %zu", range->n,
                               e->max_pairs);
        KC_TRY(begin(e, range, last, &src, err));
        KC_TRY(encode(e, s, &src, e->ncarry + range->n, err));
        if (!last && range->n > 0) {
                carry_kernel<<<1, KC_BLOCK_NKMERS, 0, e->gpu->stream>>>(src, e->carry_kmers,
                                                                       e->carry_counts);
                KC_TRY(KC_LAUNCHED());
        }
        KC_TRY(learn(e, s, last, err));
        KC_TRY(download(e, s, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_encoder_wait(struct kc_gpu_encoder<Key> *e, int slot,
                                   struct kc_run_blocks *blocks, struct kc_error *err)
{
        const struct encode_slot<Key> *s = &e->slots[slot];
        const struct encode_totals *found = s->found;
        enum kc_status status = KC_CUDA(cudaEventSynchronize(s->done));
        if (status != KC_OK)
                return status;
        *blocks = {};
        blocks->n = s->n;
        blocks->nblocks = s->nblocks;
        blocks->firsts = (const uint64_t *)s->host_firsts.memory;
        blocks->last_kmer = found->last_kmer;
        blocks->block_nwords = (const uint32_t *)s->host_nwords.memory;
        blocks->words = (uint64_t *)s->host_words.memory;
        blocks->nwords = found->nwords;
        blocks->rows = (const uint64_t *)found->rows;
        blocks->big_counts = (const uint32_t *)s->host_big.memory;
        blocks->nbig = found->nbig;
        blocks->ndropped_distinct = found->ndropped_distinct;
        blocks->ndropped_kmers = found->ndropped_kmers;
        blocks->nunique = keeps_all(&e->filter) ? found->rows[1] : found->nunique;
        return KC_OK;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_encoder_put<Key>(struct kc_gpu_encoder<Key> *, int, \
                                                        const struct kc_gpu_run<Key> *, bool, \
                                                        struct kc_error *); \
        template enum kc_status kc_gpu_encoder_wait<Key>( \
                struct kc_gpu_encoder<Key> *, int, struct kc_run_blocks *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
