#include "ranks/run/block_batch.h"

#include <stdlib.h>
#include <string.h>

enum kc_status kc_block_batch_init(struct kc_block_batch *batch, int nwords, size_t words_nbytes,
                                   struct kc_error *err)
{
        const size_t nblocks = KC_PART_MAX_BLOCKS, nw = (size_t)nwords;
        batch->nwords = nwords;
        batch->words_cap = words_nbytes / sizeof *batch->words + kc_block_max_words(nwords) + 1;
        batch->words = malloc(batch->words_cap * sizeof *batch->words);
        batch->firsts = malloc(nblocks * nw * sizeof *batch->firsts);
        batch->big_counts = malloc(nblocks * KC_BLOCK_NKMERS * sizeof *batch->big_counts);
        if (batch->words == NULL || batch->firsts == NULL || batch->big_counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
        return KC_OK;
}

void kc_block_batch_free(struct kc_block_batch *batch)
{
        free(batch->words);
        free(batch->firsts);
        free(batch->big_counts);
}

bool kc_block_batch_has_room(const struct kc_block_batch *batch, size_t nblocks, size_t nwords)
{
        return batch->nblocks + nblocks <= (size_t)KC_PART_MAX_BLOCKS &&
               batch->words_used + nwords <= batch->words_cap;
}

void kc_block_batch_append(struct kc_block_batch *batch, const struct kc_run_blocks *b)
{
        const size_t nw = (size_t)batch->nwords;
        memcpy(batch->words + batch->words_used, b->words, b->nwords * sizeof *b->words);
        memcpy(batch->firsts + batch->nblocks * nw, b->firsts, b->nblocks * nw * sizeof *b->firsts);
        memcpy(batch->block_nwords + batch->nblocks, b->block_nwords,
               b->nblocks * sizeof *b->block_nwords);
        memcpy(batch->last, b->last_kmer, nw * sizeof *b->last_kmer);
        if (b->nbig > 0) /* otherwise big_counts may be NULL */
                memcpy(batch->big_counts + batch->nbig, b->big_counts,
                       b->nbig * sizeof *b->big_counts);
        for (size_t i = 0; i < KC_RUN_NROWS; i++)
                batch->rows[i] += b->rows[i];
        batch->nblocks += b->nblocks;
        batch->words_used += b->nwords;
        batch->nbig += b->nbig;
}

enum kc_status kc_block_batch_give(struct kc_block_batch *batch, const struct kc_part_taker *taker,
                                   struct kc_error *err)
{
        const struct kc_run_blocks blocks = { .n = batch->nblocks * KC_BLOCK_NKMERS,
                                              .nblocks = batch->nblocks,
                                              .firsts = batch->firsts,
                                              .last_kmer = batch->last,
                                              .block_nwords = batch->block_nwords,
                                              .words = batch->words,
                                              .nwords = batch->words_used,
                                              .rows = batch->rows,
                                              .big_counts = batch->big_counts,
                                              .nbig = batch->nbig };
        if (batch->nblocks == 0)
                return KC_OK;
        const enum kc_status status = taker->take_blocks(taker->ctx, &blocks, err);
        batch->nblocks = batch->words_used = batch->nbig = 0;
        memset(batch->rows, 0, sizeof batch->rows);
        return status;
}
