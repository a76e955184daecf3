/*
 * GLHT: a hopscotch table in device memory. It is a set of 32-bit keys, on which any number of
 * lookups, insertions and erasures may run at once (gpu/tables/hopscotch_core.cuh).
 *
 * A key is mixed by a bijection. The top bits of the result are its home, and the others, at most
 * 24, are the item stored in the slot, next to its distance from home. So 64 bits hold any key, the
 * bitmap and the locks, no key is reserved, and keys can be recovered from the slots.
 *
 * Operations come in bulk and are concurrent: the results are those of some sequential order. An
 * operation that collided with others too often is left for another round, and the last round runs
 * in a single warp. So a call ends, however the device schedules its threads.
 *
 * Source: Zhang and Sun, GLHT; for the differences see docs/papers.md.
 */
#ifndef KC_GPU_MAPS_HOPSCOTCH_MAP_CUH
#define KC_GPU_MAPS_HOPSCOTCH_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/tables/hopscotch_core.cuh"

enum kc_hopscotch_op : uint8_t { KC_HOPSCOTCH_FIND, KC_HOPSCOTCH_INSERT, KC_HOPSCOTCH_ERASE };

enum : uint32_t {
        KC_HOPSCOTCH_MIN_BITS = 8,
        KC_HOPSCOTCH_MAX_BITS = 31,
        KC_HOPSCOTCH_REACH = 4096, /* maximum distance of a free slot from a home: at a load of 0.9
                                      it is about 50 away, and hardly ever 3000 */
};

/* ---- keys ---- */

struct kc_hopscotch_key {
        uint32_t home, item;
};

KC_HD uint32_t kc_hopscotch_mix(uint32_t key)
{
        key = (key ^ key >> 16) * UINT32_C(0x85ebca6b);
        key = (key ^ key >> 13) * UINT32_C(0xc2b2ae35);
        return key ^ key >> 16;
}

KC_HD uint32_t kc_hopscotch_unmix(uint32_t mixed)
{
        mixed = (mixed ^ mixed >> 16) * UINT32_C(0x7ed1b41d);
        mixed = (mixed ^ mixed >> 13 ^ mixed >> 26) * UINT32_C(0xa5cb9243);
        return mixed ^ mixed >> 16;
}

/* The hash function: for a table of 2^bits slots; the seed selects one of many. */
struct kc_hopscotch_hash {
        uint32_t bits, seed;
};

KC_HD kc_hopscotch_key kc_hopscotch_split(uint32_t key, kc_hopscotch_hash hash)
{
        uint32_t mixed = kc_hopscotch_mix(key ^ hash.seed);
        return { mixed >> (32 - hash.bits), mixed & ((1u << (32 - hash.bits)) - 1) };
}

KC_HD uint32_t kc_hopscotch_join(kc_hopscotch_key key, kc_hopscotch_hash hash)
{
        return kc_hopscotch_unmix(key.home << (32 - hash.bits) | key.item) ^ hash.seed;
}

/* For kc_hop: whether an item is the key's. */
struct kc_hopscotch_item {
        enum { AT_ONCE = true };
        uint32_t item;

        KC_HD bool operator()(uint32_t other) const
        {
                return other == item;
        }

        KC_HD uint32_t operator()() const
        {
                return item;
        }
};

#pragma nv_exec_check_disable
/* One operation, with at most max_tries attempts. */
template <class Hop>
KC_HD enum kc_hop_result kc_hopscotch_do(const Hop &hop, kc_hopscotch_hash hash,
                                         enum kc_hopscotch_op op, uint32_t key,
                                         uint32_t max_tries = KC_HOP_MAX_TRIES)
{
        kc_hopscotch_key at = kc_hopscotch_split(key, hash);
        kc_hopscotch_item item = { at.item };
        struct kc_hop_place place;
        if (op == KC_HOPSCOTCH_FIND)
                return hop.find(at.home, item, &place) ? KC_HOP_YES : KC_HOP_NO;
        if (op == KC_HOPSCOTCH_ERASE)
                return kc_hop_erase(hop, at.home, item, max_tries);
        return kc_hop_insert(hop, at.home, item, item, &place, max_tries);
}

/* ---- the table ---- */

/* What a launch reports to the host. */
struct kc_hopscotch_told {
        unsigned long long nbusy, nfull;
        long long grown; /* inserted minus erased */
};

/* Sums of a launch in progress; all 0 between launches. */
struct kc_hopscotch_sums {
        struct kc_hopscotch_told told;
        unsigned nblocks; /* blocks that are done */
        unsigned long long nkeys;
};

struct kc_hopscotch_map {
        struct kc_gpu *gpu;
        struct kc_hopscotch_hash hash; /* 2^hash.bits slots */
        uint64_t size;                 /* keys in it */
        uint64_t *words;
        uint8_t *results; /* [results_cap] device, for callers that pass none */
        size_t results_cap;
        struct kc_hopscotch_sums *sums; /* device */
        struct kc_hopscotch_told *told; /* pinned */
        /* For tuning and tests; may be changed between calls. */
        uint32_t reach;     /* in slots; less than the table has */
        int group;          /* lanes per operation: 1 or 32 */
        unsigned nthreads;  /* per block: a multiple of 32, at most 256 */
        uint32_t max_tries; /* attempts of an operation in a round */
};

/*
 * An empty table with at least `nslots` slots, rounded up to a power of two; it takes 8 bytes per
 * slot. Up to a load of 0.7 it has room for all keys, at 0.8 for all but 3 in 10 million, at 0.9
 * for all but one in 7000: with H = 31, no item can be moved past 31 others that are as far from
 * home as possible. The caller frees it. gpu must outlive it; one host thread at a time uses it.
 * KC_EUSAGE: nslots is above 2^31; KC_ENOMEM, KC_EDEVICE.
 */
enum kc_status kc_hopscotch_map_new(struct kc_hopscotch_map **map, struct kc_gpu *gpu,
                                    uint64_t nslots, struct kc_error *err);

/* NULL is fine. */
void kc_hopscotch_map_free(struct kc_hopscotch_map *map);

/* Remove all keys. */
enum kc_status kc_hopscotch_map_clear(struct kc_hopscotch_map *map, struct kc_error *err);

/*
 * Do n operations concurrently, in no particular order. Section 4.
 *   ops      in [n] device, enum kc_hopscotch_op; NULL: all are `op`
 *   keys     in [n] device
 *   results  out [n] device, or NULL: KC_HOP_YES if the key was found, inserted or erased;
 *            KC_HOP_NO if it was absent (insert: already present); KC_HOP_FULL_TABLE if there is no
 *            room for it
 *   nfull    out, host, may be NULL: how many found no room; they changed nothing, and can be
 *            repeated after kc_hopscotch_map_rebuild
 * Blocks until they are done. KC_OK even if *nfull > 0; KC_ENOMEM, KC_EDEVICE.
 */
enum kc_status kc_hopscotch_map_mixed(struct kc_hopscotch_map *map, const uint8_t *ops,
                                      enum kc_hopscotch_op op, const uint32_t *keys, size_t n,
                                      uint8_t *results, uint64_t *nfull, struct kc_error *err);

/* The same for operations of one kind. */
static inline enum kc_status kc_hopscotch_map_insert(struct kc_hopscotch_map *map,
                                                     const uint32_t *keys, size_t n,
                                                     uint8_t *results, uint64_t *nfull,
                                                     struct kc_error *err)
{
        return kc_hopscotch_map_mixed(map, NULL, KC_HOPSCOTCH_INSERT, keys, n, results, nfull, err);
}

static inline enum kc_status kc_hopscotch_map_find(struct kc_hopscotch_map *map,
                                                   const uint32_t *keys, size_t n, uint8_t *results,
                                                   struct kc_error *err)
{
        return kc_hopscotch_map_mixed(map, NULL, KC_HOPSCOTCH_FIND, keys, n, results, NULL, err);
}

static inline enum kc_status kc_hopscotch_map_erase(struct kc_hopscotch_map *map,
                                                    const uint32_t *keys, size_t n,
                                                    uint8_t *results, struct kc_error *err)
{
        return kc_hopscotch_map_mixed(map, NULL, KC_HOPSCOTCH_ERASE, keys, n, results, NULL, err);
}

/* All keys, in no particular order: keys out [map->size] device. */
enum kc_status kc_hopscotch_map_keys(struct kc_hopscotch_map *map, uint32_t *keys,
                                     struct kc_error *err);

/*
 * Move all keys to a table of at least `nslots` slots, with another hash function; if they do not
 * fit, with a third one, then to a table of twice as many slots, and so on. On failure (KC_ENOMEM,
 * KC_EDEVICE; KC_EUSAGE as above) the table is unchanged.
 */
enum kc_status kc_hopscotch_map_rebuild(struct kc_hopscotch_map *map, uint64_t nslots,
                                        struct kc_error *err);

#endif
