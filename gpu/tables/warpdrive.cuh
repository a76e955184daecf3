/*
 * The WarpDrive table, in the shared memory of a block, for counting.
 *
 * Open addressing. A cooperative group of G lanes (1, 2, ..., 32) takes the keys of its lanes one
 * after the other; the lanes read a window of G neighbouring slots at once and vote. Windows follow
 * each other by double hashing ("chaotic" probing), so that no clusters grow. In shared memory,
 * reading a window costs as much as reading G slots, so G = 1 is fastest here
 * (docs/dev/notes/gpu.md).
 *
 * A slot for keys of 64 bits is claimed by compare-and-swap on the key; all-ones marks a free slot,
 * and the one k-mer with that value (TT...T at k = 32, stranded) has a counter of its own. A slot
 * for longer keys is claimed through its count: 0 means free, LOCKED means that the key is being
 * written, and anything else is a count whose key is valid.
 *
 * Source: Juenger et al., WarpDrive (2018), sections IV-A and IV-B.
 */
#ifndef KC_GPU_TABLES_WARPDRIVE_CUH
#define KC_GPU_TABLES_WARPDRIVE_CUH

#include "gpu/device/atomic.cuh"
#include "gpu/tables/table.cuh"

#include <cooperative_groups.h>

/* The probe sequence of a key: windows of `group` slots. */
struct kc_probing {
        uint32_t window, step, mask; /* in windows */
};

KC_HD kc_probing kc_probing_begin(uint64_t hash, uint32_t capacity, uint32_t group)
{
        kc_probing p;
        p.mask = capacity / group - 1;
        p.window = (uint32_t)(hash >> 32) & p.mask;
        p.step = (uint32_t)hash | 1; /* odd: capacity / group steps visit every window once */
        return p;
}

KC_HD void kc_probing_next(kc_probing *p)
{
        p->window = (p->window + p->step) & p->mask;
}

/* For keys of several words. */
template <class Key> struct kc_slots {
        enum : uint32_t { LOCKED = UINT32_MAX };
        enum { NWORDS = sizeof(Key) / 8 };
        enum look { MATCH, OPEN, OTHER };

        Key *keys;
        uint32_t *counts;

        /* The thread that holds the lock only writes a key before it releases it, so the wait is
         * short. */
        __device__ look look_at(uint32_t slot, const Key &key) const
        {
                uint32_t count;
                while ((count = *(volatile uint32_t *)&counts[slot]) == LOCKED)
                        kc_spin();
                if (count == 0)
                        return OPEN;
                __threadfence_block();
                const volatile uint64_t *there = (const volatile uint64_t *)&keys[slot];
                for (int i = 0; i < NWORDS; i++)
                        if (there[i] != kc_key_word(key, i))
                                return OTHER;
                return MATCH;
        }

        __device__ bool claim(uint32_t slot, const Key &key, uint32_t weight)
        {
                if (atomicCAS(&counts[slot], 0u, (uint32_t)LOCKED) == 0) {
                        unsigned long long *there = (unsigned long long *)&keys[slot];
                        for (int i = 0; i < NWORDS; i++)
                                atomicExch(&there[i], (unsigned long long)kc_key_word(key, i));
                        __threadfence_block();
                        atomicExch(&counts[slot], weight);
                        return true;
                }
                if (look_at(slot, key) != MATCH)
                        return false;
                atomicAdd(&counts[slot], weight);
                return true;
        }

        __device__ void clear(uint32_t capacity)
        {
                kc_table_fill(counts, capacity, 0);
        }
};

template <> struct kc_slots<kc_key64> {
        static constexpr kc_key64 FREE = UINT64_MAX;
        enum look { MATCH, OPEN, OTHER };

        kc_key64 *keys;   /* [capacity] */
        uint32_t *counts; /* [capacity + 1]; the last one counts the key that equals FREE */

        __device__ look look_at(uint32_t slot, kc_key64 key) const
        {
                kc_key64 there = *(volatile kc_key64 *)&keys[slot];
                return there == key ? MATCH : there == FREE ? OPEN : OTHER;
        }

        /* Claim a free slot for key; true if the slot now holds the key, whichever thread claimed
         * it. */
        __device__ bool claim(uint32_t slot, kc_key64 key, uint32_t weight)
        {
                kc_key64 was = atomicCAS((unsigned long long *)&keys[slot],
                                         (unsigned long long)FREE, (unsigned long long)key);
                if (was != FREE && was != key)
                        return false;
                atomicAdd(&counts[slot], weight);
                return true;
        }

        __device__ void clear(uint32_t capacity)
        {
                kc_table_fill(keys, 2 * capacity, (uint32_t)FREE);
                kc_table_fill(counts, capacity, 0);
                if (threadIdx.x == 0)
                        counts[capacity] = 0;
        }
};

template <class Group> __device__ uint32_t kc_group_shfl(const Group &group, uint32_t key, int lane)
{
        return group.shfl(key, lane);
}

template <class Group> __device__ kc_key64 kc_group_shfl(const Group &group, kc_key64 key, int lane)
{
        return group.shfl(key, lane);
}

template <class Group>
__device__ kc_key128 kc_group_shfl(const Group &group, kc_key128 key, int lane)
{
        return (kc_key128)group.shfl((uint64_t)(key >> 64), lane) << 64 |
               group.shfl((uint64_t)key, lane);
}

template <class Group, int N>
__device__ kc_key_wide<N> kc_group_shfl(const Group &group, kc_key_wide<N> key, int lane)
{
        for (int i = 0; i < N; i++)
                key.words[i] = group.shfl(key.words[i], lane);
        return key;
}

template <class Key, int G> struct kc_warpdrive {
        enum { MAX_PROBES = 32 * 32 / G }; /* windows; a key that fits in none is refused */
        enum : uint32_t {
                CAPACITY = sizeof(Key) == 8 ? 2048 : 1024,
                BIN_NKMERS = 2 * CAPACITY,
                MIN_BLOCKS = sizeof(Key) == 8    ? 6
                             : sizeof(Key) == 16 ? 5
                                                 : 0,
                ARENA_NBYTES = 0,
                MAX_ARENAS = 0,
        };

        kc_slots<Key> slots;
        uint32_t capacity;

        static KC_HD constexpr size_t shared_nbytes(const kc_table_setup &setup)
        {
                return setup.capacity * (sizeof(Key) + sizeof(uint32_t)) + 16;
        }

        __device__ kc_warpdrive(const kc_table_setup &setup, void *shared)
        {
                capacity = setup.capacity;
                slots.keys = (Key *)shared;
                slots.counts = (uint32_t *)(slots.keys + capacity);
        }

        __device__ void clear()
        {
                slots.clear(capacity);
        }

        __device__ bool add(Key key, uint32_t weight, bool active)
        {
                active = active && !add_odd(key, weight);
                if constexpr (G == 1)
                        return !active || add_alone(kc_probing_begin(kc_key_hash(key), capacity, 1),
                                                    MAX_PROBES_ALONE, key, weight);
                else
                        return add_in_group(key, weight, active);
        }

        __device__ uint32_t nplaces() const
        {
                return capacity + (sizeof(Key) == 8 && slots.counts[capacity] != 0);
        }

        __device__ bool get(uint32_t place, Key *key, uint32_t *count) const
        {
                *count = slots.counts[place];
                if (*count == 0)
                        return false;
                *key = place < capacity ? slots.keys[place] : (Key) ~(Key)0;
                return true;
        }

      protected:
        /* Counts the key that no slot can hold. */
        __device__ bool add_odd(Key key, uint32_t weight)
        {
                if (sizeof(Key) != 8 || key != (Key) ~(Key)0)
                        return false;
                atomicAdd(&slots.counts[capacity], weight);
                return true;
        }

        /* For G = 1: p is the first of up to max_probes slots. */
        __device__ bool add_alone(kc_probing p, int max_probes, Key key, uint32_t weight)
        {
                for (int i = 0; i < max_probes; i++, kc_probing_next(&p)) {
                        auto look = slots.look_at(p.window, key);
                        if (look == slots.MATCH) {
                                atomicAdd(&slots.counts[p.window], weight);
                                return true;
                        }
                        if (look == slots.OPEN && slots.claim(p.window, key, weight))
                                return true;
                }
                return false;
        }

      private:
        enum { MAX_PROBES_ALONE = 24 };

        /* Add the lanes' keys in turn; returns the result of the lane's own key. */
        __device__ bool add_in_group(Key key, uint32_t weight, bool active)
        {
                namespace cg = cooperative_groups;
                auto group = cg::tiled_partition<G>(cg::this_thread_block());
                bool counted = true;
                for (unsigned waiting = group.ballot(active); waiting != 0;
                     waiting &= waiting - 1) {
                        int turn = __ffs((int)waiting) - 1;
                        bool found = add_one(group, kc_group_shfl(group, key, turn),
                                             group.shfl(weight, turn));
                        if ((int)group.thread_rank() == turn)
                                counted = found;
                }
                return counted;
        }

        /* Add one key, with all lanes: the first match in the window, otherwise its first free
         * slot. */
        template <class Group> __device__ bool add_one(const Group &group, Key key, uint32_t weight)
        {
                kc_probing p = kc_probing_begin(kc_key_hash(key), capacity, G);
                for (uint32_t i = 0; i < MAX_PROBES && i <= p.mask; i++, kc_probing_next(&p)) {
                        uint32_t slot = p.window * G + group.thread_rank();
                        for (;;) {
                                auto look = slots.look_at(slot, key);
                                unsigned match = group.ballot(look == slots.MATCH);
                                if (match != 0) {
                                        if (look == slots.MATCH)
                                                atomicAdd(&slots.counts[slot], weight);
                                        return true;
                                }
                                unsigned open = group.ballot(look == slots.OPEN);
                                if (open == 0)
                                        break;
                                int first = __ffs((int)open) - 1;
                                bool claimed = (int)group.thread_rank() == first &&
                                               slots.claim(slot, key, weight);
                                if (group.any(claimed))
                                        return true;
                                /* another group was faster: look again */
                        }
                }
                return false;
        }
};

#endif
