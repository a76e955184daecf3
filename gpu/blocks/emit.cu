#include "gpu/blocks/emit.cuh"

#include <cstdlib>

namespace
{

/* Pairs of a part in pinned memory, for a sink that takes no blocks. */
template <class Key> struct pairs {
        Key *kmers;
        uint32_t *counts;
        size_t n;
};

} // namespace

/* A part goes through any free slot: if a writer has to wait, for space in the file say, only its
 * slot waits with it. */
template <class Key> struct kc_gpu_emitter {
        int k;
        const struct kc_run_sink *sink;
        struct kc_job *job;
        struct kc_gate *gate;
        struct kc_gpu_trace *trace;
        struct kc_gpu *gpu;     /* NULL: not attached */
        int nslots, most_slots; /* that may be used; as planned */
        int nopen;              /* the first slots have memory; driver only */
        size_t max_pairs, part_pairs;
        struct kc_gpu_encoder<Key> *encoder; /* NULL: the sink takes pairs */
        struct pairs<Key> *pairs;            /* [most_slots] */
        int *traces;                         /* [most_slots] */
        /* guarded by the gate */
        bool *busy;      /* [most_slots] from the end of filling to the end of writing */
        uint64_t *parts; /* [most_slots] what a busy slot holds */
        uint64_t nfilled, ntaken;
        bool ended;
        struct kc_gpu_emit_totals totals;
        struct kc_run_dropped dropped; /* goes with part 0 */
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
        return KC_OK;
}

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
static enum kc_status open_slot(struct kc_gpu_emitter<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        if (e->encoder != NULL)
                KC_TRY(kc_gpu_encoder_open(e->encoder, e->nopen, err));
        else
                KC_TRY(make_pairs(&e->pairs[e->nopen], e->part_pairs, err));
        e->nopen++;
out:
        return status;
}

/* Allocate the first slots' memory; the other slots get theirs when they are first used, because
 * pinning takes time. */
template <class Key>
static enum kc_status open_slots(struct kc_gpu_emitter<Key> *e, struct kc_error *err)
{
        enum { NFIRST = 3 };
        enum kc_status status = KC_OK;
        while (e->nopen < NFIRST && e->nopen < e->nslots)
                KC_TRY(open_slot(e, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_emitter_attach(struct kc_gpu_emitter<Key> *e, struct kc_gpu *gpu,
                                     const struct kc_gpu_encoder_caps *caps, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = (size_t)caps->nslots;
        e->gpu = gpu;
        e->nslots = e->most_slots = caps->nslots;
        e->max_pairs = caps->max_pairs;
        e->part_pairs = caps->part_pairs;
        e->busy = (bool *)calloc(n, sizeof *e->busy);
        e->parts = (uint64_t *)calloc(n, sizeof *e->parts);
        e->traces = (int *)calloc(n, sizeof *e->traces);
        e->pairs = (struct pairs<Key> *)calloc(n, sizeof *e->pairs);
        if (e->busy == NULL || e->parts == NULL || e->traces == NULL || e->pairs == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (e->sink->put_blocks != NULL)
                KC_TRY(kc_gpu_encoder_new(&e->encoder, gpu, e->k, &e->sink->filter, caps, err));
        KC_TRY(open_slots(e, err));
out:
        return status;
}

template <class Key> void kc_gpu_emitter_free(struct kc_gpu_emitter<Key> *e)
{
        if (e == NULL)
                return;
        kc_gpu_encoder_free(e->encoder);
        for (int i = 0; e->pairs != NULL && i < e->most_slots; i++) {
                (void)cudaFreeHost(e->pairs[i].kmers);
                (void)cudaFreeHost(e->pairs[i].counts);
        }
        free(e->pairs);
        free(e->busy);
        free(e->parts);
        free(e->traces);
        free(e);
}

/* ---- the driver ---- */

/* The first free slot, so that no more slots are used than necessary; -1: none. */
template <class Key> static int free_slot(const struct kc_gpu_emitter<Key> *e)
{
        for (int slot = 0; slot < e->nslots; slot++)
                if (!e->busy[slot])
                        return slot;
        return -1;
}

template <class Key>
static enum kc_status wait_for_slot(struct kc_gpu_emitter<Key> *e, int *slot, struct kc_error *err)
{
        kc_gate_enter(e->gate);
        enum kc_status status = kc_gate_check(e->gate, err);
        while (status == KC_OK && (*slot = free_slot(e)) < 0)
                status = kc_gate_wait(e->gate, KC_GATE_DRIVER, err);
        kc_gate_leave(e->gate);
        return status;
}

/* Wait for a free slot. If there is no memory for one that was never used, make do with the others. */
template <class Key>
static enum kc_status take_slot(struct kc_gpu_emitter<Key> *e, int *slot, struct kc_error *err)
{
        struct kc_error refusal = {};
        enum kc_status status = wait_for_slot(e, slot, err);
        if (status != KC_OK || *slot < e->nopen)
                return status;
        status = open_slot(e, &refusal);
        if (status != KC_ENOMEM)
                return status == KC_OK ? status : kc_fail_as(err, &refusal);
        e->nslots = e->nopen;
        return wait_for_slot(e, slot, err);
}

/* Remove the first pairs, at most a part's, from what is left. */
template <class Key>
static enum kc_status download_pairs(struct kc_gpu_emitter<Key> *e, int slot,
                                     struct kc_gpu_run<Key> *left, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct pairs<Key> *p = &e->pairs[slot];
        cudaStream_t stream = e->gpu->stream;
        p->n = left->n < e->part_pairs ? left->n : e->part_pairs;
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
template <class Key> static void filled(struct kc_gpu_emitter<Key> *e, int slot, bool last)
{
        kc_gate_enter(e->gate);
        e->busy[slot] = true;
        e->parts[slot] = e->nfilled;
        e->ended = last;
        kc_gate_wake(e->gate, kc_gate_part(e->nfilled++));
        if (last)
                kc_gate_wake_all(e->gate);
        kc_gate_leave(e->gate);
}

template <class Key>
static enum kc_status put_part(struct kc_gpu_emitter<Key> *e, struct kc_gpu_run<Key> *left,
                               bool last, struct kc_error *err)
{
        enum kc_status status;
        int slot;
        KC_TRY(take_slot(e, &slot, err));
        e->traces[slot] = kc_gpu_trace_begin(e->trace, "download", e->nfilled, NULL);
        if (e->encoder != NULL)
                KC_TRY(kc_gpu_encoder_download(e->encoder, slot, err));
        else
                KC_TRY(download_pairs(e, slot, left, err));
        filled(e, slot, last);
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_emitter_put(struct kc_gpu_emitter<Key> *e,
                                  const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_run<Key> left = *range;
        const bool last = range->n == 0;
        size_t nparts = last ? 1 : kc_ceil_div(range->n, e->part_pairs);
        if (e->encoder != NULL) {
                int trace = kc_gpu_trace_begin(e->trace, "encode", e->nfilled, NULL);
                KC_TRY(kc_gpu_encoder_put(e->encoder, range, last, &nparts, err));
                kc_gpu_trace_end(e->trace, trace, NULL);
        }
        for (size_t i = 0; i < nparts; i++)
                KC_TRY(put_part(e, &left, last && i + 1 == nparts, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_emitter_put_range(struct kc_gpu_emitter<Key> *e,
                                        const struct kc_gpu_run<Key> *range, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_run<Key> piece = {
        };
        for (size_t first = 0; first < range->n; first += piece.n) {
                const size_t left = range->n - first;
                piece.kmers = range->kmers + first;
                piece.counts = range->counts + first;
                piece.n = left < e->max_pairs ? left : e->max_pairs;
                KC_TRY(kc_gpu_emitter_put(e, &piece, err));
        }
out:
        return status;
}

template <class Key>
void kc_gpu_emitter_drop(struct kc_gpu_emitter<Key> *e, const struct kc_run_dropped *dropped)
{
        kc_run_add_dropped(&e->dropped, dropped);
}

/* ---- workers ---- */

/* Part 0 also reports what was dropped before the pairs came here. */
template <class Key>
static void add_dropped(const struct kc_gpu_emitter<Key> *e, uint64_t part,
                        struct kc_run_dropped *dropped)
{
        if (part == 0)
                kc_run_add_dropped(dropped, &e->dropped);
}

/* The slot that holds a part, which is filled and not written. */
template <class Key> static int slot_of(const struct kc_gpu_emitter<Key> *e, uint64_t part)
{
        int slot = 0;
        while (!e->busy[slot] || e->parts[slot] != part)
                slot++;
        return slot;
}

/* Claim the next part, and wait for it; *part = UINT64_MAX if there will be none. Many other parts
 * may be filled and written before this thread runs again. */
template <class Key>
static enum kc_status take(struct kc_gpu_emitter<Key> *e, uint64_t *part, int *slot,
                           struct kc_error *err)
{
        kc_gate_enter(e->gate);
        enum kc_status status = kc_gate_check(e->gate, err);
        *part = e->ntaken++;
        while (status == KC_OK && *part >= e->nfilled && !e->ended)
                status = kc_gate_wait(e->gate, kc_gate_part(*part), err);
        if (*part >= e->nfilled)
                *part = UINT64_MAX;
        else
                *slot = slot_of(e, *part);
        kc_gate_leave(e->gate);
        return status;
}

static void add_counts(struct kc_gpu_emit_totals *totals, const uint32_t *counts, size_t n)
{
        for (size_t i = 0; i < n; i++)
                totals->sum += counts[i];
}

template <class Key>
static enum kc_status put_pairs(struct kc_gpu_emitter<Key> *e, uint64_t part, int slot,
                                struct kc_gpu_emit_totals *totals, struct kc_error *err)
{
        const struct pairs<Key> *p = &e->pairs[slot];
        struct kc_run_pairs out = {};
        kc_gpu_trace_end(e->trace, e->traces[slot], NULL);
        int trace = kc_gpu_trace_begin(e->trace, "write", part, NULL);
        out.part = part;
        out.last = true;
        out.kmers = (const uint64_t *)p->kmers;
        out.counts = p->counts;
        out.n = kc_run_filter_pairs(&e->sink->filter, (uint64_t *)p->kmers, p->counts, p->n,
                                    sizeof(Key) / sizeof(uint64_t), &out.dropped);
        add_dropped(e, part, &out.dropped);
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
static enum kc_status put_blocks(struct kc_gpu_emitter<Key> *e, uint64_t part, int slot,
                                 struct kc_gpu_emit_totals *totals, struct kc_error *err)
{
        struct kc_run_blocks blocks = {};
        enum kc_status status = kc_gpu_encoder_wait(e->encoder, slot, &blocks, err);
        kc_gpu_trace_end(e->trace, e->traces[slot], NULL);
        if (status != KC_OK)
                return status;
        int trace = kc_gpu_trace_begin(e->trace, "write", part, NULL);
        blocks.part = part;
        add_dropped(e, part, &blocks.dropped);
        add_blocks(totals, &blocks);
        status = e->sink->put_blocks(e->sink->ctx, &blocks, err);
        kc_gpu_trace_end(e->trace, trace, NULL);
        return status;
}

template <class Key> static void done(struct kc_gpu_emitter<Key> *e, int slot)
{
        kc_gate_enter(e->gate);
        e->busy[slot] = false;
        kc_gate_wake(e->gate, KC_GATE_DRIVER);
        kc_gate_leave(e->gate);
        kc_job_advance(e->job, 1);
}

template <class Key>
enum kc_status kc_gpu_emitter_write(struct kc_gpu_emitter<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_emit_totals totals = {};
        uint64_t part;
        int slot = 0;
        for (;;) {
                KC_TRY(take(e, &part, &slot, err));
                if (part == UINT64_MAX)
                        break;
                KC_TRY(KC_CUDA(cudaSetDevice(e->gpu->device))); /* it is per thread */
                if (e->encoder != NULL)
                        KC_TRY(put_blocks(e, part, slot, &totals, err));
                else
                        KC_TRY(put_pairs(e, part, slot, &totals, err));
                done(e, slot);
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
