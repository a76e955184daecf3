/*
 * Kernels on the CPU, for tests of gpu/ on machines with neither nvcc nor a device.
 *
 * A CUDA thread is a fiber. The blocks of a grid run one after the other, and the fibers of a block
 * in turn: each until it waits for others, at a barrier or in a function of its warp, or comes to
 * an access of gpu/device/atomic.cuh. So every run is the same, and atomic operations need not be atomic.
 * KC_EMULATOR_SEED=N in the environment makes them go on in another order, one for each N; then
 * others may also come in between before an atomic operation.
 *
 * What CUDA leaves undefined ends the program, with the kernel's name: lanes of a warp, or threads
 * of a block, that meet in different calls; waiting for a thread that waits elsewhere; a value
 * from a lane that is not there; a write beside an allocation. New memory, and shared memory
 * in each block, is filled with POISON.
 *
 * Streams are not modelled, nor what one thread sees of another's writes without a barrier: work is
 * done when it is asked for. For races there is compute-sanitizer.
 */
#ifndef KC_TESTS_GPU_EMULATOR_H
#define KC_TESTS_GPU_EMULATOR_H

#include <cstddef>
#include <cstdint>
#include <cstring>

struct dim3 {
        unsigned x, y, z;
        dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
        {
        }
};

/* Of the fiber that runs. */
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef struct kc_emulated_stream *cudaStream_t;

namespace emulator
{

enum { WARP = 32, MAX_THREADS = 1024, MAX_SHARED_NBYTES = 227 << 10, POISON = 0xa5 };

/* A call, for messages, and to see whether all are in the same one. */
struct place {
        const char *function, *file;
        int line;
};

/* As the last parameters of a function: where it is called. */
#define KC_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define KC_PLACE \
        emulator::place \
        { \
                __func__, file, line \
        }

/* What lanes exchange: values[i] of those in `lanes`. Valid until the lane next meets. */
struct exchange {
        uint32_t lanes, nonzero; /* nonzero: those that brought another value than 0 */
        const uint64_t *values;
};

/* Wait for the lanes of mask that have not returned from the kernel, and exchange values. */
struct exchange meet_warp(uint32_t mask, uint64_t value, const place &place);

/* Wait for all threads of the block; whether any of them brought true. */
bool meet_block(bool value, const place &place);

/* Before an atomic operation: let others go on, if there is a seed and luck will have it. */
void pass(void);

/* At an access to memory whose order counts (gpu/device/atomic.cuh): other threads go on first; with a
 * seed, now and then. Outside of kernels nothing happens. */
void let_others_continue(void);

/* Ends the program. */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- launching: what translate.py makes of kernel<<<...>>>(...) ---- */

struct config {
        const char *kernel;
        dim3 grid, block;
        size_t shared_nbytes;
        config(const char *kernel, dim3 grid, dim3 block, size_t shared_nbytes = 0,
               cudaStream_t = NULL)
            : kernel(kernel), grid(grid), block(block), shared_nbytes(shared_nbytes)
        {
        }
};

void launch_call(const config &config, void (*call)(const void *), const void *body);

template <class Body> void launch(const config &config, const Body &body)
{
        launch_call(
                config, [](const void *body) { (*(const Body *)body)(); }, &body);
}

/* Run all blocks of a valid configuration; shared: [config.shared_nbytes]. One caller at a time. */
void run_grid(const config &config, unsigned char *shared, void (*call)(const void *),
              const void *body);

/* ---- shared memory: what it makes of __shared__ ---- */

extern unsigned char *dynamic_shared;
extern uint64_t block_number; /* of all that ever ran */

/* Behind the declaration of the variables, where every thread of the block comes by. */
template <class... T> void poison_shared(uint64_t *seen, T &...variables)
{
        if (*seen == block_number)
                return;
        *seen = block_number;
        (memset((void *)&variables, POISON, sizeof variables), ...);
}

} // namespace emulator

#endif
