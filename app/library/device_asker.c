#include "app/library/device_asker.h"

#include <stdlib.h>

/* Takes the place of a join that writes its run: here the run goes to the device's map. */
static enum kc_status join(void *ctx, const struct kc_join_source *source,
                           const struct kc_run_sink *sink, struct kc_join_totals *totals,
                           struct kc_error *err)
{
        const struct kc_gpu_ask_reader *reader = ctx;
        (void)sink;
        return reader->join(reader->ctx, source, totals, err);
}

static enum kc_status read_table(void *ctx, const struct kc_gpu_ask_reader *reader,
                                 struct kc_error *err)
{
        struct kc_store *store = ctx;
        struct kc_gpu_ask_reader copy = *reader;
        const struct kc_set set = { &store, 1, KC_SET_UNION, KC_RULE_SUM };
        const struct kc_set_joiner joiner = { &copy, join };
        const struct kc_run_sink nowhere = { .ctx = NULL };
        struct kc_store_origin origin;
        const char **names;
        const enum kc_status status = kc_set_run_by(&set, &joiner, &nowhere, &origin, &names, err);
        free(names);
        return status;
}

struct kc_gpu_ask_table kc_device_table(struct kc_store *store)
{
        const struct kc_set set = { &store, 1, KC_SET_UNION, KC_RULE_SUM };
        struct kc_store_info info;
        kc_store_get_info(store, &info);
        return (struct kc_gpu_ask_table){
                .ctx = store, .k = info.k, .npairs = kc_set_npairs(&set), .read = read_table
        };
}

enum kc_status kc_device_asker_open(struct kc_asker *asker, struct kc_store *store,
                                    const struct kc_gpu_ask_options *options,
                                    const struct kc_ask_setup *setup, enum kc_gpu_ask_way *way,
                                    struct kc_error *err)
{
        const struct kc_gpu_ask_table table = kc_device_table(store);
        return kc_gpu_ask_open(asker, &table, options, setup, way, err);
}
