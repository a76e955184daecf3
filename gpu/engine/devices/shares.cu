#include "gpu/engine/devices/shares.cuh"

void kc_gpu_shares_open(struct kc_gpu_shares *shares, size_t n)
{
        kc_gate_tell(shares->gate, KC_GATE_FOLLOWERS, [&] {
                shares->n = (int)n;
                for (int &taker : shares->takers)
                        taker = -1;
        });
}

/* The first share that the device can take now, its own before others; -1: none. */
static int find(const struct kc_gpu_shares *shares, int device)
{
        if (device < shares->n && shares->takers[device] < 0)
                return device;
        for (int i = 0; i < shares->n; i++)
                if (shares->takers[i] < 0 && shares->is_yielded[i])
                        return i;
        return -1;
}

/* Whether no more shares will be there for the device. */
static bool are_gone(const struct kc_gpu_shares *shares, int device)
{
        return shares->n > 0 && (device > 0 || shares->ndone == shares->nfollowers);
}

enum kc_status kc_gpu_shares_take(struct kc_gpu_shares *shares, int device, int *number,
                                  struct kc_error *err)
{
        const auto taken = [&] {
                *number = find(shares, device);
                if (*number >= 0)
                        shares->takers[*number] = device;
                return *number >= 0 || are_gone(shares, device);
        };
        return kc_gate_await(shares->gate, kc_gate_device(device), taken, err);
}

void kc_gpu_shares_yield(struct kc_gpu_shares *shares, int device)
{
        kc_gate_tell(shares->gate, KC_GATE_DRIVER, [&] {
                for (int i = 0; i < shares->n; i++)
                        if (shares->takers[i] == device) {
                                shares->takers[i] = -1;
                                shares->is_yielded[i] = true;
                        }
        });
}

void kc_gpu_shares_done(struct kc_gpu_shares *shares)
{
        kc_gate_tell(shares->gate, KC_GATE_DRIVER, [&] { shares->ndone++; });
}
