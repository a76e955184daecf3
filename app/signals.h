/*
 * Ctrl-C and its relatives (SIGINT, SIGTERM, SIGHUP).
 *
 * The first one asks the running job to stop, so that it cleans up behind itself. A second one, or
 * a job that does not stop within a few seconds (a read from a silent pipe cannot be woken), has
 * the temporary output removed and the process die at once. Either way the process ends by the
 * signal it was sent, as shells and schedulers expect.
 */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

#include "kmer/engine.h"

/*
 * Take the signals from now on, but for those the parent told us to ignore (nohup). Call it before
 * other threads are started. job is static; NULL: there is no job to ask, die at once.
 */
void signals_install(struct kc_job *job);

/* The file to remove when dying; copied. NULL: none. */
void signals_set_temporary(const char *path);

/*
 * Create the file, which must not exist, to be written, and make it the one to remove, in one step,
 * so that no signal comes in between. Returns the descriptor; -1, with errno set, if it cannot be
 * had.
 */
int signals_create_temporary(const char *path);

/* The signal caught, or 0. */
int signals_caught(void);

/* End the process by the signal caught. */
_Noreturn void signals_die(void);

#endif
