/*
 * Ashkiani et al., GPU LSM (2018), section V: tables II (insertion), III (lookup) and IV (count and
 * range), figure 4b (effective insertion rate), the cleanup figures of V-D; then the same for 127
 * batches of 2^20, for which there are targets on one H200. GPU SA is the paper's sorted array:
 * here a single level, into which batches are merged.
 *
 * As in the paper, a row is the minimum, the maximum or the harmonic mean of the rates for all
 * numbers r of resident batches. Each r is timed once, after a run to warm up.
 */
#include "bench/tables/lsm_work.cuh"

/* ---- table II, figure 4b */

struct table2_row {
        int log2b;
        struct paper_rates lsm, array;
};

static const struct table2_row TABLE2[] = {
        { 27, { 727.8, 727.8, 727.8 }, { 727.8, 727.8, 727.8 } },
        { 26, { 585.3, 727.7, 648.8 }, { 583.1, 727.7, 647.4 } },
        { 25, { 421.1, 727.1, 585.5 }, { 472.2, 726.8, 561.2 } },
        { 24, { 270.3, 727.1, 537.9 }, { 346.0, 727.0, 459.2 } },
        { 23, { 155.5, 726.3, 485.2 }, { 224.0, 723.2, 334.0 } },
        { 22, { 84.3, 714.8, 441.2 }, { 132.6, 709.9, 219.2 } },
        { 21, { 44.0, 694.0, 398.1 }, { 74.2, 691.2, 131.2 } },
        { 20, { 22.4, 664.2, 354.1 }, { 39.8, 658.7, 73.8 } },
        { 19, { 11.3, 558.2, 289.4 }, { 20.5, 555.9, 39.4 } },
        { 18, { 5.6, 432.0, 220.7 }, { 10.5, 422.1, 20.3 } },
        { 17, { 2.8, 326.8, 159.9 }, { 2.6, 319.1, 10.3 } },
        { 16, { 1.4, 194.3, 98.0 }, { 1.3, 184.8, 5.2 } },
        { 15, { 0.7, 101.4, 58.4 }, { 0.6, 95.9, 2.6 } },
};

enum { LOG2N_INSERTED = 27, TARGET_LOG2B = 20 };

/* Figure 4b: all elements so far over the total time so far, at r = 1, 2, 4, ... and at the end. */
static void print_effective(struct work *w, int log2b, const std::vector<float> &ms)
{
        double all_ms = 0;
        struct tables_row row = {};
        char more[64];
        row.figure = "4b: effective insertion rate";
        row.series = "GPU LSM";
        row.x_name = "resident elements";
        row.paper_gpu = &TABLES_K40C;
        row.more = more;
        snprintf(more, sizeof more, "\"log2_b\": %d", log2b);
        for (size_t r = 1; r <= ms.size(); r++) {
                all_ms += ms[r - 1];
                if ((r & (r - 1)) != 0 && r != ms.size())
                        continue;
                struct stage stage = stage_of(row.figure, "elements", 0, r * w->batch);
                stage.nruns = 1;
                stage.ms[0] = (float)all_ms;
                row.x = (double)stage.n;
                row.n = stage.n;
                tables_print(w->b, &row, &stage);
        }
}

/* The time that the last run over all r took for each r. */
static enum kc_status read_times(const struct work *w, size_t nbatches, std::vector<float> *ms,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < nbatches; i++) {
                float once;
                KC_TRY(KC_CUDA(cudaEventElapsedTime(&once, w->events[i], w->events[i + 1])));
                ms->push_back(once);
        }
out:
        return status;
}

/* For each r the median of several runs over all r, after one warm-up run. */
static enum kc_status time_insertions(struct work *w, std::vector<float> *ms, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nbatches = count_batches(w), nruns = (size_t)w->b->base.repeat;
        std::vector<float> all, of_one(nruns);
        for (size_t run = 0; run <= nruns; run++) {
                KC_TRY(prepare_full(&w->b->base, w, err));
                KC_TRY(KC_CUDA(cudaStreamSynchronize(w->gpu->stream)));
                if (run > 0)
                        KC_TRY(read_times(w, nbatches, &all, err));
        }
        for (size_t i = 0; i < nbatches; i++) {
                for (size_t run = 0; run < nruns; run++)
                        of_one[run] = all[run * nbatches + i];
                std::nth_element(of_one.begin(), of_one.begin() + nruns / 2, of_one.end());
                ms->push_back(of_one[nruns / 2]);
        }
out:
        return status;
}

static enum kc_status bench_insertions(struct work *w, const struct table2_row *row,
                                       struct kc_error *err)
{
        enum kc_status status;
        std::vector<float> ms;
        struct rates rates = {};
        KC_TRY(take_events(w, count_batches(w), err));
        KC_TRY(time_insertions(w, &ms, err));
        for (float once : ms)
                add_rate(&rates, (double)w->batch, once);
        print_rates(w->b, "II: insertion", false, row->log2b, &rates, &row->lsm,
                    row->log2b == TARGET_LOG2B ? 6e9 : 0);
        if (row->log2b >= 16 && row->log2b <= 24 && row->log2b % 2 == 0)
                print_effective(w, row->log2b, ms);
out:
        return status;
}

/* The median of some runs queued one after another, after one warm-up run. */
static enum kc_status time_array_insertion(struct work *w, double *ms, struct kc_error *err)
{
        enum kc_status status;
        size_t nruns = (size_t)w->b->base.repeat;
        std::vector<float> all;
        KC_TRY(take_events(w, nruns + 1, err));
        KC_TRY(KC_CUDA(cudaEventRecord(w->events[0], w->gpu->stream)));
        for (size_t run = 0; run <= nruns; run++) {
                KC_TRY(insert_to_array(w, err));
                KC_TRY(KC_CUDA(cudaEventRecord(w->events[run + 1], w->gpu->stream)));
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(w->gpu->stream)));
        KC_TRY(read_times(w, nruns + 1, &all, err));
        std::nth_element(all.begin() + 1, all.begin() + 1 + nruns / 2, all.end());
        *ms = all[1 + nruns / 2];
out:
        return status;
}

/* At up to eight sizes of the array; w->array's memory holds n sorted elements. */
static enum kc_status bench_array_insertions(struct work *w, const struct table2_row *row,
                                             struct kc_error *err)
{
        enum { NSIZES = 8 };
        enum kc_status status;
        size_t nbatches = w->n / w->batch, nsizes = std::min(nbatches, (size_t)NSIZES);
        struct rates rates = {};
        KC_TRY(kc_lsm_reserve(on_gpu(w), &w->sorted, w->batch, false, err));
        for (size_t i = 0; i < nsizes; i++) {
                double ms = 0;
                size_t r = nsizes > 1 ? i * (nbatches - 1) / (nsizes - 1) : 0;
                w->array.n = r * w->batch;
                KC_TRY(time_array_insertion(w, &ms, err));
                add_rate(&rates, (double)w->batch, ms);
        }
        print_rates(w->b, "II: insertion", true, row->log2b, &rates, &row->array, 0);
out:
        return status;
}

static enum kc_status bench_table2_arrays(struct work *w, struct kc_error *err)
{
        enum kc_status status;
        kc_lsm_level<uint32_t> array = {}, merged = {};
        KC_TRY(kc_lsm_reserve(on_gpu(w), &array, w->n, false, err));
        KC_TRY(kc_lsm_reserve(on_gpu(w), &merged, w->n, false, err));
        w->batch = w->n;
        KC_TRY(new_map(w, err));
        w->array = array.run;
        w->merged = merged.run;
        KC_TRY(kc_lsm_sort(w->map, w->words, w->values, w->n, &w->sorted, &w->array,
                           (uint32_t *)NULL, err));
        for (const struct table2_row &row : TABLE2) {
                w->batch = scaled_batch(w->n, LOG2N_INSERTED, row.log2b);
                KC_TRY(bench_array_insertions(w, &row, err));
        }
out:
        kc_lsm_release(on_gpu(w), &array);
        kc_lsm_release(on_gpu(w), &merged);
        kc_lsm_release(on_gpu(w), &w->sorted);
        return status;
}

static enum kc_status bench_build(struct work *w, struct kc_error *err)
{
        struct tables_row row = {};
        row.figure = "V-B: bulk build";
        row.series = "GPU LSM";
        row.x_name = "log2 b";
        row.x = TARGET_LOG2B;
        row.n = w->n;
        row.paper_gpu = &TABLES_K40C;
        row.paper_ops_per_s = 727.8e6;
        w->batch = scaled_batch(w->n, LOG2N_INSERTED, TARGET_LOG2B);
        return tables_time(w->b, &row, prepare_map, build, w, NULL, err);
}

static enum kc_status bench_table2(struct work *w, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(take_memory(w, scaled(w->b, LOG2N_INSERTED), 1, 1, err));
        for (const struct table2_row &row : TABLE2) {
                w->batch = scaled_batch(w->n, LOG2N_INSERTED, row.log2b);
                KC_TRY(bench_insertions(w, &row, err));
        }
        KC_TRY(bench_build(w, err));
        KC_TRY(bench_table2_arrays(w, err));
out:
        free_memory(w);
        return status;
}

/* ---- tables III and IV: every query for every r */

/* A kind of query. */
struct asked {
        const char *figure;
        stage_step run;
        bool absent;     /* lookups of absent keys */
        uint64_t length; /* of ranges; 0: a lookup */
};

enum { NASKED = 6 };

static const struct asked ASKED[NASKED] = {
        { "III: lookup, none existing", find, true, 0 },
        { "III: lookup, all existing", find, false, 0 },
        { "IV: count, L = 8", count, false, 8 },
        { "IV: count, L = 1024", count, false, 1024 },
        { "IV: range, L = 8", range, false, 8 },
        { "IV: range, L = 1024", range, false, 1024 },
};

struct table34_row {
        int log2b;
        struct paper_rates lsm[NASKED];
        double array[NASKED]; /* their mean */
};

static const struct table34_row TABLE34[] = {
        { 24, { { 116.8, 116.8, 116.8 }, { 106.8, 106.8, 106.8 } }, { 106.8, 116.7 } },
        { 23, { { 116.8, 133.1, 124.4 }, { 106.8, 118.6, 112.4 } }, { 112.4, 124.3 } },
        { 22, { { 61.6, 183.1, 105.9 }, { 74.7, 142.2, 104.7 } }, { 113.9, 128.9 } },
        { 21, { { 41.4, 237.4, 84.0 }, { 51.7, 194.7, 91.1 } }, { 118.4, 132.9 } },
        { 20,
          { { 30.7, 291.3, 68.4 },
            { 39.3, 251.1, 77.6 },
            { 27.0, 103.7, 48.0 },
            { 2.58, 4.17, 3.01 },
            { 23.2, 72.1, 38.4 },
            { 1.27, 1.80, 1.43 } },
          { 120.3, 135.0, 73.5, 4.10, 42.2, 1.81 } },
        { 19,
          { { 25.2, 331.7, 57.7 },
            { 32.0, 299.2, 67.5 },
            { 22.4, 94.1, 39.8 },
            { 2.51, 4.13, 2.86 },
            { 19.4, 63.2, 31.9 },
            { 1.25, 1.81, 1.37 } },
          { 123.4, 138.7, 68.6, 4.09, 38.2, 1.81 } },
        { 18,
          { { 22.0, 361.5, 51.1 },
            { 27.2, 332.0, 60.7 },
            { 19.0, 82.9, 35.1 },
            { 2.44, 4.10, 2.79 },
            { 14.6, 50.5, 24.9 },
            { 1.23, 1.81, 1.35 } },
          { 125.4, 141.2, 63.0, 4.08, 33.8, 1.81 } },
        { 17,
          { { 19.5, 376.7, 47.4 },
            { 24.3, 347.3, 56.7 },
            { 16.2, 67.6, 27.4 },
            { 2.36, 4.06, 2.63 },
            { 12.9, 36.3, 19.8 },
            { 1.20, 1.81, 1.28 } },
          { 126.8, 143.0, 56.1, 4.04, 29.1, 1.81 } },
        { 16,
          { { 18.1, 386.1, 45.5 },
            { 22.7, 365.7, 54.9 },
            { 15.1, 44.7, 23.9 },
            { 2.32, 3.99, 2.57 },
            { 11.0, 23.0, 15.1 },
            { 1.18, 1.76, 1.27 } },
          { 127.6, 144.1, 47.3, 3.99, 25.0, 1.80 } },
};

enum {
        LOG2N_ASKED = 24,
        LOG2_LONG_RANGES = 17, /* ranges of length 1024: their results must fit in memory */
        LOG2_SHORT_RANGES = 22,
};

static size_t nqueries_of(const struct work *w, const struct asked *asked, size_t m)
{
        int log2 = asked->length > 64 ? LOG2_LONG_RANGES : LOG2_SHORT_RANGES;
        return asked->length == 0 ? m : std::min(m, scaled_ranges(w->b, log2));
}

/* Room for the results of ranges: their lengths vary around the expected one. */
static size_t npairs_of(const struct work *w)
{
        return std::max(scaled_ranges(w->b, LOG2_LONG_RANGES) * 1280,
                        scaled_ranges(w->b, LOG2_SHORT_RANGES) * 10);
}

/* Query a map of m elements. */
static enum kc_status ask(struct work *w, const struct asked *asked, size_t m, double *ms,
                          struct kc_error *err)
{
        enum kc_status status;
        if (asked->length == 0)
                KC_TRY(launch_queries(w, m, asked->absent, err));
        else
                KC_TRY(launch_intervals(w, m, asked->length, nqueries_of(w, asked, m), err));
        KC_TRY(time_once(w, asked->run, ms, err));
out:
        return status;
}

/* Each step adds w->batch elements to the map. */
static enum kc_status ask_lsm(struct work *w, const struct table34_row *row, struct kc_error *err)
{
        enum kc_status status;
        struct rates rates[NASKED] = {};
        double ms;
        KC_TRY(new_map(w, err));
        for (size_t r = 1; r * w->batch <= w->n; r++) {
                KC_TRY(insert_batch(w, r - 1, err));
                for (int i = 0; i < NASKED; i++) {
                        if (row->lsm[i].mean == 0)
                                continue;
                        KC_TRY(ask(w, &ASKED[i], r * w->batch, &ms, err));
                        add_rate(&rates[i], (double)w->nqueries, ms);
                        if (ASKED[i].length == 0 && (r + 1) * w->batch > w->n)
                                KC_TRY(expect_found(w, r * w->batch, ASKED[i].absent, err));
                }
        }
        for (int i = 0; i < NASKED; i++)
                if (row->lsm[i].mean > 0)
                        print_rates(w->b, ASKED[i].figure, false, row->log2b, &rates[i],
                                    &row->lsm[i], 0);
out:
        return status;
}

/* Query the array at a few sizes. */
static enum kc_status ask_array(struct work *w, const struct table34_row *row, struct kc_error *err)
{
        enum { NSIZES = 4 };
        enum kc_status status = KC_OK;
        size_t batch = w->batch, nsizes = std::min(w->n / batch, (size_t)NSIZES);
        struct rates rates[NASKED] = {};
        double ms;
        for (size_t k = 1; k <= nsizes; k++) {
                w->batch = w->n / batch * k / nsizes * batch;
                KC_TRY(new_map(w, err));
                KC_TRY(insert_batch(w, 0, err));
                for (int i = 0; i < NASKED; i++) {
                        if (row->array[i] == 0)
                                continue;
                        KC_TRY(ask(w, &ASKED[i], w->batch, &ms, err));
                        add_rate(&rates[i], (double)w->nqueries, ms);
                }
        }
        for (int i = 0; i < NASKED; i++) {
                struct paper_rates paper = { 0, 0, row->array[i] };
                if (row->array[i] > 0)
                        print_rates(w->b, ASKED[i].figure, true, row->log2b, &rates[i], &paper, 0);
        }
out:
        return status;
}

static enum kc_status bench_tables34(struct work *w, struct kc_error *err)
{
        enum kc_status status;
        size_t n = scaled(w->b, LOG2N_ASKED);
        KC_TRY(take_memory(w, n, n, npairs_of(w), err));
        for (const struct table34_row &row : TABLE34) {
                w->batch = scaled_batch(n, LOG2N_ASKED, row.log2b);
                KC_TRY(ask_lsm(w, &row, err));
                w->batch = scaled_batch(n, LOG2N_ASKED, row.log2b);
                KC_TRY(ask_array(w, &row, err));
        }
out:
        free_memory(w);
        return status;
}

/* ---- cleanup, V-D */

struct cleanup_row {
        int log2r, log2b; /* 2^log2r - 1 batches */
        uint32_t stale;
        double paper_rate; /* 0: not reported */
};

static const struct cleanup_row CLEANUPS[] = {
        { 6, 20, 10, 1870.2e6 },
        { 6, 20, 50, 1828.2e6 },
        { 7, 19, 10, 1842.5e6 },
        { 7, 19, 50, 1794.3e6 },
        { 7, 18, 10, (127 << 18) / 19.23e-3 },
};

/* For the last row the paper reports the speed of lookups afterwards: 32 M in 132.5 ms. */
static enum kc_status bench_lookups_around(struct work *w, const struct cleanup_row *row,
                                           struct kc_error *err)
{
        enum kc_status status;
        struct tables_row lookups = {};
        lookups.figure = "V-D: lookup";
        lookups.series = "before cleanup";
        lookups.x_name = "log2 b";
        lookups.x = row->log2b;
        lookups.paper_gpu = &TABLES_K40C;
        KC_TRY(launch_queries(w, w->n, false, err));
        lookups.n = w->nqueries;
        KC_TRY(prepare_full(&w->b->base, w, err));
        KC_TRY(tables_time(w->b, &lookups, NULL, find, w, NULL, err));
        KC_TRY(kc_lsm_cleanup(w->map, err));
        lookups.series = "after cleanup";
        lookups.paper_ops_per_s = 32e6 / 132.5e-3;
        KC_TRY(tables_time(w->b, &lookups, NULL, find, w, NULL, err));
out:
        return status;
}

static enum kc_status bench_cleanup(struct work *w, const struct cleanup_row *row,
                                    struct kc_error *err)
{
        enum kc_status status;
        struct tables_row figure = {};
        char more[64];
        w->batch = scaled(w->b, row->log2r + row->log2b) >> row->log2r;
        w->stale = row->stale;
        size_t n = w->batch * (((size_t)1 << row->log2r) - 1);
        figure.figure = "V-D: cleanup";
        figure.x_name = "stale of a hundred";
        figure.x = row->stale;
        figure.n = n;
        figure.paper_gpu = &TABLES_K40C;
        figure.paper_ops_per_s = row->paper_rate;
        figure.more = more;
        snprintf(more, sizeof more, "\"log2_b\": %d, \"r\": %d", row->log2b, (1 << row->log2r) - 1);
        KC_TRY(take_memory(w, n, n, 1, err));
        KC_TRY(take_events(w, count_batches(w), err));
        KC_TRY(tables_time(w->b, &figure, prepare_full, clean, w, NULL, err));
        if (row == &CLEANUPS[sizeof CLEANUPS / sizeof *CLEANUPS - 1])
                KC_TRY(bench_lookups_around(w, row, err));
out:
        free_memory(w);
        w->stale = 0;
        return status;
}

/* ---- the targets on one H200 */

static const struct {
        const char *figure;
        int asked;
        enum kc_lsm_order order;
        double target;
} TARGETS[] = {
        { "H200: lookup, none existing", 0, KC_LSM_AS_GIVEN, 0 },
        { "H200: lookup, all existing", 1, KC_LSM_AS_GIVEN, 1.3e9 },
        { "H200: lookup, all existing, sorted first", 1, KC_LSM_SORTED_FIRST, 4e9 },
        { "H200: count, L = 8", 2, KC_LSM_AS_GIVEN, 500e6 },
        { "H200: count, L = 1024", 3, KC_LSM_AS_GIVEN, 0 },
        { "H200: range, L = 8", 4, KC_LSM_AS_GIVEN, 200e6 },
        { "H200: range, L = 1024", 5, KC_LSM_AS_GIVEN, 150e6 },
};

static enum kc_status bench_targets(struct work *w, struct kc_error *err)
{
        enum kc_status status;
        size_t n = scaled(w->b, LOG2N_INSERTED);
        w->batch = n >> (LOG2N_INSERTED - TARGET_LOG2B);
        KC_TRY(take_memory(w, n - w->batch, n, npairs_of(w), err));
        KC_TRY(take_events(w, count_batches(w), err));
        KC_TRY(prepare_full(&w->b->base, w, err));
        for (const auto &target : TARGETS) {
                const struct asked *asked = &ASKED[target.asked];
                struct tables_row row = {};
                w->order = target.order;
                if (asked->length == 0)
                        KC_TRY(launch_queries(w, w->n, asked->absent, err));
                else
                        KC_TRY(launch_intervals(w, w->n, asked->length, nqueries_of(w, asked, w->n),
                                                err));
                row.figure = target.figure;
                row.series = "GPU LSM";
                row.x_name = "resident batches";
                row.x = (double)w->map->nbatches;
                row.n = w->nqueries;
                row.target_ops_per_s = target.target;
                KC_TRY(tables_time(w->b, &row, NULL, asked->run, w, NULL, err));
                if (asked->length == 0)
                        KC_TRY(expect_found(w, w->n, asked->absent, err));
        }
out:
        w->order = KC_LSM_AS_GIVEN;
        free_memory(w);
        return status;
}

enum kc_status bench_lsm(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        struct work work = {};
        work.b = b;
        work.gpu = &b->base.gpu;
        KC_TRY(bench_table2(&work, err));
        KC_TRY(bench_tables34(&work, err));
        for (const struct cleanup_row &row : CLEANUPS)
                KC_TRY(bench_cleanup(&work, &row, err));
        KC_TRY(bench_targets(&work, err));
out:
        return status;
}
