/*
 * The slab hash: a map whose buckets are slab lists (gpu/maps/slab/list.cuh), in a device's memory,
 * that grows, with concurrent operations of all kinds. Also plain slab lists, if each operation
 * names its list.
 *
 *      key ──▶ mixed, by a bijection that depends on a seed
 *      list   = mixed * nlists / 2^(bits of a key)
 *      stored = mixed, and in list 0 its complement
 *
 * The stored word is never 0 or 1, which stand for empty and deleted: mixed keys below 2 are all in
 * list 0, and as there are at least two lists, no complement in list 0 is below 2. So no key is
 * reserved, unlike the paper's two. If operations name their lists, the complement of the key is
 * stored, and the two largest keys are refused.
 *
 * kc_slab (gpu/tables/slab.cuh) is the slab hash for counting the k-mers of a bin: one table per
 * thread block, cleared for every bin, only adding. 64-bit keys are mixed as there.
 *
 * Memory traffic of an operation if a list is one slab: a search reads one line of 128 bytes; an
 * operation that changes the list also does one atomic on one of its four sectors.
 *
 * Source: Ashkiani et al., A Dynamic Hash Table for the GPU (2018), sections III-C and IV.
 *
 * Example:
 *
 *      struct kc_slab_options options = {};
 *      kc_slab_map<kc_slab_pair64> *map = NULL;
 *      options.nlists = kc_slab_nlists<kc_slab_pair64>(n, 0.6);
 *      KC_TRY(kc_slab_new(&map, gpu, &options, stream, err));
 *      KC_TRY(kc_slab_insert(map, keys, values, n, err));      arrays in device memory
 *      KC_TRY(kc_slab_find(map, sought, found, nsought, err));
 *      ... found[i] is KC_SLAB_ABSENT if there is no key sought[i]
 *   out:
 *      kc_slab_free(map);
 */
#ifndef KC_GPU_MAPS_SLAB_MAP_CUH
#define KC_GPU_MAPS_SLAB_MAP_CUH

#include "gpu/maps/slab/list.cuh"
#include "gpu/tables/slab.cuh"

/* The layouts, and the group sizes that are compiled. */
#define KC_SLAB_LAYOUTS(instantiate) \
        instantiate(kc_slab_key32) instantiate(kc_slab_pair32) instantiate(kc_slab_key64) \
                instantiate(kc_slab_pair64)

enum : uint32_t {
        KC_SLAB_MAX_LISTS = UINT32_C(1) << 31,
        KC_SLAB_NLANES = 4,
};

/* The value of an absent key. kc_slab_pair32 may hold a value of 0, too: kc_slab_run tells the two
 * apart. In the layouts without values, which are sets, the value of a present key is 1. */
enum : uint32_t { KC_SLAB_ABSENT = 0 };

struct kc_slab_options {
        uint32_t nlists; /* buckets: 2 to KC_SLAB_MAX_LISTS; at least 1 if `named`. They do not
                            limit how many elements there may be */
        bool named;      /* operations name their lists: for kc_slab_run, not for the common part */
        bool reuse;      /* reuse the places of deleted elements; then no REPLACE and no ADD, and so
                            no kc_slab_insert. Not for kc_slab_pair64 */
        uint64_t seed;   /* of the mixing */
        int nlanes;      /* of a group: 8 or 4; 0: KC_SLAB_NLANES */
        struct kc_slab_pool_params pool;
};

/* What kernels count over operations. */
struct kc_slab_sums {
        unsigned long long npending, nrefused, nfound;
};

/* Callers may read the fields. */
template <class Layout> struct kc_slab_map {
        struct kc_gpu_stream on;
        struct kc_slab_options options;
        struct kc_slab_pool pool;
        char *heads;       /* device [nlists] slabs */
        uint32_t *pending; /* device: a bit for each operation not yet done; otherwise zero */
        size_t pending_nwords;
        struct kc_slab_state *state;   /* device */
        struct kc_slab_sums host_sums; /* copy of the state's */
        uint64_t npending;             /* operations that kc_slab_resume would do */
};

/* The number of lists for which n elements fill `load` slabs per list on average (the paper's beta:
 * up to 0.7, most lists are one slab). */
template <class Layout> static inline uint32_t kc_slab_nlists(uint64_t n, double load)
{
        double nlists = (double)n / (load * Layout::NPLACES);
        return nlists < 2 ? 2 : nlists < 2147483647.0 ? (uint32_t)nlists : 2147483647u;
}

/*
 * ---- the common part: the same functions in all five maps ----
 *
 * Arrays are in device memory and remain the caller's; n is in elements and may be 0. A map belongs
 * to one stream: its work and its memory are ordered there, and arrays must be ready in that order.
 * A call may return before its work is done, unless said otherwise: wait for the stream before the
 * host reads its results. One host thread at a time uses a map and its kc_gpu. Every call may
 * return KC_EDEVICE; the contents of the map are then undefined, and it can only be freed. The
 * common part is for maps without `named`. With it, kc_slab_insert, find, erase and rebuild return
 * KC_EUSAGE.
 */

/*
 * Make an empty map.
 *   map      out: to be freed with kc_slab_free; NULL on failure
 *   gpu      an open device, which must outlive the map
 *   options  copied
 *   stream   of that device; must outlive the map
 * KC_EUSAGE if the options are out of range; KC_ENOMEM.
 */
template <class Layout>
enum kc_status kc_slab_new(struct kc_slab_map<Layout> **map, struct kc_gpu *gpu,
                           const struct kc_slab_options *options, cudaStream_t stream,
                           struct kc_error *err);

/* NULL is fine. */
template <class Layout> void kc_slab_free(struct kc_slab_map<Layout> *map);

/* Remove all elements; the pool keeps its size. */
template <class Layout>
enum kc_status kc_slab_clear(struct kc_slab_map<Layout> *map, struct kc_error *err);

/*
 * Set the values of n keys, whether they are present or not (REPLACE). If a key occurs several
 * times, any one of its values stays. Waits for the work.
 *   keys    in, [n], n below 2^32
 *   values  in, [n]; NULL: 1 each. Ignored in a set. kc_slab_pair64: not 0
 * KC_ENOMEM if there is no slab for some keys (all others are in) or no memory to note which; no
 * key that was present is lost, and the whole batch may be inserted again. KC_EUSAGE if n is too
 * large, for values of 0 in kc_slab_pair64 (all other pairs are in), or with `reuse`.
 */
template <class Layout>
enum kc_status kc_slab_insert(struct kc_slab_map<Layout> *map, const typename Layout::key *keys,
                              const uint32_t *values, uint64_t n, struct kc_error *err);

/*
 * Look n keys up (SEARCH).
 *   keys    in, [n], n below 2^32
 *   values  out, [n]: KC_SLAB_ABSENT for an absent key
 * KC_EUSAGE if n is too large.
 */
template <class Layout>
enum kc_status kc_slab_find(const struct kc_slab_map<Layout> *map, const typename Layout::key *keys,
                            uint32_t *values, uint64_t n, struct kc_error *err);

/* Erase n keys [n], n below 2^32 (DELETE); absent ones are ignored. If kc_slab_run has inserted a
 * key several times, each occurrence in keys erases one instance. KC_EUSAGE if n is too large;
 * KC_ENOMEM, and then nothing is erased. */
template <class Layout>
enum kc_status kc_slab_erase(struct kc_slab_map<Layout> *map, const typename Layout::key *keys,
                             uint64_t n, struct kc_error *err);

/*
 * Copy all elements, in no particular order. Waits for the work.
 *   keys    out, [cap]
 *   values  out, [cap], or NULL; left alone in a set
 *   n       out, host: how many there are, even if more than cap
 */
template <class Layout>
enum kc_status kc_slab_export(const struct kc_slab_map<Layout> *map, typename Layout::key *keys,
                              uint32_t *values, uint64_t cap, uint64_t *n, struct kc_error *err);

/*
 * Move all elements to a new map, which has no places of deleted elements; the elements of one key
 * may change their order, and pending operations are forgotten. Waits for the work.
 *   capacity  elements that the heads of the lists have room for; 0: as many lists as now
 * Both maps and a copy of the elements exist meanwhile. On failure the old map is kept: KC_EUSAGE
 * if that takes too many lists; KC_ENOMEM.
 */
template <class Layout>
enum kc_status kc_slab_rebuild(struct kc_slab_map<Layout> *map, uint64_t capacity,
                               struct kc_error *err);

/* ---- beyond the common part ---- */

/* Operations, all arrays on the device. */
template <class Layout> struct kc_slab_ops {
        size_t n;                         /* below 2^32 */
        enum kc_slab_kind kind;           /* of all, if `kinds` is NULL */
        const uint8_t *kinds;             /* [n] enum kc_slab_kind */
        const typename Layout::key *keys; /* [n] */
        const uint32_t *values; /* [n] for INSERT, REPLACE, ADD; NULL: 1; kc_slab_pair64: not 0 */
        const uint32_t *lists;  /* [n] if `named` */
        uint32_t *results; /* out [n] or NULL. SEARCH, REPLACE, ADD and DELETE: the previous value
                              (undefined for DELETE in kc_slab_pair64); SEARCH_ALL and DELETE_ALL:
                              the number of elements. 1 in layouts without values. 0 if the key was
                              absent */
        uint32_t *hits;    /* out [ceil(n / 32)] or NULL: bit i: key i was present */
        uint32_t *found_numbers, *found_values; /* out [found_cap] or NULL: operation number and
                                                   value of each element that a SEARCH_ALL finds, in
                                                   any order; only numbers in layouts without
                                                   values */
        size_t found_cap;
        uint64_t nfound;   /* out, host: how many were found, even if more than found_cap */
        uint64_t nrefused; /* out, host: invalid operations */
};

/*
 * Do the operations, concurrently and each atomically (but see list.cuh for those on all elements
 * of a key). The pool grows if it must. Waits for the work, unless all operations are of one kind
 * that inserts nothing, lists are not named and no found elements are to be reported.
 *
 * KC_EUSAGE for invalid operations: a kind that the map does not support, a list that does not
 * exist, a reserved key, a value of 0 in kc_slab_pair64. If single operations are invalid, their
 * results are 0, they are counted in nrefused, and the others are done.
 * KC_ENOMEM if there is no slab for map->npending operations; the others are done.
 */
template <class Layout>
enum kc_status kc_slab_run(struct kc_slab_map<Layout> *map, struct kc_slab_ops<Layout> *ops,
                           struct kc_error *err);

/* Do what the last kc_slab_run left pending, with the same ops, after elements were deleted and
 * flushed, or memory was freed. Counts and found elements continue from that run. Errors as
 * above. */
template <class Layout>
enum kc_status kc_slab_resume(struct kc_slab_map<Layout> *map, struct kc_slab_ops<Layout> *ops,
                              struct kc_error *err);

/*
 * Compact lists first .. first + n - 1, and give slabs that are no longer needed back to the pool;
 * *nslabs: how many. Waits for the work unless nslabs is NULL. Lists past the last one are ignored.
 * Section IV-C4.
 */
template <class Layout>
enum kc_status kc_slab_flush(struct kc_slab_map<Layout> *map, uint32_t first, uint32_t n,
                             uint64_t *nslabs, struct kc_error *err);

/* What is in a map; waits for the work. */
struct kc_slab_stats {
        uint64_t nelements, ndeleted; /* ndeleted: places that a flush would free */
        uint64_t nslabs, longest;     /* of all lists, including heads; of the longest list */
        double utilization; /* bytes of keys and values over bytes of slabs, section III-C */
};

template <class Layout>
enum kc_status kc_slab_measure(const struct kc_slab_map<Layout> *map, struct kc_slab_stats *stats,
                               struct kc_error *err);

/*
 * All elements, with their lists; lists come in any order, the elements of a list in its order if
 * cap suffices. Waits for the work.
 *   keys, values, lists   out [cap] device; values and lists may be NULL
 *   n                     out, host: how many there are, even if more than cap
 */
template <class Layout>
enum kc_status kc_slab_export_lists(const struct kc_slab_map<Layout> *map,
                                    typename Layout::key *keys, uint32_t *values, uint32_t *lists,
                                    uint64_t cap, uint64_t *n, struct kc_error *err);

/* ---- arithmetic */

enum : uint32_t {
        KC_SLAB_MIX_1 = UINT32_C(0x9e3779b1), /* odd, and their inverses modulo 2^32 */
        KC_SLAB_UNMIX_1 = UINT32_C(0x0e8b2f51),
        KC_SLAB_MIX_2 = UINT32_C(0xc2b2ae3d),
        KC_SLAB_UNMIX_2 = UINT32_C(0xa89ed915),
};

KC_HD uint32_t kc_slab_mix(uint32_t key)
{
        key = (key ^ key >> 16) * KC_SLAB_MIX_1;
        key = (key ^ key >> 15) * KC_SLAB_MIX_2;
        return key ^ key >> 16;
}

KC_HD uint32_t kc_slab_unmix(uint32_t mixed)
{
        mixed = (mixed ^ mixed >> 16) * KC_SLAB_UNMIX_2;
        mixed = (mixed ^ mixed >> 15 ^ mixed >> 30) * KC_SLAB_UNMIX_1;
        return mixed ^ mixed >> 16;
}

KC_HD uint32_t kc_slab_top(uint32_t mixed)
{
        return mixed;
}

KC_HD uint32_t kc_slab_top(kc_key64 mixed)
{
        return (uint32_t)(mixed >> 32);
}

/* Which list a key goes to, and what is stored of it. */
template <class Key> struct kc_slab_home {
        uint32_t list;
        Key stored;
};

template <class Key>
KC_HD kc_slab_home<Key> kc_slab_map_home(Key key, uint32_t nlists, uint64_t seed)
{
        Key mixed = kc_slab_mix((Key)(key ^ (Key)seed));
        uint32_t list = (uint32_t)((uint64_t)kc_slab_top(mixed) * nlists >> 32);
        return { list, list == 0 ? (Key)~mixed : mixed };
}

template <class Key> KC_HD Key kc_slab_map_key(uint32_t list, Key stored, uint64_t seed)
{
        return kc_slab_unmix(list == 0 ? (Key)~stored : stored) ^ (Key)seed;
}

#endif
