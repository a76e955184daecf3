#include "app/signals.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_SECONDS = 3 };

/* A handler has no other way to learn anything than static storage. */
static struct {
        struct kc_job *job;
        char temporary[PATH_MAX];
        atomic_bool has_temporary;
        atomic_int caught;
} state;

static void die_at_once(int signo)
{
        if (atomic_load(&state.has_temporary))
                unlink(state.temporary);
        signal(signo, SIG_DFL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, signo);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        raise(signo);
        _exit(128 + signo);
}

static void on_signal(int signo)
{
        int none = 0;
        bool first = atomic_compare_exchange_strong(&state.caught, &none, signo);
        if (!first || state.job == NULL)
                die_at_once(signo);
        atomic_store(&state.job->cancel, true);
        alarm(GRACE_SECONDS);
}

static void on_alarm(int signo)
{
        (void)signo;
        die_at_once(atomic_load(&state.caught));
}

static void catch_signal(int signo, void (*handler)(int))
{
        struct sigaction old, action = { .sa_handler = handler, .sa_flags = SA_RESTART };
        sigemptyset(&action.sa_mask);
        if (sigaction(signo, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
                sigaction(signo, &action, NULL);
}

void signals_install(struct kc_job *job)
{
        state.job = job;
        if (job)
                catch_signal(SIGALRM, on_alarm);
        catch_signal(SIGINT, on_signal);
        catch_signal(SIGTERM, on_signal);
        catch_signal(SIGHUP, on_signal);
}

void signals_set_temporary(const char *path)
{
        atomic_store(&state.has_temporary, false);
        if (path == NULL || strlen(path) >= sizeof state.temporary)
                return;
        strcpy(state.temporary, path);
        atomic_store(&state.has_temporary, true);
}

int signals_caught(void)
{
        return atomic_load(&state.caught);
}

void signals_die(void)
{
        die_at_once(signals_caught());
        abort();
}
