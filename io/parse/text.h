/*
 * From chunks of text to records, in parallel and exactly.
 *
 * Threads fill chunks of one file at any time and in any order; each chunk then passes
 *
 *      count lines          in parallel
 *      split                in the chunks' order: take over the record that the previous cut left,
 *                           pass on the one that this chunk's end cuts
 *      scan                 in parallel: check the structure, index the records
 *      confirm              in the chunks' order: only now is the chunk's text known to be good
 *
 * The split of FASTQ guesses that all records have four lines, so that counting lines finds their
 * beginnings. If a scan finds otherwise, its chunk and all later ones are parsed again from the
 * true beginning, in confirm's order, by the parser of the general form, which also finds out what
 * is wrong with a bad record. Nothing that was only guessed leaves kc_text_parse.
 */
#ifndef KC_IO_PARSE_TEXT_H
#define KC_IO_PARSE_TEXT_H

#include "io/input/chunk.h"
#include "io/parse/fasta.h"
#include "io/parse/fastq_text.h"
#include "io/parse/order.h"
#include "io/parse/pack.h"

enum kc_text_format { KC_TEXT_UNKNOWN, KC_TEXT_FASTQ, KC_TEXT_FASTA };

struct kc_text {
        const char *name; /* of the file */
        const struct kc_kernels *kernels;
        int k;

        struct kc_order order;

        /* In the split's turn. */
        enum kc_text_format format;
        bool at_begin; /* only the first nbom bytes of a byte order mark were seen so far */
        unsigned nbom;
        bool any_text;
        uint8_t last_byte;
        struct kc_fasta_state fasta;

        struct kc_fastq_text fastq;

        /* In confirm's turn. */
        uint64_t nreads; /* FASTA: confirmed */
};

void kc_text_init(struct kc_text *text, const char *name, const struct kc_kernels *kernels, int k);
void kc_text_destroy(struct kc_text *text);

/*
 * Index a filled chunk's records; from any thread. Must be called for every chunk of the file, also
 * those with an error of their own, and waits for those with lower numbers. On return the index is
 * final; on failure, and for all chunks after a failure, it is empty. Of a file's failures, only
 * the first in its order is returned. KC_EINPUT, KC_ENOMEM, or chunk->error.
 */
enum kc_status kc_text_parse(struct kc_text *text, struct kc_chunk *chunk, struct kc_error *err);

#endif
