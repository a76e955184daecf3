#include "ranks/run/block_batch.h"

#include <stdlib.h>
#include <string.h>

struct kc_part_encoder {
        uint64_t nleft; /* pairs of the part that are still to be added */
        size_t nhead;   /* pairs up to the next whole block; 0: blocks have begun */
        /* pairs of the head or of a block that is not full */
        uint64_t *kmers; /* [KC_BLOCK_NKMERS * batch.nwords] */
        uint32_t counts[KC_BLOCK_NKMERS];
        size_t npairs;
        struct kc_block_batch batch; /* that the taker gets next */
};

void kc_part_encoder_free(struct kc_part_encoder *e)
{
        if (e == NULL)
                return;
        free(e->kmers);
        kc_block_batch_free(&e->batch);
        free(e);
}

enum kc_status kc_part_encoder_new(struct kc_part_encoder **encoder, int nwords,
                                   size_t words_nbytes, struct kc_error *err)
{
        struct kc_part_encoder *e = calloc(1, sizeof *e);
        *encoder = NULL;
        if (e == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        enum kc_status status = kc_block_batch_init(&e->batch, nwords, words_nbytes, err);
        e->kmers = malloc(KC_BLOCK_NKMERS * (size_t)nwords * sizeof *e->kmers);
        if (status == KC_OK && e->kmers == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        if (status == KC_OK)
                *encoder = e;
        else
                kc_part_encoder_free(e);
        return status;
}

void kc_part_encoder_begin(struct kc_part_encoder *e, uint64_t start, uint64_t npairs)
{
        const size_t before = (size_t)(start % KC_BLOCK_NKMERS);
        e->nleft = npairs;
        e->nhead = before > 0 ? KC_BLOCK_NKMERS - before : 0;
        e->npairs = 0;
}

static void tally(struct kc_block_batch *batch, const uint32_t *counts)
{
        for (size_t i = 0; i < KC_BLOCK_NKMERS; i++)
                if (counts[i] < KC_RUN_NROWS)
                        batch->rows[counts[i]]++;
                else
                        batch->big_counts[batch->nbig++] = counts[i];
}

static enum kc_status encode(struct kc_part_encoder *e, const uint64_t *kmers,
                             const uint32_t *counts, const struct kc_part_taker *taker,
                             struct kc_error *err)
{
        struct kc_block_batch *batch = &e->batch;
        const size_t nw = (size_t)batch->nwords;
        enum kc_status status = KC_OK;
        struct kc_block_plan plan;
        kc_block_plan(&plan, kmers, counts, KC_BLOCK_NKMERS, batch->nwords);
        if (!kc_block_batch_has_room(batch, 1, plan.nwords + (size_t)1))
                KC_TRY(kc_block_batch_give(batch, taker, err));
        kc_block_encode(&plan, kmers, counts, batch->nwords, batch->words + batch->words_used);
        memcpy(batch->firsts + batch->nblocks * nw, kmers, nw * sizeof *kmers);
        memcpy(batch->last, kmers + (KC_BLOCK_NKMERS - 1) * nw, nw * sizeof *kmers);
        batch->block_nwords[batch->nblocks++] = plan.nwords;
        batch->words_used += plan.nwords + (size_t)1;
        batch->words[batch->words_used - 1] = 0; /* the checksum's */
        tally(batch, counts);
out:
        return status;
}

/* Keep pairs until there are as many as `want`. Returns how many were taken. */
static size_t keep(struct kc_part_encoder *e, const uint64_t *kmers, const uint32_t *counts,
                   size_t n, size_t want)
{
        const size_t nw = (size_t)e->batch.nwords, room = want - e->npairs,
                     taken = n < room ? n : room;
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
        const size_t nw = (size_t)e->batch.nwords;
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
        KC_TRY(kc_block_batch_give(&e->batch, taker, err));
        KC_TRY(give_pairs(e, taker, err));
out:
        return status;
}
