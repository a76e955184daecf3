/*
 * Puts together what successive parts of a run leave (ranks/run/part_encoder.h), in a process that
 * makes a stripe of them. The pairs at the ends of parts make whole blocks, except at the ends of
 * the stripe; and the blocks of small parts make larger pieces.
 *
 *      parts:   pairs | blocks | pairs    pairs | blocks | pairs    ...
 *      stripe:  pairs | blocks                                   ...    | pairs
 */
#ifndef KC_STRIPE_H
#define KC_STRIPE_H

#include "ranks/run/part_encoder.h"

struct kc_stripe;

/* words_nbytes: of the blocks that a taker gets at once, approximately; no piece that is added may
 * have more. KC_ENOMEM; then *stripe is NULL. */
enum kc_status kc_stripe_new(struct kc_stripe **stripe, int nwords, size_t words_nbytes,
                             struct kc_error *err);
void kc_stripe_free(struct kc_stripe *stripe); /* NULL is fine */

/* Begin a stripe. start: k-mers of the run before it. */
void kc_stripe_begin(struct kc_stripe *stripe, uint64_t start);

/* Add the pieces of the parts, as a part encoder gives them, in order. Fail as the taker does. */
enum kc_status kc_stripe_add_pairs(struct kc_stripe *stripe, const uint64_t *kmers,
                                   const uint32_t *counts, size_t n,
                                   const struct kc_part_taker *taker, struct kc_error *err);
enum kc_status kc_stripe_add_blocks(struct kc_stripe *stripe, const struct kc_run_blocks *blocks,
                                    const struct kc_part_taker *taker, struct kc_error *err);

/* End the stripe: give the rest to the taker. */
enum kc_status kc_stripe_end(struct kc_stripe *stripe, const struct kc_part_taker *taker,
                             struct kc_error *err);

#endif
