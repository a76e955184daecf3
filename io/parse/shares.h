/*
 * How several ranks share the inputs: whole files and, of plain text, ranges of bytes that begin
 * with a record, so that all ranks read about as many bases.
 */
#ifndef KC_IO_PARSE_SHARES_H
#define KC_IO_PARSE_SHARES_H

#include "io/input/detect.h"

/* What a rank reads of an input: bytes from .. to; to = UINT64_MAX: whatever comes from there on. */
struct kc_input_piece {
        size_t input;
        uint64_t from, to;
};

/* An input, as it was inspected. */
struct kc_sized_input {
        uint64_t nbytes;
        double nbases; /* an estimate; a pipe has none */
        bool plain;    /* FASTQ or FASTA that is not compressed, in a regular file */
};

/*
 * The pieces of one of nranks ranks, in the order of the inputs. All ranks together have every byte
 * once. Inputs that cannot be cut go, the largest first, to the rank that has least; pipes go to
 * rank 0. Plain text is cut at any byte; kc_input_piece_align moves the cuts to records.
 *   inputs  [n]
 *   pieces  out, freed by the caller; at most n of them
 * KC_ENOMEM.
 */
enum kc_status kc_share_inputs(const struct kc_sized_input *inputs, size_t n, int nranks, int rank,
                               struct kc_input_piece **pieces, size_t *npieces,
                               struct kc_error *err);

/*
 * Move both ends of a piece of plain text to where a record begins, at that place or later; if none
 * is found, to the end of the file. The same place is found for the end of one piece and the
 * beginning of the next. It is certain in FASTA, and in FASTQ of four lines a record: a line of
 * qualities may look like a header, but then the second line after it would be a sequence, which
 * does not begin with '+'. FASTQ of more lines is not cut, as a rule; were it cut in the wrong place,
 * then the piece before would end within a record, which is an error.
 *   first  the first letter of the file's text: '@' or '>'
 * KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_input_piece_align(struct kc_input_piece *piece, struct kc_input *in, char first,
                                    struct kc_error *err);

#endif
