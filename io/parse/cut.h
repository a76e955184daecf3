/*
 * Where a file of text can be cut so that its parts, read one by one, give the records of the whole.
 */
#ifndef KC_IO_PARSE_CUT_H
#define KC_IO_PARSE_CUT_H

#include "io/input/input.h"

/* A place in a file: the byte at which a record begins or, in BGZF, the byte at which a block begins
 * and how many bytes of its text come before the record, fewer than it has. */
struct kc_cut {
        uint64_t at;
        uint32_t skip;
};

/*
 * The first place where a record begins, from a byte of the file on; the end of the file if none is
 * found. From the same byte, the same place is found.
 *
 * In plain text it is certain in FASTA, and in FASTQ of four lines a record: a line of qualities may
 * look like a header, but then the second line after it would be a sequence, which does not begin
 * with '+'. FASTQ of more lines is not cut, as a rule; were it cut in the wrong place, then the
 * part before would end within a record, which is an error. In BGZF, several blocks must follow one
 * another; were they not the file's, then reading the part before, which follows the blocks from
 * their beginning, would not come to the cut, which is an error, too.
 *   first  the first letter of the file's text: '@' or '>'
 * KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_cut_find(const struct kc_input *in, bool bgzf, char first, uint64_t from,
                           struct kc_cut *cut, struct kc_error *err);

#endif
