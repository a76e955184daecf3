/*
 * The slots of a part of the WarpDrive map, in a block's shared memory. Private to part.cuh.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_PART_SLOTS_CUH
#define KC_GPU_MAPS_WARPDRIVE_PART_SLOTS_CUH

#include "gpu/maps/warpdrive/slots.cuh"

/*
 * Layout's slots at `memory`, shared memory of nbytes(n) for n slots, filled from those of `part`;
 * fresh: they are all free. All threads of a block do that, and put_back, together, with barriers
 * between these and anything else. load, look, set and add are those of a layout, and so is claim,
 * which leaves the value there, if the slot is KC_WD_CLAIMED. is_others(seen, ...): false if look
 * may be anything but KC_WD_OTHER.
 */
template <class Layout> struct kc_wd_own : Layout { /* layouts of one word */
        typedef typename Layout::wanted wanted;
        uint64_t *theirs;
        uint64_t begin; /* number of the part's first slot */
        uint32_t n;

        static size_t nbytes(size_t n)
        {
                return n * sizeof(uint64_t);
        }

        __device__ kc_wd_own(const Layout &all, unsigned char *memory, uint32_t part, uint32_t n,
                             bool fresh)
            : Layout(all), theirs(all.words + (uint64_t)part * n), begin((uint64_t)part * n), n(n)
        {
                this->set_part((uint64_t *)memory, begin);
#pragma unroll 8
                for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
                        this->words[i] = fresh ? KC_WD_FREE : theirs[i];
        }

        __device__ void put_back(void) const
        {
#pragma unroll 4
                for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
                        theirs[i] = this->words[i];
        }

        __device__ typename Layout::seen load(uint32_t slot) const
        {
                return *(const volatile uint64_t *)&this->words[slot];
        }

        __device__ bool is_others(typename Layout::seen word, const wanted &what,
                                  uint32_t number) const
        {
                return Layout::look(word, what, number) == KC_WD_OTHER;
        }

        __device__ void set(uint32_t slot, wanted key, uint32_t value)
        {
                if constexpr (!Layout::COUNTS_ONLY)
                        *(volatile uint64_t *)&this->words[slot] = Layout::word_of(key, value);
        }

        __device__ kc_wd_claim claim(uint32_t slot, bool tomb, const wanted &what, uint32_t number,
                                     uint32_t value, enum kc_wd_mode mode)
        {
                return Layout::claim(slot, tomb, what, number, value, mode);
        }

        __device__ uint32_t value_at(uint32_t slot) const
        {
                return Layout::value_of(begin + slot, load(slot));
        }
};

/* Reads and writes a slot of the map, in one access if key and value are adjacent. */
template <class Key, int KS, int VS>
static __device__ void kc_wd_fetch(const kc_wd_apart<Key, KS, VS> &slots, uint64_t slot, Key *key,
                                   uint32_t *value)
{
        *key = ((const Key *)slots.keys)[slot];
        *value = ((const uint32_t *)slots.values)[slot];
}

template <class Key, int KS, int VS>
static __device__ void kc_wd_put_back(const kc_wd_apart<Key, KS, VS> &slots, uint64_t slot, Key key,
                                      uint32_t value)
{
        ((Key *)slots.keys)[slot] = key;
        ((uint32_t *)slots.values)[slot] = value;
}

static __device__ inline void kc_wd_fetch(const kc_wd_near64 &slots, uint64_t slot, kc_key64 *key,
                                          uint32_t *value)
{
        uint4 all = ((const uint4 *)slots.keys)[slot];
        *key = (uint64_t)all.y << 32 | all.x;
        *value = all.z;
}

static __device__ inline void kc_wd_put_back(const kc_wd_near64 &slots, uint64_t slot, kc_key64 key,
                                             uint32_t value)
{
        ((uint4 *)slots.keys)[slot] = make_uint4((uint32_t)key, (uint32_t)(key >> 32), value, 0);
}

/* Keys and values in separate arrays, even if they are adjacent in the map. */
template <class Key, int KS, int VS>
struct kc_wd_own<kc_wd_apart<Key, KS, VS>> : kc_wd_apart<Key, sizeof(Key), 4> {
        typedef kc_wd_apart<Key, sizeof(Key), 4> base;
        typedef kc_wd_apart<Key, KS, VS> Layout;
        Layout theirs;
        uint64_t begin;
        uint32_t n;

        static size_t nbytes(size_t n)
        {
                return n * (sizeof(Key) + sizeof(uint32_t));
        }

        __device__ kc_wd_own(const Layout &all, unsigned char *memory, uint32_t part, uint32_t n,
                             bool fresh)
            : theirs(all), begin((uint64_t)part * n), n(n)
        {
                this->keys = memory;
                this->values = memory + n * sizeof(Key);
#pragma unroll 8
                for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
                        Key key = ~(Key)0;
                        uint32_t value = 0;
                        if (!fresh)
                                kc_wd_fetch(theirs, begin + i, &key, &value);
                        ((Key *)this->keys)[i] = key;
                        ((uint32_t *)this->values)[i] = value;
                }
        }

        __device__ void put_back(void) const
        {
#pragma unroll 4
                for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
                        kc_wd_put_back(theirs, begin + i, ((const Key *)this->keys)[i],
                                       ((const uint32_t *)this->values)[i]);
        }

        /* Reads the low word of two first: once that is set, the high one is either free or
         * final. */
        __device__ typename base::seen load(uint32_t slot) const
        {
                const volatile uint64_t *words = words_at(slot);
                Key key = words[0];
                if constexpr (base::WIDE)
                        key |= (Key)words[1] << 64;
                return { key, 0 };
        }

        /* Marks have all ones in the high half, which is reason enough for a closer look. */
        __device__ bool is_others(typename base::seen there, Key key, uint32_t) const
        {
                if constexpr (base::WIDE)
                        return base::look(there, key, 0) == KC_WD_OTHER;
                return there.key != key && (uint32_t)(there.key >> 32) != UINT32_MAX;
        }

        __device__ kc_wd_claim claim(uint32_t slot, bool tomb, Key key, uint32_t, uint32_t value,
                                     enum kc_wd_mode mode)
        {
                kc_wd_claim got = base::claim_key(words_at(slot), tomb, key);
                if (got == KC_WD_CLAIMED && mode == KC_WD_ADD)
                        add(slot, key, value);
                else if (got == KC_WD_CLAIMED)
                        set(slot, key, value);
                return got;
        }

        __device__ void set(uint32_t slot, Key, uint32_t value)
        {
                *(volatile uint32_t *)place_of_value(slot) = value;
        }

        __device__ void add(uint32_t slot, Key, uint32_t weight)
        {
                kc_wd_add_count(place_of_value(slot), weight);
        }

        __device__ uint32_t value_at(uint32_t slot) const
        {
                return *place_of_value(slot);
        }

      private:
        __device__ uint64_t *words_at(uint32_t slot) const
        {
                return (uint64_t *)(this->keys + slot * sizeof(Key));
        }

        __device__ uint32_t *place_of_value(uint32_t slot) const
        {
                return (uint32_t *)this->values + slot;
        }
};

#endif
