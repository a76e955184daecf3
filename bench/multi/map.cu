#include "bench/multi/map.cuh"

static const double LOAD = 0.95;

static_assert(KC_WD_UPLOAD + 2 == KC_WD_NSTAGES, "the host's stages are the last two");

const char *const MULTI_STAGES[KC_WD_NSTAGES] = { "table",     "split", "copy",   "operation",
                                                  "copy back", "fetch", "upload", "download" };

const char *const MULTI_WAYS[3] = { "by parts", "written", "copied" };

const struct multi_keys MULTI_DISTRIBUTIONS[3] = { { 0, TABLES_UNIQUE, "unique" },
                                                   { 0, TABLES_UNIFORM, "uniform" },
                                                   { 0, TABLES_ZIPF, "zipf" } };

enum kc_status multi_map_open(const struct multi_bench *b, struct multi_map *map, int nmembers,
                              enum kc_wd_transposition transposition, uint64_t n, uint32_t group,
                              struct kc_error *err)
{
        enum kc_status status;
        struct kc_wd_options options = {};
        options.capacity = (uint64_t)((double)n / LOAD);
        options.group = group;
        KC_TRY(multi_open(b, &map->links, nmembers, false, err));
        options.part_bits = kc_wd_bulk_part_bits<multi_layout>(
                &map->links.gpus[0], kc_wd_several_capacity(options.capacity, nmembers), group);
        KC_TRY(kc_wd_several_new(&map->several, &map->links, transposition, &options, err));
out:
        return status;
}

void multi_map_close(struct multi_map *map)
{
        kc_wd_several_free(map->several);
        map->several = NULL;
        kc_links_close(&map->links);
}

static enum kc_status clear_member(void *ctx, int member, struct kc_error *err)
{
        return kc_wd_clear(((struct multi_map *)ctx)->several->maps[member], err);
}

enum kc_status multi_map_clear(struct multi_map *map, struct kc_error *err)
{
        return kc_links_in_turn(&map->links, clear_member, map, err);
}

struct tables_draw multi_draw(const struct multi_keys *keys, uint64_t first)
{
        return { keys->kind, 1, first, keys->n, 1 + 1e-6 };
}
