/*
 * The store: one .kc file of sorted runs of (k-mer, count). docs/dev/kc-file.md describes it byte
 * by byte.
 */
#ifndef KC_STORE_H
#define KC_STORE_H

#include "base/new_file.h"
#include "io/histogram.h"
#include "kmer/ask_table.h"
#include "kmer/engine.h"
#include "kmer/join.h"
#include "kmer/kmer.h"
#include "kmer/run.h"

/* ---- writing ---- */

struct kc_store_writer;
struct kc_store_written; /* defined after kc_store_info */

/* What a filter bound alone does not say: counts were added up that had been filtered with
 * different bounds. */
enum kc_mixed {
        KC_MIXED_MIN = 1, /* the lower bound of some inputs was higher */
        KC_MIXED_MAX = 2, /* some inputs had an upper bound, and it was lower */
};

struct kc_store_options {
        int k;
        bool stranded;
        bool hpc; /* each run of equal bases of the reads counted as one base */
        /* Checksum of the set of k-mers, if no others were counted; 0: all were. */
        uint64_t only_checksum;
        bool replace;         /* an existing file may be replaced */
        bool careful;         /* the file replaced cannot be recreated: flush the new file before it
                                 takes the name, and flush the name */
        const int *lock;      /* the caller's kc_store_lock on the file to replace, or NULL */
        kc_name_guard *guard; /* see base/new_file.h; may be NULL */
        uint32_t min_count;   /* the sink's filter: k-mers with lower counts are dropped */
        uint32_t max_count;   /* those with higher counts, too; 0: no upper bound */
        uint32_t mixed;       /* of enum kc_mixed: about the filters of the inputs */
        bool wants_rows;      /* the caller wants kc_store_written to have the histogram */
        /* The folder of a file that will get no name (kc_store_commit_nameless); must outlive the
         * writer. A failed write is reported in the way of kc_temp_file_write. NULL: the file gets
         * its name, which messages use. */
        const char *tmp_folder;
};

#define KC_STORE_ANY_NKMERS UINT64_MAX /* unknown: however many are kept and dropped */

/* What is known about the input after counting; goes into the footer. */
struct kc_store_origin {
        const char *const *names; /* inputs, in the order given */
        size_t nnames;
        uint64_t nreads, nbases, nskipped, nlow_quality;
        uint64_t nkmers;     /* k-mers counted; KC_STORE_ANY_NKMERS */
        uint64_t nsaturated; /* see kc_count_totals */
        /* left out before the filter; the writer adds what the filter dropped */
        uint64_t ndropped_distinct, ndropped_kmers;
};

/*
 * Begin a .kc file, which gets its name only when it is complete (base/new_file.h). A file that it
 * replaces is locked until then. The caller passes *writer to kc_store_commit or kc_store_abort,
 * which free it.
 * KC_EUSAGE if k or the filter is out of range; KC_EEXIST if path exists and !replace; KC_EIO, also
 * if another process is changing that file; KC_ENOMEM.
 */
enum kc_status kc_store_create(struct kc_store_writer **writer, const char *path,
                               const struct kc_store_options *options, struct kc_error *err);

/*
 * Begin a run after those of an existing .kc file. Readers see the old state until kc_store_commit
 * has finished. Before anything is appended, damaged footer references are repaired, and whatever a
 * killed append left after the footer is cut off. The file stays locked (kc_store_lock) until the
 * writer is freed.
 *   tombstones   the run's k-mers, all with count 1, are removed from the runs before it
 *   k, stranded  out: the file's
 * KC_EUSAGE if the file cannot hold more runs; KC_ECORRUPT; KC_EIO; KC_ENOMEM.
 */
enum kc_status kc_store_append(struct kc_store_writer **writer, const char *path, bool tombstones,
                               int *k, bool *stranded, struct kc_error *err);

/*
 * Keep other processes from changing or replacing a .kc file until kc_store_unlock or the end of
 * this process. Readers are not affected. kc_store_append and kc_store_create lock by themselves.
 * KC_EIO, also if another process holds the lock; KC_ECORRUPT if path is not a regular file.
 *   lock  out: a descriptor
 */
enum kc_status kc_store_lock(int *lock, const char *path, struct kc_error *err);
void kc_store_unlock(int lock); /* a negative one is fine */

/* Set whether the k-mers of a new file are stranded, if that was unknown when it was created. To be
 * called before it is committed. */
void kc_store_set_stranded(struct kc_store_writer *writer, bool stranded);

/* Whether the file, new or appended to, is of homopolymer-compressed reads. */
bool kc_store_writes_hpc(const struct kc_store_writer *writer);

/* The checksum of the set of k-mers, as in struct kc_store_options. */
uint64_t kc_store_writer_only_checksum(const struct kc_store_writer *writer);

/*
 * The run being written, as a sink for an engine. Threads encode their own blocks; blocks are cut
 * by rank in the whole run, wherever the parts begin, so the file does not depend on the parts.
 */
struct kc_run_sink kc_store_sink(struct kc_store_writer *writer);

/*
 * Complete the run and begin another (a file may hold several; readers merge them). kc_store_commit
 * completes the last one by itself. Fails for the same reasons, and with KC_EUSAGE if the file
 * cannot hold more runs; the caller must then abort the writer.
 */
enum kc_status kc_store_end_run(struct kc_store_writer *writer,
                                const struct kc_store_origin *origin, struct kc_error *err);

/*
 * Write the last run's index and the footer, and give the file its name; or, for an append, flush
 * and switch the file over to the new footer. KC_ECORRUPT, and nothing is left behind, if the
 * identity does not hold: sum of counts + dropped + saturated = nkmers. KC_EIO, also if another
 * file has meanwhile taken the name of the one appended to; KC_ENOMEM. The writer is always freed.
 *   written  out: what the file holds now; not set on failure. NULL if the caller does not need it
 */
enum kc_status kc_store_commit(struct kc_store_writer *writer, const struct kc_store_origin *origin,
                               struct kc_store_written *written, struct kc_error *err);

/*
 * The same for n new files: either all get their names, or none does and nothing is left behind
 * (kc_new_files_commit). All writers are freed.
 *   origins, written  [n]
 */
enum kc_status kc_stores_commit(struct kc_store_writer *const *writers, size_t n,
                                const struct kc_store_origin *origins,
                                struct kc_store_written *written, struct kc_error *err);

/*
 * Complete a new file that only this process needs, and open it. It gets no name, and is gone when
 * the store is closed, however the process ends; it cannot be detached. Otherwise as
 * kc_store_commit.
 */
struct kc_store;
enum kc_status kc_store_commit_nameless(struct kc_store_writer *writer,
                                        const struct kc_store_origin *origin,
                                        struct kc_store **store, struct kc_store_written *written,
                                        struct kc_error *err);

/* Discard the new file, or what was appended, and free the writer. NULL is fine. */
void kc_store_abort(struct kc_store_writer *writer);

/* As kc_store_warning, for the file that an append has opened; its references are repaired by now.
 * Owned by the writer. */
const struct kc_error *kc_store_writer_warning(const struct kc_store_writer *writer);

/* ---- reading ---- */

struct kc_store_info {
        uint32_t version;
        int k;
        bool stranded, hpc;     /* as in struct kc_store_options */
        uint64_t only_checksum; /* likewise */
        uint32_t nruns;
        uint32_t ntombstone_runs; /* of these */
        uint32_t nlinked_runs;    /* of nruns: those in which misplaced blocks are detected */
        uint64_t ntombstones;     /* k-mers in them; the counts below exclude them */
        uint64_t file_nbytes;
        uint64_t ndistinct; /* k-mers kept; an upper bound when nruns > 1, as are all below */
        uint64_t nunique;   /* those with count 1; likewise */
        uint64_t max_count; /* largest count in any run; not a bound when nruns > 1 */
        uint64_t sum;       /* sum of counts kept */
        uint64_t nkmers, nsaturated;
        uint64_t ndropped_kmers, ndropped_distinct; /* by min_count, max_count */
        uint32_t min_count, max_count_kept;         /* the runs' loosest filter bounds */
        uint32_t mixed;                             /* of enum kc_mixed, combined with | */
        uint64_t nreads, nbases, nskipped, nlow_quality;
        const char *const *names; /* of the inputs of all runs of counts; owned by the store */
        size_t nnames;
};

/* What kc_store_commit has written. */
struct kc_store_written {
        struct kc_store_info info; /* as of the file once it is opened again, but without names */
        uint64_t nunique;          /* k-mers with count 1 in the last run, including those that the
                                      filter dropped */
        /* The histogram of the last run, [nrows] by ascending count, freed by the caller; NULL
         * unless the writer's options ask for it. */
        struct kc_histogram_row *rows;
        size_t nrows;
};

/* Whether path is a regular file that can be read and begins like a .kc file. */
bool kc_store_recognizes(const char *path);

/*
 * Open a .kc file, to be freed with kc_store_close (NULL is fine there): header, footer and top
 * index are read and checked, nothing else. KC_ECORRUPT, also for a file of another kind; KC_EIO;
 * KC_ENOMEM.
 * One kc_store may be used by several threads at once.
 */
enum kc_status kc_store_open(struct kc_store **store, const char *path, struct kc_error *err);
void kc_store_close(struct kc_store *store);

/*
 * As kc_store_open, for a file that is open already. It is closed with the store, or on failure.
 *   path  for messages
 */
enum kc_status kc_store_open_file(struct kc_store **store, const char *path, int fd,
                                  struct kc_error *err);

/* Read nbytes of the file at offset; KC_ECORRUPT if there are fewer, KC_EIO. From any thread. */
enum kc_status kc_store_pread(const struct kc_store *store, void *to, size_t nbytes,
                              uint64_t offset, struct kc_error *err);

/*
 * Close the file of an open store, for callers that open more files than a process may have open
 * at a time. From now on, each read opens it, and closes it again; a read fails with KC_EIO if the
 * name then leads to another file. kc_store_check needs a store that is not detached.
 */
void kc_store_detach(struct kc_store *store);

void kc_store_get_info(const struct kc_store *store, struct kc_store_info *info);

/* Whether nothing needs repair: both footer references are sound, and the file ends with its footer
 * (after a killed append it does not). */
bool kc_store_is_tidy(const struct kc_store *store);

/*
 * What the user should know about an opened file: a footer reference is damaged, and either no data
 * is lost (KC_EUNTIDY), or what was added last may be missing (KC_ECORRUPT). Owned by the store;
 * NULL if there is nothing to say.
 */
const struct kc_error *kc_store_warning(const struct kc_store *store);

/* KC_ECORRUPT if what was added last may be missing: changing or replacing the file would destroy
 * it for good. kc_store_append refuses such a file by itself. */
enum kc_status kc_store_check_writable(const struct kc_store *store, struct kc_error *err);

/*
 * The histogram: pairs (count, number of distinct k-mers) by ascending count, without zero rows.
 * Read from the footer; k-mers are decoded, by nthreads threads, only if several runs must be
 * merged. KC_ECORRUPT, KC_EIO, KC_ENOMEM, KC_ECANCELED.
 *   job   may be NULL; done and total count parts
 *   rows  out, [*nrows], freed by the caller
 */
enum kc_status kc_store_histogram(struct kc_store *store, int nthreads, struct kc_job *job,
                                  struct kc_histogram_row **rows, size_t *nrows,
                                  struct kc_error *err);

/*
 * Point queries. A kc_lookup serves one thread (it keeps the pages and the block it read last, so
 * that lookups of nearby k-mers are cheap); a store may have many. Close it before the store; NULL
 * is fine.
 * kc_lookup_count: *count of one k-mer in the form the store keeps (canonical unless stranded),
 * summed over the runs; 0 if absent. Reads only the blocks it needs, but k-mers in random order
 * need one each.
 * kc_lookup_counts: the same for n k-mers, in any order; it reads each block once.
 * KC_ECORRUPT, KC_EIO, KC_ENOMEM.
 */
struct kc_lookup;
enum kc_status kc_lookup_open(struct kc_lookup **lookup, struct kc_store *store,
                              struct kc_error *err);
enum kc_status kc_lookup_count(struct kc_lookup *lookup, const uint64_t *kmer, uint32_t *count,
                               struct kc_error *err);
enum kc_status kc_lookup_counts(struct kc_lookup *lookup, const uint64_t *kmers, size_t n,
                                uint32_t *counts, struct kc_error *err);
void kc_lookup_close(struct kc_lookup *lookup);

/* How many k-mers at most are faster to look up than to find by reading the whole file. */
uint64_t kc_lookup_few(const struct kc_store_info *info);

/*
 * A walk over all k-mers in [from, to], ascending, runs merged with counts summed. NULL: no bound.
 * A cursor serves one thread; a store may have many. It must be closed before the store.
 * KC_ECORRUPT, KC_EIO, KC_ENOMEM. kc_cursor_close: NULL is fine.
 * next: *kmers [*n * nwords] and *counts [*n] are owned by the cursor and valid until the next
 * call; *n = 0 at the end.
 */
struct kc_cursor;
enum kc_status kc_cursor_open(struct kc_cursor **cursor, struct kc_store *store,
                              const uint64_t *from, const uint64_t *to, struct kc_error *err);
/* Begin again, in another range. */
enum kc_status kc_cursor_move(struct kc_cursor *cursor, const uint64_t *from, const uint64_t *to,
                              struct kc_error *err);
enum kc_status kc_cursor_next(struct kc_cursor *cursor, const uint64_t **kmers,
                              const uint32_t **counts, size_t *n, struct kc_error *err);
void kc_cursor_close(struct kc_cursor *cursor);

/*
 * Cut the key space, or the part of it in [from, to], into about nparts ranges of similar size, for
 * threads that walk it in parallel; a small part of it into fewer. NULL: no bound. KC_ECORRUPT,
 * KC_EIO, KC_ENOMEM.
 *   bounds  out, [*nbounds * nwords], freed by the caller, ascending, above from (or 0), at most
 *           to: part p of the *nbounds + 1 parts is [bounds[p-1], bounds[p]); the first begins at
 *           from, the last ends with to
 */
enum kc_status kc_store_split(struct kc_store *store, const uint64_t *from, const uint64_t *to,
                              size_t nparts, uint64_t **bounds, size_t *nbounds,
                              struct kc_error *err);

/* The store, which must outlive it, as the table of an asker. */
struct kc_ask_table kc_store_ask_table(struct kc_store *store);

/*
 * Verify everything: every checksum, the order, the index, the histogram, and the identity
 * sum of counts kept + dropped + saturated = k-mers counted. job may be NULL.
 * KC_EUNTIDY if all of that is right but !kc_store_is_tidy; KC_ECORRUPT; KC_EIO; KC_ENOMEM;
 * KC_ECANCELED.
 */
enum kc_status kc_store_check(struct kc_store *store, int nthreads, struct kc_job *job,
                              struct kc_error *err);

/* Whether kc_store_check, if it returned KC_OK, found that another process was appending to the
 * file. What was checked is the file's state when it was opened. */
bool kc_store_is_changing(const struct kc_store *store);

/* ---- several files ---- */

enum kc_set_operation {
        KC_SET_UNION,     /* k-mers of any file */
        KC_SET_INTERSECT, /* k-mers that all files have */
        KC_SET_SUBTRACT,  /* k-mers of the first file: see the rules */
};

/* How the counts of the files that have a k-mer, in the order of the files, make one count. */
enum kc_count_rule {
        KC_RULE_SUM, /* at most UINT32_MAX */
        KC_RULE_MIN,
        KC_RULE_MAX,
        KC_RULE_DIFFERENCE, /* the first file's minus those of all others; the k-mer is dropped if
                               not above 0 */
        KC_RULE_LEFT,       /* that of the first file that has it */
        KC_RULE_RIGHT,      /* that of the last file that has it */
};

/*
 * An operation on files. With KC_SET_SUBTRACT the rule is KC_RULE_LEFT (k-mers that no other file
 * has) or KC_RULE_DIFFERENCE. KC_SET_UNION of one file with KC_RULE_SUM merges that file's runs.
 */
struct kc_set {
        struct kc_store *const *stores;
        size_t nstores; /* at least 1 */
        enum kc_set_operation operation;
        enum kc_count_rule rule;
};

/* KC_EUSAGE if the files differ in k or strands, are too many, or the rule does not fit the
 * operation. */
enum kc_status kc_set_check(const struct kc_set *set, struct kc_error *err);

/*
 * Options to create a store for the result: k, strands, and the filter, which is [min_count,
 * max_count] narrowed to what the files' own filters have left. The caller may set replace and
 * careful.
 */
struct kc_store_options kc_set_options(const struct kc_set *set, uint32_t min_count,
                                       uint32_t max_count);

/*
 * Pass the result to sink, by nthreads threads, in parts of the key space: a run like an engine's,
 * the same pairs whatever the parts.
 *   job     may be NULL; cancel is honoured, done and total count parts
 *   origin  out: for kc_store_commit. The inputs' names, and otherwise sums over all files; what
 *           the operation left out counts as dropped
 *   names   out: the origin's array, freed by the caller; the strings belong to the stores
 * KC_ECORRUPT if a file is damaged, or its counts do not match its footer; KC_EUSAGE as
 * kc_set_check; KC_EIO; KC_ENOMEM; KC_ECANCELED; or the sink's error.
 */
enum kc_status kc_set_run(const struct kc_set *set, int nthreads, struct kc_job *job,
                          const struct kc_run_sink *sink, struct kc_store_origin *origin,
                          const char ***names, struct kc_error *err);

/* About how many bytes each thread of kc_set_run takes; grows with the number of runs. */
uint64_t kc_set_thread_nbytes(const struct kc_set *set);

/* Pairs in all runs of the files: the most that the result can have. */
uint64_t kc_set_npairs(const struct kc_set *set);

/* Does the work in place of kc_set_run's threads. */
struct kc_set_joiner {
        void *ctx;
        /* Join the source's runs, pass the result to sink, and return its totals. */
        enum kc_status (*join)(void *ctx, const struct kc_join_source *source,
                               const struct kc_run_sink *sink, struct kc_join_totals *totals,
                               struct kc_error *err);
};

/* As kc_set_run, with the work done by joiner. */
enum kc_status kc_set_run_by(const struct kc_set *set, const struct kc_set_joiner *joiner,
                             const struct kc_run_sink *sink, struct kc_store_origin *origin,
                             const char ***names, struct kc_error *err);

#endif
