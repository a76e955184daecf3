/*
 * The GPU LSM: an ordered dictionary, for batches of insertions and deletions that alternate with
 * batches of queries.
 *
 *      level 0       b elements, or empty      newest
 *      level 1      2b                           │
 *      level i    b 2^i                          ▼
 *      ...                                     oldest
 *
 * The occupied levels are the set bits of the number r of batches. A new batch is sorted and merged
 * with levels 0, 1, ... up to the first empty one, as a carry propagates. An element is a word and
 * a value; in a level, elements are in order of their keys, and those with the same key newest
 * first. A deletion is an element too, a tombstone, which hides older elements of its key. Hidden
 * elements are stale, and stay until a cleanup.
 *
 * There are two kinds of map, by the type of the words:
 *
 *      uint32_t             the paper's: the newest value is valid. Keys have 31 bits, since the
 *                           lowest bit of a word distinguishes insertions (1) from tombstones (0).
 *      kc_key64, kc_key128  k-mers with counts: the counts of a key add up, saturating, back to its
 *                           newest tombstone. Words are keys; a count of 0 is a tombstone.
 *
 * Semantics of a batch (the paper's section III-A):
 *      1. All batches have the same size b, that of level 0.
 *      2. A batch holds insertions and deletions in any order. Queries and updates take turns.
 *      3. What a later batch says about a key replaces (counts: is added to) what was there.
 *      4. Of several insertions of a key in one batch, any one stays; counts add up.
 *      5. A deletion deletes all earlier instances; repeating it has no further effect.
 *      6. A key that the same batch inserts and deletes is deleted.
 * Instead of being padded, a batch may have fewer than b elements; its level then has fewer.
 *
 * Source: Ashkiani et al., GPU LSM: A Dynamic Dictionary Data Structure for the GPU (2018),
 * sections III and IV. Searching levels by fences is not from the paper; see search.cuh.
 *
 * Example, counting k-mers:
 *
 *      struct kc_lsm_options options = {};
 *      kc_lsm_map<kc_key64> *map = NULL;
 *      options.batch = n;
 *      options.key_nbits = 2 * k;
 *      KC_TRY(kc_lsm_new(&map, gpu, &options, stream, err));
 *      KC_TRY(kc_lsm_insert(map, kmers, counts, n, err));      arrays in device memory
 *      KC_TRY(kc_lsm_find(map, sought, found, nsought, err));
 *      ... found[i] is KC_LSM_ABSENT if there is no k-mer sought[i]
 *   out:
 *      kc_lsm_free(map);
 */
#ifndef KC_GPU_MAPS_LSM_MAP_CUH
#define KC_GPU_MAPS_LSM_MAP_CUH

#include "gpu/maps/lsm/level.cuh"

/* The kinds of words: KC_LSM_WORDS(MACRO) instantiates templates for all of them. */
#define KC_LSM_WORDS(instantiate) instantiate(uint32_t) KC_GPU_INTEGER_KEYS(instantiate)

/* The value of an absent key. A pair of 32 bits may have the value 0, too: kc_lsm_retrieve tells
 * the two apart. */
enum : uint32_t { KC_LSM_ABSENT = 0 };

enum : uint32_t { KC_LSM_MAX_KEY32 = UINT32_MAX >> 1 };

/* Words of 32 bits for a batch; key <= KC_LSM_MAX_KEY32. */
KC_HD uint32_t kc_lsm_insertion(uint32_t key)
{
        return key << 1 | 1;
}

KC_HD uint32_t kc_lsm_deletion(uint32_t key)
{
        return key << 1;
}

struct kc_lsm_options {
        size_t batch;  /* b, in elements: 1 to 2^32 - 1 */
        int key_nbits; /* bits of a key: at most 31 for words of 32 bits; 2k for k-mers. No higher
                          bit may be set. 0: 31, 64 or 128, by the type of the words */
};

/* Callers may read the fields. */
template <class Word> struct kc_lsm_map {
        struct kc_gpu_stream on;
        size_t batch;
        int key_nbits;
        uint64_t nbatches; /* resident batches r; bit i: level i is occupied */
        kc_lsm_level<Word> levels[KC_LSM_MAX_LEVELS];
        kc_lsm_level<Word> spares[2]; /* for elements on their way to a level; without fences */
        struct kc_lsm_scratch scratch;
        struct kc_lsm_sorter sorter;
};

/*
 * ---- the common part: the same functions in all five maps ----
 *
 * Arrays are in device memory and remain the caller's; n is in elements and may be 0. A map belongs
 * to one stream: its work and its memory are ordered there, and arrays must be ready in that order.
 * A call may return before its work is done, unless said otherwise: wait for the stream before the
 * host reads its results. One host thread at a time uses a map and its kc_gpu. Every call may
 * return KC_EDEVICE; the contents of the map are then undefined, and it can only be freed.
 */

/*
 * Make an empty map. A level is allocated when it is first filled, and kept until a cleanup: up to
 * 2.75 b 2^i elements if level i is the largest, including the spares that batches pass through.
 *   map      out: to be freed with kc_lsm_free; NULL on failure
 *   gpu      an open device, which must outlive the map
 *   options  copied
 *   stream   of that device; must outlive the map
 * KC_EUSAGE if the options are out of range; KC_ENOMEM.
 */
template <class Word>
enum kc_status kc_lsm_new(struct kc_lsm_map<Word> **map, struct kc_gpu *gpu,
                          const struct kc_lsm_options *options, cudaStream_t stream,
                          struct kc_error *err);

/* NULL is fine. */
template <class Word> void kc_lsm_free(struct kc_lsm_map<Word> *map);

/* Remove all elements; the levels keep their memory. */
template <class Word>
enum kc_status kc_lsm_clear(struct kc_lsm_map<Word> *map, struct kc_error *err);

/*
 * Insert n pairs, as one batch after the other (III-B). Pairs of 32 bits: sets the values of the
 * keys, whether they are present or not; if a key occurs several times in a batch, any one of its
 * values stays. Counts: adds to them, saturating; a count of 0 erases its key.
 *   keys, values  in, [n]: keys, not words
 * KC_ENOMEM if there is no memory, or a level would have 2^32 elements. Batches before the one that
 * failed are in: map->nbatches tells how many. If n is at most b, the map is unchanged.
 */
template <class Word>
enum kc_status kc_lsm_insert(struct kc_lsm_map<Word> *map, const Word *keys, const uint32_t *values,
                             uint64_t n, struct kc_error *err);

/*
 * Look n keys up, in the order given (III-D).
 *   keys    in, [n]: keys, not words; any is valid
 *   values  out, [n]: KC_LSM_ABSENT for an absent key
 */
template <class Word>
enum kc_status kc_lsm_find(const struct kc_lsm_map<Word> *map, const Word *keys, uint32_t *values,
                           uint64_t n, struct kc_error *err);

/* Erase n keys [n], by batches of tombstones; absent ones are ignored. Errors as in
 * kc_lsm_insert. */
template <class Word>
enum kc_status kc_lsm_erase(struct kc_lsm_map<Word> *map, const Word *keys, uint64_t n,
                            struct kc_error *err);

/*
 * Copy all pairs, in no particular order: each key once, with its value, and no stale elements.
 * Waits for the work.
 *   keys, values  out, [cap]: keys, not words
 *   n             out, host: how many there are, even if more than cap
 * KC_ENOMEM.
 */
template <class Word>
enum kc_status kc_lsm_export(const struct kc_lsm_map<Word> *map, Word *keys, uint32_t *values,
                             uint64_t cap, uint64_t *n, struct kc_error *err);

/* The same as kc_lsm_cleanup. An LSM has no capacity of its own, because batches create the levels:
 * `capacity` is ignored. */
template <class Word>
enum kc_status kc_lsm_rebuild(struct kc_lsm_map<Word> *map, uint64_t capacity,
                              struct kc_error *err);

/* ---- beyond the common part ---- */

/*
 * Insert and delete a batch (III-B, III-C).
 *   words, values  [n] device, n <= b; left as they are
 * For words of 32 bits the call does not wait for the work. KC_EUSAGE if n is above b; KC_ENOMEM,
 * also if a level would have 2^32 elements: the map is then unchanged.
 */
template <class Word>
enum kc_status kc_lsm_update(struct kc_lsm_map<Word> *map, const Word *words,
                             const uint32_t *values, size_t n, struct kc_error *err);

/* Fill an empty map with any number of elements, which are treated as one batch (V-B, bulk build).
 * It has no stale elements afterwards. Waits for the work. KC_EUSAGE if the map is not empty;
 * KC_ENOMEM, and then it stays empty. */
template <class Word>
enum kc_status kc_lsm_build(struct kc_lsm_map<Word> *map, const Word *words, const uint32_t *values,
                            size_t n, struct kc_error *err);

/*
 * Drop tombstones and all stale elements, and distribute the rest to as few levels as possible
 * (III-F, IV-E): smaller keys to smaller levels. The oldest level is filled up with placebos,
 * tombstones of the greatest key, which hide nothing as they come after all other elements. Waits
 * for the work. KC_ENOMEM, and then the map is unchanged.
 */
template <class Word>
enum kc_status kc_lsm_cleanup(struct kc_lsm_map<Word> *map, struct kc_error *err);

enum kc_lsm_order {
        KC_LSM_AS_GIVEN,     /* answer queries in the given order: random, or already sorted */
        KC_LSM_SORTED_FIRST, /* first sort queries roughly, so that neighbours visit the same nodes:
                                twice as fast for many queries, but takes 16 bytes of memory each */
};

/*
 * kc_lsm_find, with the order of the work chosen, and presence told apart from a value of 0.
 *   keys    [n] device: keys, not words; any is valid
 *   values  out [n] device: KC_LSM_ABSENT for an absent key
 *   found   out [n] device: 1 if the key is present, otherwise 0; may be NULL
 * KC_ENOMEM with KC_LSM_SORTED_FIRST.
 */
template <class Word>
enum kc_status kc_lsm_retrieve(const struct kc_lsm_map<Word> *map, const Word *keys,
                               uint32_t *values, size_t n, enum kc_lsm_order order, uint8_t *found,
                               struct kc_error *err);

/*
 * Count the keys present in from[i] <= key <= to[i] (III-E, IV-C).
 *   from, to  [n] device: keys; from > to is valid and counts 0
 *   counts    out [n] device
 * KC_ENOMEM.
 */
template <class Word>
enum kc_status kc_lsm_count(const struct kc_lsm_map<Word> *map, const Word *from, const Word *to,
                            uint64_t *counts, size_t n, struct kc_error *err);

/* Results of range queries; all memory is the caller's. */
template <class Word> struct kc_lsm_ranges {
        Word *keys;       /* out [cap] device: keys, not words */
        uint32_t *values; /* out [cap] device */
        size_t cap;
        uint64_t *starts; /* out [n + 1] device: query i's pairs start there */
        uint64_t *counts; /* out [n] device: the number of query i's pairs; after them there may be
                             a gap, as long as there were stale elements */
        uint64_t needed;  /* out: the cap that would suffice, starts[n] */
};

/*
 * Pairs in from[i] <= key <= to[i], in order of their keys (III-E, IV-D). Waits for the work.
 * KC_ENOMEM, with out->needed set, if that exceeds cap; then only the counts are valid.
 */
template <class Word>
enum kc_status kc_lsm_range(const struct kc_lsm_map<Word> *map, const Word *from, const Word *to,
                            size_t n, struct kc_lsm_ranges<Word> *out, struct kc_error *err);

/* Elements in all levels, including stale ones and placebos. */
template <class Word> uint64_t kc_lsm_nelements(const struct kc_lsm_map<Word> *map);

#endif
