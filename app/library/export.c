/* Exports of open counts. */
#include "app/library/export.h"

#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/walking.h"
#include "app/library/working.h"
#include "io/formats/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- from the threads that read to the one that writes ---- */

/* Pairs on their way: n k-mers, then n counts, then padding. */
struct batch {
        uint64_t n;
        uint64_t kmers[];
};

enum { BATCH_ALIGNMENT = sizeof(uint64_t) };

static size_t batch_nbytes(size_t nwords, size_t n)
{
        const size_t counts = n * sizeof(uint32_t) + BATCH_ALIGNMENT - 1;
        return sizeof(struct batch) + n * nwords * sizeof(uint64_t) + counts -
               counts % BATCH_ALIGNMENT;
}

struct export_call {
        struct kcount_counts *counts;
        struct kcount_export_options options;
        enum kc_file_format format;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS]; /* in the order of words of all other code */
        char *path;                                    /* without an ending that the format adds */
        struct kc_export *writer;
        struct kc_export_written written;
        struct kc_job job;
};

/* ctx: a struct export_call, as below. Counts are lowered to the cap; a count above max_count
 * stays, so that the writer leaves it out. */
static char *pack(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n, char *to)
{
        const struct export_call *c = ctx;
        const size_t nwords = (size_t)c->counts->nwords;
        const uint32_t cap = c->options.count_cap, max = c->options.max_count;
        struct batch *batch = (struct batch *)to;
        uint32_t *capped = (uint32_t *)(batch->kmers + n * nwords);
        batch->n = n;
        memcpy(batch->kmers, kmers, n * nwords * sizeof *kmers);
        for (size_t i = 0; i < n; i++)
                capped[i] = counts[i] > cap && counts[i] <= max ? cap : counts[i];
        return to + batch_nbytes(nwords, n);
}

static enum kc_status put(void *ctx, const char *data, size_t nbytes, struct kc_error *err)
{
        const struct export_call *c = ctx;
        const size_t nwords = (size_t)c->counts->nwords;
        const char *const end = data + nbytes;
        enum kc_status status = KC_OK;
        while (data < end && status == KC_OK) {
                const struct batch *batch = (const struct batch *)data;
                const uint32_t *counts = (const uint32_t *)(batch->kmers + batch->n * nwords);
                status = kc_export_put(c->writer, batch->kmers, counts, batch->n, err);
                data += batch_nbytes(nwords, batch->n);
        }
        return status;
}

static enum kc_status feed(struct export_call *c, struct kc_error *err)
{
        const struct kcount_export_options *o = &c->options;
        const struct kc_walking walking = {
                .store = c->counts->store,
                .from = o->from != NULL ? c->from : NULL,
                .to = o->to != NULL ? c->to : NULL,
                .nthreads = kc_machine_nthreads((uint64_t)o->nthreads),
                .job = &c->job,
                .pair_nbytes = batch_nbytes((size_t)c->counts->nwords, 1),
                .ctx = c,
                .convert = pack,
                .deliver = put,
        };
        return kc_walking_run(&walking, err);
}

/* ---- the export ---- */

static enum kc_status take_options(struct export_call *c, const char *path,
                                   const struct kcount_export_options *given, struct kc_error *err)
{
        struct kcount_export_options *o = &c->options;
        enum kc_status status = kc_library_take_options(o, sizeof *o, &o->nthreads, given,
                                                        "KCOUNT_EXPORT_OPTIONS_INIT", err);
        if (status != KC_OK)
                return status;
        if (!kc_file_format_find(o->format, &c->format))
                return kc_fail(err, KC_EUSAGE, "'%s' is not a format; formats are " KC_FILE_FORMATS,
                               o->format);
        c->path = strndup(path, kc_export_stem_length(c->format, path));
        if (c->path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (o->from != NULL)
                kc_library_turn_words(o->from, c->counts->nwords, 1, c->from);
        if (o->to != NULL)
                kc_library_turn_words(o->to, c->counts->nwords, 1, c->to);
        if (o->count_cap < o->min_count)
                return kc_fail(err, KC_EUSAGE,
                               "count_cap is %" PRIu32 "; it must be at least min_count, %" PRIu32,
                               o->count_cap, o->min_count);
        return kc_library_check_bounds(o->min_count + (o->count_cap == 0), o->max_count, 0, err);
}

static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct export_call *c = ctx;
        const struct kcount_export_options *o = &c->options;
        const struct kc_export_options writing = { .format = c->format,
                                                   .k = c->counts->k,
                                                   .stranded = c->counts->info.stranded,
                                                   .min_count = o->min_count,
                                                   .max_count = o->max_count,
                                                   .nkmers = c->counts->info.ndistinct,
                                                   .replace = o->replace,
                                                   .guard = o->guard };
        struct kc_new_file *other = NULL;
        enum kc_status status;
        KC_TRY(kc_export_create(&c->writer, c->path, &writing, err));
        KC_TRY(feed(c, err));
        KC_TRY(kc_export_finish(c->writer, err));
        if (o->inside != NULL)
                KC_TRY(o->inside->complete(o->inside->ctx, &other, err));
        KC_TRY(kc_library_may_commit(&c->job, o->guard, err));
        KC_TRY(kc_export_commit(c->writer, other, &c->written, err));
out:
        kc_export_close(c->writer);
        return status;
}

static void tell(const struct kc_export_written *written, struct kcount_exported *exported)
{
        const struct kcount_exported all = { .size = exported->size,
                                             .nkmers = written->nkmers,
                                             .nclipped = written->nclipped,
                                             .nbytes = written->nbytes,
                                             .count_limit = written->count_limit };
        memcpy(exported, &all, exported->size < sizeof all ? exported->size : sizeof all);
}

enum kcount_status kcount_export(struct kcount_counts *counts, const char *path,
                                 const struct kcount_export_options *options,
                                 struct kcount_exported *exported, struct kcount_error **error)
{
        struct export_call c = { .counts = counts, .options = KCOUNT_EXPORT_OPTIONS_INIT };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(take_options(&c, path, options, &err));
        const struct kc_working working = {
                &c, work, &c.job, NULL, c.options.progress, c.options.progress_ctx
        };
        KC_TRY(kc_working_run_stage(&working, "writing", &err));
        if (exported != NULL)
                tell(&c.written, exported);
out:
        free(c.path);
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}
