#include "app/count/only.h"

#include "app/cli/file_check.h"
#include "app/library/same_file.h"
#include "base/turn.h"
#include "cpu/cpu_engine.h"

#include <string.h>

enum { MEMORY_SHARES = 4 }; /* the memory has so many; the sets may take one of them */

/* A sink that makes a set of a run's k-mers. */
struct set_sink {
        struct kc_kmer_set *set;
        uint64_t most_nbytes;
        struct kc_turn turn; /* of parts */
};

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct set_sink *s = ctx;
        enum kc_status status;
        if (!kc_turn_wait(&s->turn, pairs->part))
                return kc_fail(err, KC_ECANCELED, "canceled");
        KC_TRY(kc_kmer_set_append(s->set, pairs->kmers, pairs->n, err));
        if (kc_kmer_set_nbytes(s->set) > s->most_nbytes)
                KC_TRY(kc_fail(err, KC_ENOMEM,
                               "the k-mers of --only take more than a quarter of the memory; allow "
                               "more with -m"));
        if (pairs->last)
                kc_turn_pass(&s->turn);
out:
        return status;
}

static void cancel(void *ctx)
{
        struct set_sink *s = ctx;
        kc_turn_stop(&s->turn);
}

enum kc_status only_check(const struct count *count, struct kc_error *err)
{
        const char *only = count->settings->only, *files[COUNT_MAX_FILES];
        const size_t nfiles = count_list_files(count, files);
        enum kc_status status = KC_OK;
        if (only == NULL)
                return KC_OK;
        for (size_t i = 0; i < count->ninputs && strcmp(only, "-") == 0; i++)
                if (strcmp(count->inputs[i], "-") == 0)
                        return kc_fail(err, KC_EUSAGE,
                                       "standard input cannot be both reads and --only");
        if (strcmp(only, "-") == 0 && count->ranks != NULL)
                return kc_fail(err, KC_EUSAGE,
                               "--only cannot read standard input if there are several processes: "
                               "each of them reads the file");
        KC_TRY(kc_output_check_operands(files, nfiles, &only, 1, err));
        KC_TRY(kc_output_check_files(files, nfiles, &only, 1, err));
out:
        return status;
}

/* Count the file's k-mers, to find the distinct ones. */
static enum kc_status count_kmers(struct count *count, struct kc_reader *reader,
                                  const struct memory_plan *plan, struct kc_count_task *tasks,
                                  struct kc_error *err)
{
        const struct kc_count_params params = { .stranded = count->counter.stranded,
                                                .nthreads = plan->nthreads,
                                                .memory_nbytes = plan->engine_nbytes,
                                                .tmp_dir = count->tmp_dir,
                                                .expected_nbases =
                                                        kc_reader_expected_nbases(reader) };
        const struct kc_batch_source source = kc_reader_source(reader);
        return kc_cpu_count_all(&params, &source, tasks, count->noutputs, count->writing.job, err);
}

static enum kc_status read_sets(struct count *count, struct kc_error *err)
{
        const struct memory_plan plan = kc_memory_plan_count(
                count->counter.memory_nbytes / MEMORY_SHARES * (MEMORY_SHARES - 1),
                count->writing.nthreads, false);
        struct kc_reader_options reading = kc_counter_reading(&count->counter, &plan);
        const uint64_t share =
                count->counter.memory_nbytes / MEMORY_SHARES / (uint64_t)count->noutputs;
        struct kc_count_task tasks[OPTION_NUMBERS_MAX];
        struct set_sink sinks[OPTION_NUMBERS_MAX];
        struct kc_run_sink ends[OPTION_NUMBERS_MAX];
        struct kc_reader *reader = NULL;
        enum kc_status status;
        reading.min_quality = 0;
        reading.selection = (struct kc_selection){ .hpc = count->counter.selection.hpc };
        reading.nworkers = plan.nthreads;
        reading.rank = reading.nranks = 0; /* each rank needs all of it */
        for (int i = 0; i < count->noutputs; i++) {
                struct count_output *o = &count->outputs[i];
                o->only.k = o->k;
                sinks[i] = (struct set_sink){ .set = &o->only, .most_nbytes = share };
                kc_turn_init(&sinks[i].turn);
                ends[i] = (struct kc_run_sink){
                        .ctx = &sinks[i], .filter = { 1, UINT32_MAX }, .put = put, .cancel = cancel
                };
                tasks[i] = (struct kc_count_task){ .k = o->k, .sink = &ends[i] };
        }
        KC_TRY(kc_reader_open(&reader, &count->settings->only, 1, &reading, err));
        KC_TRY(count_kmers(count, reader, &plan, tasks, err));
        for (int i = 0; i < count->noutputs; i++)
                KC_TRY(kc_kmer_set_finish(&count->outputs[i].only, err));
out:
        kc_reader_close(reader);
        for (int i = 0; i < count->noutputs; i++)
                kc_turn_destroy(&sinks[i].turn);
        return status;
}

/* Whether the file that is added to, if any, was counted with the same k-mers. */
static enum kc_status check_added(const struct count *count, struct kc_error *err)
{
        const struct count_output *o = &count->outputs[0];
        if (!count->adds || kc_store_writer_only_checksum(o->writer) == o->only_checksum)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       o->only_checksum == 0
                               ? "%s was counted with --only; give it again, with the same file"
                               : "%s was not counted with --only and these k-mers",
                       o->path);
}

enum kc_status only_read_sets(struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (count->settings->only == NULL)
                return check_added(count, err);
        KC_TRY(read_sets(count, err));
        for (int i = 0; i < count->noutputs; i++) {
                struct count_output *o = &count->outputs[i];
                if (o->only.n == 0)
                        return kc_fail(err, KC_EINPUT, "%s has no %d-mers", count->settings->only,
                                       o->k);
                count->only_nbytes += kc_kmer_set_nbytes(&o->only);
                o->only_checksum = kc_kmer_set_checksum(&o->only);
        }
        KC_TRY(check_added(count, err));
out:
        return status;
}
