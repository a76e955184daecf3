/*
 * The WarpDrive table for keys of several words, in the shared memory of a block: open addressing
 * and double hashing as in gpu/tables/warpdrive.cuh, but a slot refers to a k-mer of the fold
 * instead of holding its key. So a slot has 8 bytes for keys of any width, and is claimed by one
 * compare-and-swap of 32 bits, without a lock. A tag of the key's hash spares nearly all
 * comparisons with other keys.
 *
 * References are valid as long as the fold keeps its stretches: the block drains and clears the
 * table before it clears the fold.
 *
 * The longer the k-mers, the more of them contain an error and are distinct, and the fewer
 * minimizers share a bin, so bins differ more. Therefore bins are smaller than for one word:
 * otherwise a quarter of all k-mers would be in bins that overflow at k = 55, and over half at
 * k = 101 (docs/dev/notes/gpu.md).
 */
#ifndef KC_GPU_COUNT_REFS_CUH
#define KC_GPU_COUNT_REFS_CUH

#include "gpu/count/expand.cuh"
#include "gpu/tables/warpdrive.cuh"

/* A k-mer of a stretch in the fold, on both strands. */
template <class Key> struct kc_ref {
        uint32_t number, offset; /* the stretch's number, and the k-mer's offset in it */
        Key key;
        Key strands[2]; /* its reverse complement, and itself; if stranded, both are the same */
};

template <class Key> KC_HD kc_ref<Key> kc_ref_of(Key packed, int k, bool stranded)
{
        kc_ref<Key> ref;
        const Key forward = kc_key_from_top(kc_key_reverse_bases(packed), k);
        const Key reverse = kc_key_trim(~packed, k);
        ref.key = stranded || forward < reverse ? forward : reverse;
        ref.strands[0] = reverse;
        ref.strands[1] = stranded ? reverse : forward;
        return ref;
}

template <class Key, class Fold> struct kc_refs {
        enum {
                MAX_PROBES = 24,
                OFFSET_BITS = kc_record_length_bits<Key>(),
                TAG_SHIFT = 15,
                USED = 1 << (TAG_SHIFT - 1),
        };
        enum : uint32_t {
                CAPACITY = 2048,
                BIN_NKMERS = CAPACITY / (sizeof(Key) == 32 ? 2 : 1),
                MIN_BLOCKS = sizeof(Key) == 16   ? 6
                             : sizeof(Key) == 24 ? 4
                                                 : 3,
                ARENA_NBYTES = 0,
                MAX_ARENAS = 0,
        };
        static_assert(
                (int)Fold::MAX_SIZE << OFFSET_BITS <= (int)USED,
                "a slot: | tag, of the hash | 1 | number of the stretch | offset |; 0 is free");

        uint32_t *slots, *counts; /* [capacity] */
        uint32_t capacity;
        const Fold *fold;
        int k;
        bool stranded;

        static KC_HD constexpr size_t shared_nbytes(const kc_table_setup &setup)
        {
                return setup.capacity * 2 * sizeof(uint32_t);
        }

        __device__ kc_refs(const kc_table_setup &setup, void *shared)
        {
                capacity = setup.capacity;
                slots = (uint32_t *)shared;
                counts = slots + capacity;
        }

        /* Set the stretches that slots refer to. */
        __device__ void refer(const Fold *stretches, int length, bool is_stranded)
        {
                fold = stretches;
                k = length;
                stranded = is_stranded;
        }

        __device__ void clear()
        {
                kc_table_fill(slots, 2 * capacity, 0);
        }

        __device__ bool add(const kc_ref<Key> &ref, uint32_t weight, bool active)
        {
                const uint64_t hash = kc_key_hash(ref.key);
                const uint32_t own = (uint32_t)(hash >> 32) >> TAG_SHIFT << TAG_SHIFT | USED |
                                     ref.number << OFFSET_BITS | ref.offset;
                kc_probing p = kc_probing_begin(hash, capacity, 1);
                bool held = false;
#pragma unroll 1
                for (int i = 0; i < MAX_PROBES && active; i++, kc_probing_next(&p)) {
                        held = take(&slots[p.window], own, ref);
                        if (held)
                                break;
                }
                if (held)
                        atomicAdd(&counts[p.window], weight);
                return held || !active;
        }

        __device__ uint32_t nplaces() const
        {
                return capacity;
        }

        __device__ bool get(uint32_t place, Key *key, uint32_t *count) const
        {
                *count = counts[place];
                if (*count == 0)
                        return false;
                *key = kc_key_from_packed(bases_of(slots[place]), k, stranded);
                return true;
        }

      private:
        /* The bases of the k-mer that a slot refers to, with arbitrary bits above them. */
        __device__ Key bases_of(uint32_t slot) const
        {
                const uint32_t number = slot % USED >> OFFSET_BITS;
                const uint32_t offset = slot % (1u << OFFSET_BITS);
                return kc_cut_bases((const uint32_t *)fold->stretches[number].words, offset, Key());
        }

        /* Returns whether the slot refers to the k-mer: it did, or was free and is now claimed. */
        __device__ bool take(uint32_t *slot, uint32_t own, const kc_ref<Key> &ref)
        {
                uint32_t there = *(volatile uint32_t *)slot;
                if (there == 0)
                        there = atomicCAS(slot, 0u, own);
                if (there == 0)
                        return true;
                if ((there ^ own) >> TAG_SHIFT != 0)
                        return false;
                const Key other = kc_key_trim(~bases_of(there), k);
                return other == ref.strands[0] || other == ref.strands[1];
        }
};

#endif
