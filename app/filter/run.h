/*
 * The work of filter: reads or alignments go in, and what is kept comes out.
 */
#ifndef APP_FILTER_RUN_H
#define APP_FILTER_RUN_H

#include "app/filter/alignments.h"
#include "app/filter/filtering.h"
#include "app/filter/outputs.h"

/* The caller sets all fields (in filtering and alignments, those that their headers name), and
 * opens filtering and outputs. */
struct filter_run {
        struct kc_store *store;
        struct asking_input input;
        struct asking_options options;
        const struct outputs_settings *wanted;
        struct outputs outputs;
        struct filtering filtering;
        struct alignments alignments;
};

/* Fails like asking_run, the consumers and outputs_finish. */
enum kc_status filter_run(struct filter_run *run, struct kc_error *err);

#endif
