/*
 * How several ranks count one input together. A rank is a process, perhaps on another machine, with
 * an engine of its own; it reads a part of the input. Engines send each other records of lists:
 * every list is owned by one rank. Engines do not know who provides the exchange.
 *
 *      phase:  begin, on every rank
 *              send, by any threads; meanwhile what the others send is taken
 *              end: returns once everything that was sent to this rank has been taken
 *
 * All ranks go through the same phases in the same order. If a rank fails, it calls
 * fail, and the calls of all others return KC_ECANCELED.
 */
#ifndef KC_EXCHANGE_H
#define KC_EXCHANGE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where records go that others have sent. */
struct kc_exchange_taker {
        void *ctx;
        /* By one thread at a time, which must not wait for another rank. */
        enum kc_status (*take)(void *ctx, uint32_t list, const uint8_t *data, size_t nbytes,
                               struct kc_error *err);
        /* Whether records may come now; if not, they wait where they are. NULL: they always may.
         * Those that are already on their way still come, up to KC_EXCHANGE_AHEAD times
         * KC_EXCHANGE_MAX_NBYTES from each rank. */
        bool (*ready)(void *ctx);
        /* `send` does not wait for room: its callers look whether there is any (has_room). */
        bool overfills;
        /* Threads of this rank wait for records, so they must arrive soon. This costs CPU time. */
        bool urgent;
};

enum {
        KC_EXCHANGE_MAX_NBYTES = 512 << 10, /* of what is sent at once */
        KC_EXCHANGE_AHEAD = 4,              /* most messages of a rank on their way to `take` */
        KC_EXCHANGE_ARRIVING = 12,          /* most messages of all ranks that arrive at once */
};

struct kc_exchange {
        void *ctx;
        int rank, nranks;

        /* taker is copied. KC_ECANCELED. */
        enum kc_status (*begin)(void *ctx, const struct kc_exchange_taker *taker,
                                struct kc_error *err);
        /*
         * Send whole records of a list to another rank; they arrive in one piece. May wait until
         * earlier ones have left.
         *   data  [nbytes] at most KC_EXCHANGE_MAX_NBYTES; may be reused on return
         * KC_ECANCELED, KC_EIO, and what the taker returned.
         */
        enum kc_status (*send)(void *ctx, int to, uint32_t list, const uint8_t *data, size_t nbytes,
                               struct kc_error *err);
        /* Whether a message can be sent now; another thread may take the room. It only matters if
         * taker.overfills. */
        bool (*has_room)(void *ctx);
        /* No thread of this rank sends any more in this phase. Fails as send does.
         *   over  NULL: wait for all ranks. Otherwise out: whether the phase is over; if not, call
         *         this again */
        enum kc_status (*end)(void *ctx, bool *over, struct kc_error *err);

        /* KC_ECANCELED if any rank has failed; from any thread. */
        enum kc_status (*check)(void *ctx, struct kc_error *err);

        /* This rank has failed: wake the others. May be called by any thread, and more than
         * once. */
        void (*fail)(void *ctx);
};

/* Returns the rank that owns a list: they are dealt to the ranks in turn. */
static inline int kc_exchange_owner(const struct kc_exchange *exchange, uint32_t list)
{
        return (int)(list % (uint32_t)exchange->nranks);
}

/*
 * Outside of phases, by one thread: exchange a few values with all ranks.
 *   mine  [nbytes] at most KC_EXCHANGE_MAX_NBYTES, the same size on every rank
 *   all   out [nranks * nbytes], in the order of the ranks; freed by the caller
 * KC_ECANCELED, KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_exchange_gather(const struct kc_exchange *exchange, const void *mine,
                                  size_t nbytes, void **all, struct kc_error *err);

enum kc_exchange_rule { KC_EXCHANGE_SUM, KC_EXCHANGE_LEAST, KC_EXCHANGE_ANY_BIT };

/* Combine each value with those of the other ranks. Fails as kc_exchange_gather does. */
enum kc_status kc_exchange_combine(const struct kc_exchange *exchange, enum kc_exchange_rule rule,
                                   uint64_t *values, size_t n, struct kc_error *err);

#endif
