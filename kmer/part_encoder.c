#include "kmer/part_encoder.h"

#include <stdlib.h>
#include <string.h>

struct kc_part_encoder {
        int nwords;
        uint64_t nleft; /* pairs of the part that are still to be added */
        size_t nhead;   /* pairs up to the next whole block; 0: blocks have begun */
        /* pairs of the head or of a block that is not full */
        uint64_t *kmers; /* [KC_BLOCK_NKMERS * nwords] */
        uint32_t counts[KC_BLOCK_NKMERS];
        size_t npairs;
        /* the blocks that the taker gets next */
        size_t nblocks;
        size_t words_used, words_cap;
        uint64_t *words, *firsts;
        uint32_t *block_nwords;
        uint64_t last[KC_MAX_WORDS];
        uint64_t rows[KC_RUN_NROWS];
        uint32_t *big; /* [KC_PART_MAX_BLOCKS * KC_BLOCK_NKMERS] */
        size_t nbig;
};

void kc_part_encoder_free(struct kc_part_encoder *e)
{
        if (e == NULL)
                return;
        free(e->kmers);
        free(e->words);
        free(e->firsts);
        free(e->block_nwords);
        free(e->big);
        free(e);
}

enum kc_status kc_part_encoder_new(struct kc_part_encoder **encoder, int nwords,
                                   size_t words_nbytes, struct kc_error *err)
{
        struct kc_part_encoder *e = calloc(1, sizeof *e);
        const size_t block_words = kc_block_max_words(nwords) + 1, nw = (size_t)nwords;
        *encoder = NULL;
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        e->nwords = nwords;
        e->words_cap = words_nbytes / sizeof *e->words + block_words;
        e->kmers = malloc(KC_BLOCK_NKMERS * nw * sizeof *e->kmers);
        e->words = malloc(e->words_cap * sizeof *e->words);
        e->firsts = malloc((size_t)KC_PART_MAX_BLOCKS * nw * sizeof *e->firsts);
        e->block_nwords = malloc((size_t)KC_PART_MAX_BLOCKS * sizeof *e->block_nwords);
        e->big = malloc((size_t)KC_PART_MAX_BLOCKS * KC_BLOCK_NKMERS * sizeof *e->big);
        if (e->kmers == NULL || e->words == NULL || e->firsts == NULL || e->block_nwords == NULL ||
            e->big == NULL) {
                kc_part_encoder_free(e);
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        }
        *encoder = e;
        return KC_OK;
}

void kc_part_encoder_begin(struct kc_part_encoder *e, uint64_t start, uint64_t npairs)
{
        const size_t before = (size_t)(start % KC_BLOCK_NKMERS);
        e->nleft = npairs;
        e->nhead = before > 0 ? KC_BLOCK_NKMERS - before : 0;
        e->npairs = 0;
}

static enum kc_status give_blocks(struct kc_part_encoder *e, const struct kc_part_taker *taker,
                                  struct kc_error *err)
{
        const struct kc_run_blocks blocks = { .n = e->nblocks * KC_BLOCK_NKMERS,
                                              .nblocks = e->nblocks,
                                              .firsts = e->firsts,
                                              .last_kmer = e->last,
                                              .block_nwords = e->block_nwords,
                                              .words = e->words,
                                              .nwords = e->words_used,
                                              .rows = e->rows,
                                              .big_counts = e->big,
                                              .nbig = e->nbig };
        if (e->nblocks == 0)
                return KC_OK;
        const enum kc_status status = taker->take_blocks(taker->ctx, &blocks, err);
        e->nblocks = e->words_used = e->nbig = 0;
        memset(e->rows, 0, sizeof e->rows);
        return status;
}

static void tally(struct kc_part_encoder *e, const uint32_t *counts)
{
        for (size_t i = 0; i < KC_BLOCK_NKMERS; i++)
                if (counts[i] < KC_RUN_NROWS)
                        e->rows[counts[i]]++;
                else
                        e->big[e->nbig++] = counts[i];
}

static enum kc_status encode(struct kc_part_encoder *e, const uint64_t *kmers,
                             const uint32_t *counts, const struct kc_part_taker *taker,
                             struct kc_error *err)
{
        const size_t nw = (size_t)e->nwords;
        struct kc_block_plan plan;
        kc_block_plan(&plan, kmers, counts, KC_BLOCK_NKMERS, e->nwords);
        if (e->nblocks == (size_t)KC_PART_MAX_BLOCKS ||
            e->words_used + plan.nwords + 1 > e->words_cap) {
                const enum kc_status status = give_blocks(e, taker, err);
                if (status != KC_OK)
                        return status;
        }
        kc_block_encode(&plan, kmers, counts, e->nwords, e->words + e->words_used);
        memcpy(e->firsts + e->nblocks * nw, kmers, nw * sizeof *kmers);
        memcpy(e->last, kmers + (KC_BLOCK_NKMERS - 1) * nw, nw * sizeof *kmers);
        e->block_nwords[e->nblocks++] = plan.nwords;
        e->words_used += plan.nwords + (size_t)1;
        e->words[e->words_used - 1] = 0; /* the checksum's */
        tally(e, counts);
        return KC_OK;
}

/* Keep pairs until there are as many as `want`. Returns how many were taken. */
static size_t keep(struct kc_part_encoder *e, const uint64_t *kmers, const uint32_t *counts,
                   size_t n, size_t want)
{
        const size_t nw = (size_t)e->nwords, room = want - e->npairs, taken = n < room ? n : room;
        memcpy(e->kmers + e->npairs * nw, kmers, taken * nw * sizeof *kmers);
        memcpy(e->counts + e->npairs, counts, taken * sizeof *counts);
        e->npairs += taken;
        return taken;
}

static enum kc_status give_pairs(struct kc_part_encoder *e, const struct kc_part_taker *taker,
                                 struct kc_error *err)
{
        const size_t n = e->npairs;
        e->npairs = 0;
        return n == 0 ? KC_OK : taker->take_pairs(taker->ctx, e->kmers, e->counts, n, err);
}

enum kc_status kc_part_encoder_add(struct kc_part_encoder *e, const uint64_t *kmers,
                                   const uint32_t *counts, size_t n,
                                   const struct kc_part_taker *taker, struct kc_error *err)
{
        const size_t nw = (size_t)e->nwords;
        enum kc_status status = KC_OK;
        if (n > e->nleft)
                return kc_fail(err, KC_EUSAGE, "a part has more k-mers than were announced");
        e->nleft -= n;
        while (n > 0 && status == KC_OK) {
                size_t taken = KC_BLOCK_NKMERS;
                if (e->nhead > 0) {
                        taken = keep(e, kmers, counts, n, e->nhead);
                        if (e->npairs == e->nhead) {
                                e->nhead = 0;
                                status = give_pairs(e, taker, err);
                        }
                } else if (e->npairs == 0 && n >= KC_BLOCK_NKMERS) {
                        status = encode(e, kmers, counts, taker, err);
                } else {
                        taken = keep(e, kmers, counts, n, KC_BLOCK_NKMERS);
                        if (e->npairs == KC_BLOCK_NKMERS) {
                                e->npairs = 0;
                                status = encode(e, e->kmers, e->counts, taker, err);
                        }
                }
                kmers += taken * nw;
                counts += taken;
                n -= taken;
        }
        return status;
}

enum kc_status kc_part_encoder_end(struct kc_part_encoder *e, const struct kc_part_taker *taker,
                                   struct kc_error *err)
{
        enum kc_status status;
        if (e->nleft > 0)
                return kc_fail(err, KC_EUSAGE, "a part has fewer k-mers than were announced");
        KC_TRY(give_blocks(e, taker, err));
        KC_TRY(give_pairs(e, taker, err));
out:
        return status;
}
