/*
 * The asker on a device (gpu/ask.h).
 *
 *      each thread:   letters ──▶ a batch in pinned memory          add       gpu/ask/pack.h
 *                     a full one ──▶ device                         add, answer
 *      one at a time: bases ──▶ k-mers ──▶ counts ──▶ summaries               gpu/ask/batch.cuh
 *      each thread:   summaries, and counts if wanted ──▶ host
 *
 * The lock is held for the middle line only, so that threads pack and copy while one of them looks
 * up. Each thread keeps the answers to its own sequences until it takes them.
 */
#include "gpu/ask.h"

#include "gpu/ask/filling.cuh"
#include "gpu/ask/load.cuh"
#include "gpu/ask/pack.h"
#include "gpu/ask/turns.cuh"

#include <cstdlib>
#include <pthread.h>

enum : uint32_t {
        LEAST_NBASES = 1 << 12, /* the fewest bases of a batch, and the most */
        MOST_NBASES = 1 << 22,
};

namespace
{

struct sequence {
        struct kc_ask_summary summary; /* nlead: of its valid windows, as if there were no gaps */
        uint64_t counts_at, stretches_at;
        uint32_t nstretches;
        uint32_t nbegin;    /* windows in the stretch that begins at base 0 */
        uint32_t nanswered; /* valid windows that the summary includes so far */
};

/* A growing array. */
template <class T> struct array {
        T *items;
        size_t n, cap;
};

struct asking_thread {
        cudaStream_t stream;
        cudaEvent_t uploaded;
        struct kc_ask_arrays host, device;
        size_t *part_of; /* [caps.nparts] number of each part's sequence */
        struct kc_ask_sizes sizes;
        uint64_t round; /* that its answers belong to */
        struct array<struct sequence> sequences;
        struct array<uint32_t> counts;
        struct array<struct kc_ask_stretch> stretches;
        size_t ntaken;
};

template <class Key> struct engine {
        struct kc_gpu gpu;
        struct kc_ask_setup setup;
        int k;
        bool stranded;
        enum kc_gpu_map map;
        struct kc_ask_map<Key> table;
        struct kc_ask_sizes caps;        /* of batches */
        struct asking_thread *threads;   /* [setup.nthreads] */
        uint64_t round;                  /* rounds that are answered */
        uint64_t held_nbytes, most_held; /* bytes of answers; atomic */
        pthread_mutex_t lock;            /* of the table, the device's stream and the next one */
        Key *kmers;                      /* [caps.nbases] device */
};

} // namespace

template <class T> static enum kc_status reserve(array<T> *a, size_t n, struct kc_error *err)
{
        if (a->n + n <= a->cap)
                return KC_OK;
        const size_t cap = 2 * a->cap > a->n + n ? 2 * a->cap : a->n + n;
        T *items = (T *)realloc((void *)a->items, cap * sizeof *items);
        if (items == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        a->items = items;
        a->cap = cap;
        return KC_OK;
}

/* ---- memory ---- */

/* At most half of the memory is for batches, the rest for answers. */
template <class Key> static void plan_memory(struct engine<Key> *e, uint32_t batch_nbases)
{
        const uint64_t most = e->setup.memory_nbytes / 2 / (unsigned)e->setup.nthreads;
        uint32_t nbases = batch_nbases != 0 ? batch_nbases : (uint32_t)MOST_NBASES;
        for (;;) {
                nbases = nbases > (uint32_t)e->k ? nbases : (uint32_t)e->k;
                e->caps = kc_ask_caps(nbases);
                if (batch_nbases != 0 || nbases <= LEAST_NBASES ||
                    kc_ask_host_nbytes(&e->caps, e->setup.wants_counts) <= most)
                        break;
                nbases /= 2;
        }
        const uint64_t taken =
                (unsigned)e->setup.nthreads * kc_ask_host_nbytes(&e->caps, e->setup.wants_counts);
        const uint64_t memory = e->setup.memory_nbytes;
        e->most_held = memory > 2 * taken ? (memory - taken) / 4 * 3 : memory / 4;
}

template <class Key>
static enum kc_status open_thread(struct engine<Key> *e, struct asking_thread *t,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking)));
        KC_TRY(kc_gpu_event_new(&t->uploaded, err));
        KC_TRY(kc_ask_host_new(&t->host, &e->caps, e->setup.wants_counts, err));
        KC_TRY(kc_ask_device_new(&e->gpu, &t->device, &e->caps, err));
        t->part_of = (size_t *)calloc(e->caps.nparts, sizeof *t->part_of);
        if (t->part_of == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
out:
        return status;
}

template <class Key> static void close_thread(struct engine<Key> *e, struct asking_thread *t)
{
        kc_ask_device_free(&e->gpu, &t->device, &e->caps);
        kc_ask_host_free(&t->host);
        kc_gpu_event_free(t->uploaded);
        if (t->stream != NULL)
                (void)cudaStreamDestroy(t->stream);
        free(t->part_of);
        free(t->sequences.items);
        free(t->counts.items);
        free(t->stretches.items);
}

/* ---- looking up ---- */

static enum kc_status upload(struct asking_thread *t, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_ask_upload(t->stream, &t->device, &t->host, &t->sizes, err));
        KC_TRY(KC_CUDA(cudaEventRecord(t->uploaded, t->stream)));
out:
        return status;
}

template <class Key>
static enum kc_status look_up(struct engine<Key> *e, struct asking_thread *t, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = e->gpu.stream;
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, t->uploaded, 0)));
        KC_TRY(kc_ask_make_kmers(stream, &t->device, &t->sizes, e->k, e->stranded, e->kmers, err));
        KC_TRY(kc_ask_map_find(&e->table, stream, (const Key *)e->kmers, t->device.counts,
                               t->sizes.nwindows, err));
        KC_TRY(kc_ask_summarize_parts(stream, &t->device, &t->sizes, &e->setup, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

static enum kc_status download(struct asking_thread *t, struct kc_error *err)
{
        enum kc_status status;
        const enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost;
        KC_TRY(kc_ask_copy(t->host.summaries, t->device.summaries, t->sizes.nparts, kind, t->stream,
                           err));
        if (t->host.counts != NULL)
                KC_TRY(kc_ask_copy(t->host.counts, t->device.counts, t->sizes.nwindows, kind,
                                   t->stream, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(t->stream)));
out:
        return status;
}

/* Parts of a sequence come in order. */
static void add_part(struct sequence *sequence, uint32_t nwindows,
                     const struct kc_ask_part_summary *part)
{
        struct kc_ask_summary *s = &sequence->summary;
        if (s->nlead == sequence->nanswered)
                s->nlead += part->nlead;
        sequence->nanswered += nwindows;
        s->nfound += part->nfound;
        s->sum += part->sum;
        s->min = part->min < s->min ? part->min : s->min;
        s->max = part->max > s->max ? part->max : s->max;
}

/* Add the answers to the batch to those that the thread keeps. */
static enum kc_status keep(struct asking_thread *t, struct kc_error *err)
{
        for (uint32_t i = 0; i < t->sizes.nparts; i++)
                add_part(&t->sequences.items[t->part_of[i]], t->host.parts[i].n,
                         &t->host.summaries[i]);
        if (t->host.counts != NULL) {
                const size_t n = t->sizes.nwindows;
                const enum kc_status status = reserve(&t->counts, n, err);
                if (status != KC_OK)
                        return status;
                for (size_t i = 0; i < n; i++)
                        t->counts.items[t->counts.n + i] = t->host.counts[i];
                t->counts.n += n;
        }
        t->sizes = {};
        return KC_OK;
}

/* Answer the batch of a thread. */
template <class Key>
static enum kc_status flush(struct engine<Key> *e, struct asking_thread *t, struct kc_error *err)
{
        enum kc_status status;
        if (t->sizes.nwindows == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaSetDevice(e->gpu.device))); /* it is per thread */
        KC_TRY(upload(t, err));
        pthread_mutex_lock(&e->lock);
        status = look_up(e, t, err);
        pthread_mutex_unlock(&e->lock);
        if (status != KC_OK)
                return status;
        KC_TRY(download(t, err));
        KC_TRY(keep(t, err));
out:
        return status;
}

/* ---- adding ---- */

/* Pack the first of n windows of the last sequence. Returns how many; 0: the batch is full. */
template <class Key>
static uint32_t pack_some(struct engine<Key> *e, struct asking_thread *t, const char *letters,
                          uint32_t n)
{
        const uint32_t nparts = t->sizes.nparts;
        const bool continues = nparts > 0 && t->part_of[nparts - 1] == t->sequences.n - 1;
        const uint32_t npacked =
                kc_ask_fill(&t->host, &t->sizes, &e->caps, e->k, continues, letters, n);
        if (t->sizes.nparts > nparts)
                t->part_of[nparts] = t->sequences.n - 1;
        return npacked;
}

template <class Key>
static enum kc_status add_stretch(struct engine<Key> *e, struct asking_thread *t,
                                  const char *letters, uint32_t n, struct kc_error *err)
{
        while (n > 0) {
                const uint32_t npacked = pack_some(e, t, letters, n);
                const enum kc_status status = npacked == 0 ? flush(e, t, err) : KC_OK;
                if (status != KC_OK)
                        return status;
                letters += npacked;
                n -= npacked;
        }
        return KC_OK;
}

/* Note a stretch of the last sequence. */
static enum kc_status note_stretch(struct asking_thread *t, uint32_t begin, uint32_t n,
                                   bool wants_counts, struct kc_error *err)
{
        struct sequence *sequence = &t->sequences.items[t->sequences.n - 1];
        sequence->summary.nvalid += n;
        if (begin == 0)
                sequence->nbegin = n;
        if (!wants_counts)
                return KC_OK;
        const enum kc_status status = reserve(&t->stretches, 1, err);
        if (status == KC_OK) {
                t->stretches.items[t->stretches.n++] = { begin, n };
                sequence->nstretches++;
        }
        return status;
}

/* There is room for it in the thread's array. */
template <class Key>
static void begin_sequence(const struct engine<Key> *e, struct asking_thread *t, uint32_t nbases)
{
        struct sequence *sequence = &t->sequences.items[t->sequences.n++];
        *sequence = {};
        sequence->summary.min = UINT32_MAX;
        sequence->summary.nwindows = nbases >= (uint32_t)e->k ? nbases - (uint32_t)e->k + 1 : 0;
        sequence->counts_at = t->counts.n + t->sizes.nwindows;
        sequence->stretches_at = t->stretches.n;
}

template <class Key>
static enum kc_status add_sequence(struct engine<Key> *e, struct asking_thread *t,
                                   const struct kc_ask_sequence *from, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const uint32_t k = (uint32_t)e->k, nbases = from->nbases;
        begin_sequence(e, t, nbases);
        for (uint32_t at = 0; nbases - at >= k;) {
                const uint32_t n = kc_ask_count_bases(from->bases + at, nbases - at);
                if (n >= k) {
                        KC_TRY(note_stretch(t, at, n - k + 1, e->setup.wants_counts, err));
                        KC_TRY(add_stretch(e, t, from->bases + at, n - k + 1, err));
                }
                at += n;
                at += kc_ask_count_others(from->bases + at, nbases - at);
        }
out:
        return status;
}

/* Bytes that the answers to n sequences take, the thread's last ones. */
template <class Key>
static uint64_t held_by(const struct engine<Key> *e, const struct asking_thread *t, size_t n)
{
        uint64_t nbytes = n * sizeof(struct sequence);
        if (!e->setup.wants_counts)
                return nbytes;
        for (size_t i = t->sequences.n - n; i < t->sequences.n; i++)
                nbytes += t->sequences.items[i].summary.nvalid * sizeof(uint32_t) +
                          t->sequences.items[i].nstretches * sizeof(struct kc_ask_stretch);
        return nbytes;
}

/* Forget the answers of the round before. */
template <class Key> static void begin_round(struct engine<Key> *e, struct asking_thread *t)
{
        if (t->round == e->round)
                return;
        t->round = e->round;
        t->sequences.n = t->counts.n = t->stretches.n = t->ntaken = 0;
}

template <class Key>
static enum kc_status add(void *ctx, int thread, const struct kc_ask_sequence *sequences, size_t n,
                          bool *full, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        struct asking_thread *t = &e->threads[thread];
        enum kc_status status;
        begin_round(e, t);
        KC_TRY(reserve(&t->sequences, n, err));
        for (size_t i = 0; i < n; i++)
                KC_TRY(add_sequence(e, t, &sequences[i], err));
        if (__atomic_add_fetch(&e->held_nbytes, held_by(e, t, n), __ATOMIC_RELAXED) >= e->most_held)
                *full = true;
out:
        return status;
}

/* ---- answering ---- */

template <class Key> static enum kc_status answer(void *ctx, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        enum kc_status status = KC_OK;
        for (int i = 0; i < e->setup.nthreads; i++)
                KC_TRY(flush(e, &e->threads[i], err));
        e->round++;
        e->held_nbytes = 0;
out:
        return status;
}

template <class Key>
static enum kc_status take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                           struct kc_error *)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        struct asking_thread *t = &e->threads[thread];
        for (size_t i = 0; i < n; i++) {
                const struct sequence *from = &t->sequences.items[t->ntaken++];
                answers[i] = {};
                answers[i].summary = from->summary;
                if (answers[i].summary.nlead > from->nbegin)
                        answers[i].summary.nlead = from->nbegin;
                if (!e->setup.wants_counts)
                        continue;
                answers[i].counts = t->counts.items + from->counts_at;
                answers[i].stretches = t->stretches.items + from->stretches_at;
                answers[i].nstretches = from->nstretches;
        }
        return KC_OK;
}

/* ---- opening and closing ---- */

template <class Key> static void close(void *ctx)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        if (e->gpu.pool != NULL) {
                (void)cudaSetDevice(e->gpu.device);
                (void)cudaDeviceSynchronize(); /* after a failure, copies may be under way */
        }
        for (int i = 0; e->threads != NULL && i < e->setup.nthreads; i++)
                close_thread(e, &e->threads[i]);
        free(e->threads);
        kc_gpu_delete(&e->gpu, e->kmers, e->caps.nbases);
        kc_ask_map_close(&e->table);
        kc_gpu_close(&e->gpu);
        pthread_mutex_destroy(&e->lock);
        free(e);
}

template <class Key> static enum kc_status take_memory(struct engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        e->threads = (struct asking_thread *)calloc((size_t)e->setup.nthreads, sizeof *e->threads);
        if (e->threads == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(kc_gpu_new(&e->gpu, &e->kmers, e->caps.nbases, err));
        for (int i = 0; i < e->setup.nthreads; i++)
                KC_TRY(open_thread(e, &e->threads[i], err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(e->gpu.stream))); /* all streams may use it now */
out:
        return status;
}

template <class Key>
static enum kc_status load(void *ctx, const struct kc_join_source *source,
                           struct kc_join_totals *totals, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)ctx;
        return kc_ask_load(&e->table, &e->gpu, source, e->map, e->setup.nthreads, totals, err);
}

template <class Key>
static enum kc_status open_engine(struct engine<Key> *e, const struct kc_gpu_ask_table *table,
                                  const struct kc_gpu_ask_options *options, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_ask_reader reader = { e, load<Key> };
        plan_memory(e, options->batch_nbases);
        KC_TRY(kc_gpu_wake(options->devices[0], err));
        KC_TRY(kc_gpu_open(&e->gpu, options->devices[0], options->memory_nbytes, err));
        KC_TRY(take_memory(e, err));
        KC_TRY(table->read(table->ctx, &reader, err));
out:
        return status;
}

template <class Key>
static enum kc_status open_with(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_ask_setup *setup, struct kc_error *err)
{
        struct engine<Key> *e = (struct engine<Key> *)calloc(1, sizeof *e);
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        e->setup = *setup;
        e->k = table->k;
        e->stranded = options->stranded;
        e->map = options->map;
        pthread_mutex_init(&e->lock, NULL);
        const enum kc_status status = open_engine(e, table, options, err);
        if (status != KC_OK) {
                close<Key>(e);
                return status;
        }
        *asker = { e, add<Key>, answer<Key>, take<Key>, close<Key> };
        return KC_OK;
}

enum kc_status kc_gpu_ask_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                               const struct kc_gpu_ask_options *options,
                               const struct kc_ask_setup *setup, struct kc_error *err)
{
        enum kc_status status = kc_ask_check_map(options->map, table->k, err);
        struct kc_error failure = {};
        *asker = {};
        if (status != KC_OK)
                return status;
        if (table->k <= 32)
                status = open_with<kc_key64>(asker, table, options, setup, &failure);
        else
                status = open_with<kc_key128>(asker, table, options, setup, &failure);
        if (status == KC_ENOMEM)
                return kc_ask_turns_open(asker, table, options, setup, err);
        return status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
}
