/*
 * Batches for the WarpDrive map, split by its parts first.
 *
 *      keys ──▶ count by part ──▶ split, a tile at a time ──▶ the map, part after part
 *                                                        ──▶ values back to where the keys were
 *
 * A tile's keys are put in order of their parts in shared memory, so that what goes to one part is
 * written together, at a place that an atomic gives out. Then the map's own kernels take the split
 * batch: blocks go through it side by side, so at any time they are in one part or two. Values of a
 * tile lie in as many runs as there are parts, which is what a block has in its first-level cache
 * when it fetches them back. Where parts are so small that a block's shared memory holds one, slots
 * are words and groups have one lane, a block takes a part there, puts its keys, and puts it back.
 *
 * Source: Juenger et al., WarpDrive (2018), section IV-B, where the multisplit is between devices,
 * and section VI; staging as in Ashkiani et al., GPU Multisplit (2016).
 */
#include "gpu/warpdrive_work.cuh"

#include <algorithm>
#include <cub/block/block_scan.cuh>

enum { THREADS = 512, GATHER_THREADS = 256, COUNT_BLOCKS_PER_SM = 4, COUNT_AHEAD = 4 };
static const uint64_t SLICE_NKEYS = (uint64_t)1 << 29;

template <class Key> struct tile_of {
        enum { NITEMS = sizeof(Key) == 16 ? 8 : 16 };
        enum : uint32_t { NKEYS = THREADS * NITEMS };
};

template <class Layout>
static __device__ uint32_t part_of(const kc_wd_view<Layout> &map, typename Layout::key key)
{
        const struct kc_wd_shape &shape = map.shape;
        auto mixed = kc_wd_mix(key, shape.seed, shape.key_bits);
        return kc_wd_part(kc_wd_hash(mixed, shape.key_bits), shape.part_bits);
}

/* counts [parts]: is added to. */
template <class Layout>
static __global__ void __launch_bounds__(THREADS)
        count_kernel(kc_wd_view<Layout> map, const typename Layout::key *keys, uint32_t n,
                     uint32_t *counts)
{
        extern __shared__ uint32_t own[];
        uint32_t nparts = 1u << map.shape.part_bits;
        for (uint32_t i = threadIdx.x; i < nparts; i += THREADS)
                own[i] = 0;
        __syncthreads();
        uint64_t stride = (uint64_t)gridDim.x * THREADS;
        for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
             i += COUNT_AHEAD * stride) {
                typename Layout::key seen[COUNT_AHEAD];
#pragma unroll
                for (int j = 0; j < COUNT_AHEAD; j++)
                        seen[j] = i + j * stride < n ? keys[i + j * stride] : 0;
#pragma unroll
                for (int j = 0; j < COUNT_AHEAD; j++)
                        if (i + j * stride < n)
                                atomicAdd(&own[part_of(map, seen[j])], 1u);
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < nparts; i += THREADS)
                if (own[i] != 0)
                        atomicAdd(&counts[i], own[i]);
}

typedef cub::BlockScan<uint32_t, THREADS> block_scan;

/* Counts to where their parts begin. By the whole block; barriers are before and behind. */
static __device__ void scan_counts(uint32_t *counts, uint32_t nparts,
                                   typename block_scan::TempStorage *scratch)
{
        uint32_t per_thread = (nparts + THREADS - 1) / THREADS, sum = 0, before, all;
        uint32_t begin = threadIdx.x * per_thread;
        for (uint32_t i = begin; i < begin + per_thread && i < nparts; i++)
                sum += counts[i];
        block_scan(*scratch).ExclusiveSum(sum, before, all);
        for (uint32_t i = begin; i < begin + per_thread && i < nparts; i++) {
                uint32_t n = counts[i];
                counts[i] = before;
                before += n;
        }
        __syncthreads();
}

static __global__ void __launch_bounds__(THREADS) scan_kernel(uint32_t *counts, uint32_t nparts)
{
        __shared__ typename block_scan::TempStorage scratch;
        scan_counts(counts, nparts, &scratch);
}

/* ---- splitting ---- */

template <class Key> struct split_batch {
        const Key *keys;
        const uint32_t *values; /* NULL: none */
        uint32_t n;
        uint32_t *cursors; /* [parts] where the next key of each goes */
        Key *out_keys;
        uint32_t *out_values;
        uint32_t *went; /* [n] where a key went; NULL: not wanted */
};

/* Shared memory of a tile: this, then counts and cursors of the parts. */
template <class Key> struct split_tile {
        Key staged[tile_of<Key>::NKEYS];
        uint16_t parts[tile_of<Key>::NKEYS]; /* of what is staged */
        typename block_scan::TempStorage scratch;
};

template <class Key> static size_t split_shared_nbytes(int part_bits)
{
        return sizeof(split_tile<Key>) + ((size_t)2 * sizeof(uint32_t) << part_bits);
}

/* What is staged goes out, part by part. */
template <class Key, class T>
static __device__ void write_staged(const split_tile<Key> *tile, const uint32_t *places, uint32_t n,
                                    T *out)
{
        const T *staged = (const T *)tile->staged;
        __syncthreads();
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < n; i += THREADS)
                out[places[tile->parts[i]] + i] = staged[i];
        __syncthreads();
}

/* A key's place among those of its part in the tile, above the part's number. */
template <class Layout, int NITEMS>
static __device__ void rank_keys(const kc_wd_view<Layout> &map, const typename Layout::key *keys,
                                 uint32_t n, uint32_t *counts, uint32_t *ranks)
{
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (threadIdx.x + i * THREADS >= n)
                        continue;
                uint32_t part = part_of(map, keys[i]);
                ranks[i] = part | atomicAdd(&counts[part], 1u) << 16;
        }
        __syncthreads();
}

/* Where the tile's keys of each part go, less what is before them in the tile; offsets: counts at
 * first, then that. */
static __device__ void take_places(uint32_t *offsets, uint32_t *places, uint32_t *cursors,
                                   uint32_t nparts, typename block_scan::TempStorage *scratch)
{
        for (uint32_t i = threadIdx.x; i < nparts; i += THREADS)
                places[i] = offsets[i] == 0 ? 0 : atomicAdd(&cursors[i], offsets[i]);
        __syncthreads();
        scan_counts(offsets, nparts, scratch);
        for (uint32_t i = threadIdx.x; i < nparts; i += THREADS)
                places[i] -= offsets[i];
        __syncthreads();
}

template <class Layout>
static __global__ void __launch_bounds__(THREADS, 2)
        split_kernel(kc_wd_view<Layout> map, split_batch<typename Layout::key> batch)
{
        typedef typename Layout::key Key;
        enum { NITEMS = tile_of<Key>::NITEMS };
        extern __shared__ __align__(16) unsigned char memory[];
        auto *tile = (split_tile<Key> *)memory;
        uint32_t nparts = 1u << map.shape.part_bits, begin = blockIdx.x * tile_of<Key>::NKEYS;
        uint32_t n = min(batch.n - begin, (uint32_t)tile_of<Key>::NKEYS);
        uint32_t *offsets = (uint32_t *)(tile + 1), *places = offsets + nparts, ranks[NITEMS];
        Key keys[NITEMS];
        for (uint32_t i = threadIdx.x; i < nparts; i += THREADS)
                offsets[i] = 0;
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                keys[i] = threadIdx.x + i * THREADS < n
                                  ? batch.keys[begin + threadIdx.x + i * THREADS]
                                  : 0;
        __syncthreads();
        rank_keys<Layout, NITEMS>(map, keys, n, offsets, ranks);
        take_places(offsets, places, batch.cursors, nparts, &tile->scratch);
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                uint32_t from = threadIdx.x + i * THREADS, part = ranks[i] & 0xffff;
                if (from >= n)
                        continue;
                ranks[i] = offsets[part] + (ranks[i] >> 16);
                tile->staged[ranks[i]] = keys[i];
                tile->parts[ranks[i]] = (uint16_t)part;
                if (batch.went != NULL)
                        batch.went[begin + from] = places[part] + ranks[i];
        }
        write_staged(tile, places, n, batch.out_keys);
        if (batch.values == NULL)
                return;
        uint32_t *staged = (uint32_t *)tile->staged;
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                if (threadIdx.x + i * THREADS < n)
                        staged[ranks[i]] = batch.values[begin + threadIdx.x + i * THREADS];
        write_staged(tile, places, n, batch.out_values);
}

/* out[i] = values[went[i]] */
static __global__ void __launch_bounds__(GATHER_THREADS)
        gather_kernel(const uint32_t *values, const uint32_t *went, uint32_t n, uint32_t *out)
{
        uint32_t i = blockIdx.x * GATHER_THREADS + threadIdx.x;
        if (i < n)
                __stcs(&out[i], values[__ldcs(&went[i])]);
}

/* ---- a slice of a batch ---- */

template <class Key> struct slice {
        uint64_t cap;
        Key *keys;
        uint32_t *values, *went, *cursors; /* went: NULL where values do not come back */
};

template <class Key> static size_t slice_nbytes_per_key(bool back)
{
        return sizeof(Key) + (back ? 2 : 1) * sizeof(uint32_t);
}

/* What the map itself takes for a batch is left: a bit a key. */
template <class Key>
static enum kc_status slice_new(struct kc_gpu *gpu, slice<Key> *s, uint64_t n, int part_bits,
                                bool back, struct kc_error *err)
{
        enum kc_status status;
        uint64_t room = kc_gpu_room(gpu) / 8 * 7 / slice_nbytes_per_key<Key>(back);
        s->cap = std::max(std::min(std::min(n, SLICE_NKEYS), room), (uint64_t)1);
        KC_TRY(kc_gpu_new(gpu, &s->cursors, (size_t)1 << part_bits, err));
        KC_TRY(kc_gpu_new(gpu, &s->keys, s->cap, err));
        KC_TRY(kc_gpu_new(gpu, &s->values, s->cap, err));
        if (back)
                KC_TRY(kc_gpu_new(gpu, &s->went, s->cap, err));
out:
        return status;
}

template <class Key>
static void slice_free(struct kc_gpu *gpu, slice<Key> *s, int part_bits, bool back)
{
        if (back)
                kc_gpu_delete(gpu, s->went, s->cap);
        kc_gpu_delete(gpu, s->values, s->cap);
        kc_gpu_delete(gpu, s->keys, s->cap);
        kc_gpu_delete(gpu, s->cursors, (size_t)1 << part_bits);
}

/* Split n keys, and values where there are some, to the slice's arrays. */
template <class Layout>
static enum kc_status split(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                            const uint32_t *values, uint32_t n,
                            const slice<typename Layout::key> *s, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status;
        struct kc_gpu *gpu = map->gpu;
        int part_bits = map->view.shape.part_bits;
        size_t nparts = (size_t)1 << part_bits, nbytes = split_shared_nbytes<Key>(part_bits);
        split_batch<Key> batch = { keys, values, n, s->cursors, s->keys, s->values, s->went };
        unsigned ncounting = std::min((unsigned)(COUNT_BLOCKS_PER_SM * gpu->nmultiprocessors),
                                      kc_ceil_div(n, THREADS));
        KC_TRY(KC_CUDA(cudaMemsetAsync(s->cursors, 0, nparts * sizeof(uint32_t), gpu->stream)));
        count_kernel<Layout><<<ncounting, THREADS, nparts * sizeof(uint32_t), gpu->stream>>>(
                map->view, keys, n, s->cursors);
        KC_TRY(KC_LAUNCHED());
        scan_kernel<<<1, THREADS, 0, gpu->stream>>>(s->cursors, (uint32_t)nparts);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(
                split_kernel<Layout>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)nbytes)));
        split_kernel<Layout><<<kc_ceil_div(n, tile_of<Key>::NKEYS), THREADS, nbytes, gpu->stream>>>(
                map->view, batch);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_bulk_put(kc_wd_map<Layout> *map, enum kc_wd_mode mode,
                              const typename Layout::key *keys, const uint32_t *values, uint64_t n,
                              struct kc_error *err)
{
        enum kc_status status;
        int part_bits = map->view.shape.part_bits;
        slice<typename Layout::key> s = {};
        if (part_bits == 0 || n == 0)
                return kc_wd_put(map, mode, keys, values, n, NULL, err);
        KC_TRY(slice_new(map->gpu, &s, n, part_bits, false, err));
        for (uint64_t at = 0; at < n; at += s.cap) {
                uint64_t own = std::min(s.cap, n - at);
                const uint32_t *own_values = values == NULL ? NULL : values + at;
                KC_TRY(split(map, keys + at, own_values, (uint32_t)own, &s, err));
                KC_TRY(kc_wd_put_split(map, mode, s.keys, values == NULL ? NULL : s.values, own,
                                       s.cursors, NULL, err));
        }
out:
        slice_free(map->gpu, &s, part_bits, false);
        return status;
}

template <class Layout>
enum kc_status kc_wd_bulk_retrieve(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                   uint64_t n, uint32_t missing, uint32_t *values, uint64_t *nfound,
                                   struct kc_error *err)
{
        enum kc_status status;
        int part_bits = map->view.shape.part_bits;
        slice<typename Layout::key> s = {};
        uint64_t all = 0;
        if (part_bits == 0 || n == 0)
                return kc_wd_retrieve(map, keys, n, missing, values, NULL, nfound, err);
        KC_TRY(slice_new(map->gpu, &s, n, part_bits, true, err));
        for (uint64_t at = 0; at < n; at += s.cap) {
                uint64_t own = std::min(s.cap, n - at), own_found;
                KC_TRY(split(map, keys + at, NULL, (uint32_t)own, &s, err));
                KC_TRY(kc_wd_retrieve(map, s.keys, own, missing, s.values, NULL, &own_found, err));
                gather_kernel<<<kc_ceil_div(own, GATHER_THREADS), GATHER_THREADS, 0,
                                map->gpu->stream>>>(s.values, s.went, (uint32_t)own, values + at);
                KC_TRY(KC_LAUNCHED());
                all += own_found;
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(map->gpu->stream)));
        if (nfound != NULL)
                *nfound = all;
out:
        slice_free(map->gpu, &s, part_bits, true);
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_bulk_put(kc_wd_map<Layout> *, enum kc_wd_mode, \
                                               const typename Layout::key *, const uint32_t *, \
                                               uint64_t, struct kc_error *); \
        template enum kc_status kc_wd_bulk_retrieve( \
                const kc_wd_map<Layout> *, const typename Layout::key *, uint64_t, uint32_t, \
                uint32_t *, uint64_t *, struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
