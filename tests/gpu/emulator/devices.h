/*
 * The emulator's devices: each has its own memory and streams, and may access another one's memory
 * only if the program has enabled that. KC_EMULATOR_DEVICES=N in the environment: N devices, 0 for
 * none. KC_EMULATOR_PEERS=0: no device can access another one's memory.
 */
#ifndef KC_TESTS_GPU_EMULATOR_DEVICES_H
#define KC_TESTS_GPU_EMULATOR_DEVICES_H

#include "emulator.h"

#include <cuda_runtime.h>

namespace emulator
{

/* Keep a failure for cudaGetLastError. Returns it. */
cudaError_t note(cudaError_t code);

enum { MAX_DEVICES = 16 };

/* The calling thread's. */
int current_device(void);

int count_devices(void);

/* Whether kernels and copies of a device may access memory that another one has allocated outside
 * of pools. */
bool is_peer_enabled(int device, int other);

/* Whether a device could be given access to the memory of another one. */
bool can_access(int device, int other);

/* The memory of a device, in bytes. */
size_t total_of(int device);

/* The device of a stream; of NULL, the current one. */
int device_of(cudaStream_t stream);

} // namespace emulator

#endif
