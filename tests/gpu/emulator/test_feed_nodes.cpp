/*
 * Batches and NUMA nodes: two devices, each next to a node of its own, receive batches that are
 * first on one node and then on the other.
 */
#include "scarcity.h"

#include "gpu/feed/feed.cuh"
#include "tests/gpu/support.cuh"

#include <vector>

enum { K = 31, NDEVICES = 2, NWORKERS = 2, NBATCHES = 100, WORDS = KC_BATCH_MIN_WORDS };
enum { BUFFER_BATCHES = 40, LEAD = BUFFER_BATCHES / 2 };

/* Each worker's batches: one segment that fills the words, which all hold the worker's number. */
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
        std::fill_n(batch->words, WORDS, (uint64_t)worker);
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
        int got[NDEVICES][NWORKERS]; /* batches of each worker */
};

static void begin(struct scene *s)
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
                expect_ok(kc_gpu_feed_attach(s->feed, i, &s->gpus[i], &caps, 1, &attached, &err),
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
                std::vector<uint64_t> words(reads.nwords);
                expect_ok(kc_gpu_read(&s->gpus[device], words.data(), reads.words, words.size(),
                                      &err),
                          &err);
                for (size_t at = 0; at < words.size(); at += WORDS)
                        s->got[device][words[at]]++;
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
        kc_emulator_nodes(0, 0);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
}

/* Worker 0's batches are on node `first`, worker 1's on the other node. */
static void read_all(struct scene *s, int nnodes, int first)
{
        struct kc_error err = {};
        kc_emulator_nodes(nnodes, first);
        begin(s);
        for (int worker = 0; worker < NWORKERS; worker++) {
                kc_emulator_nodes(nnodes, worker == 0 ? first : 1 - first);
                expect_ok(kc_gpu_feed_read(s->feed, worker, &err), &err);
        }
        for (int i = 0; i < NDEVICES; i++)
                take_all(s, i);
        end(s);
        for (int worker = 0; worker < NWORKERS; worker++)
                assert_int_equal(s->got[0][worker] + s->got[1][worker], NBATCHES);
}

/* The first node's batches go to its device until it is half a buffer ahead; from then on, the
 * devices take turns. Then the second node's go to the other device, until that is half a buffer
 * ahead. */
static void batches_go_to_their_node(void **)
{
        for (int first = 0; first < 2; first++) {
                struct scene s;
                read_all(&s, 2, first);
                const int *near = s.got[first], *far = s.got[1 - first];
                assert_int_equal(near[0] - far[0], LEAD);
                assert_int_equal(far[0] + far[1] - near[0] - near[1], LEAD);
        }
}

static void without_nodes(void **)
{
        struct scene s;
        read_all(&s, 0, 0);
        for (int i = 0; i < NDEVICES; i++)
                assert_int_equal(s.got[i][0], NBATCHES / 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(batches_go_to_their_node),
                cmocka_unit_test(without_nodes),
        };
        kc_emulator_devices(NDEVICES, NDEVICES);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
