/*
 * Packs reads as they are uploaded, with segments that begin at word boundaries, into a chunk
 * without gaps (gpu/device/reads.cuh).
 */
#ifndef KC_GPU_KEPT_PACK_CUH
#define KC_GPU_KEPT_PACK_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/reads.cuh"

static inline size_t kc_pack_nwords(const struct kc_gpu_reads *reads)
{
        return (reads->nbases + 31) / 32;
}

/* Memory for packing up to max_nspans spans at a time. A zeroed one may be freed. */
struct kc_packer {
        size_t max_nspans, scratch_nbytes;
        uint64_t *positions; /* [max_nspans] device */
        void *scratch;       /* device, for CUB */
};

/* KC_ENOMEM, KC_EDEVICE. Free it even after a failure. */
enum kc_status kc_packer_new(struct kc_packer *packer, struct kc_gpu *gpu, size_t max_nspans,
                             struct kc_error *err);
void kc_packer_free(struct kc_packer *packer, struct kc_gpu *gpu);

/* Where a chunk goes, on the device. */
struct kc_packed {
        uint64_t *words;              /* [kc_pack_nwords] */
        struct kc_mark *marks;        /* [nmarks of the reads]; NULL if there are none */
        struct kc_span_group *groups; /* one for each KC_GROUP_NSPANS spans */
};

/* Pack the reads, on gpu->stream; does not wait. k: the one that spans are cut for. KC_EDEVICE. */
enum kc_status kc_pack_reads(struct kc_packer *packer, struct kc_gpu *gpu,
                             const struct kc_gpu_reads *reads, int k, const struct kc_packed *to,
                             struct kc_error *err);

#endif
