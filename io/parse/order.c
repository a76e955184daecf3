#include "io/parse/order.h"

void kc_order_init(struct kc_order *order)
{
        kc_turn_init(&order->split);
        kc_turn_init(&order->confirm);
        order->failed = false;
}

void kc_order_destroy(struct kc_order *order)
{
        kc_turn_destroy(&order->split);
        kc_turn_destroy(&order->confirm);
}

enum kc_status kc_order_settle(struct kc_order *order, struct kc_chunk *chunk,
                               const struct kc_error *own, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (!order->failed && own->status != KC_OK) {
                order->failed = true;
                status = kc_fail_as(err, own);
        }
        if (order->failed)
                chunk->nrecords = chunk->nreads = chunk->nblanks = chunk->nlow_quality = 0;
        return status;
}
