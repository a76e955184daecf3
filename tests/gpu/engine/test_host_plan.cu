/*
 * The memory plan: whatever the request, a worker's buffers fit a device buffer, the plan is within
 * the bounds, the least --gpu-memory is enough, and the passes have all points.
 */
#include "tests/gpu/support.cuh"

#include "gpu/engine/plan.cuh"

#include <vector>

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

/* A counter for as much input as there can be, in the device memory that is left. */
template <class Key>
static void check_counter(const struct kc_gpu_plan *plan, int k, uint64_t nkmers, size_t limit,
                          bool copies, int npasses)
{
        struct kc_error err = {};
        const kc_superkmer_setup superkmers =
                kc_superkmer_setup_for<Key>(k, kc_gpu_minimizer_length(k, nkmers));
        struct kc_gpu_counter_caps caps;
        const size_t room = limit / 8 * 6; /* besides uploads and encoder, and without reads */
        const struct kc_gpu_plan_input input = {
                &superkmers, KC_TABLE_SLAB, { nkmers / 5, nkmers }, plan->top_nkmers, false,
                copies,      npasses
        };
        expect_ok(kc_gpu_plan_counter(&input, room, &caps, &err), &err);
        assert_true(caps.nwords >=
                    KC_GPU_MIN_RECORDS * kc_gpu_counter_record_nwords(&superkmers, 1, true));
        assert_true(caps.nwords < UINT64_C(1) << 33);
        assert_true(caps.npairs >= KC_GPU_MIN_PAIRS);
        assert_true(kc_gpu_counter_nbytes<Key>(KC_TABLE_SLAB, &caps) +
                            kc_gpu_plan_run_room(k, caps.npairs) <=
                    room);
}

static void check(const struct kc_count_params *params, size_t memory, uint64_t nkmers,
                  size_t limit)
{
        struct kc_gpu_params gpu_params = {};
        struct kc_gpu_plan plan;
        struct kc_error err = {};
        gpu_params.memory_nbytes = memory;
        gpu_params.batch_nkmers = nkmers;
        kc_gpu_plan_host(&plan, params, &gpu_params);
        assert_true(plan.host_words >= KC_BATCH_MIN_WORDS);
        size_t nthreads = (size_t)params->nthreads;
        size_t feed = nthreads * kc_gpu_feed_worker_nbytes(plan.host_words);
        size_t least = nthreads * kc_gpu_feed_worker_nbytes(KC_BATCH_MIN_WORDS);
        assert_true(feed <= params->memory_nbytes / 2 || feed <= least);

        expect_ok(kc_gpu_plan_buffers(&plan, limit, &err), &err);
        struct kc_gpu_feed_caps one = kc_gpu_feed_least(plan.host_words);
        assert_in_range(plan.buffers.nbases, one.nbases, KC_CHUNK_NBASES);
        assert_true(plan.buffers.nwords >= one.nwords);
        assert_true(plan.buffers.nspans >= one.nspans);
        assert_true(kc_gpu_feed_nbytes(&plan.buffers) <= limit / 8);
        for (bool copies : { false, true })
                for (uint64_t n : { UINT64_C(1), UINT64_C(1) << 30, UINT64_C(1) << 40 })
                        kc_key_choose(params->k, [&](auto key) {
                                const int npasses = params->nthreads / 16; /* 0, 1, 8 */
                                check_counter<decltype(key)>(&plan, params->k, n, limit, copies,
                                                             npasses);
                        });
}

static void all_of_it(void **state)
{
        (void)state;
        for (int k : { 1, 2, 11, 31, 32, 33, 64, 65, 96, 97, 128 })
                for (int nthreads : { 1, 16, 128 })
                        for (uint64_t nbases : { UINT64_C(0), UINT64_C(1), UINT64_C(1) << 20,
                                                 UINT64_C(1) << 30, UINT64_C(1) << 50 })
                                for (uint64_t memory : { 1 * MIB, 256 * MIB, 100000 * MIB }) {
                                        struct kc_count_params params =
                                                params_for(k, nthreads, memory, nbases);
                                        check(&params, 0, 0, 256 * MIB);
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
        struct kc_gpu_counter_caps caps;
        struct kc_error err = {};
        const kc_superkmer_setup superkmers = kc_superkmer_setup_for<kc_key64>(31, 13);
        const struct kc_gpu_plan_input input = {
                &superkmers, KC_TABLE_WARPDRIVE, { 100000, 1000000 }, UINT64_MAX, false, false, 0
        };
        (void)state;
        kc_gpu_plan_host(&plan, &params, &gpu_params);
        expect_ok(kc_gpu_plan_buffers(&plan, 130000 * MIB, &err), &err);
        assert_true(kc_gpu_feed_nbytes(&plan.buffers) < 16 * MIB);
        expect_ok(kc_gpu_plan_counter(&input, 50000 * MIB, &caps, &err), &err);
        assert_true(kc_gpu_counter_nbytes<kc_key64>(KC_TABLE_WARPDRIVE, &caps) < 100 * MIB);
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
                expect_ok(kc_gpu_plan_buffers(&plan, 60000 * MIB, &err), &err);
                expect_ok(kc_gpu_plan_parts(&plan, &params, 31, 60000 * MIB, &err), &err);
                if (pinned == 20000 * MIB)
                        assert_in_range(plan.host_nbytes, 15000 * MIB, pinned);
                else if (pinned == 1 * MIB)
                        assert_int_equal(plan.host_nbytes, 0);
                else
                        assert_in_range(plan.host_nbytes, 59000 * MIB, 64000 * MIB);
        }
}

/* Slots for a whole range and for the writers, unless that would require shorter parts. */
static void slots_for_a_range(void **state)
{
        (void)state;
        for (size_t host : { 8 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB, 16000 * MIB }) {
                const struct kc_gpu_encoder_caps caps =
                        kc_gpu_plan_encoder(31, 16, 0, 16000 * MIB, host);
                const size_t nparts = caps.max_pairs / caps.part_pairs;
                assert_true(kc_gpu_encoder_pinned_nbytes<kc_key64>(&caps) <= host);
                if (host >= 256 * MIB)
                        assert_int_equal(nparts, 32);
                if (host >= 1024 * MIB)
                        assert_int_equal(caps.nslots, 32 + 16);
        }
}

/* The estimate grows with what was read, up to a quarter of the memory or 16 GiB. */
static void pairs_to_expect(void **state)
{
        const uint64_t much = UINT64_C(1) << 50;
        (void)state;
        assert_int_equal(kc_gpu_plan_expected_pairs(31, 0, false, 64000 * MIB), 0);
        assert_int_equal(kc_gpu_plan_expected_pairs(31, 8000, false, 64000 * MIB), 1000);
        assert_int_equal(kc_gpu_plan_expected_pairs(31, 8000, true, 64000 * MIB), 250);
        assert_int_equal(kc_gpu_plan_expected_pairs(31, much, true, 1024 * MIB), 64 * MIB);
        assert_int_equal(kc_gpu_plan_expected_pairs(31, much, false, 128000 * MIB), 4096 * MIB);
        assert_int_equal(kc_gpu_plan_expected_pairs(63, much, false, 128000 * MIB), 2048 * MIB);
}

static void too_little(void **state)
{
        struct kc_count_params params = params_for(31, 16, 64000 * MIB, 1000000);
        struct kc_gpu_params gpu_params = {};
        struct kc_gpu_plan plan;
        struct kc_error err = {};
        (void)state;
        kc_gpu_plan_host(&plan, &params, &gpu_params);
        assert_int_equal(kc_gpu_plan_buffers(&plan, 64 * MIB, &err), KC_ENOMEM);
        assert_non_null(strstr(err.message, "64 MiB"));
}

/* ---- passes ---- */

static std::vector<kc_gpu_pass> cut(const std::vector<kc_load> &loads, uint64_t nrecords,
                                    uint64_t nkmers)
{
        const struct kc_load most = { nrecords, nkmers };
        std::vector<kc_gpu_pass> passes(KC_NLOADS);
        passes.resize(kc_gpu_plan_passes(loads.data(), &KC_GPU_ALL_POINTS, &most, passes.data()));
        return passes;
}

struct walks {
        int npasses; /* of one */
        size_t n;
};

/* How often reads on the device are walked over, in so much room, if loads are even. */
static struct walks plan_walks(int k, const struct kc_load &total, bool drops_rare, size_t room,
                               int npasses, int ndevices = 1)
{
        struct kc_error err = {};
        const kc_superkmer_setup superkmers =
                kc_superkmer_setup_for<kc_key64>(k, kc_gpu_minimizer_length(k, total.nkmers));
        const struct kc_gpu_plan_input input = { &superkmers, KC_TABLE_WARPDRIVE,
                                                 total,       UINT64_MAX,
                                                 drops_rare,  false,
                                                 npasses,     ndevices };
        struct kc_gpu_counter_caps caps;
        expect_ok(kc_gpu_plan_counter(&input, room, &caps, &err), &err);
        const uint64_t nrecords =
                caps.nwords / kc_gpu_counter_record_nwords(&superkmers, caps.npasses, false);
        const std::vector<kc_load> loads(KC_NLOADS,
                                         { total.nrecords / KC_NLOADS, total.nkmers / KC_NLOADS });
        return { caps.npasses,
                 kc_ceil_div(cut(loads, nrecords, caps.nkmers).size(), (size_t)caps.npasses) };
}

static void check_walks(const struct walks &found, int npasses, size_t n)
{
        assert_int_equal(found.npasses, npasses);
        assert_int_equal(found.n, n);
}

/* A human genome at 32-fold coverage, 20 and 2.7 Gbases, in the room that an H100 or H200 has. */
static void few_walks(void **state)
{
        const uint64_t million = 1000000;
        const size_t h100 = 48000 * million, h200 = 107000 * million;
        const struct kc_load human = { 9500 * million, 79400 * million };
        const struct kc_load human21 = { 23000 * million, 86000 * million };
        const struct kc_load some = { 1900 * million, 16000 * million };
        const struct kc_load few = { 231 * million, 2150 * million };
        (void)state;
        check_walks(plan_walks(31, human, true, h100, 0), 8, 4);
        check_walks(plan_walks(31, human, true, h200, 0), 8, 2);
        check_walks(plan_walks(31, human, false, h100, 0), 8, 5);
        check_walks(plan_walks(31, human, false, h200, 0), 8, 4);
        check_walks(plan_walks(21, human21, true, h100, 0), 8, 8);
        check_walks(plan_walks(31, some, true, h100, 0), 8, 1);
        check_walks(plan_walks(31, few, true, h100, 0), 1, 1);
        check_walks(plan_walks(31, few, false, h100, 0), 1, 1);
        for (int npasses = 1; npasses <= KC_GPU_MAX_WALK_PASSES; npasses++)
                assert_int_equal(plan_walks(31, human, true, h100, npasses).npasses, npasses);
        /* walks have so few passes that all n devices can share them */
        for (int n = 1; n <= KC_GPU_MAX_DEVICES; n *= 2)
                assert_int_equal(plan_walks(31, human, true, h100, 0, n).npasses,
                                 std::min((int)KC_GPU_MAX_WALK_PASSES, KC_MAX_RECORD_LISTS / n));
        assert_true(plan_walks(31, human, true, h100, 1).n > 8);
        assert_true(plan_walks(31, human, true, 1000 * million, 0).n > 100); /* small passes */
}

/* Every point is in exactly one pass, and a pass is too large only if it has a single load. */
static void check_passes(const std::vector<kc_load> &loads, uint64_t nrecords, uint64_t nkmers)
{
        uint64_t first = 0;
        for (const kc_gpu_pass &pass : cut(loads, nrecords, nkmers)) {
                const uint64_t width = pass.width == 0 ? UINT64_C(1) << 32 : pass.width;
                struct kc_load sum = {};
                assert_int_equal(pass.first, first);
                for (uint64_t i = first >> KC_LOAD_SHIFT; i < (first + width) >> KC_LOAD_SHIFT;
                     i++) {
                        sum.nrecords += loads[i].nrecords;
                        sum.nkmers += loads[i].nkmers;
                }
                assert_int_equal(pass.nkmers, sum.nkmers);
                assert_true((sum.nrecords <= nrecords && sum.nkmers <= nkmers) ||
                            width == UINT64_C(1) << KC_LOAD_SHIFT);
                first += width;
        }
        assert_int_equal(first, UINT64_C(1) << 32);
}

static void passes_have_all_points(void **state)
{
        uint64_t random = 8;
        std::vector<kc_load> loads(KC_NLOADS);
        (void)state;
        check_passes(loads, 1, 1);
        for (kc_load &load : loads) {
                load.nrecords = next_random(&random) % 1000;
                load.nkmers = 10 * load.nrecords;
        }
        loads[77] = { 5000000, 5000000 }; /* one minimizer that is everywhere */
        loads[4095].nkmers = 900000;
        for (uint64_t nrecords : { 1, 4096, 20000, 1000000, 10000000 })
                check_passes(loads, nrecords, 9 * nrecords);
        assert_int_equal(cut(loads, 10000000, 100000000).size(), 1);
}

/* Each of these points is in exactly one share, and shares have about the same number of k-mers. */
static void check_shares_of(const kc_gpu_share &points, const std::vector<kc_load> &loads, size_t n,
                            size_t wanted, uint64_t most)
{
        std::vector<kc_gpu_share> shares(n);
        size_t first = points.first;
        assert_int_equal(kc_gpu_plan_shares(loads.data(), &points, n, shares.data()), wanted);
        shares.resize(wanted);
        for (const kc_gpu_share &share : shares) {
                uint64_t nkmers = 0;
                assert_int_equal(share.first, first);
                assert_true(share.end > first);
                for (; first < share.end; first++)
                        nkmers += loads[first].nkmers;
                assert_true(nkmers <= most);
        }
        assert_int_equal(first, points.end);
}

static void check_shares(const std::vector<kc_load> &loads, size_t n, size_t wanted, uint64_t most)
{
        check_shares_of(KC_GPU_ALL_POINTS, loads, n, wanted, most);
}

/* Every point belongs to exactly one engine, and every engine has some. */
static void engines_have_all_points(void **state)
{
        std::vector<kc_load> loads(KC_NLOADS, kc_load{ 10, 100 });
        struct kc_gpu_params params = {};
        (void)state;
        assert_int_equal(kc_gpu_plan_points(&params).first, 0);
        assert_int_equal(kc_gpu_plan_points(&params).end, KC_NLOADS);
        for (int n : { 1, 2, 3, 7, 4095, KC_GPU_MAX_ENGINES + 0 }) {
                size_t first = 0;
                params.nengines = n;
                for (params.engine = 0; params.engine < n; params.engine++) {
                        const kc_gpu_share own = kc_gpu_plan_points(&params);
                        assert_int_equal(own.first, first);
                        assert_true(own.end > first);
                        first = own.end;
                        if (n < 10)
                                check_shares_of(own, loads, 3, 3,
                                                (own.end - own.first) * 100 / 3 + 100);
                }
                assert_int_equal(first, KC_NLOADS);
        }
        for (kc_load &load : loads)
                load = {};
        check_shares_of({ 100, 200 }, loads, 4, 1, 0); /* no k-mers: one share */
}

static void shares_have_all_points(void **state)
{
        std::vector<kc_load> loads(KC_NLOADS);
        (void)state;
        check_shares(loads, 1, 1, 0);
        check_shares(loads, 8, 1, 0); /* no k-mers: one share */
        for (kc_load &load : loads)
                load = { 10, 100 };
        for (size_t n = 1; n <= 16; n++)
                check_shares(loads, n, n, KC_NLOADS * 100 / n + 100);
        loads[1000].nkmers = 10000000; /* cannot be divided; the others divide the rest */
        check_shares(loads, 4, 4, 10000100);
        for (kc_load &load : loads)
                load = {};
        loads[7].nkmers = loads[9].nkmers = 50;
        check_shares(loads, 3, 2, 50);
        std::vector<kc_gpu_pass> passes(KC_NLOADS);
        const struct kc_gpu_share share = { 8, 10 };
        const struct kc_load most = { 1000, 1000 };
        assert_int_equal(kc_gpu_plan_passes(loads.data(), &share, &most, passes.data()), 1);
        assert_int_equal(passes[0].first, 8u << KC_LOAD_SHIFT);
        assert_int_equal(passes[0].width, 2u << KC_LOAD_SHIFT);
        assert_int_equal(passes[0].nkmers, 50);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_of_it),
                cmocka_unit_test(small_input_takes_little),
                cmocka_unit_test(pinned_memory_has_its_own_bound),
                cmocka_unit_test(slots_for_a_range),
                cmocka_unit_test(pairs_to_expect),
                cmocka_unit_test(too_little),
                cmocka_unit_test(few_walks),
                cmocka_unit_test(passes_have_all_points),
                cmocka_unit_test(shares_have_all_points),
                cmocka_unit_test(engines_have_all_points),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
