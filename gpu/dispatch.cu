#include "gpu/dispatch.cuh"

#include <algorithm>

enum {
        ROOM_SHARE = 32, /* of a device's memory for outboxes */
        MAX_REGION = 1 << 19,
};

/* ---- sizes ---- */

/* Of a record and its copy. */
static size_t record_nwords(const struct kc_superkmer_setup *superkmers)
{
        return 1 + (size_t)superkmers->copy_nwords;
}

static size_t region_nwords(const struct kc_dispatch_member *m)
{
        return m->region * record_nwords(&m->superkmers);
}

static size_t outbox_nwords(const struct kc_gpu_dispatch *d, const struct kc_dispatch_member *m)
{
        return (size_t)d->n * region_nwords(m);
}

size_t kc_gpu_dispatch_outboxes_nbytes(const struct kc_superkmer_setup *superkmers, int n,
                                       uint64_t region)
{
        return KC_DISPATCH_NOUTBOXES * (size_t)n * region * record_nwords(superkmers) *
               sizeof(uint64_t);
}

uint64_t kc_gpu_dispatch_region(const struct kc_superkmer_setup *superkmers, int n,
                                size_t room_nbytes)
{
        const uint64_t fitting =
                room_nbytes / ROOM_SHARE / kc_gpu_dispatch_outboxes_nbytes(superkmers, n, 1);
        const uint64_t least = KC_GROUP_NSPANS * KC_SPAN_NKMERS; /* a record has at least a k-mer */
        return std::min(std::max(fitting, least), (uint64_t)MAX_REGION);
}

/* ---- joining ---- */

static enum kc_status make_outbox(const struct kc_gpu_dispatch *d, struct kc_dispatch_member *m,
                                  struct kc_dispatch_outbox *outbox, struct kc_error *err)
{
        enum kc_status status;
        const size_t n = KC_GPU_MAX_DEVICES;
        KC_TRY(kc_gpu_new(m->gpu, &outbox->memory, outbox_nwords(d, m), err));
        KC_TRY(kc_gpu_new(m->gpu, &outbox->lengths, n, err));
        KC_TRY(kc_gpu_new(m->gpu, &outbox->shares, n, err));
        KC_TRY(KC_CUDA(
                cudaMallocHost((void **)&outbox->host_lengths, n * sizeof *outbox->host_lengths)));
        KC_TRY(KC_CUDA(
                cudaMallocHost((void **)&outbox->host_shares, n * sizeof *outbox->host_shares)));
out:
        return status;
}

static void free_outbox(const struct kc_gpu_dispatch *d, const struct kc_dispatch_member *m,
                        struct kc_dispatch_outbox *outbox)
{
        kc_gpu_delete(m->gpu, outbox->memory, outbox_nwords(d, m));
        kc_gpu_delete(m->gpu, outbox->lengths, (size_t)KC_GPU_MAX_DEVICES);
        kc_gpu_delete(m->gpu, outbox->shares, (size_t)KC_GPU_MAX_DEVICES);
        (void)cudaFreeHost(outbox->host_lengths);
        (void)cudaFreeHost(outbox->host_shares);
        *outbox = {};
}

enum kc_status kc_gpu_dispatch_join(struct kc_gpu_dispatch *d, int member, struct kc_gpu *gpu,
                                    const struct kc_superkmer_setup *superkmers,
                                    const struct kc_gpu_chunks *chunks,
                                    const struct kc_gpu_inbox *inboxes, uint64_t region,
                                    enum kc_gate_bell bell, struct kc_error *err)
{
        enum kc_status status;
        struct kc_dispatch_member *m = &d->members[member];
        m->gpu = gpu;
        m->superkmers = *superkmers;
        m->chunks = *chunks;
        m->bell = bell;
        m->region = region;
        m->piece = std::max(chunks->ngroups, 1u);
        m->joined = true;
        std::copy_n(inboxes, KC_COUNT_NINBOXES, m->inboxes);
        for (struct kc_dispatch_outbox &outbox : m->outboxes)
                KC_TRY(make_outbox(d, m, &outbox, err));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&m->finding, cudaStreamNonBlocking)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream))); /* other streams use the memory */
out:
        if (status != KC_OK)
                kc_gpu_dispatch_leave(d, member);
        return status;
}

void kc_gpu_dispatch_plan(struct kc_gpu_dispatch *d, int member,
                          const struct kc_dispatch_passes *passes, const struct kc_bins *bins)
{
        kc_gate_enter(d->gate);
        d->members[member].passes = *passes;
        d->members[member].bins = bins;
        d->nsteps = std::max(d->nsteps, passes->n);
        kc_gate_leave(d->gate);
}

/* ---- roads ---- */

/* The stream and the events belong to the current device: kc_gpu_link_open makes it the
 * receiver's. */
static enum kc_status open_road(const struct kc_dispatch_member *from,
                                const struct kc_dispatch_member *to, struct kc_dispatch_road *road,
                                struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_link_open(&road->link, from->gpu, to->gpu, err));
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&road->stream, cudaStreamNonBlocking)));
        for (cudaEvent_t &event : road->copied)
                KC_TRY(kc_gpu_event_new(&event, err));
        for (cudaEvent_t &event : road->arrived)
                KC_TRY(kc_gpu_event_new(&event, err));
out:
        return status;
}

static void close_road(struct kc_dispatch_road *road)
{
        if (road->stream != NULL) {
                (void)cudaStreamSynchronize(road->stream);
                (void)cudaStreamDestroy(road->stream);
        }
        for (cudaEvent_t event : road->copied)
                kc_gpu_event_free(event);
        for (cudaEvent_t event : road->arrived)
                kc_gpu_event_free(event);
        kc_gpu_link_close(&road->link);
        *road = {};
}

static enum kc_status open_roads(struct kc_gpu_dispatch *d, struct kc_dispatch_member *m,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < d->n; i++)
                KC_TRY(open_road(m, &d->members[i], &m->roads[i], err));
        KC_TRY(KC_CUDA(cudaSetDevice(m->gpu->device)));
out:
        return status;
}

/* ---- finding ---- */

/* The region for a member. */
static struct kc_records_out region_of(const struct kc_dispatch_member *m,
                                       const struct kc_dispatch_outbox *outbox, int member)
{
        struct kc_records_out out = {};
        out.records = outbox->memory + (size_t)member * region_nwords(m);
        out.copies = out.records + m->region;
        out.cap = m->region;
        out.n = outbox->lengths + member;
        return out;
}

/* The members that count in this step, in the order of the outbox's shares. Returns their number. */
static int list_receivers(struct kc_gpu_dispatch *d, size_t step, int *receivers)
{
        int n = 0;
        kc_gate_enter(d->gate);
        for (int i = 0; i < d->n; i++)
                if (step < d->members[i].passes.n && !d->members[i].gave_up)
                        receivers[n++] = i;
        kc_gate_leave(d->gate);
        return n;
}

/* Find the records of some groups. Waits until outbox->host_lengths says how many there are. */
static enum kc_status find(const struct kc_gpu_dispatch *d, struct kc_dispatch_member *m,
                           struct kc_dispatch_outbox *outbox, size_t step, const int *receivers,
                           int nreceivers, uint32_t first, uint32_t ngroups, struct kc_error *err)
{
        enum kc_status status;
        for (int i = 0; i < nreceivers; i++)
                outbox->host_shares[i] = { d->members[receivers[i]].bins[step],
                                           region_of(m, outbox, receivers[i]) };
        KC_TRY(KC_CUDA(cudaMemcpyAsync(outbox->shares, outbox->host_shares,
                                       (size_t)nreceivers * sizeof *outbox->shares,
                                       cudaMemcpyHostToDevice, m->finding)));
        KC_TRY(KC_CUDA(cudaMemsetAsync(outbox->lengths, 0,
                                       KC_GPU_MAX_DEVICES * sizeof *outbox->lengths, m->finding)));
        KC_TRY(kc_superkmer_deal({ m->gpu, m->finding }, &m->superkmers, &m->chunks, first, ngroups,
                                 outbox->shares, nreceivers, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(outbox->host_lengths, outbox->lengths,
                                       KC_GPU_MAX_DEVICES * sizeof *outbox->lengths,
                                       cudaMemcpyDeviceToHost, m->finding)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(m->finding)));
out:
        return status;
}

static bool overflows(const struct kc_dispatch_member *m, const struct kc_dispatch_outbox *outbox,
                      const int *receivers, int nreceivers)
{
        for (int i = 0; i < nreceivers; i++)
                if (outbox->host_lengths[receivers[i]] > m->region)
                        return true;
        return false;
}

/* ---- sending ---- */

/* Wait until the copies from the outbox are complete. */
static enum kc_status empty_outbox(struct kc_dispatch_member *m, int number, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_dispatch_outbox *outbox = &m->outboxes[number];
        for (int i = 0; i < KC_GPU_MAX_DEVICES; i++) {
                if (outbox->sent[i])
                        KC_TRY(KC_CUDA(cudaEventSynchronize(m->roads[i].copied[number])));
                outbox->sent[i] = false;
        }
out:
        return status;
}

/* Claim n places in the receiver's inbox, once it is empty. *fits = false: nothing is to be sent. */
static enum kc_status claim(struct kc_gpu_dispatch *d, struct kc_dispatch_member *to, size_t step,
                            uint64_t n, uint64_t *place, bool *fits, struct kc_error *err)
{
        const int inbox = (int)(step % KC_COUNT_NINBOXES);
        kc_gate_enter(d->gate);
        enum kc_status status = kc_gate_check(d->gate, err);
        while (status == KC_OK && !to->gave_up && step >= to->nreleased + KC_COUNT_NINBOXES)
                status = kc_gate_wait(d->gate, KC_GATE_SENDERS, err);
        *place = to->nrecords[inbox];
        *fits = !to->gave_up && n <= to->inboxes[inbox].cap - *place;
        if (*fits)
                to->nrecords[inbox] += n;
        to->gave_up |= !*fits;
        if (!*fits)
                kc_gate_wake(d->gate, to->bell);
        kc_gate_leave(d->gate);
        return status;
}

/* Send the records in a region of outbox `number` to their receiver. */
static enum kc_status send(struct kc_gpu_dispatch *d, struct kc_dispatch_member *m, int number,
                           int receiver, size_t step, struct kc_error *err)
{
        enum kc_status status;
        struct kc_dispatch_outbox *outbox = &m->outboxes[number];
        struct kc_dispatch_road *road = &m->roads[receiver];
        struct kc_dispatch_member *to = &d->members[receiver];
        const struct kc_gpu_inbox *inbox = &to->inboxes[step % KC_COUNT_NINBOXES];
        const struct kc_records_out region = region_of(m, outbox, receiver);
        const uint64_t n = outbox->host_lengths[receiver];
        const size_t copy_nwords = (size_t)m->superkmers.copy_nwords;
        uint64_t place;
        bool fits;
        KC_TRY(claim(d, to, step, n, &place, &fits, err));
        if (!fits || n == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaSetDevice(to->gpu->device)));
        KC_TRY(kc_gpu_link_copy(&road->link, inbox->records + place, region.records,
                                n * sizeof(uint64_t), road->stream, err));
        KC_TRY(kc_gpu_link_copy(&road->link, inbox->copies + place * copy_nwords, region.copies,
                                n * copy_nwords * sizeof(uint64_t), road->stream, err));
        KC_TRY(KC_CUDA(cudaEventRecord(road->copied[number], road->stream)));
        outbox->sent[receiver] = true;
        KC_TRY(KC_CUDA(cudaSetDevice(m->gpu->device)));
out:
        return status;
}

/* Find and send the records of some groups. Each member begins with another receiver. */
static enum kc_status send_piece(struct kc_gpu_dispatch *d, int member, size_t step,
                                 const int *receivers, int nreceivers, uint32_t first,
                                 uint32_t ngroups, bool *fits, struct kc_error *err)
{
        enum kc_status status;
        struct kc_dispatch_member *m = &d->members[member];
        const int number = (int)(m->npieces % KC_DISPATCH_NOUTBOXES);
        KC_TRY(empty_outbox(m, number, err));
        KC_TRY(find(d, m, &m->outboxes[number], step, receivers, nreceivers, first, ngroups, err));
        *fits = !overflows(m, &m->outboxes[number], receivers, nreceivers);
        if (!*fits)
                return KC_OK;
        m->npieces++;
        for (int i = 0; i < nreceivers; i++)
                KC_TRY(send(d, m, number, receivers[(member + i) % nreceivers], step, err));
out:
        return status;
}

/* Let the receivers know that this is all that the member has for them in this step. */
static enum kc_status end_step(struct kc_gpu_dispatch *d, int member, size_t step,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_dispatch_member *m = &d->members[member];
        for (int i = 0; i < d->n; i++) {
                KC_TRY(KC_CUDA(cudaSetDevice(d->members[i].gpu->device)));
                KC_TRY(KC_CUDA(cudaEventRecord(m->roads[i].arrived[step % KC_COUNT_NINBOXES],
                                               m->roads[i].stream)));
        }
        KC_TRY(KC_CUDA(cudaSetDevice(m->gpu->device)));
        kc_gate_enter(d->gate);
        for (int i = 0; i < d->n; i++)
                d->members[i].nsteps[member] = step + 1;
        kc_gate_wake(d->gate, KC_GATE_DRIVER);
        kc_gate_wake(d->gate, KC_GATE_FOLLOWERS);
        kc_gate_leave(d->gate);
out:
        return status;
}

/* Wait until the event that ends the step may be recorded again: all receivers are done with the
 * step that used it before. */
static enum kc_status begin_step(struct kc_gpu_dispatch *d, size_t step, struct kc_error *err)
{
        kc_gate_enter(d->gate);
        enum kc_status status = kc_gate_check(d->gate, err);
        for (int i = 0; i < d->n; i++) {
                const struct kc_dispatch_member *to = &d->members[i];
                while (status == KC_OK && !to->gave_up && to->nreleased < to->passes.n &&
                       step >= to->nreleased + KC_COUNT_NINBOXES)
                        status = kc_gate_wait(d->gate, KC_GATE_SENDERS, err);
        }
        kc_gate_leave(d->gate);
        return status;
}

/* If a piece has more records than a region holds, they are found again, half a piece at a time. */
static enum kc_status send_step(struct kc_gpu_dispatch *d, int member, size_t step,
                                struct kc_error *err)
{
        enum kc_status status;
        struct kc_dispatch_member *m = &d->members[member];
        int receivers[KC_GPU_MAX_DEVICES];
        KC_TRY(begin_step(d, step, err));
        for (uint32_t first = 0; first < m->chunks.ngroups;) {
                const uint32_t n = std::min(m->piece, m->chunks.ngroups - first);
                const int nreceivers = list_receivers(d, step, receivers);
                bool fits = true;
                KC_TRY(kc_gate_check(d->gate, err));
                if (nreceivers == 0)
                        break;
                KC_TRY(send_piece(d, member, step, receivers, nreceivers, first, n, &fits, err));
                if (!fits && n == 1)
                        return kc_fail(err, KC_EUSAGE, "an outbox is too small for a group");
                if (fits)
                        first += n;
                else
                        m->piece = (n + 1) / 2;
        }
        KC_TRY(end_step(d, member, step, err));
out:
        return status;
}

enum kc_status kc_gpu_dispatch_send(struct kc_gpu_dispatch *d, int member, struct kc_error *err)
{
        enum kc_status status;
        struct kc_dispatch_member *m = &d->members[member];
        KC_TRY(open_roads(d, m, err));
        for (size_t step = 0; step < d->nsteps; step++)
                KC_TRY(send_step(d, member, step, err));
        for (int i = 0; i < d->n; i++)
                KC_TRY(KC_CUDA(cudaStreamSynchronize(m->roads[i].stream)));
        kc_gate_enter(d->gate);
        for (int i = 0; i < d->n; i++)
                d->members[i].nbytes += i != member ? m->roads[i].link.nbytes : 0;
        m->has_sent = true;
        kc_gate_wake(d->gate, KC_GATE_DRIVER);
        kc_gate_wake(d->gate, KC_GATE_FOLLOWERS);
        kc_gate_leave(d->gate);
out:
        return status;
}

/* ---- receiving ---- */

static bool have_all_sent(const struct kc_gpu_dispatch *d, const struct kc_dispatch_member *m,
                          size_t step)
{
        for (int i = 0; i < d->n; i++)
                if (m->nsteps[i] <= step)
                        return false;
        return true;
}

enum kc_status kc_gpu_dispatch_receive(struct kc_gpu_dispatch *d, int member, size_t step,
                                       uint64_t *nrecords, bool *fits, struct kc_error *err)
{
        struct kc_dispatch_member *m = &d->members[member];
        const int inbox = (int)(step % KC_COUNT_NINBOXES);
        kc_gate_enter(d->gate);
        enum kc_status status = kc_gate_check(d->gate, err);
        while (status == KC_OK && !m->gave_up && !have_all_sent(d, m, step))
                status = kc_gate_wait(d->gate, m->bell, err);
        *fits = !m->gave_up;
        *nrecords = m->nrecords[inbox];
        m->nrecords[inbox] = 0;
        kc_gate_leave(d->gate);
        for (int i = 0; i < d->n && status == KC_OK && *fits; i++)
                status = KC_CUDA(cudaStreamWaitEvent(
                        m->gpu->stream, d->members[i].roads[member].arrived[inbox], 0));
        return status;
}

void kc_gpu_dispatch_release(struct kc_gpu_dispatch *d, int member)
{
        kc_gate_enter(d->gate);
        d->members[member].nreleased++;
        kc_gate_wake(d->gate, KC_GATE_SENDERS);
        kc_gate_leave(d->gate);
}

void kc_gpu_dispatch_give_up(struct kc_gpu_dispatch *d, int member)
{
        kc_gate_enter(d->gate);
        d->members[member].gave_up = true;
        kc_gate_wake(d->gate, KC_GATE_SENDERS);
        kc_gate_leave(d->gate);
}

/* ---- the end ---- */

enum kc_status kc_gpu_dispatch_wait(struct kc_gpu_dispatch *d, int member, struct kc_error *err)
{
        kc_gate_enter(d->gate);
        enum kc_status status = kc_gate_check(d->gate, err);
        d->members[member].has_received = true;
        kc_gate_wake(d->gate, KC_GATE_DRIVER);
        kc_gate_wake(d->gate, KC_GATE_FOLLOWERS);
        for (int i = 0; i < d->n; i++)
                while (status == KC_OK && !(d->members[i].has_sent && d->members[i].has_received))
                        status = kc_gate_wait(d->gate, d->members[member].bell, err);
        kc_gate_leave(d->gate);
        return status;
}

uint64_t kc_gpu_dispatch_received_nbytes(const struct kc_gpu_dispatch *d, int member)
{
        return d->members[member].nbytes;
}

void kc_gpu_dispatch_leave(struct kc_gpu_dispatch *d, int member)
{
        struct kc_dispatch_member *m = &d->members[member];
        if (!m->joined)
                return;
        for (struct kc_dispatch_road &road : m->roads)
                close_road(&road);
        (void)cudaSetDevice(m->gpu->device);
        if (m->finding != NULL) {
                (void)cudaStreamSynchronize(m->finding);
                (void)cudaStreamDestroy(m->finding);
        }
        for (struct kc_dispatch_outbox &outbox : m->outboxes)
                free_outbox(d, m, &outbox);
        m->joined = false;
}
