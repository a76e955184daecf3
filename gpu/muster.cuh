/*
 * How the devices agree on sending super-k-mers to each other (gpu/dispatch.cuh). The driver makes the
 * offer; each follower tries to take the memory for it, and answers; then the driver decides. If they
 * go ahead, the driver waits until all devices have counted what they were sent.
 */
#ifndef KC_GPU_MUSTER_CUH
#define KC_GPU_MUSTER_CUH

#include "gpu/device/gate.h"

/* Zero-initialise, and set gate. */
struct kc_gpu_muster {
        struct kc_gate *gate;
        /* guarded by the gate */
        bool is_offered, is_decided, goes;
        int nanswers, nwilling, nfinished;
};

/* The driver: make the offer. */
void kc_gpu_muster_offer(struct kc_gpu_muster *muster);

/* The driver: wait for the answers of all nfollowers. *all_willing: none of them lacks the memory.
 * KC_ECANCELED. */
enum kc_status kc_gpu_muster_hear(struct kc_gpu_muster *muster, int nfollowers, bool *all_willing,
                                  struct kc_error *err);

/* The driver: announce the decision, which is false if there was no offer. */
void kc_gpu_muster_decide(struct kc_gpu_muster *muster, bool goes);

/* The driver: wait until all nfollowers have finished. KC_ECANCELED. */
enum kc_status kc_gpu_muster_wait(struct kc_gpu_muster *muster, int nfollowers,
                                  struct kc_error *err);

/* A follower: wait for the offer, or for the decision to do without one: *is_offered = false.
 * KC_ECANCELED. */
enum kc_status kc_gpu_muster_consider(struct kc_gpu_muster *muster, bool *is_offered,
                                      struct kc_error *err);

/* A follower: answer the offer. */
void kc_gpu_muster_answer(struct kc_gpu_muster *muster, bool is_willing);

/* A follower or a sender: wait for the decision. KC_ECANCELED. */
enum kc_status kc_gpu_muster_await(struct kc_gpu_muster *muster, enum kc_gate_bell bell, bool *goes,
                                   struct kc_error *err);

/* A follower: it has counted what it was sent, or given up. */
void kc_gpu_muster_finish(struct kc_gpu_muster *muster);

#endif
