/*
 * How -m, the bound on the memory of the whole process, is divided.
 */
#ifndef APP_CLI_MEMORY_H
#define APP_CLI_MEMORY_H

#include "io/reader.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_MIB (UINT64_C(1) << 20)

/* What the process takes anyway: code, libraries, stacks, the index of a .kc file. */
#define MEMORY_PROCESS_NBYTES (24 * MEMORY_MIB)

/* What a thread of the CPU engine needs: with less, bins are counted in many passes; in 256M,
 * 16 threads took four times the CPU time of 6. Work on .kc files takes less. */
#define MEMORY_THREAD_NBYTES (36 * MEMORY_MIB)

/* The bound without -m: three quarters of the available memory, which nprocesses share. */
uint64_t memory_default_nbytes(int nprocesses);

struct memory_plan {
        int nthreads; /* as wanted, or fewer if the bound is small */
        uint64_t engine_nbytes;
        uint64_t reader_nbytes; /* while it reads; afterwards it holds next to nothing */
        struct kc_reader_bound reader_bound;
};

/*
 * Divide nbytes for counting with the CPU engine, or with a device's. Each thread of the CPU engine
 * needs memory for tables; too many threads would slow all of them down.
 */
struct memory_plan memory_plan_count(uint64_t nbytes, int nthreads, bool device);

/*
 * Lower *nthreads to the number of threads that fit into nbytes, each taking thread_nbytes.
 * KC_ENOMEM, with the bound that is needed, if not even one fits. what: the work of the threads,
 * for the message.
 */
enum kc_status memory_limit_threads(uint64_t nbytes, uint64_t thread_nbytes, const char *what,
                                    int *nthreads, struct kc_error *err);

#endif
