/*
 * KMC's sorted database, the layout of its first version: NAME.kmc_pre and NAME.kmc_suf. All
 * numbers are little endian.
 *
 *      .kmc_pre  "KMCP", a number for each prefix, the header, its size, "KMCP"
 *      .kmc_suf  "KMCS", records: the bases after the prefix, 4 a byte; the count; "KMCS"
 *
 * The number of a prefix is the number of k-mers with lower prefixes. The prefix length is chosen
 * so that the bases after the prefix fill whole bytes.
 */
#include "io/formats/export_internal.h"
#include "io/formats/pack.h"
#include "io/formats/prefix.h"

#include <stdio.h>
#include <stdlib.h>

enum {
        HEADER_NBYTES = 64,
        COUNT_NBYTES = 4,
        MAX_PREFIX = 15, /* bases */
        SUFFIXES = 0,    /* in writer->outs */
        PREFIXES = 1,
};

struct kmc_state {
        struct kc_prefix_table table; /* first, for kc_prefix_note */
        int prefix_nbases;
};

/* The prefix length with which both files are smallest. */
static int choose_prefix(int k, uint64_t nkmers)
{
        int best = 0;
        double best_nbytes = 0;
        for (int p = 1; p <= MAX_PREFIX && p <= k; p++) {
                double nbytes = 8.0 * (double)(UINT64_C(1) << 2 * p) + (double)nkmers * (k - p) / 4;
                if ((k - p) % 4 == 0 && (best == 0 || nbytes < best_nbytes)) {
                        best = p;
                        best_nbytes = nbytes;
                }
        }
        return best;
}

static enum kc_status begin(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        struct kmc_state *state = writer->state = calloc(1, sizeof *state);
        if (state == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for writing %s", writer->path);
        const uint64_t none = 0;
        const int k = writer->options.k, p = choose_prefix(k, writer->options.nkmers);
        state->prefix_nbases = p;
        writer->record_nbytes = (size_t)(k - p) / 4 + COUNT_NBYTES;
        state->table = (struct kc_prefix_table){ .out = &writer->outs[PREFIXES],
                                                 .nwords = writer->nwords,
                                                 .shift = 2 * (k - p),
                                                 .end = (UINT64_C(1) << 2 * p) - 1 };
        KC_TRY(kc_export_out_write(&writer->outs[SUFFIXES], "KMCS", 4, err));
        KC_TRY(kc_export_out_write(&writer->outs[PREFIXES], "KMCP", 4, err));
        KC_TRY(kc_export_out_write(&writer->outs[PREFIXES], &none, sizeof none, err));
out:
        return status;
}

static char *encode(const struct kc_export *writer, const uint64_t *kmers, const uint32_t *counts,
                    size_t n, char *to)
{
        const size_t nwords = writer->nwords, nbytes = writer->record_nbytes - COUNT_NBYTES;
        for (size_t i = 0; i < n; i++) {
                to = kc_pack_big_kmer(to, kmers + i * nwords, nbytes);
                to = kc_pack_u32(to, counts[i]);
        }
        return to;
}

static char *put_header(const struct kc_export *writer, char *to)
{
        const struct kmc_state *state = writer->state;
        const struct kc_export_options *options = &writer->options;
        memset(to, 0, HEADER_NBYTES); /* also the mode: integer counts */
        kc_pack_u32(to, (uint32_t)options->k);
        kc_pack_u32(to + 8, COUNT_NBYTES);
        kc_pack_u32(to + 12, (uint32_t)state->prefix_nbases);
        kc_pack_u32(to + 16, options->min_count);
        kc_pack_u32(to + 20, options->max_count);
        kc_pack_u64(to + 24, writer->written.nkmers);
        to[32] = options->stranded ? 1 : 0;
        return to + HEADER_NBYTES;
}

static enum kc_status end(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        struct kmc_state *state = writer->state;
        char text[HEADER_NBYTES + 8], *to = put_header(writer, text);
        to = kc_pack_u32(to, HEADER_NBYTES);
        memcpy(to, "KMCP", 4);
        KC_TRY(kc_prefix_end(&state->table, err));
        KC_TRY(kc_export_out_write(&writer->outs[PREFIXES], text, sizeof text, err));
        KC_TRY(kc_export_out_write(&writer->outs[SUFFIXES], "KMCS", 4, err));
out:
        return status;
}

const struct kc_export_format kc_export_kmc = {
        .count_limit = UINT32_MAX,
        .files = { [SUFFIXES] = { "", ".kmc_suf" }, [PREFIXES] = { "", ".kmc_pre" } },
        .batch_nkmers = KC_EXPORT_BATCH_NKMERS,
        .begin = begin,
        .encode = encode,
        .note = kc_prefix_note,
        .end = end,
};
