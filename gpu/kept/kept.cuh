/*
 * Keeps the reads until the input ends, packed in chunks: on the device, then in pinned host
 * memory, then in a nameless file. Reads take 0.26 bytes a base, but their k-mers at least five
 * bytes each. So the input is counted in passes over the reads that are kept, and each counts the
 * k-mers of some of the points. If all are on the device, some passes share a walk over them.
 *
 *      put  put  put  end    (next  next  next)  (next  next  next)  ...
 *                             pass 0              pass 1
 */
#ifndef KC_GPU_KEPT_KEPT_CUH
#define KC_GPU_KEPT_KEPT_CUH

#include "gpu/device/gate.h"
#include "gpu/device/link.cuh"
#include "gpu/superkmers/superkmer.cuh"

struct kc_gpu_kept;

struct kc_gpu_kept_setup {
        struct kc_superkmer_setup superkmers; /* how passes will cut the reads: for the only k, or
                                                 for the first of several */
        uint64_t max_nbases;                  /* in one put */
        size_t max_nspans;
        size_t device_nbytes; /* most device memory for chunks */
        size_t host_nbytes;   /* most pinned host memory; 0 is valid */
        const char *tmp_dir;  /* folder of the nameless file that holds the rest */
        int nthreads;         /* threads it may use briefly to allocate host memory */
        struct kc_gate *gate; /* checked for cancellation during long work; may be NULL */
        const struct kc_superkmer_setup *others; /* [nothers] for the other k */
        int nothers;                             /* at most KC_KEPT_MAX_KS - 1 */
};

enum { KC_KEPT_MAX_KS = 16 };

/* How many bytes of reads are kept where. */
struct kc_gpu_kept_where {
        size_t device_nbytes, host_nbytes, file_nbytes;
};

/* Allocates all device memory that puts need. Until kc_gpu_kept_settle, gpu->spare gives up chunks:
 * an allocation that finds too little memory moves them off the device. Only the thread that uses
 * the device may call this. KC_ENOMEM, KC_EDEVICE. */
enum kc_status kc_gpu_kept_new(struct kc_gpu_kept **kept, struct kc_gpu *gpu,
                               const struct kc_gpu_kept_setup *setup, struct kc_error *err);
void kc_gpu_kept_free(struct kc_gpu_kept *kept); /* NULL is fine */

/* Reads that a device shares with others. */
struct kc_gpu_kept_source {
        const struct kc_gpu_kept *kept;
        struct kc_gpu_link *link; /* from its device to the one that counts; NULL: the same one */
};

/*
 * The reads of all sources, to be counted on one device. Chunks that a source keeps on its device
 * are copied to gpu now if all chunks on devices fit in device_nbytes and no chunk is on the host;
 * otherwise each pass copies them there, as it does with chunks on the host. Chunks that are on gpu
 * itself stay where they are. For these reads, only functions that passes need may be called. From
 * this call until they are freed, the sources must exist and be settled; several devices may be in
 * passes over the same sources at the same time, on different threads.
 *   sources  [nsources], at least one; the thread that counts uses the links until the reads are
 *            freed
 * KC_ENOMEM, KC_EDEVICE, KC_EIO.
 */
enum kc_status kc_gpu_kept_join(struct kc_gpu_kept **kept, struct kc_gpu *gpu,
                                const struct kc_gpu_kept_source *sources, int nsources,
                                size_t device_nbytes, struct kc_error *err);

/* About how many bytes of device memory kc_gpu_kept_new allocates. */
size_t kc_gpu_kept_nbytes(uint64_t max_nbases, size_t max_nspans, int nks);

/* Keep the reads, and add them to the loads. Work enqueued on gpu->stream after this call may
 * overwrite them. KC_ENOMEM, KC_EDEVICE, KC_EIO with the folder's name, KC_ECANCELED. */
enum kc_status kc_gpu_kept_put(struct kc_gpu_kept *kept, const struct kc_gpu_reads *reads,
                               struct kc_error *err);

/* The loads of all reads put so far, for one k. number: 0 for the setup's first k, 1 for the first
 * of its others. loads: out [KC_NLOADS] host. KC_EDEVICE. */
enum kc_status kc_gpu_kept_loads(struct kc_gpu_kept *kept, int number, struct kc_load *loads,
                                 struct kc_error *err);

/* How many k-mers all reads put so far have, for the k with this number. KC_EDEVICE. */
enum kc_status kc_gpu_kept_nkmers(struct kc_gpu_kept *kept, int number, uint64_t *nkmers,
                                  struct kc_error *err);

/* No more reads follow: free the memory for puts. */
void kc_gpu_kept_end(struct kc_gpu_kept *kept);

/* Move chunks off the device as long as host memory lasts. If not all reads fit on the device, it
 * pays to keep none there, because passes are then larger and fewer. KC_EDEVICE, KC_ENOMEM,
 * KC_ECANCELED. */
enum kc_status kc_gpu_kept_leave_device(struct kc_gpu_kept *kept, struct kc_error *err);

/* Move a chunk from the device to the host. *gave = false: none is left there. Do not call it
 * during a pass, nor between kc_gpu_kept_settle and kc_gpu_kept_unsettle. KC_EDEVICE, KC_ENOMEM,
 * KC_EIO, KC_ECANCELED. */
enum kc_status kc_gpu_kept_give(struct kc_gpu_kept *kept, bool *gave, struct kc_error *err);

/* From here on, chunks stay where they are, and gpu->spare is free. */
void kc_gpu_kept_settle(struct kc_gpu_kept *kept);

/* Between the passes of two k: chunks may move again, as before kc_gpu_kept_settle. */
void kc_gpu_kept_unsettle(struct kc_gpu_kept *kept);

struct kc_gpu_kept_where kc_gpu_kept_where(const struct kc_gpu_kept *kept);

/* Pinned host memory, of which reads may not fill all. */
size_t kc_gpu_kept_pinned_nbytes(const struct kc_gpu_kept *kept);

/* Bytes of device memory that a pass needs to copy chunks to the device: room for two of the
 * largest; 0 if all chunks are there already. */
size_t kc_gpu_kept_pass_nbytes(const struct kc_gpu_kept *kept);

/* How many chunks can have positions besides those that are kept on the device. */
uint32_t kc_gpu_kept_free_chunks(const struct kc_gpu_kept *kept);

/*
 * Begin a pass. copies: device memory that records will point to, [ncopies_words], at most
 * kc_gpu_kept_free_chunks chunks of it; may be NULL.
 *   all  out: the chunks that are on the device, and the copies, as records refer to them
 *   copies_position  out: the position of the first base of the copies
 * KC_ENOMEM, KC_EDEVICE.
 */
enum kc_status kc_gpu_kept_begin(struct kc_gpu_kept *kept, const uint64_t *copies,
                                 size_t ncopies_words, struct kc_gpu_chunks *all,
                                 uint64_t *copies_position, struct kc_error *err);

/* In a pass: copy the next chunk that is not kept on the device to it; one->n = 0 if there are no
 * more. *one is valid until the next call, for work on gpu->stream. KC_ENOMEM, KC_EDEVICE, KC_EIO,
 * KC_ECANCELED. */
enum kc_status kc_gpu_kept_next(struct kc_gpu_kept *kept, struct kc_gpu_chunks *one,
                                struct kc_error *err);

#endif
