/*
 * Where a file of text can be cut so that its parts, read one by one, give the records of the
 * whole.
 */
#ifndef KC_IO_PARSE_CUT_H
#define KC_IO_PARSE_CUT_H

#include "io/input/input.h"

/* A place in a file. */
struct kc_cut {
        uint64_t at;   /* the byte at which a record begins; in BGZF, at which its block begins */
        uint32_t skip; /* in BGZF, the bytes of the block's text before the record */
        uint32_t block_nbytes; /* in BGZF, the size of the block; 0 at the end of the file */
};

/*
 * Find the first place at or after byte `from` of the file at which a record begins; the end of the
 * file if none is found. The result depends only on the file and on `from`. It does not decrease as
 * `from` increases, unless four FASTQ records together are longer than 64 MiB: a search may then
 * return the end of the file although one from further on finds a cut.
 *
 * The place is certain in FASTA, and in FASTQ with four lines a record: a line of qualities can
 * look like a header, but the second line after it is then a sequence, which does not begin with
 * '+'. FASTQ with longer records is usually not cut. If it is cut in the wrong place, the part
 * before ends within a record, which is an error when it is read. A BGZF block is recognized by the
 * headers of several blocks in a row. If these are not blocks of the file, the reader of the part
 * before, which goes from block to block, does not arrive at the cut, which is an error, too.
 *   first  the first letter of the file's text: '@' or '>'
 * KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_cut_find(const struct kc_input *in, bool bgzf, char first, uint64_t from,
                           struct kc_cut *cut, struct kc_error *err);

#endif
