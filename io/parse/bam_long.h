/*
 * A BAM record too long to be held in memory, read in pieces from successive chunks.
 *
 * As with a long FASTQ record, each piece of the sequence begins with the last k-1 bases of the
 * previous one, so every k-mer is counted once. The bases count as soon as they are read, unless
 * their qualities are wanted: these come after all bases, so the sequence is held until then, at
 * half a byte per base. The pieces of a read that is stored as its reverse complement are turned
 * one by one: their k-mers are those of the whole read, turned.
 */
#ifndef KC_IO_PARSE_BAM_LONG_H
#define KC_IO_PARSE_BAM_LONG_H

#include "io/input/chunk.h"
#include "io/parse/bam_record.h"
#include "io/reader.h"
#include "kmer/kmer.h"

struct kc_bam_long {
        /* Set once, by the caller. */
        const struct kc_bam_decoder *decoder;
        int k;
        struct kc_held_limit held; /* a byte holds two bases */
        struct kc_selection selection;

        bool active; /* a record is being read... */
        bool taken;  /* ...and its bases are wanted */
        struct kc_bam_record record;
        uint64_t at;              /* bytes of it read so far */
        bool has_qualities;       /* valid once the first one has been seen */
        struct kc_bytes sequence; /* packed as in the file: the part that is held */
        int ncontext;
        uint8_t context[KC_MAX_K]; /* the last letters passed on, as they are stored; all
                                      count; compressed with hpc */
};

/* Free what is held; the struct itself is the caller's. */
void kc_bam_long_free(struct kc_bam_long *l);

/* Begin a record whose fields are sound. problem: out, set if its sequence cannot be held. */
void kc_bam_long_begin(struct kc_bam_long *l, const struct kc_bam_record *record,
                       struct kc_problem *problem);

/*
 * Continue the record with the text [at, end) of the chunk's buffer, and index the piece of the
 * sequence there. Its letters are put after chunk->end, which grows, or in the place of their
 * qualities. There must be KC_MAX_K bytes of buffer before `at` that are free, unless the record
 * begins there. *next: where the record ends, or end. When the record ends, its pieces count as one
 * read, and it is no longer active. KC_ENOMEM.
 */
enum kc_status kc_bam_long_read(struct kc_bam_long *l, struct kc_chunk *chunk, size_t at,
                                size_t end, size_t *next, struct kc_error *err);

#endif
