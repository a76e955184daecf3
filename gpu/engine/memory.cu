/*
 * Memory for the engine's stages: before anything is read for the first k, and for reads that are
 * already kept for a further one.
 */
#include "gpu/engine/engine_internal.cuh"

#include <algorithm>

/* ---- shares ---- */

struct kc_load kc_engine_sum_loads(const struct kc_load *loads, const struct kc_gpu_share *share)
{
        struct kc_load sum = {};
        for (size_t i = share->first; i < share->end; i++) {
                sum.nrecords += loads[i].nrecords;
                sum.nkmers += loads[i].nkmers;
        }
        return sum;
}

enum kc_status kc_engine_read_loads(struct gpu_engine *e, struct kc_error *err)
{
        std::fill(e->loads, e->loads + KC_NLOADS, kc_load{});
        return kc_engine_for_all_reads(
                e->in,
                [&](struct kc_gpu_kept *kept) {
                        struct kc_load loads[KC_NLOADS];
                        const enum kc_status status =
                                kc_gpu_kept_loads(kept, e->number, loads, err);
                        for (int i = 0; i < KC_NLOADS && status == KC_OK; i++) {
                                e->loads[i].nrecords += loads[i].nrecords;
                                e->loads[i].nkmers += loads[i].nkmers;
                        }
                        return status;
                },
                err);
}

size_t kc_engine_plan_shares(struct gpu_engine *e)
{
        const struct kc_gpu_share points = kc_gpu_plan_points(e->crew.params);
        return kc_gpu_plan_shares(e->loads, &points, 1 + (size_t)e->crew.nfollowers,
                                  e->shares.shares);
}

uint64_t kc_engine_count_devices(const struct gpu_engine *e)
{
        const int nengines = e->crew.params->nengines;
        return (1 + (uint64_t)e->crew.nfollowers) * (nengines > 1 ? (uint64_t)nengines : 1);
}

/* ---- a device's counter and LSM ---- */

struct kc_gpu_plan_input kc_engine_plan_input(const struct gpu_engine *e,
                                              const struct kc_load *total)
{
        struct kc_gpu_plan_input input = {};
        input.superkmers = &e->superkmers;
        input.table = e->crew.params->table;
        input.total = *total;
        input.top_nkmers = e->plan.top_nkmers;
        input.drops_rare = e->crew.sink->filter.min_count > 1 || kc_engine_tallies(e);
        input.walk_npasses = e->crew.params->walk_npasses;
        input.ndevices = 1 + e->crew.nfollowers;
        return input;
}

template <class Key>
enum kc_status kc_engine_make_counter(const struct gpu_engine_of<Key> *e,
                                      struct gpu_counting_of<Key> *c, struct kc_error *err)
{
        const struct kc_gpu_counter_setup setup = { e->superkmers, e->params.stranded,
                                                    e->crew.params->table, e->crew.sink->filter,
                                                    kc_engine_tallies(e) };
        return kc_gpu_counter_new(&c->counter, c->gpu, &setup, &c->caps, err);
}

template <class Key>
enum kc_status kc_engine_make_lsm(const struct gpu_engine_of<Key> *e,
                                  struct gpu_counting_of<Key> *c, struct kc_error *err)
{
        struct kc_gpu_lsm_setup lsm = {};
        const size_t pinned = kc_engine_pinned_for_reads(e->in);
        lsm.host_nbytes = (e->plan.host_nbytes - std::min(e->plan.host_nbytes, pinned)) /
                          (1 + (size_t)e->crew.nfollowers);
        lsm.tmp_dir = e->params.tmp_dir;
        lsm.nthreads = e->params.nthreads;
        lsm.gate = e->crew.gate;
        return kc_gpu_lsm_new(&c->lsm, c->gpu, &lsm, err);
}

/* ---- for the first k ---- */

/* How much device memory the reads will take: enough for all of them if they fit; otherwise 0,
 * because it is then best to keep none of them there. The size of a compressed input is only a
 * guess, so there is a margin; grow_counter takes what is left of it. */
static size_t expect_reads(struct gpu_engine *e, size_t room)
{
        const uint64_t nbases = e->params.expected_nbases;
        const size_t nbytes = kc_gpu_plan_reads_nbytes(nbases);
        if (nbases == 0)
                return std::min(e->plan.kept_nbytes, room / 2);
        return nbytes <= e->plan.kept_nbytes ? std::min(nbytes / 4 * 5, e->plan.kept_nbytes) : 0;
}

/* The device memory for the counter and the reads. Buffers for uploads may still need theirs. */
static size_t room_to_divide(const struct gpu_engine *e)
{
        const size_t room = kc_gpu_room(e->crew.gpu);
        const size_t buffers = kc_gpu_feed_nbytes(&e->plan.buffers);
        return e->crew.params->read_ahead ? room : room - std::min(room, buffers);
}

/* Make a counter for an input of the expected size, before anything is read: later, other processes
 * may have taken the memory. */
template <class Key>
static enum kc_status take_counter(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        enum { USUAL_NKMERS = 1 << 28 };
        const uint64_t nbases = e->params.expected_nbases;
        const uint64_t nkmers = (nbases != 0 ? nbases : USUAL_NKMERS) / kc_engine_count_devices(e);
        const struct kc_load total = { kc_superkmer_expected(&e->superkmers, nkmers), nkmers };
        struct kc_gpu_plan_input input = kc_engine_plan_input(e, &total);
        const size_t room = room_to_divide(e);
        const size_t reads = expect_reads(e, room);
        struct kc_error refusal = {};
        input.copies = reads == 0;
        if (kc_gpu_plan_counter(&input, room - reads, &e->own.caps, &refusal) != KC_OK)
                KC_TRY(kc_gpu_plan_counter(&input, room, &e->own.caps, err));
        KC_TRY(kc_engine_make_counter(e, &e->own, err));
out:
        return status;
}

template <class Key> void kc_engine_drop_files(struct gpu_engine_of<Key> *e)
{
        const struct kc_stored_source *source = e->in->intakes.source;
        uint64_t nbytes = 0;
        for (size_t i = 0; i < source->nfiles; i++)
                nbytes += source->files[i].nbytes;
        kc_job_expect(e->crew.job, nbytes); /* now: with read_ahead, workers are already reading */
        e->nkmers = 0;
        kc_gpu_counter_free(e->own.counter);
        e->own.counter = NULL;
        kc_gpu_kept_free(e->in->kept);
        e->in->kept = NULL;
        kc_engine_free_other_reads(e->in);
}

/* Leave the files to the workers. */
template <class Key>
static enum kc_status leave_files(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        kc_gpu_intakes_give_up(&e->in->intakes);
        KC_TRY(kc_engine_end_intakes(e, err));
        kc_engine_drop_files(e);
out:
        return status;
}

/* Memory for reading, taken first so that uploads begin while the rest is allocated. But without
 * read_ahead, the workers have read nothing yet and must not read until nothing can fail any more:
 * sequences taken from the source are lost to another engine. */
template <class Key>
static enum kc_status attach_early(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool fits = true;
        if (e->in->takes_files)
                KC_TRY(kc_engine_attach_intake(e, &fits, err));
        if (!fits)
                KC_TRY(leave_files(e, err));
        if (!e->in->takes_files && e->crew.params->read_ahead)
                KC_TRY(kc_engine_attach_feed(e, err));
out:
        return status;
}

/* The rest of the memory: for the reads that are kept and for counting. */
template <class Key>
static enum kc_status divide_memory(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_engine_keep_reads(e, err));
        KC_TRY(take_counter(e, err));
        if (!e->in->takes_files && !e->crew.params->read_ahead)
                KC_TRY(kc_engine_attach_feed(e, err));
        if (!e->in->takes_files)
                kc_gpu_vote_propose(&e->in->reading, READING_BATCHES);
out:
        return status;
}

template <class Key>
enum kc_status kc_engine_prepare_batches(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(attach_early(e, err));
        KC_TRY(divide_memory(e, err));
out:
        return status;
}

template <class Key> enum kc_status kc_engine_take_memory(void *ctx, struct kc_error *err)
{
        struct gpu_engine_of<Key> *e = (struct gpu_engine_of<Key> *)ctx;
        enum kc_status status;
        struct kc_error refusal = {};
        const size_t limit = e->crew.gpu->limit_nbytes;
        KC_TRY(kc_gpu_plan_buffers(&e->plan, limit, err));
        KC_TRY(attach_early(e, err));
        KC_TRY(kc_gpu_plan_parts(&e->plan, &e->params, e->params.k, limit, err));
        KC_TRY(kc_gpu_emitter_attach(e->emitter, e->crew.gpu, &e->plan.parts, err));
        status = divide_memory(e, &refusal);
        if (status == KC_ENOMEM && e->in->takes_files) {
                KC_TRY(leave_files(e, err));
                KC_TRY(kc_engine_prepare_batches(e, err));
        } else if (status != KC_OK) {
                status = kc_fail_as(err, &refusal);
        }
out:
        return status;
}

/* ---- for a further k ---- */

/* Plan a counter for reads that are already kept. The next k may need more memory than the one
 * before, so reads leave the device until there is enough. */
template <class Key>
static enum kc_status plan_next_counter(struct gpu_engine_of<Key> *e, const struct kc_load *total,
                                        struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_plan_input input = kc_engine_plan_input(e, total);
        bool gave = true;
        for (;;) {
                struct kc_error refusal = {};
                const size_t streaming = kc_gpu_kept_pass_nbytes(e->in->kept);
                const size_t room = kc_gpu_room(e->crew.gpu);
                input.copies = streaming > 0;
                if (kc_gpu_plan_counter(&input, room - std::min(room, streaming), &e->own.caps,
                                        &refusal) == KC_OK)
                        break;
                KC_TRY(kc_gpu_kept_give(e->in->kept, &gave, err));
                if (!gave)
                        return kc_fail_as(err, &refusal);
        }
out:
        return status;
}

template <class Key>
static enum kc_status take_next_counter(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_load total;
        KC_TRY(kc_engine_read_loads(e, err));
        (void)kc_engine_plan_shares(e);
        total = kc_engine_sum_loads(e->loads, &e->shares.shares[0]);
        KC_TRY(plan_next_counter(e, &total, err));
        KC_TRY(kc_engine_make_counter(e, &e->own, err));
out:
        return status;
}

template <class Key> enum kc_status kc_engine_take_next_memory(void *ctx, struct kc_error *err)
{
        struct gpu_engine_of<Key> *e = (struct gpu_engine_of<Key> *)ctx;
        enum kc_status status;
        const size_t limit = e->crew.gpu->limit_nbytes;
        kc_gpu_kept_unsettle(e->in->kept);
        KC_TRY(kc_gpu_plan_parts(&e->plan, &e->params, e->params.k, limit, err));
        KC_TRY(kc_gpu_emitter_attach(e->emitter, e->crew.gpu, &e->plan.parts, err));
        if (!kc_engine_have_read_together(e->in)) /* otherwise with the share in all reads */
                KC_TRY(take_next_counter(e, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_engine_make_lsm<Key>(const struct gpu_engine_of<Key> *, \
                                                        struct gpu_counting_of<Key> *, \
                                                        struct kc_error *); \
        template enum kc_status kc_engine_make_counter<Key>(const struct gpu_engine_of<Key> *, \
                                                            struct gpu_counting_of<Key> *, \
                                                            struct kc_error *); \
        template void kc_engine_drop_files<Key>(struct gpu_engine_of<Key> *); \
        template enum kc_status kc_engine_prepare_batches<Key>(struct gpu_engine_of<Key> *, \
                                                               struct kc_error *); \
        template enum kc_status kc_engine_take_memory<Key>(void *, struct kc_error *); \
        template enum kc_status kc_engine_take_next_memory<Key>(void *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
