/*
 * Tallies of counts on the device, compared with adding them up on the host.
 */
#include "gpu/output/tally.cuh"
#include "tests/gpu/open_gpu.cuh"

#include <algorithm>
#include <vector>

/* What a sink gets, and when it refuses. */
struct taken {
        std::vector<uint32_t> counts;
        bool refuses;
};

static enum kc_status put_counts(void *ctx, const struct kc_run_counts *in, struct kc_error *err)
{
        taken *t = (taken *)ctx;
        assert_null(in->rows);
        t->counts.insert(t->counts.end(), in->counts, in->counts + in->n);
        return t->refuses ? kc_fail(err, KC_EIO, "refused") : KC_OK;
}

static struct kc_run_sink sink_to(taken *t)
{
        struct kc_run_sink sink = {};
        sink.ctx = t;
        sink.filter = { 1, UINT32_MAX };
        sink.put_counts = put_counts;
        return sink;
}

static std::vector<uint32_t> random_counts(uint64_t *state, size_t n)
{
        std::vector<uint32_t> counts(n);
        for (uint32_t &count : counts) {
                const uint64_t random = next_random(state);
                count = random % 50 == 0   ? (uint32_t)(random >> 32) | 1
                        : random % 50 == 1 ? KC_RUN_NROWS - (random >> 32) % 2
                                           : 1 + (uint32_t)(random >> 32) % 100;
        }
        return counts;
}

static enum kc_status tally(struct kc_gpu_tally *t, const std::vector<uint32_t> &counts,
                            const struct kc_run_sink *sink, struct kc_error *err)
{
        enum kc_status status;
        uint32_t *device = NULL;
        KC_TRY(kc_gpu_new(&gpu, &device, counts.size(), err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(device, counts.data(), counts.size() * sizeof *device,
                                       cudaMemcpyHostToDevice, gpu.stream)));
        KC_TRY(kc_gpu_tally_add(t, device, counts.size(), sink, err));
out:
        kc_gpu_delete(&gpu, device, counts.size());
        return status;
}

/* Several arrays, of which one is longer than what the tally takes at a time. */
static void all_counts(void **state)
{
        struct kc_error err = {};
        struct kc_gpu_tally t = {};
        taken out = {};
        const struct kc_run_sink sink = sink_to(&out);
        uint64_t random = 3, rows[KC_RUN_NROWS] = {}, expected[KC_RUN_NROWS] = {};
        struct kc_run_dropped done = {}, sum = {};
        std::vector<uint32_t> big;
        (void)state;
        rows[7] = expected[7] = 5;
        expect_ok(kc_gpu_tally_open(&t, &gpu, &err), &err);
        for (size_t n : { (size_t)1, (size_t)1000, (size_t)0, (size_t)KC_TALLY_NPAIRS + 3000 }) {
                const std::vector<uint32_t> counts = random_counts(&random, n);
                for (uint32_t count : counts) {
                        const struct kc_run_dropped one = { 1, count, count == 1 };
                        kc_run_add_dropped(&sum, &one);
                        if (count < KC_RUN_NROWS)
                                expected[count]++;
                        else
                                big.push_back(count);
                }
                expect_ok(tally(&t, counts, &sink, &err), &err);
        }
        expect_ok(kc_gpu_tally_end(&t, rows, &done, &err), &err);
        std::sort(big.begin(), big.end());
        std::sort(out.counts.begin(), out.counts.end());
        assert_true(big == out.counts);
        assert_memory_equal(rows + 1, expected + 1, sizeof rows - sizeof rows[0]);
        assert_memory_equal(&done, &sum, sizeof sum);
        kc_gpu_tally_close(&t);
        assert_int_equal(gpu.used_nbytes, 0);
}

static void refusing_sink(void **state)
{
        struct kc_error err = {};
        struct kc_gpu_tally t = {};
        taken out = { {}, true };
        const struct kc_run_sink sink = sink_to(&out);
        (void)state;
        expect_ok(kc_gpu_tally_open(&t, &gpu, &err), &err);
        expect_ok(tally(&t, { 1, 2, KC_RUN_NROWS - 1 }, &sink, &err), &err);
        assert_int_equal(tally(&t, { 1, KC_RUN_NROWS }, &sink, &err), KC_EIO);
        kc_gpu_tally_close(&t);
        assert_int_equal(gpu.used_nbytes, 0);
}

int main(void)
{
        need_device();
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_counts),
                cmocka_unit_test(refusing_sink),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
