/*
 * Looking up all windows of the reads of files, whatever their order.
 *
 *      files ──▶ portions ──▶ text ──▶ reads on a device                    gpu/intake/intake.cuh
 *      or:     batches ──▶ pinned ──▶ reads on a device                     gpu/feed/feed.cuh
 *      reads ──▶ k-mers ──▶ counts ──▶ how often each count occurs          gpu/ask/frequencies.cuh
 *
 * Each device has a copy of the table, and a thread that makes all calls for it, except for the
 * workers' copies to it. A read is looked up on the device that it comes to. Only the frequencies
 * of counts come back.
 */
#include "gpu/ask.h"

#include "base/parallel.h"
#include "gpu/ask/frequencies.cuh"
#include "gpu/ask/load.cuh"
#include "gpu/ask/window.cuh"
#include "gpu/device/warp.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/intake/intake.cuh"
#include "kmer/remedy.h"

#include <algorithm>
#include <cinttypes>

enum {
        THREADS = 256,
        SHARE = 16, /* of the memory, one part in SHARE is for the windows of a slice */
        USUAL_NSPANS = 1 << 20,
        BUFFER_NBASES = 1 << 25, /* of the feed */
        NBUFFERS = 4,
        MANY_THREADS = 8, /* with more, each device's thread has a core of its own */
};

namespace
{

template <class Key> struct tallying;

/* A device. */
template <class Key> struct tallier {
        struct tallying<Key> *all;
        int number; /* among all */
        struct kc_gpu gpu;
        struct kc_ask_map<Key> table;
        struct kc_ask_frequencies frequencies;
        uint64_t nwindows; /* looked up since the beginning of the reads */
        /* A slice of the reads: at most nspans of their spans. Device memory. */
        size_t nspans;
        Key *kmers;                   /* [nspans * KC_SPAN_NKMERS] */
        uint32_t *counts;             /* likewise */
        unsigned long long *nkmers;   /* [1] */
        struct kc_gpu_intake *intake; /* or NULL: it takes no files */
};

template <class Key> struct tallying {
        const struct kc_gpu_ask_table *table;
        const struct kc_gpu_ask_options *options;
        const struct kc_gpu_ask_reads *reads;
        struct kc_ask_tally tally; /* the caller's, locked */
        const struct kc_ask_tally *callers;
        pthread_mutex_t lock;
        struct tallier<Key> devices[KC_GPU_MAX_DEVICES]; /* [options->ndevices] */
        int nworkers;
        uint32_t batch_words; /* of the feed */
        struct kc_gate gate;
        struct kc_gpu_trace trace; /* disabled */
        struct kc_gpu_intakes intakes;
        bool takes_files; /* from the intakes; otherwise reads come in batches */
        struct kc_gpu_feed *feed;
};

} // namespace

/* ---- looking up ---- */

/* The k-mers of spans, in any order: a warp for 32 spans. */
template <class Key>
static __global__ void windows_kernel(const uint64_t *words, const struct kc_span *spans,
                                      size_t nspans, int k, bool stranded, Key *kmers,
                                      unsigned long long *nkmers)
{
        const size_t number = (size_t)blockIdx.x * THREADS + threadIdx.x;
        const uint32_t lane = kc_warp_lane();
        struct kc_span span = {};
        if (number < nspans)
                span = spans[number];
        const uint64_t from = (uint64_t)span.word * 32 + span.base;
        const uint32_t end = kc_warp_scan(span.nkmers);
        unsigned long long at = 0;
        if (lane == 31)
                at = atomicAdd(nkmers, (unsigned long long)end);
        at = __shfl_sync(UINT32_MAX, at, 31);
        for (int i = 0; i < 32; i++) {
                const uint32_t n = __shfl_sync(UINT32_MAX, (uint32_t)span.nkmers, i);
                const uint32_t before = __shfl_sync(UINT32_MAX, end, i) - n;
                const uint64_t first = __shfl_sync(UINT32_MAX, (unsigned long long)from, i);
                for (uint32_t j = lane; j < n; j += 32)
                        kmers[at + before + j] =
                                kc_ask_window_kmer<Key>(words, first + j, k, stranded);
        }
}

/* Returns when the spans are no longer needed. */
template <class Key>
static enum kc_status add_slice(struct tallier<Key> *d, const uint64_t *words,
                                const struct kc_span *spans, size_t nspans, struct kc_error *err)
{
        enum kc_status status;
        const struct tallying<Key> *t = d->all;
        cudaStream_t stream = d->gpu.stream;
        unsigned long long n;
        static_assert(sizeof(struct kc_ask_repeats) <= sizeof(Key), "k-mers leave room for them");
        KC_TRY(KC_CUDA(cudaMemsetAsync(d->nkmers, 0, sizeof *d->nkmers, stream)));
        windows_kernel<<<kc_ceil_div(nspans, THREADS), THREADS, 0, stream>>>(
                words, spans, nspans, t->table->k, t->options->stranded, d->kmers, d->nkmers);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(&d->gpu, &n, d->nkmers, 1, err));
        KC_TRY(kc_ask_map_find(&d->table, stream, (const Key *)d->kmers, d->counts, n, err));
        KC_TRY(kc_ask_frequencies_add(&d->frequencies, d->counts, n,
                                      (struct kc_ask_repeats *)d->kmers, &t->tally, err));
out:
        return status;
}

template <class Key>
static enum kc_status add_reads(struct tallier<Key> *d, const struct kc_gpu_reads *reads,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < reads->nspans; i += d->nspans)
                KC_TRY(add_slice(d, reads->words, reads->spans + i,
                                 std::min(reads->nspans - i, d->nspans), err));
        d->nwindows += reads->nkmers;
out:
        return status;
}

/* As struct kc_ask_tally's put. */
template <class Key>
static enum kc_status put_locked(void *ctx, uint32_t count, uint64_t n, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        pthread_mutex_lock(&t->lock);
        const enum kc_status status = t->callers->put(t->callers->ctx, count, n, err);
        pthread_mutex_unlock(&t->lock);
        return status;
}

/* ---- reading files ---- */

/* Open an intake if the files are given and the device has the memory for it. */
template <class Key> static enum kc_status open_intake(struct tallier<Key> *d, struct kc_error *err)
{
        struct tallying<Key> *t = d->all;
        struct kc_error refusal = {};
        struct kc_gpu_intake_setup setup = {};
        if (t->reads->stored == NULL)
                return KC_OK;
        setup.all = &t->intakes;
        setup.number = d->number;
        setup.k = setup.max_k = t->table->k;
        setup.text_nbytes =
                kc_gpu_intake_plan(t->reads->stored, kc_gpu_room(&d->gpu),
                                   t->reads->memory_nbytes / 4 / (size_t)t->options->ndevices,
                                   t->options->batch_nbases);
        if (setup.text_nbytes == 0)
                return KC_OK;
        enum kc_status status = kc_gpu_intake_new(&d->intake, &setup, err);
        if (status != KC_OK)
                return status;
        status = kc_gpu_intake_attach(d->intake, &d->gpu, setup.text_nbytes, &refusal);
        if (status == KC_OK) {
                (void)kc_gpu_intake_join(d->intake);
                return KC_OK;
        }
        kc_gpu_intake_free(d->intake);
        d->intake = NULL;
        if (status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        kc_gpu_forget_refusals(&d->gpu);
        return KC_OK;
}

/* Take the reads of files that the device inflates and parses. */
template <class Key> static enum kc_status take_files(struct tallier<Key> *d, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        bool foreign;
        if (d->intake == NULL)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaSetDevice(d->gpu.device))); /* it is per thread */
        for (;;) {
                KC_TRY(kc_gpu_intake_take(d->intake, &reads, &foreign, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(add_reads(d, &reads, err));
        }
        KC_TRY(kc_gpu_intake_end(d->intake, err));
out:
        return status;
}

/* The first threads are the devices', and thread 0 the driver; the others copy files. */
template <class Key> static enum kc_status read_files(void *ctx, int thread, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        enum kc_status status;
        bool foreign;
        if (thread >= t->options->ndevices)
                return kc_gpu_intakes_read(&t->intakes, thread - t->options->ndevices, &foreign,
                                           err);
        KC_TRY(take_files(&t->devices[thread], err));
        if (thread > 0)
                return KC_OK;
        KC_TRY(kc_gpu_intakes_wait(&t->intakes, &foreign, err));
        t->takes_files = !foreign;
        kc_gpu_intakes_end(&t->intakes);
out:
        return status;
}

template <class Key> static void free_intakes(struct tallying<Key> *t)
{
        for (int i = 0; i < t->options->ndevices; i++) {
                struct tallier<Key> *d = &t->devices[i];
                if (d->intake != NULL)
                        (void)cudaSetDevice(d->gpu.device);
                kc_gpu_intake_free(d->intake);
                d->intake = NULL;
        }
}

/* Forget what the intakes have read. */
template <class Key> static enum kc_status drop_files(struct tallying<Key> *t, struct kc_error *err)
{
        const struct kc_stored_source *source = t->reads->stored;
        enum kc_status status = KC_OK;
        uint64_t nbytes = 0;
        for (size_t i = 0; i < source->nfiles; i++)
                nbytes += source->files[i].nbytes;
        kc_job_expect(t->reads->job, nbytes);
        t->callers->clear(t->callers->ctx);
        for (int i = 0; i < t->options->ndevices; i++) {
                struct tallier<Key> *d = &t->devices[i];
                d->nwindows = 0;
                KC_TRY(KC_CUDA(cudaSetDevice(d->gpu.device)));
                KC_TRY(kc_ask_frequencies_clear(&d->frequencies, err));
        }
out:
        return status;
}

/* ---- reading batches ---- */

template <class Key> static enum kc_status make_feed(struct tallying<Key> *t, struct kc_error *err)
{
        struct kc_gpu_feed_setup setup = {};
        const uint64_t wanted = t->options->batch_nbases;
        t->batch_words = kc_gpu_feed_plan_words((size_t)t->reads->memory_nbytes / 4, t->nworkers,
                                                wanted != 0 ? wanted : (uint64_t)BUFFER_NBASES);
        setup.k = t->table->k;
        setup.nthreads = t->nworkers;
        setup.ndevices = t->options->ndevices;
        setup.source = t->reads->batches;
        setup.batch_words = t->batch_words;
        return kc_gpu_feed_new(&t->feed, &setup, &t->gate, &t->trace, err);
}

template <class Key> static enum kc_status attach_feed(struct tallier<Key> *d, struct kc_error *err)
{
        const struct tallying<Key> *t = d->all;
        const uint64_t wanted = t->options->batch_nbases;
        const uint64_t nbases = wanted != 0 ? wanted : (uint64_t)BUFFER_NBASES;
        const struct kc_gpu_feed_caps least = kc_gpu_feed_least(t->batch_words);
        struct kc_gpu_feed_caps caps = kc_gpu_feed_plan_caps(nbases, t->batch_words);
        bool attached; /* nothing has been read yet */
        caps.nbuffers = NBUFFERS;
        while (caps.nbases > least.nbases && kc_gpu_feed_nbytes(&caps) > kc_gpu_room(&d->gpu) / 2) {
                caps = kc_gpu_feed_plan_caps(caps.nbases / 2, t->batch_words);
                caps.nbuffers = KC_FEED_MIN_BUFFERS;
        }
        const enum kc_status status = KC_CUDA(cudaSetDevice(d->gpu.device));
        return status == KC_OK
                       ? kc_gpu_feed_attach(t->feed, d->number, &d->gpu, &caps, 1, &attached, err)
                       : status;
}

template <class Key> static enum kc_status attach_all(struct tallying<Key> *t, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(make_feed(t, err));
        for (int i = 0; i < t->options->ndevices; i++)
                KC_TRY(attach_feed(&t->devices[i], err));
out:
        return status;
}

template <class Key>
static enum kc_status take_batches(struct tallier<Key> *d, struct kc_error *err)
{
        struct kc_gpu_feed *feed = d->all->feed;
        enum kc_status status;
        struct kc_gpu_reads reads;
        KC_TRY(KC_CUDA(cudaSetDevice(d->gpu.device)));
        for (;;) {
                KC_TRY(kc_gpu_feed_take(feed, d->number, &reads, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(add_reads(d, &reads, err));
                kc_gpu_feed_give_back(feed, d->number);
        }
        kc_gpu_feed_detach(feed, d->number);
out:
        return status;
}

/* The threads are those of read_files. */
template <class Key> static enum kc_status read_batches(void *ctx, int thread, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        const int ndevices = t->options->ndevices;
        return thread < ndevices ? take_batches(&t->devices[thread], err)
                                 : kc_gpu_feed_read(t->feed, thread - ndevices, err);
}

/* ---- opening and closing ---- */

/* All memory but that of the table, beside which it is little. */
template <class Key> static enum kc_status take_memory(struct tallier<Key> *d, struct kc_error *err)
{
        enum kc_status status;
        const size_t share = d->gpu.limit_nbytes / SHARE / KC_SPAN_NKMERS;
        const size_t wanted = d->all->options->batch_nbases;
        const size_t most = wanted != 0 ? wanted : (size_t)USUAL_NSPANS;
        d->nspans = std::max(std::min(share / (sizeof(Key) + sizeof(uint32_t)), most), (size_t)1);
        KC_TRY(kc_gpu_new(&d->gpu, &d->kmers, d->nspans * KC_SPAN_NKMERS, err));
        KC_TRY(kc_gpu_new(&d->gpu, &d->counts, d->nspans * KC_SPAN_NKMERS, err));
        KC_TRY(kc_gpu_new(&d->gpu, &d->nkmers, 1, err));
        KC_TRY(kc_ask_frequencies_open(&d->frequencies, &d->gpu, KC_ASK_USUAL_SLOTS, err));
out:
        return status;
}

template <class Key>
static enum kc_status load(void *ctx, const struct kc_join_source *source,
                           struct kc_join_totals *totals, struct kc_error *err)
{
        struct tallier<Key> *d = (struct tallier<Key> *)ctx;
        const struct tallying<Key> *t = d->all;
        const int nreaders = std::max(t->reads->nthreads / t->options->ndevices, 1);
        return kc_ask_load(&d->table, &d->gpu, source, t->options->map, nreaders, totals, err);
}

/* A thread for each device. */
template <class Key> static enum kc_status open_device(void *ctx, int number, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        struct tallier<Key> *d = &t->devices[number];
        const struct kc_gpu_ask_options *options = t->options;
        const struct kc_gpu_ask_reader reader = { d, load<Key> };
        enum kc_status status;
        d->all = t;
        d->number = number;
        KC_TRY(kc_gpu_wake(options->devices[number], err));
        KC_TRY(kc_gpu_open(&d->gpu, options->devices[number], options->memory_nbytes, err));
        KC_TRY(take_memory(d, err));
        KC_TRY(t->table->read(t->table->ctx, &reader, err));
        KC_TRY(open_intake(d, err));
out:
        return status;
}

template <class Key> static void close_device(struct tallier<Key> *d)
{
        if (d->gpu.pool != NULL) {
                (void)cudaSetDevice(d->gpu.device);
                (void)cudaDeviceSynchronize(); /* after a failure, copies may be under way */
        }
        kc_gpu_intake_free(d->intake);
        kc_ask_map_close(&d->table);
        kc_ask_frequencies_close(&d->frequencies);
        kc_gpu_delete(&d->gpu, d->kmers, d->nspans * KC_SPAN_NKMERS);
        kc_gpu_delete(&d->gpu, d->counts, d->nspans * KC_SPAN_NKMERS);
        kc_gpu_delete(&d->gpu, d->nkmers, 1);
        kc_gpu_close(&d->gpu);
}

template <class Key> static void stop(void *ctx)
{
        kc_gate_stop(&((struct tallying<Key> *)ctx)->gate);
}

/* Pass the frequencies to the tally. */
template <class Key> static enum kc_status end(struct tallying<Key> *t, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t nwindows = 0, ntaken = 0;
        for (int i = 0; i < t->options->ndevices; i++) {
                struct tallier<Key> *d = &t->devices[i];
                KC_TRY(KC_CUDA(cudaSetDevice(d->gpu.device)));
                KC_TRY(kc_ask_frequencies_end(&d->frequencies, &t->tally, err));
                nwindows += d->nwindows;
                ntaken += d->frequencies.ntaken;
        }
        if (ntaken != nwindows)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the device looked up %" PRIu64 " of %" PRIu64
                                      " k-mers; please report this",
                                      ntaken, nwindows);
out:
        return status;
}

template <class Key>
static enum kc_status run(struct tallying<Key> *t, bool *began, struct kc_error *err)
{
        const int ndevices = t->options->ndevices, nthreads = ndevices + t->nworkers;
        enum kc_status status;
        KC_TRY(kc_parallel(ndevices, open_device<Key>, NULL, t, err));
        t->takes_files = t->devices[0].intake != NULL;
        if (!t->takes_files) {
                free_intakes(t);
                KC_TRY(attach_all(t, err));
        }
        *began = true;
        if (t->takes_files) {
                KC_TRY(kc_parallel(nthreads, read_files<Key>, stop<Key>, t, err));
                if (t->takes_files)
                        return end(t, err);
                KC_TRY(drop_files(t, err));
                KC_TRY(attach_all(t, err));
        }
        KC_TRY(kc_parallel(nthreads, read_batches<Key>, stop<Key>, t, err));
        KC_TRY(end(t, err));
out:
        return status;
}

template <class Key>
static enum kc_status tally_with(const struct kc_gpu_ask_table *table,
                                 const struct kc_gpu_ask_options *options,
                                 const struct kc_gpu_ask_reads *reads,
                                 const struct kc_ask_tally *tally, bool *began,
                                 struct kc_error *err)
{
        struct tallying<Key> t = {
        };
        const int nthreads = reads->nthreads;
        t.table = table;
        t.options = options;
        t.reads = reads;
        t.tally = { &t, put_locked<Key>, NULL };
        t.callers = tally;
        t.nworkers = nthreads > MANY_THREADS ? std::max(nthreads - options->ndevices, 1) : nthreads;
        pthread_mutex_init(&t.lock, NULL);
        kc_gate_init(&t.gate, reads->job);
        kc_gpu_trace_open(&t.trace, NULL);
        t.intakes.gate = &t.gate;
        t.intakes.source = reads->stored;
        t.intakes.n = options->ndevices;
        const enum kc_status status = run(&t, began, err);
        kc_gpu_feed_free(t.feed);
        for (int i = 0; i < options->ndevices; i++)
                close_device(&t.devices[i]);
        kc_gpu_trace_close(&t.trace);
        kc_gate_destroy(&t.gate);
        pthread_mutex_destroy(&t.lock);
        return status;
}

enum kc_status kc_gpu_ask_tally(const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_gpu_ask_reads *reads,
                                const struct kc_ask_tally *tally, bool *began, struct kc_error *err)
{
        const enum kc_status status = kc_ask_check_map(options->map, table->k, err);
        *began = false;
        if (status != KC_OK)
                return status;
        if (table->k <= 32)
                return tally_with<kc_key64>(table, options, reads, tally, began, err);
        return tally_with<kc_key128>(table, options, reads, tally, began, err);
}
