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

/*
 * The last call of a function of kcount.h that has failed.
 *   failure  whose status is not KC_OK
 *   error    out: to be freed with kcount_error_free; NULL if the caller does not want it
 * Returns the status for the caller: that of the failure, or KCOUNT_ENOMEM if there is no memory
 * for the object that describes it.
 */
enum kcount_status kcount_failed(const struct kc_error *failure, struct kcount_error **error);

#endif
