#include "gpu/engine/devices/exchange.cuh"

#include "gpu/runs/merge.cuh"

#include <algorithm>

/* ---- joining ---- */

/* Memory besides the inboxes: for the results of merges, two of which exist at a time if there
 * are more than two parts. */
template <class Key> static size_t merging_nbytes(size_t max_pairs)
{
        return 2 * kc_gpu_run_nbytes<Key>(max_pairs) + kc_gpu_merge_nbytes<Key>(max_pairs);
}

/* The memory for merging is held while the LSM plans with the rest, then given back to the pool. */
template <class Key>
static enum kc_status take_memory(struct kc_exchange_member<Key> *m, struct kc_error *err)
{
        enum kc_status status;
        uint8_t *merging = NULL;
        const size_t nbytes = merging_nbytes<Key>(m->max_pairs);
        for (struct kc_exchange_inbox<Key> &inbox : m->inboxes)
                KC_TRY(kc_gpu_run_new(m->gpu, &inbox.pairs, m->max_pairs, err));
        KC_TRY(kc_gpu_new(m->gpu, &merging, nbytes, err));
        KC_TRY(kc_gpu_lsm_plan(m->lsm, &m->max_pairs, err));
        KC_TRY(KC_CUDA(
                cudaStreamSynchronize(m->gpu->stream))); /* other devices write to the inboxes */
out:
        kc_gpu_delete(m->gpu, merging, nbytes);
        return status;
}

template <class Key> static void free_inboxes(struct kc_exchange_member<Key> *m)
{
        for (struct kc_exchange_inbox<Key> &inbox : m->inboxes)
                kc_gpu_run_free(m->gpu, &inbox.pairs);
}

template <class Key>
enum kc_status kc_gpu_exchange_join(struct kc_gpu_exchange<Key> *x, int member, struct kc_gpu *gpu,
                                    struct kc_gpu_lsm<Key> *lsm, enum kc_gate_bell bell,
                                    size_t max_pairs, struct kc_error *err)
{
        struct kc_exchange_member<Key> *m = &x->members[member];
        m->gpu = gpu;
        m->lsm = lsm;
        m->bell = bell;
        m->max_pairs = max_pairs;
        m->takes_part = true;
        const enum kc_status status = take_memory(m, err);
        if (status == KC_ENOMEM)
                kc_gpu_exchange_leave(x, member);
        return status;
}

template <class Key> void kc_gpu_exchange_leave(struct kc_gpu_exchange<Key> *x, int member)
{
        struct kc_exchange_member<Key> *m = &x->members[member];
        if (!m->takes_part)
                return;
        free_inboxes(m);
        kc_gpu_lsm_unplan(m->lsm);
        kc_gpu_forget_refusals(m->gpu);
        m->takes_part = false;
}

/* ---- cutting ---- */

template <class Key>
static enum kc_status list_runs(struct kc_exchange_member<Key> *m,
                                struct kc_deal_member<Key> *listed, struct kc_error *err)
{
        listed->nruns = kc_gpu_lsm_nruns(m->lsm);
        listed->runs =
                (const struct kc_fences<Key> **)calloc(listed->nruns + 1, sizeof *listed->runs);
        if (listed->runs == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = 0; i < listed->nruns; i++)
                listed->runs[i] = kc_gpu_lsm_fences(m->lsm, i);
        return KC_OK;
}

/* Many runs need longer ranges, but every member must be able to merge them. */
template <class Key>
static enum kc_status choose_length(const struct kc_gpu_exchange<Key> *x, size_t nmembers,
                                    const struct kc_deal_member<Key> *listed, size_t *npairs,
                                    struct kc_error *err)
{
        size_t nruns = 0, most = SIZE_MAX;
        for (size_t i = 0; i < nmembers; i++) {
                nruns += listed[i].nruns;
                most = std::min(most, x->members[x->taking[i]].max_pairs);
        }
        *npairs = std::min(std::max(*npairs, kc_deal_least_pairs(nruns)), most);
        if (*npairs < kc_deal_least_pairs(nruns))
                return kc_fail(err, KC_ENOMEM, "too little device memory to merge %zu runs", nruns);
        return KC_OK;
}

/* Give the members their ranks, and the length of ranges. */
template <class Key> static void number_members(struct kc_gpu_exchange<Key> *x, size_t npairs)
{
        for (size_t i = 0; i < x->deal.nmembers; i++) {
                struct kc_exchange_member<Key> *m = &x->members[x->taking[i]];
                m->rank = i;
                m->max_pairs = npairs;
        }
}

template <class Key>
enum kc_status kc_gpu_exchange_begin(struct kc_gpu_exchange<Key> *x, size_t usual,
                                     struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_deal_member<Key> listed[KC_GPU_MAX_DEVICES] = {};
        size_t n = 0;
        for (int i = 0; i < KC_GPU_MAX_DEVICES; i++)
                if (x->members[i].takes_part) {
                        x->taking[n] = i;
                        KC_TRY(list_runs(&x->members[i], &listed[n++], err));
                }
        KC_TRY(choose_length(x, n, listed, &usual, err));
        KC_TRY(kc_deal_new(&x->deal, listed, n, usual, err));
        number_members(x, usual);
out:
        for (struct kc_deal_member<Key> &one : listed)
                free(one.runs);
        return status;
}

/* ---- sending ---- */

template <class Key>
static struct kc_exchange_inbox<Key> *inbox_of(const struct kc_gpu_exchange<Key> *x,
                                               struct kc_exchange_member<Key> *taker,
                                               size_t number) {
        return &taker->inboxes[number / x->deal.nmembers % KC_EXCHANGE_NINBOXES];
}

/* The stream and the events belong to the current device: kc_gpu_link_open makes it the
 * receiver's. */
template <class Key>
static enum kc_status open_road(const struct kc_exchange_member<Key> *from,
                                const struct kc_exchange_member<Key> *to,
                                struct kc_exchange_road *road, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_link_open(&road->link, from->gpu, to->gpu, err));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&road->stream, cudaStreamNonBlocking)));
        for (cudaEvent_t &event : road->arrived)
                KC_TRY(kc_gpu_event_new(&event, err));
out:
        return status;
}

template <class Key>
static enum kc_status begin_member(struct kc_gpu_exchange<Key> *x,
                                   struct kc_exchange_member<Key> *m, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_range_cuts<Key> cuts = {
                true, x->deal.cuts, x->deal.nranges - 1
        };
        KC_TRY(kc_gpu_lsm_cut(m->lsm, m->max_pairs, &cuts, err));
        for (size_t i = 0; i < x->deal.nmembers; i++)
                KC_TRY(open_road(m, &x->members[x->taking[i]], &m->roads[i], err));
        KC_TRY(KC_CUDA(cudaSetDevice(m->gpu->device)));
out:
        return status;
}

/* Start copying complete pairs to their place in an inbox. */
template <class Key>
static enum kc_status copy(struct kc_exchange_road *road, cudaEvent_t arrived,
                           const struct kc_gpu_run<Key> *to, size_t place,
                           const struct kc_gpu_run<Key> *pairs, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(road->link.to->device)));
        if (pairs->n > 0) {
                KC_TRY(kc_gpu_link_copy(&road->link, to->kmers + place, pairs->kmers,
                                        pairs->n * sizeof(Key), road->stream, err));
                KC_TRY(kc_gpu_link_copy(&road->link, to->counts + place, pairs->counts,
                                        pairs->n * sizeof(uint32_t), road->stream, err));
        }
        KC_TRY(KC_CUDA(cudaEventRecord(arrived, road->stream)));
        KC_TRY(KC_CUDA(cudaSetDevice(road->link.from->device)));
out:
        return status;
}

/* Wait until the inbox for a range is empty. */
template <class Key>
static enum kc_status wait_for_inbox(const struct kc_gpu_exchange<Key> *x,
                                     const struct kc_exchange_member<Key> *from,
                                     const struct kc_exchange_member<Key> *to, size_t number,
                                     struct kc_error *err)
{
        const size_t turn = number / x->deal.nmembers;
        return kc_gate_await(
                x->gate, from->bell, [&] { return turn < to->nemptied + KC_EXCHANGE_NINBOXES; },
                err);
}

template <class Key>
static void announce(struct kc_gpu_exchange<Key> *x, const struct kc_exchange_member<Key> *from,
                     const struct kc_exchange_member<Key> *to, struct kc_exchange_inbox<Key> *inbox,
                     size_t npairs)
{
        kc_gate_enter(x->gate);
        inbox->lengths[from->rank] = npairs;
        if (++inbox->nlengths == x->deal.nmembers)
                kc_gate_wake(x->gate, to->bell);
        kc_gate_leave(x->gate);
}

/* Merge the member's own pairs of the next range, and wait for them. If the LSM reuses memory,
 * it must not do so before the pairs sent from there have arrived. */
template <class Key>
static enum kc_status merge_own(struct kc_exchange_member<Key> *m, struct kc_gpu_run<Key> *pairs,
                                struct kc_error *err)
{
        enum kc_status status;
        if (m->sent != NULL && !kc_gpu_lsm_is_still(m->lsm))
                KC_TRY(KC_CUDA(cudaStreamWaitEvent(m->gpu->stream, m->sent, 0)));
        KC_TRY(kc_gpu_lsm_next(m->lsm, m->max_pairs, pairs, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(m->gpu->stream)));
out:
        return status;
}

/* Send the member's own pairs of the next range to the member that takes it. */
template <class Key>
static enum kc_status send(struct kc_gpu_exchange<Key> *x, struct kc_exchange_member<Key> *m,
                           struct kc_error *err)
{
        enum kc_status status;
        const size_t number = m->nsent, taker = kc_deal_taker(&x->deal, number);
        const size_t place = kc_deal_place(&x->deal, number, m->rank);
        struct kc_exchange_member<Key> *to = &x->members[x->taking[taker]];
        struct kc_exchange_inbox<Key> *inbox = inbox_of(x, to, number);
        struct kc_exchange_road *road = &m->roads[taker];
        struct kc_gpu_run<Key> pairs;
        KC_TRY(merge_own(m, &pairs, err));
        if (place + pairs.n > kc_deal_place(&x->deal, number, m->rank + 1))
                return kc_fail(err, KC_EDEVICE, "a range has more pairs than it can have");
        KC_TRY(wait_for_inbox(x, m, to, number, err));
        m->sent = road->arrived[inbox - to->inboxes];
        KC_TRY(copy(road, m->sent, &inbox->pairs, place, &pairs, err));
        announce(x, m, to, inbox, pairs.n);
        m->nsent++;
out:
        return status;
}

/* ---- taking ---- */

template <class Key>
static size_t next_range(const struct kc_gpu_exchange<Key> *x,
                         const struct kc_exchange_member<Key> *m)
{
        return m->rank + m->ntaken * x->deal.nmembers;
}

/* Let senders fill the emptied inbox with another range. */
template <class Key>
static void release_inbox(struct kc_gpu_exchange<Key> *x, struct kc_exchange_member<Key> *m)
{
        kc_gate_enter(x->gate);
        m->nemptied++;
        for (size_t i = 0; i < x->deal.nmembers; i++)
                kc_gate_wake(x->gate, x->members[x->taking[i]].bell);
        kc_gate_leave(x->gate);
}

/* Wait until all members have sent their pairs of a range, and make the stream wait for the
 * copies. */
template <class Key>
static enum kc_status receive(const struct kc_gpu_exchange<Key> *x,
                              struct kc_exchange_member<Key> *m, size_t number,
                              struct kc_gpu_run<Key> *parts, struct kc_error *err)
{
        enum kc_status status;
        struct kc_exchange_inbox<Key> *inbox = inbox_of(x, m, number);
        KC_TRY(kc_gate_await(
                x->gate, m->bell, [&] { return inbox->nlengths == x->deal.nmembers; }, err));
        inbox->nlengths = 0; /* others use the inbox again once it is released */
        for (size_t i = 0; i < x->deal.nmembers; i++) {
                const size_t place = kc_deal_place(&x->deal, number, i);
                const struct kc_exchange_road *road = &x->members[x->taking[i]].roads[m->rank];
                parts[i] = { inbox->pairs.kmers + place, inbox->pairs.counts + place,
                             inbox->lengths[i], 0 };
                KC_TRY(KC_CUDA(
                        cudaStreamWaitEvent(m->gpu->stream, road->arrived[inbox - m->inboxes], 0)));
        }
out:
        return status;
}

/* If all pairs come from one member, the range stays in the inbox. */
template <class Key>
static enum kc_status take(struct kc_gpu_exchange<Key> *x, struct kc_exchange_member<Key> *m,
                           size_t number, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> parts[KC_GPU_MAX_DEVICES];
        KC_TRY(receive(x, m, number, parts, err));
        status = kc_gpu_lsm_merge(m->lsm, parts, x->deal.nmembers, &m->range, err);
        for (size_t i = 0; status != KC_OK && i < x->deal.nmembers; i++)
                if (parts[i].cap > 0)
                        kc_gpu_run_free(m->gpu, &parts[i]);
        if (status != KC_OK)
                return status;
        m->ntaken++;
        m->holds_inbox = m->range.cap == 0;
        if (m->holds_inbox)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(m->gpu->stream)));
        release_inbox(x, m);
out:
        return status;
}

/* Free the range that was taken last: the caller no longer needs it, but may have enqueued work
 * on it. */
template <class Key>
static enum kc_status drop_range(struct kc_gpu_exchange<Key> *x, struct kc_exchange_member<Key> *m,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (m->range.cap > 0)
                kc_gpu_run_free(m->gpu, &m->range);
        m->range = {};
        if (!m->holds_inbox)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(m->gpu->stream)));
        m->holds_inbox = false;
        release_inbox(x, m);
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_exchange_next(struct kc_gpu_exchange<Key> *x, int member, size_t *number,
                                    struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        struct kc_exchange_member<Key> *m = &x->members[member];
        const size_t nmembers = x->deal.nmembers, nranges = x->deal.nranges;
        const size_t ahead = std::min(nranges, (m->ntaken + KC_EXCHANGE_NINBOXES) * nmembers);
        *range = {};
        KC_TRY(drop_range(x, m, err));
        if (m->nsent == 0)
                KC_TRY(begin_member(x, m, err));
        while (m->nsent < ahead)
                KC_TRY(send(x, m, err));
        *number = std::min(next_range(x, m), nranges);
        if (*number == nranges)
                return KC_OK;
        KC_TRY(take(x, m, *number, err));
        *range = m->range;
out:
        return status;
}

/* ---- the end ---- */

template <class Key> static void close_roads(struct kc_exchange_member<Key> *m)
{
        for (struct kc_exchange_road &road : m->roads) {
                if (road.stream != NULL) {
                        (void)cudaStreamSynchronize(road.stream);
                        (void)cudaStreamDestroy(road.stream);
                }
                for (cudaEvent_t event : road.arrived)
                        kc_gpu_event_free(event);
                kc_gpu_link_close(&road.link);
                road = {};
        }
}

template <class Key> void kc_gpu_exchange_free(struct kc_gpu_exchange<Key> *x)
{
        for (struct kc_exchange_member<Key> &m : x->members)
                close_roads(&m);
        for (struct kc_exchange_member<Key> &m : x->members) {
                if (!m.takes_part)
                        continue;
                (void)cudaSetDevice(m.gpu->device);
                if (m.range.cap > 0)
                        kc_gpu_run_free(m.gpu, &m.range);
                free_inboxes(&m);
                m.takes_part = false;
        }
        kc_deal_free(&x->deal);
}

template <class Key>
uint64_t kc_gpu_exchange_sent_nbytes(const struct kc_gpu_exchange<Key> *x, int member)
{
        const struct kc_exchange_member<Key> *m = &x->members[member];
        uint64_t nbytes = 0;
        for (size_t i = 0; i < x->deal.nmembers; i++)
                nbytes += i != m->rank ? m->roads[i].link.nbytes : 0;
        return nbytes;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_exchange_join( \
                struct kc_gpu_exchange<Key> *, int, struct kc_gpu *, struct kc_gpu_lsm<Key> *, \
                enum kc_gate_bell, size_t, struct kc_error *); \
        template void kc_gpu_exchange_leave(struct kc_gpu_exchange<Key> *, int); \
        template enum kc_status kc_gpu_exchange_begin(struct kc_gpu_exchange<Key> *, size_t, \
                                                      struct kc_error *); \
        template enum kc_status kc_gpu_exchange_next(struct kc_gpu_exchange<Key> *, int, size_t *, \
                                                     struct kc_gpu_run<Key> *, struct kc_error *); \
        template uint64_t kc_gpu_exchange_sent_nbytes(const struct kc_gpu_exchange<Key> *, int); \
        template void kc_gpu_exchange_free(struct kc_gpu_exchange<Key> *);
KC_GPU_KEYS(INSTANTIATE)
