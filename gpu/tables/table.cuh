/*
 * The tables that count a bin: one table per thread block, cleared for every bin.
 *
 * A table type T (kc_warpdrive, kc_linear, kc_hopscotch, kc_slab) has
 *
 *      T::CAPACITY                 slots, a power of two, such that as many blocks as are wanted
 *                                  fit on a multiprocessor; with arenas, 0
 *      T::BIN_NKMERS               most k-mers that a bin should have. At usual coverage a table
 *                                  ends up a third full
 *      T::MIN_BLOCKS               that should fit on a multiprocessor: as many as shared memory
 *                                  allows, if that leaves a thread enough registers. 0: left to the
 *                                  compiler
 *      T::ARENA_NBYTES             device memory for each block of the grid, or 0
 *      T::MAX_ARENAS               with arenas, at most so many blocks, which loop over the bins
 *      T::shared_nbytes(setup)     bytes of dynamic shared memory per block; constexpr
 *      T::T(setup, shared)         every thread of the block makes its own handle
 *      clear()                     by the whole block; a __syncthreads() follows
 *      add(key, weight, active)    by converged warps. A lane with `active` brings a key; its count
 *                                  grows by weight, at least 1. Returns false to a lane whose key
 *                                  found no room; the caller then gives the bin up
 *      nplaces()                   places to visit when draining, the same for all threads; valid
 *                                  after a __syncthreads()
 *      get(place, &key, &count)    the pair in a place; false if it is empty
 *
 * The caller ensures that the sum of the counts since the last clear() stays below 2^32 - 1. The
 * types that the counter uses are listed in gpu/count/tables.cuh.
 */
#ifndef KC_GPU_TABLES_TABLE_CUH
#define KC_GPU_TABLES_TABLE_CUH

#include "gpu/device/key.cuh"

struct kc_table_setup {
        uint32_t capacity; /* slots; with arenas: how many there are */
        void *arena;       /* device memory, arena_nbytes for each block of the grid; or NULL */
        size_t arena_nbytes;
};

/* Set n words to `word`. n must be a multiple of 4, and the words aligned to 16 bytes. All threads
 * of the block call this. */
__device__ static inline void kc_table_fill(void *words, uint32_t n, uint32_t word)
{
        for (uint32_t i = threadIdx.x; i < n / 4; i += blockDim.x)
                ((uint4 *)words)[i] = make_uint4(word, word, word, word);
}

#endif
