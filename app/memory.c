#include "app/memory.h"

#include "app/machine.h"
#include "cpu/cpu_engine.h"

#define MIB MEMORY_MIB

enum {
        PROCESS_MIB = 24,     /* code, libraries, stacks, the index of the output */
        THREAD_MIB = 36,      /* of the CPU engine: with less, bins are counted in many passes */
        OUTSIDE_MIB = 12,     /* a thread, for the reader's buffers, or later the store's */
        OUTSIDE_FRACTION = 6, /* of the bound, that this may be at most */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

uint64_t memory_default_nbytes(void)
{
        uint64_t nbytes = machine_available_nbytes() / 4 * 3;
        if (nbytes == 0)
                nbytes = 4096 * MIB; /* nothing is known of this machine */
        return nbytes > MEMORY_MIN_MIB * MIB ? nbytes : MEMORY_MIN_MIB * MIB;
}

static int threads_that_fit(uint64_t nbytes, int nthreads)
{
        uint64_t most = (nbytes - PROCESS_MIB * MIB) / (THREAD_MIB * MIB);
        return most < (uint64_t)nthreads ? (int)most : nthreads;
}

struct memory_plan memory_plan_count(uint64_t nbytes, int nthreads, bool device)
{
        struct memory_plan plan = { .nthreads = nthreads };
        if (!device)
                plan.nthreads = threads_that_fit(nbytes, nthreads);
        uint64_t outside =
                smaller(OUTSIDE_MIB * MIB * (unsigned)plan.nthreads, nbytes / OUTSIDE_FRACTION);
        plan.engine_nbytes = nbytes - PROCESS_MIB * MIB - outside;
        /* The CPU engine needs its tables only when all has been read. */
        plan.reader_nbytes =
                outside + (device ? 0 : kc_cpu_scratch_nbytes(plan.engine_nbytes, plan.nthreads));
        return plan;
}
