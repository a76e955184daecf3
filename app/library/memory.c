#include "app/library/memory.h"

#include "app/library/machine.h"
#include "cpu/cpu_engine.h"

#include <inttypes.h>

#define MIB MEMORY_MIB

enum {
        OUTSIDE_MIB = 12,     /* per thread, for the reader's buffers, or later the store's */
        OUTSIDE_FRACTION = 6, /* these take at most 1/6 of the bound */
        READER_FRACTION = 8,  /* the reader gets at least 1/8 of the bound */
};

uint64_t kc_memory_default_nbytes(int nprocesses)
{
        uint64_t nbytes = kc_machine_available_nbytes() / 4 * 3;
        if (nbytes == 0)
                nbytes = 4096 * MIB; /* unknown machine */
        nbytes /= (uint64_t)nprocesses;
        return nbytes > MEMORY_LEAST_MIB * MIB ? nbytes : MEMORY_LEAST_MIB * MIB;
}

uint64_t kc_memory_guest_nbytes(void)
{
        const uint64_t nbytes = kc_memory_default_nbytes(1) / 3 * 2;
        return nbytes > MEMORY_LEAST_MIB * MIB ? nbytes : MEMORY_LEAST_MIB * MIB;
}

static int threads_that_fit(uint64_t nbytes, int nthreads)
{
        uint64_t most = (nbytes - MEMORY_PROCESS_NBYTES) / MEMORY_THREAD_NBYTES;
        return most < (uint64_t)nthreads ? (int)most : nthreads;
}

/* A device's engine has no tables in host memory that the reader could use meanwhile, so the reader
 * gets its share here. */
static uint64_t outside_nbytes(uint64_t nbytes, int nthreads, bool device)
{
        uint64_t wanted = OUTSIDE_MIB * MIB * (unsigned)nthreads;
        if (device && wanted < nbytes / READER_FRACTION)
                wanted = nbytes / READER_FRACTION;
        return wanted < nbytes / OUTSIDE_FRACTION ? wanted : nbytes / OUTSIDE_FRACTION;
}

struct memory_plan kc_memory_plan_count(uint64_t nbytes, int nthreads, bool device)
{
        struct memory_plan plan = { .nthreads = nthreads };
        if (!device)
                plan.nthreads = threads_that_fit(nbytes, nthreads);
        plan.reader_nbytes = outside_nbytes(nbytes, plan.nthreads, device);
        plan.engine_nbytes = nbytes - MEMORY_PROCESS_NBYTES - plan.reader_nbytes;
        /* The CPU engine needs its tables only after everything has been read. */
        if (!device)
                plan.reader_nbytes += kc_cpu_scratch_nbytes(plan.engine_nbytes, plan.nthreads);
        plan.reader_bound.factor = READER_FRACTION;
        plan.reader_bound.fixed_nbytes =
                MEMORY_PROCESS_NBYTES + OUTSIDE_MIB * MIB * (uint64_t)nthreads;
        return plan;
}

enum kc_status kc_memory_limit_threads(uint64_t nbytes, uint64_t thread_nbytes, const char *what,
                                       int *nthreads, struct kc_error *err)
{
        const uint64_t base = MEMORY_PROCESS_NBYTES, most = (nbytes - base) / thread_nbytes;
        if (most == 0) {
                struct kc_error own = { .needed_nbytes = base + thread_nbytes };
                kc_fail_remedy(&own, KC_ENOMEM, KC_REMEDY_MORE_MEMORY,
                               "a bound of %" PRIu64 " MiB is not enough for %s", nbytes / MIB,
                               what);
                return kc_fail_as(err, &own);
        }
        if (most < (uint64_t)*nthreads)
                *nthreads = (int)most;
        return KC_OK;
}
