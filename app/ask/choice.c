#include "app/ask/choice.h"

/*
 * Measured with an H200 and 16 threads of its host (bench/results/archive): filter --table, k = 31,
 * reads of 150 bases. The threads share the time for a base with a device, too: they read, pack,
 * and format.
 */
#define DEVICE_START_S 0.4  /* and to end the process */
#define DEVICE_LOAD_NS 0.5  /* a k-mer of the table */
#define DEVICE_BASE_NS 2.1  /* a base, on one thread */
#define CPU_LOAD_NS    8.0  /* a k-mer of the table, on one thread */
#define CPU_BASE_NS    40.0 /* a base, on one thread */

bool asking_device_is_faster(uint64_t nkmers, uint64_t nbases, int nthreads)
{
        const double n = nthreads, table = (double)nkmers, bases = (double)nbases;
        if (nbases == KC_ASKING_UNKNOWN)
                return true;
        return DEVICE_START_S * 1e9 + DEVICE_LOAD_NS * table + DEVICE_BASE_NS * bases / n <
               (CPU_LOAD_NS * table + CPU_BASE_NS * bases) / n;
}
