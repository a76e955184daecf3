/*
 * Writing the files of other programs: one writer for all formats, which takes sorted k-mers with
 * their counts. docs/other-programs.md lists the formats and their limits.
 *
 * A format may have several files. They appear under their names only when all are complete, and
 * together (kc_new_files_commit).
 */
#ifndef KC_IO_FORMATS_EXPORT_H
#define KC_IO_FORMATS_EXPORT_H

#include "base/new_file.h"
#include "io/formats/format.h"

#include <stdint.h>

enum { KC_EXPORT_MAX_FILES = 3 };

struct kc_export_options {
        enum kc_file_format format;
        int k;
        bool stranded;
        uint32_t min_count;   /* k-mers with lower counts are left out; at least 1 */
        uint32_t max_count;   /* those with higher counts, too */
        uint64_t nkmers;      /* an upper bound of how many will be put; sizes indexes */
        bool replace;         /* existing files may be replaced */
        kc_name_guard *guard; /* see base/new_file.h; may be NULL */
};

struct kc_export_written {
        uint64_t nkmers;
        uint64_t nclipped;    /* of these: with a count that the format cannot hold */
        uint32_t count_limit; /* the largest count of the format: that of those k-mers now */
        uint64_t nbytes;      /* of all files */
};

struct kc_export;

/* The names of the files that kc_export_create begins for this path. paths: out, the caller frees
 * each. Returns how many; 0 when out of memory. */
size_t kc_export_paths(enum kc_file_format format, const char *path,
                       char *paths[KC_EXPORT_MAX_FILES]);

/* The length of path without an ending that the format adds, if something is left. */
size_t kc_export_stem_length(enum kc_file_format format, const char *path);

/*
 * Begin the format's files. path: the name of the file or, if the format has several files, the
 * common part of their names. KC_EUSAGE if the format cannot hold such k-mers; KC_EEXIST if a file
 * exists and !replace; KC_EIO; KC_ENOMEM.
 *   writer  out: given to kc_export_close in the end
 */
enum kc_status kc_export_create(struct kc_export **writer, const char *path,
                                const struct kc_export_options *options, struct kc_error *err);

/*
 * Add n pairs. All k-mers ascend, also from call to call.
 *   kmers   in, [n * kc_kmer_nwords(k)]
 *   counts  in, [n], above 0
 * KC_EIO.
 */
enum kc_status kc_export_put(struct kc_export *writer, const uint64_t *kmers,
                             const uint32_t *counts, size_t n, struct kc_error *err);

/* Write what the files still lack except their names. No pairs can be added after that. KC_EIO,
 * KC_ENOMEM. */
enum kc_status kc_export_finish(struct kc_export *writer, struct kc_error *err);

/*
 * After kc_export_finish, give the files their names. On failure none remains. KC_EEXIST, KC_EIO.
 *   other    a complete file with the same guard, which gets its name together with them (see
 *            kc_new_files_commit) and stays the caller's; NULL: none
 *   written  out
 */
enum kc_status kc_export_commit(struct kc_export *writer, struct kc_new_file *other,
                                struct kc_export_written *written, struct kc_error *err);

/* Discard the files unless they were committed, and free the writer. NULL is fine. */
void kc_export_close(struct kc_export *writer);

#endif
