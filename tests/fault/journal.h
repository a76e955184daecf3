/*
 * The journal of every call that changes a file or a folder, in order; tests/cli/power.py replays
 * it. KC_FAULT_JOURNAL names the file that it is appended to; if that is unset, these functions do
 * nothing.
 *
 * A record is one line, followed by the two paths and the data:
 *
 *      CALL INODE A B NBYTES_PATH NBYTES_SECOND NBYTES_DATA \n PATH SECOND DATA
 *
 *      create   PATH                 an empty file that got a name
 *      tmpfile                       an empty file without a name
 *      write    A: offset, DATA
 *      truncate A: size
 *      sync     B: 1 for a folder, whose PATH it is
 *      rename   PATH to SECOND       a file that had the name SECOND loses it
 *      link     PATH                 the inode gets one more name
 *      unlink   PATH
 *      mode     A
 *      unknown  PATH: a call that cannot be replayed
 *
 * INODE is DEVICE:NUMBER. All paths are absolute.
 */
#ifndef KC_JOURNAL_H
#define KC_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

bool journal_is_on(void);

/*
 * Hold the lock around a call that changes something, so that the records are in the order of the
 * changes. errno is kept.
 */
void journal_lock(void);
void journal_unlock(void);

/* Stat the file of fd or path. False if there is none. */
bool journal_stat_fd(int fd, struct stat *st);
bool journal_stat_path(const char *path, bool follow, struct stat *st);

void journal_fd(const char *call, int fd, long long a);
void journal_write(int fd, const void *data, size_t nbytes, long long offset);
void journal_sync(int fd);
void journal_names(const char *call, const struct stat *st, const char *path, const char *second);

#endif
