/*
 * Which device counts which share of the points (gpu/superkmers/minimizer.cuh). Each device has a
 * share of its own; if it has no memory to count it, another device does. So all occurrences of a
 * k-mer are counted on one device.
 */
#ifndef KC_GPU_ENGINE_DEVICES_SHARES_CUH
#define KC_GPU_ENGINE_DEVICES_SHARES_CUH

#include "gpu/device/gate.h"
#include "gpu/device/limits.h"

#include <cstddef>

/* Some of the points: those of the loads from `first` to `end` - 1. */
struct kc_gpu_share {
        size_t first, end;
};

/* Zero-initialise, and set gate, nfollowers and, before kc_gpu_shares_open, shares. Device 0 is the
 * first one, whose thread is the driver; the others are followers. */
struct kc_gpu_shares {
        struct kc_gate *gate;
        int nfollowers;
        struct kc_gpu_share shares[KC_GPU_MAX_DEVICES]; /* [n] */
        /* guarded by the gate */
        int n;                               /* 0: not open yet */
        int takers[KC_GPU_MAX_DEVICES];      /* the device that has taken each, or -1 */
        bool is_yielded[KC_GPU_MAX_DEVICES]; /* any device may take it */
        int ndone;                           /* followers that take no more shares */
};

/* The driver: let devices take the first n shares, which are set. */
void kc_gpu_shares_open(struct kc_gpu_shares *shares, size_t n);

/*
 * A device: take its own share or, after that, one that another device has yielded. *number = -1:
 * there is none for this device. Waits until the shares are open; the driver also waits, instead of
 * getting -1, while a follower may still yield its share. KC_ECANCELED.
 */
enum kc_status kc_gpu_shares_take(struct kc_gpu_shares *shares, int device, int *number,
                                  struct kc_error *err);

/* A follower: let other devices take the shares that it has taken, because it cannot count them. */
void kc_gpu_shares_yield(struct kc_gpu_shares *shares, int device);

/* A follower: take no more shares. From then on, the driver may use its device. */
void kc_gpu_shares_done(struct kc_gpu_shares *shares);

#endif
