/*
 * The WarpDrive map over several members, with keys of 64 bits and values of 32 at a load of 0.95:
 * figures 9 and 10 on the device side, in bulk, and figure 11 with keys on the host. The paper has
 * 4 + 4 bytes on P100s; its text says 4 to 7e9 insertions and 6 to 9e9 retrievals per second on four
 * of them.
 */
#include "bench/multi/multi.cuh"
#include "gpu/maps/warpdrive/cascade.cuh"

static const double LOAD = 0.95;
static const int SCALING_LOG2[] = { 28, 29 }, CAPACITY_LOG2[] = { 28, 29, 30, 31, 32 },
                 HOST_LOG2 = 29, BATCH_LOG2 = 24;
static const char *const STAGES[KC_WD_NSTAGES] = { "table",     "split",     "copy",
                                                   "operation", "copy back", "fetch" };

typedef kc_wd_apart64 layout;
typedef layout::key key;

namespace
{

struct work {
        struct kc_links links;
        kc_wd_several<layout> *map;
        kc_wd_share<key> shares[KC_LINKS_MAX];
        key *keys[KC_LINKS_MAX];
        uint32_t *values[KC_LINKS_MAX], *answers[KC_LINKS_MAX];
        uint64_t nfound;
};

struct batch {
        uint64_t n; /* keys of all members */
        enum tables_kind kind;
        const char *distribution;
};

} // namespace

/* group: 1 for work in bulk. */
static enum kc_status make_map(struct work *work, enum kc_wd_transposition transposition,
                               uint64_t n, uint32_t group, struct kc_error *err)
{
        struct kc_wd_options options = {};
        const int m = work->links.n;
        options.capacity = (uint64_t)((double)n / LOAD);
        options.group = group;
        options.part_bits = kc_wd_bulk_part_bits<layout>(
                &work->links.gpus[0], kc_wd_several_capacity(options.capacity, m), options.group);
        return kc_wd_several_new(&work->map, &work->links, transposition, &options, err);
}

/* Each member has as many keys as the others, of a part of the batch. */
static enum kc_status make_keys(struct work *work, const struct batch *batch, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const uint64_t own = batch->n / (uint64_t)work->links.n;
        for (int i = 0; i < work->links.n; i++) {
                struct kc_gpu *gpu = &work->links.gpus[i];
                const struct tables_draw draw = { batch->kind, 1, own * (uint64_t)i, batch->n,
                                                  1 + 1e-6 };
                KC_TRY(kc_links_use(&work->links, i, err));
                work->shares[i].n = own;
                KC_TRY(kc_gpu_new(gpu, &work->keys[i], own, err));
                KC_TRY(kc_gpu_new(gpu, &work->values[i], own, err));
                KC_TRY(kc_gpu_new(gpu, &work->answers[i], own, err));
                KC_TRY(tables_keys(gpu, work->keys[i], own, &draw, err));
                KC_TRY(tables_values(gpu, work->values[i], own, (uint64_t)i, err));
                work->shares[i].keys = work->keys[i];
                work->shares[i].values = work->values[i];
        }
        KC_TRY(kc_links_settle(&work->links, err));
out:
        return status;
}

static void work_free(struct work *work)
{
        kc_wd_several_free(work->map);
        for (int i = 0; i < work->links.n; i++) {
                const uint64_t own = work->shares[i].n;
                kc_gpu_delete(&work->links.gpus[i], work->answers[i], own);
                kc_gpu_delete(&work->links.gpus[i], work->values[i], own);
                kc_gpu_delete(&work->links.gpus[i], work->keys[i], own);
        }
        kc_links_close(&work->links);
}

static enum kc_status clear(void *ctx, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct work *work = (struct work *)ctx;
        for (int i = 0; i < work->links.n; i++) {
                KC_TRY(kc_links_use(&work->links, i, err));
                KC_TRY(kc_wd_clear(work->map->maps[i], err));
        }
out:
        return status;
}

static enum kc_status insert(void *ctx, struct kc_error *err)
{
        struct work *work = (struct work *)ctx;
        return kc_wd_several_put(work->map, work->shares, KC_WD_INSERT, NULL, err);
}

static enum kc_status retrieve(void *ctx, struct kc_error *err)
{
        struct work *work = (struct work *)ctx;
        return kc_wd_several_retrieve(work->map, work->shares, work->answers, 0, &work->nfound,
                                      err);
}

static enum kc_status time_both(struct multi_bench *b, struct work *work, const struct batch *batch,
                                struct kc_error *err)
{
        enum kc_status status;
        struct multi_row row = {};
        row.way = work->map->transposition == KC_WD_WRITTEN ? "written" : "copied";
        row.keys = batch->distribution;
        row.unit = "keys";
        row.n = work->shares[0].n * (uint64_t)work->links.n;
        row.stages = { STAGES, work->map->seconds, KC_WD_NSTAGES };
        row.what = "insert";
        KC_TRY(multi_time(b, &work->links, &row, clear, insert, work, err));
        if (batch->kind == TABLES_UNIQUE)
                multi_expect(b, "keys in the maps", kc_wd_several_nkeys(work->map), row.n);
        row.what = "retrieve";
        KC_TRY(multi_time(b, &work->links, &row, NULL, retrieve, work, err));
        multi_expect(b, "keys found", work->nfound, row.n);
out:
        return status;
}

static enum kc_status time_map(struct multi_bench *b, int nmembers,
                               enum kc_wd_transposition transposition, const struct batch *batch,
                               struct kc_error *err)
{
        enum kc_status status;
        struct work work = {};
        KC_TRY(multi_open(b, &work.links, nmembers, false, err));
        KC_TRY(make_map(&work, transposition, batch->n, 1, err));
        KC_TRY(make_keys(&work, batch, err));
        KC_TRY(time_both(b, &work, batch, err));
out:
        work_free(&work);
        return status;
}

static uint64_t scaled(const struct multi_bench *b, int log2)
{
        return std::max(((uint64_t)1 << log2) >> b->shift, (uint64_t)1 << 12);
}

enum kc_status multi_scaling(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int log2 : SCALING_LOG2)
                for (int m = 1; m <= b->ndevices; m++)
                        for (bool weak : { false, true })
                                for (auto way : { KC_WD_WRITTEN, KC_WD_COPIED }) {
                                        const uint64_t n =
                                                scaled(b, log2) * (weak ? (uint64_t)m : 1);
                                        const struct batch batch = { n, TABLES_UNIQUE, "unique" };
                                        if (m > 1 || (!weak && way == KC_WD_WRITTEN))
                                                KC_TRY(time_map(b, m, way, &batch, err));
                                }
out:
        return status;
}

enum kc_status multi_capacity(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int log2 : CAPACITY_LOG2)
                for (const struct batch &kind :
                     { batch{ 0, TABLES_UNIQUE, "unique" }, batch{ 0, TABLES_UNIFORM, "uniform" },
                       batch{ 0, TABLES_ZIPF, "zipf" } }) {
                        struct batch batch = kind;
                        batch.n = scaled(b, log2);
                        KC_TRY(time_map(b, b->ndevices, KC_WD_WRITTEN, &batch, err));
                }
out:
        return status;
}

/* ---- keys on the host ---- */

namespace
{

struct host_work {
        struct work work; /* without keys on the devices */
        key *keys;        /* [n] pinned */
        uint32_t *values, *answers;
        uint64_t n, nfound;
        struct kc_wd_cascades cascades;
};

} // namespace

static enum kc_status clear_host(void *ctx, struct kc_error *err)
{
        return clear(&((struct host_work *)ctx)->work, err);
}

static enum kc_status insert_host(void *ctx, struct kc_error *err)
{
        struct host_work *h = (struct host_work *)ctx;
        return kc_wd_several_put_host(h->work.map, h->keys, h->values, h->n, KC_WD_INSERT,
                                      &h->cascades, err);
}

static enum kc_status retrieve_host(void *ctx, struct kc_error *err)
{
        struct host_work *h = (struct host_work *)ctx;
        return kc_wd_several_retrieve_host(h->work.map, h->keys, h->answers, h->n, 0, &h->nfound,
                                           &h->cascades, err);
}

/* Distinct keys, made on a device, a batch at a time; the values stay as they are. */
static enum kc_status make_host_keys(struct host_work *h, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = &h->work.links.gpus[0];
        const uint64_t cap = h->cascades.batch_nkeys;
        key *made = NULL;
        KC_TRY(kc_gpu_new(gpu, &made, cap, err));
        for (uint64_t at = 0, n; at < h->n; at += n) {
                const struct tables_draw draw = { TABLES_UNIQUE, 1, at, h->n, 0 };
                n = std::min(cap, h->n - at);
                KC_TRY(tables_keys(gpu, made, n, &draw, err));
                KC_TRY(kc_gpu_read(gpu, h->keys + at, made, n, err));
        }
        std::fill_n(h->values, h->n, 7u);
        std::fill_n(h->answers, h->n, 0u);
out:
        kc_gpu_delete(gpu, made, cap);
        return status;
}

static enum kc_status host_memory(struct host_work *h, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&h->keys, h->n * sizeof *h->keys)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&h->values, h->n * sizeof *h->values)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&h->answers, h->n * sizeof *h->answers)));
out:
        return status;
}

static enum kc_status time_cascades(struct multi_bench *b, struct host_work *h, int in_flight,
                                    struct kc_error *err)
{
        enum kc_status status;
        struct multi_row row = {};
        h->cascades.in_flight = in_flight;
        row.keys = "unique";
        row.way = in_flight == 1 ? "1 in flight" : in_flight == 2 ? "2 in flight" : "4 in flight";
        row.unit = "keys";
        row.n = h->n;
        row.stages = { STAGES, h->work.map->seconds, KC_WD_NSTAGES };
        row.what = "host insert";
        KC_TRY(multi_time(b, &h->work.links, &row, clear_host, insert_host, h, err));
        multi_expect(b, "keys in the maps", kc_wd_several_nkeys(h->work.map), h->n);
        row.what = "host retrieve";
        KC_TRY(multi_time(b, &h->work.links, &row, NULL, retrieve_host, h, err));
        multi_expect(b, "keys found", h->nfound, h->n);
        for (uint64_t i = 0; i < h->n; i += h->n / 7 + 1)
                multi_expect(b, "an answer", h->answers[i], h->values[i]);
out:
        return status;
}

static enum kc_status time_host(struct multi_bench *b, int nmembers, struct kc_error *err)
{
        enum kc_status status;
        struct host_work h = {};
        h.n = scaled(b, HOST_LOG2);
        h.cascades.batch_nkeys = std::max(((uint64_t)1 << BATCH_LOG2) >> b->shift, (uint64_t)1000);
        KC_TRY(multi_open(b, &h.work.links, nmembers, false, err));
        KC_TRY(make_map(&h.work, KC_WD_WRITTEN, h.n, 4, err));
        KC_TRY(host_memory(&h, err));
        KC_TRY(make_host_keys(&h, err));
        for (int in_flight : { 1, 2, 4 })
                KC_TRY(time_cascades(b, &h, in_flight, err));
out:
        (void)cudaFreeHost(h.answers);
        (void)cudaFreeHost(h.values);
        (void)cudaFreeHost(h.keys);
        work_free(&h.work);
        return status;
}

enum kc_status multi_host(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int m = 1; m <= b->ndevices; m++)
                KC_TRY(time_host(b, m, err));
out:
        return status;
}
