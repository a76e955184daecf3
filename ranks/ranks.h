/*
 * The processes of a job that mpirun, srun or another launcher has started. Everything that is
 * MPI's is behind this header: mpi.c, or no_mpi.c in a build without it.
 */
#ifndef KC_RANKS_H
#define KC_RANKS_H

#include "ranks/transport.h"

struct kc_ranks;

/* How many processes a launcher has started together with this one, itself included; 1 if there is
 * no launcher, or if this is a build without MPI. They need not all run this program. */
int kc_ranks_nlaunched(void);

/* Whether the launcher has bound this process to some cores although the user has not asked for
 * that, as Open MPI's mpirun binds each of two processes to one core. */
bool kc_ranks_is_bound_by_default(void);

/* Whether this is a build with MPI. */
bool kc_ranks_in_build(void);

/*
 * Join the other processes, of which there are some if kc_ranks_nlaunched() > 1. This waits for all
 * of them: for ever, if one of them never starts MPI. *ranks = NULL, with KC_OK: MPI knows of no
 * others. KC_EIO, KC_ENOMEM. Call it once.
 */
enum kc_status kc_ranks_join(struct kc_ranks **ranks, struct kc_error *err);

/* Valid until kc_ranks_leave. One thread at a time may use it. */
const struct kc_transport *kc_ranks_transport(const struct kc_ranks *ranks);

/* Wait until every rank calls this; no message may be on its way. NULL is fine. */
void kc_ranks_leave(struct kc_ranks *ranks);

/* End this process and the others, because no message can reach them any more. Does not return if
 * there are others. */
void kc_ranks_abort(struct kc_ranks *ranks);

#endif
