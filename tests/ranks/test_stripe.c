/* Parts of any size, put together: only the pairs at the ends of the stripe are not in blocks. */
#include "ranks/run/part_encoder.h"
#include "ranks/run/stripe.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/ranks/run_blocks.h"

enum { MAX_PAIRS = 400000 };

static uint64_t kmers[2 * MAX_PAIRS];
static uint32_t counts[MAX_PAIRS];

/* What a stripe gives. */
struct taken {
        struct run run;
        size_t npairs, nblocks, nframes; /* pairs outside of blocks; calls with blocks */
        size_t most_pairs;
        int fail_at; /* the call that fails; -1: none */
};

static enum kc_status count_call(struct taken *t, struct kc_error *err)
{
        return t->fail_at-- == 0 ? kc_fail(err, KC_EIO, "full") : KC_OK;
}

static enum kc_status take_pairs(void *ctx, const uint64_t *k, const uint32_t *c, size_t n,
                                 struct kc_error *err)
{
        struct taken *t = ctx;
        t->npairs += n;
        t->most_pairs = n > t->most_pairs ? n : t->most_pairs;
        if (count_call(t, err) != KC_OK)
                return KC_EIO;
        return run_put(&t->run, &(struct kc_run_pairs){ .n = n, .kmers = k, .counts = c }, err);
}

static enum kc_status take_blocks(void *ctx, const struct kc_run_blocks *b, struct kc_error *err)
{
        struct taken *t = ctx;
        t->nblocks += b->nblocks;
        t->nframes++;
        assert_true(b->nblocks <= KC_PART_MAX_BLOCKS);
        if (count_call(t, err) != KC_OK)
                return KC_EIO;
        return run_enter_blocks(&t->run, b, err);
}

/* From a part to the stripe. */
struct part {
        struct kc_stripe *stripe;
        struct kc_part_taker taker;
};

static enum kc_status add_pairs(void *ctx, const uint64_t *k, const uint32_t *c, size_t n,
                                struct kc_error *err)
{
        struct part *p = ctx;
        return kc_stripe_add_pairs(p->stripe, k, c, n, &p->taker, err);
}

static enum kc_status add_blocks(void *ctx, const struct kc_run_blocks *b, struct kc_error *err)
{
        struct part *p = ctx;
        return kc_stripe_add_blocks(p->stripe, b, &p->taker, err);
}

static void make_pairs(size_t n, int nwords, uint64_t seed)
{
        uint64_t at = 0;
        for (size_t i = 0; i < n; i++) {
                at += 1 + random_mix(seed + i) % 1000000;
                for (int w = 0; w < nwords; w++)
                        kmers[i * (size_t)nwords + (size_t)w] = w == 0 ? at << 20 : at * 77;
                counts[i] = (uint32_t)(1 + random_mix(seed ^ i) % (i % 50 == 0 ? 100000 : 9));
        }
}

/* Parts of up to most_pairs each, from the start-th k-mer of the run on. */
static enum kc_status make_stripe(struct taken *t, uint64_t start, size_t n, size_t most_pairs,
                                  int nwords, size_t words_nbytes, struct kc_error *err)
{
        struct part p = { .taker = { t, take_pairs, take_blocks } };
        const struct kc_part_taker taker = { &p, add_pairs, add_blocks };
        struct kc_part_encoder *encoder;
        enum kc_status status = KC_OK;
        assert_int_equal(kc_stripe_new(&p.stripe, nwords, words_nbytes, err), KC_OK);
        assert_int_equal(kc_part_encoder_new(&encoder, nwords, words_nbytes, err), KC_OK);
        kc_stripe_begin(p.stripe, start);
        for (size_t at = 0, i = 0; at < n; i++) { /* some parts are empty */
                size_t some = random_mix(start + at + (i << 32)) % (most_pairs + 1);
                some = some < n - at ? some : n - at;
                kc_part_encoder_begin(encoder, start + at, some);
                KC_TRY(kc_part_encoder_add(encoder, kmers + at * (size_t)nwords, counts + at, some,
                                           &taker, err));
                KC_TRY(kc_part_encoder_end(encoder, &taker, err));
                at += some;
        }
        KC_TRY(kc_stripe_end(p.stripe, &p.taker, err));
out:
        kc_part_encoder_free(encoder);
        kc_stripe_free(p.stripe);
        return status;
}

static void check_stripe(uint64_t start, size_t n, size_t most_pairs, int nwords,
                         size_t words_nbytes)
{
        struct taken t = { .run = { .nwords = nwords, .fail_at = -1 }, .fail_at = -1 };
        struct kc_error err = { 0 };
        const size_t missing = (KC_BLOCK_NKMERS - start % KC_BLOCK_NKMERS) % KC_BLOCK_NKMERS;
        const size_t head = missing < n ? missing : n;
        make_pairs(n, nwords, start + n);
        assert_int_equal(make_stripe(&t, start, n, most_pairs, nwords, words_nbytes, &err), KC_OK);
        assert_int_equal(t.nblocks, (n - head) / KC_BLOCK_NKMERS);
        assert_int_equal(t.npairs, head + (n - head) % KC_BLOCK_NKMERS);
        assert_true(t.most_pairs < KC_BLOCK_NKMERS);
        if (words_nbytes >= 1 << 20) /* blocks of small parts leave together */
                assert_true(t.nframes <= t.nblocks / (KC_PART_MAX_BLOCKS / 2) + 1);
        if (n > 0) {
                assert_int_equal(t.run.parts[0].n, n);
                assert_memory_equal(t.run.parts[0].kmers, kmers,
                                    n * (size_t)nwords * sizeof *kmers);
                assert_memory_equal(t.run.parts[0].counts, counts, n * sizeof *counts);
        }
        run_free(&t.run);
}

static void parts_of_any_size(void **state)
{
        (void)state;
        for (int nwords = 1; nwords <= 2; nwords++)
                for (uint64_t start = 0; start < 3 * KC_BLOCK_NKMERS; start += 511) {
                        check_stripe(start, 0, 10, nwords, 1 << 20);
                        check_stripe(start, 700, 100, nwords, 1 << 20);
                        check_stripe(start, 5000, 60, nwords, 1 << 20);
                        check_stripe(start, 30000, 3000, nwords, 1 << 20);
                        check_stripe(start, 30000, 3000, nwords, 0);
                        check_stripe(start, 100000, 90000, nwords, 64 << 10);
                }
        check_stripe(7, MAX_PAIRS, 150000, 2, 1 << 20);
}

static void a_taker_that_fails(void **state)
{
        (void)state;
        make_pairs(50000, 1, 3);
        for (int at = 0; at < 100; at++) {
                struct taken t = { .run = { .nwords = 1, .fail_at = -1 }, .fail_at = at };
                struct kc_error err = { 0 };
                const enum kc_status status = make_stripe(&t, 99, 50000, 2500, 1, 8 << 10, &err);
                assert_true(status == KC_EIO || (status == KC_OK && t.fail_at >= 0));
                run_free(&t.run);
                if (status == KC_OK)
                        return;
        }
        fail_msg("%s", "100 calls are not enough");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(parts_of_any_size),
                cmocka_unit_test(a_taker_that_fails),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
