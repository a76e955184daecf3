/*
 * Turns over a table (gpu/ask/turns.cuh).
 *
 *      each thread:  letters ──▶ kept batches in pinned memory               add
 *      one thread:   ranges of the table ──▶ map, until it is full           answer
 *                    all kept batches ──▶ k-mers ──▶ counts of those that    (turn after turn)
 *                                         the map has ──▶ kept batches
 *      each thread:  counts ──▶ summaries                                    take
 *
 * A k-mer is in one range at most. So the count of a window is the largest that a turn has found,
 * and it does no harm to repeat a turn: if there is too little memory for a turn, all of them are
 * repeated, with smaller maps.
 */
#include "gpu/ask/turns.cuh"

#include "gpu/ask/filling.cuh"
#include "gpu/ask/load.cuh"
#include "gpu/ask/pack.h"

#include <cstdlib>
#include <cstring>

enum : uint32_t {
        LEAST_NBASES = 1 << 12, /* the fewest bases of a batch, and the most */
        MOST_NBASES = 1 << 22,
        NSLOTS = 2, /* batches on the device: one is copied while another one is looked up */
        SHARE = 8,  /* of the device's memory, one part in SHARE is for these, and one for ranges */
        THREADS = 256,
};

namespace
{

/* A batch that waits on the host for its counts. */
struct kept {
        struct kept *next;
        struct kc_ask_arrays host; /* without parts */
        struct kc_ask_sizes sizes;
        bool has_counts; /* of the turns so far */
};

struct sequence {
        uint32_t nbases, nvalid, nstretches;
};

/* A growing array. */
template <class T> struct array {
        T *items;
        size_t n, cap;
};

struct asking_thread {
        uint64_t round; /* that its batches belong to */
        struct kept *batches, **end;
        struct kept *last; /* being filled; NULL: none yet */
        struct kept *unused;
        struct array<struct sequence> sequences;
        struct array<struct kc_ask_stretch> stretches;
        /* what has been taken */
        size_t nsequences, nstretches;
        struct kept *taken; /* the batch, and how many of its windows */
        uint32_t nwindows;
        struct array<uint32_t> counts; /* of the last block */
};

/* A batch on the device. */
struct slot {
        cudaStream_t stream;
        cudaEvent_t uploaded, found;
        struct kc_ask_arrays device;
        uint32_t *before; /* [caps.nbases] the counts of earlier turns */
};

template <class Key> struct turns {
        struct kc_gpu_ask_table table;
        struct kc_gpu_ask_options options;
        struct kc_ask_setup setup;
        struct kc_gpu gpu;
        struct kc_ask_sizes caps;        /* of batches */
        struct asking_thread *threads;   /* [setup.nthreads] */
        uint64_t round;                  /* rounds that are answered */
        uint64_t kept_nbytes, most_kept; /* atomic; bound */
        struct slot slots[NSLOTS];
        Key *kmers;     /* [caps.nbases] device */
        uint64_t share; /* of the table, one part in `share` should fit into a map */
        struct kc_ask_map<Key> map;
        struct kc_ask_map_options map_options;
        uint64_t nput; /* into the map */
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

/* ---- kept batches ---- */

static size_t kept_nbytes(const struct kc_ask_sizes *caps)
{
        return kc_ask_nwords(caps->nbases) * sizeof(uint64_t) +
               caps->nstretches * sizeof(uint32_t) + caps->nbases * sizeof(uint32_t);
}

static void kept_free(struct kept *kept)
{
        while (kept != NULL) {
                struct kept *next = kept->next;
                kc_ask_host_free(&kept->host);
                free(kept);
                kept = next;
        }
}

static enum kc_status kept_new(struct kept **out, const struct kc_ask_sizes *caps,
                               struct kc_error *err)
{
        enum kc_status status;
        struct kept *kept = (struct kept *)calloc(1, sizeof *kept);
        if (kept == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        struct kc_ask_arrays *host = &kept->host;
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&host->words,
                                      kc_ask_nwords(caps->nbases) * sizeof *host->words)));
        KC_TRY(KC_CUDA(
                cudaMallocHost((void **)&host->firsts, caps->nstretches * sizeof *host->firsts)));
        KC_TRY(KC_CUDA(
                cudaMallocHost((void **)&host->counts, caps->nbases * sizeof *host->counts)));
        *out = kept;
        kept = NULL;
out:
        kept_free(kept);
        return status;
}

/* Begin another batch of the thread. */
template <class Key>
static enum kc_status next_batch(struct turns<Key> *e, struct asking_thread *t,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kept *kept = t->unused;
        if (kept == NULL) {
                KC_TRY(KC_CUDA(cudaSetDevice(e->gpu.device))); /* it is per thread */
                KC_TRY(kept_new(&kept, &e->caps, err));
        } else {
                t->unused = kept->next;
        }
        kept->next = NULL;
        kept->sizes = {};
        kept->has_counts = false;
        *t->end = kept;
        t->end = &kept->next;
        t->last = kept;
        __atomic_add_fetch(&e->kept_nbytes, kept_nbytes(&e->caps), __ATOMIC_RELAXED);
out:
        return status;
}

/* Forget the answers of the round before. */
template <class Key> static void begin_round(struct turns<Key> *e, struct asking_thread *t)
{
        if (t->round == e->round)
                return;
        t->round = e->round;
        *t->end = t->unused;
        t->unused = t->batches;
        t->batches = t->last = NULL;
        t->end = &t->batches;
        t->sequences.n = t->stretches.n = 0;
        t->nsequences = t->nstretches = 0;
        t->taken = NULL;
}

/* ---- adding ---- */

template <class Key>
static enum kc_status add_stretch(struct turns<Key> *e, struct asking_thread *t,
                                  const char *letters, uint32_t n, struct kc_error *err)
{
        while (n > 0) {
                const uint32_t npacked =
                        t->last == NULL ? 0
                                        : kc_ask_fill(&t->last->host, &t->last->sizes, &e->caps,
                                                      e->table.k, true, letters, n);
                const enum kc_status status = npacked == 0 ? next_batch(e, t, err) : KC_OK;
                if (status != KC_OK)
                        return status;
                letters += npacked;
                n -= npacked;
        }
        return KC_OK;
}

template <class Key>
static enum kc_status add_sequence(struct turns<Key> *e, struct asking_thread *t,
                                   const struct kc_ask_sequence *from, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const uint32_t k = (uint32_t)e->table.k, nbases = from->nbases;
        struct sequence sequence = { nbases, 0, 0 };
        for (uint32_t at = 0; nbases - at >= k;) {
                const uint32_t n = kc_ask_count_bases(from->bases + at, nbases - at);
                if (n >= k) {
                        KC_TRY(reserve(&t->stretches, 1, err));
                        t->stretches.items[t->stretches.n++] = { at, n - k + 1 };
                        sequence.nstretches++;
                        sequence.nvalid += n - k + 1;
                        KC_TRY(add_stretch(e, t, from->bases + at, n - k + 1, err));
                }
                at += n;
                at += kc_ask_count_others(from->bases + at, nbases - at);
        }
        t->sequences.items[t->sequences.n++] = sequence; /* there is room */
out:
        return status;
}

template <class Key>
static enum kc_status add(void *ctx, int thread, const struct kc_ask_sequence *sequences, size_t n,
                          bool *full, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        struct asking_thread *t = &e->threads[thread];
        enum kc_status status;
        begin_round(e, t);
        const size_t nstretches = t->stretches.n;
        KC_TRY(reserve(&t->sequences, n, err));
        for (size_t i = 0; i < n; i++)
                KC_TRY(add_sequence(e, t, &sequences[i], err));
        if (__atomic_add_fetch(&e->kept_nbytes,
                               n * sizeof(struct sequence) + (t->stretches.n - nstretches) *
                                                                     sizeof(struct kc_ask_stretch),
                               __ATOMIC_RELAXED) >= e->most_kept)
                *full = true;
out:
        return status;
}

/* ---- a turn ---- */

static __global__ void larger_kernel(uint32_t *counts, const uint32_t *before, uint32_t n)
{
        const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
        if (i < n && before[i] > counts[i])
                counts[i] = before[i];
}

/* Find the counts of a batch that the map has. The work is queued. */
template <class Key>
static enum kc_status look_up(struct turns<Key> *e, struct slot *slot, struct kept *kept,
                              struct kc_error *err)
{
        enum kc_status status;
        const struct kc_ask_sizes *sizes = &kept->sizes;
        const struct kc_ask_arrays *device = &slot->device;
        cudaStream_t stream = e->gpu.stream;
        const uint32_t n = sizes->nwindows;
        KC_TRY(kc_ask_upload(slot->stream, device, &kept->host, sizes, err));
        if (kept->has_counts)
                KC_TRY(kc_ask_copy(slot->before, kept->host.counts, n, cudaMemcpyHostToDevice,
                                   slot->stream, err));
        KC_TRY(KC_CUDA(cudaEventRecord(slot->uploaded, slot->stream)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, slot->uploaded, 0)));
        KC_TRY(kc_ask_make_kmers(stream, device, sizes, e->table.k, e->options.stranded, e->kmers,
                                 err));
        KC_TRY(kc_ask_map_find(&e->map, (const Key *)e->kmers, device->counts, n, err));
        if (kept->has_counts)
                larger_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, stream>>>(device->counts,
                                                                               slot->before, n);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaEventRecord(slot->found, stream)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(slot->stream, slot->found, 0)));
        KC_TRY(kc_ask_copy(kept->host.counts, device->counts, n, cudaMemcpyDeviceToHost,
                           slot->stream, err));
        kept->has_counts = true;
out:
        return status;
}

/* Look all kept batches up in the map, and close it. */
template <class Key> static enum kc_status end_turn(struct turns<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nbatches = 0;
        for (int i = 0; i < e->setup.nthreads; i++) {
                const struct asking_thread *t = &e->threads[i];
                for (struct kept *kept = t->round == e->round ? t->batches : NULL; kept != NULL;
                     kept = kept->next)
                        if (kept->sizes.nwindows > 0)
                                KC_TRY(look_up(e, &e->slots[nbatches++ % NSLOTS], kept, err));
        }
        for (struct slot &slot : e->slots)
                KC_TRY(KC_CUDA(cudaStreamSynchronize(slot.stream)));
        kc_ask_map_close(&e->map);
        e->nput = 0;
out:
        return status;
}

template <class Key>
static enum kc_status put(void *ctx, Key *kmers, uint32_t *counts, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        if (e->nput + n > e->map_options.npairs) {
                KC_TRY(end_turn(e, err));
                KC_TRY(kc_ask_map_open(&e->map, &e->gpu, &e->map_options, err));
        }
        KC_TRY(kc_ask_map_put(&e->map, kmers, counts, n, err));
        e->nput += n;
out:
        return status;
}

/* ---- answering ---- */

/* Whether smaller maps are possible. */
template <class Key> static bool shrink(struct turns<Key> *e)
{
        e->share += (e->share + 1) / 2;
        return e->map_options.npairs > e->map_options.most_at_once;
}

/* Open the largest map that leaves so much memory, or a share of little memory: then joining may
 * turn out to need more, and smaller maps follow. */
template <class Key>
static enum kc_status open_map(void *ctx, uint64_t most_at_once, size_t nbytes,
                               struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        struct kc_error failure;
        enum kc_status status;
        char *left = NULL;
        if (nbytes > e->gpu.limit_nbytes / SHARE)
                nbytes = e->gpu.limit_nbytes / SHARE;
        KC_TRY(kc_gpu_new(&e->gpu, &left, nbytes, err));
        do {
                const uint64_t most = e->table.npairs / e->share + 1;
                e->map_options = { e->options.map, e->table.k,
                                   most > most_at_once ? most : most_at_once, most_at_once };
                failure = {};
                status = kc_ask_map_open(&e->map, &e->gpu, &e->map_options, &failure);
        } while (status == KC_ENOMEM && shrink(e));
        kc_gpu_delete(&e->gpu, left, nbytes);
        if (status != KC_OK)
                return kc_fail_as(err, &failure);
        e->nput = 0;
out:
        return status;
}

template <class Key>
static enum kc_status take_turns(void *ctx, const struct kc_join_source *source,
                                 struct kc_join_totals *totals, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        const struct kc_ask_taker<Key> taker = {
                e, open_map<Key>, put<Key>
        };
        enum kc_status status;
        KC_TRY(kc_ask_load_by(&taker, &e->gpu, source, e->setup.nthreads, totals, err));
        KC_TRY(end_turn(e, err));
out:
        for (struct slot &slot : e->slots)
                (void)cudaStreamSynchronize(slot.stream); /* after a failure */
        (void)cudaStreamSynchronize(e->gpu.stream);
        kc_ask_map_close(&e->map);
        return status;
}

template <class Key> static enum kc_status answer(void *ctx, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        const struct kc_gpu_ask_reader reader = { e, take_turns<Key> };
        struct kc_error failure;
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(e->gpu.device)));
        do {
                failure = {};
                status = e->table.read(e->table.ctx, &reader, &failure);
        } while (status == KC_ENOMEM && shrink(e));
        e->round++;
        e->kept_nbytes = 0;
        if (status != KC_OK)
                return kc_fail_as(err, &failure);
out:
        return status;
}

/* ---- taking ---- */

/* Append the counts of the next n windows of the thread to those of the block. */
static void take_counts(struct asking_thread *t, uint32_t n)
{
        while (n > 0) {
                if (t->taken == NULL || t->nwindows == t->taken->sizes.nwindows) {
                        t->taken = t->taken == NULL ? t->batches : t->taken->next;
                        t->nwindows = 0;
                }
                const uint32_t left = t->taken->sizes.nwindows - t->nwindows;
                const uint32_t some = n < left ? n : left;
                memcpy(t->counts.items + t->counts.n, t->taken->host.counts + t->nwindows,
                       some * sizeof *t->counts.items);
                t->counts.n += some;
                t->nwindows += some;
                n -= some;
        }
}

template <class Key>
static enum kc_status take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                           struct kc_error *err)
{
        enum kc_status status;
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        struct asking_thread *t = &e->threads[thread];
        size_t nvalid = 0;
        for (size_t i = 0; i < n; i++)
                nvalid += t->sequences.items[t->nsequences + i].nvalid;
        t->counts.n = 0;
        KC_TRY(reserve(&t->counts, nvalid, err));
        for (size_t i = 0; i < n; i++) {
                const struct sequence *s = &t->sequences.items[t->nsequences++];
                const uint32_t *counts = t->counts.items + t->counts.n;
                const struct kc_ask_stretch *stretches = t->stretches.items + t->nstretches;
                take_counts(t, s->nvalid);
                t->nstretches += s->nstretches;
                answers[i] = {};
                kc_ask_summarize(&answers[i].summary, e->table.k, &e->setup, s->nbases, counts,
                                 stretches, s->nstretches);
                if (!e->setup.wants_counts)
                        continue;
                answers[i].counts = counts;
                answers[i].stretches = stretches;
                answers[i].nstretches = s->nstretches;
        }
out:
        return status;
}

/* ---- opening and closing ---- */

static void close_thread(struct asking_thread *t)
{
        kept_free(t->batches);
        kept_free(t->unused);
        free(t->sequences.items);
        free(t->stretches.items);
        free(t->counts.items);
}

template <class Key> static void close_slot(struct turns<Key> *e, struct slot *slot)
{
        kc_ask_device_free(&e->gpu, &slot->device, &e->caps);
        kc_gpu_delete(&e->gpu, slot->before, e->caps.nbases);
        kc_gpu_event_free(slot->uploaded);
        kc_gpu_event_free(slot->found);
        if (slot->stream != NULL)
                (void)cudaStreamDestroy(slot->stream);
}

template <class Key> static void close(void *ctx)
{
        struct turns<Key> *e = (struct turns<Key> *)ctx;
        if (e->gpu.pool != NULL)
                (void)cudaSetDevice(e->gpu.device);
        for (int i = 0; e->threads != NULL && i < e->setup.nthreads; i++)
                close_thread(&e->threads[i]);
        free(e->threads);
        for (struct slot &slot : e->slots)
                close_slot(e, &slot);
        kc_gpu_delete(&e->gpu, e->kmers, e->caps.nbases);
        kc_gpu_close(&e->gpu);
        free(e);
}

/* Batches that are small for the memory of the host and of the device: each thread fills one. */
template <class Key> static void plan_memory(struct turns<Key> *e)
{
        const uint64_t memory = e->setup.memory_nbytes;
        const uint64_t most = memory / 4 / (unsigned)e->setup.nthreads;
        const uint64_t room = e->gpu.limit_nbytes / SHARE;
        const size_t device_nbytes = NSLOTS * 10 + sizeof(Key); /* for a base */
        uint32_t nbases = MOST_NBASES;
        e->caps = kc_ask_caps(nbases);
        while (nbases > LEAST_NBASES &&
               (kept_nbytes(&e->caps) > most || (uint64_t)nbases * device_nbytes > room)) {
                nbases /= 2;
                e->caps = kc_ask_caps(nbases);
        }
        if (e->options.batch_nbases != 0)
                nbases = e->options.batch_nbases;
        e->caps = kc_ask_caps(nbases > (uint32_t)e->table.k ? nbases : (uint32_t)e->table.k);
        e->most_kept = memory / 4 * 3;
}

template <class Key>
static enum kc_status open_slot(struct turns<Key> *e, struct slot *slot, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&slot->stream, cudaStreamNonBlocking)));
        KC_TRY(kc_gpu_event_new(&slot->uploaded, err));
        KC_TRY(kc_gpu_event_new(&slot->found, err));
        KC_TRY(kc_ask_device_new(&e->gpu, &slot->device, &e->caps, err));
        KC_TRY(kc_gpu_new(&e->gpu, &slot->before, e->caps.nbases, err));
out:
        return status;
}

template <class Key> static enum kc_status open_turns(struct turns<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        e->threads = (struct asking_thread *)calloc((size_t)e->setup.nthreads, sizeof *e->threads);
        if (e->threads == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < e->setup.nthreads; i++)
                e->threads[i].end = &e->threads[i].batches;
        KC_TRY(kc_gpu_wake(e->options.device, err));
        KC_TRY(kc_gpu_open(&e->gpu, e->options.device, e->options.memory_nbytes, err));
        plan_memory(e);
        KC_TRY(kc_gpu_new(&e->gpu, &e->kmers, e->caps.nbases, err));
        for (struct slot &slot : e->slots)
                KC_TRY(open_slot(e, &slot, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(e->gpu.stream))); /* all streams may use it now */
out:
        return status;
}

template <class Key>
static enum kc_status open_with(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_ask_setup *setup, struct kc_error *err)
{
        struct turns<Key> *e = (struct turns<Key> *)calloc(1, sizeof *e);
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        e->table = *table;
        e->options = *options;
        e->setup = *setup;
        e->share = 1;
        const enum kc_status status = open_turns(e, err);
        if (status != KC_OK) {
                close<Key>(e);
                return status;
        }
        *asker = {};
        asker->ctx = e;
        asker->add = add<Key>;
        asker->answer = answer<Key>;
        asker->take = take<Key>;
        asker->close = close<Key>;
        return KC_OK;
}

enum kc_status kc_ask_turns_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                 const struct kc_gpu_ask_options *options,
                                 const struct kc_ask_setup *setup, struct kc_error *err)
{
        return table->k <= 32 ? open_with<kc_key64>(asker, table, options, setup, err)
                              : open_with<kc_key128>(asker, table, options, setup, err);
}
