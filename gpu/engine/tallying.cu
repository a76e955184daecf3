/*
 * Counts without their k-mers, for a histogram. The counter has tallied nearly all of them. What is
 * left are the runs: the few counts that are too large for a row.
 *
 *      each device:  its LSM ──▶ ranges ──▶ rows, and large counts     gpu/output/tally.cuh
 *
 * A device tallies as soon as it has counted its share. No pair is sent to another device.
 */
#include "gpu/engine/engine_internal.cuh"
#include "gpu/output/tally.cuh"

enum { RANGE_NPAIRS = 1 << 24 };

/* Take the memory. KC_ENOMEM leaves the LSM as it was. */
template <class Key>
static enum kc_status begin_tally(struct gpu_counting_of<Key> *c, struct kc_gpu_tally *tally,
                                  struct kc_error *err)
{
        enum kc_status status;
        size_t max_pairs = RANGE_NPAIRS;
        KC_TRY(kc_gpu_tally_open(tally, c->gpu, err));
        KC_TRY(kc_gpu_lsm_plan(c->lsm, &max_pairs, err));
out:
        if (status == KC_ENOMEM) {
                kc_gpu_lsm_unplan(c->lsm);
                kc_gpu_forget_refusals(c->gpu);
        }
        return status;
}

template <class Key>
static enum kc_status tally_ranges(const struct gpu_engine_of<Key> *e,
                                   struct gpu_counting_of<Key> *c, struct kc_gpu_tally *tally,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> range;
        for (uint64_t i = 0;; i++) {
                int trace = kc_gpu_trace_begin(e->crew.trace, "tally", i, NULL);
                KC_TRY(kc_gpu_lsm_next(c->lsm, RANGE_NPAIRS, &range, err));
                KC_TRY(kc_gpu_tally_add(tally, range.counts, range.n, e->crew.sink, err));
                kc_gpu_trace_end(e->crew.trace, trace, NULL);
                if (range.n == 0)
                        break;
                c->nmerged += range.n;
        }
        KC_TRY(kc_gpu_tally_end(tally, c->counted.rows, &c->counted.dropped, err));
        KC_TRY(kc_engine_settle_sums(c, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_engine_tally_follower(const struct gpu_engine_of<Key> *e,
                                        struct gpu_counting_of<Key> *c, struct kc_error *err)
{
        struct kc_error refusal = {};
        struct kc_gpu_tally tally = {};
        enum kc_status status = begin_tally(c, &tally, &refusal);
        if (status == KC_OK) {
                status = tally_ranges(e, c, &tally, err);
                kc_gpu_lsm_free(c->lsm);
                c->lsm = NULL;
        } else {
                status = status == KC_ENOMEM ? KC_OK : kc_fail_as(err, &refusal);
        }
        kc_gpu_tally_close(&tally);
        return status;
}

template <class Key>
enum kc_status kc_engine_tally_first(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        struct kc_gpu_tally tally = {};
        enum kc_status status = begin_tally(&e->own, &tally, err);
        if (status == KC_OK)
                status = tally_ranges(e, &e->own, &tally, err);
        kc_gpu_tally_close(&tally);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_engine_tally_follower<Key>(const struct gpu_engine_of<Key> *, \
                                                              struct gpu_counting_of<Key> *, \
                                                              struct kc_error *); \
        template enum kc_status kc_engine_tally_first<Key>(struct gpu_engine_of<Key> *, \
                                                           struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
