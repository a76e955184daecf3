/*
 * The simple hash table: linear probing in device memory, one thread per operation.
 *
 *      slot i:  [ key | value ]        capacity a power of two; first slot = hash & (capacity - 1)
 *
 * A key is put into a free slot, together with its value, by one compare-and-swap of the slot. It
 * is never moved or removed after that; its value changes by plain stores. (Devices before compute
 * capability 9.0 cannot swap the 16 bytes of a 64-bit key's slot: there a store adds the value
 * after the key.) All-ones marks an empty key and an empty value. A key without a value counts as
 * absent: erasing a key empties its value. So insertions, lookups and erasures may all run at once,
 * under any memory ordering: whatever they see was true at some time since the launch began.
 * The key that equals the mark has a slot of its own after the others.
 *
 * Erased keys keep their slots until a rebuild drops them. Probing is bounded: a key that finds no
 * free slot within max_probes slots is refused, and the table then grows or reports that it is
 * full.
 *
 * Source: Farrell, A Simple GPU Hash Table (2020), with 64-bit keys in addition to 32-bit ones.
 * Here a slot is read before a swap is tried, and a warp searches long clusters together
 * (search.cuh).
 *
 * Example:
 *
 *      struct kc_linear_options options = {};
 *      kc_linear_map<kc_key64> *map = NULL;
 *      options.capacity = 2 * n;
 *      options.grows = true;
 *      KC_TRY(kc_linear_new(&map, gpu, &options, stream, err));
 *      KC_TRY(kc_linear_insert(map, keys, values, n, err));     arrays in device memory
 *      KC_TRY(kc_linear_find(map, sought, found, nsought, err));
 *      ... found[i] is KC_LINEAR_ABSENT if there is no key sought[i]
 *   out:
 *      kc_linear_free(map);
 */
#ifndef KC_GPU_MAPS_LINEAR_MAP_CUH
#define KC_GPU_MAPS_LINEAR_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"

/* The value of an absent key, which marks empty values in the slots. */
enum : uint32_t { KC_LINEAR_ABSENT = UINT32_MAX };

/* Padding is all-ones, too, until the slot is claimed. */
template <class Key> struct alignas(2 * sizeof(Key)) kc_linear_slot {
        Key key;
        uint32_t value;
};

/* The table as kernels see it. */
template <class Key> struct kc_linear_view {
        kc_linear_slot<Key> *slots; /* [mask + 2]; the last one belongs to the key ~0 */
        uint64_t mask;
        uint32_t max_probes; /* slots */
};

struct kc_linear_options {
        uint64_t capacity;   /* minimum number of slots; rounded up to a power of two, at least
                                32 */
        uint32_t max_probes; /* in slots; 0: 65536; never more than the table has */
        bool grows;          /* rebuild with twice the slots when a key finds no room */
};

/* Callers may read the fields. Key: uint32_t or kc_key64. */
template <class Key> struct kc_linear_map {
        struct kc_gpu_stream on;
        struct kc_linear_options options;
        kc_linear_view<Key> view;
        uint64_t capacity;          /* slots */
        uint64_t nused;             /* slots with a key, erased ones too */
        unsigned long long *totals; /* device */
};

/* The first slot of a key: murmur3's last steps. */
KC_HD uint64_t kc_linear_hash(uint32_t key)
{
        key = (key ^ key >> 16) * UINT32_C(0x85ebca6b);
        key = (key ^ key >> 13) * UINT32_C(0xc2b2ae35);
        return key ^ key >> 16;
}

KC_HD uint64_t kc_linear_hash(kc_key64 key)
{
        key = (key ^ key >> 33) * UINT64_C(0xff51afd7ed558ccd);
        key = (key ^ key >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
        return key ^ key >> 33;
}

/* How many slots a search for a key that is in slot `slot` examines. */
template <class Key> KC_HD uint64_t kc_linear_probes(Key key, uint64_t slot, uint64_t mask)
{
        return ((slot - kc_linear_hash(key)) & mask) + 1;
}

/*
 * ---- the common part: the same functions in all five maps ----
 *
 * Arrays are in device memory and remain the caller's; n is in elements and may be 0. A map belongs
 * to one stream: its work and its memory are ordered there, and arrays must be ready in that order.
 * All calls wait for their work, except kc_linear_clear and kc_linear_find. One host thread at a
 * time uses a map and its kc_gpu; but any number of them may find keys at once in a map that does
 * not change. Every call may return KC_EDEVICE; the contents of the map are then undefined, and it
 * can only be freed.
 */

/*
 * Make an empty map.
 *   map      out: to be freed with kc_linear_free; NULL on failure
 *   gpu      an open device, which must outlive the map
 *   options  copied
 *   stream   of that device; must outlive the map
 * KC_EUSAGE if the capacity is above 2^40 slots; KC_ENOMEM.
 */
template <class Key>
enum kc_status kc_linear_new(kc_linear_map<Key> **map, struct kc_gpu *gpu,
                             const struct kc_linear_options *options, cudaStream_t stream,
                             struct kc_error *err);

/* NULL is fine. */
template <class Key> void kc_linear_free(kc_linear_map<Key> *map);

/* Remove all keys; the slots stay. */
template <class Key> enum kc_status kc_linear_clear(kc_linear_map<Key> *map, struct kc_error *err);

/*
 * Set the values of n keys, whether they are present or not. If a key occurs several times, any one
 * of its values stays. The value KC_LINEAR_ABSENT erases its key.
 *   keys, values  in, [n]
 * KC_ENOMEM if keys found no room and the map may not or cannot grow: all others are in, no key
 * that was present is lost, and the whole batch may be inserted again after kc_linear_rebuild.
 */
template <class Key>
enum kc_status kc_linear_insert(kc_linear_map<Key> *map, const Key *keys, const uint32_t *values,
                                uint64_t n, struct kc_error *err);

/*
 * Look n keys up.
 *   keys    in, [n]
 *   values  out, [n]: KC_LINEAR_ABSENT for an absent key
 */
template <class Key>
enum kc_status kc_linear_find(const kc_linear_map<Key> *map, const Key *keys, uint32_t *values,
                              uint64_t n, struct kc_error *err);

/* Erase n keys [n]; absent ones are ignored. Their slots stay taken until a rebuild. */
template <class Key>
enum kc_status kc_linear_erase(kc_linear_map<Key> *map, const Key *keys, uint64_t n,
                               struct kc_error *err);

/*
 * Copy all pairs, in no particular order.
 *   keys, values  out, [cap]
 *   n             out, host: how many there are, even if more than cap
 */
template <class Key>
enum kc_status kc_linear_export(const kc_linear_map<Key> *map, Key *keys, uint32_t *values,
                                uint64_t cap, uint64_t *n, struct kc_error *err);

/*
 * Move all pairs to a new table, without the slots of erased keys.
 *   capacity  as in the options, 0: as now; it is doubled until all pairs find room
 * Both tables exist meanwhile. On failure the old one is kept: KC_EUSAGE as in kc_linear_new;
 * KC_ENOMEM.
 */
template <class Key>
enum kc_status kc_linear_rebuild(kc_linear_map<Key> *map, uint64_t capacity, struct kc_error *err);

/* ---- beyond the common part ---- */

enum kc_linear_op : uint8_t { KC_LINEAR_INSERT, KC_LINEAR_FIND, KC_LINEAR_ERASE };

/*
 * Do n operations concurrently; those on the same key are concurrent, too.
 *   ops     in, [n]
 *   keys    in, [n]
 *   values  [n]: in for insertions, out for lookups
 * The map does not grow meanwhile: KC_ENOMEM if keys found no room; all else is done.
 */
template <class Key>
enum kc_status kc_linear_mixed(kc_linear_map<Key> *map, const enum kc_linear_op *ops,
                               const Key *keys, uint32_t *values, uint64_t n, struct kc_error *err);

enum { KC_LINEAR_NBUCKETS = 33 };

/* Statistics of the slots that a lookup examines, over all keys in the table, erased ones too. */
struct kc_linear_stats {
        uint64_t nkeys, sum, most;
        uint64_t buckets[KC_LINEAR_NBUCKETS]; /* [i]: keys with 2^i to 2^(i+1) - 1 */
};

/* KC_ENOMEM. */
template <class Key>
enum kc_status kc_linear_get_stats(const kc_linear_map<Key> *map, struct kc_linear_stats *stats,
                                   struct kc_error *err);

#endif
