/*
 * BAM: from chunks of inflated text to reads, in parallel.
 *
 * Threads fill chunks of one file at any time and in any order (io/inflate/source_bgzf.c); each
 * chunk then passes
 *
 *      split                in the chunks' order: skip the header, take over the record that the
 *                           previous cut left, hop from one block_size to the next, and pass on
 *                           the record that this chunk's end cuts
 *      scan                 in parallel: check the fields of the whole records, write their letters
 *      confirm              in the chunks' order: only now may the chunk's reads be used
 *
 * Each read is given once: secondary and supplementary alignments are left out, and so are those
 * that the selection does not take. A read stored as its reverse complement is turned back, so that
 * stranded counts equal those of the FASTQ it came from.
 *
 * htslib, which reads SAM and CRAM, can be trusted with BAM only on one thread: with its thread
 * pool, htslib 1.16 may hang on a damaged file, or report its end where the damage begins, so that
 * records are lost without an error.
 */
#ifndef KC_IO_PARSE_BAM_H
#define KC_IO_PARSE_BAM_H

#include "io/input/chunk.h"
#include "io/parse/bam_header.h"
#include "io/parse/bam_long.h"
#include "io/parse/bam_record.h"
#include "io/parse/order.h"

struct kc_bam {
        const char *name; /* of the file */
        struct kc_bam_decoder decoder;
        size_t record_max; /* bytes of a record that is held; a longer one is read in pieces */

        struct kc_order order;

        /* In the split's turn. */
        struct kc_bam_header header;
        struct kc_bytes carry; /* the beginning of a record, or of a number in the header */
        uint64_t need; /* bytes from the carry's beginning without which parsing cannot go on */
        struct kc_bam_long piecewise;
        uint64_t nrecords; /* that have ended */
        bool stopped;      /* something is wrong: where the next record begins is not known */
};

/*
 * Prepare to parse a file of this name, which must outlive the parser.
 *   min_quality  Phred; 0: qualities are not wanted
 * Returns NULL if there is no memory. Free it with kc_bam_free; NULL is fine.
 */
struct kc_bam *kc_bam_new(const char *name, const struct kc_kernels *kernels, int k,
                          int min_quality, const struct kc_selection *selection,
                          const struct kc_limits *limits);
void kc_bam_free(struct kc_bam *bam);

/* As kc_text_parse. */
enum kc_status kc_bam_parse(struct kc_bam *bam, struct kc_chunk *chunk, struct kc_error *err);

#endif
