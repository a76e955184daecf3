/*
 * A library to preload: one of the program's calls on files fails, or is where it is killed.
 *
 *      KC_FAULT_AT     the number of the call, from 1; 0: none
 *      KC_FAULT_CALLS  changes: only calls that change a file or a folder are counted (default)
 *                      all:     every call on a file
 *      KC_FAULT_ONLY   only calls of this name, such as pwrite, are counted and fail: for programs
 *                      whose libraries make calls at random
 *      KC_FAULT_KIND   kill       SIGKILL in place of the call
 *                      torn       half of a write, then SIGKILL
 *                      full       ENOSPC, for this call and all later ones that need space
 *                      error      EIO, for this call only
 *                      interrupt  EINTR, for this call only, if it is one that may be interrupted
 *                      short      half of this read or write
 *                      signal     SIGINT before the call, as from Ctrl-C; the call is made
 *                      lie        this flush succeeds, but does nothing and is not in the journal
 *      KC_FAULT_LOG    a file to which a line is appended for each call: its name, a tab, the file
 *      KC_FAULT_NAMED  the number of the error (errno) with which files without a name (O_TMPFILE)
 *                      cannot be created
 *      KC_FAULT_JOURNAL  see journal.h; with it, nothing is reserved or mapped, so that every
 *                      change is a call that can be recorded
 *
 * Calls on standard error are left alone, so that messages get through.
 */
#ifndef KC_FAULT_H
#define KC_FAULT_H

#include <stdbool.h>
#include <stddef.h>

enum {
        CHANGES = 1,     /* a file or a folder */
        WANTS_SPACE = 2, /* fails on a full disk */
        WAITS = 4,       /* may be interrupted */
        TRANSFERS = 8,   /* may do a part of its work */
        FLUSHES = 16,
};

/*
 * Count a call and decide about it. True: it must fail, and errno is set.
 *   fd    -1: none
 *   path  NULL: fd's
 */
bool fault_fails(const char *name, unsigned traits, int fd, const char *path);

/* The same for a call that reads or writes. *half: do only *nbytes, which is halved,
 * and call fault_ended_half after that. */
bool fault_fails_partly(const char *name, unsigned traits, int fd, size_t *nbytes, bool *half);
void fault_ended_half(bool half);

/* The same for a flush. *lie: it must succeed without being done. */
bool fault_fails_flush(const char *name, int fd, bool *lie);

#endif
