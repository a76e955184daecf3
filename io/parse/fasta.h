/*
 * FASTA, in chunks cut anywhere. A chunk needs to know little of the text before it: the kind of
 * line that it begins in, and the last k-1 bases, which are put before its own so that the k-mers
 * across the cut are counted once. So all threads can parse a chromosome on a single line together.
 */
#ifndef KC_IO_PARSE_FASTA_H
#define KC_IO_PARSE_FASTA_H

#include "io/input/chunk.h"
#include "io/parse/line.h"
#include "io/parse/pack.h"
#include "io/parse/problem.h"
#include "kmer/kmer.h"

enum kc_fasta_place { KC_FASTA_LINE_START, KC_FASTA_HEADER, KC_FASTA_COMMENT, KC_FASTA_SEQUENCE };

/* All zeros: the beginning of a file. */
struct kc_fasta_state {
        enum kc_fasta_place place;
        bool in_record;           /* a '>' line was seen */
        uint32_t nskip;           /* set once, by the caller: see struct kc_selection */
        bool hpc;                 /* likewise */
        uint64_t nletters;        /* of the sequence so far; counted to nskip + KC_MAX_K only */
        struct kc_line_rest rest; /* what the previous text ended with, not examined yet */
        int ncontext;
        uint8_t context[KC_MAX_K]; /* the last bases of the sequence so far, all valid; compressed
                                      with hpc */
};

/*
 * Advance state over the text [chunk->text, chunk->end). The time usually does not grow with the
 * chunk, because chunks wait for each other here.
 *   tail  where the chunk's last line begins; chunk->text if it holds no line end
 */
void kc_fasta_advance(struct kc_fasta_state *state, const struct kc_chunk *chunk, size_t tail,
                      int k);

/*
 * Index the sequences in the chunk's text, joining the lines of each in place. state is that at the
 * text's beginning; binary: whether kc_kernels.count_lines found a byte under 9. problem: out, as
 * in kc_fastq_long_parse. KC_ENOMEM.
 */
enum kc_status kc_fasta_scan(struct kc_chunk *chunk, const struct kc_kernels *kernels,
                             const struct kc_fasta_state *state, bool binary,
                             struct kc_problem *problem, struct kc_error *err);

#endif
