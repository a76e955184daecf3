/*
 * libkcount counts the k-mers of sequencing reads, and looks up their counts, from C and C++.
 *
 * k-mers. A base takes 2 bits: A=0 C=1 G=2 T=3. A k-mer is the integer that its bases form, with
 * the first base in the most significant bits, so numerical order is alphabetical order. It takes
 * kcount_nwords(k) = ceil(k / 32) 64-bit words, THE MOST SIGNIFICANT WORD FIRST; unused high bits
 * are zero. An array of n k-mers is uint64_t [n * nwords]. The canonical form of a k-mer is the
 * smaller of the k-mer and its reverse complement. Unless counts are stranded, they are counts of
 * canonical k-mers, and functions that look up k-mers accept either form.
 *
 * Errors. A function that can fail returns an enum kcount_status. On failure, unless error is NULL,
 * it sets *error to an object that the caller must free with kcount_error_free. Other outputs are
 * then unchanged, except for arrays that the caller provides, and no incomplete file remains. The
 * library never prints, never ends the process, installs no signal handler, does not change the
 * locale, and has no state outside its handles. htslib, which reads SAM and CRAM files, prints
 * warnings unless hts_set_log_level says otherwise; while an output that exists is compared with
 * the references of CRAM inputs, its level is off.
 *
 * Threads. Different threads may use different handles at the same time. Several threads may use
 * one struct kcount_counts at the same time, but only one thread at a time a cursor or an asker.
 *
 * Options. The first field of a struct of options is its size, so that programs compiled with an
 * older header keep working. Initialize the struct with its _INIT macro, then change single fields.
 * For options, NULL stands for the defaults, which are those of the macro.
 */
#ifndef KCOUNT_H
#define KCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define KCOUNT_API __attribute__((visibility("default")))
#else
#define KCOUNT_API
#endif

enum { KCOUNT_MAX_K = 255, KCOUNT_MAX_WORDS = 8 };

/* "0.2.0" */
KCOUNT_API const char *kcount_version(void);

/* ---- errors ---- */

enum kcount_status {
        KCOUNT_OK = 0,
        KCOUNT_EUSAGE,   /* the caller asked for something impossible: k out of range, ... */
        KCOUNT_EINPUT,   /* an input file is missing, damaged, truncated or of another kind */
        KCOUNT_EDAMAGED, /* a .kc file is damaged, or it is not a .kc file */
        KCOUNT_EEXIST,   /* the output exists and may not be replaced */
        KCOUNT_EIO,      /* the system refused to read, write, rename, ... */
        KCOUNT_ENOMEM,
        KCOUNT_EDEVICE,   /* a device failed or cannot be used */
        KCOUNT_ENODEVICE, /* there is no device, no driver, or no CUDA engine */
        KCOUNT_ECANCELED, /* a callback of the caller stopped the work */
};

struct kcount_error;

KCOUNT_API enum kcount_status kcount_error_status(const struct kcount_error *error);

/* What is wrong, in one line, with the file and the record if they are known. Valid until
 * kcount_error_free, like the strings below. */
KCOUNT_API const char *kcount_error_message(const struct kcount_error *error);

/* The file that the failure concerns, or "". */
KCOUNT_API const char *kcount_error_file(const struct kcount_error *error);

enum kcount_unit {
        KCOUNT_UNIT_NONE = 0, /* the place is unknown */
        KCOUNT_UNIT_LINE,     /* lines of text, from 1 */
        KCOUNT_UNIT_RECORD,   /* reads, sequences or alignments, from 1 */
        KCOUNT_UNIT_BYTE,     /* bytes of the file, before decompression, from 0 */
};

/* The place in this file that the message names.
 *   unit  out: what is counted; NULL if the caller does not need it
 * Returns the number of the line, record or byte; 0 if the place is unknown. */
KCOUNT_API uint64_t kcount_error_place(const struct kcount_error *error, enum kcount_unit *unit);

/* What would help, in one or more sentences, or "". */
KCOUNT_API const char *kcount_error_advice(const struct kcount_error *error);

KCOUNT_API void kcount_error_free(struct kcount_error *error); /* NULL is fine */

/* ---- k-mers as numbers, for k in [1, KCOUNT_MAX_K] ---- */

/* The number of 64-bit words of a k-mer. */
static inline int kcount_nwords(int k)
{
        return (2 * k + 63) / 64;
}

/* Convert letters to numbers: n k-mers of k letters each, with nothing between them, in upper or
 * lower case. U is read as T.
 *   kmers  out [n * nwords]
 * Returns how many were converted: if fewer than n, the next has a letter that is not a base. */
KCOUNT_API size_t kcount_encode(int k, const char *letters, size_t n, uint64_t *kmers);

/* Convert numbers to upper-case letters, without a terminating NUL.
 *   letters  out [n * k] */
KCOUNT_API void kcount_decode(int k, const uint64_t *kmers, size_t n, char *letters);

/* Replace n k-mers by their canonical forms, or by their reverse complements. */
KCOUNT_API void kcount_canonical(int k, uint64_t *kmers, size_t n);
KCOUNT_API void kcount_reverse_complement(int k, uint64_t *kmers, size_t n);

/* ---- progress ---- */

/*
 * Called by the caller's thread when a function begins to work, then about ten times a second.
 *   stage  "reading", "counting", "writing" or "merging"; for askers "loading" or "asking"
 *   done   how many units of the stage are done, such as bytes; it may start again from 0
 *   total  how many units there are; 0 if that is unknown
 * Return false to cancel. It is then not called again, and the function fails with KCOUNT_ECANCELED
 * within about 0.2 s, unless it is just giving the output its name, or is waiting for an input.
 */
typedef bool kcount_progress(void *ctx, const char *stage, uint64_t done, uint64_t total);

/* ---- signals ---- */

/*
 * Called while files are created and get their names, for programs that a signal may end at any
 * time. Until an output gets its name, it has none, or, on some file systems, a temporary one. With
 * a guard, a program can avoid leaving a temporary file or only some of an output's files behind.
 *   step       one of enum kcount_name_step
 *   temporary  for ADD and DROP: the path of a file; otherwise NULL
 * A thread of the library, with signals blocked, calls it. It has no ctx, because signals are for
 * the whole process. The result matters only for ALLOW.
 */
typedef bool kcount_name_guard(int step, const char *temporary);

enum kcount_name_step {
        KCOUNT_NAMES_ALLOW, /* the work is done. Return false to cancel: no file gets its name,
                                 and the function fails with KCOUNT_ECANCELED */
        KCOUNT_NAMES_HOLD,  /* until RELEASE, the process must not be ended */
        KCOUNT_NAMES_ADD,   /* if it ends later, remove this file; the path is valid until DROP */
        KCOUNT_NAMES_DROP,  /* do not remove it any longer */
        KCOUNT_NAMES_RELEASE,
};

/* ---- counting ---- */

struct kcount_counts; /* k-mers with their counts: an open .kc file, with or without a name */

struct kcount_statistics {
        size_t size;  /* sizeof(struct kcount_statistics), set by the caller */
        int nthreads; /* that counted: fewer than wanted if the memory is not enough for them */
        int ndevices; /* that counted; 0: the CPU did */
        uint64_t nreads, nbases;
        uint64_t nskipped;       /* of these bases: letters other than A, C, G, T, U */
        uint64_t nlow_quality;   /* likewise: bases of lower quality than min_quality */
        uint64_t nleft_out;      /* bases that are not in nbases: those of `skip` */
        uint64_t input_nbytes;   /* read from files */
        uint64_t text_nbytes;    /* after decompression */
        uint64_t memory_nbytes;  /* the bound */
        uint64_t spilled_nbytes; /* written to temporary files */
        uint64_t device_nbytes;  /* the most memory that was allocated on the first device */
        double reading_seconds, counting_seconds, writing_seconds;
};

/* Called before counting ends, by the thread that called the function, for each thing that the user
 * should know: an input holds no sequence, may lack its end, or may hold proteins; or the CPU has
 * counted because no device can be used.
 *   text  one line, valid until the callback returns */
typedef void kcount_warn(void *ctx, const char *text);

struct kcount_count_options {
        size_t size;            /* sizeof(struct kcount_count_options) */
        int k;                  /* 1 .. KCOUNT_MAX_K */
        bool stranded;          /* count k-mers as they are read, not in canonical form */
        bool hpc;               /* count each run of equal bases as one base */
        bool replace;           /* replace the output if it exists */
        bool accept_empty;      /* inputs of 0 bytes are not errors */
        uint32_t min_count;     /* k-mers with lower counts are dropped */
        uint32_t max_count;     /* k-mers with higher counts are dropped */
        int min_quality;        /* k-mers with a base of lower Phred quality are not counted */
        int nthreads;           /* 0: as many as the process may use */
        uint64_t memory_nbytes; /* bound on memory, >= 256 MiB; 0: half of what is available */
        const char *tmp_folder; /* for temporary files; NULL: the output's, or the current one */
        const char *device;     /* "auto", "cpu", "cuda", "cuda:N" or "cuda:N,M,..."; NULL: auto */
        kcount_progress *progress; /* NULL: none */
        void *progress_ctx;
        kcount_name_guard *guard; /* NULL: none */
        uint32_t skip; /* leave out this many bases at the beginning of each read; not with hpc */
        /* Of SAM, BAM and CRAM, count only alignments that have all flags of require_flags and none
         * of exclude_flags, and never secondary or supplementary ones. */
        uint16_t require_flags, exclude_flags;
        const char *only; /* count only the k-mers of this file of reads; NULL: all. They may take a
                             quarter of the memory. The CPU counts */
        kcount_warn *warn; /* NULL: none */
        void *warn_ctx;
        struct kcount_statistics *statistics;     /* out: filled in on success; NULL: none */
        const struct kcount_count_inside *inside; /* must be NULL, except in the program kcount */
};

#define KCOUNT_COUNT_OPTIONS_INIT \
        { \
                sizeof(struct kcount_count_options), 31, false, false, false, false, 1, \
                        UINT32_MAX, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, \
                        NULL, NULL, NULL \
        }

/*
 * Count the k-mers of files of reads: FASTQ, FASTA, SAM, BAM or CRAM, plain or compressed.
 *   paths    [npaths] files; "-": standard input; "@LIST": the files that the file LIST names
 *   output   the .kc file to write; it gets its name only when it is complete. NULL: the counts are
 *            in a file without a name in options->tmp_folder, which is gone once they are closed
 *   counts   out: the open counts, which the caller closes with kcount_close; may be NULL if output
 *            is not NULL
 * KCOUNT_EUSAGE, _EINPUT, _EEXIST, _EIO, _ENOMEM, _EDEVICE, _ENODEVICE, _ECANCELED. With device
 * "auto", the CPU counts if no device can be used; kcount_warning of *counts says why, unless there
 * is no device or no plug-in. The CUDA engine is in this plug-in, libkcount-cuda.so.0, beside the
 * library or in the file that the environment variable KCOUNT_CUDA_PLUGIN names.
 */
KCOUNT_API enum kcount_status kcount_count_files(const char *const *paths, size_t npaths,
                                                 const struct kcount_count_options *options,
                                                 const char *output, struct kcount_counts **counts,
                                                 struct kcount_error **error);

/*
 * Count with several k, and read the files only once. Each .kc file is the one that
 * kcount_count_files writes for its k. Either all get their names, or none does.
 *   ks       [nks] 1 to 16 different values of k; options->k is not used
 *   outputs  [nks], or NULL, as for kcount_count_files
 *   counts   out [nks], or NULL, likewise
 * Fails like kcount_count_files.
 */
KCOUNT_API enum kcount_status kcount_count_several(const char *const *paths, size_t npaths,
                                                   const int *ks, size_t nks,
                                                   const struct kcount_count_options *options,
                                                   const char *const *outputs,
                                                   struct kcount_counts **counts,
                                                   struct kcount_error **error);

struct kcount_row {
        uint64_t count;
        uint64_t number; /* of k-mers with this count */
};

/* Make only the histogram of the counts, without keeping the k-mers, which takes less time. Fails
 * like kcount_count_files.
 *   options  min_count and max_count choose rows
 *   rows     out [*nrows] as for kcount_histogram */
KCOUNT_API enum kcount_status kcount_count_histogram(const char *const *paths, size_t npaths,
                                                     const struct kcount_count_options *options,
                                                     struct kcount_row **rows, size_t *nrows,
                                                     struct kcount_error **error);

struct kcount_sequence {
        const char *bases; /* k-mers with letters other than A, C, G, T, U are not counted */
        size_t nbases;
};

/* Gives the next sequences of the input. Threads of the library call it, one at a time, until there
 * are no more sequences or it returns false.
 *   sequences  out [cap]; their letters must stay valid until the next call, or until counting ends
 *   n          out: how many sequences, at most cap; 0: there are no more
 * Return false to give up: counting then fails with KCOUNT_ECANCELED. */
typedef bool kcount_next_sequences(void *ctx, struct kcount_sequence *sequences, size_t cap,
                                   size_t *n);

/* As kcount_count_files, for sequences in memory. KCOUNT_EUSAGE also if options set min_quality,
 * hpc, skip, require_flags or exclude_flags, which are for files. */
KCOUNT_API enum kcount_status kcount_count_sequences(kcount_next_sequences *next, void *ctx,
                                                     const struct kcount_count_options *options,
                                                     const char *output,
                                                     struct kcount_counts **counts,
                                                     struct kcount_error **error);

/* ---- counts ---- */

/* Open a .kc file. The caller closes it with kcount_close. KCOUNT_EDAMAGED, _EIO, _ENOMEM. */
KCOUNT_API enum kcount_status kcount_open(struct kcount_counts **counts, const char *path,
                                          struct kcount_error **error);

/* What the user should know about the counts, or "": the file is damaged, but no k-mers are
 * lost; what was added to it last may be missing; or the CPU has counted because a device or the
 * CUDA engine cannot be used. Valid until kcount_close. */
KCOUNT_API const char *kcount_warning(const struct kcount_counts *counts);

/* Close the file of open counts, for programs that open more files than a process may have open at
 * a time. From now on, each read opens it again, and fails with KCOUNT_EIO if the name leads to
 * another file by then. Not for counts without a name. */
KCOUNT_API void kcount_detach(struct kcount_counts *counts);

/* All cursors and askers of the counts must have been closed before. NULL is fine. */
KCOUNT_API void kcount_close(struct kcount_counts *counts);

struct kcount_info {
        size_t size; /* sizeof(struct kcount_info), set by the caller */
        int k;
        bool stranded, hpc;
        uint64_t ndistinct; /* distinct k-mers */
        uint64_t nunique;   /* k-mers with count 1 */
        uint64_t max_count; /* the largest count */
        uint64_t total;     /* sum of the counts */
        /* What was counted, including the k-mers that were dropped. */
        uint64_t nreads, nbases, nkmers;
        uint64_t ndropped_distinct, ndropped_kmers; /* because of the bounds */
        uint32_t kept_min_count, kept_max_count;    /* the bounds that kept counts are within */
        /* Whether all of this is exact. It is not if k-mers were added to the file or removed from
         * it, and `kcount compact` has not merged them yet. Then ndistinct, nunique and total are
         * upper bounds, and max_count is the largest count before counts are added up. */
        bool exact;
        uint64_t nbytes;     /* of the file */
        uint64_t nruns;      /* sorted runs in it; more than 1 if k-mers were added or removed */
        uint64_t nsaturated; /* k-mers lost because no count can exceed UINT32_MAX */
        bool lacks_dropped;  /* k-mers were dropped because of the bounds */
        bool lacks_others;   /* only given k-mers were counted */
};

KCOUNT_API void kcount_get_info(const struct kcount_counts *counts, struct kcount_info *info);

struct kcount_histogram_options {
        size_t size;               /* sizeof(struct kcount_histogram_options) */
        int nthreads;              /* 0: as many as the process may use */
        kcount_progress *progress; /* NULL: none; its units are parts of the k-mers */
        void *progress_ctx;
};

#define KCOUNT_HISTOGRAM_OPTIONS_INIT \
        { \
                sizeof(struct kcount_histogram_options), 0, NULL, NULL \
        }

/* The histogram: rows by ascending count, without counts that no k-mer has. If info.exact is true,
 * the file contains it; otherwise all k-mers are read.
 *   rows     out [*nrows], which the caller frees with kcount_free
 * KCOUNT_EUSAGE, _EDAMAGED, _EIO, _ENOMEM, _ECANCELED. */
KCOUNT_API enum kcount_status kcount_histogram(struct kcount_counts *counts,
                                               const struct kcount_histogram_options *options,
                                               struct kcount_row **rows, size_t *nrows,
                                               struct kcount_error **error);

KCOUNT_API void kcount_free(void *memory); /* for outputs that say so; NULL is fine */

/* ---- cursors: k-mers in order ---- */

struct kcount_cursor;

/* Open a cursor, which walks in ascending order over the k-mers from `from` to `to` (both [nwords],
 * both included; NULL: no bound), all in the form that is stored: canonical, unless the counts are
 * stranded. The caller closes it with kcount_cursor_close.
 * KCOUNT_ENOMEM, _EIO, _EDAMAGED. */
KCOUNT_API enum kcount_status kcount_cursor_open(struct kcount_cursor **cursor,
                                                 struct kcount_counts *counts, const uint64_t *from,
                                                 const uint64_t *to, struct kcount_error **error);

/* The next k-mers.
 *   kmers   out [cap * nwords]
 *   counts  out [cap]
 *   n       out: how many: cap, or fewer if the range ends; 0 at its end
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM. After a failure, the cursor can only be closed. */
KCOUNT_API enum kcount_status kcount_cursor_next(struct kcount_cursor *cursor, uint64_t *kmers,
                                                 uint32_t *counts, size_t cap, size_t *n,
                                                 struct kcount_error **error);

KCOUNT_API void kcount_cursor_close(struct kcount_cursor *cursor); /* NULL is fine */

/* Cut the k-mers into about nparts ranges of similar size, for threads that have a cursor each.
 *   bounds  out [*nbounds * nwords], ascending: where each range but the first begins; the
 *           caller frees them with kcount_free
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM. */
KCOUNT_API enum kcount_status kcount_split(struct kcount_counts *counts, size_t nparts,
                                           uint64_t **bounds, size_t *nbounds,
                                           struct kcount_error **error);

/* ---- walks: k-mers in order, with several threads ---- */

/* Convert n k-mers and their counts, and put the result at `to`. Returns the end of the result.
 * Several threads of the library call it at once. */
typedef char *kcount_convert(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n,
                             char *to);

/* Take the results of one or more calls of kcount_convert, which follow each other in data. One
 * thread at a time calls it, in the order of the k-mers. Return false to give up: kcount_walk then
 * fails with KCOUNT_ECANCELED. */
typedef bool kcount_deliver(void *ctx, const char *data, size_t nbytes);

struct kcount_walk_options {
        size_t size;               /* sizeof(struct kcount_walk_options) */
        const uint64_t *from, *to; /* as for kcount_cursor_open; NULL: no bound */
        int nthreads;              /* 0: as many as the process may use */
        kcount_progress *progress; /* NULL: none; its units are k-mers, its stage is "writing" */
        void *progress_ctx;
};

#define KCOUNT_WALK_OPTIONS_INIT \
        { \
                sizeof(struct kcount_walk_options), NULL, NULL, 0, NULL, NULL \
        }

/* Walk over k-mers with several threads, for programs that write them in a format of their own.
 * Each thread converts a part of the k-mers, and delivers the result after those of all earlier
 * parts.
 *   nbytes   the most bytes that a k-mer takes in the result, 1 to 65536
 * KCOUNT_EUSAGE, _EDAMAGED, _EIO, _ENOMEM, _ECANCELED. */
KCOUNT_API enum kcount_status kcount_walk(struct kcount_counts *counts, size_t nbytes,
                                          kcount_convert *convert, kcount_deliver *deliver,
                                          void *ctx, const struct kcount_walk_options *options,
                                          struct kcount_error **error);

/* ---- askers: the counts of given k-mers ---- */

struct kcount_ask_options {
        size_t size;            /* sizeof(struct kcount_ask_options) */
        int nthreads;           /* 0: as many as the process may use */
        uint64_t memory_nbytes; /* bound on memory; 0: half of what is available */
        const char *device;     /* "cpu", "cuda", "cuda:N" or "cuda:N,M,..."; NULL or "auto": cpu */
        kcount_progress *progress; /* NULL: none; its units are k-mers */
        void *progress_ctx;
};

#define KCOUNT_ASK_OPTIONS_INIT \
        { \
                sizeof(struct kcount_ask_options), 0, 0, NULL, NULL, NULL \
        }

struct kcount_asker;

/*
 * Open an asker, which answers any number of queries. It looks up the first k-mers in the .kc file.
 * Once it has been asked for so many that reading the whole file would have been faster, it loads
 * all counts into memory and answers from there. If they do not fit, it reads the file again for
 * each large query. With CUDA devices, for k up to 64, it loads all counts into their memory when
 * it is opened, and answers there, unless a query has only a few k-mers. The caller closes it with
 * kcount_asker_close. The progress callback is called while the asker loads counts, and during all
 * queries except very short ones. After a query was canceled, the asker can still be used.
 * KCOUNT_EUSAGE, _ENOMEM; with devices also _EDEVICE, _ENODEVICE, _EDAMAGED, _EIO, _ECANCELED.
 */
KCOUNT_API enum kcount_status kcount_asker_open(struct kcount_asker **asker,
                                                struct kcount_counts *counts,
                                                const struct kcount_ask_options *options,
                                                struct kcount_error **error);

/* Look up the counts of n k-mers, in any order, canonical or not.
 *   kmers  [n * nwords]
 *   found  out [n]: the counts; 0 for k-mers that are absent
 * KCOUNT_EUSAGE if the unused bits of a k-mer are not zero; _EDAMAGED, _EIO, _ENOMEM, _EDEVICE,
 * _ECANCELED. */
KCOUNT_API enum kcount_status kcount_ask(struct kcount_asker *asker, const uint64_t *kmers,
                                         size_t n, uint32_t *found, struct kcount_error **error);

/*
 * Look up the counts of all k-mers of n sequences: nbases - k + 1 of each, or none if nbases < k.
 * All threads work on them, whether there are many sequences or one long one. The letters are taken
 * as they are: if info.hpc is true, compress homopolymers first.
 *   found  out [all k-mers]: the counts, sequence after sequence; 0 for k-mers that are absent or
 *          contain other letters
 *   valid  out [all k-mers]: whether all k letters are bases; may be NULL
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM, _EDEVICE, _ECANCELED.
 */
KCOUNT_API enum kcount_status kcount_ask_sequences(struct kcount_asker *asker,
                                                   const struct kcount_sequence *sequences,
                                                   size_t n, uint32_t *found, bool *valid,
                                                   struct kcount_error **error);

/* As kcount_ask_sequences, for one sequence of n letters.
 *   found, valid  out [n - k + 1] */
KCOUNT_API enum kcount_status kcount_ask_sequence(struct kcount_asker *asker, const char *bases,
                                                  size_t n, uint32_t *found, bool *valid,
                                                  struct kcount_error **error);

struct kcount_summary {
        size_t size;       /* sizeof(struct kcount_summary), set by the caller */
        uint64_t nkmers;   /* of the sequence, without those with letters that are not bases */
        uint64_t nfound;   /* of these: with a count from min_count to max_count */
        uint64_t total;    /* sum of the counts of all nkmers */
        uint32_t min, max; /* the least and the largest count; 0 if nkmers is 0, as below */
        double first_quartile, median, third_quartile; /* as R and NumPy compute them by default */
};

/* Look up the counts of all k-mers of n sequences, like kcount_ask_sequences, and summarize those
 * of each sequence, as `kcount profile` does. Memory use does not grow with their number or length.
 *   summaries  in: size is set in all of them; out [n]
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM, _EDEVICE, _ECANCELED. */
KCOUNT_API enum kcount_status kcount_ask_summaries(struct kcount_asker *asker,
                                                   const struct kcount_sequence *sequences,
                                                   size_t n, uint32_t min_count, uint32_t max_count,
                                                   struct kcount_summary *summaries,
                                                   struct kcount_error **error);

/* As kcount_ask_summaries, for one sequence of n letters. */
KCOUNT_API enum kcount_status kcount_ask_summary(struct kcount_asker *asker, const char *bases,
                                                 size_t n, uint32_t min_count, uint32_t max_count,
                                                 struct kcount_summary *summary,
                                                 struct kcount_error **error);

/* A block of the sequences of a stream, with their counts. Valid until the callback returns. */
struct kcount_asked {
        uint64_t first; /* the number of its first sequence: 0, 1, ... in the order of the input */
        const struct kcount_sequence *sequences; /* [n] */
        size_t n;
        const uint32_t *found; /* as kcount_ask_sequences stores them */
        const bool *valid;
};

/* Where sequences come from, and what is done with their counts. The callbacks return false to give
 * up: kcount_ask_stream then fails with KCOUNT_ECANCELED. */
struct kcount_stream {
        size_t size; /* sizeof(struct kcount_stream), set by the caller, like all fields */
        void *ctx;
        kcount_next_sequences *next; /* gives the sequences; as for kcount_count_sequences */
        /* Called by all threads at once, for different blocks; NULL: not called. A thread's results
         * may be kept in memory of its own until write has been called for the same block.
         *   thread  0 .. nthreads - 1 of the asker's options */
        bool (*format)(void *ctx, int thread, const struct kcount_asked *asked);
        /* Called by one thread at a time, for one block after the other, in the order of the input.
         *   thread  the one with which format was called */
        bool (*write)(void *ctx, int thread, const struct kcount_asked *asked);
};

/*
 * Look up the counts of all k-mers of a stream of sequences, as `kcount query`, `profile` and
 * `filter` do: threads take blocks of sequences, look them up, and hand them to the callbacks.
 * Memory use does not grow with the input, but a block takes whole sequences, and all that one call
 * of next gives, so long ones are better asked with kcount_ask_sequences. The callbacks may not use
 * the asker.
 * KCOUNT_EUSAGE if a sequence has 2^31 letters or more; _EDAMAGED, _EIO, _ENOMEM, _EDEVICE,
 * _ECANCELED.
 */
KCOUNT_API enum kcount_status kcount_ask_stream(struct kcount_asker *asker,
                                                const struct kcount_stream *stream,
                                                struct kcount_error **error);

KCOUNT_API void kcount_asker_close(struct kcount_asker *asker); /* NULL is fine */

/* ---- set operations ---- */

enum kcount_set {
        KCOUNT_UNION,     /* k-mers of any input */
        KCOUNT_INTERSECT, /* k-mers that all inputs have */
        KCOUNT_SUBTRACT,  /* k-mers of the first input: see the rules */
};

/* The count of a k-mer in the result, computed from its counts in the inputs that have it.
 * KCOUNT_SUBTRACT takes only DIFFERENCE or LEFT; LEFT keeps the k-mers that all others lack. */
enum kcount_rule {
        KCOUNT_RULE_SUM, /* at most UINT32_MAX */
        KCOUNT_RULE_MIN,
        KCOUNT_RULE_MAX,
        KCOUNT_RULE_DIFFERENCE, /* its count in the first input, or 0, minus those in all others;
                                   the k-mer is left out unless the result is above 0 */
        KCOUNT_RULE_LEFT,       /* its count in the first input that has it */
        KCOUNT_RULE_RIGHT,      /* its count in the last input that has it */
};

struct kcount_set_options {
        size_t size; /* sizeof(struct kcount_set_options) */
        enum kcount_set operation;
        enum kcount_rule rule;
        bool replace;              /* replace the output if it exists */
        uint32_t min_count;        /* k-mers with lower counts in the result are dropped */
        uint32_t max_count;        /* those with higher counts are dropped */
        int nthreads;              /* 0: as many as the process may use */
        uint64_t memory_nbytes;    /* bound on memory, >= 256 MiB; 0: half of what is available */
        const char *tmp_folder;    /* for temporary files; NULL: the output's, or the current one */
        kcount_progress *progress; /* NULL: none; its units are parts of the inputs */
        void *progress_ctx;
        kcount_name_guard *guard; /* NULL: none */
        const char *device;       /* "cpu", "cuda" or "cuda:N"; NULL or "auto": cpu */
        uint64_t device_nbytes; /* bound on memory of the device; 0: nine tenths of what is free */
        struct kcount_info *info; /* out: of the result, with size set by the caller; NULL: none */
        struct kcount_set_inside *inside; /* must be NULL, except in the program kcount */
};

#define KCOUNT_SET_OPTIONS_INIT \
        { \
                sizeof(struct kcount_set_options), KCOUNT_UNION, KCOUNT_RULE_SUM, false, 1, \
                        UINT32_MAX, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL \
        }

/*
 * Combine counts: by default, their union with sums. The union of one input is a copy, with what
 * was added to its file merged: use it to save counts that have no name.
 *   inputs   [ninputs], at least 1, all with the same k, strands and hpc; one may be given twice.
 *            They stay open, and other threads may use them meanwhile
 *   output   as for kcount_count_files. It may be the file of an input if options->replace is true:
 *            the open input still has the old counts
 *   counts   out: likewise
 * KCOUNT_EUSAGE, _EDAMAGED, _EEXIST, _EIO, _ENOMEM, _ECANCELED; with a device also _EDEVICE,
 * _ENODEVICE. The CPU and devices make the same file, byte for byte.
 */
KCOUNT_API enum kcount_status kcount_combine(struct kcount_counts *const *inputs, size_t ninputs,
                                             const struct kcount_set_options *options,
                                             const char *output, struct kcount_counts **counts,
                                             struct kcount_error **error);

/* ---- joint histograms ---- */

struct kcount_cell {
        uint64_t count_a, count_b; /* 0: the k-mers are absent there; never both 0 */
        uint64_t number;           /* of k-mers with these counts */
};

struct kcount_joint_options {
        size_t size;               /* sizeof(struct kcount_joint_options) */
        uint32_t max_a, max_b;     /* higher counts are in the cells of max + 1; 0: no limit */
        int nthreads;              /* 0: as many as the process may use */
        kcount_progress *progress; /* NULL: none; its units are parts of the k-mers */
        void *progress_ctx;
};

#define KCOUNT_JOINT_OPTIONS_INIT \
        { \
                sizeof(struct kcount_joint_options), 0, 0, 0, NULL, NULL \
        }

/*
 * The joint histogram: how many k-mers have each pair of counts in a and in b, as `kcount compare`
 * prints it. Without limits, there may be as many cells as k-mers, and a cell takes up to 288 bytes
 * for each thread.
 *   a, b     with the same k, strands and hpc; a and b may be the same
 *   cells    out [*ncells]: those that are not empty, by ascending count_a, then by count_b; the
 *            caller frees them with kcount_free
 * KCOUNT_EUSAGE, _EDAMAGED, _EIO, _ENOMEM, _ECANCELED.
 */
KCOUNT_API enum kcount_status kcount_joint_histogram(struct kcount_counts *a,
                                                     struct kcount_counts *b,
                                                     const struct kcount_joint_options *options,
                                                     struct kcount_cell **cells, size_t *ncells,
                                                     struct kcount_error **error);

/* ---- histograms by GC content ---- */

struct kcount_gc_cell {
        uint32_t gc; /* bases that are G or C, 0 to k */
        uint32_t count;
        uint64_t number; /* of k-mers with these; never 0 */
        uint64_t total;  /* sum of their counts */
};

struct kcount_gc_options {
        size_t size;        /* sizeof(struct kcount_gc_options) */
        uint32_t max_count; /* higher counts are in the cells of max_count + 1; 0: no limit */
        int nthreads;       /* 0: as many as the process may use */
        kcount_progress *progress; /* NULL: none; its units are parts of the k-mers */
        void *progress_ctx;
};

#define KCOUNT_GC_OPTIONS_INIT \
        { \
                sizeof(struct kcount_gc_options), 0, 0, NULL, NULL \
        }

/* How many k-mers have each GC content and count, as `kcount hist --gc` prints it.
 *   cells    out [*ncells]: those that are not empty, by ascending gc, then by count; the caller
 *            frees them with kcount_free
 * KCOUNT_EUSAGE, _EDAMAGED, _EIO, _ENOMEM, _ECANCELED. */
KCOUNT_API enum kcount_status kcount_gc_histogram(struct kcount_counts *counts,
                                                  const struct kcount_gc_options *options,
                                                  struct kcount_gc_cell **cells, size_t *ncells,
                                                  struct kcount_error **error);

/* ---- Arrow ---- */

/* The C data and C stream interfaces, as Arrow's specification defines them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
        const char *format;
        const char *name;
        const char *metadata;
        int64_t flags;
        int64_t n_children;
        struct ArrowSchema **children;
        struct ArrowSchema *dictionary;
        void (*release)(struct ArrowSchema *);
        void *private_data;
};

struct ArrowArray {
        int64_t length;
        int64_t null_count;
        int64_t offset;
        int64_t n_buffers;
        int64_t n_children;
        const void **buffers;
        struct ArrowArray **children;
        struct ArrowArray *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
        int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
        const char *(*get_last_error)(struct ArrowArrayStream *);
        void (*release)(struct ArrowArrayStream *);
        void *private_data;
};

#endif

/*
 * Give the k-mers from `from` to `to` (as for kcount_cursor_open) as an Arrow stream: record
 * batches with the columns kmer (utf8) and count (uint32), without missing values, and with "k" and
 * "canonical" as metadata, as `kcount export --to arrow` writes them.
 *   nrows   of each batch but the last; 0: 32768. If so many k-mers have more than INT32_MAX
 *           letters, as many rows as fit
 *   stream  out: the consumer calls its release. The counts must not be closed before that; batches
 *           and schemas that were taken from it are independent of it
 * The stream's functions return 0, EIO (also for damage) or ENOMEM. One thread at a time may use a
 * stream. KCOUNT_EDAMAGED, _EIO, _ENOMEM.
 */
KCOUNT_API enum kcount_status kcount_arrow_stream(struct kcount_counts *counts,
                                                  const uint64_t *from, const uint64_t *to,
                                                  size_t nrows, struct ArrowArrayStream *stream,
                                                  struct kcount_error **error);

/* ---- exports ---- */

struct kcount_export_options {
        size_t size;               /* sizeof(struct kcount_export_options) */
        const char *format;        /* "tsv", "kff", "kmc", "jellyfish", "fastk" or "arrow" */
        bool replace;              /* replace files that exist */
        const uint64_t *from, *to; /* as for kcount_cursor_open; NULL: no bound */
        uint32_t min_count;        /* k-mers with lower counts are left out */
        uint32_t max_count;        /* those with higher counts are left out */
        int nthreads;              /* threads that read; 0: as many as the process may use */
        kcount_progress *progress; /* NULL: none; its units are k-mers */
        void *progress_ctx;
        kcount_name_guard *guard; /* NULL: none */
        uint32_t count_cap;       /* higher counts are written as this; at least min_count. If
                                     it is 0, min_count must be 0, too */
        const struct kcount_export_inside *inside; /* NULL, except in the program kcount */
};

#define KCOUNT_EXPORT_OPTIONS_INIT \
        { \
                sizeof(struct kcount_export_options), "tsv", false, NULL, NULL, 1, UINT32_MAX, 0, \
                        NULL, NULL, NULL, UINT32_MAX, NULL \
        }

struct kcount_exported {
        size_t size;          /* sizeof(struct kcount_exported), set by the caller */
        uint64_t nkmers;      /* written */
        uint64_t nclipped;    /* of these: with counts above count_limit, written as count_limit */
        uint64_t nbytes;      /* of all files */
        uint32_t count_limit; /* the largest count that the format can hold */
};

/*
 * Write k-mers with their counts in the format of another program, as `kcount export` does
 * (docs/other-programs.md). The files get their names when all are complete. No format can record
 * that homopolymers were compressed.
 *   path      of the file; for "kmc" and "fastk", which have several, the common beginning of their
 *             names. It may include an ending that the format adds
 *   exported  out: what was written; NULL if the caller does not need it
 * KCOUNT_EUSAGE, also if the format cannot hold such k-mers; _EDAMAGED, _EEXIST, _EIO, _ENOMEM,
 * _ECANCELED.
 */
KCOUNT_API enum kcount_status kcount_export(struct kcount_counts *counts, const char *path,
                                            const struct kcount_export_options *options,
                                            struct kcount_exported *exported,
                                            struct kcount_error **error);

#ifdef __cplusplus
}
#endif
#endif
