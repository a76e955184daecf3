/*
 * A store as the table that an asker on the host answers from.
 */
#include "io/store/file.h"

static enum kc_status split(void *ctx, size_t nparts, uint64_t **bounds, size_t *nbounds,
                            struct kc_error *err)
{
        return kc_store_split(ctx, NULL, NULL, nparts, bounds, nbounds, err);
}

static enum kc_status walk_open(void *ctx, void **walk, struct kc_error *err)
{
        struct kc_cursor *cursor;
        enum kc_status status = kc_cursor_open(&cursor, ctx, NULL, NULL, err);
        if (status == KC_OK)
                *walk = cursor;
        return status;
}

static enum kc_status walk_move(void *walk, const uint64_t *from, const uint64_t *to,
                                struct kc_error *err)
{
        return kc_cursor_move(walk, from, to, err);
}

static enum kc_status walk_next(void *walk, const uint64_t **kmers, const uint32_t **counts,
                                size_t *n, struct kc_error *err)
{
        return kc_cursor_next(walk, kmers, counts, n, err);
}

static void walk_close(void *walk)
{
        kc_cursor_close(walk);
}

struct kc_ask_table kc_store_ask_table(struct kc_store *store)
{
        struct kc_store_info info;
        kc_store_get_info(store, &info);
        return (struct kc_ask_table){ .ctx = store,
                                      .k = info.k,
                                      .stranded = info.stranded,
                                      .ndistinct = info.ndistinct,
                                      .split = split,
                                      .walk_open = walk_open,
                                      .walk_move = walk_move,
                                      .walk_next = walk_next,
                                      .walk_close = walk_close };
}
