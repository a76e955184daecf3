/*
 * How -m, the bound on the memory of the whole process, is divided.
 */
#ifndef APP_MEMORY_H
#define APP_MEMORY_H

#include "io/reader.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_MIB (UINT64_C(1) << 20)

/* The bound if there is no -m: three quarters of what the machine has to give. */
uint64_t memory_default_nbytes(void);

struct memory_plan {
        int nthreads; /* as wanted, or fewer where the bound is small */
        uint64_t engine_nbytes;
        uint64_t reader_nbytes; /* while it reads; afterwards it keeps next to nothing */
        struct kc_reader_bound reader_bound;
};

/*
 * Counting within nbytes by the CPU engine, or by that of a device. Each thread of the CPU engine
 * needs so much for tables that with too many of them all would be slower.
 */
struct memory_plan memory_plan_count(uint64_t nbytes, int nthreads, bool device);

/*
 * How many of *nthreads threads that take thread_nbytes each there can be within nbytes. KC_ENOMEM
 * if there cannot be one; what: what they do, for the message.
 */
enum kc_status memory_limit_threads(uint64_t nbytes, uint64_t thread_nbytes, const char *what,
                                    int *nthreads, struct kc_error *err);

#endif
