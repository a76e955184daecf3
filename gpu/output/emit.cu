#include "gpu/output/emit.cuh"

#include <cstdlib>

namespace
{

/* Pairs of a part in pinned memory, for a sink that takes no blocks. */
template <class Key> struct pairs {
        Key *kmers;
        uint32_t *counts;
        size_t n;
};

/* What one device fills: slots in pinned memory. A part goes through any free slot: if a writer has
 * to wait, for space in the file say, only its slot waits with it. */
template <class Key> struct emit_lane {
        struct kc_gpu *gpu;
        enum kc_gate_bell bell; /* of the thread that fills */
        int nslots, most_slots; /* that may be used; as planned */
        int nopen;              /* the first nopen slots have memory */
        size_t max_pairs, part_pairs;
        struct kc_gpu_encoder<Key> *encoder; /* NULL: the sink takes pairs */
        struct pairs<Key> *pairs;            /* [most_slots] */
        int *traces;                         /* [most_slots] */
        uint64_t next_part;
        /* guarded by the gate */
        bool *busy;      /* [most_slots] from the end of filling to the end of writing */
        uint64_t *parts; /* [most_slots] what a busy slot holds */
};

/* Where the next range of the run begins, if several devices put ranges. */
template <class Key> struct emit_turn {
        uint64_t number; /* of the range */
        uint64_t part;
        struct kc_gpu_carry<Key> carry;
};

} // namespace

template <class Key> struct kc_gpu_emitter {
        int k;
        const struct kc_run_sink *sink;
        struct kc_job *job;
        struct kc_gate *gate;
        struct kc_gpu_trace *trace;
        uint64_t ntaken; /* parts that workers have claimed, with atomic additions */
        /* guarded by the gate */
        struct emit_lane<Key> *lanes[KC_GPU_MAX_DEVICES]; /* [nlanes] or NULL */
        int nlanes;
        struct emit_turn<Key> turn;
        uint64_t nparts; /* UINT64_MAX until the last part is filled */
        struct kc_gpu_emit_totals totals;
        struct kc_run_dropped dropped; /* goes with the last part */
};

template <class Key>
enum kc_status kc_gpu_emitter_new(struct kc_gpu_emitter<Key> **emitter, int k,
                                  const struct kc_run_sink *sink, struct kc_job *job,
                                  struct kc_gate *gate, struct kc_gpu_trace *trace,
                                  struct kc_error *err)
{
        *emitter = (struct kc_gpu_emitter<Key> *)calloc(1, sizeof **emitter);
        if (*emitter == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        (*emitter)->k = k;
        (*emitter)->sink = sink;
        (*emitter)->job = job;
        (*emitter)->gate = gate;
        (*emitter)->trace = trace;
        (*emitter)->nparts = UINT64_MAX;
        return KC_OK;
}

/* ---- lanes ---- */

template <class Key>
static enum kc_status make_pairs(struct pairs<Key> *p, size_t n, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&p->kmers, n * sizeof *p->kmers)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&p->counts, n * sizeof *p->counts)));
out:
        return status;
}

/* Allocate the memory of one more slot. */
template <class Key>
static enum kc_status open_slot(struct emit_lane<Key> *lane, struct kc_error *err)
{
        enum kc_status status;
        if (lane->encoder != NULL)
                KC_TRY(kc_gpu_encoder_open(lane->encoder, lane->nopen, err));
        else
                KC_TRY(make_pairs(&lane->pairs[lane->nopen], lane->part_pairs, err));
        lane->nopen++;
out:
        return status;
}

/* Allocate the first slots' memory; the other slots get theirs when they are first used, because
 * pinning takes time. */
template <class Key>
static enum kc_status open_slots(struct emit_lane<Key> *lane, struct kc_error *err)
{
        enum { NFIRST = 3 };
        enum kc_status status = KC_OK;
        while (lane->nopen < NFIRST && lane->nopen < lane->nslots)
                KC_TRY(open_slot(lane, err));
out:
        return status;
}

template <class Key>
static enum kc_status fill_lane(const struct kc_gpu_emitter<Key> *e, struct emit_lane<Key> *lane,
                                const struct kc_gpu_encoder_caps *caps, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = (size_t)caps->nslots;
        lane->nslots = lane->most_slots = caps->nslots;
        lane->max_pairs = caps->max_pairs;
        lane->part_pairs = caps->part_pairs;
        lane->busy = (bool *)calloc(n, sizeof *lane->busy);
        lane->parts = (uint64_t *)calloc(n, sizeof *lane->parts);
        lane->traces = (int *)calloc(n, sizeof *lane->traces);
        lane->pairs = (struct pairs<Key> *)calloc(n, sizeof *lane->pairs);
        if (lane->busy == NULL || lane->parts == NULL || lane->traces == NULL ||
            lane->pairs == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (e->sink->put_blocks != NULL)
                KC_TRY(kc_gpu_encoder_new(&lane->encoder, lane->gpu, e->k, caps, err));
        KC_TRY(open_slots(lane, err));
out:
        return status;
}

/* Copies may still be under way if another thread has failed. */
template <class Key> static void free_lane(struct emit_lane<Key> *lane)
{
        (void)cudaSetDevice(lane->gpu->device);
        (void)cudaStreamSynchronize(lane->gpu->stream);
        kc_gpu_encoder_free(lane->encoder);
        for (int i = 0; lane->pairs != NULL && i < lane->most_slots; i++) {
                (void)cudaFreeHost(lane->pairs[i].kmers);
                (void)cudaFreeHost(lane->pairs[i].counts);
        }
        free(lane->pairs);
        free(lane->busy);
        free(lane->parts);
        free(lane->traces);
        free(lane);
}

template <class Key>
enum kc_status kc_gpu_emitter_add_lane(struct kc_gpu_emitter<Key> *e, int number,
                                       struct kc_gpu *gpu, enum kc_gate_bell bell,
                                       const struct kc_gpu_encoder_caps *caps, struct kc_error *err)
{
        struct emit_lane<Key> *lane = (struct emit_lane<Key> *)calloc(1, sizeof *lane);
        if (lane == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        lane->gpu = gpu;
        lane->bell = bell;
        const enum kc_status status = fill_lane(e, lane, caps, err);
        if (status != KC_OK) {
                free_lane(lane);
                return status;
        }
        kc_gate_enter(e->gate);
        e->lanes[number] = lane;
        e->nlanes = number < e->nlanes ? e->nlanes : number + 1;
        kc_gate_leave(e->gate);
        return KC_OK;
}

template <class Key> void kc_gpu_emitter_remove_lane(struct kc_gpu_emitter<Key> *e, int number)
{
        struct emit_lane<Key> *lane = e->lanes[number];
        kc_gate_enter(e->gate);
        e->lanes[number] = NULL;
        kc_gate_leave(e->gate);
        free_lane(lane);
}

template <class Key>
enum kc_status kc_gpu_emitter_attach(struct kc_gpu_emitter<Key> *e, struct kc_gpu *gpu,
                                     const struct kc_gpu_encoder_caps *caps, struct kc_error *err)
{
        return kc_gpu_emitter_add_lane(e, 0, gpu, KC_GATE_DRIVER, caps, err);
}

template <class Key> void kc_gpu_emitter_free(struct kc_gpu_emitter<Key> *e)
{
        if (e == NULL)
                return;
        for (int i = e->nlanes; i-- > 0;) /* the driver's device is current in the end */
                if (e->lanes[i] != NULL)
                        free_lane(e->lanes[i]);
        free(e);
}

/* ---- a lane's thread ---- */

/* The first free slot, so that no more slots are used than necessary; -1: none. */
template <class Key> static int free_slot(const struct emit_lane<Key> *lane)
{
        for (int slot = 0; slot < lane->nslots; slot++)
                if (!lane->busy[slot])
                        return slot;
        return -1;
}

template <class Key>
static enum kc_status wait_for_slot(const struct kc_gpu_emitter<Key> *e,
                                    const struct emit_lane<Key> *lane, int *slot,
                                    struct kc_error *err)
{
        return kc_gate_await(
                e->gate, lane->bell, [&] { return (*slot = free_slot(lane)) >= 0; }, err);
}

/* Wait for a free slot. If there is no memory for one that was never used, make do with the
 * others. */
template <class Key>
static enum kc_status take_slot(const struct kc_gpu_emitter<Key> *e, struct emit_lane<Key> *lane,
                                int *slot, struct kc_error *err)
{
        struct kc_error refusal = {};
        enum kc_status status = wait_for_slot(e, lane, slot, err);
        if (status != KC_OK || *slot < lane->nopen)
                return status;
        status = open_slot(lane, &refusal);
        if (status != KC_ENOMEM)
                return status == KC_OK ? status : kc_fail_as(err, &refusal);
        lane->nslots = lane->nopen;
        return wait_for_slot(e, lane, slot, err);
}

/* Download the first pairs of *left, at most a part's, and remove them from it. */
template <class Key>
static enum kc_status download_pairs(struct emit_lane<Key> *lane, int slot,
                                     struct kc_gpu_run<Key> *left, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct pairs<Key> *p = &lane->pairs[slot];
        cudaStream_t stream = lane->gpu->stream;
        p->n = left->n < lane->part_pairs ? left->n : lane->part_pairs;
        if (p->n == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(p->kmers, left->kmers, p->n * sizeof *p->kmers,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(p->counts, left->counts, p->n * sizeof *p->counts,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        left->kmers += p->n;
        left->counts += p->n;
        left->n -= p->n;
out:
        return status;
}

/* Hand the slot over to the workers. */
template <class Key>
static void filled(struct kc_gpu_emitter<Key> *e, struct emit_lane<Key> *lane, int slot, bool last)
{
        const uint64_t part = lane->next_part++;
        kc_gate_enter(e->gate);
        lane->busy[slot] = true;
        lane->parts[slot] = part;
        kc_gate_wake(e->gate, kc_gate_part(part));
        if (last) {
                e->nparts = part + 1;
                kc_gate_wake_all(e->gate);
        }
        kc_gate_leave(e->gate);
}

template <class Key>
static enum kc_status put_part(struct kc_gpu_emitter<Key> *e, struct emit_lane<Key> *lane,
                               struct kc_gpu_run<Key> *left, bool last, struct kc_error *err)
{
        enum kc_status status;
        int slot;
        KC_TRY(take_slot(e, lane, &slot, err));
        lane->traces[slot] = kc_gpu_trace_begin(e->trace, "download", lane->next_part, NULL);
        if (lane->encoder != NULL)
                KC_TRY(kc_gpu_encoder_download(lane->encoder, slot, err));
        else
                KC_TRY(download_pairs(lane, slot, left, err));
        filled(e, lane, slot, last);
out:
        return status;
}

/* At most max_pairs pairs; an empty range ends the run. */
template <class Key>
static enum kc_status put(struct kc_gpu_emitter<Key> *e, struct emit_lane<Key> *lane,
                          const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_run<Key> left = *range;
        const bool last = range->n == 0;
        size_t nparts = last ? 1 : kc_ceil_div(range->n, lane->part_pairs);
        if (lane->encoder != NULL) {
                int trace = kc_gpu_trace_begin(e->trace, "encode", lane->next_part, NULL);
                KC_TRY(kc_gpu_encoder_put(lane->encoder, range, last, &nparts, err));
                kc_gpu_trace_end(e->trace, trace, NULL);
        }
        for (size_t i = 0; i < nparts; i++)
                KC_TRY(put_part(e, lane, &left, last && i + 1 == nparts, err));
out:
        return status;
}

/* Of any length. */
template <class Key>
static enum kc_status put_pieces(struct kc_gpu_emitter<Key> *e, struct emit_lane<Key> *lane,
                                 const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_gpu_run<Key> piece = {};
        for (size_t first = 0; first < range->n; first += piece.n) {
                const size_t left = range->n - first;
                piece.kmers = range->kmers + first;
                piece.counts = range->counts + first;
                piece.n = left < lane->max_pairs ? left : lane->max_pairs;
                KC_TRY(put(e, lane, &piece, err));
        }
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_emitter_put(struct kc_gpu_emitter<Key> *e,
                                  const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        return put(e, e->lanes[0], range, err);
}

template <class Key>
enum kc_status kc_gpu_emitter_put_range(struct kc_gpu_emitter<Key> *e,
                                        const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        return put_pieces(e, e->lanes[0], range, err);
}

template <class Key>
void kc_gpu_emitter_drop(struct kc_gpu_emitter<Key> *e, const struct kc_run_dropped *dropped)
{
        kc_run_add_dropped(&e->dropped, dropped);
}

/* ---- turns ---- */

/* Wait until it is known where a range begins, and let the lane begin there. */
template <class Key>
static enum kc_status take_turn(struct kc_gpu_emitter<Key> *e, struct emit_lane<Key> *lane,
                                uint64_t number, struct emit_turn<Key> *turn, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gate_await(
                e->gate, lane->bell, [&] { return e->turn.number == number; }, err));
        *turn = e->turn; /* only this lane may change it now */
        lane->next_part = turn->part;
        if (lane->encoder != NULL)
                KC_TRY(kc_gpu_encoder_set_carry(lane->encoder, &turn->carry, err));
out:
        return status;
}

/* Find out where the next range begins, from this one's length and last pairs. */
template <class Key>
static enum kc_status foresee(const struct emit_lane<Key> *lane,
                              const struct kc_gpu_run<Key> *range, struct emit_turn<Key> *turn,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        Key kmers[KC_BLOCK_NKMERS];
        uint32_t counts[KC_BLOCK_NKMERS];
        const size_t ntail = kc_carry_ntail(turn->carry.n, range->n), at = range->n - ntail;
        if (lane->encoder == NULL) {
                for (size_t left = range->n; left > 0;) {
                        const size_t n = left < lane->max_pairs ? left : lane->max_pairs;
                        turn->part += kc_ceil_div(n, lane->part_pairs);
                        left -= n;
                }
                return KC_OK;
        }
        turn->part += kc_range_nparts(turn->carry.n, range->n, lane->max_pairs,
                                      kc_part_nblocks(lane->part_pairs));
        KC_TRY(kc_gpu_read(lane->gpu, kmers, range->kmers + at, ntail, err));
        KC_TRY(kc_gpu_read(lane->gpu, counts, range->counts + at, ntail, err));
        kc_carry_advance(&turn->carry, range->n, kmers, counts);
out:
        return status;
}

template <class Key>
static void pass_turn(struct kc_gpu_emitter<Key> *e, struct emit_turn<Key> *turn)
{
        turn->number++;
        kc_gate_enter(e->gate);
        e->turn = *turn;
        for (int i = 0; i < e->nlanes; i++)
                if (e->lanes[i] != NULL)
                        kc_gate_wake(e->gate, e->lanes[i]->bell);
        kc_gate_leave(e->gate);
}

template <class Key>
enum kc_status kc_gpu_emitter_put_turn(struct kc_gpu_emitter<Key> *e, int number, uint64_t turn,
                                       const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status;
        struct emit_lane<Key> *lane = e->lanes[number];
        struct emit_turn<Key> next;
        KC_TRY(take_turn(e, lane, turn, &next, err));
        KC_TRY(foresee(lane, range, &next, err));
        pass_turn(e, &next);
        KC_TRY(put_pieces(e, lane, range, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_emitter_end_turns(struct kc_gpu_emitter<Key> *e, uint64_t nturns,
                                        struct kc_error *err)
{
        enum kc_status status;
        const kc_gpu_run<Key> none = {};
        struct emit_turn<Key> end;
        KC_TRY(take_turn(e, e->lanes[0], nturns, &end, err));
        KC_TRY(put(e, e->lanes[0], &none, err));
out:
        return status;
}

/* ---- workers ---- */

/* A part, and where it is. */
template <class Key> struct emit_part {
        uint64_t number; /* UINT64_MAX: none */
        bool last;
        struct emit_lane<Key> *lane;
        int slot;
};

/* Find the slot of a part that is filled but not written. */
template <class Key>
static bool find_part(const struct kc_gpu_emitter<Key> *e, struct emit_part<Key> *part)
{
        for (int i = 0; i < e->nlanes; i++) {
                part->lane = e->lanes[i];
                for (part->slot = 0; part->lane != NULL && part->slot < part->lane->most_slots;
                     part->slot++)
                        if (part->lane->busy[part->slot] &&
                            part->lane->parts[part->slot] == part->number)
                                return true;
        }
        return false;
}

/* Claim the next part, and wait for it. Many other parts may be filled and written before this
 * thread runs again. */
template <class Key>
static enum kc_status take(struct kc_gpu_emitter<Key> *e, struct emit_part<Key> *part,
                           struct kc_error *err)
{
        const auto found = [&] {
                if (part->number >= e->nparts)
                        part->number = UINT64_MAX;
                part->last = part->number + 1 == e->nparts;
                return part->number == UINT64_MAX || find_part(e, part);
        };
        part->number = __atomic_fetch_add(&e->ntaken, 1, __ATOMIC_RELAXED);
        return kc_gate_await(e->gate, kc_gate_part(part->number), found, err);
}

static void add_counts(struct kc_gpu_emit_totals *totals, const uint32_t *counts, size_t n)
{
        for (size_t i = 0; i < n; i++)
                totals->sum += counts[i];
}

template <class Key>
static enum kc_status put_pairs(struct kc_gpu_emitter<Key> *e, const struct emit_part<Key> *part,
                                struct kc_gpu_emit_totals *totals, struct kc_error *err)
{
        const struct pairs<Key> *p = &part->lane->pairs[part->slot];
        struct kc_run_pairs out = {};
        kc_gpu_trace_end(e->trace, part->lane->traces[part->slot], NULL);
        int trace = kc_gpu_trace_begin(e->trace, "write", part->number, NULL);
        out.part = part->number;
        out.last = true;
        out.kmers = (const uint64_t *)p->kmers;
        out.counts = p->counts;
        out.n = p->n;
        if (part->last)
                out.dropped = e->dropped;
        totals->ndistinct += out.n + out.dropped.ndistinct;
        totals->sum += out.dropped.nkmers;
        add_counts(totals, p->counts, out.n);
        enum kc_status status = e->sink->put(e->sink->ctx, &out, err);
        kc_gpu_trace_end(e->trace, trace, NULL);
        return status;
}

static void add_blocks(struct kc_gpu_emit_totals *totals, const struct kc_run_blocks *blocks)
{
        totals->ndistinct += blocks->nbig + blocks->dropped.ndistinct;
        for (uint64_t count = 1; count < KC_RUN_NROWS; count++) {
                totals->ndistinct += blocks->rows[count];
                totals->sum += count * blocks->rows[count];
        }
        add_counts(totals, blocks->big_counts, blocks->nbig);
        totals->sum += blocks->dropped.nkmers;
}

template <class Key>
static enum kc_status put_blocks(struct kc_gpu_emitter<Key> *e, const struct emit_part<Key> *part,
                                 struct kc_gpu_emit_totals *totals, struct kc_error *err)
{
        const struct emit_lane<Key> *lane = part->lane;
        struct kc_run_blocks blocks = {};
        enum kc_status status = kc_gpu_encoder_wait(lane->encoder, part->slot, &blocks, err);
        kc_gpu_trace_end(e->trace, lane->traces[part->slot], NULL);
        if (status != KC_OK)
                return status;
        int trace = kc_gpu_trace_begin(e->trace, "write", part->number, NULL);
        blocks.part = part->number;
        if (part->last)
                blocks.dropped = e->dropped;
        add_blocks(totals, &blocks);
        status = e->sink->put_blocks(e->sink->ctx, &blocks, err);
        kc_gpu_trace_end(e->trace, trace, NULL);
        return status;
}

template <class Key>
static void done(struct kc_gpu_emitter<Key> *e, const struct emit_part<Key> *part)
{
        kc_gate_tell(e->gate, part->lane->bell, [&] { part->lane->busy[part->slot] = false; });
        kc_job_advance(e->job, 1);
}

template <class Key>
enum kc_status kc_gpu_emitter_write(struct kc_gpu_emitter<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_emit_totals totals = {};
        struct emit_part<Key> part;
        for (;;) {
                KC_TRY(take(e, &part, err));
                if (part.number == UINT64_MAX)
                        break;
                KC_TRY(KC_CUDA(cudaSetDevice(part.lane->gpu->device))); /* it is set per thread */
                if (part.lane->encoder != NULL)
                        KC_TRY(put_blocks(e, &part, &totals, err));
                else
                        KC_TRY(put_pairs(e, &part, &totals, err));
                done(e, &part);
        }
        kc_gate_enter(e->gate);
        e->totals.ndistinct += totals.ndistinct;
        e->totals.sum += totals.sum;
        kc_gate_leave(e->gate);
out:
        return status;
}

template <class Key>
void kc_gpu_emitter_totals(const struct kc_gpu_emitter<Key> *e, struct kc_gpu_emit_totals *totals)
{
        *totals = e->totals;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_emitter_new<Key>( \
                struct kc_gpu_emitter<Key> **, int, const struct kc_run_sink *, struct kc_job *, \
                struct kc_gate *, struct kc_gpu_trace *, struct kc_error *); \
        template enum kc_status kc_gpu_emitter_attach<Key>( \
                struct kc_gpu_emitter<Key> *, struct kc_gpu *, const struct kc_gpu_encoder_caps *, \
                struct kc_error *); \
        template enum kc_status kc_gpu_emitter_add_lane<Key>( \
                struct kc_gpu_emitter<Key> *, int, struct kc_gpu *, enum kc_gate_bell, \
                const struct kc_gpu_encoder_caps *, struct kc_error *); \
        template void kc_gpu_emitter_remove_lane<Key>(struct kc_gpu_emitter<Key> *, int); \
        template enum kc_status kc_gpu_emitter_put_turn<Key>( \
                struct kc_gpu_emitter<Key> *, int, uint64_t, const struct kc_gpu_run<Key> *, \
                struct kc_error *); \
        template enum kc_status kc_gpu_emitter_end_turns<Key>(struct kc_gpu_emitter<Key> *, \
                                                              uint64_t, struct kc_error *); \
        template enum kc_status kc_gpu_emitter_put<Key>( \
                struct kc_gpu_emitter<Key> *, const struct kc_gpu_run<Key> *, struct kc_error *); \
        template enum kc_status kc_gpu_emitter_put_range<Key>( \
                struct kc_gpu_emitter<Key> *, const struct kc_gpu_run<Key> *, struct kc_error *); \
        template void kc_gpu_emitter_drop<Key>(struct kc_gpu_emitter<Key> *, \
                                               const struct kc_run_dropped *); \
        template enum kc_status kc_gpu_emitter_write<Key>(struct kc_gpu_emitter<Key> *, \
                                                          struct kc_error *); \
        template void kc_gpu_emitter_totals<Key>(const struct kc_gpu_emitter<Key> *, \
                                                 struct kc_gpu_emit_totals *); \
        template void kc_gpu_emitter_free<Key>(struct kc_gpu_emitter<Key> *);
KC_GPU_KEYS(INSTANTIATE)
