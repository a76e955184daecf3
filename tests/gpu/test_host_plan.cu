/*
 * The memory plan: whatever the request, a worker's buffers fit a batch, the plan is within the
 * bounds, and the least --gpu-memory is enough.
 */
#include "tests/gpu/support.cuh"

#include "gpu/count/count.cuh"
#include "gpu/plan.cuh"

#define MIB ((size_t)1 << 20)

static struct kc_count_params params_for(int k, int nthreads, uint64_t memory, uint64_t nbases)
{
        struct kc_count_params params = {};
        params.k = k;
        params.nthreads = nthreads;
        params.memory_nbytes = memory;
        params.expected_nbases = nbases;
        return params;
}

template <class Key>
static void check_batch(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                        size_t limit)
{
        struct kc_error err = {};
        expect_ok(kc_gpu_plan_batch<Key>(plan, params, limit, &err), &err);
        struct kc_gpu_feed_caps least = kc_gpu_feed_least(plan->host_words);
        assert_true(plan->batch.nkmers >= least.nkmers);
        assert_true(plan->batch.nwords >= least.nwords);
        assert_true(plan->batch.nspans >= least.nspans);
        assert_true(plan->batch.nwords < UINT64_C(1) << 32);
        assert_true(kc_gpu_feed_nbytes(&plan->batch) +
                            kc_gpu_counter_nbytes<Key>(params->k, plan->batch.nkmers) <=
                    limit / 2);
}

static void check(const struct kc_count_params *params, size_t memory, uint64_t nkmers,
                  size_t limit)
{
        struct kc_gpu_params gpu_params = {};
        struct kc_gpu_plan plan;
        gpu_params.memory_nbytes = memory;
        gpu_params.batch_nkmers = nkmers;
        kc_gpu_plan_host(&plan, params, &gpu_params);
        assert_true(plan.host_words >= KC_BATCH_MIN_WORDS);
        size_t nthreads = (size_t)params->nthreads;
        size_t feed = nthreads * kc_gpu_feed_worker_nbytes(plan.host_words);
        size_t least = nthreads * kc_gpu_feed_worker_nbytes(KC_BATCH_MIN_WORDS);
        assert_true(feed <= params->memory_nbytes / 2 || feed <= least);
        if (params->k <= 32)
                check_batch<kc_key64>(&plan, params, limit);
        else
                check_batch<kc_key128>(&plan, params, limit);
}

static void all_of_it(void **state)
{
        (void)state;
        for (int k : { 1, 2, 11, 31, 32, 33, 64 })
                for (int nthreads : { 1, 16, 128 })
                        for (uint64_t nbases : { UINT64_C(0), UINT64_C(1), UINT64_C(1) << 20,
                                                 UINT64_C(1) << 30, UINT64_C(1) << 50 })
                                for (uint64_t memory : { 1 * MIB, 256 * MIB, 100000 * MIB }) {
                                        struct kc_count_params params =
                                                params_for(k, nthreads, memory, nbases);
                                        check(&params, 256 * MIB, 0, 256 * MIB);
                                        check(&params, 256 * MIB, 4096, 256 * MIB);
                                        check(&params, 0, 0, 2000 * MIB);
                                        check(&params, 0, 0, 130000 * MIB);
                                        check(&params, 0, UINT64_C(1) << 40, 130000 * MIB);
                                }
}

static void small_input_takes_little(void **state)
{
        struct kc_count_params params = params_for(31, 16, 64000 * MIB, 1000000);
        struct kc_gpu_params gpu_params = {};
        struct kc_gpu_plan plan;
        struct kc_error err = {};
        (void)state;
        kc_gpu_plan_host(&plan, &params, &gpu_params);
        expect_ok(kc_gpu_plan_batch<kc_key64>(&plan, &params, 130000 * MIB, &err), &err);
        assert_true(kc_gpu_feed_nbytes(&plan.batch) < 16 * MIB);
        assert_true(kc_gpu_counter_nbytes<kc_key64>(31, plan.batch.nkmers) < 160 * MIB);
}

static void pinned_memory_has_its_own_bound(void **state)
{
        struct kc_count_params params = params_for(31, 16, 64000 * MIB, 0);
        struct kc_gpu_params gpu_params = {};
        struct kc_error err = {};
        (void)state;
        for (uint64_t pinned : { 0 * MIB, 1 * MIB, 20000 * MIB, 100000 * MIB }) {
                struct kc_gpu_plan plan;
                gpu_params.pinned_nbytes = pinned;
                kc_gpu_plan_host(&plan, &params, &gpu_params);
                expect_ok(kc_gpu_plan_batch<kc_key64>(&plan, &params, 60000 * MIB, &err), &err);
                expect_ok(kc_gpu_plan_parts<kc_key64>(&plan, &params, 60000 * MIB, &err), &err);
                if (pinned == 20000 * MIB)
                        assert_in_range(plan.host_nbytes, 15000 * MIB, pinned);
                else if (pinned == 1 * MIB)
                        assert_int_equal(plan.host_nbytes, 0);
                else
                        assert_in_range(plan.host_nbytes, 59000 * MIB, 64000 * MIB);
        }
}

static void too_little(void **state)
{
        struct kc_count_params params = params_for(31, 16, 64000 * MIB, 1000000);
        struct kc_gpu_params gpu_params = {};
        struct kc_gpu_plan plan;
        struct kc_error err = {};
        (void)state;
        kc_gpu_plan_host(&plan, &params, &gpu_params);
        assert_int_equal(kc_gpu_plan_batch<kc_key64>(&plan, &params, 64 * MIB, &err), KC_ENOMEM);
        assert_non_null(strstr(err.message, "64 MiB"));
}

/* If little memory is free and the user gave no bound, the advised bound is enough. */
static void little_is_free(void **state)
{
        struct kc_count_params params = params_for(55, 16, 64000 * MIB, 0);
        struct kc_gpu_params gpu_params = {};
        (void)state;
        for (size_t limit = 256 * MIB; limit < 1000 * MIB; limit += 100 * MIB) {
                struct kc_gpu_plan plan;
                struct kc_error err = {};
                gpu_params.memory_nbytes = 0;
                kc_gpu_plan_host(&plan, &params, &gpu_params);
                if (kc_gpu_plan_batch<kc_key128>(&plan, &params, limit, &err) != KC_OK)
                        assert_int_equal(err.needed_nbytes, limit);
                else
                        assert_true(limit > 800 * MIB);
                gpu_params.memory_nbytes = limit;
                kc_gpu_plan_host(&plan, &params, &gpu_params);
                err = {};
                expect_ok(kc_gpu_plan_batch<kc_key128>(&plan, &params, limit, &err), &err);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_of_it),
                cmocka_unit_test(small_input_takes_little),
                cmocka_unit_test(pinned_memory_has_its_own_bound),
                cmocka_unit_test(too_little),
                cmocka_unit_test(little_is_free),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
