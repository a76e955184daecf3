#include "gpu/ask/rounds.cuh"

#include <cstdlib>
#include <cstring>

enum : uint32_t {
        LEAST_NBASES = 1 << 12, /* the fewest bases of a batch, and the most */
        MOST_NBASES = 1 << 22,
};

namespace
{

struct sequence {
        uint32_t nbases, nvalid, nstretches;
};

/* A growing array. */
template <class T> struct array {
        T *items;
        size_t n, cap;
};

} // namespace

struct kc_ask_waiting {
        struct kc_ask_kept *batches, **end;
        struct kc_ask_kept *last; /* being filled; NULL: none yet */
        struct array<struct sequence> sequences;
        struct array<struct kc_ask_stretch> stretches;
        /* what has been taken */
        size_t nsequences, nstretches;
        struct kc_ask_kept *taken; /* the batch that is being taken, and how many of its windows */
        uint32_t nwindows;
        struct array<uint32_t> counts; /* of the last block */
};

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

static void kept_free(struct kc_ask_kept *kept)
{
        while (kept != NULL) {
                struct kc_ask_kept *next = kept->next;
                kc_ask_host_free(&kept->host);
                free(kept);
                kept = next;
        }
}

static enum kc_status kept_new(struct kc_ask_kept **out, const struct kc_ask_sizes *caps,
                               struct kc_error *err)
{
        enum kc_status status;
        struct kc_ask_kept *kept = (struct kc_ask_kept *)calloc(1, sizeof *kept);
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

/* NULL: there is none. */
static struct kc_ask_kept *take_unused(struct kc_ask_rounds *r)
{
        pthread_mutex_lock(&r->lock);
        struct kc_ask_kept *kept = r->unused;
        if (kept != NULL)
                r->unused = kept->next;
        pthread_mutex_unlock(&r->lock);
        return kept;
}

/* Begin another batch of the thread. */
static enum kc_status next_batch(struct kc_ask_rounds *r, struct kc_ask_waiting *t,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_ask_kept *kept = take_unused(r);
        if (kept == NULL) {
                KC_TRY(KC_CUDA(cudaSetDevice(r->device))); /* it is per thread */
                KC_TRY(kept_new(&kept, &r->caps, err));
        }
        kept->next = NULL;
        kept->sizes = {};
        kept->has_counts = false;
        *t->end = kept;
        t->end = &kept->next;
        t->last = kept;
        __atomic_add_fetch(&r->kept_nbytes, kept_nbytes(&r->caps), __ATOMIC_RELAXED);
out:
        return status;
}

/* Forget the answers of the round before, which have been taken. */
static void forget(struct kc_ask_rounds *r, struct kc_ask_waiting *t)
{
        *t->end = r->unused;
        r->unused = t->batches;
        t->batches = t->last = t->taken = NULL;
        t->end = &t->batches;
        t->sequences.n = t->stretches.n = 0;
        t->nsequences = t->nstretches = 0;
}

/* The first thread begins the round for all, so that each can use every unused batch. */
static void begin_round(struct kc_ask_rounds *r)
{
        pthread_mutex_lock(&r->lock);
        for (int i = 0; r->nbegun == r->nanswered && i < r->setup.nthreads; i++)
                forget(r, &r->threads[i]);
        r->nbegun = r->nanswered + 1;
        pthread_mutex_unlock(&r->lock);
}

/* ---- adding ---- */

static enum kc_status add_piece(struct kc_ask_rounds *r, struct kc_ask_waiting *t,
                                const struct kc_ask_walk *piece, struct kc_error *err)
{
        for (uint32_t from = 0; from < piece->n;) {
                const uint32_t nfilled = t->last == NULL
                                                 ? 0
                                                 : kc_ask_fill(&t->last->host, &t->last->sizes,
                                                               &r->caps, r->k, true, piece, from);
                const enum kc_status status = nfilled == 0 ? next_batch(r, t, err) : KC_OK;
                if (status != KC_OK)
                        return status;
                from += nfilled;
        }
        return KC_OK;
}

static enum kc_status add_sequence(struct kc_ask_rounds *r, struct kc_ask_waiting *t,
                                   const struct kc_ask_sequence *from, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct sequence sequence = { from->nbases, 0, 0 };
        struct kc_ask_walk walk;
        kc_ask_walk_begin(&walk, from, r->k);
        while (kc_ask_walk_next(&walk)) {
                if (!walk.continues) {
                        KC_TRY(reserve(&t->stretches, 1, err));
                        t->stretches.items[t->stretches.n++] = { walk.begin, 0 };
                        sequence.nstretches++;
                }
                t->stretches.items[t->stretches.n - 1].n += walk.n;
                sequence.nvalid += walk.n;
                KC_TRY(add_piece(r, t, &walk, err));
        }
        t->sequences.items[t->sequences.n++] = sequence; /* there is room */
out:
        return status;
}

static enum kc_status add(void *ctx, int thread, const struct kc_ask_sequence *sequences, size_t n,
                          bool *full, struct kc_error *err)
{
        struct kc_ask_rounds *r = (struct kc_ask_rounds *)ctx;
        struct kc_ask_waiting *t = &r->threads[thread];
        enum kc_status status;
        begin_round(r);
        const size_t nstretches = t->stretches.n;
        KC_TRY(reserve(&t->sequences, n, err));
        for (size_t i = 0; i < n; i++)
                KC_TRY(add_sequence(r, t, &sequences[i], err));
        if (__atomic_add_fetch(&r->kept_nbytes,
                               n * sizeof(struct sequence) + (t->stretches.n - nstretches) *
                                                                     sizeof(struct kc_ask_stretch),
                               __ATOMIC_RELAXED) >= r->most_kept)
                *full = true;
out:
        return status;
}

/* ---- answering ---- */

static enum kc_status answer(void *ctx, struct kc_error *err)
{
        struct kc_ask_rounds *r = (struct kc_ask_rounds *)ctx;
        const enum kc_status status = r->engine.answer(r->engine.ctx, err);
        r->nbegun = ++r->nanswered;
        r->kept_nbytes = 0;
        return status;
}

struct kc_ask_kept *kc_ask_kept_next(const struct kc_ask_rounds *r, struct kc_ask_kept_at *at)
{
        if (at->kept != NULL)
                at->kept = at->kept->next;
        while (at->kept == NULL && r->nbegun > r->nanswered && at->thread < r->setup.nthreads)
                at->kept = r->threads[at->thread++].batches;
        return at->kept;
}

/* ---- taking ---- */

/* Append the counts of the next n windows of the thread to those of the block. */
static void take_counts(struct kc_ask_waiting *t, uint32_t n)
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

static enum kc_status take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                           struct kc_error *err)
{
        enum kc_status status;
        struct kc_ask_rounds *r = (struct kc_ask_rounds *)ctx;
        struct kc_ask_waiting *t = &r->threads[thread];
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
                kc_ask_summarize(&answers[i].summary, r->k, &r->setup, s->nbases, counts, stretches,
                                 s->nstretches);
                if (!r->setup.wants_counts)
                        continue;
                answers[i].counts = counts;
                answers[i].stretches = stretches;
                answers[i].nstretches = s->nstretches;
        }
out:
        return status;
}

/* ---- opening and closing ---- */

/* Choose batches that are small beside the memory of the host and of the device: each thread fills
 * one. */
static struct kc_ask_sizes plan_batches(const struct kc_ask_rounds *r, size_t device_nbytes,
                                        size_t room_nbytes)
{
        const uint64_t most = r->setup.memory_nbytes / 4 / (unsigned)r->setup.nthreads;
        uint32_t nbases = MOST_NBASES;
        struct kc_ask_sizes caps = kc_ask_caps(nbases);
        while (nbases > LEAST_NBASES &&
               (kept_nbytes(&caps) > most || nbases * device_nbytes > room_nbytes)) {
                nbases /= 2;
                caps = kc_ask_caps(nbases);
        }
        return caps;
}

enum kc_status kc_ask_rounds_open(struct kc_ask_rounds *r, const struct kc_ask_engine *engine,
                                  const struct kc_ask_setup *setup, int k, int device,
                                  uint32_t batch_nbases, size_t device_nbytes, size_t room_nbytes,
                                  struct kc_error *err)
{
        pthread_mutex_init(&r->lock, NULL);
        r->engine = *engine;
        r->setup = *setup;
        r->k = k;
        r->device = device;
        r->caps = batch_nbases != 0 ? kc_ask_caps(batch_nbases)
                                    : plan_batches(r, device_nbytes, room_nbytes);
        if (r->caps.nbases < (uint32_t)k)
                r->caps = kc_ask_caps((uint32_t)k);
        r->most_kept = setup->memory_nbytes / 4 * 3;
        r->threads = (struct kc_ask_waiting *)calloc((size_t)setup->nthreads, sizeof *r->threads);
        if (r->threads == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < setup->nthreads; i++)
                r->threads[i].end = &r->threads[i].batches;
        return KC_OK;
}

static void close_thread(struct kc_ask_waiting *t)
{
        kept_free(t->batches);
        free(t->sequences.items);
        free(t->stretches.items);
        free(t->counts.items);
}

void kc_ask_rounds_close(struct kc_ask_rounds *r)
{
        for (int i = 0; r->threads != NULL && i < r->setup.nthreads; i++)
                close_thread(&r->threads[i]);
        free(r->threads);
        kept_free(r->unused);
        pthread_mutex_destroy(&r->lock);
}

static void close_engine(void *ctx)
{
        const struct kc_ask_engine *engine = &((struct kc_ask_rounds *)ctx)->engine;
        engine->close(engine->ctx);
}

struct kc_asker kc_ask_rounds_asker(struct kc_ask_rounds *rounds)
{
        struct kc_asker asker = {};
        asker.ctx = rounds;
        asker.add = add;
        asker.answer = answer;
        asker.take = take;
        asker.close = close_engine;
        return asker;
}
