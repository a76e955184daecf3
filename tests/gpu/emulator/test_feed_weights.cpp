/*
 * Two devices receive batches in proportion to their weights.
 */
#include "scarcity.h"

#include "gpu/feed/feed.cuh"
#include "tests/gpu/support.cuh"

enum { K = 31, NDEVICES = 2, NWORKERS = 2, NBATCHES = 100, WORDS = KC_BATCH_MIN_WORDS };
enum { BUFFER_BATCHES = 40 };

/* Each worker's batches: one segment that fills the words. */
struct supply {
        int left[NWORKERS];
};

static enum kc_status next(void *ctx, int worker, struct kc_batch *batch, struct kc_error *)
{
        struct supply *supply = (struct supply *)ctx;
        batch->nsegments = batch->nwords = 0;
        if (supply->left[worker]-- <= 0)
                return KC_OK;
        batch->nwords = WORDS;
        std::fill_n(batch->words, WORDS, UINT64_C(0));
        batch->segments[batch->nsegments++] = { 0, 32 * WORDS, 0, 0 };
        return KC_OK;
}

struct scene {
        struct kc_gate gate;
        struct kc_gpu_trace trace;
        struct kc_gpu gpus[NDEVICES];
        struct supply supply;
        struct kc_batch_source source;
        struct kc_gpu_feed *feed;
        size_t got[NDEVICES]; /* batches */
};

static void begin(struct scene *s, const uint64_t *weights)
{
        struct kc_error err = {};
        struct kc_gpu_feed_setup setup = {};
        struct kc_gpu_feed_caps caps = kc_gpu_feed_least(WORDS);
        *s = {};
        kc_gate_init(&s->gate, NULL);
        kc_gpu_trace_open(&s->trace, NULL);
        std::fill_n(s->supply.left, NWORKERS, NBATCHES);
        s->source = { &s->supply, next };
        setup.k = K;
        setup.nthreads = NWORKERS;
        setup.ndevices = NDEVICES;
        setup.source = &s->source;
        setup.batch_words = WORDS;
        caps.nwords = BUFFER_BATCHES * WORDS;
        caps.nspans *= BUFFER_BATCHES;
        caps.nbases *= BUFFER_BATCHES;
        caps.nbuffers = KC_FEED_MAX_BUFFERS; /* all batches fit */
        expect_ok(kc_gpu_feed_new(&s->feed, &setup, &s->gate, &s->trace, &err), &err);
        for (int i = 0; i < NDEVICES; i++) {
                bool attached;
                expect_ok(kc_gpu_open(&s->gpus[i], i, 0, &err), &err);
                expect_ok(kc_gpu_feed_attach(s->feed, i, &s->gpus[i], &caps, weights[i], &attached,
                                             &err),
                          &err);
                assert_true(attached);
        }
}

static void take_all(struct scene *s, int device)
{
        struct kc_error err = {};
        struct kc_gpu_reads reads;
        assert_int_equal(cudaSetDevice(device), cudaSuccess);
        for (;;) {
                expect_ok(kc_gpu_feed_take(s->feed, device, &reads, &err), &err);
                if (reads.nkmers == 0)
                        break;
                s->got[device] += reads.nwords / WORDS;
                kc_gpu_feed_give_back(s->feed, device);
        }
        kc_gpu_feed_detach(s->feed, device);
}

static void end(struct scene *s)
{
        kc_gpu_feed_free(s->feed);
        for (struct kc_gpu &gpu : s->gpus)
                kc_gpu_close(&gpu);
        kc_gpu_trace_close(&s->trace);
        kc_gate_destroy(&s->gate);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
}

static void weights_decide(void **)
{
        static const uint64_t all_weights[][NDEVICES] = { { 1, 1 }, { 1, 3 }, { 4, 1 } };
        for (const uint64_t *weights : all_weights) {
                struct kc_error err = {};
                struct scene s;
                begin(&s, weights);
                for (int worker = 0; worker < NWORKERS; worker++)
                        expect_ok(kc_gpu_feed_read(s.feed, worker, &err), &err);
                for (int i = 0; i < NDEVICES; i++)
                        take_all(&s, i);
                end(&s);
                for (int i = 0; i < NDEVICES; i++)
                        assert_int_equal(s.got[i], NWORKERS * NBATCHES * weights[i] /
                                                           (weights[0] + weights[1]));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(weights_decide),
        };
        kc_emulator_devices(NDEVICES, NDEVICES);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
