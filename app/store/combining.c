#include "app/store/combining.h"

#include "app/cli/bridge.h"
#include "app/cli/file_check.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/library/inside.h"
#include "app/library/machine.h"
#include "app/library/memory.h"
#include "app/library/same_file.h"
#include "app/library/sets.h"
#include "app/store/stores.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const operation_names[] = {
        [KCOUNT_UNION] = "union", [KCOUNT_INTERSECT] = "intersect", [KCOUNT_SUBTRACT] = "subtract"
};
static const char *const rule_names[] = {
        [KCOUNT_RULE_SUM] = "sum",   [KCOUNT_RULE_MIN] = "min",
        [KCOUNT_RULE_MAX] = "max",   [KCOUNT_RULE_DIFFERENCE] = "difference",
        [KCOUNT_RULE_LEFT] = "left", [KCOUNT_RULE_RIGHT] = "right",
};

struct combining {
        const struct combine_settings *settings;
        const struct combine_plan *plan;
        struct writing writing;
        struct kcount_counts **counts; /* [plan->ninputs] */
        uint64_t nread, nruns;         /* pairs and runs of the inputs */
        int k;
        struct kcount_info result;
        bool idle; /* there is nothing to write */
};

static enum kc_status check_settings(const struct combine_settings *s, struct kc_error *err)
{
        enum kc_status status = options_check_range(s->min_count, s->max_count, err);
        return status == KC_OK ? device_check(s->device, 0, DEVICE_MERGES, err) : status;
}

static enum kc_status open_store(struct combining *c, size_t i, struct kc_error *err)
{
        const struct combine_plan *plan = c->plan;
        struct kc_error own = { 0 };
        if (stores_open_counts(&c->counts[i], plan->inputs[i], &own) == KC_OK)
                return KC_OK;
        return plan->listed != NULL ? kc_inputs_blame(plan->listed, i, &own, err)
                                    : kc_fail_as(err, &own);
}

/* How many of the files stay open; the others are opened for each read, which costs little. Half of
 * the limit is for other files: the standard streams, the output, and what several devices need. */
static size_t most_kept_open(const struct combining *c)
{
        enum { LEAST_OTHERS = 64 };
        const uint64_t most = kc_machine_raise_open_files();
        const uint64_t others = most / 2 > LEAST_OTHERS ? most / 2 : LEAST_OTHERS;
        const uint64_t reading = (uint64_t)c->writing.nthreads;
        return most > others + reading ? (size_t)(most - others - reading) : 0;
}

static enum kc_status open_all(struct combining *c, struct kc_error *err)
{
        const struct combine_plan *plan = c->plan;
        const size_t most_open = most_kept_open(c);
        struct kcount_info info = { .size = sizeof info };
        enum kc_status status = KC_OK;
        bool adds = plan->operation == KCOUNT_UNION && plan->rule == KCOUNT_RULE_SUM &&
                    plan->ninputs > 1;
        for (size_t i = 0; i < plan->ninputs; i++) {
                KC_TRY(open_store(c, i, err));
                if (i >= most_open)
                        kcount_detach(c->counts[i]);
                kcount_get_info(c->counts[i], &info);
                c->nread += info.ndistinct;
                c->nruns += info.nruns;
                c->k = info.k;
                if (adds)
                        adds = !stores_warn_filtered(info.lacks_dropped,
                                                     plan->inputs[i]); /* once */
        }
out:
        return status;
}

static enum kc_status open_inputs(struct combining *c, struct kc_error *err)
{
        const struct combine_plan *plan = c->plan;
        enum kc_status status;
        c->counts = calloc(plan->ninputs, sizeof(struct kcount_counts *));
        if (c->counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(open_all(c, err));
        /* with any other rule, naming a file again changes nothing */
        if (plan->rule == KCOUNT_RULE_SUM || plan->rule == KCOUNT_RULE_DIFFERENCE)
                input_warn_of_same(plan->inputs, plan->ninputs);
        if (plan->lock != NULL)
                KC_TRY(kc_store_check_writable(kc_library_store(c->counts[0]), err));
out:
        return status;
}

static void close_all(struct combining *c)
{
        for (size_t i = 0; c->counts != NULL && i < c->plan->ninputs; i++)
                kcount_close(c->counts[i]);
        free(c->counts);
}

/* Whether the file is one run in the current format, with nothing to repair, which the wanted
 * filter would not change. */
static bool is_done_already(const struct combining *c)
{
        struct kc_store *store = kc_library_store(c->counts[0]);
        const struct kc_set set = { &store, 1, KC_SET_UNION, KC_RULE_SUM };
        const struct kc_store_options wanted = kc_set_options(
                &set, (uint32_t)c->settings->min_count, (uint32_t)c->settings->max_count);
        struct kc_store_info info;
        kc_store_get_info(store, &info);
        return info.nruns == 1 && info.nlinked_runs == 1 && info.ntombstone_runs == 0 &&
               kc_store_is_tidy(store) && wanted.min_count <= info.min_count &&
               wanted.max_count >= info.max_count_kept;
}

/* device: NULL: the CPU */
static enum kc_status merge(struct combining *c, const char *device, struct kc_error *err)
{
        static const char *const stage = "merging";
        const struct combine_settings *s = c->settings;
        const struct combine_plan *plan = c->plan;
        struct writing *w = &c->writing;
        struct bridge_progress progress = { w->job, &stage, 1 };
        struct kcount_set_inside inside = { .lock = plan->lock,
                                            .batch_nkmers = s->gpu_batch_nkmers,
                                            .trace = s->gpu_trace };
        struct kcount_set_options options = KCOUNT_SET_OPTIONS_INIT;
        struct kcount_error *error = NULL;
        options.operation = plan->operation;
        options.rule = plan->rule;
        options.replace = plan->lock != NULL || s->force;
        options.min_count = (uint32_t)s->min_count;
        options.max_count = (uint32_t)s->max_count;
        options.nthreads = w->nthreads;
        options.memory_nbytes =
                s->memory_nbytes > 0 ? s->memory_nbytes : kc_memory_default_nbytes(1);
        options.progress = bridge_progress;
        options.progress_ctx = &progress;
        options.guard = signals_guard;
        options.device = device;
        options.device_nbytes = s->gpu_memory_nbytes;
        options.info = &c->result;
        options.inside = &inside;
        const enum kcount_status status =
                kcount_combine(c->counts, plan->ninputs, &options, plan->output, NULL, &error);
        w->gpu = inside.report;
        if (inside.nthreads > 0)
                w->nthreads = inside.nthreads;
        return bridge_check(status, &error, err);
}

static enum kc_status merge_on_device(void *ctx, struct kc_error *err)
{
        struct combining *c = ctx;
        char device[DEVICE_NAME_NBYTES];
        return merge(c, device_name(&c->writing.device, device), err);
}

static enum kc_status merge_on_cpu(void *ctx, struct kc_error *err)
{
        return merge(ctx, NULL, err);
}

static enum kc_status choose_device(struct combining *c, struct kc_error *err)
{
        const struct combine_settings *s = c->settings;
        enum { LEAST = 14 << 20 }; /* docs/dev/notes/gpu.md */
        const char *device = device_if_worth(s->device, c->nread, c->writing.nthreads, LEAST);
        return device_choose(&c->writing.device, device, 0, c->k, DEVICE_MERGES, err);
}

/* The library commits the result, so there is nothing to follow. */
static enum kc_status write_result(struct combining *c, struct kc_error *err)
{
        static const char *const label = "merging";
        const struct writing_work work = {
                .ctx = c,
                .on_device = merge_on_device,
                .on_cpu = merge_on_cpu,
                .progress = { &label, 1, PROGRESS_PARTS },
        };
        enum kc_status status;
        KC_TRY(choose_device(c, err));
        KC_TRY(writing_run_part(&c->writing, &work, err));
out:
        return status;
}

/* ---- the report: ctx is a struct combining ---- */

static void put_text(const void *ctx, struct text_out *out)
{
        const struct combining *c = ctx;
        const struct writing *w = &c->writing;
        const struct kcount_info *r = &c->result;
        const size_t nfiles = c->plan->ninputs;
        char size[FORMATTED_NBYTES], read[FORMATTED_NBYTES];
        char ndistinct[FORMATTED_NBYTES], sum[FORMATTED_NBYTES];
        text_out_printf(out, "%zu file%s", nfiles, nfiles == 1 ? "" : "s");
        if (c->nruns > nfiles)
                text_out_printf(out, " with %" PRIu64 " sorted runs", c->nruns);
        text_out_printf(out, ", %s %d-mers -> ", format_number(c->nread, read), r->k);
        if (r->ndistinct == 0)
                text_out_puts(out, "none left\n");
        else
                text_out_printf(out, "%s distinct, sum of counts %s\n",
                                format_number(r->ndistinct, ndistinct),
                                format_number(r->total, sum));
        writing_put_device(out, w, "merged");
        text_out_printf(out, "%s %s, %s\n", c->idle ? "nothing to do for" : "wrote",
                        c->plan->output, format_size(r->nbytes, size));
        writing_put_costs(out, w, &(struct writing_costs){ 0 });
}

static void put_json(const void *ctx, size_t number, struct json *json)
{
        (void)number;
        const struct combining *c = ctx;
        const struct writing *w = &c->writing;
        writing_json_device(json, w);
        json_string(json, "operation", operation_names[c->plan->operation]);
        json_string(json, "counts", rule_names[c->plan->rule]);
        json_strings(json, "files", c->plan->inputs, c->plan->ninputs);
        json_number(json, "runs_read", c->nruns);
        json_number(json, "kmers_read", c->nread);
        writing_json_output(json, c->plan->output, &c->result);
        json_bool(json, "written", !c->idle);
        writing_json_counts(json, &c->result);
        writing_json_costs(json, w, NULL, 0);
}

static enum kc_status check_output(const struct combine_plan *plan,
                                   const struct combine_settings *s, struct kc_error *err)
{
        const char *const outputs[] = { plan->output, s->gpu_trace };
        const size_t noutputs = s->gpu_trace != NULL ? 2 : 1;
        enum kc_status status;
        if (plan->lock != NULL)
                return KC_OK;
        KC_TRY(output_check_stdout(plan->output, "-o", err));
        KC_TRY(kc_output_check_files(outputs, noutputs, plan->inputs, plan->ninputs, err));
        KC_TRY(output_check(plan->output, false, s->force, err));
out:
        return status;
}

enum kc_status combine(const struct invocation *call, const struct combine_plan *plan,
                       struct kc_error *err)
{
        const struct combine_settings *s = call->settings;
        struct combining c = { .settings = s,
                               .plan = plan,
                               .writing = writing_of(call, &s->common),
                               .result = { .size = sizeof c.result } };
        enum kc_status status;
        KC_TRY(check_settings(s, err));
        KC_TRY(check_output(plan, s, err));
        KC_TRY(open_inputs(&c, err));
        signals_install(c.writing.job);
        c.idle = plan->may_be_idle && is_done_already(&c);
        if (c.idle)
                kcount_get_info(c.counts[0], &c.result);
        else
                KC_TRY(write_result(&c, err));
        writing_report(&c.writing, &(struct writing_report){
                                           .ctx = &c, .put_text = put_text, .put_json = put_json });
out:
        close_all(&c);
        return status;
}
