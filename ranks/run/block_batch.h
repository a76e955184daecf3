/*
 * Encoded blocks on their way to a taker (ranks/run/part_encoder.h), which gets many at once.
 */
#ifndef KC_BLOCK_BATCH_H
#define KC_BLOCK_BATCH_H

#include "ranks/run/part_encoder.h"

/* A zeroed batch owns no memory. Whoever adds blocks fills the arrays and updates the sizes. */
struct kc_block_batch {
        int nwords; /* of a k-mer */
        size_t nblocks, nbig;
        size_t words_used, words_cap;
        uint64_t *words;  /* [words_cap] as in struct kc_run_blocks, like all that follow */
        uint64_t *firsts; /* [KC_PART_MAX_BLOCKS * nwords] */
        uint32_t block_nwords[KC_PART_MAX_BLOCKS];
        uint64_t last[KC_MAX_WORDS];
        uint64_t rows[KC_RUN_NROWS];
        uint32_t *big_counts; /* [KC_PART_MAX_BLOCKS * KC_BLOCK_NKMERS] */
};

/* words_nbytes: of the blocks, approximately; there is always room for one. KC_ENOMEM. */
enum kc_status kc_block_batch_init(struct kc_block_batch *batch, int nwords, size_t words_nbytes,
                                   struct kc_error *err);
void kc_block_batch_free(struct kc_block_batch *batch);

/* Whether so many blocks fit, with so many words, those of the checksums included. */
bool kc_block_batch_has_room(const struct kc_block_batch *batch, size_t nblocks, size_t nwords);

/* Add blocks that have been encoded elsewhere. There must be room. */
void kc_block_batch_append(struct kc_block_batch *batch, const struct kc_run_blocks *blocks);

/* Give the blocks to the taker, if there are any; then the batch is empty. Fails as the taker
 * does. */
enum kc_status kc_block_batch_give(struct kc_block_batch *batch, const struct kc_part_taker *taker,
                                   struct kc_error *err);

#endif
