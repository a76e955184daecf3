/*
 * Exports, inside: with a file of the program's beside those of the export.
 */
#ifndef APP_LIBRARY_EXPORT_H
#define APP_LIBRARY_EXPORT_H

#include "base/new_file.h"
#include "include/kcount.h"

/* A file that gets its name together with those of an export. */
struct kc_export_companion {
        void *ctx;
        /* Complete the file, when the export lacks only its names. file: out, as for
         * kc_export_commit; NULL: there is none */
        enum kc_status (*complete)(void *ctx, struct kc_new_file **file, struct kc_error *err);
};

/* kcount_export. companion: may be NULL. Fails also as its function does. */
enum kcount_status kc_export_counts(struct kcount_counts *counts, const char *path,
                                    const struct kcount_export_options *options,
                                    const struct kc_export_companion *companion,
                                    struct kcount_exported *exported, struct kcount_error **error);

#endif
