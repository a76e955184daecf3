/*
 * Ctrl-C and its relatives (SIGINT, SIGTERM, SIGHUP).
 *
 * The first one asks the running job to stop, so that it cleans up behind itself; the second, or
 * a job that does not stop within a few seconds (a read from a silent pipe cannot be woken),
 * removes the temporary output from within the handler and dies at once. Either way the process
 * ends by the signal it was sent, as shells and schedulers expect.
 */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

#include "kmer/engine.h"

/*
 * Catch the signals, but for those the parent told us to ignore (nohup). job outlives the process'
 * need of it; NULL: there is no job to ask, die at once.
 */
void signals_install(struct kc_job *job);

/* The file to remove when dying at once; copied. NULL: none. */
void signals_set_temporary(const char *path);

/* The signal caught, or 0. */
int signals_caught(void);

/* End the process by the signal caught. */
_Noreturn void signals_die(void);

#endif
