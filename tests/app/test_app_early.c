/* Asking for a part of each record first: every window that is not settled is asked once, whatever
 * the asker holds in a round; and it stops where it gains nothing. */
#include "app/library/early.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { K = 4, NBLOCKS = 12, NREADS = 40, MOST_NBASES = 60, MOST_ADDED = 1 << 14 };

/* ---- an asker in rounds, for one thread: a window's count is that of its first letter ---- */

struct fake {
        struct kc_ask_summary added[MOST_ADDED]; /* of all rounds */
        size_t nadded, nanswered, ntaken;
        uint64_t nwindows;    /* asked in all */
        uint64_t round, most; /* windows of this round; so many make it full */
        unsigned nrounds;
};

static uint32_t count_of(char letter)
{
        return letter == 'N' ? 0 : (uint32_t)(letter - 'A' + 1);
}

/* Windows [first, end) of bases; 'B' is in range, and windows of 'N' are not valid. */
static struct kc_ask_summary summarize(const char *bases, uint32_t first, uint32_t end)
{
        struct kc_ask_summary s = KC_ASK_NOTHING;
        s.nwindows = end - first;
        for (uint32_t i = first; i < end; i++) {
                s.nvalid += bases[i] != 'N';
                s.nfound += bases[i] == 'B';
                s.sum += count_of(bases[i]);
        }
        return s;
}

static enum kc_status add(void *ctx, int thread, const struct kc_ask_sequence *sequences, size_t n,
                          bool *full, struct kc_error *err)
{
        struct fake *f = ctx;
        (void)thread;
        (void)err;
        assert_int_equal(f->ntaken, f->nanswered); /* all answers of the last round are taken */
        for (size_t i = 0; i < n; i++) {
                const uint32_t nbases = sequences[i].nbases,
                               nwindows = nbases < K ? 0 : nbases - K + 1;
                assert_true(f->nadded < MOST_ADDED);
                f->added[f->nadded++] = summarize(sequences[i].bases, 0, nwindows);
                f->nwindows += nwindows;
                f->round += nwindows;
        }
        *full |= f->round >= f->most;
        return KC_OK;
}

static enum kc_status answer(void *ctx, struct kc_error *err)
{
        struct fake *f = ctx;
        (void)err;
        f->nanswered = f->nadded;
        f->round = 0;
        f->nrounds++;
        return KC_OK;
}

static enum kc_status take(void *ctx, int thread, struct kc_ask_answer *answers, size_t n,
                           struct kc_error *err)
{
        struct fake *f = ctx;
        (void)thread;
        (void)err;
        assert_true(f->ntaken + n <= f->nanswered);
        for (size_t i = 0; i < n; i++)
                answers[i] = (struct kc_ask_answer){ .summary = f->added[f->ntaken++] };
        return KC_OK;
}

/* ---- a consumer that wants three windows in range ---- */

static uint64_t nfirst(void *ctx, const struct kc_asking_block *block, size_t i, uint64_t nwindows)
{
        (void)ctx, (void)block;
        assert_true(i < NREADS);
        return nwindows < 6 ? nwindows : 5;
}

static void settle(void *ctx, struct kc_asked_part *first, struct kc_asked_part *second)
{
        const uint64_t *wanted = ctx;
        assert_null(second);
        assert_true(first->nleft > 0);
        first->is_settled = first->summary.nfound >= *wanted;
}

/* ---- blocks ---- */

struct scene {
        struct kc_asking_block blocks[NBLOCKS];
        struct kc_ask_sequence reads[NBLOCKS][NREADS];
        char bases[NBLOCKS][NREADS * MOST_NBASES];
};

static void fill(struct scene *s, uint64_t seed)
{
        memset(s->blocks, 0, sizeof s->blocks);
        for (int b = 0; b < NBLOCKS; b++) {
                uint32_t at = 0;
                for (int i = 0; i < NREADS; i++) {
                        const uint32_t n = (uint32_t)(next_random(&seed) % (MOST_NBASES + 1));
                        const bool is_rich = next_random(&seed) % 2;
                        s->reads[b][i] = (struct kc_ask_sequence){ s->bases[b] + at, n };
                        for (uint32_t j = 0; j < n; j++)
                                s->bases[b][at++] = is_rich ? 'B' : "ACNB"[next_random(&seed) % 4];
                }
                s->blocks[b] =
                        (struct kc_asking_block){ .number = (uint64_t)b, .nsequences = NREADS };
        }
}

static enum kc_status sequences(void *ctx, int worker, const struct kc_asking_block *block,
                                const struct kc_ask_sequence **reads, struct kc_error *err)
{
        const struct scene *s = ctx;
        (void)worker, (void)err;
        *reads = s->reads[block->number];
        return KC_OK;
}

static struct kc_asking_source source_of(struct scene *s)
{
        return (struct kc_asking_source){ .ctx = s, .sequences = sequences };
}

/* The answer covers all windows, or the first five if these settle the record. */
static void check_answer(const struct scene *s, int b, int i, const struct kc_ask_summary *got,
                         uint64_t wanted, uint64_t *nsettled)
{
        const struct kc_ask_sequence *read = &s->reads[b][i];
        const char *bases = read->bases;
        const uint32_t all = read->nbases >= K ? read->nbases - K + 1 : 0;
        struct kc_ask_summary whole = summarize(bases, 0, all), part = whole;
        if (all >= 6) {
                const struct kc_ask_summary back = summarize(bases, all - 2, all);
                part = summarize(bases, 0, 3);
                kc_ask_summary_append(&part, &back);
        }
        const bool is_settled = all >= 6 && part.nfound >= wanted;
        const struct kc_ask_summary *right = is_settled ? &part : &whole;
        *nsettled += is_settled;
        assert_int_equal(got->nwindows, right->nwindows);
        assert_int_equal(got->nvalid, right->nvalid);
        assert_int_equal(got->nfound, right->nfound);
        assert_int_equal(got->sum, right->sum);
}

static void open_early(struct kc_early **early, struct fake *fake,
                       const struct kc_asking_source *source,
                       const struct kc_asking_consumer *consumer)
{
        const struct kc_asker asker = {
                .ctx = fake, .round_nkmers = 1, .add = add, .answer = answer, .take = take
        };
        const struct kc_early_setup setup = { .k = K,
                                              .nthreads = 1,
                                              .memory_nbytes = 1 << 20,
                                              .source = source,
                                              .consumer = consumer };
        assert_int_equal(kc_early_open(early, &asker, &setup, NULL), KC_OK);
}

/* All blocks in one round of the caller; the asker holds `most` windows. */
static void check_round(struct scene *s, uint64_t most, uint64_t seed)
{
        uint64_t wanted = 3, nsettled = 0;
        struct fake *fake = calloc(1, sizeof *fake);
        const struct kc_asking_consumer consumer = { .ctx = &wanted,
                                                     .nfirst = nfirst,
                                                     .settle = settle };
        const struct kc_asking_source source = source_of(s);
        struct kc_ask_answer answers[NREADS];
        struct kc_early *early;
        bool full = false;
        assert_non_null(fake);
        fill(s, seed);
        fake->most = most;
        open_early(&early, fake, &source, &consumer);
        for (int b = 0; b < NBLOCKS; b++)
                assert_int_equal(kc_early_add(early, 0, &s->blocks[b], &full, NULL), KC_OK);
        assert_int_equal(kc_early_answer(early, NULL), KC_OK);
        for (int b = 0; b < NBLOCKS; b++) {
                assert_int_equal(kc_early_take(early, 0, answers, NREADS, NULL), KC_OK);
                for (int i = 0; i < NREADS; i++)
                        check_answer(s, b, i, &answers[i].summary, wanted, &nsettled);
        }
        assert_true(nsettled > NBLOCKS * NREADS / 4);
        if (most < 1000)
                assert_true(fake->nrounds > 3);
        kc_early_close(early);
        free(fake);
}

static void test_rounds(void **state)
{
        static const uint64_t most[] = { 1, 300, UINT64_MAX };
        struct scene *s = malloc(sizeof *s);
        (void)state;
        assert_non_null(s);
        for (uint64_t i = 0; i < 30; i++)
                check_round(s, most[i % 3], i + 1);
        free(s);
}

/* If a round settles few records, those of the next round reach the asker as they are. */
static void test_no_gain(void **state)
{
        uint64_t wanted = 1000;
        struct scene *s = malloc(sizeof *s);
        struct fake *fake = calloc(1, sizeof *fake);
        const struct kc_asking_consumer consumer = { .ctx = &wanted,
                                                     .nfirst = nfirst,
                                                     .settle = settle };
        const struct kc_asking_source source = source_of(s);
        struct kc_ask_answer answers[NREADS];
        struct kc_early *early;
        bool full = false;
        (void)state;
        assert_true(s != NULL && fake != NULL);
        fill(s, 1);
        fake->most = UINT64_MAX;
        open_early(&early, fake, &source, &consumer);
        for (int b = 0; b < 3; b++) {
                const size_t before = fake->nadded;
                uint64_t nsettled = 0;
                assert_int_equal(kc_early_add(early, 0, &s->blocks[b], &full, NULL), KC_OK);
                if (b > 0)
                        assert_int_equal(fake->nadded - before, NREADS);
                assert_int_equal(kc_early_answer(early, NULL), KC_OK);
                assert_int_equal(kc_early_take(early, 0, answers, NREADS, NULL), KC_OK);
                for (int i = 0; i < NREADS; i++)
                        check_answer(s, b, i, &answers[i].summary, wanted, &nsettled);
        }
        assert_int_equal(fake->nrounds, 4);
        kc_early_close(early);
        free(fake);
        free(s);
}

static void check_try(struct scene *s, uint64_t wanted, bool right)
{
        struct fake *fake = calloc(1, sizeof *fake);
        const struct kc_asking_consumer consumer = { .ctx = &wanted,
                                                     .nfirst = nfirst,
                                                     .settle = settle };
        const struct kc_asking_source source = source_of(s);
        const struct kc_early_setup setup = { .k = K,
                                              .nthreads = 3,
                                              .memory_nbytes = 1 << 20,
                                              .source = &source,
                                              .consumer = &consumer };
        const struct kc_asker asker = { .ctx = fake, .add = add, .answer = answer, .take = take };
        bool worth_it = !right;
        assert_non_null(fake);
        fake->most = UINT64_MAX;
        assert_int_equal(kc_early_try(&setup, &asker, &s->blocks[0], &worth_it, NULL), KC_OK);
        assert_int_equal(worth_it, right);
        assert_true(fake->nwindows <= 5 * NREADS);
        free(fake);
}

static void test_try(void **state)
{
        struct scene *s = malloc(sizeof *s);
        (void)state;
        assert_non_null(s);
        fill(s, 1);
        check_try(s, 3, true);
        check_try(s, 1000, false);
        free(s);
}

/* An asker is not asked twice if its rounds cost much, or need more memory than there is. */
static void test_suits(void **state)
{
        (void)state;
        assert_true(kc_early_suits(&(struct kc_asker){ .round_nkmers = 1000 }, 31, 8000));
        assert_false(kc_early_suits(&(struct kc_asker){ .round_nkmers = 1000 }, 31, 7999));
        assert_false(kc_early_suits(&(struct kc_asker){ .round_nkmers = 1000 }, 33, 8000));
        assert_false(kc_early_suits(&(struct kc_asker){ .round_nkmers = 0 }, 31, UINT64_MAX));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rounds),
                cmocka_unit_test(test_no_gain),
                cmocka_unit_test(test_try),
                cmocka_unit_test(test_suits),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
