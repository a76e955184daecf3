/*
 * Set operations within a bound on memory.
 */
#ifndef APP_LIBRARY_SETS_H
#define APP_LIBRARY_SETS_H

#include "base/job.h"
#include "io/store.h"

/*
 * kc_set_run with as many threads as fit into nbytes.
 *   nthreads  in: the most; out: how many there are
 * KC_ENOMEM, with the bound that is needed, if not even one fits.
 */
enum kc_status kc_set_run_within(const struct kc_set *set, uint64_t nbytes, int *nthreads,
                                 struct kc_job *job, const struct kc_run_sink *sink,
                                 struct kc_store_origin *origin, const char ***names,
                                 struct kc_error *err);

#endif
