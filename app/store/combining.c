#include "app/store/combining.h"

#include "app/cli/file_check.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/library/machine.h"
#include "app/library/memory.h"
#include "app/library/same_file.h"
#include "app/library/sets.h"
#include "app/store/stores.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const operation_names[] = {
        [KC_SET_UNION] = "union", [KC_SET_INTERSECT] = "intersect", [KC_SET_SUBTRACT] = "subtract"
};
static const char *const rule_names[] = {
        [KC_RULE_SUM] = "sum",   [KC_RULE_MIN] = "min",
        [KC_RULE_MAX] = "max",   [KC_RULE_DIFFERENCE] = "difference",
        [KC_RULE_LEFT] = "left", [KC_RULE_RIGHT] = "right",
};

struct combining {
        const struct combine_settings *settings;
        const struct combine_plan *plan;
        struct writing writing;
        struct kc_store **stores;
        struct kc_set set;
        uint64_t nread, nruns; /* pairs and runs of the inputs */
        int k;
        struct kc_store_origin origin; /* of the result */
        const char **names;
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
        if (stores_open(&c->stores[i], plan->inputs[i], &own) == KC_OK)
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
        struct kc_store_info info;
        enum kc_status status = KC_OK;
        bool adds =
                plan->operation == KC_SET_UNION && plan->rule == KC_RULE_SUM && plan->ninputs > 1;
        for (size_t i = 0; i < plan->ninputs; i++) {
                KC_TRY(open_store(c, i, err));
                if (i >= most_open)
                        kc_store_detach(c->stores[i]);
                kc_store_get_info(c->stores[i], &info);
                c->nread += info.ndistinct;
                c->nruns += info.nruns;
                c->k = info.k;
                if (adds)
                        adds = !stores_warn_filtered(&info, plan->inputs[i]); /* once is enough */
        }
out:
        return status;
}

static enum kc_status open_stores(struct combining *c, struct kc_error *err)
{
        const struct combine_plan *plan = c->plan;
        enum kc_status status;
        c->stores = calloc(plan->ninputs, sizeof(struct kc_store *));
        if (c->stores == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(open_all(c, err));
        /* with any other rule, naming a file again changes nothing */
        if (plan->rule == KC_RULE_SUM || plan->rule == KC_RULE_DIFFERENCE)
                input_warn_of_same(plan->inputs, plan->ninputs);
        c->set = (struct kc_set){ c->stores, plan->ninputs, plan->operation, plan->rule };
        KC_TRY(kc_set_check(&c->set, err));
        if (plan->lock != NULL)
                KC_TRY(kc_store_check_writable(c->stores[0], err));
out:
        return status;
}

static void close_all(struct combining *c)
{
        kc_store_abort(c->writing.writer);
        free(c->names);
        for (size_t i = 0; c->stores != NULL && i < c->plan->ninputs; i++)
                kc_store_close(c->stores[i]);
        free(c->stores);
}

/* Whether the file is one run in the current format, with nothing to repair, which the wanted
 * filter would not change. */
static bool is_done_already(const struct combining *c, const struct kc_store_options *wanted)
{
        struct kc_store_info info;
        kc_store_get_info(c->stores[0], &info);
        return c->plan->may_be_idle && info.nruns == 1 && info.nlinked_runs == 1 &&
               info.ntombstone_runs == 0 && kc_store_is_tidy(c->stores[0]) &&
               wanted->min_count <= info.min_count && wanted->max_count >= info.max_count_kept;
}

/* ctx: a struct combining. */
static enum kc_status join_on_device(void *ctx, const struct kc_join_source *source,
                                     const struct kc_run_sink *sink, struct kc_join_totals *totals,
                                     struct kc_error *err)
{
        struct combining *c = ctx;
        struct writing *w = &c->writing;
        const struct kc_gpu_params params = { .device = w->device.indices[0],
                                              .memory_nbytes = c->settings->gpu_memory_nbytes,
                                              .batch_nkmers = c->settings->gpu_batch_nkmers,
                                              .trace = c->settings->gpu_trace };
        return kc_gpu_combine(&params, w->nthreads, source, sink, w->job, totals, &w->gpu, err);
}

static enum kc_status run_set_on_device(void *ctx, struct kc_error *err)
{
        struct combining *c = ctx;
        const struct kc_run_sink sink = kc_store_sink(c->writing.writer);
        const struct kc_set_joiner joiner = { c, join_on_device };
        return kc_set_run_by(&c->set, &joiner, &sink, &c->origin, &c->names, err);
}

static enum kc_status run_set_on_cpu(void *ctx, struct kc_error *err)
{
        struct combining *c = ctx;
        struct writing *w = &c->writing;
        const struct kc_run_sink sink = kc_store_sink(w->writer);
        const uint64_t nbytes = c->settings->memory_nbytes;
        return kc_set_run_within(&c->set, nbytes ? nbytes : kc_memory_default_nbytes(1),
                                 &w->nthreads, w->job, &sink, &c->origin, &c->names, err);
}

static enum kc_status run_set(struct combining *c, struct kc_error *err)
{
        static const char *const labels[] = { "merging", "merging", "merging" };
        const struct writing_work work = {
                .ctx = c,
                .on_device = run_set_on_device,
                .on_cpu = run_set_on_cpu,
                .progress = { labels, KC_NSTAGES, PROGRESS_PARTS },
        };
        return writing_run(&c->writing, &work, err);
}

static enum kc_status choose_device(struct combining *c, struct kc_error *err)
{
        const struct combine_settings *s = c->settings;
        enum { LEAST = 14 << 20 }; /* docs/dev/notes/gpu.md */
        const char *device = device_if_worth(s->device, c->nread, c->writing.nthreads, LEAST);
        return device_choose(&c->writing.device, device, 0, c->k, DEVICE_MERGES, err);
}

static enum kc_status write_result(struct combining *c, const struct kc_store_options *options,
                                   struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(choose_device(c, err));
        KC_TRY(kc_store_create(&c->writing.writer, c->plan->output, options, err));
        KC_TRY(run_set(c, err));
        KC_TRY(writing_commit(&c->writing, &c->origin, err));
out:
        return status;
}

/* ---- the report: ctx is a struct combining ---- */

static void put_text(const void *ctx, struct text_out *out)
{
        const struct combining *c = ctx;
        const struct writing *w = &c->writing;
        const struct kc_store_info *r = &w->written.info;
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
                                format_number(r->ndistinct, ndistinct), format_number(r->sum, sum));
        writing_put_device(out, w, "merged");
        text_out_printf(out, "%s %s, %s\n", c->idle ? "nothing to do for" : "wrote",
                        c->plan->output, format_size(r->file_nbytes, size));
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
        writing_json_output(json, c->plan->output, &w->written.info);
        json_bool(json, "written", !c->idle);
        writing_json_counts(json, &w->written.info);
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
                               .writing = writing_of(call, &s->common) };
        enum kc_status status;
        KC_TRY(check_settings(s, err));
        KC_TRY(check_output(plan, s, err));
        KC_TRY(open_stores(&c, err));
        signals_install(c.writing.job);
        struct kc_store_options options =
                kc_set_options(&c.set, (uint32_t)s->min_count, (uint32_t)s->max_count);
        options.careful = plan->lock != NULL;
        options.replace = options.careful || s->force;
        options.lock = plan->lock;
        options.guard = signals_guard;
        c.idle = is_done_already(&c, &options);
        if (c.idle)
                kc_store_get_info(c.stores[0], &c.writing.written.info);
        else
                KC_TRY(write_result(&c, &options, err));
        writing_report(&c.writing, &(struct writing_report){
                                           .ctx = &c, .put_text = put_text, .put_json = put_json });
out:
        close_all(&c);
        return status;
}
