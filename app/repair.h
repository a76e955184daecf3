/*
 * kcount check --repair: a copy of all that is sound in a damaged .kc file.
 */
#ifndef APP_REPAIR_H
#define APP_REPAIR_H

#include "app/options.h"

struct repair_plan {
        const char *path, *copy;
        bool force, json, show_progress;
};

/* KC_ECORRUPT, with a summary of what is missing, if anything was lost; even then the copy is
 * written. */
enum kc_status repair(const struct invocation *call, const struct repair_plan *plan,
                      struct kc_error *err);

#endif
