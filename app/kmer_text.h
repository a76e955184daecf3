/*
 * Fast formatting of k-mers and counts as lines of text.
 */
#ifndef APP_KMER_TEXT_H
#define APP_KMER_TEXT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kmer_text_form {
        KMER_TEXT_TAB,   /* "KMER\tCOUNT\n" */
        KMER_TEXT_SPACE, /* "KMER COUNT\n" */
        KMER_TEXT_FASTA, /* ">COUNT\nKMER\n" */
};

struct kmer_text {
        int k;
        enum kmer_text_form form;
        uint32_t min_count, max_count; /* pairs with other counts are left out */
};

/* Check text that the user typed: KC_EUSAGE if it is shorter than k or holds anything but bases. */
enum kc_status kmer_text_check(const char *text, int k, struct kc_error *err);

/* Bytes that one line may need, including scratch space after its end. */
size_t kmer_text_line_nbytes(int k);

/*
 * Write the lines of n pairs to text [n * kmer_text_line_nbytes(k)].
 * Returns the end of the text.
 */
char *kmer_text_lines(const struct kmer_text *format, const uint64_t *kmers, const uint32_t *counts,
                      size_t n, char *text);

#endif
