#include "ranks/exchange.h"

#include <stdlib.h>
#include <string.h>

struct exchange_gather {
        uint8_t *all;
        size_t nbytes; /* of a rank */
};

static enum kc_status take_values(void *ctx, uint32_t from, const uint8_t *data, size_t nbytes,
                                  struct kc_error *err)
{
        const struct exchange_gather *g = ctx;
        if (nbytes != g->nbytes)
                return kc_fail(err, KC_EIO, "rank %u sent %zu bytes, not %zu", (unsigned)from,
                               nbytes, g->nbytes);
        memcpy(g->all + from * g->nbytes, data, nbytes);
        return KC_OK;
}

enum kc_status kc_exchange_gather(const struct kc_exchange *exchange, const void *mine,
                                  size_t nbytes, void **all, struct kc_error *err)
{
        struct exchange_gather g = { malloc((size_t)exchange->nranks * nbytes), nbytes };
        const struct kc_exchange_taker taker = { .ctx = &g, .take = take_values, .urgent = true };
        const uint32_t rank = (uint32_t)exchange->rank;
        enum kc_status status;
        *all = g.all;
        if (g.all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        memcpy(g.all + rank * nbytes, mine, nbytes);
        KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        for (int to = 0; to < exchange->nranks; to++)
                if (to != exchange->rank)
                        KC_TRY(exchange->send(exchange->ctx, to, rank, mine, nbytes, err));
        KC_TRY(exchange->end(exchange->ctx, NULL, err));
        return KC_OK;
out:
        exchange->fail(exchange->ctx); /* the taker is not called after this */
        free(g.all);
        *all = NULL;
        return status;
}

static uint64_t combined(enum kc_exchange_rule rule, uint64_t a, uint64_t b)
{
        switch (rule) {
        case KC_EXCHANGE_SUM:
                return a + b;
        case KC_EXCHANGE_LEAST:
                return a < b ? a : b;
        default:
                return a | b;
        }
}

enum kc_status kc_exchange_combine(const struct kc_exchange *exchange, enum kc_exchange_rule rule,
                                   uint64_t *values, size_t n, struct kc_error *err)
{
        void *gathered;
        const enum kc_status status =
                kc_exchange_gather(exchange, values, n * sizeof *values, &gathered, err);
        if (status != KC_OK)
                return status;
        const uint64_t *all = gathered;
        memcpy(values, all, n * sizeof *values);
        for (size_t i = n; i < n * (size_t)exchange->nranks; i++)
                values[i % n] = combined(rule, values[i % n], all[i]);
        free(gathered);
        return KC_OK;
}
