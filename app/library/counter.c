#include "app/library/counter.h"

#include "cpu/cpu_engine.h"

#include <stdlib.h>
#include <string.h>

/* ---- the input ---- */

static void plan_memory(struct kc_counter *c)
{
        const bool on_device = c->devices.used;
        const uint64_t messages = c->ranks.messages_nbytes;
        const uint64_t nbytes = c->memory_nbytes - c->only_nbytes;
        const uint64_t rest = nbytes > 2 * messages ? nbytes - messages : nbytes / 2;
        c->plan = kc_memory_plan_count(rest, c->nthreads, on_device);
        if (c->engine_nbytes > 0)
                c->plan.engine_nbytes = c->engine_nbytes;
        else
                c->nthreads = c->plan.nthreads;
        if (on_device && !c->bounded)
                c->plan.reader_nbytes = 0; /* what may be pinned leaves enough for any reader */
}

struct kc_reader_options kc_counter_reading(const struct kc_counter *c,
                                            const struct memory_plan *plan)
{
        struct kc_reader_options reading = { .k = c->tasks[0].k,
                                             .max_k = c->tasks[0].k,
                                             .min_quality = c->min_quality,
                                             .selection = c->selection,
                                             .empty = c->accept_empty,
                                             .nworkers = c->nthreads,
                                             .memory_nbytes = plan->reader_nbytes,
                                             .bound = plan->reader_bound,
                                             .job = c->job,
                                             .rank = c->ranks.rank,
                                             .nranks = c->ranks.nranks };
        for (int i = 1; i < c->ntasks; i++) {
                const int k = c->tasks[i].k;
                reading.k = k < reading.k ? k : reading.k;
                reading.max_k = k > reading.max_k ? k : reading.max_k;
        }
        return reading;
}

enum kc_status kc_counter_open_files(struct kc_counter *c, const char *const *paths, size_t npaths,
                                     struct kc_error *err)
{
        enum kc_status status;
        plan_memory(c);
        const struct kc_reader_options reading = kc_counter_reading(c, &c->plan);
        KC_TRY(kc_reader_open(&c->reader, paths, npaths, &reading, err));
        c->rereadable = kc_reader_is_rereadable(c->reader);
out:
        return status;
}

enum kc_status kc_counter_open_sequences(struct kc_counter *c,
                                         const struct kc_sequence_giver *giver,
                                         struct kc_error *err)
{
        plan_memory(c);
        return kc_sequences_open(&c->sequences, c->tasks[0].k, c->nthreads, giver, c->job, err);
}

/* ---- counting ---- */

static struct kc_batch_source source_of(const struct kc_counter *c)
{
        return c->reader != NULL ? kc_reader_source(c->reader) : kc_sequences_source(c->sequences);
}

static struct kc_count_params params_of(const struct kc_counter *c)
{
        return (struct kc_count_params){
                .stranded = c->stranded,
                .nthreads = c->nthreads,
                .memory_nbytes = c->plan.engine_nbytes,
                .tmp_dir = c->tmp_folder,
                .expected_nbases = c->reader != NULL ? kc_reader_expected_nbases(c->reader) : 0,
                .exchange = c->ranks.exchange,
        };
}

static enum kc_status take_all_devices(struct kc_counter_devices *d, struct kc_error *err)
{
        int n;
        const enum kc_status status = kc_gpu_devices(NULL, 0, &n, err);
        if (status != KC_OK)
                return status;
        d->n = n < KC_GPU_MAX_DEVICES ? n : KC_GPU_MAX_DEVICES;
        for (int i = 0; i < d->n; i++)
                d->indices[i] = i;
        return KC_OK;
}

/* Leave out devices that are not worth opening. With a bound on its memory, or on what it counts at
 * a time, the first device may need the others. */
static enum kc_status choose_devices(struct kc_counter *c, uint64_t nbases, struct kc_error *err)
{
        struct kc_counter_devices *d = &c->devices;
        enum kc_status status = KC_OK;
        if (d->params.memory_nbytes > 0 || d->params.batch_nkmers > 0)
                nbases = 0;
        if (d->all && kc_devices_worth(KC_GPU_MAX_DEVICES, nbases) > 1)
                KC_TRY(take_all_devices(d, err));
        const int nworth = kc_devices_worth(d->n, nbases);
        d->nleft_out = d->n - nworth;
        d->n = nworth;
out:
        return status;
}

/* stored: out, the files if devices should read them; it must outlive the result */
static struct kc_gpu_params gpu_params_of(const struct kc_counter *c,
                                          struct kc_stored_source *stored)
{
        const struct kc_counter_devices *d = &c->devices;
        struct kc_gpu_params gpu = d->params;
        gpu.device = d->indices[0];
        gpu.nothers = d->n - 1;
        gpu.nleft_out = d->nleft_out;
        gpu.pinned_nbytes = c->bounded ? 0 : kc_device_pinned_nbytes(c->memory_nbytes);
        gpu.read_ahead = c->rereadable;
        if (c->reader != NULL)
                gpu.stored = kc_device_files(c->reader, d->reader, c->nthreads, d->n,
                                             gpu.batch_nkmers, stored);
        memcpy(gpu.others, d->indices + 1,
               (size_t)(gpu.nothers + gpu.nleft_out) * sizeof *gpu.others);
        return gpu;
}

static enum kc_status count_on_device(struct kc_counter *c, struct kc_error *err)
{
        struct kc_stored_source stored;
        const struct kc_count_params params = params_of(c);
        const enum kc_status chosen = choose_devices(c, params.expected_nbases, err);
        if (chosen != KC_OK)
                return chosen;
        const struct kc_gpu_params gpu = gpu_params_of(c, &stored);
        const struct kc_batch_source source = source_of(c);
        return (c->ranks.nranks > 0 ? c->ranks.count : kc_gpu_count_all)(
                &params, &gpu, &source, c->tasks, c->ntasks, c->job, c->reports, err);
}

static enum kc_status count_on_cpu(struct kc_counter *c, struct kc_error *err)
{
        const struct kc_count_params params = params_of(c);
        const struct kc_batch_source source = source_of(c);
        if (c->ranks.nranks > 0)
                return c->ranks.count(&params, NULL, &source, c->tasks, c->ntasks, c->job,
                                      c->reports, err);
        return kc_cpu_count_all(&params, &source, c->tasks, c->ntasks, c->job, err);
}

/* A device could not start: plan for the CPU, from the beginning of the inputs. */
static enum kc_status begin_again(struct kc_counter *c, struct kc_error *err)
{
        c->devices.used = false;
        plan_memory(c);
        const struct kc_reader_options reading = kc_counter_reading(c, &c->plan);
        return c->rereadable ? kc_reader_reopen(&c->reader, &reading, err) : KC_OK;
}

static enum kc_status count_on_either(struct kc_counter *c, struct kc_error *err)
{
        enum kc_status status;
        if (c->devices.used) {
                struct kc_error own = { 0 };
                if (count_on_device(c, &own) == KC_OK)
                        return KC_OK;
                if (c->reports[0].began || !c->devices.may_fall_back ||
                    !kc_device_is_unusable(&own))
                        return kc_fail_as(err, &own);
                c->fell_back(c->ctx, &own);
                KC_TRY(begin_again(c, err));
        }
        status = count_on_cpu(c, err);
out:
        return status;
}

static struct kc_reader_totals totals_of(const struct kc_counter *c)
{
        struct kc_reader_totals totals = { 0 };
        if (c->reader != NULL) {
                kc_reader_totals(c->reader, &totals);
        } else if (c->sequences != NULL) {
                const struct kc_sequence_totals read = kc_sequences_totals(c->sequences);
                totals.nreads = read.nsequences;
                totals.nbases = read.nletters;
                totals.nskipped = read.nskipped;
        }
        return totals;
}

enum kc_status kc_counter_run(struct kc_counter *c, struct kc_error *err)
{
        const enum kc_status status = count_on_either(c, err);
        c->read = totals_of(c);
        return status;
}

void kc_counter_close(struct kc_counter *c)
{
        for (int i = 0; i < c->ntasks; i++) {
                struct kc_counter_output *o = &c->outputs[i];
                kc_store_abort(o->writer);
                kc_store_close(o->store);
                kc_kmer_set_free(&o->only);
                free(o->written.rows);
        }
        kc_histogram_free(c->histogram);
        kc_reader_close(c->reader);
        kc_sequences_close(c->sequences);
}
