/*
 * Point queries. They search the top index, which is in memory, then an index page, then a block,
 * which is not decoded.
 */
#include "io/store/file.h"

#include <stdlib.h>
#include <string.h>

enum {
        NPAGES = 1024,        /* index pages kept per run: page p at p % NPAGES */
        TABLE_FRACTION = 800, /* looking up 1/800 of the k-mers takes as long as reading all */
        MIN_TABLE_NKMERS = 1 << 15, /* up to this many are always looked up */
};

struct run_lookup {
        struct kc_page pages[NPAGES];
        uint64_t *words; /* the block read last */
        size_t nwords;   /* including its checksum; 0: no block has been read */
        uint64_t block;
};

struct kc_lookup {
        const struct kc_store *store;
        struct run_lookup *runs;
        size_t *order; /* [order_cap] the order of k-mers that are looked up together */
        size_t order_cap;
};

enum kc_status kc_lookup_open(struct kc_lookup **lookup, struct kc_store *store,
                              struct kc_error *err)
{
        const size_t cap = kc_block_max_words(store->nwords) + 1 + KC_BLOCK_PADDING;
        struct kc_lookup *l = calloc(1, sizeof *l);
        if (l != NULL) {
                l->store = store;
                l->runs = calloc(store->nruns, sizeof *l->runs);
        }
        bool complete = l != NULL && l->runs != NULL;
        for (uint32_t r = 0; complete && r < store->nruns; r++)
                complete = (l->runs[r].words = malloc(cap * sizeof(uint64_t))) != NULL;
        if (complete) {
                *lookup = l;
                return KC_OK;
        }
        kc_lookup_close(l);
        return kc_fail(err, KC_ENOMEM, "out of memory for looking into %s", store->path);
}

void kc_lookup_close(struct kc_lookup *lookup)
{
        if (lookup == NULL)
                return;
        for (uint32_t r = 0; lookup->runs != NULL && r < lookup->store->nruns; r++) {
                for (int p = 0; p < NPAGES; p++)
                        free(lookup->runs[r].pages[p].words);
                free(lookup->runs[r].words);
        }
        free(lookup->runs);
        free(lookup->order);
        free(lookup);
}

static enum kc_status load_block(struct run_lookup *l, const struct kc_store *store,
                                 const struct kc_page *page, size_t i, struct kc_error *err)
{
        uint64_t block = page->number * KC_PAGE_NBLOCKS + i;
        if (l->nwords > 0 && l->block == block)
                return KC_OK;
        l->nwords = 0;
        const struct kc_block_place place = kc_page_place(page, i);
        enum kc_status status;
        KC_TRY(kc_store_pread(store, l->words, place.nwords * sizeof *l->words, place.offset, err));
        KC_TRY(kc_block_verify(store, l->words, &place, err));
        l->block = block;
        l->nwords = place.nwords;
out:
        return status;
}

static enum kc_status look_into_run(struct run_lookup *l, const struct kc_store *store,
                                    const struct kc_run *run, const uint64_t *kmer, uint32_t *count,
                                    struct kc_error *err)
{
        const int nw = store->nwords;
        enum kc_status status = KC_OK;
        *count = 0;
        if (run->nblocks == 0 || kc_kmer_compare(kmer, run->page_firsts, nw) < 0)
                return KC_OK;
        uint64_t number = kc_kmer_search(run->page_firsts, run->npages, kmer, nw);
        struct kc_page *page = &l->pages[number % NPAGES];
        KC_TRY(kc_page_load(page, store, run, number, err));
        size_t i = kc_kmer_search(page->firsts, page->n, kmer, nw);
        KC_TRY(load_block(l, store, page, i, err));
        if (!kc_block_find(l->words, l->nwords - 1, page->firsts + i * (size_t)nw, nw,
                           kc_run_block_nkmers(run, l->block), kmer, count))
                status = kc_block_damaged(store, page->offsets[i], "is not laid out like one", err);
out:
        return status;
}

enum kc_status kc_lookup_count(struct kc_lookup *lookup, const uint64_t *kmer, uint32_t *count,
                               struct kc_error *err)
{
        const struct kc_store *store = lookup->store;
        uint64_t sum = 0;
        /* the newest run first: a tombstone hides all earlier runs */
        for (uint32_t r = store->nruns; r-- > 0;) {
                uint32_t n;
                enum kc_status status =
                        look_into_run(&lookup->runs[r], store, &store->runs[r], kmer, &n, err);
                if (status != KC_OK)
                        return status;
                if (store->runs[r].kind == KC_RUN_COUNTS)
                        sum += n;
                else if (n > 0)
                        break;
        }
        *count = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
        return KC_OK;
}

/* ---- many k-mers ---- */

struct comparison {
        const uint64_t *kmers;
        int nwords;
};

static int compare_kmers(const void *a, const void *b, void *ctx)
{
        const struct comparison *c = ctx;
        const size_t nw = (size_t)c->nwords;
        return kc_kmer_compare(c->kmers + *(const size_t *)a * nw,
                               c->kmers + *(const size_t *)b * nw, c->nwords);
}

static enum kc_status sort(struct kc_lookup *l, struct comparison *comparison, size_t n,
                           struct kc_error *err)
{
        if (n > l->order_cap) {
                free(l->order);
                l->order = malloc(n * sizeof *l->order);
                l->order_cap = l->order != NULL ? n : 0;
        }
        if (l->order_cap < n)
                return kc_fail(err, KC_ENOMEM, "out of memory for looking up %zu k-mers", n);
        for (size_t i = 0; i < n; i++)
                l->order[i] = i;
        if (n > 1)
                qsort_r(l->order, n, sizeof *l->order, compare_kmers, comparison);
        return KC_OK;
}

enum kc_status kc_lookup_counts(struct kc_lookup *l, const uint64_t *kmers, size_t n,
                                uint32_t *counts, struct kc_error *err)
{
        struct comparison comparison = { kmers, l->store->nwords };
        enum kc_status status;
        KC_TRY(sort(l, &comparison, n, err));
        for (size_t i = 0; i < n; i++) {
                const size_t at = l->order[i];
                if (i > 0 && compare_kmers(&l->order[i - 1], &l->order[i], &comparison) == 0)
                        counts[at] = counts[l->order[i - 1]];
                else
                        KC_TRY(kc_lookup_count(l, kmers + at * (size_t)l->store->nwords,
                                               &counts[at], err));
        }
out:
        return status;
}

uint64_t kc_lookup_few(const struct kc_store_info *info)
{
        const uint64_t few = info->ndistinct / TABLE_FRACTION;
        return few > MIN_TABLE_NKMERS ? few : MIN_TABLE_NKMERS;
}
