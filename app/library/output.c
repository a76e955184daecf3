#include "app/library/output.h"

#include "app/library/library.h"
#include "app/library/nameless.h"
#include "base/temp_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum kc_status kc_library_output_name(struct kc_library_output *o, const char *path,
                                      const char *tmp_folder, bool is_wanted,
                                      kcount_name_guard *guard, struct kc_error *err)
{
        o->is_wanted = is_wanted;
        o->guard = guard;
        o->is_nameless = path == NULL;
        if (path == NULL && !is_wanted)
                return kc_fail(err, KC_EUSAGE,
                               "output and counts are both NULL; one of them is needed");
        if (path != NULL && strcmp(path, "-") == 0)
                return kc_fail(err, KC_EUSAGE, "a .kc file cannot be written to standard output");
        o->path = path != NULL ? strdup(path) : kc_nameless_path(tmp_folder);
        if (tmp_folder != NULL)
                o->tmp_folder = strdup(tmp_folder);
        else if (o->path != NULL)
                o->tmp_folder = kc_path_folder(o->path);
        return o->tmp_folder != NULL && o->path != NULL ? KC_OK
                                                        : kc_fail(err, KC_ENOMEM, "out of memory");
}

/* A file without a name is itself in the folder of temporary files: try that folder first, so that
 * the error says that no temporary file can be made there. */
enum kc_status kc_library_output_create(struct kc_library_output *o,
                                        const struct kc_store_options *options,
                                        struct kc_error *err)
{
        struct kc_store_options guarded = *options;
        enum kc_status status;
        guarded.guard = o->guard;
        guarded.tmp_folder = o->is_nameless ? o->tmp_folder : NULL;
        if (!o->is_nameless)
                KC_TRY(kc_store_create(&o->writer, o->path, &guarded, err));
        KC_TRY(kc_temp_file_try(o->tmp_folder, err));
        if (o->is_nameless)
                KC_TRY(kc_store_create(&o->writer, o->path, &guarded, err));
out:
        return status;
}

static_assert((int)KCOUNT_NAMES_ALLOW == KC_NAMES_ALLOW &&
                      (int)KCOUNT_NAMES_HOLD == KC_NAMES_HOLD &&
                      (int)KCOUNT_NAMES_ADD == KC_NAMES_ADD &&
                      (int)KCOUNT_NAMES_DROP == KC_NAMES_DROP &&
                      (int)KCOUNT_NAMES_RELEASE == KC_NAMES_RELEASE,
              "guards of callers are called by base/new_file.c");

enum kc_status kc_library_may_commit(const struct kc_job *job, kcount_name_guard *guard,
                                     struct kc_error *err)
{
        if (kc_job_is_canceled(job) || (guard != NULL && !guard(KCOUNT_NAMES_ALLOW, NULL)))
                return kc_fail(err, KC_ECANCELED, "canceled");
        return KC_OK;
}

enum kc_status kc_library_output_commit(struct kc_library_output *o,
                                        const struct kc_store_origin *origin,
                                        const struct kc_job *job, struct kc_error *err)
{
        struct kc_store_writer *writer = o->writer;
        enum kc_status status;
        KC_TRY(kc_library_may_commit(job, o->guard, err));
        o->writer = NULL; /* committing frees it, even on failure */
        if (o->is_nameless) {
                KC_TRY(kc_store_commit_nameless(writer, origin, &o->store, NULL, err));
                kc_store_get_info(o->store, &o->info);
                return KC_OK;
        }
        struct kc_store_written written;
        KC_TRY(kc_store_commit(writer, origin, &written, err));
        o->info = written.info;
        if (o->is_wanted)
                KC_TRY(kc_store_open(&o->store, o->path, err));
out:
        return status;
}

enum kc_status kc_library_output_hand_over(struct kc_library_output *o,
                                           struct kcount_counts **counts, struct kc_error *err)
{
        if (!o->is_wanted)
                return KC_OK;
        const enum kc_status status = kc_library_counts_new(counts, o->store, err);
        if (status == KC_OK)
                o->store = NULL; /* the counts own it now */
        return status;
}

void kc_library_output_close(struct kc_library_output *o)
{
        kc_store_abort(o->writer);
        kc_store_close(o->store);
        free(o->path);
        free(o->tmp_folder);
}
