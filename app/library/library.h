/*
 * Private to app/library: what the files that implement include/kcount.h share.
 */
#ifndef APP_LIBRARY_H
#define APP_LIBRARY_H

#include "include/kcount.h"
#include "io/store.h"

enum { KCOUNT_NOTICE_NBYTES = sizeof((struct kc_error *)NULL)->message + 32 };

struct kcount_counts {
        struct kc_store *store;
        char notice[KCOUNT_NOTICE_NBYTES]; /* what the user should know about how it was counted */
        struct kc_store_info info;
        int k, nwords;
};

/* Make the handle of a store. On success, the handle owns the store. KC_ENOMEM. */
enum kc_status kc_library_counts_new(struct kcount_counts **counts, struct kc_store *store,
                                     struct kc_error *err);

/*
 * Take the options that the caller gives.
 *   options      in: the defaults; out: with the fields that both the caller's header and this one
 *                have, [nbytes]
 *   given        begins with its size; NULL: the defaults
 *   least        the least size
 *   initializer  the macro, for the message
 * KC_EUSAGE.
 */
enum kc_status kc_library_take_options(void *options, size_t nbytes, const void *given,
                                       size_t least, const char *initializer, struct kc_error *err);

/* Fields that several structs of options have. */
struct kc_library_limits {
        uint32_t min_count, max_count;
        int nthreads;
        uint64_t memory_nbytes;
};

/* KC_EUSAGE. */
enum kc_status kc_library_check_limits(const struct kc_library_limits *limits,
                                       struct kc_error *err);

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

#endif
