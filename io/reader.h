/*
 * The reader: files of reads in, sequence batches out.
 *
 * FASTQ and FASTA (either may be multi-line), plain or compressed with gzip (any number of
 * members), BGZF, zstd, bzip2 or xz; BAM; and SAM and CRAM through htslib. The format is detected
 * by content, never by name. The engine's worker threads do the work themselves inside next(): a
 * thread that needs a batch inflates, parses and packs it. See docs/dev/design.md, "Reading".
 */
#ifndef KC_READER_H
#define KC_READER_H

#include "kmer/batch.h"
#include "kmer/engine.h"
#include "kmer/stored.h"

struct kc_reader;

/* The reader gets n bytes if the bound on the memory of the process is fixed_nbytes + factor * n.
 * factor 0: unknown. */
struct kc_reader_bound {
        uint64_t fixed_nbytes;
        unsigned factor;
};

/* Which alignments, and which letters of reads, are taken; all zeros: everything. */
struct kc_selection {
        uint32_t nskip; /* so many letters at the beginning of a read, as sequenced, are left out */
        /* An alignment is taken if it has all SAM flags of the first, and none of the second. */
        uint16_t required, excluded;
        /* Of each run of equal bases, only the first is taken. Not together with nskip: a piece of
         * a long read begins with compressed bases, which have no places in the read. */
        bool hpc;
};

/* The SAM flags of secondary and supplementary alignments, which are never taken, because other
 * records have the same reads. */
enum { KC_FLAGS_REPEATED = 0x900 };

/* Parse a decimal, octal or hexadecimal number, or names as in DUP,QCFAIL. False: it is neither. */
bool kc_reader_parse_flags(const char *text, uint16_t *flags);

struct kc_reader_options {
        int k;     /* the smallest k: segments shorter than it are dropped */
        int max_k; /* the largest: pieces of one sequence share max_k-1 bases; 0: there is only k */
        int min_quality; /* bases of lower Phred quality (offset 33) end a segment; 0: none do */
        struct kc_selection selection;
        bool empty;             /* inputs of 0 bytes are accepted */
        int nworkers;           /* threads that will call next() */
        struct kc_job *job;     /* cancel is honoured; done/total count input bytes; may be NULL */
        uint64_t memory_nbytes; /* limit on the reader's memory, at least about 6 MiB a worker; 0:
                                   as much as is useful */
        struct kc_reader_bound bound; /* for kc_error.needed_nbytes */
        /* If several ranks (ranks/exchange.h) read the inputs together, which of them this is. All
         * must see all inputs: each opens every file, to find its pieces. nranks = 0: one process
         * reads all of them. */
        int rank, nranks;
        /* For tests; 0: the default. */
        size_t chunk_nbytes; /* text that a worker takes at a time */
        size_t record_max;   /* bytes of a FASTQ or BAM record that is read whole, not in pieces */
        size_t sequence_max; /* bytes held of a longer record's bases until its qualities come: one
                                per base in FASTQ, half a byte per base in BAM */
};

struct kc_reader_totals {
        uint64_t nfiles;
        uint64_t nreads;
        uint64_t nbases;                /* all letters of all sequences, but those left out */
        uint64_t nskipped;              /* letters outside ACGTUacgtu */
        uint64_t nlow_quality;          /* bases under min_quality */
        uint64_t nleft_out;             /* letters of reads that the selection leaves out */
        uint64_t input_nbytes;          /* bytes read from files, before inflating */
        uint64_t text_nbytes;           /* bytes after inflating */
        uint64_t inflated_nbytes;       /* of these, bytes that the reader inflated */
        bool any_qualities;             /* some input was not FASTA, which has none */
        bool any_flags;                 /* some input was SAM, BAM or CRAM */
        struct kc_stored_totals stored; /* what an engine read of the stored inputs; all totals
                                           above but inflated_nbytes include it */
};

/*
 * Prepare to read. paths are file names, "-" for standard input (at most once), or "@LIST" for a
 * file that names one input a line. Every named file is checked now, so that a missing one is
 * reported before any work, and opened again when its turn comes. The strings of paths and
 * options->job must outlive the reader. Returns KC_OK and *reader, to be freed with
 * kc_reader_close; KC_EINPUT; KC_EIO; KC_ENOMEM.
 *
 * job->done is set to 0 here and grows by the bytes read from files, before inflating; job->total
 * is set to the sum of the files' sizes, or to 0 if an input's size is unknown (a pipe). At the end
 * done = total if total is known.
 */
enum kc_status kc_reader_open(struct kc_reader **reader, const char *const *paths, size_t npaths,
                              const struct kc_reader_options *options, struct kc_error *err);

/* The same for inputs whose names are resolved. They become the reader's, even if this fails. */
struct kc_inputs;
enum kc_status kc_reader_open_inputs(struct kc_reader **reader, struct kc_inputs *inputs,
                                     const struct kc_reader_options *options, struct kc_error *err);

/* Whether all inputs can be read again from their beginning. The reader must have a job, which must
 * still be in its first stage. */
bool kc_reader_is_rereadable(const struct kc_reader *reader);

/*
 * Begin again, with other options: as if the reader were closed and opened, except that no @LIST is
 * read twice, because a list may be a pipe. Inputs are opened again; those that are pipes must be
 * unread. Fails like kc_reader_open, with *reader = NULL.
 */
enum kc_status kc_reader_reopen(struct kc_reader **reader, const struct kc_reader_options *options,
                                struct kc_error *err);

/*
 * The reader as a source of batches for nworkers threads. Errors are KC_EINPUT with file and record
 * or offset in the message, KC_EIO, KC_ENOMEM, KC_ECANCELED; after the first failure every worker
 * gets that error. A batch comes only from text that was checked: FASTQ structure, and CRC and
 * length of every gzip member read so far. (An error found later still fails the whole count, so an
 * incomplete count is never reported.)
 */
struct kc_batch_source kc_reader_source(struct kc_reader *reader);

/*
 * The inputs as they are stored, in place of the batches: use one or the other, though batches may
 * follow if the engine gave up. False if some input is a pipe, or is neither plain or BGZF text
 * that begins like FASTQ or FASTA, nor BAM with a sound header. Valid until the next call, or
 * kc_reader_close.
 *   part_nbytes  files of text are cut into parts of about so many bytes, if records can be found
 *                there; UINT64_MAX: they are not cut
 */
bool kc_reader_stored(struct kc_reader *reader, uint64_t part_nbytes,
                      struct kc_stored_source *source);

/* Totals of what was read so far, from any thread; final once every worker has seen the end. */
void kc_reader_totals(struct kc_reader *reader, struct kc_reader_totals *totals);

/*
 * The inputs' names in order, after @LIST was resolved; owned by the reader. Returns how many.
 */
size_t kc_reader_names(const struct kc_reader *reader, const char *const **names);

/* What reading has shown so far of each input, of enum kc_input_mark (kmer/stored.h), combined with
 * |; final once every worker has seen the end. With several ranks, other ranks may know more.
 *   marks  out [kc_reader_names] */
void kc_reader_marks(const struct kc_reader *reader, uint8_t *marks);

/* The percentage of the first letters of input i that are not A, C, G, T, U or N, if it is over 20
 * and they may be those of proteins; otherwise 0. Of a regular file it is known from the beginning,
 * to every rank; of a pipe once its turn has come, to the rank that reads it (rank 0). */
unsigned kc_reader_percent_other(const struct kc_reader *reader, size_t i);

/*
 * An estimate of the number of bases in all inputs, from their sizes and first bytes; 0 if there is
 * no way to tell (standard input).
 */
uint64_t kc_reader_expected_nbases(const struct kc_reader *reader);

/* A hash of the names and sizes of all inputs. Ranks that share the inputs must have the same hash;
 * otherwise some reads would be read by two ranks, or by none. */
uint64_t kc_reader_fingerprint(const struct kc_reader *reader);

/* Free everything; NULL is fine. */
void kc_reader_close(struct kc_reader *reader);

#endif
