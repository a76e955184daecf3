/*
 * The sequences of a file, in order: FASTA, FASTQ or plain lines, recognized by the first letter,
 * uncompressed or compressed with gzip, BGZF or zstd. For queries, where order matters and speed
 * does not; io/reader.h reads the input of counts.
 */
#ifndef APP_STORE_SEQUENCES_H
#define APP_STORE_SEQUENCES_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sequences;

/* path "-" is standard input. KC_EINPUT, KC_ENOMEM. */
enum kc_status sequences_open(struct sequences **sequences, const char *path, struct kc_error *err);

/*
 * Get the next sequence; of a plain line, the first field. *text [*length] remains the reader's and
 * is valid until the next call; *text = NULL: end. KC_EINPUT, with file and line, if it is not a
 * sequence or the file is damaged; KC_ENOMEM. After a failure, every call
 * fails in the same way. One thread at a time.
 */
enum kc_status sequences_next(struct sequences *sequences, const char **text, size_t *length,
                              struct kc_error *err);

/* Report on standard error how many sequences were shorter than k and how many letters were skipped
 * because they are not bases, if any. */
void sequences_report_skipped(int k, uint64_t nshort, uint64_t nskipped);

/* NULL is fine. */
void sequences_close(struct sequences *sequences);

#endif
