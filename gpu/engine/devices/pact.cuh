/*
 * How the driver and the followers agree on merging together. Once all devices have counted, the
 * driver makes the offer. Each follower that has runs tries to take the memory for its part, and
 * answers; then the driver decides. It takes over the runs of devices that cannot take part.
 */
#ifndef KC_GPU_ENGINE_DEVICES_PACT_CUH
#define KC_GPU_ENGINE_DEVICES_PACT_CUH

#include "gpu/device/gate.h"

#include <cstddef>

/* Zero-initialise, and set gate. */
struct kc_gpu_pact {
        struct kc_gate *gate;
        /* guarded by the gate */
        bool is_offered, is_decided, is_together;
        size_t max_pairs; /* of a range; 0: the driver merges alone */
        int nanswers, nleft;
};

/* The driver: offer to merge together, in ranges of at most max_pairs pairs; 0: it merges alone. */
void kc_gpu_pact_offer(struct kc_gpu_pact *pact, size_t max_pairs);

/* The driver: wait for this many answers. KC_ECANCELED. */
enum kc_status kc_gpu_pact_hear(struct kc_gpu_pact *pact, int nanswers, struct kc_error *err);

/* The driver: announce the decision. If the devices do not merge together, wait until all nready
 * followers have left their devices to the driver. KC_ECANCELED. */
enum kc_status kc_gpu_pact_decide(struct kc_gpu_pact *pact, bool is_together, int nready,
                                  struct kc_error *err);

/* A follower: wait for the offer. KC_ECANCELED. */
enum kc_status kc_gpu_pact_consider(struct kc_gpu_pact *pact, size_t *max_pairs,
                                    struct kc_error *err);

/* A follower: answer. From then on, the driver may use the device of a follower that does not take
 * part. */
void kc_gpu_pact_answer(struct kc_gpu_pact *pact);

/* A follower that can take part: wait for the decision. If *is_together is false, call
 * kc_gpu_pact_leave once the driver may use the device. KC_ECANCELED. */
enum kc_status kc_gpu_pact_await(struct kc_gpu_pact *pact, bool *is_together, struct kc_error *err);
void kc_gpu_pact_leave(struct kc_gpu_pact *pact);

#endif
