/*
 * The host's memory that stands for a device's, pinned memory or shared memory: taken in blocks
 * whose surroundings are checked, and kept for the next block when it is given back.
 */
#ifndef KC_TESTS_GPU_EMULATOR_BLOCKS_H
#define KC_TESTS_GPU_EMULATOR_BLOCKS_H

#include "emulator.h"

namespace emulator
{

/* NULL if there is no memory. *is_poisoned: every byte is POISON; otherwise the caller fills it.
 * May be called by several threads. */
void *take(size_t nbytes, bool *is_poisoned);

/* Ends the program if bytes before or behind the block were written. */
void check_surroundings(const void *block, size_t nbytes);

/* Checks them too. */
void give_back(void *block, size_t nbytes);

} // namespace emulator

#endif
