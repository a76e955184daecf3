/*
 * Equal keys within a tile, for the WarpDrive map over several devices: only one of them, the
 * leader, is sent to the owner, on behalf of all of them. Private to the files several*.cu.
 *
 *      places in the tile   0 1 2 3 4 5
 *      keys                 A B A C B A
 *      leaders              0 1 0 3 1 0
 *
 * Any of the equal keys can become the leader; how many leaders there are does not depend on that.
 * A block finds them with a hash table in its shared memory. A slot is a word: 0 if it is free,
 * otherwise the place of a leader plus one, and above that bits of the key's hash, so that
 * different keys are rarely compared.
 *
 * What a thread does for a key, and whether combining is worth its time, also compile for the host.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_TILE_LEADERS_CUH
#define KC_GPU_MAPS_WARPDRIVE_TILE_LEADERS_CUH

#include "gpu/device/limits.h"
#include "gpu/device/warp.cuh"
#include "gpu/maps/warpdrive/probe.cuh"
#include "gpu/maps/warpdrive/tile.cuh"

enum : uint32_t {
        KC_WD_PLACE_BITS = 14,
        KC_WD_PLACE_MASK = (1u << KC_WD_PLACE_BITS) - 1,
        KC_WD_SAMPLE_NTILES = 64,
};

/* Slots of a tile's hash table: a power of two, and twice as many as there are keys. */
template <class Key> struct kc_wd_leaders_size {
        enum : uint32_t { NSLOTS = 2 * kc_wd_tile<Key>::NKEYS };
        static_assert((uint32_t)kc_wd_tile<Key>::NKEYS < (uint32_t)KC_WD_PLACE_MASK,
                      "a slot has room for the place");
};

/*
 * The place of the leader of keys[place]; `place` itself if the key becomes a leader.
 *   slots  slots.load(i) reads a slot; slots.swap(i, expected, value) is a compare-and-swap that
 *          returns what was there. All threads of the tile share them, zero at first.
 *   nslots a power of two, more than there are keys
 *   hash   equal for equal keys
 */
template <class Key, class Slots>
KC_HD uint32_t kc_wd_find_leader(Slots slots, uint32_t nslots, const Key *keys, uint32_t place,
                                 uint32_t hash)
{
        const uint32_t tag = hash & ~(uint32_t)KC_WD_PLACE_MASK;
        for (uint32_t i = hash;; i++) {
                uint32_t seen = slots.load(i & (nslots - 1));
                if (seen == 0)
                        seen = slots.swap(i & (nslots - 1), 0, tag | (place + 1));
                if (seen == 0)
                        return place;
                const uint32_t other = (seen & KC_WD_PLACE_MASK) - 1;
                if ((seen & ~(uint32_t)KC_WD_PLACE_MASK) == tag && keys[other] == keys[place])
                        return other;
        }
}

/* ---- whether to combine ---- */

/* Look for leaders in every k-th tile of n keys, to learn how many there are. Returns k. */
static inline uint32_t kc_wd_sample_step(uint64_t n, uint32_t tile_nkeys)
{
        const uint64_t ntiles = (n + tile_nkeys - 1) / tile_nkeys;
        return (uint32_t)((ntiles + KC_WD_SAMPLE_NTILES - 1) / KC_WD_SAMPLE_NTILES);
}

/* The keys in every step-th tile of n keys. */
static inline uint64_t kc_wd_sample_nkeys(uint64_t n, uint32_t tile_nkeys, uint32_t step)
{
        uint64_t sum = 0;
        for (uint64_t at = 0; at < n; at += (uint64_t)step * tile_nkeys)
                sum += n - at < tile_nkeys ? n - at : tile_nkeys;
        return sum;
}

/* What a put would send with and without combining. */
struct kc_wd_combining_costs {
        uint64_t nkeys, nleaders;
        size_t key_nbytes, pair_nbytes; /* of a key as it is sent now, and of a leader */
};

/* Combining pays if it saves at least a quarter of the bytes to be sent: it takes a further pass
 * over the keys. */
static inline bool kc_wd_combining_pays(const struct kc_wd_combining_costs *costs)
{
        return costs->nleaders * costs->pair_nbytes <= costs->nkeys * costs->key_nbytes / 4 * 3;
}

/* ---- the kernel ---- */

/* Slots in shared memory. */
struct kc_wd_shared_slots {
        uint32_t *words;

        __device__ uint32_t load(uint32_t i) const
        {
                return *(const volatile uint32_t *)&words[i];
        }

        __device__ uint32_t swap(uint32_t i, uint32_t expected, uint32_t value) const
        {
                return atomicCAS(&words[i], expected, value);
        }
};

/* Add a lane's leader to the counts of its block. All lanes of the warp call this; owner: nowners
 * if the lane has no leader. */
static __device__ inline void kc_wd_count_leader(uint32_t *counts, uint32_t owner, uint32_t nowners)
{
        const uint32_t same = __match_any_sync(UINT32_MAX, owner);
        if (owner < nowners && kc_warp_rank(same) == 0)
                atomicAdd(&counts[owner], (uint32_t)__popc(same));
}

/*
 * Find the leaders of tile number blockIdx.x * step.
 *   leaders  out, [n]: a key's leader, as a place in its tile; NULL: not wanted
 *   counts   [nowners] the leaders of each owner are added to this
 */
template <class Key>
static __global__ void __launch_bounds__(KC_WD_SPLIT_THREADS)
        wd_leaders_kernel(const Key *keys, uint32_t n, uint32_t nowners, uint32_t step,
                          uint16_t *leaders, uint32_t *counts)
{
        enum { THREADS = KC_WD_SPLIT_THREADS, NITEMS = kc_wd_tile<Key>::NITEMS };
        extern __shared__ __align__(16) unsigned char memory[];
        __shared__ uint32_t own[KC_GPU_MAX_DEVICES];
        const uint32_t nslots = kc_wd_leaders_size<Key>::NSLOTS, size = kc_wd_tile<Key>::NKEYS,
                       begin = blockIdx.x * step * size, end = min(size, n - begin);
        const struct kc_wd_shared_slots slots = { (uint32_t *)memory };
        Key some[NITEMS];
        for (uint32_t i = threadIdx.x; i < nslots; i += THREADS)
                slots.words[i] = 0;
        if (threadIdx.x < nowners)
                own[threadIdx.x] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                uint32_t at = threadIdx.x + i * THREADS;
                some[i] = at < end ? keys[begin + at] : (Key)0;
        }
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                const uint32_t at = threadIdx.x + i * THREADS;
                uint32_t owner = nowners;
                if (at < end) {
                        const uint64_t hash = kc_wd_owner_hash(some[i]);
                        const uint32_t leader =
                                kc_wd_find_leader(slots, nslots, keys + begin, at, (uint32_t)hash);
                        if (leaders != NULL)
                                leaders[begin + at] = (uint16_t)leader;
                        if (leader == at)
                                owner = kc_wd_owner_of(hash, nowners);
                }
                kc_wd_count_leader(own, owner, nowners);
        }
        __syncthreads();
        if (threadIdx.x < nowners && own[threadIdx.x] != 0)
                atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

#endif
