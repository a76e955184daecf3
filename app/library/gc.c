/* Histograms of open counts by GC content. */
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/working.h"
#include "io/joint.h"

#include <stdlib.h>

struct gc_call {
        struct kcount_gc_options options;
        struct kc_store *store;
        struct kc_gc_cell *cells;
        size_t ncells;
        struct kc_job job;
};

/* ctx: a struct gc_call. */
static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct gc_call *c = ctx;
        return kc_store_gc(c->store, c->options.max_count,
                           kc_machine_nthreads((uint64_t)c->options.nthreads), &c->job, &c->cells,
                           &c->ncells, err);
}

static enum kc_status copy_cells(const struct gc_call *c, struct kcount_gc_cell **cells,
                                 struct kc_error *err)
{
        struct kcount_gc_cell *copy = malloc((c->ncells + 1) * sizeof *copy);
        if (copy == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a histogram");
        for (size_t i = 0; i < c->ncells; i++) {
                const struct kc_gc_cell *cell = &c->cells[i];
                copy[i] = (struct kcount_gc_cell){ cell->gc, cell->count, cell->ndistinct,
                                                   cell->sum };
        }
        *cells = copy;
        return KC_OK;
}

enum kcount_status kcount_gc_histogram(struct kcount_counts *counts,
                                       const struct kcount_gc_options *options,
                                       struct kcount_gc_cell **cells, size_t *ncells,
                                       struct kcount_error **error)
{
        struct gc_call c = { .options = KCOUNT_GC_OPTIONS_INIT, .store = counts->store };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(kc_library_take_options(&c.options, sizeof c.options, &c.options.nthreads, options,
                                       "KCOUNT_GC_OPTIONS_INIT", &err));
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
