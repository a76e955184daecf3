#include "io/formats/prefix.h"

/* A prefix has less than 64 bits. */
static uint64_t prefix_of(const struct kc_prefix_table *table, const uint64_t *kmer)
{
        if (table->shift < 0)
                return kmer[0] << -table->shift;
        size_t word = (size_t)table->shift / 64;
        int bit = table->shift % 64;
        if (word >= table->nwords)
                return 0;
        uint64_t prefix = kmer[word] >> bit;
        if (bit > 0 && word + 1 < table->nwords)
                prefix |= kmer[word + 1] << (64 - bit);
        return prefix;
}

/* Write the numbers of all prefixes below `prefix`. */
static enum kc_status advance(struct kc_prefix_table *table, uint64_t prefix, uint64_t nkmers,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (; table->next < prefix && table->next < table->end; table->next++)
                KC_TRY(kc_export_out_write(table->out, &nkmers, sizeof nkmers, err));
out:
        return status;
}

enum kc_status kc_prefix_note(struct kc_export *writer, const uint64_t *kmers, size_t n,
                              struct kc_error *err)
{
        struct kc_prefix_table *table = writer->state;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < n; i++) {
                uint64_t prefix = prefix_of(table, kmers + i * table->nwords);
                if (prefix > table->next)
                        KC_TRY(advance(table, prefix, table->nkmers + i, err));
        }
        table->nkmers += n;
out:
        return status;
}

enum kc_status kc_prefix_end(struct kc_prefix_table *table, struct kc_error *err)
{
        return advance(table, table->end, table->nkmers, err);
}
