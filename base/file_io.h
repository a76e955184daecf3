/*
 * Reading, writing and flushing files. A call that a signal interrupts, or that reads or writes
 * only a part, is repeated, so it does not fail.
 */
#ifndef KC_BASE_FILE_IO_H
#define KC_BASE_FILE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read or write nbytes at offset, without the file position, so that threads may share fd. Both
 * return how many bytes that are; if they are fewer, errno says why, and is 0 if the file has ended
 * or nothing could be written.
 */
size_t kc_file_read(int fd, void *to, size_t nbytes, uint64_t offset);
size_t kc_file_write(int fd, const void *from, size_t nbytes, uint64_t offset);

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
