#include "app/library/order.h"

#include <stdlib.h>

enum kc_status kc_asking_order_init(struct kc_asking_order *order, int nplaces, void *ctx,
                                    enum kc_status (*write)(void *ctx, int place,
                                                            struct kc_error *err),
                                    struct kc_error *err)
{
        struct kc_asking_place *places = calloc((size_t)nplaces, sizeof *places);
        if (places == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for threads");
        *order = (struct kc_asking_order){
                .nplaces = nplaces, .ctx = ctx, .write = write, .places = places
        };
        pthread_mutex_init(&order->lock, NULL);
        for (int i = 0; i < nplaces; i++)
                pthread_cond_init(&places[i].written, NULL);
        return KC_OK;
}

void kc_asking_order_destroy(struct kc_asking_order *order)
{
        if (order->places == NULL)
                return;
        for (int i = 0; i < order->nplaces; i++)
                pthread_cond_destroy(&order->places[i].written);
        pthread_mutex_destroy(&order->lock);
        free(order->places);
}

/* Under the lock: the place of the block whose turn it is; -1: it has not been handed in. */
static int find_next(const struct kc_asking_order *order)
{
        for (int i = 0; i < order->nplaces; i++)
                if (order->places[i].is_taken && order->places[i].number == order->next)
                        return i;
        return -1;
}

/* Under the lock. */
static void end_turn(struct kc_asking_order *order, int number)
{
        struct kc_asking_place *place = &order->places[number];
        order->next++;
        place->is_taken = false;
        if (place->is_awaited)
                pthread_cond_signal(&place->written);
}

/* Under the lock, which is released while a block is written. */
static enum kc_status write_in_order(struct kc_asking_order *order, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        int place;
        order->is_writing = true;
        while (status == KC_OK && !order->stopped && (place = find_next(order)) >= 0) {
                pthread_mutex_unlock(&order->lock);
                status = order->write(order->ctx, place, err);
                pthread_mutex_lock(&order->lock);
                if (status == KC_OK)
                        end_turn(order, place);
                else
                        order->stopped = true; /* or another thread would write it again */
        }
        order->is_writing = false;
        return status;
}

enum kc_status kc_asking_order_hand_in(struct kc_asking_order *order, int place, uint64_t number,
                                       struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&order->lock);
        order->places[place].number = number;
        order->places[place].is_taken = true;
        if (!order->is_writing)
                status = write_in_order(order, err);
        pthread_mutex_unlock(&order->lock);
        return status;
}

bool kc_asking_order_is_taken(struct kc_asking_order *order, int place)
{
        pthread_mutex_lock(&order->lock);
        const bool is_taken = order->places[place].is_taken;
        pthread_mutex_unlock(&order->lock);
        return is_taken;
}

enum kc_status kc_asking_order_wait(struct kc_asking_order *order, int number, struct kc_error *err)
{
        struct kc_asking_place *place = &order->places[number];
        pthread_mutex_lock(&order->lock);
        place->is_awaited = true;
        while (place->is_taken && !order->stopped)
                pthread_cond_wait(&place->written, &order->lock);
        place->is_awaited = false;
        const bool stopped = place->is_taken;
        pthread_mutex_unlock(&order->lock);
        return stopped ? kc_fail(err, KC_ECANCELED, "another thread failed") : KC_OK;
}

void kc_asking_order_stop(struct kc_asking_order *order)
{
        pthread_mutex_lock(&order->lock);
        order->stopped = true;
        for (int i = 0; i < order->nplaces; i++)
                pthread_cond_signal(&order->places[i].written);
        pthread_mutex_unlock(&order->lock);
}
