#include "gpu/feed.cuh"

#include "gpu/spans.cuh"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

enum {
        NBUFFERS = 2,
        NLOCKED = 2, /* slots of a worker: one is filled while the other is copied */
        HUGE_PAGE = 2 << 20,
        LARGEST_PAGE = 64 << 10, /* but for huge ones: slots are locked one by one */
        WORDS_PER_SEGMENT = 4,
};

/* A host batch and its spans in memory that is locked, so that they are copied without a detour. */
struct slot {
        struct kc_batch batch;
        struct kc_span *spans; /* [most_spans] behind the words */
        bool locked;
        bool busy;          /* being copied; copied tells when it is over */
        cudaEvent_t copied; /* NULL: never copied yet */
};

struct reader {
        struct slot slots[NLOCKED];
        struct kc_batch ahead[KC_FEED_NAHEAD]; /* what is read before the device is ready */
};

/* Reads on the device: filled by the workers until closed, then the driver's. */
struct buffer {
        uint64_t *words;
        struct kc_span *spans;
        size_t nwords, nspans;
        uint64_t nkmers;
        bool closed;
        int ncopies; /* workers that have claimed a place and not enqueued their copies yet */
        cudaEvent_t uploaded;
        int fill_trace, upload_trace;
};

struct kc_gpu_feed {
        struct kc_gpu_feed_setup setup;
        struct kc_gate *gate;
        struct kc_gpu_trace *trace;
        struct kc_gpu *gpu; /* NULL: not attached */
        struct kc_gpu_feed_caps caps;
        struct reader *readers;
        char *memory; /* of all slots */
        /* guarded by the gate */
        bool attached;
        struct buffer buffers[NBUFFERS];
        int filling, taking; /* buffers are used in turn */
        uint64_t nbegun;     /* batches, for the trace */
        int nreading;
        double end_seconds;
};

static size_t most_segments(uint32_t batch_words)
{
        return batch_words / WORDS_PER_SEGMENT;
}

static size_t most_spans(uint32_t batch_words)
{
        return kc_gpu_spans_most(most_segments(batch_words), batch_words);
}

static size_t whole_pages(size_t nbytes)
{
        return (nbytes + LARGEST_PAGE - 1) / LARGEST_PAGE * LARGEST_PAGE;
}

static size_t words_nbytes(uint32_t batch_words)
{
        return (batch_words + KC_BATCH_PADDING) * sizeof(uint64_t);
}

static size_t slot_nbytes(uint32_t batch_words)
{
        return whole_pages(words_nbytes(batch_words) +
                           most_spans(batch_words) * sizeof(struct kc_span));
}

/* No page of it belongs to another worker, nor is one locked slot's another's. */
static size_t reader_nbytes(uint32_t batch_words)
{
        return NLOCKED * slot_nbytes(batch_words) +
               whole_pages(KC_FEED_NAHEAD * words_nbytes(batch_words));
}

size_t kc_gpu_feed_worker_nbytes(uint32_t batch_words)
{
        return reader_nbytes(batch_words) +
               (NLOCKED + KC_FEED_NAHEAD) * most_segments(batch_words) * sizeof(struct kc_segment);
}

struct kc_gpu_feed_caps kc_gpu_feed_least(uint32_t batch_words)
{
        struct kc_gpu_feed_caps caps = {};
        caps.nwords = batch_words;
        caps.nspans = most_spans(batch_words);
        caps.nkmers = UINT64_C(32) * batch_words;
        return caps;
}

size_t kc_gpu_feed_nbytes(const struct kc_gpu_feed_caps *caps)
{
        return NBUFFERS * (caps->nwords * sizeof(uint64_t) + caps->nspans * sizeof(struct kc_span));
}

/* ---- host memory ---- */

/* All memory of all workers in one piece, of large pages: fewer to fault in, and they are locked in a
 * fraction of the time. */
static enum kc_status map_memory(struct kc_gpu_feed *feed, struct kc_error *err)
{
        size_t nbytes = (size_t)feed->setup.nthreads * reader_nbytes(feed->setup.batch_words);
        nbytes = (nbytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        feed->memory = (char *)aligned_alloc(HUGE_PAGE, nbytes);
        if (feed->memory == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for sequence batches");
        (void)madvise(feed->memory, nbytes, MADV_HUGEPAGE); /* an advice that may be turned down */
        return KC_OK;
}

static enum kc_status make_batch(struct kc_batch *batch, char *memory, uint32_t batch_words,
                                 struct kc_error *err)
{
        batch->words_cap = batch_words;
        batch->segments_cap = (uint32_t)most_segments(batch_words);
        batch->words = (uint64_t *)memory;
        batch->segments =
                (struct kc_segment *)malloc(batch->segments_cap * sizeof *batch->segments);
        if (batch->segments == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for sequence batches");
        return KC_OK;
}

static enum kc_status make_reader(struct reader *reader, char *memory, uint32_t batch_words,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (struct slot &slot : reader->slots) {
                KC_TRY(make_batch(&slot.batch, memory, batch_words, err));
                slot.spans = (struct kc_span *)(memory + words_nbytes(batch_words));
                memory += slot_nbytes(batch_words);
        }
        for (struct kc_batch &batch : reader->ahead) {
                KC_TRY(make_batch(&batch, memory, batch_words, err));
                memory += words_nbytes(batch_words);
        }
out:
        return status;
}

static enum kc_status make_readers(struct kc_gpu_feed *feed, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_gpu_feed_setup *s = &feed->setup;
        feed->readers = (struct reader *)calloc((size_t)s->nthreads, sizeof *feed->readers);
        if (feed->readers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for sequence batches");
        for (int i = 0; i < s->nthreads; i++)
                KC_TRY(make_reader(&feed->readers[i],
                                   feed->memory + (size_t)i * reader_nbytes(s->batch_words),
                                   s->batch_words, err));
out:
        return status;
}

enum kc_status kc_gpu_feed_new(struct kc_gpu_feed **feed, const struct kc_gpu_feed_setup *setup,
                               struct kc_gate *gate, struct kc_gpu_trace *trace,
                               struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_feed *f = (struct kc_gpu_feed *)calloc(1, sizeof *f);
        *feed = NULL;
        if (f == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for sequence batches");
        f->setup = *setup;
        f->gate = gate;
        f->trace = trace;
        f->nreading = setup->nthreads;
        KC_TRY(map_memory(f, err));
        KC_TRY(make_readers(f, err));
        *feed = f;
        f = NULL;
out:
        kc_gpu_feed_free(f);
        return status;
}

/* ---- the device's side ---- */

static enum kc_status make_event(cudaEvent_t *event, struct kc_error *err)
{
        return KC_CUDA(
                cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventBlockingSync));
}

static enum kc_status make_buffers(struct kc_gpu_feed *feed, struct kc_gpu *gpu,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (struct buffer &b : feed->buffers) {
                KC_TRY(kc_gpu_new(gpu, &b.words, feed->caps.nwords, err));
                KC_TRY(kc_gpu_new(gpu, &b.spans, feed->caps.nspans, err));
                KC_TRY(make_event(&b.uploaded, err));
        }
        /* Uploads are on a stream of their own: they may not begin before the memory is there. */
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
        KC_TRY(make_buffers(feed, gpu, err));
        kc_gate_enter(feed->gate);
        feed->attached = true;
        kc_gate_wake(feed->gate);
        kc_gate_leave(feed->gate);
out:
        return status;
}

void kc_gpu_feed_detach(struct kc_gpu_feed *feed)
{
        if (feed->gpu == NULL)
                return;
        (void)cudaStreamSynchronize(feed->gpu->upload);
        for (struct buffer &b : feed->buffers) {
                kc_gpu_delete(feed->gpu, b.words, feed->caps.nwords);
                kc_gpu_delete(feed->gpu, b.spans, feed->caps.nspans);
                if (b.uploaded != NULL)
                        (void)cudaEventDestroy(b.uploaded);
                b = {};
        }
        feed->gpu = NULL;
}

static void free_reader(struct reader *reader)
{
        for (struct slot &slot : reader->slots) {
                if (slot.locked)
                        (void)cudaHostUnregister(slot.batch.words);
                if (slot.copied != NULL)
                        (void)cudaEventDestroy(slot.copied);
                free(slot.batch.segments);
        }
        for (struct kc_batch &batch : reader->ahead)
                free(batch.segments);
}

void kc_gpu_feed_free(struct kc_gpu_feed *feed)
{
        if (feed == NULL)
                return;
        kc_gpu_feed_detach(feed);
        for (int i = 0; feed->readers != NULL && i < feed->setup.nthreads; i++)
                free_reader(&feed->readers[i]);
        free(feed->memory);
        free(feed->readers);
        free(feed);
}

/* ---- workers ---- */

/* Only then may this thread call CUDA. */
static enum kc_status wait_for_device(struct kc_gpu_feed *feed, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_gate_enter(feed->gate);
        while (status == KC_OK && !feed->attached)
                status = kc_gate_wait(feed->gate, err);
        kc_gate_leave(feed->gate);
        return status == KC_OK ? KC_CUDA(cudaSetDevice(feed->gpu->device)) : status;
}

/* A host batch's place in a device buffer. */
struct place {
        struct buffer *buffer;
        size_t word, span;
};

static void close_buffer(struct kc_gpu_feed *feed, struct buffer *b)
{
        b->closed = true;
        kc_gpu_trace_end(feed->trace, b->fill_trace, NULL);
        feed->filling = (feed->filling + 1) % NBUFFERS;
        kc_gate_wake(feed->gate);
}

static bool fits(const struct kc_gpu_feed *feed, const struct buffer *b, size_t nwords,
                 size_t nspans, uint64_t nkmers)
{
        return b->nwords + nwords <= feed->caps.nwords && b->nspans + nspans <= feed->caps.nspans &&
               b->nkmers + nkmers <= feed->caps.nkmers;
}

static void begin_buffer(struct kc_gpu_feed *feed, struct buffer *b)
{
        uint64_t number = feed->nbegun++;
        b->fill_trace = kc_gpu_trace_begin(feed->trace, "fill", number, NULL);
        b->upload_trace = kc_gpu_trace_begin(feed->trace, "upload", number, feed->gpu->upload);
}

static void take_place(struct kc_gpu_feed *feed, struct buffer *b, size_t nwords, size_t nspans,
                       uint64_t nkmers, struct place *place)
{
        if (b->nwords == 0)
                begin_buffer(feed, b);
        *place = { b, b->nwords, b->nspans };
        b->nwords += nwords;
        b->nspans += nspans;
        b->nkmers += nkmers;
        b->ncopies++;
}

/* Wait until a device buffer has room, and take it. A batch that does not fit closes the buffer. */
static enum kc_status claim(struct kc_gpu_feed *feed, size_t nwords, size_t nspans, uint64_t nkmers,
                            struct place *place, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_gate_enter(feed->gate);
        for (;;) {
                struct buffer *b = &feed->buffers[feed->filling];
                if (b->closed) {
                        KC_TRY(kc_gate_wait(feed->gate, err));
                } else if (fits(feed, b, nwords, nspans, nkmers)) {
                        take_place(feed, b, nwords, nspans, nkmers, place);
                        break;
                } else {
                        close_buffer(feed, b);
                }
        }
out:
        kc_gate_leave(feed->gate);
        return status;
}

/*
 * Before its first copy, because locking pages that were written already is ten times as fast.
 * Where the system does not allow it, CUDA copies all the same, only slower.
 */
static enum kc_status lock_slot(struct kc_gpu_feed *feed, struct slot *slot, struct kc_error *err)
{
        if (slot->copied != NULL)
                return KC_OK;
        size_t nbytes = slot_nbytes(feed->setup.batch_words);
        cudaError_t code = cudaHostRegister(slot->batch.words, nbytes, cudaHostRegisterDefault);
        slot->locked = code == cudaSuccess;
        if (!slot->locked)
                (void)cudaGetLastError();
        return make_event(&slot->copied, err);
}

static enum kc_status copy(struct kc_gpu_feed *feed, struct slot *slot, const struct place *place,
                           size_t nspans, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_batch *batch = &slot->batch;
        cudaStream_t stream = feed->gpu->upload;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(place->buffer->words + place->word, batch->words,
                                       batch->nwords * sizeof *batch->words,
                                       cudaMemcpyHostToDevice, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(place->buffer->spans + place->span, slot->spans,
                                       nspans * sizeof *slot->spans, cudaMemcpyHostToDevice,
                                       stream)));
        KC_TRY(KC_CUDA(cudaEventRecord(slot->copied, stream)));
        slot->busy = true;
        kc_gate_enter(feed->gate);
        if (--place->buffer->ncopies == 0 && place->buffer->closed)
                kc_gate_wake(feed->gate);
        kc_gate_leave(feed->gate);
out:
        return status;
}

static enum kc_status upload(struct kc_gpu_feed *feed, struct slot *slot, struct kc_error *err)
{
        enum kc_status status;
        struct place place = {};
        const struct kc_batch *batch = &slot->batch;
        size_t nspans;
        uint64_t nkmers;
        int k = feed->setup.k;
        kc_gpu_spans_measure(batch->segments, batch->nsegments, k, &nspans, &nkmers);
        KC_TRY(lock_slot(feed, slot, err));
        KC_TRY(claim(feed, batch->nwords, nspans, nkmers, &place, err));
        kc_gpu_spans_cut(batch->segments, batch->nsegments, k, (uint32_t)place.word, slot->spans);
        KC_TRY(copy(feed, slot, &place, nspans, err));
out:
        return status;
}

/* Wait for the slot's copy, if there was one. */
static enum kc_status wait_for_slot(struct slot *slot, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (slot->busy)
                KC_TRY(KC_CUDA(cudaEventSynchronize(slot->copied)));
        slot->busy = false;
out:
        return status;
}

static bool is_attached(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        bool attached = feed->attached;
        kc_gate_leave(feed->gate);
        return attached;
}

/* Read until the device is ready: *n batches; *end if that was all. */
static enum kc_status read_ahead(struct kc_gpu_feed *feed, int worker, int *n, bool *end,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_batch_source *source = feed->setup.source;
        for (; *n < KC_FEED_NAHEAD && !is_attached(feed); ++*n) {
                struct kc_batch *batch = &feed->readers[worker].ahead[*n];
                KC_TRY(kc_gate_check(feed->gate, err));
                KC_TRY(source->next(source->ctx, worker, batch, err));
                *end = batch->nsegments == 0;
                if (*end)
                        break;
        }
out:
        return status;
}

/* Copy the words, swap the segments: the batch's memory is not locked. */
static void move_batch(struct slot *slot, struct kc_batch *batch)
{
        struct kc_segment *segments = slot->batch.segments;
        memcpy(slot->batch.words, batch->words, batch->nwords * sizeof *batch->words);
        slot->batch.nwords = batch->nwords;
        slot->batch.nsegments = batch->nsegments;
        slot->batch.segments = batch->segments;
        batch->segments = segments;
}

static enum kc_status read_all(struct kc_gpu_feed *feed, int worker, int nahead, bool end,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_batch_source *source = feed->setup.source;
        struct reader *r = &feed->readers[worker];
        for (int i = 0; i < nahead || !end; i++) {
                struct slot *slot = &r->slots[i % NLOCKED];
                KC_TRY(kc_gate_check(feed->gate, err));
                KC_TRY(wait_for_slot(slot, err));
                if (i < nahead) {
                        move_batch(slot, &r->ahead[i]);
                } else {
                        KC_TRY(source->next(source->ctx, worker, &slot->batch, err));
                        if (slot->batch.nsegments == 0)
                                break;
                }
                KC_TRY(upload(feed, slot, err));
        }
out:
        return status;
}

static void end_reading(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        if (--feed->nreading == 0) {
                feed->end_seconds = kc_gate_seconds();
                kc_gate_wake(feed->gate);
        }
        kc_gate_leave(feed->gate);
}

enum kc_status kc_gpu_feed_read(struct kc_gpu_feed *feed, int worker, struct kc_error *err)
{
        enum kc_status status;
        int nahead = 0;
        bool end = false;
        if (feed->setup.read_ahead)
                KC_TRY(read_ahead(feed, worker, &nahead, &end, err));
        if (!end || nahead > 0) {
                KC_TRY(wait_for_device(feed, err));
                KC_TRY(read_all(feed, worker, nahead, end, err));
        }
        end_reading(feed);
out:
        return status;
}

/* ---- the driver ---- */

/* Wait for a closed buffer into which no copy is to come; NULL: there is none any more. */
static enum kc_status next_buffer(struct kc_gpu_feed *feed, struct buffer **next,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct buffer *b = &feed->buffers[feed->taking];
        kc_gate_enter(feed->gate);
        while (!b->closed || b->ncopies > 0) {
                if (feed->nreading == 0 && !b->closed) {
                        if (b->nwords == 0)
                                break;
                        close_buffer(feed, b);
                } else {
                        KC_TRY(kc_gate_wait(feed->gate, err));
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
        struct buffer *b = NULL;
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
        reads->nspans = b->nspans;
        reads->nkmers = b->nkmers;
out:
        return status;
}

void kc_gpu_feed_give_back(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        struct buffer *b = &feed->buffers[feed->taking];
        b->closed = false;
        b->nwords = b->nspans = 0;
        b->nkmers = 0;
        feed->taking = (feed->taking + 1) % NBUFFERS;
        kc_gate_wake(feed->gate);
        kc_gate_leave(feed->gate);
}

double kc_gpu_feed_end_seconds(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        double seconds = feed->end_seconds;
        kc_gate_leave(feed->gate);
        return seconds;
}
