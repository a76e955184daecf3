/*
 * WarpDrive: figures 7 and 8, insert and retrieve by load and |g| with unique and with Zipf keys of
 * 32 + 32 bits; then keys of 64 bits, counting, and both in bulk.
 *
 * The figures are drawings. The paper's text says: 1.4e9 insertions per second at load 0.95 with
 * the best |g| (abstract), at most 2.7e9 insertions and 5.5e9 retrievals, 3.5e9 at high loads
 * (section VI). Zipf: s = 1 + 1e-6; the paper does not give the number of ranks, here as many as
 * keys.
 */
#include "bench/tables/tables.cuh"
#include "gpu/maps/warpdrive/map.cuh"

#include <cstdio>

static const uint64_t FIGURE_NKEYS = 1 << 27, WIDE_NKEYS = 1 << 28;
static const uint32_t GROUPS[] = { 1, 2, 4, 8, 16, 32 }, FEW_GROUPS[] = { 1, 2, 4, 8 };
static const uint32_t MOST_BULK_GROUP = 2; /* lanes work alone there: windows gain nothing */
enum { FEW_RUNS = 2 };                     /* for rows without a figure or a target */
static const double LOADS[] = { 0.4, 0.6, 0.8, 0.9, 0.95, 0.97, 0.99 },
                    WIDE_LOADS[] = { 0.8, 0.95 };

/* ---- a map at work ---- */

template <class Layout> struct job {
        kc_wd_map<Layout> *map;
        typename Layout::key *keys, *others; /* [n] others: keys not inserted; may be NULL */
        uint32_t *values, *answers;          /* [n] */
        uint64_t n;
        enum kc_wd_mode mode;
        bool bulk;
        const typename Layout::key *sought;
        uint64_t nfound;
};

template <class Layout> static enum kc_status clear(struct bench *, void *ctx, struct kc_error *err)
{
        return kc_wd_clear(((job<Layout> *)ctx)->map, err);
}

template <class Layout> static enum kc_status put(struct bench *, void *ctx, struct kc_error *err)
{
        job<Layout> *j = (job<Layout> *)ctx;
        const uint32_t *values = j->mode == KC_WD_ADD ? NULL : j->values;
        if (j->bulk)
                return kc_wd_bulk_put(j->map, j->keys, values, j->n, j->mode, NULL, err);
        return kc_wd_put(j->map, j->keys, values, j->n, j->mode, NULL, err);
}

template <class Layout>
static enum kc_status retrieve(struct bench *, void *ctx, struct kc_error *err)
{
        job<Layout> *j = (job<Layout> *)ctx;
        if (j->bulk)
                return kc_wd_bulk_retrieve(j->map, j->sought, j->answers, j->n, 0, &j->nfound, err);
        return kc_wd_retrieve(j->map, j->sought, j->answers, j->n, 0, NULL, &j->nfound, err);
}

template <class Layout>
static enum kc_status job_new(struct tables_bench *b, job<Layout> *j, uint64_t n, bool others,
                              struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &b->base.gpu;
        *j = {};
        j->n = n;
        KC_TRY(kc_gpu_new(gpu, &j->keys, n, err));
        KC_TRY(kc_gpu_new(gpu, &j->values, n, err));
        KC_TRY(kc_gpu_new(gpu, &j->answers, n, err));
        if (others)
                KC_TRY(kc_gpu_new(gpu, &j->others, n, err));
        KC_TRY(tables_values(gpu, j->values, n, 1, err));
out:
        return status;
}

template <class Layout> static void job_free(struct tables_bench *b, job<Layout> *j)
{
        struct kc_gpu *gpu = &b->base.gpu;
        kc_wd_free(j->map);
        j->map = NULL;
        if (j->others != NULL)
                kc_gpu_delete(gpu, j->others, j->n);
        kc_gpu_delete(gpu, j->answers, j->n);
        kc_gpu_delete(gpu, j->values, j->n);
        kc_gpu_delete(gpu, j->keys, j->n);
}

/* Shared by the rows of one map. */
struct setting {
        const char *figure; /* the text before ": insert" */
        const char *layout;
        double load;
        struct kc_wd_options options;
        double paper_put, paper_retrieve;
        double target_put, target_retrieve; /* retrieve: of keys that are present */
        bool drawn;                         /* in a figure of the paper */
};

template <class Layout>
static enum kc_status time_one(struct tables_bench *b, job<Layout> *j, const struct setting *set,
                               const char *what, struct kc_error *err)
{
        enum kc_status status;
        char figure[64], series[96], more[160];
        struct tables_row row = {};
        bool puts = what[0] != 'r', absent = !puts && j->sought == j->others;
        int repeat = b->base.repeat;
        snprintf(figure, sizeof figure, "%s: %s", set->figure, what);
        snprintf(series, sizeof series, "%s, |g| = %u", set->layout, j->map->options.group);
        snprintf(more, sizeof more,
                 "\"group\": %u, \"layout\": \"%s\", \"slots\": %llu, \"part_bits\": %d",
                 j->map->options.group, set->layout, (unsigned long long)j->map->nslots,
                 j->map->options.part_bits);
        row.figure = figure;
        row.series = series;
        row.more = more;
        row.x_name = "load";
        row.x = set->load;
        row.n = j->n;
        row.paper_gpu = &TABLES_P100;
        row.paper_ops_per_s = puts ? set->paper_put : set->paper_retrieve;
        row.target_ops_per_s = puts ? set->target_put : absent ? 0 : set->target_retrieve;
        if (row.target_ops_per_s == 0 && !set->drawn)
                b->base.repeat = std::min(repeat, (int)FEW_RUNS);
        status = tables_time(b, &row, puts ? clear<Layout> : NULL,
                             puts ? put<Layout> : retrieve<Layout>, j, NULL, err);
        b->base.repeat = repeat;
        return status;
}

/* Time a map of set->options: insert or count, retrieve, and retrieve other keys if there are
 * any. */
template <class Layout>
static enum kc_status time_map(struct tables_bench *b, job<Layout> *j, const struct setting *set,
                               uint64_t ndistinct, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_wd_new(&j->map, &b->base.gpu, &set->options, b->base.gpu.stream, err));
        KC_TRY(time_one(b, j, set, j->mode == KC_WD_ADD ? "count" : "insert", err));
        tables_expect(b, "keys in the map", j->map->nkeys, ndistinct);
        j->sought = j->keys;
        KC_TRY(time_one(b, j, set, "retrieve", err));
        tables_expect(b, "keys found", j->nfound, j->n);
        if (j->others != NULL) {
                j->sought = j->others;
                KC_TRY(time_one(b, j, set, "retrieve missing", err));
                tables_expect(b, "others found", j->nfound, 0);
        }
out:
        kc_wd_free(j->map);
        j->map = NULL;
        return status;
}

static struct kc_wd_options options_of(uint64_t nkeys, double load, uint32_t group)
{
        struct kc_wd_options options = {};
        options.capacity = (uint64_t)((double)nkeys / load) + 1;
        options.group = group;
        return options;
}

/* ---- figures 7 and 8 ---- */

/* Count the distinct keys. */
template <class Layout>
static enum kc_status count_distinct(struct tables_bench *b, job<Layout> *j, uint64_t *ndistinct,
                                     struct kc_error *err)
{
        enum kc_status status;
        struct kc_wd_options options = options_of(j->n, 0.9, 4);
        KC_TRY(kc_wd_new(&j->map, &b->base.gpu, &options, b->base.gpu.stream, err));
        KC_TRY(kc_wd_put(j->map, j->keys, NULL, j->n, KC_WD_ADD, NULL, err));
        *ndistinct = j->map->nkeys;
out:
        kc_wd_free(j->map);
        j->map = NULL;
        return status;
}

static enum kc_status figure(struct tables_bench *b, const char *name, enum tables_kind kind,
                             struct kc_error *err)
{
        enum kc_status status;
        job<kc_wd_pair32> j;
        struct tables_draw draw = { kind, 7, 0, tables_scaled(b, FIGURE_NKEYS), 1 + 1e-6 };
        bool unique = kind == TABLES_UNIQUE;
        uint64_t ndistinct;
        KC_TRY(job_new(b, &j, draw.universe, false, err));
        KC_TRY(tables_keys(&b->base.gpu, j.keys, j.n, &draw, err));
        KC_TRY(count_distinct(b, &j, &ndistinct, err));
        for (double load : LOADS) {
                for (uint32_t group : GROUPS) {
                        struct setting set = { name, "32 + 32 bits", load,
                                               options_of(ndistinct, load, group) };
                        set.drawn = true;
                        set.paper_put = !unique || group != 4 ? 0
                                        : load == 0.4         ? 2.7e9
                                        : load == 0.95        ? 1.4e9
                                                              : 0;
                        set.paper_retrieve = !unique || group != 4 ? 0
                                             : load == 0.4         ? 5.5e9
                                             : load == 0.95        ? 3.5e9
                                                                   : 0;
                        KC_TRY(time_map(b, &j, &set, ndistinct, err));
                }
        }
out:
        job_free(b, &j);
        return status;
}

/* ---- keys of 64 bits ---- */

/* For each figure and load, the best layout and |g| must reach the target. */
template <class Layout>
static enum kc_status wide(struct tables_bench *b, const char *layout, struct kc_error *err)
{
        enum kc_status status;
        job<Layout> j;
        struct tables_draw draw = { TABLES_UNIQUE, 8, 0, 0, 0 };
        KC_TRY(job_new(b, &j, tables_scaled(b, WIDE_NKEYS), true, err));
        KC_TRY(tables_keys(&b->base.gpu, j.keys, j.n, &draw, err));
        draw.first = j.n;
        KC_TRY(tables_keys(&b->base.gpu, j.others, j.n, &draw, err));
        for (double load : WIDE_LOADS) {
                for (uint32_t group : FEW_GROUPS) {
                        struct setting set = { "64-bit keys", layout, load,
                                               options_of(j.n, load, group) };
                        bool crowded = load > 0.9;
                        set.target_put = crowded ? 9e9 : 10.5e9;
                        set.target_retrieve = crowded ? 14e9 : 18e9;
                        j.bulk = false;
                        KC_TRY(time_map(b, &j, &set, j.n, err));
                        if (group > MOST_BULK_GROUP)
                                continue;
                        set.figure = "64-bit keys in bulk";
                        set.options.part_bits = kc_wd_bulk_part_bits<Layout>(
                                &b->base.gpu, set.options.capacity, group);
                        set.target_put = crowded ? 20e9 : 0;
                        set.target_retrieve = crowded ? 25e9 : 0;
                        j.bulk = true;
                        KC_TRY(time_map(b, &j, &set, j.n, err));
                }
        }
out:
        job_free(b, &j);
        return status;
}

/* Nine tenths of the keys occur 30 times each, one tenth once. *ndistinct: 0 if not known yet. */
template <class Layout>
static enum kc_status counting(struct tables_bench *b, const char *layout, uint64_t *ndistinct,
                               struct kc_error *err)
{
        enum kc_status status;
        job<Layout> j;
        struct tables_draw draw = { TABLES_READS, 9, 0, 0, 0 };
        KC_TRY(job_new(b, &j, tables_scaled(b, WIDE_NKEYS), false, err));
        KC_TRY(tables_keys(&b->base.gpu, j.keys, j.n, &draw, err));
        if (*ndistinct == 0)
                KC_TRY(count_distinct(b, &j, ndistinct, err));
        j.mode = KC_WD_ADD;
        for (uint32_t group : FEW_GROUPS) {
                struct setting set = { "counting, 30 times each", layout, 0.8,
                                       options_of(*ndistinct, 0.8, group) };
                set.target_put = 15e9;
                j.bulk = false;
                KC_TRY(time_map(b, &j, &set, *ndistinct, err));
                if (group > MOST_BULK_GROUP)
                        continue;
                set.figure = "counting, 30 times each, in bulk";
                set.options.part_bits =
                        kc_wd_bulk_part_bits<Layout>(&b->base.gpu, set.options.capacity, group);
                set.target_put = 40e9;
                j.bulk = true;
                KC_TRY(time_map(b, &j, &set, *ndistinct, err));
        }
out:
        job_free(b, &j);
        return status;
}

enum kc_status bench_warpdrive(struct tables_bench *b, struct kc_error *err)
{
        enum kc_status status;
        uint64_t ndistinct = 0;
        KC_TRY(figure(b, "7", TABLES_UNIQUE, err));
        KC_TRY(figure(b, "8", TABLES_ZIPF, err));
        KC_TRY(wide<kc_wd_apart64>(b, "keys and values apart", err));
        KC_TRY(wide<kc_wd_near64>(b, "16-byte slots", err));
        KC_TRY(counting<kc_wd_near64>(b, "16-byte slots", &ndistinct, err));
        if (tables_scaled(b, WIDE_NKEYS) < 1 << 22) /* the words would have no room for counts */
                goto out;
        KC_TRY(counting<kc_wd_words>(b, "remainder and count", &ndistinct, err));
out:
        return status;
}
