/*
 * SlabAlloc: allocates slabs of 128 bytes to the warps of one thread block.
 *
 *      memory block = 1024 slabs     word 0 of its bitmap: slabs 0-31     ...     word 31: 992-1023
 *      address      = memory block << 10 | slab in it                     (32 bits)
 *
 * A warp allocates from its resident memory block. Lane i holds word i of the bitmap in a register;
 * a ballot shows which lanes have a free slab, and the first of them allocates it with one atomic
 * on the bitmap. If the old word shows that another warp was faster, the warp retries. If the
 * resident block is full, the warp changes to another one, chosen by a hash of the warp's number
 * and the number of changes so far.
 *
 * Since the table is cleared for every bin, the bitmaps are in shared memory, and no memory blocks
 * are added: allocation fails when all are full, and the table reports this to its caller. The
 * complete allocator, for all warps of a device, is gpu/maps/slab/pool.cuh.
 *
 * Source: Ashkiani et al., A Dynamic Hash Table for the GPU (2018), section V; the memory is
 * contiguous as in their SlabAlloc-light.
 */
#ifndef KC_GPU_TABLES_SLAB_ALLOC_CUH
#define KC_GPU_TABLES_SLAB_ALLOC_CUH

#include "gpu/device/key.cuh"

enum : uint32_t {
        KC_SLAB_NWORDS = 32, /* 32-bit words per slab: one per lane */
        KC_SLAB_NBYTES = 128,
        KC_SLAB_BLOCK_NSLABS = 1024,
        KC_SLAB_MAX_BLOCKS = 16,   /* memory blocks per allocator */
        KC_SLAB_NONE = UINT32_MAX, /* no address */
        KC_SLAB_ALL_LANES = UINT32_MAX,
};

KC_HD uint32_t kc_slab_address(uint32_t block, uint32_t unit)
{
        return block * KC_SLAB_BLOCK_NSLABS + unit;
}

/* The lowest bit that is not set in word; 32 if all are set. */
KC_HD uint32_t kc_slab_first_free(uint32_t word)
{
#ifdef __CUDA_ARCH__
        return word == UINT32_MAX ? 32 : (uint32_t)__ffs((int)~word) - 1;
#else
        return word == UINT32_MAX ? 32 : (uint32_t)__builtin_ctz(~word);
#endif
}

/*
 * The memory block (of nblocks, a power of two) in which a warp is resident after nchanges changes.
 * The step is odd, so nblocks successive changes visit all of them.
 */
KC_HD uint32_t kc_slab_resident(uint32_t warp, uint32_t nchanges, uint32_t nblocks)
{
        uint32_t hash = (uint32_t)(kc_key_hash((kc_key64)warp + 1) >> 20);
        return ((hash >> 16) + nchanges * (hash | 1)) & (nblocks - 1);
}

/* State shared by the warps of a block. */
struct kc_slab_alloc_shared {
        uint32_t bitmaps[KC_SLAB_MAX_BLOCKS][32];
        uint32_t tops[KC_SLAB_MAX_BLOCKS]; /* kept slabs have lower numbers in their block */
};

/* A thread's handle. Warps must be converged, except in clear(), nkept() and kept(). */
struct kc_slab_alloc {
        struct kc_slab_alloc_shared *shared;
        uint32_t nblocks;
        uint32_t resident; /* the warp's memory block */
        uint32_t nchanges;
        uint32_t word; /* the lane's word of its bitmap, as last seen */

        /* Free all slabs. For all threads of the block, with a __syncthreads() before and after. */
        __device__ void clear()
        {
                for (uint32_t i = threadIdx.x; i < nblocks * 32; i += blockDim.x)
                        shared->bitmaps[i / 32][i % 32] = 0;
                for (uint32_t i = threadIdx.x; i < nblocks; i += blockDim.x)
                        shared->tops[i] = 0;
                nchanges = 0;
                resident = kc_slab_resident(threadIdx.x / 32, 0, nblocks);
                word = 0;
        }

        /* The address of a slab that this warp now owns; KC_SLAB_NONE if none was found. All that
         * another warp did to the slab before freeing it has completed. */
        __device__ uint32_t allocate()
        {
                for (uint32_t changes = 0; changes <= nblocks;) {
                        uint32_t free_lanes = __ballot_sync(KC_SLAB_ALL_LANES, word != UINT32_MAX);
                        if (free_lanes == 0) {
                                change_resident();
                                changes++;
                                continue;
                        }
                        uint32_t unit = take((uint32_t)__ffs((int)free_lanes) - 1);
                        if (unit != KC_SLAB_NONE) {
                                __threadfence_block();
                                __syncwarp();
                                return kc_slab_address(resident, unit);
                        }
                }
                return KC_SLAB_NONE;
        }

        /* Free a slab to which no reference is left. */
        __device__ void deallocate(uint32_t address)
        {
                uint32_t block = address / KC_SLAB_BLOCK_NSLABS;
                uint32_t unit = address % KC_SLAB_BLOCK_NSLABS;
                uint32_t bit = 1u << unit % 32;
                __threadfence_block();
                __syncwarp();
                if (threadIdx.x % 32 != unit / 32)
                        return;
                atomicAnd(&shared->bitmaps[block][unit / 32], ~bit);
                if (block == resident)
                        word &= ~bit;
        }

        /* Mark the slab as in use until clear(). */
        __device__ void keep(uint32_t address)
        {
                if (threadIdx.x % 32 == 0)
                        atomicMax(&shared->tops[address / KC_SLAB_BLOCK_NSLABS],
                                  address % KC_SLAB_BLOCK_NSLABS + 1);
        }

        /* To visit all kept slabs: for numbers 0 .. nkept() - 1, kept(number) is an address or
         * KC_SLAB_NONE. A __syncthreads() must come before. */
        __device__ uint32_t nkept() const
        {
                uint32_t n = 0;
                for (uint32_t block = 0; block < nblocks; block++)
                        n += shared->tops[block];
                return n;
        }

        __device__ uint32_t kept(uint32_t number) const
        {
                uint32_t block = 0;
                while (number >= shared->tops[block])
                        number -= shared->tops[block++];
                if (!(shared->bitmaps[block][number / 32] >> number % 32 & 1))
                        return KC_SLAB_NONE;
                return kc_slab_address(block, number);
        }

      private:
        __device__ void change_resident()
        {
                resident = kc_slab_resident(threadIdx.x / 32, ++nchanges, nblocks);
                word = atomicOr(&shared->bitmaps[resident][threadIdx.x % 32], 0u);
        }

        /* Take the first slab that lane `owner` sees as free; KC_SLAB_NONE if another warp has
         * taken it. */
        __device__ uint32_t take(uint32_t owner)
        {
                uint32_t lane = threadIdx.x % 32, unit = KC_SLAB_NONE;
                if (lane == owner) {
                        uint32_t free_bit = kc_slab_first_free(word);
                        uint32_t old = atomicOr(&shared->bitmaps[resident][lane], 1u << free_bit);
                        word = old | 1u << free_bit;
                        if (!(old >> free_bit & 1))
                                unit = lane * 32 + free_bit;
                }
                return __shfl_sync(KC_SLAB_ALL_LANES, unit, (int)owner);
        }
};

#endif
