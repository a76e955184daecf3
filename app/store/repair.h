/*
 * kcount check --repair: copy all undamaged data of a .kc file.
 */
#ifndef APP_STORE_REPAIR_H
#define APP_STORE_REPAIR_H

#include "app/cli/options.h"

struct repair_plan {
        const char *path, *copy;
        bool force, json, show_progress;
};

/* Write the copy. KC_ECORRUPT, with a summary of what is missing, if anything was lost; the copy is
 * written even then. */
enum kc_status repair(const struct invocation *call, const struct repair_plan *plan,
                      struct kc_error *err);

#endif
