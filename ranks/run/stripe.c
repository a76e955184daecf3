#include "ranks/run/stripe.h"

#include "ranks/run/block_batch.h"

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
        struct kc_block_batch batch; /* that the taker gets next */
};

void kc_stripe_free(struct kc_stripe *s)
{
        if (s == NULL)
                return;
        kc_part_encoder_free(s->encoder);
        free(s->kmers);
        kc_block_batch_free(&s->batch);
        free(s);
}

static enum kc_status allocate(struct kc_stripe *s, size_t words_nbytes, struct kc_error *err)
{
        enum kc_status status;
        s->kmers = malloc(KC_BLOCK_NKMERS * (size_t)s->nwords * sizeof *s->kmers);
        if (s->kmers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        KC_TRY(kc_block_batch_init(&s->batch, s->nwords, words_nbytes, err));
        /* the encoder has a single block at a time */
        KC_TRY(kc_part_encoder_new(&s->encoder, s->nwords, 0, err));
out:
        return status;
}

enum kc_status kc_stripe_new(struct kc_stripe **stripe, int nwords, size_t words_nbytes,
                             struct kc_error *err)
{
        struct kc_stripe *s = calloc(1, sizeof *s);
        *stripe = NULL;
        if (s == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        s->nwords = nwords;
        const enum kc_status status = allocate(s, words_nbytes, err);
        if (status == KC_OK)
                *stripe = s;
        else
                kc_stripe_free(s);
        return status;
}

void kc_stripe_begin(struct kc_stripe *s, uint64_t start)
{
        const size_t before = (size_t)(start % KC_BLOCK_NKMERS);
        s->nhead = before > 0 ? KC_BLOCK_NKMERS - before : 0;
        s->npairs = 0;
}

enum kc_status kc_stripe_add_blocks(struct kc_stripe *s, const struct kc_run_blocks *blocks,
                                    const struct kc_part_taker *taker, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (!kc_block_batch_has_room(&s->batch, blocks->nblocks, blocks->nwords))
                KC_TRY(kc_block_batch_give(&s->batch, taker, err));
        if (blocks->nblocks > (size_t)KC_PART_MAX_BLOCKS / 2 && s->batch.nblocks == 0)
                return taker->take_blocks(taker->ctx, blocks, err);
        kc_block_batch_append(&s->batch, blocks);
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
        const enum kc_status status = kc_block_batch_give(&s->batch, taker, err);
        s->npairs = 0;
        if (status != KC_OK || n == 0)
                return status;
        return taker->take_pairs(taker->ctx, s->kmers, s->counts, n, err);
}
