/*
 * The table that is asked: one of the papers' maps (gpu/maps), behind functions that are the same
 * for all of them. k-mers are put once, each with its count, and then looked up.
 */
#ifndef KC_GPU_ASK_MAP_CUH
#define KC_GPU_ASK_MAP_CUH

#include "gpu/ask.h"
#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"
#include "gpu/maps/warpdrive/slots.cuh"

#include <type_traits>

template <class Key> struct kc_ask_map_functions;

/* A zeroed one is closed. */
template <class Key> struct kc_ask_map {
        const struct kc_ask_map_functions<Key> *functions;
        void *map;
};

struct kc_ask_map_options {
        enum kc_gpu_map map;
        int k;
        uint64_t npairs;       /* the most that will be put */
        uint64_t most_at_once; /* in one call */
};

/* KC_EUSAGE if the map does not hold k-mers of this length. */
enum kc_status kc_ask_check_map(enum kc_gpu_map map, int k, struct kc_error *err);

/* Slots of a WarpDrive map for so many k-mers: for each, words of remainder and count take 12
 * bytes, keys and values apart 26. */
template <class Layout> static inline uint64_t kc_ask_warpdrive_slots(uint64_t npairs)
{
        return std::is_same<Layout, kc_wd_words>::value ? npairs + npairs / 2
                                                        : npairs + npairs / 10 * 3;
}

/*
 * Open a table without k-mers, of a length that the map holds. All its work is ordered on
 * gpu->stream. KC_EUSAGE if there are too many for the map; KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_ask_map_open(struct kc_ask_map<Key> *table, struct kc_gpu *gpu,
                               const struct kc_ask_map_options *options, struct kc_error *err);
template <class Key> void kc_ask_map_close(struct kc_ask_map<Key> *table);

/*
 * Put n k-mers that the table does not have, each with its count, at least 1. The arrays are in
 * device memory, and may be changed. KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_ask_map_put(struct kc_ask_map<Key> *table, Key *kmers, uint32_t *counts, size_t n,
                              struct kc_error *err);

/*
 * Look n k-mers up, at most 2^32 - 1. The work is queued on the stream. Several threads may do so
 * at once, on streams of their own, once all that was put is there.
 *   counts  out, [n] device: 0 for a k-mer that the table does not have
 * KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_ask_map_find(const struct kc_ask_map<Key> *table, cudaStream_t stream,
                               const Key *kmers, uint32_t *counts, size_t n, struct kc_error *err);

#endif
