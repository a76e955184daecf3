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
        uint32_t *positions; /* [max_nspans] device */
        void *scratch;       /* device, for CUB */
};

/* KC_ENOMEM, KC_EDEVICE. Free it even after a failure. */
enum kc_status kc_packer_new(struct kc_packer *packer, struct kc_gpu *gpu, size_t max_nspans,
                             struct kc_error *err);
void kc_packer_free(struct kc_packer *packer, struct kc_gpu *gpu);

/*
 * Pack the reads, on gpu->stream; does not wait. KC_EDEVICE.
 *   words   out [kc_pack_nwords] device
 *   groups  out, device: one for each KC_GROUP_NSPANS spans
 */
enum kc_status kc_pack_reads(struct kc_packer *packer, struct kc_gpu *gpu,
                             const struct kc_gpu_reads *reads, int k, uint64_t *words,
                             struct kc_span_group *groups, struct kc_error *err);

#endif
