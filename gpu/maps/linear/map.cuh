/*
 * The simple hash table: linear probing in device memory, a thread an operation.
 *
 *      slot i:  [ key | value ]        capacity a power of two; first slot = hash & (capacity - 1)
 *
 * A key comes into a free slot by one compare-and-swap of the slot, its value with it, and then it
 * never moves nor goes; its value changes by plain stores. (Devices before compute capability 9.0
 * cannot swap the 16 bytes of a 64-bit key's slot: there the value comes by a store, behind its
 * key.) All-ones is the mark of an empty key and of an empty value. A key without a value is not
 * there: to delete one is to empty its value. So inserts, lookups and deletions may all run at
 * once, in any order of memory: whatever they see was true at some time since the launch began.
 * The key that looks like the mark has a slot of its own behind the others.
 *
 * Deleted keys keep their slots until a rehash leaves them out. Probing is bounded: a key that
 * finds no room within max_probes slots is refused, and the table then grows or says that it is
 * full.
 *
 * Source: Farrell, A Simple GPU Hash Table (2020), with 64-bit keys beside the 32-bit ones. A slot
 * is looked at before a swap is tried, and a warp goes through long clusters together
 * (search.cuh).
 */
#ifndef KC_GPU_MAPS_LINEAR_MAP_CUH
#define KC_GPU_MAPS_LINEAR_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"

/* The mark of a value; as an answer: no such key. */
enum : uint32_t { KC_LINEAR_EMPTY = UINT32_MAX };

/* Whatever is beside the value is all-ones until the slot is claimed. */
template <class Key> struct alignas(2 * sizeof(Key)) kc_linear_slot {
        Key key;
        uint32_t value;
};

/* The table as kernels see it. */
template <class Key> struct kc_linear_view {
        kc_linear_slot<Key> *slots; /* [mask + 2]; the last one is that of the key ~0 */
        uint64_t mask;
        uint32_t max_probes; /* slots */
};

struct kc_linear_options {
        uint64_t capacity;   /* slots at least; a power of two is taken, 32 at least */
        uint32_t max_probes; /* 0: 65536; never more than there are slots */
        bool grows;          /* rehash into twice the slots when a key is refused */
};

/* Fields are to be read. */
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

/* How many slots are looked at for a key that is in slot `slot`. */
template <class Key> KC_HD uint64_t kc_linear_probes(Key key, uint64_t slot, uint64_t mask)
{
        return ((slot - kc_linear_hash(key)) & mask) + 1;
}

/* ---- Key: uint32_t or kc_key64. Arrays are in device memory; a call returns when it is done. ----
 */

/* Make an empty table; free it in any case, a zeroed one at no cost. gpu outlives it. KC_ENOMEM. */
template <class Key>
enum kc_status kc_linear_new(kc_linear_map<Key> *map, struct kc_gpu *gpu,
                             const struct kc_linear_options *options, struct kc_error *err);
template <class Key> void kc_linear_free(kc_linear_map<Key> *map);
template <class Key> enum kc_status kc_linear_clear(kc_linear_map<Key> *map, struct kc_error *err);

/*
 * Insert n pairs; of several values for one key, one stays. KC_LINEAR_EMPTY is no value: it
 * deletes. KC_ENOMEM where keys were refused and the table does not grow, or cannot: the others are
 * in, and to insert all of them again into a larger table (kc_linear_rehash) does no harm.
 */
template <class Key>
enum kc_status kc_linear_insert(kc_linear_map<Key> *map, const Key *keys, const uint32_t *values,
                                uint64_t n, struct kc_error *err);

/* values [n] out: KC_LINEAR_EMPTY for a key that is not there. */
template <class Key>
enum kc_status kc_linear_lookup(const kc_linear_map<Key> *map, const Key *keys, uint32_t *values,
                                uint64_t n, struct kc_error *err);

template <class Key>
enum kc_status kc_linear_delete(kc_linear_map<Key> *map, const Key *keys, uint64_t n,
                                struct kc_error *err);

enum kc_linear_op : uint8_t { KC_LINEAR_INSERT, KC_LINEAR_LOOKUP, KC_LINEAR_DELETE };

/*
 * n operations at once: all of them are concurrent, those for one key too.
 *   ops     [n]
 *   values  [n]: of lookups out, of insertions in
 * The table does not grow meanwhile: KC_ENOMEM where keys were refused; all else is done.
 */
template <class Key>
enum kc_status kc_linear_mixed(kc_linear_map<Key> *map, const enum kc_linear_op *ops,
                               const Key *keys, uint32_t *values, uint64_t n, struct kc_error *err);

/*
 * All pairs, in the order of slots within a warp's share and else in any.
 *   keys, values  out, [cap]
 *   n             out, host: how many there are, even if more than cap
 */
template <class Key>
enum kc_status kc_linear_iterate(const kc_linear_map<Key> *map, Key *keys, uint32_t *values,
                                 uint64_t cap, uint64_t *n, struct kc_error *err);

/* Move to a table of `capacity` slots at least, and as many as there are pairs; deleted keys stay
 * behind. The old table is kept where that fails: KC_ENOMEM. */
template <class Key>
enum kc_status kc_linear_rehash(kc_linear_map<Key> *map, uint64_t capacity, struct kc_error *err);

enum { KC_LINEAR_NBUCKETS = 33 };

/* Slots that a lookup of each key in the table, deleted or not, looks at. */
struct kc_linear_stats {
        uint64_t nkeys, sum, most;
        uint64_t buckets[KC_LINEAR_NBUCKETS]; /* [i]: keys with 2^i to 2^(i+1) - 1 */
};

template <class Key>
enum kc_status kc_linear_get_stats(const kc_linear_map<Key> *map, struct kc_linear_stats *stats,
                                   struct kc_error *err);

#endif
