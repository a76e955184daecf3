/*
 * GLHT's evaluation: figures 9 and 10 (building and retrieving, compared with static tables), 11
 * and 12 (mixed operations, compared with a CPU's hopscotch table and a chained table on the GPU),
 * and the targets on one H200. The paper's text has only ratios, no rates; its cuckoo table is not
 * implemented here.
 */
#include "bench/tables/chained.cuh"
#include "bench/tables/cpu_hopscotch.cuh"
#include "bench/tables/tables.cuh"
#include "gpu/maps/hopscotch/map.cuh"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { THREADS = 256, CHAINED_THREADS = 512 /* as in the paper */ };

static const int GROUPS[] = { 1, 32 };
static const char *const GROUP_NAMES[] = { "GLHT, a thread an operation",
                                           "GLHT, a warp an operation" };
enum { NGROUPS = 2 };

/* ---- static tables: 32 bits of key and of value in a slot ---- */

enum : uint64_t { STATIC_FREE = UINT64_MAX };
enum : uint32_t { STATIC_MAX_PROBES = 1 << 16 };

/* The slot of probe `i`: linear, or quadratic by triangular numbers, which visit all slots. */
KC_HD uint32_t static_slot(uint32_t home, uint32_t i, bool quadratic, uint32_t mask)
{
        return (home + (quadratic ? (uint32_t)((uint64_t)i * (i + 1) / 2) : i)) & mask;
}

__global__ static void static_insert(unsigned long long *slots, uint32_t bits, bool quadratic,
                                     const uint32_t *keys, uint64_t n)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i >= n)
                return;
        const uint32_t key = keys[i], home = kc_hopscotch_split(key, { bits, 0 }).home;
        const uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
        for (uint32_t probe = 0; probe < STATIC_MAX_PROBES; probe++) {
                unsigned long long *slot = &slots[static_slot(home, probe, quadratic, mask)];
                unsigned long long there = *(volatile unsigned long long *)slot;
                if (there == STATIC_FREE)
                        there = atomicCAS(slot, (unsigned long long)STATIC_FREE,
                                          (unsigned long long)key << 32 | (uint32_t)i);
                if (there == STATIC_FREE || there >> 32 == key)
                        return;
        }
}

__global__ static void static_find(const unsigned long long *slots, uint32_t bits, bool quadratic,
                                   const uint32_t *keys, uint64_t n, uint32_t *values)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i >= n)
                return;
        const uint32_t key = keys[i], home = kc_hopscotch_split(key, { bits, 0 }).home;
        const uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
        uint32_t value = UINT32_MAX;
        for (uint32_t probe = 0; probe < STATIC_MAX_PROBES; probe++) {
                unsigned long long there = slots[static_slot(home, probe, quadratic, mask)];
                if (there >> 32 == key && there != STATIC_FREE)
                        value = (uint32_t)there;
                if (there >> 32 == key || there == STATIC_FREE)
                        break;
        }
        values[i] = value;
}

/* ---- shared by the rows ---- */

struct hopscotch_bench {
        struct tables_bench *b;
        struct kc_gpu *gpu;
        uint32_t bits;
        uint64_t n, cap; /* operations; room for them */
        uint32_t *keys;
        uint8_t *ops, *results; /* results: 4 bytes each, also values of static tables */
        struct kc_hopscotch_map *map;
        int group;                 /* lanes per operation of the map */
        char built[64];            /* how the last table was built, for the report */
        unsigned long long *slots; /* of a static table */
        bool quadratic;
        struct chained chained;
        std::vector<chained_node> *fresh; /* the initial nodes of a chained table */
};

/* ---- figures 9 and 10 ---- */

static enum kc_status clear_map(struct bench *, void *ctx, struct kc_error *err)
{
        return kc_hopscotch_clear(((struct hopscotch_bench *)ctx)->map, err);
}

static enum kc_status map_of(struct hopscotch_bench *h, uint64_t nslots, struct kc_error *err)
{
        struct kc_hopscotch_options options = {};
        options.capacity = nslots;
        kc_hopscotch_free(h->map);
        return kc_hopscotch_new(&h->map, h->gpu, &options, h->gpu->stream, err);
}

/* Create an empty table of the initial size. */
static enum kc_status new_map(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        enum kc_status status = map_of(h, UINT64_C(1) << h->bits, err);
        if (status == KC_OK)
                h->map->group = h->group;
        return status;
}

/* *nfull: how many keys find no room. */
static enum kc_status insert_keys(struct hopscotch_bench *h, uint64_t *nfull, struct kc_error *err)
{
        return kc_hopscotch_mixed(h->map, NULL, KC_HOPSCOTCH_INSERT, h->keys, h->n, h->results,
                                  nfull, err);
}

/* If a key finds no room, rebuild with another hash function, as in the paper; if that does not
 * help, in a larger table. All of it is timed. */
static enum kc_status build_map(struct bench *, void *ctx, struct kc_error *err)
{
        enum kc_status status;
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        uint64_t nfull;
        unsigned nbuilt = 1;
        KC_TRY(insert_keys(h, &nfull, err));
        for (; nfull > 0; nbuilt++) {
                KC_TRY(kc_hopscotch_rebuild(h->map, UINT64_C(1) << h->bits, err));
                KC_TRY(insert_keys(h, &nfull, err));
        }
        snprintf(h->built, sizeof h->built, "\"rebuilds\": %u, \"load\": %.3g", nbuilt - 1,
                 (double)h->n / (double)(UINT64_C(1) << h->map->hash.bits));
out:
        return status;
}

static enum kc_status retrieve_map(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        return kc_hopscotch_find(h->map, h->keys, h->results, h->n, err);
}

static enum kc_status clear_static(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        return KC_CUDA(
                cudaMemsetAsync(h->slots, 0xff, sizeof *h->slots << h->bits, h->gpu->stream));
}

static enum kc_status build_static(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        static_insert<<<kc_ceil_div(h->n, THREADS), THREADS, 0, h->gpu->stream>>>(
                h->slots, h->bits, h->quadratic, h->keys, h->n);
        return KC_LAUNCHED();
}

static enum kc_status retrieve_static(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        static_find<<<kc_ceil_div(h->n, THREADS), THREADS, 0, h->gpu->stream>>>(
                h->slots, h->bits, h->quadratic, h->keys, h->n, (uint32_t *)h->results);
        return KC_LAUNCHED();
}

/* Count the results that are KC_HOP_YES. */
static enum kc_status count_yes(struct hopscotch_bench *h, uint64_t *nyes, struct kc_error *err)
{
        enum kc_status status;
        std::vector<uint8_t> results(h->n);
        KC_TRY(KC_CUDA(cudaStreamSynchronize(h->gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpy(results.data(), h->results, h->n, cudaMemcpyDeviceToHost)));
        *nyes = (uint64_t)std::count(results.begin(), results.end(), (uint8_t)KC_HOP_YES);
out:
        return status;
}

static struct tables_row row_of(const struct hopscotch_bench *h, const char *figure,
                                const char *series, const char *x_name, double x)
{
        struct tables_row row = {};
        row.figure = figure;
        row.series = series;
        row.x_name = x_name;
        row.x = x;
        row.n = h->n;
        row.paper_gpu = &TABLES_GTX1080;
        return row;
}

static enum kc_status time_map_statically(struct hopscotch_bench *h, int group,
                                          struct kc_error *err)
{
        enum kc_status status;
        uint64_t nfound;
        const char *series = GROUP_NAMES[group];
        struct tables_row build = row_of(h, "9: build", series, "operations", (double)h->n);
        struct tables_row retrieve = row_of(h, "10: retrieve", series, "operations", (double)h->n);
        build.more = retrieve.more = h->built;
        h->group = GROUPS[group];
        KC_TRY(tables_time(h->b, &build, new_map, build_map, h, NULL, err));
        KC_TRY(tables_time(h->b, &retrieve, NULL, retrieve_map, h, NULL, err));
        KC_TRY(count_yes(h, &nfound, err));
        tables_expect(h->b, "keys found", nfound, h->n);
out:
        return status;
}

static enum kc_status time_static(struct hopscotch_bench *h, bool quadratic, struct kc_error *err)
{
        enum kc_status status;
        std::vector<uint32_t> values(h->n);
        const char *series = quadratic ? "quadratic probing" : "linear probing";
        struct tables_row build = row_of(h, "9: build", series, "operations", (double)h->n);
        struct tables_row retrieve = row_of(h, "10: retrieve", series, "operations", (double)h->n);
        h->quadratic = quadratic;
        KC_TRY(tables_time(h->b, &build, clear_static, build_static, h, NULL, err));
        KC_TRY(tables_time(h->b, &retrieve, NULL, retrieve_static, h, NULL, err));
        KC_TRY(KC_CUDA(cudaMemcpy(values.data(), h->results, h->n * sizeof(uint32_t),
                                  cudaMemcpyDeviceToHost)));
        for (uint32_t i = 0; i < h->n; i++)
                if (values[i] != i) {
                        tables_expect(h->b, "a value", values[i], i);
                        break;
                }
out:
        return status;
}

/* At four fifths of the slots, with distinct keys. */
static enum kc_status bench_static(struct hopscotch_bench *h, uint32_t bits, struct kc_error *err)
{
        enum kc_status status;
        struct tables_draw draw = { TABLES_UNIQUE, bits };
        h->bits = bits;
        h->n = (UINT64_C(1) << bits) / 5 * 4;
        KC_TRY(tables_keys(h->gpu, h->keys, h->n, &draw, err));
        for (int group = 0; group < NGROUPS; group++)
                KC_TRY(time_map_statically(h, group, err));
        KC_TRY(kc_gpu_new(h->gpu, &h->slots, (size_t)1 << bits, err));
        KC_TRY(time_static(h, false, err));
        KC_TRY(time_static(h, true, err));
out:
        kc_gpu_delete(h->gpu, h->slots, (size_t)1 << bits);
        kc_hopscotch_free(h->map);
        h->slots = NULL;
        h->map = NULL;
        return status;
}

/* ---- mixed operations ---- */

/* Percentages of inserts and erases; the others find. And GLHT's speedups over the other tables
 * according to the paper, from and to. */
struct mix {
        const char *figure;
        uint32_t insert, erase;
        double over_cpu[2], over_chained[2], over_chained_made[2];
};

static const struct mix MIXES[] = {
        { "11: [20,20,60]", 20, 20, { 4, 5 }, { 0.33, 1 }, { 200, 200 } },
        { "12: [40,40,20]", 40, 40, { 5, 9 }, { 0.5, 1.1 }, { 200, 400 } },
};

KC_HD uint8_t op_of(uint64_t i, uint32_t insert, uint32_t erase)
{
        uint64_t luck = random_mix(random_mix(i + 1)) % 100;
        return luck < insert           ? KC_HOPSCOTCH_INSERT
               : luck < insert + erase ? KC_HOPSCOTCH_ERASE
                                       : KC_HOPSCOTCH_FIND;
}

__global__ static void make_ops(uint8_t *ops, uint64_t n, uint32_t insert, uint32_t erase)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < n)
                ops[i] = op_of(i, insert, erase);
}

static enum kc_status run_mixed(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        return kc_hopscotch_mixed(h->map, h->ops, KC_HOPSCOTCH_FIND, h->keys, h->n, h->results,
                                  NULL, err);
}

/* Check that the table holds exactly what was inserted and not erased. */
static enum kc_status check_mixed(struct hopscotch_bench *h, uint64_t nkeys, struct kc_error *err)
{
        enum kc_status status;
        const uint64_t size = h->map->size, n = h->n;
        struct tables_draw all = { TABLES_UNIQUE, 1 };
        uint64_t nfound = 0;
        if (nkeys > h->cap)
                return KC_OK;
        h->n = nkeys;
        KC_TRY(tables_keys(h->gpu, h->keys, h->n, &all, err));
        KC_TRY(retrieve_map(NULL, h, err));
        KC_TRY(count_yes(h, &nfound, err));
        tables_expect(h->b, "keys in the table", nfound, size);
out:
        h->n = n;
        return status;
}

/* ---- the chained table ---- */

static size_t chained_nnodes(const struct hopscotch_bench *h)
{
        return ((size_t)1 << h->bits) + h->n;
}

static enum kc_status fill_chained(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        return KC_CUDA(cudaMemcpyAsync(h->chained.nodes, h->fresh->data(),
                                       h->fresh->size() * sizeof(chained_node),
                                       cudaMemcpyHostToDevice, h->gpu->stream));
}

static enum kc_status run_chained(struct bench *, void *ctx, struct kc_error *err)
{
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        chained_kernel<<<kc_ceil_div(h->n, CHAINED_THREADS), CHAINED_THREADS, 0, h->gpu->stream>>>(
                h->chained, h->ops, h->keys, (uint32_t)h->n, h->results);
        return KC_LAUNCHED();
}

/* Allocation on the host and the copy are part of the run. */
static enum kc_status run_chained_anew(struct bench *bench, void *ctx, struct kc_error *err)
{
        enum kc_status status;
        struct hopscotch_bench *h = (struct hopscotch_bench *)ctx;
        std::vector<chained_node> nodes(chained_nnodes(h), { 0, CHAINED_END });
        h->fresh->swap(nodes);
        KC_TRY(kc_gpu_new(h->gpu, &h->chained.nodes, chained_nnodes(h), err));
        KC_TRY(fill_chained(bench, ctx, err));
        KC_TRY(run_chained(bench, ctx, err));
out:
        kc_gpu_delete(h->gpu, h->chained.nodes, chained_nnodes(h));
        h->chained.nodes = NULL;
        return status;
}

/* Check that the lists hold exactly what was inserted and not erased. */
static enum kc_status check_chained(struct hopscotch_bench *h, struct kc_error *err)
{
        enum kc_status status;
        std::vector<chained_node> nodes(chained_nnodes(h));
        std::vector<uint8_t> ops(h->n), results(h->n);
        uint64_t nheld = 0, nleft = 0;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(h->gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpy(nodes.data(), h->chained.nodes, nodes.size() * sizeof nodes[0],
                                  cudaMemcpyDeviceToHost)));
        KC_TRY(KC_CUDA(cudaMemcpy(ops.data(), h->ops, h->n, cudaMemcpyDeviceToHost)));
        KC_TRY(KC_CUDA(cudaMemcpy(results.data(), h->results, h->n, cudaMemcpyDeviceToHost)));
        for (uint32_t bucket = 0; bucket < 1u << h->bits; bucket++)
                for (uint32_t next = nodes[bucket].next; next >> 1 != CHAINED_END >> 1;
                     next = nodes[next >> 1].next)
                        nheld += !(nodes[next >> 1].next & CHAINED_ERASED);
        for (size_t i = 0; i < h->n; i++)
                nleft += ops[i] == KC_HOPSCOTCH_INSERT && results[i]  ? 1
                         : ops[i] == KC_HOPSCOTCH_ERASE && results[i] ? -1
                                                                      : 0;
        tables_expect(h->b, "keys in the chained table", nheld, nleft);
out:
        return status;
}

/* *ms: out, with the nodes allocated before; *made_ms: out, including their allocation. */
static enum kc_status time_chained(struct hopscotch_bench *h, const struct mix *mix, double range,
                                   double *ms, double *made_ms, struct kc_error *err)
{
        enum kc_status status;
        std::vector<chained_node> nodes(chained_nnodes(h), { 0, CHAINED_END });
        struct tables_row row =
                row_of(h, mix->figure, "GPU chained, with allocation", "keys", range);
        h->fresh = &nodes;
        h->chained.bits = h->bits;
        KC_TRY(tables_time(h->b, &row, NULL, run_chained_anew, h, made_ms, err));
        row.series = "GPU chained, without allocation";
        KC_TRY(kc_gpu_new(h->gpu, &h->chained.nodes, chained_nnodes(h), err));
        KC_TRY(tables_time(h->b, &row, fill_chained, run_chained, h, ms, err));
        KC_TRY(check_chained(h, err));
out:
        kc_gpu_delete(h->gpu, h->chained.nodes, chained_nnodes(h));
        h->chained.nodes = NULL;
        return status;
}

/* ---- the CPU ---- */

/* A copy of the device's operations. */
struct cpu_work {
        std::vector<uint8_t> ops;
        std::vector<uint32_t> keys;
};

static enum kc_status download(const struct hopscotch_bench *h, struct cpu_work *work,
                               struct kc_error *err)
{
        enum kc_status status;
        work->ops.resize(h->n);
        work->keys.resize(h->n);
        KC_TRY(KC_CUDA(cudaStreamSynchronize(h->gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpy(work->ops.data(), h->ops, h->n, cudaMemcpyDeviceToHost)));
        KC_TRY(KC_CUDA(cudaMemcpy(work->keys.data(), h->keys, h->n * sizeof(uint32_t),
                                  cudaMemcpyDeviceToHost)));
out:
        return status;
}

/* Milliseconds from when all threads are ready until the last has finished. */
template <class Do>
static double run_threads(const struct cpu_work &work, unsigned nthreads, const Do &do_one)
{
        std::vector<std::thread> threads;
        std::atomic<unsigned> nready(0), ndone(0);
        std::atomic<bool> go(false);
        for (unsigned t = 0; t < nthreads; t++)
                threads.emplace_back([&, t] {
                        nready++;
                        while (!go)
                                std::this_thread::yield();
                        for (size_t i = t; i < work.keys.size(); i += nthreads)
                                (void)do_one((enum kc_hopscotch_op)work.ops[i], work.keys[i]);
                        ndone++;
                });
        while (nready < nthreads)
                std::this_thread::yield();
        auto begin = std::chrono::steady_clock::now();
        go = true;
        while (ndone < nthreads)
                std::this_thread::yield();
        std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        for (std::thread &thread : threads)
                thread.join();
        return took.count();
}

/* clear() is called before each run. */
template <class Clear, class Do>
static double time_threads(struct tables_bench *b, const struct tables_row *row,
                           const struct cpu_work &work, unsigned nthreads, const Clear &clear,
                           const Do &do_one)
{
        struct stage stage = stage_of(row->figure, "operations", 0, row->n);
        for (int i = -1; i < b->base.repeat; i++) {
                clear();
                float ms = (float)run_threads(work, nthreads, do_one);
                if (i >= 0)
                        stage.ms[stage.nruns++] = ms;
        }
        tables_print(b, row, &stage);
        return stage_median_ms(&stage);
}

/* Time the lock-based table, and GLHT's own operations, with nthreads threads. *ms: that of the
 * former. */
static void time_cpu(struct hopscotch_bench *h, const struct tables_row *row,
                     const struct cpu_work &work, unsigned nthreads, double *ms)
{
        char series[64];
        struct tables_row named = *row;
        cpu_hopscotch locked(h->bits);
        std::vector<uint64_t> words((size_t)1 << h->bits);
        const uint32_t mask = (uint32_t)words.size() - 1;
        const kc_hopscotch_hash hash = { h->bits, 0 };
        const uint32_t reach = std::min(mask, (uint32_t)KC_HOPSCOTCH_REACH);
        const kc_hop<kc_lanes<1>, KC_SCOPE_DEVICE> hop = { { words.data(), mask, reach }, {} };
        named.series = series;
        snprintf(series, sizeof series, "CPU lock-based hopscotch, %u threads", nthreads);
        *ms = time_threads(
                h->b, &named, work, nthreads, [&] { locked.clear(); }, std::ref(locked));
        snprintf(series, sizeof series, "GLHT on the CPU, %u threads", nthreads);
        time_threads(
                h->b, &named, work, nthreads, [&] { std::fill(words.begin(), words.end(), 0); },
                [&](enum kc_hopscotch_op op, uint32_t key) {
                        return kc_hopscotch_do(hop, hash, op, key);
                });
}

/* ---- figures 11 and 12 ---- */

static enum kc_status make_mixed(struct hopscotch_bench *h, const struct mix *mix, uint64_t nkeys,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct tables_draw draw = { TABLES_UNIFORM, 1, 0, nkeys };
        KC_TRY(tables_keys(h->gpu, h->keys, h->n, &draw, err));
        make_ops<<<kc_ceil_div(h->n, THREADS), THREADS, 0, h->gpu->stream>>>(
                h->ops, h->n, mix->insert, mix->erase);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Time all group sizes; *ms: that of the fastest. */
static enum kc_status time_mixed(struct hopscotch_bench *h, const struct tables_row *row,
                                 const struct mix *mix, uint64_t nkeys, double *ms,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct tables_row named = *row;
        *ms = 1e30;
        for (int group = 0; group < NGROUPS; group++) {
                double own;
                named.series = GROUP_NAMES[group];
                h->map->group = GROUPS[group];
                KC_TRY(make_mixed(h, mix, nkeys, err));
                KC_TRY(tables_time(h->b, &named, clear_map, run_mixed, h, &own, err));
                *ms = std::min(*ms, own);
                KC_TRY(check_mixed(h, nkeys, err));
        }
out:
        return status;
}

/* 16 threads, the paper's best, and all threads of this machine. Returns the milliseconds of the
 * faster. */
static double time_cpus(struct hopscotch_bench *h, const struct mix *mix, double range,
                        const struct cpu_work &work)
{
        double best = 1e30;
        const unsigned all = std::max(1u, std::thread::hardware_concurrency());
        struct tables_row row = row_of(h, mix->figure, NULL, "keys", range);
        row.paper_gpu = NULL;
        for (unsigned nthreads : { 16u, all }) {
                double ms;
                time_cpu(h, &row, work, nthreads, &ms);
                best = std::min(best, ms);
                if (all == 16)
                        break;
        }
        return best;
}

static void print_ratio(struct hopscotch_bench *h, const struct mix *mix, double range,
                        const char *series, double ratio, const double *paper)
{
        char more[128];
        struct stage none = {};
        struct tables_row row = row_of(h, mix->figure, series, "keys", range);
        snprintf(more, sizeof more,
                 "\"ratio\": %.3g, \"paper_ratio_from\": %.3g, "
                 "\"paper_ratio_to\": %.3g",
                 ratio, paper[0], paper[1]);
        row.more = more;
        tables_print(h->b, &row, &none);
}

/* 100 000 operations on keys from 0 to `range`. */
static enum kc_status bench_mix(struct hopscotch_bench *h, const struct mix *mix, uint64_t range,
                                struct kc_error *err)
{
        enum kc_status status;
        const double x = (double)range;
        double ms, chained_ms, made_ms, cpu_ms;
        struct cpu_work work;
        struct tables_row row = row_of(h, mix->figure, NULL, "keys", x);
        KC_TRY(time_mixed(h, &row, mix, range + 1, &ms, err));
        KC_TRY(make_mixed(h, mix, range + 1, err));
        KC_TRY(time_chained(h, mix, x, &chained_ms, &made_ms, err));
        KC_TRY(download(h, &work, err));
        cpu_ms = time_cpus(h, mix, x, work);
        print_ratio(h, mix, x, "GLHT over CPU hopscotch", cpu_ms / ms, mix->over_cpu);
        print_ratio(h, mix, x, "GLHT over chained without allocation", chained_ms / ms,
                    mix->over_chained);
        print_ratio(h, mix, x, "GLHT over chained with allocation", made_ms / ms,
                    mix->over_chained_made);
out:
        return status;
}

static enum kc_status bench_mixes(struct hopscotch_bench *h, struct kc_error *err)
{
        enum kc_status status;
        h->n = tables_scaled(h->b, 100000);
        for (h->bits = KC_HOPSCOTCH_MIN_BITS; (UINT64_C(1) << h->bits) < h->n * 5 / 4; h->bits++)
                ;
        KC_TRY(map_of(h, UINT64_C(1) << h->bits, err));
        for (const struct mix &mix : MIXES)
                for (uint64_t range : { 100, 1000, 10000, 100000 })
                        KC_TRY(bench_mix(h, &mix, tables_scaled(h->b, range), err));
out:
        kc_hopscotch_free(h->map);
        h->map = NULL;
        return status;
}

/* ---- targets on one H200 ---- */

/* n mixed operations on n keys, in 2n slots. */
static enum kc_status bench_many(struct hopscotch_bench *h, uint64_t n, struct kc_error *err)
{
        enum kc_status status;
        double ms;
        h->n = tables_scaled(h->b, n);
        KC_TRY(map_of(h, 2 * h->n, err));
        h->bits = h->map->hash.bits;
        for (const struct mix &mix : MIXES) {
                char figure[64];
                snprintf(figure, sizeof figure, "many operations %s", strchr(mix.figure, '['));
                struct tables_row row = row_of(h, figure, NULL, "operations", (double)h->n);
                row.target_ops_per_s = 1e9;
                KC_TRY(time_mixed(h, &row, &mix, h->n, &ms, err));
        }
out:
        kc_hopscotch_free(h->map);
        h->map = NULL;
        return status;
}

enum kc_status bench_hopscotch(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        struct hopscotch_bench h = {};
        h.b = b;
        h.gpu = &b->base.gpu;
        h.cap = tables_scaled(b, UINT64_C(1) << 26);
        h.cap = std::max(h.cap, (uint64_t)100001);
        KC_TRY(kc_gpu_new(h.gpu, &h.keys, h.cap, err));
        KC_TRY(kc_gpu_new(h.gpu, &h.ops, h.cap, err));
        KC_TRY(kc_gpu_new(h.gpu, &h.results, 4 * h.cap, err));
        for (uint32_t bits : { 16, 18, 20, 22, 24, 26 })
                if (bits == 16 || bits <= 26 - (unsigned)b->shift)
                        KC_TRY(bench_static(&h, b->shift < 10 ? bits : 10, err));
        KC_TRY(bench_mixes(&h, err));
        for (int log2 : { 22, 24, 26 })
                KC_TRY(bench_many(&h, UINT64_C(1) << log2, err));
out:
        kc_gpu_delete(h.gpu, h.results, 4 * h.cap);
        kc_gpu_delete(h.gpu, h.ops, h.cap);
        kc_gpu_delete(h.gpu, h.keys, h.cap);
        return status;
}
