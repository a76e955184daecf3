/*
 * Sums of counts, in device memory: a table to which all blocks add, for k-mers whose counts come
 * from several tasks.
 *
 * Open addressing with linear probing. A slot is claimed through its sum: 0 means free, LOCKED
 * means that the key is being written, and anything else is a sum whose key is valid. This works
 * for keys of any width.
 */
#ifndef KC_GPU_COUNT_SUMS_CUH
#define KC_GPU_COUNT_SUMS_CUH

#include "gpu/device/atomic.cuh"

template <class Key> struct kc_sums {
        enum : uint64_t { LOCKED = UINT64_MAX };
        enum { MAX_PROBES = 128, NWORDS = sizeof(Key) / 8 };

        Key *keys;             /* [capacity] device */
        uint64_t *sums;        /* [capacity] device, zeros at first */
        uint32_t capacity;     /* slots */
        uint32_t part, nparts; /* the table takes the k-mers of one part of all hashes */

        /* Whether the k-mer is of the table's part. The lower half of the hash decides this, and
         * the upper one where it is in the table. */
        __device__ bool takes(const Key &key) const
        {
                return (uint64_t)(uint32_t)kc_key_hash(key) * nparts >> 32 == part;
        }

        /* Returns false if there is no room. */
        __device__ bool add(const Key &key, uint32_t weight) const
        {
                uint32_t slot = (uint32_t)((kc_key_hash(key) >> 32) * capacity >> 32);
                for (int i = 0; i < MAX_PROBES; i++, slot = slot + 1 == capacity ? 0 : slot + 1) {
                        uint64_t there = kc_load_acquire<KC_SCOPE_DEVICE>(&sums[slot]);
                        if (there == 0 && claim(slot, key, weight))
                                return true;
                        while (there == 0 || there == LOCKED) {
                                kc_spin();
                                there = kc_load_acquire<KC_SCOPE_DEVICE>(&sums[slot]);
                        }
                        if (is_at(slot, key)) {
                                atomicAdd((unsigned long long *)&sums[slot],
                                          (unsigned long long)weight);
                                return true;
                        }
                }
                return false;
        }

      private:
        __device__ bool claim(uint32_t slot, const Key &key, uint32_t weight) const
        {
                if (!kc_swap_acquire<KC_SCOPE_DEVICE>(&sums[slot], 0, LOCKED))
                        return false;
                keys[slot] = key;
                kc_store_release<KC_SCOPE_DEVICE>(&sums[slot], weight);
                return true;
        }

        /* A valid key does not change, but it may be in the cache as it was before. */
        __device__ bool is_at(uint32_t slot, const Key &key) const
        {
                const uint64_t *there = (const uint64_t *)&keys[slot];
                uint64_t difference = 0;
                for (int i = 0; i < NWORDS; i++)
                        difference |=
                                kc_load_relaxed<KC_SCOPE_DEVICE>(&there[i]) ^ kc_key_word(key, i);
                return difference == 0;
        }
};

/* Some slots of such a table, which a block drains like a table of its own (drain.cuh). */
template <class Key> struct kc_sums_slice {
        const kc_sums<Key> *all;
        uint32_t first, n; /* slots */

        __device__ uint32_t nplaces() const
        {
                return n;
        }

        /* Sums saturate. */
        __device__ bool get(uint32_t place, Key *key, uint32_t *count) const
        {
                const uint64_t sum = all->sums[first + place];
                *count = (uint32_t)min(sum, (uint64_t)UINT32_MAX);
                if (sum > 0)
                        *key = all->keys[first + place];
                return sum > 0;
        }

        /* What saturation cuts off. */
        __device__ uint64_t excess(uint32_t place) const
        {
                const uint64_t sum = all->sums[first + place];
                return sum > UINT32_MAX ? sum - UINT32_MAX : 0;
        }
};

#endif
