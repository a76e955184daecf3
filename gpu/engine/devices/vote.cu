#include "gpu/engine/devices/vote.cuh"

void kc_gpu_vote_propose(struct kc_gpu_vote *vote, size_t proposal)
{
        kc_gate_tell(vote->gate, KC_GATE_FOLLOWERS, [&] {
                vote->proposal = proposal;
                vote->nproposals++;
        });
}

enum kc_status kc_gpu_vote_count(struct kc_gpu_vote *vote, int n, int *nyes, struct kc_error *err)
{
        const auto counted = [&] {
                if (vote->nvotes < n)
                        return false;
                *nyes = vote->nyes;
                vote->nvotes = vote->nyes = 0;
                return true;
        };
        return kc_gate_await(vote->gate, KC_GATE_DRIVER, counted, err);
}

enum kc_status kc_gpu_vote_hear(struct kc_gpu_vote *vote, size_t *nheard, size_t *proposal,
                                struct kc_error *err)
{
        const auto heard = [&] {
                const bool is_new = vote->nproposals > *nheard;
                *nheard = vote->nproposals;
                *proposal = vote->proposal;
                return is_new;
        };
        return kc_gate_await(vote->gate, KC_GATE_FOLLOWERS, heard, err);
}

void kc_gpu_vote_cast(struct kc_gpu_vote *vote, bool yes)
{
        kc_gate_tell(vote->gate, KC_GATE_DRIVER, [&] {
                vote->nvotes++;
                vote->nyes += yes;
        });
}

enum kc_status kc_gpu_meet(struct kc_gpu_meeting *meeting, int device, bool yes, bool *agreed,
                           struct kc_error *err)
{
        size_t number = 0;
        const auto come = [&] {
                number = meeting->nheld;
                meeting->nyes += yes;
                if (++meeting->ncame < meeting->n)
                        return;
                meeting->agreed = meeting->nyes == meeting->n;
                meeting->ncame = meeting->nyes = 0;
                meeting->nheld++;
                kc_gate_wake(meeting->gate, KC_GATE_DRIVER);
        };
        const auto is_held = [&] {
                *agreed = meeting->agreed;
                return meeting->nheld > number;
        };
        kc_gate_tell(meeting->gate, KC_GATE_FOLLOWERS, come);
        return kc_gate_await(meeting->gate, kc_gate_device(device), is_held, err);
}
