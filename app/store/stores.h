/*
 * Opening .kc files. All commands use these functions, so that each of them says what a file of
 * another kind is, and prints the store's warnings.
 */
#ifndef APP_STORE_STORES_H
#define APP_STORE_STORES_H

#include "include/kcount.h"
#include "io/store.h"

/* Like kc_store_open, but if it is not a .kc file, the message says what it is. For check, which
 * reports the store's warning as its result. */
enum kc_status stores_open_checked(struct kc_store **store, const char *path, struct kc_error *err);

/* Likewise, and like kcount_open, kc_store_open_rescue and kc_store_append, with the file's warning
 * printed on standard error. */
enum kc_status stores_open(struct kc_store **store, const char *path, struct kc_error *err);
enum kc_status stores_open_counts(struct kcount_counts **counts, const char *path,
                                  struct kc_error *err);
enum kc_status stores_open_rescue(struct kc_store **store, const char *path, struct kc_error *err);
enum kc_status stores_append(struct kc_store_writer **writer, const char *path, bool tombstones,
                             int *k, bool *stranded, struct kc_error *err);

/* Warn on standard error if --min or --max dropped k-mers from the file when it was made
 * (kcount_info.lacks_dropped): sums with its counts lack them. Returns whether it did. */
bool stores_warn_filtered(bool lacks_dropped, const char *path);

/* Likewise where k-mers are looked up: the warning says that the dropped ones count as absent. */
void stores_warn_absent(const struct kc_store_info *info, const char *path);

#endif
