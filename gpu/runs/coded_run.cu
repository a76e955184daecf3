#include "gpu/runs/coded_run.cuh"

#include "kmer/block_codec.h"

#include <cstdlib>

/* ---- the coder ---- */

template <class Key>
enum kc_status kc_run_coder_open(struct kc_run_coder<Key> *coder, struct kc_gpu *gpu, size_t nbytes,
                                 struct kc_error *err)
{
        enum { MIN_PAIRS = 8 << 10, MAX_PAIRS = 2 << 20 };
        const int any_k = 1; /* matters only for parts */
        coder->max_pairs = MAX_PAIRS;
        while (coder->max_pairs > MIN_PAIRS &&
               kc_gpu_encoder_nbytes<Key>(coder->max_pairs) > nbytes)
                coder->max_pairs /= 2;
        const struct kc_gpu_encoder_caps caps = { coder->max_pairs, KC_BLOCK_NKMERS, 0 };
        return kc_gpu_encoder_new(&coder->encoder, gpu, any_k, &caps, err);
}

template <class Key> void kc_run_coder_close(struct kc_run_coder<Key> *coder)
{
        kc_gpu_encoder_free(coder->encoder);
        *coder = {};
}

/* ---- runs ---- */

void kc_coded_run_free(struct kc_host_store *store, struct kc_coded_run *run)
{
        kc_host_bytes_free(store, &run->bytes);
        kc_host_store_note(store, run->cap * sizeof *run->starts, 0);
        free(run->starts);
        *run = {};
}

void kc_coded_run_give_back(struct kc_host_store *store, struct kc_coded_run *run, size_t block)
{
        if (block <= run->nblocks)
                kc_host_bytes_give_back(store, &run->bytes,
                                        run->starts[block] * sizeof *run->starts);
}

static enum kc_status make_room(struct kc_host_store *store, struct kc_coded_run *run,
                                size_t nblocks, struct kc_error *err)
{
        size_t cap = run->cap ? run->cap : 1024;
        while (cap < run->nblocks + nblocks + 1)
                cap *= 2;
        if (cap == run->cap)
                return KC_OK;
        void *starts = realloc(run->starts, cap * sizeof *run->starts);
        if (starts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        run->starts = (uint64_t *)starts;
        run->starts[0] = 0;
        kc_host_store_note(store, run->cap * sizeof *run->starts, cap * sizeof *run->starts);
        run->cap = cap;
        return KC_OK;
}

/* Copy the blocks that the encoder has just made to the run. npieces_left: puts of similar size
 * that are still to be copied, this one included. */
template <class Key>
static enum kc_status take_blocks(struct kc_host_store *store, struct kc_gpu_encoder<Key> *encoder,
                                  struct kc_coded_run *run, size_t npieces_left,
                                  struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_encoded blocks = kc_gpu_encoder_blocks(encoder);
        const size_t nbytes = blocks.nwords * sizeof *blocks.words;
        KC_TRY(make_room(store, run, blocks.nblocks, err));
        for (size_t i = 0; i < blocks.nblocks; i++) {
                const size_t nwords = (size_t)blocks.block_nwords[i] + 1;
                run->starts[run->nblocks + 1] = run->starts[run->nblocks] + nwords;
                run->nblocks++;
                if (nwords > run->max_nwords)
                        run->max_nwords = nwords;
        }
        KC_TRY(kc_host_bytes_append(store, &run->bytes, blocks.words, nbytes, nbytes * npieces_left,
                                    err));
        KC_TRY(kc_gpu_encoder_copied(encoder, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_coded_run_append(struct kc_host_store *store, struct kc_run_coder<Key> *coder,
                                   struct kc_coded_run *run, const struct kc_gpu_run<Key> *pairs,
                                   bool last, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t npieces = kc_ceil_div(pairs->n, coder->max_pairs), nparts;
        struct kc_gpu_run<Key> piece = *pairs;
        if (npieces == 0 && last)
                npieces = 1; /* for the pairs that wait in the coder */
        for (size_t i = 0, first = 0; i < npieces; i++, first += piece.n) {
                const size_t left = pairs->n - first;
                piece.kmers = pairs->kmers + first;
                piece.counts = pairs->counts + first;
                piece.n = left < coder->max_pairs ? left : coder->max_pairs;
                KC_TRY(kc_gpu_encoder_put(coder->encoder, &piece, last && i + 1 == npieces, &nparts,
                                          err));
                KC_TRY(take_blocks(store, coder->encoder, run, npieces - i, err));
        }
        if (last) /* from now on, gpu->upload may read the run, which does not wait for downloads */
                KC_TRY(KC_CUDA(cudaStreamSynchronize(store->gpu->download)));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_run_coder_open(struct kc_run_coder<Key> *, struct kc_gpu *, \
                                                  size_t, struct kc_error *); \
        template void kc_run_coder_close(struct kc_run_coder<Key> *); \
        template enum kc_status kc_coded_run_append( \
                struct kc_host_store *, struct kc_run_coder<Key> *, struct kc_coded_run *, \
                const struct kc_gpu_run<Key> *, bool, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
