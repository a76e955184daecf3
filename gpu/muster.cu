#include "gpu/muster.cuh"

void kc_gpu_muster_offer(struct kc_gpu_muster *muster)
{
        kc_gate_enter(muster->gate);
        muster->is_offered = true;
        kc_gate_wake(muster->gate, KC_GATE_FOLLOWERS);
        kc_gate_leave(muster->gate);
}

/* Wait until *count, which the gate guards, has reached n. */
static enum kc_status wait_for(struct kc_gpu_muster *muster, const int *count, int n,
                               struct kc_error *err)
{
        enum kc_status status = kc_gate_check(muster->gate, err);
        while (status == KC_OK && *count < n)
                status = kc_gate_wait(muster->gate, KC_GATE_DRIVER, err);
        return status;
}

enum kc_status kc_gpu_muster_hear(struct kc_gpu_muster *muster, int nfollowers, bool *all_willing,
                                  struct kc_error *err)
{
        kc_gate_enter(muster->gate);
        const enum kc_status status = wait_for(muster, &muster->nanswers, nfollowers, err);
        *all_willing = muster->nwilling == nfollowers;
        kc_gate_leave(muster->gate);
        return status;
}

void kc_gpu_muster_decide(struct kc_gpu_muster *muster, bool goes)
{
        kc_gate_enter(muster->gate);
        muster->is_decided = true;
        muster->goes = goes;
        kc_gate_wake(muster->gate, KC_GATE_FOLLOWERS);
        kc_gate_wake(muster->gate, KC_GATE_SENDERS);
        kc_gate_leave(muster->gate);
}

enum kc_status kc_gpu_muster_wait(struct kc_gpu_muster *muster, int nfollowers,
                                  struct kc_error *err)
{
        kc_gate_enter(muster->gate);
        const enum kc_status status = wait_for(muster, &muster->nfinished, nfollowers, err);
        kc_gate_leave(muster->gate);
        return status;
}

enum kc_status kc_gpu_muster_consider(struct kc_gpu_muster *muster, bool *is_offered,
                                      struct kc_error *err)
{
        kc_gate_enter(muster->gate);
        enum kc_status status = kc_gate_check(muster->gate, err);
        while (status == KC_OK && !muster->is_offered && !muster->is_decided)
                status = kc_gate_wait(muster->gate, KC_GATE_FOLLOWERS, err);
        *is_offered = muster->is_offered;
        kc_gate_leave(muster->gate);
        return status;
}

void kc_gpu_muster_answer(struct kc_gpu_muster *muster, bool is_willing)
{
        kc_gate_enter(muster->gate);
        muster->nanswers++;
        muster->nwilling += is_willing;
        kc_gate_wake(muster->gate, KC_GATE_DRIVER);
        kc_gate_leave(muster->gate);
}

enum kc_status kc_gpu_muster_await(struct kc_gpu_muster *muster, enum kc_gate_bell bell, bool *goes,
                                   struct kc_error *err)
{
        kc_gate_enter(muster->gate);
        enum kc_status status = kc_gate_check(muster->gate, err);
        while (status == KC_OK && !muster->is_decided)
                status = kc_gate_wait(muster->gate, bell, err);
        *goes = muster->goes;
        kc_gate_leave(muster->gate);
        return status;
}

void kc_gpu_muster_finish(struct kc_gpu_muster *muster)
{
        kc_gate_enter(muster->gate);
        muster->nfinished++;
        kc_gate_wake(muster->gate, KC_GATE_DRIVER);
        kc_gate_leave(muster->gate);
}
