/*
 * How the bound on the memory of the whole process is divided.
 */
#ifndef APP_LIBRARY_MEMORY_H
#define APP_LIBRARY_MEMORY_H

#include "io/reader.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_MIB (UINT64_C(1) << 20)

enum { MEMORY_LEAST_MIB = 256 }; /* the smallest bound */

/* What the process takes anyway: code, libraries, stacks, the index of a .kc file. */
#define MEMORY_PROCESS_NBYTES (24 * MEMORY_MIB)

/* What a thread of the CPU engine needs: with less, bins are counted in many passes; in 256M,
 * 16 threads took four times the CPU time of 6. Work on .kc files takes less. */
#define MEMORY_THREAD_NBYTES (36 * MEMORY_MIB)

/* The bound if none is given. For kcount itself: three quarters of the available memory, which
 * nprocesses share. For the library, which is a guest in another program: half of it. */
uint64_t kc_memory_default_nbytes(int nprocesses);
uint64_t kc_memory_guest_nbytes(void);

struct memory_plan {
        int nthreads; /* as wanted, or fewer if the bound is small */
        uint64_t engine_nbytes;
        uint64_t reader_nbytes; /* while it reads; afterwards it needs almost none */
        struct kc_reader_bound reader_bound;
};

/*
 * Divide nbytes for counting with the CPU engine, or with a device's. Each thread of the CPU engine
 * needs memory for tables; too many threads would slow all of them down.
 */
struct memory_plan kc_memory_plan_count(uint64_t nbytes, int nthreads, bool device);

/*
 * Lower *nthreads to the number of threads that fit into nbytes, each taking thread_nbytes.
 * KC_ENOMEM, with the bound that is needed, if not even one fits. what: the work of the threads,
 * for the message.
 */
enum kc_status kc_memory_limit_threads(uint64_t nbytes, uint64_t thread_nbytes, const char *what,
                                       int *nthreads, struct kc_error *err);

#endif
