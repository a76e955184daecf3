#include "app/count/ranks.h"

#include "app/cli/message.h"
#include "app/cli/size.h"
#include "app/cli/ticker.h"
#include "app/library/machine.h"
#include "base/job.h"
#include "ranks/messages.h"
#include "ranks/ranks.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* For tests, KC_RANKS_HOST makes one machine look like several. */
static struct kc_rank_place look_around(const char *line)
{
        struct kc_rank_place place = {
                .devices = kc_visible_devices(getenv("CUDA_VISIBLE_DEVICES")),
                .line = XXH3_64bits(line, strlen(line)),
        };
        const char *host = getenv("KC_RANKS_HOST");
        if (host != NULL)
                snprintf(place.host, sizeof place.host, "%s", host);
        else if (gethostname(place.host, sizeof place.host - 1) != 0)
                strcpy(place.host, "?");
        if (sched_getaffinity(kc_ranks_is_bound_by_default() ? getppid() : 0, sizeof place.cores,
                              &place.cores) != 0)
                memset(&place.cores, UINT8_MAX, sizeof place.cores); /* too many to be listed */
        return place;
}

/* *same: all ranks have the same command line. */
static enum kc_status meet(struct ranks *r, const char *line, bool *same, struct kc_error *err)
{
        const struct kc_rank_place own = look_around(line);
        r->places = calloc((size_t)r->nranks, sizeof *r->places);
        r->leaders = calloc((size_t)r->nranks, sizeof *r->leaders);
        if (r->places == NULL || r->leaders == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        /* not gather, in which the failure of a rank that is already further on would be noticed */
        const enum kc_status status =
                kc_ranks_exchange_settle(r->messages, &own, sizeof own, r->places, err);
        *same = true;
        for (int i = 0; i < r->nranks && status == KC_OK; i++) {
                r->leaders[i] = i;
                r->nlocal += strcmp(r->places[i].host, own.host) == 0;
                *same &= r->places[i].line == own.line;
        }
        return status;
}

static enum kc_status join(struct ranks **ranks, const char *line, struct kc_error *err)
{
        struct kc_transport *transport;
        enum kc_status status = kc_ranks_join(&transport, err);
        bool same = false;
        *ranks = NULL;
        if (status != KC_OK || transport == NULL)
                return status;
        struct ranks *r = calloc(1, sizeof *r);
        if (r == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        r->transport = transport;
        r->rank = transport->rank;
        r->nranks = transport->nranks;
        KC_TRY(kc_ranks_exchange_new(&r->messages, transport, err));
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
        kc_ranks_leave(ranks->transport, kc_ranks_exchange_free(ranks->messages));
        free(ranks->places);
        free(ranks->leaders);
        free(ranks);
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

const struct kc_exchange *ranks_exchange(const struct ranks *ranks)
{
        return ranks_count(ranks) > 1 ? &ranks->exchange : NULL;
}

enum kc_status ranks_require_one(const struct ranks *ranks, const char *what, struct kc_error *err)
{
        if (ranks_count(ranks) == 1)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "%s runs as one process; start it without mpirun or srun",
                       what);
}

uint64_t ranks_nbytes(const struct ranks *ranks)
{
        const int n = ranks_count(ranks);
        return n == 1 ? 0 : kc_ranks_exchange_nbytes(n);
}

int ranks_local(const struct ranks *ranks)
{
        return ranks == NULL ? 1 : ranks->nlocal;
}

/* ---- leaders ---- */

#define TIE_SECONDS 0.1

static void use_cores(const cpu_set_t *cores)
{
        cpu_set_t now;
        if (sched_getaffinity(0, sizeof now, &now) == 0 && !CPU_EQUAL(&now, cores))
                (void)sched_setaffinity(0, sizeof *cores, cores);
}

static int threads_of_leader(const struct kc_leader_share *share, uint64_t nwanted)
{
        const uint64_t all = nwanted * (uint64_t)share->nranks, ncores = (uint64_t)share->nthreads;
        const uint64_t most = nwanted > ncores ? nwanted : ncores;
        const int here = kc_machine_nthreads(0);
        if (nwanted > 0)
                return (int)(all < most ? all : most);
        return here < share->nthreads ? here : share->nthreads;
}

void ranks_elect_leaders(struct ranks *ranks, bool on_devices, uint64_t nwanted, int *nthreads,
                         uint64_t *nbytes)
{
        const int n = ranks->nranks, own = ranks->rank;
        for (int i = 0; i < n && !on_devices; i++)
                ranks->places[i].devices = 0;
        kc_leaders_elect(ranks->places, n, ranks->leaders);
        kc_ranks_exchange_set_leaders(ranks->messages, ranks->leaders);
        ranks->exchange = kc_ranks_exchange_interface(ranks->messages);
        if (ranks_waits(ranks))
                return;
        const struct kc_leader_share share = kc_leader_share(ranks->places, n, ranks->leaders, own);
        use_cores(&share.cores);
        *nthreads = threads_of_leader(&share, nwanted);
        if (__builtin_mul_overflow(*nbytes, (uint64_t)share.nranks, nbytes))
                *nbytes = UINT64_MAX;
}

bool ranks_waits(const struct ranks *ranks)
{
        return ranks != NULL && ranks->leaders[ranks->rank] != ranks->rank;
}

int ranks_nwaiting(const struct ranks *ranks)
{
        return ranks == NULL ? 0 : ranks->nranks - ranks->exchange.nranks;
}

static bool pass_on(void *ctx)
{
        struct ranks *ranks = ctx;
        struct kc_error failure = { 0 };
        const bool canceled = kc_job_is_canceled(ranks->job);
        if (canceled)
                ranks->exchange.fail(ranks->exchange.ctx);
        else if (ranks->exchange.check(ranks->exchange.ctx, &failure) == KC_OK)
                return true;
        atomic_store(&ranks->job->cancel, true);
        return false;
}

void ranks_tie(struct ranks *ranks, struct kc_job *job)
{
        if (ranks == NULL)
                return;
        ranks->job = job;
        ranks->tie = ticker_start(TIE_SECONDS, pass_on, ranks);
}

void ranks_untie(struct ranks *ranks)
{
        if (ranks == NULL)
                return;
        ticker_stop(ranks->tie);
        ranks->tie = NULL;
}

/* ---- agreeing ---- */

static bool has_failed_itself(enum kc_status status)
{
        return status != KC_OK && status != KC_ECANCELED;
}

/* Learn from the statuses of all ranks whether they go on. Returns the rank that reports its
 * failure; -1: no rank has a failure of its own. */
static int judge(struct ranks *ranks, const enum kc_status *all)
{
        int blamed = -1;
        for (int i = ranks->nranks - 1; i >= 0; i--) {
                ranks->failed |= all[i] != KC_OK;
                if (has_failed_itself(all[i]))
                        blamed = i;
        }
        if (blamed >= 0)
                ranks->verdict = all[blamed];
        return blamed;
}

/* Report a failure, with this rank and its host in front of the message. */
static enum kc_status report(const struct ranks *ranks, struct kc_error failure,
                             struct kc_error *err)
{
        *err = (struct kc_error){ 0 };
        return kc_fail_reworded(err, &failure, "rank %d on %s: %s", ranks->rank,
                                ranks->places[ranks->rank].host, failure.message);
}

enum kc_status ranks_agree(struct ranks *ranks, enum kc_status status, struct kc_error *err)
{
        if (ranks == NULL || ranks->failed)
                return status;
        const struct kc_error own = *err;
        enum kc_status *all = calloc((size_t)ranks->nranks, sizeof *all);
        *err = (struct kc_error){ 0 };
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (status != KC_OK)
                ranks->exchange.fail(ranks->exchange.ctx);
        const enum kc_status settled =
                kc_ranks_exchange_settle(ranks->messages, &status, sizeof status, all, err);
        const int blamed = settled == KC_OK ? judge(ranks, all) : -1;
        free(all);
        if (settled != KC_OK) { /* a rank is lost, perhaps after a failure of this one */
                ranks->failed = true;
                return report(ranks, has_failed_itself(status) ? own : *err, err);
        }
        if (!ranks->failed)
                return KC_OK;
        if (blamed == ranks->rank)
                return status == KC_EUSAGE ? kc_fail_as(err, &own) : report(ranks, own, err);
        /* without a message, but not without a status: kcount.h passes *err on */
        return err->status = KC_ECANCELED;
}

enum kc_status ranks_verdict(const struct ranks *ranks, enum kc_status status)
{
        const bool told = ranks != NULL && status == KC_ECANCELED && ranks->verdict != KC_OK;
        return told ? ranks->verdict : status;
}
