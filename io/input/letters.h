/*
 * Counts the letters at the beginning of a text of reads by kind.
 */
#ifndef KC_IO_INPUT_LETTERS_H
#define KC_IO_INPUT_LETTERS_H

#include <stddef.h>

struct kc_letters {
        size_t nsymbols; /* of sequences: all but blanks */
        size_t nletters; /* A to Z, in either case */
        size_t nother;   /* of these, not A, C, G, T, U, N or X, which stand for bases */
        size_t nforeign; /* of these, those that no nucleotide code has, such as E or L */
};

/* Count the letters in the sequences of FASTQ (text[0] = '@') or FASTA, whose last record may be
 * incomplete. */
struct kc_letters kc_letters_count(const char *text, size_t n);

/* The percentage of letters that are not bases, if it is over 20 and some of them are in no
 * nucleotide code; otherwise 0. */
unsigned kc_letters_percent_other(const struct kc_letters *letters);

#endif
