/* The k-mers of a file, which are the only ones that are counted. */
#include "app/library/counter.h"
#include "base/turn.h"
#include "cpu/cpu_engine.h"

enum { MEMORY_SHARES = 4 }; /* the memory has so many; the sets may take one of them */

/* A sink that makes a set of a run's k-mers. */
struct set_sink {
        struct kc_kmer_set *set;
        const char *path;
        uint64_t most_nbytes;
        struct kc_turn turn; /* of parts */
        struct kc_run_sink sink;
};

static enum kc_status put_set(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct set_sink *s = ctx;
        enum kc_status status;
        if (!kc_turn_wait(&s->turn, pairs->part))
                return kc_fail(err, KC_ECANCELED, "canceled");
        KC_TRY(kc_kmer_set_append(s->set, pairs->kmers, pairs->n, err));
        if (kc_kmer_set_nbytes(s->set) > s->most_nbytes)
                KC_TRY(kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_MORE_MEMORY,
                                      "the k-mers of %s take more than a quarter of the memory",
                                      s->path));
        if (pairs->last)
                kc_turn_pass(&s->turn);
out:
        return status;
}

static void cancel_set(void *ctx)
{
        struct set_sink *s = ctx;
        kc_turn_stop(&s->turn);
}

/* Count the file's k-mers, to find the distinct ones. Each of several processes needs all. */
static enum kc_status count_sets(struct kc_counter *c, const char *path,
                                 struct kc_count_task *tasks, struct kc_error *err)
{
        const uint64_t nbytes = c->memory_nbytes / MEMORY_SHARES * (MEMORY_SHARES - 1);
        const struct memory_plan plan = kc_memory_plan_count(nbytes, c->nthreads, false);
        struct kc_reader_options reading = kc_counter_reading(c, &plan);
        struct kc_reader *reader = NULL;
        enum kc_status status;
        reading.min_quality = 0;
        reading.selection = (struct kc_selection){ .hpc = c->selection.hpc };
        reading.nworkers = plan.nthreads;
        reading.rank = reading.nranks = 0;
        KC_TRY(kc_reader_open(&reader, &path, 1, &reading, err));
        const struct kc_count_params params = { .stranded = c->stranded,
                                                .nthreads = plan.nthreads,
                                                .memory_nbytes = plan.engine_nbytes,
                                                .tmp_dir = c->tmp_folder,
                                                .expected_nbases =
                                                        kc_reader_expected_nbases(reader) };
        const struct kc_batch_source source = kc_reader_source(reader);
        status = kc_cpu_count_all(&params, &source, tasks, c->ntasks, c->job, err);
out:
        kc_reader_close(reader);
        return status;
}

/* All k-mers have been appended. */
static enum kc_status finish_sets(struct kc_counter *c, const char *path, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < c->ntasks; i++)
                KC_TRY(kc_kmer_set_finish(&c->outputs[i].only, err));
        for (int i = 0; i < c->ntasks; i++) {
                struct kc_kmer_set *set = &c->outputs[i].only;
                if (set->n == 0)
                        return kc_fail(err, KC_EINPUT, "%s has no %d-mers", path, set->k);
                c->only_nbytes += kc_kmer_set_nbytes(set);
        }
out:
        return status;
}

enum kc_status kc_counter_read_only(struct kc_counter *c, const char *path, struct kc_error *err)
{
        const uint64_t share = c->memory_nbytes / MEMORY_SHARES / (uint64_t)c->ntasks;
        struct kc_count_task tasks[KC_COUNTER_MAX_TASKS];
        struct set_sink sinks[KC_COUNTER_MAX_TASKS];
        enum kc_status status;
        c->only = true;
        for (int i = 0; i < c->ntasks; i++) {
                struct set_sink *s = &sinks[i];
                *s = (struct set_sink){ .set = &c->outputs[i].only,
                                        .path = path,
                                        .most_nbytes = share,
                                        .sink = { .ctx = s,
                                                  .filter = { 1, UINT32_MAX },
                                                  .put = put_set,
                                                  .cancel = cancel_set } };
                s->set->k = c->tasks[i].k;
                kc_turn_init(&s->turn);
                tasks[i] = (struct kc_count_task){ .k = c->tasks[i].k, .sink = &s->sink };
        }
        KC_TRY(count_sets(c, path, tasks, err));
        status = finish_sets(c, path, err);
out:
        for (int i = 0; i < c->ntasks; i++)
                kc_turn_destroy(&sinks[i].turn);
        return status;
}
