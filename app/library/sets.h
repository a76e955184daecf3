/*
 * Set operations, inside: with what only commands of the program want.
 */
#ifndef APP_LIBRARY_SETS_H
#define APP_LIBRARY_SETS_H

#include "gpu/gpu.h"
#include "include/kcount.h"

struct kc_combine_inside {
        const int *lock; /* the lock (kc_store_lock) on the output, which is the only input; NULL:
                            the output is another file */
        /* see struct kc_gpu_params */
        uint64_t batch_nkmers;
        const char *trace;
        int nthreads;                /* out: as many as wanted, or as fit into the memory */
        struct kc_gpu_report report; /* out, also on failure, if a device was used */
};

/* kcount_combine. */
enum kcount_status kc_combine_counts(struct kcount_counts *const *inputs, size_t ninputs,
                                     const struct kcount_set_options *options,
                                     struct kc_combine_inside *inside, const char *output,
                                     struct kcount_counts **counts, struct kcount_error **error);

#endif
