/*
 * Encodes sorted pairs on the device as blocks of a .kc file (kmer/block_codec.h), in pinned host
 * memory. The histogram, and cutting the whole run every KC_BLOCK_NKMERS k-mers are done here too,
 * so the host only checksums and writes. An encoder is used by one thread, but for
 * kc_gpu_encoder_wait.
 */
#ifndef KC_GPU_BLOCKS_ENCODE_CUH
#define KC_GPU_BLOCKS_ENCODE_CUH

#include "gpu/blocks/carry.cuh"
#include "gpu/device/run.cuh"
#include "kmer/run.h"

template <class Key> struct kc_gpu_encoder;

struct kc_gpu_encoder_caps {
        size_t max_pairs;  /* maximum pairs in one put */
        size_t part_pairs; /* maximum pairs in a part, plus the carry of the previous put; at least
                              a block */
        int nslots;        /* parts that can be downloaded at once; 0 if none ever are */
};

/* KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_encoder_new(struct kc_gpu_encoder<Key> **encoder, struct kc_gpu *gpu, int k,
                                  const struct kc_gpu_encoder_caps *caps, struct kc_error *err);
/* NULL is fine. */
template <class Key> void kc_gpu_encoder_free(struct kc_gpu_encoder<Key> *encoder);

/* Upper bound in bytes on the device memory that kc_gpu_encoder_new takes; it suffices for any
 * pairs. */
template <class Key> size_t kc_gpu_encoder_nbytes(size_t max_pairs);

/* Upper bound in bytes on pinned memory. A slot takes what typical pairs need, less than half of
 * that, and grows if there is more to download. */
template <class Key> size_t kc_gpu_encoder_pinned_nbytes(const struct kc_gpu_encoder_caps *caps);

/* Pin a slot's memory before its first download, which would otherwise pin only what that part
 * needs. KC_ENOMEM leaves the encoder as it was. */
template <class Key>
enum kc_status kc_gpu_encoder_open(struct kc_gpu_encoder<Key> *encoder, int slot,
                                   struct kc_error *err);

/*
 * Encode the next range of the run into *nparts parts, at least 1. K-mers that do not fill a block
 * are kept for the next call; with `last` they become the run's last block, and the next call
 * starts another run. Waits for the kernels: `range` is no longer needed on return. After a failure
 * the encoder can only be freed. KC_EUSAGE if range->n > max_pairs; KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_encoder_put(struct kc_gpu_encoder<Key> *encoder,
                                  const struct kc_gpu_run<Key> *range, bool last, size_t *nparts,
                                  struct kc_error *err);

/* Between two puts: replace what the encoder would carry on to the next one, because the range
 * before that one was put into another encoder. Waits for gpu->stream. KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_encoder_set_carry(struct kc_gpu_encoder<Key> *encoder,
                                        const struct kc_gpu_carry<Key> *carry,
                                        struct kc_error *err);

/* Start downloading the next part of that range into a free slot. Call it once for each part, from
 * the thread that called put, before the next put. KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_encoder_download(struct kc_gpu_encoder<Key> *encoder, int slot,
                                       struct kc_error *err);

/* The blocks of a put as they are on the device. */
struct kc_gpu_encoded {
        const uint64_t *words; /* [nwords] device: block after block, each with a checksum that is
                                  not set */
        size_t nwords, nblocks;
        const uint32_t *block_nwords; /* [nblocks] host: without the checksums */
};

/* Instead of downloading its parts: the blocks of the last put, valid until the next. */
template <class Key>
struct kc_gpu_encoded kc_gpu_encoder_blocks(const struct kc_gpu_encoder<Key> *encoder);

/* Call this after enqueueing copies of these words on gpu->download: a later put waits for them.
 * KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_encoder_copied(struct kc_gpu_encoder<Key> *encoder, struct kc_error *err);

/*
 * Wait for the slot's download. *blocks points into the slot's memory, valid until the next
 * download into it; what describes a whole range comes with its first part. The caller sets
 * blocks->part. Another thread may call this while put or download is busy with other slots.
 * KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_encoder_wait(struct kc_gpu_encoder<Key> *encoder, int slot,
                                   struct kc_run_blocks *blocks, struct kc_error *err);

#endif
