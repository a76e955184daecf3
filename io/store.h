/*
 * The store: one .kc file of sorted runs of (k-mer, count). Byte by byte in docs/format.md.
 */
#ifndef KC_STORE_H
#define KC_STORE_H

#include "kmer/engine.h"
#include "kmer/kmer.h"
#include "kmer/run.h"

/* ---- writing ---- */

struct kc_store_writer;

struct kc_store_options {
        int k;
        bool stranded;
        bool replace;       /* an existing file may be replaced */
        uint32_t min_count; /* pairs outside [min_count, max_count] are dropped, and counted */
        uint32_t max_count; /* 0: no upper bound */
};

/* What is known of the input when counting is over; goes into the footer. */
struct kc_store_origin {
        const char *const *names; /* inputs, in the order given */
        size_t nnames;
        uint64_t nreads, nbases, nskipped, nlow_quality;
        uint64_t nkmers;     /* k-mers counted */
        uint64_t nsaturated; /* see kc_count_totals */
};

/*
 * Begin a .kc file under a temporary name beside path.
 * KC_EEXIST if path exists and !replace; KC_EIO.
 */
enum kc_status kc_store_create(struct kc_store_writer **writer, const char *path,
                               const struct kc_store_options *options, struct kc_error *err);

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
 * Write the last run's index and the footer, flush, and give the file its name. Fails, and leaves
 * nothing behind, if the identity does not hold: sum of counts + dropped + saturated = nkmers. The
 * writer is freed in any case.
 */
enum kc_status kc_store_commit(struct kc_store_writer *writer, const struct kc_store_origin *origin,
                               struct kc_error *err);

/* Give up: remove the temporary file, free the writer. NULL is fine. */
void kc_store_abort(struct kc_store_writer *writer);

/*
 * The temporary file's name, for a signal handler of last resort; owned by the writer.
 */
const char *kc_store_temporary(const struct kc_store_writer *writer);

/* ---- reading ---- */

struct kc_store;

struct kc_store_info {
        uint32_t version;
        int k;
        bool stranded;
        uint32_t nruns;
        uint64_t file_nbytes;
        uint64_t ndistinct; /* k-mers kept; an upper bound when nruns > 1 */
        uint64_t nunique;   /* of these with count 1; likewise */
        uint64_t max_count; /* largest count in any run; a lower bound when nruns > 1 */
        uint64_t sum;       /* sum of counts kept */
        uint64_t nkmers, nsaturated;
        uint64_t ndropped_kmers, ndropped_distinct; /* by min_count, max_count */
        uint32_t min_count, max_count_kept;
        uint64_t nreads, nbases, nskipped, nlow_quality;
        const char *const *names; /* owned by the store */
        size_t nnames;
};

/*
 * Open a .kc file: header, footer and top index are read and checked, nothing else.
 * One kc_store may be used by several threads at once.
 */
enum kc_status kc_store_open(struct kc_store **store, const char *path, struct kc_error *err);
void kc_store_close(struct kc_store *store);
void kc_store_get_info(const struct kc_store *store, struct kc_store_info *info);

/*
 * The histogram: pairs (count, number of distinct k-mers), ascending, zero rows left out. Read from
 * the footer; k-mers are decoded only when several runs must be merged. rows  out, [*nrows], freed
 * by the caller
 */
struct kc_histogram_row {
        uint64_t count, ndistinct;
};
enum kc_status kc_store_histogram(struct kc_store *store, struct kc_histogram_row **rows,
                                  size_t *nrows, struct kc_error *err);

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
 */
enum kc_status kc_store_check(struct kc_store *store, int nthreads, struct kc_job *job,
                              struct kc_error *err);

#endif
