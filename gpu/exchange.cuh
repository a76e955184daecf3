/*
 * One merge by several devices, each of which has an LSM. The key space is cut into ranges, which the
 * devices take in turn (gpu/runs/deal.cuh). In each round, every device merges its own pairs of as many
 * ranges as there are devices, and sends those of each range to the device that takes it:
 *
 *      device 0:  LSM ──▶ its pairs of ranges 0, 1, 2 ──┬─▶ inboxes ──▶ range 0, 3, 6, ...
 *      device 1:  LSM ──▶      likewise              ──┼─▶ inboxes ──▶ range 1, 4, 7, ...
 *      device 2:  LSM ──▶                            ──┴─▶ inboxes ──▶ range 2, 5, 8, ...
 *
 * A device has two inboxes, each for one range: while it merges one range, the pairs of its next one
 * arrive. So devices send one round ahead. A device sends the pairs of one range after those of the one
 * before, so the lowest range that is not complete never waits for a higher one.
 */
#ifndef KC_GPU_EXCHANGE_CUH
#define KC_GPU_EXCHANGE_CUH

#include "gpu/device/gate.h"
#include "gpu/device/link.cuh"
#include "gpu/gpu.h"
#include "gpu/runs/deal.cuh"
#include "gpu/runs/lsm.cuh"

enum { KC_EXCHANGE_NINBOXES = 2 };

/* To a member: the link, a stream of that member's device, and when an inbox has all pairs. */
struct kc_exchange_road {
        struct kc_gpu_link link;
        cudaStream_t stream;
        cudaEvent_t arrived[KC_EXCHANGE_NINBOXES];
};

/* The pairs of a range, from all members. */
template <class Key> struct kc_exchange_inbox {
        struct kc_gpu_run<Key> pairs; /* by place; only cap is used */
        /* guarded by the gate */
        size_t lengths[KC_GPU_MAX_DEVICES]; /* pairs, by rank of the sender */
        size_t nlengths;                    /* that are known; the pairs may still be under way */
};

/* A device that may take part. */
template <class Key> struct kc_exchange_member {
        struct kc_gpu *gpu;
        struct kc_gpu_lsm<Key> *lsm;
        enum kc_gate_bell bell; /* for its thread */
        bool takes_part;
        size_t rank;      /* among those that take part */
        size_t max_pairs; /* most pairs of a range */
        struct kc_exchange_inbox<Key> inboxes[KC_EXCHANGE_NINBOXES];
        struct kc_exchange_road roads[KC_GPU_MAX_DEVICES]; /* by rank */
        size_t nsent;                                      /* ranges whose pairs it has sent */
        cudaEvent_t sent;             /* of the pairs sent last: that they have arrived; or NULL */
        size_t ntaken;                /* ranges that it took */
        struct kc_gpu_run<Key> range; /* the last of these */
        bool holds_inbox;             /* `range` is in an inbox */
        /* guarded by the gate */
        size_t nemptied; /* inboxes that it has emptied */
};

/* Zero-initialise, and set gate. */
template <class Key> struct kc_gpu_exchange {
        struct kc_gate *gate;
        struct kc_exchange_member<Key> members[KC_GPU_MAX_DEVICES];
        struct kc_deal<Key> deal;
        int taking[KC_GPU_MAX_DEVICES]; /* [deal.nmembers] by rank */
};

/*
 * Take the memory of a member, and plan its LSM for ranges of at most max_pairs pairs, at least 65,536.
 * Called by the thread that uses the device; members may do this at the same time. After KC_ENOMEM
 * the LSM is as before, and the member does not take part. KC_EIO, KC_EDEVICE, KC_ECANCELED.
 *   bell  which the member's thread waits for
 */
template <class Key>
enum kc_status kc_gpu_exchange_join(struct kc_gpu_exchange<Key> *exchange, int member,
                                    struct kc_gpu *gpu, struct kc_gpu_lsm<Key> *lsm,
                                    enum kc_gate_bell bell, size_t max_pairs, struct kc_error *err);

/* Undo that, with the device current. A member that has not joined is left alone. */
template <class Key> void kc_gpu_exchange_leave(struct kc_gpu_exchange<Key> *exchange, int member);

/*
 * Once all have joined: cut the ranges, of about `usual` pairs. KC_ENOMEM if memory is too short for
 * ranges between so many runs. Members must know of this before they call kc_gpu_exchange_next.
 */
template <class Key>
enum kc_status kc_gpu_exchange_begin(struct kc_gpu_exchange<Key> *exchange, size_t usual,
                                     struct kc_error *err);

/*
 * The next range that this member takes, until *number is the number of ranges. All members must keep
 * calling this, each in its own thread.
 *   number  out: the ranges of all members are numbered in the order of their k-mers
 *   range   out: sorted, may be empty; valid until the next call; complete in the order of gpu->stream
 * KC_ENOMEM, KC_EIO, KC_EDEVICE, KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_gpu_exchange_next(struct kc_gpu_exchange<Key> *exchange, int member,
                                    size_t *number, struct kc_gpu_run<Key> *range,
                                    struct kc_error *err);

/* Bytes that the member has sent to others. */
template <class Key>
uint64_t kc_gpu_exchange_sent_nbytes(const struct kc_gpu_exchange<Key> *exchange, int member);

/* Wait for what is under way and free all memory, except that of the LSMs. No thread may still use it;
 * the devices must be open. Leaves another device current. */
template <class Key> void kc_gpu_exchange_free(struct kc_gpu_exchange<Key> *exchange);

#endif
