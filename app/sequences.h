/*
 * The sequences of a file one after another, in its order: FASTA, FASTQ or plain lines, told apart
 * by the first letter, plain or compressed with gzip, BGZF or zstd. For queries, where order
 * matters and speed does not; reads to be counted come through io/reader.h.
 */
#ifndef APP_SEQUENCES_H
#define APP_SEQUENCES_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sequences;

/* path "-" is standard input. KC_EINPUT, KC_ENOMEM. */
enum kc_status sequences_open(struct sequences **sequences, const char *path, struct kc_error *err);

/*
 * The next sequence: *text [*length] is the reader's, valid until the next call; *text = NULL: end.
 * Of a plain line, the first field. KC_EINPUT with file and line for what is no sequence, or a
 * damaged file; KC_ENOMEM.
 */
enum kc_status sequences_next(struct sequences *sequences, const char **text, size_t *length,
                              struct kc_error *err);

/* Report on standard error sequences shorter than k, and letters that are not bases, if there were
 * any. */
void sequences_tell_skipped(int k, uint64_t nshort, uint64_t nskipped);

/* NULL is fine. */
void sequences_close(struct sequences *sequences);

#endif
