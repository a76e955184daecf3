/*
 * Exports, inside: what the program wants beyond kcount.h.
 */
#ifndef APP_LIBRARY_EXPORT_H
#define APP_LIBRARY_EXPORT_H

#include "base/new_file.h"

/* kcount_export_options.inside: a file that gets its name together with those of an export. */
struct kcount_export_inside {
        void *ctx;
        /* Complete the file, when the export lacks only its names. file: out, as for
         * kc_export_commit; NULL: there is none */
        enum kc_status (*complete)(void *ctx, struct kc_new_file **file, struct kc_error *err);
};

#endif
