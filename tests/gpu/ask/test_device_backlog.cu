/*
 * Reads that wait on the device: one thread puts them, with memory for a few at a time; another
 * takes them and checks that they are the same.
 */
#include "gpu/ask/backlog.cuh"
#include "tests/gpu/open_gpu.cuh"

#include "base/parallel.h"

#include <unistd.h>
#include <vector>

enum { NREADS = 3 * KC_ASK_BACKLOG, MAX_NWORDS = 4096 };

struct made_reads {
        std::vector<uint64_t> words;
        std::vector<struct kc_span> spans;
};

struct passing {
        struct kc_gpu gpu; /* of the thread that puts */
        struct kc_gate gate;
        struct kc_ask_backlog backlog;
        std::vector<made_reads> all;
        bool slowly; /* the thread that takes is slow */
        size_t ntaken;
};

static made_reads make_reads(uint64_t seed)
{
        made_reads reads;
        reads.words.resize(1 + next_random(&seed) % MAX_NWORDS);
        reads.spans.resize(1 + next_random(&seed) % 100);
        for (uint64_t &word : reads.words)
                word = next_random(&seed);
        for (struct kc_span &span : reads.spans)
                span.word = (uint32_t)next_random(&seed);
        return reads;
}

/* Put all reads from the same memory, which is overwritten each time. */
static enum kc_status put_all(struct passing *p, struct kc_error *err)
{
        enum kc_status status;
        uint64_t *words = NULL;
        struct kc_span *spans = NULL;
        KC_TRY(kc_gpu_new(&p->gpu, &words, MAX_NWORDS, err));
        KC_TRY(kc_gpu_new(&p->gpu, &spans, 100, err));
        for (const made_reads &reads : p->all) {
                struct kc_gpu_reads put = { words, spans, reads.words.size(), reads.spans.size() };
                put.nkmers = 1;
                KC_TRY(KC_CUDA(cudaMemcpyAsync(words, reads.words.data(),
                                               put.nwords * sizeof *words, cudaMemcpyHostToDevice,
                                               p->gpu.stream)));
                KC_TRY(KC_CUDA(cudaMemcpyAsync(spans, reads.spans.data(),
                                               put.nspans * sizeof *spans, cudaMemcpyHostToDevice,
                                               p->gpu.stream)));
                KC_TRY(kc_ask_backlog_put(&p->backlog, &put, err));
        }
        kc_ask_backlog_end(&p->backlog);
out:
        kc_gpu_delete(&p->gpu, words, MAX_NWORDS);
        kc_gpu_delete(&p->gpu, spans, 100);
        return status;
}

static enum kc_status take_one(struct passing *p, const struct kc_gpu_reads *reads,
                               struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_stream on = { &gpu, gpu.stream };
        const made_reads &want = p->all[p->ntaken];
        made_reads got;
        got.words.resize(reads->nwords);
        got.spans.resize(reads->nspans);
        KC_TRY(kc_gpu_read(on, got.words.data(), reads->words, reads->nwords, err));
        KC_TRY(kc_gpu_read(on, got.spans.data(), reads->spans, reads->nspans, err));
        if (got.words != want.words || got.spans.size() != want.spans.size() ||
            memcmp(got.spans.data(), want.spans.data(),
                   got.spans.size() * sizeof(struct kc_span)) != 0)
                return kc_fail(err, KC_ECORRUPT, "other reads");
out:
        return status;
}

static enum kc_status take_all(struct passing *p, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        for (;; p->ntaken++) {
                KC_TRY(kc_ask_backlog_take(&p->backlog, gpu.stream, &reads, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(take_one(p, &reads, err));
                if (p->slowly && p->ntaken == 0)
                        usleep(50000);
                kc_ask_backlog_done(&p->backlog);
        }
out:
        return status;
}

static enum kc_status pass(void *ctx, int thread, struct kc_error *err)
{
        struct passing *p = (struct passing *)ctx;
        const enum kc_status status = KC_CUDA(cudaSetDevice(0));
        return status != KC_OK ? status : thread == 0 ? put_all(p, err) : take_all(p, err);
}

static void stop(void *ctx)
{
        kc_gate_stop(&((struct passing *)ctx)->gate);
}

/* Returns the status of both threads. */
static enum kc_status pass_all(struct passing *p, size_t limit_nbytes)
{
        struct kc_error failure = {}, *err = &failure;
        kc_gate_init(&p->gate, NULL);
        expect_ok(kc_gpu_open(&p->gpu, 0, limit_nbytes, err), err);
        expect_ok(kc_ask_backlog_open(&p->backlog, &p->gpu, &p->gate, KC_GATE_DRIVER, err), err);
        const enum kc_status status = kc_parallel(2, pass, stop, p, err);
        kc_ask_backlog_close(&p->backlog);
        kc_gpu_close(&p->gpu);
        kc_gate_destroy(&p->gate);
        return status;
}

static void check(size_t limit_nbytes, bool slowly)
{
        struct passing p = {};
        p.slowly = slowly;
        for (uint64_t i = 0; i < NREADS; i++)
                p.all.push_back(make_reads(i));
        assert_int_equal(pass_all(&p, limit_nbytes), KC_OK);
        assert_int_equal(p.ntaken, NREADS);
}

/* As many reads wait as may at a time. */
static void test_many(void **)
{
        check(64 << 20, false);
        check(64 << 20, true);
}

/* Beside what the test itself takes, there is memory for three copies of reads. */
static void test_little_memory(void **)
{
        check(4 * MAX_NWORDS * sizeof(uint64_t) + (8 << 10), true);
}

static void test_too_large(void **)
{
        struct passing p = {};
        made_reads reads = make_reads(1);
        reads.words.resize(MAX_NWORDS);
        p.all = { reads };
        assert_int_equal(pass_all(&p, 2 * MAX_NWORDS * sizeof(uint64_t)), KC_ENOMEM);
        assert_int_equal(p.ntaken, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_many),
                cmocka_unit_test(test_little_memory),
                cmocka_unit_test(test_too_large),
        };
        need_device();
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
