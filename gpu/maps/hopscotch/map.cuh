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
 * Source: Zhang and Sun, GLHT; for the differences see docs/dev/papers.md.
 *
 * Example:
 *
 *      struct kc_hopscotch_options options = {};
 *      struct kc_hopscotch_map *map = NULL;
 *      options.capacity = 2 * n;
 *      KC_TRY(kc_hopscotch_new(&map, gpu, &options, stream, err));
 *      KC_TRY(kc_hopscotch_insert(map, keys, NULL, n, err));     arrays in device memory
 *      KC_TRY(kc_hopscotch_find(map, sought, found, nsought, err));
 *      ... found[i] is KC_HOPSCOTCH_ABSENT if there is no key sought[i], and 1 if there is
 *   out:
 *      kc_hopscotch_free(map);
 */
#ifndef KC_GPU_MAPS_HOPSCOTCH_MAP_CUH
#define KC_GPU_MAPS_HOPSCOTCH_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/tables/hopscotch_core.cuh"

enum kc_hopscotch_op : uint8_t { KC_HOPSCOTCH_FIND, KC_HOPSCOTCH_INSERT, KC_HOPSCOTCH_ERASE };

/* The value of an absent key. The map is a set, so the value of a present one is 1. */
enum : uint8_t { KC_HOPSCOTCH_ABSENT = KC_HOP_NO };

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

/* Over the operations of a launch. */
struct kc_hopscotch_totals {
        unsigned long long nbusy, nfull;
        long long grown; /* inserted minus erased */
};

/* Sums of a launch in progress; all 0 between launches. */
struct kc_hopscotch_sums {
        struct kc_hopscotch_totals totals;
        unsigned nblocks; /* blocks that are done */
        unsigned long long nkeys;
};

struct kc_hopscotch_options {
        uint64_t capacity; /* minimum number of slots, 8 bytes each; rounded up to a power of two,
                              at least 2^KC_HOPSCOTCH_MIN_BITS */
};

/* Callers may read the fields. */
struct kc_hopscotch_map {
        struct kc_gpu_stream on;
        struct kc_hopscotch_hash hash; /* 2^hash.bits slots */
        uint64_t size;                 /* keys in it */
        uint64_t *words;
        uint8_t *results; /* [results_cap] device, for callers that pass none */
        size_t results_cap;
        struct kc_hopscotch_sums *sums;     /* device */
        struct kc_hopscotch_totals *totals; /* pinned */
        /* For tuning and tests; may be changed between calls. */
        uint32_t reach;     /* in slots; less than the table has */
        int group;          /* lanes per operation: 1 or 32 */
        unsigned nthreads;  /* per block: a multiple of 32, at most 256 */
        uint32_t max_tries; /* attempts of an operation in a round */
};

/*
 * ---- the common part: the same functions in all five maps ----
 *
 * Arrays are in device memory and remain the caller's; n is in elements and may be 0. A map belongs
 * to one stream: its work and its memory are ordered there, and arrays must be ready in that order.
 * All calls of this map wait for their work, except kc_hopscotch_clear and kc_hopscotch_export. One
 * host thread at a time uses a map and its kc_gpu. Every call may return KC_EDEVICE; the contents
 * of the map are then undefined, and it can only be freed.
 */

/*
 * Make an empty map. Up to a load of 0.7 it has room for all keys, at 0.8 for all but 3 in 10
 * million, at 0.9 for all but one in 7000: with H = 31, no item can be moved past 31 others that
 * are as far from home as possible.
 *   map      out: to be freed with kc_hopscotch_free; NULL on failure
 *   gpu      an open device, which must outlive the map
 *   options  copied
 *   stream   of that device; must outlive the map
 * KC_EUSAGE if the capacity is above 2^31 slots; KC_ENOMEM.
 */
enum kc_status kc_hopscotch_new(struct kc_hopscotch_map **map, struct kc_gpu *gpu,
                                const struct kc_hopscotch_options *options, cudaStream_t stream,
                                struct kc_error *err);

/* NULL is fine. */
void kc_hopscotch_free(struct kc_hopscotch_map *map);

/* Remove all keys; the slots stay. */
enum kc_status kc_hopscotch_clear(struct kc_hopscotch_map *map, struct kc_error *err);

/*
 * Insert n keys; those that are present already, or occur several times, are there once.
 *   keys    in, [n]
 *   values  NULL: keys have no values
 * KC_ENOMEM if keys found no room, or there is no memory for n results of a byte each: all others
 * are in, no key that was present is lost, and the whole batch may be inserted again after
 * kc_hopscotch_rebuild. To learn which keys found no room, use kc_hopscotch_mixed.
 */
enum kc_status kc_hopscotch_insert(struct kc_hopscotch_map *map, const uint32_t *keys,
                                   const uint8_t *values, uint64_t n, struct kc_error *err);

/*
 * Look n keys up.
 *   keys    in, [n]
 *   values  out, [n]: 1 for a present key, KC_HOPSCOTCH_ABSENT for an absent one
 */
enum kc_status kc_hopscotch_find(const struct kc_hopscotch_map *map, const uint32_t *keys,
                                 uint8_t *values, uint64_t n, struct kc_error *err);

/* Erase n keys [n]; absent ones are ignored. KC_ENOMEM if there is no memory for n results of a
 * byte each; nothing is erased then. */
enum kc_status kc_hopscotch_erase(struct kc_hopscotch_map *map, const uint32_t *keys, uint64_t n,
                                  struct kc_error *err);

/*
 * Copy all keys, in no particular order.
 *   keys    out, [cap]
 *   values  NULL: keys have no values
 *   n       out, host: how many there are (map->size), even if more than cap
 */
enum kc_status kc_hopscotch_export(const struct kc_hopscotch_map *map, uint32_t *keys,
                                   uint8_t *values, uint64_t cap, uint64_t *n,
                                   struct kc_error *err);

/*
 * Move all keys to a table with another hash function.
 *   capacity  as in the options, 0: as now; if the keys find no room with two hash functions, it is
 *             doubled, and so on
 * The old table and a copy of the keys exist meanwhile. On failure the old table is kept: KC_EUSAGE
 * as in kc_hopscotch_new; KC_ENOMEM.
 */
enum kc_status kc_hopscotch_rebuild(struct kc_hopscotch_map *map, uint64_t capacity,
                                    struct kc_error *err);

/* ---- beyond the common part ---- */

/*
 * Do n operations concurrently, in no particular order. Section 4.
 *   ops      in [n] device, enum kc_hopscotch_op; NULL: all are `op`
 *   keys     in [n] device
 *   results  out [n] device, or NULL: KC_HOP_YES if the key was found, inserted or erased;
 *            KC_HOP_NO if it was absent (insert: already present); KC_HOP_FULL_TABLE if there is no
 *            room for it
 *   nfull    out, host, may be NULL: how many found no room; they changed nothing, and can be
 *            repeated after kc_hopscotch_rebuild
 * KC_OK even if *nfull > 0. KC_ENOMEM if results is NULL and there is no memory for them; nothing
 * is done then.
 */
enum kc_status kc_hopscotch_mixed(struct kc_hopscotch_map *map, const uint8_t *ops,
                                  enum kc_hopscotch_op op, const uint32_t *keys, uint64_t n,
                                  uint8_t *results, uint64_t *nfull, struct kc_error *err);

#endif
