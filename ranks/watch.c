#include "ranks/watch.h"

#include "base/clock.h"

#include <stdlib.h>

enum { BEATS = 24 }; /* in the time after which a silent rank is lost */

/* The most that a turn adds to the time that a rank has been silent: if more time has passed, this
 * process was itself stopped, perhaps together with the others. */
#define TURN_SECONDS 1.0

struct watched {
        double silent_seconds;
        bool left;
};

struct kc_watch {
        int rank, nranks;
        double patience_seconds;
        double turned, beaten; /* when the last turn was, and the last beats */
        struct watched ranks[];
};

enum kc_status kc_watch_new(struct kc_watch **watch, const struct kc_transport *transport,
                            struct kc_error *err)
{
        const size_t n = (size_t)transport->nranks;
        struct kc_watch *w = calloc(1, sizeof *w + n * sizeof *w->ranks);
        *watch = w;
        if (w == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for messages");
        w->rank = transport->rank;
        w->nranks = transport->nranks;
        w->ranks[w->rank].left = true; /* a rank does not watch itself */
        w->turned = w->beaten = kc_clock_seconds();
        return KC_OK;
}

void kc_watch_heard(struct kc_watch *w, int from)
{
        w->ranks[from].silent_seconds = 0;
}

void kc_watch_left(struct kc_watch *w, int from)
{
        w->ranks[from].left = true;
}

/* Ranks lose patience one after another, so that usually only one reports a loss, and ends the
 * others. */
static enum kc_status check_heard(struct kc_watch *w, int from, double passed, struct kc_error *err)
{
        struct watched *watched = &w->ranks[from];
        watched->silent_seconds += passed < TURN_SECONDS ? passed : TURN_SECONDS;
        if (watched->left || watched->silent_seconds < w->patience_seconds + w->rank)
                return KC_OK;
        return kc_fail(err, KC_EIO,
                       "nothing was heard from rank %d for %.0f seconds; it has stopped, or "
                       "cannot be reached",
                       from, watched->silent_seconds);
}

/* With another limit, the silence of all ranks is measured from now on. */
static void set_patience(struct kc_watch *w, double seconds)
{
        if (w->patience_seconds == seconds)
                return;
        w->patience_seconds = seconds;
        for (int i = 0; i < w->nranks; i++)
                w->ranks[i].silent_seconds = 0;
}

enum kc_status kc_watch_turn(struct kc_watch *w, double patience_seconds, bool *must_beat,
                             struct kc_error *err)
{
        const double now = kc_clock_seconds(), passed = now - w->turned;
        enum kc_status status = KC_OK;
        *must_beat = now - w->beaten >= patience_seconds / BEATS;
        set_patience(w, patience_seconds);
        w->turned = now;
        if (*must_beat)
                w->beaten = now;
        for (int i = 0; i < w->nranks && status == KC_OK; i++)
                status = check_heard(w, i, passed, err);
        return status;
}

void kc_watch_free(struct kc_watch *w)
{
        free(w);
}
