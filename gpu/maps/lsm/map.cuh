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
 * There are two kinds of dictionary, by the type of the words:
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
 */
#ifndef KC_GPU_MAPS_LSM_MAP_CUH
#define KC_GPU_MAPS_LSM_MAP_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"

/* The kinds of words: KC_LSM_WORDS(MACRO) instantiates templates for all of them. */
#define KC_LSM_WORDS(instantiate) instantiate(uint32_t) KC_GPU_KEYS(instantiate)

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

template <class Word> struct kc_lsm_map;

/*
 * An empty dictionary.
 *   batch      b, at least 1
 *   key_nbits  bits of a key: 31 for words of 32 bits, 2k for k-mers; no higher bit may be set
 * gpu must outlive the map; one host thread at a time uses it. A level is allocated when it is
 * first filled, and kept until a cleanup: up to 2.75 b 2^i elements if level i is the largest,
 * including the spares that batches pass through. KC_EUSAGE, KC_ENOMEM.
 */
template <class Word>
enum kc_status kc_lsm_map_new(struct kc_lsm_map<Word> **map, struct kc_gpu *gpu, size_t batch,
                              int key_nbits, struct kc_error *err);
template <class Word> void kc_lsm_map_free(struct kc_lsm_map<Word> *map); /* NULL is fine */

/*
 * Insert and delete a batch (III-B, III-C).
 *   words, values  [n] device, n <= b; left as they are
 * Work is on gpu->stream; for words of 32 bits the call does not wait for it. KC_EUSAGE if n is too
 * large, or a level would have 2^32 elements; KC_ENOMEM, and then the dictionary is unchanged;
 * KC_EDEVICE.
 */
template <class Word>
enum kc_status kc_lsm_map_update(struct kc_lsm_map<Word> *map, const Word *words,
                                 const uint32_t *values, size_t n, struct kc_error *err);

/* Fill an empty dictionary with any number of elements, which are treated as one batch (V-B, bulk
 * build). It has no stale elements afterwards. Waits for the work. KC_EUSAGE if the dictionary is
 * not empty; KC_ENOMEM, KC_EDEVICE. */
template <class Word>
enum kc_status kc_lsm_map_build(struct kc_lsm_map<Word> *map, const Word *words,
                                const uint32_t *values, size_t n, struct kc_error *err);

/*
 * Drop tombstones and all stale elements, and distribute the rest to as few levels as possible
 * (III-F, IV-E): smaller keys to smaller levels. The oldest level is filled up with placebos,
 * tombstones of the greatest key, which hide nothing as they come after all other elements. Waits
 * for the work. KC_ENOMEM, and then the dictionary is unchanged; KC_EDEVICE.
 */
template <class Word>
enum kc_status kc_lsm_map_cleanup(struct kc_lsm_map<Word> *map, struct kc_error *err);

enum kc_lsm_order {
        KC_LSM_AS_GIVEN,     /* answer queries in the given order: random, or already sorted */
        KC_LSM_SORTED_FIRST, /* first sort queries roughly, so that neighbours visit the same nodes:
                                twice as fast for many queries, but takes 16 bytes of memory each */
};

/*
 * Look keys up (III-D).
 *   keys    [n] device: keys, not words; any is valid
 *   values  out [n] device: the key's value, or its count; 0 if it is absent
 *   found   out [n] device: 1 if the key is present, otherwise 0; may be NULL
 */
template <class Word>
enum kc_status kc_lsm_map_find(const struct kc_lsm_map<Word> *map, const Word *keys, size_t n,
                               enum kc_lsm_order order, uint32_t *values, uint8_t *found,
                               struct kc_error *err);

/*
 * Count the keys present in from[i] <= key <= to[i] (III-E, IV-C).
 *   from, to  [n] device: keys; from > to is valid and counts 0
 *   counts    out [n] device
 */
template <class Word>
enum kc_status kc_lsm_map_count(const struct kc_lsm_map<Word> *map, const Word *from,
                                const Word *to, size_t n, uint64_t *counts, struct kc_error *err);

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
enum kc_status kc_lsm_map_range(const struct kc_lsm_map<Word> *map, const Word *from,
                                const Word *to, size_t n, struct kc_lsm_ranges<Word> *out,
                                struct kc_error *err);

/* Resident batches r; elements in all levels, including stale ones and placebos. */
template <class Word> uint64_t kc_lsm_map_nbatches(const struct kc_lsm_map<Word> *map);
template <class Word> uint64_t kc_lsm_map_nelements(const struct kc_lsm_map<Word> *map);

#endif
