/*
 * The processes of a job that mpirun, srun or another launcher has started. Everything that is
 * MPI's is behind this header: mpi.c, or no_mpi.c in a build without it.
 */
#ifndef KC_RANKS_H
#define KC_RANKS_H

#include "ranks/transport.h"

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
 * of them: for ever, if one of them never starts MPI. Call it once. KC_EIO, KC_ENOMEM.
 *   transport  out; NULL, with KC_OK, if MPI knows of no others
 */
enum kc_status kc_ranks_join(struct kc_transport **transport, struct kc_error *err);

/*
 * Wait until every rank calls this; no message may be on its way. NULL is fine.
 *   broken  no message can reach the others any more: do not wait, but end all processes, this one
 *           included
 */
void kc_ranks_leave(struct kc_transport *transport, bool broken);

#endif
