#include "ranks/exchange.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static enum kc_status combine(const struct kc_exchange *exchange, uint64_t *values, size_t n,
                              bool sums, struct kc_error *err)
{
        const size_t nbytes = n * sizeof *values;
        uint64_t *all = malloc((size_t)exchange->nranks * nbytes);
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        enum kc_status status = exchange->gather(exchange->ctx, values, nbytes, all, err);
        if (status == KC_OK)
                memcpy(values, all, nbytes);
        for (size_t i = n; status == KC_OK && i < n * (size_t)exchange->nranks; i++) {
                uint64_t *value = &values[i % n];
                if (sums)
                        *value += all[i];
                else if (all[i] < *value)
                        *value = all[i];
        }
        free(all);
        return status;
}

enum kc_status kc_exchange_sum(const struct kc_exchange *exchange, uint64_t *values, size_t n,
                               struct kc_error *err)
{
        return combine(exchange, values, n, true, err);
}

enum kc_status kc_exchange_least(const struct kc_exchange *exchange, uint64_t *values, size_t n,
                                 struct kc_error *err)
{
        return combine(exchange, values, n, false, err);
}
