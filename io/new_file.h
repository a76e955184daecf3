/*
 * A file that appears under its name only when it is complete.
 *
 * Until then it has no name at all (O_TMPFILE), so nothing of it stays behind however the process
 * ends. Where the file system or a sandbox does not allow that, it has a temporary name beside its
 * target, PATH.tmp.PID.N, and is renamed at the end; a signal handler can remove it
 * (kc_name_guard).
 *
 * Without leave to replace, giving the name fails if the name is taken, so that no file is lost to
 * a race. With it, the existing file is locked (io/file_lock.h) from the beginning to the end: it
 * is not replaced while another process changes it, nor changed while it is about to be replaced.
 *
 * A file that replaces another is on the disk before it takes the name, and the name is when commit
 * returns: after a power failure the name means either of the two, whole, and later the new one.
 * Any other file is not flushed, unless the options ask for it: after a power failure it may be
 * missing or incomplete.
 *
 * A symbolic link is followed: the file that it leads to is created or replaced.
 */
#ifndef KC_NEW_FILE_H
#define KC_NEW_FILE_H

#include "kmer/status.h"

#include <stdbool.h>

/*
 * Keeps a signal from ending the process while names are made and removed. Called with hold before
 * that: from then on the process must not end by a signal. Called without hold after it:
 *   temporary  a name that is to be removed if the process ends from now on, valid until the next
 *              call; NULL: none
 */
typedef void kc_name_guard(bool hold, const char *temporary);

struct kc_new_file_options {
        bool replace;    /* an existing file may be replaced */
        bool keep_mode;  /* and the new file gets its mode */
        bool flush;      /* the file must last even if it replaces nothing */
        const int *lock; /* the caller's (kc_file_lock) on the file to replace, which must still
                            have the name at the end; NULL: what has the name is locked here */
        kc_name_guard *guard; /* NULL: none */
};

struct kc_new_file {
        struct kc_new_file_options options;
        int fd;          /* -1: none */
        int lock;        /* on the file to be replaced; -1: none */
        bool must_last;  /* it is flushed before it gets its name, and the name after that */
        char *path;      /* links followed */
        char *temporary; /* NULL: the file has no name yet, or has its own */
};

/*
 * KC_EEXIST if path exists and may not be replaced; KC_EIO, also if path is not a regular file, or
 * if it is to be replaced and another process changes it. In any case file is set, and must be
 * given to kc_new_file_discard in the end.
 */
enum kc_status kc_new_file_create(struct kc_new_file *file, const char *path,
                                  const struct kc_new_file_options *options, struct kc_error *err);

/* Give the file its name and close it. Fails like kc_new_file_create. */
enum kc_status kc_new_file_commit(struct kc_new_file *file, struct kc_error *err);

/* Give the file up unless it was committed; free everything. */
void kc_new_file_discard(struct kc_new_file *file);

/* The folder of a path, "." if it names none. The caller frees it; NULL when out of memory. */
char *kc_path_folder(const char *path);

/*
 * The file that path leads to through symbolic links, which need not exist. The caller frees it.
 * NULL, with errno set: there is a loop of links, or memory is short.
 */
char *kc_path_follow(const char *path);

#endif
