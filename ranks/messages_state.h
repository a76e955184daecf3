/*
 * What the threads of an exchange share: callers (messages.c), and the pump (pump.c), which alone
 * uses the transport.
 */
#ifndef KC_RANKS_MESSAGES_STATE_H
#define KC_RANKS_MESSAGES_STATE_H

#include "ranks/messages.h"

#include <pthread.h>

enum { MESSAGE_NBYTES = KC_EXCHANGE_MAX_NBYTES + 64 };

/* Messages of the next phase can arrive before those of this one, but those of the phase after it
 * cannot: the next phase does not end without this rank. */
enum tag {
        TAG_FAILED,
        TAG_SETTLED,
        TAG_ALIVE,   /* a beat: see pump.c */
        TAG_RECORDS, /* and the next; an empty message ends a rank's phase */
};

struct message {
        struct message *next;
        int rank, tag; /* to or from this rank */
        size_t nbytes, cap;
        union kc_transport_request request; /* of one on its way */
        uint8_t data[];
};

/* In a message, before the records of a list. */
struct record_header {
        uint32_t list, nbytes;
};

/* First in, first out. */
struct message_queue {
        struct message *first, *last;
};

/* What is known about a rank. */
struct rank {
        int seat;                /* its number among the members; -1: it only settles */
        int member;              /* in entry i: the rank with seat i */
        bool settled;            /* its values have arrived */
        struct message *filling; /* with records for it; or NULL */
        /* the pump's own */
        int nreceiving;        /* messages in `receiving` from it */
        double silent_seconds; /* while this rank waited for it */
};

struct kc_ranks_exchange {
        const struct kc_transport *transport;
        pthread_t pump;
        int nmembers;               /* ranks that take part in phases */
        struct rank *ranks;         /* [nranks] */
        pthread_mutex_t lock;       /* guards what follows, except the pump's own */
        pthread_cond_t changed;     /* for callers */
        pthread_cond_t room;        /* for callers that send: there may be room for a message */
        pthread_cond_t work;        /* for the pump */
        int nout, most_out;         /* messages with records that have not left yet; the limit */
        struct message *free;       /* for records */
        struct message_queue queue; /* to be sent by the pump */
        struct kc_error failure;    /* of this rank or, as KC_ECANCELED, of another */
        bool broken;                /* the transport has failed */
        /* the phase */
        struct kc_exchange_taker taker;
        bool takes;  /* this phase's records; they are dropped after a failure */
        bool taking; /* the pump is calling the taker */
        unsigned phase;
        int nended;  /* other ranks that send nothing more in it */
        bool closed; /* this rank sends nothing more in it, and waits for the others */
        /* settling */
        bool settling;
        uint8_t *all;       /* of all ranks */
        size_t each_nbytes; /* of a rank */
        int nsettled;       /* other ranks whose values have arrived */
        uint32_t nsettles;  /* how often all have settled; a failure from before that is old */
        /* the end */
        bool leaving, stop; /* this rank sends no more beats; the pump must stop */
        double patience_seconds;
        uint64_t nsent, ntaken;
        /* the pump's own */
        struct message *posted;         /* on their way to others */
        struct message_queue receiving; /* on their way to this rank, in order of arrival */
        struct message *empty;          /* for the next ones */
        int narriving;                  /* messages in `receiving` */
        int nhandled;                   /* messages that were complete in this turn */
        double turned, beaten;          /* when the last turn was, and the last beats */
        long nap_ns;                    /* the next nap between looks for messages */
};

static inline int kc_ranks_records_tag(const struct kc_ranks_exchange *x)
{
        return TAG_RECORDS + (int)(x->phase % 2);
}

/* Lock held. */
static inline bool kc_ranks_expects_records(const struct kc_ranks_exchange *x)
{
        return x->takes && x->nended < x->nmembers - 1;
}

/* Whether a thread waits for the pump, or senders may soon have to wait for room. Lock held. */
static inline bool kc_ranks_is_urgent(const struct kc_ranks_exchange *x)
{
        return x->nout > x->most_out / 2 || x->settling || x->closed ||
               (kc_ranks_expects_records(x) && x->taker.urgent);
}

/* ---- messages ---- */

static inline void kc_messages_push(struct message_queue *queue, struct message *message)
{
        message->next = NULL;
        if (queue->first == NULL)
                queue->first = message;
        else
                queue->last->next = message;
        queue->last = message;
}

/* Take the first message of a list. Returns NULL if the list is empty. */
static inline struct message *kc_messages_pop(struct message **list)
{
        struct message *message = *list;
        if (message != NULL)
                *list = message->next;
        return message;
}

static inline void kc_messages_keep(struct message **list, struct message *message)
{
        message->next = *list;
        *list = message;
}

/* KC_ENOMEM */
enum kc_status kc_ranks_new_message(struct message **message, size_t cap, struct kc_error *err);

void kc_messages_free(struct message *list);

/* ---- for all threads ---- */

enum whose_failure { FAILURE_OWN, FAILURE_ANOTHERS, FAILURE_BREAKS };

/* Note a failure and, if it is this rank's own, tell the other ranks. One that breaks the exchange
 * replaces a failure that was noted before. Lock held. */
void kc_ranks_note_failure(struct kc_ranks_exchange *x, const struct kc_error *failure,
                           enum whose_failure whose);

/* Send the same message to all other ranks, or to all other members if it ends a phase. Lock held.
 * KC_ENOMEM. */
enum kc_status kc_ranks_send_to_others(struct kc_ranks_exchange *x, int tag, const void *data,
                                       size_t nbytes, struct kc_error *err);

/* The function of the pump's thread; returns when the exchange stops or breaks. */
void *kc_ranks_run_pump(void *exchange);

#endif
