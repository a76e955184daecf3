/*
 * One merge by several devices, each of which has an LSM. The key space is cut into ranges, which
 * the devices take in turn (gpu/runs/deal.cuh). In each round, every device merges its own pairs of
 * as many ranges as there are devices, and sends those of each range to the device that takes it:
 *
 *      device 0:  LSM ──▶ its pairs of ranges 0, 1, 2 ──┬─▶ inboxes ──▶ range 0, 3, 6, ...
 *      device 1:  LSM ──▶      likewise              ──┼─▶ inboxes ──▶ range 1, 4, 7, ...
 *      device 2:  LSM ──▶                            ──┴─▶ inboxes ──▶ range 2, 5, 8, ...
 *
 * A device has two inboxes, each for one range: while it merges one range, the pairs of its next
 * one arrive. So devices send one round ahead. Each device sends its pairs in the order of the
 * ranges, so the lowest incomplete range never waits for a higher one.
 */
#ifndef KC_GPU_ENGINE_DEVICES_EXCHANGE_CUH
#define KC_GPU_ENGINE_DEVICES_EXCHANGE_CUH

#include "gpu/device/gate.h"
#include "gpu/device/limits.h"
#include "gpu/device/link.cuh"
#include "gpu/runs/deal.cuh"
#include "gpu/runs/lsm.cuh"

enum { KC_EXCHANGE_NINBOXES = 2 };

/* The way to a member: the link, a stream of that member's device, and an event for each inbox: the
 * pairs sent to it last have arrived. */
struct kc_exchange_road {
        struct kc_gpu_link link;
        cudaStream_t stream;
        cudaEvent_t arrived[KC_EXCHANGE_NINBOXES];
};

/* The pairs of a range, from all members. */
template <class Key> struct kc_exchange_inbox {
        struct kc_gpu_run<Key> pairs; /* each sender's at its place; n is not used */
        /* guarded by the gate */
        size_t lengths[KC_GPU_MAX_DEVICES]; /* pairs, by rank of the sender */
        size_t nlengths;                    /* that are known; pairs may still be in transit */
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
        cudaEvent_t sent;             /* the pairs sent last have arrived; or NULL */
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
 * Take the memory of a member, and plan its LSM for ranges of at most max_pairs pairs, at least
 * 65,536. Called by the thread that uses the device; members may do this at the same time. After
 * KC_ENOMEM the LSM has the same pairs and takes runs again, and the member does not take part.
 * KC_EIO, KC_EDEVICE, KC_ECANCELED.
 *   bell  the bell that the member's thread waits for
 */
template <class Key>
enum kc_status kc_gpu_exchange_join(struct kc_gpu_exchange<Key> *exchange, int member,
                                    struct kc_gpu *gpu, struct kc_gpu_lsm<Key> *lsm,
                                    enum kc_gate_bell bell, size_t max_pairs, struct kc_error *err);

/* Undo kc_gpu_exchange_join; the device must be current. Does nothing if the member has not
 * joined. */
template <class Key> void kc_gpu_exchange_leave(struct kc_gpu_exchange<Key> *exchange, int member);

/*
 * Once all have joined: cut the ranges, of about `usual` pairs. KC_ENOMEM if there is too little
 * memory to cut so many runs. Members may call kc_gpu_exchange_next only after this has succeeded.
 */
template <class Key>
enum kc_status kc_gpu_exchange_begin(struct kc_gpu_exchange<Key> *exchange, size_t usual,
                                     struct kc_error *err);

/*
 * Get the next range that this member takes. All members must call this, each in its own thread,
 * until *number is the number of ranges.
 *   number  out: the ranges of all members are numbered in the order of their k-mers
 *   range   out: sorted, may be empty; valid until the next call; complete in the order of
 *           gpu->stream
 * KC_ENOMEM, KC_EIO, KC_EDEVICE, KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_gpu_exchange_next(struct kc_gpu_exchange<Key> *exchange, int member,
                                    size_t *number, struct kc_gpu_run<Key> *range,
                                    struct kc_error *err);

/* Bytes that the member has sent to others. */
template <class Key>
uint64_t kc_gpu_exchange_sent_nbytes(const struct kc_gpu_exchange<Key> *exchange, int member);

/* Wait for copies under way and free all memory, except that of the LSMs. No thread may still
 * use the exchange; the devices must be open. Another device may be current afterwards. */
template <class Key> void kc_gpu_exchange_free(struct kc_gpu_exchange<Key> *exchange);

#endif
