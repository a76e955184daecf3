/*
 * How the driver and the followers agree. The driver proposes something. The followers hear it, do
 * what they can, and if the driver wants to know, vote: yes or no. The driver counts the votes and
 * proposes what follows from them. Devices can also meet as equals: each votes yes or no, and
 * learns whether all of them voted yes.
 */
#ifndef KC_GPU_ENGINE_DEVICES_VOTE_CUH
#define KC_GPU_ENGINE_DEVICES_VOTE_CUH

#include "gpu/device/gate.h"

#include <cstddef>

/* Zero-initialise, and set gate. */
struct kc_gpu_vote {
        struct kc_gate *gate;
        /* guarded by the gate */
        size_t proposal;   /* the last one; its meaning is the caller's */
        size_t nproposals; /* so far */
        int nvotes, nyes;  /* not counted yet */
};

/* The driver: put a proposal in place of the last one. */
void kc_gpu_vote_propose(struct kc_gpu_vote *vote, size_t proposal);

/* The driver: wait until n followers have voted. KC_ECANCELED. */
enum kc_status kc_gpu_vote_count(struct kc_gpu_vote *vote, int n, int *nyes, struct kc_error *err);

/* A follower: wait for a proposal that it has not heard. Of several, it hears only the last one.
 * *nheard: 0 before the first call. KC_ECANCELED. */
enum kc_status kc_gpu_vote_hear(struct kc_gpu_vote *vote, size_t *nheard, size_t *proposal,
                                struct kc_error *err);

/* A follower: vote on the proposal. After a no, the driver may use its device. */
void kc_gpu_vote_cast(struct kc_gpu_vote *vote, bool yes);

/* Zero-initialise, and set gate and n. */
struct kc_gpu_meeting {
        struct kc_gate *gate;
        int n; /* devices that meet */
        /* guarded by the gate */
        int ncame, nyes; /* devices at the next meeting so far, and how many of them voted yes */
        size_t nheld;    /* meetings that have ended */
        bool agreed;     /* whether all voted yes at the last one */
};

/* Come to the next meeting, and wait for the other devices. The driver's device calls this, too.
 * *agreed: whether all voted yes. KC_ECANCELED. */
enum kc_status kc_gpu_meet(struct kc_gpu_meeting *meeting, int device, bool yes, bool *agreed,
                           struct kc_error *err);

#endif
