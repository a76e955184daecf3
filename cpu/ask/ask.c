#include "cpu/ask/ask.h"

#include "base/job.h"
#include "base/parallel.h"
#include "cpu/ask/join.h"
#include "cpu/ask/shape.h"
#include "kmer/letters.h"

#include <stdlib.h>
#include <string.h>

enum {
        TILE = 1024,       /* k-mers made before they go to the lists */
        EVEN_NPARTS = 8,   /* so many parts for each thread let all threads end together */
        DECODED_SHARE = 8, /* joining by lists may decode one k-mer for so many asked ones */
};

/*
 * What a thread keeps of each of its blocks, in two streams. One has the part of each k-mer. The
 * other has a head and then the items of each sequence: first one with the number of its bases
 * (begin) and of its stretches (n), then its stretches.
 */
struct block_head {
        uint64_t nitems, nkmers;
        uint64_t longest_nkmers; /* of a sequence */
};

struct thread {
        struct kc_ask_holder holder;
        struct kc_ask_lists lists;
        struct kc_ask_stream parts, blocks;
        struct kc_ask_stream_reader parts_reader, blocks_reader;
        uint64_t nblocks, ntaken;

        struct kc_ask_stretch *items; /* of the block that is added or taken [items_cap] */
        size_t nitems, items_cap;
        uint8_t *codes; /* of a sequence [codes_cap] */
        size_t codes_cap;
        uint32_t *counts; /* [counts_cap] */
        size_t counts_cap;
        uint64_t *tile_kmers;      /* [(TILE + KC_LETTERS_SPARE) * nwords] */
        uint16_t tile_parts[TILE]; /* of these k-mers */
};

struct asker {
        struct kc_ask_table table;
        struct kc_ask_setup setup;
        struct kc_ask_plan plan;
        struct kc_ask_pool pool;
        struct kc_ask_join_setup join;
        struct thread **threads;           /* [setup.nthreads] */
        const struct kc_ask_lists **lists; /* [setup.nthreads] of the threads */
        struct kc_ask_joiner *joiners;     /* [setup.nthreads] */
        uint32_t nshares; /* in which the lists of a part are joined: 1, or one for each thread */
        atomic_uint next_share;
};

/* Make room for n elements; *array may move. KC_ENOMEM. */
static enum kc_status reserve(void **array, size_t *cap, size_t n, size_t element_nbytes,
                              struct kc_error *err)
{
        if (n <= *cap)
                return KC_OK;
        const size_t more = n + n / 2;
        void *moved = realloc(*array, more * element_nbytes);
        if (moved == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a block of sequences");
        *array = moved;
        *cap = more;
        return KC_OK;
}

/* ---- add ---- */

static enum kc_status add_item(struct thread *t, uint32_t begin, uint32_t n, struct kc_error *err)
{
        enum kc_status status =
                reserve((void **)&t->items, &t->items_cap, t->nitems + 1, sizeof *t->items, err);
        if (status == KC_OK)
                t->items[t->nitems++] = (struct kc_ask_stretch){ .begin = begin, .n = n };
        return status;
}

/* n <= TILE k-mers. */
static enum kc_status add_tile(struct asker *a, struct thread *t, const uint64_t *kmers, size_t n,
                               struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_ask_lists_append(&t->lists, kmers, n, t->tile_parts, err));
        KC_TRY(kc_ask_stream_put(&t->parts, &a->pool, &t->holder, t->tile_parts,
                                 n * sizeof *t->tile_parts, err));
out:
        return status;
}

/* The n k-mers of a stretch that begins at codes. */
static enum kc_status add_kmers(struct asker *a, struct thread *t, const uint8_t *codes, size_t n,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_roller roller = kc_roller(a->table.k, a->table.stranded);
        kc_roll_begin(&roller, codes);
        for (size_t m; n > 0; n -= m) {
                m = n < TILE ? n : TILE;
                kc_roll(&roller, m, t->tile_kmers);
                KC_TRY(add_tile(a, t, t->tile_kmers, m, err));
        }
out:
        return status;
}

static enum kc_status add_sequence(struct asker *a, struct thread *t,
                                   const struct kc_ask_sequence *sequence, struct block_head *head,
                                   struct kc_error *err)
{
        enum kc_status status;
        const uint32_t k = (uint32_t)a->table.k, nbases = sequence->nbases;
        const size_t item = t->nitems;
        uint64_t nkmers = 0;
        KC_TRY(add_item(t, nbases, 0, err));
        if (nbases < k)
                goto out;
        KC_TRY(reserve((void **)&t->codes, &t->codes_cap, nbases + KC_LETTERS_SPARE, 1, err));
        const bool is_whole = kc_letters_encode(sequence->bases, nbases, t->codes);
        for (size_t begin = 0, n; begin < nbases; begin += n) {
                n = is_whole ? nbases : kc_letters_stretch(t->codes, nbases, &begin);
                if (n < k)
                        continue;
                const uint32_t nvalid = (uint32_t)n - k + 1;
                KC_TRY(add_item(t, (uint32_t)begin, nvalid, err));
                KC_TRY(add_kmers(a, t, t->codes + begin, nvalid, err));
                t->items[item].n++;
                nkmers += nvalid;
        }
        head->nkmers += nkmers;
        if (nkmers > head->longest_nkmers)
                head->longest_nkmers = nkmers;
out:
        return status;
}

/* All items of the block have been added. */
static enum kc_status end_block(struct asker *a, struct thread *t, struct block_head *head,
                                bool *full, struct kc_error *err)
{
        enum kc_status status;
        head->nitems = t->nitems;
        KC_TRY(kc_ask_stream_put(&t->blocks, &a->pool, &t->holder, head, sizeof *head, err));
        KC_TRY(kc_ask_stream_put(&t->blocks, &a->pool, &t->holder, t->items,
                                 t->nitems * sizeof *t->items, err));
        t->nblocks++;
        if (kc_ask_pool_is_full(&a->pool))
                *full = true;
out:
        return status;
}

static enum kc_status add(void *ctx, int thread, const struct kc_ask_sequence *sequences, size_t n,
                          bool *full, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct asker *a = ctx;
        struct thread *t = a->threads[thread];
        struct block_head head = { 0 };
        t->nitems = 0;
        for (size_t i = 0; i < n; i++)
                KC_TRY(add_sequence(a, t, &sequences[i], &head, err));
        KC_TRY(end_block(a, t, &head, full, err));
out:
        return status;
}

enum kc_status kc_cpu_ask_add_kmers(const struct kc_asker *asker, int thread, const uint64_t *kmers,
                                    uint32_t n, bool *full, struct kc_error *err)
{
        enum kc_status status;
        struct asker *a = asker->ctx;
        struct thread *t = a->threads[thread];
        struct block_head head = { .nkmers = n, .longest_nkmers = n };
        t->nitems = 0;
        KC_TRY(add_item(t, n + (uint32_t)a->table.k - 1, 1, err));
        KC_TRY(add_item(t, 0, n, err));
        for (uint32_t m; n > 0; n -= m, kmers += m * (size_t)a->plan.nwords) {
                m = n < TILE ? n : TILE;
                KC_TRY(add_tile(a, t, kmers, m, err));
        }
        KC_TRY(end_block(a, t, &head, full, err));
out:
        return status;
}

/* ---- answer ---- */

static enum kc_status join_shares(void *ctx, int worker, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct asker *a = ctx;
        for (;;) {
                const uint32_t share = atomic_fetch_add(&a->next_share, 1);
                if (share >= a->plan.nparts * a->nshares)
                        break;
                if (kc_job_is_canceled(a->setup.job))
                        return kc_fail(err, KC_ECANCELED, "canceled");
                KC_TRY(kc_ask_join(&a->joiners[worker], a->lists + share % a->nshares,
                                   a->setup.nthreads / (int)a->nshares, share / a->nshares, err));
        }
out:
        return status;
}

static uint64_t nasked(const struct asker *a)
{
        uint64_t n = 0;
        for (int i = 0; i < a->setup.nthreads; i++)
                for (uint32_t part = 0; part < a->plan.nparts; part++)
                        n += a->lists[i]->n[part];
        return n;
}

/* A table of few blocks, or whose k-mers share a prefix, has too few parts for the threads. Then
 * each list of a part is joined by itself, if decoding the part for each list costs little. */
static uint32_t choose_nshares(const struct asker *a)
{
        const uint32_t nthreads = (uint32_t)a->setup.nthreads;
        const bool is_even = a->plan.nparts >= EVEN_NPARTS * nthreads;
        return is_even || a->table.ndistinct * nthreads > nasked(a) / DECODED_SHARE ? 1 : nthreads;
}

/* Sealing takes far less time than starting threads. */
static enum kc_status answer(void *ctx, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct asker *a = ctx;
        for (int i = 0; i < a->setup.nthreads; i++)
                KC_TRY(kc_ask_lists_seal(&a->threads[i]->lists, err));
        a->nshares = choose_nshares(a);
        atomic_store(&a->next_share, 0);
        KC_TRY(kc_parallel(a->setup.nthreads, join_shares, NULL, a, err));
out:
        return status;
}

/* ---- take ---- */

static enum kc_status begin_taking(struct asker *a, struct thread *t, struct block_head *head,
                                   struct kc_error *err)
{
        enum kc_status status;
        if (t->ntaken == 0) {
                kc_ask_lists_rewind(&t->lists);
                t->parts_reader = kc_ask_stream_begin(&t->parts);
                t->blocks_reader = kc_ask_stream_begin(&t->blocks);
        }
        kc_ask_stream_get(&t->blocks_reader, &a->pool, head, sizeof *head);
        KC_TRY(reserve((void **)&t->items, &t->items_cap, head->nitems, sizeof *t->items, err));
        kc_ask_stream_get(&t->blocks_reader, &a->pool, t->items, head->nitems * sizeof *t->items);
        KC_TRY(reserve((void **)&t->counts, &t->counts_cap,
                       a->setup.wants_counts ? head->nkmers : head->longest_nkmers,
                       sizeof *t->counts, err));
out:
        return status;
}

/* The counts of the thread's next n k-mers. */
static void replay(struct asker *a, struct thread *t, size_t n, uint32_t *counts)
{
        for (size_t m; n > 0; n -= m, counts += m) {
                m = n < TILE ? n : TILE;
                kc_ask_stream_get(&t->parts_reader, &a->pool, t->tile_parts,
                                  m * sizeof *t->tile_parts);
                kc_ask_lists_replay(&t->lists, t->tile_parts, m, counts);
        }
}

/* The round is over for this thread: others may use its memory for the next one. */
static void end_round(struct asker *a, struct thread *t)
{
        kc_ask_lists_clear(&t->lists);
        t->parts = t->blocks = (struct kc_ask_stream){ 0 };
        t->nblocks = t->ntaken = 0;
        kc_ask_release(&a->pool, &t->holder);
}

static enum kc_status take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                           struct kc_error *err)
{
        struct asker *a = ctx;
        struct thread *t = a->threads[thread];
        struct block_head head;
        enum kc_status status = begin_taking(a, t, &head, err);
        if (status != KC_OK)
                return status;
        const struct kc_ask_stretch *item = t->items;
        uint32_t *counts = t->counts;
        for (size_t i = 0; i < n; i++) {
                const uint32_t nbases = item->begin, nstretches = item->n;
                const struct kc_ask_stretch *stretches = item + 1;
                size_t nkmers = 0;
                for (uint32_t j = 0; j < nstretches; j++)
                        nkmers += stretches[j].n;
                replay(a, t, nkmers, counts);
                answers[i] = (struct kc_ask_answer){ 0 };
                kc_ask_summarize(&answers[i].summary, a->table.k, &a->setup, nbases, counts,
                                 stretches, nstretches);
                item = stretches + nstretches;
                if (!a->setup.wants_counts)
                        continue;
                answers[i].counts = counts;
                answers[i].stretches = stretches;
                answers[i].nstretches = nstretches;
                counts += nkmers;
        }
        if (++t->ntaken == t->nblocks)
                end_round(a, t);
        return KC_OK;
}

/* ---- open and close ---- */

static void free_thread(struct asker *a, struct thread *t)
{
        if (t == NULL)
                return;
        kc_ask_release(&a->pool, &t->holder);
        kc_ask_lists_free(&t->lists);
        free(t->items);
        free(t->codes);
        free(t->counts);
        free(t->tile_kmers);
        free(t);
}

static void close_asker(void *ctx)
{
        struct asker *a = ctx;
        for (int i = 0; i < a->setup.nthreads; i++) {
                if (a->threads != NULL)
                        free_thread(a, a->threads[i]);
                if (a->joiners != NULL)
                        kc_ask_joiner_free(&a->joiners[i]);
        }
        free(a->threads);
        free(a->lists);
        free(a->joiners);
        kc_ask_plan_free(&a->plan);
        kc_ask_pool_free(&a->pool);
        free(a);
}

static enum kc_status add_thread(struct asker *a, int i, struct kc_error *err)
{
        enum kc_status status;
        struct thread *t = calloc(1, sizeof *t);
        if (t == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        a->threads[i] = t;
        a->joiners[i] = kc_ask_joiner(&a->join);
        a->lists[i] = &t->lists;
        KC_TRY(kc_ask_lists_init(&t->lists, &a->plan, &a->pool, &t->holder, err));
        t->tile_kmers =
                malloc((TILE + KC_LETTERS_SPARE) * (size_t)a->plan.nwords * sizeof *t->tile_kmers);
        if (t->tile_kmers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for k-mers");
out:
        return status;
}

static enum kc_status add_threads(struct asker *a, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t n = (size_t)a->setup.nthreads;
        a->threads = calloc(n, sizeof *a->threads);
        a->lists = calloc(n, sizeof *a->lists);
        a->joiners = calloc(n, sizeof *a->joiners);
        if (a->threads == NULL || a->lists == NULL || a->joiners == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu threads", n);
        for (int i = 0; i < a->setup.nthreads; i++)
                KC_TRY(add_thread(a, i, err));
out:
        return status;
}

enum kc_status kc_cpu_ask_open(struct kc_asker *asker, const struct kc_ask_table *table,
                               const struct kc_ask_setup *setup,
                               const struct kc_cpu_ask_tuning *tuning, struct kc_error *err)
{
        enum kc_status status;
        struct asker *a = calloc(1, sizeof *a);
        if (a == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        a->table = *table;
        a->setup = *setup;
        const struct kc_ask_shape shape = kc_ask_shape(table, setup, tuning);
        kc_ask_pool_init(&a->pool, shape.chunk_nbytes, shape.slab_nbytes, shape.limit_nbytes);
        KC_TRY(kc_ask_plan_make(&a->plan, &a->table, shape.nparts, err));
        a->join = (struct kc_ask_join_setup){ .table = &a->table,
                                              .plan = &a->plan,
                                              .piece_nkmers = shape.piece_nkmers,
                                              .group_nkmers = shape.group_nkmers };
        KC_TRY(add_threads(a, err));
        *asker = (struct kc_asker){ .ctx = a,
                                    .round_nkmers = table->ndistinct / 2 + 1,
                                    .add = add,
                                    .answer = answer,
                                    .take = take,
                                    .close = close_asker };
        a = NULL;
out:
        if (a != NULL)
                close_asker(a);
        return status;
}
