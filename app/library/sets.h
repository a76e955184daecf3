/*
 * Set operations, inside: what commands of the program want beyond kcount.h.
 */
#ifndef APP_LIBRARY_SETS_H
#define APP_LIBRARY_SETS_H

#include "gpu/gpu.h"

/* kcount_set_options.inside */
struct kcount_set_inside {
        const int *lock; /* the lock (kc_store_lock) on the output, which is the only input; NULL:
                            the output is another file */
        /* see struct kc_gpu_params */
        uint64_t batch_nkmers;
        const char *trace;
        int nthreads;                /* out: as wanted, or fewer if the memory is too small */
        struct kc_gpu_report report; /* out, also on failure, if a device was used */
};

#endif
