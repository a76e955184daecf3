#include "app/combining.h"

#include "app/device.h"
#include "app/json.h"
#include "app/machine.h"
#include "app/memory.h"
#include "app/output_name.h"
#include "app/progress.h"
#include "app/signals.h"
#include "app/size.h"
#include "app/stores.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
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
        int nthreads;
        struct kc_job *job;
        struct kc_store **stores;
        struct kc_set set;
        uint64_t nread, nruns; /* pairs and runs of the inputs */
        int k;
        struct device_choice device;
        struct kc_gpu_report gpu; /* valid if device.cuda */
        struct kc_store_writer *writer;
        struct kc_store_info result; /* of the output */
};

static enum kc_status check_settings(const struct combine_settings *s, struct kc_error *err)
{
        if (s->min_count > s->max_count)
                return kc_fail(err, KC_EUSAGE, "--min %llu is above --max %llu",
                               (unsigned long long)s->min_count, (unsigned long long)s->max_count);
        return device_check(s->device, NULL, err);
}

static enum kc_status open_stores(struct combining *c, struct kc_error *err)
{
        const struct combine_plan *plan = c->plan;
        struct kc_store_info info;
        enum kc_status status = KC_OK;
        c->stores = calloc(plan->ninputs, sizeof(struct kc_store *));
        if (c->stores == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = 0; i < plan->ninputs; i++) {
                KC_TRY(stores_open(&c->stores[i], plan->inputs[i], err));
                kc_store_get_info(c->stores[i], &info);
                c->nread += info.ndistinct;
                c->nruns += info.nruns;
                c->k = info.k;
        }
        c->set = (struct kc_set){ c->stores, plan->ninputs, plan->operation, plan->rule };
        KC_TRY(kc_set_check(&c->set, err));
        if (plan->lock != NULL)
                KC_TRY(kc_store_check_writable(c->stores[0], err));
out:
        return status;
}

static void close_all(struct combining *c)
{
        kc_store_abort(c->writer);
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
        const struct kc_gpu_params params = { .device = c->device.index,
                                              .memory_nbytes = c->settings->gpu_memory_nbytes,
                                              .batch_nkmers = c->settings->gpu_batch_nkmers,
                                              .trace = c->settings->gpu_trace };
        return kc_gpu_combine(&params, c->nthreads, source, sink, c->job, totals, &c->gpu, err);
}

static enum kc_status run_set_on_device(struct combining *c, const struct kc_run_sink *sink,
                                        struct kc_store_origin *origin, const char ***names,
                                        struct kc_error *err)
{
        const struct kc_set_joiner joiner = { c, join_on_device };
        return kc_set_run_by(&c->set, &joiner, sink, origin, names, err);
}

static enum kc_status run_set_on_cpu(struct combining *c, const struct kc_run_sink *sink,
                                     struct kc_store_origin *origin, const char ***names,
                                     struct kc_error *err)
{
        const uint64_t nbytes = c->settings->memory_nbytes;
        char what[64];
        snprintf(what, sizeof what, "a merge of %" PRIu64 " sorted runs", c->nruns);
        enum kc_status status =
                memory_limit_threads(nbytes ? nbytes : memory_default_nbytes(),
                                     kc_set_thread_nbytes(&c->set), what, &c->nthreads, err);
        if (status != KC_OK)
                return status;
        return kc_set_run(&c->set, c->nthreads, c->job, sink, origin, names, err);
}

static enum kc_status run_set_somewhere(struct combining *c, struct kc_store_origin *origin,
                                        const char ***names, struct kc_error *err)
{
        const struct kc_run_sink sink = kc_store_sink(c->writer);
        struct kc_error own = { 0 };
        enum kc_status status = KC_OK;
        if (c->device.cuda)
                status = run_set_on_device(c, &sink, origin, names, &own);
        if (!c->device.cuda ||
            device_fall_back(&c->device, DEVICE_MERGES, &c->gpu, &own, c->settings->quiet))
                return run_set_on_cpu(c, &sink, origin, names, err);
        return status == KC_OK ? KC_OK : kc_fail(err, status, "%s", own.message);
}

static enum kc_status run_set(struct combining *c, struct kc_store_origin *origin,
                              const char ***names, struct kc_error *err)
{
        static const char *const stages[KC_NSTAGES] = { "merge", "merge", "merge" };
        const struct combine_settings *s = c->settings;
        struct progress *progress =
                progress_start(c->job, stages, false, !s->quiet && !s->no_progress);
        enum kc_status status = run_set_somewhere(c, origin, names, err);
        progress_stop(progress);
        if (status == KC_OK && signals_caught())
                status = kc_fail(err, KC_ECANCELED, "interrupted");
        return status;
}

/* A device takes a quarter of a second to start; in that time a thread merges NKMERS_PER_THREAD
 * k-mers (docs/notes/gpu.md). More than MOST_NTHREADS threads do not make the CPU faster. */
static bool is_worth_a_device(const struct combining *c)
{
        enum { NKMERS_PER_THREAD = 14 << 20, MOST_NTHREADS = 16 };
        const int n = c->nthreads < MOST_NTHREADS ? c->nthreads : MOST_NTHREADS;
        return c->nread / (unsigned)n >= NKMERS_PER_THREAD;
}

static enum kc_status choose_device(struct combining *c, struct kc_error *err)
{
        const struct combine_settings *s = c->settings;
        const char *device = is_worth_a_device(c) ? s->device : device_if_named(s->device);
        return device_choose(&c->device, device, NULL, c->k, DEVICE_MERGES, s->quiet, err);
}

static enum kc_status write_result(struct combining *c, const struct kc_store_options *options,
                                   struct kc_error *err)
{
        struct kc_store_origin origin;
        const char **names = NULL;
        enum kc_status status;
        KC_TRY(choose_device(c, err));
        KC_TRY(kc_store_create(&c->writer, c->plan->output, options, err));
        KC_TRY(run_set(c, &origin, &names, err));
        struct kc_store_writer *writer = c->writer;
        struct kc_store_written written;
        c->writer = NULL; /* commit frees it, even on failure */
        KC_TRY(kc_store_commit(writer, &origin, &written, err));
        c->result = written.info;
out:
        free(names);
        return status;
}

/* ---- the report ---- */

static void put_number(struct text_out *out, const char *label, uint64_t number)
{
        char text[FORMATTED_NBYTES];
        text_out_printf(out, "  %-22s %18s\n", label, format_number(number, text));
}

static void put_text(const struct combining *c, const struct invocation *call, bool idle)
{
        const struct kc_store_info *w = &c->result;
        char size[FORMATTED_NBYTES], peak[FORMATTED_NBYTES], label[64], device[16];
        struct text_out out;
        text_out_stderr(&out);
        put_number(&out, "files read", c->plan->ninputs);
        put_number(&out, "sorted runs", c->nruns);
        put_number(&out, "k-mers read", c->nread);
        snprintf(label, sizeof label, "distinct %d-mers", w->k);
        put_number(&out, label, w->ndistinct);
        put_number(&out, "sum of counts", w->sum);
        text_out_printf(&out, "wall %.2f s, CPU %.2f s, peak memory %s\n",
                        kc_clock_seconds() - call->start_seconds,
                        machine_user_seconds() + machine_system_seconds(),
                        format_size(machine_peak_nbytes(), peak));
        if (c->device.cuda)
                text_out_printf(&out, "merged on %s, peak device memory %s\n",
                                device_name(&c->device, device),
                                format_size(c->gpu.peak_nbytes, peak));
        text_out_printf(&out, "%s %s, %s\n", idle ? "nothing to do for" : "wrote", c->plan->output,
                        format_size(w->file_nbytes, size));
        text_out_printf(&out, "kcount %s: %s\n", KCOUNT_VERSION, call->line);
        text_out_flush(&out);
}

static void put_json(const struct combining *c, const struct invocation *call, bool idle)
{
        const struct kc_store_info *w = &c->result;
        struct json json = { .out = call->out };
        char device[16];
        json_begin(&json, NULL, '{');
        json_string(&json, "version", KCOUNT_VERSION);
        json_string(&json, "command", call->line);
        json_number(&json, "threads", (uint64_t)c->nthreads);
        json_string(&json, "device", device_name(&c->device, device));
        if (c->device.cuda) {
                json_number(&json, "device_peak_memory_bytes", c->gpu.peak_nbytes);
                json_number(&json, "device_ranges", c->gpu.nbatches);
        }
        json_string(&json, "operation", operation_names[c->plan->operation]);
        json_string(&json, "counts", rule_names[c->plan->rule]);
        json_begin(&json, "files", '[');
        for (size_t i = 0; i < c->plan->ninputs; i++)
                json_string(&json, NULL, c->plan->inputs[i]);
        json_end(&json, ']');
        json_number(&json, "runs_read", c->nruns);
        json_number(&json, "kmers_read", c->nread);
        json_string(&json, "output", c->plan->output);
        json_bool(&json, "written", !idle);
        json_number(&json, "output_bytes", w->file_nbytes);
        json_number(&json, "k", (uint64_t)w->k);
        json_bool(&json, "stranded", w->stranded);
        json_number(&json, "distinct", w->ndistinct);
        json_number(&json, "unique", w->nunique);
        json_number(&json, "largest_count", w->max_count);
        json_number(&json, "sum", w->sum);
        json_number(&json, "dropped_distinct", w->ndropped_distinct);
        json_number(&json, "dropped_kmers", w->ndropped_kmers);
        json_number(&json, "saturated_kmers", w->nsaturated);
        json_begin(&json, "seconds", '{');
        json_real(&json, "wall", kc_clock_seconds() - call->start_seconds);
        json_real(&json, "user", machine_user_seconds());
        json_real(&json, "system", machine_system_seconds());
        json_end(&json, '}');
        json_number(&json, "peak_memory_bytes", machine_peak_nbytes());
        json_end(&json, '}');
}

static void report(const struct combining *c, const struct invocation *call, bool idle)
{
        if (!c->settings->quiet)
                put_text(c, call, idle);
        if (c->settings->json)
                put_json(c, call, idle);
}

static enum kc_status check_output(const struct combine_plan *plan, bool force,
                                   struct kc_error *err)
{
        enum kc_status status;
        if (plan->lock != NULL)
                return KC_OK;
        if (strcmp(plan->output, "-") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "a .kc file cannot be written to standard output; name a file with "
                               "-o");
        KC_TRY(output_check(plan->output, force, err));
        KC_TRY(output_check_inputs(plan->output, plan->inputs, plan->ninputs, err));
out:
        return status;
}

enum kc_status combine(const struct invocation *call, const struct combine_plan *plan,
                       struct kc_error *err)
{
        /* static, because the signal thread uses it until the process ends */
        static struct kc_job job;
        const struct combine_settings *s = call->settings;
        struct combining c = { .settings = s,
                               .plan = plan,
                               .nthreads = s->nthreads ? (int)s->nthreads : machine_ncores(),
                               .job = &job };
        enum kc_status status;
        KC_TRY(check_settings(s, err));
        KC_TRY(check_output(plan, s->force, err));
        KC_TRY(open_stores(&c, err));
        signals_install(&job);
        struct kc_store_options options =
                kc_set_options(&c.set, (uint32_t)s->min_count, (uint32_t)s->max_count);
        options.careful = plan->lock != NULL;
        options.replace = options.careful || s->force;
        options.lock = plan->lock;
        options.guard = signals_guard;
        const bool idle = is_done_already(&c, &options);
        if (idle)
                kc_store_get_info(c.stores[0], &c.result);
        else
                KC_TRY(write_result(&c, &options, err));
        report(&c, call, idle);
out:
        close_all(&c);
        return status;
}
