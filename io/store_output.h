/*
 * A file that appears under its name only when it is complete.
 *
 * It is written under the name PATH.tmp.PID beside its target and renamed at the end. Without
 * leave to replace, the renaming itself refuses an existing file, so that none is overwritten by a
 * race. There is no fsync: a crash of the machine right after may lose the new file (flushing 1 GB
 * would take longer than counting it); every write and the close are checked. What changes or
 * replaces data that cannot be had again is flushed, though.
 */
#ifndef KC_STORE_OUTPUT_H
#define KC_STORE_OUTPUT_H

#include "io/store_reserve.h"
#include "kmer/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kc_output {
        int fd; /* -1: none */
        bool replace, careful;
        char *path;
        char *temporary;      /* NULL: the file itself is appended to */
        uint64_t kept_nbytes; /* of that file, which stay when the output is discarded */
        bool is_final;        /* what was appended stays as well */
        struct kc_reserve reserve;
};

/*
 * Create the temporary file. careful: see kc_store_options. KC_EEXIST if path exists and !replace;
 * KC_EIO, also if path is no regular file. In any case output is set and may be given to
 * kc_output_discard.
 */
enum kc_status kc_output_create(struct kc_output *output, const char *path, bool replace,
                                bool careful, struct kc_error *err);

/*
 * Open an existing file to append to it, locked as by kc_output_lock. Nothing is changed yet. The
 * output is as above.
 */
enum kc_status kc_output_append(struct kc_output *output, const char *path, struct kc_error *err);

/* Cut the file to nbytes, on the disk too: from there on it is appended to. */
enum kc_status kc_output_keep(struct kc_output *output, uint64_t nbytes, struct kc_error *err);

/* Open path for writing and lock it against others who do so: *fd. KC_EIO. */
enum kc_status kc_output_lock(int *fd, const char *path, struct kc_error *err);

/* Bring all that was written to the disk; what was reserved and not written is cut off. */
enum kc_status kc_output_sync(struct kc_output *output, struct kc_error *err);

/* Write all nbytes at offset. Several threads may write at once. */
enum kc_status kc_output_pwrite(struct kc_output *output, const void *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err);

/* Close and give the file its name, where it has another; what was reserved and not written is cut
 * off. */
enum kc_status kc_output_commit(struct kc_output *output, struct kc_error *err);

/* Remove the temporary file, where there still is one, or what was appended and is not final; free
 * everything. */
void kc_output_discard(struct kc_output *output);

#endif
