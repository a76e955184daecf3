/*
 * Locks (flock) that keep two commands from changing a file at the same time, whether in place or
 * by replacing it. Taking a lock waits for a few milliseconds at most, so there is no deadlock.
 * Readers take no locks, except for a shared one where they must know whether a file is at rest. On
 * a file system without locks, nothing is locked and the calls succeed.
 */
#ifndef KC_BASE_FILE_LOCK_H
#define KC_BASE_FILE_LOCK_H

#include "base/status.h"

#include <stdbool.h>

/*
 * Open path for changes in place and lock it.
 *   fd  out: the caller's; closing it releases the lock. Set only on KC_OK
 * KC_EIO, also if another process holds the lock; KC_ECORRUPT if path is not a regular file.
 */
enum kc_status kc_file_lock(int *fd, const char *path, struct kc_error *err);

/*
 * Lock the file that is to be replaced, if it exists.
 *   exists  out: whether the file exists
 *   fd      out: the caller's; closing it releases the lock. -1 if there is no file, or if this
 *           process may not open it
 * KC_EIO, also if another process holds the lock, or path is not a regular file.
 */
enum kc_status kc_file_lock_replaced(int *fd, bool *exists, const char *path, struct kc_error *err);

/*
 * Keep others from taking a lock on the file that is open as fd, until kc_file_unlock, which must
 * follow at once: others wait for a few milliseconds only. False if another process holds a lock.
 */
bool kc_file_lock_shared(int fd);
void kc_file_unlock(int fd);

/* Whether path still names the file that fd was opened from. */
bool kc_file_has_name(int fd, const char *path);

#endif
