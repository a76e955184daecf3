/*
 * kc_joint_sink for the sink of tests/run_support.h, for tests in which ranks count together.
 * Include this after cmocka.h.
 */
#ifndef KC_TESTS_RUN_BLOCKS_H
#define KC_TESTS_RUN_BLOCKS_H

#include "kmer/block_codec.h"
#include "kmer/kmer.h"
#include "ranks/run.h"
#include "tests/run_support.h"

/* Rank 0 gets other ranks' pairs as whole blocks, except at the ends of their parts. */
static inline enum kc_status run_enter_blocks(void *ctx, const struct kc_run_blocks *b,
                                              struct kc_error *err)
{
        static _Thread_local uint64_t kmers[KC_BLOCK_NKMERS * KC_MAX_WORDS];
        static _Thread_local uint32_t counts[KC_BLOCK_NKMERS];
        const struct run *run = ctx;
        const size_t nw = (size_t)run->nwords;
        const uint64_t *words = b->words;
        enum kc_status status = KC_OK;
        uint64_t tallied = b->nbig;
        for (int i = 0; i < KC_RUN_NROWS; i++)
                tallied += b->rows[i];
        assert_int_equal(tallied, b->n);
        for (size_t i = 0; i < b->nblocks && status == KC_OK; i++) {
                assert_true(kc_block_decode(words, b->block_nwords[i], b->firsts + i * nw,
                                            run->nwords, KC_BLOCK_NKMERS, kmers, counts));
                words += b->block_nwords[i] + 1;
                status = run_put(ctx,
                                 &(struct kc_run_pairs){ .part = b->part,
                                                         .n = KC_BLOCK_NKMERS,
                                                         .kmers = kmers,
                                                         .counts = counts },
                                 err);
        }
        assert_true(status != KC_OK || words == b->words + b->nwords);
        return status;
}

static const struct kc_joint_sink run_joint_sink = { .enter = run_enter_blocks };

#endif
