/*
 * The workers' memory on the host: two pinned slots each, from which the copies are made, and the
 * batches read before the device is ready.
 *
 *      memory:  | slots of worker 0 | of worker 1 | ... | ahead of worker 0 | of worker 1 | ...
 *               `------------- pinned as one ----------´
 */
#include "gpu/feed/feed_internal.cuh"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>

enum {
        HUGE_PAGE = 2 << 20,
        LARGEST_PAGE = 64 << 10, /* other than huge pages */
        SMALLEST_PAGE = 4 << 10,
        WORDS_PER_SEGMENT = 4,
        MAX_BATCH_WORDS = 256 << 10, /* 2 MiB: copies reach nearly full speed, and a worker's last
                                        batch does not take long at the end of the input */
        BYTES_PER_WORD = 12,         /* approximately, with segments and spans */
        NBASES_PER_WORD = 24,        /* 26 to 30 for reads of 150 bases, 32 for long reads */
        NBASES_PER_SPAN = 96,        /* 128 to 150, likewise */
};

static const size_t MAX_NBYTES = (size_t)2 << 30; /* of all workers */

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
        return kc_round_up(nbytes, LARGEST_PAGE);
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

/* Whole pages, so that no page belongs to two workers. */
static size_t slots_nbytes(uint32_t batch_words)
{
        return NSLOTS * slot_nbytes(batch_words);
}

static size_t ahead_nbytes(uint32_t batch_words)
{
        return whole_pages(KC_FEED_NAHEAD * words_nbytes(batch_words));
}

size_t kc_gpu_feed_worker_nbytes(uint32_t batch_words)
{
        return slots_nbytes(batch_words) + ahead_nbytes(batch_words) +
               (NSLOTS + KC_FEED_NAHEAD) * most_segments(batch_words) * sizeof(struct kc_segment);
}

struct kc_gpu_feed_caps kc_gpu_feed_least(uint32_t batch_words)
{
        struct kc_gpu_feed_caps caps = {};
        caps.nwords = batch_words;
        caps.nspans = most_spans(batch_words);
        caps.nbases = UINT64_C(32) * batch_words;
        caps.nbuffers = KC_FEED_MIN_BUFFERS;
        return caps;
}

uint32_t kc_gpu_feed_plan_words(size_t nbytes, int nthreads, uint64_t buffer_nbases)
{
        size_t words =
                std::min(nbytes, MAX_NBYTES) / (size_t)nthreads / KC_FEED_NAHEAD / BYTES_PER_WORD;
        words = std::min(words, (size_t)MAX_BATCH_WORDS);
        words = std::min(words, (size_t)(buffer_nbases / 64));
        return (uint32_t)std::max(words, (size_t)KC_BATCH_MIN_WORDS);
}

struct kc_gpu_feed_caps kc_gpu_feed_plan_caps(uint64_t nbases, uint32_t batch_words)
{
        struct kc_gpu_feed_caps caps = kc_gpu_feed_least(batch_words);
        caps.nbases = std::max(nbases, caps.nbases);
        caps.nwords = std::max((size_t)(nbases / NBASES_PER_WORD), caps.nwords);
        caps.nspans = std::max((size_t)(nbases / NBASES_PER_SPAN), caps.nspans);
        return caps;
}

/* For all workers, in whole huge pages, which hold nothing else. */
static size_t all_slots_nbytes(const struct kc_gpu_feed *feed)
{
        size_t nbytes = (size_t)feed->setup.nthreads * slots_nbytes(feed->setup.batch_words);
        return kc_round_up(nbytes, HUGE_PAGE);
}

/* Allocate the memory of all workers in one piece, of huge pages: there are fewer to fault in, and
 * pinning takes a fraction of the time. */
static enum kc_status map_memory(struct kc_gpu_feed *feed, struct kc_error *err)
{
        size_t ahead = (size_t)feed->setup.nthreads * ahead_nbytes(feed->setup.batch_words);
        size_t nbytes = all_slots_nbytes(feed) + kc_round_up(ahead, HUGE_PAGE);
        feed->memory = (char *)aligned_alloc(HUGE_PAGE, nbytes);
        if (feed->memory == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for sequence batches");
        (void)madvise(feed->memory, nbytes, MADV_HUGEPAGE); /* only advice: may fail */
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

static char *slots_of(const struct kc_gpu_feed *feed, int worker)
{
        return feed->memory + (size_t)worker * slots_nbytes(feed->setup.batch_words);
}

static char *ahead_of(const struct kc_gpu_feed *feed, int worker)
{
        return feed->memory + all_slots_nbytes(feed) +
               (size_t)worker * ahead_nbytes(feed->setup.batch_words);
}

static enum kc_status make_reader(struct kc_gpu_feed *feed, int worker, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const uint32_t batch_words = feed->setup.batch_words;
        struct feed_reader *reader = &feed->readers[worker];
        char *memory = slots_of(feed, worker), *ahead = ahead_of(feed, worker);
        for (struct feed_slot &slot : reader->slots) {
                KC_TRY(make_batch(&slot.batch, memory, batch_words, err));
                slot.spans = (struct kc_span *)(memory + words_nbytes(batch_words));
                memory += slot_nbytes(batch_words);
        }
        for (struct kc_batch &batch : reader->ahead) {
                KC_TRY(make_batch(&batch, ahead, batch_words, err));
                ahead += words_nbytes(batch_words);
        }
out:
        return status;
}

static enum kc_status make_readers(struct kc_gpu_feed *feed, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = (size_t)feed->setup.nthreads;
        feed->readers = (struct feed_reader *)calloc(n, sizeof *feed->readers);
        if (feed->readers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for sequence batches");
        for (int i = 0; i < feed->setup.nthreads; i++)
                KC_TRY(make_reader(feed, i, err));
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
        for (int i = 0; i < setup->ndevices; i++)
                f->outlets[i].bell = kc_gate_device(i);
        KC_TRY(map_memory(f, err));
        KC_TRY(make_readers(f, err));
        *feed = f;
        f = NULL;
out:
        kc_gpu_feed_free(f);
        return status;
}

static void free_reader(struct feed_reader *reader)
{
        for (struct feed_slot &slot : reader->slots) {
                for (cudaEvent_t copied : slot.copied)
                        if (copied != NULL)
                                (void)cudaEventDestroy(copied);
                free(slot.batch.segments);
        }
        for (struct kc_batch &batch : reader->ahead)
                free(batch.segments);
}

void kc_gpu_feed_free(struct kc_gpu_feed *feed)
{
        if (feed == NULL)
                return;
        for (int i = 0; i < feed->setup.ndevices; i++)
                kc_gpu_feed_detach(feed, i);
        for (int i = 0; feed->readers != NULL && i < feed->setup.nthreads; i++)
                free_reader(&feed->readers[i]);
        if (feed->pinned)
                (void)cudaHostUnregister(feed->memory);
        free(feed->memory);
        free(feed->readers);
        free(feed);
}

void kc_feed_touch(struct kc_gpu_feed *feed, int worker)
{
        volatile char *slots = slots_of(feed, worker);
        for (size_t at = 0; at < slots_nbytes(feed->setup.batch_words); at += SMALLEST_PAGE)
                slots[at] = 0;
}

void kc_feed_pin(struct kc_gpu_feed *feed)
{
        cudaError_t code =
                cudaHostRegister(feed->memory, all_slots_nbytes(feed), cudaHostRegisterPortable);
        feed->pinned = code == cudaSuccess;
        if (!feed->pinned)
                (void)cudaGetLastError();
}

enum kc_status kc_feed_make_events(struct kc_gpu_feed *feed, int device, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < feed->setup.nthreads; i++)
                for (struct feed_slot &slot : feed->readers[i].slots)
                        KC_TRY(kc_gpu_event_new(&slot.copied[device], err));
out:
        return status;
}
