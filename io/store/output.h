/*
 * The file that a store is written to: a new one (base/new_file.h), or an existing one that is
 * appended to. Every write is checked. A new file is flushed only if asked (base/new_file.h),
 * because flushing 1 GB would take longer than counting it; a crash of the machine soon after may
 * lose it. What is appended is flushed, and so is the file's name before anything is appended.
 */
#ifndef KC_IO_STORE_OUTPUT_H
#define KC_IO_STORE_OUTPUT_H

#include "base/new_file.h"
#include "base/status.h"
#include "io/store/reserve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kc_output {
        struct kc_new_file file; /* for an append, only fd and path */
        const char *path;        /* the file's path, links followed */
        const char *tmp_folder;  /* as in struct kc_store_options */
        bool appends;
        uint64_t kept_nbytes; /* of the file appended to, to keep if the output is discarded */
        bool is_final;        /* what was appended must stay, too */
        struct kc_reserve reserve;
};

/* See kc_new_file_create. Even on failure, output may be given to kc_output_discard. */
enum kc_status kc_output_create(struct kc_output *output, const char *path,
                                const struct kc_new_file_options *options, struct kc_error *err);

/*
 * Open an existing file to append to it, locked (kc_file_lock). Nothing is changed yet. On failure
 * as above. KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_output_append(struct kc_output *output, const char *path, struct kc_error *err);

/* Cut the file to nbytes, on the disk too; appending begins there. KC_EIO. */
enum kc_status kc_output_keep(struct kc_output *output, uint64_t nbytes, struct kc_error *err);

/* Flush all that was written to the disk; what was reserved and not written is cut off. KC_EIO. */
enum kc_status kc_output_sync(struct kc_output *output, struct kc_error *err);

/* Write all nbytes at an offset of the file fd, which messages call path. Any thread may call this.
 * KC_EIO. */
enum kc_status kc_pwrite_all(int fd, const char *path, const void *data, size_t nbytes,
                             uint64_t offset, struct kc_error *err);

/* The same for an output, in the way that is fastest for it. */
enum kc_status kc_output_pwrite(struct kc_output *output, const void *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err);

/*
 * Close the file; a new one gets its name first. What was reserved and not written is cut off.
 * KC_EIO, also if the file appended to has lost its name to another.
 */
enum kc_status kc_output_commit(struct kc_output *output, struct kc_error *err);

/* The same for n new files, which all get their names, or none does (kc_new_files_commit). */
enum kc_status kc_outputs_commit(struct kc_output *const *outputs, size_t n, struct kc_error *err);

/* Complete a new file that gets no name (kc_new_file_take). KC_EIO. */
enum kc_status kc_output_take(struct kc_output *output, int *fd, struct kc_error *err);

/* Discard the file unless it was committed, or what was appended unless it is final; free
 * everything. */
void kc_output_discard(struct kc_output *output);

#endif
