/*
 * Lines of text: a k-mer, a tab, its count.
 */
#include "io/formats/export_internal.h"
#include "kmer/text.h"

static size_t batch_nbytes(const struct kc_export *writer, size_t n)
{
        return n * kc_kmer_text_line_nbytes(writer->options.k);
}

static char *encode(const struct kc_export *writer, const uint64_t *kmers, const uint32_t *counts,
                    size_t n, char *to)
{
        const struct kc_kmer_text lines = { .k = writer->options.k, .max_count = UINT32_MAX };
        return kc_kmer_text_lines(&lines, kmers, counts, n, to);
}

const struct kc_export_format kc_export_tsv = {
        .count_limit = UINT32_MAX,
        .batch_nkmers = KC_EXPORT_BATCH_NKMERS,
        .batch_nbytes = batch_nbytes,
        .encode = encode,
};
