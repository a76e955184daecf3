/*
 * Reads on a device that wait to be looked up: one thread puts copies of the reads that it has
 * made, and another takes them in the same order. So reads are made while the table is loaded and
 * while earlier reads are looked up.
 */
#ifndef KC_GPU_ASK_BACKLOG_CUH
#define KC_GPU_ASK_BACKLOG_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/reads.cuh"

enum { KC_ASK_BACKLOG = 64 }; /* puts that may wait; each has at most the bases of a chunk */

/* A copy of some reads. */
struct kc_ask_waiting_reads {
        uint64_t *words;       /* [nwords] device */
        struct kc_span *spans; /* [nspans] device */
        struct kc_gpu_reads reads;
        cudaEvent_t copied;
};

/* A zeroed one is closed. */
struct kc_ask_backlog {
        struct kc_gpu *gpu; /* of the thread that puts */
        struct kc_gate *gate;
        enum kc_gate_bell bell;                              /* of that thread */
        struct kc_ask_waiting_reads waiting[KC_ASK_BACKLOG]; /* used in turn */
        uint64_t nfreed;                                     /* used by that thread alone */
        /* guarded by the gate */
        uint64_t nput, ndone;
        bool ended;
};

/* Close the backlog even if this fails. KC_EDEVICE.
 *   gpu   used only by the thread that puts
 *   bell  what that thread waits for */
enum kc_status kc_ask_backlog_open(struct kc_ask_backlog *backlog, struct kc_gpu *gpu,
                                   struct kc_gate *gate, enum kc_gate_bell bell,
                                   struct kc_error *err);

/* No other thread may use it any more, and the device must have ended its work with it. */
void kc_ask_backlog_close(struct kc_ask_backlog *backlog);

/* Queue a copy of the reads on gpu->stream, as soon as there is memory for it. KC_ENOMEM if there
 * is too little even when nothing waits; KC_EDEVICE, KC_ECANCELED. */
enum kc_status kc_ask_backlog_put(struct kc_ask_backlog *backlog, const struct kc_gpu_reads *reads,
                                  struct kc_error *err);

/* No more reads follow. Either thread may call it, also more than once. */
void kc_ask_backlog_end(struct kc_ask_backlog *backlog);

/* The next reads, complete in the order of the stream; reads->nkmers = 0: there are no more. Call
 * kc_ask_backlog_done when no work uses them any more, before the next call. KC_EDEVICE,
 * KC_ECANCELED. */
enum kc_status kc_ask_backlog_take(struct kc_ask_backlog *backlog, cudaStream_t stream,
                                   struct kc_gpu_reads *reads, struct kc_error *err);
void kc_ask_backlog_done(struct kc_ask_backlog *backlog);

#endif
