/*
 * Files of reads as they are stored, for an engine that inflates and parses them itself: the other
 * thing that may pass from io/ to an engine, in place of batches (kmer/batch.h).
 *
 * Such an engine accepts only text of the strict form (gpu/text/text.cuh) and sound BGZF blocks. If
 * it finds anything else in a file, it counts nothing but starts again with batches, so that the
 * reader's rules and messages apply.
 */
#ifndef KC_STORED_H
#define KC_STORED_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What reading an input has shown. */
enum kc_input_mark {
        KC_INPUT_HAS_BASES = 1 << 0,
        KC_INPUT_NO_END_BLOCK = 1 << 1, /* BGZF ends in it without its end-of-file block */
};

struct kc_stored_file {
        uint64_t nbytes; /* as stored */
        bool bgzf;       /* otherwise it is plain text */
        bool fasta;      /* otherwise FASTQ; its first record begins with its first letter */
        /* Neither FASTQ nor FASTA, but BAM in BGZF: how much of its text comes before the first
         * record, and how many reference sequences its header names. */
        bool bam;
        uint64_t header_nbytes;
        uint32_t nrefs;
};

/*
 * Some of a file's records: what an engine reads at a time. The records lie within a stretch of the
 * file; in BGZF it consists of whole blocks, the first and the last of which may have text of other
 * parts, too.
 */
struct kc_stored_part {
        size_t file;
        uint64_t offset, nbytes; /* of the stretch */
        uint64_t skip;           /* bytes of text before the first record */
        uint32_t kept;           /* bytes of the last block's text that belong to the part;
                                    UINT32_MAX: all of them */
        bool ends_file;
};

/* What the files held, in the terms of struct kc_reader_totals (io/reader.h). If the engine gave
 * them up, only the last two fields are set. */
struct kc_stored_totals {
        uint64_t nreads, nbases, nskipped, nlow_quality, input_nbytes, text_nbytes;
        uint64_t inflated_nbytes; /* of text_nbytes, those that came from BGZF */
        bool gave_up;             /* the files come as batches, from their beginning */
        uint64_t wasted_nbytes;   /* of text, parsed before the engine gave up */
};

struct kc_stored_source {
        void *ctx;
        const struct kc_stored_file *files; /* [nfiles] */
        size_t nfiles;
        const struct kc_stored_part *parts; /* [nparts] every record is in one of them */
        size_t nparts;
        int min_quality;
        /* Read n bytes of a file, in any thread. *got < n only if the file has become shorter, or
         * if it has grown so that its end may be missing. KC_EINPUT, KC_EIO. */
        enum kc_status (*read)(void *ctx, size_t file, uint64_t offset, void *to, size_t n,
                               size_t *got, struct kc_error *err);
        /* Called, in any thread, when a part of the file has been parsed.
         *   marks  of enum kc_input_mark, combined with | */
        void (*mark)(void *ctx, size_t file, unsigned marks);
        /* Called, perhaps more than once, when the file will not be read any more. */
        void (*close)(void *ctx, size_t file);
        /* Called when all files have been read and parsed, or when the engine gives them up. */
        void (*report)(void *ctx, const struct kc_stored_totals *totals);
};

#ifdef __cplusplus
}
#endif
#endif
