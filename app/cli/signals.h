/*
 * Ctrl-C and all other signals that would end the process, except those of a crash.
 *
 * The first one asks the running job to stop, so that it cleans up after itself. At a second
 * one, or if the job does not stop within a few seconds (a read from a silent pipe cannot be
 * woken), the temporary output is removed and the process dies at once. Either way it says
 * that it was interrupted, and that nothing was written if that is certain; then it dies of the
 * signal it was sent, as shells and schedulers expect.
 *
 * Two signals are different: exceeding the limit on file sizes (SIGXFSZ) is an error of write(),
 * and so is writing to a pipe that nobody reads (SIGPIPE), once signals_install has been called.
 */
#ifndef APP_CLI_SIGNALS_H
#define APP_CLI_SIGNALS_H

#include "base/new_file.h"
#include "kmer/engine.h"

#include <stdbool.h>

/* Let write() fail at the limit on file sizes, instead of ending the process without a message. */
void signals_ignore_file_limit(void);

/*
 * Handle the signals from now on, except those that the parent process set to be ignored (nohup).
 * Call it before starting other threads. job must be static; NULL: there is no job to stop, so die
 * at once.
 */
void signals_install(struct kc_job *job);

/* A kc_name_guard (base/new_file.h) and kcount_name_guard: keeps the process alive while files get
 * names, and records which names to remove when it dies. ALLOW is signals_allow_commit. */
bool signals_guard(int step, const char *temporary);

/*
 * Call it before committing a job's work. It returns false, and the work must not be committed, if
 * a signal was sent since signals_install(): if the input has ended, the same signal may have ended
 * the other side of the pipe.
 */
bool signals_allow_commit(void);

/* Call it when the work has failed: if a signal was sent since signals_install(), it ends the
 * process by that signal. canceled: the work stopped because of the signal, so it has not committed
 * anything. */
void signals_die_if_caught(bool canceled);

/* End the process as writing to a closed pipe does; return if the parent process set SIGPIPE to be
 * ignored. */
void signals_die_by_pipe(void);

#endif
