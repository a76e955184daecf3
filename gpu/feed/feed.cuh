/*
 * The input stage: worker threads pull batches of reads from the source and copy them to a device,
 * where they gather in one of a few buffers; meanwhile, the device's thread puts the reads of
 * another buffer where they are kept.
 *
 *      source ──▶ a worker's two pinned slots ──▶ a device's buffer ──▶ the device's thread
 *
 * If several devices are attached, a batch goes to one that has a free buffer; of these, to the one
 * that has received least in relation to its weight.
 *
 * Reading begins before the device is ready, which takes some tenths of a second. Batches read in
 * that time stay in pageable memory and pass through the pinned slots later, which is faster than
 * pinning all of that memory.
 */
#ifndef KC_GPU_FEED_FEED_CUH
#define KC_GPU_FEED_FEED_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/limits.h"
#include "gpu/device/reads.cuh"
#include "gpu/device/trace.cuh"
#include "kmer/batch.h"

/* Most batches that a worker reads before the device is ready. Pages are touched only as batches
 * fill them. */
enum { KC_FEED_NAHEAD = 32 };

/* Two buffers suffice; with more, all that was read ahead is uploaded at once, and reading goes
 * on. */
enum { KC_FEED_MIN_BUFFERS = 2, KC_FEED_MAX_BUFFERS = 8 };

struct kc_gpu_feed_setup {
        int k, nthreads;
        int ndevices; /* most that can be attached: at most KC_GPU_MAX_DEVICES */
        const struct kc_batch_source *source;
        uint32_t batch_words; /* words in a host batch: at least KC_BATCH_MIN_WORDS */
        bool read_ahead;      /* call source->next before kc_gpu_feed_attach */
};

/* What a device buffer can hold, with a separate bound for each, and the number of buffers. */
struct kc_gpu_feed_caps {
        size_t nwords, nspans;
        uint64_t nbases;
        int nbuffers;
};

struct kc_gpu_feed;

/* Most bytes of host memory per worker; bytes of device memory for all buffers. */
size_t kc_gpu_feed_worker_nbytes(uint32_t batch_words);
size_t kc_gpu_feed_nbytes(const struct kc_gpu_feed_caps *caps);

/* The smallest caps for which any host batch of batch_words words fits in a buffer. */
struct kc_gpu_feed_caps kc_gpu_feed_least(uint32_t batch_words);

/* The batch_words for which all workers together take at most nbytes, and a buffer of buffer_nbases
 * holds a few batches of each. */
uint32_t kc_gpu_feed_plan_words(size_t nbytes, int nthreads, uint64_t buffer_nbases);

/* Room in a buffer for nbases of reads of usual lengths, but no less than kc_gpu_feed_least. For
 * other lengths, words or spans run out first. */
struct kc_gpu_feed_caps kc_gpu_feed_plan_caps(uint64_t nbases, uint32_t batch_words);

/* Does not use the device yet. setup is copied; setup->source, gate and trace must outlive the
 * feed. KC_ENOMEM, with *feed = NULL. */
enum kc_status kc_gpu_feed_new(struct kc_gpu_feed **feed, const struct kc_gpu_feed_setup *setup,
                               struct kc_gate *gate, struct kc_gpu_trace *trace,
                               struct kc_error *err);

/*
 * The device's thread: allocate buffers on the device, at least as large as kc_gpu_feed_least says;
 * uploads to it begin. gpu must outlive the buffers (see kc_gpu_feed_detach).
 *   device    0 .. ndevices-1; the thread of device 0 is the driver, and attaches it before any
 *             other
 *   weight    what the device should receive, relative to the other devices: at least 1
 *   attached  out: false if all of the input has been read, so this device receives nothing
 * KC_ENOMEM, KC_EDEVICE.
 */
enum kc_status kc_gpu_feed_attach(struct kc_gpu_feed *feed, int device, struct kc_gpu *gpu,
                                  const struct kc_gpu_feed_caps *caps, uint64_t weight,
                                  bool *attached, struct kc_error *err);

/* Worker (0 .. nthreads-1): read and upload to the end of the input. KC_ECANCELED, KC_EDEVICE, or
 * what source->next returns. */
enum kc_status kc_gpu_feed_read(struct kc_gpu_feed *feed, int worker, struct kc_error *err);

/*
 * The device's thread: wait for its next full buffer, or the last one at the end of the input. Work
 * enqueued on gpu->stream after this sees the uploaded data. reads->nkmers = 0 means that there are
 * no more buffers for this device. Return each buffer with kc_gpu_feed_give_back, once no work uses
 * it any more and before taking the next. KC_ECANCELED, KC_EDEVICE.
 */
enum kc_status kc_gpu_feed_take(struct kc_gpu_feed *feed, int device, struct kc_gpu_reads *reads,
                                struct kc_error *err);
void kc_gpu_feed_give_back(struct kc_gpu_feed *feed, int device);

/* When the last worker reached the end of the input, on the clock of kc_clock_seconds; 0 before. */
double kc_gpu_feed_end_seconds(struct kc_gpu_feed *feed);

/* The device's thread, once there are no more buffers for it: free them. */
void kc_gpu_feed_detach(struct kc_gpu_feed *feed, int device);

/* Driver, once there are no more buffers for it: wait until all other devices are detached. No more
 * can be attached then. KC_ECANCELED. */
enum kc_status kc_gpu_feed_wait(struct kc_gpu_feed *feed, struct kc_error *err);

/* No other thread may use the feed, and its devices must still be open; the current device may be
 * another afterwards. NULL is fine. */
void kc_gpu_feed_free(struct kc_gpu_feed *feed);

#endif
