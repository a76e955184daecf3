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
enum kc_status kcount_counts_new(struct kcount_counts **counts, struct kc_store *store,
                                 struct kc_error *err);

/* Copy n k-mers and reverse the order of their words: kcount.h has the most significant word first,
 * all other code has it last. from and to may be the same array. */
void kcount_turn_words(const uint64_t *from, int nwords, size_t n, uint64_t *to);

/* kcount_canonical for k-mers in the order of words of all other code. */
void kcount_canonical_turned(int k, uint64_t *kmers, size_t n);

/*
 * Report a failure to the caller of a function of kcount.h, which then returns this status.
 *   failure  its status is not KC_OK
 *   error    out: to be freed with kcount_error_free; NULL if the caller does not want it
 * Returns the status of the failure, or KCOUNT_ENOMEM if there is no memory for the object that
 * describes it.
 */
enum kcount_status kcount_failed(const struct kc_error *failure, struct kcount_error **error);

#endif
