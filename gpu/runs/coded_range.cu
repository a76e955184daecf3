#include "gpu/runs/coded_range.cuh"

#include <cstdlib>

/* ---- blocks ---- */

template <class Key>
enum kc_status kc_coded_range_new(struct kc_coded_range<Key> *range, size_t nhost,
                                  size_t max_blocks, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *range = {};
        if (nhost == 0)
                return KC_OK;
        range->parts = (struct kc_coded_part *)calloc(nhost, sizeof *range->parts);
        if (range->parts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(KC_CUDA(cudaHostAlloc((void **)&range->pinned, max_blocks * sizeof *range->pinned,
                                     cudaHostAllocDefault)));
        KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&range->taken, cudaEventDisableTiming)));
        KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&range->copied, cudaEventDisableTiming)));
out:
        return status;
}

/* Drop the blocks. */
template <class Key> static void empty(struct kc_gpu *gpu, struct kc_coded_range<Key> *range)
{
        kc_gpu_delete(gpu, range->words, range->nwords);
        kc_gpu_delete(gpu, range->blocks, range->nblocks);
        range->words = NULL;
        range->blocks = NULL;
        range->nwords = range->nblocks = range->nparts = 0;
}

template <class Key> void kc_coded_range_free(struct kc_gpu *gpu, struct kc_coded_range<Key> *range)
{
        empty(gpu, range);
        if (range->pinned != NULL)
                (void)cudaFreeHost(range->pinned);
        if (range->taken != NULL)
                (void)cudaEventDestroy(range->taken);
        if (range->copied != NULL)
                (void)cudaEventDestroy(range->copied);
        free(range->parts);
        *range = {};
}

/* All blocks of a run are full but the last. */
template <class Key>
void kc_coded_range_add(struct kc_coded_range<Key> *range, const struct kc_coded_run *run,
                        const struct kc_fences<Key> *fences, size_t i, size_t n)
{
        static_assert((int)KC_FENCE_NPAIRS == (int)KC_BLOCK_NKMERS, "a block has one fence");
        struct kc_coded_part *part = &range->parts[range->nparts++];
        *part = { run, i, fences->at / KC_BLOCK_NKMERS, 0, fences->at % KC_BLOCK_NKMERS };
        part->nblocks = kc_ceil_div(part->skip + n, KC_BLOCK_NKMERS);
        for (size_t b = part->first_block; b < part->first_block + part->nblocks; b++) {
                const size_t left = fences->n - b * KC_BLOCK_NKMERS;
                const uint64_t nwords = run->starts[b + 1] - run->starts[b];
                struct kc_decode_block<Key> *block = &range->pinned[range->nblocks++];
                *block = {};
                block->first = fences->kmers[b];
                block->at = range->nwords;
                block->nwords = (uint32_t)nwords - 1; /* without the checksum */
                block->n = left < KC_BLOCK_NKMERS ? (uint32_t)left : (uint32_t)KC_BLOCK_NKMERS;
                block->run = (uint32_t)i;
                range->nwords += nwords;
        }
}

/* Memory is allocated in the order of gpu->stream but written in that of gpu->upload, hence the
 * event `taken`. */
template <class Key>
enum kc_status kc_coded_range_copy(struct kc_host_store *store, struct kc_coded_range<Key> *range,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = store->gpu;
        const size_t word = sizeof *range->words;
        size_t at = 0;
        if (range->nblocks == 0)
                return KC_OK;
        range->nwords += KC_BLOCK_PADDING;
        KC_TRY(kc_gpu_new(gpu, &range->words, range->nwords, err));
        KC_TRY(kc_gpu_new(gpu, &range->blocks, range->nblocks, err));
        KC_TRY(KC_CUDA(cudaEventRecord(range->taken, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(gpu->upload, range->taken, 0)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(range->blocks, range->pinned,
                                       range->nblocks * sizeof *range->blocks,
                                       cudaMemcpyHostToDevice, gpu->upload)));
        for (size_t p = 0; p < range->nparts; p++) {
                const struct kc_coded_part *part = &range->parts[p];
                const uint64_t *starts = part->run->starts + part->first_block;
                const size_t nwords = starts[part->nblocks] - starts[0];
                KC_TRY(kc_host_bytes_read(store, &part->run->bytes, starts[0] * word, nwords * word,
                                          range->words + at, err));
                at += nwords;
        }
        KC_TRY(KC_CUDA(cudaEventRecord(range->copied, gpu->upload)));
out:
        return status;
}

/* ---- decoding ---- */

enum kc_status kc_range_decoder_open(struct kc_range_decoder *decoder, struct kc_gpu *gpu,
                                     size_t nruns, struct kc_error *err)
{
        enum kc_status status;
        struct kc_decode_run *runs = (struct kc_decode_run *)calloc(nruns, sizeof *runs);
        *decoder = {};
        if (runs == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = 0; i < nruns; i++)
                runs[i].count_mask = UINT32_MAX;
        KC_TRY(kc_gpu_new(gpu, &decoder->refused, 1, err));
        KC_TRY(kc_gpu_new(gpu, &decoder->runs, nruns, err));
        decoder->nruns = nruns;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(decoder->runs, runs, nruns * sizeof *runs,
                                       cudaMemcpyHostToDevice, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        free(runs);
        return status;
}

void kc_range_decoder_close(struct kc_range_decoder *decoder, struct kc_gpu *gpu)
{
        kc_gpu_delete(gpu, decoder->runs, decoder->nruns);
        kc_gpu_delete(gpu, decoder->refused, 1);
        *decoder = {};
}

template <class Key>
enum kc_status kc_coded_range_decode(struct kc_gpu *gpu, struct kc_coded_range<Key> *range,
                                     const struct kc_range_decoder *decoder,
                                     struct kc_gpu_run<Key> *pairs, struct kc_gpu_run<Key> *runs,
                                     struct kc_error *err)
{
        enum kc_status status;
        kc_decode_range<Key> input = {};
        size_t at = 0;
        input.words = range->words;
        input.blocks = range->blocks;
        input.nblocks = range->nblocks;
        input.runs = decoder->runs;
        *pairs = {};
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(gpu->stream, range->copied, 0)));
        KC_TRY(kc_gpu_run_new(gpu, pairs, range->nblocks * KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_decode(gpu, &input, pairs, decoder->refused, err));
        for (size_t p = 0; p < range->nparts; p++) {
                const struct kc_coded_part *part = &range->parts[p];
                runs[part->i].kmers = pairs->kmers + at + part->skip;
                runs[part->i].counts = pairs->counts + at + part->skip;
                at += part->nblocks * KC_BLOCK_NKMERS;
        }
        empty(gpu, range);
out:
        return status;
}

enum kc_status kc_range_decoder_check(const struct kc_range_decoder *decoder,
                                      const struct kc_host_store *store, struct kc_error *err)
{
        unsigned long long refused;
        enum kc_status status = kc_gpu_read(store->gpu, &refused, decoder->refused, 1, err);
        if (status == KC_OK && refused != 0)
                status = kc_fail(err, KC_EIO, "temporary data in memory or in %s has been damaged",
                                 store->tmp_dir);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_coded_range_new(struct kc_coded_range<Key> *, size_t, size_t, \
                                                   struct kc_error *); \
        template void kc_coded_range_free(struct kc_gpu *, struct kc_coded_range<Key> *); \
        template void kc_coded_range_add(struct kc_coded_range<Key> *, \
                                         const struct kc_coded_run *, \
                                         const struct kc_fences<Key> *, size_t, size_t); \
        template enum kc_status kc_coded_range_copy( \
                struct kc_host_store *, struct kc_coded_range<Key> *, struct kc_error *); \
        template enum kc_status kc_coded_range_decode( \
                struct kc_gpu *, struct kc_coded_range<Key> *, const struct kc_range_decoder *, \
                struct kc_gpu_run<Key> *, struct kc_gpu_run<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
