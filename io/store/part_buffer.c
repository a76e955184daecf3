#include "io/store/part_buffer.h"

#include "io/store/parts.h"

#include <stdlib.h>
#include <string.h>

static size_t max_npairs(int nwords)
{
        return kc_part_nkmers(nwords) / 4 * 5;
}

enum kc_status kc_part_buffer_init(struct kc_part_buffer *b, int nwords, struct kc_error *err)
{
        b->nwords = (size_t)nwords;
        b->cap = max_npairs(nwords);
        b->kmers = malloc(b->cap * b->nwords * sizeof *b->kmers);
        b->counts = malloc(b->cap * sizeof *b->counts);
        if (b->kmers == NULL || b->counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for merging files");
        return KC_OK;
}

void kc_part_buffer_free(struct kc_part_buffer *b)
{
        free(b->kmers);
        free(b->counts);
}

size_t kc_part_buffer_nbytes(int nwords)
{
        return max_npairs(nwords) * ((size_t)nwords * sizeof(uint64_t) + sizeof(uint32_t));
}

static enum kc_status flush(struct kc_part_buffer *b, const struct kc_run_sink *sink, uint64_t part,
                            bool last, struct kc_error *err)
{
        struct kc_run_pairs pairs = {
                .part = part, .last = last, .kmers = b->kmers, .counts = b->counts
        };
        pairs.n = kc_run_filter_pairs(&sink->filter, b->kmers, b->counts, b->n, (int)b->nwords,
                                      &pairs.dropped);
        b->n = 0;
        return sink->put(sink->ctx, &pairs, err);
}

enum kc_status kc_part_buffer_add(struct kc_part_buffer *b, const struct kc_run_sink *sink,
                                  uint64_t part, const uint64_t *kmers, const uint32_t *counts,
                                  size_t n, struct kc_error *err)
{
        if (b->n + n > b->cap) {
                const enum kc_status status = flush(b, sink, part, false, err);
                if (status != KC_OK)
                        return status;
        }
        memcpy(b->kmers + b->n * b->nwords, kmers, n * b->nwords * sizeof *kmers);
        memcpy(b->counts + b->n, counts, n * sizeof *counts);
        b->n += n;
        return KC_OK;
}

enum kc_status kc_part_buffer_end(struct kc_part_buffer *b, const struct kc_run_sink *sink,
                                  uint64_t part, struct kc_error *err)
{
        return flush(b, sink, part, true, err);
}
