/*
 * Fast formatting of k-mers and counts as lines of text.
 */
#ifndef KC_KMER_TEXT_H
#define KC_KMER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kc_kmer_text_form {
        KC_KMER_TEXT_TAB,   /* "KMER\tCOUNT\n" */
        KC_KMER_TEXT_SPACE, /* "KMER COUNT\n" */
        KC_KMER_TEXT_FASTA, /* ">COUNT\nKMER\n" */
};

struct kc_kmer_text {
        int k;
        enum kc_kmer_text_form form;
        uint32_t min_count, max_count; /* pairs with other counts are left out */
        bool high_first; /* the k-mers have the most significant word first, as in kcount.h */
};

enum { KC_KMER_TEXT_SCRATCH_NBYTES = 31 };

/*
 * Write the letters of n k-mers, without anything between them, to text [n * k +
 * KC_KMER_TEXT_SCRATCH_NBYTES]. Returns the end of the letters.
 */
char *kc_kmer_text_letters(const uint64_t *kmers, int k, size_t n, char *text);

/* Bytes that one line may need, including scratch space after its end. */
size_t kc_kmer_text_line_nbytes(int k);

/*
 * Write the lines of n pairs to text [n * kc_kmer_text_line_nbytes(k)].
 * Returns the end of the text.
 */
char *kc_kmer_text_lines(const struct kc_kmer_text *format, const uint64_t *kmers,
                         const uint32_t *counts, size_t n, char *text);

/*
 * Write "KMER\tCOUNT\n" for the n k-mers that begin at each of the letters from `bases` on, to text
 * [n * kc_kmer_text_line_nbytes(k)]. Returns the end of the text.
 *   bases  [n + k - 1] in either case, all of them bases; written in upper case, U as T
 */
char *kc_kmer_text_windows(int k, const char *bases, const uint32_t *counts, size_t n, char *text);

#endif
