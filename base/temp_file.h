/*
 * A nameless temporary file, for data that does not fit in memory. It is gone as soon as it is
 * closed, however the program ends. Error messages name the folder.
 */
#ifndef KC_BASE_TEMP_FILE_H
#define KC_BASE_TEMP_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Create a file in folder, open for reading and writing.
 *   fd  out: the caller's to close; -1 on failure
 * KC_EIO if folder is not a folder, or if no file can be created in it.
 */
enum kc_status kc_temp_file_open(const char *folder, int *fd, struct kc_error *err);

/* Find out whether that is possible, so that an unusable folder is reported before any work, not
 * when memory is used up. Fails in the same way. */
enum kc_status kc_temp_file_try(const char *folder, struct kc_error *err);

/* Write or read all nbytes at offset; KC_EIO if that fails. The file position is not used, so
 * threads may share fd. */
enum kc_status kc_temp_file_write(const char *folder, int fd, const void *data, size_t nbytes,
                                  uint64_t offset, struct kc_error *err);
enum kc_status kc_temp_file_read(const char *folder, int fd, void *data, size_t nbytes,
                                 uint64_t offset, struct kc_error *err);

/*
 * Give the disk space of nbytes at offset back, except for parts of pages at both ends. What was
 * there must not be read any more. Where the file system cannot do that, nothing happens: the space
 * is free once the file is closed.
 */
void kc_temp_file_punch(int fd, uint64_t offset, uint64_t nbytes);

/* Report a write that failed with errno `code`, or wrote nothing (code 0). Returns KC_EIO. */
enum kc_status kc_temp_file_write_failed(const char *folder, int code, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
