/*
 * Each thread looks up the k-mers of a block when it adds it, in ascending order, so that k-mers of
 * one block of the store follow each other.
 */
#include "app/library/lookup_asker.h"

#include "kmer/letters.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A block's answers: counts and stretches of all its sequences, one after the other. */
struct looked_up {
        struct looked_up *next;
        uint32_t *counts;
        struct kc_ask_stretch *stretches;
        struct looked_up_sequence {
                uint32_t nbases;
                size_t ncounts, nstretches;
        } * sequences;
        size_t nsequences;
        uint64_t nbytes;
};

/* What a thread keeps. */
struct thread_lookups {
        struct kc_lookup *lookup;
        struct looked_up *first, **end; /* added and not yet taken */
        struct looked_up *taken;
        /* of the block that is being added */
        uint8_t *codes; /* [codes_cap + KC_LETTERS_SPARE] of a sequence */
        size_t codes_cap;
        uint64_t *kmers; /* [(cap + KC_LETTERS_SPARE) * nwords] in the form that the store keeps */
        size_t n, cap;
        struct kc_ask_stretch *stretches; /* [stretches_cap] */
        size_t nstretches, stretches_cap;
};

struct lookup_asker {
        struct kc_ask_setup setup;
        int k;
        size_t nwords;
        bool stranded;
        atomic_uint_fast64_t nbytes;    /* of answers that are held */
        struct thread_lookups *threads; /* [setup.nthreads] */
};

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for queries");
}

/* ---- k-mers of a block ---- */

static enum kc_status reserve_kmers(struct thread_lookups *l, size_t nwords, size_t n,
                                    struct kc_error *err)
{
        if (n <= l->cap)
                return KC_OK;
        free(l->kmers);
        l->kmers = malloc((n + KC_LETTERS_SPARE) * nwords * sizeof *l->kmers);
        l->cap = l->kmers != NULL ? n : 0;
        return l->cap == n ? KC_OK : no_memory(err);
}

static enum kc_status reserve_codes(struct thread_lookups *l, size_t n, struct kc_error *err)
{
        if (n <= l->codes_cap)
                return KC_OK;
        free(l->codes);
        l->codes = malloc(n + KC_LETTERS_SPARE);
        l->codes_cap = l->codes != NULL ? n : 0;
        return l->codes != NULL ? KC_OK : no_memory(err);
}

static enum kc_status add_stretch(struct thread_lookups *l, struct looked_up_sequence *sequence,
                                  size_t begin, size_t nwindows, struct kc_error *err)
{
        if (l->nstretches == l->stretches_cap) {
                const size_t cap = 2 * l->stretches_cap + 256;
                struct kc_ask_stretch *grown = realloc(l->stretches, cap * sizeof *grown);
                if (grown == NULL)
                        return no_memory(err);
                l->stretches = grown;
                l->stretches_cap = cap;
        }
        l->stretches[l->nstretches++] =
                (struct kc_ask_stretch){ .begin = (uint32_t)begin, .n = (uint32_t)nwindows };
        sequence->nstretches++;
        return KC_OK;
}

static enum kc_status take_apart(const struct lookup_asker *a, struct thread_lookups *l,
                                 const struct kc_ask_sequence *given,
                                 struct looked_up_sequence *sequence, struct kc_error *err)
{
        const size_t k = (size_t)a->k, before = l->n;
        enum kc_status status = KC_OK;
        *sequence = (struct looked_up_sequence){ .nbases = given->nbases };
        if (given->nbases < k)
                goto out;
        KC_TRY(reserve_codes(l, given->nbases, err));
        kc_letters_encode(given->bases, given->nbases, l->codes);
        for (size_t begin = 0, n;; begin += n) {
                n = kc_letters_stretch(l->codes, given->nbases, &begin);
                if (n == 0)
                        break;
                if (n < k)
                        continue;
                struct kc_roller roller = kc_roller(a->k, a->stranded);
                kc_roll_begin(&roller, l->codes + begin);
                kc_roll(&roller, n - k + 1, l->kmers + l->n * a->nwords);
                l->n += n - k + 1;
                KC_TRY(add_stretch(l, sequence, begin, n - k + 1, err));
        }
        sequence->ncounts = l->n - before;
out:
        return status;
}

/* ---- looking up ---- */

static void free_looked_up(struct looked_up *block)
{
        if (block == NULL)
                return;
        free(block->counts);
        free(block->stretches);
        free(block->sequences);
        free(block);
}

static struct looked_up *make_block(size_t nsequences)
{
        struct looked_up *block = calloc(1, sizeof *block);
        if (block == NULL)
                return NULL;
        block->nsequences = nsequences;
        block->sequences = malloc((nsequences + 1) * sizeof *block->sequences);
        if (block->sequences != NULL)
                return block;
        free(block);
        return NULL;
}

/* Fill the block with what the thread has gathered, and look its k-mers up. */
static enum kc_status fill_block(struct thread_lookups *l, struct looked_up *block,
                                 struct kc_error *err)
{
        const size_t stretches_nbytes = l->nstretches * sizeof *l->stretches;
        block->counts = malloc((l->n + 1) * sizeof *block->counts);
        block->stretches = malloc(stretches_nbytes + 1);
        if (block->counts == NULL || block->stretches == NULL)
                return no_memory(err);
        if (stretches_nbytes > 0)
                memcpy(block->stretches, l->stretches, stretches_nbytes);
        block->nbytes = sizeof *block + block->nsequences * sizeof *block->sequences +
                        l->n * sizeof *block->counts + stretches_nbytes;
        return kc_lookup_counts(l->lookup, l->kmers, l->n, block->counts, err);
}

static enum kc_status add(void *ctx, int thread, const struct kc_ask_sequence *sequences, size_t n,
                          bool *full, struct kc_error *err)
{
        struct lookup_asker *a = ctx;
        struct thread_lookups *l = &a->threads[thread];
        struct looked_up *block = make_block(n);
        size_t most = 0;
        enum kc_status status;
        if (block == NULL)
                return no_memory(err);
        for (size_t i = 0; i < n; i++)
                if (sequences[i].nbases >= (uint32_t)a->k)
                        most += sequences[i].nbases - (uint32_t)a->k + 1;
        KC_TRY(reserve_kmers(l, a->nwords, most, err));
        l->n = l->nstretches = 0;
        for (size_t i = 0; i < n; i++)
                KC_TRY(take_apart(a, l, &sequences[i], &block->sequences[i], err));
        KC_TRY(fill_block(l, block, err));
        if (atomic_fetch_add(&a->nbytes, block->nbytes) + block->nbytes >= a->setup.memory_nbytes)
                *full = true;
        *l->end = block;
        l->end = &block->next;
        block = NULL;
out:
        free_looked_up(block);
        return status;
}

/* All has been looked up already. */
static enum kc_status answer(void *ctx, struct kc_error *err)
{
        (void)ctx;
        (void)err;
        return KC_OK;
}

static enum kc_status take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                           struct kc_error *err)
{
        struct lookup_asker *a = ctx;
        struct thread_lookups *l = &a->threads[thread];
        struct looked_up *block = l->first;
        (void)err;
        free_looked_up(l->taken);
        l->taken = block;
        l->first = block->next;
        if (l->first == NULL)
                l->end = &l->first;
        atomic_fetch_sub(&a->nbytes, block->nbytes);
        const uint32_t *counts = block->counts;
        const struct kc_ask_stretch *stretches = block->stretches;
        for (size_t i = 0; i < n; i++) {
                const struct looked_up_sequence *sequence = &block->sequences[i];
                answers[i] = (struct kc_ask_answer){ .counts = counts,
                                                     .stretches = stretches,
                                                     .nstretches = sequence->nstretches };
                kc_ask_summarize(&answers[i].summary, a->k, &a->setup, sequence->nbases, counts,
                                 stretches, sequence->nstretches);
                counts += sequence->ncounts;
                stretches += sequence->nstretches;
        }
        return KC_OK;
}

/* ---- opening and closing ---- */

static void close_thread(struct thread_lookups *l)
{
        while (l->first != NULL) {
                struct looked_up *next = l->first->next;
                free_looked_up(l->first);
                l->first = next;
        }
        free_looked_up(l->taken);
        kc_lookup_close(l->lookup);
        free(l->codes);
        free(l->kmers);
        free(l->stretches);
}

static void close_asker(void *ctx)
{
        struct lookup_asker *a = ctx;
        for (int i = 0; a->threads != NULL && i < a->setup.nthreads; i++)
                close_thread(&a->threads[i]);
        free(a->threads);
        free(a);
}

enum kc_status kc_lookup_asker_open(struct kc_asker *asker, struct kc_store *store,
                                    const struct kc_ask_setup *setup, struct kc_error *err)
{
        struct kc_store_info info;
        struct lookup_asker *a = calloc(1, sizeof *a);
        enum kc_status status = KC_OK;
        if (a == NULL)
                return no_memory(err);
        kc_store_get_info(store, &info);
        a->setup = *setup;
        a->k = info.k;
        a->nwords = (size_t)kc_kmer_nwords(info.k);
        a->stranded = info.stranded;
        a->threads = calloc((size_t)setup->nthreads, sizeof *a->threads);
        if (a->threads == NULL)
                KC_TRY(no_memory(err));
        for (int i = 0; i < setup->nthreads; i++) {
                a->threads[i].end = &a->threads[i].first;
                KC_TRY(kc_lookup_open(&a->threads[i].lookup, store, err));
        }
        *asker = (struct kc_asker){
                .ctx = a, .add = add, .answer = answer, .take = take, .close = close_asker
        };
        a = NULL;
out:
        if (a != NULL)
                close_asker(a);
        return status;
}
