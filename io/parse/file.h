/*
 * One input file while it is being read: chunks of records, whatever its format.
 */
#ifndef KC_IO_PARSE_FILE_H
#define KC_IO_PARSE_FILE_H

#include "io/inflate/source.h"
#include "io/parse/alignments.h"
#include "io/parse/bam.h"
#include "io/parse/pieces.h"
#include "io/parse/text.h"

struct kc_file {
        struct kc_source *source;         /* of text or BAM; NULL if htslib reads the file */
        struct kc_alignments *alignments; /* if htslib reads it */
        struct kc_bam *bam;               /* if the source is of BAM */
        struct kc_text text;              /* if it is of text */
        uint8_t percent_other;            /* as in struct kc_detected */
};

struct kc_file_options {
        const struct kc_kernels *kernels;
        int k;
        int min_quality; /* 0: qualities are not wanted */
        struct kc_selection selection;
        int nworkers;
        int ninflaters; /* workers that inflate one gzip stream together */
        size_t chunk_nbytes;
        size_t memory_nbytes;  /* for all files open at once; 0: as much as is useful */
        int nfiles;            /* open at once, at most */
        uint64_t bound_nbytes; /* to report: the bound on memory must be this many bytes... */
        unsigned bound_factor; /* ...and this many for each byte of memory_nbytes; 0: unknown */
        unsigned accepted;     /* of enum kc_accepted */
        size_t record_max, sequence_max; /* see struct kc_reader_options; 0: the default */
};

/* Open the file at this path, or a piece of it. *empty: there is no record in the piece, and
 * nothing to fill a chunk from. Close it in any case. KC_EINPUT, KC_EIO, KC_ENOMEM. */
enum kc_status kc_file_open(struct kc_file *file, const char *path,
                            const struct kc_input_piece *piece,
                            const struct kc_file_options *options, bool *empty,
                            struct kc_error *err);

/* See kc_source_fill. A filled chunk must go through kc_file_parse. */
bool kc_file_fill(struct kc_file *file, struct kc_chunk *chunk);

/* Whether only one worker at a time can make progress in kc_file_fill. */
bool kc_file_is_serial(const struct kc_file *file);

/* Whether chunks are inflated from compressed data; false if htslib inflates them. */
bool kc_file_inflates(const struct kc_file *file);

/* Whether the file's format has qualities; false until some of its text has been parsed. */
bool kc_file_has_qualities(const struct kc_file *file);

/* Whether the file holds alignments, which have flags. */
bool kc_file_has_flags(const struct kc_file *file);

/* See kc_text_parse. */
enum kc_status kc_file_parse(struct kc_file *file, struct kc_chunk *chunk, struct kc_error *err);

void kc_file_close(struct kc_file *file);

#endif
