#include "gpu/engine/devices/shares.cuh"

void kc_gpu_shares_open(struct kc_gpu_shares *shares, size_t n)
{
        kc_gate_enter(shares->gate);
        shares->n = (int)n;
        kc_gate_wake(shares->gate, KC_GATE_FOLLOWERS);
        kc_gate_leave(shares->gate);
}

/* A share that the device can take now; -1: none. */
static int find(const struct kc_gpu_shares *shares, int device)
{
        if (device < shares->n && !shares->taken[device])
                return device;
        for (int i = 0; i < shares->n; i++)
                if (!shares->taken[i] && shares->is_left[i])
                        return i;
        return -1;
}

enum kc_status kc_gpu_shares_take(struct kc_gpu_shares *shares, int device, int *number,
                                  struct kc_error *err)
{
        const enum kc_gate_bell bell = device == 0 ? KC_GATE_DRIVER : KC_GATE_FOLLOWERS;
        kc_gate_enter(shares->gate);
        enum kc_status status = kc_gate_check(shares->gate, err);
        while (status == KC_OK && (*number = find(shares, device)) < 0 &&
               (shares->n == 0 || (device == 0 && shares->ngone < shares->nfollowers)))
                status = kc_gate_wait(shares->gate, bell, err);
        if (status == KC_OK && *number >= 0) {
                shares->taken[*number] = true;
                shares->takers[*number] = device;
        }
        kc_gate_leave(shares->gate);
        return status;
}

void kc_gpu_shares_put_back(struct kc_gpu_shares *shares, int device)
{
        kc_gate_enter(shares->gate);
        for (int i = 0; i < shares->n; i++)
                if (shares->taken[i] && shares->takers[i] == device) {
                        shares->taken[i] = false;
                        shares->is_left[i] = true;
                }
        kc_gate_wake(shares->gate, KC_GATE_DRIVER);
        kc_gate_leave(shares->gate);
}

void kc_gpu_shares_go(struct kc_gpu_shares *shares)
{
        kc_gate_enter(shares->gate);
        shares->ngone++;
        kc_gate_wake(shares->gate, KC_GATE_DRIVER);
        kc_gate_leave(shares->gate);
}
