/*
 * FastK's table and histogram (README of github.com/thegenemyers/FASTK, "File Encodings"). All
 * numbers are little endian.
 *
 *      DIR/BASE.ktab     k, number of parts, lowest count, bytes of a prefix; for each prefix, how
 *                        many k-mers have it or a lower one
 *      DIR/.BASE.ktab.1  the only part: k, number of k-mers, then for each: the bytes after the
 *                        prefix, 4 bases a byte, left-aligned; the count, in 16 bits
 *      DIR/BASE.hist     the histogram, whose last row stands for all higher counts as well
 *
 * As in FastK, the histogram shows the counts before filtering.
 */
#include "io/formats/export_internal.h"
#include "io/formats/pack.h"
#include "io/formats/prefix.h"

#include <stdio.h>
#include <stdlib.h>

enum {
        MAX_COUNT = 32767,
        COUNT_NBYTES = 2,
        MAX_PREFIX_NBYTES = 3,
        NPARTS = 1,
        PART = 0, /* in writer->outs */
        STUB = 1,
        HISTOGRAM = 2,
};

struct fastk_state {
        struct kc_prefix_table table; /* first, for kc_prefix_note */
        int kmer_nbytes, prefix_nbytes;
        uint64_t ninstances; /* sum of the counts of MAX_COUNT and above */
        uint64_t rows[MAX_COUNT + 1];
};

/* An index takes 8 bytes for each prefix, and each byte of prefix saves a byte of every k-mer. */
static int choose_prefix(int kmer_nbytes, uint64_t nkmers)
{
        int nbytes = 1;
        while (nbytes < MAX_PREFIX_NBYTES && nbytes < kmer_nbytes &&
               nkmers >= UINT64_C(8) << 8 * (nbytes + 1))
                nbytes++;
        return nbytes;
}

static struct fastk_state *make_state(struct kc_export *writer)
{
        struct fastk_state *state = calloc(1, sizeof *state);
        if (state == NULL)
                return NULL;
        const int k = writer->options.k;
        state->kmer_nbytes = (int)kc_export_kmer_nbytes(writer);
        state->prefix_nbytes = choose_prefix(state->kmer_nbytes, writer->options.nkmers);
        writer->record_nbytes = (size_t)(state->kmer_nbytes - state->prefix_nbytes) + COUNT_NBYTES;
        state->table = (struct kc_prefix_table){ .out = &writer->outs[STUB],
                                                 .nwords = writer->nwords,
                                                 .shift = 2 * k - 8 * state->prefix_nbytes,
                                                 .end = UINT64_C(1) << 8 * state->prefix_nbytes };
        return state;
}

static enum kc_status begin(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        if (writer->options.stranded)
                return kc_fail(err, KC_EUSAGE,
                               "a FastK table holds canonical k-mers, but these are stranded");
        struct fastk_state *state = writer->state = make_state(writer);
        if (state == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", writer->path);
        const uint32_t k = (uint32_t)writer->options.k;
        char stub[16], part[12] = { 0 };
        kc_pack_u32(kc_pack_u32(stub, k), NPARTS);
        kc_pack_u32(kc_pack_u32(stub + 8, writer->options.min_count),
                    (uint32_t)state->prefix_nbytes);
        kc_pack_u32(part, k); /* the number of k-mers is known in the end */
        KC_TRY(kc_export_out_write(&writer->outs[PART], part, sizeof part, err));
        KC_TRY(kc_export_out_write(&writer->outs[STUB], stub, sizeof stub, err));
out:
        return status;
}

/* Move the k-mer up, so that its bases begin at a byte's highest bit. */
static void align(const uint64_t *kmer, size_t nwords, int shift, uint64_t *out)
{
        for (size_t i = nwords - 1; i > 0; i--)
                out[i] = kmer[i] << shift | (shift > 0 ? kmer[i - 1] >> (64 - shift) : 0);
        out[0] = kmer[0] << shift;
}

static char *encode(const struct kc_export *writer, const uint64_t *kmers, const uint32_t *counts,
                    size_t n, char *to)
{
        const struct fastk_state *state = writer->state;
        const size_t nwords = writer->nwords;
        const size_t nbytes = writer->record_nbytes - COUNT_NBYTES;
        const int shift = 8 * state->kmer_nbytes - 2 * writer->options.k;
        for (size_t i = 0; i < n; i++) {
                uint64_t aligned[KC_MAX_WORDS];
                align(kmers + i * nwords, nwords, shift, aligned);
                to = kc_pack_big_kmer(to, aligned, nbytes);
                to = kc_pack_u16(to, (uint16_t)counts[i]);
        }
        return to;
}

static void tally(struct kc_export *writer, const uint32_t *counts, size_t n)
{
        struct fastk_state *state = writer->state;
        for (size_t i = 0; i < n; i++) {
                state->rows[counts[i] < MAX_COUNT ? counts[i] : MAX_COUNT]++;
                state->ninstances += counts[i] < MAX_COUNT ? 0 : counts[i];
        }
}

static enum kc_status write_histogram(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        const struct fastk_state *state = writer->state;
        char header[28], *to = kc_pack_u32(header, (uint32_t)writer->options.k);
        to = kc_pack_u32(kc_pack_u32(to, 1), MAX_COUNT);
        kc_pack_u64(kc_pack_u64(to, state->rows[1]), state->ninstances);
        KC_TRY(kc_export_out_write(&writer->outs[HISTOGRAM], header, sizeof header, err));
        KC_TRY(kc_export_out_write(&writer->outs[HISTOGRAM], state->rows + 1,
                                   MAX_COUNT * sizeof *state->rows, err));
out:
        return status;
}

static enum kc_status end(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        struct fastk_state *state = writer->state;
        const uint64_t nkmers = writer->written.nkmers;
        KC_TRY(kc_prefix_end(&state->table, err));
        KC_TRY(kc_export_out_patch(&writer->outs[PART], &nkmers, sizeof nkmers, 4, err));
        KC_TRY(write_histogram(writer, err));
out:
        return status;
}

const struct kc_export_format kc_export_fastk = {
        .count_limit = MAX_COUNT,
        .files = { [PART] = { ".", ".ktab.1" },
                   [STUB] = { "", ".ktab" },
                   [HISTOGRAM] = { "", ".hist" } },
        .batch_nkmers = KC_EXPORT_BATCH_NKMERS,
        .begin = begin,
        .encode = encode,
        .note = kc_prefix_note,
        .tally = tally,
        .end = end,
};
