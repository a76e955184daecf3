/*
 * The steps of a batch that goes through the parts of a map, for one map (bulk.cu) and for several
 * (several_parts.cu). Private to these files. All of them only enqueue work, on the map's stream.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_BULK_CUH
#define KC_GPU_MAPS_WARPDRIVE_BULK_CUH

#include "gpu/maps/warpdrive/part.cuh"
#include "gpu/maps/warpdrive/split.cuh"

enum { KC_WD_ONE_PASS_BITS = 10 /* part bits that one pass can split by */ };

/* Runs of a level's tiles. */
template <class Key> static size_t kc_wd_nruns(const struct kc_wd_level *level)
{
        return (size_t)kc_wd_ntiles<Key>(level) * kc_wd_nbuckets(*level);
}

/*
 * Set where the parts of each owner begin among n keys.
 *   begins        out, [(nowners << part_bits) + 1]
 *   upper, lower  out: cursors, one per 2^shift parts and one per part; NULL: not wanted
 */
template <class Layout>
enum kc_status kc_wd_count_parts(const kc_wd_map<Layout> *map, uint32_t nowners,
                                 const typename Layout::key *keys, uint32_t n, uint32_t *begins,
                                 int shift, uint32_t *upper, uint32_t *lower, struct kc_error *err);

/* Do the first ntiles tiles of a pass from level.first_tile on, and bring values back from there:
 * from the order after it to `out`, the order before it. */
template <class Layout>
enum kc_status kc_wd_run_pass(const kc_wd_map<Layout> *map,
                              const kc_wd_pass<typename Layout::key> *pass, uint32_t ntiles,
                              struct kc_error *err);
template <class Layout>
enum kc_status kc_wd_run_back(const kc_wd_map<Layout> *map, const struct kc_wd_level *level,
                              uint32_t ntiles, const uint32_t *values, uint32_t *out,
                              struct kc_error *err);

/* Put or look up the keys of nparts parts from parted->first on. */
template <class Layout>
enum kc_status kc_wd_put_parts(const kc_wd_map<Layout> *map,
                               const kc_wd_parted<typename Layout::key> *parted, uint32_t nparts,
                               enum kc_wd_mode mode, struct kc_error *err);
template <class Layout>
enum kc_status kc_wd_retrieve_parts(const kc_wd_map<Layout> *map,
                                    const kc_wd_parted<typename Layout::key> *parted,
                                    uint32_t nparts, struct kc_error *err);

#endif
