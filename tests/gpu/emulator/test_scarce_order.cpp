/*
 * Ordering pairs when others take the device's memory, tried at each allocation: the result is
 * KC_ENOMEM, and nothing is leaked.
 */
#include "scarcity.h"

#include "gpu/order/order_internal.cuh"
#include "tests/gpu/support.cuh"

#include <vector>

enum { N = 20000, K = 31 };

static void make_pairs(struct kc_gpu *gpu, struct kc_order_input<kc_key64> *in)
{
        struct kc_error err = {};
        *in = { K, N };
        expect_ok(kc_gpu_new(gpu, &in->kmers, N, &err), &err);
        expect_ok(kc_gpu_new(gpu, &in->kmers_tmp, N, &err), &err);
        expect_ok(kc_gpu_new(gpu, &in->counts, N, &err), &err);
        expect_ok(kc_gpu_new(gpu, &in->counts_tmp, N, &err), &err);
        cudaDeviceSynchronize();
        for (size_t i = 0; i < N; i++) { /* the emulated device's memory is the host's */
                uint64_t which = i;
                in->kmers[i] = next_random(&which) >> 2;
                in->counts[i] = 1 + (uint32_t)(i % 3);
        }
}

static void free_pairs(struct kc_gpu *gpu, struct kc_order_input<kc_key64> *in)
{
        kc_gpu_delete(gpu, in->kmers, N);
        kc_gpu_delete(gpu, in->kmers_tmp, N);
        kc_gpu_delete(gpu, in->counts, N);
        kc_gpu_delete(gpu, in->counts_tmp, N);
}

struct ordered {
        std::vector<kc_key64> kmers;
        std::vector<uint32_t> counts;
        enum kc_status status;
        bool met;
};

/* Others take the memory after n allocations; n < 0: never. */
static struct ordered order(long n)
{
        struct kc_error err = {};
        struct kc_gpu gpu;
        kc_order_input<kc_key64> in = {};
        struct kc_gpu_run<kc_key64> run;
        struct ordered out = {};
        bool done;
        expect_ok(kc_gpu_open(&gpu, 0, 0, &err), &err);
        make_pairs(&gpu, &in);
        kc_emulator_scarcity(n < 0 ? KC_SCARCITY_NONE : KC_SCARCITY_TAKEN, n);
        out.status = kc_order_by_buckets(&gpu, &in, &run, &done, (cudaEvent_t *)NULL, &err);
        out.met = kc_emulator_was_scarce();
        kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
        cudaDeviceSynchronize();
        if (out.status == KC_OK) {
                assert_true(done);
                assert_int_equal(run.cap, run.n);
                out.kmers.assign(run.kmers, run.kmers + run.n);
                out.counts.assign(run.counts, run.counts + run.n);
        }
        kc_gpu_run_free(&gpu, &run);
        free_pairs(&gpu, &in);
        assert_int_equal(gpu.used_nbytes, 0);
        kc_gpu_close(&gpu);
        return out;
}

static void no_room(void **)
{
        struct ordered wanted = order(-1), got;
        int nfailed = 0;
        assert_int_equal(wanted.status, KC_OK);
        for (long n = 0; got = order(n), got.met; n++) {
                assert_int_equal(got.status, KC_ENOMEM);
                nfailed++;
        }
        assert_true(got.kmers == wanted.kmers && got.counts == wanted.counts);
        assert_int_equal(nfailed, 3); /* the tables, and the run's k-mers and counts */
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(no_room) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
