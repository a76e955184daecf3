/*
 * How the driver and the followers agree on merging together. The driver offers it once all have
 * counted; each follower that has runs takes the memory for its part and answers whether it could; then
 * the driver decides. Whoever cannot take part has its runs merged by the others.
 */
#ifndef KC_GPU_PACT_CUH
#define KC_GPU_PACT_CUH

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

/* The driver: offer ranges of at most max_pairs pairs, or, with 0, nothing. */
void kc_gpu_pact_offer(struct kc_gpu_pact *pact, size_t max_pairs);

/* The driver: wait for so many answers. KC_ECANCELED. */
enum kc_status kc_gpu_pact_hear(struct kc_gpu_pact *pact, int nanswers, struct kc_error *err);

/* The driver: begin, or, if it cannot, wait until all nready followers have left their devices to it.
 * KC_ECANCELED. */
enum kc_status kc_gpu_pact_decide(struct kc_gpu_pact *pact, bool is_together, int nready,
                                  struct kc_error *err);

/* A follower: wait for the offer. KC_ECANCELED. */
enum kc_status kc_gpu_pact_consider(struct kc_gpu_pact *pact, size_t *max_pairs,
                                    struct kc_error *err);

/* A follower: answer, after which a follower that does not take part leaves its device to the driver. */
void kc_gpu_pact_answer(struct kc_gpu_pact *pact);

/* A follower that can take part: wait for the decision. If it is not to merge together, call
 * kc_gpu_pact_leave once the driver may use the device. KC_ECANCELED. */
enum kc_status kc_gpu_pact_await(struct kc_gpu_pact *pact, bool *is_together, struct kc_error *err);
void kc_gpu_pact_leave(struct kc_gpu_pact *pact);

#endif
