#include "app/report/temporary.h"

#include "app/cli/signals.h"
#include "app/library/device.h"
#include "app/library/nameless.h"

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
                .reader = KC_READING_HOST,
                .stranded = alike->stranded,
                .hpc = alike->hpc
        };
        struct count_done done;
        return count_temporary(&settings, &path, 1, store, &done, err);
}

enum kc_status temporary_pairs_begin(struct temporary_pairs *pairs, const char *folder,
                                     const struct kc_store_info *assembly, struct kc_error *err)
{
        const struct kc_store_options options = { .k = assembly->k,
                                                  .stranded = assembly->stranded,
                                                  .hpc = assembly->hpc,
                                                  .guard = signals_guard,
                                                  .min_count = 1 };
        const enum kc_status status = kc_nameless_create(&pairs->writer, folder, &options, err);
        if (status == KC_OK)
                pairs->sink = kc_store_sink(pairs->writer);
        return status;
}

enum kc_status temporary_pairs_commit(struct temporary_pairs *pairs, uint64_t sum,
                                      struct kc_store **store, struct kc_error *err)
{
        const struct kc_store_origin origin = { .nkmers = sum };
        struct kc_store_writer *writer = pairs->writer;
        pairs->writer = NULL; /* committing frees it, even on failure */
        return kc_store_commit_nameless(writer, &origin, store, NULL, err);
}

void temporary_pairs_abort(struct temporary_pairs *pairs)
{
        kc_store_abort(pairs->writer);
        pairs->writer = NULL;
}
