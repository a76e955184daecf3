/*
 * Moves all pairs of one device's LSM to another device's LSM: the runs of the sender are merged,
 * range by range, and the result becomes runs of the receiver.
 */
#ifndef KC_GPU_RUNS_GATHER_CUH
#define KC_GPU_RUNS_GATHER_CUH

#include "gpu/device/link.cuh"
#include "gpu/runs/lsm.cuh"

/* An LSM and the device that it is on. */
template <class Key> struct kc_gpu_lsm_on {
        struct kc_gpu *gpu;
        struct kc_gpu_lsm<Key> *lsm;
};

/*
 * Insert all pairs of `from` into `to`, which moves runs to the host if its device has no room for
 * them. Afterwards `from` may be freed; what kc_gpu_lsm_nsaturated and kc_gpu_lsm_spilled_nbytes
 * report for it is not added to the figures of `to`. The calling thread uses both devices; that of
 * `to` is current when this returns KC_OK.
 *   nbytes  increased by the bytes sent from device to device
 * KC_ENOMEM, KC_EIO, KC_EDEVICE, KC_ECANCELED.
 */
template <class Key>
enum kc_status kc_gpu_lsm_gather(const struct kc_gpu_lsm_on<Key> *to,
                                 const struct kc_gpu_lsm_on<Key> *from, uint64_t *nbytes,
                                 struct kc_error *err);

#endif
