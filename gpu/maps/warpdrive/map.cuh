/*
 * The WarpDrive map: one table of open addressing in device memory, for batches of operations.
 *
 * A cooperative group of lanes takes a key and looks at a window of 1, 2, ..., 32 slots at once: a
 * match, else the first free slot, claimed by compare-and-swap, else the next window by chaotic
 * probing. Layouts of slots are in slots.cuh, the arithmetic in probe.cuh, what
 * groups do in kernels.cuh. The map that counts in a block's shared memory is warpdrive.cuh.
 *
 * An operation is a batch: arrays in device memory, done when the function returns. Keys may come
 * several times in a batch and are then put by one of the lanes after the other: of inserted values
 * one stays, added weights all count. Erasing and putting do not meet, as batches are barriers.
 *
 * A key that finds no room within max_probes windows has the map rebuilt with another hash function
 * and is tried again; where that does not help either, the batch's other keys are in and it is
 * KC_ENOMEM. No key is lost or there twice, whatever tombstones came before.
 *
 * Source: Juenger et al., WarpDrive (2018), sections II to V; docs/papers.md tells where
 * this differs.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_MAP_CUH
#define KC_GPU_MAPS_WARPDRIVE_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/maps/warpdrive/slots.cuh"

enum { KC_WD_MAX_PART_BITS = 18 };

struct kc_wd_options {
        uint64_t capacity;   /* slots at least; the number of windows is made prime */
        uint32_t group;      /* slots of a window, |g|: 1, 2, 4, 8, 16, 32; 0: 64 bytes of keys, 4
                                or 8 slots, which an H200's memory reads at a time */
        uint32_t linear;     /* neighbouring windows before a chaotic step: 1 if 0; the paper has
                                32 / group */
        uint32_t max_probes; /* windows; 0: 4096 slots' worth, 64 windows at least. Remainder words
                                have fewer where keys leave no bits for that, 254 at least, enough
                                up to load 0.9, 0.95, 0.97 with 1, 2, 4 slots a window */
        int part_bits; /* the map is 2^part_bits tables by the keys' top hash bits, for the bulk
                          functions: see kc_wd_bulk_part_bits; KC_WD_MAX_PART_BITS at most */
        int key_bits;  /* remainder words: all keys are below 2^key_bits; 0: 64 */
        uint64_t seed; /* of the hash function */
        uint32_t blocks_per_sm; /* of 256 threads; 0: as many as are resident */
        int max_rebuilds;       /* in one operation: 0 for 4, -1 for none */
};

/* Keys that look like a mark have a place of their own. */
struct kc_wd_odd {
        uint32_t there[KC_WD_NODD], values[KC_WD_NODD];
};

/* The map as kernels see it. */
template <class Layout> struct kc_wd_view {
        kc_wd_shape shape;
        Layout slots;
        struct kc_wd_odd *odd;
};

/* Fields are to be read. */
template <class Layout> struct kc_wd_map {
        struct kc_gpu *gpu;
        struct kc_wd_options options;
        kc_wd_view<Layout> view;
        uint64_t nslots;
        uint64_t nkeys, ntombs;     /* live keys; tombstones at most */
        uint64_t weight;            /* ever added since it was cleared: bounds wraps */
        uint64_t nrebuilds;         /* since it was made */
        unsigned long long *totals; /* device */
};

/*
 * Make an empty map. Free it in any case; a zeroed map is freed at no cost. One host thread uses
 * it, and gpu outlives it. KC_ENOMEM; KC_EUSAGE for options that cannot be, among them remainder
 * words without 8 bits left for the count (see kc_wd_words).
 */
template <class Layout>
enum kc_status kc_wd_new(kc_wd_map<Layout> *map, struct kc_gpu *gpu,
                         const struct kc_wd_options *options, struct kc_error *err);
template <class Layout> void kc_wd_free(kc_wd_map<Layout> *map);
template <class Layout> enum kc_status kc_wd_clear(kc_wd_map<Layout> *map, struct kc_error *err);

/*
 * Put n keys: KC_WD_INSERT sets values, and of several one of them stays; KC_WD_ADD adds weights to
 * what is there, 0 for a new key, up to UINT32_MAX.
 *   keys     [n] device
 *   values   [n] device: values or weights; NULL: 1 each
 *   refused  out, [ceil(n / 32)] device: a bit for each key that was not put, set only with
 *            KC_ENOMEM; may be NULL
 * Returns KC_OK; KC_ENOMEM if keys found no room (all others are in) or there is no memory to
 * rebuild; KC_EUSAGE if the layout keeps counts only and is to insert; KC_EDEVICE.
 * Source: figure 3, here so that a key behind a tombstone is found before one is reused.
 */
template <class Layout>
enum kc_status kc_wd_put(kc_wd_map<Layout> *map, enum kc_wd_mode mode,
                         const typename Layout::key *keys, const uint32_t *values, uint64_t n,
                         uint32_t *refused, struct kc_error *err);

/*
 * Look n keys up.
 *   values  out, [n] device; `missing` where the key is not there
 *   found   out, [n] device: 1 or 0; may be NULL
 *   nfound  out, host; may be NULL
 */
template <class Layout>
enum kc_status kc_wd_retrieve(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                              uint64_t n, uint32_t missing, uint32_t *values, uint8_t *found,
                              uint64_t *nfound, struct kc_error *err);

/* Erase n keys [device], leaving tombstones; *nerased (may be NULL): how many were there. */
template <class Layout>
enum kc_status kc_wd_erase(kc_wd_map<Layout> *map, const typename Layout::key *keys, uint64_t n,
                           uint64_t *nerased, struct kc_error *err);

/*
 * Put all pairs into a new table of `capacity` slots (0: as many as now) with another hash
 * function; tombstones are gone. The old table is there until the new one is complete, and stays
 * where that fails: KC_ENOMEM if the keys find no room or memory for both is not there.
 */
template <class Layout>
enum kc_status kc_wd_rebuild(kc_wd_map<Layout> *map, uint64_t capacity, struct kc_error *err);

/*
 * All pairs, in no order.
 *   keys, values  out, [cap] device
 *   n             out, host: how many there are, even if more than cap
 */
template <class Layout>
enum kc_status kc_wd_export(const kc_wd_map<Layout> *map, typename Layout::key *keys,
                            uint32_t *values, uint64_t cap, uint64_t *n, struct kc_error *err);

/* ---- in bulk: bulk.cu ---- */

/*
 * The fewest part_bits, 1 at least, with which a part of a map of `capacity` slots fits the shared
 * memory of a block, as the bulk functions want it; group: of the options, not 0. Keys fall to parts by chance: with few slots a
 * part and a load close to 1, some part overflows, and the map is rebuilt.
 */
template <class Layout>
int kc_wd_bulk_part_bits(const struct kc_gpu *gpu, uint64_t capacity, uint32_t group);

/*
 * The same as kc_wd_put and kc_wd_retrieve, for batches of many keys a part: they are first split
 * by part, and then a block has a part in its shared memory (the paper's section VI: several
 * smaller maps). Values come back in the order of the keys. Beside the arrays, device memory for
 * slices of the batch is needed, of 2^29 keys or of as many as there is room for; each slice goes
 * through the whole map. Where parts are too large, or keys so few that this is not worth it, it is
 * kc_wd_put and kc_wd_retrieve.
 */
template <class Layout>
enum kc_status kc_wd_bulk_put(kc_wd_map<Layout> *map, enum kc_wd_mode mode,
                              const typename Layout::key *keys, const uint32_t *values, uint64_t n,
                              struct kc_error *err);
template <class Layout>
enum kc_status kc_wd_bulk_retrieve(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                   uint64_t n, uint32_t missing, uint32_t *values, uint64_t *nfound,
                                   struct kc_error *err);

#endif
