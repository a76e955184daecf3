/*
 * Private to engine.cu: counting what devices find in their own reads and send to each other.
 *
 *      a device's sender:  own reads ──▶ super-k-mers of all devices' passes ──▶ inboxes
 *      its other thread:   own inbox ──▶ its share, pass by pass ──▶ its LSM
 *
 * The alternative is that each device gets all reads and finds its own super-k-mers (followers.cuh).
 * That sends fewer bytes, but each device then searches all reads, so with many devices this way is
 * better. If a device cannot count its share this way, that device or another one counts the share
 * the other way.
 */
#ifndef KC_GPU_DISPATCHING_CUH
#define KC_GPU_DISPATCHING_CUH

#include "gpu/followers.cuh"

/* With fewer devices, sending all reads should cost less. This is predicted, not measured;
 * docs/dev/notes/gpu.md says how to measure it. */
enum { DISPATCH_LEAST_DEVICES = 5 };

static bool may_dispatch(const struct kc_gpu_params *params)
{
        if (params->sending == KC_SENDING_USUAL)
                return params->nothers + 1 >= DISPATCH_LEAST_DEVICES;
        return params->sending == KC_SENDING_SUPERKMERS && params->nothers > 0;
}

/* ---- memory ---- */

/* A counter with inboxes. KC_ENOMEM: too little memory. */
template <class Key>
static enum kc_status make_inboxes(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                   const struct kc_load *total, uint64_t region,
                                   struct kc_gpu_inbox *inboxes, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_plan_input input = plan_input(e, total);
        const size_t outboxes =
                kc_gpu_dispatch_outboxes_nbytes(&e->superkmers, e->dispatch.n, region);
        const size_t room = kc_gpu_room(c->gpu);
        input.sent = true;
        KC_TRY(kc_gpu_plan_counter<Key>(&input, room - std::min(room, outboxes), &c->caps, err));
        KC_TRY(make_counter(e, c, err));
        KC_TRY(kc_gpu_counter_inboxes(c->counter, inboxes, err));
out:
        return status;
}

/* Plan passes whose records probably fit in an inbox. KC_ENOMEM: they cannot. */
template <class Key>
static enum kc_status plan_sent_passes(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                       const struct kc_gpu_share *share, uint64_t cap,
                                       struct kc_error *err)
{
        const struct kc_load most = { cap, c->caps.nkmers };
        c->passes = (struct kc_gpu_pass *)calloc(KC_NLOADS, sizeof *c->passes);
        c->bins = (struct kc_bins *)calloc(KC_NLOADS, sizeof *c->bins);
        if (c->passes == NULL || c->bins == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = share->first; i < share->end; i++)
                if (e->loads[i].nrecords > cap)
                        return kc_fail(err, KC_ENOMEM, "too little device memory for a minimizer");
        c->nsent_passes = kc_gpu_plan_passes(e->loads, share, &most, c->passes);
        for (size_t i = 0; i < c->nsent_passes; i++)
                c->bins[i] = kc_gpu_counter_bins(c->counter, &c->passes[i]);
        return KC_OK;
}

/* The device's own reads, all of which are in its memory. */
template <class Key>
static enum kc_status own_chunks(const struct gpu_engine<Key> *e, int number,
                                 struct kc_gpu_chunks *chunks, struct kc_error *err)
{
        uint64_t position;
        struct kc_gpu_kept *kept = reads_of(e->in, number);
        *chunks = {};
        return kept != NULL ? kc_gpu_kept_begin(kept, NULL, 0, chunks, &position, err) : KC_OK;
}

/* Free what a device needs for being sent its share. */
template <class Key>
static void leave_dispatch(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c, int number)
{
        kc_gpu_dispatch_leave(&e->dispatch, number);
        end_counting(c);
        free(c->passes);
        free(c->bins);
        c->passes = NULL;
        c->bins = NULL;
}

/* The same, and forget what it has counted. */
template <class Key>
static void forget_dispatch(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c, int number)
{
        leave_dispatch(e, c, number);
        discard(c);
        kc_gpu_forget_refusals(c->gpu);
}

template <class Key>
static enum kc_status take_dispatch_memory(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                           int number, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_share *share = &e->shares.shares[number];
        const struct kc_load total = sum_loads(e->loads, share);
        const uint64_t region =
                kc_gpu_dispatch_region(&e->superkmers, e->dispatch.n, kc_gpu_room(c->gpu));
        struct kc_gpu_inbox inboxes[KC_COUNT_NINBOXES];
        struct kc_dispatch_passes passes;
        struct kc_gpu_chunks chunks;
        KC_TRY(make_inboxes(e, c, &total, region, inboxes, err));
        KC_TRY(plan_sent_passes(e, c, share, inboxes[0].cap, err));
        KC_TRY(own_chunks(e, number, &chunks, err));
        KC_TRY(kc_gpu_dispatch_join(&e->dispatch, number, c->gpu, &e->superkmers, &chunks, inboxes,
                                    region, number == 0 ? KC_GATE_DRIVER : KC_GATE_FOLLOWERS, err));
        KC_TRY(make_lsm(e, c, err));
        passes = { c->passes, c->nsent_passes };
        kc_gpu_dispatch_plan(&e->dispatch, number, &passes, c->bins);
out:
        return status;
}

/* *joined = false: the device has too little memory. */
template <class Key>
static enum kc_status join_dispatch(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                    int number, bool *joined, struct kc_error *err)
{
        struct kc_error refusal = {};
        const enum kc_status status = take_dispatch_memory(e, c, number, &refusal);
        *joined = status == KC_OK;
        if (status == KC_OK)
                return KC_OK;
        forget_dispatch(e, c, number);
        return status == KC_ENOMEM ? KC_OK : kc_fail_as(err, &refusal);
}

/* ---- counting ---- */

template <class Key>
static enum kc_status count_sent_pass(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                      size_t step, uint64_t nrecords, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_pass *pass = &c->passes[step];
        struct kc_gpu_run_taker<Key> taker = {
                c, insert<Key>
        };
        KC_TRY(kc_gpu_lsm_make_room(c->lsm, kc_gpu_plan_run_room<Key>(c->caps.npairs), err));
        KC_TRY(kc_gpu_counter_count_inbox(c->counter, (int)(step % KC_COUNT_NINBOXES), nrecords,
                                          pass, &taker, &c->counted, err));
        c->npasses++;
        kc_job_advance(e->crew.job, pass->width >> KC_LOAD_SHIFT);
out:
        return status;
}

/* *fits = false: the share does not fit in inboxes after all. */
template <class Key>
static enum kc_status count_sent(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c, int number,
                                 bool *fits, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t nrecords;
        *fits = true;
        for (size_t step = 0; step < c->nsent_passes; step++) {
                KC_TRY(kc_gpu_dispatch_receive(&e->dispatch, number, step, &nrecords, fits, err));
                if (!*fits)
                        break;
                KC_TRY(count_sent_pass(e, c, step, nrecords, err));
                kc_gpu_dispatch_release(&e->dispatch, number);
        }
out:
        return status;
}

/* Count the device's share from its inboxes. If memory runs out, leave the share to the other
 * devices; if the share does not fit in the inboxes, the device will count it over all reads later.
 * In all cases, wait until the other devices have sent everything. */
template <class Key>
static enum kc_status count_dispatched(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                       int number, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error refusal = {};
        bool fits;
        const enum kc_status sent = count_sent(e, c, number, &fits, &refusal);
        if (sent != KC_OK && sent != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        const bool counted = sent == KC_OK && fits;
        if (!counted)
                kc_gpu_dispatch_give_up(&e->dispatch, number);
        KC_TRY(kc_gpu_dispatch_wait(&e->dispatch, number, err));
        c->records_nbytes += kc_gpu_dispatch_received_nbytes(&e->dispatch, number);
        if (counted)
                leave_dispatch(e, c, number);
        else
                forget_dispatch(e, c, number);
        KC_TRY(KC_CUDA(cudaStreamSynchronize(c->gpu->stream)));
        if (counted)
                kc_gpu_shares_counted(&e->shares, number);
        else if (sent == KC_ENOMEM)
                kc_gpu_shares_leave(&e->shares, number);
out:
        return status;
}

/* ---- threads ---- */

/* A follower, once all reads are kept. */
template <class Key>
static enum kc_status follow_dispatch(struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                      int number, struct kc_error *err)
{
        enum kc_status status;
        bool is_offered, joined, goes;
        KC_TRY(kc_gpu_muster_consider(&e->muster, &is_offered, err));
        if (!is_offered)
                return KC_OK;
        KC_TRY(join_dispatch(e, c, number, &joined, err));
        kc_gpu_muster_answer(&e->muster, joined);
        KC_TRY(kc_gpu_muster_await(&e->muster, KC_GATE_FOLLOWERS, &goes, err));
        if (goes)
                KC_TRY(count_dispatched(e, c, number, err));
        else
                forget_dispatch(e, c, number);
        kc_gpu_muster_finish(&e->muster);
out:
        return status;
}

/* Whether it pays. All reads must be in the memory of the devices that have read them. */
template <class Key> static bool should_dispatch(const struct gpu_engine<Key> *e, size_t nshares)
{
        const struct kc_gpu_kept_where *where = &e->in->where;
        return e->crew.nsenders > 0 && nshares == (size_t)e->crew.nsenders &&
               where->host_nbytes == 0 && where->file_nbytes == 0;
}

/* The driver, once it has settled the reads and the shares. *dispatched: the devices have counted
 * their shares, or left them. */
template <class Key>
static enum kc_status drive_dispatch(struct gpu_engine<Key> *e, size_t nshares, bool *dispatched,
                                     struct kc_error *err)
{
        enum kc_status status;
        bool joined = false, willing = false;
        *dispatched = false;
        if (!should_dispatch(e, nshares)) {
                kc_gpu_muster_decide(&e->muster, false);
                return KC_OK;
        }
        kc_gpu_counter_free(e->own.counter);
        e->own.counter = NULL;
        e->dispatch.n = e->crew.nsenders;
        kc_gpu_muster_offer(&e->muster);
        KC_TRY(join_dispatch(e, &e->own, 0, &joined, err));
        KC_TRY(kc_gpu_muster_hear(&e->muster, e->crew.nfollowers, &willing, err));
        *dispatched = joined && willing;
        kc_gpu_muster_decide(&e->muster, *dispatched);
        if (*dispatched)
                KC_TRY(count_dispatched(e, &e->own, 0, err));
        else
                forget_dispatch(e, &e->own, 0);
        KC_TRY(kc_gpu_muster_wait(&e->muster, e->crew.nfollowers, err));
out:
        return status;
}

/* The thread that sends for a device. */
template <class Key> static enum kc_status send_records(void *ctx, int number, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        enum kc_status status;
        const struct gpu_counting<Key> *c = number == 0 ? &e->own : &e->others[number - 1];
        struct kc_error failure = {};
        bool goes;
        KC_TRY(kc_gpu_muster_await(&e->muster, KC_GATE_SENDERS, &goes, &failure));
        if (!goes)
                return KC_OK;
        KC_TRY(kc_cuda_check(cudaSetDevice(c->gpu->device), "cudaSetDevice", &failure));
        KC_TRY(kc_gpu_dispatch_send(&e->dispatch, number, &failure));
out:
        return status == KC_OK ? KC_OK : fail_for(c, &failure, err);
}

#endif
