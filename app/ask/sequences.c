#include "app/ask/sequences.h"

#include <stdlib.h>

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for sequences");
}

static enum kc_status reserve(struct asking_sequences *s, size_t n, struct kc_error *err)
{
        if (n <= s->cap)
                return KC_OK;
        free(s->items);
        s->items = malloc((n + n / 2) * sizeof *s->items);
        s->cap = s->items != NULL ? n + n / 2 : 0;
        return s->cap > 0 ? KC_OK : no_memory(err);
}

static enum kc_status reserve_compressed(struct asking_sequences *s, size_t n, struct kc_error *err)
{
        if (n <= s->compressed_cap)
                return KC_OK;
        free(s->compressed);
        s->compressed = malloc(n + n / 2);
        s->compressed_cap = s->compressed != NULL ? n + n / 2 : 0;
        return s->compressed_cap > 0 ? KC_OK : no_memory(err);
}

/* Compress the homopolymers of the items, which are set. */
static enum kc_status compress(struct asking_sequences *s, const struct asking_block *block, int k,
                               struct kc_error *err)
{
        const size_t n = asking_block_nsequences(block);
        size_t nletters = 0;
        enum kc_status status;
        for (size_t i = 0; i < n; i++)
                nletters += s->items[i].nbases;
        KC_TRY(reserve_compressed(s, nletters, err));
        char *to = s->compressed;
        for (size_t i = 0; i < n; i++) {
                const char *bytes;
                struct kc_seq_record record = *asking_block_record(block, i, &bytes);
                if (s->items[i].nbases == 0)
                        continue;
                kc_record_compress(&record, bytes, k - 1, to);
                s->items[i] = (struct kc_ask_sequence){ to, record.nbases };
                to += record.nbases;
        }
out:
        return status;
}

enum kc_status asking_sequences_set(struct asking_sequences *s, const struct asking_block *block,
                                    bool hpc, int k, struct kc_error *err)
{
        const size_t n = asking_block_nsequences(block);
        enum kc_status status;
        KC_TRY(reserve(s, n, err));
        for (size_t i = 0; i < n; i++) {
                const char *bytes;
                const struct kc_seq_record *record = asking_block_record(block, i, &bytes);
                s->items[i] = (struct kc_ask_sequence){ .bases = bytes + record->bases,
                                                        .nbases = asking_nbases(record) };
        }
        if (hpc)
                KC_TRY(compress(s, block, k, err));
out:
        return status;
}

void asking_sequences_free(struct asking_sequences *s)
{
        free(s->items);
        free(s->compressed);
}
