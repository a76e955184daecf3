/*
 * Sorted pairs on the device to the blocks of a .kc file (kmer/block_codec.h), in pinned host
 * memory. The filter on counts, the histogram and the cutting every KC_BLOCK_NKMERS k-mers of the
 * whole run are done here too, so that the host has but to checksum and write.
 */
#ifndef KC_GPU_ENCODE_CUH
#define KC_GPU_ENCODE_CUH

#include "gpu/run.cuh"
#include "kmer/run.h"

template <class Key> struct kc_gpu_encoder;

/*
 *   max_pairs             most pairs in one put
 *   nslots                parts that can be under way at once; each has memory of its own, on the
 *                         device and pinned
 *   min_count, max_count  pairs outside are dropped, and counted
 */
template <class Key>
enum kc_status kc_gpu_encoder_new(struct kc_gpu_encoder<Key> **encoder, struct kc_gpu *gpu, int k,
                                  uint32_t min_count, uint32_t max_count, size_t max_pairs,
                                  int nslots, struct kc_error *err);
/* NULL is fine. */
template <class Key> void kc_gpu_encoder_free(struct kc_gpu_encoder<Key> *encoder);

/*
 * Most bytes of device memory that kc_gpu_encoder_new takes, enough for any pairs. Pinned memory
 * begins with what usual pairs need, less than half of it, and grows to what there is to download.
 */
template <class Key> size_t kc_gpu_encoder_nbytes(size_t max_pairs, int nslots);

/*
 * Encode the next range of the run into a free slot. The k-mers that do not fill a block are kept
 * for the next call; with `last` they are the run's last block, and the next call begins another
 * run. Waits for the kernels: `range` is no longer needed on return. The download goes on. After a
 * failure the encoder can only be freed.
 */
template <class Key>
enum kc_status kc_gpu_encoder_put(struct kc_gpu_encoder<Key> *encoder, int slot,
                                  const struct kc_gpu_run<Key> *range, bool last,
                                  struct kc_error *err);

/*
 * Wait for the slot's download. blocks is the slot's memory, valid until the next put into it; part
 * is for the caller to set. May be called by another thread than put, for another slot.
 */
template <class Key>
enum kc_status kc_gpu_encoder_wait(struct kc_gpu_encoder<Key> *encoder, int slot,
                                   struct kc_run_blocks *blocks, struct kc_error *err);

#endif
