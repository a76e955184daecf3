/*
 * A part of the WarpDrive map in a block's shared memory: loaded from the map, used for puts or
 * lookups, and written back. Private to bulk.cu.
 *
 * The keys are split by part (split.cuh). A lane follows a key's probe sequence alone, slot by
 * slot, through the same windows as a group in device memory, so the resulting map is the same. At
 * high loads a warp would wait for the longest of 32 sequences, ten times the mean at a load of
 * 0.95. So once a number of lanes have reached their key's slot or a free one, these act together
 * and take other keys. A warp holds 32 keys in registers and prefetches the next 32.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_PART_CUH
#define KC_GPU_MAPS_WARPDRIVE_PART_CUH

#include "gpu/maps/warpdrive/kernels.cuh"
#include "gpu/maps/warpdrive/part_slots.cuh"

enum {
        KC_WD_PART_THREADS = 1024, /* at most */
        KC_WD_PART_FIRST = 4,      /* slots of its way where all lanes look, 7 at most */
        KC_WD_PART_IDLE = 6,       /* lanes without a key before more are handed out */
        KC_WD_PART_STOPPED = 14,   /* lanes that have arrived, or have no key, before the arrived
                                      ones act */
        KC_WD_PART_STEPS = 4,      /* steps between two checks of how many have arrived */
};

static constexpr uint32_t KC_WD_NO_ROOM = UINT32_MAX;

/* ---- a lane under way ---- */

/* SINGLE: windows of one slot with linear = 1, which is fastest here. */
template <class Layout, bool SINGLE> struct kc_wd_errand {
        uint32_t i; /* of the key, in the batch */
        uint32_t value;
        typename Layout::wanted what;
        kc_wd_probing p;
        uint32_t pace; /* p.step while going, 0 after arrival: then what is added to p.window */
        uint32_t rank; /* in the window */
        typename kc_wd_own<Layout>::seen there;
        uint32_t room; /* the first slot with a tombstone, or KC_WD_NO_ROOM */
        uint32_t room_number;

        __device__ void begin(uint32_t window, uint32_t step)
        {
                p = { 0, window, window, step, 0, 0 };
                pace = step;
                rank = 0;
                room = KC_WD_NO_ROOM;
        }

        __device__ uint32_t slot(const kc_wd_shape &shape) const
        {
                return SINGLE ? p.window : p.window * shape.group + rank;
        }

        /* Whether the sequence has ended without an arrival. */
        __device__ bool is_over(const kc_wd_shape &shape) const
        {
                return p.number >= shape.max_probes;
        }

        __device__ bool is_going(const kc_wd_shape &shape) const
        {
                return pace != 0 && !is_over(shape);
        }

        /* Examine the slot; go on if it is another key's, otherwise stay. */
        __device__ void step(const kc_wd_shape &shape, const kc_wd_own<Layout> &own)
        {
                there = own.load(slot(shape));
                if (!own.is_others(there, what, p.number))
                        pace = 0;
                if (SINGLE || pace != 0)
                        next(shape, pace);
        }

        /* pace: p.step, or with SINGLE 0, to stay. */
        __device__ void next(const kc_wd_shape &shape, uint32_t pace)
        {
                if constexpr (SINGLE) {
                        uint32_t window = p.window + pace;
                        p.window = min(window, window - shape.nwindows);
                        p.number += pace != 0;
                } else if (++rank == shape.group) {
                        rank = 0;
                        kc_wd_probing_next(shape, &p);
                }
        }
};

/* The outcome for a key where its lane arrived. */
enum kc_wd_fate { KC_WD_GOES_ON, KC_WD_STAYS, KC_WD_BEGINS, KC_WD_DONE, KC_WD_NEW, KC_WD_NOWHERE };

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
 * Act where e has arrived. A free slot ends the sequence: the key goes there, or to the first
 * tombstone. If another lane was faster at a free slot, that slot is examined again; at a
 * tombstone, the sequence starts over, with one tombstone less.
 */
template <class Layout, bool SINGLE>
static __device__ enum kc_wd_fate kc_wd_put_there(const kc_wd_shape &shape, kc_wd_own<Layout> *own,
                                                  kc_wd_errand<Layout, SINGLE> *e,
                                                  enum kc_wd_mode mode)
{
        uint32_t slot = e->slot(shape), number = e->p.number;
        kc_wd_look look = e->is_over(shape) ? KC_WD_OPEN : own->look(e->there, e->what, number);
        if (look == KC_WD_MATCH) {
                kc_wd_update(own, slot, e->what, e->value, mode);
                return KC_WD_DONE;
        }
        if (look == KC_WD_GONE && e->room == KC_WD_NO_ROOM) {
                e->room = slot;
                e->room_number = number;
        }
        if (look != KC_WD_OPEN)
                return KC_WD_GOES_ON;
        bool tomb = e->room != KC_WD_NO_ROOM;
        if (!tomb && e->is_over(shape))
                return KC_WD_NOWHERE;
        uint32_t to = tomb ? e->room : slot;
        kc_wd_claim got =
                own->claim(to, tomb, e->what, tomb ? e->room_number : number, e->value, mode);
        if (got == KC_WD_LOST)
                return tomb ? KC_WD_BEGINS : KC_WD_STAYS;
        if (got == KC_WD_FOUND)
                kc_wd_update(own, to, e->what, e->value, mode);
        return got == KC_WD_CLAIMED ? KC_WD_NEW : KC_WD_DONE;
}

/* The same for a lookup; KC_WD_DONE: e->value is the key's value. */
template <class Layout, bool SINGLE>
static __device__ enum kc_wd_fate kc_wd_seek_there(const kc_wd_shape &shape,
                                                   const kc_wd_own<Layout> &own,
                                                   kc_wd_errand<Layout, SINGLE> *e)
{
        if (e->is_over(shape))
                return KC_WD_NOWHERE;
        kc_wd_look look = own.look(e->there, e->what, e->p.number);
        if (look == KC_WD_MATCH) {
                e->value = own.value_at(e->slot(shape));
                return KC_WD_DONE;
        }
        return look == KC_WD_OPEN ? KC_WD_NOWHERE : KC_WD_GOES_ON;
}

/* ---- a warp's keys ---- */

template <class Key> struct kc_wd_parted {
        const Key *keys;        /* in order of their parts, mixed */
        const uint32_t *values; /* NULL: 1 each */
        const uint32_t *begins; /* [parts + 1] */
        uint32_t first;         /* part of a launch */
        bool fresh;             /* the map has no keys nor tombstones */
        unsigned long long *totals;
        Key *refused_keys; /* totals[KC_WD_NREFUSED] of them; unmixed, as given */
        uint32_t *refused_values;
        uint32_t *answers; /* in the order of keys */
        uint32_t missing;
};

/*
 * A warp's keys of a part, 32 at a time, blockDim.x apart: lane l has the l-th of those in hand and
 * the l-th of the next. Most sequences are short (at a load of 0.95, half end at the first slot and
 * four fifths by the third), so all lanes first examine some slots with the keys in hand; only the
 * keys still open then are handed out.
 */
template <class Layout, bool SINGLE> struct kc_wd_queue {
        typedef typename Layout::key Key;
        typedef kc_wd_errand<Layout, SINGLE> errand;
        const kc_wd_shape &shape;
        const kc_wd_own<Layout> &own;
        const kc_wd_parted<Key> &batch;
        uint8_t *order;   /* [32] shared memory: keys to be handed out; above the low 5 bits:
                             p.number */
        uint32_t n, head; /* keys in order; those handed out */
        uint32_t at, end; /* the 32 in hand */
        errand mine;
        Key next_key;
        uint32_t next_value;

        __device__ kc_wd_queue(const kc_wd_shape &shape, const kc_wd_own<Layout> &own,
                               const kc_wd_parted<Key> &batch, uint32_t begin, uint32_t end,
                               uint8_t *order)
            : shape(shape), own(own), batch(batch), order(order + threadIdx.x / 32 * 32), n(0),
              head(0), at(begin + threadIdx.x / 32 * 32 - blockDim.x), end(end)
        {
                read(at + blockDim.x);
        }

        /* Whether there are keys to hand out, now or after advance(). */
        __device__ bool has_some(void) const
        {
                return head < n;
        }

        __device__ bool has_more(void) const
        {
                return at + blockDim.x < end;
        }

        /* Hand out keys to the lanes with a bit in `idle`; called by all lanes. Returns whether
         * this lane got one. */
        __device__ bool take(unsigned idle, errand *e)
        {
                uint32_t from = head + kc_warp_rank(idle);
                bool got = (idle >> kc_warp_lane() & 1) != 0 && from < n;
                uint32_t place = order[from % 32];
                int lane = (int)(place % 32);
                auto what = kc_wd_shfl(mine.what, (uint32_t)lane);
                uint32_t window = __shfl_sync(UINT32_MAX, mine.p.window, lane);
                uint32_t step = __shfl_sync(UINT32_MAX, mine.p.step, lane);
                uint32_t value = 1;
                if (batch.values != NULL)
                        value = __shfl_sync(UINT32_MAX, mine.value, lane);
                if (got) {
                        e->i = at + place % 32;
                        e->what = what;
                        e->value = value;
                        e->begin(window, step);
                        e->p.number = place / 32;
                }
                head += (uint32_t)__popc(idle);
                return got;
        }

        /*
         * The next 32, which has_more() promised.
         *   act(e)                      see kc_wd_go
         *   odd(i, key, value, which)   is called for keys that are in no slot
         */
        template <class Act, class Odd> __device__ void advance(const Act &act, const Odd &odd)
        {
                at += blockDim.x;
                mine.i = at + kc_warp_lane();
                mine.value = next_value;
                begin_with(&mine, next_key);
                bool is_there = mine.i < end;
                int which = is_there ? Layout::odd(next_key) : (int)KC_WD_ODD_NONE;
                if (which != KC_WD_ODD_NONE)
                        odd(mine.i, next_key, mine.value, which);
                read(at + blockDim.x);
                is_there = is_there && which == KC_WD_ODD_NONE;
                if (SINGLE)
                        is_there = look_first(is_there, act);
                unsigned left = __ballot_sync(UINT32_MAX, is_there);
                __syncwarp();
                if (is_there)
                        order[kc_warp_rank(left)] = (uint8_t)(kc_warp_lane() | mine.p.number << 5);
                __syncwarp();
                n = (uint32_t)__popc(left);
                head = 0;
        }

        __device__ void begin_again(errand *e) const
        {
                begin_with(e, batch.keys[e->i]);
        }

      private:
        __device__ void begin_with(errand *e, Key key) const
        {
                kc_wd_probing p;
                e->what = own.want(shape, key, &p);
                e->begin(p.window, p.step);
        }

        __device__ void read(uint32_t from)
        {
                from += kc_warp_lane();
                next_key = from < end ? batch.keys[from] : (Key)0;
                next_value = from < end && batch.values != NULL ? batch.values[from] : 1;
        }

        /* Examine the first slots. Returns whether the lane's key must go on, or start over.
         */
        template <class Act> __device__ bool look_first(bool is_there, const Act &act)
        {
                uint32_t window = mine.p.window;
#pragma unroll
                for (int i = 0; i < KC_WD_PART_FIRST; i++)
                        mine.step(shape, own);
                if (!is_there || mine.pace != 0)
                        return is_there;
                if (act(&mine) >= KC_WD_DONE)
                        return false;
                mine.begin(window, mine.p.step);
                return true;
        }
};

/* ---- kernels: a block a part ---- */

template <class Key>
static __device__ void kc_wd_refuse(const kc_wd_shape &shape, const kc_wd_parted<Key> &batch,
                                    uint32_t i)
{
        uint64_t at = atomicAdd(&batch.totals[KC_WD_NREFUSED], 1ull);
        batch.refused_keys[at] = kc_wd_unmix(batch.keys[i], shape.seed, shape.key_bits);
        batch.refused_values[at] = batch.values == NULL ? 1 : batch.values[i];
}

/* Process the warp's keys. act(e) acts where e has arrived, and returns the outcome; odd: see
 * kc_wd_queue. */
template <class Layout, bool SINGLE, class Act, class Odd>
static __device__ void kc_wd_go(const kc_wd_shape &shape, const kc_wd_own<Layout> &own,
                                kc_wd_queue<Layout, SINGLE> *queue, const Act &act, const Odd &odd)
{
        kc_wd_errand<Layout, SINGLE> e = {};
        bool busy = false;
        for (;;) {
                unsigned idle;
                while (__popc(idle = __ballot_sync(UINT32_MAX, !busy)) >= KC_WD_PART_IDLE) {
                        if (queue->has_some())
                                busy = queue->take(idle, &e) || busy;
                        else if (queue->has_more())
                                queue->advance(act, odd);
                        else
                                break;
                }
                if (idle == UINT32_MAX)
                        return;
                bool is_last = !queue->has_some() && !queue->has_more();
                int enough = is_last ? 0 : 32 - KC_WD_PART_STOPPED;
                while (__popc(__ballot_sync(UINT32_MAX, e.is_going(shape))) > enough) {
#pragma unroll
                        for (int i = 0; i < KC_WD_PART_STEPS; i++)
                                e.step(shape, own);
                }
                if (!busy || e.is_going(shape))
                        continue;
                enum kc_wd_fate fate = act(&e);
                busy = fate <= KC_WD_BEGINS;
                if (fate == KC_WD_GOES_ON)
                        e.next(shape, e.p.step);
                if (fate == KC_WD_BEGINS)
                        queue->begin_again(&e);
                e.pace = busy ? e.p.step : 0;
        }
}

/*
 * A block's part, from the map and, if it is to put keys, back to it.
 *   memory, order     in shared memory, see kc_wd_own and kc_wd_queue
 *   act(own, e), odd  as for kc_wd_go
 */
template <class Layout, bool SINGLE, bool PUTS, class Act, class Odd>
static __device__ void kc_wd_do_part(const kc_wd_view<Layout> &map,
                                     const kc_wd_parted<typename Layout::key> &batch,
                                     unsigned char *memory, uint8_t *order, const Act &act,
                                     const Odd &odd)
{
        const kc_wd_shape &shape = map.shape;
        const uint32_t part = batch.first + blockIdx.x;
        uint32_t begin = batch.begins[part], end = batch.begins[part + 1];
        if (begin == end)
                return;
        kc_wd_own<Layout> own(map.slots, memory, part, shape.nwindows * shape.group, batch.fresh);
        kc_wd_queue<Layout, SINGLE> queue(shape, own, batch, begin, end, order);
        __syncthreads();
        kc_wd_go<Layout, SINGLE>(
                shape, own, &queue, [&](kc_wd_errand<Layout, SINGLE> *e) { return act(&own, e); },
                odd);
        if (PUTS) {
                __syncthreads();
                own.put_back();
        }
}

template <class Layout, bool SINGLE>
static __global__ void __launch_bounds__(KC_WD_PART_THREADS)
        wd_put_part_kernel(kc_wd_view<Layout> map, kc_wd_parted<typename Layout::key> batch,
                           enum kc_wd_mode mode)
{
        typedef typename Layout::key Key;
        extern __shared__ __align__(16) unsigned char memory[];
        __shared__ uint8_t order[KC_WD_PART_THREADS];
        uint32_t nclaimed = 0;
        kc_wd_do_part<Layout, SINGLE, true>(
                map, batch, memory, order,
                [&](kc_wd_own<Layout> *own, kc_wd_errand<Layout, SINGLE> *e) {
                        enum kc_wd_fate fate = kc_wd_put_there(map.shape, own, e, mode);
                        nclaimed += fate == KC_WD_NEW;
                        if (fate == KC_WD_NOWHERE)
                                kc_wd_refuse(map.shape, batch, e->i);
                        return fate;
                },
                [&](uint32_t i, Key, uint32_t value, int which) {
                        if (which == KC_WD_ODD_REFUSED)
                                kc_wd_refuse(map.shape, batch, i);
                        else
                                nclaimed += kc_wd_put_odd(map.odd, which, value, mode);
                });
        kc_wd_add_total(&batch.totals[KC_WD_NCLAIMED], nclaimed);
}

template <class Layout, bool SINGLE>
static __global__ void __launch_bounds__(KC_WD_PART_THREADS)
        wd_retrieve_part_kernel(kc_wd_view<Layout> map, kc_wd_parted<typename Layout::key> batch)
{
        typedef typename Layout::key Key;
        extern __shared__ __align__(16) unsigned char memory[];
        __shared__ uint8_t order[KC_WD_PART_THREADS];
        uint32_t nfound = 0;
        auto answer = [&](uint32_t i, bool found, uint32_t value) {
                batch.answers[i] = found ? value : batch.missing;
                nfound += found;
        };
        kc_wd_do_part<Layout, SINGLE, false>(
                map, batch, memory, order,
                [&](const kc_wd_own<Layout> *own, kc_wd_errand<Layout, SINGLE> *e) {
                        enum kc_wd_fate fate = kc_wd_seek_there(map.shape, *own, e);
                        if (fate >= KC_WD_DONE)
                                answer(e->i, fate == KC_WD_DONE, e->value);
                        return fate;
                },
                [&](uint32_t i, Key, uint32_t, int which) {
                        bool found = which != KC_WD_ODD_REFUSED && map.odd->there[which] != 0;
                        answer(i, found, found ? map.odd->values[which] : 0);
                });
        kc_wd_add_total(&batch.totals[KC_WD_NHIT], nfound);
}

#endif
