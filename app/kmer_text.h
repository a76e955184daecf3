/*
 * k-mers and counts as lines of text, fast.
 */
#ifndef APP_KMER_TEXT_H
#define APP_KMER_TEXT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmer_text {
        int k;
        bool fasta;                    /* ">COUNT\nKMER\n" instead of "KMER\tCOUNT\n" */
        uint32_t min_count, max_count; /* pairs outside are left out */
};

/* KC_EUSAGE if text, as typed by hand, is shorter than k, or not of bases alone. */
enum kc_status kmer_text_check(const char *text, int k, struct kc_error *err);

/* Room that one line may need, scratch behind its end included. */
size_t kmer_text_line_nbytes(int k);

/*
 * Write the lines of n pairs to text, which has n * kmer_text_line_nbytes(k) bytes of room.
 * Returns the end of the text.
 */
char *kmer_text_lines(const struct kmer_text *format, const uint64_t *kmers, const uint32_t *counts,
                      size_t n, char *text);

#endif
