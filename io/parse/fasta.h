/*
 * FASTA, in chunks cut anywhere. What a chunk must know of the text before it is small: what kind
 * of line it begins in, and the last k-1 bases, which are put before its own so that the k-mers
 * across the cut are counted once. So a chromosome on a single line is parsed by all threads.
 */
#ifndef KC_IO_PARSE_FASTA_H
#define KC_IO_PARSE_FASTA_H

#include "io/input/chunk.h"
#include "io/parse/fastq.h"
#include "io/parse/line.h"
#include "kmer/kmer.h"

enum kc_fasta_place { KC_FASTA_LINE_START, KC_FASTA_HEADER, KC_FASTA_COMMENT, KC_FASTA_SEQUENCE };

/* Zero-initialise it: the beginning of a file. */
struct kc_fasta_state {
        enum kc_fasta_place place;
        bool in_record;           /* a '>' line was seen */
        struct kc_line_rest rest; /* what the text before ended with, not looked at yet */
        int ncontext;
        uint8_t context[KC_MAX_K]; /* the last bases of the sequence so far, none of them invalid */
};

/*
 * Go over the text [chunk->text, chunk->end): state becomes that at its end. Takes time that does
 * not grow with the chunk, as a rule, because chunks wait for each other here.
 *   tail  where the chunk's last line begins; chunk->text if it holds no line end
 */
void kc_fasta_advance(struct kc_fasta_state *state, const struct kc_chunk *chunk, size_t tail,
                      int k);

/*
 * Index the sequences in the chunk's text, moving the lines of each together. state is the one at
 * the text's beginning; rare, what kc_kernels.count_lines has found in the text.
 */
enum kc_status kc_fasta_scan(struct kc_chunk *chunk, const struct kc_fasta_state *state,
                             struct kc_rare_bytes rare, struct kc_problem *problem,
                             struct kc_error *err);

#endif
