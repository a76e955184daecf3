/*
 * Ctrl-C and all other signals that would end the process, but for those of a crash.
 *
 * The first one asks the running job to stop, so that it cleans up behind itself. A second one, or
 * a job that does not stop within a few seconds (a read from a silent pipe cannot be woken), has
 * the temporary output removed and the process die at once. Either way the process ends by the
 * signal it was sent, as shells and schedulers expect.
 *
 * Two are different. A file that exceeds the limit on file sizes (SIGXFSZ) is an error of write(),
 * and so is, once signals are taken, a pipe that nobody reads (SIGPIPE).
 */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

#include "kmer/engine.h"

#include <stdbool.h>

/* Let write() fail at the limit on file sizes, instead of ending the process without a message. */
void signals_ignore_file_limit(void);

/*
 * Take the signals from now on, but for those the parent told us to ignore (nohup). Call it before
 * other threads are started. job is static; NULL: there is no job to ask, die at once.
 */
void signals_install(struct kc_job *job);

/* A kc_name_guard (io/new_file.h): keeps the process alive while names are made, and notes which
 * one to remove when it dies. */
void signals_guard(bool hold, const char *temporary);

/* The signal caught, or 0. */
int signals_caught(void);

/* End the process by the signal caught. */
_Noreturn void signals_die(void);

/* End the process as writing to a closed pipe does; return if the parent has us ignore that. */
void signals_die_by_pipe(void);

#endif
