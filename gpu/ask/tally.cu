/*
 * Looking up all windows of the reads of files, whatever their order.
 *
 *      files ──▶ portions ──▶ text ──▶ reads ──▶ backlog                    gpu/intake/intake.cuh
 *      or:     batches ──▶ pinned ──▶ reads on a device                     gpu/feed/feed.cuh
 *      reads ──▶ k-mers ──▶ counts ──▶ how often each count occurs          gpu/ask/frequencies.cuh
 *
 * Each device has a copy of the table, and a thread that opens it, loads the table and looks reads
 * up. At the same time another thread makes reads from files for it (gpu/ask/backlog.cuh), with
 * streams and memory of its own. A read is looked up on the device that it comes to, so a device
 * that is ready late gets fewer reads. Only the frequencies of counts come back.
 */
#include "gpu/ask.h"

#include "base/parallel.h"
#include "gpu/ask/backlog.cuh"
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
        INTAKES = 4, /* how many times its usual share of the memory for reads an intake gets */
        USUAL_NSPANS = 1 << 20,
        BUFFER_NBASES = 1 << 25, /* of the feed */
        NBUFFERS = KC_FEED_MAX_BUFFERS,
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
        Key *kmers;                 /* [nspans * KC_SPAN_NKMERS] */
        uint32_t *counts;           /* likewise */
        unsigned long long *nkmers; /* [1] */
        bool is_loaded;
        /* reads of files */
        struct kc_gpu reading; /* the same device, for the thread that makes them */
        struct kc_gpu_intake *intake;
        struct kc_ask_backlog backlog;
        /* guarded by the gate */
        bool is_open, is_attached;
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
        bool takes_files; /* otherwise, or if the intakes give up, reads come in batches */
        bool gave_up;
        struct kc_gpu_feed *feed;
        int nloaded; /* devices; guarded by the gate */
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

/* When it returns, no work uses the reads any more, as kc_ask_backlog_done and
 * kc_gpu_feed_give_back require. */
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

/* ---- loading ---- */

template <class Key>
static enum kc_status join_runs(void *ctx, const struct kc_join_source *source,
                                struct kc_join_totals *totals, struct kc_error *err)
{
        struct tallier<Key> *d = (struct tallier<Key> *)ctx;
        const struct tallying<Key> *t = d->all;
        const int nreaders = std::max(t->reads->nthreads / t->options->ndevices, 1);
        return kc_ask_load(&d->table, &d->gpu, source, t->options->map, nreaders, t->reads->job,
                           totals, err);
}

/* Load the device's table, unless it is loaded already. */
template <class Key> static enum kc_status load(struct tallier<Key> *d, struct kc_error *err)
{
        struct tallying<Key> *t = d->all;
        const struct kc_gpu_ask_reader reader = { d, join_runs<Key> };
        enum kc_status status = KC_OK;
        if (!d->is_loaded)
                KC_TRY(t->table->read(t->table->ctx, &reader, err));
        d->is_loaded = true;
out:
        return status;
}

/* Change what all threads may wait for. */
template <class Key, class Change> static void tell_all(struct tallying<Key> *t, Change change)
{
        kc_gate_enter(&t->gate);
        change();
        kc_gate_wake_all(&t->gate);
        kc_gate_leave(&t->gate);
}

/* Say that a device's table is loaded, or that it needs none, because no reads are left. */
template <class Key> static void note_loaded(struct tallying<Key> *t)
{
        tell_all(t, [&] { t->nloaded++; });
}

/* ---- opening ---- */

/* Take all memory but the table's, which is far larger. Half of a share is for a slice. */
template <class Key> static enum kc_status take_memory(struct tallier<Key> *d, struct kc_error *err)
{
        enum kc_status status;
        const size_t share = d->gpu.limit_nbytes / KC_ASK_SHARE / 2 / KC_SPAN_NKMERS;
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

/* Set aside memory for the thread that makes reads of files. */
template <class Key>
static enum kc_status open_reading(struct tallier<Key> *d, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gate *gate = &d->all->gate;
        const size_t share = d->gpu.bound_nbytes / KC_ASK_SHARE;
        KC_TRY(kc_gpu_open(&d->reading, d->gpu.device, share, err));
        d->gpu.bound_nbytes -= share;
        d->gpu.limit_nbytes = d->gpu.bound_nbytes;
        KC_TRY(kc_ask_backlog_open(&d->backlog, &d->reading, gate, kc_gate_device(d->number), err));
out:
        return status;
}

template <class Key> static void close_reading(struct tallier<Key> *d)
{
        kc_gpu_intake_free(d->intake);
        d->intake = NULL;
        kc_ask_backlog_close(&d->backlog);
        kc_gpu_close(&d->reading);
        d->reading = {};
}

/* The driver opens one device after the other anyway, so the others wait for the first one, which
 * can begin while they are opened. */
template <class Key> static enum kc_status open_device(struct tallier<Key> *d, struct kc_error *err)
{
        struct tallying<Key> *t = d->all;
        const struct kc_gpu_ask_options *options = t->options;
        enum kc_status status = KC_OK;
        if (d->number > 0)
                KC_TRY(kc_gate_await(
                        &t->gate, KC_GATE_FOLLOWERS, [&] { return t->devices[0].is_open; }, err));
        KC_TRY(kc_gpu_wake(options->devices[d->number], err));
        KC_TRY(kc_gpu_open(&d->gpu, options->devices[d->number], options->memory_nbytes, err));
        if (t->takes_files)
                KC_TRY(open_reading(d, err));
        KC_TRY(take_memory(d, err));
        tell_all(t, [&] { d->is_open = true; });
out:
        return status;
}

/* ---- reading files ---- */

/* Open the intake. *opened: false if there is too little memory: then the device takes no part or,
 * if it is the first one, all devices give the files up. */
template <class Key>
static enum kc_status open_intake(struct tallier<Key> *d, bool *opened, struct kc_error *err)
{
        struct tallying<Key> *t = d->all;
        enum kc_status status = KC_ENOMEM;
        struct kc_gpu_intake_setup setup = {};
        struct kc_error refusal = {};
        setup.all = &t->intakes;
        setup.number = d->number;
        setup.k = setup.max_k = t->table->k;
        setup.text_nbytes =
                kc_gpu_intake_plan(t->reads->stored, INTAKES * d->reading.limit_nbytes,
                                   t->reads->memory_nbytes / 4 / (size_t)t->options->ndevices,
                                   t->options->batch_nbases);
        if (setup.text_nbytes != 0) {
                KC_TRY(kc_gpu_intake_new(&d->intake, &setup, err));
                status = kc_gpu_intake_attach(d->intake, &d->reading, setup.text_nbytes, &refusal);
        }
        *opened = status == KC_OK;
        if (status == KC_ENOMEM && d->number == 0)
                kc_gpu_intakes_give_up(&t->intakes);
        if (status != KC_OK && status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        status = KC_OK;
out:
        return status;
}

/* Make reads from files, until all parts are taken. */
template <class Key> static enum kc_status make_reads(struct tallier<Key> *d, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_reads reads;
        bool foreign;
        if (!kc_gpu_intake_join(d->intake))
                return KC_OK;
        for (;;) {
                KC_TRY(kc_gpu_intake_take(d->intake, &reads, &foreign, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(kc_ask_backlog_put(&d->backlog, &reads, err));
        }
        KC_TRY(kc_gpu_intake_end(d->intake, err));
out:
        return status;
}

/* What the thread that makes reads does, from the opening of its device on. */
template <class Key> static enum kc_status run_intake(struct tallier<Key> *d, struct kc_error *err)
{
        enum kc_status status;
        struct tallying<Key> *t = d->all;
        bool opened;
        KC_TRY(kc_gate_await(
                &t->gate, kc_gate_device(d->number), [&] { return d->is_open; }, err));
        KC_TRY(KC_CUDA(cudaSetDevice(d->gpu.device))); /* it is per thread */
        KC_TRY(open_intake(d, &opened, err));
        if (opened)
                KC_TRY(make_reads(d, err));
        kc_ask_backlog_end(&d->backlog);
        if (d->number > 0)
                return KC_OK;
        KC_TRY(kc_gpu_intakes_wait(&t->intakes, &t->gave_up, err));
        kc_gpu_intakes_end(&t->intakes);
out:
        return status;
}

/* Whether reads are likely to come to the device, which is open. */
template <class Key> static bool needs_table(struct tallier<Key> *d)
{
        struct tallying<Key> *t = d->all;
        kc_gate_enter(&t->gate);
        const bool ends = t->intakes.over || t->intakes.next_part == t->intakes.source->nparts;
        kc_gate_leave(&t->gate);
        return d->number == 0 || !ends;
}

/* Look up what the device's other thread makes. */
template <class Key> static enum kc_status take_files(struct tallier<Key> *d, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        KC_TRY(open_device(d, err));
        if (needs_table(d))
                KC_TRY(load(d, err));
        note_loaded(d->all);
        for (;;) {
                KC_TRY(kc_ask_backlog_take(&d->backlog, d->gpu.stream, &reads, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(load(d, err)); /* the last parts may have come to it after all */
                KC_TRY(add_reads(d, &reads, err));
                kc_ask_backlog_done(&d->backlog);
        }
out:
        return status;
}

/* The first threads look reads up, each on its device; then come those that make reads, the first
 * of which is the driver; the others copy files. */
template <class Key> static enum kc_status read_files(void *ctx, int thread, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        const int ndevices = t->options->ndevices;
        bool foreign;
        if (thread < ndevices)
                return take_files(&t->devices[thread], err);
        if (thread < 2 * ndevices)
                return run_intake(&t->devices[thread - ndevices], err);
        return kc_gpu_intakes_read(&t->intakes, thread - 2 * ndevices, &foreign, err);
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
        t->nloaded = 0; /* a device to which no reads came has not loaded the table */
        for (int i = 0; i < t->options->ndevices; i++) {
                struct tallier<Key> *d = &t->devices[i];
                d->nwindows = 0;
                KC_TRY(KC_CUDA(cudaSetDevice(d->gpu.device)));
                KC_TRY(KC_CUDA(cudaDeviceSynchronize()));
                close_reading(d);
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
        setup.read_ahead = t->reads->read_ahead;
        return kc_gpu_feed_new(&t->feed, &setup, &t->gate, &t->trace, err);
}

/* *attached: false if the other devices have taken all reads. The first device attaches first. */
template <class Key>
static enum kc_status attach_feed(struct tallier<Key> *d, bool *attached, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct tallying<Key> *t = d->all;
        const uint64_t wanted = t->options->batch_nbases;
        const uint64_t nbases = wanted != 0 ? wanted : (uint64_t)BUFFER_NBASES;
        const struct kc_gpu_feed_caps least = kc_gpu_feed_least(t->batch_words);
        const size_t most = kc_gpu_room(&d->gpu) / 2 / (d->is_loaded ? 1 : KC_ASK_SHARE);
        struct kc_gpu_feed_caps caps = kc_gpu_feed_plan_caps(nbases, t->batch_words);
        caps.nbuffers = NBUFFERS;
        while (caps.nbases > least.nbases && kc_gpu_feed_nbytes(&caps) > most) {
                caps = kc_gpu_feed_plan_caps(caps.nbases / 2, t->batch_words);
                caps.nbuffers = KC_FEED_MIN_BUFFERS;
        }
        if (d->number > 0)
                KC_TRY(kc_gate_await(
                        &t->gate, KC_GATE_FOLLOWERS, [&] { return t->devices[0].is_attached; },
                        err));
        KC_TRY(kc_gpu_feed_attach(t->feed, d->number, &d->gpu, &caps, 1, attached, err));
        tell_all(t, [&] { d->is_attached = true; });
out:
        return status;
}

/* Load the table and attach the feed: the feed comes first if reading may begin before it is known
 * whether the tables fit. */
template <class Key>
static enum kc_status load_and_attach(struct tallier<Key> *d, bool *attached, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct tallying<Key> *t = d->all;
        const int ndevices = t->options->ndevices;
        *attached = true;
        if (t->reads->read_ahead)
                KC_TRY(attach_feed(d, attached, err));
        if (*attached)
                KC_TRY(load(d, err));
        note_loaded(t);
        if (!t->reads->read_ahead) {
                KC_TRY(kc_gate_await(
                        &t->gate, kc_gate_device(d->number), [&] { return t->nloaded >= ndevices; },
                        err));
                KC_TRY(attach_feed(d, attached, err));
        }
out:
        return status;
}

template <class Key>
static enum kc_status take_batches(struct tallier<Key> *d, struct kc_error *err)
{
        struct kc_gpu_feed *feed = d->all->feed;
        enum kc_status status;
        struct kc_gpu_reads reads;
        bool attached;
        KC_TRY(d->is_open ? KC_CUDA(cudaSetDevice(d->gpu.device)) : open_device(d, err));
        KC_TRY(load_and_attach(d, &attached, err));
        while (attached) {
                KC_TRY(kc_gpu_feed_take(feed, d->number, &reads, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(add_reads(d, &reads, err));
                kc_gpu_feed_give_back(feed, d->number);
        }
        if (attached)
                kc_gpu_feed_detach(feed, d->number);
out:
        return status;
}

/* The first threads are the devices', and thread 0 the driver; the others read. */
template <class Key> static enum kc_status read_batches(void *ctx, int thread, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        const int ndevices = t->options->ndevices;
        return thread < ndevices ? take_batches(&t->devices[thread], err)
                                 : kc_gpu_feed_read(t->feed, thread - ndevices, err);
}

/* ---- all of it ---- */

template <class Key> static void close_device(struct tallier<Key> *d)
{
        if (d->gpu.pool != NULL) {
                (void)cudaSetDevice(d->gpu.device);
                (void)cudaDeviceSynchronize(); /* after a failure, copies may be under way */
        }
        close_reading(d);
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

template <class Key> static enum kc_status run(struct tallying<Key> *t, struct kc_error *err)
{
        const int ndevices = t->options->ndevices;
        enum kc_status status;
        if (t->takes_files) {
                KC_TRY(kc_parallel(2 * ndevices + t->nworkers, read_files<Key>, stop<Key>, t, err));
                if (!t->gave_up)
                        return end(t, err);
                KC_TRY(drop_files(t, err));
        }
        KC_TRY(make_feed(t, err));
        KC_TRY(kc_parallel(ndevices + t->nworkers, read_batches<Key>, stop<Key>, t, err));
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
        t.takes_files = reads->stored != NULL;
        for (int i = 0; i < options->ndevices; i++) {
                t.devices[i].all = &t;
                t.devices[i].number = i;
        }
        const enum kc_status status = run(&t, err);
        *began = t.nloaded >= options->ndevices;
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
