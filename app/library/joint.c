/* Joint histograms of two open counts. */
#include "io/joint.h"
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/working.h"

#include <stdlib.h>

struct joint_call {
        struct kcount_joint_options options;
        struct kc_store *stores[2];
        struct kc_joint_cell *cells;
        size_t ncells;
        struct kc_job job;
};

/* ctx: a struct joint_call. */
static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct joint_call *c = ctx;
        const uint32_t most[] = { c->options.max_a, c->options.max_b };
        return kc_store_joint(c->stores, 2, most, NULL,
                              kc_machine_nthreads((uint64_t)c->options.nthreads), &c->job,
                              &c->cells, &c->ncells, err);
}

static enum kc_status copy_cells(const struct joint_call *c, struct kcount_cell **cells,
                                 struct kc_error *err)
{
        struct kcount_cell *copy = malloc((c->ncells + 1) * sizeof *copy);
        if (copy == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a joint histogram");
        for (size_t i = 0; i < c->ncells; i++) {
                const struct kc_joint_cell *cell = &c->cells[i];
                copy[i] = (struct kcount_cell){ cell->counts[0], cell->counts[1], cell->ndistinct };
        }
        *cells = copy;
        return KC_OK;
}

enum kcount_status kcount_joint_histogram(struct kcount_counts *a, struct kcount_counts *b,
                                          const struct kcount_joint_options *options,
                                          struct kcount_cell **cells, size_t *ncells,
                                          struct kcount_error **error)
{
        struct joint_call c = { .options = KCOUNT_JOINT_OPTIONS_INIT,
                                .stores = { a->store, b->store } };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(kc_library_take_options(&c.options, sizeof c.options, &c.options.nthreads, options,
                                       "KCOUNT_JOINT_OPTIONS_INIT", &err));
        const struct kc_working working = {
                &c, work, &c.job, NULL, c.options.progress, c.options.progress_ctx
        };
        KC_TRY(kc_working_run_stage(&working, "merging", &err));
        KC_TRY(copy_cells(&c, cells, &err));
        *ncells = c.ncells;
out:
        free(c.cells);
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}
