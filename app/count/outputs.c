#include "app/count/count_internal.h"

#include "app/cli/bridge.h"
#include "app/cli/file_check.h"
#include "app/cli/message.h"
#include "app/cli/output_name.h"
#include "app/cli/signals.h"
#include "app/library/nameless.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct exporting export_of(const struct count *count, const struct count_output *o)
{
        const struct count_settings *s = count->settings;
        return (struct exporting){ .format = count->format,
                                   .output = o->export_path,
                                   .min_count = (uint32_t)s->min_count,
                                   .max_count = (uint32_t)s->max_count,
                                   .count_cap = UINT32_MAX,
                                   .force = s->force };
}

static enum kc_status name_stores(struct count *count, struct kc_error *err)
{
        const char *given = count->settings->output;
        char *name = given ? strdup(given) : output_name(count->inputs[0]);
        bool named = name != NULL;
        for (int i = 0; i < count->noutputs && named; i++) {
                struct count_output *o = &count->outputs[i];
                o->path = count->noutputs == 1 ? strdup(name) : output_name_for(name, o->k);
                named = o->path != NULL;
        }
        free(name);
        return named ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

static enum kc_status name_exports(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(exporting_format(count->settings->format, &count->format, err));
        for (int i = 0; i < count->noutputs; i++) {
                struct count_output *o = &count->outputs[i];
                o->export_path = exporting_name(o->path, count->format);
                if (o->export_path == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                const struct exporting exporting = export_of(count, o);
                KC_TRY(exporting_name_files(&exporting, &o->exports, err));
        }
out:
        return status;
}

static enum kc_status name_temporary(struct count *count, struct kc_error *err)
{
        count->outputs[0].path = kc_nameless_path(count->settings->tmp_dir);
        return count->outputs[0].path != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

enum kc_status count_name_outputs(struct count *count, struct kc_error *err)
{
        enum kc_status status =
                count->is_temporary ? name_temporary(count, err) : name_stores(count, err);
        return status == KC_OK && count->settings->format != NULL ? name_exports(count, err)
                                                                  : status;
}

size_t count_list_files(const struct count *count, const char *names[COUNT_MAX_FILES])
{
        const struct count_settings *s = count->settings;
        size_t n = 0;
        for (int i = 0; i < count->noutputs; i++) {
                const struct count_output *o = &count->outputs[i];
                if (o->path != NULL)
                        names[n++] = o->path;
                for (size_t j = 0; j < o->exports.n; j++)
                        names[n++] = o->exports.paths[j];
        }
        for (size_t i = 0; i < s->nother_files; i++)
                names[n++] = s->other_files[i];
        if (s->gpu_trace != NULL)
                names[n++] = s->gpu_trace;
        return n;
}

enum kc_status count_check_exports(const struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < count->noutputs && status == KC_OK; i++) {
                const struct count_output *o = &count->outputs[i];
                const struct exporting exporting = export_of(count, o);
                if (o->export_path != NULL)
                        status = exporting_check(&exporting, o->k, count->counter.stranded, err);
        }
        return status;
}

static enum kc_status create_store(const struct count *count, struct count_output *o,
                                   struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_store_options storing = { .k = o->k,
                                            .stranded = count->counter.stranded,
                                            .hpc = count->counter.selection.hpc,
                                            .only_checksum = o->only_checksum,
                                            .replace = s->force,
                                            .guard = signals_guard,
                                            .min_count = (uint32_t)s->min_count,
                                            .max_count = (uint32_t)s->max_count,
                                            .wants_rows = s->histogram };
        return kc_store_create(&o->writer, o->path, &storing, err);
}

static enum kc_status create_files(struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < count->noutputs; i++)
                KC_TRY(output_check(count->outputs[i].path, false, count->settings->force, err));
        for (int i = 0; i < count->noutputs; i++)
                KC_TRY(create_store(count, &count->outputs[i], err));
out:
        return status;
}

/* Whether this rank creates new files. */
static bool writes_file(const struct count *count)
{
        return !count->adds && count->histogram == NULL && ranks_is_first(count->ranks);
}

static void cancel_nothing(void *ctx)
{
        (void)ctx;
}

static struct kc_run_sink sink_of(const struct count *count, const struct count_output *o)
{
        const struct count_settings *s = count->settings;
        if (count->histogram != NULL)
                return kc_histogram_sink(count->histogram);
        if (o->writer != NULL)
                return kc_store_sink(o->writer);
        /* the engine passes nothing to a rank that writes no file, but filters what it counts */
        return (struct kc_run_sink){ .filter = { s->min_count ? (uint32_t)s->min_count : 1,
                                                 s->max_count ? (uint32_t)s->max_count
                                                              : UINT32_MAX },
                                     .cancel = cancel_nothing };
}

enum kc_status count_open_outputs(struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (writes_file(count))
                KC_TRY(create_files(count, err));
        for (int i = 0; i < count->noutputs; i++)
                count->outputs[i].sink = sink_of(count, &count->outputs[i]);
out:
        return status;
}

void count_warn_of_lengths(const struct count *count)
{
        const unsigned ntimes = count->settings->ks.ntimes;
        char times[32] = "twice";
        if (ntimes > 2)
                snprintf(times, sizeof times, "%u times", ntimes);
        for (int i = 0; i < count->noutputs && ntimes > 1 && writes_file(count); i++)
                message_print("kcount: warning: -k is given %s: k = %d is counted into %s\n", times,
                              count->outputs[i].k, count->outputs[i].path);
}

static struct kc_store_origin origin_of(const struct count *count, int i)
{
        const struct kc_reader_totals read = count_read_totals(count);
        return kc_counter_origin(&count->counter, i, &read);
}

static enum kc_status commit_all(struct count *count, struct kc_error *err)
{
        struct kc_store_origin origins[OPTION_NUMBERS_MAX];
        struct kc_store_written written[OPTION_NUMBERS_MAX];
        struct kc_store_writer *writers[OPTION_NUMBERS_MAX];
        for (int i = 0; i < count->noutputs; i++) {
                origins[i] = origin_of(count, i);
                writers[i] = count->outputs[i].writer;
                count->outputs[i].writer = NULL; /* commit frees it, even on failure */
        }
        enum kc_status status =
                kc_stores_commit(writers, (size_t)count->noutputs, origins, written, err);
        for (int i = 0; i < count->noutputs && status == KC_OK; i++) {
                count->outputs[i].written = written[i];
                count->outputs[i].rows = written[i].rows;
                count->outputs[i].nrows = written[i].nrows;
        }
        return status;
}

static enum kc_status commit_added(struct count *count, struct kc_error *err)
{
        struct count_output *o = &count->outputs[0];
        const struct kc_store_origin origin = origin_of(count, 0);
        struct kc_store_writer *writer = o->writer;
        o->writer = NULL; /* commit frees it, even on failure */
        const enum kc_status status = kc_store_commit(writer, &origin, &o->written, err);
        /* the info has what was dropped from earlier runs: nothing is dropped from an added one */
        o->written.info.ndropped_distinct = o->written.info.ndropped_kmers = 0;
        return status;
}

/* Take the rows, which the summary then describes in place of a file. */
static enum kc_status take_rows(struct count *count, struct kc_error *err)
{
        struct count_output *o = &count->outputs[0];
        enum kc_status status =
                kc_histogram_rows(count->histogram, o->totals, &o->rows, &o->nrows, err);
        o->written.info.k = o->k;
        if (status == KC_OK && o->nrows > 0 && o->rows[0].count == 1)
                o->written.nunique = o->rows[0].ndistinct;
        return status;
}

static enum kc_status open_temporary(struct count *count, struct kc_error *err)
{
        struct count_output *o = &count->outputs[0];
        const struct kc_store_origin origin = origin_of(count, 0);
        struct kc_store_writer *writer = o->writer;
        o->writer = NULL; /* it is freed, even on failure */
        const enum kc_status status =
                kc_store_commit_nameless(writer, &origin, &count->temporary, err);
        if (status != KC_OK)
                return status;
        kc_store_get_info(count->temporary, &o->written.info);
        o->written.nunique = o->written.info.nunique;
        return KC_OK;
}

enum kc_status count_commit(struct count *count, struct kc_error *err)
{
        if (count->histogram != NULL)
                return take_rows(count, err);
        if (count->is_temporary)
                return open_temporary(count, err);
        return count->adds ? commit_added(count, err) : commit_all(count, err);
}

static enum kc_status export_one(const struct count *count, const struct count_output *o,
                                 struct kc_error *err)
{
        const struct exporting exporting = export_of(count, o);
        struct kcount_counts *counts = NULL;
        struct kcount_error *error = NULL;
        enum kc_status status;
        KC_TRY(bridge_check(kcount_open(&counts, o->path, &error), &error, err));
        KC_TRY(exporting_write(&exporting, counts, NULL, NULL, err));
out:
        kcount_close(counts);
        return status;
}

enum kc_status count_export(const struct count *count, struct kc_error *err)
{
        for (int i = 0; i < count->noutputs; i++) {
                const struct count_output *o = &count->outputs[i];
                struct kc_error failure = { 0 };
                if (export_one(count, o, &failure) != KC_OK)
                        return kc_fail_reworded(
                                err, &failure, "%s; %s stays%s, and 'kcount export' can try again",
                                failure.message, o->path,
                                count->noutputs > 1 ? ", like the other .kc files" : "");
        }
        return KC_OK;
}
