/*
 * Slab hash and SlabAlloc: the rate of allocation, figures 4 to 7, and the targets on an H200.
 *
 * As in the paper, insertions keep keys unique (REPLACE), and the pool is contiguous, with 32 super
 * blocks of 256 memory blocks, unless a row says otherwise. A row's memory utilization is measured.
 * The paper's text has peaks and means, which are given beside their rows; its curves are only
 * drawings.
 *
 * Source: Ashkiani et al., A Dynamic Hash Table for the GPU (2018), sections V and VI.
 */
#include "bench/gpu/workload.cuh"
#include "bench/tables/tables.cuh"
#include "gpu/maps/slab/map.cuh"

#include <cstdio>

enum { SEED = 7, NEW = 1, ABSENT = 2, THREADS = 256 };

/* From the paper's text: peaks from 19 to 60 % (VI-A), harmonic means over sizes (figure 5), about
 * 90 % (VI-C), V. */
static const double PAPER_INSERT = 512e6, PAPER_SEARCH = 937e6, PAPER_ALL = 861e6,
                    PAPER_NONE = 793e6, PAPER_CROWDED = 100e6, PAPER_ALLOC = 600e6;
static const double TARGET_INSERT = 9.1e9, TARGET_SEARCH = 16.5e9;
static const double LOADS[] = {
        0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 5, 8, 12
};

/* A map, and n operations on it. */
template <class Layout> struct hash_work {
        typedef typename Layout::key key;
        struct tables_bench *bench;
        struct kc_slab_map<Layout> *map;
        struct kc_slab_options options;
        uint64_t n, batch;  /* operations; operations per kernel, the last of which may have
                               fewer */
        key *keys, *absent; /* [n] each: keys to insert, and others */
        uint32_t *values, *results;
        uint8_t *kinds;
        struct kc_slab_ops<Layout> ops;
};

/* ---- setting up */

template <class Layout> static struct kc_gpu *gpu_of(struct hash_work<Layout> *work)
{
        return &work->bench->base.gpu;
}

static struct kc_slab_pool_params paper_pool(const struct tables_bench *b, bool light)
{
        struct kc_slab_pool_params pool = {};
        pool.nsupers = b->shift < 6 ? 32u >> b->shift : 1;
        pool.nblocks = b->shift < 9 ? 256u >> b->shift : 1;
        pool.nsupers = pool.nsupers > 0 ? pool.nsupers : 1;
        pool.nblocks = pool.nblocks > 0 ? pool.nblocks : 1;
        pool.light = light;
        return pool;
}

template <class Layout>
static enum kc_status make_keys(struct hash_work<Layout> *work, enum tables_kind kind,
                                struct kc_error *err)
{
        enum kc_status status;
        struct tables_draw draw = { kind, SEED, 0, 0, 0 };
        struct tables_draw others = { TABLES_UNIQUE, SEED, 4 * work->n, 0, 0 };
        KC_TRY(tables_keys(gpu_of(work), work->keys, work->n, &draw, err));
        KC_TRY(tables_keys(gpu_of(work), work->absent, work->n, &others, err));
        KC_TRY(tables_values(gpu_of(work), work->values, work->n, SEED, err));
out:
        return status;
}

template <class Layout> static void work_free(struct hash_work<Layout> *work)
{
        struct kc_gpu *gpu = gpu_of(work);
        kc_slab_free(work->map);
        kc_gpu_delete(gpu, work->keys, work->n);
        kc_gpu_delete(gpu, work->absent, work->n);
        kc_gpu_delete(gpu, work->values, work->n);
        kc_gpu_delete(gpu, work->results, work->n);
        kc_gpu_delete(gpu, work->kinds, work->n);
}

template <class Layout>
static enum kc_status work_new(struct hash_work<Layout> *work, struct tables_bench *b, uint64_t n,
                               enum tables_kind kind, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &b->base.gpu;
        *work = {};
        work->bench = b;
        work->n = work->batch = n;
        work->options.pool = paper_pool(b, true);
        KC_TRY(kc_gpu_new(gpu, &work->keys, n, err));
        KC_TRY(kc_gpu_new(gpu, &work->absent, n, err));
        KC_TRY(kc_gpu_new(gpu, &work->values, n, err));
        KC_TRY(kc_gpu_new(gpu, &work->results, n, err));
        KC_TRY(kc_gpu_new(gpu, &work->kinds, n, err));
        KC_TRY(make_keys(work, kind, err));
out:
        return status;
}

/* An empty map for the keys, with nlists lists. */
template <class Layout>
static enum kc_status new_map(struct hash_work<Layout> *work, uint32_t nlists, struct kc_error *err)
{
        kc_slab_free(work->map);
        work->options.nlists = nlists;
        return kc_slab_new(&work->map, gpu_of(work), &work->options, gpu_of(work)->stream, err);
}

/* ---- what is timed */

template <class Layout> static enum kc_status clear(struct bench *, void *ctx, struct kc_error *err)
{
        return kc_slab_clear(((struct hash_work<Layout> *)ctx)->map, err);
}

/* The operations, batch by batch. */
template <class Layout> static enum kc_status run(struct bench *, void *ctx, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct hash_work<Layout> *work = (struct hash_work<Layout> *)ctx;
        for (uint64_t i = 0; i < work->ops.n; i += work->batch) {
                struct kc_slab_ops<Layout> ops = work->ops;
                ops.n = std::min(work->batch, work->ops.n - i);
                ops.keys += i;
                ops.values = ops.values != NULL ? ops.values + i : NULL;
                KC_TRY(kc_slab_run(work->map, &ops, err));
        }
out:
        return status;
}

template <class Layout>
static void set_ops(struct hash_work<Layout> *work, enum kc_slab_kind kind,
                    const typename Layout::key *keys, uint64_t n)
{
        work->ops = {};
        work->ops.kind = kind;
        work->ops.n = n;
        work->ops.keys = keys;
        if (kind == KC_SLAB_SEARCH)
                work->ops.results = work->results;
        else if (kind == KC_SLAB_REPLACE)
                work->ops.values = work->values;
}

template <class Layout>
static enum kc_status insert_keys(struct hash_work<Layout> *work, uint64_t n, struct kc_error *err)
{
        set_ops(work, KC_SLAB_REPLACE, work->keys, n);
        return run<Layout>(&work->bench->base, work, err);
}

/* ---- rows */

static struct tables_row row_of(const char *figure, const char *series, uint64_t n, double paper)
{
        struct tables_row row = {};
        row.figure = figure;
        row.series = series;
        row.n = n;
        row.paper_gpu = &TABLES_K40C;
        row.paper_ops_per_s = paper;
        return row;
}

template <class Layout>
static enum kc_status measure(struct hash_work<Layout> *work, uint64_t nelements,
                              struct kc_slab_stats *stats, struct kc_error *err)
{
        enum kc_status status = kc_slab_measure(work->map, stats, err);
        if (status == KC_OK)
                tables_expect(work->bench, "elements", stats->nelements, nelements);
        return status;
}

/* Sum the results of searches, to check them: the values that are present, or nothing. */
__global__ static void sum_kernel(const uint32_t *values, uint64_t n, unsigned long long *sum)
{
        unsigned long long own = 0;
        for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < n;
             i += (uint64_t)gridDim.x * THREADS)
                own += values[i];
        atomicAdd(sum, own);
}

template <class Layout>
static enum kc_status expect_sum(struct hash_work<Layout> *work, const uint32_t *wanted,
                                 struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = gpu_of(work)->stream;
        unsigned long long *sums = NULL, host[2];
        unsigned grid = std::min(kc_ceil_div(work->n, THREADS), 512u);
        KC_TRY(kc_gpu_new(gpu_of(work), &sums, 2, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(sums, 0, sizeof host, stream)));
        sum_kernel<<<grid, THREADS, 0, stream>>>(work->results, work->n, sums);
        if (wanted != NULL)
                sum_kernel<<<grid, THREADS, 0, stream>>>(wanted, work->n, sums + 1);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemcpyAsync(host, sums, sizeof host, cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        tables_expect(work->bench, "sum of the values found", host[0], host[1]);
out:
        kc_gpu_delete(gpu_of(work), sums, 2);
        return status;
}

/* Three rows: build, search for keys that are present, search for absent keys. names[]: the
 * figures; papers[] and targets[]: the rates to compare with. */
struct three_rows {
        const char *names[3], *series;
        double papers[3], targets[3];
        bool by_utilization; /* x; else the number of elements */
};

template <class Layout>
static enum kc_status build_and_search(struct hash_work<Layout> *work,
                                       const struct three_rows *rows, uint32_t nlists,
                                       struct kc_error *err)
{
        enum kc_status status;
        struct kc_slab_stats stats;
        char more[128];
        KC_TRY(new_map(work, nlists, err));
        KC_TRY(insert_keys(work, work->n, err));
        KC_TRY(measure(work, work->n, &stats, err));
        snprintf(more, sizeof more, "\"utilization\": %.4f, \"lists\": %u, \"mean_slabs\": %.4f",
                 stats.utilization, nlists, (double)stats.nslabs / nlists);
        for (int i = 0; i < 3; i++) {
                struct tables_row row =
                        row_of(rows->names[i], rows->series, work->n, rows->papers[i]);
                bool peak = stats.utilization >= 0.19 && stats.utilization <= 0.6;
                row.paper_ops_per_s = rows->by_utilization && !peak ? 0 : rows->papers[i];
                row.x_name = rows->by_utilization ? "utilization" : "elements";
                row.x = rows->by_utilization ? stats.utilization : (double)work->n;
                row.target_ops_per_s = rows->targets[i];
                row.more = more;
                set_ops(work, i == 0 ? KC_SLAB_REPLACE : KC_SLAB_SEARCH,
                        i == 2 ? work->absent : work->keys, work->n);
                KC_TRY(tables_time(work->bench, &row, i == 0 ? clear<Layout> : NULL, run<Layout>,
                                   work, NULL, err));
                if (i > 0)
                        KC_TRY(expect_sum(work, i == 1 ? work->values : NULL, err));
        }
out:
        return status;
}

/* ---- SlabAlloc */

struct allocation {
        struct kc_slab_pool pool;
        uint32_t *addresses;
        uint64_t n;
        int at_a_time;
};

static enum kc_status clear_pool(struct bench *, void *ctx, struct kc_error *err)
{
        return kc_slab_pool_clear(&((struct allocation *)ctx)->pool, err);
}

static enum kc_status take(struct bench *, void *ctx, struct kc_error *err)
{
        struct allocation *a = (struct allocation *)ctx;
        return kc_slab_pool_take(&a->pool, a->addresses, a->n, a->at_a_time, err);
}

/* Allocate a million slabs, one per thread. */
static enum kc_status bench_alloc(struct tables_bench *b, bool light, int at_a_time,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct allocation a = {};
        struct kc_slab_pool_params params = paper_pool(b, light);
        struct tables_row row;
        char series[64];
        uint64_t nused;
        a.n = tables_scaled(b, 1000000);
        a.at_a_time = at_a_time;
        snprintf(series, sizeof series, "%s, %d at a time", light ? "light" : "regular", at_a_time);
        row = row_of("V: slabs taken", series, a.n, PAPER_ALLOC);
        KC_TRY(kc_gpu_new(&b->base.gpu, &a.addresses, a.n, err));
        KC_TRY(kc_slab_pool_init(&a.pool, { &b->base.gpu, b->base.gpu.stream }, &params, err));
        KC_TRY(tables_time(b, &row, clear_pool, take, &a, NULL, err));
        KC_TRY(kc_slab_pool_nused(&a.pool, &nused, err));
        tables_expect(b, "slabs in use", nused, a.n);
out:
        kc_slab_pool_free(&a.pool);
        kc_gpu_delete(&b->base.gpu, a.addresses, a.n);
        return status;
}

/* ---- figures 4 and 5 */

static enum kc_status figure_4(struct tables_bench *b, int nlanes, bool light, struct kc_error *err)
{
        enum kc_status status;
        struct hash_work<kc_slab_pair32> work;
        char series[64];
        snprintf(series, sizeof series, "%s, %d lanes", light ? "light" : "regular", nlanes);
        struct three_rows rows = { { "4a: build", "4b: search all", "4b: search none" },
                                   series,
                                   { PAPER_INSERT, PAPER_SEARCH, PAPER_SEARCH },
                                   {},
                                   true };
        KC_TRY(work_new(&work, b, tables_scaled(b, 1 << 22), TABLES_UNIQUE, err));
        work.options.nlanes = nlanes;
        work.options.pool.light = light;
        for (double load : LOADS)
                KC_TRY(build_and_search(&work, &rows, kc_slab_nlists<kc_slab_pair32>(work.n, load),
                                        err));
out:
        work_free(&work);
        return status;
}

/* At 60 % utilization, where lists have 0.7 full slabs. */
static enum kc_status figure_5(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct three_rows rows = { { "5a: build", "5b: search all", "5b: search none" },
                                   NULL,
                                   { 0, PAPER_ALL, PAPER_NONE },
                                   {},
                                   false };
        for (int log2 = 16; log2 <= 27; log2++) {
                struct hash_work<kc_slab_pair32> work;
                uint64_t n = tables_scaled(b, (uint64_t)1 << log2);
                status = work_new(&work, b, n, TABLES_UNIQUE, err);
                if (status == KC_OK)
                        status = build_and_search(&work, &rows,
                                                  kc_slab_nlists<kc_slab_pair32>(n, 0.7), err);
                work_free(&work);
                if (status != KC_OK)
                        break;
        }
        return status;
}

/* ---- figure 6: batches, up to 2 million elements, at 65 % in the end */

/* Effective rate: all elements so far over the total time so far. */
static enum kc_status batches(struct hash_work<kc_slab_pair32> *work, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_slab_stats stats;
        char series[64];
        snprintf(series, sizeof series, "batches of %u", (unsigned)work->batch);
        for (int eighths = 1; eighths <= 8; eighths++) {
                uint64_t n = work->n / 8 * (unsigned)eighths;
                struct tables_row row = row_of("6: batches", series, n, 0);
                row.x_name = "elements";
                row.x = (double)n;
                set_ops(work, KC_SLAB_REPLACE, work->keys, n);
                KC_TRY(tables_time(work->bench, &row, clear<kc_slab_pair32>, run<kc_slab_pair32>,
                                   work, NULL, err));
                KC_TRY(measure(work, n, &stats, err));
        }
out:
        return status;
}

static enum kc_status figure_6(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        struct hash_work<kc_slab_pair32> work;
        KC_TRY(work_new(&work, b, tables_scaled(b, 2 << 20), TABLES_UNIQUE, err));
        KC_TRY(new_map(&work, kc_slab_nlists<kc_slab_pair32>(work.n, 0.75), err));
        for (uint64_t batch : { 32 << 10, 64 << 10, 128 << 10 }) {
                work.batch = tables_scaled(b, batch);
                KC_TRY(batches(&work, err));
        }
out:
        work_free(&work);
        return status;
}

/* ---- figure 7: mixed operations */

struct mix {
        const char *name;
        unsigned percent[4]; /* new keys, deletions, searches for present keys, and for absent
                                ones */
};

static const struct mix MIXES[] = { { "100 % updates", { 50, 50, 0, 0 } },
                                    { "40 % updates", { 20, 20, 30, 30 } },
                                    { "20 % updates", { 10, 10, 40, 40 } } };

/* Operation i of n, of a random kind; deletions have distinct keys; insertions take keys from the
 * second half of `absent`. */
template <class Key>
__global__ static void mix_kernel(Key *keys, uint8_t *kinds, uint64_t n, const Key *there,
                                  uint64_t nthere, const Key *absent, struct mix mix)
{
        uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x;
        if (i >= n)
                return;
        uint64_t luck = random_mix(i + 1);
        unsigned percent = (unsigned)(luck % 100), kind = 0;
        for (; kind < 3 && percent >= mix.percent[kind]; kind++)
                percent -= mix.percent[kind];
        kinds[i] = kind == 0 ? KC_SLAB_REPLACE : kind == 1 ? KC_SLAB_DELETE : KC_SLAB_SEARCH;
        keys[i] = kind == 0   ? absent[n + i]
                  : kind == 1 ? there[i]
                  : kind == 2 ? there[(luck >> 8) % nthere]
                              : absent[i];
}

/* Build the map for the operations: all keys except the last quarter, whose place the operations
 * take. */
template <class Layout>
static enum kc_status prepare_mix(struct bench *, void *ctx, struct kc_error *err)
{
        enum kc_status status;
        struct hash_work<Layout> *work = (struct hash_work<Layout> *)ctx;
        struct kc_slab_ops<Layout> ops = work->ops;
        KC_TRY(kc_slab_clear(work->map, err));
        KC_TRY(insert_keys(work, work->n / 4 * 3, err));
        work->ops = ops;
out:
        return status;
}

template <class Layout>
static enum kc_status bench_mix(struct hash_work<Layout> *work, const char *figure,
                                const struct mix &mix, uint32_t nlists, bool by_utilization,
                                struct kc_error *err)
{
        enum kc_status status;
        struct kc_slab_stats stats;
        uint64_t n = work->n / 4;
        struct tables_row row = row_of(figure, mix.name, n, 0);
        KC_TRY(new_map(work, nlists, err));
        KC_TRY(prepare_mix<Layout>(NULL, work, err));
        KC_TRY(measure(work, work->n / 4 * 3, &stats, err));
        mix_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, gpu_of(work)->stream>>>(
                work->keys + 3 * n, work->kinds, n, work->keys, 3 * n, work->absent, mix);
        KC_TRY(KC_LAUNCHED());
        set_ops(work, KC_SLAB_REPLACE, work->keys + 3 * n, n);
        work->ops.kinds = work->kinds;
        work->ops.results = work->results;
        if (by_utilization && stats.utilization > 0.88)
                row.paper_ops_per_s = PAPER_CROWDED;
        row.x_name = by_utilization ? "utilization" : "lists";
        row.x = by_utilization ? stats.utilization : nlists;
        KC_TRY(tables_time(work->bench, &row, prepare_mix<Layout>, run<Layout>, work, NULL, err));
out:
        return status;
}

static enum kc_status figure_7a(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        struct hash_work<kc_slab_pair32> work;
        KC_TRY(work_new(&work, b, tables_scaled(b, 1 << 22), TABLES_UNIQUE, err));
        for (const struct mix &mix : MIXES)
                for (double load : LOADS)
                        KC_TRY(bench_mix(&work, "7a: mixed", mix,
                                         kc_slab_nlists<kc_slab_pair32>(work.n / 4 * 3, load), true,
                                         err));
out:
        work_free(&work);
        return status;
}

/* A million operations on keys without values, because the paper's other table there has none. */
static enum kc_status figure_7b(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        struct hash_work<kc_slab_key32> work;
        KC_TRY(work_new(&work, b, tables_scaled(b, 4 << 20), TABLES_UNIQUE, err));
        for (const struct mix &mix : MIXES)
                for (uint64_t nlists = 1 << 14; nlists <= 1 << 20; nlists *= 4)
                        KC_TRY(bench_mix(&work, "7b: mixed, keys alone", mix,
                                         (uint32_t)tables_scaled(b, nlists), false, err));
out:
        work_free(&work);
        return status;
}

/* ---- H200 */

/* 2^26 elements at 55 to 65 %. */
template <class Layout>
static enum kc_status targets(struct tables_bench *b, const char *series, int nlanes, bool light,
                              struct kc_error *err)
{
        enum kc_status status;
        struct hash_work<Layout> work;
        struct three_rows rows = { { "H200: insert", "H200: search all", "H200: search none" },
                                   series,
                                   {},
                                   { TARGET_INSERT, TARGET_SEARCH, TARGET_SEARCH },
                                   true };
        KC_TRY(work_new(&work, b, tables_scaled(b, 1 << 26), TABLES_UNIQUE, err));
        work.options.nlanes = nlanes;
        work.options.pool.light = light;
        KC_TRY(build_and_search(&work, &rows, kc_slab_nlists<Layout>(work.n, 0.7), err));
out:
        work_free(&work);
        return status;
}

/* Check that the map's values add up to the number of operations. */
template <class Layout>
static enum kc_status expect_total(struct hash_work<Layout> *work,
                                   const struct kc_slab_stats *stats, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = gpu_of(work);
        uint64_t n = 0;
        unsigned long long *sum = NULL, host = 0;
        KC_TRY(kc_gpu_new(gpu, &sum, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, gpu->stream)));
        KC_TRY(kc_slab_export_lists(work->map, work->absent, work->values, NULL, work->n, &n, err));
        sum_kernel<<<512, THREADS, 0, gpu->stream>>>(work->values, n, sum);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(
                cudaMemcpyAsync(&host, sum, sizeof host, cudaMemcpyDeviceToHost, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
        tables_expect(work->bench, "elements exported", n, stats->nelements);
        tables_expect(work->bench, "sum of the counts", host, work->n);
out:
        kc_gpu_delete(gpu, sum, 1);
        return status;
}

/* Counting k-mers that occur 30 times, a tenth of them once: insert or add. */
template <class Layout>
static enum kc_status counting(struct tables_bench *b, const char *series, struct kc_error *err)
{
        enum kc_status status;
        struct hash_work<Layout> work;
        struct kc_slab_stats stats;
        struct tables_row row = row_of("H200: counting", series, tables_scaled(b, 1 << 28), 0);
        KC_TRY(work_new(&work, b, row.n, TABLES_READS, err));
        KC_TRY(new_map(&work, kc_slab_nlists<Layout>(work.n * 13 / 100, 0.7), err));
        set_ops(&work, KC_SLAB_ADD, work.keys, work.n);
        KC_TRY(tables_time(b, &row, clear<Layout>, run<Layout>, &work, NULL, err));
        KC_TRY(kc_slab_measure(work.map, &stats, err));
        KC_TRY(expect_total(&work, &stats, err));
out:
        work_free(&work);
        return status;
}

enum kc_status bench_slab(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        for (bool light : { false, true })
                for (int at_a_time : { 1, 32 })
                        KC_TRY(bench_alloc(b, light, at_a_time, err));
        KC_TRY(figure_4(b, 4, true, err));
        KC_TRY(figure_4(b, 4, false, err));
        KC_TRY(figure_4(b, 8, true, err));
        KC_TRY(figure_5(b, err));
        KC_TRY(figure_6(b, err));
        KC_TRY(figure_7a(b, err));
        KC_TRY(figure_7b(b, err));
        KC_TRY(targets<kc_slab_pair32>(b, "4 lanes", 4, true, err));
        KC_TRY(targets<kc_slab_pair32>(b, "4 lanes, regular", 4, false, err));
        KC_TRY(targets<kc_slab_pair32>(b, "8 lanes", 8, true, err));
        KC_TRY(targets<kc_slab_pair64>(b, "keys of 64 bits, 4 lanes", 4, true, err));
        KC_TRY(targets<kc_slab_pair64>(b, "keys of 64 bits, 8 lanes", 8, true, err));
        KC_TRY(counting<kc_slab_pair32>(b, "keys of 32 bits", err));
        KC_TRY(counting<kc_slab_pair64>(b, "keys of 64 bits", err));
out:
        return status;
}
