/*
 * From the runs of all devices to the output.
 *
 *      one device:       its LSM ──▶ ranges ──▶ blocks
 *      several devices:  LSMs ──▶ ranges, taken in turn ──▶ blocks, encoded by the device that took
 *                        them (gpu/engine/devices/exchange.cuh, gpu/output/emit.cuh)
 *
 * The first device takes the runs of devices that lack the memory for this into its own LSM. It
 * merges alone if all other devices lack it, or if there are few pairs. If only counts are wanted,
 * each device tallies its own runs (tallying.cu).
 */
#include "gpu/engine/engine_internal.cuh"

#include "gpu/runs/gather.cuh"

#include <algorithm>

/* ---- all devices ---- */

enum kc_status kc_engine_fail_for(const struct gpu_counting *c, const struct kc_error *failure,
                                  struct kc_error *err)
{
        if (c->engine->crew.nfollowers == 0)
                return kc_fail_as(err, failure);
        return kc_fail_reworded(err, failure, "cuda:%d: %s", c->device, failure->message);
}

template <class Key>
bool kc_engine_uses_files(const struct gpu_engine_of<Key> *e, const struct gpu_counting_of<Key> *c)
{
        return e->in->where.file_nbytes > 0 || c->spilled_nbytes > 0 ||
               (c->lsm != NULL && kc_gpu_lsm_spilled_nbytes(c->lsm) > 0);
}

void kc_engine_expect_counted(const struct gpu_engine *e, uint64_t npairs)
{
        const struct kc_run_sink *sink = e->crew.sink;
        if (sink->expect != NULL)
                sink->expect(sink->ctx, npairs);
}

template <class Key> static uint64_t count_pairs(const struct gpu_engine_of<Key> *e)
{
        uint64_t npairs = kc_gpu_lsm_npairs(e->own.lsm);
        for (int i = 0; i < e->crew.nfollowers; i++)
                if (e->others[i].lsm != NULL)
                        npairs += kc_gpu_lsm_npairs(e->others[i].lsm);
        return npairs;
}

template <class Key>
enum kc_status kc_engine_settle_sums(struct gpu_counting_of<Key> *c, struct kc_error *err)
{
        c->spilled_nbytes = kc_gpu_lsm_spilled_nbytes(c->lsm);
        return kc_gpu_lsm_nsaturated(c->lsm, &c->nsaturated, err);
}

/* Merge the ranges that this device takes, and pass them to the emitter. */
template <class Key>
static enum kc_status take_ranges(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                  int member, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> range;
        size_t number;
        for (uint64_t i = 0;; i++) {
                int trace = kc_gpu_trace_begin(e->crew.trace, "merge", i, NULL);
                KC_TRY(kc_gpu_exchange_next(&e->exchange, member, &number, &range, err));
                kc_gpu_trace_end(e->crew.trace, trace, NULL);
                if (number == e->exchange.deal.nranges)
                        break;
                KC_TRY(kc_gpu_emitter_put_turn(e->emitter, member, number, &range, err));
                c->nmerged += range.n;
        }
        c->runs_nbytes += kc_gpu_exchange_sent_nbytes(&e->exchange, member);
        KC_TRY(kc_engine_settle_sums(c, err));
out:
        return status;
}

/* ---- followers ---- */

/* Take the memory that this device needs to take part in merging. */
template <class Key>
static enum kc_status join_merge(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                 int member, size_t max_pairs, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_plan plan = e->plan;
        KC_TRY(kc_gpu_plan_parts(&plan, &e->params, e->params.k, c->gpu->limit_nbytes, err));
        KC_TRY(kc_gpu_emitter_add_lane(e->emitter, member, c->gpu, KC_GATE_FOLLOWERS, &plan.parts,
                                       err));
        status = kc_gpu_exchange_join(&e->exchange, member, c->gpu, c->lsm, KC_GATE_FOLLOWERS,
                                      max_pairs, err);
        if (status == KC_ENOMEM)
                kc_gpu_emitter_remove_lane(e->emitter, member);
out:
        if (status == KC_ENOMEM)
                kc_gpu_forget_refusals(c->gpu);
        return status;
}

/* Give that memory back, so that the first device can merge this device's runs. */
template <class Key>
static enum kc_status leave_merge(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                  int member, struct kc_error *err)
{
        enum kc_status status;
        kc_gpu_exchange_leave(&e->exchange, member);
        kc_gpu_emitter_remove_lane(e->emitter, member);
        KC_TRY(KC_CUDA(cudaStreamSynchronize(c->gpu->stream)));
        kc_gpu_vote_cast(&e->merging, false);
out:
        return status;
}

template <class Key>
enum kc_status kc_engine_follow_merge(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                      int member, struct kc_error *err)
{
        enum kc_status status, joined;
        struct kc_error refusal = {};
        size_t max_pairs, nheard = 0;
        if (c->lsm == NULL)
                return KC_OK;
        KC_TRY(kc_gpu_vote_hear(&e->merging, &nheard, &max_pairs, err));
        if (max_pairs == 0) /* now c->lsm belongs to the driver */
                return KC_OK;
        joined = join_merge(e, c, member, max_pairs, &refusal);
        if (joined != KC_OK && joined != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        KC_TRY(KC_CUDA(cudaStreamSynchronize(c->gpu->stream)));
        kc_gpu_vote_cast(&e->merging, joined == KC_OK);
        if (joined == KC_ENOMEM)
                return KC_OK;
        KC_TRY(kc_gpu_vote_hear(&e->merging, &nheard, &max_pairs, err));
        if (max_pairs > 0)
                KC_TRY(take_ranges(e, c, member, err));
        else
                KC_TRY(leave_merge(e, c, member, err));
out:
        return status;
}

/* ---- the driver ---- */

/* Merge a follower's runs, and move the result to the first device's LSM. */
template <class Key>
static enum kc_status gather_from(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                  struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_lsm_on<Key> to = { e->own.gpu, e->own.lsm }, from = {
                c->gpu, c->lsm
        };
        KC_TRY(kc_gpu_lsm_gather(&to, &from, &c->runs_nbytes, err));
        KC_TRY(KC_CUDA(cudaSetDevice(c->gpu->device)));
        KC_TRY(kc_engine_settle_sums(c, err));
        kc_gpu_lsm_free(c->lsm);
        c->lsm = NULL;
        KC_TRY(KC_CUDA(cudaSetDevice(e->crew.gpu->device)));
out:
        return status;
}

/* Gather the runs of the followers that do not take part. */
template <class Key>
static enum kc_status gather(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        for (int i = 0; i < e->crew.nfollowers; i++) {
                struct kc_error failure = {};
                if (e->others[i].lsm == NULL || e->exchange.members[i + 1].takes_part)
                        continue;
                if (gather_from(e, &e->others[i], &failure) != KC_OK)
                        return kc_engine_fail_for(&e->others[i], &failure, err);
        }
        return KC_OK;
}

/* The number of followers that have runs. */
template <class Key> static int count_followers(const struct gpu_engine_of<Key> *e)
{
        int n = 0;
        for (int i = 0; i < e->crew.nfollowers; i++)
                n += e->others[i].lsm != NULL;
        return n;
}

/* The most pairs that a range may have so that all devices with runs probably have the memory: the
 * inboxes and merging then take a few percent of it. */
template <class Key> static size_t most_range_pairs(const struct gpu_engine_of<Key> *e)
{
        enum { PART = 64 };
        size_t nbytes = e->own.gpu->bound_nbytes;
        for (int i = 0; i < e->crew.nfollowers; i++)
                if (e->others[i].lsm != NULL)
                        nbytes = std::min(nbytes, e->others[i].gpu->bound_nbytes);
        return nbytes / PART / kc_gpu_run_nbytes<Key>(1);
}

/* Join the devices that are ready, and cut the ranges. After KC_ENOMEM, the first device has not
 * joined. */
template <class Key>
static enum kc_status begin_together(struct gpu_engine_of<Key> *e, size_t usual, size_t max_pairs,
                                     struct kc_error *err)
{
        enum kc_status status = kc_gpu_exchange_join(&e->exchange, 0, e->own.gpu, e->own.lsm,
                                                     KC_GATE_DRIVER, max_pairs, err);
        if (status == KC_OK)
                status = kc_gpu_exchange_begin(&e->exchange, usual, err);
        if (status == KC_ENOMEM)
                kc_gpu_exchange_leave(&e->exchange, 0);
        return status;
}

/*
 * Find out which devices take part in merging. Afterwards, the first device has the runs of those
 * that do not. Either it merges alone, or the others wait for the decision.
 *   usual, max_pairs  usual and maximum number of pairs in a range
 */
template <class Key>
static enum kc_status agree(struct gpu_engine_of<Key> *e, size_t usual, size_t max_pairs,
                            bool *is_together, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error refusal = {};
        int nready;
        kc_gpu_vote_propose(&e->merging, max_pairs);
        KC_TRY(kc_gpu_vote_count(&e->merging, count_followers(e), &nready, err));
        KC_TRY(gather(e, err));
        *is_together = nready > 0;
        if (!*is_together)
                return KC_OK;
        status = begin_together(e, usual, max_pairs, &refusal);
        if (status == KC_OK)
                return KC_OK;
        if (status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        *is_together = false;
        kc_gpu_vote_propose(&e->merging, 0);
        KC_TRY(kc_gpu_vote_count(&e->merging, nready, &nready, err));
        KC_TRY(gather(e, err));
out:
        return status;
}

/* Decide whether several devices merge; if not, move all runs to the first one. */
template <class Key>
static enum kc_status divide_merge(struct gpu_engine_of<Key> *e, bool *is_together,
                                   struct kc_error *err)
{
        enum { LEAST_PAIRS = 1 << 16 }; /* the lowest max_pairs of kc_gpu_exchange_join */
        const size_t nmembers = 1 + (size_t)count_followers(e);
        const size_t most = most_range_pairs(e), batch = (size_t)e->crew.params->batch_nkmers;
        size_t usual = 0;
        *is_together = false;
        if (nmembers > 1 && most >= LEAST_PAIRS)
                usual = kc_deal_usual_pairs(count_pairs(e), nmembers,
                                            batch != 0 ? std::min(batch, most) : most);
        if (usual != 0)
                return agree(e, usual, std::max(usual, (size_t)LEAST_PAIRS), is_together, err);
        kc_gpu_vote_propose(&e->merging, 0);
        return gather(e, err);
}

/* What the sink and the emitter must know before the pairs come. */
template <class Key> static void begin_output(struct gpu_engine_of<Key> *e)
{
        const uint64_t npairs = count_pairs(e);
        bool use_files = kc_engine_uses_files(e, &e->own);
        for (int i = 0; i < e->crew.nfollowers; i++)
                use_files |= kc_engine_uses_files(e, &e->others[i]);
        if (e->crew.nfollowers > 0 && !use_files)
                kc_engine_expect_counted(e, npairs);
        kc_job_begin_stage(e->crew.job, kc_stage_of(e->number, KC_STAGE_ORDER),
                           npairs / e->plan.parts.part_pairs + 1);
        kc_gpu_emitter_drop(e->emitter, &e->counted.dropped);
}

/* Ranges are much longer than parts, because the cost of a range grows with the number of runs. */
template <class Key>
static enum kc_status merge_alone(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum { RANGE_NPAIRS = 1 << 24 };
        enum kc_status status;
        struct kc_gpu_run<Key> range;
        for (uint64_t i = 0;; i++) {
                int trace = kc_gpu_trace_begin(e->crew.trace, "merge", i, NULL);
                KC_TRY(kc_gpu_lsm_next(e->own.lsm, RANGE_NPAIRS, &range, err));
                kc_gpu_trace_end(e->crew.trace, trace, NULL);
                if (range.n == 0)
                        break;
                KC_TRY(kc_gpu_emitter_put_range(e->emitter, &range, err));
                e->own.nmerged += range.n;
        }
        KC_TRY(kc_gpu_emitter_put(e->emitter, &range, err)); /* an empty range ends the run */
        KC_TRY(kc_engine_settle_sums(&e->own, err));
out:
        return status;
}

template <class Key>
static enum kc_status merge_together(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        kc_gpu_vote_propose(&e->merging, e->exchange.members[0].max_pairs);
        KC_TRY(take_ranges(e, &e->own, 0, err));
        KC_TRY(kc_gpu_emitter_end_turns(e->emitter, e->exchange.deal.nranges, err));
out:
        return status;
}

template <class Key> static void add_counted(struct gpu_engine_of<Key> *e)
{
        kc_gpu_counted_add(&e->counted, &e->own.counted);
        for (int i = 0; i < e->crew.nfollowers; i++)
                kc_gpu_counted_add(&e->counted, &e->others[i].counted);
}

/* Hand over what all devices have tallied. No k-mer is in the runs of two devices, so there is
 * nothing to merge. */
template <class Key>
static enum kc_status tally_all(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        const kc_gpu_run<Key> none = {};
        struct kc_run_counts counts = {};
        kc_job_begin_stage(e->crew.job, kc_stage_of(e->number, KC_STAGE_ORDER), 1);
        kc_gpu_vote_propose(&e->merging, 0);
        KC_TRY(gather(e, err));
        KC_TRY(kc_engine_tally_first(e, err));
        add_counted(e);
        counts.rows = e->counted.rows;
        KC_TRY(e->crew.sink->put_counts(e->crew.sink->ctx, &counts, err));
        KC_TRY(kc_gpu_emitter_put(e->emitter, &none, err)); /* the end, for the workers */
out:
        return status;
}

template <class Key>
enum kc_status kc_engine_merge_all(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        bool is_together;
        if (kc_engine_tallies(e))
                return tally_all(e, err);
        add_counted(e);
        KC_TRY(divide_merge(e, &is_together, err));
        begin_output(e);
        KC_TRY(is_together ? merge_together(e, err) : merge_alone(e, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_engine_settle_sums<Key>(struct gpu_counting_of<Key> *, \
                                                           struct kc_error *); \
        template bool kc_engine_uses_files<Key>(const struct gpu_engine_of<Key> *, \
                                                const struct gpu_counting_of<Key> *); \
        template enum kc_status kc_engine_follow_merge<Key>(struct gpu_engine_of<Key> *, \
                                                            struct gpu_counting_of<Key> *, int, \
                                                            struct kc_error *); \
        template enum kc_status kc_engine_merge_all<Key>(struct gpu_engine_of<Key> *, \
                                                         struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
