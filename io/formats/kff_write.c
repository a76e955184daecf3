/*
 * KFF 1 (github.com/Kmer-File-Format/kff-reference), laid out as KMC writes it: one raw section of
 * single k-mers in order, and a footer that leads to an index of the sections. All numbers are big
 * endian.
 *
 *      "KFF" 1 0 encoding unique canonical free=0
 *      'v' k max data_size ordered
 *      'r' number of k-mers, then for each: its bases, right-aligned in whole bytes; its count
 *      'i' index of both and of the footer
 *      'v' the footer, "KFF"
 */
#include "io/formats/export_internal.h"
#include "io/formats/pack.h"

enum {
        ENCODING = 0x1b, /* A=0 C=1 G=2 T=3 */
        HEADER_NBYTES = 12,
        COUNT_NBYTES = 4,
        INDEX_NBYTES = 1 + 8 + 3 * (1 + 8) + 8,
        TEXT_NBYTES = 256, /* more than any part but the records takes */
};

static char *put_marker(char *to)
{
        return (char *)memcpy(to, "KFF", 3) + 3;
}

static char *put_variable(char *to, const char *name, uint64_t value)
{
        return kc_pack_big_u64(stpcpy(to, name) + 1, value);
}

static char *put_section(char *to, char type, uint64_t n)
{
        *to = type;
        return kc_pack_big_u64(to + 1, n);
}

static enum kc_status begin(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_export_options *options = &writer->options;
        const char header[] = { 1, 0, ENCODING, 1, options->stranded ? 0 : 1, 0, 0, 0, 0 };
        char text[TEXT_NBYTES], *to = put_marker(text);
        writer->record_nbytes = kc_export_kmer_nbytes(writer) + COUNT_NBYTES;
        to = (char *)memcpy(to, header, sizeof header) + sizeof header;
        to = put_section(to, 'v', 4);
        to = put_variable(to, "k", (uint64_t)options->k);
        to = put_variable(to, "max", 1);
        to = put_variable(to, "data_size", COUNT_NBYTES);
        to = put_variable(to, "ordered", 1);
        to = put_section(to, 'r', 0); /* the number is known in the end */
        KC_TRY(kc_export_out_write(&writer->outs[0], text, (size_t)(to - text), err));
out:
        return status;
}

static char *encode(const struct kc_export *writer, const uint64_t *kmers, const uint32_t *counts,
                    size_t n, char *to)
{
        const size_t nwords = writer->nwords, nbytes = kc_export_kmer_nbytes(writer);
        for (size_t i = 0; i < n; i++) {
                to = kc_pack_big_kmer(to, kmers + i * nwords, nbytes);
                to = kc_pack_big_u32(to, counts[i]);
        }
        return to;
}

/* The index gives the positions of sections as offsets from its own end. */
static char *put_index_entry(char *to, char type, uint64_t section, uint64_t index_end)
{
        *to = type;
        return kc_pack_big_u64(to + 1, section - index_end);
}

static char *put_footer(char *to, const struct kc_export_options *options, uint64_t index)
{
        char *const begin_of_footer = to;
        to = put_section(to, 'v', 5);
        to = put_variable(to, "first_index", index);
        to = put_variable(to, "min_count", options->min_count);
        to = put_variable(to, "max_count", options->max_count);
        to = put_variable(to, "counter_size", COUNT_NBYTES);
        const size_t nbytes = (size_t)(to - begin_of_footer) + sizeof "footer_size" + 8;
        to = put_variable(to, "footer_size", nbytes);
        return put_marker(to);
}

static enum kc_status end(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        struct kc_export_out *out = &writer->outs[0];
        const uint64_t index = out->nbytes, index_end = index + INDEX_NBYTES;
        const uint64_t section = index - writer->written.nkmers * writer->record_nbytes - 9;
        char text[TEXT_NBYTES + INDEX_NBYTES], *to = put_section(text, 'i', 3);
        to = put_index_entry(to, 'v', HEADER_NBYTES, index_end);
        to = put_index_entry(to, 'r', section, index_end);
        to = put_index_entry(to, 'v', index_end, index_end);
        to = kc_pack_big_u64(to, 0); /* there is no other index */
        to = put_footer(to, &writer->options, index);
        KC_TRY(kc_export_out_write(out, text, (size_t)(to - text), err));
        to = kc_pack_big_u64(text, writer->written.nkmers);
        KC_TRY(kc_export_out_patch(out, text, (size_t)(to - text), section + 1, err));
out:
        return status;
}

const struct kc_export_format kc_export_kff = {
        .count_limit = UINT32_MAX,
        .batch_nkmers = KC_EXPORT_BATCH_NKMERS,
        .begin = begin,
        .encode = encode,
        .end = end,
};
