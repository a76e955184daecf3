/*
 * Set operations on .kc files, and compact, which is one on a file by itself: what the commands
 * have in common.
 */
#ifndef APP_COMBINING_H
#define APP_COMBINING_H

#include "app/options.h"
#include "io/store.h"

struct combine_settings {
        uint64_t nthreads, min_count, max_count;
        const char *output, *counts;
        bool json, quiet, no_progress, force;
};

/* What is to be done. */
struct combine_plan {
        const char *const *inputs;
        size_t ninputs;
        enum kc_set_operation operation;
        enum kc_count_rule rule;
        const char *output;
        bool in_place;    /* output is the only input, and locked */
        bool may_be_idle; /* nothing is written if the input is one run already, as wanted */
};

/* Check, run, write, tell. KC_EUSAGE and what the store returns. */
enum kc_status combine(const struct invocation *call, const struct combine_plan *plan,
                       struct kc_error *err);

#define COMBINE_FIELD(member) offsetof(struct combine_settings, member)

#endif
