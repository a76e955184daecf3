/*
 * Counting shares, on the first device and on further ones.
 *
 *      driver:    reads ──▶ its share, pass by pass ──▶ its LSM ──┐
 *                   ▲                                             ├─▶ merging (merging.cu)
 *                   ▼ over links (gpu/device/link.cuh)            │
 *      follower:  reads ──▶ its share, pass by pass ──▶ its LSM ──┘
 *
 * A share is some of the points (gpu/superkmers/minimizer.cuh), so all occurrences of a k-mer are
 * counted by one device, and its count is final there. Every device needs all reads, but packed
 * reads are much smaller than anything that is made of them. Each device keeps those that it has
 * received (gpu/engine/reading.cu).
 */
#include "gpu/engine/engine_internal.cuh"

#include <algorithm>

/* ---- passes, on any device ---- */

template <class Key>
static enum kc_status insert(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        struct gpu_counting_of<Key> *c = (struct gpu_counting_of<Key> *)ctx;
        struct gpu_engine_of<Key> *e = (struct gpu_engine_of<Key> *)c->engine;
        int trace = kc_gpu_trace_begin(e->crew.trace, "insert", c->npasses, NULL);
        enum kc_status status = kc_gpu_lsm_insert(c->lsm, run, err);
        kc_gpu_trace_end(e->crew.trace, trace, NULL);
        if (status == KC_OK && c == &e->own && !kc_engine_uses_files(e, c))
                kc_engine_expect_counted(e, kc_gpu_lsm_npairs(c->lsm));
        return status;
}

/* The timeline shows the first device's stream; of other devices, times by the host's clock. */
template <class Key>
static cudaStream_t traced_stream(const struct gpu_engine_of<Key> *e,
                                  const struct gpu_counting_of<Key> *c)
{
        return c == &e->own ? c->gpu->stream : NULL;
}

/* number: in the last walk */
template <class Key>
static enum kc_status count_pass(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                 const struct kc_gpu_pass *pass, int number, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run_taker<Key> taker = {
                c, insert<Key>
        };
        cudaStream_t stream = traced_stream(e, c);
        int trace;
        KC_TRY(kc_gpu_lsm_make_room(c->lsm, kc_gpu_plan_run_room(e->params.k, c->caps.npairs),
                                    err));
        trace = kc_gpu_trace_begin(e->crew.trace, "count", c->npasses, stream);
        KC_TRY(kc_gpu_counter_count(c->counter, number, &taker, &c->counted, err));
        kc_gpu_trace_end(e->crew.trace, trace, stream);
        c->npasses++;
        kc_job_advance(e->crew.job, pass->width == 0 ? KC_NLOADS : pass->width >> KC_LOAD_SHIFT);
out:
        return status;
}

/* ---- walks of all devices ---- */

/* Whether this device can walk with the others: it has all reads, and they can put records into its
 * lists. */
static enum kc_status can_share_walks(const struct gpu_engine *e, const struct gpu_counting *c,
                                      bool *can, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_gpu_params *params = e->crew.params;
        *can = kc_gpu_kept_pass_nbytes(c->kept) == 0;
        for (int i = 0; i <= params->nothers && *can; i++)
                KC_TRY(kc_gpu_is_added_to(c->gpu, i == 0 ? params->device : params->others[i - 1],
                                          can, err));
out:
        return status;
}

/* Join the lists of all devices. *all is empty if no device has passes left, or if there are too
 * many lists. */
static void join_lists(const struct gpu_engine *e, struct kc_records_out *all)
{
        *all = {};
        for (int i = 0; i <= e->crew.nfollowers; i++) {
                const struct kc_records_out *own = &e->lists[i];
                if (all->nlists + own->nlists > KC_MAX_RECORD_LISTS) {
                        *all = {};
                        return;
                }
                std::copy_n(own->lists, own->nlists, all->lists + all->nlists);
                std::copy_n(own->bins, own->nlists, all->bins + all->nlists);
                all->nlists += own->nlists;
        }
}

/*
 * Find the records of the device's next passes in a walk that all devices share: each device finds
 * the records for all of them in its part of the reads. c->meets becomes false if not all devices
 * can share the walk, or if join_lists leaves no lists. Then this device walks alone from now on.
 */
template <class Key>
static enum kc_status walk_together(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                    int device, const struct kc_gpu_pass *passes, int npasses,
                                    struct kc_error *err)
{
        enum kc_status status;
        struct kc_records_out all;
        bool can;
        KC_TRY(can_share_walks(e, c, &can, err));
        KC_TRY(kc_gpu_counter_begin(c->counter, c->kept, passes, npasses, &e->lists[device], err));
        KC_TRY(kc_gpu_meet(&e->walking, device, can, &c->meets, err));
        if (!c->meets)
                return KC_OK;
        join_lists(e, &all);
        if (all.nlists > 0) {
                KC_TRY(kc_gpu_counter_find(c->counter, &all, device, e->walking.n, err));
                KC_TRY(kc_gpu_meet(&e->walking, device, true, &c->meets, err));
        } else {
                c->meets = false;
        }
        c->nwalks += c->meets;
        c->nshared += c->meets;
out:
        return status;
}

/* A device that lacks the memory to continue votes no at the next meeting. */
static void leave_meeting(struct gpu_engine *e, struct gpu_counting *c, int device)
{
        struct kc_error ignored = {};
        if (!c->meets)
                return;
        /* Its stream may still be writing records to the lists of other devices. */
        (void)cudaStreamSynchronize(c->gpu->stream);
        (void)kc_gpu_meet(&e->walking, device, false, &c->meets, &ignored);
        c->meets = false;
}

/* ---- shares, on any device ---- */

/* Count passes whose records are found in one walk over the reads. */
template <class Key>
static enum kc_status count_walk(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                 int device, const struct kc_gpu_pass *passes, int npasses,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        cudaStream_t stream = traced_stream(e, c);
        const int trace = kc_gpu_trace_begin(e->crew.trace, "find", c->nwalks, stream);
        if (c->meets)
                KC_TRY(walk_together(e, c, device, passes, npasses, err));
        if (!c->meets && npasses > 0) {
                KC_TRY(kc_gpu_counter_walk(c->counter, c->kept, passes, npasses, err));
                c->nwalks++;
        }
        kc_gpu_trace_end(e->crew.trace, trace, stream);
        for (int i = 0; i < npasses; i++)
                KC_TRY(count_pass(e, c, &passes[i], i, err));
out:
        return status;
}

template <class Key>
static enum kc_status count_share(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                  int device, const struct kc_gpu_share *share,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_pass passes[KC_NLOADS];
        const struct kc_load most = { kc_gpu_counter_max_records(&e->superkmers, &c->caps, c->kept),
                                      c->caps.nkmers };
        const size_t npasses = kc_gpu_plan_passes(e->loads, share, &most, passes);
        const size_t together = (size_t)kc_gpu_counter_max_passes(&c->caps, c->kept);
        size_t n;
        for (size_t i = 0; i < npasses || c->meets; i += n) {
                n = std::min(together, npasses - i);
                KC_TRY(count_walk(e, c, device, passes + i, (int)n, err));
        }
out:
        return status;
}

/* ---- followers ---- */

/* While the first device reads, reserve the memory that counting will probably need, because this
 * takes time. If the device refuses, or this is not enough, counting takes what it finds. */
static void hold_ahead(const struct gpu_engine *e, struct kc_gpu *gpu)
{
        const uint64_t nbases = e->params.expected_nbases;
        const uint64_t nkmers = nbases / kc_engine_count_devices(e);
        const struct kc_load total = { kc_superkmer_expected(&e->superkmers, nkmers), nkmers };
        const struct kc_gpu_plan_input input = kc_engine_plan_input(e, &total);
        const size_t room = kc_gpu_room(gpu);
        const size_t reads = std::min(kc_gpu_plan_reads_nbytes(nbases),
                                      kc_gpu_plan_kept_nbytes(gpu->limit_nbytes));
        struct kc_gpu_counter_caps caps;
        struct kc_error ignored = {};
        if (nkmers == 0 ||
            kc_gpu_plan_counter(&input, room - std::min(room, reads), &caps, &ignored) != KC_OK)
                return;
        (void)kc_gpu_hold(gpu,
                          reads + kc_gpu_plan_counter_nbytes(&input, &caps) +
                                  kc_gpu_plan_run_room(e->params.k, caps.npairs),
                          &ignored);
        kc_gpu_forget_refusals(gpu);
}

enum kc_status kc_engine_open_follower(struct gpu_engine *e, int follower, struct kc_error *err)
{
        enum kc_status status;
        struct gpu_input *in = e->in;
        struct kc_gpu *gpu = &in->others[follower].gpu;
        const int device = in->gpu_params->others[follower];
        int trace;
        if (in->others[follower].is_open)
                return KC_CUDA(cudaSetDevice(device)); /* the current device is per thread */
        trace = kc_gpu_trace_begin(e->crew.trace, "open device", (uint64_t)follower + 1, NULL);
        KC_TRY(kc_gpu_open_for(in->gpu_params, gpu, device, err));
        kc_gpu_trace_end(e->crew.trace, trace, NULL);
        in->others[follower].is_open = true;
        hold_ahead(e, gpu);
out:
        return status;
}

/* Plan a counter for a share. KC_ENOMEM if there is too little room for any work. */
static enum kc_status plan_share(struct gpu_engine *e, struct gpu_counting *c,
                                 const struct kc_load *total, struct kc_error *err)
{
        struct kc_gpu_plan_input input = kc_engine_plan_input(e, total);
        const size_t streaming = kc_gpu_kept_pass_nbytes(c->kept);
        const size_t room = kc_gpu_room(c->gpu);
        input.copies = streaming > 0;
        return kc_gpu_plan_counter(&input, room - std::min(room, streaming), &c->caps, err);
}

/* Use the reads of all devices. */
static enum kc_status join_reads(struct gpu_engine *e, struct gpu_counting *c, size_t device_nbytes,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_kept_source sources[KC_GPU_MAX_DEVICES];
        int n = 0;
        for (int i = 0; i <= e->crew.nfollowers; i++) {
                const struct kc_gpu *gpu = kc_engine_device_of(e->in, i);
                if (kc_engine_reads_of(e->in, i) == NULL)
                        continue;
                if (gpu != c->gpu)
                        KC_TRY(kc_gpu_link_open(&c->links[i], gpu, c->gpu, err));
                sources[n++] = { kc_engine_reads_of(e->in, i),
                                 gpu != c->gpu ? &c->links[i] : NULL };
        }
        KC_TRY(kc_gpu_kept_join(&c->kept, c->gpu, sources, n, device_nbytes, err));
out:
        return status;
}

/* Take the reads, at most device_nbytes of them into device memory, and a counter for a share. */
template <class Key>
static enum kc_status take_share_memory(struct gpu_engine_of<Key> *e,
                                        struct gpu_counting_of<Key> *c, const struct kc_load *total,
                                        size_t device_nbytes, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(join_reads(e, c, device_nbytes, err));
        KC_TRY(plan_share(e, c, total, err));
        KC_TRY(kc_engine_make_counter(e, c, err));
        KC_TRY(kc_engine_make_lsm(e, c, err));
out:
        return status;
}

template <class Key> void kc_engine_end_counting(struct gpu_counting_of<Key> *c)
{
        kc_gpu_counter_free(c->counter);
        c->counter = NULL;
        if (c->kept != c->engine->in->kept)
                kc_gpu_kept_free(c->kept);
        c->kept = NULL;
        for (struct kc_gpu_link &link : c->links) {
                c->reads_nbytes += link.nbytes;
                kc_gpu_link_close(&link);
        }
}

template <class Key>
enum kc_status kc_engine_prepare_share(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                       const struct kc_gpu_share *share, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error refusal = {};
        const struct kc_load total = kc_engine_sum_loads(e->loads, share);
        status = take_share_memory(e, c, &total, kc_gpu_plan_kept_nbytes(c->gpu->limit_nbytes),
                                   &refusal);
        if (status != KC_ENOMEM)
                return status == KC_OK ? KC_OK : kc_fail_as(err, &refusal);
        kc_engine_end_counting(c);
        kc_gpu_forget_refusals(c->gpu);
        return take_share_memory(e, c, &total, 0, err);
}

template <class Key>
enum kc_status kc_engine_count_shares(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                      int device, struct kc_error *err)
{
        enum kc_status status;
        int number;
        for (;;) {
                KC_TRY(kc_gpu_shares_take(&e->shares, device, &number, err));
                if (number < 0)
                        break;
                c->meets = number == device && e->shares.n == e->walking.n && e->walking.n > 1;
                if (c->counter == NULL)
                        KC_TRY(kc_engine_prepare_share(e, c, &e->shares.shares[number], err));
                KC_TRY(count_share(e, c, device, &e->shares.shares[number], err));
        }
out:
        if (status == KC_ENOMEM)
                leave_meeting(e, c, device);
        return status;
}

/* Forget what a follower has counted. */
template <class Key> static void discard(struct gpu_counting_of<Key> *c)
{
        kc_gpu_lsm_free(c->lsm);
        c->lsm = NULL;
        c->counted = {};
        c->npasses = c->nwalks = c->nshared = 0;
}

template <class Key>
enum kc_status kc_engine_follow_shares(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                       int device, struct kc_error *err)
{
        struct kc_error refusal = {};
        enum kc_status status = kc_engine_count_shares(e, c, device, &refusal);
        if (status != KC_OK && status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        kc_engine_end_counting(c);
        if (status == KC_ENOMEM)
                discard(c);
        else if (kc_engine_tallies(e) && c->lsm != NULL)
                KC_TRY(kc_engine_tally_follower(e, c, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(c->gpu->stream)));
        if (refusal.status == KC_ENOMEM)
                kc_gpu_shares_yield(&e->shares, device);
        kc_gpu_shares_done(&e->shares);
out:
        return status;
}

template <class Key> void kc_engine_end_follower(struct gpu_counting_of<Key> *c)
{
        cudaStream_t streams[] = { c->gpu->upload, c->gpu->stream, c->gpu->download };
        if (c->gpu->pool == NULL)
                return; /* it was never open */
        (void)cudaSetDevice(c->gpu->device);
        for (cudaStream_t stream : streams)
                if (stream != NULL)
                        (void)cudaStreamSynchronize(stream);
        kc_engine_end_counting(c);
        kc_gpu_lsm_free(c->lsm);
        c->lsm = NULL;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_engine_prepare_share<Key>( \
                struct gpu_engine_of<Key> *, struct gpu_counting_of<Key> *, \
                const struct kc_gpu_share *, struct kc_error *); \
        template enum kc_status kc_engine_count_shares<Key>(struct gpu_engine_of<Key> *, \
                                                            struct gpu_counting_of<Key> *, int, \
                                                            struct kc_error *); \
        template void kc_engine_end_counting<Key>(struct gpu_counting_of<Key> *); \
        template enum kc_status kc_engine_follow_shares<Key>(struct gpu_engine_of<Key> *, \
                                                             struct gpu_counting_of<Key> *, int, \
                                                             struct kc_error *); \
        template void kc_engine_end_follower<Key>(struct gpu_counting_of<Key> *);
KC_GPU_KEYS(INSTANTIATE)
