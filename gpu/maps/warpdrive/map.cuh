/*
 * The WarpDrive map: one open-addressing table in device memory, for batches of operations.
 *
 * A cooperative group of lanes takes a key and reads a window of 1, 2, ..., 32 slots at once. It
 * uses a match if there is one, otherwise claims the first free slot by compare-and-swap, otherwise
 * goes on to the next window by chaotic probing. Layouts of slots are in slots.cuh, the arithmetic
 * in probe.cuh, what groups do in kernels.cuh. The table that counts in a block's shared memory is
 * gpu/tables/warpdrive.cuh.
 *
 * An operation works on a batch: arrays in device memory, done when the function returns. A key may
 * occur several times in a batch: of inserted values any one stays, added weights are summed.
 * Erasing and putting never overlap, as batches are barriers.
 *
 * If a key finds no room within max_probes windows, the map is rebuilt with another hash function
 * and the key is tried again; if that does not help either, the batch's other keys are in and the
 * call returns KC_ENOMEM. No key is lost or stored twice, whatever tombstones there were.
 *
 * Source: Juenger et al., WarpDrive (2018), sections II to V; for the differences see
 * docs/dev/papers.md.
 *
 * Example:
 *
 *      struct kc_wd_options options = {};
 *      kc_wd_map<kc_wd_near64> *map = NULL;
 *      options.capacity = n + n / 4;
 *      KC_TRY(kc_wd_new(&map, gpu, &options, stream, err));
 *      KC_TRY(kc_wd_insert(map, keys, values, n, err));        arrays in device memory
 *      KC_TRY(kc_wd_find(map, sought, found, nsought, err));
 *      ... found[i] is KC_WD_ABSENT if there is no key sought[i]
 *   out:
 *      kc_wd_free(map);
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_MAP_CUH
#define KC_GPU_MAPS_WARPDRIVE_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/maps/warpdrive/slots.cuh"

enum { KC_WD_MAX_PART_BITS = 18 };

/* The value of an absent key. A present key may have the value 0, too: kc_wd_retrieve tells the two
 * apart. */
enum : uint32_t { KC_WD_ABSENT = 0 };

struct kc_wd_options {
        uint64_t capacity;   /* minimum number of slots; the number of windows is made prime */
        uint32_t group;      /* slots of a window, |g|: 1, 2, 4, 8, 16, 32; 0: 64 bytes of keys, 4
                                or 8 slots, the unit in which an H200 reads memory */
        uint32_t linear;     /* neighbouring windows before a chaotic step: 1 if 0; the paper has
                                32 / group */
        uint32_t max_probes; /* windows; 0: 4096 slots' worth, at least 64 windows. Remainder words
                                have fewer if keys leave too few bits, but at least 254, enough up
                                to load 0.9, 0.95, 0.97 with 1, 2, 4 slots per window */
        int part_bits; /* the map is 2^part_bits tables, chosen by the keys' top hash bits, for the
                          bulk functions: see kc_wd_bulk_part_bits; at most KC_WD_MAX_PART_BITS */
        int key_bits;  /* remainder words: all keys are below 2^key_bits; 0: 64 */
        uint64_t seed; /* of the hash function */
        uint32_t blocks_per_sm; /* of 256 threads; 0: as many as are resident */
        int max_rebuilds;       /* in one operation: 0 for 4, -1 for none */
};

/* Keys that equal a mark have a place of their own. */
struct kc_wd_odd {
        uint32_t there[KC_WD_NODD], values[KC_WD_NODD];
};

/* The map as kernels see it. */
template <class Layout> struct kc_wd_view {
        kc_wd_shape shape;
        Layout slots;
        struct kc_wd_odd *odd;
};

/* Callers may read the fields. */
template <class Layout> struct kc_wd_map {
        struct kc_gpu_stream on;
        struct kc_wd_options options;
        kc_wd_view<Layout> view;
        uint64_t nslots;
        uint64_t nkeys, ntombs;     /* live keys; upper bound on tombstones */
        uint64_t weight;            /* sum added since it was cleared: bounds wraps */
        uint64_t nrebuilds;         /* since it was made */
        unsigned long long *totals; /* device */
};

/*
 * ---- the common part: the same functions in all five maps ----
 *
 * Arrays are in device memory and remain the caller's; n is in elements and may be 0. A map belongs
 * to one stream: its work and its memory are ordered there, and arrays must be ready in that order.
 * All calls of this map wait for their work, except kc_wd_clear and look-ups that count nothing.
 * One host thread at a time uses a map and its kc_gpu; but any number of them may find keys at once
 * in a map that does not change. Every call may return KC_EDEVICE; the contents of the map are then
 * undefined, and it can only be freed.
 */

/*
 * Make an empty map.
 *   map      out: to be freed with kc_wd_free; NULL on failure
 *   gpu      an open device, which must outlive the map
 *   options  copied
 *   stream   of that device; must outlive the map
 * KC_EUSAGE for invalid options, such as remainder words without 8 bits left for the count (see
 * kc_wd_words); KC_ENOMEM.
 */
template <class Layout>
enum kc_status kc_wd_new(kc_wd_map<Layout> **map, struct kc_gpu *gpu,
                         const struct kc_wd_options *options, cudaStream_t stream,
                         struct kc_error *err);

/* NULL is fine. */
template <class Layout> void kc_wd_free(kc_wd_map<Layout> *map);

/* Remove all keys; the slots stay. */
template <class Layout> enum kc_status kc_wd_clear(kc_wd_map<Layout> *map, struct kc_error *err);

/*
 * Set the values of n keys, whether they are present or not: kc_wd_put with KC_WD_INSERT. If a key
 * occurs several times, any one of its values stays.
 *   keys    in, [n]
 *   values  in, [n]; NULL: 1 each
 * KC_ENOMEM if keys found no room even after rebuilding, or there is no memory to rebuild: all
 * others are in, no key that was present is lost, and the whole batch may be inserted again after
 * kc_wd_rebuild. KC_EUSAGE if the layout only keeps counts.
 */
template <class Layout>
enum kc_status kc_wd_insert(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                            const uint32_t *values, uint64_t n, struct kc_error *err);

/*
 * Look n keys up.
 *   keys    in, [n]
 *   values  out, [n]: KC_WD_ABSENT for an absent key
 */
template <class Layout>
enum kc_status kc_wd_find(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                          uint32_t *values, uint64_t n, struct kc_error *err);

/* Erase n keys [n], leaving tombstones; absent ones are ignored. map->nkeys tells how many were
 * present. */
template <class Layout>
enum kc_status kc_wd_erase(kc_wd_map<Layout> *map, const typename Layout::key *keys, uint64_t n,
                           struct kc_error *err);

/*
 * Copy all pairs, in no particular order.
 *   keys, values  out, [cap]
 *   n             out, host: how many there are, even if more than cap
 */
template <class Layout>
enum kc_status kc_wd_export(const kc_wd_map<Layout> *map, typename Layout::key *keys,
                            uint32_t *values, uint64_t cap, uint64_t *n, struct kc_error *err);

/*
 * Move all pairs to a new table with another hash function; tombstones are dropped.
 *   capacity  as in the options; 0: as now
 * The old table exists until the new one is complete, and is kept on failure: KC_ENOMEM if the keys
 * find no room or both tables do not fit in memory; KC_EUSAGE as in kc_wd_new.
 */
template <class Layout>
enum kc_status kc_wd_rebuild(kc_wd_map<Layout> *map, uint64_t capacity, struct kc_error *err);

/* ---- beyond the common part ---- */

/*
 * Put n keys: KC_WD_INSERT sets values, any one of several for the same key; KC_WD_ADD adds weights
 * to the present value, 0 for a new key, saturating at UINT32_MAX.
 *   keys     [n] device
 *   values   [n] device: values or weights; NULL: 1 each
 *   refused  out, [ceil(n / 32)] device: a bit for each key that was not put, set only with
 *            KC_ENOMEM; may be NULL
 * Errors as in kc_wd_insert.
 * Source: figure 3, changed so that a key after a tombstone is found before that is reused.
 */
template <class Layout>
enum kc_status kc_wd_put(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                         const uint32_t *values, uint64_t n, enum kc_wd_mode mode,
                         uint32_t *refused, struct kc_error *err);

/*
 * Look n keys up.
 *   values   out, [n] device; `missing` if the key is absent
 *   found    out, [n] device: 1 or 0; may be NULL
 *   nfound   out, host; NULL: not wanted, and the call does not wait for its work
 */
template <class Layout>
enum kc_status kc_wd_retrieve(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                              uint32_t *values, uint64_t n, uint32_t missing, uint8_t *found,
                              uint64_t *nfound, struct kc_error *err);

/* ---- in bulk: bulk.cu ---- */

/*
 * The smallest part_bits, at least 1, with which a part of a map of `capacity` slots fits in a
 * block's shared memory, as the bulk functions need; group: as in the options, but not 0. Keys fall
 * into parts at random: with few slots per part and a load close to 1, some part overflows, and the
 * map is rebuilt.
 */
template <class Layout>
int kc_wd_bulk_part_bits(const struct kc_gpu *gpu, uint64_t capacity, uint32_t group);

/* The least number of keys with which the bulk functions go by part; UINT64_MAX: they never do. */
template <class Layout> uint64_t kc_wd_bulk_least(const kc_wd_map<Layout> *map);

/*
 * The same as kc_wd_put and kc_wd_retrieve, for batches of many keys per part: keys are first split
 * by part, then each block works on a part in its shared memory (the paper's section VI: several
 * smaller maps). Values come back in the order of the keys. This needs additional device memory for
 * slices of the batch, of 2^29 keys or as many as fit; each slice goes through the whole map. If
 * parts are too large, or keys too few to make it worthwhile, or there is no memory for slices,
 * these call kc_wd_put and kc_wd_retrieve.
 */
template <class Layout>
enum kc_status kc_wd_bulk_put(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                              const uint32_t *values, uint64_t n, enum kc_wd_mode mode,
                              uint32_t *refused, struct kc_error *err);
template <class Layout>
enum kc_status kc_wd_bulk_retrieve(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                   uint32_t *values, uint64_t n, uint32_t missing, uint64_t *nfound,
                                   struct kc_error *err);

#endif
