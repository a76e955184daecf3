/*
 * The header of a BAM file, which is skipped.
 *
 *      "BAM\1" | l_text | text of a SAM header | n_ref | n_ref times: l_name | name | l_ref
 *
 * Source: the SAM/BAM format specification, section 4.2.
 */
#ifndef KC_IO_PARSE_BAM_HEADER_H
#define KC_IO_PARSE_BAM_HEADER_H

#include "io/input/chunk.h"
#include "io/parse/problem.h"

/* All zeros: the beginning of a file. */
struct kc_bam_header {
        enum { KC_BAM_MAGIC, KC_BAM_TEXT, KC_BAM_NREFS, KC_BAM_REF, KC_BAM_RECORDS } place;
        bool in_line, over; /* in the text: within a line; after the NUL that ends it */
        uint64_t skip;      /* bytes of the text, or of a name and l_ref, that are still to come */
        uint32_t nrefs, nrefs_read;
};

/*
 * Continue with the text [at, chunk->end). Returns where the records begin (place is then
 * KC_BAM_RECORDS), or where a number begins that the chunk's end cuts: at most 7 bytes to be kept.
 *   problem  out: what is wrong with the header; an empty text if nothing is
 */
size_t kc_bam_header_read(struct kc_bam_header *header, const struct kc_chunk *chunk, size_t at,
                          struct kc_problem *problem);

/*
 * Read the header of a BAM file in BGZF.
 *   nbytes  out: text before the first record
 *   nrefs   out: reference sequences that the header names
 * Returns false if the header cannot be read or is not sound.
 */
bool kc_bam_header_measure(const char *path, uint64_t *nbytes, uint32_t *nrefs);

#endif
