/*
 * What a slot of the WarpDrive map is, by layout. Keys lie in it mixed (probe.cuh).
 *
 *      kc_wd_pair32    one 64-bit word a slot: a key of 32 bits, a value of 32 above it
 *      kc_wd_words     one 64-bit word a slot: remainder and count of a key of up to 64 bits
 *      kc_wd_apart64   keys of 64 bits in one array, values of 32 in another
 *      kc_wd_near64    a key of 64 bits and its value in one slot of 16 bytes
 *      kc_wd_apart128  keys of 128 bits in one array, values of 32 in another
 *
 * Between two barriers (launches) a slot only changes from free or tombstone to a key, or only from
 * a key to tombstone. If a launch only puts and looks up, what a group saw of a slot may be
 * outdated, but a key that it saw is still there, and compare-and-swap fails on a slot that was
 * taken. So two groups with the same key, which both take the first slot of its sequence that is
 * not another key's, end at the same slot.
 *
 * A layout has
 *      key, seen, wanted        types: of keys; of what a lane reads of a slot; of what is sought
 *      want(shape, mixed, &p)   what is sought, and where probing begins
 *      SLOTS_16                 slots of 16 bytes of keys
 *      load<N, STILL>(slot, a)  N neighbouring slots. STILL: nobody writes to the map
 *      look(seen, wanted, nth)  nth: number of the probe
 *      claim(...)               make the slot the key's, with its value. tomb: it was seen as
 *                               KC_WD_GONE. KC_WD_FOUND: the key has the slot, but not the value
 *      set, add                 on a key that is there; adding stops at UINT32_MAX. Both are
 *                               atomic operations: where many lanes have one frequent key, stores
 *                               to its slot wait for each other
 *      value_of(slot, seen)
 *      erase(slot, seen)        true for the one of several that did it
 *      get(slot, ...)           for walking over all slots
 *      odd(mixed)               the number of a key that looks like a mark and has a place of its
 *                               own, KC_WD_ODD_NONE for others, KC_WD_ODD_REFUSED: it cannot be
 *                               kept with this seed
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_SLOTS_CUH
#define KC_GPU_MAPS_WARPDRIVE_SLOTS_CUH

#include "gpu/device/swap128.cuh"
#include "gpu/maps/warpdrive/probe.cuh"

#include <cuda_runtime.h>

enum kc_wd_look { KC_WD_OTHER, KC_WD_MATCH, KC_WD_OPEN, KC_WD_GONE };
enum kc_wd_claim { KC_WD_LOST, KC_WD_CLAIMED, KC_WD_FOUND };
enum kc_wd_mode { KC_WD_INSERT, KC_WD_ADD };
enum { KC_WD_NODD = 2, KC_WD_ODD_NONE = -1, KC_WD_ODD_REFUSED = -2 };

static constexpr uint64_t KC_WD_NONE = UINT64_MAX;
static constexpr uint64_t KC_WD_GONE_KEY = UINT64_MAX - 1;

static __device__ __forceinline__ uint64_t kc_wd_swap(uint64_t *at, uint64_t expected,
                                                      uint64_t value)
{
        return atomicCAS((unsigned long long *)at, (unsigned long long)expected,
                         (unsigned long long)value);
}

/*
 * N neighbouring words, 16 bytes at a time. If nobody writes to the map, several loads from a
 * sector are served by the L1 cache. The halves of a word must be from the same moment. PTX
 * guarantees that only within 32 bits of such a load; we rely on the hardware, which serves aligned
 * 16 bytes in one access to a sector. For loads of two 64-bit words PTX would guarantee it, but
 * these change how all kernels are compiled.
 */
template <uint32_t N, bool STILL>
static __device__ __forceinline__ void kc_wd_load(const uint64_t *from, uint64_t *to)
{
        if constexpr (N == 1)
                to[0] = __ldcg((const unsigned long long *)from);
        else
#pragma unroll
                for (uint32_t i = 0; i < N; i += 2) {
                        const uint4 *at = (const uint4 *)(from + i);
                        uint4 pair = STILL ? *at : __ldcg(at);
                        to[i] = (uint64_t)pair.y << 32 | pair.x;
                        to[i + 1] = (uint64_t)pair.w << 32 | pair.z;
                }
}

/* Add, saturating at UINT32_MAX: a thread whose addition wraps sets that value, and any later
 * addition wraps again. */
static __device__ __forceinline__ void kc_wd_add_count(uint32_t *at, uint32_t weight)
{
        if (atomicAdd(at, weight) + (uint64_t)weight > UINT32_MAX)
                atomicExch(at, UINT32_MAX);
}

/* ---- 32 + 32 bits ---- */

struct kc_wd_pair32 {
        typedef uint32_t key;
        typedef uint64_t seen;
        typedef uint32_t wanted;
        static constexpr bool COUNTS_ONLY = false;
        enum : uint32_t { SLOTS_16 = 2 };
        static constexpr uint64_t GONE = UINT32_MAX; /* the odd key, value 0 */

        uint64_t *words;

        __device__ void set_part(uint64_t *own, uint64_t)
        {
                words = own;
        }

        static KC_HD int odd(uint32_t mixed)
        {
                return mixed == UINT32_MAX ? 0 : (int)KC_WD_ODD_NONE;
        }

        __device__ wanted want(const kc_wd_shape &shape, uint32_t mixed, kc_wd_probing *p) const
        {
                *p = kc_wd_probing_begin(shape, kc_wd_hash(mixed, 32));
                return mixed;
        }

        template <uint32_t N, bool STILL> __device__ void load(uint64_t slot, seen *there) const
        {
                kc_wd_load<N, STILL>(&words[slot], there);
        }

        __device__ kc_wd_look look(seen word, wanted key, uint32_t) const
        {
                if ((uint32_t)word == key)
                        return KC_WD_MATCH;
                return word == KC_WD_FREE ? KC_WD_OPEN : word == GONE ? KC_WD_GONE : KC_WD_OTHER;
        }

        static __device__ uint64_t word_of(wanted key, uint32_t value)
        {
                return (uint64_t)value << 32 | key;
        }

        __device__ kc_wd_claim claim(uint64_t slot, bool tomb, wanted key, uint32_t, uint32_t value,
                                     kc_wd_mode)
        {
                uint64_t expected = tomb ? GONE : KC_WD_FREE;
                uint64_t was = kc_wd_swap(&words[slot], expected, word_of(key, value));
                return was == expected        ? KC_WD_CLAIMED
                       : (uint32_t)was == key ? KC_WD_FOUND
                                              : KC_WD_LOST;
        }

        __device__ void set(uint64_t slot, wanted key, uint32_t value)
        {
                atomicExch((unsigned long long *)&words[slot],
                           (unsigned long long)word_of(key, value));
        }

        __device__ void add(uint64_t slot, wanted key, uint32_t weight)
        {
                uint64_t was = atomicAdd((unsigned long long *)&words[slot],
                                         (unsigned long long)weight << 32);
                if ((was >> 32) + weight > UINT32_MAX)
                        atomicExch((unsigned long long *)&words[slot],
                                   (unsigned long long)word_of(key, UINT32_MAX));
        }

        __device__ uint32_t value_of(uint64_t, seen word) const
        {
                return (uint32_t)(word >> 32);
        }

        __device__ bool erase(uint64_t slot, seen word)
        {
                return kc_wd_swap(&words[slot], word, GONE) == word;
        }

        __device__ bool get(const kc_wd_shape &, uint64_t slot, uint32_t *mixed,
                            uint32_t *value) const
        {
                *mixed = (uint32_t)words[slot];
                *value = (uint32_t)(words[slot] >> 32);
                return *mixed != UINT32_MAX;
        }
};

/* ---- remainder and count ---- */

/*
 * How often counts have wrapped, by slot: linear probing, at most half full. A count of c bits
 * wraps once per 2^c, so there are few, and the host knows a bound (kc_wd_map.weight).
 */
struct kc_wd_wraps {
        uint64_t *slots; /* [mask + 1]; NULL: no count can have wrapped yet */
        uint32_t *times;
        uint64_t mask;

        __device__ void add(uint64_t slot, uint32_t n)
        {
                uint64_t at = slot * KC_WD_SCATTER >> 20 & mask;
                for (uint64_t i = 0; i <= mask; i++, at = (at + 1) & mask) {
                        uint64_t was = kc_wd_swap(&slots[at], KC_WD_NONE, slot);
                        if (was == KC_WD_NONE || was == slot) {
                                kc_wd_add_count(&times[at], n);
                                return;
                        }
                }
        }

        __device__ uint32_t *find(uint64_t slot) const
        {
                if (slots == NULL)
                        return NULL;
                uint64_t at = slot * KC_WD_SCATTER >> 20 & mask;
                for (uint64_t i = 0; i <= mask && slots[at] != KC_WD_NONE;
                     i++, at = (at + 1) & mask)
                        if (slots[at] == slot)
                                return &times[at];
                return NULL;
        }
};

struct kc_wd_words {
        typedef kc_key64 key;
        typedef uint64_t seen;
        typedef uint64_t wanted; /* the remainder */
        static constexpr bool COUNTS_ONLY = true;
        enum : uint32_t { SLOTS_16 = 2 };

        uint64_t *words;
        uint64_t first; /* number of slot words[0], by which wraps are kept */
        kc_wd_word_shape shape_of;
        kc_wd_wraps wraps;

        __device__ void set_part(uint64_t *own, uint64_t first_slot)
        {
                words = own;
                first = first_slot;
        }

        static KC_HD int odd(kc_key64)
        {
                return KC_WD_ODD_NONE;
        }

        __device__ wanted want(const kc_wd_shape &shape, kc_key64 mixed, kc_wd_probing *p) const
        {
                uint64_t remainder;
                *p = kc_wd_probing_words(shape, mixed, &remainder);
                return remainder;
        }

        template <uint32_t N, bool STILL> __device__ void load(uint64_t slot, seen *there) const
        {
                kc_wd_load<N, STILL>(&words[slot], there);
        }

        __device__ kc_wd_look look(seen word, wanted remainder, uint32_t number) const
        {
                uint64_t but_count = word & kc_wd_word_mask(shape_of);
                if (but_count == kc_wd_word_of(shape_of, remainder, number))
                        return KC_WD_MATCH;
                uint32_t short_of_free =
                        kc_wd_free_number(shape_of) - kc_wd_word_number(shape_of, word);
                return short_of_free == 0   ? KC_WD_OPEN
                       : short_of_free == 1 ? KC_WD_GONE
                                            : KC_WD_OTHER;
        }

        __device__ kc_wd_claim claim(uint64_t slot, bool tomb, wanted remainder, uint32_t number,
                                     uint32_t weight, kc_wd_mode)
        {
                uint64_t expected = tomb ? kc_wd_word_tombstone(shape_of) : KC_WD_FREE;
                uint64_t but_count = kc_wd_word_of(shape_of, remainder, number);
                uint64_t was = kc_wd_swap(&words[slot], expected, but_count | lift(weight));
                if (was != expected)
                        return (was & kc_wd_word_mask(shape_of)) == but_count ? KC_WD_FOUND
                                                                              : KC_WD_LOST;
                note_wraps(slot, (uint64_t)weight >> shape_of.count_bits);
                return KC_WD_CLAIMED;
        }

        __device__ void set(uint64_t, wanted, uint32_t)
        {
        }

        __device__ void add(uint64_t slot, wanted, uint32_t weight)
        {
                uint64_t lifted = lift(weight), was = add_lifted(slot, lifted);
                uint64_t sum = kc_wd_word_count(shape_of, was) + kc_wd_word_count(shape_of, lifted);
                note_wraps(slot, ((uint64_t)weight >> shape_of.count_bits) +
                                         (sum >> shape_of.count_bits));
        }

        __device__ uint32_t value_of(uint64_t slot, seen word) const
        {
                uint64_t count = kc_wd_word_count(shape_of, word);
                const uint32_t *times = wraps.find(slot);
                count += times == NULL ? 0 : (uint64_t)*times << shape_of.count_bits;
                return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        }

        __device__ bool erase(uint64_t slot, seen word)
        {
                if (kc_wd_swap(&words[slot], word, kc_wd_word_tombstone(shape_of)) != word)
                        return false;
                uint32_t *times = wraps.find(slot);
                if (times != NULL)
                        *times = 0;
                return true;
        }

        __device__ bool get(const kc_wd_shape &shape, uint64_t slot, kc_key64 *mixed,
                            uint32_t *value) const
        {
                uint64_t word = words[slot];
                if (kc_wd_word_number(shape_of, word) + 1 >= kc_wd_free_number(shape_of))
                        return false;
                *mixed = kc_wd_word_mixed(shape, shape_of, slot, word);
                *value = value_of(slot, word);
                return true;
        }

      private:
        /* A weight's low bits, where the count is. */
        __device__ uint64_t lift(uint32_t weight) const
        {
                return (uint64_t)weight << (64 - shape_of.count_bits);
        }

        /*
         * Shared memory adds 32 bits in one go, and 64 in a loop. Returns the count that was there,
         * and any other bits.
         *
         * In PTX's terms, additions of 32 bits race with swaps of the whole word. That is harmless:
         * a swap expects a free slot or a tombstone, which differ from a key's slot in bits outside
         * the count. An addition changes only the count, and only in a slot in which the key was
         * seen.
         */
        __device__ uint64_t add_lifted(uint64_t slot, uint64_t lifted)
        {
                if (shape_of.count_bits > 32)
                        return atomicAdd((unsigned long long *)&words[slot],
                                         (unsigned long long)lifted);
                return (uint64_t)atomicAdd((uint32_t *)&words[slot] + 1, (uint32_t)(lifted >> 32))
                       << 32;
        }

        __device__ void note_wraps(uint64_t slot, uint64_t times)
        {
                if (times != 0)
                        wraps.add(first + slot, (uint32_t)times);
        }
};

/* ---- keys of one word or two, and values ---- */

/*
 * Slot i's key is at keys + i * KEY_STRIDE, its value at values + i * VALUE_STRIDE. The low word of
 * a key marks free slots and tombstones. A key of two words is claimed by its low word, then by its
 * high one, which is KC_WD_FREE until then: any thread with the same low word may be the first to
 * write the high one, so no thread waits.
 */
template <class Key, int KEY_STRIDE, int VALUE_STRIDE> struct kc_wd_apart {
        typedef Key key;
        struct seen {
                Key key;
                uint32_t value; /* if adjacent to the key */
        };
        typedef Key wanted;
        static constexpr bool COUNTS_ONLY = false;
        static constexpr bool NEAR = KEY_STRIDE == VALUE_STRIDE, WIDE = sizeof(Key) == 16;
        enum : uint32_t { SLOTS_16 = 16 / KEY_STRIDE };

        unsigned char *keys;
        unsigned char *values;

        static KC_HD int odd(Key mixed)
        {
                bool looks_like_mark = (uint64_t)mixed >= KC_WD_GONE_KEY;
                if (!WIDE)
                        return looks_like_mark ? (int)((uint64_t)mixed & 1) : (int)KC_WD_ODD_NONE;
                return looks_like_mark || high_of(mixed) == KC_WD_FREE ? (int)KC_WD_ODD_REFUSED
                                                                       : (int)KC_WD_ODD_NONE;
        }

        __device__ wanted want(const kc_wd_shape &shape, Key mixed, kc_wd_probing *p) const
        {
                *p = kc_wd_probing_begin(shape, kc_wd_hash(mixed, 64));
                return mixed;
        }

        template <uint32_t N, bool STILL> __device__ void load(uint64_t slot, seen *there) const
        {
                enum : uint32_t { NWORDS = KEY_STRIDE / 8 };
                uint64_t words[N * NWORDS];
                kc_wd_load<N * NWORDS, STILL>(words_at(slot), words);
#pragma unroll
                for (uint32_t i = 0; i < N; i++) {
                        uint64_t low = words[i * NWORDS], high = words[(i + 1) * NWORDS - 1];
                        there[i].key = WIDE ? (Key)high << (WIDE ? 64 : 0) | low : (Key)low;
                        there[i].value = (uint32_t)high;
                }
        }

        __device__ kc_wd_look look(seen there, wanted key, uint32_t) const
        {
                uint64_t low = (uint64_t)there.key;
                if (there.key == key)
                        return KC_WD_MATCH;
                if (low >= KC_WD_GONE_KEY)
                        return low == KC_WD_FREE ? KC_WD_OPEN : KC_WD_GONE;
                return WIDE && low == (uint64_t)key && high_of(there.key) == KC_WD_FREE
                               ? KC_WD_GONE
                               : KC_WD_OTHER;
        }

        __device__ kc_wd_claim claim(uint64_t slot, bool tomb, wanted key, uint32_t, uint32_t value,
                                     kc_wd_mode mode)
        {
                if constexpr (NEAR && KC_HAS_SWAP128)
                        return claim_all(slot, tomb, key, value);
                kc_wd_claim got = claim_key(words_at(slot), tomb, key);
                if (got == KC_WD_CLAIMED && mode == KC_WD_ADD)
                        add(slot, key, value);
                else if (got == KC_WD_CLAIMED)
                        __stcg(value_at(slot), value);
                return got;
        }

        __device__ void set(uint64_t slot, wanted, uint32_t value)
        {
                atomicExch(value_at(slot), value);
        }

        __device__ void add(uint64_t slot, wanted, uint32_t weight)
        {
                kc_wd_add_count(value_at(slot), weight);
        }

        __device__ uint32_t value_of(uint64_t slot, seen there) const
        {
                return NEAR ? there.value : __ldcg(value_at(slot));
        }

        /* Leaves the value 0 for the next key here. */
        __device__ bool erase(uint64_t slot, seen there)
        {
                uint64_t low = (uint64_t)there.key;
                if (kc_wd_swap(words_at(slot), low, KC_WD_GONE_KEY) != low)
                        return false;
                if (WIDE)
                        words_at(slot)[1] = KC_WD_FREE;
                *value_at(slot) = 0;
                return true;
        }

        __device__ bool get(const kc_wd_shape &, uint64_t slot, Key *mixed, uint32_t *value) const
        {
                seen there[1];
                load<1, true>(slot, there);
                *mixed = there->key;
                *value = *value_at(slot);
                return (uint64_t)*mixed < KC_WD_GONE_KEY;
        }

      protected:
        /* words: the slot's key. */
        static __device__ kc_wd_claim claim_key(uint64_t *words, bool tomb, Key key)
        {
                uint64_t expected = free_or_gone(tomb), low = (uint64_t)key;
                uint64_t was = kc_wd_swap(words, expected, low);
                if (was != expected && was != low)
                        return KC_WD_LOST;
                if (!WIDE)
                        return was == low ? KC_WD_FOUND : KC_WD_CLAIMED;
                was = kc_wd_swap(words + 1, KC_WD_FREE, high_of(key));
                return was == KC_WD_FREE     ? KC_WD_CLAIMED
                       : was == high_of(key) ? KC_WD_FOUND
                                             : KC_WD_LOST;
        }

      private:
        static __device__ uint64_t free_or_gone(bool tomb)
        {
                return tomb ? KC_WD_GONE_KEY : KC_WD_FREE;
        }

        /* Values of free slots and of tombstones are 0. */
        __device__ kc_wd_claim claim_all(uint64_t slot, bool tomb, Key key, uint32_t value)
        {
                uint64_t expected = free_or_gone(tomb), low = (uint64_t)key;
                uint64_t was = (uint64_t)kc_swap128((kc_key128 *)words_at(slot), expected,
                                                    (kc_key128)value << 64 | low);
                return was == expected ? KC_WD_CLAIMED : was == low ? KC_WD_FOUND : KC_WD_LOST;
        }

        static KC_HD uint64_t high_of(Key key)
        {
                return (uint64_t)(key >> (WIDE ? 64 : 0));
        }

        __device__ uint64_t *words_at(uint64_t slot) const
        {
                return (uint64_t *)(keys + slot * KEY_STRIDE);
        }

        __device__ uint32_t *value_at(uint64_t slot) const
        {
                return (uint32_t *)(values + slot * VALUE_STRIDE);
        }
};

typedef kc_wd_apart<kc_key64, 8, 4> kc_wd_apart64;
typedef kc_wd_apart<kc_key64, 16, 16> kc_wd_near64;
typedef kc_wd_apart<kc_key128, 16, 4> kc_wd_apart128;

/* The one list of layouts. */
#define KC_WD_LAYOUTS(instantiate) \
        instantiate(kc_wd_pair32) instantiate(kc_wd_words) instantiate(kc_wd_apart64) \
                instantiate(kc_wd_near64) instantiate(kc_wd_apart128)

#endif
