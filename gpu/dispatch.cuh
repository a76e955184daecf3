/*
 * One count by several devices, each of which has read some of the input. In each step, every device
 * finds the super-k-mers of its own reads that belong to the current pass of any device, splits them
 * by device, and sends each its records, with copies of their bases:
 *
 *      device 0:  reads ──▶ records of all passes ──┬─▶ outboxes ──▶ inboxes ──▶ its pass
 *      device 1:  reads ──▶      likewise           ─┼─▶ outboxes ──▶ inboxes ──▶ its pass
 *      device 2:  reads ──▶                         ─┴─▶ outboxes ──▶ inboxes ──▶ its pass
 *
 * Each device has two threads. One sends: it goes through the reads in pieces, and while the records of
 * a piece are copied, it finds those of the next. The other one counts, from one of two inboxes, so
 * the records of the next step arrive while a pass is counted. A sender waits for nothing but
 * inboxes, which counting empties, and counting waits for nothing but senders, so neither blocks
 * the other.
 *
 * Source: Jünger et al., WarpDrive, IV-B and V-C (multisplit, transposition, overlapped batches), for
 * super-k-mers in place of k-mers.
 */
#ifndef KC_GPU_DISPATCH_CUH
#define KC_GPU_DISPATCH_CUH

#include "gpu/count/count.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/link.cuh"
#include "gpu/gpu.h"

/* One is filled while the other one is copied. */
enum { KC_DISPATCH_NOUTBOXES = 2 };

/* The way from one member to another: as in gpu/exchange.cuh. */
struct kc_dispatch_road {
        struct kc_gpu_link link;
        cudaStream_t stream;
        cudaEvent_t copied[KC_DISPATCH_NOUTBOXES]; /* from each outbox */
        cudaEvent_t arrived[KC_COUNT_NINBOXES];    /* all records of a step */
};

/* Memory for the records of one piece, in equal regions for all members. */
struct kc_dispatch_outbox {
        uint64_t *memory;                     /* device: each region's records, then its copies */
        uint64_t *lengths;                    /* device [KC_GPU_MAX_DEVICES] records found */
        struct kc_records_share *shares;      /* device [KC_GPU_MAX_DEVICES] */
        uint64_t *host_lengths;               /* pinned [KC_GPU_MAX_DEVICES] */
        struct kc_records_share *host_shares; /* pinned [KC_GPU_MAX_DEVICES] */
        bool sent[KC_GPU_MAX_DEVICES];        /* something may still be copied to a member */
};

/* A member's passes. */
struct kc_dispatch_passes {
        const struct kc_gpu_pass *passes; /* [n] */
        size_t n;
};

struct kc_dispatch_member {
        struct kc_gpu *gpu;
        struct kc_superkmer_setup superkmers;
        struct kc_gpu_chunks chunks; /* its reads, all on its device */
        enum kc_gate_bell bell;      /* of the thread that counts */
        struct kc_gpu_inbox inboxes[KC_COUNT_NINBOXES];
        struct kc_dispatch_passes passes;
        const struct kc_bins *bins; /* [passes.n] */
        bool joined;
        /* the sender's */
        cudaStream_t finding;
        struct kc_dispatch_outbox outboxes[KC_DISPATCH_NOUTBOXES];
        uint64_t region; /* records that a region holds */
        struct kc_dispatch_road roads[KC_GPU_MAX_DEVICES];
        uint64_t npieces;
        uint32_t piece; /* groups in a piece */
        /* guarded by the gate */
        size_t nreleased;                     /* inboxes that it has emptied */
        uint64_t nrecords[KC_COUNT_NINBOXES]; /* in each inbox */
        size_t nsteps[KC_GPU_MAX_DEVICES];    /* steps that each member has sent in full */
        bool gave_up;                         /* nothing is sent to it any more */
        bool has_sent;                        /* everything, and all copies have arrived */
        bool has_received;                    /* everything, or it gave up */
        uint64_t nbytes;                      /* that others have sent to it */
};

/* Zero-initialise, and set gate and n. */
struct kc_gpu_dispatch {
        struct kc_gate *gate;
        int n; /* members */
        struct kc_dispatch_member members[KC_GPU_MAX_DEVICES];
        size_t nsteps; /* the most passes that a member makes */
};

/* How many records an outbox should hold for each of n members, on a device with room_nbytes of
 * memory: enough that copies of them reach the link's full rate. */
uint64_t kc_gpu_dispatch_region(const struct kc_superkmer_setup *superkmers, int n,
                                size_t room_nbytes);

/* Bytes of device memory of a member's outboxes. */
size_t kc_gpu_dispatch_outboxes_nbytes(const struct kc_superkmer_setup *superkmers, int n,
                                       uint64_t region);

/*
 * Take the memory for sending. Called by the thread that uses the device. After KC_ENOMEM the member
 * has not joined. KC_EDEVICE.
 *   region  records that an outbox holds for each member, at least those of a group of reads
 *   bell    the bell that the counting thread waits for
 */
enum kc_status kc_gpu_dispatch_join(struct kc_gpu_dispatch *dispatch, int member,
                                    struct kc_gpu *gpu, const struct kc_superkmer_setup *superkmers,
                                    const struct kc_gpu_chunks *chunks,
                                    const struct kc_gpu_inbox *inboxes, uint64_t region,
                                    enum kc_gate_bell bell, struct kc_error *err);

/* Set a member's passes, and their bins (kc_gpu_counter_bins), before any member sends. Both must
 * outlive the dispatch. */
void kc_gpu_dispatch_plan(struct kc_gpu_dispatch *dispatch, int member,
                          const struct kc_dispatch_passes *passes, const struct kc_bins *bins);

/* The member's sender: send everything to everyone. KC_EDEVICE, KC_ENOMEM, KC_ECANCELED. */
enum kc_status kc_gpu_dispatch_send(struct kc_gpu_dispatch *dispatch, int member,
                                    struct kc_error *err);

/*
 * The member's counting thread: wait until all members have sent the records of a step, which are then
 * complete in the order of gpu->stream. *fits = false: there were more than the inbox holds, or the
 * member gave up; then it must call neither this nor kc_gpu_dispatch_release again. KC_ECANCELED,
 * KC_EDEVICE.
 */
enum kc_status kc_gpu_dispatch_receive(struct kc_gpu_dispatch *dispatch, int member, size_t step,
                                       uint64_t *nrecords, bool *fits, struct kc_error *err);

/* The inbox of the step that was received last may be filled again. */
void kc_gpu_dispatch_release(struct kc_gpu_dispatch *dispatch, int member);

/* The member counts no more; others need not send it anything. */
void kc_gpu_dispatch_give_up(struct kc_gpu_dispatch *dispatch, int member);

/* The counting thread, at the end, even if it gave up: wait until all members have sent and received
 * everything. Before that, copies to its inboxes may be under way, and others may be waiting for what
 * it has sent. KC_ECANCELED. */
enum kc_status kc_gpu_dispatch_wait(struct kc_gpu_dispatch *dispatch, int member,
                                    struct kc_error *err);

/* Bytes that others have sent to the member; after kc_gpu_dispatch_wait. */
uint64_t kc_gpu_dispatch_received_nbytes(const struct kc_gpu_dispatch *dispatch, int member);

/* Wait for copies under way and free a member's memory. No thread may still use the dispatch. Does
 * nothing if it has not joined. The member's device must be current. */
void kc_gpu_dispatch_leave(struct kc_gpu_dispatch *dispatch, int member);

#endif
