#include "bench/gpu/stages.cuh"

#include "gpu/count/count.cuh"

#include <cstdio>

/* The counter's own stages, in the order of kc_gpu_counter_times. */
enum { NPARTS = 4 };

static const char *const PARTS[NPARTS] = { "count: find super-k-mers", "count: multisplit",
                                           "count: tables", "count: order" };

static void get_parts(const struct kc_gpu_counter_times *times, double *ms)
{
        ms[0] = times->find;
        ms[1] = times->split;
        ms[2] = times->count;
        ms[3] = times->order;
}

template <class Key> struct counting {
        struct bench *bench;
        struct kc_gpu_counter<Key> *counter;
        struct kc_superkmer_setup superkmers;
        struct kc_gpu_reads reads;
        struct kc_gpu_kept *reads_kept;
        struct kc_gpu_run<Key> kept; /* the last run received, if keep is set */
        bool keep;
        int nruns;
        uint64_t npairs;
        struct kc_gpu_counted counted;
        struct workload_totals *totals; /* NULL: not wanted */
        struct workload_totals truth;
        uint64_t nrecords;
        struct stage parts[NPARTS]; /* the counter's own stages */
        int call;                   /* number of calls so far; the first warms up */
};

template <class Key>
static enum kc_status take_run(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        struct counting<Key> *c = (struct counting<Key> *)ctx;
        struct kc_gpu *gpu = &c->bench->gpu;
        enum kc_status status = KC_OK;
        c->nruns++;
        c->npairs += run->n;
        if (c->totals != NULL)
                status = workload_add_totals(gpu, run->kmers, run->counts, run->n, c->totals, err);
        if (!c->keep) {
                kc_gpu_run_free(gpu, run);
                return status;
        }
        kc_gpu_run_free(gpu, &c->kept);
        c->kept = *run;
        return status;
}

template <class Key>
static enum kc_status run_count(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct counting<Key> *c = (struct counting<Key> *)ctx;
        struct kc_gpu_run_taker<Key> taker = {
                ctx, take_run<Key>
        };
        (void)bench;
        c->nruns = 0;
        c->npairs = 0;
        const struct kc_gpu_pass all = { 0, 0, c->reads.nkmers, c->reads.nkmers };
        enum kc_status status;
        KC_TRY(kc_gpu_counter_walk(c->counter, c->reads_kept, &all, 1, err));
        KC_TRY(kc_gpu_counter_count(c->counter, 0, &taker, &c->counted, err));
out:
        return status;
}

/* The same, and the counter's own times of its stages. */
template <class Key>
static enum kc_status run_count_parts(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct counting<Key> *c = (struct counting<Key> *)ctx;
        enum kc_status status;
        double before[NPARTS], after[NPARTS];
        struct kc_gpu_counter_times times = kc_gpu_counter_get_times(c->counter);
        get_parts(&times, before);
        KC_TRY(run_count<Key>(bench, ctx, err));
        times = kc_gpu_counter_get_times(c->counter);
        get_parts(&times, after);
        if (c->call++ > 0)
                for (int i = 0; i < NPARTS; i++)
                        c->parts[i].ms[c->parts[i].nruns++] = (float)(after[i] - before[i]);
out:
        return status;
}

/*
 * The bytes that the parts must move: a record takes 8 bytes and is read together with the bases
 * that it points to; pairs leave the tables and are then ordered.
 */
template <class Key> static void set_parts_nbytes(struct counting<Key> *c, int k)
{
        const struct workload *w = &c->bench->reads;
        uint64_t bases = w->nreads * w->length / 4;
        uint64_t pairs = kc_gpu_run_nbytes<Key>(c->npairs);
        c->parts[0].nbytes = workload_nbytes(w, k) + 8 * c->nrecords;
        c->parts[1].nbytes = 2 * 8 * c->nrecords;
        c->parts[2].nbytes = 8 * c->nrecords + bases + pairs;
        c->parts[3].nbytes = 2 * pairs;
}

/* parts: print the counter's own stages as well. */
template <class Key>
static enum kc_status time_count(struct counting<Key> *c, const char *name, const char *table,
                                 bool parts, int k, struct kc_error *err)
{
        enum kc_status status;
        struct bench *bench = c->bench;
        struct stage stage = stage_of(name, "k-mers", k, c->reads.nkmers);
        stage.table = table;
        c->call = 0;
        for (int i = 0; i < NPARTS; i++) {
                c->parts[i] = stage;
                c->parts[i].name = PARTS[i];
        }
        KC_TRY(stage_time(bench, &stage, NULL, run_count_parts<Key>, c, err));
        stage.nbytes = workload_nbytes(&bench->reads, k) + kc_gpu_run_nbytes<Key>(c->npairs);
        stage_print(bench, &stage);
        set_parts_nbytes(c, k);
        for (int i = 0; i < NPARTS && parts; i++)
                stage_print(bench, &c->parts[i]);
out:
        return status;
}

/* Compare the counts with the truth. */
template <class Key>
static enum kc_status check_count(struct counting<Key> *c, int k, struct kc_error *err)
{
        enum kc_status status;
        struct bench *bench = c->bench;
        const struct workload_totals truth = c->truth;
        struct workload_totals found = {};
        c->totals = &found;
        KC_TRY(run_count<Key>(bench, c, err));
        fprintf(stderr,
                "check k=%d: %llu k-mers, %llu distinct; truth %llu, %llu; %d runs, "
                "disorder %llu\n",
                k, (unsigned long long)found.nkmers, (unsigned long long)found.ndistinct,
                (unsigned long long)truth.nkmers, (unsigned long long)truth.ndistinct, c->nruns,
                (unsigned long long)found.ndisordered);
        if (found.nkmers != truth.nkmers || found.hash_sum != truth.hash_sum ||
            found.ndisordered != 0 || (c->nruns == 1 && found.ndistinct != truth.ndistinct))
                status = kc_fail(err, KC_EDEVICE, "k=%d: counts differ from the truth", k);
out:
        c->totals = NULL;
        return status;
}

/*
 * Count one half of the reads and keep the run, as input for merging.
 *   run  out, the caller's to free; the last one if there are several
 */
template <class Key>
static enum kc_status count_half(struct counting<Key> *c, int half, struct kc_gpu_run<Key> *run,
                                 struct kc_error *err)
{
        enum kc_status status;
        const struct workload *w = &c->bench->reads;
        struct kc_gpu_kept *all = c->reads_kept;
        const uint64_t first = half == 0 ? 0 : w->nreads / 2,
                       end = half == 0 ? w->nreads / 2 : w->nreads;
        KC_TRY(workload_keep<Key>(&c->bench->gpu, w, c->superkmers.k, &c->reads, first, end - first,
                                  &c->reads_kept, err));
        c->keep = true;
        KC_TRY(run_count<Key>(c->bench, c, err));
        *run = c->kept;
        c->kept = {};
out:
        c->keep = false;
        kc_gpu_kept_free(c->reads_kept);
        c->reads_kept = all;
        return status;
}

/* Indexed by enum kc_gpu_table. */
static const char *const TABLES[] = { "warpdrive", "slab", "linear", "hopscotch" };

template <class Key>
static enum kc_status make_counter(struct counting<Key> *c, enum kc_gpu_table table,
                                   uint32_t min_count, struct kc_error *err)
{
        const struct kc_run_filter filter = { min_count, UINT32_MAX };
        const struct kc_gpu_counter_setup setup = { c->superkmers, false, table, filter };
        const struct kc_gpu_counter_caps caps = { 2 * c->nrecords + 2 * KC_GPU_MIN_RECORDS,
                                                  c->reads.nkmers / 2 + KC_GPU_MIN_PAIRS,
                                                  c->reads.nkmers,
                                                  c->reads.nkmers,
                                                  c->superkmers.form.position_bits,
                                                  1 };
        return kc_gpu_counter_new(&c->counter, &c->bench->gpu, &setup, &caps, err);
}

/* halves: NULL, or [2] out: the runs of both halves of the reads. */
template <class Key>
static enum kc_status count_with(struct counting<Key> *c, enum kc_gpu_table table, int k,
                                 struct kc_gpu_run<Key> *halves, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(make_counter(c, table, 1, err));
        if (c->bench->check)
                KC_TRY(check_count(c, k, err));
        KC_TRY(time_count(c, "count", TABLES[table], true, k, err));
        for (int half = 0; half < 2 && halves != NULL; half++)
                KC_TRY(count_half(c, half, &halves[half], err));
out:
        kc_gpu_counter_free(c->counter);
        c->counter = NULL;
        kc_gpu_run_free(&c->bench->gpu, &c->kept);
        return status;
}

/* Time counting with a filter that drops k-mers seen once. */
template <class Key>
static enum kc_status count_frequent(struct counting<Key> *c, int k, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(make_counter(c, KC_TABLE_WARPDRIVE, 2, err));
        KC_TRY(time_count(c, "count, --min 2", TABLES[KC_TABLE_WARPDRIVE], false, k, err));
out:
        kc_gpu_counter_free(c->counter);
        c->counter = NULL;
        return status;
}

template <class Key> enum kc_status bench_counting(struct bench *bench, int k, struct kc_error *err)
{
        enum kc_status status;
        counting<Key> c = {};
        kc_gpu_run<Key> halves[2] = {};
        c.bench = bench;
        KC_TRY(workload_new(&bench->gpu, &bench->reads, k, &c.reads, err));
        c.superkmers = kc_superkmer_setup_for<Key>(k, kc_gpu_minimizer_length(k, c.reads.nbases));
        KC_TRY(workload_keep<Key>(&bench->gpu, &bench->reads, k, &c.reads, 0, bench->reads.nreads,
                                  &c.reads_kept, err));
        KC_TRY(bench_records(bench, &c.superkmers, c.reads_kept, &c.nrecords, err));
        if (bench->check)
                KC_TRY(workload_truth<Key>(&bench->gpu, &bench->reads, &c.reads, k, &c.truth, err));
        KC_TRY(count_with(&c, KC_TABLE_WARPDRIVE, k, halves, err));
        KC_TRY(count_frequent(&c, k, err));
        KC_TRY(bench_runs(bench, k, &halves[0], &halves[1], err));
        for (enum kc_gpu_table table : { KC_TABLE_SLAB, KC_TABLE_LINEAR, KC_TABLE_HOPSCOTCH })
                KC_TRY(count_with<Key>(&c, table, k, NULL, err));
out:
        kc_gpu_run_free(&bench->gpu, &halves[1]);
        kc_gpu_run_free(&bench->gpu, &halves[0]);
        kc_gpu_kept_free(c.reads_kept);
        workload_free(&bench->gpu, &c.reads);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status bench_counting<Key>(struct bench *, int, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
