/*
 * The hopscotch table, in the shared memory of a block, for counting.
 *
 *      words   [capacity]   slots (hopscotch_word.cuh): 12 bits of the hash, number of a cell
 *      keys    [capacity]   cells: allocated one after the other;
 *      counts  [capacity]   they stay in place when the item of their slot moves
 *
 * So a count is an atomic sum even while items move; a key of any width is written once, before its
 * item; and draining reads the cells from the first to the last one allocated.
 *
 * Source: Zhang and Sun, GLHT, whose items are the keys themselves.
 */
#ifndef KC_GPU_TABLES_HOPSCOTCH_CUH
#define KC_GPU_TABLES_HOPSCOTCH_CUH

#include "gpu/tables/hopscotch_core.cuh"
#include "gpu/tables/table.cuh"

enum : uint32_t {
        KC_HOPSCOTCH_CELL_BITS = 12,
        KC_HOPSCOTCH_MAX_CAPACITY = 1u << KC_HOPSCOTCH_CELL_BITS,
};

/* An item: the cell, and bits of the hash that distinguish it from most other keys. */
KC_HD uint32_t kc_hopscotch_item_of(uint64_t hash, uint32_t cell)
{
        return (uint32_t)(hash >> 20 & (KC_HOPSCOTCH_MAX_CAPACITY - 1)) << KC_HOPSCOTCH_CELL_BITS |
               cell;
}

KC_HD uint32_t kc_hopscotch_cell(uint32_t item)
{
        return item & (KC_HOPSCOTCH_MAX_CAPACITY - 1);
}

template <class Key> struct kc_hopscotch {
        enum : uint32_t {
                CAPACITY = sizeof(Key) == 8 ? 1024 : 512, /* a slot is a word larger than those of
                                                             other tables, but all can be filled */
                BIN_NKMERS = 4 * CAPACITY,
                MIN_BLOCKS = 0,
                ARENA_NBYTES = 0,
                MAX_ARENAS = 0,
        };

        uint64_t *words;
        Key *keys;
        uint32_t *counts;
        uint32_t *ncells; /* cells allocated; may exceed capacity */
        uint32_t capacity;

        static KC_HD constexpr size_t shared_nbytes(const kc_table_setup &setup)
        {
                return setup.capacity * (sizeof(uint64_t) + sizeof(Key) + sizeof(uint32_t)) + 16;
        }

        __device__ kc_hopscotch(const kc_table_setup &setup, void *shared)
        {
                capacity = setup.capacity;
                words = (uint64_t *)shared;
                keys = (Key *)(words + capacity);
                counts = (uint32_t *)(keys + capacity);
                ncells = counts + capacity;
        }

        __device__ void clear()
        {
                for (uint32_t i = threadIdx.x; i < capacity; i += blockDim.x) {
                        words[i] = 0;
                        counts[i] = 0;
                }
                if (threadIdx.x == 0)
                        *ncells = 0;
        }

        __device__ bool add(Key key, uint32_t weight, bool active)
        {
                if (!active)
                        return true;
                const uint64_t hash = kc_key_hash(key);
                const kc_hop<kc_lanes<1>, KC_SCOPE_BLOCK> hop = {
                        { words, capacity - 1, capacity - 1 }, {}
                };
                const matcher match = { keys, key, kc_hopscotch_item_of(hash, 0) };
                maker make = { this, key, match.hash_bits, KC_HOP_NONE };
                struct kc_hop_place place;
                enum kc_hop_result result = kc_hop_insert(
                        hop, (uint32_t)(hash >> 32) & (capacity - 1), match, make, &place);
                if (result != KC_HOP_YES && result != KC_HOP_NO)
                        return false;
                atomicAdd(&counts[kc_hopscotch_cell(place.item)], weight);
                return true;
        }

        __device__ uint32_t nplaces() const
        {
                return *ncells < capacity ? *ncells : capacity;
        }

        /* A cell has no count if its key found no slot. */
        __device__ bool get(uint32_t place, Key *key, uint32_t *count) const
        {
                *count = counts[place];
                *key = keys[place];
                return *count != 0;
        }

      private:
        struct matcher {
                const Key *keys;
                Key key;
                uint32_t hash_bits;

                __device__ bool operator()(uint32_t item) const
                {
                        uint32_t cell = kc_hopscotch_cell(item);
                        return item - cell == hash_bits && keys[cell] == key;
                }
        };

        /* Allocates a cell for the key, at most once. */
        struct maker {
                enum { AT_ONCE = false };
                const kc_hopscotch *table;
                Key key;
                uint32_t hash_bits, item;

                __device__ uint32_t operator()()
                {
                        if (item != KC_HOP_NONE)
                                return item;
                        uint32_t cell = atomicAdd(table->ncells, 1u);
                        if (cell >= table->capacity)
                                return KC_HOP_NONE;
                        table->keys[cell] = key;
                        __threadfence_block(); /* before the item is published */
                        return item = hash_bits | cell;
                }
        };
};

#endif
