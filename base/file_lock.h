/*
 * Locks (flock) that keep two commands from changing a file at the same time, be it in place or by
 * putting another file in its place. None of them waits, so they cannot deadlock. Readers take
 * none. A file system without locks is no reason to refuse: there, nothing is locked.
 */
#ifndef KC_BASE_FILE_LOCK_H
#define KC_BASE_FILE_LOCK_H

#include "base/status.h"

#include <stdbool.h>

/*
 * Open path for changes in place, and lock it.
 *   fd  out: the caller's; closing it releases the lock. Set only on KC_OK
 * KC_EIO, also if another process holds the lock; KC_ECORRUPT if path is not a regular file.
 */
enum kc_status kc_file_lock(int *fd, const char *path, struct kc_error *err);

/*
 * Lock the file that is to be replaced, if there is one.
 *   exists  out: whether there is one
 *   fd      out: the caller's; closing it releases the lock. -1 if there is no file, or
 *           this process may not open it
 * KC_EIO, also if another process holds the lock, or path is not a regular file.
 */
enum kc_status kc_file_lock_replaced(int *fd, bool *exists, const char *path, struct kc_error *err);

/* Whether path still names the file that fd was opened from. */
bool kc_file_has_name(int fd, const char *path);

#endif
