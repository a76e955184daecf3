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
        TAG_LEFT,    /* nothing more follows from this rank */
        TAG_RECORDS, /* and the next; an empty message ends a rank's phase */
};

struct message {
        struct message *next;
        int rank, tag; /* to or from this rank */
        size_t nbytes, cap;
        void *request; /* of one on its way */
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

struct watched {
        double silent_seconds;
        bool left;
};

struct kc_ranks_exchange {
        const struct kc_transport *transport;
        pthread_t pump;
        /* the ranks that take part in phases */
        int nmembers;
        int *members;               /* [nmembers] their ranks */
        int *seats;                 /* [nranks] a rank's number among them; -1: it only settles */
        pthread_mutex_t lock;       /* guards what follows, except the pump's own */
        pthread_cond_t changed;     /* for callers */
        pthread_cond_t room;        /* for callers that send: there may be room for a message */
        pthread_cond_t work;        /* for the pump */
        int nout, most_out;         /* messages with records that have not left yet; the limit */
        struct message *free;       /* for records */
        struct message **filling;   /* [nranks] with records; or NULL */
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
        const uint8_t *mine; /* this rank's values */
        uint8_t *all;        /* of all ranks */
        size_t each_nbytes;  /* of a rank */
        int nsettled;        /* other ranks whose values have arrived */
        bool *settled;       /* [nranks] whether they have */
        /* the end */
        bool leaving, stop; /* this rank leaves; the pump must stop */
        int nleft;          /* other ranks that have left */
        double patience_seconds;
        uint64_t nsent, ntaken;
        /* the pump's own */
        bool warned, told_values, told_leave; /* whether all others were told of a failure, etc. */
        struct message *posted;               /* on their way to others */
        struct message_queue receiving;       /* on their way to this rank, in order of arrival */
        struct message *empty;                /* for the next ones */
        int *nreceiving;                      /* [nranks] messages in `receiving` from a rank */
        int narriving;                        /* all of them */
        int nhandled;                         /* messages that were complete in this turn */
        struct watched *watched;              /* [nranks] */
        double watched_for;                   /* the patience in the last turn */
        double turned, beaten;                /* when the last turn was, and the last beats */
        long nap_ns;                          /* the next nap between looks for messages */
};

static inline int kc_ranks_nothers(const struct kc_ranks_exchange *x)
{
        return x->transport->nranks - 1;
}

/* Whether this rank only settles, and may be late for it. */
static inline bool kc_ranks_is_patient(const struct kc_ranks_exchange *x)
{
        return x->seats[x->transport->rank] < 0;
}

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
        return x->nout > x->most_out / 2 || x->settling || x->leaving || x->closed ||
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

/* ---- for all threads ---- */

/* A failure that breaks the exchange replaces one that was noted before. */
void kc_ranks_note_failure(struct kc_ranks_exchange *x, const struct kc_error *failure,
                           bool breaks);

/* Lock held. */
void kc_ranks_enqueue(struct kc_ranks_exchange *x, struct message *message, int to, int tag);

/* Send the same message to all other ranks, or to all other members if it ends a phase. Lock held.
 * KC_ENOMEM. */
enum kc_status kc_ranks_send_to_others(struct kc_ranks_exchange *x, int tag, const void *data,
                                       size_t nbytes, struct kc_error *err);

/* The function of the pump's thread; returns when the exchange stops or breaks. */
void *kc_ranks_run_pump(void *exchange);

#endif
