/*
 * What kcount.h does not show, and the program needs for its messages, which name options and
 * commands where those of the library name fields.
 */
#ifndef APP_LIBRARY_INSIDE_H
#define APP_LIBRARY_INSIDE_H

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

/* kcount_get_info, for a file that was written. */
struct kcount_info kc_library_describe(const struct kc_store_info *stored);

/* The warning of the .kc file, with its remedies, or NULL. Valid until kcount_close. */
const struct kc_error *kc_library_warning(const struct kcount_counts *counts);

#endif
