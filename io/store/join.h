/*
 * The tree of joins of a set operation (kmer/join.h).
 */
#ifndef KC_IO_STORE_JOIN_H
#define KC_IO_STORE_JOIN_H

#include "io/store/file.h"
#include "kmer/join.h"

/* Free plan->nodes in any case. KC_ENOMEM. */
enum kc_status kc_set_plan(const struct kc_set *set, struct kc_join_plan *plan,
                           struct kc_error *err);

/* The tree of a joint histogram of the set's files, up to KC_JOINT_MAX_FILES of them. Above the
 * files, all nodes are KC_JOIN_PAIR: the root joins the first file with the second, or with the
 * pairs of the second and the third. Otherwise as kc_set_plan. */
enum kc_status kc_joint_plan(const struct kc_set *set, struct kc_join_plan *plan,
                             struct kc_error *err);

/* Runs of all files. */
size_t kc_set_nruns(const struct kc_set *set);

/* KC_ECORRUPT unless the counts that were read add up to what the footers say. */
enum kc_status kc_stores_check_read(struct kc_store *const *stores, size_t nstores, uint64_t nread,
                                    struct kc_error *err);

/* A run of the plan, and its file. */
struct kc_set_run_at {
        const struct kc_store *store;
        const struct kc_run *run;
};

/* All runs, in the plan's order; freed by the caller. NULL: out of memory. */
struct kc_set_run_at *kc_set_runs(const struct kc_set *set);

/* Whether a run gives nothing, because it holds tombstones and is its file's only run: no join
 * would remove them. */
static inline bool kc_set_run_is_idle(const struct kc_set_run_at *at)
{
        return at->run->kind == KC_RUN_TOMBSTONES && at->store->nruns == 1;
}

#endif
