/*
 * Private to gpu/feed: a feed and the state shared by its source files, the workers' host memory
 * (memory.cu), the buffers on the device (buffers.cu), and reading (feed.cu).
 */
#ifndef KC_GPU_FEED_FEED_INTERNAL_CUH
#define KC_GPU_FEED_FEED_INTERNAL_CUH

#include "gpu/feed/feed.cuh"
#include "gpu/feed/spans.cuh"

enum { NSLOTS = 2 }; /* slots per worker: one is filled while the other is copied */

/* A host batch and its spans, in pinned memory, from which CUDA copies without a staging buffer. */
struct feed_slot {
        struct kc_batch batch;
        struct kc_span *spans;                  /* [most_spans] after the words */
        cudaEvent_t copied[KC_GPU_MAX_DEVICES]; /* events belong to a device: [ndevices] or NULL */
        cudaEvent_t busy; /* being copied, until this one of them; NULL: free */
};

struct feed_reader {
        struct feed_slot slots[NSLOTS];
        struct kc_batch ahead[KC_FEED_NAHEAD]; /* batches read before the device is ready */
};

/* Reads on a device: filled by the workers until closed, then owned by the device's thread. */
struct feed_buffer {
        uint64_t *words;
        struct kc_span *spans;
        size_t nwords;
        struct kc_spans_size size;
        bool closed;
        int ncopies; /* workers that claimed a place and have not enqueued their copies yet */
        cudaEvent_t uploaded;
        int fill_trace, upload_trace;
};

/* What a device has for its batches. */
struct feed_outlet {
        struct kc_gpu *gpu; /* NULL: it has no buffers */
        struct kc_gpu_feed_caps caps;
        uint64_t weight;
        enum kc_gate_bell bell; /* for the device's thread */
        /* guarded by the gate */
        bool attached;
        struct feed_buffer buffers[KC_FEED_MAX_BUFFERS]; /* [caps.nbuffers] */
        int filling, taking;                             /* buffers are used in turn */
        uint64_t nbegun;                                 /* buffers begun so far, as their number
                                                            in the trace */
        uint64_t nwords;                                 /* received */
};

struct kc_gpu_feed {
        struct kc_gpu_feed_setup setup;
        struct kc_gate *gate;
        struct kc_gpu_trace *trace;
        struct feed_reader *readers;
        char *memory; /* all slots, then the batches that are read ahead */
        bool pinned;  /* the slots in it are pinned */
        struct feed_outlet outlets[KC_GPU_MAX_DEVICES]; /* [setup.ndevices] */
        /* guarded by the gate */
        bool ready; /* the first device is attached: workers may upload */
        int nreading;
        double end_seconds;
};

/* The place of a host batch in a device's buffer. */
struct feed_place {
        int device;
        struct feed_buffer *buffer;
        size_t word, span;
};

/* Touch all pages of a worker's slots. Each worker does this for the pages that it will use, and
 * pinning pages that exist takes a tenth of the time. */
void kc_feed_touch(struct kc_gpu_feed *feed, int worker);

/* Pin the slots, for all devices. If the system does not allow pinning, CUDA still copies, only
 * slower. */
void kc_feed_pin(struct kc_gpu_feed *feed);

/* Create the slots' events of the current device, which is the feed's `device`. KC_EDEVICE. */
enum kc_status kc_feed_make_events(struct kc_gpu_feed *feed, int device, struct kc_error *err);

/* Wait until a device's buffer has room, and claim a place in it. A batch that does not fit closes
 * the buffer. KC_ECANCELED. */
enum kc_status kc_feed_claim(struct kc_gpu_feed *feed, size_t nwords,
                             const struct kc_spans_size *size, struct feed_place *place,
                             struct kc_error *err);

/* Call after enqueuing the copies to a claimed place. */
void kc_feed_enqueued(struct kc_gpu_feed *feed, const struct feed_place *place);

#endif
