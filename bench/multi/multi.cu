#include "bench/multi/multi.cuh"

#include <chrono>
#include <cinttypes>
#include <cstdio>

std::vector<int> multi_sizes(const struct multi_bench *b, std::vector<int> own)
{
        return b->nsizes == 0 ? own : std::vector<int>(b->sizes, b->sizes + b->nsizes);
}

uint64_t multi_scaled(const struct multi_bench *b, int log2)
{
        return std::max(((uint64_t)1 << log2) >> b->shift, (uint64_t)1 << 12);
}

enum kc_status multi_open(const struct multi_bench *b, struct kc_links *links, int n, bool staged,
                          struct kc_error *err)
{
        const struct kc_links_options options = { 0, staged };
        return kc_links_open(links, b->devices, n, &options, err);
}

void multi_expect(struct multi_bench *b, const char *what, uint64_t got, uint64_t want)
{
        if (got == want)
                return;
        fprintf(stderr, "bench_multi: %s: %" PRIu64 ", not %" PRIu64 "\n", what, got, want);
        b->failed = true;
}

enum kc_status multi_skip_if_large(enum kc_status status, const char *part, uint64_t n,
                                   const char *unit, const struct kc_error *failure,
                                   struct kc_error *err)
{
        if (status == KC_ENOMEM)
                fprintf(stderr, "bench_multi: %s skips %" PRIu64 " %s: %s\n", part, n, unit,
                        failure->message);
        return status == KC_OK || status == KC_ENOMEM ? KC_OK : kc_fail_as(err, failure);
}

/* Whether several members are on one device. */
static bool has_virtual(const struct kc_links *links)
{
        for (int i = 0; i < links->n; i++)
                for (int j = 0; j < i; j++)
                        if (links->gpus[i].device == links->gpus[j].device)
                                return true;
        return false;
}

static void print_text(const char *name, const char *value)
{
        if (value != NULL)
                printf(", \"%s\": \"%s\"", name, value);
}

/* Means over the timed runs. */
static void print_stages(const struct multi_stages *stages, size_t nruns)
{
        if (stages->n == 0)
                return;
        printf(", \"stages_ms\": {");
        for (int i = 0; i < stages->n; i++)
                printf("%s\"%s\": %.4f", i > 0 ? ", " : "", stages->names[i],
                       stages->seconds[i] * 1e3 / (double)nruns);
        printf("}");
}

static void print_row(const struct multi_bench *b, const struct kc_links *links,
                      const struct multi_row *row, const std::vector<double> &ms)
{
        std::vector<double> sorted = ms;
        std::sort(sorted.begin(), sorted.end());
        const double median = sorted[sorted.size() / 2];
        printf("{\"bench\": \"multi\"");
        print_text("part", row->part);
        print_text("what", row->what);
        print_text("way", row->way);
        print_text("keys", row->keys);
        print_text("combining", row->combining);
        print_text("unit", row->unit);
        printf(", \"members\": %d, \"virtual\": %s, \"n\": %" PRIu64 ", \"per_s\": %.4g", links->n,
               has_virtual(links) ? "true" : "false", row->n, (double)row->n / median * 1e3);
        printf(", \"median_ms\": %.4f, \"ms\": [", median);
        for (size_t i = 0; i < ms.size(); i++)
                printf("%s%.4f", i > 0 ? ", " : "", ms[i]);
        printf("]");
        if (row->in_flight != 0)
                printf(", \"in_flight\": %d", row->in_flight);
        if (row->nsent != NULL)
                printf(", \"sent\": %" PRIu64, *row->nsent / ms.size());
        print_stages(&row->stages, ms.size());
        printf(", \"shift\": %d, \"gpu\": \"%s\"%s}\n", b->shift, b->base.device_name,
               b->base.jit ? ", \"jit\": true" : "");
        fflush(stdout);
}

enum kc_status multi_time(struct multi_bench *b, const struct kc_links *links,
                          const struct multi_row *row, multi_step prepare, multi_step run,
                          void *ctx, struct kc_error *err)
{
        typedef std::chrono::steady_clock clock;
        enum kc_status status = KC_OK;
        std::vector<double> ms;
        for (int i = -1; i < b->base.repeat; i++) {
                if (prepare != NULL)
                        KC_TRY(prepare(ctx, err));
                KC_TRY(kc_links_settle(links, err));
                if (i == 0)
                        std::fill_n(row->stages.seconds, row->stages.n, 0.0);
                if (i == 0 && row->nsent != NULL)
                        *row->nsent = 0;
                const clock::time_point begin = clock::now();
                KC_TRY(run(ctx, err));
                KC_TRY(kc_links_settle(links, err));
                if (i >= 0)
                        ms.push_back(std::chrono::duration<double, std::milli>(clock::now() - begin)
                                             .count());
        }
        print_row(b, links, row, ms);
out:
        return status;
}
