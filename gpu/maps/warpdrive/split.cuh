/*
 * Splits a batch by the WarpDrive map's parts, and brings values back. Private to bulk.cu.
 *
 *      keys ──▶ count by part ──▶ pass: by the upper half of a part's bits
 *                             ──▶ pass: what has those in common, by the lower half
 *
 * Over several devices, the first pass splits by owner as well (several_parts.cu).
 *
 *      values of the split keys ──▶ back through the second pass ──▶ back through the first
 *
 * In a pass, each block takes a tile of keys and orders them by bucket in shared memory, so that
 * the keys of a bucket are written together, at a place reserved by an atomic. If values are to
 * come back, the tile records where each of its keys was staged (two bytes) and where its runs
 * went: on the way back a block fetches the runs to the same places and picks from there. With few
 * bits one pass suffices. The split keys are mixed, as they are in the map.
 *
 * Source: Ashkiani et al., GPU Multisplit (2016).
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_SPLIT_CUH
#define KC_GPU_MAPS_WARPDRIVE_SPLIT_CUH

#include "gpu/device/warp.cuh"
#include "gpu/maps/warpdrive/map.cuh"
#include "gpu/maps/warpdrive/tile.cuh"

#include <cub/block/block_scan.cuh>

enum {
        KC_WD_COUNT_THREADS = 1024,
        KC_WD_COUNT_AHEAD = 8,
        KC_WD_COUNTED_BITS = 15, /* 2^this parts are counted at a time */
        KC_WD_RUN_LANES = 16,
};

/* The part of a key that is already mixed. */
template <class Key> static __device__ uint32_t kc_wd_part_of(const kc_wd_shape &shape, Key mixed)
{
        return kc_wd_part(kc_wd_hash(mixed, shape.key_bits), shape.part_bits);
}

/* ---- how many keys each part has ---- */

/* The number of a key's owner; 0, without computing it, if there is only one. */
template <class Key> static __device__ uint32_t kc_wd_owner_among(Key key, uint32_t nowners)
{
        return nowners == 1 ? 0 : kc_wd_owner(key, nowners);
}

/* Add to counts [owners][parts], for nparts of them starting at `first`, at most
 * 2^KC_WD_COUNTED_BITS. */
template <class Key>
static __global__ void __launch_bounds__(KC_WD_COUNT_THREADS)
        wd_count_kernel(kc_wd_shape shape, uint32_t nowners, const Key *keys, uint32_t n,
                        uint32_t first, uint32_t nparts, uint32_t *counts)
{
        enum { THREADS = KC_WD_COUNT_THREADS, AHEAD = KC_WD_COUNT_AHEAD };
        extern __shared__ uint32_t own[];
        for (uint32_t i = threadIdx.x; i < nparts; i += THREADS)
                own[i] = 0;
        __syncthreads();
        uint64_t stride = (uint64_t)gridDim.x * THREADS;
        for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
             i += AHEAD * stride) {
                Key seen[AHEAD];
#pragma unroll
                for (int j = 0; j < AHEAD; j++)
                        seen[j] = i + j * stride < n ? keys[i + j * stride] : (Key)0;
#pragma unroll
                for (int j = 0; j < AHEAD; j++) {
                        Key mixed = kc_wd_mix(seen[j], shape.seed, shape.key_bits);
                        uint32_t owner = kc_wd_owner_among(seen[j], nowners);
                        uint32_t part =
                                (owner << shape.part_bits) + kc_wd_part_of(shape, mixed) - first;
                        if (i + j * stride < n && part < nparts)
                                atomicAdd(&own[part], 1u);
                }
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < nparts; i += THREADS)
                if (own[i] != 0)
                        atomicAdd(&counts[first + i], own[i]);
}

typedef cub::BlockScan<uint32_t, KC_WD_SPLIT_THREADS> kc_wd_scan;

/* Replace counts [n] by their exclusive prefix sums. The whole block calls this after a barrier,
 * and it ends with one. */
static __device__ inline void kc_wd_scan_counts(uint32_t *counts, uint32_t n,
                                                typename kc_wd_scan::TempStorage *scratch)
{
        uint32_t per_thread = (n + KC_WD_SPLIT_THREADS - 1) / KC_WD_SPLIT_THREADS;
        uint32_t begin = threadIdx.x * per_thread, sum = 0, before, all;
        for (uint32_t i = begin; i < begin + per_thread && i < n; i++)
                sum += counts[i];
        kc_wd_scan(*scratch).ExclusiveSum(sum, before, all);
        for (uint32_t i = begin; i < begin + per_thread && i < n; i++) {
                uint32_t own = counts[i];
                counts[i] = before;
                before += own;
        }
        __syncthreads();
}

/* ---- a pass ---- */

/* A tile's keys of one bucket: `begin` is their place in the tile, begin + `from` where they went.
 */
struct kc_wd_run {
        uint32_t begin, from;
};

/* `above`: bits of the part by which the keys are already ordered; 0 if the level also splits by
 * owner; otherwise there is one owner. A launch may do some of the tiles. */
struct kc_wd_level {
        kc_wd_shape shape;
        int above, bits;
        uint32_t nowners;
        uint32_t n;
        uint32_t first_tile;
        const uint32_t *begins; /* [2^part_bits] */
        uint32_t *cursors;      /* [owners][2^(above + bits)] where the next key of each goes */
        uint16_t *ranks;        /* [n] a key's place in its tile; NULL: nothing is to come back */
        struct kc_wd_run *runs; /* [tiles][buckets] */
};

/* Buckets of a tile. */
static __host__ __device__ inline uint32_t kc_wd_nbuckets(const struct kc_wd_level &level)
{
        return level.nowners << level.bits;
}

template <class Key> struct kc_wd_pass {
        struct kc_wd_level level;
        bool mix; /* keys must still be mixed */
        const Key *keys;
        const uint32_t *values; /* NULL: none */
        Key *out_keys;
        uint32_t *out_values;
};

/* A tile has keys of only one bucket of the level above. The tiles of bucket c are numbered from
 * begin / NKEYS + c on, so there are always enough numbers, and some tiles are empty. */
template <class Key> static uint32_t kc_wd_ntiles(const struct kc_wd_level *level)
{
        return level->n / kc_wd_tile<Key>::NKEYS + (1u << level->above);
}

struct kc_wd_range {
        uint32_t begin, n;
        uint32_t above; /* the common bucket of the level above */
};

static __device__ inline uint32_t kc_wd_tile_number(const struct kc_wd_level &level)
{
        return level.first_tile + blockIdx.x;
}

/* Set *range, in shared memory, to that of this block's tile. Ends with a barrier. */
template <class Key>
static __device__ void kc_wd_find_tile(const struct kc_wd_level &level, struct kc_wd_range *range)
{
        const uint32_t size = kc_wd_tile<Key>::NKEYS;
        int shift = level.shape.part_bits - level.above;
        const uint32_t last = (1u << level.above) - 1, tile = kc_wd_tile_number(level);
        for (uint32_t c = threadIdx.x; c <= last; c += KC_WD_SPLIT_THREADS) {
                uint32_t begin = level.begins[c << shift];
                uint32_t end = c == last ? level.n : level.begins[(c + 1) << shift];
                uint32_t first = begin / size + c;
                if (tile < first || tile > end / size + c)
                        continue;
                begin = min(begin + (tile - first) * size, end);
                *range = { begin, min(size, end - begin), c };
        }
        __syncthreads();
}

/* Shared memory of a tile: this, then offsets and places of the buckets. */
template <class Key> struct kc_wd_staging {
        Key staged[kc_wd_tile<Key>::NKEYS];
        uint16_t buckets[kc_wd_tile<Key>::NKEYS]; /* of the staged keys */
        typename kc_wd_scan::TempStorage scratch;
        struct kc_wd_range range;
};

template <class Key> static size_t kc_wd_staging_nbytes(const struct kc_wd_level &level)
{
        return sizeof(kc_wd_staging<Key>) + (size_t)2 * sizeof(uint32_t) * kc_wd_nbuckets(level);
}

/* Write the staged items out, bucket by bucket. */
template <class Key, class T>
static __device__ void kc_wd_write_staged(const kc_wd_staging<Key> *tile, const uint32_t *places,
                                          uint32_t n, T *out)
{
        const T *staged = (const T *)tile->staged;
        __syncthreads();
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < n; i += KC_WD_SPLIT_THREADS)
                out[places[tile->buckets[i]] + i] = staged[i];
        __syncthreads();
}

/* Rank each key among the tile's keys of its bucket. ranks: in, the key's owner; out, the rank,
 * above the 16 bits of the bucket's number. */
template <class Key>
static __device__ void kc_wd_rank_keys(const struct kc_wd_level &level, const Key *keys, uint32_t n,
                                       uint32_t *counts, uint32_t *ranks)
{
        int below = level.shape.part_bits - level.above - level.bits;
#pragma unroll
        for (int i = 0; i < kc_wd_tile<Key>::NITEMS; i++) {
                if (threadIdx.x + i * KC_WD_SPLIT_THREADS >= n)
                        continue;
                uint32_t bucket = kc_wd_part_of(level.shape, keys[i]) >> below;
                bucket = (bucket & ((1u << level.bits) - 1)) + (ranks[i] << level.bits);
                ranks[i] = bucket | atomicAdd(&counts[bucket], 1u) << 16;
        }
        __syncthreads();
}

/* Turn offsets from counts into where the tile's keys of each bucket go, minus their place in the
 * tile. cursors: of the tile's buckets. */
static __device__ inline void kc_wd_take_places(const struct kc_wd_level &level, uint32_t *cursors,
                                                uint32_t *offsets, uint32_t *places,
                                                typename kc_wd_scan::TempStorage *scratch)
{
        const uint32_t nbuckets = kc_wd_nbuckets(level);
        struct kc_wd_run *runs = level.runs + (size_t)kc_wd_tile_number(level) * nbuckets;
        for (uint32_t i = threadIdx.x; i < nbuckets; i += KC_WD_SPLIT_THREADS)
                places[i] = offsets[i] == 0 ? 0 : atomicAdd(&cursors[i], offsets[i]);
        __syncthreads();
        kc_wd_scan_counts(offsets, nbuckets, scratch);
        for (uint32_t i = threadIdx.x; i < nbuckets; i += KC_WD_SPLIT_THREADS) {
                places[i] -= offsets[i];
                if (level.runs != NULL)
                        runs[i] = { offsets[i], places[i] };
        }
        __syncthreads();
}

template <class Key>
static __global__ void __launch_bounds__(KC_WD_SPLIT_THREADS, 2)
        wd_split_kernel(kc_wd_pass<Key> pass)
{
        enum { THREADS = KC_WD_SPLIT_THREADS, NITEMS = kc_wd_tile<Key>::NITEMS };
        extern __shared__ __align__(16) unsigned char memory[];
        auto *tile = (kc_wd_staging<Key> *)memory;
        const struct kc_wd_level &level = pass.level;
        const uint32_t nbuckets = kc_wd_nbuckets(level);
        uint32_t *offsets = (uint32_t *)(tile + 1), *places = offsets + nbuckets;
        for (uint32_t i = threadIdx.x; i < nbuckets; i += THREADS)
                offsets[i] = 0;
        kc_wd_find_tile<Key>(level, &tile->range);
        const uint32_t begin = tile->range.begin, n = tile->range.n;
        uint32_t *cursors = level.cursors + (tile->range.above << level.bits), ranks[NITEMS];
        Key keys[NITEMS];
        if (n == 0)
                return;
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                uint32_t at = threadIdx.x + i * THREADS;
                keys[i] = at < n ? pass.keys[begin + at] : (Key)0;
        }
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                ranks[i] = kc_wd_owner_among(keys[i], level.nowners);
                if (pass.mix)
                        keys[i] = kc_wd_mix(keys[i], level.shape.seed, level.shape.key_bits);
        }
        kc_wd_rank_keys(level, keys, n, offsets, ranks);
        kc_wd_take_places(level, cursors, offsets, places, &tile->scratch);
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                uint32_t from = threadIdx.x + i * THREADS, bucket = ranks[i] & 0xffff;
                if (from >= n)
                        continue;
                ranks[i] = offsets[bucket] + (ranks[i] >> 16);
                tile->staged[ranks[i]] = keys[i];
                tile->buckets[ranks[i]] = (uint16_t)bucket;
                if (level.ranks != NULL)
                        level.ranks[begin + from] = (uint16_t)ranks[i];
        }
        kc_wd_write_staged(tile, places, n, pass.out_keys);
        if (pass.values == NULL)
                return;
        uint32_t *staged = (uint32_t *)tile->staged;
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                if (threadIdx.x + i * THREADS < n)
                        staged[ranks[i]] = pass.values[begin + threadIdx.x + i * THREADS];
        kc_wd_write_staged(tile, places, n, pass.out_values);
}

/* Fetch a run's values to where they were staged, by 16 lanes, four loads at a time. */
static __device__ inline void kc_wd_fetch_run(const struct kc_wd_run &run, uint32_t end,
                                              const uint32_t *values, uint32_t *staged)
{
        enum { LANES = KC_WD_RUN_LANES, AHEAD = 4 };
        for (uint32_t i = run.begin + threadIdx.x % LANES; i < end; i += AHEAD * LANES) {
                uint32_t some[AHEAD];
#pragma unroll
                for (uint32_t j = 0; j < AHEAD; j++)
                        some[j] = i + j * LANES < end ? values[run.from + i + j * LANES] : 0;
#pragma unroll
                for (uint32_t j = 0; j < AHEAD; j++)
                        if (i + j * LANES < end)
                                staged[i + j * LANES] = some[j];
        }
}

/* Move values from the order after a pass to the order before it. Key: type of the split keys. */
template <class Key>
static __global__ void __launch_bounds__(KC_WD_SPLIT_THREADS)
        wd_back_kernel(struct kc_wd_level level, const uint32_t *values, uint32_t *out)
{
        enum { THREADS = KC_WD_SPLIT_THREADS };
        __shared__ uint32_t staged[kc_wd_tile<Key>::NKEYS];
        __shared__ struct kc_wd_range range;
        kc_wd_find_tile<Key>(level, &range);
        const uint32_t nbuckets = kc_wd_nbuckets(level), n = range.n;
        const struct kc_wd_run *runs = level.runs + (size_t)kc_wd_tile_number(level) * nbuckets;
        if (n == 0)
                return;
        for (uint32_t i = threadIdx.x / KC_WD_RUN_LANES; i < nbuckets;
             i += THREADS / KC_WD_RUN_LANES)
                kc_wd_fetch_run(runs[i], i + 1 < nbuckets ? runs[i + 1].begin : n, values, staged);
        __syncthreads();
#pragma unroll 8
        for (uint32_t i = threadIdx.x; i < n; i += THREADS)
                out[range.begin + i] = staged[level.ranks[range.begin + i]];
}

#endif
