/*
 * A FASTQ record too long to be held in memory, read in pieces from successive chunks.
 *
 * As in FASTA, each piece of the sequence begins with the last k-1 bases of the previous one, so
 * every k-mer is counted once. Its bases are counted before its qualities have been seen; if these
 * turn out to be too few or too many, the whole count fails, as it does if a later record is bad.
 * If qualities decide which bases count, the sequence is held until they come: one byte per base.
 */
#ifndef KC_IO_PARSE_FASTQ_LONG_H
#define KC_IO_PARSE_FASTQ_LONG_H

#include "io/input/chunk.h"
#include "io/parse/line.h"
#include "io/parse/pack.h"
#include "io/parse/problem.h"
#include "kmer/kmer.h"

enum kc_long_place {
        KC_LONG_NONE,
        KC_LONG_HEADER,
        KC_LONG_SEQUENCE,
        KC_LONG_PLUS,
        KC_LONG_QUALITY
};

struct kc_fastq_long {
        /* Set once, by the caller. */
        const struct kc_kernels *kernels;
        int k;
        uint8_t min_quality;       /* as a letter; 0: qualities are not wanted */
        uint32_t nskip;            /* see struct kc_selection */
        bool hpc;                  /* likewise */
        struct kc_held_limit held; /* a byte holds one base */

        enum kc_long_place place; /* KC_LONG_NONE: no record is being read */
        bool in_line;             /* the previous chunk ended within a line */
        struct kc_line_rest rest; /* what that chunk ended with, put before this one's text */
        uint64_t nbases, nqual;
        uint64_t nseq_lines, nqual_first; /* quality letters of the first line, once it has ended */
        struct kc_bytes sequence;         /* the part of it that is held */
        int ncontext;
        uint8_t context[KC_MAX_K]; /* the last bases passed on; all of them count; compressed
                                      with hpc */
};

/* Free what is held; the struct itself is the caller's. */
void kc_fastq_long_free(struct kc_fastq_long *l);

/* Begin a record, whose '@' is the next byte to be parsed. */
void kc_fastq_long_begin(struct kc_fastq_long *l);

/* The bytes that kc_fastq_long_parse needs before the chunk's text; it makes room for them. */
size_t kc_fastq_long_room(const struct kc_fastq_long *l, const struct kc_chunk *chunk);

/*
 * Continue the record with the text [chunk->start, chunk->end), and index its piece there; nothing
 * else may be indexed in the chunk yet. The pieces count as one read when the record ends: then
 * place is KC_LONG_NONE, and chunk->start lies after it.
 *   problem  out: what is wrong with the record; an empty text if nothing is
 * KC_ENOMEM.
 */
enum kc_status kc_fastq_long_parse(struct kc_fastq_long *l, struct kc_chunk *chunk,
                                   struct kc_problem *problem, struct kc_error *err);

#endif
