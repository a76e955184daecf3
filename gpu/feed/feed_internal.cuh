/*
 * A feed and what its parts have of one another: the workers' host memory (memory.cu), the
 * buffers on the device (buffers.cu), reading (feed.cu). Inside of feed.
 */
#ifndef KC_GPU_FEED_FEED_INTERNAL_CUH
#define KC_GPU_FEED_FEED_INTERNAL_CUH

#include "gpu/feed/feed.cuh"

enum { NLOCKED = 2 }; /* slots of a worker: one is filled while the other is copied */

/* A host batch and its spans in memory that is locked, so that they are copied without a detour. */
struct feed_slot {
        struct kc_batch batch;
        struct kc_span *spans; /* [most_spans] behind the words */
        bool busy;             /* being copied; copied tells when it is over */
        cudaEvent_t copied;
};

struct feed_reader {
        struct feed_slot slots[NLOCKED];
        struct kc_batch ahead[KC_FEED_NAHEAD]; /* what is read before the device is ready */
};

/* Reads on the device: filled by the workers until closed, then the driver's. */
struct feed_buffer {
        uint64_t *words;
        struct kc_span *spans;
        size_t nwords, nspans;
        uint64_t nkmers;
        bool closed;
        int ncopies; /* workers that have claimed a place and not enqueued their copies yet */
        cudaEvent_t uploaded;
        int fill_trace, upload_trace;
};

struct kc_gpu_feed {
        struct kc_gpu_feed_setup setup;
        struct kc_gate *gate;
        struct kc_gpu_trace *trace;
        struct kc_gpu *gpu; /* NULL: not attached */
        struct kc_gpu_feed_caps caps;
        struct feed_reader *readers;
        char *memory; /* of all slots, then of what is read ahead */
        bool locked;  /* the slots' part of it */
        /* guarded by the gate */
        bool attached;
        struct feed_buffer buffers[KC_FEED_MAX_BUFFERS]; /* [caps.nbuffers] */
        int filling, taking;                             /* buffers are used in turn */
        uint64_t nbegun;                                 /* batches, for the trace */
        int nreading;
        double end_seconds;
};

/* A host batch's place in a device buffer. */
struct feed_place {
        struct feed_buffer *buffer;
        size_t word, span;
};

/* Make the pages of a worker's slots: who does it is the one who uses them, and to lock pages that
 * are there takes a tenth of the time. */
void kc_feed_touch(struct kc_gpu_feed *feed, int worker);

/* Lock the slots. Where the system does not allow it, CUDA copies all the same, only slower. */
enum kc_status kc_feed_lock(struct kc_gpu_feed *feed, struct kc_error *err);

/* Wait until a device buffer has room, and take it. A batch that does not fit closes the buffer. */
enum kc_status kc_feed_claim(struct kc_gpu_feed *feed, size_t nwords, size_t nspans,
                             uint64_t nkmers, struct feed_place *place, struct kc_error *err);

/* The copies to a claimed place are enqueued. */
void kc_feed_enqueued(struct kc_gpu_feed *feed, const struct feed_place *place);

#endif
