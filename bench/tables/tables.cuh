/*
 * What the benchmarks of the papers' tables share: keys made on the device, timing, and the line of
 * JSON that reports a row of a figure beside the paper's.
 *
 * A paper's evaluation is bench/tables/NAME.cu with the function bench_NAME; main.cu finds it by
 * the file's name.
 */
#ifndef KC_BENCH_TABLES_CUH
#define KC_BENCH_TABLES_CUH

#include "bench/gpu/stage.cuh"

#include <algorithm>

/* One run of the program. */
struct tables_bench {
        struct bench base; /* base.gpu; base.repeat timed runs; base.copy_rate is known */
        int shift;         /* sizes are divided by 2^shift: 0 is the paper's size */
        const char *paper; /* the current file, such as "warpdrive" */
        bool failed;       /* a row's result was wrong; the program ends with status 1 */
};

/* The paper's n, scaled down to no less than min(n, 1024). */
static inline uint64_t tables_scaled(const struct tables_bench *b, uint64_t n)
{
        return std::min(n, std::max(n >> b->shift, (uint64_t)1024));
}

/* ---- keys ---- */

enum tables_kind {
        TABLES_UNIQUE,  /* distinct keys; `first` selects which */
        TABLES_UNIFORM, /* with replacement from `universe` keys */
        TABLES_ZIPF,    /* rank r of `universe` keys with a weight of r^-s */
        TABLES_READS,   /* of n keys a tenth once, the others from n * 0.03 keys, 30 times each */
};

/* `kind` says which number belongs to i; key i is the one of that number in the permutation that
 * `seed` stands for. */
struct tables_draw {
        enum tables_kind kind;
        uint64_t seed;
        uint64_t first;    /* UNIQUE: number of key 0; UNIFORM, ZIPF: of the first draw */
        uint64_t universe; /* UNIFORM, ZIPF: less than 2^32 - 2 for keys of 32 bits */
        double s;          /* ZIPF: above 0, not 1 */
};

/*
 * Write keys [n] (device memory; uint32_t, kc_key64 or kc_key128) on gpu->stream. The two
 * largest keys of a type never occur: tables reserve them. Zipf by rejection from the integral of
 * the density: Hoermann and Derflinger (1996), section 4.
 */
template <class Key>
enum kc_status tables_keys(struct kc_gpu *gpu, Key *keys, uint64_t n,
                           const struct tables_draw *draw, struct kc_error *err);

/* values[i] depends on i and seed, and is below 2^31. */
enum kc_status tables_values(struct kc_gpu *gpu, uint32_t *values, uint64_t n, uint64_t seed,
                             struct kc_error *err);

/* ---- rows ---- */

/* The device on which the paper measured. */
struct tables_paper_gpu {
        const char *name;
        double bandwidth_gbps; /* of its memory, by data sheet */
};

extern const struct tables_paper_gpu TABLES_K40C, TABLES_P100, TABLES_GTX1060, TABLES_GTX1080;

/* A row of a figure; fields that are 0 or NULL are not reported. */
struct tables_row {
        const char *figure; /* "7: insert" */
        const char *series; /* a curve: "|g| = 4" */
        const char *x_name; /* an axis: "load" */
        double x;
        uint64_t n; /* operations timed */
        const struct tables_paper_gpu *paper_gpu;
        double paper_ops_per_s;  /* from the paper's text; 0: the paper has only a drawing */
        double target_ops_per_s; /* target on one H200 */
        const char *more;        /* further members, e.g. "\"mean_probes\": 1.5" */
};

/*
 * Time run(&b->base, ctx) as stage_time does, base.repeat times after a warm-up run, each after
 * prepare if that is not NULL, and print the row. *ms (may be NULL): the median.
 */
enum kc_status tables_time(struct tables_bench *b, const struct tables_row *row, stage_step prepare,
                           stage_step run, void *ctx, double *ms, struct kc_error *err);

/* Print a row with the timings of `stage`; if the stage has no runs, report only row->more. */
void tables_print(const struct tables_bench *b, const struct tables_row *row,
                  const struct stage *stage);

/* Check a result: if got != want, report on stderr and set b->failed. */
void tables_expect(struct tables_bench *b, const char *what, uint64_t got, uint64_t want);

#endif
