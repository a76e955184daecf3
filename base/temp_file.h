/*
 * A temporary file without a name, for what memory does not hold: it is gone as soon as it is
 * closed, however the program ends. Messages name the folder.
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
 * KC_EIO if folder is not a folder, or takes no file.
 */
enum kc_status kc_temp_file_open(const char *folder, int *fd, struct kc_error *err);

/* Write or read all nbytes at offset; KC_EIO if that fails. The file position is not used. */
enum kc_status kc_temp_file_write(const char *folder, int fd, const void *data, size_t nbytes,
                                  uint64_t offset, struct kc_error *err);
enum kc_status kc_temp_file_read(const char *folder, int fd, void *data, size_t nbytes,
                                 uint64_t offset, struct kc_error *err);

/* Report a write that failed with this errno; 0: it wrote nothing. Returns KC_EIO. */
enum kc_status kc_temp_file_write_failed(const char *folder, int code, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
