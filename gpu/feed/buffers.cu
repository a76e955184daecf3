/*
 * The buffers on the devices: workers claim places in them for their batches; a device's thread
 * takes a buffer when it is full.
 */
#include "gpu/feed/feed_internal.cuh"

size_t kc_gpu_feed_nbytes(const struct kc_gpu_feed_caps *caps)
{
        return (size_t)caps->nbuffers *
               (caps->nwords * sizeof(uint64_t) + caps->nspans * sizeof(struct kc_span));
}

static enum kc_status make_buffers(struct feed_outlet *outlet, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu *gpu = outlet->gpu;
        for (int i = 0; i < outlet->caps.nbuffers; i++) {
                struct feed_buffer *b = &outlet->buffers[i];
                KC_TRY(kc_gpu_new(gpu, &b->words, outlet->caps.nwords, err));
                KC_TRY(kc_gpu_new(gpu, &b->spans, outlet->caps.nspans, err));
                KC_TRY(kc_gpu_event_new(&b->uploaded, err));
        }
        /* Uploads use a stream of their own, and must not begin before the memory is allocated. */
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

static void free_buffers(struct feed_outlet *outlet)
{
        for (struct feed_buffer &b : outlet->buffers) {
                kc_gpu_delete(outlet->gpu, b.words, outlet->caps.nwords);
                kc_gpu_delete(outlet->gpu, b.spans, outlet->caps.nspans);
                if (b.uploaded != NULL)
                        (void)cudaEventDestroy(b.uploaded);
                b = {};
        }
        outlet->gpu = NULL;
}

/* Let workers use the outlet, unless they have reached the end of the input. */
static bool open_outlet(struct kc_gpu_feed *feed, struct feed_outlet *outlet)
{
        bool attached = false;
        kc_gate_tell(feed->gate, KC_GATE_WORKERS, [&] {
                attached = outlet->attached = feed->nreading > 0;
                feed->ready |= attached;
        });
        return attached;
}

enum kc_status kc_gpu_feed_attach(struct kc_gpu_feed *feed, int device, struct kc_gpu *gpu,
                                  const struct kc_gpu_feed_caps *caps, uint64_t weight,
                                  bool *attached, struct kc_error *err)
{
        enum kc_status status;
        struct feed_outlet *outlet = &feed->outlets[device];
        *attached = false;
        outlet->gpu = gpu;
        outlet->caps = *caps;
        outlet->weight = weight;
        if (device == 0)
                kc_feed_pin(feed);
        KC_TRY(kc_feed_make_events(feed, device, err));
        KC_TRY(make_buffers(outlet, err));
        *attached = open_outlet(feed, outlet);
out:
        if (!*attached)
                free_buffers(outlet);
        return status;
}

void kc_gpu_feed_detach(struct kc_gpu_feed *feed, int device)
{
        struct feed_outlet *outlet = &feed->outlets[device];
        if (outlet->gpu == NULL)
                return;
        (void)cudaSetDevice(outlet->gpu->device);
        (void)cudaStreamSynchronize(outlet->gpu->upload);
        free_buffers(outlet);
        kc_gate_tell(feed->gate, KC_GATE_DRIVER, [&] { outlet->attached = false; });
}

enum kc_status kc_gpu_feed_wait(struct kc_gpu_feed *feed, struct kc_error *err)
{
        const auto all_detached = [&] {
                int n = 1;
                while (n < feed->setup.ndevices && !feed->outlets[n].attached)
                        n++;
                return n == feed->setup.ndevices;
        };
        return kc_gate_await(feed->gate, KC_GATE_DRIVER, all_detached, err);
}

/* ---- workers ---- */

static void close_buffer(struct kc_gpu_feed *feed, struct feed_outlet *outlet,
                         struct feed_buffer *b)
{
        b->closed = true;
        kc_gpu_trace_end(feed->trace, b->fill_trace, NULL);
        outlet->filling = (outlet->filling + 1) % outlet->caps.nbuffers;
        kc_gate_wake(feed->gate, outlet->bell);
}

static bool fits(const struct feed_outlet *outlet, const struct feed_buffer *b, size_t nwords,
                 const struct kc_spans_size *size)
{
        return b->nwords + nwords <= outlet->caps.nwords &&
               b->size.nspans + size->nspans <= outlet->caps.nspans &&
               b->size.nbases + size->nbases <= outlet->caps.nbases;
}

/* The timeline shows the first device's stream; of other devices, times by the host's clock. */
static cudaStream_t traced_stream(const struct kc_gpu_feed *feed, const struct feed_outlet *outlet)
{
        return outlet == feed->outlets ? outlet->gpu->upload : NULL;
}

static void begin_buffer(struct kc_gpu_feed *feed, struct feed_outlet *outlet,
                         struct feed_buffer *b)
{
        uint64_t number = outlet->nbegun++;
        (void)cudaSetDevice(outlet->gpu->device); /* for the trace's event */
        b->fill_trace = kc_gpu_trace_begin(feed->trace, "fill", number, NULL);
        b->upload_trace =
                kc_gpu_trace_begin(feed->trace, "upload", number, traced_stream(feed, outlet));
}

static void take_place(struct kc_gpu_feed *feed, struct feed_outlet *outlet, struct feed_buffer *b,
                       size_t nwords, const struct kc_spans_size *size, struct feed_place *place)
{
        if (b->nwords == 0)
                begin_buffer(feed, outlet, b);
        *place = { (int)(outlet - feed->outlets), b, b->nwords, b->size.nspans };
        b->nwords += nwords;
        b->size.nspans += size->nspans;
        b->size.nmarks += size->nmarks;
        b->size.nbases += size->nbases;
        b->size.nkmers += size->nkmers;
        b->ncopies++;
        outlet->nwords += nwords;
}

/* Of the devices that have a free buffer, the one that has received least in relation to its
 * weight; NULL: none has one. */
static struct feed_outlet *choose_outlet(struct kc_gpu_feed *feed)
{
        struct feed_outlet *best = NULL;
        double least = 0;
        for (int i = 0; i < feed->setup.ndevices; i++) {
                struct feed_outlet *outlet = &feed->outlets[i];
                if (!outlet->attached || outlet->buffers[outlet->filling].closed)
                        continue;
                const double claim = (double)outlet->nwords / (double)outlet->weight;
                if (best == NULL || claim < least) {
                        best = outlet;
                        least = claim;
                }
        }
        return best;
}

/* False: no device has a free buffer. */
static bool claim(struct kc_gpu_feed *feed, size_t nwords, const struct kc_spans_size *size,
                  struct feed_place *place)
{
        while (struct feed_outlet *outlet = choose_outlet(feed)) {
                struct feed_buffer *b = &outlet->buffers[outlet->filling];
                if (fits(outlet, b, nwords, size)) {
                        take_place(feed, outlet, b, nwords, size, place);
                        return true;
                }
                close_buffer(feed, outlet, b);
        }
        return false;
}

enum kc_status kc_feed_claim(struct kc_gpu_feed *feed, size_t nwords,
                             const struct kc_spans_size *size, struct feed_place *place,
                             struct kc_error *err)
{
        return kc_gate_await(
                feed->gate, KC_GATE_WORKERS, [&] { return claim(feed, nwords, size, place); }, err);
}

void kc_feed_enqueued(struct kc_gpu_feed *feed, const struct feed_place *place)
{
        kc_gate_enter(feed->gate);
        if (--place->buffer->ncopies == 0 && place->buffer->closed)
                kc_gate_wake(feed->gate, feed->outlets[place->device].bell);
        kc_gate_leave(feed->gate);
}

/* ---- a device's thread ---- */

/* The next buffer, once it is closed and all copies for it are enqueued; NULL at the end of the
 * input. False: neither is the case yet. */
static bool next_buffer(struct kc_gpu_feed *feed, struct feed_outlet *outlet,
                        struct feed_buffer **next)
{
        struct feed_buffer *b = &outlet->buffers[outlet->taking];
        if (feed->nreading == 0 && !b->closed && b->nwords > 0)
                close_buffer(feed, outlet, b);
        *next = b->closed ? b : NULL;
        return b->closed ? b->ncopies == 0 : feed->nreading == 0;
}

enum kc_status kc_gpu_feed_take(struct kc_gpu_feed *feed, int device, struct kc_gpu_reads *reads,
                                struct kc_error *err)
{
        enum kc_status status;
        struct feed_outlet *outlet = &feed->outlets[device];
        struct feed_buffer *b = NULL;
        *reads = {};
        KC_TRY(kc_gate_await(
                feed->gate, outlet->bell, [&] { return next_buffer(feed, outlet, &b); }, err));
        if (b == NULL)
                goto out;
        kc_gpu_trace_end(feed->trace, b->upload_trace, traced_stream(feed, outlet));
        KC_TRY(KC_CUDA(cudaEventRecord(b->uploaded, outlet->gpu->upload)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(outlet->gpu->stream, b->uploaded, 0)));
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

void kc_gpu_feed_give_back(struct kc_gpu_feed *feed, int device)
{
        struct feed_outlet *outlet = &feed->outlets[device];
        kc_gate_tell(feed->gate, KC_GATE_WORKERS, [&] {
                struct feed_buffer *b = &outlet->buffers[outlet->taking];
                b->closed = false;
                b->nwords = 0;
                b->size = {};
                outlet->taking = (outlet->taking + 1) % outlet->caps.nbuffers;
        });
}
