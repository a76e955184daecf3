/*
 * Several processes that count together, one of which, rank 0, creates the outputs and reports.
 */
#ifndef APP_COUNT_RANKS_H
#define APP_COUNT_RANKS_H

#include "ranks/exchange.h"
#include "ranks/leaders.h"

#include <stdbool.h>

struct kc_job;
struct kc_ranks_exchange;
struct kc_transport;
struct ticker;

struct ranks {
        struct kc_transport *transport;
        struct kc_ranks_exchange *messages;
        struct kc_exchange exchange;  /* of those that count */
        int rank, nranks;             /* of all */
        struct kc_rank_place *places; /* [nranks] */
        /* [nranks] the rank that counts for each: itself, until leaders are elected */
        int *leaders;
        int nlocal;         /* ranks on this host */
        struct kc_job *job; /* between ranks_tie and ranks_untie */
        struct ticker *tie;
        bool failed;            /* ranks_agree has failed */
        enum kc_status verdict; /* then: the failure of the rank to blame, if there is one */
};

/*
 * Join the processes that were started together with this one. *ranks = NULL: there are none, or
 * their command lines differ. Then each process runs on its own, as in
 * srun sh -c 'kcount lane$SLURM_PROCID.fq ...'. Threads that this starts, including those of MPI,
 * receive no signals.
 *   alone  do not look for others, as with KCOUNT_MPI=off. Otherwise MPI waits for all of them,
 *          even if some run another program; if that takes long, a warning says so.
 * KC_EUSAGE if KCOUNT_MPI is neither on nor off.
 */
enum kc_status ranks_join(struct ranks **ranks, const char *line, bool alone, struct kc_error *err);

/* Every rank must call this in the end, with ranks_agree as its last call before. If the ranks
 * could not agree because one is lost, this ends all processes, this one included. NULL is fine. */
void ranks_leave(struct ranks *ranks);

/* In what follows, ranks may be NULL: then this process is alone. */

/* A rank that sends nothing for this long is lost; 0: the usual limit. Every rank calls this. */
void ranks_set_patience(struct ranks *ranks, double seconds);

bool ranks_is_first(const struct ranks *ranks);

/* How many ranks count: all, or the leaders. */
int ranks_count(const struct ranks *ranks);

/* The exchange of those that count, for an engine; NULL if only one does. */
const struct kc_exchange *ranks_exchange(const struct ranks *ranks);

/* KC_EUSAGE if there are others: `what`, the subject of the message, runs as one process. */
enum kc_status ranks_require_one(const struct ranks *ranks, const char *what, struct kc_error *err);

/* Ranks on this host, itself included. */
int ranks_local(const struct ranks *ranks);

/*
 * From now on, only leaders count (ranks/leaders.h); the others wait in ranks_agree. Every rank
 * calls this. The calling thread, and threads that it starts, may then use the cores of all ranks
 * that it counts for.
 *   on_devices  whether the k-mers are counted on devices; on the CPU, a machine has one leader
 *   nwanted    the threads that the user wants for each rank; 0: not said
 *   nthreads   out: those of a leader
 *   nbytes     in: the memory of a rank; out: that of all ranks that this one counts for
 */
void ranks_elect_leaders(struct ranks *ranks, bool on_devices, uint64_t nwanted, int *nthreads,
                         uint64_t *nbytes);

/* Whether another rank counts for this one. */
bool ranks_waits(const struct ranks *ranks);

/* How many ranks wait because others count for them. */
int ranks_nwaiting(const struct ranks *ranks);

/* While ranks count: a failure of any rank, or a signal there, cancels the jobs of all. */
void ranks_tie(struct ranks *ranks, struct kc_job *job);
void ranks_untie(struct ranks *ranks);

/* Bytes that a rank takes for what it exchanges with the others. */
uint64_t ranks_nbytes(const struct ranks *ranks);

/*
 * Go on together, or not at all: returns KC_OK if status is KC_OK on every rank. Otherwise one of
 * the ranks that failed has its failure in *err, with its rank and host in front; all others have
 * KC_ECANCELED without a message. If a rank is lost, all others report that. Once it has failed, it
 * only returns the same again.
 */
enum kc_status ranks_agree(struct ranks *ranks, enum kc_status status, struct kc_error *err);

/* The failure that determines this rank's exit code after ranks_agree has returned `status`. It is
 * the same on all ranks, because the launcher may end with the exit code of any of them. */
enum kc_status ranks_verdict(const struct ranks *ranks, enum kc_status status);

#endif
