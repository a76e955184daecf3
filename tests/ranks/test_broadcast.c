/* Several ranks, here threads of the test, read an input together, and each gets all of it. */
#include "base/job.h"
#include "base/parallel.h"
#include "ranks/broadcast.h"
#include "ranks/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/ranks/thread_transport.h"

enum { LONGEST = 64, SEGMENTS = 16 }; /* words of a segment; segments of a small batch */

/* What one rank reads: segments next .. end - 1. The first word of each is its number. */
struct input {
        atomic_uint next;
        uint32_t end;
        int fail_at; /* the segment that cannot be read; -1: none */
};

static uint32_t length_of(uint32_t number)
{
        return 32 + number * 7 % (32 * LONGEST - 31);
}

static uint64_t word_of(uint32_t number, uint32_t i)
{
        return i == 0 ? number : (number + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15) * i;
}

static void add(struct kc_batch *batch, uint32_t number)
{
        const uint32_t nbases = length_of(number), nwords = (nbases + 31) / 32;
        batch->segments[batch->nsegments++] =
                (struct kc_segment){ batch->nwords, nbases, (uint8_t)(number % 5),
                                     (uint8_t)(number % 3) };
        for (uint32_t i = 0; i < nwords; i++)
                batch->words[batch->nwords++] = word_of(number, i);
}

static enum kc_status read_own(void *ctx, int worker, struct kc_batch *batch, struct kc_error *err)
{
        struct input *input = ctx;
        (void)worker;
        batch->nwords = batch->nsegments = 0;
        while (batch->nsegments < batch->segments_cap &&
               batch->nwords + LONGEST <= batch->words_cap) {
                const uint32_t number = atomic_fetch_add(&input->next, 1);
                if (number >= input->end)
                        break;
                if ((int)number == input->fail_at)
                        return kc_fail(err, KC_EINPUT, "no segment %u", number);
                add(batch, number);
        }
        return KC_OK;
}

struct member {
        struct crowd_rank rank;
        struct input input;
        struct kc_broadcast *broadcast;
        struct kc_job job;
        int nworkers, nrunning; /* nrunning: the others never come */
        uint32_t words_cap;
        useconds_t delay; /* before each of the first few batches */
        int cancel_at;    /* the batch after which the job is canceled; -1: none */
        atomic_int nbatches;
        atomic_uchar *seen; /* [nsegments] how often each segment came */
        uint32_t nsegments; /* of all ranks */
};

static void look_at(struct member *m, const struct kc_batch *batch)
{
        uint32_t at = 0;
        for (uint32_t i = 0; i < batch->nsegments; i++) {
                const struct kc_segment *s = &batch->segments[i];
                const uint32_t number = (uint32_t)batch->words[s->word];
                assert_true(number < m->nsegments);
                assert_int_equal(s->word, at);
                assert_int_equal(s->nbases, length_of(number));
                assert_int_equal(s->nbefore, number % 5);
                assert_int_equal(s->nafter, number % 3);
                for (uint32_t j = 0; j < (s->nbases + 31) / 32; j++, at++)
                        assert_true(batch->words[at] == word_of(number, j));
                atomic_fetch_add(&m->seen[number], 1);
        }
        assert_int_equal(at, batch->nwords);
}

/* An engine's thread. */
static enum kc_status work(void *ctx, int worker, struct kc_error *err)
{
        enum { SLOW_BATCHES = 4 };
        struct member *m = ctx;
        const struct kc_batch_source source = kc_broadcast_source(m->broadcast);
        struct kc_batch batch = { .words_cap = m->words_cap,
                                  .segments_cap = m->words_cap / 4 + SEGMENTS };
        enum kc_status status = KC_OK;
        batch.words = malloc((m->words_cap + KC_BATCH_PADDING) * sizeof *batch.words);
        batch.segments = malloc(batch.segments_cap * sizeof *batch.segments);
        while ((status = source.next(source.ctx, worker, &batch, err)) == KC_OK &&
               batch.nsegments > 0) {
                const int number = atomic_fetch_add(&m->nbatches, 1);
                if (number < SLOW_BATCHES && m->delay > 0)
                        usleep(m->delay);
                if (number == m->cancel_at)
                        atomic_store(&m->job.cancel, true);
                look_at(m, &batch);
        }
        free(batch.words);
        free(batch.segments);
        return status;
}

static void cancel(void *ctx)
{
        struct member *m = ctx;
        const struct kc_exchange exchange = kc_ranks_exchange_interface(m->rank.exchange);
        (exchange.fail)(exchange.ctx); /* fail is a macro of cmocka */
}

/* Use the exchange again when the source is at its end. */
static enum kc_status sum_up(const struct kc_exchange *exchange, struct kc_error *err)
{
        uint64_t one = 1;
        const enum kc_status status = kc_exchange_combine(exchange, KC_EXCHANGE_SUM, &one, 1, err);
        assert_true(status != KC_OK || one == (uint64_t)exchange->nranks);
        return status;
}

#include "tests/ranks/crowd.h"

static enum kc_status work_of_member(struct member *m, const struct kc_exchange *exchange,
                                     struct kc_error *err)
{
        const struct kc_batch_source own = { &m->input, read_own };
        const struct kc_broadcast_setup setup = { exchange, &own, m->nworkers, &m->job };
        enum kc_status status = kc_broadcast_new(&m->broadcast, &setup, err);
        if (status == KC_OK)
                status = kc_parallel(m->nrunning, work, cancel, m, err);
        if (status == KC_OK)
                status = sum_up(exchange, err);
        kc_broadcast_free(m->broadcast);
        return status;
}

/* nsegments: of all ranks, which read about equal parts; but the last of several ranks reads
 * nothing. */
static void begin_crowd(struct crowd *crowd, int nranks, uint32_t nsegments, uint32_t words_cap)
{
        const uint32_t nreading = nranks > 1 ? (uint32_t)nranks - 1 : 1;
        memset(crowd, 0, sizeof *crowd);
        post_office_init(&crowd->office, nranks);
        for (int i = 0; i < nranks; i++) {
                struct member *m = &crowd->members[i];
                const uint32_t part = (uint32_t)i < nreading ? (uint32_t)i : nreading;
                m->input.next = nsegments * part / nreading;
                m->input.end = part == nreading ? 0 : nsegments * (part + 1) / nreading;
                m->input.fail_at = m->cancel_at = -1;
                m->nworkers = 1 + i % 3;
                m->nrunning = m->nworkers;
                m->words_cap = words_cap;
                m->nsegments = nsegments;
                m->seen = calloc(nsegments, sizeof *m->seen);
        }
}

static void end_crowd(struct crowd *crowd)
{
        for (int i = 0; i < crowd->office.nranks; i++)
                free(crowd->members[i].seen);
        post_office_destroy(&crowd->office);
}

static void expect_all(struct crowd *crowd)
{
        expect_success(crowd);
        for (int i = 0; i < crowd->office.nranks; i++) {
                const struct member *m = &crowd->members[i];
                for (uint32_t j = 0; j < m->nsegments; j++)
                        assert_int_equal(m->seen[j], 1);
        }
        end_crowd(crowd);
}

static void every_rank_gets_all(void **state)
{
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (int nranks = 1; nranks <= 4; nranks++)
                for (uint32_t nsegments = 1; nsegments <= 10000; nsegments *= 100) {
                        begin_crowd(crowd, nranks, nsegments, 1 << 17);
                        run_crowd(crowd);
                        expect_all(crowd);
                }
        free(crowd);
}

/* Every batch fits the rank with the smallest batches. */
static void ranks_with_smaller_batches(void **state)
{
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (int small = 0; small < 3; small++) {
                begin_crowd(crowd, 3, 3000, 1 << 14);
                crowd->members[small].words_cap = KC_BATCH_MIN_WORDS;
                run_crowd(crowd);
                expect_all(crowd);
        }
        free(crowd);
}

/* Much more than fits in the boxes, and ranks that are slow at first: the others wait. Every rank
 * has only one worker, which must not wait for room. */
static void more_than_fits(void **state)
{
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (int slow = 0; slow < 3; slow++) {
                begin_crowd(crowd, 3, 300000, 1 << 17); /* about 80 MB */
                for (int i = 0; i < 3; i++) {
                        crowd->members[i].nworkers = crowd->members[i].nrunning = 1;
                        crowd->members[i].delay = i == slow || slow == 2 ? 50000 : 0;
                }
                run_crowd(crowd);
                expect_all(crowd);
        }
        free(crowd);
}

static void workers_that_never_come(void **state)
{
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        begin_crowd(crowd, 3, 5000, 1 << 12);
        for (int i = 0; i < 3; i++)
                crowd->members[i].nworkers = 4;
        run_crowd(crowd);
        expect_all(crowd);
        free(crowd);
}

/* All ranks fail; exactly one has a message of its own, unless the job was canceled. */
static void expect_failure(struct crowd *crowd, enum kc_status status, const char *message)
{
        const int nown = count_failed(crowd, status, message);
        assert_int_equal(nown, status != KC_ECANCELED);
        end_crowd(crowd);
}

static void a_failure_ends_all_ranks(void **state)
{
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (int nranks = 2; nranks <= 4; nranks++) {
                begin_crowd(crowd, nranks, 20000, 1 << 12);
                crowd->members[nranks - 2].input.fail_at = 19000;
                run_crowd(crowd);
                expect_failure(crowd, KC_EINPUT, "no segment 19000");

                begin_crowd(crowd, nranks, 20000, 1 << 12);
                crowd->members[nranks - 1].cancel_at = 3;
                run_crowd(crowd);
                expect_failure(crowd, KC_ECANCELED, NULL);
        }
        free(crowd);
}

/* If the source breaks its promise, this is an error: no reads are lost. */
static void a_worker_that_comes_too_late(void **state)
{
        struct post_office office;
        struct thread_rank thread;
        struct kc_ranks_exchange *messages;
        struct kc_broadcast *broadcast;
        struct kc_error err = { 0 };
        struct input input = { .fail_at = -1 };
        uint64_t words[KC_BATCH_MIN_WORDS + KC_BATCH_PADDING];
        struct kc_segment segments[SEGMENTS];
        struct kc_batch batch = { .words = words,
                                  .segments = segments,
                                  .words_cap = KC_BATCH_MIN_WORDS,
                                  .segments_cap = SEGMENTS };
        (void)state;
        post_office_init(&office, 1);
        const struct kc_transport transport = thread_transport(&thread, &office, 0);
        assert_int_equal(kc_ranks_exchange_new(&messages, &transport, &err), KC_OK);
        const struct kc_exchange exchange = kc_ranks_exchange_interface(messages);
        const struct kc_batch_source own = { &input, read_own };
        const struct kc_broadcast_setup setup = { &exchange, &own, 3, NULL };
        assert_int_equal(kc_broadcast_new(&broadcast, &setup, &err), KC_OK);
        const struct kc_batch_source source = kc_broadcast_source(broadcast);
        for (int worker = 0; worker < 2; worker++) {
                assert_int_equal(source.next(source.ctx, worker, &batch, &err), KC_OK);
                assert_int_equal(batch.nsegments, 0);
        }
        atomic_store(&input.next, 0);
        input.end = 1;
        assert_int_equal(source.next(source.ctx, 2, &batch, &err), KC_EUSAGE);
        err = (struct kc_error){ 0 };
        assert_int_equal(source.next(source.ctx, 0, &batch, &err), KC_EUSAGE);
        kc_broadcast_free(broadcast);
        kc_broadcast_free(NULL);
        kc_ranks_exchange_free(messages);
        post_office_destroy(&office);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_rank_gets_all),
                cmocka_unit_test(ranks_with_smaller_batches),
                cmocka_unit_test(more_than_fits),
                cmocka_unit_test(workers_that_never_come),
                cmocka_unit_test(a_failure_ends_all_ranks),
                cmocka_unit_test(a_worker_that_comes_too_late),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
