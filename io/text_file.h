/*
 * The decompressed text of one file, in order: for files of k-mers that other programs wrote, where
 * order matters and speed does not. Reads come through io/reader.h and io/records.h.
 */
#ifndef KC_IO_TEXT_FILE_H
#define KC_IO_TEXT_FILE_H

#include "base/status.h"

#include <stddef.h>

struct kc_input;
struct kc_text_file;

/* What a '>' within a line of a sequence means, for messages: files joined by cat, of which one has
 * no last line end, or a header that is indented. */
#define KC_TEXT_INNER_HEADER ": a line end is missing before '>', or blanks precede it"

/*
 * Open FASTA, FASTQ or lines, plain or compressed with gzip, BGZF, zstd, bzip2 or xz; "-" is
 * standard input. The caller frees *file with kc_text_file_close.
 * KC_EINPUT, also for known files of other kinds; KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_text_file_open(struct kc_text_file **file, const char *path,
                                 struct kc_error *err);

/* Likewise for an open input of which nothing has been read. It moves into the file, even on
 * failure; only its name remains the caller's, and must stay valid while the file is open. */
enum kc_status kc_text_file_open_input(struct kc_text_file **file, struct kc_input *in,
                                       struct kc_error *err);

/*
 * The next piece of text: *text [*n] is owned by the file and valid until the next call; *n = 0 at
 * the end. A byte order mark at the beginning is skipped. KC_EINPUT for damaged data, KC_EIO,
 * KC_ENOMEM.
 */
enum kc_status kc_text_file_read(struct kc_text_file *file, const char **text, size_t *n,
                                 struct kc_error *err);

/* Close the file and free everything; NULL is fine. */
void kc_text_file_close(struct kc_text_file *file);

#endif
