/*
 * Reads kept until the input ends: packed in chunks on the device, then in pinned host memory, then
 * in an unlinked file. Reads take 0.26 bytes a base, their k-mers at least five bytes each, so an
 * input is counted in passes over the reads that are kept, each for some of the bins.
 *
 *      put  put  put  end    (next  next  next)  (next  next  next)  ...
 *                             pass 0              pass 1
 */
#ifndef KC_GPU_KEPT_KEPT_CUH
#define KC_GPU_KEPT_KEPT_CUH

#include "gpu/device/gate.h"
#include "gpu/superkmers/superkmer.cuh"

struct kc_gpu_kept;

struct kc_gpu_kept_setup {
        struct kc_superkmer_setup superkmers; /* how passes will cut the reads */
        uint64_t max_nbases;                  /* in one put */
        size_t max_nspans;
        size_t device_nbytes; /* most device memory for chunks */
        size_t host_nbytes;   /* most pinned host memory; 0 is valid */
        const char *tmp_dir;  /* folder of the unlinked file that holds the rest */
        int nthreads;         /* threads it may use briefly to allocate host memory */
        struct kc_gate *gate; /* checked for cancellation during long work; may be NULL */
};

/* Where reads are, in bytes. */
struct kc_gpu_kept_where {
        size_t device_nbytes, host_nbytes, file_nbytes;
};

/* All device memory that puts need is allocated here. Until kc_gpu_kept_settle it is gpu->spare: an
 * allocation that finds too little memory moves chunks off the device. Only the thread that uses
 * the device calls it. KC_ENOMEM, KC_EDEVICE. */
enum kc_status kc_gpu_kept_new(struct kc_gpu_kept **kept, struct kc_gpu *gpu,
                               const struct kc_gpu_kept_setup *setup, struct kc_error *err);
void kc_gpu_kept_free(struct kc_gpu_kept *kept); /* NULL is fine */

/* Device memory that kc_gpu_kept_new allocates, about. */
size_t kc_gpu_kept_nbytes(uint64_t max_nbases, size_t max_nspans);

/* Keep the reads, and add them to the loads. They are no longer needed in work enqueued on
 * gpu->stream after this. KC_ENOMEM, KC_EDEVICE, KC_EIO with the folder's name, KC_ECANCELED. */
enum kc_status kc_gpu_kept_put(struct kc_gpu_kept *kept, const struct kc_gpu_reads *reads,
                               struct kc_error *err);

/* The loads of all reads put so far. loads: out [KC_NLOADS] host. KC_EDEVICE. */
enum kc_status kc_gpu_kept_loads(struct kc_gpu_kept *kept, struct kc_load *loads,
                                 struct kc_error *err);

/* No more reads follow: free the memory for puts. */
void kc_gpu_kept_end(struct kc_gpu_kept *kept);

/* Move chunks off the device while the host's memory lasts. If not all reads fit on the device, it
 * pays to keep none there: passes are then larger, and fewer. KC_EDEVICE, KC_ENOMEM,
 * KC_ECANCELED. */
enum kc_status kc_gpu_kept_leave_device(struct kc_gpu_kept *kept, struct kc_error *err);

/* From here on, chunks stay where they are, and gpu->spare is free. */
void kc_gpu_kept_settle(struct kc_gpu_kept *kept);

struct kc_gpu_kept_where kc_gpu_kept_where(const struct kc_gpu_kept *kept);

/* Device memory that a pass takes while it copies chunks to the device: two of the largest; 0 if all
 * are there. */
size_t kc_gpu_kept_pass_nbytes(const struct kc_gpu_kept *kept);

/* Chunks that the device's positions have room for besides those that are kept there. */
uint32_t kc_gpu_kept_free_chunks(const struct kc_gpu_kept *kept);

/*
 * Begin a pass. copies: device memory that records will point to, [ncopies_words], at most
 * kc_gpu_kept_free_chunks chunks of it; may be NULL.
 *   all  out: the chunks that are on the device, and the copies, as records refer to them
 *   copies_position  out: of the first base of the copies
 * KC_ENOMEM, KC_EDEVICE.
 */
enum kc_status kc_gpu_kept_begin(struct kc_gpu_kept *kept, const uint64_t *copies,
                                 size_t ncopies_words, struct kc_gpu_chunks *all,
                                 uint64_t *copies_position, struct kc_error *err);

/* In a pass: the next chunk that is not kept on the device, copied there; one->n = 0 if there are no
 * more. Valid until the next call, complete in gpu->stream. KC_ENOMEM, KC_EDEVICE, KC_EIO,
 * KC_ECANCELED. */
enum kc_status kc_gpu_kept_next(struct kc_gpu_kept *kept, struct kc_gpu_chunks *one,
                                struct kc_error *err);

#endif
