/*
 * Streams of the emulator: work is queued, and done as late as CUDA allows, that is, when something
 * waits for it. So a missing wait shows as a wrong result. With KC_EMULATOR_STREAMS=N in the
 * environment, some work is done earlier, in a different order for each N, to find memory that is
 * overwritten too early.
 */
#ifndef KC_TESTS_GPU_EMULATOR_STREAMS_H
#define KC_TESTS_GPU_EMULATOR_STREAMS_H

#include "emulator.h"

namespace emulator
{

/* Do all work of a stream, and what that waits for. */
void finish(cudaStream_t stream);

/* Do all work of all streams of all devices. */
void finish_all(void);

} // namespace emulator

#endif
