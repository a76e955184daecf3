/*
 * Records: the sequences of a file in its order, with all that the file says about each, and with
 * their text as it was read. For querying and filtering reads; io/reader.h reads what is counted,
 * where neither order nor names matter.
 *
 * FASTQ and FASTA (either may be multi-line), plain or compressed with gzip (any number of
 * members), BGZF, zstd, bzip2 or xz; BAM, SAM and CRAM through htslib; and, for queries, one
 * sequence per line. The format is detected by content, never by name; "-" is standard input.
 *
 * Records come in batches. The threads that want them do the work themselves inside
 * kc_records_next: each inflates and parses a batch of its own. Batches are numbered in the order
 * of the file, so threads that write results in that order pass a turn (base/turn.h) from one
 * number to the next. A single thread gets the batches in order.
 */
#ifndef KC_IO_RECORDS_H
#define KC_IO_RECORDS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bam1_t;    /* htslib's */
struct sam_hdr_t; /* htslib's */
struct kc_records;
struct kc_mates;

/* What is accepted beside FASTQ and FASTA, to be combined with |. */
enum kc_records_accepted {
        KC_RECORDS_LINES = 1 << 0,      /* lines whose first field is a sequence; empty files */
        KC_RECORDS_ALIGNMENTS = 1 << 1, /* BAM, SAM and CRAM */
        /* As in io/reader.h: any printable character in a sequence, and comment lines in FASTA,
         * which begin with ';'. Without the flag, sequences have only letters, '-', '*' and '.'. */
        KC_RECORDS_SYMBOLS = 1 << 2,
};

struct kc_records_options {
        unsigned accepted;
        int nthreads; /* that will call kc_records_next, or kc_mates_next; at least 1 */
        int overlap;  /* bases that two pieces of a sequence share, less than KC_MAX_K */
        bool hpc;     /* the caller compresses homopolymers with kc_record_compress: pieces share
                         `overlap` bases after that */
        /* For all below, 0 is the default. */
        size_t nheld; /* batches of pairs that all threads together hold or are about to get, at
                         most; default: one each */
        size_t chunk_nbytes; /* text that a thread takes at a time */
        size_t record_max;   /* bytes of a FASTQ record that is given whole, not in pieces */
};

enum kc_record_flags {
        KC_RECORD_BEGINS = 1 << 0, /* the record begins here... */
        KC_RECORD_ENDS = 1 << 1,   /* ...and ends here: otherwise this is a piece of it */
        KC_RECORD_WHOLE = KC_RECORD_BEGINS | KC_RECORD_ENDS,
        /* of an alignment: it is secondary or supplementary, so another record has the read, too */
        KC_RECORD_REPEATED = 1 << 2,
};

/* Stands for the place of qualities that a record does not have. */
#define KC_RECORD_NO_QUALITIES UINT32_MAX

/*
 * A record, or a piece of one that is too long: a FASTA sequence or a line longer than a chunk, or
 * a FASTQ record longer than record_max. Pieces follow each other. If a piece has bases and is not
 * the first, it begins with the last `overlap` bases before it, or with fewer if the sequence
 * begins, or has a letter that is not a base, just before those. How a record is divided may depend
 * on the number of threads; what its pieces hold together does not. Whoever decides about whole
 * records passes what it knows from piece to piece in the turn of the batches, until
 * KC_RECORD_ENDS.
 *
 * `text` is the record as it was read, with its line ends and its other blanks. The texts of all
 * records, one after the other, are the text of the file from its first record on; only blank lines
 * between records may be missing. An alignment has no text.
 *
 * All fields but number, offset and flags are places in the batch's `bytes`, or numbers of bytes
 * there.
 */
struct kc_seq_record {
        uint64_t number; /* in the file: 0, 1, ... */
        uint64_t offset; /* bases of the sequence before those of this piece; 0: the first piece */
        uint32_t text, text_nbytes;
        uint32_t name, name_nbytes; /* the line without '@' or '>' and line end; every piece has
                                       it; empty for a line */
        uint32_t bases, nbases;     /* without line ends; of alignments as sequenced, so turned back
                                       where the read is aligned to the other strand */
        uint32_t qualities; /* nbases letters, Phred + 33; KC_RECORD_NO_QUALITIES: none, or the
                               record is longer than record_max: then its text has them */
        uint32_t plus, plus_nbytes; /* what follows '+' in FASTQ; empty if the record is longer
                                       than record_max */
        uint16_t noverlap;          /* how many of the bases the previous piece has as well */
        uint8_t flags;              /* enum kc_record_flags */
};

/*
 * Each thread has its own: zero-initialise it, and free it with kc_record_batch_free. What it holds
 * is valid until the next call with it, and any thread may read it.
 *
 * With chunk and record_max as in the options, it takes at most about 5 * (chunk + record_max)
 * bytes for text, and 100 for each record. The stream takes another 4 * (chunk + record_max). If
 * several threads inflate one gzip stream, chunks are up to 20 times as long. An alignment is held
 * as a whole, however long it is.
 */
struct kc_record_batch {
        uint64_t number;                     /* of the batch: 0, 1, ... in the file's order */
        size_t n;                            /* 0: the end */
        const struct kc_seq_record *records; /* [n] */
        const char *bytes;
        struct bam1_t **alignments; /* [n] of an alignment file; otherwise NULL */
        uint64_t input_nbytes;      /* of the file, before inflating, that went into it */
        struct kc_record_memory *memory;
};

/*
 * Open the file; path must outlive *records. Returns KC_OK and *records, to be freed with
 * kc_records_close; KC_EINPUT, also for known files of other kinds; KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_records_open(struct kc_records **records, const char *path,
                               const struct kc_records_options *options, struct kc_error *err);

/*
 * Get the next batch, from any of nthreads threads. batch->n is 0 at the end. KC_EINPUT, with the
 * file and the record or the place in the message; KC_EIO, KC_ENOMEM. After a failure, each call
 * for records that come after it in the file fails in the same way. The stream knows no job: the
 * caller looks for its cancellation between batches, and advances it by batch->input_nbytes.
 */
enum kc_status kc_records_next(struct kc_records *records, struct kc_record_batch *batch,
                               struct kc_error *err);

/*
 * Compress the homopolymers of a record: of each run of equal bases, only the first one is kept.
 *   record   in/out: a copy of the record; nbases and noverlap become those of `to`
 *   bytes    of its batch, from a stream opened with hpc
 *   overlap  as in the stream's options
 *   to       out [record->nbases]: the letters that are left
 */
void kc_record_compress(struct kc_seq_record *record, const char *bytes, int overlap, char *to);

/* The header of an alignment file, owned by *records; otherwise NULL. */
struct sam_hdr_t *kc_records_header(const struct kc_records *records);

enum kc_records_kind {
        KC_RECORDS_TEXT, /* FASTQ, FASTA, lines */
        KC_RECORDS_BAM,  /* or SAM */
        KC_RECORDS_CRAM,
};
enum kc_records_kind kc_records_kind(const struct kc_records *records);

/* What the header of an alignment file says about the order of its records. */
enum kc_records_order {
        KC_RECORDS_ANY_ORDER, /* nothing */
        KC_RECORDS_BY_NAME,   /* all records of a name follow each other */
        KC_RECORDS_BY_PLACE,  /* they are sorted by where they are aligned */
};
enum kc_records_order kc_records_order(const struct kc_records *records);

/* NULL is fine. */
void kc_records_close(struct kc_records *records);

void kc_record_batch_free(struct kc_record_batch *batch);

/* The memory that the batch takes now, in bytes. */
size_t kc_record_batch_nbytes(const struct kc_record_batch *batch);

/* ---- pairs ---- */

/*
 * Pairs of records. Mate m (0 or 1) of pair i is records[first[m] + i * step] of *batch[m].
 */
struct kc_mate_batch {
        uint64_t number; /* of this batch: 0, 1, ... in the order of the pairs */
        uint64_t pair;   /* number of its first pair */
        size_t n;        /* 0: the end */
        const struct kc_record_batch *batch[2];
        size_t first[2], step;
        void *held[2]; /* until kc_mates_release */
};

/*
 * Open two files whose records are mates in the same order, or one file in which mates follow each
 * other if second is NULL. Otherwise as kc_records_open. Memory: 2 * nheld + 2 batches.
 */
enum kc_status kc_mates_open(struct kc_mates **mates, const char *first, const char *second,
                             const struct kc_records_options *options, struct kc_error *err);

/*
 * Get the next pairs, from any thread, while at most nheld batches are held or about to be got;
 * pairs->n is 0 at the end. The names of mates are not compared, and each record of an alignment
 * file counts, secondary ones (KC_RECORD_REPEATED) too, so do not read mates from a file that has
 * any. As kc_records_next; also KC_EINPUT if one file has fewer records than the other, an
 * interleaved file an odd number, or a record comes in pieces.
 */
enum kc_status kc_mates_next(struct kc_mates *mates, struct kc_mate_batch *pairs,
                             struct kc_error *err);

/* The pairs are no longer used. From any thread, once for each call that gave some. */
void kc_mates_release(struct kc_mates *mates, struct kc_mate_batch *pairs);

/* The stream of a mate (0 or 1), for kc_records_header. */
const struct kc_records *kc_mates_stream(const struct kc_mates *mates, int mate);

/* All pairs must have been released. NULL is fine. */
void kc_mates_close(struct kc_mates *mates);

#ifdef __cplusplus
}
#endif

#endif
