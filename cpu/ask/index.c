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

void kc_ask_index_find(const struct kc_ask_index *index, const uint64_t *kmers, size_t n,
                       uint32_t *counts)
{
        if (index->has_directory)
                kc_ask_directory_find(&index->directory, kmers, n, counts);
        else
                kc_ask_buckets_find(&index->buckets, kmers, n, counts);
}
