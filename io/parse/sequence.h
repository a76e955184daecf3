/*
 * What the text of a sequence may hold, in FASTA and FASTQ: letters, and all other printable
 * characters, which break k-mers. The following bytes are odd, and show that the text is damaged:
 *
 *      '>'                     in no alphabet of nucleotides: it begins a header
 *      control characters      except tabs, line feeds, and carriage returns before line feeds
 *      bytes over 127
 */
#ifndef KC_IO_PARSE_SEQUENCE_H
#define KC_IO_PARSE_SEQUENCE_H

#include "io/parse/pack.h"

/* Where a line of a sequence ends: at its line feed, at its first odd byte, or after all n bytes.
 * text[at]: the first byte that is not a letter. */
size_t kc_sequence_line_from(const struct kc_kernels *kernels, const uint8_t *text, size_t at,
                             size_t n);

/* Likewise, from the beginning of a line. 64 bytes after the end of text may be read. */
static inline size_t kc_sequence_line(const struct kc_kernels *kernels, const uint8_t *text,
                                      size_t n)
{
        const size_t at = kernels->skip_letters(text, n);
        return at == n || text[at] == '\n' ? at : kc_sequence_line_from(kernels, text, at, n);
}

/* The first odd byte in the lines of a sequence; n if there is none. 64 bytes after the end
 * of text may be read. */
size_t kc_sequence_find_odd(const struct kc_kernels *kernels, const uint8_t *text, size_t n);

#endif
