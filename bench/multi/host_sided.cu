/*
 * Figure 11, and the lower half of figure 10: keys and answers in pinned memory of the host, in
 * batches that overlap or do not.
 */
#include "bench/multi/map.cuh"

static const int BATCH_LOG2 = 27;
static const uint64_t MADE_NKEYS = (uint64_t)1 << 24; /* at a time */
enum : uint32_t { VALUE = 7 /* of all keys */, GROUP = 1 };

namespace
{

struct host_work {
        struct multi_map map;
        multi_key *keys; /* [what->n] pinned, like the others, for all distributions */
        uint32_t *values, *answers;
        uint64_t nfound;
        const struct multi_keys *what;
        struct kc_wd_cascades cascades;
};

} // namespace

static enum kc_status clear(void *ctx, struct kc_error *err)
{
        return multi_map_clear(&((struct host_work *)ctx)->map, err);
}

static enum kc_status insert(void *ctx, struct kc_error *err)
{
        struct host_work *h = (struct host_work *)ctx;
        return kc_wd_several_put_host(h->map.several, h->keys, h->values, h->what->n, KC_WD_INSERT,
                                      &h->cascades, err);
}

static enum kc_status retrieve(void *ctx, struct kc_error *err)
{
        struct host_work *h = (struct host_work *)ctx;
        return kc_wd_several_retrieve_host(h->map.several, h->keys, h->answers, h->what->n, 0,
                                           &h->nfound, &h->cascades, err);
}

/* Keys made on a device, a batch at a time. */
static enum kc_status make_keys(struct host_work *h, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &h->map.links.gpus[0];
        const uint64_t cap = std::min(h->what->n, MADE_NKEYS);
        multi_key *made = NULL;
        KC_TRY(kc_gpu_new(gpu, &made, cap, err));
        for (uint64_t at = 0, n; at < h->what->n; at += n) {
                const struct tables_draw draw = multi_draw(h->what, at);
                n = std::min(cap, h->what->n - at);
                KC_TRY(tables_keys(gpu, made, n, &draw, err));
                KC_TRY(kc_gpu_read(gpu, h->keys + at, made, n, err));
        }
        std::fill_n(h->values, h->what->n, (uint32_t)VALUE);
        std::fill_n(h->answers, h->what->n, 0u);
out:
        kc_gpu_delete(gpu, made, cap);
        return status;
}

/* Pinned memory cannot be swapped out, so the options bound it. */
static enum kc_status host_memory(const struct multi_bench *b, struct host_work *h,
                                  struct kc_error *err)
{
        enum kc_status status;
        const uint64_t n = h->what->n,
                       nbytes = n * (sizeof *h->keys + sizeof *h->values + sizeof *h->answers);
        if (h->keys != NULL)
                return KC_OK;
        if (nbytes > b->most_pinned_nbytes)
                return kc_fail(
                        err, KC_ENOMEM, "%.1f GiB of pinned memory are needed; -m allows %.1f",
                        (double)nbytes / (1 << 30), (double)b->most_pinned_nbytes / (1 << 30));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&h->keys, n * sizeof *h->keys)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&h->values, n * sizeof *h->values)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&h->answers, n * sizeof *h->answers)));
out:
        return status;
}

static struct multi_row row_of(const struct host_work *h, const char *part, const char *what)
{
        struct multi_row row = {};
        row.part = part;
        row.what = what;
        row.way = MULTI_WAYS[KC_WD_BY_PARTS];
        row.keys = h->what->distribution;
        row.unit = "keys";
        row.n = h->what->n;
        row.in_flight = h->cascades.in_flight;
        row.stages = { MULTI_STAGES, h->map.several->seconds, KC_WD_NSTAGES };
        return row;
}

static enum kc_status time_cascades(struct multi_bench *b, struct host_work *h, const char *part,
                                    int in_flight, struct kc_error *err)
{
        enum kc_status status;
        struct multi_row row;
        h->cascades.in_flight = in_flight;
        row = row_of(h, part, "host insert");
        if (h->map.links.n > 1) {
                row.combining = "if it pays";
                row.nsent = &h->map.several->nsent;
        }
        KC_TRY(multi_time(b, &h->map.links, &row, clear, insert, h, err));
        if (h->what->kind == TABLES_UNIQUE)
                multi_expect(b, "keys in the maps", kc_wd_several_nkeys(h->map.several), row.n);
        row = row_of(h, part, "host retrieve");
        KC_TRY(multi_time(b, &h->map.links, &row, NULL, retrieve, h, err));
        multi_expect(b, "keys found", h->nfound, row.n);
        for (uint64_t i = 0; i < row.n; i += row.n / 7 + 1)
                multi_expect(b, "an answer", h->answers[i], VALUE);
out:
        return status;
}

/* With each number of batches in flight up to most_in_flight, doubled from the least. */
static enum kc_status time_keys(struct multi_bench *b, struct host_work *h, const char *part,
                                int nmembers, int least_in_flight, int most_in_flight,
                                struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(multi_map_open(b, &h->map, nmembers, KC_WD_BY_PARTS, h->what->n, GROUP, err));
        KC_TRY(host_memory(b, h, err));
        KC_TRY(make_keys(h, err));
        for (int in_flight = least_in_flight; in_flight <= most_in_flight; in_flight *= 2)
                KC_TRY(time_cascades(b, h, part, in_flight, err));
out:
        multi_map_close(&h->map);
        return status;
}

/* The first of the distributions. What does not fit in memory is skipped. */
static enum kc_status time_host(struct multi_bench *b, const char *part, int nmembers, int log2,
                                int ndistributions, int least_in_flight, int most_in_flight,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_error failure = {};
        struct host_work h = {};
        const uint64_t n = multi_scaled(b, log2);
        if (b->shift != 0)
                h.cascades.batch_nkeys =
                        std::max(((uint64_t)1 << BATCH_LOG2) >> b->shift, (uint64_t)1000);
        for (int i = 0; i < ndistributions && status == KC_OK; i++) {
                struct multi_keys keys = MULTI_DISTRIBUTIONS[i];
                keys.n = n;
                h.what = &keys;
                status =
                        time_keys(b, &h, part, nmembers, least_in_flight, most_in_flight, &failure);
        }
        (void)cudaFreeHost(h.answers);
        (void)cudaFreeHost(h.values);
        (void)cudaFreeHost(h.keys);
        return multi_skip_if_large(status, part, n, "keys", &failure, err);
}

enum kc_status multi_host(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int log2 : multi_sizes(b, { 29 }))
                for (int m = 1; m <= b->ndevices; m++)
                        KC_TRY(time_host(b, "host", m, log2, 1, 1, 4, err));
out:
        return status;
}

enum kc_status multi_host_capacity(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int log2 : multi_sizes(b, { 28, 29, 30, 31, 32 }))
                KC_TRY(time_host(b, "host-capacity", b->ndevices, log2, 3, 2, 2, err));
out:
        return status;
}
