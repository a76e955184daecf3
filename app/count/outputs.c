#include "app/count/count_internal.h"

#include "app/cli/bridge.h"
#include "app/cli/file_check.h"
#include "app/cli/message.h"
#include "app/cli/output_name.h"
#include "app/count/only.h"
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
        enum kc_status status = count->counter.target == KC_COUNTER_NAMELESS
                                        ? name_temporary(count, err)
                                        : name_stores(count, err);
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

/* Whether this rank creates new files. */
static bool writes_file(const struct count *count)
{
        const enum kc_counter_target target = count->counter.target;
        return (target == KC_COUNTER_FILES || target == KC_COUNTER_NAMELESS) &&
               ranks_is_first(count->ranks);
}

enum kc_status count_check_outputs(const struct count *count, struct kc_error *err)
{
        enum kc_status status = only_check_added(count, err);
        for (int i = 0; i < count->noutputs && writes_file(count) && status == KC_OK; i++)
                status = output_check(count->outputs[i].path, false, count->settings->force, err);
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
