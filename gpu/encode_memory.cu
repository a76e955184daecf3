/*
 * The memory of an encoder: of its slots, which are downloaded while others are filled, and what
 * the kernels need once.
 */
#include "gpu/block_plan.cuh"
#include "gpu/encode_parts.cuh"

#include <cstdlib>

/* Blocks that a range can come to, and tiles of the filter. */
static size_t most_blocks(size_t max_pairs)
{
        return max_pairs / KC_BLOCK_NKMERS + 2;
}

/* Most pairs that a put can encode. */
static size_t most_pairs(size_t max_pairs)
{
        return max_pairs + KC_BLOCK_NKMERS;
}

template <class Key> static size_t most_words(size_t max_pairs)
{
        return most_blocks(max_pairs) * (kc_block_max_words(sizeof(Key) / 8) + 1);
}

template <class Key> size_t kc_gpu_encoder_nbytes(size_t max_pairs, int nslots)
{
        size_t nblocks = most_blocks(max_pairs);
        size_t slot = most_words<Key>(max_pairs) * sizeof(uint64_t) +
                      nblocks * (sizeof(uint32_t) + sizeof(Key)) +
                      most_pairs(max_pairs) * sizeof(uint32_t);
        return (size_t)nslots * slot + sizeof(struct encode_totals) +
               kc_gpu_run_nbytes<Key>(max_pairs + KC_BLOCK_NKMERS) +
               3 * (nblocks + 1) * sizeof(uint64_t) + kc_encode_scan_nbytes(nblocks + 1);
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

/* Bytes of blocks to expect: of k-mers all over the space, 4 bits each for most counts. */
template <class Key> static size_t usual_nbytes(const struct kc_gpu_encoder<Key> *e)
{
        size_t nbits = 8 + 2 * (size_t)e->k;
        for (size_t n = e->max_pairs; n > 1 && nbits > 8; n /= 2)
                nbits--;
        return e->max_pairs / 8 * nbits + (1 << 16);
}

template <class Key>
static enum kc_status make_slot(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t nblocks = e->max_blocks;
        KC_TRY(kc_gpu_new(e->gpu, &s->words, most_words<Key>(e->max_pairs), err));
        KC_TRY(kc_gpu_new(e->gpu, &s->block_nwords, nblocks, err));
        KC_TRY(kc_gpu_new(e->gpu, &s->big_counts, most_pairs(e->max_pairs), err));
        KC_TRY(kc_gpu_new(e->gpu, &s->firsts, nblocks, err));
        KC_TRY(kc_encode_grow(&s->host_words, usual_nbytes(e), err));
        KC_TRY(kc_encode_grow(&s->host_nwords, nblocks * sizeof *s->block_nwords, err));
        KC_TRY(kc_encode_grow(&s->host_big, 1 << 12, err));
        KC_TRY(kc_encode_grow(&s->host_firsts, nblocks * sizeof *s->firsts, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&s->found, sizeof *s->found)));
        KC_TRY(kc_gpu_event_new(&s->done, err));
out:
        return status;
}

template <class Key>
static void free_slot(struct kc_gpu_encoder<Key> *e, struct encode_slot<Key> *s)
{
        kc_gpu_delete(e->gpu, s->words, most_words<Key>(e->max_pairs));
        kc_gpu_delete(e->gpu, s->block_nwords, e->max_blocks);
        kc_gpu_delete(e->gpu, s->big_counts, most_pairs(e->max_pairs));
        kc_gpu_delete(e->gpu, s->firsts, e->max_blocks);
        struct encode_pinned *pinned[] = { &s->host_words, &s->host_nwords, &s->host_big,
                                           &s->host_firsts };
        for (struct encode_pinned *p : pinned)
                (void)cudaFreeHost(p->memory);
        (void)cudaFreeHost(s->found);
        if (s->done != NULL)
                (void)cudaEventDestroy(s->done);
}

template <class Key>
static enum kc_status make_memory(struct kc_gpu_encoder<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu *gpu = e->gpu;
        const size_t n = e->max_blocks + 1;
        const size_t nkept = keeps_all(&e->filter) ? 0 : e->max_pairs;
        KC_TRY(kc_gpu_new(gpu, &e->totals, 1, err));
        KC_TRY(kc_gpu_new(gpu, &e->carry_kmers, KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &e->carry_counts, KC_BLOCK_NKMERS, err));
        KC_TRY(kc_gpu_new(gpu, &e->kept_kmers, nkept, err));
        KC_TRY(kc_gpu_new(gpu, &e->kept_counts, nkept, err));
        KC_TRY(kc_gpu_new(gpu, &e->heads, n, err));
        KC_TRY(kc_gpu_new(gpu, &e->sizes, n, err));
        KC_TRY(kc_gpu_new(gpu, &e->offsets, n, err));
        e->scan_nbytes = kc_encode_scan_nbytes(n);
        KC_TRY(kc_gpu_alloc(gpu, &e->scan_scratch, e->scan_nbytes, err));
        for (int i = 0; i < e->nslots; i++)
                KC_TRY(make_slot(e, &e->slots[i], err));
out:
        return status;
}

template <class Key> void kc_gpu_encoder_free(struct kc_gpu_encoder<Key> *e)
{
        if (e == NULL)
                return;
        (void)cudaStreamSynchronize(e->gpu->download);
        for (int i = 0; e->slots != NULL && i < e->nslots; i++)
                free_slot(e, &e->slots[i]);
        const size_t n = e->max_blocks + 1;
        kc_gpu_delete(e->gpu, e->totals, 1);
        kc_gpu_delete(e->gpu, e->carry_kmers, KC_BLOCK_NKMERS);
        kc_gpu_delete(e->gpu, e->carry_counts, KC_BLOCK_NKMERS);
        kc_gpu_delete(e->gpu, e->kept_kmers, e->max_pairs);
        kc_gpu_delete(e->gpu, e->kept_counts, e->max_pairs);
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
                                  uint32_t min_count, uint32_t max_count, size_t max_pairs,
                                  int nslots, struct kc_error *err)
{
        struct kc_gpu_encoder<Key> *e = (struct kc_gpu_encoder<Key> *)calloc(1, sizeof *e);
        *encoder = NULL;
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        e->gpu = gpu;
        e->k = k;
        e->filter = { min_count, max_count };
        e->max_pairs = max_pairs;
        e->max_blocks = most_blocks(max_pairs);
        e->nslots = nslots;
        e->slots = (struct encode_slot<Key> *)calloc((size_t)nslots, sizeof *e->slots);
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

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_encoder_new<Key>(struct kc_gpu_encoder<Key> **, \
                                                        struct kc_gpu *, int, uint32_t, uint32_t, \
                                                        size_t, int, struct kc_error *); \
        template void kc_gpu_encoder_free<Key>(struct kc_gpu_encoder<Key> *); \
        template size_t kc_gpu_encoder_nbytes<Key>(size_t, int);
KC_GPU_KEYS(INSTANTIATE)
