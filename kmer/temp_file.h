/*
 * A temporary file without a name, for what memory does not hold: it is gone as soon as it is
 * closed, however the program ends. Messages name the folder.
 */
#ifndef KC_TEMP_FILE_H
#define KC_TEMP_FILE_H

#include "kmer/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* KC_EIO if no file can be created in folder, or it is not a folder. */
enum kc_status kc_temp_file_open(const char *folder, int *fd, struct kc_error *err);

/* All bytes, or KC_EIO. */
enum kc_status kc_temp_file_write(const char *folder, int fd, const void *data, size_t nbytes,
                                  uint64_t offset, struct kc_error *err);
enum kc_status kc_temp_file_read(const char *folder, int fd, void *data, size_t nbytes,
                                 uint64_t offset, struct kc_error *err);

/* The KC_EIO of a write that failed with this errno; 0: it wrote nothing. */
enum kc_status kc_temp_file_write_failed(const char *folder, int code, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
