/*
 * The simple hash table: linear probing in device memory, one thread per operation.
 *
 *      slot i:  [ key | value ]        capacity a power of two; first slot = hash & (capacity - 1)
 *
 * A key is put into a free slot, together with its value, by one compare-and-swap of the slot. It
 * is never moved or removed after that; its value changes by plain stores. (Devices before compute
 * capability 9.0 cannot swap the 16 bytes of a 64-bit key's slot: there a store adds the value
 * after the key.) All-ones marks an empty key and an empty value. A key without a value counts as
 * absent: deleting a key empties its value. So insertions, lookups and deletions may all run at
 * once, under any memory ordering: whatever they see was true at some time since the launch began.
 * The key that equals the mark has a slot of its own after the others.
 *
 * Deleted keys keep their slots until a rehash drops them. Probing is bounded: a key that finds no
 * free slot within max_probes slots is refused, and the table then grows or reports that it is
 * full.
 *
 * Source: Farrell, A Simple GPU Hash Table (2020), with 64-bit keys in addition to 32-bit ones.
 * Here a slot is read before a swap is tried, and a warp searches long clusters together
 * (search.cuh).
 */
#ifndef KC_GPU_MAPS_LINEAR_MAP_CUH
#define KC_GPU_MAPS_LINEAR_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"

/* The mark of an empty value; as a result: no such key. */
enum : uint32_t { KC_LINEAR_EMPTY = UINT32_MAX };

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
        bool grows;          /* rehash into twice the slots when a key is refused */
};

/* Callers may read the fields. */
template <class Key> struct kc_linear_map {
        struct kc_gpu *gpu;
        struct kc_linear_options options;
        kc_linear_view<Key> view;
        uint64_t capacity;
        uint64_t nused;             /* slots with a key, deleted ones too */
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

/* ---- Key: uint32_t or kc_key64. Arrays are in device memory; calls wait for the work. ---- */

/* Make an empty table. Free it even if that fails; freeing a zeroed one does nothing. gpu must
 * outlive it. One host thread at a time uses a table. KC_EUSAGE if capacity is too large;
 * KC_ENOMEM; this and all other calls: KC_EDEVICE. */
template <class Key>
enum kc_status kc_linear_new(kc_linear_map<Key> *map, struct kc_gpu *gpu,
                             const struct kc_linear_options *options, struct kc_error *err);
template <class Key> void kc_linear_free(kc_linear_map<Key> *map);
template <class Key> enum kc_status kc_linear_clear(kc_linear_map<Key> *map, struct kc_error *err);

/*
 * Insert n pairs; if a key has several values, any one of them stays. The value KC_LINEAR_EMPTY
 * deletes its key. KC_ENOMEM if keys were refused and the table may not or cannot grow: all others
 * are in, and it is safe to insert the whole batch again after kc_linear_rehash.
 */
template <class Key>
enum kc_status kc_linear_insert(kc_linear_map<Key> *map, const Key *keys, const uint32_t *values,
                                uint64_t n, struct kc_error *err);

/* values [n] out: KC_LINEAR_EMPTY for an absent key. */
template <class Key>
enum kc_status kc_linear_lookup(const kc_linear_map<Key> *map, const Key *keys, uint32_t *values,
                                uint64_t n, struct kc_error *err);

template <class Key>
enum kc_status kc_linear_delete(kc_linear_map<Key> *map, const Key *keys, uint64_t n,
                                struct kc_error *err);

enum kc_linear_op : uint8_t { KC_LINEAR_INSERT, KC_LINEAR_LOOKUP, KC_LINEAR_DELETE };

/*
 * n concurrent operations; those on the same key are concurrent, too.
 *   ops     [n]
 *   values  [n]: out for lookups, in for insertions
 * The table does not grow meanwhile: KC_ENOMEM if keys were refused; all else is done.
 */
template <class Key>
enum kc_status kc_linear_mixed(kc_linear_map<Key> *map, const enum kc_linear_op *ops,
                               const Key *keys, uint32_t *values, uint64_t n, struct kc_error *err);

/*
 * All pairs, in the order of slots within a warp's share, otherwise in any order.
 *   keys, values  out, [cap]
 *   n             out, host: how many there are, even if more than cap
 */
template <class Key>
enum kc_status kc_linear_iterate(const kc_linear_map<Key> *map, Key *keys, uint32_t *values,
                                 uint64_t cap, uint64_t *n, struct kc_error *err);

/* Move to a table of at least `capacity` slots, and at least as many as there are pairs; deleted
 * keys are dropped. KC_ENOMEM, and then the old table is kept. */
template <class Key>
enum kc_status kc_linear_rehash(kc_linear_map<Key> *map, uint64_t capacity, struct kc_error *err);

enum { KC_LINEAR_NBUCKETS = 33 };

/* Statistics of the slots that a lookup examines, over all keys in the table, deleted ones too. */
struct kc_linear_stats {
        uint64_t nkeys, sum, most;
        uint64_t buckets[KC_LINEAR_NBUCKETS]; /* [i]: keys with 2^i to 2^(i+1) - 1 */
};

template <class Key>
enum kc_status kc_linear_get_stats(const kc_linear_map<Key> *map, struct kc_linear_stats *stats,
                                   struct kc_error *err);

#endif
