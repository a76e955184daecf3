/*
 * Loading a table: blocks of a .kc file are copied to the device as they are, decoded and joined
 * there range by range, and put into a map, or taken by another taker.
 */
#ifndef KC_GPU_ASK_LOAD_CUH
#define KC_GPU_ASK_LOAD_CUH

#include "gpu/ask/map.cuh"
#include "kmer/join.h"

enum {
        /* A device's memory is divided into so many parts: one for batches, or for making reads
         * from files (gpu/ask/tally.cu), one for ranges of the table, the others for the map. */
        KC_ASK_SHARE = 8,
};

/* Takes the k-mers of a table. */
template <class Key> struct kc_ask_taker {
        void *ctx;
        const struct kc_job *job; /* loading ends if it is canceled; may be NULL */
        /* Called once, before all others.
         *   most_at_once  pairs that are put at a time
         *   nbytes        of device memory, which must stay free for reading and joining ranges */
        enum kc_status (*begin)(void *ctx, uint64_t most_at_once, size_t nbytes,
                                struct kc_error *err);
        /* Take n k-mers, at least 1, in ascending order, above all that came before, each with its
         * count. The arrays are in device memory, and may be changed. */
        enum kc_status (*put)(void *ctx, Key *kmers, uint32_t *counts, size_t n,
                              struct kc_error *err);
};

/*
 * Pass all k-mers of the source to the taker, by the calling thread.
 *   nreaders  threads that read, besides the calling one
 *   totals    out
 * KC_ENOMEM, KC_EDEVICE, KC_ECANCELED; what the source or the taker returns.
 */
template <class Key>
enum kc_status kc_ask_load_by(const struct kc_ask_taker<Key> *taker, struct kc_gpu *gpu,
                              const struct kc_join_source *source, int nreaders,
                              struct kc_join_totals *totals, struct kc_error *err);

/* Load all of them into a new map, to be closed even if this fails. KC_EUSAGE as kc_ask_map_open;
 * KC_ENOMEM, also if the table does not fit; otherwise as kc_ask_load_by. */
template <class Key>
enum kc_status kc_ask_load(struct kc_ask_map<Key> *table, struct kc_gpu *gpu,
                           const struct kc_join_source *source, enum kc_gpu_map map, int nreaders,
                           const struct kc_job *job, struct kc_join_totals *totals,
                           struct kc_error *err);

#endif
