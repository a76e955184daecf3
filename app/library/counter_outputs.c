/* Where a counter's k-mers go. */
#include "app/library/counter.h"

struct kc_store_options kc_counter_storing(const struct kc_counter *c, int task)
{
        struct kc_store_options storing = c->storing;
        storing.k = c->tasks[task].k;
        storing.stranded = c->stranded;
        storing.hpc = c->selection.hpc;
        storing.tmp_folder = c->target == KC_COUNTER_NAMELESS ? c->tmp_folder : NULL;
        storing.only_checksum = c->only ? kc_kmer_set_checksum(&c->outputs[task].only) : 0;
        return storing;
}

static void cancel_nothing(void *ctx)
{
        (void)ctx;
}

static struct kc_run_sink sink_of(const struct kc_counter *c, const struct kc_counter_output *o)
{
        if (c->histogram != NULL)
                return kc_histogram_sink(c->histogram);
        if (o->writer != NULL)
                return kc_store_sink(o->writer);
        /* the engine passes nothing to a process that writes no file, but filters what it counts */
        return (struct kc_run_sink){ .filter = { c->storing.min_count, c->storing.max_count },
                                     .cancel = cancel_nothing };
}

enum kc_status kc_counter_set_sinks(struct kc_counter *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (c->target == KC_COUNTER_HISTOGRAM)
                KC_TRY(kc_histogram_new(&c->histogram, err));
        for (int i = 0; i < c->ntasks; i++) {
                c->outputs[i].sink = sink_of(c, &c->outputs[i]);
                c->tasks[i].sink = &c->outputs[i].sink;
                c->tasks[i].only = c->only ? &c->outputs[i].only : NULL;
        }
out:
        return status;
}

static struct kc_store_origin origin_of(const struct kc_counter *c, int task)
{
        const struct kc_reader_totals *read = &c->read;
        const struct kc_count_totals *totals = &c->tasks[task].totals;
        struct kc_store_origin origin = { .nreads = read->nreads,
                                          .nbases = read->nbases,
                                          .nskipped = read->nskipped,
                                          .nlow_quality = read->nlow_quality,
                                          .nkmers = totals->nkmers,
                                          .nsaturated = totals->nsaturated };
        if (c->reader != NULL)
                origin.nnames = kc_reader_names(c->reader, &origin.names);
        return origin;
}

static enum kc_status commit_files(struct kc_counter *c, const struct kc_store_origin *origins,
                                   struct kc_error *err)
{
        struct kc_store_written written[KC_COUNTER_MAX_TASKS];
        struct kc_store_writer *writers[KC_COUNTER_MAX_TASKS];
        for (int i = 0; i < c->ntasks; i++) {
                writers[i] = c->outputs[i].writer;
                c->outputs[i].writer = NULL; /* commit frees it, even on failure */
        }
        const enum kc_status status =
                kc_stores_commit(writers, (size_t)c->ntasks, origins, written, err);
        for (int i = 0; i < c->ntasks && status == KC_OK; i++)
                c->outputs[i].written = written[i];
        return status;
}

static enum kc_status commit_run(struct kc_counter_output *o, const struct kc_store_origin *origin,
                                 struct kc_error *err)
{
        struct kc_store_writer *writer = o->writer;
        o->writer = NULL; /* commit frees it, even on failure */
        const enum kc_status status = kc_store_commit(writer, origin, &o->written, err);
        /* the info has what was dropped from earlier runs: nothing is dropped from an added one */
        o->written.info.ndropped_distinct = o->written.info.ndropped_kmers = 0;
        return status;
}

static enum kc_status commit_nameless(struct kc_counter_output *o,
                                      const struct kc_store_origin *origin, struct kc_error *err)
{
        struct kc_store_writer *writer = o->writer;
        o->writer = NULL; /* it is freed, even on failure */
        const enum kc_status status =
                kc_store_commit_nameless(writer, origin, &o->store, NULL, err);
        if (status != KC_OK)
                return status;
        kc_store_get_info(o->store, &o->written.info);
        o->written.nunique = o->written.info.nunique;
        return KC_OK;
}

static enum kc_status take_rows(struct kc_counter *c, struct kc_error *err)
{
        struct kc_store_written *written = &c->outputs[0].written;
        const enum kc_status status = kc_histogram_rows(c->histogram, &c->tasks[0].totals,
                                                        &written->rows, &written->nrows, err);
        written->info.k = c->tasks[0].k;
        if (status == KC_OK && written->nrows > 0 && written->rows[0].count == 1)
                written->nunique = written->rows[0].ndistinct;
        return status;
}

enum kc_status kc_counter_commit(struct kc_counter *c, struct kc_error *err)
{
        struct kc_store_origin origins[KC_COUNTER_MAX_TASKS];
        enum kc_status status = KC_OK;
        for (int i = 0; i < c->ntasks; i++)
                origins[i] = origin_of(c, i);
        switch (c->target) {
        case KC_COUNTER_FILES:
                return commit_files(c, origins, err);
        case KC_COUNTER_RUN:
                return commit_run(&c->outputs[0], &origins[0], err);
        case KC_COUNTER_HISTOGRAM:
                return take_rows(c, err);
        case KC_COUNTER_NAMELESS:
                for (int i = 0; i < c->ntasks && status == KC_OK; i++)
                        status = commit_nameless(&c->outputs[i], &origins[i], err);
        }
        return status;
}
