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
 */
#ifndef KC_GPU_MAPS_SLAB_MAP_CUH
#define KC_GPU_MAPS_SLAB_MAP_CUH

#include "gpu/maps/slab/list.cuh"
#include "gpu/tables/slab.cuh"

/* The layouts, and the group sizes that are compiled. */
#define KC_SLAB_MAP_LAYOUTS(instantiate) \
        instantiate(kc_slab_key32) instantiate(kc_slab_pair32) instantiate(kc_slab_key64) \
                instantiate(kc_slab_pair64)

enum : uint32_t {
        KC_SLAB_MAP_MAX_LISTS = UINT32_C(1) << 31,
        KC_SLAB_MAP_NLANES = 4,
};

struct kc_slab_map_params {
        uint32_t nlists; /* buckets: 2 to KC_SLAB_MAP_MAX_LISTS; at least 1 if `named` */
        bool named;      /* operations name their lists */
        bool reuse;      /* reuse the places of deleted elements; then no REPLACE and no ADD. Not
                            for kc_slab_pair64 */
        uint64_t seed;   /* of the mixing */
        int nlanes;      /* of a group: 8 or 4; 0: KC_SLAB_MAP_NLANES */
        struct kc_slab_pool_params pool;
};

/* What kernels count over operations. */
struct kc_slab_map_sums {
        unsigned long long npending, nrefused, nfound;
};

template <class Layout> struct kc_slab_map {
        struct kc_gpu *gpu;
        struct kc_slab_map_params params;
        struct kc_slab_pool pool;
        char *heads;       /* device [nlists] slabs */
        uint32_t *pending; /* device: a bit for each operation not yet done; otherwise zero */
        size_t pending_nwords;
        struct kc_slab_map_state *state; /* device */
        struct kc_slab_map_sums heard;   /* host copy of its sums */
        uint64_t npending;               /* operations that kc_slab_map_resume would do */
};

/* The number of lists for which n elements fill `load` slabs per list on average (the paper's beta:
 * up to 0.7, most lists are one slab). */
template <class Layout> static inline uint32_t kc_slab_map_nlists(uint64_t n, double load)
{
        double nlists = (double)n / (load * Layout::NPLACES);
        return nlists < 2 ? 2 : nlists < 2147483647.0 ? (uint32_t)nlists : 2147483647u;
}

/*
 * Make an empty map. KC_EUSAGE for params out of range; KC_ENOMEM, KC_EDEVICE. Free it even if that
 * fails; freeing a zeroed map does nothing. gpu must outlive it; one host thread at a time uses it.
 */
template <class Layout>
enum kc_status kc_slab_map_init(struct kc_slab_map<Layout> *map, struct kc_gpu *gpu,
                                const struct kc_slab_map_params *params, struct kc_error *err);
template <class Layout> void kc_slab_map_free(struct kc_slab_map<Layout> *map);

/* Remove all elements, in order of gpu->stream; the pool keeps its size. */
template <class Layout>
enum kc_status kc_slab_map_clear(struct kc_slab_map<Layout> *map, struct kc_error *err);

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
 * of a key). The pool grows if it must. Waits for gpu->stream, unless all operations are of one
 * kind that inserts nothing, lists are not named and no found elements are to be reported.
 *
 * KC_EUSAGE for invalid operations: a kind that the map does not support, a list that does not
 * exist, a reserved key, a value of 0 in kc_slab_pair64. If single operations are invalid, their
 * results are 0, they are counted in nrefused, and the others are done.
 * KC_ENOMEM if there is no slab for map->npending operations; the others are done. KC_EDEVICE.
 */
template <class Layout>
enum kc_status kc_slab_map_run(struct kc_slab_map<Layout> *map, struct kc_slab_ops<Layout> *ops,
                               struct kc_error *err);

/* Do what the last kc_slab_map_run left pending, with the same ops, after elements were deleted and
 * flushed, or memory was freed. Counts and found elements continue from that run. Errors as
 * above. */
template <class Layout>
enum kc_status kc_slab_map_resume(struct kc_slab_map<Layout> *map, struct kc_slab_ops<Layout> *ops,
                                  struct kc_error *err);

/*
 * Compact lists first .. first + n - 1, and give slabs that are no longer needed back to the pool;
 * *nslabs: how many. Waits for gpu->stream unless nslabs is NULL. Lists past the last one are
 * ignored. Section IV-C4.
 */
template <class Layout>
enum kc_status kc_slab_map_flush(struct kc_slab_map<Layout> *map, uint32_t first, uint32_t n,
                                 uint64_t *nslabs, struct kc_error *err);

/* What is in a map; waits for gpu->stream. */
struct kc_slab_map_stats {
        uint64_t nelements, ndeleted; /* ndeleted: places that a flush would free */
        uint64_t nslabs, longest;     /* of all lists, including heads; of the longest list */
        double utilization; /* bytes of keys and values over bytes of slabs, section III-C */
};

template <class Layout>
enum kc_status kc_slab_map_measure(struct kc_slab_map<Layout> *map, struct kc_slab_map_stats *stats,
                                   struct kc_error *err);

/*
 * All elements; lists come in any order, the elements of a list in its order if cap suffices.
 *   keys, values, lists   out [cap] device; values and lists may be NULL
 *   n                     out, host: how many there are, even if more than cap
 * Waits for gpu->stream.
 */
template <class Layout>
enum kc_status kc_slab_map_dump(struct kc_slab_map<Layout> *map, typename Layout::key *keys,
                                uint32_t *values, uint32_t *lists, size_t cap, uint64_t *n,
                                struct kc_error *err);

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
