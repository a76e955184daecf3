/*
 * The WarpDrive map over several devices, for keys in host memory: they go through the devices in
 * batches that overlap.
 *
 *      batch 0   to the devices │ split, transpose, insert │
 *      batch 1                  │ to the devices           │ split, transpose, insert │
 *      batch 2                                             │ to the devices           │ ...
 *
 * While the devices work on a batch, the next batches are copied to them, and the answers of
 * earlier lookups are copied back. The maps themselves work on one batch after the other.
 *
 * Source: Juenger et al., WarpDrive (2018), section IV-B, figure 5.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_CASCADE_CUH
#define KC_GPU_MAPS_WARPDRIVE_CASCADE_CUH

#include "gpu/maps/warpdrive/several.cuh"

enum { KC_WD_MAX_IN_FLIGHT = 8 };

struct kc_wd_cascades {
        uint64_t batch_nkeys; /* of all members together; 0: batches of equal size, 2^27 or more, so
                                 that they go in bulk */
        int in_flight; /* batches in device memory at once, at most KC_WD_MAX_IN_FLIGHT; 1: no
                                 overlap; 0: 2 */
};

/*
 * Put n keys, as kc_wd_several_put does.
 *   keys, values  [n] host; values NULL: 1 each. Only pinned memory is copied at full speed, and
 *                 while the devices work.
 *   cascades      NULL for the defaults
 * Errors as in kc_wd_several_put; KC_ENOMEM also if the batches in flight do not fit in memory. The
 * time of the copies is added to the stages KC_WD_UPLOAD and KC_WD_DOWNLOAD: of each batch, that of
 * the member that takes longest.
 */
template <class Layout>
enum kc_status kc_wd_several_put_host(kc_wd_several<Layout> *several,
                                      const typename Layout::key *keys, const uint32_t *values,
                                      uint64_t n, enum kc_wd_mode mode,
                                      const struct kc_wd_cascades *cascades, struct kc_error *err);

/* Look n keys up, as kc_wd_several_retrieve does. keys, values: [n] host, in the same order. */
template <class Layout>
enum kc_status kc_wd_several_retrieve_host(kc_wd_several<Layout> *several,
                                           const typename Layout::key *keys, uint32_t *values,
                                           uint64_t n, uint32_t missing, uint64_t *nfound,
                                           const struct kc_wd_cascades *cascades,
                                           struct kc_error *err);

#endif
