#include "app/report/temporary.h"

#include "app/cli/signals.h"
#include "io/joint.h"

#include <stdlib.h>

enum kc_status temporary_count(struct kc_store **store, const char *path,
                               const struct kc_store_info *alike,
                               const struct count_settings *counting, struct kc_error *err)
{
        const struct count_settings settings = {
                .common = counting->common,
                .ks = { .n = 1, .ntimes = 1, .values = { (uint64_t)alike->k } },
                .memory_nbytes = counting->memory_nbytes,
                .engine_memory_nbytes = counting->engine_memory_nbytes,
                .tmp_dir = counting->tmp_dir,
                .device = "cpu",
                .reader = COUNT_READER_HOST,
                .stranded = alike->stranded,
                .hpc = alike->hpc
        };
        struct count_done done;
        return count_temporary(&settings, &path, 1, store, &done, err);
}

enum kc_status temporary_pairs(struct kc_store **store, struct kc_store *first,
                               struct kc_store *second, const struct temporary_setup *setup,
                               struct kc_error *err)
{
        struct kc_store_writer *writer = NULL;
        struct kc_store_origin origin = { 0 };
        struct kc_store_info info;
        struct kc_run_sink sink;
        char *path = count_temporary_path(setup->folder);
        enum kc_status status;
        kc_store_get_info(second, &info);
        const struct kc_store_options options = { .k = info.k,
                                                  .stranded = info.stranded,
                                                  .hpc = info.hpc,
                                                  .guard = signals_guard,
                                                  .min_count = 1 };
        if (path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(kc_store_create(&writer, path, &options, err));
        sink = kc_store_sink(writer);
        KC_TRY(kc_store_pairs(first, second, setup->nthreads, setup->job, &sink, &origin.nkmers,
                              err));
        status = kc_store_commit_nameless(writer, &origin, store, err);
        writer = NULL; /* it is freed, even on failure */
out:
        kc_store_abort(writer);
        free(path);
        return status;
}
