/*
 * Set operations on .kc files on the device instead of the host's threads, for tests.
 */
#ifndef KC_TESTS_GPU_ENGINE_GPU_SETS_H
#define KC_TESTS_GPU_ENGINE_GPU_SETS_H

#include "tests/io/store/store_sets.h"

#include "gpu/gpu.h"

struct device {
        struct kc_gpu_params params;
        int nthreads;
        struct kc_job job;
        struct kc_gpu_report report;
};

static inline enum kc_status join_on_device(void *ctx, const struct kc_join_source *source,
                                            const struct kc_run_sink *sink,
                                            struct kc_join_totals *totals, struct kc_error *err)
{
        struct device *d = ctx;
        return kc_gpu_combine(&d->params, d->nthreads, source, sink, &d->job, totals, &d->report,
                              err);
}

/* Write the result to a file, which is removed on failure. */
static inline enum kc_status combine(struct device *device, const struct kc_set *set,
                                     const char *path, uint32_t min, uint32_t max,
                                     struct kc_error *err)
{
        const struct kc_set_joiner joiner = { device, join_on_device };
        struct kc_store_writer *w = NULL;
        struct kc_store_options options = kc_set_options(set, min, max);
        struct kc_store_origin origin;
        const char **names;
        options.replace = true;
        assert_ok(kc_store_create(&w, path, &options, err), *err);
        struct kc_run_sink sink = kc_store_sink(w);
        enum kc_status status = kc_set_run_by(set, &joiner, &sink, &origin, &names, err);
        if (status == KC_OK)
                status = kc_store_commit(w, &origin, NULL, err);
        else
                kc_store_abort(w);
        free(names);
        return status;
}

#endif
