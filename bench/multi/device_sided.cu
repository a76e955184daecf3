/*
 * Figure 9, and the upper half of figure 10: keys in the members' memory, put and looked up in
 * bulk.
 */
#include "bench/multi/map.cuh"

namespace
{

struct work {
        struct multi_map map;
        kc_wd_share<multi_key> shares[KC_GPU_MAX_DEVICES];
        multi_key *keys[KC_GPU_MAX_DEVICES];
        uint32_t *values[KC_GPU_MAX_DEVICES], *answers[KC_GPU_MAX_DEVICES];
        uint64_t nfound;
        const struct multi_keys *what;
};

} // namespace

static enum kc_status make_share(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        struct work *work = (struct work *)ctx;
        struct kc_gpu *gpu = &work->map.links.gpus[member];
        const uint64_t own = work->what->n / (uint64_t)work->map.links.n;
        const struct tables_draw draw = multi_draw(work->what, own * (uint64_t)member);
        work->shares[member].n = own;
        KC_TRY(kc_gpu_new(gpu, &work->keys[member], own, err));
        KC_TRY(kc_gpu_new(gpu, &work->values[member], own, err));
        KC_TRY(kc_gpu_new(gpu, &work->answers[member], own, err));
        KC_TRY(tables_keys(gpu, work->keys[member], own, &draw, err));
        KC_TRY(tables_values(gpu, work->values[member], own, (uint64_t)member, err));
        work->shares[member].keys = work->keys[member];
        work->shares[member].values = work->values[member];
out:
        return status;
}

static void work_free(struct work *work)
{
        for (int i = 0; i < work->map.links.n; i++) {
                struct kc_gpu *gpu = &work->map.links.gpus[i];
                const uint64_t own = work->shares[i].n;
                kc_gpu_delete(gpu, work->answers[i], own);
                kc_gpu_delete(gpu, work->values[i], own);
                kc_gpu_delete(gpu, work->keys[i], own);
        }
        multi_map_close(&work->map);
}

static enum kc_status clear(void *ctx, struct kc_error *err)
{
        return multi_map_clear(&((struct work *)ctx)->map, err);
}

static enum kc_status insert(void *ctx, struct kc_error *err)
{
        struct work *work = (struct work *)ctx;
        return kc_wd_several_put(work->map.several, work->shares, KC_WD_INSERT, NULL, err);
}

static enum kc_status retrieve(void *ctx, struct kc_error *err)
{
        struct work *work = (struct work *)ctx;
        return kc_wd_several_retrieve(work->map.several, work->shares, work->answers, 0,
                                      &work->nfound, err);
}

static struct multi_row row_of(const struct work *work, const char *part, const char *what)
{
        kc_wd_several<multi_layout> *several = work->map.several;
        struct multi_row row = {};
        row.part = part;
        row.what = what;
        row.way = MULTI_WAYS[several->transposition];
        row.keys = work->what->distribution;
        row.unit = "keys";
        row.n = work->shares[0].n * (uint64_t)work->map.links.n;
        row.stages = { MULTI_STAGES, several->seconds, MULTI_NDEVICE_STAGES };
        return row;
}

static enum kc_status time_insert(struct multi_bench *b, struct work *work, const char *part,
                                  enum kc_wd_combining combining, struct kc_error *err)
{
        enum kc_status status;
        struct multi_row row = row_of(work, part, "insert");
        work->map.several->combining = combining;
        if (work->map.links.n > 1) {
                row.combining = combining == KC_WD_COMBINE_NEVER ? "never" : "if it pays";
                row.nsent = &work->map.several->nsent;
        }
        KC_TRY(multi_time(b, &work->map.links, &row, clear, insert, work, err));
        if (work->what->kind == TABLES_UNIQUE)
                multi_expect(b, "keys in the maps", kc_wd_several_nkeys(work->map.several), row.n);
out:
        return status;
}

/* Equal keys of skewed batches are combined if that pays, and then not, to see the difference. */
static enum kc_status time_all(struct multi_bench *b, struct work *work, const char *part,
                               struct kc_error *err)
{
        enum kc_status status;
        const struct multi_row row = row_of(work, part, "retrieve");
        KC_TRY(time_insert(b, work, part, KC_WD_COMBINE_IF_IT_PAYS, err));
        KC_TRY(multi_time(b, &work->map.links, &row, NULL, retrieve, work, err));
        multi_expect(b, "keys found", work->nfound, row.n);
        if (work->what->kind != TABLES_UNIQUE && work->map.links.n > 1)
                KC_TRY(time_insert(b, work, part, KC_WD_COMBINE_NEVER, err));
out:
        return status;
}

static enum kc_status time_map(struct multi_bench *b, const char *part, int nmembers,
                               enum kc_wd_transposition transposition,
                               const struct multi_keys *keys, struct kc_error *err)
{
        enum kc_status status;
        struct work work = {};
        work.what = keys;
        KC_TRY(multi_map_open(b, &work.map, nmembers, transposition, keys->n, 1, err));
        KC_TRY(kc_links_in_turn(&work.map.links, make_share, &work, err));
        KC_TRY(kc_links_settle(&work.map.links, err));
        KC_TRY(time_all(b, &work, part, err));
out:
        work_free(&work);
        return status;
}

enum kc_status multi_scaling(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int log2 : multi_sizes(b, { 28, 29 }))
                for (int m = 1; m <= b->ndevices; m++)
                        for (bool weak : { false, true })
                                for (auto way : { KC_WD_BY_PARTS, KC_WD_WRITTEN, KC_WD_COPIED }) {
                                        struct multi_keys keys = MULTI_DISTRIBUTIONS[0];
                                        keys.n = multi_scaled(b, log2) * (weak ? (uint64_t)m : 1);
                                        if (m > 1 || (!weak && way == KC_WD_BY_PARTS))
                                                KC_TRY(time_map(b, "scaling", m, way, &keys, err));
                                }
out:
        return status;
}

enum kc_status multi_capacity(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int log2 : multi_sizes(b, { 28, 29, 30, 31, 32 }))
                for (struct multi_keys keys : MULTI_DISTRIBUTIONS) {
                        struct kc_error failure = {};
                        keys.n = multi_scaled(b, log2);
                        status = time_map(b, "capacity", b->ndevices, KC_WD_BY_PARTS, &keys,
                                          &failure);
                        KC_TRY(multi_skip_if_large(status, "capacity", keys.n, "keys", &failure,
                                                   err));
                }
out:
        return status;
}
