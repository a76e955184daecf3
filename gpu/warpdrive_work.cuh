/*
 * The WarpDrive map's kernels: groups of lanes at work on keys. Inside of warpdrive_map.cu and
 * warpdrive_bulk.cu.
 */
#ifndef KC_GPU_WARPDRIVE_WORK_CUH
#define KC_GPU_WARPDRIVE_WORK_CUH

#include "gpu/warp.cuh"
#include "gpu/warpdrive.cuh"
#include "gpu/warpdrive_map.cuh"

enum { KC_WD_THREADS = 256 };

/* What a launch adds to map->totals. */
enum { KC_WD_NCLAIMED, KC_WD_NREFUSED, KC_WD_NHIT, KC_WD_NTOTALS };

/* Lanes l of a group of G have a key each; the group's lanes go through them together. */
template <class Layout, int G> struct kc_wd_lanes {
        typedef typename Layout::key key;
        typedef typename Layout::seen seen;
        typedef typename Layout::wanted wanted;
        typedef decltype(cooperative_groups::tiled_partition<G>(
                cooperative_groups::this_thread_block())) tile;
        /* Windows read before the first of their keys is dealt with. */
        enum { AHEAD = G < 4 ? G : 4 };

        const kc_wd_view<Layout> &map;

        __device__ kc_wd_lanes(const kc_wd_view<Layout> &map) : map(map)
        {
        }

        static __device__ tile group(void)
        {
                return cooperative_groups::tiled_partition<G>(
                        cooperative_groups::this_thread_block());
        }

        /* Put the keys of lanes with `active`. Returns the slot, KC_WD_NONE if refused. */
        __device__ uint64_t put(key mixed, uint32_t value, bool active, enum kc_wd_mode mode,
                                uint32_t *nclaimed)
        {
                uint64_t own = KC_WD_NONE;
                each(mixed, active,
                     [&](int turn, const wanted &what, const kc_wd_probing &p, const seen &first) {
                             uint32_t weight = Layout::VALUE_LATER ? 0 : group().shfl(value, turn);
                             bool claimed = false;
                             uint64_t slot = put_one(what, p, first, weight, mode, &claimed);
                             if ((int)group().thread_rank() != turn)
                                     return;
                             own = slot;
                             *nclaimed += claimed;
                     });
                return own;
        }

        /* Seek the keys of lanes with `active`. Returns a token, KC_WD_NONE for no such key; with
         * ERASE, 1 where this lane erased it. */
        template <bool ERASE> __device__ uint64_t seek(key mixed, bool active)
        {
                uint64_t own = KC_WD_NONE;
                each(mixed, active,
                     [&](int turn, const wanted &what, const kc_wd_probing &p, const seen &first) {
                             uint64_t token = seek_one<ERASE>(what, p, first);
                             if ((int)group().thread_rank() == turn)
                                     own = token;
                     });
                return own;
        }

      private:
        template <class Do> __device__ void each(key mixed, bool active, const Do &take)
        {
                kc_wd_probing p;
                (void)map.slots.want(map.shape, mixed, &p);
                uint64_t begin = active ? kc_wd_slot(map.shape, p, 0) : 0;
                unsigned waiting = group().ballot(active);
                for (int turn = 0; turn < G; turn += AHEAD) {
                        seen first[AHEAD];
#pragma unroll
                        for (int i = 0; i < AHEAD; i++)
                                first[i] = map.slots.load(group().shfl(begin, turn + i) +
                                                          group().thread_rank());
#pragma unroll
                        for (int i = 0; i < AHEAD; i++) {
                                if (!(waiting >> (turn + i) & 1))
                                        continue;
                                wanted what = map.slots.want(
                                        map.shape, kc_group_shfl(group(), mixed, turn + i), &p);
                                take(turn + i, what, p, first[i]);
                        }
                }
        }

        __device__ uint64_t slot_of(const kc_wd_probing &p, uint32_t rank) const
        {
                return kc_wd_slot(map.shape, p, rank);
        }

        __device__ void update(uint64_t slot, const wanted &what, uint32_t value,
                               enum kc_wd_mode mode)
        {
                Layout slots = map.slots;
                if (mode == KC_WD_ADD)
                        slots.add(slot, what, value);
                else
                        slots.set(slot, what, value);
        }

        /* Where a key may go: the first slot of its sequence that is no other key's. */
        struct free_slot {
                kc_wd_probing at;
                int lane; /* -1: none seen */
                bool tomb;
        };

        __device__ enum kc_wd_claim claim(const free_slot &room, const wanted &what, uint32_t value)
        {
                int got = KC_WD_LOST;
                Layout slots = map.slots;
                if ((int)group().thread_rank() == room.lane)
                        got = slots.claim(slot_of(room.at, (uint32_t)room.lane), room.tomb, what,
                                          room.at.number, value);
                return (enum kc_wd_claim)group().shfl(got, room.lane);
        }

        /* A value belongs to the lane that brought it, or goes with the word. */
        __device__ uint64_t met(const kc_wd_probing &p, int lane, const wanted &what,
                                uint32_t value, enum kc_wd_mode mode)
        {
                if (!Layout::VALUE_LATER && (int)group().thread_rank() == lane)
                        update(slot_of(p, (uint32_t)lane), what, value, mode);
                return slot_of(p, (uint32_t)lane);
        }

        /*
         * A free slot ends the sequence: behind it the key cannot be. A tombstone does not, so the
         * first one is kept in mind. Where another key was quicker, the sequence is looked at again
         * from there; each time it has one slot less, which bounds the steps.
         */
        __device__ uint64_t put_one(const wanted &what, kc_wd_probing p, seen there, uint32_t value,
                                    enum kc_wd_mode mode, bool *claimed)
        {
                free_slot room = { p, -1, false };
                uint32_t most = map.shape.max_probes;
                for (uint32_t steps = 0; steps < (G + 2) * most; steps++) {
                        kc_wd_look look = map.slots.look(there, what, p.number);
                        unsigned match = group().ballot(look == KC_WD_MATCH);
                        if (match != 0)
                                return met(p, __ffs((int)match) - 1, what, value, mode);
                        unsigned open = group().ballot(look == KC_WD_OPEN);
                        unsigned gone = group().ballot(look == KC_WD_GONE);
                        if (room.lane < 0 && (open | gone) != 0) {
                                int first = __ffs((int)(open | gone)) - 1;
                                room = { p, first, (bool)(gone >> first & 1) };
                        }
                        bool last = p.number + 1 >= most;
                        if (room.lane >= 0 && (open != 0 || last)) {
                                enum kc_wd_claim got = claim(room, what, value);
                                *claimed = got == KC_WD_CLAIMED;
                                if (got == KC_WD_CLAIMED)
                                        return slot_of(room.at, (uint32_t)room.lane);
                                if (got == KC_WD_FOUND)
                                        return met(room.at, room.lane, what, value, mode);
                                p = room.at;
                                room.lane = -1;
                        } else if (last) {
                                return KC_WD_NONE;
                        } else {
                                kc_wd_probing_next(map.shape, &p);
                        }
                        there = map.slots.load(slot_of(p, group().thread_rank()));
                }
                return KC_WD_NONE;
        }

        template <bool ERASE>
        __device__ uint64_t seek_one(const wanted &what, kc_wd_probing p, seen there)
        {
                for (;;) {
                        kc_wd_look look = map.slots.look(there, what, p.number);
                        uint64_t slot = slot_of(p, group().thread_rank());
                        unsigned match = group().ballot(look == KC_WD_MATCH);
                        if (match != 0)
                                return found<ERASE>(slot, there, __ffs((int)match) - 1);
                        if (group().any(look == KC_WD_OPEN) || p.number + 1 >= map.shape.max_probes)
                                return KC_WD_NONE;
                        kc_wd_probing_next(map.shape, &p);
                        there = map.slots.load(slot_of(p, group().thread_rank()));
                }
        }

        template <bool ERASE> __device__ uint64_t found(uint64_t slot, const seen &there, int lane)
        {
                uint64_t token = 0;
                Layout slots = map.slots;
                if ((int)group().thread_rank() == lane) {
                        if constexpr (ERASE)
                                token = slots.erase(slot, there) ? 1 : KC_WD_NONE;
                        else
                                token = slots.token(slot, there);
                }
                return group().shfl(token, lane);
        }
};

/* ---- odd keys ---- */

/* Returns whether the key is new there. */
static __device__ inline bool kc_wd_put_odd(struct kc_wd_odd *odd, int i, uint32_t value,
                                            enum kc_wd_mode mode)
{
        bool is_new = atomicExch(&odd->there[i], 1u) == 0;
        if (mode == KC_WD_ADD)
                kc_wd_add_count(&odd->values[i], value);
        else
                odd->values[i] = value;
        return is_new;
}

static __device__ inline bool kc_wd_erase_odd(struct kc_wd_odd *odd, int i)
{
        bool was = atomicExch(&odd->there[i], 0u) != 0;
        if (was)
                odd->values[i] = 0;
        return was;
}

/* ---- kernels ---- */

static __device__ inline void kc_wd_add_total(unsigned long long *total, uint32_t n)
{
        n = __reduce_add_sync(UINT32_MAX, n);
        if (kc_warp_lane() == 0 && n != 0)
                atomicAdd(total, (unsigned long long)n);
}

/* Where a warp is in a batch: 32 keys at a time, neighbouring warps neighbouring keys. */
static __device__ inline uint64_t kc_wd_warp_begin(void)
{
        return ((uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x) / 32 * 32;
}

static __device__ inline uint64_t kc_wd_stride(void)
{
        return (uint64_t)gridDim.x * KC_WD_THREADS;
}

/* A batch as kernels see it. */
template <class Key> struct kc_wd_batch {
        const Key *keys;
        const uint32_t *values; /* NULL: 1 each */
        const uint32_t *todo;   /* a bit a key: put only those; NULL: all */
        uint32_t *refused;      /* a bit a key */
        uint64_t begin, n;      /* keys [begin, n) */
        const uint32_t *ends;   /* [parts] where each part's keys end; NULL: they are not split */
        unsigned long long *totals;
};

/*
 * One warp's 32 keys from `base` on. refused bits are written where `todo` was given or a key was
 * refused: they were cleared before.
 */
template <class Layout, int G>
static __device__ void kc_wd_put_32(kc_wd_lanes<Layout, G> *lanes,
                                    const kc_wd_batch<typename Layout::key> &batch, uint64_t base,
                                    enum kc_wd_mode mode, uint32_t *nclaimed, uint32_t *nrefused)
{
        typedef typename Layout::key Key;
        const kc_wd_view<Layout> &map = lanes->map;
        uint64_t i = base + kc_warp_lane();
        uint32_t todo = batch.todo == NULL ? UINT32_MAX : batch.todo[base / 32];
        bool active = i >= batch.begin && i < batch.n && todo >> kc_warp_lane() & 1;
        bool refused = false;
        Key mixed = active ? kc_wd_mix(batch.keys[i], map.shape.seed, map.shape.key_bits) : (Key)0;
        uint32_t value = active && batch.values != NULL ? __ldcs(&batch.values[i]) : 1;
        int odd = active ? Layout::odd(mixed) : (int)KC_WD_ODD_NONE;
        if (odd >= 0)
                *nclaimed += kc_wd_put_odd(map.odd, odd, value, mode);
        refused = odd == KC_WD_ODD_REFUSED;
        active = active && odd == KC_WD_ODD_NONE;
        uint64_t slot = lanes->put(mixed, value, active, mode, nclaimed);
        if (Layout::VALUE_LATER && active && slot != KC_WD_NONE) {
                kc_wd_probing unused;
                typename Layout::wanted what = map.slots.want(map.shape, mixed, &unused);
                Layout slots = map.slots;
                if (mode == KC_WD_ADD)
                        slots.add(slot, what, value);
                else
                        slots.set(slot, what, value);
        }
        refused = refused || (active && slot == KC_WD_NONE);
        uint32_t bits = __ballot_sync(UINT32_MAX, refused);
        if (kc_warp_lane() == 0 && bits != 0)
                atomicOr(&batch.refused[base / 32], bits); /* parts may meet there */
        *nrefused += refused;
}

template <class Layout, int G>
static __global__ void __launch_bounds__(KC_WD_THREADS)
        kc_wd_put_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch,
                         enum kc_wd_mode mode)
{
        kc_wd_lanes<Layout, G> lanes(map);
        uint32_t nclaimed = 0, nrefused = 0;
        for (uint64_t base = kc_wd_warp_begin(); base < batch.n; base += kc_wd_stride())
                kc_wd_put_32<Layout, G>(&lanes, batch, base, mode, &nclaimed, &nrefused);
        kc_wd_add_total(&batch.totals[KC_WD_NCLAIMED], nclaimed);
        kc_wd_add_total(&batch.totals[KC_WD_NREFUSED], nrefused);
}

enum { KC_WD_PART_THREADS = 1024 };

/* A block a part: its words are fetched to shared memory, its keys put there, the words put back.
 * batch is split, and the map's groups are of one lane. */
template <class Layout>
static __global__ void __launch_bounds__(KC_WD_PART_THREADS)
        kc_wd_put_part_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch,
                              enum kc_wd_mode mode)
{
        extern __shared__ __align__(16) unsigned char memory[];
        uint64_t *own = (uint64_t *)memory, *words = map.slots.words;
        uint32_t nslots = map.shape.nwindows, nclaimed = 0, nrefused = 0;
        kc_wd_view<kc_wd_in_shared<Layout>> local = {};
        kc_wd_lanes<kc_wd_in_shared<Layout>, 1> lanes(local);
        words += (uint64_t)blockIdx.x * nslots;
        batch.begin = blockIdx.x == 0 ? 0 : batch.ends[blockIdx.x - 1];
        batch.n = batch.ends[blockIdx.x];
        if (batch.begin == batch.n)
                return;
        (Layout &)local.slots = map.slots;
        local.slots.set_part(own, (uint64_t)blockIdx.x * nslots);
        local.shape = map.shape;
        local.odd = map.odd;
        for (uint32_t i = threadIdx.x; i < nslots; i += KC_WD_PART_THREADS)
                own[i] = words[i];
        __syncthreads();
        for (uint64_t base = batch.begin / 32 * 32 + threadIdx.x / 32 * 32; base < batch.n;
             base += KC_WD_PART_THREADS)
                kc_wd_put_32<kc_wd_in_shared<Layout>, 1>(&lanes, batch, base, mode, &nclaimed,
                                                         &nrefused);
        kc_wd_add_total(&batch.totals[KC_WD_NCLAIMED], nclaimed);
        kc_wd_add_total(&batch.totals[KC_WD_NREFUSED], nrefused);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < nslots; i += KC_WD_PART_THREADS)
                words[i] = own[i];
}

/* kc_wd_put for a batch that is split: keys of part p end at ends[p]. NULL: it is not. */
template <class Layout>
enum kc_status kc_wd_put_split(kc_wd_map<Layout> *map, enum kc_wd_mode mode,
                               const typename Layout::key *keys, const uint32_t *values, uint64_t n,
                               const uint32_t *ends, uint32_t *refused, struct kc_error *err);

/* A lane's key of a batch, from the warp's `base` on. */
template <class Layout> struct kc_wd_asked {
        typedef typename Layout::key Key;
        uint64_t i;
        bool active;
        Key mixed;
        int odd;

        __device__ kc_wd_asked(const kc_wd_view<Layout> &map, const kc_wd_batch<Key> &batch,
                               uint64_t base)
        {
                i = base + kc_warp_lane();
                active = i < batch.n;
                mixed = active ? kc_wd_mix(batch.keys[i], map.shape.seed, map.shape.key_bits)
                               : (Key)0;
                odd = active ? Layout::odd(mixed) : (int)KC_WD_ODD_NONE;
        }

        __device__ bool is_usual(void) const
        {
                return active && odd == KC_WD_ODD_NONE;
        }
};

/* What a retrieval writes. */
struct kc_wd_answers {
        uint32_t *values;
        uint8_t *found; /* NULL: not wanted */
        uint32_t missing;
};

template <class Layout, int G>
static __global__ void __launch_bounds__(KC_WD_THREADS)
        kc_wd_retrieve_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch,
                              struct kc_wd_answers out)
{
        kc_wd_lanes<Layout, G> lanes(map);
        uint32_t nfound = 0;
        for (uint64_t base = kc_wd_warp_begin(); base < batch.n; base += kc_wd_stride()) {
                kc_wd_asked<Layout> ask(map, batch, base);
                uint64_t token = lanes.template seek<false>(ask.mixed, ask.is_usual());
                bool there = ask.odd >= 0 ? map.odd->there[ask.odd] != 0 : token != KC_WD_NONE;
                uint32_t value = !there         ? out.missing
                                 : ask.odd >= 0 ? map.odd->values[ask.odd]
                                                : map.slots.value_of(token);
                if (ask.active)
                        __stcs(&out.values[ask.i], value);
                if (ask.active && out.found != NULL)
                        out.found[ask.i] = there;
                nfound += there;
        }
        kc_wd_add_total(&batch.totals[KC_WD_NHIT], nfound);
}

template <class Layout, int G>
static __global__ void __launch_bounds__(KC_WD_THREADS)
        kc_wd_erase_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch)
{
        kc_wd_lanes<Layout, G> lanes(map);
        uint32_t nerased = 0;
        for (uint64_t base = kc_wd_warp_begin(); base < batch.n; base += kc_wd_stride()) {
                kc_wd_asked<Layout> ask(map, batch, base);
                uint64_t token = lanes.template seek<true>(ask.mixed, ask.is_usual());
                nerased += ask.odd >= 0 ? kc_wd_erase_odd(map.odd, ask.odd) : token != KC_WD_NONE;
        }
        kc_wd_add_total(&batch.totals[KC_WD_NHIT], nerased);
}

#endif
