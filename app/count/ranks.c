#include "app/count/ranks.h"

#include "app/cli/message.h"
#include "app/cli/size.h"
#include "app/cli/ticker.h"
#include "ranks/messages.h"
#include "ranks/ranks.h"
#include "ranks/run.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* What ranks tell each other when they meet. */
struct introduction {
        char host[RANKS_HOST_NBYTES];
        uint64_t line; /* a hash of the command line */
};

/* *same: all ranks have the same command line. */
static enum kc_status meet(struct ranks *r, const char *line, bool *same, struct kc_error *err)
{
        const int n = r->exchange.nranks;
        struct introduction own = { .line = XXH3_64bits(line, strlen(line)) };
        struct introduction *all = calloc((size_t)n, sizeof *all);
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        memcpy(own.host, r->host, sizeof own.host);
        /* not gather, in which the failure of a rank that is already further on would be noticed */
        const enum kc_status status =
                kc_ranks_exchange_settle(r->messages, &own, sizeof own, all, err);
        *same = true;
        for (int i = 0; i < n && status == KC_OK; i++) {
                const bool here = strcmp(all[i].host, own.host) == 0;
                r->nlocal += here;
                r->local += here && i < r->exchange.rank;
                *same &= all[i].line == own.line;
        }
        free(all);
        return status;
}

static enum kc_status join(struct ranks **ranks, const char *line, struct kc_error *err)
{
        struct kc_ranks *joined;
        enum kc_status status = kc_ranks_join(&joined, err);
        bool same = false;
        *ranks = NULL;
        if (status != KC_OK || joined == NULL)
                return status;
        struct ranks *r = calloc(1, sizeof *r);
        if (r == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        r->joined = joined;
        if (gethostname(r->host, sizeof r->host - 1) != 0)
                strcpy(r->host, "?");
        KC_TRY(kc_ranks_exchange_new(&r->messages, kc_ranks_transport(joined), err));
        r->exchange = kc_ranks_exchange_interface(r->messages);
        KC_TRY(meet(r, line, &same, err));
out:
        if (status == KC_OK && same)
                *ranks = r;
        else
                ranks_leave(r);
        return status;
}

/* ---- waiting for the others ---- */

enum { LONG_WAIT_MS = 30000 };

/* For tests, KC_LONG_WAIT_MS makes it shorter. */
static uint64_t long_wait_ms(void)
{
        const char *text = getenv("KC_LONG_WAIT_MS");
        uint64_t ms;
        return text != NULL && parse_number(text, &ms) && ms > 0 ? ms : LONG_WAIT_MS;
}

/* If the others run another program, this process waits until the launcher ends it. */
static bool warn_of_wait(void *ctx)
{
        (void)ctx;
        message_print(
                "kcount: warning: still waiting for MPI to connect the %d processes that were "
                "started together; if some of them run another program, use --no-mpi or "
                "KCOUNT_MPI=off\n",
                kc_ranks_nlaunched());
        return false;
}

/* Join such that the threads that MPI starts receive no signals. */
static enum kc_status join_undisturbed(struct ranks **ranks, const char *line, struct kc_error *err)
{
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        struct ticker *ticker = ticker_start((double)long_wait_ms() * 1e-3, warn_of_wait, NULL);
        const enum kc_status status = join(ranks, line, err);
        ticker_stop(ticker);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return status;
}

/* *off: the user's environment says that this process is alone. */
static enum kc_status look_at_environment(bool *off, struct kc_error *err)
{
        const char *value = getenv("KCOUNT_MPI");
        *off = value != NULL && strcmp(value, "off") == 0;
        if (value == NULL || *value == '\0' || *off || strcmp(value, "on") == 0)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "the environment variable KCOUNT_MPI is '%s', not on or off",
                       value);
}

enum kc_status ranks_join(struct ranks **ranks, const char *line, bool alone, struct kc_error *err)
{
        bool off;
        *ranks = NULL;
        enum kc_status status = look_at_environment(&off, err);
        if (status != KC_OK || alone || off || kc_ranks_nlaunched() == 1)
                return status;
        return join_undisturbed(ranks, line, err);
}

void ranks_leave(struct ranks *ranks)
{
        if (ranks == NULL)
                return;
        if (kc_ranks_exchange_free(ranks->messages))
                kc_ranks_abort(ranks->joined);
        else
                kc_ranks_leave(ranks->joined);
        free(ranks);
}

enum kc_status ranks_compare(const struct ranks *ranks, uint64_t value, bool *same,
                             struct kc_error *err)
{
        enum kc_status status;
        *same = true;
        if (ranks == NULL)
                return KC_OK;
        uint64_t *all = calloc((size_t)ranks->exchange.nranks, sizeof *all);
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(ranks->exchange.gather(ranks->exchange.ctx, &value, sizeof value, all, err));
        *same = value == all[0];
out:
        free(all);
        return status;
}

void ranks_set_patience(struct ranks *ranks, double seconds)
{
        if (ranks != NULL && seconds > 0)
                kc_ranks_exchange_set_patience(ranks->messages, seconds);
}

bool ranks_is_first(const struct ranks *ranks)
{
        return ranks == NULL || ranks->exchange.rank == 0;
}

int ranks_count(const struct ranks *ranks)
{
        return ranks == NULL ? 1 : ranks->exchange.nranks;
}

enum kc_status ranks_require_one(const struct ranks *ranks, const char *what, struct kc_error *err)
{
        if (ranks_count(ranks) == 1)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "%s runs as one process; start it without mpirun or srun",
                       what);
}

uint64_t ranks_nbytes(const struct ranks *ranks, int nthreads)
{
        if (ranks == NULL)
                return 0;
        const int n = ranks->exchange.nranks;
        return kc_ranks_exchange_nbytes(n) + kc_joint_run_nbytes(ranks->exchange.rank, n, nthreads);
}

int ranks_share_of_cores(const struct ranks *ranks, int nthreads)
{
        cpu_set_t cores;
        if (ranks == NULL)
                return nthreads;
        const bool bound = sched_getaffinity(0, sizeof cores, &cores) == 0 &&
                           CPU_COUNT(&cores) < sysconf(_SC_NPROCESSORS_ONLN);
        const int share = bound ? nthreads : nthreads / ranks->nlocal;
        return share > 0 ? share : 1;
}

int ranks_local(const struct ranks *ranks)
{
        return ranks == NULL ? 1 : ranks->nlocal;
}

int ranks_local_number(const struct ranks *ranks)
{
        return ranks == NULL ? 0 : ranks->local;
}

static bool has_failed_itself(enum kc_status status)
{
        return status != KC_OK && status != KC_ECANCELED;
}

/* The rank whose failure is the user's; -1: none has failed by itself. */
static int to_blame(const enum kc_status *all, int n)
{
        for (int i = 0; i < n; i++)
                if (has_failed_itself(all[i]))
                        return i;
        return -1;
}

/* Report a failure, with this rank and its host in front of the message. */
static enum kc_status report(const struct ranks *ranks, struct kc_error failure,
                             struct kc_error *err)
{
        *err = (struct kc_error){ 0 };
        return kc_fail_reworded(err, &failure, "rank %d on %s: %s", ranks->exchange.rank,
                                ranks->host, failure.message);
}

static bool have_all_succeeded(const enum kc_status *all, int n)
{
        for (int i = 0; i < n; i++)
                if (all[i] != KC_OK)
                        return false;
        return true;
}

enum kc_status ranks_agree(struct ranks *ranks, enum kc_status status, struct kc_error *err)
{
        if (ranks == NULL || ranks->failed)
                return status;
        const int n = ranks->exchange.nranks, rank = ranks->exchange.rank;
        const struct kc_error own = *err;
        enum kc_status *all = calloc((size_t)n, sizeof *all);
        *err = (struct kc_error){ 0 };
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (status != KC_OK)
                ranks->exchange.fail(ranks->exchange.ctx);
        enum kc_status agreed =
                kc_ranks_exchange_settle(ranks->messages, &status, sizeof status, all, err);
        ranks->failed = agreed != KC_OK || !have_all_succeeded(all, n);
        if (agreed == KC_OK && to_blame(all, n) >= 0)
                ranks->verdict = all[to_blame(all, n)];
        if (agreed != KC_OK) { /* a rank is lost, perhaps after a failure of this one */
                agreed = report(ranks, has_failed_itself(status) ? own : *err, err);
        } else if (ranks->failed) {
                agreed = KC_ECANCELED;
                if (to_blame(all, n) == rank && status == KC_EUSAGE)
                        agreed = kc_fail_as(err, &own);
                else if (to_blame(all, n) == rank)
                        agreed = report(ranks, own, err);
        }
        free(all);
        return agreed;
}

enum kc_status ranks_verdict(const struct ranks *ranks, enum kc_status status)
{
        const bool told = ranks != NULL && status == KC_ECANCELED && ranks->verdict != KC_OK;
        return told ? ranks->verdict : status;
}
