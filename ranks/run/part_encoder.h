/*
 * Encodes a part of a run as blocks of a .kc file, in a process that does not have the parts before
 * and after it, but knows how many k-mers come before it. Pairs at the part's ends that belong to
 * blocks that other parts begin or end are passed on as they are.
 *
 *      part:  pairs | whole blocks ... | pairs
 */
#ifndef KC_PART_ENCODER_H
#define KC_PART_ENCODER_H

#include "kmer/block_codec.h"
#include "kmer/run.h"

enum { KC_PART_MAX_BLOCKS = 64 }; /* that a taker gets at once */

struct kc_part_encoder;

/* Where a part goes, piece by piece, in the order of the k-mers. A call is for pairs or for blocks;
 * a part may have no piece at all. The arrays are valid during the call. */
struct kc_part_taker {
        void *ctx;
        /* n < KC_BLOCK_NKMERS pairs */
        enum kc_status (*take_pairs)(void *ctx, const uint64_t *kmers, const uint32_t *counts,
                                     size_t n, struct kc_error *err);
        /* Whole blocks, without their checksums, and all their counts. part and dropped are not
         * set. */
        enum kc_status (*take_blocks)(void *ctx, const struct kc_run_blocks *blocks,
                                      struct kc_error *err);
};

/* Blocks are given to the taker when they have about words_nbytes. KC_ENOMEM; then *encoder is
 * NULL. */
enum kc_status kc_part_encoder_new(struct kc_part_encoder **encoder, int nwords,
                                   size_t words_nbytes, struct kc_error *err);
void kc_part_encoder_free(struct kc_part_encoder *encoder); /* NULL is fine */

/* Begin a part. start: k-mers of the run before it; npairs: in it. */
void kc_part_encoder_begin(struct kc_part_encoder *encoder, uint64_t start, uint64_t npairs);

/* Add the next pairs of the part, ascending. Fails as the taker does, and with KC_ENOMEM. */
enum kc_status kc_part_encoder_add(struct kc_part_encoder *encoder, const uint64_t *kmers,
                                   const uint32_t *counts, size_t n,
                                   const struct kc_part_taker *taker, struct kc_error *err);

/* End the part: give the rest to the taker. KC_EUSAGE if it did not have npairs. */
enum kc_status kc_part_encoder_end(struct kc_part_encoder *encoder,
                                   const struct kc_part_taker *taker, struct kc_error *err);

#endif
