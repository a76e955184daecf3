#include "gpu/engine/devices/pact.cuh"

void kc_gpu_pact_offer(struct kc_gpu_pact *pact, size_t max_pairs)
{
        kc_gate_enter(pact->gate);
        pact->is_offered = true;
        pact->max_pairs = max_pairs;
        kc_gate_wake(pact->gate, KC_GATE_FOLLOWERS);
        kc_gate_leave(pact->gate);
}

/* Wait until *count, which the gate guards, has reached n. */
static enum kc_status wait_for(struct kc_gpu_pact *pact, const int *count, int n,
                               struct kc_error *err)
{
        enum kc_status status = kc_gate_check(pact->gate, err);
        while (status == KC_OK && *count < n)
                status = kc_gate_wait(pact->gate, KC_GATE_DRIVER, err);
        return status;
}

enum kc_status kc_gpu_pact_hear(struct kc_gpu_pact *pact, int nanswers, struct kc_error *err)
{
        kc_gate_enter(pact->gate);
        const enum kc_status status = wait_for(pact, &pact->nanswers, nanswers, err);
        kc_gate_leave(pact->gate);
        return status;
}

enum kc_status kc_gpu_pact_decide(struct kc_gpu_pact *pact, bool is_together, int nready,
                                  struct kc_error *err)
{
        kc_gate_enter(pact->gate);
        pact->is_decided = true;
        pact->is_together = is_together;
        kc_gate_wake(pact->gate, KC_GATE_FOLLOWERS);
        const enum kc_status status = wait_for(pact, &pact->nleft, is_together ? 0 : nready, err);
        kc_gate_leave(pact->gate);
        return status;
}

/* Wait until *said, which the gate guards, is true. */
static enum kc_status wait_until(struct kc_gpu_pact *pact, const bool *said, struct kc_error *err)
{
        enum kc_status status = kc_gate_check(pact->gate, err);
        while (status == KC_OK && !*said)
                status = kc_gate_wait(pact->gate, KC_GATE_FOLLOWERS, err);
        return status;
}

enum kc_status kc_gpu_pact_consider(struct kc_gpu_pact *pact, size_t *max_pairs,
                                    struct kc_error *err)
{
        kc_gate_enter(pact->gate);
        const enum kc_status status = wait_until(pact, &pact->is_offered, err);
        *max_pairs = pact->max_pairs;
        kc_gate_leave(pact->gate);
        return status;
}

/* Count an event for which the driver waits. */
static void count(struct kc_gpu_pact *pact, int *events)
{
        kc_gate_enter(pact->gate);
        ++*events;
        kc_gate_wake(pact->gate, KC_GATE_DRIVER);
        kc_gate_leave(pact->gate);
}

void kc_gpu_pact_answer(struct kc_gpu_pact *pact)
{
        count(pact, &pact->nanswers);
}

enum kc_status kc_gpu_pact_await(struct kc_gpu_pact *pact, bool *is_together, struct kc_error *err)
{
        kc_gate_enter(pact->gate);
        const enum kc_status status = wait_until(pact, &pact->is_decided, err);
        *is_together = pact->is_together;
        kc_gate_leave(pact->gate);
        return status;
}

void kc_gpu_pact_leave(struct kc_gpu_pact *pact)
{
        count(pact, &pact->nleft);
}
