/*
 * From chunks of text to batches of records, in parallel and in order. As in io/parse/text.h, each
 * chunk is split in the chunks' order, parsed at any time, and confirmed in the chunks' order. But
 * a record that the chunk's end cuts is left to the next chunk as a whole, and the text of all
 * records stays as it was read.
 */
#ifndef KC_IO_RECORDS_TEXT_H
#define KC_IO_RECORDS_TEXT_H

#include "io/parse/fasta.h"
#include "io/parse/fastq_text.h"
#include "io/parse/order.h"
#include "io/records/memory.h"

enum kc_record_format {
        KC_RECORD_UNKNOWN, /* only blanks were seen so far */
        KC_RECORD_FASTQ,
        KC_RECORD_FASTA,
        KC_RECORD_LINES
};

struct kc_record_text {
        const char *name; /* of the file */
        struct kc_records_options options;
        const struct kc_kernels *kernels;
        struct kc_order order;

        /* In the split's turn. */
        enum kc_record_format format;
        bool begun;            /* a byte order mark can no longer come */
        uint8_t last_byte;     /* FASTQ */
        struct kc_bytes carry; /* not FASTQ: the text after what was split off */
        size_t carry_nlines;
        uint64_t nlines;             /* line ends before the carry */
        bool in_piece;               /* the carry continues a record... */
        bool past_field;             /* ...and comes after the first field of its line */
        struct kc_bytes piece_name;  /* FASTQ: in confirm's turn */
        struct kc_fasta_state piece; /* the last bases of it */

        struct kc_fastq_text fastq;

        /* In confirm's turn. */
        uint64_t nrecords, nbatches;
        uint64_t offset; /* bases of the record so far, if it goes on */
};

/* What the split decides about one chunk, and what parsing it finds. */
struct kc_record_cut {
        enum kc_record_format format;
        struct kc_fastq_cut fastq;
        bool added_eol; /* FASTQ: the last line end is not in the file */
        size_t whole;   /* otherwise: records, or pieces, end here */
        uint64_t line;  /* number of line ends before the text */
        bool continues; /* a record that began earlier... */
        bool past_field;
        size_t name, name_nbytes; /* ...under this name */
        int noverlap;
        uint8_t overlap[KC_MAX_K];
        bool goes_on; /* the last record is not complete */

        struct kc_problem problem;
        uint64_t bad_line; /* number of the line that holds a bad letter; 0: problem says all */
};

void kc_record_text_init(struct kc_record_text *text, const char *name,
                         const struct kc_records_options *options);
void kc_record_text_destroy(struct kc_record_text *text);

/*
 * Make a batch of a filled chunk; from any thread. Must be called for every chunk of the file,
 * including those with an error of their own; it waits for those with lower numbers. On failure,
 * and for all chunks after a failure, the batch is empty. Of a file's failures, only the first in
 * its order is returned. KC_EINPUT, KC_ENOMEM, or chunk->error.
 */
enum kc_status kc_record_text_parse(struct kc_record_text *text, struct kc_record_batch *batch,
                                    struct kc_error *err);

/* ---- between the files of this room ---- */

/* How many bases are kept for the next piece: compression looks at the base before it. */
static inline int kc_record_context(const struct kc_records_options *options)
{
        return options->hpc && options->overlap == 0 ? 1 : options->overlap;
}

/* In the chunks' order, for FASTA and lines: decide where to cut. KC_ENOMEM, KC_EINPUT. */
enum kc_status kc_record_split(struct kc_record_text *text, struct kc_record_memory *memory,
                               struct kc_record_cut *cut, struct kc_error *err);

/* Make records of FASTA or lines. KC_ENOMEM; what is wrong with the text is left in cut. */
enum kc_status kc_record_parse(const struct kc_record_text *text, struct kc_record_memory *memory,
                               struct kc_record_cut *cut, struct kc_error *err);

/* Make records of the FASTQ records that the chunk's index has, whose text ends at `end`. */
enum kc_status kc_record_take_fastq(const struct kc_record_text *text,
                                    struct kc_record_memory *memory, size_t end,
                                    struct kc_record_cut *cut, struct kc_error *err);

/* In confirm's turn: parse FASTQ of the general form, and make records of it. */
enum kc_status kc_record_take_general(struct kc_record_text *text, struct kc_record_memory *memory,
                                      struct kc_record_cut *cut, struct kc_error *err);

/* The first of n letters that a sequence may not have; n: none. 64 bytes after them may be read. */
size_t kc_record_bad_letter(const struct kc_record_text *text, const uint8_t *letters, size_t n);

/* Report such a letter. `first`: it is the first of its line. */
void kc_record_refuse_letter(const struct kc_record_text *text, uint8_t letter, bool first,
                             struct kc_problem *problem);

/* The number of bytes in a line [n] without its end, which may be missing. */
static inline size_t kc_record_line(const uint8_t *line, size_t n)
{
        n -= n > 0 && line[n - 1] == '\n';
        return n - (n > 0 && line[n - 1] == '\r');
}

#endif
