/*
 * The WarpDrive map's kernels: how lanes process keys. Private to map.cu and bulk.cu.
 *
 *      a warp:   take keys ──▶ read their windows ──▶ match, claim or go on ──┐
 *                    ▲                                                        │
 *                    └────────────── groups that are done ◀──────────────────┘
 *
 * A group has the fewest lanes that can read a window of |g| slots with one or two loads of 16
 * bytes each, but at least two for a sector of 32 bytes, so that it is requested once. All groups
 * of a warp step together, one window each, and a group that is done takes the warp's next key: so
 * a warp's time depends on the mean number of windows, not on the longest sequence among 32 keys.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_KERNELS_CUH
#define KC_GPU_MAPS_WARPDRIVE_KERNELS_CUH

#include "gpu/device/warp.cuh"
#include "gpu/maps/warpdrive/map.cuh"

enum { KC_WD_THREADS = 256 };

/* What a launch adds to map->totals. */
enum { KC_WD_NCLAIMED, KC_WD_NREFUSED, KC_WD_NHIT, KC_WD_NTOTALS };

static inline enum kc_status kc_wd_clear_totals(struct kc_gpu_stream on, unsigned long long *totals,
                                                struct kc_error *err)
{
        return KC_CUDA(cudaMemsetAsync(totals, 0, KC_WD_NTOTALS * sizeof *totals, on.stream));
}

/* Make room for the counts that adding these weights (NULL: 1 each) can make wrap. */
template <class Layout>
enum kc_status kc_wd_expect_weights(kc_wd_map<Layout> *map, const uint32_t *weights, uint64_t n,
                                    struct kc_error *err);

/* kc_wd_put, after kc_wd_expect_weights has made room for the weights; n > 0. */
template <class Layout>
enum kc_status kc_wd_put_expected(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                  const uint32_t *values, uint64_t n, enum kc_wd_mode mode,
                                  uint32_t *refused, struct kc_error *err);

/* Set `refused`, if it is not NULL, to the bits of the refused among n keys; bits NULL: all are. */
void kc_wd_report_refused(struct kc_gpu_stream on, uint32_t *refused, const uint32_t *bits,
                          uint64_t n);

/* ---- windows ---- */

/* The value of the first lane of the group. All lanes of a warp call this. */
template <int LANES> __device__ int kc_wd_from_first(int value)
{
        return LANES == 1 ? value
                          : __shfl_sync(UINT32_MAX, value, (int)(kc_warp_lane() / LANES * LANES));
}

/* A window as a group sees it. All lanes of a warp call the members. */
template <class Layout, int G> struct kc_wd_window {
        enum : uint32_t {
                UNIT = G < Layout::SLOTS_16 ? G : Layout::SLOTS_16, /* slots per load */
                NUNITS = G / UNIT,
                LANES = NUNITS > 4   ? NUNITS / 2
                        : NUNITS > 1 ? 2
                                     : 1 /* two loads each at most */
        };

        typename Layout::seen hit;  /* valid if the lane has a match */
        uint32_t match, open, gone; /* a bit per slot, as the group's first lane sees it */

        static __device__ uint32_t rank(void)
        {
                return LANES == 1 ? 0 : kc_warp_lane() % LANES;
        }

        /* STILL: nobody writes to the map. */
        template <bool STILL>
        __device__ void read(const kc_wd_view<Layout> &map, const typename Layout::wanted &what,
                             const kc_wd_probing &p, bool active)
        {
                typename Layout::seen slots[NUNITS / LANES][UNIT];
                match = open = gone = 0;
                if (!active)
                        return;
#pragma unroll
                for (uint32_t i = 0; i < NUNITS / LANES; i++)
                        map.slots.template load<UNIT, STILL>(
                                first_slot(p) + (i * LANES + rank()) * UNIT, slots[i]);
#pragma unroll
                for (uint32_t i = 0; i < NUNITS / LANES; i++)
#pragma unroll
                        for (uint32_t j = 0; j < UNIT; j++)
                                note(slots[i][j], map.slots.look(slots[i][j], what, p.number),
                                     i * LANES * UNIT + j);
        }

        /* Bits of the group's lanes as those of the window's slots. */
        static __device__ uint32_t of_group(uint32_t bits)
        {
                bits <<= rank() * UNIT;
#pragma unroll
                for (uint32_t d = 1; d < LANES; d *= 2)
                        bits |= __shfl_xor_sync(UINT32_MAX, bits, (int)d);
                return bits;
        }

        static __device__ uint64_t first_slot(const kc_wd_probing &p)
        {
                return kc_wd_first_slot(p, G);
        }

        /* Whether this lane read slot `i` of the window. */
        static __device__ bool has(uint32_t i)
        {
                return i / UNIT % LANES == rank();
        }

      private:
        __device__ void note(const typename Layout::seen &there, kc_wd_look look, uint32_t bit)
        {
                if (look == KC_WD_MATCH)
                        hit = there;
                match |= (uint32_t)(look == KC_WD_MATCH) << bit;
                open |= (uint32_t)(look == KC_WD_OPEN) << bit;
                gone |= (uint32_t)(look == KC_WD_GONE) << bit;
        }
};

static __device__ inline uint32_t kc_wd_lowest(uint32_t bits)
{
        return (uint32_t)__ffs((int)bits) - 1;
}

/* ---- assigning keys to groups ---- */

/* A batch as kernels see it. */
template <class Key> struct kc_wd_batch {
        const Key *keys;
        const uint32_t *values; /* NULL: 1 each */
        const uint32_t *todo;   /* a bit per key: put only those; NULL: all */
        uint32_t *refused;      /* a bit a key */
        uint64_t n;
        unsigned long long *totals; /* NULL: what is retrieved is not counted */
};

/* A warp's keys: runs of 32 below `end`, `stride` apart, so that all warps are at about the same
 * place of a batch. */
struct kc_wd_walk {
        uint64_t begin, stride, end;

        __device__ uint64_t at(uint32_t nth) const
        {
                return begin + nth / 32 * stride + nth % 32;
        }
};

static __device__ inline kc_wd_walk kc_wd_walk_of_warp(uint64_t n)
{
        return { ((uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x) / 32 * 32,
                 (uint64_t)gridDim.x * KC_WD_THREADS, n };
}

template <class Key> __device__ Key kc_wd_shfl(Key key, uint32_t lane)
{
        if constexpr (sizeof(Key) <= 8)
                return __shfl_sync(UINT32_MAX, key, (int)lane);
        else
                return (Key)__shfl_sync(UINT32_MAX, (uint64_t)(key >> 64), (int)lane) << 64 |
                       __shfl_sync(UINT32_MAX, (uint64_t)key, (int)lane);
}

/* The key that a group of LANES lanes is working on. Its warp prefetches a run's keys and the next
 * run's into registers, one key per lane each. */
template <class Layout, int LANES> struct kc_wd_asker {
        typedef typename Layout::key Key;

        const kc_wd_view<Layout> &map;
        const kc_wd_batch<Key> &batch;
        kc_wd_walk walk;
        uint32_t ntaken; /* by the warp */
        Key run, next_run;
        uint64_t i;
        uint32_t value; /* to put */
        bool busy;
        typename Layout::wanted what;
        kc_wd_probing p;

        __device__ kc_wd_asker(const kc_wd_view<Layout> &map, const kc_wd_batch<Key> &batch,
                               const kc_wd_walk &walk)
            : map(map), batch(batch), walk(walk), ntaken(0), busy(false)
        {
                run = own_key(0);
                next_run = own_key(1);
        }

        /*
         * Groups that are done take a key each. False if none is left and all groups are done.
         *   special  special(i, mixed) handles a key that needs other treatment, and then returns
         *            true
         */
        template <class Special> __device__ bool refill(const Special &special)
        {
                uint32_t idle = __ballot_sync(UINT32_MAX, !busy);
                if (idle == 0)
                        return true;
                uint32_t before = idle & ((1u << kc_warp_lane() / LANES * LANES) - 1);
                uint32_t nth = ntaken + (uint32_t)__popc(before) / LANES;
                Key here = kc_wd_shfl(run, nth % 32), there = kc_wd_shfl(next_run, nth % 32);
                bool taken = !busy &&
                             take(walk.at(nth), nth / 32 == ntaken / 32 ? here : there, special);
                busy |= (bool)kc_wd_from_first<LANES>(taken);
                nth = ntaken + (uint32_t)__popc(idle) / LANES;
                if (nth / 32 != ntaken / 32) {
                        run = next_run;
                        next_run = own_key(nth / 32 + 1);
                }
                ntaken = nth;
                return idle != UINT32_MAX || __any_sync(UINT32_MAX, busy) ||
                       walk.at(ntaken) < walk.end;
        }

        /* Start again at the first window. */
        __device__ void begin_again(void)
        {
                Key mixed = kc_wd_mix(batch.keys[i], map.shape.seed, map.shape.key_bits);
                what = map.slots.want(map.shape, mixed, &p);
        }

      private:
        /* This lane's key of a run. */
        __device__ Key own_key(uint32_t nth_run) const
        {
                uint64_t at = walk.at(nth_run * 32 + kc_warp_lane());
                return at < walk.end ? batch.keys[at] : (Key)0;
        }

        /* Whether the key must be searched for; lanes of a group may return different values. */
        template <class Special> __device__ bool take(uint64_t at, Key key, const Special &special)
        {
                if (at >= walk.end || (batch.todo != NULL && !(batch.todo[at / 32] >> at % 32 & 1)))
                        return false;
                i = at;
                value = batch.values != NULL ? __ldcs(&batch.values[i]) : 1;
                Key mixed = kc_wd_mix(key, map.shape.seed, map.shape.key_bits);
                what = map.slots.want(map.shape, mixed, &p);
                return !special(i, mixed);
        }
};

static __device__ inline void kc_wd_add_total(unsigned long long *total, uint32_t n)
{
        n = __reduce_add_sync(UINT32_MAX, n);
        if (kc_warp_lane() == 0 && n != 0)
                atomicAdd(total, (unsigned long long)n);
}

/* ---- putting ---- */

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

/*
 * Mixed keys whose values a block has recently written, in its shared memory. As any value of a
 * batch may stay, another value for such a key need not be written; otherwise thousands of lanes
 * with the same frequent key would wait for each other at its slot.
 */
struct kc_wd_recent {
        enum : uint32_t { N = 2048, NOTED = 8 };
        uint64_t keys[N]; /* UINT64_MAX: none; that key is in no slot */

        /* By all threads of the block. */
        __device__ void clear(void)
        {
                for (uint32_t i = threadIdx.x; i < N; i += blockDim.x)
                        keys[i] = UINT64_MAX;
                __syncthreads();
        }

        __device__ bool has(uint64_t mixed) const
        {
                return *(const volatile uint64_t *)&keys[mixed % N] == mixed;
        }

        /* Call it after writing key i of a batch. One in eight is noted, so that a frequent key is
         * not evicted every few steps. */
        __device__ void note(uint64_t mixed, uint64_t i)
        {
                if (i % NOTED == 0)
                        atomicExch((unsigned long long *)&keys[mixed % N],
                                   (unsigned long long)mixed);
        }
};

template <class Layout, int G> struct kc_wd_putting {
        typedef typename Layout::key Key;
        typedef kc_wd_window<Layout, G> window;
        typedef kc_wd_asker<Layout, window::LANES> asker;
        static constexpr bool WIDE = sizeof(Key) > sizeof(uint64_t);

        asker ask;
        struct kc_wd_recent *recent; /* NULL: not kept */
        enum kc_wd_mode mode;
        uint32_t nclaimed, nrefused;
        uint64_t room; /* the first slot of the sequence not taken by another key, or KC_WD_NONE */
        uint32_t room_number;
        bool room_gone;

        __device__ kc_wd_putting(const kc_wd_view<Layout> &map,
                                 const kc_wd_batch<typename Layout::key> &batch,
                                 const kc_wd_walk &walk, enum kc_wd_mode mode,
                                 struct kc_wd_recent *recent)
            : ask(map, batch, walk), recent(WIDE || mode == KC_WD_ADD ? NULL : recent), mode(mode),
              nclaimed(0), nrefused(0), room(KC_WD_NONE)
        {
        }

        __device__ void all(void)
        {
                while (ask.refill([this](uint64_t i, Key mixed) { return special(i, mixed); })) {
                        window w;
                        w.template read<false>(ask.map, ask.what, ask.p, ask.busy);
                        bool claims = step(window::of_group(w.match), window::of_group(w.open),
                                           window::of_group(w.gone));
                        int got = KC_WD_LOST;
                        Layout slots = ask.map.slots;
                        if (claims && window::rank() == 0)
                                got = slots.claim(room, room_gone, ask.what, room_number, ask.value,
                                                  mode);
                        got = kc_wd_from_first<window::LANES>(got);
                        if (claims)
                                claimed((kc_wd_claim)got);
                }
        }

        /* Totals of the warp. */
        __device__ void add_totals(void) const
        {
                kc_wd_add_total(&ask.batch.totals[KC_WD_NCLAIMED], nclaimed);
                kc_wd_add_total(&ask.batch.totals[KC_WD_NREFUSED], nrefused);
        }

      private:
        /*
         * A free slot ends the sequence: the key cannot be after it. A tombstone does not, so the
         * first one is remembered. Returns whether the room should be claimed.
         */
        __device__ bool step(uint32_t match, uint32_t open, uint32_t gone)
        {
                if (!ask.busy)
                        return false;
                if (match != 0) {
                        update(window::first_slot(ask.p) + kc_wd_lowest(match));
                        return false;
                }
                if (room == KC_WD_NONE && (open | gone) != 0) {
                        uint32_t first = kc_wd_lowest(open | gone);
                        room = window::first_slot(ask.p) + first;
                        room_number = ask.p.number;
                        room_gone = gone >> first & 1;
                }
                bool last = ask.p.number + 1 >= ask.map.shape.max_probes;
                if (room != KC_WD_NONE && (open != 0 || last))
                        return true;
                if (last)
                        refuse(ask.i);
                else
                        kc_wd_probing_next(ask.map.shape, &ask.p);
                return false;
        }

        /* If another key was faster, the sequence is searched again: it has one slot less each
         * time, which bounds the steps. */
        __device__ void claimed(enum kc_wd_claim got)
        {
                if (got == KC_WD_LOST) {
                        room = KC_WD_NONE;
                        ask.begin_again();
                } else if (got == KC_WD_FOUND) {
                        update(room);
                } else {
                        nclaimed += window::rank() == 0;
                        done();
                }
        }

        __device__ void update(uint64_t slot)
        {
                Layout slots = ask.map.slots;
                if (window::rank() == 0 && mode == KC_WD_ADD)
                        slots.add(slot, ask.what, ask.value);
                else if (window::rank() == 0)
                        slots.set(slot, ask.what, ask.value);
                if (recent != NULL)
                        recent->note((uint64_t)ask.what, ask.i);
                done();
        }

        __device__ void done(void)
        {
                ask.busy = false;
                room = KC_WD_NONE;
        }

        __device__ void refuse(uint64_t i)
        {
                done();
                if (window::rank() != 0)
                        return;
                atomicOr(&ask.batch.refused[i / 32], 1u << i % 32);
                nrefused++;
        }

        __device__ bool special(uint64_t i, Key mixed)
        {
                int which = Layout::odd(mixed);
                if (which == KC_WD_ODD_REFUSED)
                        refuse(i);
                else if (which != KC_WD_ODD_NONE && window::rank() == 0)
                        nclaimed += kc_wd_put_odd(ask.map.odd, which, ask.value, mode);
                return which != KC_WD_ODD_NONE || (recent != NULL && recent->has((uint64_t)mixed));
        }
};

template <class Layout, int G>
static __global__ void __launch_bounds__(KC_WD_THREADS)
        wd_put_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch,
                      enum kc_wd_mode mode)
{
        __shared__ struct kc_wd_recent recent;
        recent.clear();
        kc_wd_putting<Layout, G> putting(map, batch, kc_wd_walk_of_warp(batch.n), mode, &recent);
        putting.all();
        putting.add_totals();
}

/* ---- seeking ---- */

/*
 * Seek all keys of a walk. Of the lanes of a group, one calls
 *   found(i, slot, seen)  or missing(i), or
 *   odd(i, which)         for a key that is in no slot
 */
template <class Layout, int G, bool STILL, class Found, class Missing, class Odd>
static __device__ void kc_wd_seek(const kc_wd_view<Layout> &map,
                                  const kc_wd_batch<typename Layout::key> &batch,
                                  const Found &found, const Missing &missing, const Odd &odd)
{
        typedef kc_wd_window<Layout, G> window;
        kc_wd_asker<Layout, window::LANES> ask(map, batch, kc_wd_walk_of_warp(batch.n));
        auto special = [&](uint64_t i, typename Layout::key mixed) {
                int which = Layout::odd(mixed);
                if (which != KC_WD_ODD_NONE && window::rank() == 0)
                        odd(i, which);
                return which != KC_WD_ODD_NONE;
        };
        while (ask.refill(special)) {
                window w;
                w.template read<STILL>(map, ask.what, ask.p, ask.busy);
                uint32_t match = window::of_group(w.match), open = window::of_group(w.open);
                if (!ask.busy)
                        continue;
                if (match != 0) {
                        uint32_t first = kc_wd_lowest(match);
                        ask.busy = false;
                        if (window::has(first))
                                found(ask.i, window::first_slot(ask.p) + first, w.hit);
                } else if (open != 0 || ask.p.number + 1 >= map.shape.max_probes) {
                        ask.busy = false;
                        if (window::rank() == 0)
                                missing(ask.i);
                } else {
                        kc_wd_probing_next(map.shape, &ask.p);
                }
        }
}

/* What a retrieval writes. */
struct kc_wd_answers {
        uint32_t *values;
        uint8_t *found; /* NULL: not wanted */
        uint32_t missing;

        __device__ void write(uint64_t i, bool there, uint32_t value) const
        {
                __stcs(&values[i], there ? value : missing);
                if (found != NULL)
                        found[i] = there;
        }
};

template <class Layout, int G>
static __global__ void __launch_bounds__(KC_WD_THREADS)
        wd_retrieve_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch,
                           struct kc_wd_answers out)
{
        typedef typename Layout::seen seen;
        uint32_t nfound = 0;
        kc_wd_seek<Layout, G, true>(
                map, batch,
                [&](uint64_t i, uint64_t slot, const seen &there) {
                        out.write(i, true, map.slots.value_of(slot, there));
                        nfound++;
                },
                [&](uint64_t i) { out.write(i, false, 0); },
                [&](uint64_t i, int which) {
                        bool there = which >= 0 && map.odd->there[which] != 0;
                        out.write(i, there, there ? map.odd->values[which] : 0);
                        nfound += there;
                });
        if (batch.totals != NULL)
                kc_wd_add_total(&batch.totals[KC_WD_NHIT], nfound);
}

static __device__ inline bool kc_wd_erase_odd(struct kc_wd_odd *odd, int i)
{
        bool was = atomicExch(&odd->there[i], 0u) != 0;
        if (was)
                odd->values[i] = 0;
        return was;
}

template <class Layout, int G>
static __global__ void __launch_bounds__(KC_WD_THREADS)
        wd_erase_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch)
{
        typedef typename Layout::seen seen;
        uint32_t nerased = 0;
        Layout slots = map.slots;
        kc_wd_seek<Layout, G, false>(
                map, batch,
                [&](uint64_t, uint64_t slot, const seen &there) {
                        nerased += slots.erase(slot, there);
                },
                [](uint64_t) {},
                [&](uint64_t, int which) {
                        nerased += which >= 0 && kc_wd_erase_odd(map.odd, which);
                });
        kc_wd_add_total(&batch.totals[KC_WD_NHIT], nerased);
}

#endif
