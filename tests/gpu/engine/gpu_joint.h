/*
 * Joint histograms of .kc files on the device instead of the host's threads, for tests.
 */
#ifndef KC_TESTS_GPU_ENGINE_GPU_JOINT_H
#define KC_TESTS_GPU_ENGINE_GPU_JOINT_H

#include "tests/gpu/engine/gpu_sets.h"

#include "io/joint.h"
#include "io/store/file.h"

struct cells {
        struct kc_joint_cell *all; /* [n] */
        size_t n;
};

static inline enum kc_status compare_on_device(void *ctx, const struct kc_join_source *source,
                                               const struct kc_joint_taker *taker, uint64_t *nread,
                                               struct kc_error *err)
{
        struct device *d = ctx;
        return kc_gpu_joint(&d->params, d->nthreads, source, taker, &d->job, nread, &d->report,
                            err);
}

static inline enum kc_status find_cells(struct device *device, struct kc_store *const *stores,
                                        size_t n, const uint32_t *most, struct cells *cells,
                                        struct kc_error *err)
{
        const struct kc_joint_engine engine = { device, compare_on_device };
        *cells = (struct cells){ 0 };
        return kc_store_joint_by(stores, n, most, &engine, &cells->all, &cells->n, err);
}

/* The host's cells, to be freed. */
static inline struct cells host_cells(struct kc_store *const *stores, size_t n,
                                      const uint32_t *most)
{
        struct cells cells = { 0 };
        struct kc_error err = { 0 };
        assert_ok(kc_store_joint(stores, n, most, NULL, 2, NULL, &cells.all, &cells.n, &err), err);
        return cells;
}

static inline void assert_same_cells(const struct cells *a, const struct cells *b)
{
        assert_int_equal(a->n, b->n);
        for (size_t i = 0; i < a->n; i++) {
                const struct kc_joint_cell *x = &a->all[i], *y = &b->all[i];
                assert_memory_equal(x->counts, y->counts, sizeof x->counts);
                assert_int_equal(x->ndistinct, y->ndistinct);
                assert_memory_equal(x->sums, y->sums, sizeof x->sums);
        }
}

#endif
