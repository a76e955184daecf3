/*
 * Sorted pairs on the device to the blocks of a .kc file (kmer/block_codec.h), in pinned host
 * memory. The filter on counts, the histogram and the cutting every KC_BLOCK_NKMERS k-mers of the
 * whole run are done here too, so that the host has but to checksum and write.
 */
#ifndef KC_GPU_BLOCKS_ENCODE_CUH
#define KC_GPU_BLOCKS_ENCODE_CUH

#include "gpu/device/run.cuh"
#include "kmer/run.h"

template <class Key> struct kc_gpu_encoder;

struct kc_gpu_encoder_caps {
        size_t max_pairs;  /* most in one put */
        size_t part_pairs; /* most in a part, but for the rest of a put before; a block at least */
        int nslots;        /* parts that can be on their way at once */
};

/* Pairs with counts outside of min_count .. max_count are dropped, and counted. */
template <class Key>
enum kc_status kc_gpu_encoder_new(struct kc_gpu_encoder<Key> **encoder, struct kc_gpu *gpu, int k,
                                  uint32_t min_count, uint32_t max_count,
                                  const struct kc_gpu_encoder_caps *caps, struct kc_error *err);
/* NULL is fine. */
template <class Key> void kc_gpu_encoder_free(struct kc_gpu_encoder<Key> *encoder);

/* Most bytes of device memory that kc_gpu_encoder_new takes, enough for any pairs. */
template <class Key> size_t kc_gpu_encoder_nbytes(size_t max_pairs);

/* Most bytes of pinned memory. It begins with what usual pairs need, less than half of that, and
 * grows to what there is to download. */
template <class Key> size_t kc_gpu_encoder_pinned_nbytes(const struct kc_gpu_encoder_caps *caps);

/*
 * Encode the next range of the run, into *nparts parts, 1 at least. The k-mers that do not fill a
 * block are kept for the next call; with `last` they are the run's last block, and the next call
 * begins another run. Waits for the kernels: `range` is no longer needed on return. After a failure
 * the encoder can only be freed.
 */
template <class Key>
enum kc_status kc_gpu_encoder_put(struct kc_gpu_encoder<Key> *encoder,
                                  const struct kc_gpu_run<Key> *range, bool last, size_t *nparts,
                                  struct kc_error *err);

/* Begin to download the next part of that range into a free slot: as many calls as there are parts,
 * by the thread that put them, before the next put. */
template <class Key>
enum kc_status kc_gpu_encoder_download(struct kc_gpu_encoder<Key> *encoder, int slot,
                                       struct kc_error *err);

/*
 * Wait for the slot's download. blocks is the slot's memory, valid until the next download into it;
 * what is told of a whole range comes with its first part. part is for the caller to set. May be
 * called by another thread than put, for another slot.
 */
template <class Key>
enum kc_status kc_gpu_encoder_wait(struct kc_gpu_encoder<Key> *encoder, int slot,
                                   struct kc_run_blocks *blocks, struct kc_error *err);

#endif
