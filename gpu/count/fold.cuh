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

#include "gpu/count/superkmer.cuh"

/* The bases of a record, first one lowest, zero bits after the last one; the highest byte is the
 * number of k-mers. Canonical unless stranded: the smaller of it and its reverse complement. */
template <class Key> struct kc_stretch {
        enum {
                NWORDS = 2 * sizeof(Key) / 8, /* of 64 bits */
                MAX_NBASES = 32 * NWORDS - 4,
        };
        uint64_t words[NWORDS];
};

template <class Key> KC_HD uint32_t kc_stretch_nkmers(const kc_stretch<Key> *s)
{
        return (uint32_t)(s->words[s->NWORDS - 1] >> 56);
}

/* Replace the stretch with its reverse complement if that is smaller. */
template <class Key> KC_HD void kc_stretch_canonical(kc_stretch<Key> *s, uint32_t nbases)
{
        const int n = s->NWORDS;
        kc_stretch<Key> other;
        for (int i = 0; i < n; i++)
                other.words[i] = ~kc_key_reverse_bases(s->words[n - 1 - i]);
        kc_words_shift_right(other.words, 64u * (uint32_t)n - 2 * nbases);
        kc_words_mask(other.words, 2 * nbases);
        bool smaller = false;
        for (int i = 0; i < n; i++)
                if (other.words[i] != s->words[i])
                        smaller = other.words[i] < s->words[i];
        for (int i = 0; i < n; i++)
                s->words[i] = smaller ? other.words[i] : s->words[i];
}

/* The stretch that a record refers to. */
template <class Key>
KC_HD kc_stretch<Key> kc_stretch_read(const struct kc_chunk *chunks, uint64_t record, int k,
                                      bool stranded)
{
        const uint64_t position = kc_record_position(record);
        const uint32_t nkmers = kc_record_nkmers(record, kc_record_length_bits<Key>());
        const uint32_t nbases = nkmers + (uint32_t)k - 1, shift = 2 * (uint32_t)(position % 32);
        const uint64_t *from =
                chunks[position >> KC_CHUNK_BITS].words + (uint32_t)position % KC_CHUNK_NBASES / 32;
        kc_stretch<Key> s;
        const uint32_t end = shift + 2 * nbases; /* bits to read */
        uint64_t low = from[0];
        for (uint32_t i = 0; i < s.NWORDS; i++) {
                uint64_t high = end > 64 * (i + 1) ? from[i + 1] : 0;
                s.words[i] = low >> shift | high << 1 << (63 - shift);
                low = high;
        }
        kc_words_mask(s.words, 2 * nbases);
        if (!stranded)
                kc_stretch_canonical(&s, nbases);
        s.words[s.NWORDS - 1] |= (uint64_t)nkmers << 56;
        return s;
}

template <class Key> KC_HD uint32_t kc_stretch_hash(const kc_stretch<Key> *s)
{
        uint64_t hash = 0;
        for (int i = 0; i < s->NWORDS; i++)
                hash = (hash ^ s->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        return (uint32_t)(hash >> 32);
}

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
                        if (there == LOCKED)
                                continue;
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
