/*
 * Ctrl-C and all other signals that would end the process, except those of a crash.
 *
 * The first one asks the running job to stop, so that it cleans up after itself. At a second
 * one, or if the job does not stop within a few seconds (a read from a silent pipe cannot be
 * woken), the temporary output is removed and the process dies at once. Either way the process ends
 * by the signal it was sent, as shells and schedulers expect.
 *
 * Two are different: exceeding the limit on file sizes (SIGXFSZ) is an error of write(), and so is
 * writing to a pipe that nobody reads (SIGPIPE), once signals are taken.
 */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

#include "kmer/engine.h"

#include <stdbool.h>

/* Let write() fail at the limit on file sizes, instead of ending the process without a message. */
void signals_ignore_file_limit(void);

/*
 * Take the signals from now on, except those that the parent made us ignore (nohup). Call it before
 * other threads are started. job is static; NULL: there is no job to ask, die at once.
 */
void signals_install(struct kc_job *job);

/* A kc_name_guard (base/new_file.h): keeps the process alive while files get names, and notes which
 * name to remove when it dies. */
void signals_guard(bool hold, const char *temporary);

/*
 * The first signal that was sent since signals_install(), or 0. Ask before work is committed: if the
 * input has ended, the same signal may have ended the other side of the pipe.
 */
int signals_caught(void);

/* End the process by the signal caught. */
_Noreturn void signals_die(void);

/* End the process as writing to a closed pipe does; return if the parent made us ignore it. */
void signals_die_by_pipe(void);

#endif
