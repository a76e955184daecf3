/*
 * How a level of the LSM is searched: by fences, a tree without pointers over the sorted words.
 *
 *      tier 2                 r                             the last word of each FAN of tier 1
 *      tier 1     h           p         r                   the last word of each FAN words
 *      tier 0   a d f h   i k n p   q r                     the level
 *
 * A node is FAN adjacent words, 32 or 64 bytes: a few full-width loads, which touch no memory
 * sector in vain. On the way down, each node's last word is known to be high enough, so the answer
 * is always in it. A block keeps the upper tiers in shared memory, as many as fit; below them, a
 * search reads one node per tier, where a binary search would read three. A level of 2^26 words of
 * 32 bits takes five nodes, of which the last one or two come from beyond the L2.
 *
 * Words are only ever compared with the least word of a key. So the order of tombstones, and of
 * elements with the same key, does not matter.
 */
#ifndef KC_GPU_MAPS_LSM_SEARCH_CUH
#define KC_GPU_MAPS_LSM_SEARCH_CUH

#include "gpu/maps/lsm/map.cuh"

#include <cstring>

enum { KC_LSM_MAX_TIERS = 16 };

/* What a kind of words means. */
template <class Word> struct kc_lsm_kind {
        enum { SUMS = true, KEY_NBITS = 8 * sizeof(Word) };
        enum : uint32_t { FAN_BITS = sizeof(Word) == 8 ? 3 : 2 };
        typedef Word ordered;

        static KC_HD Word key(Word word)
        {
                return word;
        }

        /* The least word of a key. */
        static KC_HD Word least(Word key)
        {
                return key;
        }

        static KC_HD bool is_tombstone(Word, uint32_t value)
        {
                return value == 0;
        }
};

/* A word that compares as its key does. */
struct kc_lsm_ordered {
        uint32_t word;
};

KC_HD bool operator<=(kc_lsm_ordered a, kc_lsm_ordered b)
{
        return a.word <= (b.word | 1);
}

template <> struct kc_lsm_kind<uint32_t> {
        enum { SUMS = false, KEY_NBITS = 31 };
        enum : uint32_t { FAN_BITS = 3 };
        typedef kc_lsm_ordered ordered;

        static KC_HD uint32_t key(uint32_t word)
        {
                return word >> 1;
        }

        static KC_HD uint32_t least(uint32_t key)
        {
                return key << 1;
        }

        static KC_HD bool is_tombstone(uint32_t word, uint32_t)
        {
                return !(word & 1);
        }
};

template <class Word> KC_HD Word kc_lsm_max_key(void)
{
        return (Word)((Word) ~(Word)0 >> (8 * (int)sizeof(Word) - kc_lsm_kind<Word>::KEY_NBITS));
}

/* The word of a placebo: the greatest key, a tombstone in both kinds. Its value is 0. */
template <class Word> KC_HD Word kc_lsm_placebo(void)
{
        return kc_lsm_kind<Word>::least(kc_lsm_max_key<Word>());
}

template <class Word> KC_HD bool kc_lsm_same_key(Word a, Word b)
{
        return kc_lsm_kind<Word>::key(a) == kc_lsm_kind<Word>::key(b);
}

/* ---- the tiers of a level */

template <class Word> struct kc_lsm_fan {
        enum : uint32_t { BITS = kc_lsm_kind<Word>::FAN_BITS, N = 1u << BITS };
};

/* The fences are tiers 1 to ntiers, one after the other, each starting at a node boundary. */
struct kc_lsm_tiers {
        uint32_t ntiers;
        uint32_t n[KC_LSM_MAX_TIERS];     /* words of a tier; n[0]: of the level */
        uint32_t begin[KC_LSM_MAX_TIERS]; /* where tiers 1 and up begin */
        uint32_t nfences;                 /* the room they take, in words */
};

template <class Word> KC_HD kc_lsm_tiers kc_lsm_tiers_of(uint32_t n)
{
        enum : uint32_t { BITS = kc_lsm_fan<Word>::BITS, FAN = kc_lsm_fan<Word>::N };
        kc_lsm_tiers tiers = {};
        tiers.n[0] = n;
        while (tiers.n[tiers.ntiers] > FAN) {
                uint32_t above = ((tiers.n[tiers.ntiers] - 1) >> BITS) + 1;
                tiers.ntiers++;
                tiers.n[tiers.ntiers] = above;
                tiers.begin[tiers.ntiers] = tiers.nfences;
                tiers.nfences += (above + FAN - 1) & ~(FAN - 1);
        }
        return tiers;
}

/* Word i of a tier is word number kc_lsm_fence_rank of the level; i < tiers->n[tier]. */
template <class Word>
KC_HD uint32_t kc_lsm_fence_rank(const kc_lsm_tiers *tiers, uint32_t tier, uint32_t i)
{
        uint64_t end = (uint64_t)(i + (uint64_t)1) << (tier * kc_lsm_fan<Word>::BITS);
        return (uint32_t)(end < tiers->n[0] ? end : tiers->n[0]) - 1;
}

/* Store word number `at` of the level in all fences that it is. */
template <class Word>
KC_HD void kc_lsm_put_fences(const kc_lsm_tiers *tiers, Word *fences, uint32_t at, Word word)
{
        enum : uint32_t { BITS = kc_lsm_fan<Word>::BITS };
        const uint32_t end = at + 1;
        for (uint32_t tier = 1; tier <= tiers->ntiers; tier++) {
                if (end != tiers->n[0] && (end & ((1u << (tier * BITS)) - 1)) != 0)
                        return;
                fences[tiers->begin[tier] + (at >> (tier * BITS))] = word;
        }
}

/* ---- searching */

/* A level as a kernel sees it; words and fences are readable to the end of their last node. */
template <class Word> struct kc_lsm_level_view {
        const Word *words;      /* [n] */
        const uint32_t *values; /* [n] */
        const Word *fences;
        uint32_t n;
        uint32_t begin[KC_LSM_MAX_TIERS];
        uint32_t top, top_n; /* the tier that is in shared memory, and its length */
        uint32_t top_at;     /* its place there */
};

/* The occupied levels, newest first. */
template <class Word> struct kc_lsm_view {
        uint32_t nlevels, ntops; /* ntops: words in shared memory */
        kc_lsm_level_view<Word> levels[KC_LSM_MAX_LEVELS];
};

template <class Word>
KC_HD const Word *kc_lsm_tier(const kc_lsm_level_view<Word> *level, uint32_t tier)
{
        return tier > 0 ? level->fences + level->begin[tier] : level->words;
}

/* Bit i: word i of the node is not below `least`. */
template <class Word> KC_HD uint32_t kc_lsm_node_search(const Word *node, Word least)
{
        enum : uint32_t { FAN = kc_lsm_fan<Word>::N };
        alignas(16) Word words[FAN];
#ifdef __CUDA_ARCH__
#pragma unroll
        for (uint32_t i = 0; i < sizeof words / sizeof(uint4); i++) {
                const uint4 part = __ldg((const uint4 *)node + i);
                memcpy((char *)words + i * sizeof part, &part, sizeof part);
        }
#else
        for (uint32_t i = 0; i < FAN; i++)
                words[i] = node[i];
#endif
        uint32_t found = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (uint32_t i = 0; i < FAN; i++)
                found |= (uint32_t)(words[i] >= least) << i;
        return found;
}

/* x is not 0. */
KC_HD uint32_t kc_lsm_lowest_bit(uint32_t x)
{
#ifdef __CUDA_ARCH__
        return (uint32_t)__ffs((int)x) - 1;
#else
        return (uint32_t)__builtin_ctz(x);
#endif
}

/* How many words of the level are below `least`, the least word of a key. tops: the tiers in shared
 * memory. */
template <class Word>
KC_HD uint32_t kc_lsm_find_first(const kc_lsm_level_view<Word> *level, const Word *tops, Word least)
{
        uint32_t at = kc_count_below(tops + level->top_at, level->top_n, least);
        if (at == level->top_n)
                return level->n;
        for (uint32_t tier = level->top; tier-- > 0;) {
                at <<= kc_lsm_fan<Word>::BITS;
                at += kc_lsm_lowest_bit(kc_lsm_node_search(kc_lsm_tier(level, tier) + at, least));
        }
        return at;
}

/* The same, knowing that at least `from` words are. The answer is usually near: in the same node or
 * the next. */
template <class Word>
KC_HD uint32_t kc_lsm_find_from(const kc_lsm_level_view<Word> *level, const Word *tops,
                                uint32_t from, Word least)
{
        enum : uint32_t { FAN = kc_lsm_fan<Word>::N, NNODES = 2 };
        uint32_t node = from & ~(FAN - 1), looked_for = ~0u << (from - node);
        for (uint32_t i = 0; i < NNODES && from < level->n; i++) {
                uint32_t found = kc_lsm_node_search(level->words + node, least) & looked_for;
                uint32_t at = node + (found ? kc_lsm_lowest_bit(found) : FAN);
                if (found || at >= level->n)
                        return at < level->n ? at : level->n;
                looked_for = ~0u;
                node = at;
        }
        return kc_lsm_find_first(level, tops, least);
}

/* ---- queries */

/* What is known of a key. */
struct kc_lsm_answer {
        uint32_t value;
        bool found;
};

/* Add the counts of a key's elements, starting at `at`. Returns whether a tombstone ends them. */
template <class Word, class Index>
KC_HD bool kc_lsm_sum(const Word *words, const uint32_t *values, Index at, Index n, uint32_t *sum)
{
        for (Word key = words[at]; at < n && words[at] == key; at++) {
                if (values[at] == 0)
                        return true;
                *sum = kc_count_add(*sum, values[at]);
        }
        return false;
}

/* Whether element `at` of a run, in which all elements of its key are newest first, is the newest
 * of its key, and the key is present; and its value. */
template <class Word, class Index>
KC_HD bool kc_lsm_is_valid(const Word *words, const uint32_t *values, Index at, Index n,
                           uint32_t *value)
{
        *value = 0;
        if (at > 0 && kc_lsm_same_key(words[at - 1], words[at]))
                return false;
        if (kc_lsm_kind<Word>::SUMS) {
                (void)kc_lsm_sum(words, values, at, n, value);
                return *value > 0;
        }
        *value = values[at];
        return !kc_lsm_kind<Word>::is_tombstone(words[at], *value);
}

/* Search levels from number `begin` on, newest first, until one has the key or, for counts, its
 * tombstone. */
template <class Word>
KC_HD kc_lsm_answer kc_lsm_seek(const kc_lsm_view<Word> *view, const Word *tops, uint32_t begin,
                                Word key)
{
        kc_lsm_answer answer = { 0, false };
        const Word least = kc_lsm_kind<Word>::least(key);
        for (uint32_t i = begin; i < view->nlevels && key <= kc_lsm_max_key<Word>(); i++) {
                const kc_lsm_level_view<Word> *level = &view->levels[i];
                uint32_t at = kc_lsm_find_first(level, tops, least);
                if (at == level->n || !kc_lsm_same_key(level->words[at], least))
                        continue;
                if (kc_lsm_kind<Word>::SUMS) {
                        if (kc_lsm_sum(level->words, level->values, at, level->n, &answer.value))
                                break;
                        continue;
                }
                answer.found = !kc_lsm_kind<Word>::is_tombstone(level->words[at], 0);
                answer.value = answer.found ? level->values[at] : 0;
                break;
        }
        if (kc_lsm_kind<Word>::SUMS)
                answer.found = answer.value > 0;
        return answer;
}

/* The elements of a level whose keys are in a range. */
struct kc_lsm_bounds {
        uint32_t first, n;
};

template <class Word>
KC_HD kc_lsm_bounds kc_lsm_bound(const kc_lsm_level_view<Word> *level, const Word *tops, Word from,
                                 Word to)
{
        kc_lsm_bounds bounds = { 0, 0 };
        const Word max = kc_lsm_max_key<Word>();
        if (from > to || from > max)
                return bounds;
        bounds.first = kc_lsm_find_first(level, tops, kc_lsm_kind<Word>::least(from));
        uint32_t end = to >= max ? level->n
                                 : kc_lsm_find_from(level, tops, bounds.first,
                                                    kc_lsm_kind<Word>::least((Word)(to + 1)));
        bounds.n = end - bounds.first;
        return bounds;
}

/* ---- which tiers are in shared memory */

/* Choose a tier of each level, as low as `room` words in total allow; those of large levels are
 * lowered first. There must be room for at least one node per level. */
template <class Word> static inline void kc_lsm_choose_tops(kc_lsm_view<Word> *view, uint32_t room)
{
        view->ntops = 0;
        for (uint32_t i = 0; i < view->nlevels; i++) {
                kc_lsm_tiers tiers = kc_lsm_tiers_of<Word>(view->levels[i].n);
                view->levels[i].top = tiers.ntiers;
                view->levels[i].top_n = tiers.n[tiers.ntiers];
                view->ntops += view->levels[i].top_n;
        }
        for (bool sinks = true; sinks;) {
                sinks = false;
                for (uint32_t i = view->nlevels; i-- > 0;) {
                        kc_lsm_level_view<Word> *level = &view->levels[i];
                        kc_lsm_tiers tiers = kc_lsm_tiers_of<Word>(level->n);
                        if (level->top == 0 ||
                            view->ntops - level->top_n + (uint64_t)tiers.n[level->top - 1] > room)
                                continue;
                        view->ntops += tiers.n[level->top - 1] - level->top_n;
                        level->top_n = tiers.n[--level->top];
                        sinks = true;
                }
        }
        for (uint32_t i = 0, at = 0; i < view->nlevels; at += view->levels[i++].top_n)
                view->levels[i].top_at = at;
}

#endif
