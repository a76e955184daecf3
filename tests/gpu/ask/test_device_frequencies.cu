/*
 * The histogram of counts, against one that std::map makes.
 */
#include "gpu/ask/frequencies.cuh"
#include "tests/gpu/open_gpu.cuh"

#include <map>
#include <vector>

static struct kc_error error, *err = &error;

typedef std::map<uint32_t, uint64_t> histogram;

static enum kc_status put(void *ctx, uint32_t count, uint64_t n, struct kc_error *)
{
        (*(histogram *)ctx)[count] += n;
        return KC_OK;
}

static void clear(void *ctx)
{
        ((histogram *)ctx)->clear();
}

static void add(struct kc_ask_frequencies *f, const std::vector<uint32_t> &counts,
                const struct kc_ask_tally *tally)
{
        const size_t n = counts.size();
        struct kc_ask_repeats *rest;
        uint32_t *device;
        expect_ok(kc_gpu_new(&gpu, &rest, n, err), err);
        expect_ok(kc_gpu_new(&gpu, &device, n, err), err);
        expect_ok(KC_CUDA(cudaMemcpyAsync(device, counts.data(), n * sizeof *device,
                                          cudaMemcpyHostToDevice, gpu.stream)),
                  err);
        expect_ok(kc_ask_frequencies_add(f, device, n, rest, tally, err), err);
        expect_ok(KC_CUDA(cudaStreamSynchronize(gpu.stream)), err);
        kc_gpu_delete(&gpu, rest, n);
        kc_gpu_delete(&gpu, device, n);
}

/* Several arrays, in a table of so many slots. */
static void check(const std::vector<std::vector<uint32_t>> &arrays, size_t nslots)
{
        struct kc_ask_frequencies f;
        histogram want, got;
        const struct kc_ask_tally tally = { &got, put, clear };
        uint64_t n = 0;
        expect_ok(kc_ask_frequencies_open(&f, &gpu, nslots, err), err);
        add(&f, { 1, 5000, UINT32_MAX }, &tally);
        got.clear();
        expect_ok(kc_ask_frequencies_clear(&f, err), err);
        for (const std::vector<uint32_t> &counts : arrays) {
                add(&f, counts, &tally);
                n += counts.size();
                for (uint32_t count : counts)
                        want[count]++;
        }
        expect_ok(kc_ask_frequencies_end(&f, &tally, err), err);
        assert_true(got == want);
        assert_int_equal(f.ntaken, n);
        kc_ask_frequencies_close(&f);
}

/* Counts of all sizes, most of them small, some again and again. */
static std::vector<uint32_t> some_counts(size_t n, uint64_t seed)
{
        std::vector<uint32_t> counts(n);
        for (size_t i = 0; i < n; i++) {
                const uint64_t r = next_random(&seed);
                counts[i] = i > 0 && r % 3 == 0 ? counts[i - 1] : (uint32_t)(r >> 8) >> r % 32;
        }
        return counts;
}

static void test_all_counts(void **)
{
        for (size_t nslots : { 1, 8, 1 << 12 })
                check({ some_counts(test_size(1 << 20), 1), some_counts(test_size(1 << 16), 2) },
                      nslots);
}

/* Around what the small counters hold, and the largest. */
static void test_bounds(void **)
{
        const std::vector<uint32_t> bounds = {
                0,         1, KC_ASK_NSMALL - 1, KC_ASK_NSMALL, KC_ASK_NSMALL + 1, UINT32_MAX - 1,
                UINT32_MAX
        };
        check({ bounds, {}, bounds, { 0 } }, 64);
        for (uint32_t count : bounds)
                check({ std::vector<uint32_t>(test_size(1 << 20), count) }, 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_counts),
                cmocka_unit_test(test_bounds),
        };
        need_device();
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
