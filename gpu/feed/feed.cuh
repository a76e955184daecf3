/*
 * The way in: worker threads pull batches of reads from the source and copy them to the device,
 * where they gather in one of a few large buffers; the driver thread counts another meanwhile.
 *
 *      source ──▶ a worker's two locked slots ──▶ a device buffer ──▶ driver
 *
 * Reading begins before there is a device: it takes some tenths of a second to make one ready. What
 * is read meanwhile is kept in ordinary memory and goes through the locked slots later: that takes
 * less time than locking all of it.
 */
#ifndef KC_GPU_FEED_FEED_CUH
#define KC_GPU_FEED_FEED_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/reads.cuh"
#include "gpu/device/trace.cuh"
#include "kmer/batch.h"

/* Most batches that a worker reads before the device is ready. Memory that is not needed for it is
 * not touched. */
enum { KC_FEED_NAHEAD = 32 };

/* Two buffers do; more take in what was read ahead at once, so that reading goes on. */
enum { KC_FEED_MIN_BUFFERS = 2, KC_FEED_MAX_BUFFERS = 8 };

struct kc_gpu_feed_setup {
        int k, nthreads;
        const struct kc_batch_source *source;
        uint32_t batch_words; /* of a host batch: KC_BATCH_MIN_WORDS at least */
        bool read_ahead;      /* call source->next before kc_gpu_feed_attach */
};

/* What a device buffer holds, each bound on its own, and how many there are. */
struct kc_gpu_feed_caps {
        size_t nwords, nspans;
        uint64_t nkmers;
        int nbuffers;
};

struct kc_gpu_feed;

/* Most bytes of host memory for a worker; bytes of device memory that the buffers take. */
size_t kc_gpu_feed_worker_nbytes(uint32_t batch_words);
size_t kc_gpu_feed_nbytes(const struct kc_gpu_feed_caps *caps);

/* The least caps: any host batch of so many words fits. */
struct kc_gpu_feed_caps kc_gpu_feed_least(uint32_t batch_words);

/* Uses no device yet. gate and trace must outlive it. */
enum kc_status kc_gpu_feed_new(struct kc_gpu_feed **feed, const struct kc_gpu_feed_setup *setup,
                               struct kc_gate *gate, struct kc_gpu_trace *trace,
                               struct kc_error *err);

/* The driver: take buffers on the device, of kc_gpu_feed_least at least; uploads begin. */
enum kc_status kc_gpu_feed_attach(struct kc_gpu_feed *feed, struct kc_gpu *gpu,
                                  const struct kc_gpu_feed_caps *caps, struct kc_error *err);

/* A worker (0 .. nthreads-1): read to the end of the input. */
enum kc_status kc_gpu_feed_read(struct kc_gpu_feed *feed, int worker, struct kc_error *err);

/*
 * The driver: wait for the next full buffer, or the rest at the end of the input. Work enqueued on
 * gpu->stream from now on finds it uploaded. reads->nkmers = 0: that was all. A buffer is given
 * back with kc_gpu_feed_give_back, before the next is taken, when no work uses it any more.
 */
enum kc_status kc_gpu_feed_take(struct kc_gpu_feed *feed, struct kc_gpu_reads *reads,
                                struct kc_error *err);
void kc_gpu_feed_give_back(struct kc_gpu_feed *feed);

/* When the last worker came to the end of the input, by kc_clock_seconds; 0 before. */
double kc_gpu_feed_end_seconds(struct kc_gpu_feed *feed);

/* The driver, when all workers have come to the end: free the buffers on the device. */
void kc_gpu_feed_detach(struct kc_gpu_feed *feed);

/* No thread may be in it, and the driver's device still open. NULL is fine. */
void kc_gpu_feed_free(struct kc_gpu_feed *feed);

#endif
