/*
 * Messages between ranks, without a word about what they hold: MPI's (mpi.c), or a test's own.
 * One thread at a time may call these.
 */
#ifndef KC_RANKS_TRANSPORT_H
#define KC_RANKS_TRANSPORT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
        KC_TRANSPORT_ANY = -1,
        KC_TRANSPORT_PATIENCE_S = 120, /* seconds to wait for a rank that sends nothing */
};

/* Stands for a message on its way. */
union kc_transport_request {
        void *pointer;
        int number;
};

struct kc_transport {
        void *ctx;
        int rank, nranks;
        /* Begin to send data[nbytes], which must stay as it is until `sent` says so. Messages from
         * one rank to another are taken in the order in which they were posted, among those with a
         * wanted tag. KC_EIO. */
        enum kc_status (*post)(void *ctx, int to, int tag, const void *data, size_t nbytes,
                               union kc_transport_request *request, struct kc_error *err);
        /* *done: the message has left. KC_EIO. */
        enum kc_status (*sent)(void *ctx, union kc_transport_request *request, bool *done,
                               struct kc_error *err);
        /* Begin to take a message with this tag from this rank, if one has arrived; *got_from = -1
         * if none has. A large message comes in pieces, and for each piece both ranks must call one
         * of these functions.
         *   from, tag  what is wanted; KC_TRANSPORT_ANY
         *   data       out [cap]: no message is longer; not to be used until `taken` says so
         * KC_EIO. */
        enum kc_status (*take)(void *ctx, int from, int tag, void *data, size_t cap, int *got_from,
                               int *got_tag, union kc_transport_request *request,
                               struct kc_error *err);
        /* *done: the message is complete, and *nbytes long. KC_EIO. */
        enum kc_status (*taken)(void *ctx, union kc_transport_request *request, bool *done,
                                size_t *nbytes, struct kc_error *err);
};

#endif
