/*
 * Kernels on the CPU, for tests of gpu/ on machines with neither nvcc nor a device.
 *
 * A CUDA thread is a fiber. The blocks of a grid run one after the other, and the fibers of a block
 * in turn: each runs until it waits for others, at a barrier or in a warp function, or reaches an
 * access of gpu/device/atomic.cuh. So every run is the same, and atomic operations need not be
 * atomic. KC_EMULATOR_SEED=N in the environment makes fibers continue in a different order for each
 * N; then other fibers may also run before an atomic operation.
 *
 * What CUDA leaves undefined ends the program with a message that names the kernel: lanes of a
 * warp, or threads of a block, that meet in different calls; waiting for a thread that waits
 * elsewhere; a value from a lane that does not take part; a write outside an allocation; an
 * argument that points to another device's memory without access to it (devices.h). New memory, and
 * each block's shared memory, is filled with POISON.
 *
 * A stream's work is done as late as CUDA allows (streams.h). Not modelled is the visibility of
 * another thread's writes without a barrier; use compute-sanitizer to find races.
 */
#ifndef KC_TESTS_GPU_EMULATOR_H
#define KC_TESTS_GPU_EMULATOR_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

struct dim3 {
        unsigned x, y, z;
        dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
        {
        }
};

/* Those of the running fiber. */
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef struct kc_emulated_stream *cudaStream_t;

namespace emulator
{

enum { WARP = 32, MAX_THREADS = 1024, MAX_SHARED_NBYTES = 227 << 10, POISON = 0xa5 };

/* The place of a call, for messages and to check that all threads are in the same call. */
struct place {
        const char *function, *file;
        int line;
};

/* The last parameters of a function: the place of the call. */
#define KC_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define KC_PLACE \
        emulator::place \
        { \
                __func__, file, line \
        }

/* What lanes exchange: values[i] for lane i in `lanes`. Valid until the lane's next meeting. */
struct exchange {
        uint32_t lanes, nonzero; /* nonzero: those whose value is not 0 */
        const uint64_t *values;
};

/* Wait for the lanes of mask that have not returned from the kernel, and exchange values. */
struct exchange meet_warp(uint32_t mask, uint64_t value, const place &place);

/* Wait for all threads of the block; true if any of them passed true. */
bool meet_block(bool value, const place &place);

/* Call before an atomic operation: with a seed, sometimes lets other threads run first. */
void pass(void);

/* Call at a memory access whose order matters (gpu/device/atomic.cuh): other threads run first;
 * with a seed, only sometimes. Does nothing outside kernels. */
void let_others_continue(void);

/* Print the message and end the program. */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- launching: what translate.py makes of kernel<<<...>>>(...) ---- */

struct config {
        const char *kernel;
        dim3 grid, block;
        size_t shared_nbytes;
        cudaStream_t stream;
        config(const char *kernel, dim3 grid, dim3 block, size_t shared_nbytes = 0,
               cudaStream_t stream = NULL)
            : kernel(kernel), grid(grid), block(block), shared_nbytes(shared_nbytes), stream(stream)
        {
        }
};

/* Queue work in a stream (streams.h). */
void enqueue(cudaStream_t stream, std::function<void()> work);

/* Queue a kernel, of which each thread calls `thread`. */
void launch_threads(const config &config, std::function<void()> thread);

/* End the program if a word among the bytes of a kernel's argument is an address that the kernel's
 * device cannot access. Addresses in memory that the argument points to are not examined. */
void check_words(const config &config, const void *argument, size_t nbytes);

/* Clear the padding of a kernel's argument and examine its words: half of an old address, left in
 * the padding beside a number, would look like an address. Where the compiler cannot clear padding
 * (Clang), an argument that may have some is not examined. */
template <class Argument> void check_argument(const config &config, Argument *argument)
{
#if __has_builtin(__builtin_clear_padding)
        __builtin_clear_padding(argument);
#else
        if (!std::has_unique_object_representations_v<Argument>)
                return;
#endif
        check_words(config, argument, sizeof *argument);
}

/* A kernel to be called with its arguments. */
template <class Kernel> struct launcher {
        struct config config;
        Kernel kernel;

        template <class... Arguments> void operator()(Arguments... arguments) const
        {
                Kernel kernel = this->kernel;
                (check_argument(config, &arguments), ...);
                launch_threads(config, [=] { kernel(arguments...); });
        }
};

template <class Kernel> launcher<Kernel> launch(const config &config, Kernel kernel)
{
        return { config, kernel };
}

/* Run all blocks; config must be valid; shared: [config.shared_nbytes]. Not thread-safe. */
void run_grid(const config &config, unsigned char *shared, const std::function<void()> &thread);

/* ---- shared memory: what translate.py makes of __shared__ ---- */

extern unsigned char *dynamic_shared;
extern uint64_t block_number; /* the number of blocks that have begun */

/* Called after the variables' declaration, which every thread of the block passes. */
template <class... T> void poison_shared(uint64_t *seen, T &...variables)
{
        if (*seen == block_number)
                return;
        *seen = block_number;
        (memset((void *)&variables, POISON, sizeof variables), ...);
}

} // namespace emulator

#endif
