/* Set operations on open counts. */
#include "app/library/sets.h"

#include "app/library/device.h"
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/memory.h"
#include "app/library/output.h"
#include "app/library/working.h"
#include "kmer/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct set_call {
        struct kcount_set_options options;
        struct kc_set set;
        struct kc_store **stores;
        struct kcount_set_inside *inside;
        bool on_device;
        int device;
        struct kc_library_output output;
        struct kc_job job;
};

static const enum kc_set_operation operations[] = {
        [KCOUNT_UNION] = KC_SET_UNION,
        [KCOUNT_INTERSECT] = KC_SET_INTERSECT,
        [KCOUNT_SUBTRACT] = KC_SET_SUBTRACT,
};
static const enum kc_count_rule rules[] = {
        [KCOUNT_RULE_SUM] = KC_RULE_SUM,   [KCOUNT_RULE_MIN] = KC_RULE_MIN,
        [KCOUNT_RULE_MAX] = KC_RULE_MAX,   [KCOUNT_RULE_DIFFERENCE] = KC_RULE_DIFFERENCE,
        [KCOUNT_RULE_LEFT] = KC_RULE_LEFT, [KCOUNT_RULE_RIGHT] = KC_RULE_RIGHT,
};

static enum kc_status take_options(struct set_call *c, const struct kcount_set_options *given,
                                   struct kc_error *err)
{
        struct kcount_set_options *o = &c->options;
        enum kc_status status = kc_library_take_options(o, sizeof *o, &o->nthreads, given,
                                                        "KCOUNT_SET_OPTIONS_INIT", err);
        if (status != KC_OK)
                return status;
        if ((unsigned)o->operation > KCOUNT_SUBTRACT || (unsigned)o->rule > KCOUNT_RULE_RIGHT)
                return kc_fail(err, KC_EUSAGE, "operation is %d, rule is %d; one is out of range",
                               (int)o->operation, (int)o->rule);
        return kc_library_check_bounds(o->min_count, o->max_count, o->memory_nbytes, err);
}

static enum kc_status take_inputs(struct set_call *c, struct kcount_counts *const *inputs,
                                  size_t ninputs, struct kc_error *err)
{
        if (ninputs == 0)
                return kc_fail(err, KC_EUSAGE, "there is no input");
        c->stores = malloc(ninputs * sizeof *c->stores);
        if (c->stores == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu inputs", ninputs);
        for (size_t i = 0; i < ninputs; i++)
                c->stores[i] = inputs[i]->store;
        c->set = (struct kc_set){ c->stores, ninputs, operations[c->options.operation],
                                  rules[c->options.rule] };
        return kc_set_check(&c->set, err);
}

static enum kc_status choose_device(struct set_call *c, int k, struct kc_error *err)
{
        const char *device = c->options.device;
        int devices[KC_GPU_MAX_DEVICES], ndevices = 0;
        enum kc_status status = KC_OK;
        if (device != NULL && strcmp(device, "auto") != 0)
                KC_TRY(kc_device_parse(device, devices, &ndevices, err));
        if (ndevices > 1)
                return kc_fail(err, KC_EUSAGE, "%s: a set operation uses one device", device);
        if (ndevices > 0 && k > KC_GPU_ENGINE_MAX_K)
                return kc_fail_remedy(err, KC_EUSAGE, KC_REMEDY_CPU,
                                      "the CUDA engine supports k up to %d, but k is %d",
                                      KC_GPU_ENGINE_MAX_K, k);
        c->on_device = ndevices > 0;
        c->device = c->on_device ? devices[0] : 0;
out:
        return status;
}

/* ---- the work: ctx is a struct set_call ---- */

static enum kc_status join_on_device(void *ctx, const struct kc_join_source *source,
                                     const struct kc_run_sink *sink, struct kc_join_totals *totals,
                                     struct kc_error *err)
{
        struct set_call *c = ctx;
        const struct kc_gpu_params params = { .device = c->device,
                                              .memory_nbytes = c->options.device_nbytes,
                                              .batch_nkmers = c->inside->batch_nkmers,
                                              .trace = c->inside->trace };
        return kc_gpu_combine(&params, c->inside->nthreads, source, sink, &c->job, totals,
                              &c->inside->report, err);
}

/* Lower the number of threads to how many fit into the memory. */
static enum kc_status limit_threads(struct set_call *c, struct kc_error *err)
{
        const uint64_t nbytes = c->options.memory_nbytes;
        uint64_t nruns = 0;
        char what[64];
        for (size_t i = 0; i < c->set.nstores; i++) {
                struct kc_store_info info;
                kc_store_get_info(c->stores[i], &info);
                nruns += info.nruns;
        }
        snprintf(what, sizeof what, "a merge of %" PRIu64 " sorted runs", nruns);
        return kc_memory_limit_threads(nbytes > 0 ? nbytes : kc_memory_guest_nbytes(),
                                       kc_set_thread_nbytes(&c->set), what, &c->inside->nthreads,
                                       err);
}

static enum kc_status run_set(struct set_call *c, struct kc_store_origin *origin,
                              const char ***names, struct kc_error *err)
{
        const struct kc_run_sink sink = kc_store_sink(c->output.writer);
        const struct kc_set_joiner joiner = { c, join_on_device };
        enum kc_status status;
        if (c->on_device)
                return kc_set_run_by(&c->set, &joiner, &sink, origin, names, err);
        KC_TRY(limit_threads(c, err));
        KC_TRY(kc_set_run(&c->set, c->inside->nthreads, &c->job, &sink, origin, names, err));
out:
        return status;
}

static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct set_call *c = ctx;
        struct kc_store_options storing =
                kc_set_options(&c->set, c->options.min_count, c->options.max_count);
        struct kc_store_origin origin;
        const char **names = NULL;
        enum kc_status status;
        storing.replace = c->options.replace;
        storing.lock = c->inside->lock;
        storing.careful = storing.lock != NULL;
        c->inside->nthreads = kc_machine_nthreads((uint64_t)c->options.nthreads);
        KC_TRY(kc_library_output_create(&c->output, &storing, err));
        KC_TRY(run_set(c, &origin, &names, err));
        KC_TRY(kc_library_output_commit(&c->output, &origin, &c->job, err));
out:
        free(names);
        return status;
}

enum kcount_status kcount_combine(struct kcount_counts *const *inputs, size_t ninputs,
                                  const struct kcount_set_options *options, const char *output,
                                  struct kcount_counts **counts, struct kcount_error **error)
{
        struct kcount_set_inside own = { 0 };
        struct set_call c = { .options = KCOUNT_SET_OPTIONS_INIT, .inside = &own };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(take_options(&c, options, &err));
        if (c.options.inside != NULL)
                c.inside = c.options.inside;
        KC_TRY(take_inputs(&c, inputs, ninputs, &err));
        KC_TRY(choose_device(&c, inputs[0]->k, &err));
        KC_TRY(kc_library_output_name(&c.output, output, c.options.tmp_folder, counts != NULL,
                                      c.options.guard, &err));
        const struct kc_working working = {
                &c, work, &c.job, NULL, c.options.progress, c.options.progress_ctx
        };
        KC_TRY(kc_working_run_stage(&working, "merging", &err));
        KC_TRY(kc_library_output_hand_over(&c.output, counts, &err));
        if (c.options.info != NULL)
                kc_library_put_info(&c.output.info, c.options.info);
out:
        kc_library_output_close(&c.output);
        free(c.stores);
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}
