/*
 * libkcount: counting the k-mers of sequencing reads, and asking for their counts, from C and C++.
 *
 * k-mers. A base is 2 bits: A=0 C=1 G=2 T=3. A k-mer is the integer that its bases spell, the first
 * base most significant, so the order of integers is alphabetical order. It takes
 * kcount_nwords(k) = ceil(k / 32) 64-bit words, THE MOST SIGNIFICANT WORD FIRST; unused high bits
 * are zero. An array of n k-mers is uint64_t [n * nwords]. The canonical form of a k-mer is the
 * smaller of it and its reverse complement. Unless counts are stranded, they are of canonical
 * k-mers, and functions that take k-mers or sequences find them in either form.
 *
 * Errors. A function that can fail returns an enum kcount_status, and on failure sets *error, if
 * error is not NULL, to an object that the caller frees with kcount_error_free. Outputs are then
 * unchanged, but for arrays of the caller, and what was being written is gone. The library never
 * prints, never ends the process, installs no signal handler, does not touch the locale, and has no
 * state outside its handles.
 *
 * Threads. Different threads may use different handles at once. One struct kcount_counts may be
 * used by several threads at once; a cursor or an asker serves one thread at a time.
 *
 * Options. A struct of options begins with its size, so that programs built with an older header
 * go on working: initialize it with its _INIT macro, then set what should differ.
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
        KCOUNT_ENODEVICE, /* there is no device, no driver, or no CUDA in this build */
        KCOUNT_ECANCELED, /* a progress callback asked for it */
};

struct kcount_error;

KCOUNT_API enum kcount_status kcount_error_status(const struct kcount_error *error);

/* What is wrong, in one line, with the names of files and numbers of records. Valid until
 * kcount_error_free, as all strings below. */
KCOUNT_API const char *kcount_error_message(const struct kcount_error *error);

/* The file that the failure is about, or "". */
KCOUNT_API const char *kcount_error_file(const struct kcount_error *error);

/* What would help, in a sentence, or "". */
KCOUNT_API const char *kcount_error_advice(const struct kcount_error *error);

KCOUNT_API void kcount_error_free(struct kcount_error *error); /* NULL is fine */

/* ---- k-mers as numbers, for k in [1, KCOUNT_MAX_K] ---- */

/* 64-bit words of a k-mer. */
static inline int kcount_nwords(int k)
{
        return (2 * k + 63) / 64;
}

/*
 * Letters to numbers: n k-mers of k letters each, one directly after the other, either case, U read
 * as T.
 *   kmers  out [n * nwords]
 * Returns how many are k-mers; if fewer than n, the next one has a letter that is no base.
 */
KCOUNT_API size_t kcount_encode(int k, const char *letters, size_t n, uint64_t *kmers);

/* Numbers to upper-case letters; no terminating NUL.
 *   letters  out [n * k] */
KCOUNT_API void kcount_decode(int k, const uint64_t *kmers, size_t n, char *letters);

/* Replace n k-mers by their canonical forms, or by their reverse complements. */
KCOUNT_API void kcount_canonical(int k, uint64_t *kmers, size_t n);
KCOUNT_API void kcount_reverse_complement(int k, uint64_t *kmers, size_t n);

/* ---- progress ---- */

/*
 * Called at once, and then about ten times a second while a function works, by the thread that
 * called it.
 *   stage  "reading", "counting", "writing"
 *   done   of the stage's own units, such as bytes; it may start again
 *   total  0 if it is unknown
 * Returns false to cancel, and is not called again: the function then fails with KCOUNT_ECANCELED
 * within 0.2 s or so, unless its output is just getting its name, or it waits for an input.
 */
typedef bool kcount_progress(void *ctx, const char *stage, uint64_t done, uint64_t total);

/* ---- counting ---- */

struct kcount_counts; /* k-mers with their counts: an open .kc file, or one without a name */

struct kcount_count_options {
        size_t size;            /* sizeof(struct kcount_count_options) */
        int k;                  /* 1 .. KCOUNT_MAX_K */
        bool stranded;          /* count k-mers as they are read, not in canonical form */
        bool hpc;               /* count each run of equal bases as one base */
        bool replace;           /* an existing output may be replaced */
        bool accept_empty;      /* inputs of 0 bytes are no errors */
        uint32_t min_count;     /* k-mers with lower counts are dropped */
        uint32_t max_count;     /* those with higher counts, too */
        int min_quality;        /* k-mers with a base of lower Phred quality are not counted */
        int nthreads;           /* 0: as many as the process may use */
        uint64_t memory_nbytes; /* bound on memory; 0: half of what is available */
        const char *tmp_folder; /* to spill to; NULL: that of the output, or the current folder */
        const char *device;     /* "auto", "cpu", "cuda", "cuda:N" or "cuda:N,M,..."; NULL: auto */
        kcount_progress *progress; /* NULL: none */
        void *progress_ctx;
};

#define KCOUNT_COUNT_OPTIONS_INIT \
        { \
                sizeof(struct kcount_count_options), 31, false, false, false, false, 1, \
                        UINT32_MAX, 0, 0, 0, NULL, NULL, NULL, NULL \
        }

/*
 * Count the k-mers of files of reads: FASTQ, FASTA, SAM, BAM or CRAM, plain or compressed.
 *   paths    [npaths] files, "-" for standard input, or "@LIST"
 *   options  NULL: the defaults
 *   output   the .kc file to write; it gets its name only when it is complete. NULL: the counts get
 *            no name, take space in options->tmp_folder, and are gone when they are closed
 *   counts   out: the counts, open, to be closed with kcount_close; may be NULL if there is an
 *            output
 * KCOUNT_EUSAGE, _EINPUT, _EEXIST, _EIO, _ENOMEM, _EDEVICE, _ENODEVICE, _ECANCELED. With device
 * "auto", the CPU counts if no device can be used.
 */
KCOUNT_API enum kcount_status kcount_count_files(const char *const *paths, size_t npaths,
                                                 const struct kcount_count_options *options,
                                                 const char *output, struct kcount_counts **counts,
                                                 struct kcount_error **error);

struct kcount_sequence {
        const char *bases; /* letters; k-mers with others than A, C, G, T, U are not counted */
        size_t nbases;
};

/*
 * Gives the next sequences of the input; called by threads of the library, one at a time, until
 * there are no more or it returns false.
 *   sequences  out [cap]; their letters must stay valid until the next call, or the end of counting
 *   n          out: how many, at most cap; 0: there are no more
 * Returns false to give up: counting then fails with KCOUNT_ECANCELED.
 */
typedef bool kcount_next_sequences(void *ctx, struct kcount_sequence *sequences, size_t cap,
                                   size_t *n);

/* The same for sequences from memory. They have no qualities, and hpc does not apply: KCOUNT_EUSAGE
 * if options ask for either. */
KCOUNT_API enum kcount_status kcount_count_sequences(kcount_next_sequences *next, void *ctx,
                                                     const struct kcount_count_options *options,
                                                     const char *output,
                                                     struct kcount_counts **counts,
                                                     struct kcount_error **error);

/* ---- counts ---- */

/* Open a .kc file. KCOUNT_EDAMAGED, _EIO, _ENOMEM. */
KCOUNT_API enum kcount_status kcount_open(struct kcount_counts **counts, const char *path,
                                          struct kcount_error **error);

/* After all cursors and askers of the counts have been closed. NULL is fine. */
KCOUNT_API void kcount_close(struct kcount_counts *counts);

struct kcount_info {
        size_t size; /* sizeof(struct kcount_info), set by the caller */
        int k;
        bool stranded, hpc;
        uint64_t ndistinct; /* k-mers */
        uint64_t nunique;   /* those with count 1 */
        uint64_t max_count; /* the largest count */
        uint64_t total;     /* sum of the counts */
        /* What was counted, whether or not it was kept. */
        uint64_t nreads, nbases, nkmers;
        uint64_t ndropped_distinct, ndropped_kmers; /* by min_count and max_count */
        uint32_t min_count, max_count_kept;         /* these bounds */
        /* All of this is exact. False if k-mers were added to the file, or removed from it, and not
         * yet merged with the others (`kcount compact`): then ndistinct, nunique and total are
         * upper bounds, and max_count is the largest of the counts that will be added up. */
        bool exact;
};

KCOUNT_API void kcount_get_info(const struct kcount_counts *counts, struct kcount_info *info);

struct kcount_row {
        uint64_t count;
        uint64_t number; /* of k-mers that have it */
};

/*
 * The histogram: rows by ascending count, without those of no k-mers.
 *   nthreads  that count, if the file's info is not exact; otherwise the histogram is in the file.
 *             0: as many as the process may use
 *   rows      out [*nrows], to be freed with kcount_free
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM.
 */
KCOUNT_API enum kcount_status kcount_histogram(struct kcount_counts *counts, int nthreads,
                                               struct kcount_row **rows, size_t *nrows,
                                               struct kcount_error **error);

KCOUNT_API void kcount_free(void *memory); /* what a function above says so of; NULL is fine */

/* ---- cursors: k-mers in order ---- */

struct kcount_cursor;

/*
 * A walk over the k-mers from `from` to `to` (both [nwords], both included; NULL: no bound), in
 * ascending order. Ranges are of k-mers as they are kept, mostly canonical.
 * KCOUNT_ENOMEM, _EIO, _EDAMAGED.
 */
KCOUNT_API enum kcount_status kcount_cursor_open(struct kcount_cursor **cursor,
                                                 struct kcount_counts *counts, const uint64_t *from,
                                                 const uint64_t *to, struct kcount_error **error);

/*
 * The next k-mers.
 *   kmers   out [cap * nwords]
 *   counts  out [cap]
 *   n       out: how many, cap unless the range ends; 0 at its end
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM: then the cursor can only be closed.
 */
KCOUNT_API enum kcount_status kcount_cursor_next(struct kcount_cursor *cursor, uint64_t *kmers,
                                                 uint32_t *counts, size_t cap, size_t *n,
                                                 struct kcount_error **error);

KCOUNT_API void kcount_cursor_close(struct kcount_cursor *cursor); /* NULL is fine */

/*
 * Cut the k-mers into about nparts ranges of similar size, for threads with a cursor each.
 *   bounds  out [*nbounds * nwords], to be freed with kcount_free, ascending: the k-mers with which
 *           all ranges but the first begin
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM.
 */
KCOUNT_API enum kcount_status kcount_split(struct kcount_counts *counts, size_t nparts,
                                           uint64_t **bounds, size_t *nbounds,
                                           struct kcount_error **error);

/* ---- asking: the counts of given k-mers ---- */

struct kcount_ask_options {
        size_t size;            /* sizeof(struct kcount_ask_options) */
        int nthreads;           /* 0: as many as the process may use */
        uint64_t memory_nbytes; /* bound on memory; 0: half of what is available */
};

#define KCOUNT_ASK_OPTIONS_INIT \
        { \
                sizeof(struct kcount_ask_options), 0, 0 \
        }

struct kcount_asker;

/*
 * An asker for many questions. It looks the first k-mers up in the .kc file. When they have become
 * so many that reading all counts is faster, it loads them into memory, and answers from there; if
 * they do not fit, it reads the file again for each large question.
 *   options  NULL: the defaults
 * KCOUNT_ENOMEM.
 */
KCOUNT_API enum kcount_status kcount_asker_open(struct kcount_asker **asker,
                                                struct kcount_counts *counts,
                                                const struct kcount_ask_options *options,
                                                struct kcount_error **error);

/*
 * The counts of n k-mers, in any order, each canonical or not; 0 if absent.
 *   kmers  [n * nwords]
 *   found  out [n]
 * KCOUNT_EUSAGE if unused bits of one are not zero; _EDAMAGED, _EIO, _ENOMEM.
 */
KCOUNT_API enum kcount_status kcount_ask(struct kcount_asker *asker, const uint64_t *kmers,
                                         size_t n, uint32_t *found, struct kcount_error **error);

/*
 * The counts of all k-mers of a sequence of n letters, n - k + 1 if n >= k; 0 if absent, or if one
 * of the letters is no base.
 *   found  out [n - k + 1]
 *   valid  out [n - k + 1]: whether all k letters are bases; may be NULL
 * KCOUNT_EDAMAGED, _EIO, _ENOMEM.
 */
KCOUNT_API enum kcount_status kcount_ask_sequence(struct kcount_asker *asker, const char *bases,
                                                  size_t n, uint32_t *found, bool *valid,
                                                  struct kcount_error **error);

KCOUNT_API void kcount_asker_close(struct kcount_asker *asker); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
