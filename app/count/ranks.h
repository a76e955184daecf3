/*
 * Several processes that count together, one of which, rank 0, creates the outputs and reports.
 */
#ifndef APP_COUNT_RANKS_H
#define APP_COUNT_RANKS_H

#include "ranks/exchange.h"

#include <stdbool.h>

enum { RANKS_HOST_NBYTES = 64 };

struct kc_ranks;
struct kc_ranks_exchange;

struct ranks {
        struct kc_ranks *joined;
        struct kc_ranks_exchange *messages;
        struct kc_exchange exchange;  /* for an engine */
        char host[RANKS_HOST_NBYTES]; /* this rank's */
        int nlocal;                   /* ranks on this host */
        int local;                    /* this rank's number among them, from 0 */
        bool failed;                  /* ranks_agree has failed */
        enum kc_status verdict;       /* then: the failure of the rank to blame, if there is one */
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

/* Every rank calls this. *same: whether its value is the same as rank 0's. */
enum kc_status ranks_compare(const struct ranks *ranks, uint64_t value, bool *same,
                             struct kc_error *err);

bool ranks_is_first(const struct ranks *ranks);
int ranks_count(const struct ranks *ranks);

/* KC_EUSAGE if there are others: `what`, the subject of the message, runs as one process. */
enum kc_status ranks_require_one(const struct ranks *ranks, const char *what, struct kc_error *err);

/* Ranks on this host, itself included. */
int ranks_local(const struct ranks *ranks);

/* This rank's number among the ranks on this host, from 0. */
int ranks_local_number(const struct ranks *ranks);

/* A rank's share of nthreads cores, unless the launcher has bound it to some of them. */
int ranks_share_of_cores(const struct ranks *ranks, int nthreads);

/* Bytes that a rank with nthreads threads takes for what it exchanges with the others. */
uint64_t ranks_nbytes(const struct ranks *ranks, int nthreads);

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
