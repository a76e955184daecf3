/*
 * A file without a name in a folder, for what memory does not hold: it is gone when it is closed,
 * whatever happens. Messages name the folder.
 */
#ifndef KC_GPU_NAMELESS_FILE_H
#define KC_GPU_NAMELESS_FILE_H

#include "kmer/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kc_status kc_nameless_file(const char *folder, int *fd, struct kc_error *err);

/* All bytes, or KC_EIO. */
enum kc_status kc_nameless_write(const char *folder, int fd, const void *data, size_t nbytes,
                                 uint64_t offset, struct kc_error *err);
enum kc_status kc_nameless_read(const char *folder, int fd, void *data, size_t nbytes,
                                uint64_t offset, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
