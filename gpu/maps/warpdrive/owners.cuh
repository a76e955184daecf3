/*
 * Splits a batch by the members that own its keys, for the WarpDrive map over several devices, and
 * brings answers back. Private to the files several*.cu.
 *
 *      keys ──▶ count by owner: a row of the partition table
 *           ──▶ split, tile by tile ──▶ each owner's array, at the sender's column offset
 *      answers of the owners ──▶ fetched tile by tile ──▶ in the order of the keys
 *
 * A block takes a tile of keys and orders them by owner in shared memory; then it writes each
 * owner's run where a cursor of the sender, not of the owner, reserves a place. The array may be in
 * the owner's memory, so that splitting and transposing are one step without remote atomics, or in
 * the sender's. Runs are staged such that a warp writes 32 aligned elements at once: 128 bytes or
 * more, which links transfer at full rate. For the way back a tile records where each of its keys
 * was staged, and where its runs went.
 *
 * If equal keys are combined (tile_leaders.cuh), only leaders are staged, with their own values or
 * with the sums of all that they lead. The others record the place of their leader, so on the way
 * back they get its answer.
 *
 * Source: Juenger et al., WarpDrive (2018), section IV-B.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_OWNERS_CUH
#define KC_GPU_MAPS_WARPDRIVE_OWNERS_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/limits.h"
#include "gpu/device/warp.cuh"
#include "gpu/maps/warpdrive/probe.cuh"
#include "gpu/maps/warpdrive/slots.cuh"
#include "gpu/maps/warpdrive/tile.cuh"

enum : uint32_t {
        KC_WD_RUN_UNIT = 32,    /* elements that a warp writes at once */
        KC_WD_NO_OWNER = 0xff,  /* a gap between two staged runs */
        KC_WD_OWNERS_AHEAD = 4, /* keys that a thread loads at once to count them */
};

/* Where to stage a run that goes to an array's elements from `from` on: at the first place from
 * `end` on that leaves the same remainder as `from` when divided by KC_WD_RUN_UNIT. */
static constexpr __host__ __device__ uint32_t kc_wd_stage_at(uint32_t end, uint32_t from)
{
        return end + (from - end) % KC_WD_RUN_UNIT;
}

static constexpr uint32_t kc_wd_widest_gap()
{
        uint32_t widest = 0;
        for (uint32_t end = 0; end < KC_WD_RUN_UNIT; end++)
                for (uint32_t from = 0; from < KC_WD_RUN_UNIT; from++)
                        if (kc_wd_stage_at(end, from) - end > widest)
                                widest = kc_wd_stage_at(end, from) - end;
        return widest;
}

/* The keys of a tile, and room for the gap before each owner's run. */
template <class Key> struct kc_wd_outbox_size {
        enum : uint32_t {
                NKEYS = kc_wd_tile<Key>::NKEYS,
                CAP = NKEYS + KC_GPU_MAX_DEVICES * (KC_WD_RUN_UNIT - 1)
        };
        static_assert(NKEYS + KC_GPU_MAX_DEVICES * kc_wd_widest_gap() <= CAP, "all runs fit");
        static_assert(CAP <= UINT16_MAX + 1, "a place in the tile fits in a rank");
};

template <class Key> static uint32_t kc_wd_nsent_tiles(uint32_t n)
{
        return kc_ceil_div(n, kc_wd_tile<Key>::NKEYS);
}

/* Add to counts [nowners] how many of n keys each owner has. M: at least nowners. */
template <class Key, uint32_t M>
static __global__ void __launch_bounds__(KC_WD_SPLIT_THREADS)
        wd_owners_kernel(const Key *keys, uint32_t n, uint32_t nowners, uint32_t *counts)
{
        enum : uint32_t { THREADS = KC_WD_SPLIT_THREADS, AHEAD = KC_WD_OWNERS_AHEAD };
        __shared__ uint32_t own[M];
        uint32_t mine[M] = {};
        if (threadIdx.x < M)
                own[threadIdx.x] = 0;
        __syncthreads();
        const uint64_t stride = (uint64_t)gridDim.x * THREADS;
        for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
             i += AHEAD * stride) {
                Key seen[AHEAD];
#pragma unroll
                for (uint32_t j = 0; j < AHEAD; j++)
                        seen[j] = i + j * stride < n ? keys[i + j * stride] : (Key)0;
#pragma unroll
                for (uint32_t j = 0; j < AHEAD; j++) {
                        uint32_t owner = i + j * stride < n ? kc_wd_owner(seen[j], nowners) : M;
#pragma unroll
                        for (uint32_t k = 0; k < M; k++)
                                mine[k] += owner == k;
                }
        }
#pragma unroll
        for (uint32_t k = 0; k < M; k++) {
                uint32_t sum = __reduce_add_sync(UINT32_MAX, mine[k]);
                if (kc_warp_lane() == 0 && sum != 0)
                        atomicAdd(&own[k], sum);
        }
        __syncthreads();
        if (threadIdx.x < nowners && own[threadIdx.x] != 0)
                atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

/* Where a sender's keys of one owner go: from element `first` on. */
template <class Key> struct kc_wd_way {
        Key *keys;
        uint32_t *values;
        uint32_t first;
};

/* A tile's keys of one owner: where they were staged in the tile, and where they went in the
 * array. */
struct kc_wd_sent_run {
        uint32_t begin, n, from;
};

template <class Key> struct kc_wd_sending {
        const Key *keys;
        const uint32_t *values; /* NULL: 1 each */
        uint32_t n, nowners;
        bool with_values;  /* values are sent */
        bool sum;          /* a leader's value is the sum of all that it leads */
        uint32_t *cursors; /* [nowners] how many keys of each have a place */
        uint16_t *ranks;   /* [n] in, if equal keys are combined: a key's leader; out: where it was
                            staged; NULL: neither */
        struct kc_wd_sent_run *runs; /* [tiles][nowners]; NULL: nothing is to come back */
        kc_wd_way<Key> to[KC_GPU_MAX_DEVICES];
};

/* Shared memory of a tile. */
template <class Key> struct kc_wd_outbox {
        Key staged[kc_wd_outbox_size<Key>::CAP];
        uint8_t owners[kc_wd_outbox_size<Key>::CAP]; /* of the staged keys */
        uint32_t counts[KC_GPU_MAX_DEVICES + 1];     /* the last one: lanes with nothing to send */
        struct kc_wd_sent_run runs[KC_GPU_MAX_DEVICES];
        uint32_t end;
};

/* Rank each key among the tile's keys of the same owner. All lanes of the block call this. */
template <class Key>
static __device__ void kc_wd_rank_by_owner(kc_wd_outbox<Key> *tile, const uint32_t *owners,
                                           uint32_t *ranks)
{
#pragma unroll
        for (int i = 0; i < kc_wd_tile<Key>::NITEMS; i++) {
                uint32_t same = __match_any_sync(UINT32_MAX, owners[i]), before = 0;
                int first = __ffs((int)same) - 1;
                if ((int)kc_warp_lane() == first)
                        before = atomicAdd(&tile->counts[owners[i]], (uint32_t)__popc(same));
                ranks[i] = __shfl_sync(UINT32_MAX, before, first) + kc_warp_rank(same);
        }
        __syncthreads();
}

/* Reserve a place for each owner's run, and lay the runs out in the tile: as far from a multiple of
 * KC_WD_RUN_UNIT as they will be in the array. Ends with a barrier. */
template <class Key>
static __device__ void kc_wd_place_runs(kc_wd_outbox<Key> *tile, const kc_wd_sending<Key> &sending)
{
        const uint32_t owner = threadIdx.x;
        if (owner < sending.nowners) {
                uint32_t n = tile->counts[owner];
                uint32_t before = n == 0 ? 0 : atomicAdd(&sending.cursors[owner], n);
                tile->runs[owner] = { 0, n, sending.to[owner].first + before };
        }
        __syncthreads();
        if (threadIdx.x == 0) {
                uint32_t end = 0;
                for (uint32_t i = 0; i < sending.nowners; i++) {
                        struct kc_wd_sent_run *run = &tile->runs[i];
                        run->begin = kc_wd_stage_at(end, run->from);
                        end = run->begin + run->n;
                }
                tile->end = end;
        }
        __syncthreads();
        if (owner < sending.nowners && sending.runs != NULL)
                sending.runs[(size_t)blockIdx.x * sending.nowners + owner] = tile->runs[owner];
}

/* to(owner): the array where the owner's elements go. */
template <class T, class Key, class To>
static __device__ void kc_wd_write_runs(const kc_wd_outbox<Key> *tile, const To &to)
{
        const T *staged = (const T *)tile->staged;
        __syncthreads();
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < tile->end; i += KC_WD_SPLIT_THREADS) {
                const uint32_t owner = tile->owners[i];
                if (owner != KC_WD_NO_OWNER)
                        to(owner)[tile->runs[owner].from + (i - tile->runs[owner].begin)] =
                                staged[i];
        }
        __syncthreads();
}

/* The keys that are not leaders record where their leaders were staged. `owners`:
 * KC_GPU_MAX_DEVICES for them. Starts with a barrier, after which the leaders' ranks can be
 * read. */
template <class Key>
static __device__ void kc_wd_follow(const kc_wd_sending<Key> &sending, uint32_t begin, uint32_t n,
                                    const uint32_t *owners, uint32_t *ranks)
{
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kc_wd_tile<Key>::NITEMS; i++) {
                const uint32_t at = threadIdx.x + i * KC_WD_SPLIT_THREADS;
                if (at >= n || owners[i] != KC_GPU_MAX_DEVICES)
                        continue;
                const uint32_t leader = sending.ranks[begin + at];
                ranks[i] = sending.ranks[begin + leader];
                sending.ranks[begin + at] = (uint16_t)ranks[i];
        }
}

/* Stage the values of what is sent: `staged` has a place for each rank. */
template <class Key>
static __device__ void kc_wd_stage_values(const kc_wd_sending<Key> &sending, uint32_t begin,
                                          uint32_t n, const uint32_t *owners, const uint32_t *ranks,
                                          uint32_t *staged)
{
        enum { THREADS = KC_WD_SPLIT_THREADS, NITEMS = kc_wd_tile<Key>::NITEMS };
        auto value = [&](uint32_t at) {
                return sending.values != NULL ? sending.values[begin + at] : 1;
        };
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                if (owners[i] != KC_GPU_MAX_DEVICES)
                        staged[ranks[i]] = value(threadIdx.x + i * THREADS);
        if (!sending.sum)
                return;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                const uint32_t at = threadIdx.x + i * THREADS;
                if (at < n && owners[i] == KC_GPU_MAX_DEVICES)
                        kc_wd_add_count(&staged[ranks[i]], value(at));
        }
}

/* COMBINE: send only leaders. */
template <class Key, bool COMBINE>
static __global__ void __launch_bounds__(KC_WD_SPLIT_THREADS, 2)
        wd_send_kernel(const __grid_constant__ kc_wd_sending<Key> sending)
{
        enum { THREADS = KC_WD_SPLIT_THREADS, NITEMS = kc_wd_tile<Key>::NITEMS };
        extern __shared__ __align__(16) unsigned char memory[];
        auto *tile = (kc_wd_outbox<Key> *)memory;
        const uint32_t size = kc_wd_tile<Key>::NKEYS, begin = blockIdx.x * size,
                       n = min(size, sending.n - begin);
        uint32_t owners[NITEMS], ranks[NITEMS];
        Key keys[NITEMS];
        for (uint32_t i = threadIdx.x; i < kc_wd_outbox_size<Key>::CAP; i += THREADS)
                tile->owners[i] = KC_WD_NO_OWNER;
        if (threadIdx.x <= KC_GPU_MAX_DEVICES)
                tile->counts[threadIdx.x] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                uint32_t at = threadIdx.x + i * THREADS;
                keys[i] = at < n ? sending.keys[begin + at] : (Key)0;
        }
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                const uint32_t at = threadIdx.x + i * THREADS;
                const bool sent = at < n && (!COMBINE || sending.ranks[begin + at] == at);
                owners[i] =
                        sent ? kc_wd_owner(keys[i], sending.nowners) : (uint32_t)KC_GPU_MAX_DEVICES;
        }
        kc_wd_rank_by_owner(tile, owners, ranks);
        kc_wd_place_runs(tile, sending);
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                uint32_t at = threadIdx.x + i * THREADS;
                if (owners[i] == KC_GPU_MAX_DEVICES)
                        continue;
                ranks[i] += tile->runs[owners[i]].begin;
                tile->staged[ranks[i]] = keys[i];
                tile->owners[ranks[i]] = (uint8_t)owners[i];
                if (sending.ranks != NULL)
                        sending.ranks[begin + at] = (uint16_t)ranks[i];
        }
        if (COMBINE)
                kc_wd_follow(sending, begin, n, owners, ranks);
        kc_wd_write_runs<Key>(tile, [&](uint32_t owner) { return sending.to[owner].keys; });
        if (!sending.with_values)
                return;
        kc_wd_stage_values(sending, begin, n, owners, ranks, (uint32_t *)tile->staged);
        kc_wd_write_runs<uint32_t>(tile, [&](uint32_t owner) { return sending.to[owner].values; });
}

/* What a sender needs to fetch its n answers. */
struct kc_wd_fetching {
        uint32_t n, nowners;
        const uint16_t *ranks;
        const struct kc_wd_sent_run *runs;
        uint32_t *out;                               /* [n] */
        const uint32_t *answers[KC_GPU_MAX_DEVICES]; /* laid out like the arrays of the keys */
};

template <class Key>
static __global__ void __launch_bounds__(KC_WD_SPLIT_THREADS)
        wd_fetch_kernel(const __grid_constant__ struct kc_wd_fetching fetching)
{
        enum { THREADS = KC_WD_SPLIT_THREADS };
        __shared__ uint32_t staged[kc_wd_outbox_size<Key>::CAP];
        const uint32_t size = kc_wd_tile<Key>::NKEYS, begin = blockIdx.x * size,
                       n = min(size, fetching.n - begin);
        for (uint32_t owner = 0; owner < fetching.nowners; owner++) {
                struct kc_wd_sent_run run =
                        fetching.runs[(size_t)blockIdx.x * fetching.nowners + owner];
                const uint32_t shift = run.begin % KC_WD_RUN_UNIT, end = shift + run.n;
#pragma unroll 4
                for (uint32_t i = threadIdx.x; i < end; i += THREADS)
                        if (i >= shift)
                                staged[run.begin - shift + i] =
                                        fetching.answers[owner][run.from - shift + i];
        }
        __syncthreads();
#pragma unroll 8
        for (uint32_t i = threadIdx.x; i < n; i += THREADS)
                fetching.out[begin + i] = staged[fetching.ranks[begin + i]];
}

#endif
