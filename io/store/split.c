/*
 * Cut the key space into ranges of similar size, with bounds picked from the k-mers in the index.
 */
#include "io/store/file.h"
#include "io/store/words.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_PER_PART = 8 }; /* so that parts differ by about an eighth */

static int compare_samples(const void *a, const void *b, void *nwords)
{
        return kc_kmer_compare(a, b, *(const int *)nwords);
}

/* What is to be cut: [from, to]; NULL: no bound. */
struct split_range {
        const uint64_t *from, *to;
        int nwords;
};

/* Whether a page may hold k-mers of the range. */
static bool holds_some(const struct split_range *range, const struct kc_run *run, uint64_t p)
{
        const uint64_t *first = run->page_firsts + p * (size_t)range->nwords;
        const uint64_t *next = p + 1 < run->npages ? first + range->nwords : NULL;
        const bool begins =
                range->to == NULL || kc_kmer_compare(first, range->to, range->nwords) <= 0;
        const bool ends = range->from != NULL && next != NULL &&
                          kc_kmer_compare(next, range->from, range->nwords) <= 0;
        return begins && !ends;
}

/* Collect the first k-mer of page p, or of every block_step-th block of it. page: a buffer. */
static enum kc_status collect_page(const struct kc_store *store, const struct kc_run *run,
                                   uint64_t p, uint64_t block_step, struct kc_page *page,
                                   struct kc_words *samples, struct kc_error *err)
{
        enum kc_status status;
        const size_t nw = (size_t)store->nwords, key_nbytes = nw * sizeof(uint64_t);
        if (block_step == 0)
                return kc_words_append(samples, run->page_firsts + p * nw, key_nbytes, err);
        KC_TRY(kc_page_load(page, store, run, p, err));
        for (size_t i = 0; i < page->n; i += block_step)
                KC_TRY(kc_words_append(samples, page->firsts + i * nw, key_nbytes, err));
out:
        return status;
}

/* Collect from all pages of the range. */
static enum kc_status collect(const struct kc_store *store, const struct split_range *range,
                              uint64_t block_step, struct kc_words *samples, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_page page = { 0 };
        for (uint32_t r = 0; r < store->nruns; r++) {
                const struct kc_run *run = &store->runs[r];
                page.n = 0; /* it is of another run */
                for (uint64_t p = 0; p < run->npages; p++)
                        if (holds_some(range, run, p))
                                KC_TRY(collect_page(store, run, p, block_step, &page, samples,
                                                    err));
        }
out:
        free(page.words);
        return status;
}

/* 0: there are enough pages. */
static uint64_t choose_block_step(struct kc_store *const *stores, size_t nstores, size_t nparts)
{
        uint64_t npages = 0, nblocks = 0;
        for (size_t i = 0; i < nstores; i++)
                for (uint32_t r = 0; r < stores[i]->nruns; r++) {
                        npages += stores[i]->runs[r].npages;
                        nblocks += stores[i]->runs[r].nblocks;
                }
        if (npages / SAMPLES_PER_PART >= nparts)
                return 0;
        uint64_t step = nblocks / SAMPLES_PER_PART / nparts;
        return step > 0 ? step : 1;
}

/* Pick bounds from ascending samples, one where each part but the first begins. */
static size_t pick_bounds(const struct kc_words *samples, const struct split_range *range,
                          size_t nparts, uint64_t *out)
{
        const size_t nw = (size_t)range->nwords, n = samples->n / nw;
        const uint64_t *last = samples->data; /* a bound at the smallest k-mer would split
                                                 nothing */
        size_t nout = 0;
        if (n > 0 && range->from != NULL && kc_kmer_compare(range->from, last, range->nwords) > 0)
                last = range->from;
        for (size_t p = 1; p < nparts && n > 0; p++) {
                const uint64_t *kmer = samples->data + (size_t)((double)p / nparts * n) * nw;
                if (range->to != NULL && kc_kmer_compare(kmer, range->to, range->nwords) > 0)
                        break;
                if (kc_kmer_compare(kmer, last, range->nwords) <= 0)
                        continue; /* fewer samples than parts */
                memcpy(out + nout * nw, kmer, nw * sizeof *out);
                last = out + nout++ * nw;
        }
        return nout;
}

enum kc_status kc_stores_split(struct kc_store *const *stores, size_t nstores, const uint64_t *from,
                               const uint64_t *to, size_t nparts, uint64_t **bounds,
                               size_t *nbounds, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_words samples = { 0 };
        struct split_range range = { from, to, stores[0]->nwords };
        const size_t nw = (size_t)range.nwords, key_nbytes = nw * sizeof(uint64_t);
        const uint64_t block_step = choose_block_step(stores, nstores, nparts);
        uint64_t *out = malloc((nparts + 1) * key_nbytes);
        if (out == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu parts", nparts);
        for (size_t i = 0; i < nstores; i++)
                KC_TRY(collect(stores[i], &range, block_step, &samples, err));
        if (samples.n > 0)
                qsort_r(samples.data, samples.n / nw, key_nbytes, compare_samples, &range.nwords);
        if (from != NULL || to != NULL) { /* the samples may be few of those of all nparts parts */
                const size_t most = samples.n / nw / SAMPLES_PER_PART + 1;
                nparts = nparts < most ? nparts : most;
        }
        *nbounds = pick_bounds(&samples, &range, nparts, out);
        *bounds = out;
        out = NULL;
out:
        free(out);
        free(samples.data);
        return status;
}

enum kc_status kc_store_split(struct kc_store *store, const uint64_t *from, const uint64_t *to,
                              size_t nparts, uint64_t **bounds, size_t *nbounds,
                              struct kc_error *err)
{
        return kc_stores_split(&store, 1, from, to, nparts, bounds, nbounds, err);
}
