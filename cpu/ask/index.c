#include "cpu/ask/index.h"

#include <stdlib.h>
#include <string.h>

void kc_ask_index_free(struct kc_ask_index *index)
{
        free(index->kmers);
        free(index->counts);
        free(index->directory.begins);
        kc_ask_buckets_free(&index->buckets);
}

static enum kc_status reserve(struct kc_ask_index *index, size_t n, struct kc_error *err)
{
        if (n <= index->cap)
                return KC_OK;
        const size_t cap = n + n / 4;
        uint64_t *kmers = realloc(index->kmers, cap * (size_t)index->nwords * sizeof *kmers);
        if (kmers != NULL)
                index->kmers = kmers;
        uint32_t *counts = realloc(index->counts, cap * sizeof *counts);
        if (counts != NULL)
                index->counts = counts;
        if (kmers == NULL || counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu k-mers of the table", cap);
        index->cap = cap;
        return KC_OK;
}

enum kc_status kc_ask_index_add(struct kc_ask_index *index, const uint64_t *kmers,
                                const uint32_t *counts, size_t n, struct kc_error *err)
{
        const size_t nw = (size_t)index->nwords;
        enum kc_status status = reserve(index, index->n + n + KC_ASK_DIRECTORY_SPARE, err);
        if (status != KC_OK)
                return status;
        memcpy(index->kmers + index->n * nw, kmers, n * nw * sizeof *kmers);
        memcpy(index->counts + index->n, counts, n * sizeof *counts);
        index->n += n;
        return KC_OK;
}

enum kc_status kc_ask_index_end(struct kc_ask_index *index, const uint64_t *from,
                                const uint64_t *to, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        index->has_directory = false;
        if (index->nwords == 1 && index->n > 0)
                KC_TRY(kc_ask_directory_make(&index->directory, index->kmers, index->counts,
                                             index->n, from[0], to[0], &index->has_directory, err));
        if (!index->has_directory)
                KC_TRY(kc_ask_buckets_fill(&index->buckets, index->kmers, index->counts, index->n,
                                           index->nwords, err));
out:
        return status;
}

/* Shrink an array. If that fails, it stays as it is. */
static void *shrink(void *array, size_t nbytes)
{
        void *moved = realloc(array, nbytes);
        return moved != NULL ? moved : array;
}

void kc_ask_index_trim(struct kc_ask_index *index)
{
        if (index->has_directory) {
                index->cap = index->n + KC_ASK_DIRECTORY_SPARE;
                index->kmers = shrink(index->kmers, index->cap * sizeof *index->kmers);
                index->counts = shrink(index->counts, index->cap * sizeof *index->counts);
                index->directory.kmers = index->kmers;
                index->directory.counts = index->counts;
        } else { /* the buckets have copies */
                free(index->kmers);
                free(index->counts);
                index->kmers = NULL;
                index->counts = NULL;
                index->cap = 0;
        }
}

void kc_ask_index_prefetch(const struct kc_ask_index *index, const uint64_t *kmer)
{
        if (index->has_directory)
                kc_ask_directory_prefetch(&index->directory, kmer[0]);
        else
                kc_ask_buckets_prefetch(&index->buckets, kmer);
}

void kc_ask_index_prefetch_kmers(const struct kc_ask_index *index, const uint64_t *kmer)
{
        if (index->has_directory)
                kc_ask_directory_prefetch_kmers(&index->directory, kmer[0]);
}

void kc_ask_index_find(const struct kc_ask_index *index, const uint64_t *kmers, size_t n,
                       uint32_t *counts)
{
        if (index->has_directory)
                kc_ask_directory_find(&index->directory, kmers, n, counts);
        else
                kc_ask_buckets_find(&index->buckets, kmers, n, counts);
}
