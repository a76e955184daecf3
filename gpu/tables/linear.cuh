/*
 * Linear probing, in the shared memory of a block, for counting: a key is in the slot given by its
 * hash, or in the first free one after it. Keys and counts are separate arrays. Slots are claimed
 * as in the WarpDrive table; only the probe sequence differs.
 *
 * A key that finds no room within MAX_PROBES slots is refused, and the caller empties the table: at
 * high load factors clusters grow, and a probe would take hundreds of slots.
 *
 * Source: Farrell, A Simple GPU Hash Table (2020).
 */
#ifndef KC_GPU_TABLES_LINEAR_CUH
#define KC_GPU_TABLES_LINEAR_CUH

#include "gpu/tables/warpdrive.cuh"

/* The probe sequence of a key: consecutive slots. */
KC_HD kc_probing kc_linear_begin(uint64_t hash, uint32_t capacity)
{
        return { (uint32_t)(hash >> 32) & (capacity - 1), 1, capacity - 1 };
}

template <class Key> struct kc_linear : kc_warpdrive<Key, 1> {
        enum { MAX_PROBES = 64 };

        using kc_warpdrive<Key, 1>::kc_warpdrive;

        __device__ bool add(Key key, uint32_t weight, bool active)
        {
                active = active && !this->add_odd(key, weight);
                return !active || this->add_alone(kc_linear_begin(kc_key_hash(key), this->capacity),
                                                  MAX_PROBES, key, weight);
        }
};

#endif
