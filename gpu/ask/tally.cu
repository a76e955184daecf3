/*
 * Looking up all windows of the reads of files, whatever their order.
 *
 *      files ──▶ portions ──▶ text ──▶ reads on the device                  gpu/intake/intake.cuh
 *      or:     batches ──▶ pinned ──▶ reads on the device                   gpu/feed/feed.cuh
 *      reads ──▶ k-mers ──▶ counts ──▶ how often each count occurs          gpu/ask/frequencies.cuh
 *
 * The thread that calls is the driver: it loads the table, and then makes all calls to the device
 * but the workers' copies. Only the frequencies of counts come back.
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
        MANY_THREADS = 8, /* with more, the driver has a core of its own */
};

namespace
{

template <class Key> struct tallying {
        const struct kc_gpu_ask_reads *reads;
        const struct kc_ask_tally *tally;
        int k;
        bool stranded;
        enum kc_gpu_map map;
        uint64_t batch_nbases; /* 0: as many as usual */
        struct kc_gpu gpu;
        struct kc_ask_map<Key> table;
        struct kc_ask_frequencies frequencies;
        uint64_t nwindows; /* looked up since the beginning of the reads */
        /* A slice of the reads: at most nspans of their spans. Device memory. */
        size_t nspans;
        Key *kmers;                 /* [nspans * KC_SPAN_NKMERS] */
        uint32_t *counts;           /* likewise */
        unsigned long long *nkmers; /* [1] */
        /* Reading. */
        int nworkers;
        uint32_t batch_words; /* of the feed */
        struct kc_gate gate;
        struct kc_gpu_trace trace; /* disabled */
        struct kc_gpu_intakes intakes;
        struct kc_gpu_intake *intake; /* or NULL: reads come in batches */
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
static enum kc_status add_slice(struct tallying<Key> *t, const uint64_t *words,
                                const struct kc_span *spans, size_t nspans, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = t->gpu.stream;
        unsigned long long n;
        static_assert(sizeof(struct kc_ask_repeats) <= sizeof(Key), "k-mers leave room for them");
        KC_TRY(KC_CUDA(cudaMemsetAsync(t->nkmers, 0, sizeof *t->nkmers, stream)));
        windows_kernel<<<kc_ceil_div(nspans, THREADS), THREADS, 0, stream>>>(
                words, spans, nspans, t->k, t->stranded, t->kmers, t->nkmers);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(&t->gpu, &n, t->nkmers, 1, err));
        KC_TRY(kc_ask_map_find(&t->table, stream, (const Key *)t->kmers, t->counts, n, err));
        KC_TRY(kc_ask_frequencies_add(&t->frequencies, t->counts, n,
                                      (struct kc_ask_repeats *)t->kmers, t->tally, err));
out:
        return status;
}

template <class Key>
static enum kc_status add_reads(struct tallying<Key> *t, const struct kc_gpu_reads *reads,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < reads->nspans; i += t->nspans)
                KC_TRY(add_slice(t, reads->words, reads->spans + i,
                                 std::min(reads->nspans - i, t->nspans), err));
        t->nwindows += reads->nkmers;
out:
        return status;
}

/* ---- reading ---- */

/* An intake, if the files are given and there is memory for it. */
template <class Key>
static enum kc_status open_intake(struct tallying<Key> *t, struct kc_error *err)
{
        struct kc_error refusal = {};
        struct kc_gpu_intake_setup setup = {};
        if (t->reads->stored == NULL)
                return KC_OK;
        t->intakes.gate = &t->gate;
        t->intakes.source = t->reads->stored;
        t->intakes.n = 1;
        setup.all = &t->intakes;
        setup.k = setup.max_k = t->k;
        setup.text_nbytes = kc_gpu_intake_plan(t->reads->stored, kc_gpu_room(&t->gpu),
                                               t->reads->memory_nbytes / 4, t->batch_nbases);
        if (setup.text_nbytes == 0)
                return KC_OK;
        enum kc_status status = kc_gpu_intake_new(&t->intake, &setup, err);
        if (status != KC_OK)
                return status;
        status = kc_gpu_intake_attach(t->intake, &t->gpu, setup.text_nbytes, &refusal);
        if (status == KC_OK) {
                (void)kc_gpu_intake_join(t->intake);
                return KC_OK;
        }
        kc_gpu_intake_free(t->intake);
        t->intake = NULL;
        if (status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        kc_gpu_forget_refusals(&t->gpu);
        return KC_OK;
}

template <class Key>
static enum kc_status attach_feed(struct tallying<Key> *t, struct kc_error *err)
{
        const uint64_t nbases = t->batch_nbases != 0 ? t->batch_nbases : (uint64_t)BUFFER_NBASES;
        const uint32_t words = t->batch_words;
        struct kc_gpu_feed_caps caps = kc_gpu_feed_plan_caps(nbases, words);
        const struct kc_gpu_feed_caps least = kc_gpu_feed_least(words);
        bool attached; /* if not, there are no reads */
        caps.nbuffers = NBUFFERS;
        while (caps.nbases > least.nbases && kc_gpu_feed_nbytes(&caps) > kc_gpu_room(&t->gpu) / 2) {
                caps = kc_gpu_feed_plan_caps(caps.nbases / 2, words);
                caps.nbuffers = KC_FEED_MIN_BUFFERS;
        }
        return kc_gpu_feed_attach(t->feed, 0, &t->gpu, &caps, 1, &attached, err);
}

/* Reads of files that the device inflates and parses. *foreign: it could not, so all reads come
 * again. */
template <class Key>
static enum kc_status drive_intake(struct tallying<Key> *t, bool *foreign, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        for (;;) {
                KC_TRY(kc_gpu_intake_take(t->intake, &reads, foreign, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(add_reads(t, &reads, err));
        }
        KC_TRY(kc_gpu_intake_end(t->intake, err));
        KC_TRY(kc_gpu_intakes_wait(&t->intakes, foreign, err));
        kc_gpu_intakes_end(&t->intakes);
out:
        return status;
}

/* Forget what the intake has read, and prepare for batches. */
template <class Key>
static enum kc_status begin_again(struct tallying<Key> *t, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_stored_source *source = t->reads->stored;
        uint64_t nbytes = 0;
        for (size_t i = 0; i < source->nfiles; i++)
                nbytes += source->files[i].nbytes;
        kc_job_expect(t->reads->job, nbytes);
        t->tally->clear(t->tally->ctx);
        t->nwindows = 0;
        KC_TRY(kc_ask_frequencies_clear(&t->frequencies, err));
        KC_TRY(attach_feed(t, err));
out:
        return status;
}

template <class Key> static enum kc_status drive_feed(struct tallying<Key> *t, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        for (;;) {
                KC_TRY(kc_gpu_feed_take(t->feed, 0, &reads, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(add_reads(t, &reads, err));
                kc_gpu_feed_give_back(t->feed, 0);
        }
        kc_gpu_feed_detach(t->feed, 0);
out:
        return status;
}

template <class Key> static enum kc_status drive(struct tallying<Key> *t, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool foreign = true;
        if (t->intake != NULL)
                KC_TRY(drive_intake(t, &foreign, err));
        if (t->intake != NULL && foreign)
                KC_TRY(begin_again(t, err));
        if (foreign)
                KC_TRY(drive_feed(t, err));
        KC_TRY(kc_ask_frequencies_end(&t->frequencies, t->tally, err));
        if (t->frequencies.ntaken != t->nwindows)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the device looked up %" PRIu64 " of %" PRIu64
                                      " k-mers; please report this",
                                      t->frequencies.ntaken, t->nwindows);
out:
        return status;
}

/* Thread 0 drives the device, the others read. */
template <class Key> static enum kc_status work(void *ctx, int thread, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        enum kc_status status = KC_OK;
        bool batches = true;
        if (thread == 0)
                return drive(t, err);
        if (t->intake != NULL)
                KC_TRY(kc_gpu_intakes_read(&t->intakes, thread - 1, &batches, err));
        if (batches)
                KC_TRY(kc_gpu_feed_read(t->feed, thread - 1, err));
out:
        return status;
}

template <class Key> static void stop(void *ctx)
{
        kc_gate_stop(&((struct tallying<Key> *)ctx)->gate);
}

/* ---- opening and closing ---- */

/* The table is what must fit: this is little beside it. */
template <class Key>
static enum kc_status take_memory(struct tallying<Key> *t, struct kc_error *err)
{
        enum kc_status status;
        const size_t share = t->gpu.limit_nbytes / SHARE / KC_SPAN_NKMERS;
        const size_t most = t->batch_nbases != 0 ? (size_t)t->batch_nbases : (size_t)USUAL_NSPANS;
        t->nspans = std::max(std::min(share / (sizeof(Key) + sizeof(uint32_t)), most), (size_t)1);
        KC_TRY(kc_gpu_new(&t->gpu, &t->kmers, t->nspans * KC_SPAN_NKMERS, err));
        KC_TRY(kc_gpu_new(&t->gpu, &t->counts, t->nspans * KC_SPAN_NKMERS, err));
        KC_TRY(kc_gpu_new(&t->gpu, &t->nkmers, 1, err));
        KC_TRY(kc_ask_frequencies_open(&t->frequencies, &t->gpu, KC_ASK_USUAL_SLOTS, err));
out:
        return status;
}

template <class Key> static enum kc_status make_feed(struct tallying<Key> *t, struct kc_error *err)
{
        struct kc_gpu_feed_setup setup = {};
        const uint64_t nbases = t->batch_nbases != 0 ? t->batch_nbases : (uint64_t)BUFFER_NBASES;
        t->batch_words =
                kc_gpu_feed_plan_words((size_t)t->reads->memory_nbytes / 4, t->nworkers, nbases);
        setup.k = t->k;
        setup.nthreads = t->nworkers;
        setup.ndevices = 1;
        setup.source = t->reads->batches;
        setup.batch_words = t->batch_words;
        return kc_gpu_feed_new(&t->feed, &setup, &t->gate, &t->trace, err);
}

template <class Key>
static enum kc_status load(void *ctx, const struct kc_join_source *source,
                           struct kc_join_totals *totals, struct kc_error *err)
{
        struct tallying<Key> *t = (struct tallying<Key> *)ctx;
        return kc_ask_load(&t->table, &t->gpu, source, t->map, t->reads->nthreads, totals, err);
}

template <class Key>
static enum kc_status run(struct tallying<Key> *t, const struct kc_gpu_ask_table *table,
                          const struct kc_gpu_ask_options *options, bool *began,
                          struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_ask_reader reader = { t, load<Key> };
        KC_TRY(kc_gpu_wake(options->devices[0], err));
        KC_TRY(kc_gpu_open(&t->gpu, options->devices[0], options->memory_nbytes, err));
        KC_TRY(take_memory(t, err));
        KC_TRY(table->read(table->ctx, &reader, err));
        KC_TRY(make_feed(t, err));
        KC_TRY(open_intake(t, err));
        if (t->intake == NULL)
                KC_TRY(attach_feed(t, err));
        *began = true;
        KC_TRY(kc_parallel(1 + t->nworkers, work<Key>, stop<Key>, t, err));
out:
        return status;
}

template <class Key> static void close(struct tallying<Key> *t)
{
        if (t->gpu.pool != NULL) {
                (void)cudaSetDevice(t->gpu.device);
                (void)cudaDeviceSynchronize(); /* after a failure, copies may be under way */
        }
        kc_gpu_feed_free(t->feed);
        kc_gpu_intake_free(t->intake);
        kc_ask_map_close(&t->table);
        kc_ask_frequencies_close(&t->frequencies);
        kc_gpu_delete(&t->gpu, t->kmers, t->nspans * KC_SPAN_NKMERS);
        kc_gpu_delete(&t->gpu, t->counts, t->nspans * KC_SPAN_NKMERS);
        kc_gpu_delete(&t->gpu, t->nkmers, 1);
        kc_gpu_close(&t->gpu);
        kc_gpu_trace_close(&t->trace);
        kc_gate_destroy(&t->gate);
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
        t.reads = reads;
        t.tally = tally;
        t.k = table->k;
        t.stranded = options->stranded;
        t.map = options->map;
        t.batch_nbases = options->batch_nbases;
        t.nworkers = nthreads > MANY_THREADS ? nthreads - 1 : nthreads;
        kc_gate_init(&t.gate, reads->job);
        kc_gpu_trace_open(&t.trace, NULL);
        const enum kc_status status = run(&t, table, options, began, err);
        close(&t);
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
