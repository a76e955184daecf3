/*
 * Cut the key space into ranges of like size: bounds picked from the k-mers that the index holds.
 */
#include "io/store_file.h"
#include "io/store_words.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_PER_PART = 8 }; /* enough of them that parts differ by an eighth or so */

static int compare_samples(const void *a, const void *b, void *nwords)
{
        return kc_kmer_compare(a, b, *(const int *)nwords);
}

/* First k-mers of all pages, or of all blocks where pages are too few. */
static enum kc_status collect(const struct kc_store *store, bool blocks, struct kc_words *samples,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_page page = { 0 };
        const size_t key_nbytes = (size_t)store->nwords * sizeof(uint64_t);
        for (uint32_t r = 0; r < store->nruns; r++) {
                const struct kc_run *run = &store->runs[r];
                if (!blocks)
                        KC_TRY(kc_words_append(samples, run->page_firsts, run->npages * key_nbytes,
                                               err));
                page.n = 0; /* of another run */
                for (uint64_t p = 0; blocks && p < run->npages; p++) {
                        KC_TRY(kc_page_load(&page, store, run, p, err));
                        KC_TRY(kc_words_append(samples, page.firsts, page.n * key_nbytes, err));
                }
        }
out:
        free(page.words);
        return status;
}

enum kc_status kc_store_split(struct kc_store *store, size_t nparts, uint64_t **bounds,
                              size_t *nbounds, struct kc_error *err)
{
        enum kc_status status;
        struct kc_words samples = { 0 };
        int nwords = store->nwords;
        const size_t nw = (size_t)nwords;
        uint64_t npages = 0;
        for (uint32_t r = 0; r < store->nruns; r++)
                npages += store->runs[r].npages;
        uint64_t *out = malloc((nparts + 1) * nw * sizeof *out);
        if (out == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu parts", nparts);
        KC_TRY(collect(store, npages / SAMPLES_PER_PART < nparts, &samples, err));
        size_t n = samples.n / nw, nout = 0;
        if (n > 0)
                qsort_r(samples.data, n, nw * sizeof *out, compare_samples, &nwords);
        const uint64_t *last = samples.data; /* a bound at the smallest k-mer parts nothing */
        for (size_t p = 1; p < nparts && n > 0; p++) {
                const uint64_t *kmer = samples.data + (size_t)((double)p / nparts * n) * nw;
                if (kc_kmer_compare(kmer, last, nwords) <= 0)
                        continue; /* fewer samples than parts */
                memcpy(out + nout * nw, kmer, nw * sizeof *out);
                last = out + nout++ * nw;
        }
        *bounds = out;
        *nbounds = nout;
        out = NULL;
out:
        free(out);
        free(samples.data);
        return status;
}
