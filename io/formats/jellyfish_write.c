/*
 * Jellyfish's binary/sorted: a header in JSON, then records: the k-mer, 4 bases a byte, little
 * endian; the count.
 *
 * Jellyfish sorts by a hash, the product of a binary matrix and the k-mer, then by k-mer. The
 * header declares the matrix. Here the matrix selects the leading bits of a k-mer (all of them, if
 * they fit into the size of a hash table), so that the order of the hash is alphabetical order.
 *
 * Jellyfish does not record how many records there are. A member of our own does; it comes first,
 * and its number is padded with blanks, so that it can be filled in at the end.
 */
#include "io/formats/export_internal.h"
#include "io/formats/jellyfish_header.h"
#include "io/formats/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
        COUNT_NBYTES = 4,
        MAX_HASH_NBITS = 62, /* of the size of a hash table */
        LENGTH_NDIGITS = 9,
        ALIGNMENT = 8,
        NRECORDS_NDIGITS = 20, /* of UINT64_MAX */
};

#define HEADER_BEGIN "{\"" KC_JELLYFISH_NRECORDS "\":"

static void print_matrix(FILE *text, int nrows, int ncolumns)
{
        fprintf(text, "\"matrix1\":{\"c\":%d,\"r\":%d,\"identity\":%s,\"columns\":[", ncolumns,
                nrows, nrows == ncolumns ? "true" : "false");
        for (int i = 0; i < ncolumns; i++)
                fprintf(text, "%s%" PRIu64, i > 0 ? "," : "",
                        i < nrows ? UINT64_C(1) << (nrows - 1 - i) : 0);
        fprintf(text, "]}");
}

/* Jellyfish reads all these fields, but uses reprobes only to compare the files that it merges. */
static void print_header(FILE *text, const struct kc_export_options *options)
{
        const int nbits = 2 * options->k;
        const int nrows = nbits < MAX_HASH_NBITS ? nbits : MAX_HASH_NBITS;
        fprintf(text,
                HEADER_BEGIN
                "%*s,\"alignment\":%d,\"canonical\":%s,\"counter_len\":%d,"
                "\"format\":\"binary/sorted\",\"key_len\":%d,\"max_reprobe\":0,\"reprobes\":[1],"
                "\"size\":%" PRIu64 ",\"val_len\":32,",
                NRECORDS_NDIGITS, "", ALIGNMENT, options->stranded ? "false" : "true", COUNT_NBYTES,
                nbits, UINT64_C(1) << nrows);
        print_matrix(text, nrows, nbits);
        fprintf(text, "}");
}

static enum kc_status begin(struct kc_export *writer, struct kc_error *err)
{
        char *text = NULL, length[LENGTH_NDIGITS + 1];
        size_t nbytes = 0;
        const char padding[ALIGNMENT] = { 0 };
        FILE *stream = open_memstream(&text, &nbytes);
        if (stream == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", writer->path);
        print_header(stream, &writer->options);
        bool complete = fclose(stream) == 0;
        writer->record_nbytes = kc_export_kmer_nbytes(writer) + COUNT_NBYTES;
        size_t rest = (LENGTH_NDIGITS + nbytes) % ALIGNMENT;
        size_t npadding = rest > 0 ? ALIGNMENT - rest : 0;
        enum kc_status status = KC_OK;
        if (!complete) {
                status = kc_fail(err, KC_ENOMEM, "out of memory for writing %s", writer->path);
                goto out;
        }
        snprintf(length, sizeof length, "%0*u", LENGTH_NDIGITS, (unsigned)(nbytes + npadding));
        KC_TRY(kc_export_out_write(&writer->outs[0], length, LENGTH_NDIGITS, err));
        KC_TRY(kc_export_out_write(&writer->outs[0], text, nbytes, err));
        KC_TRY(kc_export_out_write(&writer->outs[0], padding, npadding, err));
out:
        free(text);
        return status;
}

static enum kc_status end(struct kc_export *writer, struct kc_error *err)
{
        char number[NRECORDS_NDIGITS + 1];
        const int n = snprintf(number, sizeof number, "%" PRIu64, writer->written.nkmers);
        return kc_export_out_patch(&writer->outs[0], number, (size_t)n,
                                   LENGTH_NDIGITS + sizeof HEADER_BEGIN - 1, err);
}

/* A batch may also end with fewer bytes than a word: KC_EXPORT_SLACK. */
static char *pack_kmer(char *to, const uint64_t *kmer, size_t nbytes)
{
        for (size_t at = 0; at < nbytes; at += sizeof *kmer)
                kc_pack_u64(to + at, kmer[at / sizeof *kmer]);
        return to + nbytes;
}

static char *encode(const struct kc_export *writer, const uint64_t *kmers, const uint32_t *counts,
                    size_t n, char *to)
{
        const size_t nwords = writer->nwords, nbytes = kc_export_kmer_nbytes(writer);
        for (size_t i = 0; i < n; i++) {
                to = pack_kmer(to, kmers + i * nwords, nbytes);
                to = kc_pack_u32(to, counts[i]);
        }
        return to;
}

const struct kc_export_format kc_export_jellyfish = {
        .count_limit = UINT32_MAX,
        .batch_nkmers = KC_EXPORT_BATCH_NKMERS,
        .begin = begin,
        .encode = encode,
        .end = end,
};
