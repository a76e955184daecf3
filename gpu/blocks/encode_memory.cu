/*
 * The memory of an encoder: its stages and slots, some of which are downloaded while others are
 * filled, and what the kernels need only once.
 */
#include "gpu/blocks/encode_internal.cuh"
#include "gpu/blocks/layout.cuh"

#include <cstdlib>

/* Maximum number of blocks of a range. */
static size_t most_blocks(size_t max_pairs)
{
        return max_pairs / KC_BLOCK_NKMERS + 2;
}

/* Maximum pairs that a put can encode, but no fewer than the big counts that are always
 * downloaded. */
static size_t most_pairs(size_t max_pairs)
{
        size_t n = max_pairs + KC_BLOCK_NKMERS;
        return n > ENCODE_USUAL_NBIG ? n : (size_t)ENCODE_USUAL_NBIG;
}

/* Zeroed, because more is downloaded than the kernels set. */
template <class T>
static enum kc_status new_zero(struct kc_gpu *gpu, T **array, size_t n, struct kc_error *err)
{
        enum kc_status status = kc_gpu_new(gpu, array, n, err);
        return status == KC_OK
                       ? KC_CUDA(cudaMemsetAsync(*array, 0, n * sizeof **array, gpu->stream))
                       : status;
}

template <class Key> static size_t words_of(size_t nblocks)
{
        return nblocks * (kc_block_max_words(sizeof(Key) / 8) + 1);
}

template <class Key> size_t kc_gpu_encoder_nbytes(size_t max_pairs)
{
        const size_t nblocks = most_blocks(max_pairs);
        const size_t index = nblocks * (sizeof(uint32_t) + 2 * sizeof(Key)) +
                             most_pairs(max_pairs) * sizeof(uint32_t) +
                             sizeof(struct encode_totals);
        return ENCODE_NSTAGES * words_of<Key>(nblocks) * sizeof(uint64_t) + index +
               kc_gpu_run_nbytes<Key>(KC_BLOCK_NKMERS) + 3 * nblocks * sizeof(uint64_t) +
               kc_encode_scan_nbytes(nblocks);
}

template <class Key> size_t kc_gpu_encoder_pinned_nbytes(const struct kc_gpu_encoder_caps *caps)
{
        const size_t index = most_blocks(caps->max_pairs) * (sizeof(uint32_t) + 2 * sizeof(Key)) +
                             ENCODE_USUAL_NBIG * sizeof(uint32_t) + sizeof(struct encode_totals);
        return index + (size_t)caps->nslots * words_of<Key>(kc_part_nblocks(caps->part_pairs)) *
                               sizeof(uint64_t);
}

enum kc_status kc_encode_grow(struct encode_pinned *pinned, size_t nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (nbytes <= pinned->cap)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaFreeHost(pinned->memory)));
        *pinned = {};
        KC_TRY(KC_CUDA(cudaMallocHost(&pinned->memory, nbytes)));
        pinned->cap = nbytes;
out:
        return status;
}

/* Expected bytes of a part: k-mers spread over the whole key space, 4 bits for most counts. */
template <class Key> static size_t usual_nbytes(const struct kc_gpu_encoder<Key> *e)
{
        size_t nbits = 8 + 2 * (size_t)e->k, npairs = e->part_blocks * KC_BLOCK_NKMERS;
        for (size_t n = npairs; n > 1 && nbits > 8; n /= 2)
                nbits--;
        return npairs / 8 * nbits + (1 << 16);
}

template <class Key>
static enum kc_status make_slot(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                                struct kc_error *err)
{
        s->block_nwords = (uint32_t *)malloc(e->part_blocks * sizeof *s->block_nwords);
        s->firsts = (Key *)malloc(e->part_blocks * sizeof *s->firsts);
        if (s->block_nwords == NULL || s->firsts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        return kc_gpu_event_new(&s->done, err);
}

template <class Key> static void free_slot(struct encode_slot<Key> *s)
{
        free(s->block_nwords);
        free(s->firsts);
        free(s->big_counts);
        (void)cudaFreeHost(s->words.memory);
        if (s->done != NULL)
                (void)cudaEventDestroy(s->done);
}

template <class Key>
static enum kc_status make_index(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = e->gpu;
        struct encode_index<Key> *host = &e->host;
        const size_t n = e->max_blocks;
        KC_TRY(new_zero(gpu, &e->found.block_nwords, n, err));
        KC_TRY(new_zero(gpu, &e->found.firsts, n, err));
        KC_TRY(new_zero(gpu, &e->found.lasts, n, err));
        KC_TRY(new_zero(gpu, &e->big_counts, most_pairs(e->caps.max_pairs), err));
        KC_TRY(kc_gpu_new(gpu, &e->found.totals, 1, err));
        KC_TRY(KC_CUDA(
                cudaMallocHost((void **)&host->block_nwords, n * sizeof *host->block_nwords)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&host->firsts, n * sizeof *host->firsts)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&host->lasts, n * sizeof *host->lasts)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&host->totals, sizeof *host->totals)));
        KC_TRY(kc_encode_grow(&e->host_big, ENCODE_USUAL_NBIG * sizeof(uint32_t), err));
out:
        return status;
}

template <class Key> static void free_index(struct kc_gpu_encoder<Key> *e)
{
        struct kc_gpu *gpu = e->gpu;
        kc_gpu_delete(gpu, e->found.block_nwords, e->max_blocks);
        kc_gpu_delete(gpu, e->found.firsts, e->max_blocks);
        kc_gpu_delete(gpu, e->found.lasts, e->max_blocks);
        kc_gpu_delete(gpu, e->big_counts, most_pairs(e->caps.max_pairs));
        kc_gpu_delete(gpu, e->found.totals, 1);
        void *pinned[] = { e->host.block_nwords, e->host.firsts, e->host.lasts, e->host.totals,
                           e->host_big.memory };
        for (void *memory : pinned)
                (void)cudaFreeHost(memory);
}

template <class Key>
static enum kc_status make_stages(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (struct encode_stage &stage : e->stages) {
                KC_TRY(kc_gpu_new(e->gpu, &stage.words, words_of<Key>(e->max_blocks), err));
                KC_TRY(kc_gpu_event_new(&stage.downloaded, err));
        }
out:
        return status;
}

template <class Key> static void free_stages(struct kc_gpu_encoder<Key> *e)
{
        for (struct encode_stage &stage : e->stages) {
                kc_gpu_delete(e->gpu, stage.words, words_of<Key>(e->max_blocks));
                if (stage.downloaded != NULL)
                        (void)cudaEventDestroy(stage.downloaded);
        }
}

template <class Key>
static enum kc_status make_memory(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu *gpu = e->gpu;
        const size_t n = e->max_blocks;
        KC_TRY(kc_gpu_new(gpu, &e->carry_kmers, KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &e->carry_counts, KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &e->heads, n, err));
        KC_TRY(kc_gpu_new(gpu, &e->sizes, n, err));
        KC_TRY(kc_gpu_new(gpu, &e->offsets, n, err));
        e->scan_nbytes = kc_encode_scan_nbytes(n);
        KC_TRY(kc_gpu_alloc(gpu, &e->scan_scratch, e->scan_nbytes, err));
        KC_TRY(make_index(e, err));
        KC_TRY(make_stages(e, err));
        for (int i = 0; i < e->caps.nslots; i++)
                KC_TRY(make_slot(e, &e->slots[i], err));
out:
        return status;
}

template <class Key> void kc_gpu_encoder_free(struct kc_gpu_encoder<Key> *e)
{
        if (e == NULL)
                return;
        (void)cudaStreamSynchronize(e->gpu->download);
        for (int i = 0; e->slots != NULL && i < e->caps.nslots; i++)
                free_slot(&e->slots[i]);
        free_stages(e);
        free_index(e);
        const size_t n = e->max_blocks;
        kc_gpu_delete(e->gpu, e->carry_kmers, KC_BLOCK_NKMERS);
        kc_gpu_delete(e->gpu, e->carry_counts, KC_BLOCK_NKMERS);
        kc_gpu_delete(e->gpu, e->heads, n);
        kc_gpu_delete(e->gpu, e->sizes, n);
        kc_gpu_delete(e->gpu, e->offsets, n);
        kc_gpu_release(e->gpu, e->scan_scratch, e->scan_nbytes);
        free(e->slots);
        free(e);
        (void)cudaGetLastError();
}

template <class Key>
enum kc_status kc_gpu_encoder_new(struct kc_gpu_encoder<Key> **encoder, struct kc_gpu *gpu, int k,
                                  const struct kc_gpu_encoder_caps *caps, struct kc_error *err)
{
        struct kc_gpu_encoder<Key> *e = (struct kc_gpu_encoder<Key> *)calloc(1, sizeof *e);
        *encoder = NULL;
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        e->gpu = gpu;
        e->k = k;
        e->caps = *caps;
        e->max_blocks = most_blocks(caps->max_pairs);
        e->part_blocks = kc_part_nblocks(caps->part_pairs);
        e->slots = (struct encode_slot<Key> *)calloc((size_t)caps->nslots, sizeof *e->slots);
        enum kc_status status;
        if (e->slots == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        else
                status = make_memory(e, err);
        if (status == KC_OK)
                *encoder = e;
        else
                kc_gpu_encoder_free(e);
        return status;
}

template <class Key>
enum kc_status kc_gpu_encoder_open(struct kc_gpu_encoder<Key> *e, int slot, struct kc_error *err)
{
        return kc_encode_grow(&e->slots[slot].words, usual_nbytes(e), err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_encoder_new<Key>( \
                struct kc_gpu_encoder<Key> **, struct kc_gpu *, int, \
                const struct kc_gpu_encoder_caps *, struct kc_error *); \
        template void kc_gpu_encoder_free<Key>(struct kc_gpu_encoder<Key> *); \
        template enum kc_status kc_gpu_encoder_open<Key>(struct kc_gpu_encoder<Key> *, int, \
                                                         struct kc_error *); \
        template size_t kc_gpu_encoder_nbytes<Key>(size_t); \
        template size_t kc_gpu_encoder_pinned_nbytes<Key>(const struct kc_gpu_encoder_caps *);
KC_GPU_KEYS(INSTANTIATE)
