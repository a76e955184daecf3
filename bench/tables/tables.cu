#include "bench/tables/tables.cuh"

#include "gpu/device/key.cuh"

#include <cinttypes>
#include <cmath>
#include <cstdio>

const struct tables_paper_gpu TABLES_K40C = { "K40c", 288 }, TABLES_P100 = { "P100", 720 },
                              TABLES_GTX1060 = { "GTX 1060", 192 },
                              TABLES_GTX1080 = { "GTX 1080", 320 };

enum { THREADS = 256 };

/* ---- permutations of the keys ---- */

/* the finalizer of murmur3 */
KC_HD uint32_t permute(uint32_t x, uint64_t seed)
{
        x += (uint32_t)seed;
        x = (x ^ x >> 16) * UINT32_C(0x85ebca6b);
        x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
        return x ^ x >> 16;
}

KC_HD kc_key64 permute(kc_key64 x, uint64_t seed)
{
        return random_mix(x + random_mix(seed));
}

KC_HD kc_key128 permute(kc_key128 x, uint64_t seed)
{
        uint64_t low = permute((uint64_t)x, seed);
        uint64_t high = permute((uint64_t)(x >> 64) ^ low, seed + 1);
        return (kc_key128)high << 64 | low;
}

/* A key other than the two largest, a different one for each number below their count. */
template <class Key> KC_HD Key key_of(uint64_t number, uint64_t seed)
{
        Key key = (Key)number;
        do
                key = permute(key, seed);
        while (key >= (Key) ~(Key)1);
        return key;
}

/* ---- Zipf ---- */

/* Integral and density of x^-s, and the integral's inverse. */
struct zipf {
        double s, begin, end, sure;

        KC_HD double density(double x) const
        {
                return exp(-s * log(x));
        }

        KC_HD double integral(double x) const
        {
                double t = (1 - s) * log(x);
                return fabs(t) > 1e-9 ? expm1(t) / (1 - s) : log(x) * (1 + t / 2);
        }

        KC_HD double inverse(double y) const
        {
                double t = y * (1 - s);
                return fabs(t) > 1e-9 ? exp(log1p(t < -1 ? -1 : t) / (1 - s))
                                      : exp(y * (1 - t / 2));
        }
};

static struct zipf zipf_of(const struct tables_draw *draw)
{
        struct zipf z = { draw->s, 0, 0, 0 };
        z.begin = z.integral(1.5) - 1;
        z.end = z.integral((double)draw->universe + 0.5);
        z.sure = 2 - z.inverse(z.integral(2.5) - z.density(2));
        return z;
}

enum { ZIPF_MAX_TRIES = 64 }; /* one draw in a few is rejected */

KC_HD uint64_t zipf_rank(const struct zipf *z, uint64_t universe, uint64_t *state)
{
        double rank = 1;
        for (int i = 0; i < ZIPF_MAX_TRIES; i++) {
                double u =
                        z->end + (double)(next_random(state) >> 11) * 0x1p-53 * (z->begin - z->end);
                double x = z->inverse(u);
                rank = floor(x + 0.5);
                rank = rank < 1 ? 1 : rank > (double)universe ? (double)universe : rank;
                if (rank - x <= z->sure || u >= z->integral(rank + 0.5) - z->density(rank))
                        break;
        }
        return (uint64_t)rank - 1;
}

/* ---- keys ---- */

/* The position of key i of n in the permutation. */
KC_HD uint64_t rank_of(const struct tables_draw *draw, const struct zipf *z, uint64_t n, uint64_t i)
{
        uint64_t state = random_mix(draw->seed) ^ random_mix(draw->first + i + 1);
        uint64_t luck = next_random(&state);
        if (draw->kind == TABLES_UNIFORM)
                return luck % draw->universe;
        if (draw->kind == TABLES_ZIPF)
                return zipf_rank(z, draw->universe, &state);
        if (draw->kind == TABLES_READS)
                return luck % 10 == 0 ? n + i : luck / 10 % (n * 3 / 100 + 1);
        return draw->first + i;
}

template <class Key>
__global__ static void keys_kernel(Key *keys, uint64_t n, struct tables_draw draw, struct zipf z)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < n)
                keys[i] = key_of<Key>(rank_of(&draw, &z, n, i), draw.seed);
}

template <class Key>
enum kc_status tables_keys(struct kc_gpu *gpu, Key *keys, uint64_t n,
                           const struct tables_draw *draw, struct kc_error *err)
{
        struct zipf z = draw->kind == TABLES_ZIPF ? zipf_of(draw) : zipf{};
        if (n == 0)
                return KC_OK;
        keys_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, gpu->stream>>>(keys, n, *draw, z);
        return KC_LAUNCHED();
}

#define INSTANTIATE(Key) \
        template enum kc_status tables_keys(struct kc_gpu *, Key *, uint64_t, \
                                            const struct tables_draw *, struct kc_error *);
INSTANTIATE(uint32_t)
KC_GPU_INTEGER_KEYS(INSTANTIATE)

__global__ static void values_kernel(uint32_t *values, uint64_t n, uint64_t seed)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < n)
                values[i] = (uint32_t)(random_mix(random_mix(seed) + i) >> 33);
}

enum kc_status tables_values(struct kc_gpu *gpu, uint32_t *values, uint64_t n, uint64_t seed,
                             struct kc_error *err)
{
        if (n == 0)
                return KC_OK;
        values_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, gpu->stream>>>(values, n, seed);
        return KC_LAUNCHED();
}

/* ---- rows ---- */

/* Print a rate, also as operations per byte of memory bandwidth; prefix: of the names. */
static void print_rate(const char *prefix, double ops_per_s, double gbps)
{
        printf(", \"%sops_per_s\": %.4g, \"%sbandwidth_GBps\": %.1f", prefix, ops_per_s, prefix,
               gbps);
        if (gbps > 0)
                printf(", \"%sops_per_GB\": %.4g", prefix, ops_per_s / gbps);
}

static void print_timing(const struct tables_bench *b, const struct tables_row *row,
                         const struct stage *stage)
{
        double ms = stage_median_ms(stage);
        print_rate("", (double)row->n / ms * 1e3, b->base.copy_rate * 1e-6);
        printf(", \"n\": %" PRIu64 ", \"median_ms\": %.4f, \"ms\": [", row->n, ms);
        for (int i = 0; i < stage->nruns; i++)
                printf("%s%.4f", i > 0 ? ", " : "", stage->ms[i]);
        printf("]");
}

void tables_print(const struct tables_bench *b, const struct tables_row *row,
                  const struct stage *stage)
{
        printf("{\"bench\": \"tables\", \"paper\": \"%s\", \"figure\": \"%s\"", b->paper,
               row->figure);
        if (row->series != NULL)
                printf(", \"series\": \"%s\"", row->series);
        if (row->x_name != NULL)
                printf(", \"x_name\": \"%s\", \"x\": %.6g", row->x_name, row->x);
        if (stage->nruns > 0)
                print_timing(b, row, stage);
        if (row->paper_gpu != NULL)
                printf(", \"paper_gpu\": \"%s\", \"paper_bandwidth_GBps\": %.1f",
                       row->paper_gpu->name, row->paper_gpu->bandwidth_gbps);
        if (row->paper_ops_per_s > 0)
                printf(", \"paper_ops_per_s\": %.4g", row->paper_ops_per_s);
        if (row->paper_ops_per_s > 0 && row->paper_gpu != NULL)
                printf(", \"paper_ops_per_GB\": %.4g",
                       row->paper_ops_per_s / row->paper_gpu->bandwidth_gbps);
        if (row->target_ops_per_s > 0)
                printf(", \"target_ops_per_s\": %.4g", row->target_ops_per_s);
        if (row->more != NULL)
                printf(", %s", row->more);
        printf(", \"shift\": %d, \"gpu\": \"%s\"%s}\n", b->shift, b->base.device_name,
               b->base.jit ? ", \"jit\": true" : "");
        fflush(stdout);
}

enum kc_status tables_time(struct tables_bench *b, const struct tables_row *row, stage_step prepare,
                           stage_step run, void *ctx, double *ms, struct kc_error *err)
{
        enum kc_status status;
        struct stage stage = stage_of(row->figure, "operations", 0, row->n);
        KC_TRY(stage_time(&b->base, &stage, prepare, run, ctx, err));
        tables_print(b, row, &stage);
        if (ms != NULL)
                *ms = stage_median_ms(&stage);
out:
        return status;
}

void tables_expect(struct tables_bench *b, const char *what, uint64_t got, uint64_t want)
{
        if (got == want)
                return;
        fprintf(stderr, "bench_tables: %s: %s: %" PRIu64 " in place of %" PRIu64 "\n", b->paper,
                what, got, want);
        b->failed = true;
}
