/*
 * The buffers on the device: workers claim places in them for their batches; the driver takes a
 * buffer when it is full.
 */
#include "gpu/feed/feed_internal.cuh"

size_t kc_gpu_feed_nbytes(const struct kc_gpu_feed_caps *caps)
{
        return (size_t)caps->nbuffers *
               (caps->nwords * sizeof(uint64_t) + caps->nspans * sizeof(struct kc_span));
}

static enum kc_status make_buffers(struct kc_gpu_feed *feed, struct kc_gpu *gpu,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < feed->caps.nbuffers; i++) {
                struct feed_buffer *b = &feed->buffers[i];
                KC_TRY(kc_gpu_new(gpu, &b->words, feed->caps.nwords, err));
                KC_TRY(kc_gpu_new(gpu, &b->spans, feed->caps.nspans, err));
                KC_TRY(kc_gpu_event_new(&b->uploaded, err));
        }
        /* Uploads use a stream of their own, and must not begin before the memory is allocated. */
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

enum kc_status kc_gpu_feed_attach(struct kc_gpu_feed *feed, struct kc_gpu *gpu,
                                  const struct kc_gpu_feed_caps *caps, struct kc_error *err)
{
        enum kc_status status;
        feed->caps = *caps;
        feed->gpu = gpu;
        KC_TRY(kc_feed_pin(feed, err));
        KC_TRY(make_buffers(feed, gpu, err));
        kc_gate_enter(feed->gate);
        feed->attached = true;
        kc_gate_wake(feed->gate, KC_GATE_WORKERS);
        kc_gate_leave(feed->gate);
out:
        return status;
}

void kc_gpu_feed_detach(struct kc_gpu_feed *feed)
{
        if (feed->gpu == NULL)
                return;
        (void)cudaStreamSynchronize(feed->gpu->upload);
        for (struct feed_buffer &b : feed->buffers) {
                kc_gpu_delete(feed->gpu, b.words, feed->caps.nwords);
                kc_gpu_delete(feed->gpu, b.spans, feed->caps.nspans);
                if (b.uploaded != NULL)
                        (void)cudaEventDestroy(b.uploaded);
                b = {};
        }
        feed->gpu = NULL;
}

/* ---- workers ---- */

static void close_buffer(struct kc_gpu_feed *feed, struct feed_buffer *b)
{
        b->closed = true;
        kc_gpu_trace_end(feed->trace, b->fill_trace, NULL);
        feed->filling = (feed->filling + 1) % feed->caps.nbuffers;
        kc_gate_wake(feed->gate, KC_GATE_DRIVER);
}

static bool fits(const struct kc_gpu_feed *feed, const struct feed_buffer *b, size_t nwords,
                 const struct kc_spans_size *size)
{
        return b->nwords + nwords <= feed->caps.nwords &&
               b->size.nspans + size->nspans <= feed->caps.nspans &&
               b->size.nbases + size->nbases <= feed->caps.nbases;
}

static void begin_buffer(struct kc_gpu_feed *feed, struct feed_buffer *b)
{
        uint64_t number = feed->nbegun++;
        b->fill_trace = kc_gpu_trace_begin(feed->trace, "fill", number, NULL);
        b->upload_trace = kc_gpu_trace_begin(feed->trace, "upload", number, feed->gpu->upload);
}

static void take_place(struct kc_gpu_feed *feed, struct feed_buffer *b, size_t nwords,
                       const struct kc_spans_size *size, struct feed_place *place)
{
        if (b->nwords == 0)
                begin_buffer(feed, b);
        *place = { b, b->nwords, b->size.nspans };
        b->nwords += nwords;
        b->size.nspans += size->nspans;
        b->size.nmarks += size->nmarks;
        b->size.nbases += size->nbases;
        b->size.nkmers += size->nkmers;
        b->ncopies++;
}

enum kc_status kc_feed_claim(struct kc_gpu_feed *feed, size_t nwords,
                             const struct kc_spans_size *size, struct feed_place *place,
                             struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_gate_enter(feed->gate);
        for (;;) {
                struct feed_buffer *b = &feed->buffers[feed->filling];
                if (b->closed) {
                        KC_TRY(kc_gate_wait(feed->gate, KC_GATE_WORKERS, err));
                } else if (fits(feed, b, nwords, size)) {
                        take_place(feed, b, nwords, size, place);
                        break;
                } else {
                        close_buffer(feed, b);
                }
        }
out:
        kc_gate_leave(feed->gate);
        return status;
}

void kc_feed_enqueued(struct kc_gpu_feed *feed, const struct feed_place *place)
{
        kc_gate_enter(feed->gate);
        if (--place->buffer->ncopies == 0 && place->buffer->closed)
                kc_gate_wake(feed->gate, KC_GATE_DRIVER);
        kc_gate_leave(feed->gate);
}

/* ---- the driver ---- */

/* Wait for a closed buffer for which all copies are enqueued; *next = NULL at the end of the
 * input. */
static enum kc_status next_buffer(struct kc_gpu_feed *feed, struct feed_buffer **next,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct feed_buffer *b = &feed->buffers[feed->taking];
        kc_gate_enter(feed->gate);
        while (!b->closed || b->ncopies > 0) {
                if (feed->nreading == 0 && !b->closed) {
                        if (b->nwords == 0)
                                break;
                        close_buffer(feed, b);
                } else {
                        KC_TRY(kc_gate_wait(feed->gate, KC_GATE_DRIVER, err));
                }
        }
        *next = b->closed ? b : NULL;
out:
        kc_gate_leave(feed->gate);
        return status;
}

enum kc_status kc_gpu_feed_take(struct kc_gpu_feed *feed, struct kc_gpu_reads *reads,
                                struct kc_error *err)
{
        enum kc_status status;
        struct feed_buffer *b = NULL;
        *reads = {};
        KC_TRY(next_buffer(feed, &b, err));
        if (b == NULL)
                goto out;
        kc_gpu_trace_end(feed->trace, b->upload_trace, feed->gpu->upload);
        KC_TRY(KC_CUDA(cudaEventRecord(b->uploaded, feed->gpu->upload)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(feed->gpu->stream, b->uploaded, 0)));
        reads->words = b->words;
        reads->spans = b->spans;
        reads->nwords = b->nwords;
        reads->nspans = b->size.nspans;
        reads->nbases = b->size.nbases;
        reads->nkmers = b->size.nkmers;
        reads->nmarks = b->size.nmarks;
out:
        return status;
}

void kc_gpu_feed_give_back(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        struct feed_buffer *b = &feed->buffers[feed->taking];
        b->closed = false;
        b->nwords = 0;
        b->size = {};
        feed->taking = (feed->taking + 1) % feed->caps.nbuffers;
        kc_gate_wake(feed->gate, KC_GATE_WORKERS);
        kc_gate_leave(feed->gate);
}
