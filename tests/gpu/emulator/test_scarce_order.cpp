/*
 * Ordering pairs when others take the device's memory, tried at each allocation: the run is the
 * same or the result is KC_ENOMEM. A lack of memory for a second run is no reason to fail.
 */
#include "scarcity.h"

#include "gpu/order/order_internal.cuh"
#include "tests/gpu/support.cuh"

#include <vector>

enum { N = 20000, NDISTINCT = N / 4, K = 31 };

static void make_pairs(struct kc_gpu *gpu, struct kc_order_input<kc_key64> *in)
{
        struct kc_error err = {};
        uint64_t state = 1;
        *in = { K, N };
        expect_ok(kc_gpu_new(gpu, &in->kmers, N, &err), &err);
        expect_ok(kc_gpu_new(gpu, &in->kmers_tmp, N, &err), &err);
        expect_ok(kc_gpu_new(gpu, &in->counts, N, &err), &err);
        expect_ok(kc_gpu_new(gpu, &in->counts_tmp, N, &err), &err);
        cudaDeviceSynchronize();
        for (size_t i = 0; i < N; i++) { /* the emulated device's memory is the host's */
                uint64_t which = next_random(&state) % NDISTINCT;
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
        struct kc_order_input<kc_key64> in;
        struct kc_gpu_run<kc_key64> run;
        struct ordered out = {};
        uint64_t nsaturated = 0;
        bool done;
        expect_ok(kc_gpu_open(&gpu, 0, 0, &err), &err);
        make_pairs(&gpu, &in);
        kc_emulator_scarcity(n < 0 ? KC_SCARCITY_NONE : KC_SCARCITY_TAKEN, n);
        out.status =
                kc_order_by_buckets(&gpu, &in, &run, &nsaturated, &done, (cudaEvent_t *)NULL, &err);
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

static void no_room_for_two_runs(void **)
{
        struct ordered wanted = order(-1), got;
        int nfailed = 0, nthrough = 0;
        assert_int_equal(wanted.status, KC_OK);
        for (long n = 0; got = order(n), got.met; n++) {
                if (got.status == KC_OK)
                        assert_true(got.kmers == wanted.kmers && got.counts == wanted.counts);
                else
                        assert_int_equal(got.status, KC_ENOMEM);
                nthrough += got.status == KC_OK;
                nfailed += got.status != KC_OK;
        }
        assert_int_equal(nthrough, 2); /* the second run's k-mers, and its counts */
        assert_int_equal(nfailed, 3);  /* the tables, and the first run's */
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(no_room_for_two_runs) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
