#include "gpu/ask/rounds.cuh"

#include "base/memory.h"
#include "gpu/ask/sequence.cuh"

#include <algorithm>
#include <cstring>

enum : size_t {
        SLAB_NBYTES = 16 << 20, /* usually; in huge pages, because page faults would take long */
        SLABS_A_THREAD = 64,    /* at least so many fit into a thread's part of the memory */
};

/* Memory for kept batches. */
struct alignas(16) kc_ask_slab {
        struct kc_ask_slab *next;
        size_t nbytes, nused; /* including this header */
};

struct alignas(16) kc_ask_kept {
        struct kc_ask_kept *next;
        struct kc_ask_arrays arrays; /* they follow in memory */
        struct kc_ask_sizes sizes;   /* nwindows >= 1 */
        bool has_answers;
};

struct kc_ask_waiting {
        struct kc_ask_arrays packed; /* the batch that is being packed; not kept yet */
        struct kc_ask_sizes sizes;
        struct kc_ask_slab *slabs; /* the newest one comes first */
        struct kc_ask_kept *first, **end;
        struct kc_ask_array<struct kc_ask_noted> sequences;
        struct kc_ask_array<struct kc_ask_stretch> stretches;
        /* what has been taken */
        size_t nsequences, nstretches;
        struct kc_ask_kept *taken;            /* the batch that is being taken */
        uint32_t nparts;                      /* parts of it that have been taken */
        struct kc_ask_array<uint32_t> counts; /* of the last block */
};

/* ---- kept batches ---- */

/* The next n elements of a block of memory. */
template <class T> static T *carve(char **block, size_t n)
{
        T *items = (T *)*block;
        *block += n * sizeof *items;
        return items;
}

/* Place the arrays in a block of memory, in an order that aligns all of them. counts becomes NULL
 * if there are none. */
static void place_arrays(struct kc_ask_arrays *arrays, const struct kc_ask_sizes *n, char *block)
{
        arrays->words = carve<uint64_t>(&block, kc_ask_nwords(n->nbases));
        arrays->summaries = carve<struct kc_ask_part_summary>(&block, n->nparts);
        arrays->parts = carve<struct kc_ask_part>(&block, n->nparts);
        arrays->firsts = carve<uint32_t>(&block, n->nstretches);
        arrays->marks = carve<uint32_t>(&block, n->nmarks);
        arrays->counts = n->nwindows > 0 ? carve<uint32_t>(&block, n->nwindows) : NULL;
}

static void copy_batch(const struct kc_ask_arrays *to, const struct kc_ask_arrays *from,
                       const struct kc_ask_sizes *n)
{
        memcpy(to->words, from->words, kc_ask_nwords(n->nbases) * sizeof *to->words);
        memcpy(to->firsts, from->firsts, n->nstretches * sizeof *to->firsts);
        memcpy(to->parts, from->parts, n->nparts * sizeof *to->parts);
}

/* Memory that lasts until the round is forgotten. NULL: there is none. */
static void *take_memory(struct kc_ask_rounds *r, struct kc_ask_waiting *t, size_t nbytes)
{
        const size_t share = r->most_kept / (unsigned)r->rules->setup.nthreads / SLABS_A_THREAD;
        struct kc_ask_slab *slab = t->slabs;
        nbytes = (nbytes + alignof(struct kc_ask_slab) - 1) / alignof(struct kc_ask_slab) *
                 alignof(struct kc_ask_slab);
        if (slab == NULL || slab->nbytes - slab->nused < nbytes) {
                const size_t all =
                        std::max(std::min(share, (size_t)SLAB_NBYTES), sizeof *slab + nbytes);
                slab = (struct kc_ask_slab *)kc_huge_alloc(all);
                if (slab == NULL)
                        return NULL;
                *slab = { t->slabs, all, sizeof *slab };
                t->slabs = slab;
                __atomic_add_fetch(&r->kept_nbytes, all, __ATOMIC_RELAXED);
        }
        void *memory = (char *)slab + slab->nused;
        slab->nused += nbytes;
        return memory;
}

/* Keep the batch that the thread has packed, if there is one, in no more memory than it needs. */
static enum kc_status keep(struct kc_ask_rounds *r, struct kc_ask_waiting *t, struct kc_error *err)
{
        struct kc_ask_sizes caps = t->sizes;
        caps.nmarks = kc_ask_marks_at(caps.nwindows, caps.nparts);
        if (!r->rules->setup.wants_counts)
                caps.nwindows = 0;
        if (t->sizes.nparts == 0)
                return KC_OK;
        struct kc_ask_kept *kept =
                (struct kc_ask_kept *)take_memory(r, t, sizeof *kept + kc_ask_arrays_nbytes(&caps));
        if (kept == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        *kept = {};
        kept->sizes = t->sizes;
        place_arrays(&kept->arrays, &caps, (char *)(kept + 1));
        copy_batch(&kept->arrays, &t->packed, &kept->sizes);
        *t->end = kept;
        t->end = &kept->next;
        t->sizes = {};
        return KC_OK;
}

/* Forget the answers of the round before, which have been taken. */
static void forget(struct kc_ask_waiting *t)
{
        while (t->slabs != NULL) {
                struct kc_ask_slab *next = t->slabs->next;
                kc_huge_free(t->slabs, t->slabs->nbytes);
                t->slabs = next;
        }
        t->first = t->taken = NULL;
        t->end = &t->first;
        t->sequences.n = t->stretches.n = 0;
        t->nsequences = t->nstretches = 0;
}

/* The first thread begins the round for all. */
static void begin_round(struct kc_ask_rounds *r)
{
        pthread_mutex_lock(&r->lock);
        for (int i = 0; !r->is_open && i < r->rules->setup.nthreads; i++)
                forget(&r->threads[i]);
        r->is_open = true;
        pthread_mutex_unlock(&r->lock);
}

/* ---- adding ---- */

/* *continues: the sequence has windows in the batch. */
static enum kc_status add_piece(struct kc_ask_rounds *r, struct kc_ask_waiting *t,
                                const struct kc_ask_walk *piece, bool *continues,
                                struct kc_error *err)
{
        const struct kc_ask_rules *rules = r->rules;
        for (uint32_t from = 0; from < piece->n;) {
                const uint32_t nfilled = kc_ask_fill(&t->packed, &t->sizes, &rules->caps, rules->k,
                                                     *continues, piece, from);
                const enum kc_status status = nfilled == 0 ? keep(r, t, err) : KC_OK;
                if (status != KC_OK)
                        return status;
                *continues = nfilled > 0;
                from += nfilled;
        }
        return KC_OK;
}

static enum kc_status add_sequence(struct kc_ask_rounds *r, struct kc_ask_waiting *t,
                                   const struct kc_ask_sequence *from, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_ask_noted noted = { kc_ask_nwindows(from, r->rules->k), 0, 0, 0 };
        struct kc_ask_walk walk;
        bool continues = false;
        kc_ask_walk_begin(&walk, from, r->rules->k);
        while (kc_ask_walk_next(&walk)) {
                KC_TRY(kc_ask_note(&noted, r->rules->setup.wants_counts ? &t->stretches : NULL,
                                   &walk, err));
                KC_TRY(add_piece(r, t, &walk, &continues, err));
        }
        t->sequences.items[t->sequences.n++] = noted; /* there is room */
out:
        return status;
}

enum kc_status kc_ask_rounds_add(void *ctx, int thread, const struct kc_ask_sequence *sequences,
                                 size_t n, bool *full, struct kc_error *err)
{
        struct kc_ask_rounds *r = (struct kc_ask_rounds *)ctx;
        struct kc_ask_waiting *t = &r->threads[thread];
        enum kc_status status;
        begin_round(r);
        const size_t nstretches = t->stretches.n;
        KC_TRY(kc_ask_reserve(&t->sequences, n, err));
        for (size_t i = 0; i < n; i++)
                KC_TRY(add_sequence(r, t, &sequences[i], err));
        if (__atomic_add_fetch(&r->kept_nbytes,
                               n * sizeof *t->sequences.items +
                                       (t->stretches.n - nstretches) * sizeof *t->stretches.items,
                               __ATOMIC_RELAXED) >= r->most_kept)
                *full = true;
out:
        return status;
}

/* ---- answering ---- */

enum kc_status kc_ask_rounds_begin(struct kc_ask_rounds *r, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        begin_round(r); /* in case nothing was added */
        for (int i = 0; i < r->rules->setup.nthreads; i++)
                KC_TRY(keep(r, &r->threads[i], err));
out:
        return status;
}

void kc_ask_rounds_end(struct kc_ask_rounds *r)
{
        r->is_open = false;
        r->kept_nbytes = 0;
}

void kc_ask_rounds_rewind(struct kc_ask_rounds *r, bool all)
{
        r->next_thread = 0;
        r->next = NULL;
        for (int i = 0; all && i < r->rules->setup.nthreads; i++)
                for (struct kc_ask_kept *b = r->threads[i].first; b != NULL; b = b->next)
                        b->has_answers = false;
}

struct kc_ask_kept *kc_ask_rounds_next(struct kc_ask_rounds *r)
{
        pthread_mutex_lock(&r->lock);
        while (r->next == NULL && r->next_thread < r->rules->setup.nthreads)
                r->next = r->threads[r->next_thread++].first;
        struct kc_ask_kept *kept = r->next;
        if (kept != NULL)
                r->next = kept->next;
        pthread_mutex_unlock(&r->lock);
        return kept;
}

void kc_ask_kept_copy(const struct kc_ask_kept *kept, const struct kc_ask_arrays *host,
                      struct kc_ask_sizes *sizes)
{
        *sizes = kept->sizes;
        copy_batch(host, &kept->arrays, sizes);
}

/* Add a summary of the same n windows. nlead is left as it is: marks say it later. */
static void add_summary(struct kc_ask_part_summary *s, const struct kc_ask_part_summary *other,
                        uint32_t n, bool absent_in_range)
{
        s->sum += other->sum;
        s->nfound += other->nfound - (absent_in_range ? n : 0);
        s->nabsent += other->nabsent - n;
        s->least = std::min(s->least, other->least);
        s->max = std::max(s->max, other->max);
}

void kc_ask_kept_add(struct kc_ask_kept *kept, const struct kc_ask_rules *rules,
                     const struct kc_ask_arrays *host)
{
        const struct kc_ask_arrays *own = &kept->arrays;
        const struct kc_ask_sizes *n = &kept->sizes;
        const uint32_t nmarks = kc_ask_marks_at(n->nwindows, n->nparts);
        const uint32_t ncounts = own->counts != NULL ? n->nwindows : 0;
        const bool is_first = !kept->has_answers;
        kept->has_answers = true;
        if (is_first) {
                memcpy(own->summaries, host->summaries, n->nparts * sizeof *own->summaries);
                memcpy(own->marks, host->marks, nmarks * sizeof *own->marks);
                if (ncounts > 0)
                        memcpy(own->counts, host->counts, ncounts * sizeof *own->counts);
                return;
        }
        for (uint32_t i = 0; i < n->nparts; i++)
                add_summary(&own->summaries[i], &host->summaries[i], own->parts[i].n,
                            rules->setup.min_count == 0);
        for (uint32_t i = 0; i < nmarks; i++)
                own->marks[i] |= host->marks[i];
        for (uint32_t i = 0; i < ncounts; i++)
                own->counts[i] |= host->counts[i];
}

/* ---- taking ---- */

/* How many of n windows are in range before the first one that is not. */
static uint32_t lead_of(const uint32_t *marks, uint32_t n, bool absent_in_range)
{
        for (uint32_t i = 0; 32 * i < n; i++) {
                const uint32_t others = absent_in_range ? marks[i] : ~marks[i];
                if (others != 0)
                        return std::min(32 * i + (uint32_t)__builtin_ctz(others), n);
        }
        return n;
}

/* Go on to the next part. Returns its number in t->taken. */
static uint32_t next_part(struct kc_ask_waiting *t)
{
        if (t->taken == NULL || t->nparts == t->taken->sizes.nparts) {
                t->taken = t->taken == NULL ? t->first : t->taken->next;
                t->nparts = 0;
        }
        return t->nparts++;
}

/* Add the next part to the summary, and its counts, if there are any, to those of the block. */
static void take_part(const struct kc_ask_rounds *r, struct kc_ask_waiting *t,
                      struct kc_ask_summary *summary)
{
        const uint32_t number = next_part(t);
        const struct kc_ask_arrays *own = &t->taken->arrays;
        const struct kc_ask_part part = own->parts[number];
        struct kc_ask_part_summary s = own->summaries[number];
        s.nlead = lead_of(own->marks + kc_ask_marks_at(part.first, number), part.n,
                          r->rules->setup.min_count == 0);
        kc_ask_add_part(summary, part.n, &s);
        if (own->counts == NULL)
                return;
        memcpy(t->counts.items + t->counts.n, own->counts + part.first,
               part.n * sizeof *own->counts);
        t->counts.n += part.n;
}

static void take_sequence(const struct kc_ask_rounds *r, struct kc_ask_waiting *t,
                          struct kc_ask_answer *answer)
{
        const struct kc_ask_noted *noted = &t->sequences.items[t->nsequences++];
        *answer = {};
        if (r->rules->setup.wants_counts) {
                answer->counts = t->counts.items + t->counts.n;
                answer->stretches = t->stretches.items + t->nstretches;
                answer->nstretches = noted->nstretches;
                t->nstretches += noted->nstretches;
        }
        answer->summary.min = UINT32_MAX;
        while (answer->summary.nvalid < noted->nvalid)
                take_part(r, t, &answer->summary);
        kc_ask_end_parts(&answer->summary, noted);
}

enum kc_status kc_ask_rounds_take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                                  struct kc_error *err)
{
        const struct kc_ask_rounds *r = (const struct kc_ask_rounds *)ctx;
        struct kc_ask_waiting *t = &r->threads[thread];
        enum kc_status status;
        size_t ncounts = 0;
        for (size_t i = 0; r->rules->setup.wants_counts && i < n; i++)
                ncounts += t->sequences.items[t->nsequences + i].nvalid;
        t->counts.n = 0;
        KC_TRY(kc_ask_reserve(&t->counts, ncounts, err));
        for (size_t i = 0; i < n; i++)
                take_sequence(r, t, &answers[i]);
out:
        return status;
}

/* ---- opening and closing ---- */

enum kc_status kc_ask_rounds_open(struct kc_ask_rounds *r, const struct kc_ask_rules *rules,
                                  struct kc_error *err)
{
        const int nthreads = rules->setup.nthreads;
        pthread_mutex_init(&r->lock, NULL);
        r->rules = rules;
        r->most_kept = rules->setup.memory_nbytes / 4 * 3; /* the rest is pinned */
        r->threads = (struct kc_ask_waiting *)calloc((size_t)nthreads, sizeof *r->threads);
        if (r->threads == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (int i = 0; i < nthreads; i++)
                r->threads[i].end = &r->threads[i].first;
        return KC_OK;
}

void kc_ask_rounds_pack_at(struct kc_ask_rounds *r, int thread, const struct kc_ask_arrays *host)
{
        r->threads[thread].packed = *host;
}

void kc_ask_rounds_close(struct kc_ask_rounds *r)
{
        for (int i = 0; r->threads != NULL && i < r->rules->setup.nthreads; i++) {
                struct kc_ask_waiting *t = &r->threads[i];
                forget(t);
                free(t->sequences.items);
                free(t->stretches.items);
                free(t->counts.items);
        }
        free(r->threads);
        pthread_mutex_destroy(&r->lock);
}
