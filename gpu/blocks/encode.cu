/*
 * A warp encodes a block, in rows of 32 pairs; of the other blocks it only needs to know where its
 * own words go:
 *
 *      plan     each block's layout, from its counts and its two ends; also the histogram
 *               (encode_plan.cuh)
 *      scan     sums of the blocks' sizes
 *      encode   every word of every block (encode_block.cuh)
 *      carry    k-mers that do not fill a block, for the front of the next range
 *
 * Pairs come from two arrays, the carry and the range; only block 0 can contain both. No step waits
 * for the host, which learns the sizes at the end and downloads the words part by part.
 */
#include "gpu/blocks/encode_block.cuh"
#include "gpu/blocks/encode_plan.cuh"

#include <cstdlib>
#include <cstring>
#include <cub/device/device_scan.cuh>

enum { GRID_PER_PROCESSOR = 8 }; /* thread blocks; each loops over a part of the work */

size_t kc_encode_scan_nbytes(size_t n)
{
        size_t nbytes = 0;
        uint64_t *none = NULL;
        if (cub::DeviceScan::ExclusiveSum(NULL, nbytes, none, none, n) != cudaSuccess)
                (void)cudaGetLastError();
        return nbytes;
}

/* The number of thread blocks for the work of nwarps warps. */
static unsigned grid_for(const struct kc_gpu *gpu, size_t nwarps)
{
        unsigned most = (unsigned)gpu->nmultiprocessors * GRID_PER_PROCESSOR;
        unsigned grid = kc_ceil_div(nwarps, WARPS);
        return grid < most ? grid : most;
}

/* The blocks' offsets, from their sizes. */
template <class Key> static enum kc_status scan(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        return KC_CUDA(cub::DeviceScan::ExclusiveSum(e->scan_scratch, e->scan_nbytes, e->sizes,
                                                     e->offsets, e->nblocks, e->gpu->stream));
}

/* Encode the blocks into the stage. */
template <class Key>
static enum kc_status encode(struct kc_gpu_encoder<Key> *e, const struct encode_stage *stage,
                             const struct encode_source<Key> *src, struct kc_error *err)
{
        enum kc_status status;
        encode_plans<Key> plans = {};
        plans.firsts = e->found.firsts;
        plans.lasts = e->found.lasts;
        plans.heads = e->heads;
        plans.block_nwords = e->found.block_nwords;
        plans.sizes = e->sizes;
        plans.offsets = e->offsets;
        plans.big_counts = e->big_counts;
        plans.nblocks = e->nblocks;
        const unsigned grid = grid_for(e->gpu, e->nblocks);
        KC_TRY(KC_CUDA(cudaMemsetAsync(src->totals, 0, sizeof *src->totals, e->gpu->stream)));
        if (e->nblocks == 0)
                return KC_OK;
        encode_plan_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(*src, plans);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(scan(e, err));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(e->gpu->stream, stage->downloaded, 0)));
        encode_blocks_kernel<<<grid, THREADS, 0, e->gpu->stream>>>(*src, plans, stage->words);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class T>
static enum kc_status fetch(struct kc_gpu *gpu, T *to, const T *from, size_t n,
                            struct kc_error *err)
{
        if (n == 0)
                return KC_OK;
        return KC_CUDA(
                cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyDeviceToHost, gpu->stream));
}

/* Download the big counts beyond the usual number. Waits for the stream. */
template <class Key>
static enum kc_status fetch_more_big_counts(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        const size_t nbig = e->host.totals->nbig;
        KC_TRY(kc_encode_grow(&e->host_big, nbig * sizeof(uint32_t), err));
        KC_TRY(fetch(e->gpu, (uint32_t *)e->host_big.memory, e->big_counts, nbig, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(e->gpu->stream)));
out:
        return status;
}

/* Wait for the kernels, and collect their results. */
template <class Key>
static enum kc_status read_results(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(fetch(e->gpu, e->host.totals, e->found.totals, 1, err));
        KC_TRY(fetch(e->gpu, e->host.block_nwords, e->found.block_nwords, e->nblocks, err));
        KC_TRY(fetch(e->gpu, e->host.firsts, e->found.firsts, e->nblocks, err));
        KC_TRY(fetch(e->gpu, e->host.lasts, e->found.lasts, e->nblocks, err));
        KC_TRY(fetch(e->gpu, (uint32_t *)e->host_big.memory, e->big_counts, ENCODE_USUAL_NBIG,
                     err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(e->gpu->stream)));
        if (e->host.totals->nbig > ENCODE_USUAL_NBIG)
                KC_TRY(fetch_more_big_counts(e, err));
out:
        return status;
}

/* One thread per pair. If nothing was encoded, the carry stays, and the range is appended to it. */
template <class Key>
static __global__ void encode_carry_kernel(struct encode_source<Key> src, Key *kmers,
                                           uint32_t *counts)
{
        const uint64_t begin = src.npairs - src.npairs % KC_BLOCK_NKMERS;
        const uint64_t from = begin + threadIdx.x;
        if (from >= src.npairs || from < src.ncarry)
                return;
        kmers[threadIdx.x] = src.kmers[from - src.ncarry];
        counts[threadIdx.x] = src.counts[from - src.ncarry];
}

template <class Key>
enum kc_status kc_gpu_encoder_put(struct kc_gpu_encoder<Key> *e,
                                  const struct kc_gpu_run<Key> *range, bool last, size_t *nparts,
                                  struct kc_error *err)
{
        enum kc_status status;
        const size_t npairs = e->ncarry + range->n;
        const size_t ncarry = last ? 0 : kc_carry_after(e->ncarry, range->n);
        const struct encode_source<Key> src = {
                e->carry_kmers, range->kmers, e->carry_counts, range->counts, e->ncarry, npairs,
                        e->found.totals
        };
        if (range->n > e->caps.max_pairs)
                return kc_fail(err, KC_EUSAGE, "cannot encode %zu pairs: the most is %zu", range->n,
                               e->caps.max_pairs);
        e->n = npairs - ncarry;
        e->nblocks = kc_ceil_div(e->n, KC_BLOCK_NKMERS);
        e->next_block = e->next_word = 0;
        KC_TRY(encode(e, &e->stages[++e->nputs % ENCODE_NSTAGES], &src, err));
        if (!last && range->n > 0) {
                encode_carry_kernel<<<1, KC_BLOCK_NKMERS, 0, e->gpu->stream>>>(src, e->carry_kmers,
                                                                               e->carry_counts);
                KC_TRY(KC_LAUNCHED());
        }
        KC_TRY(read_results(e, err));
        e->ncarry = ncarry;
        *nparts = kc_put_nparts(e->nblocks, e->part_blocks);
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_encoder_set_carry(struct kc_gpu_encoder<Key> *e,
                                        const struct kc_gpu_carry<Key> *carry, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        cudaStream_t stream = e->gpu->stream;
        e->ncarry = carry->n;
        if (carry->n == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(e->carry_kmers, carry->kmers, carry->n * sizeof(Key),
                                       cudaMemcpyHostToDevice, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(e->carry_counts, carry->counts, carry->n * sizeof(uint32_t),
                                       cudaMemcpyHostToDevice, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

/* ---- all blocks ---- */

template <class Key>
static const struct encode_stage *current_stage(const struct kc_gpu_encoder<Key> *e)
{
        return &e->stages[e->nputs % ENCODE_NSTAGES];
}

template <class Key>
struct kc_gpu_encoded kc_gpu_encoder_blocks(const struct kc_gpu_encoder<Key> *e)
{
        struct kc_gpu_encoded blocks = { current_stage(e)->words, e->nblocks, e->nblocks,
                                         e->host.block_nwords };
        for (size_t i = 0; i < e->nblocks; i++)
                blocks.nwords += e->host.block_nwords[i];
        return blocks;
}

template <class Key>
enum kc_status kc_gpu_encoder_copied(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        return KC_CUDA(cudaEventRecord(current_stage(e)->downloaded, e->gpu->download));
}

/* ---- a part ---- */

/* What describes the range as a whole; reported with its first part. */
template <class Key>
static enum kc_status report_totals(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                                    struct kc_error *err)
{
        const struct encode_totals *totals = e->host.totals;
        const size_t nbig = totals->nbig;
        if (nbig > s->big_cap) {
                free(s->big_counts);
                s->big_cap = 0;
                s->big_counts = (uint32_t *)malloc(nbig * sizeof *s->big_counts);
                if (s->big_counts == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
                s->big_cap = nbig;
        }
        if (nbig > 0)
                memcpy(s->big_counts, e->host_big.memory, nbig * sizeof *s->big_counts);
        for (int i = 0; i < KC_RUN_NROWS; i++)
                s->rows[i] = totals->rows[i];
        s->blocks.big_counts = s->big_counts;
        s->blocks.nbig = nbig;
        return KC_OK;
}

/* Start a part of the range's next blocks: everything but their words. */
template <class Key>
static void describe(const struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s)
{
        struct kc_run_blocks *b = &s->blocks;
        const size_t first = e->next_block, left = e->nblocks - first;
        const size_t nblocks = left < e->part_blocks ? left : e->part_blocks;
        const size_t end = first + nblocks;
        *b = {};
        b->nblocks = nblocks;
        b->n = (end == e->nblocks ? e->n : end * KC_BLOCK_NKMERS) - first * KC_BLOCK_NKMERS;
        for (size_t i = 0; i < nblocks; i++) {
                s->block_nwords[i] = e->host.block_nwords[first + i];
                s->firsts[i] = e->host.firsts[first + i];
                b->nwords += s->block_nwords[i] + 1;
        }
        if (nblocks > 0)
                s->last = e->host.lasts[end - 1];
        memset(s->rows, 0, sizeof s->rows);
        b->firsts = (const uint64_t *)s->firsts;
        b->last_kmer = (const uint64_t *)&s->last;
        b->block_nwords = s->block_nwords;
        b->rows = s->rows;
}

template <class Key>
enum kc_status kc_gpu_encoder_download(struct kc_gpu_encoder<Key> *e, int slot,
                                       struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct encode_slot<Key> *s = &e->slots[slot];
        const struct encode_stage *stage = current_stage(e);
        describe(e, s);
        if (e->next_block == 0)
                KC_TRY(report_totals(e, s, err));
        if (s->blocks.nwords > 0) {
                size_t nbytes = s->blocks.nwords * sizeof *stage->words;
                KC_TRY(kc_encode_grow(&s->words, nbytes, err));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(s->words.memory, stage->words + e->next_word, nbytes,
                                               cudaMemcpyDeviceToHost, e->gpu->download)));
        }
        s->blocks.words = (uint64_t *)s->words.memory;
        KC_TRY(KC_CUDA(cudaEventRecord(s->done, e->gpu->download)));
        e->next_block += s->blocks.nblocks;
        e->next_word += s->blocks.nwords;
        if (e->next_block == e->nblocks)
                KC_TRY(kc_gpu_encoder_copied(e, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_encoder_wait(struct kc_gpu_encoder<Key> *e, int slot,
                                   struct kc_run_blocks *blocks, struct kc_error *err)
{
        const struct encode_slot<Key> *s = &e->slots[slot];
        enum kc_status status = KC_CUDA(cudaEventSynchronize(s->done));
        if (status == KC_OK)
                *blocks = s->blocks;
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_encoder_put<Key>(struct kc_gpu_encoder<Key> *, \
                                                        const struct kc_gpu_run<Key> *, bool, \
                                                        size_t *, struct kc_error *); \
        template enum kc_status kc_gpu_encoder_set_carry<Key>(struct kc_gpu_encoder<Key> *, \
                                                              const struct kc_gpu_carry<Key> *, \
                                                              struct kc_error *); \
        template struct kc_gpu_encoded kc_gpu_encoder_blocks<Key>( \
                const struct kc_gpu_encoder<Key> *); \
        template enum kc_status kc_gpu_encoder_copied<Key>(struct kc_gpu_encoder<Key> *, \
                                                           struct kc_error *); \
        template enum kc_status kc_gpu_encoder_download<Key>(struct kc_gpu_encoder<Key> *, int, \
                                                             struct kc_error *); \
        template enum kc_status kc_gpu_encoder_wait<Key>( \
                struct kc_gpu_encoder<Key> *, int, struct kc_run_blocks *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
