/*
 * Private to app/library: what the files that implement include/kcount.h share.
 * app/library/inside.h has what other rooms may see of it.
 */
#ifndef APP_LIBRARY_H
#define APP_LIBRARY_H

#include "app/library/inside.h"
#include "base/job.h"
#include "include/kcount.h"
#include "io/histogram.h"
#include "io/store.h"

enum { KCOUNT_NOTICE_NBYTES = sizeof((struct kc_error *)NULL)->message + 32 };

struct kcount_counts {
        struct kc_store *store;
        char notice[KCOUNT_NOTICE_NBYTES]; /* what the user should know about how it was counted */
        struct kc_store_info info;
        int k, nwords;
};

/*
 * Take the options that the caller gives, and check how many threads they ask for.
 *   options      in: the defaults; out: with the fields that both the caller's header and this one
 *                have, [nbytes]
 *   nthreads     one of these fields
 *   given        begins with its size; NULL: the defaults
 *   initializer  the macro, for the message
 * KC_EUSAGE.
 */
enum kc_status kc_library_take_options(void *options, size_t nbytes, const int *nthreads,
                                       const void *given, const char *initializer,
                                       struct kc_error *err);

/* Fill in as much of the caller's struct as it has room for; info->size says how much that is. */
void kc_library_put_info(const struct kc_store_info *stored, struct kcount_info *info);

/* Copy the rows with counts from min_count to max_count, for the caller of the library.
 *   rows  out [*nrows], freed by kcount_free */
enum kc_status kc_library_rows(const struct kc_histogram_row *stored, size_t n, uint32_t min_count,
                               uint32_t max_count, struct kcount_row **rows, size_t *nrows,
                               struct kc_error *err);

/* Check fields that several structs of options have. KC_EUSAGE. */
enum kc_status kc_library_check_bounds(uint32_t min_count, uint32_t max_count,
                                       uint64_t memory_nbytes, struct kc_error *err);

/* Copy n k-mers and reverse the order of their words: kcount.h has the most significant word first,
 * all other code has it last. from and to may be the same array. */
void kc_library_turn_words(const uint64_t *from, int nwords, size_t n, uint64_t *to);

/* kcount_canonical for k-mers in the order of words of all other code. */
void kc_library_canonical(int k, uint64_t *kmers, size_t n);

/* What summaries and streams of sequences have to know of an asker. */
struct kc_library_asking {
        int k, nthreads;
        size_t nkmers;   /* that are asked for at once, at most */
        uint64_t nbytes; /* memory for their counts */
} kc_library_asking(const struct kcount_asker *asker);

struct kc_asking_source;
struct kc_asking_consumer;

/* Ask for blocks (app/library/asking.h), in threads of the library. The asker's progress callback
 * is called meanwhile. Fails like kc_asking_run. */
enum kc_status kc_library_ask_blocks(struct kcount_asker *asker,
                                     const struct kc_asking_source *source,
                                     const struct kc_asking_consumer *consumer,
                                     struct kc_error *err);

/*
 * Some of a cursor's next k-mers: 1 to cap, or 0 at the end.
 *   kmers, counts  out [*n]: valid until the next call; in the order of words of all other code
 */
enum kc_status kc_library_cursor_some(struct kcount_cursor *cursor, size_t cap,
                                      const uint64_t **kmers, const uint32_t **counts, size_t *n,
                                      struct kc_error *err);

/*
 * Report a failure to the caller of a function of kcount.h, which then returns this status.
 *   failure  its status is not KC_OK
 *   error    out: to be freed with kcount_error_free; NULL if the caller does not want it
 * Returns the status of the failure, or KCOUNT_ENOMEM if there is no memory for the object that
 * describes it.
 */
enum kcount_status kc_library_failed(const struct kc_error *failure, struct kcount_error **error);

/* The same with the file that the failure concerns, whether there are remedies for it or not. */
enum kcount_status kc_library_failed_on(const struct kc_error *failure, const char *file,
                                        struct kcount_error **error);

/* Whether the complete outputs may get their names; KC_ECANCELED if the job was canceled, or if the
 * caller's guard, which may be NULL, does not allow it. */
enum kc_status kc_library_may_commit(const struct kc_job *job, kcount_name_guard *guard,
                                     struct kc_error *err);

#endif
