/*
 * Folding: equal records of a bin are merged into one with a weight, before any k-mer is made. At
 * usual coverage most stretches of a genome occur many times, and a record holds about ten k-mers.
 *
 * A fold is a small hash table in a block's shared memory. It need not be exact: a record that is
 * in it twice is counted twice, and one that finds no room waits until the others have been
 * counted.
 */
#ifndef KC_GPU_COUNT_FOLD_CUH
#define KC_GPU_COUNT_FOLD_CUH

#include "gpu/device/atomic.cuh"
#include "gpu/superkmers/stretch.cuh"

/*
 * Shared by a block. Data that lanes may read while others write it is written atomically and read
 * one word at a time.
 */
template <class Key, int CAPACITY> struct kc_fold {
        enum : uint32_t {
                MAX_SIZE = CAPACITY,
                NSLOTS = 2 * CAPACITY,
                LOCKED = UINT32_MAX,
                TAG_SHIFT = 16, /* a slot: | tag, of the hash | 1 + number |; 0 is free */
        };
        kc_stretch<Key> stretches[CAPACITY + 1]; /* the extra one pads reads past the last */
        uint32_t weights[CAPACITY];
        uint32_t slots[NSLOTS];
        uint32_t n; /* may exceed CAPACITY */

        __device__ void clear()
        {
                for (uint32_t i = threadIdx.x; i < NSLOTS; i += blockDim.x)
                        slots[i] = 0;
                for (uint32_t i = threadIdx.x; i < CAPACITY; i += blockDim.x)
                        weights[i] = 0;
                if (threadIdx.x == 0)
                        n = 0;
        }

        /* Number of stretches; call after a __syncthreads(). */
        __device__ uint32_t size() const
        {
                return min(n, (uint32_t)CAPACITY);
        }

        /* Returns false if there is no room. */
        __device__ bool add(const kc_stretch<Key> &stretch)
        {
                const uint32_t hash = kc_stretch_hash(&stretch);
                const uint32_t tag = hash >> TAG_SHIFT << TAG_SHIFT;
                uint32_t slot = hash % NSLOTS;
                for (;;) {
                        uint32_t there = *(volatile uint32_t *)&slots[slot];
                        if (there == LOCKED) {
                                kc_spin();
                                continue;
                        }
                        if (there == 0) {
                                if (*(volatile uint32_t *)&n >= CAPACITY)
                                        return false;
                                if (atomicCAS(&slots[slot], 0u, (uint32_t)LOCKED) == 0)
                                        return enter(slot, tag, stretch);
                                continue;
                        }
                        uint32_t number = there % (1u << TAG_SHIFT) - 1;
                        if (there - number - 1 == tag && is_at(number, stretch)) {
                                atomicAdd(&weights[number], 1u);
                                return true;
                        }
                        slot = (slot + 1) % NSLOTS;
                }
        }

      private:
        __device__ bool is_at(uint32_t number, const kc_stretch<Key> &stretch) const
        {
                __threadfence_block();
                uint64_t difference = 0;
                for (int i = 0; i < stretch.NWORDS; i++)
                        difference |= *(volatile const uint64_t *)&stretches[number].words[i] ^
                                      stretch.words[i];
                return difference == 0;
        }

        /* The slot is locked and other threads spin on it, so this must be short. */
        __device__ bool enter(uint32_t slot, uint32_t tag, const kc_stretch<Key> &stretch)
        {
                uint32_t number = atomicAdd(&n, 1u);
                bool has_room = number < CAPACITY;
                if (has_room) {
                        for (int i = 0; i < stretch.NWORDS; i++)
                                atomicExch((unsigned long long *)&stretches[number].words[i],
                                           (unsigned long long)stretch.words[i]);
                        atomicAdd(&weights[number], 1u);
                        __threadfence_block();
                }
                atomicExch(&slots[slot], has_room ? tag | (number + 1) : 0);
                return has_room;
        }
};

#endif
