/*
 * Private to app/library: what its files, which implement include/kcount.h, have in common.
 */
#ifndef APP_LIBRARY_H
#define APP_LIBRARY_H

#include "include/kcount.h"
#include "io/store.h"

struct kcount_counts {
        struct kc_store *store;
        struct kc_store_info info;
        int k, nwords;
};

/* Make the handle of a store, which it owns from now on. KC_ENOMEM. */
enum kc_status kcount_counts_new(struct kcount_counts **counts, struct kc_store *store,
                                 struct kc_error *err);

/* Copy n k-mers between the order of words of kcount.h, the most significant one first, and that of
 * all other code. from and to may be the same array. */
void kcount_turn_words(const uint64_t *from, int nwords, size_t n, uint64_t *to);

/* kcount_canonical for k-mers in the order of words of all other code. */
void kcount_canonical_turned(int k, uint64_t *kmers, size_t n);

/*
 * The last call of a function of kcount.h that has failed.
 *   failure  whose status is not KC_OK
 *   error    out: to be freed with kcount_error_free; NULL if the caller does not want it
 * Returns the status for the caller: that of the failure, or KCOUNT_ENOMEM if there is no memory
 * for the object that describes it.
 */
enum kcount_status kcount_failed(const struct kc_error *failure, struct kcount_error **error);

#endif
