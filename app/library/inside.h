/*
 * What kcount.h does not show but the program needs. Its messages, for example, name options and
 * commands where those of the library name fields.
 */
#ifndef APP_LIBRARY_INSIDE_H
#define APP_LIBRARY_INSIDE_H

#include "app/library/counter.h"
#include "base/status.h"
#include "include/kcount.h"
#include "io/store.h"

/* What has failed, with its remedies. Valid until kcount_error_free. */
const struct kc_error *kc_library_cause(const struct kcount_error *error);

/* Make the handle of a store. On success, the handle owns the store. KC_ENOMEM. */
enum kc_status kc_library_counts_new(struct kcount_counts **counts, struct kc_store *store,
                                     struct kc_error *err);

/* The open .kc file, which the counts own. */
struct kc_store *kc_library_store(const struct kcount_counts *counts);

/* As kcount_get_info, for a file that has been written. */
struct kcount_info kc_library_describe(const struct kc_store_info *stored);

/* The warning of the .kc file, with its remedies, or NULL. Valid until kcount_close. */
const struct kc_error *kc_library_warning(const struct kcount_counts *counts);

/* ---- counting ---- */

/* When `step` of the program is called. */
enum kc_count_step {
        KC_COUNT_CREATES, /* outputs will be created next, if this rank creates any */
        KC_COUNT_CREATED, /* they have been */
        KC_COUNT_OPENED,  /* the inputs are open; whether outputs are among them is not checked */
};

/*
 * What the program adds to the options of functions that count. With it, these work in the thread
 * that calls them, call no progress callback, and return neither open counts nor rows or
 * statistics: all results are in the counter. Of several ranks, only rank 0 creates and commits
 * files.
 */
struct kcount_count_inside {
        /* In: nthreads, memory_nbytes if the options have none, job, devices, ranks, engine_nbytes,
         * storing.wants_rows, fell_back, and if a run is added, target and writer. The program
         * closes it. */
        struct kc_counter *counter;
        bool reads_only; /* nothing is counted: the inputs are opened, and then `count` is called */
        void *ctx;
        enum kc_status (*step)(void *ctx, enum kc_count_step step, struct kc_error *err);
        /* Called when all is prepared, or has failed: decides whether to count. */
        enum kc_status (*agree)(void *ctx, enum kc_status status, struct kc_error *err);
        /* kc_counter_run, with what the program does before and after it. Then the outputs are
         * committed. */
        enum kc_status (*count)(void *ctx, struct kc_error *err);
};

#endif
