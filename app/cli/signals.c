/*
 * The signals are blocked in all threads, and one thread waits for them, so that no code has to be
 * async-signal-safe.
 *
 * That thread may run late. Ctrl-C ends both sides of a pipe, so the input may end before the
 * thread has asked the job to stop, and part of the input would be taken for all of it. So any code
 * that is about to commit checks for a signal first (signals_allow_commit). Whichever comes first
 * takes the signal, under a lock; the thread waits with poll(), which does not take it.
 */
#include "app/cli/signals.h"

#include "app/cli/terminal.h"
#include "base/parallel.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
        GRACE_SECONDS = 3,
        SAY_MS = 200,
        MAX_TEMPORARIES = 64 /* more than any command has; the rest would not be removed */
};

/* A process has one set of signals, so there is one instance. */
static struct {
        sigset_t set;
        int pending; /* a descriptor that can be read while a signal of the set is pending */
        struct kc_job *job;
        pthread_mutex_t taking; /* held from taking a signal until the job has been asked to stop */
        int caught;             /* the first signal, or 0; guarded by taking */
        pthread_mutex_t lock;   /* guards the rest; stop_naming() never releases it */
        const char *temporaries[MAX_TEMPORARIES];
        int ntemporaries;
        bool makes_file; /* the output is a new file */
        bool may_commit; /* the output may be complete, or nearly so */
} state = { .taking = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

/* Lock held. */
static void remove_temporaries(void)
{
        for (int i = 0; i < state.ntemporaries; i++)
                unlink(state.temporaries[i]);
}

/* After this, no file gets a name, and a file with a temporary name is gone. */
static void stop_naming(void)
{
        pthread_mutex_lock(&state.lock);
        remove_temporaries();
}

/* The work will not be committed: remove its files at once. A launcher of several processes kills
 * them a second after it has asked them to end. */
static void give_up_names(void)
{
        pthread_mutex_lock(&state.lock);
        if (!state.may_commit)
                remove_temporaries();
        pthread_mutex_unlock(&state.lock);
}

/* Unblock no other signal: a pending SIGPIPE, from a message that nobody reads, must not come
 * first. */
static _Noreturn void die(int signo)
{
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, signo);
        signal(signo, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &own, NULL);
        raise(signo);
        _exit(128 + signo);
}

/* Write to standard error, but do not wait long for a pipe to be read: the process must die. */
static void say(const char *text)
{
        struct pollfd messages = { .fd = STDERR_FILENO, .events = POLLOUT };
        if (poll(&messages, 1, SAY_MS) > 0 && messages.revents == POLLOUT &&
            write(STDERR_FILENO, text, strlen(text)) < 0)
                return;
}

/*
 * stopped: the work failed before it could commit. If it is still going on, nothing remains of a
 * new file that is not being committed; what was appended to an existing file does remain, although
 * it does not count. A command without a job is interrupted without a message, like any filter.
 */
static _Noreturn void die_interrupted(int signo, bool stopped)
{
        stop_naming();
        if (state.job != NULL) {
                const bool nothing = stopped || (state.makes_file && !state.may_commit);
                char text[80];
                snprintf(text, sizeof text, "%skcount: interrupted%s\n",
                         terminal_can_redraw(STDERR_FILENO) ? "\r\033[K" : "", /* over progress */
                         nothing ? "; nothing was written" : "");
                say(text);
        }
        die(signo);
}

/* A pending signal, or 0. A SIGPIPE that our own write() raised does not count: write() has failed
 * with EPIPE, and a message on standard error that nobody reads is no reason to stop. */
static int next_signal(void)
{
        const struct timespec now = { 0 };
        siginfo_t info;
        int signo;
        do
                signo = sigtimedwait(&state.set, &info, &now);
        while (signo == SIGPIPE && info.si_pid == getpid());
        return signo > 0 ? signo : 0;
}

/* Take a pending signal, if none was taken before. Returns the first one, or 0. */
static int take_signal(void)
{
        pthread_mutex_lock(&state.taking);
        if (state.caught == 0) {
                state.caught = next_signal();
                if (state.caught != 0 && state.job != NULL)
                        atomic_store(&state.job->cancel, true);
        }
        int caught = state.caught;
        pthread_mutex_unlock(&state.taking);
        return caught;
}

static void *wait_for_signals(void *arg)
{
        (void)arg;
        struct pollfd pending = { .fd = state.pending, .events = POLLIN };
        int signo = 0;
        while (signo == 0)
                if (poll(&pending, 1, -1) > 0)
                        signo = take_signal();
        const struct timespec grace = { .tv_sec = GRACE_SECONDS };
        if (state.job != NULL) {
                give_up_names();
                sigtimedwait(&state.set, NULL, &grace);
        }
        die_interrupted(signo, false);
}

/* Whether the signal would end the process and has no other action set. Signals of a crash must not
 * be blocked; sigaction() refuses some that the C library uses itself. */
static bool is_deadly(int signo)
{
        static const int others[] = { SIGCHLD,  SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG,
                                      SIGWINCH, SIGSTOP, SIGKILL, SIGSEGV, SIGBUS,  SIGFPE,
                                      SIGILL,   SIGTRAP, SIGABRT, SIGSYS,  SIGXFSZ };
        struct sigaction action;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                if (others[i] == signo)
                        return false;
        return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

void signals_ignore_file_limit(void)
{
        signal(SIGXFSZ, SIG_IGN);
}

void signals_install(struct kc_job *job)
{
        pthread_t thread;
        state.job = job;
        sigemptyset(&state.set);
        for (int signo = 1; signo <= SIGRTMAX; signo++)
                if (is_deadly(signo))
                        sigaddset(&state.set, signo);
        pthread_sigmask(SIG_BLOCK, &state.set, NULL);
        state.pending = signalfd(-1, &state.set, SFD_CLOEXEC);
        if (state.pending >= 0 && kc_thread_create(&thread, wait_for_signals, NULL) == 0)
                pthread_detach(thread);
        else
                pthread_sigmask(SIG_UNBLOCK, &state.set, NULL); /* they kill, as by default */
}

static void drop_temporary(const char *temporary)
{
        for (int i = 0; i < state.ntemporaries; i++)
                if (state.temporaries[i] == temporary)
                        state.temporaries[i] = state.temporaries[--state.ntemporaries];
}

bool signals_guard(int step, const char *temporary)
{
        switch ((enum kc_name_step)step) {
        case KC_NAMES_ALLOW:
                return signals_allow_commit();
        case KC_NAMES_HOLD:
                pthread_mutex_lock(&state.lock);
                state.makes_file = true;
                break;
        case KC_NAMES_ADD:
                if (state.ntemporaries < MAX_TEMPORARIES)
                        state.temporaries[state.ntemporaries++] = temporary;
                break;
        case KC_NAMES_DROP:
                drop_temporary(temporary);
                break;
        case KC_NAMES_RELEASE:
                pthread_mutex_unlock(&state.lock);
                break;
        }
        return true;
}

bool signals_allow_commit(void)
{
        if (take_signal() != 0)
                return false;
        pthread_mutex_lock(&state.lock);
        state.may_commit = true;
        pthread_mutex_unlock(&state.lock);
        return true;
}

void signals_die_if_caught(bool canceled)
{
        int signo = take_signal();
        if (signo != 0)
                die_interrupted(signo, canceled || !state.may_commit);
}

void signals_die_by_pipe(void)
{
        if (sigismember(&state.set, SIGPIPE) != 1)
                return;
        stop_naming();
        die(SIGPIPE);
}
