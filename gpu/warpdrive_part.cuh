/*
 * A part of the WarpDrive map in a block's shared memory: fetched from the map, put into or looked
 * up in, and written back. Inside of warpdrive_bulk.cu.
 *
 * The keys are split by part (warpdrive_split.cuh). A lane goes a key's way alone, slot by slot,
 * through the same windows as a group in device memory, so the map is the same; and it takes
 * another key as soon as it is done, or at high loads a warp would wait for the longest of 32 ways:
 * ten times the mean at a load of 0.95. A warp has 32 keys in registers, of which the idle lanes
 * take the next ones, and the 32 after those under way.
 */
#ifndef KC_GPU_WARPDRIVE_PART_CUH
#define KC_GPU_WARPDRIVE_PART_CUH

#include "gpu/warpdrive.cuh"
#include "gpu/warpdrive_work.cuh"

enum {
        KC_WD_PART_THREADS = 1024, /* at most */
        KC_WD_PART_IDLE = 12, /* lanes without a key before the next are handed out */
};

static constexpr uint32_t KC_WD_NO_ROOM = UINT32_MAX;

/* ---- the slots of a part, by layout ---- */

/*
 * Layout's slots at `memory`, shared memory of nbytes(n) for n slots, filled from those of `part`;
 * fresh: they are all free. All of a block's threads do that, and put_back, together, with barriers
 * between that and what else they do. load, look, set and add are those of a layout, and so is
 * claim, which leaves the value there, if the slot is KC_WD_CLAIMED.
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

        __device__ uint32_t value_of(uint32_t slot, typename Layout::seen word) const
        {
                return Layout::value_of(begin + slot, word);
        }
};

/* A slot of the map, read and written in one go where key and value lie near. */
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

/* Keys and values apart, whatever they are in the map. */
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

        /* The low word of two first: once that is there, the high one is free or stays. */
        __device__ typename base::seen load(uint32_t slot) const
        {
                const volatile uint64_t *words = words_at(slot);
                Key key = words[0];
                if constexpr (base::WIDE)
                        key |= (Key)words[1] << 64;
                return { key, 0 };
        }

        __device__ kc_wd_claim claim(uint32_t slot, bool tomb, Key key, uint32_t, uint32_t value,
                                     enum kc_wd_mode mode)
        {
                uint64_t expected = tomb ? KC_WD_GONE_KEY : KC_WD_FREE, low = (uint64_t)key;
                uint64_t was = kc_wd_swap(words_at(slot), expected, low);
                if (was != expected && was != low)
                        return KC_WD_LOST;
                if constexpr (base::WIDE) {
                        expected = KC_WD_FREE;
                        low = (uint64_t)(key >> 64);
                        was = kc_wd_swap(words_at(slot) + 1, expected, low);
                }
                if (was != expected)
                        return was == low ? KC_WD_FOUND : KC_WD_LOST;
                if (mode == KC_WD_ADD)
                        add(slot, key, value);
                else
                        set(slot, key, value);
                return KC_WD_CLAIMED;
        }

        __device__ void set(uint32_t slot, Key, uint32_t value)
        {
                *(volatile uint32_t *)value_at(slot) = value;
        }

        __device__ void add(uint32_t slot, Key, uint32_t weight)
        {
                kc_wd_add_count(value_at(slot), weight);
        }

        __device__ uint32_t value_of(uint32_t slot, typename base::seen) const
        {
                return *value_at(slot);
        }

      private:
        __device__ uint64_t *words_at(uint32_t slot) const
        {
                return (uint64_t *)(this->keys + slot * sizeof(Key));
        }

        __device__ uint32_t *value_at(uint32_t slot) const
        {
                return (uint32_t *)this->values + slot;
        }
};

/* ---- a lane under way ---- */

enum kc_wd_fate { KC_WD_UNDER_WAY, KC_WD_DONE, KC_WD_NEW, KC_WD_NOWHERE };

template <class Layout> struct kc_wd_errand {
        typedef typename Layout::key Key;
        Key mixed;
        typename Layout::wanted what;
        uint32_t i, value;
        kc_wd_probing p;
        uint32_t rank; /* in the window */
        uint32_t room; /* the first slot with a tombstone, or KC_WD_NO_ROOM */
        uint32_t room_number;

        __device__ void begin(const kc_wd_shape &shape, const kc_wd_own<Layout> &own)
        {
                what = own.want(shape, mixed, &p);
                p.first = 0;
                rank = 0;
                room = KC_WD_NO_ROOM;
        }

        __device__ uint32_t slot(const kc_wd_shape &shape) const
        {
                return p.window * shape.group + rank;
        }

        /* false: that was the last slot. */
        __device__ bool next(const kc_wd_shape &shape)
        {
                if (++rank < shape.group)
                        return true;
                if (p.number + 1 >= shape.max_probes)
                        return false;
                rank = 0;
                kc_wd_probing_next(shape, &p);
                return true;
        }
};

template <class Layout>
static __device__ void kc_wd_update(kc_wd_own<Layout> *own, uint32_t slot,
                                    const typename Layout::wanted &what, uint32_t value,
                                    enum kc_wd_mode mode)
{
        if (mode == KC_WD_ADD)
                own->add(slot, what, value);
        else
                own->set(slot, what, value);
}

/*
 * One slot further. A free slot ends the way: there the key goes, or to the first tombstone. If
 * another lane was quicker at a free slot, it is looked at again; at a tombstone, the way begins
 * anew, with one tombstone less.
 */
template <class Layout>
static __device__ enum kc_wd_fate kc_wd_put_step(const kc_wd_shape &shape, kc_wd_own<Layout> *own,
                                                 kc_wd_errand<Layout> *e, enum kc_wd_mode mode)
{
        uint32_t slot = e->slot(shape), number = e->p.number;
        kc_wd_look look = own->look(own->load(slot), e->what, number);
        if (look == KC_WD_MATCH) {
                kc_wd_update(own, slot, e->what, e->value, mode);
                return KC_WD_DONE;
        }
        if (look == KC_WD_GONE && e->room == KC_WD_NO_ROOM) {
                e->room = slot;
                e->room_number = number;
        }
        if (look != KC_WD_OPEN) {
                if (e->next(shape))
                        return KC_WD_UNDER_WAY;
                if (e->room == KC_WD_NO_ROOM)
                        return KC_WD_NOWHERE;
        }
        bool tomb = e->room != KC_WD_NO_ROOM;
        uint32_t to = tomb ? e->room : slot;
        kc_wd_claim got =
                own->claim(to, tomb, e->what, tomb ? e->room_number : number, e->value, mode);
        if (got == KC_WD_LOST) {
                if (tomb)
                        e->begin(shape, *own);
                return KC_WD_UNDER_WAY;
        }
        if (got == KC_WD_FOUND)
                kc_wd_update(own, to, e->what, e->value, mode);
        return got == KC_WD_CLAIMED ? KC_WD_NEW : KC_WD_DONE;
}

/* One slot further; KC_WD_DONE: e->value is the key's. */
template <class Layout>
static __device__ enum kc_wd_fate kc_wd_seek_step(const kc_wd_shape &shape,
                                                  const kc_wd_own<Layout> &own,
                                                  kc_wd_errand<Layout> *e)
{
        uint32_t slot = e->slot(shape);
        auto there = own.load(slot);
        kc_wd_look look = own.look(there, e->what, e->p.number);
        if (look == KC_WD_MATCH) {
                e->value = own.value_of(slot, there);
                return KC_WD_DONE;
        }
        return look == KC_WD_OPEN || !e->next(shape) ? KC_WD_NOWHERE : KC_WD_UNDER_WAY;
}

/* ---- a warp's keys ---- */

/* Keys and values of a part, mixed, 32 at a time, blockDim.x apart. */
template <class Key> struct kc_wd_queue {
        const Key *keys;
        const uint32_t *values; /* NULL: 1 each */
        uint32_t at, end;       /* the 32 in hand */
        uint32_t head;          /* how many of them are handed out */
        Key key, next_key;
        uint32_t value, next_value;

        __device__ kc_wd_queue(const Key *keys, const uint32_t *values, uint32_t begin,
                               uint32_t end)
            : keys(keys), values(values), at(begin + threadIdx.x / 32 * 32 - blockDim.x), end(end)
        {
                read(at + blockDim.x);
                advance();
        }

        __device__ bool is_empty(void) const
        {
                return at >= end;
        }

        /* To those of lanes with a bit in `idle`, of all lanes together. Returns whether this lane
         * has got one; its number, key and value. */
        __device__ bool take(unsigned idle, uint32_t *i, Key *to, uint32_t *weight)
        {
                uint32_t from = head + kc_warp_rank(idle), n = min(end - at, 32u);
                namespace cg = cooperative_groups;
                auto warp = cg::tiled_partition<32>(cg::this_thread_block());
                Key own = kc_group_shfl(warp, key, (int)from % 32);
                uint32_t own_value = warp.shfl(value, (int)from % 32);
                bool got = idle >> kc_warp_lane() & 1 && from < n;
                if (got) {
                        *i = at + from;
                        *to = own;
                        *weight = own_value;
                }
                head += (uint32_t)__popc(idle);
                if (head >= n)
                        advance();
                return got;
        }

      private:
        __device__ void read(uint32_t from)
        {
                bool is_there = from + kc_warp_lane() < end;
                next_key = is_there ? keys[from + kc_warp_lane()] : (Key)0;
                next_value = is_there && values != NULL ? values[from + kc_warp_lane()] : 1;
        }

        __device__ void advance(void)
        {
                at += blockDim.x;
                head = 0;
                key = next_key;
                value = next_value;
                read(at + blockDim.x);
        }
};

/* ---- kernels: a block a part ---- */

template <class Key> struct kc_wd_parted {
        const Key *keys;        /* in order of their parts, mixed */
        const uint32_t *values; /* NULL: 1 each */
        const uint32_t *begins; /* [parts + 1] */
        bool fresh;             /* the map has no keys nor tombstones */
        unsigned long long *totals;
        Key *refused_keys; /* as many as totals[KC_WD_NREFUSED] will be; as they came */
        uint32_t *refused_values;
        uint32_t *answers; /* in the order of keys */
        uint32_t missing;
};

template <class Key>
static __device__ void kc_wd_refuse(const kc_wd_shape &shape, const kc_wd_parted<Key> &batch,
                                    Key mixed, uint32_t value)
{
        uint64_t at = atomicAdd(&batch.totals[KC_WD_NREFUSED], 1ull);
        batch.refused_keys[at] = kc_wd_unmix(mixed, shape.seed, shape.key_bits);
        batch.refused_values[at] = value;
}

/* Go the ways of the warp's keys. begin(e): whether there is a way to go; step(e): whether e is
 * done. */
template <class Layout, class Begin, class Step>
static __device__ void kc_wd_go(kc_wd_queue<typename Layout::key> *queue, const Begin &begin,
                                const Step &step)
{
        kc_wd_errand<Layout> e;
        bool busy = false;
        for (;;) {
                unsigned idle = __ballot_sync(UINT32_MAX, !busy);
                if (!queue->is_empty() && __popc(idle) >= KC_WD_PART_IDLE) {
                        if (queue->take(idle, &e.i, &e.mixed, &e.value))
                                busy = begin(&e);
                } else if (idle == UINT32_MAX) {
                        return;
                }
                if (busy)
                        busy = !step(&e);
        }
}

template <class Layout>
static __global__ void __launch_bounds__(KC_WD_PART_THREADS)
        kc_wd_put_part_kernel(kc_wd_view<Layout> map, kc_wd_parted<typename Layout::key> batch,
                              enum kc_wd_mode mode)
{
        extern __shared__ __align__(16) unsigned char memory[];
        const kc_wd_shape &shape = map.shape;
        uint32_t begin = batch.begins[blockIdx.x], end = batch.begins[blockIdx.x + 1];
        uint32_t nclaimed = 0;
        if (begin == end)
                return;
        kc_wd_own<Layout> own(map.slots, memory, blockIdx.x, shape.nwindows * shape.group,
                              batch.fresh);
        kc_wd_queue<typename Layout::key> queue(batch.keys, batch.values, begin, end);
        __syncthreads();
        kc_wd_go<Layout>(
                &queue,
                [&](kc_wd_errand<Layout> *e) {
                        int odd = Layout::odd(e->mixed);
                        if (odd >= 0)
                                nclaimed += kc_wd_put_odd(map.odd, odd, e->value, mode);
                        if (odd == KC_WD_ODD_REFUSED)
                                kc_wd_refuse(shape, batch, e->mixed, e->value);
                        e->begin(shape, own);
                        return odd == KC_WD_ODD_NONE;
                },
                [&](kc_wd_errand<Layout> *e) {
                        enum kc_wd_fate fate = kc_wd_put_step(shape, &own, e, mode);
                        nclaimed += fate == KC_WD_NEW;
                        if (fate == KC_WD_NOWHERE)
                                kc_wd_refuse(shape, batch, e->mixed, e->value);
                        return fate != KC_WD_UNDER_WAY;
                });
        kc_wd_add_total(&batch.totals[KC_WD_NCLAIMED], nclaimed);
        __syncthreads();
        own.put_back();
}

template <class Layout>
static __global__ void __launch_bounds__(KC_WD_PART_THREADS)
        kc_wd_retrieve_part_kernel(kc_wd_view<Layout> map,
                                   kc_wd_parted<typename Layout::key> batch)
{
        extern __shared__ __align__(16) unsigned char memory[];
        const kc_wd_shape &shape = map.shape;
        uint32_t begin = batch.begins[blockIdx.x], end = batch.begins[blockIdx.x + 1];
        uint32_t nfound = 0;
        if (begin == end)
                return;
        kc_wd_own<Layout> own(map.slots, memory, blockIdx.x, shape.nwindows * shape.group,
                              batch.fresh);
        kc_wd_queue<typename Layout::key> queue(batch.keys, NULL, begin, end);
        __syncthreads();
        auto answer = [&](uint32_t i, bool found, uint32_t value) {
                batch.answers[i] = found ? value : batch.missing;
                nfound += found;
        };
        kc_wd_go<Layout>(
                &queue,
                [&](kc_wd_errand<Layout> *e) {
                        int odd = Layout::odd(e->mixed);
                        e->begin(shape, own);
                        if (odd >= 0)
                                answer(e->i, map.odd->there[odd] != 0, map.odd->values[odd]);
                        if (odd == KC_WD_ODD_REFUSED)
                                answer(e->i, false, 0);
                        return odd == KC_WD_ODD_NONE;
                },
                [&](kc_wd_errand<Layout> *e) {
                        enum kc_wd_fate fate = kc_wd_seek_step(shape, own, e);
                        if (fate != KC_WD_UNDER_WAY)
                                answer(e->i, fate == KC_WD_DONE, e->value);
                        return fate != KC_WD_UNDER_WAY;
                });
        kc_wd_add_total(&batch.totals[KC_WD_NHIT], nfound);
}

#endif
