/*
 * The slab hash, for counting: a table for one thread block, in global memory that stays in the L2.
 *
 *      bucket 0      slab ──▶ slab ──▶ slab        base slabs: one per bucket, at the arena's front
 *      bucket 1      slab                          further slabs: from the block's SlabAlloc
 *      ...           slab ──▶ slab                 after them (gpu/tables/slab_alloc.cuh)
 *
 *      slab, 32 words    64-bit keys     128-bit keys      192-bit keys    256-bit keys
 *      words 0 of keys   lanes 0-9       lanes 0-5         lanes 0-3       lanes 0-2
 *      words 1 of keys         10-19           6-11              4-7             3-5
 *      words 2, 3, ...         -               12-17, 18-23      8-11, ...       6-8, ...
 *      counts                  20-29           24-29             24-27           24-26
 *      (unused), next          30, 31          30, 31            28-30, 31       27-30, 31
 *
 * Each lane of a warp brings a key, and then all lanes work on the keys together: a slab is read at
 * once, one word per lane, and ballots show where a key is or may be put.
 *
 * Exactness. Keys are stored mixed, by a bijection. The top bit of each word of a mixed key is a
 * bit of its bucket's number, so no key of the bucket contains a word with the opposite top bit.
 * The places of a cleared bucket are filled with such words, called blank; so a word of a key can
 * always be told from one that has not been written yet, whatever the k-mers are. Between two calls
 * of clear() a place goes through these states:
 *
 *      free: count 0, all words blank      claimed: count > 0, some words still blank      known
 *
 * - A place is claimed by a compare-and-swap of its count, from 0 to the weight, and only by a warp
 *   that saw other keys in all places before it in the chain. The winner writes the words, once. So
 *   of two warps with the same key, the later one finds the place of the first: no key is in the
 *   table twice.
 * - A key is found if all its words are seen. None of them is blank, so all were written by the
 *   winner, whenever and in whatever order they became visible. The winner's swap came before them,
 *   so from then on the count is an atomic sum of weights: no memory ordering is needed.
 * - If the words of a place, as far as they are seen, could be the key's, the place is read again:
 *   another warp is about to write them. The number of reads is bounded.
 * - What a warp sees may be stale, because slabs are read ahead. But it was true once, and places
 *   only ever go from free to claimed to known: a stale `known` still holds, and after a stale
 *   `free` the swap fails.
 * - A further slab is filled with blanks, then comes a fence, then it is linked by compare-and-swap
 *   of the word `next`. A warp that follows `next` executes a fence before it reads the slab;
 *   otherwise it could take leftovers of another bin for keys.
 *
 * Source: Ashkiani et al., A Dynamic Hash Table for the GPU (2018), sections III and IV, where keys
 * have 32 bits and two of them are reserved.
 */
#ifndef KC_GPU_TABLES_SLAB_CUH
#define KC_GPU_TABLES_SLAB_CUH

#include "gpu/tables/slab_alloc.cuh"
#include "gpu/tables/table.cuh"

/* ---- layout */

template <class Key> struct kc_slab_layout {
        enum : uint32_t {
                NWORDS = sizeof(Key) / 4,     /* per key */
                NPLACES = 30 / (NWORDS + 1),  /* per slab */
                COUNTS = NWORDS * NPLACES,    /* lane of the first count */
                NEXT = 31,                    /* lane of the link */
                PLACES = (1u << NPLACES) - 1, /* a bit for each place */
                MIN_BUCKET_BITS = NWORDS,
        };
        static_assert((uint32_t)COUNTS + NPLACES <= NEXT, "a slab has a word for each lane");
};

/* How an arena is divided; 2^bucket_bits buckets, and nblocks is a power of two. */
struct kc_slab_shape {
        uint32_t bucket_bits;
        uint32_t nblocks; /* memory blocks for further slabs */
};

/* At least one memory block, and more as long as they take at most half of the arena; the rest is
 * for buckets. The arena must have at least 160 KiB, and a multiple of 128 bytes. */
KC_HD kc_slab_shape kc_slab_shape_of(size_t arena_nbytes)
{
        kc_slab_shape shape = { 0, 1 };
        uint32_t nslabs = (uint32_t)(arena_nbytes / KC_SLAB_NBYTES);
        while (shape.nblocks < KC_SLAB_MAX_BLOCKS &&
               4 * shape.nblocks * KC_SLAB_BLOCK_NSLABS <= nslabs)
                shape.nblocks *= 2;
        nslabs -= shape.nblocks * KC_SLAB_BLOCK_NSLABS;
        while (2u << shape.bucket_bits <= nslabs)
                shape.bucket_bits++;
        return shape;
}

/* ---- keys */

enum : uint64_t {
        KC_SLAB_FACTOR = UINT64_C(0x9e3779b97f4a7c15),
        KC_SLAB_FACTOR_INVERSE = UINT64_C(0xf1de83e19937733d),
        KC_SLAB_FACTOR_2 = UINT64_C(0xd6e8feb86659fd93),
};

KC_HD kc_key64 kc_slab_mix(kc_key64 key)
{
        key ^= key >> 32;
        key *= KC_SLAB_FACTOR;
        return key ^ key >> 29;
}

KC_HD kc_key64 kc_slab_unmix(kc_key64 mixed)
{
        mixed ^= mixed >> 29 ^ mixed >> 58;
        mixed *= KC_SLAB_FACTOR_INVERSE;
        return mixed ^ mixed >> 32;
}

KC_HD kc_key128 kc_slab_mix(kc_key128 key)
{
        uint64_t high = (uint64_t)(key >> 64);
        uint64_t low = kc_slab_mix((uint64_t)key ^ high * KC_SLAB_FACTOR_2);
        high = kc_slab_mix(high ^ low);
        return (kc_key128)high << 64 | low;
}

KC_HD kc_key128 kc_slab_unmix(kc_key128 mixed)
{
        uint64_t low = (uint64_t)mixed;
        uint64_t high = kc_slab_unmix((uint64_t)(mixed >> 64)) ^ low;
        low = kc_slab_unmix(low) ^ high * KC_SLAB_FACTOR_2;
        return (kc_key128)high << 64 | low;
}

/* All words but the lowest one, combined to be mixed into it; kc_key_hash does the same. */
template <int N> KC_HD uint64_t kc_slab_above(const kc_key_wide<N> &key)
{
        uint64_t above = 0;
        for (int i = N - 1; i > 0; i--)
                above = (above ^ key.words[i]) * KC_SLAB_FACTOR_2;
        return above;
}

/* Each word is mixed with the one below it, which depends on all others. */
template <int N> KC_HD kc_key_wide<N> kc_slab_mix(kc_key_wide<N> key)
{
        key.words[0] = kc_slab_mix(key.words[0] ^ kc_slab_above(key));
        for (int i = 1; i < N; i++)
                key.words[i] = kc_slab_mix(key.words[i] ^ key.words[i - 1]);
        return key;
}

template <int N> KC_HD kc_key_wide<N> kc_slab_unmix(kc_key_wide<N> mixed)
{
        for (int i = N - 1; i > 0; i--)
                mixed.words[i] = kc_slab_unmix(mixed.words[i]) ^ mixed.words[i - 1];
        mixed.words[0] = kc_slab_unmix(mixed.words[0]) ^ kc_slab_above(mixed);
        return mixed;
}

/* Word `word` of a mixed key; an arbitrary one if the key has fewer words. */
KC_HD uint32_t kc_slab_word(kc_key64 mixed, uint32_t word)
{
        return word & 1 ? (uint32_t)(mixed >> 32) : (uint32_t)mixed;
}

KC_HD uint32_t kc_slab_word(kc_key128 mixed, uint32_t word)
{
        return kc_slab_word(word & 2 ? (uint64_t)(mixed >> 64) : (uint64_t)mixed, word);
}

template <int N> KC_HD uint32_t kc_slab_word(const kc_key_wide<N> &mixed, uint32_t word)
{
        return kc_slab_word(mixed.words[word / 2 % N], word);
}

/* Bit i of the bucket's number, i < NWORDS, is the top bit of word i; the others are the bits after
 * the top bit of the last word. */
template <class Key> KC_HD uint32_t kc_slab_bucket(Key mixed, uint32_t bucket_bits)
{
        enum : uint32_t { NWORDS = kc_slab_layout<Key>::NWORDS };
        uint32_t last = kc_slab_word(mixed, NWORDS - 1) & 0x7fffffffu;
        uint32_t bucket = last >> (31 - (bucket_bits - NWORDS)) << NWORDS;
        for (uint32_t i = 0; i < NWORDS; i++)
                bucket |= kc_slab_word(mixed, i) >> 31 << i;
        return bucket;
}

/* A value that word `word` has in no key of the bucket. */
KC_HD uint32_t kc_slab_blank(uint32_t bucket, uint32_t word)
{
        return (~bucket >> word & 1) << 31;
}

/* ---- what a warp sees in a slab */

/* The word of lane `lane` in an empty slab of the bucket. */
template <class Key> KC_HD uint32_t kc_slab_fresh(uint32_t bucket, uint32_t lane)
{
        typedef kc_slab_layout<Key> layout;
        if (lane < layout::COUNTS)
                return kc_slab_blank(bucket, lane / layout::NPLACES);
        return lane == layout::NEXT ? (uint32_t)KC_SLAB_NONE : 0;
}

/* From a bit for each lane: the places for which the bits of all words are set. */
template <class Key> KC_HD uint32_t kc_slab_all_words(uint32_t lanes)
{
        typedef kc_slab_layout<Key> layout;
        uint32_t places = layout::PLACES;
        for (uint32_t i = 0; i < layout::NWORDS; i++)
                places &= lanes >> i * layout::NPLACES;
        return places;
}

/* From the lanes whose word is not 0: the places with a count. */
template <class Key> KC_HD uint32_t kc_slab_used(uint32_t nonzero_lanes)
{
        return nonzero_lanes >> kc_slab_layout<Key>::COUNTS & kc_slab_layout<Key>::PLACES;
}

/* From the lanes that hold their word of the key sought or a blank one: the places that are being
 * written, perhaps with that key. The key's own place, once known, is among them. */
template <class Key> KC_HD uint32_t kc_slab_pending(uint32_t equal_or_blank, uint32_t used)
{
        return kc_slab_all_words<Key>(equal_or_blank) & used;
}

/* ---- the table */

/*
 * Block b of the grid works in arena b, so at most as many blocks are launched as there are arenas
 * (setup.capacity), and they loop over the bins. A block has at most MAX_THREADS threads, in whole
 * warps.
 */
template <class Key> struct kc_slab {
        typedef kc_slab_layout<Key> layout;
        enum : uint32_t {
                MAX_LOOKS = 1 << 16, /* slab reads for one key: ample for chains and waiting */
                AHEAD = 4,           /* slabs read at a time */
                MAX_THREADS = 1024,

                CAPACITY = 0,
                BIN_NKMERS = sizeof(Key) == 8 ? 4096 : 2048,
                MIN_BLOCKS = 0,
                ARENA_NBYTES = 160 << 10,
                MAX_ARENAS = 384, /* about all of them fit in the L2 */
        };

        /* A key in progress, readable by all lanes of its warp. */
        struct key_row {
                uint32_t words[layout::NWORDS];
                uint32_t bucket, weight;
        };
        struct block_shared {
                struct key_row rows[MAX_THREADS];
                struct kc_slab_alloc_shared alloc;
        };

        uint32_t *column; /* this lane's word of the first slab; the slabs are contiguous */
        uint32_t bucket_bits;
        struct kc_slab_alloc alloc;
        struct block_shared *shared;

        static KC_HD constexpr size_t shared_nbytes(const kc_table_setup &setup)
        {
                (void)setup;
                return sizeof(struct block_shared);
        }

        __device__ kc_slab(const kc_table_setup &setup, void *shared)
        {
                kc_slab_shape shape = kc_slab_shape_of(setup.arena_nbytes);
                char *arena = (char *)setup.arena + blockIdx.x * setup.arena_nbytes;
                column = (uint32_t *)arena + lane();
                bucket_bits = shape.bucket_bits;
                this->shared = (struct block_shared *)shared;
                alloc.shared = &this->shared->alloc;
                alloc.nblocks = shape.nblocks;
        }

        __device__ void clear()
        {
                uint4 *quads = (uint4 *)(column - lane());
                uint32_t nquads = KC_SLAB_NWORDS / 4 << bucket_bits;
                for (uint32_t i = threadIdx.x; i < nquads; i += blockDim.x)
                        quads[i] = fresh_quad(i / 8, i % 8 * 4);
                alloc.clear();
        }

        /* Lanes that bring the same key are handled as one. Most keys are in their base slab
         * already or find room there; these are handled first, a few at a time, then the others. */
        __device__ bool add(Key key, uint32_t weight, bool active)
        {
                Key mixed = kc_slab_mix(key);
                uint32_t all = __ballot_sync(KC_SLAB_ALL_LANES, active);
                uint32_t same = same_keys(mixed) & all;
                bool first = active && (same & ((1u << lane()) - 1)) == 0;
                uint32_t waiting = __ballot_sync(KC_SLAB_ALL_LANES, first);
                stage(mixed, sum_weights(weight, same, first));
                waiting = add_to_bases(waiting);
                uint32_t refused = add_others(waiting);
                return !active || (refused & same) == 0;
        }

        __device__ uint32_t nplaces() const
        {
                return layout::NPLACES * ((1u << bucket_bits) + alloc.nkept());
        }

        __device__ bool get(uint32_t place, Key *key, uint32_t *count) const
        {
                uint32_t number = place / layout::NPLACES, i = place % layout::NPLACES;
                if (number >> bucket_bits != 0) {
                        uint32_t address = alloc.kept(number - (1u << bucket_bits));
                        if (address == KC_SLAB_NONE)
                                return false;
                        number = further(address);
                }
                const uint32_t *slab = word_of(number) - lane();
                *count = slab[layout::COUNTS + i];
                if (*count == 0)
                        return false;
                Key mixed = 0;
                for (uint32_t word = 0; word < layout::NWORDS; word++)
                        mixed |= (Key)slab[word * layout::NPLACES + i] << 32 * word;
                *key = kc_slab_unmix(mixed);
                return true;
        }

      private:
        /* A key and a slab, as seen by this lane. */
        struct task {
                const struct key_row *row;
                uint32_t wanted; /* this lane's word of the key; arbitrary if it has none */
                uint32_t data;   /* this lane's word of the slab */
        };

        static __device__ uint32_t lane()
        {
                return threadIdx.x % 32;
        }

        /* Slabs are numbered: base slabs first, then the allocator's. */
        __device__ uint32_t further(uint32_t address) const
        {
                return (1u << bucket_bits) + address;
        }

        /* The lane's word of a slab. */
        __device__ uint32_t *word_of(uint32_t number) const
        {
                return column + (size_t)number * KC_SLAB_NWORDS;
        }

        __device__ uint32_t read(uint32_t number) const
        {
                return *(volatile uint32_t *)word_of(number);
        }

        static __device__ uint4 fresh_quad(uint32_t bucket, uint32_t lane)
        {
                return make_uint4(
                        kc_slab_fresh<Key>(bucket, lane), kc_slab_fresh<Key>(bucket, lane + 1),
                        kc_slab_fresh<Key>(bucket, lane + 2), kc_slab_fresh<Key>(bucket, lane + 3));
        }

        /* The lanes with this lane's key. */
        static __device__ uint32_t same_keys(kc_key64 key)
        {
                return __match_any_sync(KC_SLAB_ALL_LANES, (unsigned long long)key);
        }

        static __device__ uint32_t same_keys(kc_key128 key)
        {
                return same_keys((uint64_t)key) & same_keys((uint64_t)(key >> 64));
        }

        template <int N> static __device__ uint32_t same_keys(const kc_key_wide<N> &key)
        {
                uint32_t lanes = KC_SLAB_ALL_LANES;
                for (int i = 0; i < N; i++)
                        lanes &= same_keys(key.words[i]);
                return lanes;
        }

        /* For the first lane of those with the same key: the sum of their weights. */
        static __device__ uint32_t sum_weights(uint32_t weight, uint32_t same, bool first)
        {
                uint32_t several =
                        __ballot_sync(KC_SLAB_ALL_LANES, first && (same & (same - 1)) != 0);
                for (; several != 0; several &= several - 1) {
                        int leader = __ffs((int)several) - 1;
                        uint32_t own = __shfl_sync(KC_SLAB_ALL_LANES, same, leader) >> lane() & 1;
                        uint32_t sum = __reduce_add_sync(KC_SLAB_ALL_LANES, own ? weight : 0);
                        if ((int)lane() == leader)
                                weight = sum;
                }
                return weight;
        }

        /* The rows of this warp. */
        __device__ struct key_row *rows() const
        {
                return shared->rows + threadIdx.x / 32 * 32;
        }

        __device__ void stage(Key mixed, uint32_t weight) const
        {
                struct key_row *row = rows() + lane();
                __syncwarp();
                for (uint32_t i = 0; i < layout::NWORDS; i++)
                        row->words[i] = kc_slab_word(mixed, i);
                row->bucket = kc_slab_bucket(mixed, bucket_bits);
                row->weight = weight;
                __syncwarp();
        }

        /* Begin with the key of lane `source`: read its base slab. */
        __device__ struct task begin(uint32_t source) const
        {
                const struct key_row *row = rows() + source;
                uint32_t word = lane() / layout::NPLACES;
                return { row, row->words[word < layout::NWORDS ? word : 0], read(row->bucket) };
        }

        /* Count those of the waiting lanes' keys that only need their base slab; returns the other
         * lanes. AHEAD keys advance together, without branches between them, so that their memory
         * latencies overlap. */
        __device__ uint32_t add_to_bases(uint32_t waiting) const
        {
                for (uint32_t source = 0; source < 32; source += AHEAD) {
                        struct task tasks[AHEAD];
                        uint32_t bits = waiting >> source & ((1u << AHEAD) - 1), counted = 0;
                        if (bits == 0)
                                continue;
#pragma unroll
                        for (uint32_t i = 0; i < AHEAD; i++)
                                tasks[i] = begin(source + i);
#pragma unroll
                        for (uint32_t i = 0; i < AHEAD; i++)
                                counted |= (uint32_t)count_match(&tasks[i], tasks[i].row->bucket,
                                                                 bits >> i & 1)
                                           << i;
                        if ((bits & ~counted) != 0)
                                counted |= claim_in_bases(tasks, bits & ~counted);
                        waiting &= ~((bits & counted) << source);
                }
                return waiting;
        }

        /* Claim places for those of AHEAD keys whose bits are set; returns the bits of those that
         * now have one. */
        __device__ uint32_t claim_in_bases(const struct task *tasks, uint32_t bits) const
        {
                uint32_t was[AHEAD], claimed = 0;
#pragma unroll
                for (uint32_t i = 0; i < AHEAD; i++)
                        was[i] = swap_count(&tasks[i], tasks[i].row->bucket,
                                            bits >> i & 1 ? open_place(&tasks[i]) : 0);
#pragma unroll
                for (uint32_t i = 0; i < AHEAD; i++)
                        claimed |= (uint32_t)put_key(&tasks[i], tasks[i].row->bucket, was[i]) << i;
                return claimed;
        }

        /* Count the waiting lanes' keys; returns the lanes whose keys found no slab. */
        __device__ uint32_t add_others(uint32_t waiting)
        {
                uint32_t refused = 0;
                for (; waiting != 0; waiting &= waiting - 1) {
                        struct task task = begin((uint32_t)__ffs((int)waiting) - 1);
                        refused |= add_one(&task) ? 0 : waiting & (0 - waiting);
                }
                return refused;
        }

        /* True if task->data, of slab `number`, has the key; if `wanted`, also count it. */
        __device__ bool count_match(const struct task *task, uint32_t number, bool wanted) const
        {
                uint32_t equal = __ballot_sync(KC_SLAB_ALL_LANES, task->data == task->wanted);
                uint32_t match = kc_slab_all_words<Key>(equal);
                if (wanted && match << layout::COUNTS >> lane() & 1)
                        atomicAdd(word_of(number), task->row->weight);
                return match != 0;
        }

        /* Returns false if there is no slab left for the key. */
        __device__ bool add_one(struct task *task)
        {
                uint32_t number = task->row->bucket;
                for (uint32_t looks = 0; looks < MAX_LOOKS; looks++) {
                        if (count_match(task, number, true))
                                return true;
                        if (used_places(task) == layout::PLACES && pending_places(task) == 0)
                                number = follow(number, task);
                        else if (put_key(task, number, swap_count(task, number, open_place(task))))
                                return true;
                        if (number == KC_SLAB_NONE)
                                return false;
                        task->data = read(number);
                }
                return false;
        }

        static __device__ uint32_t used_places(const struct task *task)
        {
                return kc_slab_used<Key>(__ballot_sync(KC_SLAB_ALL_LANES, task->data != 0));
        }

        /* The places being written whose key may turn out to be this one. */
        static __device__ uint32_t pending_places(const struct task *task)
        {
                uint32_t blank = kc_slab_blank(task->row->bucket, lane() / layout::NPLACES);
                return kc_slab_pending<Key>(
                        __ballot_sync(KC_SLAB_ALL_LANES,
                                      task->data == task->wanted || task->data == blank),
                        used_places(task));
        }

        /* The bit of the first free place, which a key that is not in the slab may claim. 0 if
         * there is none, or if the key may be about to appear. */
        static __device__ uint32_t open_place(const struct task *task)
        {
                uint32_t free = ~used_places(task) & layout::PLACES;
                return pending_places(task) == 0 ? free & (0 - free) : 0;
        }

        /* Try to change the count of a free place, given by its bit, from 0 to the weight. Returns
         * 0 in the lane of the count on success, nonzero everywhere else. */
        __device__ uint32_t swap_count(const struct task *task, uint32_t number,
                                       uint32_t place) const
        {
                uint32_t was = 1;
                if (place << layout::COUNTS >> lane() & 1)
                        was = atomicCAS(word_of(number), 0u, task->row->weight);
                return was;
        }

        /* Write the key to the place that swap_count claimed, if any; returns whether it did. */
        __device__ bool put_key(const struct task *task, uint32_t number, uint32_t was) const
        {
                uint32_t place = __ballot_sync(KC_SLAB_ALL_LANES, was == 0) >> layout::COUNTS;
                if (lane() < layout::COUNTS && place >> lane() % layout::NPLACES & 1)
                        *(volatile uint32_t *)word_of(number) = task->wanted;
                return place != 0;
        }

        /* The number of the slab after a full one; KC_SLAB_NONE if no slab is left. */
        __device__ uint32_t follow(uint32_t number, const struct task *task)
        {
                uint32_t next = __shfl_sync(KC_SLAB_ALL_LANES, task->data, (int)layout::NEXT);
                if (next == KC_SLAB_NONE)
                        next = append(number, task->row->bucket);
                if (next == KC_SLAB_NONE)
                        return KC_SLAB_NONE;
                __threadfence_block();
                __syncwarp();
                return further(next);
        }

        /* Link a fresh slab to the end of a chain, and return its address, or that of the slab
         * which another warp linked first. */
        __device__ uint32_t append(uint32_t number, uint32_t bucket)
        {
                uint32_t address = alloc.allocate(), was = 0;
                if (address == KC_SLAB_NONE)
                        return KC_SLAB_NONE;
                *(volatile uint32_t *)word_of(further(address)) =
                        kc_slab_fresh<Key>(bucket, lane());
                __threadfence_block();
                __syncwarp();
                if (lane() == layout::NEXT)
                        was = atomicCAS(word_of(number), (uint32_t)KC_SLAB_NONE, address);
                was = __shfl_sync(KC_SLAB_ALL_LANES, was, (int)layout::NEXT);
                if (was != KC_SLAB_NONE) {
                        alloc.deallocate(address);
                        return was;
                }
                alloc.keep(address);
                return address;
        }
};

#endif
