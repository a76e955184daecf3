/*
 * The WarpDrive map's kernels: lanes at work on keys. Inside of warpdrive_map.cu and
 * warpdrive_bulk.cu.
 *
 *      a warp:   take keys ──▶ read their windows ──▶ match, claim or go on ──┐
 *                    ▲                                                        │
 *                    └────────────── groups that are done ◀──────────────────┘
 *
 * A lane reads up to a sector of a window (Layout::LANE_SLOTS), so that a group of |g| slots has
 * |g| / LANE_SLOTS lanes, often one. All groups of a warp take a step together, one window each,
 * and whoever is done takes the warp's next key: so a warp's time is that of the mean number of
 * windows and not, 32 keys by 32, of the longest sequence.
 */
#ifndef KC_GPU_WARPDRIVE_WORK_CUH
#define KC_GPU_WARPDRIVE_WORK_CUH

#include "gpu/warp.cuh"
#include "gpu/warpdrive_map.cuh"

enum { KC_WD_THREADS = 256 };

/* What a launch adds to map->totals. */
enum { KC_WD_NCLAIMED, KC_WD_NREFUSED, KC_WD_NHIT, KC_WD_NTOTALS };

static inline enum kc_status kc_wd_clear_totals(struct kc_gpu *gpu, unsigned long long *totals,
                                                struct kc_error *err)
{
        return KC_CUDA(cudaMemsetAsync(totals, 0, KC_WD_NTOTALS * sizeof *totals, gpu->stream));
}

static inline enum kc_status kc_wd_read_totals(struct kc_gpu *gpu, const unsigned long long *totals,
                                               unsigned long long *to, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(to, totals, KC_WD_NTOTALS * sizeof *to,
                                       cudaMemcpyDeviceToHost, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* Room for the counts that adding these weights (NULL: 1 each) can make wrap. */
template <class Layout>
enum kc_status kc_wd_expect_weights(kc_wd_map<Layout> *map, const uint32_t *weights, uint64_t n,
                                    struct kc_error *err);

/* ---- windows ---- */

/* A window as a group sees it. All lanes of a warp call what is here. */
template <class Layout, int G> struct kc_wd_window {
        enum : uint32_t {
                SLOTS = G < Layout::LANE_SLOTS ? G : Layout::LANE_SLOTS, /* a lane */
                LANES = G / SLOTS
        };

        typename Layout::seen hit;  /* where the lane has a match */
        uint32_t match, open, gone; /* a bit a slot, the lane's */

        static __device__ uint32_t rank(void)
        {
                return LANES == 1 ? 0 : kc_warp_lane() % LANES;
        }

        /* STILL: nobody writes to the map. */
        template <bool STILL>
        __device__ void read(const kc_wd_view<Layout> &map, const typename Layout::wanted &what,
                             const kc_wd_probing &p, bool active)
        {
                typename Layout::seen slots[SLOTS];
                match = open = gone = 0;
                if (!active)
                        return;
                map.slots.template load<SLOTS, STILL>(first_slot(p) + rank() * SLOTS, slots);
#pragma unroll
                for (uint32_t i = 0; i < SLOTS; i++) {
                        kc_wd_look look = map.slots.look(slots[i], what, p.number);
                        if (look == KC_WD_MATCH)
                                hit = slots[i];
                        match |= (uint32_t)(look == KC_WD_MATCH) << i;
                        open |= (uint32_t)(look == KC_WD_OPEN) << i;
                        gone |= (uint32_t)(look == KC_WD_GONE) << i;
                }
        }

        /* Bits of the group's lanes as those of the window's slots. */
        static __device__ uint32_t of_group(uint32_t bits)
        {
                bits <<= rank() * SLOTS;
#pragma unroll
                for (uint32_t d = 1; d < LANES; d *= 2)
                        bits |= __shfl_xor_sync(UINT32_MAX, bits, (int)d);
                return bits;
        }

        /* A word of the group's first lane. */
        static __device__ int from_first(int value)
        {
                return LANES == 1 ? value
                                  : __shfl_sync(UINT32_MAX, value,
                                                (int)(kc_warp_lane() & ~(LANES - 1)));
        }

        static __device__ uint64_t first_slot(const kc_wd_probing &p)
        {
                return (p.first + p.window) * G;
        }

        /* Whether this lane read slot `i` of the window. */
        static __device__ bool has(uint32_t i)
        {
                return i / SLOTS == rank();
        }
};

static __device__ inline uint32_t kc_wd_lowest(uint32_t bits)
{
        return (uint32_t)__ffs((int)bits) - 1;
}

/* ---- who is at which key ---- */

/* A batch as kernels see it. */
template <class Key> struct kc_wd_batch {
        const Key *keys;
        const uint32_t *values; /* NULL: 1 each */
        const uint32_t *todo;   /* a bit a key: put only those; NULL: all */
        uint32_t *refused;      /* a bit a key */
        uint64_t n;
        unsigned long long *totals;
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

/* The key that a group is at; the next one is on its way. */
template <class Layout, int LANES> struct kc_wd_asker {
        typedef typename Layout::key Key;

        const kc_wd_view<Layout> &map;
        const kc_wd_batch<Key> &batch;
        kc_wd_walk walk;
        uint32_t ntaken; /* by the warp */
        uint64_t i, next;
        Key next_key;
        uint32_t value; /* to put */
        bool busy;
        typename Layout::wanted what;
        kc_wd_probing p;

        __device__ kc_wd_asker(const kc_wd_view<Layout> &map, const kc_wd_batch<Key> &batch,
                               const kc_wd_walk &walk)
            : map(map), batch(batch), walk(walk), ntaken(32 / LANES), busy(false)
        {
                fetch(kc_warp_lane() / LANES);
        }

        /*
         * Groups that are done take a key each. False: there are none, and all are done.
         *   odd  odd(i, which) is called by one lane for a key that is in no slot
         */
        template <class Odd> __device__ bool refill(const Odd &odd)
        {
                uint32_t idle = __ballot_sync(UINT32_MAX, !busy);
                if (idle == 0)
                        return true;
                if (!busy) {
                        take(odd);
                        fetch(ntaken + before_group(idle) / LANES);
                }
                ntaken += (uint32_t)__popc(idle) / LANES;
                return idle != UINT32_MAX || __any_sync(UINT32_MAX, busy || next < walk.end);
        }

        /* The first window again. */
        __device__ void begin_again(void)
        {
                seek(batch.keys[i]);
        }

      private:
        static __device__ uint32_t before_group(uint32_t ballot)
        {
                return (uint32_t)__popc(ballot & ((1u << kc_warp_lane() / LANES * LANES) - 1));
        }

        __device__ void fetch(uint32_t nth)
        {
                next = walk.at(nth);
                if (next < walk.end)
                        next_key = batch.keys[next];
        }

        __device__ Key seek(Key key)
        {
                Key mixed = kc_wd_mix(key, map.shape.seed, map.shape.key_bits);
                what = map.slots.want(map.shape, mixed, &p);
                return mixed;
        }

        template <class Odd> __device__ void take(const Odd &odd)
        {
                i = next;
                if (i >= walk.end || (batch.todo != NULL && !(batch.todo[i / 32] >> i % 32 & 1)))
                        return;
                value = batch.values != NULL ? __ldcs(&batch.values[i]) : 1;
                int which = Layout::odd(seek(next_key));
                busy = which == KC_WD_ODD_NONE;
                if (!busy && kc_warp_lane() % LANES == 0)
                        odd(i, which);
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
 * The slots to which a block has brought values lately, in its shared memory. Any value of a batch
 * may stay, so one that comes for such a slot need not be written: thousands of lanes that write to
 * the slot of one frequent key would wait for each other.
 */
struct kc_wd_recent {
        enum : uint32_t { N = 512 };
        uint64_t slots[N];

        /* By all threads of the block. */
        __device__ void clear(void)
        {
                for (uint32_t i = threadIdx.x; i < N; i += blockDim.x)
                        slots[i] = KC_WD_NONE;
                __syncthreads();
        }

        __device__ bool has(uint64_t slot) const
        {
                return *(const volatile uint64_t *)&slots[slot % N] == slot;
        }

        /* Behind the writing. */
        __device__ void note(uint64_t slot)
        {
                *(volatile uint64_t *)&slots[slot % N] = slot;
        }
};

template <class Layout, int G> struct kc_wd_putting {
        typedef kc_wd_window<Layout, G> window;
        typedef kc_wd_asker<Layout, window::LANES> asker;

        asker ask;
        struct kc_wd_recent *recent; /* NULL: every value is written */
        enum kc_wd_mode mode;
        uint32_t nclaimed, nrefused;
        uint64_t room; /* the first slot of the sequence that is no other key's; KC_WD_NONE */
        uint32_t room_number;
        bool room_gone;

        __device__ kc_wd_putting(const kc_wd_view<Layout> &map,
                                 const kc_wd_batch<typename Layout::key> &batch,
                                 const kc_wd_walk &walk, enum kc_wd_mode mode,
                                 struct kc_wd_recent *recent)
            : ask(map, batch, walk), recent(recent), mode(mode), nclaimed(0), nrefused(0),
              room(KC_WD_NONE)
        {
        }

        __device__ void all(void)
        {
                while (ask.refill([this](uint64_t i, int which) { odd(i, which); })) {
                        window w;
                        w.template read<false>(ask.map, ask.what, ask.p, ask.busy);
                        bool claims = step(window::of_group(w.match), window::of_group(w.open),
                                           window::of_group(w.gone));
                        int got = KC_WD_LOST;
                        Layout slots = ask.map.slots;
                        if (claims && window::rank() == 0)
                                got = slots.claim(room, room_gone, ask.what, room_number, ask.value,
                                                  mode);
                        got = window::from_first(got);
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
         * A free slot ends the sequence: behind it the key cannot be. A tombstone does not, so the
         * first one is kept in mind. Returns whether the room is to be claimed.
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

        /* Where another key was quicker the sequence is looked at again: it has one slot less each
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
                if (window::rank() == 0 && mode == KC_WD_ADD) {
                        slots.add(slot, ask.what, ask.value);
                } else if (window::rank() == 0 && (recent == NULL || !recent->has(slot))) {
                        slots.set(slot, ask.what, ask.value);
                        if (recent != NULL)
                                recent->note(slot);
                }
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

        __device__ void odd(uint64_t i, int which)
        {
                if (which == KC_WD_ODD_REFUSED)
                        refuse(i);
                else
                        nclaimed += kc_wd_put_odd(ask.map.odd, which, ask.value, mode);
        }
};

template <class Layout, int G>
static __global__ void __launch_bounds__(KC_WD_THREADS)
        kc_wd_put_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch,
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
        while (ask.refill(odd)) {
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
        kc_wd_retrieve_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch,
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
        kc_wd_erase_kernel(kc_wd_view<Layout> map, kc_wd_batch<typename Layout::key> batch)
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
