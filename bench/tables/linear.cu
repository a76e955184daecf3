/*
 * The simple hash table: the author's table of rates by utilization, 2^27 slots filled with 2^22
 * keys at a time; probe lengths; the author's mix of 64 million insertions and 32 million
 * deletions; and load 0.5 with 2^28 keys of 32 and of 64 bits.
 */
#include "bench/tables/tables.cuh"
#include "gpu/maps/linear/map.cuh"

#include <algorithm>
#include <cstdio>

static const uint64_t NSLOTS = 1 << 27, BATCH_NKEYS = 1 << 22, LARGE_NKEYS = 1 << 28;
enum { NROWS = 31 };

/* The author's milliseconds for 4,194,304 insertions, with 0/32, 1/32, ... of the slots in use. */
static const double PAPER_MS[NROWS] = {
        11.608448, 11.751424, 11.942592, 12.081120, 12.242560, 12.396448,  12.533024,  12.703328,
        12.884512, 13.033472, 13.239296, 13.392448, 13.624000, 13.875520,  14.126528,  14.399328,
        14.690304, 15.039136, 15.478656, 15.985664, 16.668673, 17.587200,  18.690048,  20.278816,
        22.545408, 26.053312, 31.895008, 42.103294, 61.849056, 105.695999, 240.204636,
};

template <class Key> struct job {
        kc_linear_map<Key> *map;
        Key *keys;                  /* [cap] */
        uint32_t *values, *answers; /* [cap] */
        uint64_t cap;
        uint64_t at, n; /* the batch: keys [at, at + n) */
        uint64_t fill;  /* keys inserted before the batch */
};

template <class Key>
static enum kc_status job_new(struct tables_bench *b, job<Key> *j, uint64_t cap, uint64_t nslots,
                              struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &b->base.gpu;
        struct kc_linear_options options = {};
        struct tables_draw draw = { TABLES_UNIQUE, 11, 0, 0, 0 };
        *j = {};
        j->cap = cap;
        options.capacity = nslots;
        KC_TRY(kc_gpu_new(gpu, &j->keys, cap, err));
        KC_TRY(kc_gpu_new(gpu, &j->values, cap, err));
        KC_TRY(kc_gpu_new(gpu, &j->answers, cap, err));
        KC_TRY(tables_keys(gpu, j->keys, cap, &draw, err));
        KC_TRY(tables_values(gpu, j->values, cap, 1, err));
        KC_TRY(kc_linear_new(&j->map, gpu, &options, gpu->stream, err));
out:
        return status;
}

template <class Key> static void job_free(struct tables_bench *b, job<Key> *j)
{
        struct kc_gpu *gpu = &b->base.gpu;
        kc_linear_free(j->map);
        kc_gpu_delete(gpu, j->answers, j->cap);
        kc_gpu_delete(gpu, j->values, j->cap);
        kc_gpu_delete(gpu, j->keys, j->cap);
}

template <class Key> static enum kc_status clear(struct bench *, void *ctx, struct kc_error *err)
{
        return kc_linear_clear(((job<Key> *)ctx)->map, err);
}

/* Prepare a map that holds the first j->fill keys, and no others. */
template <class Key> static enum kc_status fill(struct bench *, void *ctx, struct kc_error *err)
{
        enum kc_status status;
        job<Key> *j = (job<Key> *)ctx;
        KC_TRY(kc_linear_clear(j->map, err));
        KC_TRY(kc_linear_insert(j->map, j->keys, j->values, j->fill, err));
out:
        return status;
}

template <class Key> static enum kc_status insert(struct bench *, void *ctx, struct kc_error *err)
{
        job<Key> *j = (job<Key> *)ctx;
        return kc_linear_insert(j->map, j->keys + j->at, j->values + j->at, j->n, err);
}

template <class Key> static enum kc_status lookup(struct bench *, void *ctx, struct kc_error *err)
{
        job<Key> *j = (job<Key> *)ctx;
        return kc_linear_find(j->map, j->keys + j->at, j->answers, j->n, err);
}

template <class Key> static enum kc_status erase(struct bench *, void *ctx, struct kc_error *err)
{
        job<Key> *j = (job<Key> *)ctx;
        return kc_linear_erase(j->map, j->keys + j->at, j->n, err);
}

/* Probe lengths for keys that are present: mean, maximum and 99th percentile. */
static enum kc_status describe(const job<uint32_t> *j, char *more, size_t size,
                               struct kc_error *err)
{
        enum kc_status status;
        struct kc_linear_stats stats;
        uint64_t below = 0, bucket = 0;
        KC_TRY(kc_linear_get_stats(j->map, &stats, err));
        while (bucket + 1 < KC_LINEAR_NBUCKETS &&
               (below += stats.buckets[bucket]) < stats.nkeys - stats.nkeys / 100)
                bucket++;
        snprintf(more, size,
                 "\"mean_probes\": %.3f, \"most_probes\": %llu, \"p99_probes_below\": %llu",
                 (double)stats.sum / (double)std::max(stats.nkeys, (uint64_t)1),
                 (unsigned long long)stats.most, 1ull << (bucket + 1));
out:
        return status;
}

/* Row i: the batch inserted when i / 32 of the slots are in use. */
static enum kc_status utilization_row(struct tables_bench *b, job<uint32_t> *j, int i,
                                      struct kc_error *err)
{
        enum kc_status status;
        struct tables_row row = {};
        char more[160];
        j->fill = j->at = (uint64_t)i * j->n;
        row.figure = "utilization: insert";
        row.x_name = "utilization";
        row.x = (double)i / 32;
        row.n = j->n;
        row.paper_gpu = &TABLES_GTX1060;
        row.paper_ops_per_s = (double)BATCH_NKEYS / PAPER_MS[i] * 1e3;
        row.more = more;
        KC_TRY(fill<uint32_t>(&b->base, j, err));
        KC_TRY(insert<uint32_t>(&b->base, j, err));
        KC_TRY(describe(j, more, sizeof more, err));
        KC_TRY(tables_time(b, &row, fill<uint32_t>, insert<uint32_t>, j, NULL, err));
        tables_expect(b, "slots used", j->map->nused, j->at + j->n);
        row.figure = "utilization: lookup";
        row.paper_ops_per_s = 0;
        KC_TRY(tables_time(b, &row, NULL, lookup<uint32_t>, j, NULL, err));
out:
        return status;
}

static enum kc_status utilization(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        job<uint32_t> j;
        uint64_t n = tables_scaled(b, BATCH_NKEYS);
        KC_TRY(job_new(b, &j, NROWS * n, NSLOTS / BATCH_NKEYS * n, err));
        j.n = n;
        for (int i = 0; i < NROWS; i++)
                KC_TRY(utilization_row(b, &j, i, err));
out:
        job_free(b, &j);
        return status;
}

/* Insert, look up and delete half; then look up deleted keys. */
template <class Key>
static enum kc_status operations(struct tables_bench *b, job<Key> *j, const struct tables_row *of,
                                 double target_insert, double target_lookup, struct kc_error *err)
{
        enum kc_status status;
        char figure[64];
        struct tables_row row = *of;
        uint64_t all = j->cap;
        row.figure = figure;
        j->at = 0;
        row.n = j->n = all;
        row.target_ops_per_s = target_insert;
        snprintf(figure, sizeof figure, "%s: insert", of->figure);
        KC_TRY(tables_time(b, &row, clear<Key>, insert<Key>, j, NULL, err));
        tables_expect(b, "slots used", j->map->nused, all);
        row.paper_ops_per_s = 0;
        row.target_ops_per_s = target_lookup;
        snprintf(figure, sizeof figure, "%s: lookup", of->figure);
        KC_TRY(tables_time(b, &row, NULL, lookup<Key>, j, NULL, err));
        row.target_ops_per_s = 0;
        row.n = j->n = all / 2;
        row.paper_ops_per_s = of->paper_ops_per_s > 0 ? 500e6 : 0;
        snprintf(figure, sizeof figure, "%s: delete", of->figure);
        KC_TRY(tables_time(b, &row, NULL, erase<Key>, j, NULL, err));
out:
        return status;
}

/* "approximately 300 million inserts / sec and 500 million removals / sec" */
static enum kc_status author_mix(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        job<uint32_t> j;
        uint64_t n = tables_scaled(b, 1 << 26);
        struct tables_row row = { "64 M inserted, 32 M deleted", NULL, "load", 0.5 };
        row.paper_gpu = &TABLES_GTX1060;
        row.paper_ops_per_s = 300e6;
        KC_TRY(job_new(b, &j, n, 2 * n, err));
        KC_TRY(operations(b, &j, &row, 0, 0, err));
out:
        job_free(b, &j);
        return status;
}

template <class Key>
static enum kc_status half_full(struct tables_bench *b, const char *figure, double target_insert,
                                double target_lookup, struct kc_error *err)
{
        enum kc_status status;
        job<Key> j;
        uint64_t n = tables_scaled(b, LARGE_NKEYS);
        struct tables_row row = { figure, NULL, "load", 0.5 };
        KC_TRY(job_new(b, &j, n, 2 * n, err));
        KC_TRY(operations(b, &j, &row, target_insert, target_lookup, err));
out:
        job_free(b, &j);
        return status;
}

enum kc_status bench_linear(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(utilization(b, err));
        KC_TRY(author_mix(b, err));
        KC_TRY(half_full<uint32_t>(b, "2^28 keys", 12.6e9, 25e9, err));
        KC_TRY(half_full<kc_key64>(b, "2^28 keys of 64 bits", 0, 0, err));
out:
        return status;
}
