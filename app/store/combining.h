/*
 * What the set operations on .kc files have in common with each other and with compact, which is a
 * set operation on a single file.
 */
#ifndef APP_STORE_COMBINING_H
#define APP_STORE_COMBINING_H

#include "app/cli/writing.h"
#include "include/kcount.h"
#include "io/input/inputs.h"

struct combine_settings {
        struct writing_settings common;
        uint64_t memory_nbytes, min_count, max_count, gpu_memory_nbytes, gpu_batch_nkmers;
        const char *output, *device, *gpu_trace;
        int counts; /* the number of the rule among those of the command, from 1; 0: not given */
        bool force;
};

/* What is to be done. */
struct combine_plan {
        const char *const *inputs;
        size_t ninputs;
        const struct kc_inputs *listed; /* the same, with the lists that name them, or NULL */
        enum kcount_set operation;
        enum kcount_rule rule;
        const char *output;
        const int *lock;  /* the lock (kc_store_lock) on the output if that is also the only input;
                             NULL: the output is another file */
        bool may_be_idle; /* write nothing if the input is already one run as wanted */
};

/* Check, run, write, report. KC_EUSAGE, and errors of the store and the device. */
enum kc_status combine(const struct invocation *call, const struct combine_plan *plan,
                       struct kc_error *err);

#define COMBINE_FIELD(member) offsetof(struct combine_settings, member)

/* Options that all of them have, apart from those of writing.h. */
#define COMBINE_OPTIONS \
        OPTION_MIN(COMBINE_FIELD(min_count)), OPTION_MAX(COMBINE_FIELD(max_count)), \
                OPTION_THREADS(COMBINE_FIELD(common.nthreads)), \
                OPTION_MEMORY(COMBINE_FIELD(memory_nbytes)), OPTION_DEVICE(COMBINE_FIELD(device)), \
                OPTION_GPU_MEMORY(COMBINE_FIELD(gpu_memory_nbytes)), \
                OPTION_GPU_BATCH(COMBINE_FIELD(gpu_batch_nkmers)), \
                OPTION_GPU_TRACE(COMBINE_FIELD(gpu_trace)), WRITING_OPTIONS(COMBINE_FIELD(common))

#endif
