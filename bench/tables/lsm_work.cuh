/*
 * The data of the LSM's benchmark: elements and queries made from their numbers, an LSM and a
 * sorted array of them, the steps that are timed, and rates over all numbers of batches. Private to
 * lsm.cu.
 */
#ifndef KC_BENCH_LSM_WORK_CUH
#define KC_BENCH_LSM_WORK_CUH

#include "bench/tables/tables.cuh"
#include "gpu/maps/lsm/map_internal.cuh"

#include <cstdio>
#include <vector>

enum { THREADS = 256 };

/* ---- elements and queries */

enum : uint32_t { MASK = KC_LSM_MAX_KEY32, STRIDE = 2654435761u };

/* Key number `number` of a permutation of 31 bits. */
KC_HD uint32_t key_of(uint32_t number)
{
        uint32_t x = number & MASK;
        x = (x ^ x >> 16) * UINT32_C(0x85ebca6b) & MASK;
        x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35) & MASK;
        return x ^ x >> 15;
}

/* Insertions of the keys with numbers first, first + 1, ..., whose values are their numbers. In
 * each hundred, `stale` insert earlier keys again. */
static __global__ void elements_kernel(uint32_t *words, uint32_t *values, uint32_t first,
                                       uint32_t n, uint32_t stale)
{
        uint32_t i = blockIdx.x * THREADS + threadIdx.x;
        if (i >= n)
                return;
        uint32_t number = first + i;
        uint64_t luck = random_mix(number);
        if (number > 0 && luck % 100 < stale)
                number = (uint32_t)(luck >> 32) % number;
        words[i] = kc_lsm_insertion(key_of(number));
        values[i] = number;
}

/* The key number of query i, among m keys from `first` on, in an order unrelated to theirs. */
KC_HD uint32_t number_of(uint32_t i, uint32_t first, uint32_t m)
{
        return first + (uint32_t)((uint64_t)i * STRIDE % m);
}

static __global__ void queries_kernel(uint32_t *keys, uint32_t n, uint32_t first, uint32_t m)
{
        uint32_t i = blockIdx.x * THREADS + threadIdx.x;
        if (i < n)
                keys[i] = key_of(number_of(i, first, m));
}

/* Ranges of the given width at random places. */
static __global__ void intervals_kernel(uint32_t *from, uint32_t *to, uint32_t n, uint32_t width)
{
        uint32_t i = blockIdx.x * THREADS + threadIdx.x;
        if (i >= n)
                return;
        uint32_t room = MASK - (width - 1);
        from[i] = (uint32_t)(random_mix(i) % ((uint64_t)room + 1));
        to[i] = from[i] + (width - 1);
}

/* Count the queries with a wrong value; absent: no key should be found. */
static __global__ void check_kernel(const uint32_t *values, const uint8_t *found, uint32_t n,
                                    uint32_t first, uint32_t m, bool absent,
                                    unsigned long long *nwrong)
{
        uint32_t i = blockIdx.x * THREADS + threadIdx.x;
        if (i < n && (found[i] == absent || (!absent && values[i] != number_of(i, first, m))))
                atomicAdd(nwrong, 1ull);
}

/* ---- what is timed */

struct work {
        struct tables_bench *b;
        struct kc_gpu *gpu;
        struct kc_lsm_map<uint32_t> *map;
        size_t n, batch;          /* elements in the end; elements per batch */
        uint32_t stale;           /* per hundred */
        uint32_t *words, *values; /* [n] device */
        uint32_t *from, *to;      /* [at most nqueries] device; from: also the keys of lookups */
        uint32_t *out;            /* likewise */
        uint8_t *found;
        size_t nqueries, query_cap;
        enum kc_lsm_order order;
        struct kc_lsm_ranges<uint32_t> ranges;
        size_t ranges_cap;                      /* for which its memory was allocated */
        std::vector<cudaEvent_t> events;        /* before the first batch, and after each */
        kc_lsm_map_run<uint32_t> array, merged; /* of the sorted array */
        kc_lsm_level<uint32_t> sorted;
};

static enum kc_status launch_elements(struct work *w, uint32_t stale, struct kc_error *err)
{
        elements_kernel<<<kc_ceil_div(w->n, THREADS), THREADS, 0, w->gpu->stream>>>(
                w->words, w->values, 0, (uint32_t)w->n, stale);
        return KC_LAUNCHED();
}

static enum kc_status launch_queries(struct work *w, size_t m, bool absent, struct kc_error *err)
{
        w->nqueries = std::min(m, w->query_cap);
        queries_kernel<<<kc_ceil_div(w->nqueries, THREADS), THREADS, 0, w->gpu->stream>>>(
                w->from, (uint32_t)w->nqueries, absent ? (uint32_t)w->n : 0, (uint32_t)m);
        return KC_LAUNCHED();
}

/* length: the expected number of keys, of m, in a range. */
static enum kc_status launch_intervals(struct work *w, size_t m, uint64_t length, size_t nqueries,
                                       struct kc_error *err)
{
        uint64_t width = std::min(((uint64_t)MASK + 1) * length / m, (uint64_t)MASK);
        w->nqueries = std::min(nqueries, w->query_cap);
        intervals_kernel<<<kc_ceil_div(w->nqueries, THREADS), THREADS, 0, w->gpu->stream>>>(
                w->from, w->to, (uint32_t)w->nqueries, (uint32_t)std::max(width, (uint64_t)1));
        return KC_LAUNCHED();
}

static inline struct kc_gpu_stream on_gpu(const struct work *w)
{
        return { w->gpu, w->gpu->stream };
}

static void drop_map(struct work *w)
{
        kc_lsm_free(w->map);
        w->map = NULL;
}

static enum kc_status new_map(struct work *w, struct kc_error *err)
{
        struct kc_lsm_options options = {};
        options.batch = w->batch;
        drop_map(w);
        return kc_lsm_new(&w->map, w->gpu, &options, w->gpu->stream, err);
}

static size_t count_batches(const struct work *w)
{
        return (w->n + w->batch - 1) / w->batch;
}

static enum kc_status insert_batch(struct work *w, size_t i, struct kc_error *err)
{
        size_t at = i * w->batch, n = std::min(w->batch, w->n - at);
        return kc_lsm_update(w->map, w->words + at, w->values + at, n, err);
}

static enum kc_status prepare_map(struct bench *, void *ctx, struct kc_error *err)
{
        return new_map((struct work *)ctx, err);
}

/* Insert all batches, with an event after each. */
static enum kc_status insert_all(struct bench *, void *ctx, struct kc_error *err)
{
        enum kc_status status;
        struct work *w = (struct work *)ctx;
        KC_TRY(KC_CUDA(cudaEventRecord(w->events[0], w->gpu->stream)));
        for (size_t i = 0; i * w->batch < w->n; i++) {
                KC_TRY(insert_batch(w, i, err));
                KC_TRY(KC_CUDA(cudaEventRecord(w->events[i + 1], w->gpu->stream)));
        }
out:
        return status;
}

static enum kc_status build(struct bench *, void *ctx, struct kc_error *err)
{
        struct work *w = (struct work *)ctx;
        return kc_lsm_build(w->map, w->words, w->values, w->n, err);
}

static enum kc_status find(struct bench *, void *ctx, struct kc_error *err)
{
        struct work *w = (struct work *)ctx;
        return kc_lsm_retrieve(w->map, w->from, w->out, w->nqueries, w->order, w->found, err);
}

static enum kc_status count(struct bench *, void *ctx, struct kc_error *err)
{
        struct work *w = (struct work *)ctx;
        return kc_lsm_count(w->map, w->from, w->to, w->ranges.counts, w->nqueries, err);
}

static enum kc_status range(struct bench *, void *ctx, struct kc_error *err)
{
        struct work *w = (struct work *)ctx;
        return kc_lsm_range(w->map, w->from, w->to, w->nqueries, &w->ranges, err);
}

static enum kc_status clean(struct bench *, void *ctx, struct kc_error *err)
{
        return kc_lsm_cleanup(((struct work *)ctx)->map, err);
}

static enum kc_status prepare_full(struct bench *bench, void *ctx, struct kc_error *err)
{
        enum kc_status status = prepare_map(bench, ctx, err);
        return status == KC_OK ? insert_all(bench, ctx, err) : status;
}

/* Sort a batch and merge it into w->array. */
static enum kc_status insert_to_array(struct work *w, struct kc_error *err)
{
        kc_lsm_map_run<uint32_t> sorted = w->array.n == 0 ? w->merged : w->sorted.run;
        enum kc_status status = kc_lsm_sort(w->map, w->words, w->values, w->batch, &w->sorted,
                                            &sorted, (uint32_t *)NULL, err);
        if (status != KC_OK || w->array.n == 0)
                return status;
        return kc_lsm_merge(w->map, &sorted, &w->array, &w->merged, (uint32_t *)NULL, err);
}

/* ---- rates over all r */

struct rates {
        double min, max, ms, n;
};

static void add_rate(struct rates *rates, double n, double ms)
{
        double rate = n / ms;
        rates->min = rates->n > 0 ? std::min(rates->min, rate) : rate;
        rates->max = std::max(rates->max, rate);
        rates->ms += ms / n; /* for the harmonic mean, with equal weight for all r */
        rates->n += 1;
}

/* Millions of operations per second, as in the paper's tables; 0: not reported. */
struct paper_rates {
        double min, max, mean;
};

static void print_rate(struct tables_bench *b, struct tables_row *row, const char *series,
                       double rate, double paper)
{
        struct stage stage = stage_of(row->figure, "operations", 0, 1000000);
        stage.nruns = 1;
        stage.ms[0] = (float)(1e6 / rate);
        row->n = stage.n;
        row->series = series;
        row->paper_ops_per_s = paper * 1e6;
        tables_print(b, row, &stage);
}

static void print_rates(struct tables_bench *b, const char *figure, bool array, int x,
                        const struct rates *rates, const struct paper_rates *paper, double target)
{
        struct tables_row row = {};
        row.figure = figure;
        row.x_name = "log2 b";
        row.x = x;
        row.paper_gpu = &TABLES_K40C;
        if (!array || paper->min > 0)
                print_rate(b, &row, array ? "GPU SA, min" : "GPU LSM, min", rates->min, paper->min);
        if (!array || paper->max > 0)
                print_rate(b, &row, array ? "GPU SA, max" : "GPU LSM, max", rates->max, paper->max);
        row.target_ops_per_s = target;
        print_rate(b, &row, array ? "GPU SA, mean" : "GPU LSM, mean", rates->n / rates->ms,
                   paper->mean);
}

/* One warm-up run, one timed run. */
static enum kc_status time_once(struct work *w, stage_step run, double *ms, struct kc_error *err)
{
        int repeat = w->b->base.repeat;
        struct stage stage = stage_of("", "operations", 0, 0);
        w->b->base.repeat = 1;
        enum kc_status status = stage_time(&w->b->base, &stage, NULL, run, w, err);
        w->b->base.repeat = repeat;
        *ms = status == KC_OK ? stage_median_ms(&stage) : 0;
        return status;
}

/* All sizes are scaled by the same factor, so that r does not change, as long as a batch has at
 * least 64 elements. */
static size_t scaled(const struct tables_bench *b, int log2n)
{
        enum { MIN_LOG2 = 10 };
        return (size_t)1 << std::max(log2n - b->shift, std::min(log2n, (int)MIN_LOG2));
}

/* The same for ranges, each of which takes much longer. */
static size_t scaled_ranges(const struct tables_bench *b, int log2n)
{
        enum { MIN_LOG2 = 5 };
        return (size_t)1 << std::max(log2n - b->shift, (int)MIN_LOG2);
}

static size_t scaled_batch(size_t n, int log2n, int log2b)
{
        return std::min(n, std::max(n >> (log2n - log2b), (size_t)64));
}

/* ---- memory */

static enum kc_status take_memory(struct work *w, size_t n, size_t nqueries, size_t npairs,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = w->gpu;
        w->n = n;
        w->query_cap = nqueries;
        w->ranges_cap = npairs;
        w->ranges.cap = npairs;
        KC_TRY(kc_gpu_new(gpu, &w->words, n, err));
        KC_TRY(kc_gpu_new(gpu, &w->values, n, err));
        KC_TRY(kc_gpu_new(gpu, &w->from, nqueries, err));
        KC_TRY(kc_gpu_new(gpu, &w->to, nqueries, err));
        KC_TRY(kc_gpu_new(gpu, &w->out, nqueries, err));
        KC_TRY(kc_gpu_new(gpu, &w->found, nqueries, err));
        KC_TRY(kc_gpu_new(gpu, &w->ranges.keys, npairs, err));
        KC_TRY(kc_gpu_new(gpu, &w->ranges.values, npairs, err));
        KC_TRY(kc_gpu_new(gpu, &w->ranges.starts, nqueries + 1, err));
        KC_TRY(kc_gpu_new(gpu, &w->ranges.counts, nqueries, err));
        KC_TRY(launch_elements(w, w->stale, err));
out:
        return status;
}

static void free_memory(struct work *w)
{
        struct kc_gpu *gpu = w->gpu;
        drop_map(w);
        kc_gpu_delete(gpu, w->words, w->n);
        kc_gpu_delete(gpu, w->values, w->n);
        kc_gpu_delete(gpu, w->from, w->query_cap);
        kc_gpu_delete(gpu, w->to, w->query_cap);
        kc_gpu_delete(gpu, w->out, w->query_cap);
        kc_gpu_delete(gpu, w->found, w->query_cap);
        kc_gpu_delete(gpu, w->ranges.keys, w->ranges_cap);
        kc_gpu_delete(gpu, w->ranges.values, w->ranges_cap);
        kc_gpu_delete(gpu, w->ranges.starts, w->query_cap + 1);
        kc_gpu_delete(gpu, w->ranges.counts, w->query_cap);
        for (cudaEvent_t event : w->events)
                (void)cudaEventDestroy(event);
        w->events.clear();
}

/* Create events for nsteps steps, and one before the first. */
static enum kc_status take_events(struct work *w, size_t nsteps, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        while (w->events.size() < nsteps + 1) {
                cudaEvent_t event;
                KC_TRY(KC_CUDA(cudaEventCreate(&event)));
                w->events.push_back(event);
        }
out:
        return status;
}

/* ---- results */

static enum kc_status expect_found(struct work *w, size_t m, bool absent, struct kc_error *err)
{
        enum kc_status status;
        unsigned long long *nwrong = NULL, n = 0;
        uint32_t first = absent ? (uint32_t)w->n : 0;
        KC_TRY(kc_gpu_new(w->gpu, &nwrong, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(nwrong, 0, sizeof *nwrong, w->gpu->stream)));
        check_kernel<<<kc_ceil_div(w->nqueries, THREADS), THREADS, 0, w->gpu->stream>>>(
                w->out, w->found, (uint32_t)w->nqueries, first, (uint32_t)m, absent, nwrong);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(&n, nwrong, sizeof n, cudaMemcpyDeviceToHost, w->gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(w->gpu->stream)));
        tables_expect(w->b, absent ? "absent keys found" : "wrong values found", n, 0);
out:
        kc_gpu_delete(w->gpu, nwrong, 1);
        return status;
}

#endif
