/*
 * The store: one .kc file of sorted runs of (k-mer, count). Byte by byte in docs/format.md.
 */
#ifndef KC_STORE_H
#define KC_STORE_H

#include "base/new_file.h"
#include "kmer/engine.h"
#include "kmer/join.h"
#include "kmer/kmer.h"
#include "kmer/run.h"

/* ---- writing ---- */

struct kc_store_writer;

struct kc_store_options {
        int k;
        bool stranded;
        bool replace;         /* an existing file may be replaced */
        bool careful;         /* what is replaced cannot be made again: the new file is flushed
                               before it takes its place, which is flushed too, and takes over
                               its mode */
        const int *lock;      /* the caller's (kc_store_lock) on the file to replace; NULL: none */
        kc_name_guard *guard; /* see base/new_file.h; may be NULL */
        uint32_t min_count;   /* pairs outside [min_count, max_count] are dropped, and counted */
        uint32_t max_count;   /* 0: no upper bound */
};

/* What is known of the input when counting is over; goes into the footer. */
struct kc_store_origin {
        const char *const *names; /* inputs, in the order given */
        size_t nnames;
        uint64_t nreads, nbases, nskipped, nlow_quality;
        uint64_t nkmers;     /* k-mers counted */
        uint64_t nsaturated; /* see kc_count_totals */
        /* left out before the run came to the writer, which adds what its filter drops */
        uint64_t ndropped_distinct, ndropped_kmers;
};

/*
 * Begin a .kc file, which appears under its name when it is complete (base/new_file.h). A file that
 * it replaces is locked until then.
 * KC_EEXIST if path exists and !replace; KC_EIO, also if another process changes that file.
 */
enum kc_status kc_store_create(struct kc_store_writer **writer, const char *path,
                               const struct kc_store_options *options, struct kc_error *err);

/*
 * Begin a run after those of an existing .kc file. Readers see the old state until
 * kc_store_commit is done. Before anything is appended, damaged footer references are mended, and
 * what a killed append has left after the footer is cut off. The file is locked meanwhile
 * (kc_store_lock).
 *   tombstones   the run's k-mers, all with count 1, are to be removed from the runs before it
 *   k, stranded  out: the file's
 * KC_EUSAGE if the file has as many runs as can be; KC_ECORRUPT; KC_EIO.
 */
enum kc_status kc_store_append(struct kc_store_writer **writer, const char *path, bool tombstones,
                               int *k, bool *stranded, struct kc_error *err);

/*
 * Keep others from changing or replacing a .kc file (kc_store_append locks by itself, and so does
 * kc_store_create), until kc_store_unlock or the end of the process. Readers are not kept out.
 * KC_EIO, also if another process holds the lock.
 *   lock  out: a descriptor
 */
enum kc_status kc_store_lock(int *lock, const char *path, struct kc_error *err);
void kc_store_unlock(int lock); /* a negative one is fine */

/*
 * The run being written, as a sink for an engine. Threads encode their own blocks; blocks are cut
 * every so many k-mers of the whole run, wherever the parts begin, so the file does not depend on
 * the parts.
 */
struct kc_run_sink kc_store_sink(struct kc_store_writer *writer);

/*
 * Complete the run and begin another (a file may hold several; readers merge them).
 * kc_store_commit completes the last one by itself. Fails like it, but leaves the writer, to be
 * aborted.
 */
enum kc_status kc_store_end_run(struct kc_store_writer *writer,
                                const struct kc_store_origin *origin, struct kc_error *err);

/*
 * Write the last run's index and the footer, flush, and give the file its name; or, of an append,
 * switch the file over to the new footer. Fails, and leaves nothing behind, if the identity does
 * not hold: sum of counts + dropped + saturated = nkmers. KC_EIO, also if the file that was
 * appended to has lost its name to another one meanwhile. The writer is freed in any case.
 */
enum kc_status kc_store_commit(struct kc_store_writer *writer, const struct kc_store_origin *origin,
                               struct kc_error *err);

/* Give up the new file, or what was appended; free the writer. NULL is fine. */
void kc_store_abort(struct kc_store_writer *writer);

/* As kc_store_warning, for the file that an append has opened; its references are mended by now. */
const char *kc_store_writer_warning(const struct kc_store_writer *writer);

/* ---- reading ---- */

struct kc_store;

struct kc_store_info {
        uint32_t version;
        int k;
        bool stranded;
        uint32_t nruns;
        uint32_t ntombstone_runs; /* of these */
        uint32_t nlinked_runs;    /* of nruns: those in which misplaced blocks are noticed */
        uint64_t ntombstones;     /* k-mers in them; of counts, they say nothing below */
        uint64_t file_nbytes;
        uint64_t ndistinct; /* k-mers kept; an upper bound when nruns > 1, as are all below */
        uint64_t nunique;   /* of these with count 1; likewise */
        uint64_t max_count; /* largest count in any run; no bound when nruns > 1 */
        uint64_t sum;       /* sum of counts kept */
        uint64_t nkmers, nsaturated;
        uint64_t ndropped_kmers, ndropped_distinct; /* by min_count, max_count */
        uint32_t min_count, max_count_kept;         /* the widest of the runs' bounds */
        uint64_t nreads, nbases, nskipped, nlow_quality;
        const char *const *names; /* of the inputs of all runs of counts; owned by the store */
        size_t nnames;
};

/*
 * Open a .kc file: header, footer and top index are read and checked, nothing else.
 * One kc_store may be used by several threads at once.
 */
enum kc_status kc_store_open(struct kc_store **store, const char *path, struct kc_error *err);
void kc_store_close(struct kc_store *store);
void kc_store_get_info(const struct kc_store *store, struct kc_store_info *info);

/* Whether there is nothing to mend: both footer references are sound, and the file ends with its
 * footer, as it does not after an append that was killed. */
bool kc_store_is_tidy(const struct kc_store *store);

/*
 * What the user should know of an opened file: a footer reference is damaged, and either no data is
 * lost, or what was added last may be missing. One sentence that names the file; owned by the
 * store. NULL: nothing.
 */
const char *kc_store_warning(const struct kc_store *store);

/* KC_ECORRUPT if what was added last may be missing: to change or replace the file would destroy
 * it for good. kc_store_append refuses such a file by itself. */
enum kc_status kc_store_check_writable(const struct kc_store *store, struct kc_error *err);

/*
 * The histogram: pairs (count, number of distinct k-mers), ascending, zero rows left out. Read from
 * the footer; k-mers are decoded, by nthreads threads, only when several runs must be merged.
 *   rows  out, [*nrows], freed by the caller
 */
struct kc_histogram_row {
        uint64_t count, ndistinct;
};
enum kc_status kc_store_histogram(struct kc_store *store, int nthreads,
                                  struct kc_histogram_row **rows, size_t *nrows,
                                  struct kc_error *err);

/*
 * Point queries. A kc_lookup serves one thread (it keeps the pages and the block it read last, so
 * that near k-mers are cheap); many may look into one store.
 * kc_lookup_count: *count of one k-mer in the form the store keeps, summed over the runs; 0 where
 * absent. Touches only the blocks it needs.
 */
struct kc_lookup;
enum kc_status kc_lookup_open(struct kc_lookup **lookup, struct kc_store *store,
                              struct kc_error *err);
enum kc_status kc_lookup_count(struct kc_lookup *lookup, const uint64_t *kmer, uint32_t *count,
                               struct kc_error *err);
void kc_lookup_close(struct kc_lookup *lookup);

/*
 * A walk over all k-mers in [from, to], ascending, runs merged with counts summed. NULL: no bound.
 * A cursor serves one thread; many may walk one store.
 * next: *kmers [*n * nwords] and *counts [*n] are the cursor's, valid until the next call; *n = 0:
 * end.
 */
struct kc_cursor;
enum kc_status kc_cursor_open(struct kc_cursor **cursor, struct kc_store *store,
                              const uint64_t *from, const uint64_t *to, struct kc_error *err);
enum kc_status kc_cursor_next(struct kc_cursor *cursor, const uint64_t **kmers,
                              const uint32_t **counts, size_t *n, struct kc_error *err);
void kc_cursor_close(struct kc_cursor *cursor);

/*
 * Cut the key space into about nparts ranges of like size, for threads that walk it side by side.
 *   bounds  out, [*nbounds * nwords], freed by the caller, ascending, none is 0: part p of the
 *           *nbounds + 1 parts is [bounds[p-1], bounds[p]), the first and the last open to the side
 */
enum kc_status kc_store_split(struct kc_store *store, size_t nparts, uint64_t **bounds,
                              size_t *nbounds, struct kc_error *err);

/*
 * Verify everything: every checksum, the order, the index, the histogram, and the identity
 * sum of counts kept + dropped + saturated = k-mers counted. job may be NULL.
 * KC_EUNTIDY if all of that is right, but the file is not kc_store_is_tidy.
 */
enum kc_status kc_store_check(struct kc_store *store, int nthreads, struct kc_job *job,
                              struct kc_error *err);

/* ---- several files ---- */

enum kc_set_operation {
        KC_SET_UNION,     /* k-mers of any file */
        KC_SET_INTERSECT, /* k-mers that all files have */
        KC_SET_SUBTRACT,  /* k-mers of the first file: see the rules */
};

/* The count of a k-mer, from the counts in those files that have it, in the order of the files. */
enum kc_count_rule {
        KC_RULE_SUM, /* at most UINT32_MAX */
        KC_RULE_MIN,
        KC_RULE_MAX,
        KC_RULE_DIFFERENCE, /* the first file's less those of all others; left out if not above 0 */
        KC_RULE_LEFT,       /* of the first file that has it */
        KC_RULE_RIGHT,      /* of the last one */
};

/*
 * An operation on files. With KC_SET_SUBTRACT the rule is KC_RULE_LEFT (k-mers that no other file
 * has) or KC_RULE_DIFFERENCE. KC_SET_UNION of one file with KC_RULE_SUM is the file, its runs
 * merged.
 */
struct kc_set {
        struct kc_store *const *stores;
        size_t nstores; /* 1 at least */
        enum kc_set_operation operation;
        enum kc_count_rule rule;
};

/* KC_EUSAGE if the files differ in k or strands, are too many, or the rule does not go with the
 * operation. */
enum kc_status kc_set_check(const struct kc_set *set, struct kc_error *err);

/*
 * How a store for the result is to be created: k, strands, and the filter, which is
 * [min_count, max_count] cut down to what the files' own filters have left. Set replace and careful
 * as you like.
 */
struct kc_store_options kc_set_options(const struct kc_set *set, uint32_t min_count,
                                       uint32_t max_count);

/*
 * Give the result to sink, by nthreads threads, in parts of the key space. A run of the engine's
 * kind: the same pairs, whatever the parts.
 *   job     may be NULL; cancel is honoured, done and total count parts
 *   origin  out: what the result comes of, for kc_store_commit. All but the names: the sums over
 *           all files; what the operation left out is counted as dropped
 *   names   out: the origin's, to be freed by the caller (not the strings: they are the stores')
 * KC_ECORRUPT if a file is damaged, also if its counts are not those that its footer tells.
 */
enum kc_status kc_set_run(const struct kc_set *set, int nthreads, struct kc_job *job,
                          const struct kc_run_sink *sink, struct kc_store_origin *origin,
                          const char ***names, struct kc_error *err);

/* About how much memory each thread of kc_set_run takes: the more runs, the more. */
uint64_t kc_set_thread_nbytes(const struct kc_set *set);

/* Pairs in all runs of the files: no more come of them. */
uint64_t kc_set_npairs(const struct kc_set *set);

/* Who does the work in place of kc_set_run's threads. */
struct kc_set_joiner {
        void *ctx;
        /* Give what the source's runs come to to sink, and the totals of it. */
        enum kc_status (*join)(void *ctx, const struct kc_join_source *source,
                               const struct kc_run_sink *sink, struct kc_join_totals *totals,
                               struct kc_error *err);
};

/* As kc_set_run. */
enum kc_status kc_set_run_by(const struct kc_set *set, const struct kc_set_joiner *joiner,
                             const struct kc_run_sink *sink, struct kc_store_origin *origin,
                             const char ***names, struct kc_error *err);

#endif
