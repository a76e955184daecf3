/*
 * Several open devices, and copies between their memories.
 *
 * A member is an open device (struct kc_gpu) with a number; several members may be on the same
 * device (virtual devices).
 *
 * Only one host thread at a time may use a kc_links, except within kc_links_parallel, where each
 * thread uses its own member.
 */
#ifndef KC_GPU_LINKS_LINKS_CUH
#define KC_GPU_LINKS_LINKS_CUH

#include "gpu/device/limits.h"
#include "gpu/device/link.cuh"

struct kc_links_options {
        size_t limit_nbytes; /* for each member, as in kc_gpu_open; members on the same device share
                                what kc_gpu_open would allow for one */
        bool staged;         /* no member reaches another: all copies go through the host */
};

enum { KC_LINKS_NMARKS = 9 };

/* The way from one member to another. */
struct kc_links_road {
        struct kc_gpu_link link;
        cudaStream_t stream; /* of the sender if the link is direct, otherwise of the receiver */
        cudaEvent_t done;
        cudaEvent_t marks[KC_LINKS_NMARKS]; /* see kc_links_mark */
};

/* Callers may read n, and use the members' gpus. */
struct kc_links {
        int n;
        bool staged;
        struct kc_team *team; /* a thread for each member */
        struct kc_gpu gpus[KC_GPU_MAX_DEVICES];
        struct kc_links_road roads[KC_GPU_MAX_DEVICES][KC_GPU_MAX_DEVICES]; /* from, to */
        cudaEvent_t ready[KC_GPU_MAX_DEVICES];
};

/* One copy of an exchange. `source` is memory of the member `from`, `target` of the member `to`. */
struct kc_links_copy {
        int from, to;
        const void *source;
        void *target;
        size_t nbytes;
};

/*
 * Open members on the devices [n]; a device may occur several times. options: NULL for the
 * defaults. KC_EUSAGE if n is not 1 .. KC_GPU_MAX_DEVICES; KC_EDEVICE, KC_ENOMEM. Call
 * kc_links_close even if this fails; a zeroed kc_links may be closed, too. Before closing, free all
 * memory of the members. Both functions leave the first member's device current.
 */
enum kc_status kc_links_open(struct kc_links *links, const int *devices, int n,
                             const struct kc_links_options *options, struct kc_error *err);
void kc_links_close(struct kc_links *links);

/* Whether the kernels and copies of a member can access the memory that another one allocates. A
 * member reaches itself. */
static inline bool kc_links_reaches(const struct kc_links *links, int member, int other)
{
        return member == other ||
               (!links->staged && kc_gpu_reaches(&links->gpus[member], &links->gpus[other]));
}

/* Make a member's device current in the calling thread. */
enum kc_status kc_links_use(const struct kc_links *links, int member, struct kc_error *err);

/* Wait for all work on all members' devices. Afterwards the first member's device is current. */
enum kc_status kc_links_settle(const struct kc_links *links, struct kc_error *err);

/*
 * Enqueue n copies. They begin after the work that is already enqueued on the `stream` of their
 * senders and receivers; work that is enqueued there later begins after the copies. Copies that
 * overlap in memory may run in any order. On KC_EDEVICE, all devices are idle when this returns.
 */
enum kc_status kc_links_exchange(struct kc_links *links, const struct kc_links_copy *copies, int n,
                                 struct kc_error *err);

/*
 * For copies beside the receiver's work, piece by piece:
 *   send   enqueue a copy, which begins after the work that is already enqueued on the sender's
 *          `stream` and after earlier copies on its road; nothing else may use its memory meanwhile
 *   mark   set a mark of a road, 0 .. KC_LINKS_NMARKS - 1, behind its copies so far
 *   await  make what is enqueued on the receiver's `stream` from now on wait for the mark, as it
 *          was last set
 *   drain  wait for all copies of a road
 * While threads of several members do this, only one of them at a time may use a road. On
 * KC_EDEVICE, call kc_links_settle before the memory is released.
 */
enum kc_status kc_links_send(struct kc_links *links, const struct kc_links_copy *copy,
                             struct kc_error *err);
enum kc_status kc_links_mark(struct kc_links *links, int from, int to, int mark,
                             struct kc_error *err);
enum kc_status kc_links_await(struct kc_links *links, int from, int to, int mark,
                              struct kc_error *err);
enum kc_status kc_links_drain(struct kc_links *links, int from, int to, struct kc_error *err);

/* Call run(ctx, member, err) for one member after the other on the calling thread, with the
 * member's device current, until one fails. Afterwards the first member's device is current. */
enum kc_status kc_links_in_turn(struct kc_links *links,
                                enum kc_status (*run)(void *ctx, int member, struct kc_error *err),
                                void *ctx, struct kc_error *err);

/* Call run(ctx, member, err) for all members at the same time, each on a thread on which the
 * member's device is current. The threads are those that kc_links_open started. Fails like
 * kc_team_run. */
enum kc_status kc_links_parallel(struct kc_links *links,
                                 enum kc_status (*run)(void *ctx, int member, struct kc_error *err),
                                 void *ctx, struct kc_error *err);

#endif
