/*
 * What the threads of an exchange share: callers (messages.c), the pump (pump.c), which alone uses
 * the transport, and the taker's thread (taking.c).
 */
#ifndef KC_RANKS_MESSAGES_STATE_H
#define KC_RANKS_MESSAGES_STATE_H

#include "ranks/messages.h"
#include "ranks/watch.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
        FULL_NBYTES = 128 << 10, /* a message of this size is sent */
        MESSAGE_NBYTES = KC_EXCHANGE_MAX_NBYTES + 64,
        MOST_RECEIVING = 6, /* of a rank at a time: if it is lost, there is room for others */
};

/* Of two phases, or gathers, that follow each other, messages of the second can arrive before those
 * of the first, but not those of the third: the second does not end without this rank. */
enum tag {
        TAG_FAILED,
        TAG_SETTLED,
        TAG_ALIVE,                    /* see ranks/watch.h */
        TAG_LEFT,                     /* nothing more follows from this rank */
        TAG_GATHER,                   /* and the next */
        TAG_RECORDS = TAG_GATHER + 2, /* and the next; an empty message ends a rank's phase */
};

struct message {
        struct message *next;
        int rank, tag; /* to or from this rank */
        size_t nbytes;
        atomic_int nholders; /* threads that copy records into it, and 1 while it is being filled */
        void *request;       /* of one on its way */
        uint8_t data[MESSAGE_NBYTES];
};

/* In a message, before the records of a list. */
struct record_header {
        uint32_t list, nbytes;
};

/* First in, first out. */
struct message_queue {
        struct message *first, *last;
};

struct kc_ranks_exchange {
        const struct kc_transport *transport;
        pthread_t pump, taking;
        /* the ranks that take part in phases and gathers */
        int nmembers;
        int *members;               /* [nmembers] their ranks */
        int *seats;                 /* [nranks] a rank's number among them; -1: it only settles */
        pthread_mutex_t lock;       /* guards what follows, except the pump's own */
        pthread_cond_t changed;     /* for callers */
        pthread_cond_t room;        /* for callers that send: a free message wakes one */
        pthread_cond_t work;        /* for the pump */
        pthread_cond_t arrival;     /* for the taker's thread */
        int nmessages;              /* for sending, whether free or not */
        struct message *free;       /* those for sending that are free */
        int nfree;                  /* how many they are */
        struct message *empty;      /* for receiving */
        struct message **filling;   /* [nranks] with records; or NULL */
        struct message_queue queue; /* to be sent by the pump */
        struct kc_error failure;    /* of this rank or, as KC_ECANCELED, of another */
        bool broken;                /* the transport has failed */
        /* the phase */
        struct kc_exchange_taker taker;
        bool takes;                   /* this phase's records; they are dropped after a failure */
        struct message_queue arrived; /* records for the taker */
        int *nwaiting; /* [nranks] messages of a rank that the taker has not dealt with yet */
        int nusing;    /* the sum of these, plus calls of taker.ready in progress */
        unsigned phase;
        int nended;  /* ranks that send nothing more in it */
        bool ending; /* a caller waits for the other ranks to end the phase */
        /* the gather; settling is one, too */
        unsigned gather;
        int nmissing;        /* other ranks whose values have not arrived */
        const uint8_t *mine; /* this rank's values, when settling */
        uint8_t *gathered;
        size_t gathered_nbytes; /* of a rank */
        /* settling */
        bool settling;
        bool *settled; /* [nranks] other ranks of which nothing more is to be taken */
        /* the end */
        bool leaving, stop; /* this rank leaves; the pump must stop */
        bool finished;      /* the pump has ended: no more records arrive */
        int nleft;          /* other ranks that have left */
        double patience_seconds;
        uint64_t nsent, ntaken;
        /* the pump's own */
        struct message *posted;         /* on their way to others */
        struct message_queue receiving; /* on their way to this rank, in order of arrival */
        struct message *incoming;       /* for the next one; or NULL */
        int *nreceiving;                /* [nranks] messages in `receiving` from a rank */
        int nhandled;                   /* messages that were complete in this turn */
        int nwarned;  /* ranks below this have been sent the failure; nranks: no more need be */
        int nsettled; /* ranks below this have been sent this rank's values */
        int ntold;    /* ranks below this have been told that this rank leaves */
        struct kc_watch *watch;
        long nap_ns; /* the next nap between looks for messages */
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

/* Whether a thread waits for the pump, or senders may soon have to wait for free messages. Lock
 * held. */
static inline bool kc_ranks_is_urgent(const struct kc_ranks_exchange *x)
{
        return x->nfree < x->nmessages / 2 || x->nmissing > 0 || x->settling || x->leaving ||
               x->ending || (kc_ranks_expects_records(x) && x->taker.urgent);
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

/* Lock held. */
static inline void kc_ranks_keep_free(struct kc_ranks_exchange *x, struct message *message)
{
        kc_messages_keep(&x->free, message);
        x->nfree++;
}

/* ---- for all threads ---- */

/* A failure that breaks the exchange replaces one that was noted before. */
void kc_ranks_note_failure(struct kc_ranks_exchange *x, const struct kc_error *failure,
                           bool breaks);

/* Send the same message to all other ranks, or to all other members if it belongs to a phase or a
 * gather, as far as there are free messages; the caller sends the rest later. Lock held.
 *   next  in/out: ranks below this have been sent the message */
void kc_ranks_send_to_others(struct kc_ranks_exchange *x, int tag, const void *data, size_t nbytes,
                             int *next);

/* ---- the pump ---- */

/* The pump takes the lock as soon as it wakes. So frequent callers release the lock first;
 * otherwise the pump would have to wait again. */
static inline void kc_ranks_wake_pump(struct kc_ranks_exchange *x)
{
        pthread_cond_signal(&x->work);
}

/* The function of this thread; returns when the exchange stops or breaks. */
void *kc_ranks_run_pump(void *exchange);

/* ---- the taker's thread ---- */

/* The function of this thread; returns when the exchange is finished. */
void *kc_ranks_run_taking(void *exchange);

/* Called by the pump, which gives the message away: let the taker have its records. */
void kc_ranks_deliver(struct kc_ranks_exchange *x, struct message *message);

/* Called by the pump: whether another message from this rank should be received. It should if the
 * taker is ready and there is room for it, and for a message of another kind after it. */
bool kc_ranks_has_room(struct kc_ranks_exchange *x, int from);

/* The taker is not called after this; records that still wait are dropped. Lock held. */
void kc_ranks_stop_taking(struct kc_ranks_exchange *x);

#endif
