/*
 * A file that appears under its name only when it is complete.
 *
 * Until then it has no name at all (O_TMPFILE), so nothing of it remains, however the process ends.
 * If the file system or a sandbox does not allow that, it has a temporary name beside its target,
 * PATH.tmp.PID.N, and is renamed at the end; a signal handler can remove it (kc_name_guard).
 *
 * If it may not replace a file, giving it a name that is taken fails, so that no file is lost in a
 * race. If it may, the existing file stays locked (base/file_lock.h) from create to discard, so no
 * other kcount process changes it in the meantime.
 *
 * A file that replaces another takes over its mode, so that nobody gains access to what was
 * private.
 *
 * A file that replaces another is on disk before it takes the name, and the name is on disk when
 * commit returns: after a power failure the name refers to one of the two files, complete, and to
 * the new one if commit had returned. Any other file is not flushed unless the options ask for it:
 * after a power failure it may be missing or incomplete.
 *
 * A symbolic link is followed: its target is created or replaced.
 */
#ifndef KC_BASE_NEW_FILE_H
#define KC_BASE_NEW_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Keeps signals from ending the process while names are created and removed. Between HOLD and
 * RELEASE no signal may end it, and the calls in between say which temporary names to remove if one
 * does so later. Returns true, except for ALLOW, which only app/library calls: false if a signal
 * ended the work, so that no file may get its name (kcount_name_guard in include/kcount.h).
 */
enum kc_name_step {
        KC_NAMES_ALLOW,
        KC_NAMES_HOLD,
        KC_NAMES_ADD,    /* remove this name; the string stays valid until it is dropped */
        KC_NAMES_DROP,   /* no longer */
        KC_NAMES_RELEASE /* for ALLOW, HOLD and RELEASE, the name is NULL */
};
typedef bool kc_name_guard(int step, const char *temporary); /* step: of enum kc_name_step */

struct kc_new_file_options {
        bool replace;         /* an existing file may be replaced */
        bool flush;           /* the file must last even if it replaces nothing */
        bool nameless;        /* it will get no name, and loses its temporary one at once */
        const int *lock;      /* the caller's lock (kc_file_lock) on the file to replace, which must
                                 still have the name at the end; NULL: that file is locked here */
        kc_name_guard *guard; /* NULL: none */
};

struct kc_new_file {
        struct kc_new_file_options options;
        int fd;         /* -1: none */
        int lock;       /* on the file to be replaced; -1: none */
        bool must_last; /* it is flushed before it gets its name, and the name after that */
        char *path;     /* links followed */
        bool has_replaced;
        char *temporary; /* NULL: the file has no name yet, or has its own */
        char *replaced; /* a name of the file that was replaced, until the commit is complete; NULL:
                            none */
};

/*
 * Begin a new file at path: it is open for writing as file->fd. The options are copied, but
 * *options->lock stays the caller's and must outlive the file. In any case file is set, and must be
 * given to kc_new_file_discard in the end.
 * KC_EEXIST if path exists and may not be replaced; KC_EIO, also if path is not a regular file, or
 * if it is to be replaced and another process changes it.
 */
enum kc_status kc_new_file_create(struct kc_new_file *file, const char *path,
                                  const struct kc_new_file_options *options, struct kc_error *err);

/*
 * Give the file its name. It stays open until kc_new_file_discard, which is to be called in any
 * case.
 * KC_EEXIST if the name was taken in the meantime and may not be replaced; KC_EIO, also if the file
 * is complete but its name could not be flushed.
 */
enum kc_status kc_new_file_commit(struct kc_new_file *file, struct kc_error *err);

/*
 * The same for n files, all with the same guard: either all have their names, or none has and the
 * files to be replaced are there as before. Only SIGKILL or a crash of the machine in the middle of
 * this can leave some named and others not; so can an error on a file system that can neither
 * exchange two names nor link a file, to keep one that is replaced.
 */
enum kc_status kc_new_files_commit(struct kc_new_file *const *files, size_t n,
                                   struct kc_error *err);

/* The complete file, for its creator alone: it gets no name, and what it had is gone after
 * kc_new_file_discard. KC_EIO.
 *   fd  out: open for reading and writing, the caller's to close */
enum kc_status kc_new_file_take(const struct kc_new_file *file, int *fd, struct kc_error *err);

/* Close the file, remove it unless it was committed, release its lock, and free everything. */
void kc_new_file_discard(struct kc_new_file *file);

/* The folder of a path, "." if it names none. The caller frees it; NULL when out of memory. */
char *kc_path_folder(const char *path);

bool kc_path_is_folder(const char *path);

/*
 * The file that path leads to through symbolic links, and which need not exist. The caller
 * frees it. NULL with errno set: a loop of links, or out of memory.
 */
char *kc_path_follow(const char *path);

#endif
