#include "app/library/early.h"

#include "base/parallel.h"
#include "kmer/kmer.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
        MIN_ROUND_NWINDOWS = 32 << 20,
        ROUND_FACTOR = 2, /* a round has at least this many times the windows that make it cheap */
        SAMPLE_NRECORDS = 128, /* asked before all others, to see whether it is worth it */
        SETTLED_DIVISOR = 4,   /* it is worth it if one record in this many is settled */
};

/* A record, and which of its windows are asked first. */
struct early_read {
        struct kc_asked_part part;
        uint32_t nfront, nback; /* windows at its ends; if it is asked as a whole, nback is 0 */
};

struct early_block {
        const struct kc_asking_block *block;
        struct early_read *reads; /* [nreads] as its sequences are numbered */
        size_t nreads, npairs;    /* of the block, or of a sample: its first ones */
        size_t nfirst, nrest;     /* sequences that the asker gets first, and afterwards */
        struct early_block *next;
};

struct early_worker {
        struct early_block *first, **end;  /* of this round */
        struct early_block *unadded;       /* the first one whose rest is not added */
        struct early_block *untaken;       /* the first one whose rest is not taken */
        struct kc_ask_sequence *sequences; /* [cap] */
        struct kc_ask_answer *answers;     /* [cap] */
        size_t cap;
        uint64_t ntried, nwanted; /* records of this round: asked in part, and then for the rest */
};

struct kc_early {
        struct kc_early_setup setup;
        struct kc_asker asker;
        struct early_worker *workers;   /* [setup.nthreads] */
        atomic_uint_least64_t nwindows; /* of this round */
        atomic_uint_least64_t nbytes;   /* memory for its records */
        uint64_t most_windows;
        bool in_part; /* the round that blocks are added to */
        atomic_bool full;
};

bool kc_early_suits(const struct kc_asker *asker, int k, uint64_t memory_nbytes)
{
        const uint64_t most = memory_nbytes / (sizeof(uint64_t) * (uint64_t)kc_kmer_nwords(k));
        return asker->round_nkmers > 0 && asker->round_nkmers <= most;
}

/* ---- adding ---- */

static enum kc_status reserve(struct early_worker *w, size_t n, struct kc_error *err)
{
        if (n <= w->cap)
                return KC_OK;
        free(w->sequences);
        free(w->answers);
        w->sequences = malloc(n * sizeof *w->sequences);
        w->answers = malloc(n * sizeof *w->answers);
        w->cap = w->sequences != NULL && w->answers != NULL ? n : 0;
        return w->cap == n ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for sequences");
}

static uint32_t nwindows_of(const struct kc_early *e, uint32_t nbases)
{
        const uint32_t k = (uint32_t)e->setup.k;
        return nbases >= k ? nbases - k + 1 : 0;
}

/* Which sequence of the block a read is. */
static size_t place_of(const struct early_block *b, size_t i)
{
        return b->npairs > 0 && i >= b->npairs ? b->block->npairs + i - b->npairs : i;
}

static enum kc_status sequences_of(const struct kc_early *e, int worker,
                                   const struct early_block *b,
                                   const struct kc_ask_sequence **sequences, struct kc_error *err)
{
        const struct kc_asking_source *source = e->setup.source;
        return source->sequences(source->ctx, worker, b->block, sequences, err);
}

/* Windows [first, first + n) of a record. */
static struct kc_ask_sequence windows(const struct kc_early *e, const char *bases, uint32_t first,
                                      uint32_t n)
{
        return (struct kc_ask_sequence){ .bases = bases + first,
                                         .nbases = n + (uint32_t)e->setup.k - 1 };
}

static struct early_read first_part(const struct kc_early *e, const struct early_block *b, size_t i,
                                    uint32_t all)
{
        const struct kc_asking_consumer *consumer = e->setup.consumer;
        struct early_read read = { .part.summary = KC_ASK_NOTHING, .nfront = all };
        const uint64_t first = consumer->nfirst(consumer->ctx, b->block, place_of(b, i), all);
        if (first >= all)
                return read;
        read.nfront = (uint32_t)(first - first / 2);
        read.nback = (uint32_t)(first / 2);
        read.part.nleft = all - (uint32_t)first;
        return read;
}

static void split(const struct kc_early *e, struct early_worker *w, struct early_block *b,
                  const struct kc_ask_sequence *sequences)
{
        size_t n = 0;
        for (size_t i = 0; i < b->nreads; i++) {
                const struct kc_ask_sequence *sequence = &sequences[place_of(b, i)];
                const uint32_t all = nwindows_of(e, sequence->nbases);
                struct early_read *read = &b->reads[i];
                *read = first_part(e, b, i, all);
                if (read->nfront > 0)
                        w->sequences[n++] = windows(e, sequence->bases, 0, read->nfront);
                if (read->nback > 0)
                        w->sequences[n++] =
                                windows(e, sequence->bases, all - read->nback, read->nback);
        }
        b->nfirst = n;
}

/* most: the reads that are taken of it. */
static enum kc_status make_block(struct early_worker *w, const struct kc_asking_block *block,
                                 size_t most, struct early_block **made, struct kc_error *err)
{
        const size_t npairs = block->npairs < most / 2 ? block->npairs : most / 2;
        const size_t n = block->npairs > 0          ? 2 * npairs
                         : block->nsequences < most ? block->nsequences
                                                    : most;
        struct early_block *b = calloc(1, sizeof *b);
        *made = b;
        if (b == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a block");
        *w->end = b;
        w->end = &b->next;
        b->block = block;
        b->nreads = n;
        b->npairs = block->npairs > 0 ? npairs : 0;
        b->reads = malloc(n * sizeof *b->reads);
        return b->reads != NULL ? KC_OK
                                : kc_fail(err, KC_ENOMEM, "out of memory for %zu records", n);
}

static uint64_t count_windows(const struct early_block *b)
{
        uint64_t n = 0;
        for (size_t i = 0; i < b->nreads; i++)
                n += b->reads[i].nfront + b->reads[i].nback + b->reads[i].part.nleft;
        return n;
}

static enum kc_status add_first(struct kc_early *e, int worker, const struct kc_asking_block *block,
                                size_t most, bool *full, struct kc_error *err)
{
        struct early_worker *w = &e->workers[worker];
        const struct kc_ask_sequence *sequences;
        struct early_block *b;
        enum kc_status status;
        KC_TRY(make_block(w, block, most, &b, err));
        KC_TRY(reserve(w, 2 * b->nreads, err));
        KC_TRY(sequences_of(e, worker, b, &sequences, err));
        split(e, w, b, sequences);
        KC_TRY(e->asker.add(e->asker.ctx, worker, w->sequences, b->nfirst, full, err));
        const uint64_t n = count_windows(b), nbytes = b->nreads * sizeof *b->reads;
        *full |= atomic_fetch_add(&e->nwindows, n) + n >= e->most_windows;
        *full |= atomic_fetch_add(&e->nbytes, nbytes) + nbytes >= e->setup.memory_nbytes;
out:
        return status;
}

enum kc_status kc_early_add(struct kc_early *e, int worker, const struct kc_asking_block *block,
                            bool *full, struct kc_error *err)
{
        const struct kc_asking_source *source = e->setup.source;
        const struct kc_ask_sequence *sequences;
        enum kc_status status;
        if (e->in_part)
                return add_first(e, worker, block, SIZE_MAX, full, err);
        KC_TRY(source->sequences(source->ctx, worker, block, &sequences, err));
        KC_TRY(e->asker.add(e->asker.ctx, worker, sequences, block->nsequences, full, err));
out:
        return status;
}

/* ---- settling ---- */

static bool is_wanted(const struct early_read *read)
{
        return read->part.nleft > 0 && !read->part.is_settled;
}

static void settle(const struct kc_early *e, struct early_worker *w, struct early_block *b)
{
        const struct kc_asking_consumer *consumer = e->setup.consumer;
        const size_t npairs = b->npairs, n = npairs > 0 ? npairs : b->nreads;
        for (size_t i = 0; i < n; i++) {
                struct kc_asked_part *first = &b->reads[i].part;
                struct kc_asked_part *second = npairs > 0 ? &b->reads[npairs + i].part : NULL;
                if (first->nleft > 0 || (second != NULL && second->nleft > 0))
                        consumer->settle(consumer->ctx, first, second);
        }
        for (size_t i = 0; i < b->nreads; i++) {
                w->ntried += b->reads[i].part.nleft > 0;
                b->nrest += is_wanted(&b->reads[i]);
        }
        w->nwanted += b->nrest;
}

static enum kc_status take_first(void *ctx, int worker, struct kc_error *err)
{
        struct kc_early *e = ctx;
        struct early_worker *w = &e->workers[worker];
        enum kc_status status = KC_OK;
        w->ntried = w->nwanted = 0;
        for (struct early_block *b = w->first; b != NULL; b = b->next) {
                const struct kc_ask_answer *answer = w->answers;
                KC_TRY(e->asker.take(e->asker.ctx, worker, w->answers, b->nfirst, err));
                for (size_t i = 0; i < b->nreads; i++) {
                        struct early_read *read = &b->reads[i];
                        const int n = (read->nfront > 0) + (read->nback > 0);
                        for (int j = 0; j < n; j++)
                                kc_ask_summary_append(&read->part.summary, &answer++->summary);
                }
                settle(e, w, b);
        }
        w->unadded = w->untaken = w->first;
out:
        return status;
}

/* ---- the rest ---- */

static enum kc_status add_rest(struct kc_early *e, int worker, struct early_block *b,
                               struct kc_error *err)
{
        struct early_worker *w = &e->workers[worker];
        const struct kc_ask_sequence *sequences;
        bool full = false;
        size_t n = 0;
        enum kc_status status;
        KC_TRY(sequences_of(e, worker, b, &sequences, err));
        for (size_t i = 0; i < b->nreads; i++) {
                const struct early_read *read = &b->reads[i];
                if (is_wanted(read))
                        w->sequences[n++] = windows(e, sequences[place_of(b, i)].bases,
                                                    read->nfront, (uint32_t)read->part.nleft);
        }
        KC_TRY(e->asker.add(e->asker.ctx, worker, w->sequences, n, &full, err));
        if (full)
                atomic_store(&e->full, true);
out:
        return status;
}

static enum kc_status add_rests(void *ctx, int worker, struct kc_error *err)
{
        struct kc_early *e = ctx;
        struct early_worker *w = &e->workers[worker];
        enum kc_status status = KC_OK;
        for (; w->unadded != NULL && !atomic_load(&e->full); w->unadded = w->unadded->next)
                if (w->unadded->nrest > 0)
                        KC_TRY(add_rest(e, worker, w->unadded, err));
out:
        return status;
}

static enum kc_status take_rests(void *ctx, int worker, struct kc_error *err)
{
        struct kc_early *e = ctx;
        struct early_worker *w = &e->workers[worker];
        enum kc_status status = KC_OK;
        for (; w->untaken != w->unadded; w->untaken = w->untaken->next) {
                const struct early_block *b = w->untaken;
                const struct kc_ask_answer *answer = w->answers;
                if (b->nrest == 0)
                        continue;
                KC_TRY(e->asker.take(e->asker.ctx, worker, w->answers, b->nrest, err));
                for (size_t i = 0; i < b->nreads; i++)
                        if (is_wanted(&b->reads[i]))
                                kc_ask_summary_append(&b->reads[i].part.summary,
                                                      &answer++->summary);
        }
out:
        return status;
}

/* Skip the blocks that need no rest. Returns whether any block does. */
static bool has_rests(struct kc_early *e)
{
        bool has = false;
        for (int i = 0; i < e->setup.nthreads; i++) {
                struct early_worker *w = &e->workers[i];
                while (w->unadded != NULL && w->unadded->nrest == 0)
                        w->unadded = w->unadded->next;
                has |= w->unadded != NULL;
        }
        return has;
}

/* ---- rounds ---- */

/* Whether enough of the records that were asked in part are settled. */
static bool is_worth_it(const struct kc_early *e)
{
        uint64_t ntried = 0, nwanted = 0;
        for (int i = 0; i < e->setup.nthreads; i++) {
                ntried += e->workers[i].ntried;
                nwanted += e->workers[i].nwanted;
        }
        return ntried > 0 && (ntried - nwanted) * SETTLED_DIVISOR >= ntried;
}

enum kc_status kc_early_answer(struct kc_early *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(e->asker.answer(e->asker.ctx, err));
        if (!e->in_part)
                goto out;
        KC_TRY(kc_parallel(e->setup.nthreads, take_first, NULL, e, err));
        e->in_part = is_worth_it(e);
        while (has_rests(e)) {
                atomic_store(&e->full, false);
                KC_TRY(kc_parallel(e->setup.nthreads, add_rests, NULL, e, err));
                KC_TRY(e->asker.answer(e->asker.ctx, err));
                KC_TRY(kc_parallel(e->setup.nthreads, take_rests, NULL, e, err));
        }
        atomic_store(&e->nwindows, 0);
        atomic_store(&e->nbytes, 0);
out:
        return status;
}

static void drop_first(struct early_worker *w)
{
        struct early_block *b = w->first;
        w->first = b->next;
        if (w->first == NULL)
                w->end = &w->first;
        free(b->reads);
        free(b);
}

enum kc_status kc_early_take(struct kc_early *e, int worker, struct kc_ask_answer *answers,
                             size_t n, struct kc_error *err)
{
        struct early_worker *w = &e->workers[worker];
        if (w->first == NULL) /* the round was not asked in part */
                return e->asker.take(e->asker.ctx, worker, answers, n, err);
        for (size_t i = 0; i < n; i++)
                answers[i] = (struct kc_ask_answer){ .summary = w->first->reads[i].part.summary };
        drop_first(w);
        return KC_OK;
}

/* ---- a sample ---- */

enum kc_status kc_early_try(const struct kc_early_setup *setup, const struct kc_asker *lookups,
                            const struct kc_asking_block *block, bool *worth_it,
                            struct kc_error *err)
{
        struct kc_early_setup alone = *setup;
        struct kc_early *e = NULL;
        enum kc_status status;
        bool full = false;
        alone.nthreads = 1;
        KC_TRY(kc_early_open(&e, lookups, &alone, err));
        KC_TRY(add_first(e, 0, block, SAMPLE_NRECORDS, &full, err));
        KC_TRY(lookups->answer(lookups->ctx, err));
        KC_TRY(take_first(e, 0, err));
        *worth_it = is_worth_it(e);
out:
        kc_early_close(e);
        return status;
}

/* ---- opening and closing ---- */

enum kc_status kc_early_open(struct kc_early **early, const struct kc_asker *asker,
                             const struct kc_early_setup *setup, struct kc_error *err)
{
        struct kc_early *e = calloc(1, sizeof *e);
        *early = e;
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        e->setup = *setup;
        e->asker = *asker;
        e->in_part = true;
        e->most_windows = ROUND_FACTOR * asker->round_nkmers;
        if (e->most_windows < MIN_ROUND_NWINDOWS)
                e->most_windows = MIN_ROUND_NWINDOWS;
        e->workers = calloc((size_t)setup->nthreads, sizeof *e->workers);
        if (e->workers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for threads");
        for (int i = 0; i < setup->nthreads; i++)
                e->workers[i].end = &e->workers[i].first;
        return KC_OK;
}

void kc_early_close(struct kc_early *e)
{
        if (e == NULL)
                return;
        for (int i = 0; e->workers != NULL && i < e->setup.nthreads; i++) {
                struct early_worker *w = &e->workers[i];
                while (w->first != NULL)
                        drop_first(w);
                free(w->sequences);
                free(w->answers);
        }
        free(e->workers);
        free(e);
}
