#include "app/ask/device_asker.h"

#include <stdlib.h>

struct opening {
        struct kc_asker *asker;
        const struct kc_gpu_ask_options *options;
        const struct kc_ask_setup *setup;
};

/* Takes the place of a join that writes its run: here the run goes to the device's map. */
static enum kc_status load(void *ctx, const struct kc_join_source *source,
                           const struct kc_run_sink *sink, struct kc_join_totals *totals,
                           struct kc_error *err)
{
        const struct opening *opening = ctx;
        (void)sink;
        return kc_gpu_ask_open(opening->asker, source, opening->options, opening->setup, totals,
                               err);
}

enum kc_status device_asker_open(struct kc_asker *asker, struct kc_store *store,
                                 const struct kc_gpu_ask_options *options,
                                 const struct kc_ask_setup *setup, struct kc_error *err)
{
        struct opening opening = { asker, options, setup };
        const struct kc_set set = { &store, 1, KC_SET_UNION, KC_RULE_SUM };
        const struct kc_set_joiner joiner = { &opening, load };
        const struct kc_run_sink nowhere = { .ctx = NULL };
        struct kc_store_origin origin;
        const char **names;
        *asker = (struct kc_asker){ 0 };
        const enum kc_status status = kc_set_run_by(&set, &joiner, &nowhere, &origin, &names, err);
        free(names);
        if (status != KC_OK && asker->close != NULL) {
                asker->close(asker->ctx);
                *asker = (struct kc_asker){ 0 };
        }
        return status;
}
