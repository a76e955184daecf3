/*
 * The .kc file that a function of the library writes: under a name, or without one.
 */
#ifndef APP_LIBRARY_OUTPUT_H
#define APP_LIBRARY_OUTPUT_H

#include "base/job.h"
#include "include/kcount.h"
#include "io/store.h"

struct kc_library_output {
        char *path, *tmp_folder; /* path: the file's, or its name in messages */
        bool is_nameless, is_wanted;
        kcount_name_guard *guard;
        struct kc_store_writer *writer;
        struct kc_store *store;    /* the result, if the caller wants it */
        struct kc_store_info info; /* once it is complete; without names */
};

/*
 * Copy the names. Even if this fails, the caller must call kc_library_output_close in the end.
 *   path        NULL: the file has no name
 *   tmp_folder  NULL: the output's, or the current one
 *   is_wanted   whether the caller wants the open counts
 *   guard       the caller's; may be NULL
 * KC_EUSAGE, KC_ENOMEM.
 */
enum kc_status kc_library_output_name(struct kc_library_output *output, const char *path,
                                      const char *tmp_folder, bool is_wanted,
                                      kcount_name_guard *guard, struct kc_error *err);

/* Begin the file, with the guard, and find out whether temporary files can be made. Fails as
 * kc_store_create. */
enum kc_status kc_library_output_create(struct kc_library_output *output,
                                        const struct kc_store_options *options,
                                        struct kc_error *err);

/* Complete the file, and open it if wanted. Fails as kc_store_commit, or KC_ECANCELED. */
enum kc_status kc_library_output_commit(struct kc_library_output *output,
                                        const struct kc_store_origin *origin,
                                        const struct kc_job *job, struct kc_error *err);

/* Hand the open counts to the caller, if they are wanted. KC_ENOMEM. */
enum kc_status kc_library_output_hand_over(struct kc_library_output *output,
                                           struct kcount_counts **counts, struct kc_error *err);

void kc_library_output_close(struct kc_library_output *output);

#endif
