#include "kmer/stripe.h"

#include <stdlib.h>
#include <string.h>

struct kc_stripe {
        int nwords;
        size_t nhead; /* pairs of a block that was begun before the stripe; they are passed on */
        /* a block that is not full */
        struct kc_part_encoder *encoder;
        uint64_t *kmers; /* [KC_BLOCK_NKMERS * nwords] */
        uint32_t counts[KC_BLOCK_NKMERS];
        size_t npairs;
        /* the blocks that the taker gets next */
        size_t nblocks, words_used, words_cap, nbig;
        uint64_t *words, *firsts;
        uint32_t block_nwords[KC_PART_MAX_BLOCKS];
        uint64_t last[KC_MAX_WORDS];
        uint64_t rows[KC_RUN_NROWS];
        uint32_t *big; /* [KC_PART_MAX_BLOCKS * KC_BLOCK_NKMERS] */
};

void kc_stripe_free(struct kc_stripe *s)
{
        if (s == NULL)
                return;
        kc_part_encoder_free(s->encoder);
        free(s->kmers);
        free(s->words);
        free(s->firsts);
        free(s->big);
        free(s);
}

static bool allocate(struct kc_stripe *s, size_t words_nbytes)
{
        const size_t nw = (size_t)s->nwords, block_words = kc_block_max_words(s->nwords) + 1;
        s->words_cap = words_nbytes / sizeof *s->words + block_words;
        s->kmers = malloc(KC_BLOCK_NKMERS * nw * sizeof *s->kmers);
        s->words = malloc(s->words_cap * sizeof *s->words);
        s->firsts = malloc((size_t)KC_PART_MAX_BLOCKS * nw * sizeof *s->firsts);
        s->big = malloc((size_t)KC_PART_MAX_BLOCKS * KC_BLOCK_NKMERS * sizeof *s->big);
        return s->kmers != NULL && s->words != NULL && s->firsts != NULL && s->big != NULL;
}

enum kc_status kc_stripe_new(struct kc_stripe **stripe, int nwords, size_t words_nbytes,
                             struct kc_error *err)
{
        struct kc_stripe *s = calloc(1, sizeof *s);
        enum kc_status status = KC_ENOMEM;
        *stripe = NULL;
        if (s != NULL) {
                s->nwords = nwords;
                if (allocate(s, words_nbytes)) /* the encoder has a single block at a time */
                        status = kc_part_encoder_new(&s->encoder, nwords, 0, err);
        }
        if (status != KC_OK) {
                kc_stripe_free(s);
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        }
        *stripe = s;
        return KC_OK;
}

void kc_stripe_begin(struct kc_stripe *s, uint64_t start)
{
        const size_t before = (size_t)(start % KC_BLOCK_NKMERS);
        s->nhead = before > 0 ? KC_BLOCK_NKMERS - before : 0;
        s->npairs = 0;
}

static enum kc_status give_blocks(struct kc_stripe *s, const struct kc_part_taker *taker,
                                  struct kc_error *err)
{
        const struct kc_run_blocks blocks = { .n = s->nblocks * KC_BLOCK_NKMERS,
                                              .nblocks = s->nblocks,
                                              .firsts = s->firsts,
                                              .last_kmer = s->last,
                                              .block_nwords = s->block_nwords,
                                              .words = s->words,
                                              .nwords = s->words_used,
                                              .rows = s->rows,
                                              .big_counts = s->big,
                                              .nbig = s->nbig };
        if (s->nblocks == 0)
                return KC_OK;
        const enum kc_status status = taker->take_blocks(taker->ctx, &blocks, err);
        s->nblocks = s->words_used = s->nbig = 0;
        memset(s->rows, 0, sizeof s->rows);
        return status;
}

static void append(struct kc_stripe *s, const struct kc_run_blocks *b)
{
        const size_t nw = (size_t)s->nwords;
        memcpy(s->words + s->words_used, b->words, b->nwords * sizeof *b->words);
        memcpy(s->firsts + s->nblocks * nw, b->firsts, b->nblocks * nw * sizeof *b->firsts);
        memcpy(s->block_nwords + s->nblocks, b->block_nwords, b->nblocks * sizeof *b->block_nwords);
        memcpy(s->last, b->last_kmer, nw * sizeof *b->last_kmer);
        if (b->nbig > 0)
                memcpy(s->big + s->nbig, b->big_counts, b->nbig * sizeof *b->big_counts);
        for (size_t i = 0; i < KC_RUN_NROWS; i++)
                s->rows[i] += b->rows[i];
        s->nblocks += b->nblocks;
        s->words_used += b->nwords;
        s->nbig += b->nbig;
}

enum kc_status kc_stripe_add_blocks(struct kc_stripe *s, const struct kc_run_blocks *blocks,
                                    const struct kc_part_taker *taker, struct kc_error *err)
{
        enum kc_status status;
        if (s->nblocks + blocks->nblocks > (size_t)KC_PART_MAX_BLOCKS ||
            s->words_used + blocks->nwords > s->words_cap)
                KC_TRY(give_blocks(s, taker, err));
        if (blocks->nblocks > (size_t)KC_PART_MAX_BLOCKS / 2 && s->nblocks == 0)
                return taker->take_blocks(taker->ctx, blocks, err);
        append(s, blocks);
        status = KC_OK;
out:
        return status;
}

struct joining {
        struct kc_stripe *stripe;
        const struct kc_part_taker *taker;
};

static enum kc_status take_block(void *ctx, const struct kc_run_blocks *block, struct kc_error *err)
{
        const struct joining *joining = ctx;
        return kc_stripe_add_blocks(joining->stripe, block, joining->taker, err);
}

static enum kc_status encode(struct kc_stripe *s, const struct kc_part_taker *taker,
                             struct kc_error *err)
{
        struct joining joining = { s, taker };
        const struct kc_part_taker own = { .ctx = &joining, .take_blocks = take_block };
        enum kc_status status;
        s->npairs = 0;
        kc_part_encoder_begin(s->encoder, 0, KC_BLOCK_NKMERS);
        KC_TRY(kc_part_encoder_add(s->encoder, s->kmers, s->counts, KC_BLOCK_NKMERS, &own, err));
        KC_TRY(kc_part_encoder_end(s->encoder, &own, err));
out:
        return status;
}

/* A part encoder gives no pairs beyond the end of a block. */
enum kc_status kc_stripe_add_pairs(struct kc_stripe *s, const uint64_t *kmers,
                                   const uint32_t *counts, size_t n,
                                   const struct kc_part_taker *taker, struct kc_error *err)
{
        const size_t nw = (size_t)s->nwords;
        if (s->nhead > 0) {
                s->nhead -= n;
                return taker->take_pairs(taker->ctx, kmers, counts, n, err);
        }
        memcpy(s->kmers + s->npairs * nw, kmers, n * nw * sizeof *kmers);
        memcpy(s->counts + s->npairs, counts, n * sizeof *counts);
        s->npairs += n;
        return s->npairs < KC_BLOCK_NKMERS ? KC_OK : encode(s, taker, err);
}

enum kc_status kc_stripe_end(struct kc_stripe *s, const struct kc_part_taker *taker,
                             struct kc_error *err)
{
        const size_t n = s->npairs;
        const enum kc_status status = give_blocks(s, taker, err);
        s->npairs = 0;
        if (status != KC_OK || n == 0)
                return status;
        return taker->take_pairs(taker->ctx, s->kmers, s->counts, n, err);
}
