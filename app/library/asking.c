/*
 * A prompt asker (kmer/ask.h) is asked in a stream: each worker reads blocks and adds them until a
 * few wait for their answers; then it takes the answers to the first of them, formats the block,
 * and hands it in to be written (order.h). It goes on while that waits for earlier blocks, until
 * several wait. The blocks of a worker are in the order of the input, and a worker waits only for
 * those before its first block. So the worker that has the block whose turn it is never waits for
 * another.
 *
 * Other askers need rounds: all threads read blocks and add them to the asker, until
 * that is full, the blocks have taken their share of memory, or the input ends. The asker answers.
 * Then each thread takes the answers to its own blocks, in order: formatting is done by all at
 * once, writing in the order of the blocks.
 *
 * Before either, a few blocks are read ahead: if the input ends with them, or is known to be small,
 * k-mers are looked up one by one, and nothing is loaded.
 */
#include "app/library/asking.h"

#include "app/library/early.h"
#include "app/library/lookup_asker.h"
#include "app/library/order.h"
#include "base/job.h"
#include "base/parallel.h"
#include "kmer/kmer.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
        EARLY_DIVISOR = 8,  /* of the asker's memory, for asking in part */
        AHEAD_FRACTION = 4, /* of the asker's memory, for the k-mers that are read ahead */
        AHEAD_NBLOCKS = 16, /* of a worker while the engine opens: fresh memory for more
                                       would take longer than is gained */
};

uint64_t kc_asking_kmer_nbytes(int k)
{
        return 8 * (uint64_t)kc_kmer_nwords(k) + 2;
}

/* A block that is formatted, and its answers. */
struct asking_slot {
        const struct kc_asking_block *block;
        struct kc_ask_answer *answers; /* [cap] */
        size_t cap;
        uint64_t nbytes; /* memory: its answers, and what the consumer holds for it */
};

struct asking_worker {
        struct kc_asking_block *first, **end; /* read, and not released yet */
        struct kc_asking_block **unadded;     /* of these, the first one that is not added */
        unsigned nadded;
        uint64_t nformatted, nreleased; /* blocks */
};

struct asking {
        const struct kc_asking_options *options;
        const struct kc_asking_consumer *consumer;
        const struct kc_asking_source *source;
        struct kc_asker asker;  /* close is NULL: not open yet */
        bool is_shared;         /* the asker is that of the options */
        struct kc_early *early; /* before the asker; NULL: all windows are asked */
        int nthreads, nslots;
        uint64_t ahead_nbases, ahead_nunits; /* that were read ahead */
        struct asking_worker *workers;       /* [nthreads] */
        struct asking_slot *slots;           /* [nslots] */
        struct kc_asking_order order;        /* of writing; its places are the slots */
        atomic_bool full;                    /* in this round */
        atomic_bool ended, failed;
};

static void give_up(void *ctx)
{
        struct asking *a = ctx;
        atomic_store(&a->failed, true);
        kc_asking_order_stop(&a->order);
}

static enum kc_status check_canceled(const struct asking *a, struct kc_error *err)
{
        return kc_job_is_canceled(a->options->job) ? kc_fail(err, KC_ECANCELED, "interrupted")
                                                   : KC_OK;
}

/* ---- adding ---- */

static enum kc_status reserve_answers(struct asking_slot *slot, size_t n, struct kc_error *err)
{
        if (n <= slot->cap)
                return KC_OK;
        free(slot->answers);
        slot->answers = malloc((n + n / 2) * sizeof *slot->answers);
        slot->cap = slot->answers != NULL ? n + n / 2 : 0;
        return slot->cap > 0 ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for answers");
}

static enum kc_status add_block(struct asking *a, int worker, const struct kc_asking_block *block,
                                struct kc_error *err)
{
        const struct kc_ask_sequence *sequences;
        bool full = false;
        enum kc_status status;
        if (a->early != NULL) {
                KC_TRY(kc_early_add(a->early, worker, block, &full, err));
        } else if (a->source->add != NULL) {
                KC_TRY(a->source->add(a->source->ctx, worker, block, &a->asker, &full, err));
        } else {
                KC_TRY(a->source->sequences(a->source->ctx, worker, block, &sequences, err));
                KC_TRY(a->asker.add(a->asker.ctx, worker, sequences, block->nsequences, &full,
                                    err));
        }
        if (full)
                atomic_store(&a->full, true);
out:
        return status;
}

/* Get the next block, and keep it for the worker. *block is NULL if this round has no more. */
static enum kc_status read_block(struct asking *a, int worker, struct kc_asking_block **block,
                                 struct kc_error *err)
{
        struct asking_worker *w = &a->workers[worker];
        bool ended = false;
        enum kc_status status;
        KC_TRY(check_canceled(a, err));
        KC_TRY(a->source->next(a->source->ctx, worker, block, &ended, err));
        if (ended)
                atomic_store(&a->ended, true);
        if (*block != NULL) {
                (*block)->next = NULL;
                *w->end = *block;
                w->end = &(*block)->next;
        }
out:
        return status;
}

/* Add the next block: one that was read ahead, if any is left, or else one that is read now. *more:
 * there was one to add. */
static enum kc_status add_next(struct asking *a, int worker, bool *more, struct kc_error *err)
{
        struct asking_worker *w = &a->workers[worker];
        struct kc_asking_block *block = *w->unadded;
        enum kc_status status = KC_OK;
        if (block == NULL && !atomic_load(&a->ended))
                KC_TRY(read_block(a, worker, &block, err));
        *more = block != NULL;
        if (block == NULL)
                return KC_OK;
        KC_TRY(add_block(a, worker, block, err));
        w->unadded = &block->next;
        w->nadded++;
out:
        return status;
}

/* All blocks that were read ahead are added, even if the asker is full: blocks of other workers may
 * have to wait for them to be written. */
static enum kc_status add_round(void *ctx, int worker, struct kc_error *err)
{
        struct asking *a = ctx;
        const struct asking_worker *w = &a->workers[worker];
        bool more = true;
        enum kc_status status = KC_OK;
        while (more && !atomic_load(&a->failed) && (*w->unadded != NULL || !atomic_load(&a->full)))
                KC_TRY(add_next(a, worker, &more, err));
out:
        return status;
}

/* ---- answers ---- */

static struct kc_asked asked_of(const struct asking_slot *slot, int number)
{
        return (struct kc_asked){ number, slot->block, slot->answers };
}

/* What the order calls. */
static enum kc_status write_slot(void *ctx, int number, struct kc_error *err)
{
        const struct asking *a = ctx;
        const struct kc_asking_consumer *consumer = a->consumer;
        const struct asking_slot *slot = &a->slots[number];
        const struct kc_asked asked = asked_of(slot, number);
        enum kc_status status;
        KC_TRY(consumer->write(consumer->ctx, &asked, err));
        kc_job_advance(a->options->job, slot->block->nunits);
out:
        return status;
}

static int nslots_each(const struct asking *a)
{
        return a->nslots / a->nthreads;
}

/* Where a worker formats its block number `nth`. */
static int slot_of(const struct asking *a, int worker, uint64_t nth)
{
        const int each = nslots_each(a);
        return worker * each + (int)(nth % (uint64_t)each);
}

/* The first block that is added and not formatted yet. There must be one. */
static const struct kc_asking_block *first_added(const struct asking_worker *w)
{
        const struct kc_asking_block *block = w->first;
        for (uint64_t i = w->nreleased; i < w->nformatted; i++)
                block = block->next;
        return block;
}

/* The slot's memory counts with the blocks'. */
static void measure_slot(struct asking *a, int number)
{
        const struct kc_asking_consumer *consumer = a->consumer;
        struct asking_slot *slot = &a->slots[number];
        const uint64_t before = slot->nbytes;
        slot->nbytes = slot->cap * sizeof *slot->answers;
        if (consumer->slot_nbytes != NULL)
                slot->nbytes += consumer->slot_nbytes(consumer->ctx, number);
        a->source->resize_slot(a->source->ctx, before, slot->nbytes);
}

/* Take the answers to the first block that is added, format it, and hand it in. A slot must be
 * free. */
static enum kc_status consume_next(struct asking *a, int worker, struct kc_error *err)
{
        const struct kc_asking_consumer *consumer = a->consumer;
        struct asking_worker *w = &a->workers[worker];
        const int number = slot_of(a, worker, w->nformatted);
        struct asking_slot *slot = &a->slots[number];
        enum kc_status status;
        slot->block = first_added(w);
        const size_t n = slot->block->nsequences;
        KC_TRY(check_canceled(a, err));
        KC_TRY(reserve_answers(slot, n, err));
        const struct kc_asked asked = asked_of(slot, number);
        if (a->early != NULL)
                KC_TRY(kc_early_take(a->early, worker, slot->answers, n, err));
        else
                KC_TRY(a->asker.take(a->asker.ctx, worker, slot->answers, n, err));
        KC_TRY(consumer->format(consumer->ctx, worker, &asked, err));
        measure_slot(a, number);
        w->nadded--;
        w->nformatted++;
        KC_TRY(kc_asking_order_hand_in(&a->order, number, slot->block->number, err));
out:
        return status;
}

static void release_first(struct asking *a, struct asking_worker *w)
{
        struct kc_asking_block *block = w->first;
        w->first = block->next;
        if (w->end == &block->next)
                w->end = &w->first;
        if (w->unadded == &block->next)
                w->unadded = &w->first;
        a->source->release(a->source->ctx, block);
}

/* Release the worker's blocks that are written, and wait until at most `most` are not. */
static enum kc_status release_written(struct asking *a, int worker, int most, struct kc_error *err)
{
        struct asking_worker *w = &a->workers[worker];
        enum kc_status status = KC_OK;
        for (; w->nreleased < w->nformatted; w->nreleased++) {
                const int slot = slot_of(a, worker, w->nreleased);
                if (w->nformatted - w->nreleased > (uint64_t)most)
                        KC_TRY(kc_asking_order_wait(&a->order, slot, err));
                else if (kc_asking_order_is_taken(&a->order, slot))
                        break;
                release_first(a, w);
        }
out:
        return status;
}

/* ---- rounds ---- */

static enum kc_status consume_round(void *ctx, int worker, struct kc_error *err)
{
        struct asking *a = ctx;
        enum kc_status status = KC_OK;
        while (a->workers[worker].nadded > 0) {
                KC_TRY(consume_next(a, worker, err));
                KC_TRY(release_written(a, worker, nslots_each(a) - 1, err));
        }
        KC_TRY(release_written(a, worker, 0, err));
out:
        return status;
}

static enum kc_status run_rounds(struct asking *a, int nthreads, struct kc_error *err)
{
        enum kc_status status;
        do {
                atomic_store(&a->full, false);
                KC_TRY(kc_parallel(nthreads, add_round, give_up, a, err));
                KC_TRY(a->early != NULL ? kc_early_answer(a->early, err)
                                        : a->asker.answer(a->asker.ctx, err));
                KC_TRY(kc_parallel(nthreads, consume_round, give_up, a, err));
        } while (!atomic_load(&a->ended));
out:
        return status;
}

/* ---- a stream ---- */

/* If there is no memory for a worker's next block, the worker goes on with those that it has. A
 * worker that has none left ends, and leaves the rest of the input to the others. */
static enum kc_status stream(void *ctx, int worker, struct kc_error *err)
{
        struct asking *a = ctx;
        const struct asking_worker *w = &a->workers[worker];
        enum kc_status status = KC_OK;
        for (;;) {
                bool more = true;
                while (more && w->nadded < a->asker.depth && !atomic_load(&a->failed))
                        KC_TRY(add_next(a, worker, &more, err));
                const bool has_next = w->nadded > 0;
                if (!has_next && w->nreleased == w->nformatted)
                        break;
                if (has_next)
                        KC_TRY(consume_next(a, worker, err));
                KC_TRY(release_written(a, worker, has_next ? nslots_each(a) - 1 : 0, err));
        }
out:
        return status;
}

static enum kc_status run(struct asking *a, int nthreads, struct kc_error *err)
{
        return a->asker.depth > 0 ? kc_parallel(nthreads, stream, give_up, a, err)
                                  : run_rounds(a, nthreads, err);
}

/* ---- all of it ---- */

/* Read blocks, one for each worker in turn, until they have at least `most` bases, or the input
 * ends. */
static enum kc_status read_ahead(struct asking *a, uint64_t most, int *nblocks,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *nblocks = 0;
        while (a->ahead_nbases < most && !atomic_load(&a->ended)) {
                struct kc_asking_block *block;
                KC_TRY(read_block(a, *nblocks % a->nthreads, &block, err));
                if (block == NULL)
                        break;
                ++*nblocks;
                a->ahead_nunits += block->nunits;
                a->ahead_nbases += block->nbases;
        }
out:
        return status;
}

/* As kc_lookup_few, but no more than fit into a small part of the memory, because they are read
 * ahead. */
static uint64_t few_kmers(const struct kc_store_info *info, const struct kc_ask_setup *setup)
{
        const uint64_t most =
                setup->memory_nbytes / AHEAD_FRACTION / kc_asking_kmer_nbytes(info->k);
        const uint64_t few = kc_lookup_few(info);
        return few < most ? few : most;
}

/* About how many bases the input has, judging from those that were read ahead. */
static uint64_t expected_nbases(const struct asking *a)
{
        if (a->source->nunits == 0 || a->ahead_nunits == 0)
                return KC_ASKING_UNKNOWN;
        const double each = (double)a->ahead_nbases / (double)a->ahead_nunits;
        return (uint64_t)(each * (double)a->source->nunits);
}

struct opening {
        struct asking *asking;
        struct kc_asker *asker;
        const struct kc_ask_setup *setup;
        uint64_t most_nbases; /* that an asker in rounds takes at once */
        atomic_uint_fast64_t nbases;
        atomic_bool opened;
};

static bool goes_on(struct opening *o)
{
        const struct asking *a = o->asking;
        return !atomic_load(&o->opened) && !atomic_load(&a->ended) && !atomic_load(&a->failed) &&
               atomic_load(&o->nbases) < o->most_nbases;
}

/* Read a few blocks, until the engine is open, the input ends, or there is no more room. */
static enum kc_status read_until_open(struct opening *o, int worker, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < AHEAD_NBLOCKS && goes_on(o); i++) {
                struct kc_asking_block *block;
                KC_TRY(read_block(o->asking, worker, &block, err));
                if (block == NULL)
                        break;
                atomic_fetch_add(&o->nbases, block->nbases);
        }
out:
        return status;
}

static void stop_opening(void *ctx)
{
        give_up(((struct opening *)ctx)->asking);
}

/* Thread 0 opens the engine; the other threads are the workers. */
static enum kc_status open_or_read(void *ctx, int thread, struct kc_error *err)
{
        struct opening *o = ctx;
        if (thread > 0)
                return read_until_open(o, thread - 1, err);
        const struct kc_asking_options *options = o->asking->options;
        const enum kc_status status =
                options->open(options->ctx, o->asker, o->setup, expected_nbases(o->asking), err);
        atomic_store(&o->opened, true);
        return status;
}

/* If the input has not ended by now, there are more than a few k-mers. */
static enum kc_status open_asker(struct asking *a, struct kc_store *store, int k,
                                 const struct kc_ask_setup *setup, struct kc_error *err)
{
        const struct kc_asking_options *options = a->options;
        enum kc_status status = KC_OK;
        a->is_shared = options->shared != NULL && !atomic_load(&a->ended);
        if (atomic_load(&a->ended))
                return kc_lookup_asker_open(&a->asker, store, setup, err);
        struct opening opening = { .asking = a,
                                   .asker = a->is_shared ? options->shared : &a->asker,
                                   .setup = setup,
                                   .most_nbases = setup->memory_nbytes / kc_asking_kmer_nbytes(k),
                                   .nbases = a->ahead_nbases };
        if (opening.asker->close == NULL)
                KC_TRY(kc_parallel(1 + a->nthreads, open_or_read, stop_opening, &opening, err));
        a->asker = *opening.asker;
out:
        return status;
}

/* The last bytes that were read may have come with no record. */
static void complete_job(const struct asking *a)
{
        struct kc_job *job = a->options->job;
        if (job == NULL)
                return;
        const uint64_t done = atomic_load(&job->done), total = a->source->nunits;
        if (done < total)
                kc_job_advance(job, total - done);
}

/* Whether a part of the windows settles enough records of the first block. */
static enum kc_status try_early(const struct asking *a, struct kc_store *store,
                                const struct kc_early_setup *setup, const struct kc_ask_setup *ask,
                                bool *worth_it, struct kc_error *err)
{
        struct kc_asker lookups = { 0 };
        enum kc_status status;
        KC_TRY(kc_lookup_asker_open(&lookups, store, ask, err));
        KC_TRY(kc_early_try(setup, &lookups, a->workers[0].first, worth_it, err));
out:
        kc_asking_close(&lookups);
        return status;
}

/* Ask for a part of each record first, if that can be enough for the consumer, the asker's rounds
 * are cheap enough, and the first records promise a gain. */
static enum kc_status open_early(struct asking *a, struct kc_store *store,
                                 const struct kc_ask_setup *ask, int k, uint64_t memory_nbytes,
                                 struct kc_error *err)
{
        const struct kc_early_setup setup = { .k = k,
                                              .nthreads = a->nthreads,
                                              .memory_nbytes = memory_nbytes,
                                              .source = a->source,
                                              .consumer = a->consumer };
        bool worth_it = false;
        enum kc_status status = KC_OK;
        if (a->consumer->nfirst == NULL || a->workers[0].first == NULL ||
            expected_nbases(a) < a->asker.round_nkmers ||
            !kc_early_suits(&a->asker, k, ask->memory_nbytes))
                return KC_OK;
        KC_TRY(try_early(a, store, &setup, ask, &worth_it, err));
        if (worth_it)
                KC_TRY(kc_early_open(&a->early, &a->asker, &setup, err));
out:
        return status;
}

static enum kc_status ask(struct asking *a, struct kc_store *store,
                          const struct kc_store_info *info, struct kc_error *err)
{
        const struct kc_asking_options *options = a->options;
        const uint64_t nbytes = options->memory_nbytes;
        const uint64_t early_nbytes = a->consumer->nfirst != NULL ? nbytes / EARLY_DIVISOR : 0;
        const struct kc_ask_setup setup = {
                .nthreads = a->nthreads,
                .memory_nbytes = nbytes - early_nbytes,
                .min_count = options->min_count,
                .max_count = options->max_count,
                .wants_counts = options->wants_counts,
                .job = options->job,
        };
        int nblocks;
        enum kc_status status;
        const bool is_open = options->shared != NULL && options->shared->close != NULL;
        KC_TRY(read_ahead(a, is_open ? 0 : few_kmers(info, &setup), &nblocks, err));
        const bool is_small = atomic_load(&a->ended) && nblocks < a->nthreads;
        KC_TRY(open_asker(a, store, info->k, &setup, err));
        KC_TRY(open_early(a, store, &setup, info->k, early_nbytes, err));
        KC_TRY(run(a, is_small && nblocks > 0 ? nblocks : a->nthreads, err));
        complete_job(a);
out:
        return status;
}

/* ---- opening and closing ---- */

static enum kc_status open_asking(struct asking *a, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_asking_order_init(&a->order, a->nslots, a, write_slot, err));
        a->workers = calloc((size_t)a->nthreads, sizeof *a->workers);
        a->slots = calloc((size_t)a->nslots, sizeof *a->slots);
        if (a->workers == NULL || a->slots == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory for threads"));
        for (int i = 0; i < a->nthreads; i++)
                a->workers[i].end = a->workers[i].unadded = &a->workers[i].first;
        kc_job_expect(a->options->job, a->source->nunits);
out:
        return status;
}

void kc_asking_close(struct kc_asker *shared)
{
        if (shared->close != NULL)
                shared->close(shared->ctx);
        *shared = (struct kc_asker){ 0 };
}

static void close_asking(struct asking *a)
{
        for (int i = 0; a->workers != NULL && i < a->nthreads; i++) {
                struct asking_worker *w = &a->workers[i];
                while (w->first != NULL)
                        release_first(a, w);
        }
        free(a->workers);
        for (int i = 0; a->slots != NULL && i < a->nslots; i++)
                free(a->slots[i].answers);
        free(a->slots);
        kc_early_close(a->early);
        if (!a->is_shared)
                kc_asking_close(&a->asker);
        kc_asking_order_destroy(&a->order);
}

enum kc_status kc_asking_run(struct kc_store *store, const struct kc_asking_source *source,
                             const struct kc_asking_options *options,
                             const struct kc_asking_consumer *consumer, struct kc_error *err)
{
        struct asking a = { .options = options,
                            .source = source,
                            .consumer = consumer,
                            .nthreads = options->nthreads,
                            .nslots = kc_asking_nslots(options->nthreads, options->wants_counts) };
        struct kc_store_info info;
        enum kc_status status;
        kc_store_get_info(store, &info);
        KC_TRY(open_asking(&a, err));
        KC_TRY(ask(&a, store, &info, err));
out:
        close_asking(&a);
        return status;
}
