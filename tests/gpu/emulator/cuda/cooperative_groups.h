/*
 * Tiles of a warp, for the emulator.
 */
#ifndef KC_EMULATED_COOPERATIVE_GROUPS_H
#define KC_EMULATED_COOPERATIVE_GROUPS_H

#include <cuda_runtime.h>

namespace cooperative_groups
{

struct thread_block {
};

static inline thread_block this_thread_block(void)
{
        return {};
}

template <int N> struct thread_block_tile {
        unsigned thread_rank(void) const
        {
                return threadIdx.x % N;
        }

        unsigned ballot(bool predicate, KC_CALLER) const
        {
                return __ballot_sync(mask(), predicate, file, line) >> first();
        }

        bool any(bool predicate, KC_CALLER) const
        {
                return __any_sync(mask(), predicate, file, line);
        }

        template <class T> T shfl(T value, int rank, KC_CALLER) const
        {
                return __shfl_sync(mask(), value, (int)first() + rank % N, file, line);
        }

      private:
        static unsigned first(void)
        {
                return threadIdx.x % emulator::WARP / N * N;
        }

        static unsigned mask(void)
        {
                return (unsigned)((UINT64_C(1) << N) - 1) << first();
        }
};

template <int N> thread_block_tile<N> tiled_partition(const thread_block &)
{
        return {};
}

} // namespace cooperative_groups

#endif
