/*
 * The FASTQ of one file, in chunks that threads fill at any time and in any order.
 *
 *      split      in the chunks' order: guess that all records have four lines, so that counting
 *                 lines finds their beginnings
 *      scan       in parallel: check the guess, index the records
 *      confirm    in the chunks' order: only now is the chunk's text known to be good
 *
 * If a scan finds that the guess is wrong, its chunk and all later ones are parsed again from the
 * true beginning, in confirm's order, by the parser of the general form, which also finds out what
 * is wrong with a bad record.
 */
#ifndef KC_IO_PARSE_FASTQ_TEXT_H
#define KC_IO_PARSE_FASTQ_TEXT_H

#include "io/input/chunk.h"
#include "io/parse/fastq_long.h"
#include "io/parse/pack.h"

#include <stdatomic.h>

struct kc_fastq_text {
        const char *name;    /* of the file */
        const char *checker; /* a command that finds damage that may explain bad text, or NULL */
        const struct kc_kernels *kernels;
        size_t record_max; /* bytes of a record that is held; a longer one is read in pieces */
        bool keeps_text;   /* text whose lines are joined in place is copied first: kc_chunk.copy */

        /* In the split's turn. */
        struct kc_bytes carry; /* the text after the last whole record */
        size_t carry_nlines;

        /* In confirm's turn. */
        atomic_bool general;  /* records are not all of four lines */
        struct kc_bytes held; /* then: the text after the last whole record */
        size_t retry_nbytes;  /* an incomplete record is not parsed again before there are this
                                 many */
        struct kc_fastq_long piecewise; /* the record that begins with what is held, or earlier */
        uint64_t nreads;                /* confirmed */
};

/* What is known of a chunk's own text before the split, and what the split decides. */
struct kc_fastq_cut {
        size_t nlines;              /* line ends */
        bool binary;                /* there is a byte under 9 */
        size_t whole, whole_nlines; /* where whole records end, and their lines */
        bool too_long;              /* the record after the whole ones is too long to hold */
};

/* k: pieces of a long record share k-1 bases. */
void kc_fastq_text_init(struct kc_fastq_text *text, const char *name,
                        const struct kc_kernels *kernels, int k);
void kc_fastq_text_free(struct kc_fastq_text *text);

/* In the chunks' order: take over the record that the previous cut left, and keep the one that this
 * chunk's end cuts. KC_ENOMEM. */
enum kc_status kc_fastq_text_split(struct kc_fastq_text *text, struct kc_chunk *chunk,
                                   struct kc_fastq_cut *cut, struct kc_error *err);

/* *strict: whether the guess of four lines holds for the whole chunk; if so, its records are
 * indexed. KC_ENOMEM. */
enum kc_status kc_fastq_text_scan(const struct kc_fastq_text *text, struct kc_chunk *chunk,
                                  const struct kc_fastq_cut *cut, bool *strict,
                                  struct kc_error *err);

/* In the chunks' order: parse the chunk again unless it is strict and all before it are. KC_EINPUT,
 * KC_ENOMEM. */
enum kc_status kc_fastq_text_confirm(struct kc_fastq_text *text, struct kc_chunk *chunk,
                                     bool strict, struct kc_error *err);

#endif
