/*
 * The signals are blocked in all threads and taken by one that waits for them, so that no code has
 * to be safe to run in the middle of any other.
 */
#include "app/signals.h"

#include "kmer/parallel.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_SECONDS = 3 };

/* There is one set of signals a process, and so one of these. */
static struct {
        sigset_t set;
        struct kc_job *job;
        atomic_int caught;
        pthread_mutex_t lock; /* guards temporary */
        char temporary[PATH_MAX];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Noreturn void die(int signo)
{
        pthread_mutex_lock(&state.lock); /* for good: the name may not change any more */
        if (*state.temporary)
                unlink(state.temporary);
        signal(signo, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &state.set, NULL);
        raise(signo);
        _exit(128 + signo);
}

static void *wait_for_signals(void *arg)
{
        (void)arg;
        int signo;
        if (sigwait(&state.set, &signo) != 0)
                return NULL;
        atomic_store(&state.caught, signo);
        if (state.job == NULL)
                die(signo);
        atomic_store(&state.job->cancel, true);
        const struct timespec grace = { .tv_sec = GRACE_SECONDS };
        sigtimedwait(&state.set, NULL, &grace);
        die(signo);
}

static void add_unless_ignored(int signo)
{
        struct sigaction action;
        if (sigaction(signo, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
                sigaddset(&state.set, signo);
}

void signals_install(struct kc_job *job)
{
        pthread_t thread;
        state.job = job;
        sigemptyset(&state.set);
        add_unless_ignored(SIGINT);
        add_unless_ignored(SIGTERM);
        add_unless_ignored(SIGHUP);
        pthread_sigmask(SIG_BLOCK, &state.set, NULL);
        if (kc_thread_create(&thread, wait_for_signals, NULL) == 0)
                pthread_detach(thread);
        else
                pthread_sigmask(SIG_UNBLOCK, &state.set, NULL); /* they kill, as ever */
}

/* The lock is held. */
static void set_temporary(const char *path)
{
        if (path && strlen(path) < sizeof state.temporary)
                strcpy(state.temporary, path);
        else
                *state.temporary = '\0';
}

void signals_set_temporary(const char *path)
{
        pthread_mutex_lock(&state.lock);
        set_temporary(path);
        pthread_mutex_unlock(&state.lock);
}

int signals_create_temporary(const char *path)
{
        pthread_mutex_lock(&state.lock); /* not before who is dying, if anyone is */
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
                set_temporary(path);
        pthread_mutex_unlock(&state.lock);
        return fd;
}

int signals_caught(void)
{
        return atomic_load(&state.caught);
}

void signals_die(void)
{
        die(signals_caught());
}
