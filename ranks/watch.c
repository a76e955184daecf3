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
        void *beat; /* its request, if one is on its way; or NULL */
};

struct kc_watch {
        const struct kc_transport *transport;
        int tag;
        double patience_seconds;
        double turned, beaten; /* when the last turn was, and the last beats */
        struct watched ranks[];
};

enum kc_status kc_watch_new(struct kc_watch **watch, const struct kc_transport *transport, int tag,
                            struct kc_error *err)
{
        const size_t n = (size_t)transport->nranks;
        struct kc_watch *w = calloc(1, sizeof *w + n * sizeof *w->ranks);
        *watch = w;
        if (w == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for messages");
        w->transport = transport;
        w->tag = tag;
        w->ranks[transport->rank].left = true; /* a rank does not watch itself */
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

/* Send a beat to a rank that has taken the previous one; also to a rank that has left, because it
 * still waits for the others. */
static enum kc_status beat(struct kc_watch *w, int to, struct kc_error *err)
{
        static const char nothing;
        const struct kc_transport *t = w->transport;
        if (to == t->rank || w->ranks[to].beat != NULL)
                return KC_OK;
        return t->post(t->ctx, to, w->tag, &nothing, 0, &w->ranks[to].beat, err);
}

static enum kc_status end_beat(struct kc_watch *w, int to, struct kc_error *err)
{
        const struct kc_transport *t = w->transport;
        bool done = false;
        if (w->ranks[to].beat == NULL)
                return KC_OK;
        const enum kc_status status = t->sent(t->ctx, w->ranks[to].beat, &done, err);
        if (done)
                w->ranks[to].beat = NULL;
        return status;
}

/* Ranks lose patience one after another, so that usually only one reports a loss, and ends the
 * others. */
static enum kc_status check_heard(struct kc_watch *w, int from, double passed, struct kc_error *err)
{
        struct watched *watched = &w->ranks[from];
        watched->silent_seconds += passed < TURN_SECONDS ? passed : TURN_SECONDS;
        if (watched->left || watched->silent_seconds < w->patience_seconds + w->transport->rank)
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
        for (int i = 0; i < w->transport->nranks; i++)
                w->ranks[i].silent_seconds = 0;
}

enum kc_status kc_watch_turn(struct kc_watch *w, bool beats, double patience_seconds,
                             struct kc_error *err)
{
        const double now = kc_clock_seconds(), passed = now - w->turned;
        const bool must_beat = beats && now - w->beaten >= patience_seconds / BEATS;
        enum kc_status status = KC_OK;
        set_patience(w, patience_seconds);
        w->turned = now;
        if (must_beat)
                w->beaten = now;
        for (int i = 0; i < w->transport->nranks; i++) {
                KC_TRY(end_beat(w, i, err));
                if (must_beat)
                        KC_TRY(beat(w, i, err));
                KC_TRY(check_heard(w, i, passed, err));
        }
out:
        return status;
}

bool kc_watch_is_quiet(const struct kc_watch *w)
{
        for (int i = 0; i < w->transport->nranks; i++)
                if (w->ranks[i].beat != NULL)
                        return false;
        return true;
}

void kc_watch_free(struct kc_watch *w)
{
        free(w);
}
