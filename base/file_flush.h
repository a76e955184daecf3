/*
 * Flushing files and their names to disk. A call that a signal interrupts is repeated, so it does
 * not fail.
 */
#ifndef KC_BASE_FILE_FLUSH_H
#define KC_BASE_FILE_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

/* Like fsync and ftruncate. False with errno set on failure. */
bool kc_file_flush(int fd);
bool kc_file_resize(int fd, uint64_t nbytes);

/*
 * Flush the names in the folder of path, which a flush of the file does not include.
 *   fd  a file in that folder
 * True also if the file system cannot flush folders; false with errno set on failure.
 */
bool kc_folder_flush(const char *path, int fd);

#endif
