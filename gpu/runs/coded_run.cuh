/*
 * A sorted run on the host, encoded in blocks of KC_BLOCK_NKMERS pairs like those of a .kc file:
 * about 5 bytes a pair instead of 12. The device encodes it, and later decodes ranges of it
 * (gpu/runs/ranges.cuh).
 */
#ifndef KC_GPU_RUNS_CODED_RUN_CUH
#define KC_GPU_RUNS_CODED_RUN_CUH

#include "gpu/blocks/encode.cuh"
#include "gpu/host/bytes.cuh"

/* Encodes runs, one at a time. A zeroed one may be closed. */
template <class Key> struct kc_run_coder {
        struct kc_gpu_encoder<Key> *encoder;
        size_t max_pairs; /* that are encoded at a time */
};

/* Takes at most nbytes of device memory, unless that is less than a few hundred KiB. KC_ENOMEM,
 * KC_EDEVICE. */
template <class Key>
enum kc_status kc_run_coder_open(struct kc_run_coder<Key> *coder, struct kc_gpu *gpu, size_t nbytes,
                                 struct kc_error *err);
template <class Key> void kc_run_coder_close(struct kc_run_coder<Key> *coder);

/* A zeroed one is empty. */
struct kc_coded_run {
        struct kc_host_bytes bytes; /* the blocks' words, each block followed by a word for a
                                       checksum, which is not set */
        uint64_t *starts;           /* [nblocks + 1] where blocks begin, in words; NULL: no block */
        size_t nblocks, cap;
        size_t max_nwords; /* of a block and its checksum */
};

/*
 * Append pairs, complete in the order of gpu->stream. They are no longer needed on return. Pairs
 * that do not fill a block wait in the coder, so it must not begin another run before the last
 * pairs of this one.
 *   last  no more pairs follow; pairs->n may be 0
 * KC_EIO (with the folder's name), KC_ENOMEM, KC_EDEVICE, KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_coded_run_append(struct kc_host_store *store, struct kc_run_coder<Key> *coder,
                                   struct kc_coded_run *run, const struct kc_gpu_run<Key> *pairs,
                                   bool last, struct kc_error *err);

/* Give the memory of the blocks before this one back to the store. They cannot be read any more. */
void kc_coded_run_give_back(struct kc_host_store *store, struct kc_coded_run *run, size_t block);

void kc_coded_run_free(struct kc_host_store *store, struct kc_coded_run *run);

#endif
