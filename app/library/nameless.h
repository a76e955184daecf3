/*
 * .kc files without a name.
 */
#ifndef APP_LIBRARY_NAMELESS_H
#define APP_LIBRARY_NAMELESS_H

#include "io/store.h"

/* A path in this folder (NULL: the current one), for creating a .kc file that gets no name. The
 * caller frees it. NULL if out of memory. */
char *kc_nameless_path(const char *folder);

/* kc_store_create for a file that gets no name: its options' tmp_folder becomes this folder, which
 * must outlive the writer. */
enum kc_status kc_nameless_create(struct kc_store_writer **writer, const char *folder,
                                  const struct kc_store_options *options, struct kc_error *err);

#endif
