/*
 * SlabAlloc on the device: no slab is given out twice, and all are given out before it reports that
 * none is left.
 */
#include "tests/gpu/maps/slab_support.cuh"

#include <set>

static struct kc_slab_pool_params pool_params(uint32_t nblocks, uint32_t max_supers, bool light)
{
        struct kc_slab_pool_params params = {};
        params.nblocks = nblocks;
        params.max_supers = max_supers;
        params.light = light;
        return params;
}

struct test_pool {
        struct kc_slab_pool pool = {};
        struct kc_error err = {};
        std::set<uint32_t> taken;

        test_pool(struct kc_gpu *gpu, const struct kc_slab_pool_params &params)
        {
                expect_ok(kc_slab_pool_init(&pool, { gpu, gpu->stream }, &params, &err), &err);
        }

        ~test_pool()
        {
                kc_slab_pool_free(&pool);
        }

        /* Take n, of which the pool cannot give `missing`. */
        void take(size_t n, size_t missing, int at_a_time)
        {
                device_array<uint32_t> addresses(n);
                err = {};
                enum kc_status status =
                        kc_slab_pool_take(&pool, addresses.data, n, at_a_time, &err);
                assert_int_equal(status, missing > 0 ? KC_ENOMEM : KC_OK);
                size_t nmissing = 0;
                for (uint32_t address : addresses.get()) {
                        nmissing += address == 0;
                        if (address == 0)
                                continue;
                        assert_true(taken.insert(address).second);
                        assert_true(address >> 24 < pool.nsupers);
                        assert_true(kc_slab_unit_of(address) / KC_SLAB_BLOCK_NSLABS <
                                    pool.params.nblocks);
                }
                assert_int_equal(nmissing, missing);
                expect_nused();
        }

        /* Give back every nth slab. */
        void give(size_t nth)
        {
                std::vector<uint32_t> some(1, 0);
                size_t i = 0;
                for (auto at = taken.begin(); at != taken.end(); i++) {
                        if (i % nth == 0) {
                                some.push_back(*at);
                                at = taken.erase(at);
                        } else {
                                ++at;
                        }
                }
                device_array<uint32_t> addresses(some);
                expect_ok(kc_slab_pool_give(&pool, addresses.data, some.size(), &err), &err);
                expect_nused();
        }

        void expect_nused()
        {
                uint64_t nused;
                expect_ok(kc_slab_pool_nused(&pool, &nused, &err), &err);
                assert_int_equal(nused, taken.size());
        }
};

static void test_all_slabs_are_had(void **unused)
{
        (void)unused;
        open_gpu gpu;
        for (int at_a_time : { 1, 3, 32 })
                for (uint32_t nblocks : { 1, 2, 5 })
                        for (uint32_t nsupers : { 1, 3 }) {
                                test_pool pool(&gpu.gpu,
                                               pool_params(nblocks, nsupers, nblocks % 2));
                                size_t n = (size_t)nblocks * nsupers * 1024 - 1;
                                pool.take(n, 0, at_a_time);
                                pool.take(33, 33, at_a_time);
                                pool.give(3);
                                pool.take((n + 2) / 3 + 5, 5, at_a_time);
                                assert_int_equal(pool.taken.size(), n);
                        }
}

static void test_sizes(void **unused)
{
        (void)unused;
        open_gpu gpu;
        for (size_t n : { 0, 1, 31, 32, 33, 255, 256, 257, 1022, 1023 }) {
                test_pool pool(&gpu.gpu, pool_params(1, 1, false));
                pool.take(n, 0, 32);
                pool.take(1023 - n, 0, 1);
                pool.take(1, 1, 1);
        }
}

/* Rounds of taking and giving back while the pool grows; addresses stay valid. */
static void test_growth(void **unused)
{
        (void)unused;
        open_gpu gpu;
        for (bool light : { false, true }) {
                struct kc_slab_pool_params params = pool_params(2, 20, light);
                params.max_changes = 1;
                test_pool pool(&gpu.gpu, params);
                for (int round = 0; round < 8; round++) {
                        pool.take(3000 + 100 * (size_t)round, 0, round % 2 ? 1 : 32);
                        pool.give(2);
                }
                assert_true(pool.pool.nsupers > 2 && pool.pool.nsupers <= 20);
                expect_ok(kc_slab_pool_clear(&pool.pool, &pool.err), &pool.err);
                pool.taken.clear();
                pool.expect_nused();
                pool.take(1000, 0, 32);
        }
}

/* Check that slabs are zero if `fresh`, otherwise as an earlier call left them; then write them. */
__global__ static void write_kernel(struct kc_slab_pool_view view, const uint32_t *addresses,
                                    uint32_t n, uint32_t *nwrong, bool fresh)
{
        __shared__ struct kc_slab_pool_shared shared;
        struct kc_slab_pool_warp pool;
        pool.begin(view, &shared);
        for (uint32_t i = threadIdx.x / 32; i < n; i += blockDim.x / 32) {
                uint32_t *word = (uint32_t *)pool.slab(addresses[i]) + threadIdx.x % 32;
                uint32_t wanted = fresh ? 0 : addresses[i] * 32 + threadIdx.x % 32;
                if (*word != wanted)
                        atomicAdd(nwrong, 1u);
                *word = addresses[i] * 32 + threadIdx.x % 32;
        }
}

static void write_slabs(struct kc_slab_pool *pool, const std::vector<uint32_t> &addresses,
                        bool fresh)
{
        device_array<uint32_t> device(addresses), nwrong(std::vector<uint32_t>(1, 0));
        write_kernel<<<1, 256, 0, pool->on.stream>>>(kc_slab_pool_view_of(pool), device.data,
                                                     (uint32_t)addresses.size(), nwrong.data,
                                                     fresh);
        expect_cuda(cudaGetLastError());
        assert_int_equal(nwrong.get()[0], 0);
}

static void test_slabs_are_apart(void **unused)
{
        (void)unused;
        open_gpu gpu;
        for (bool light : { false, true }) {
                test_pool pool(&gpu.gpu, pool_params(1, 4, light));
                pool.take(1000, 0, 32);
                std::vector<uint32_t> first(pool.taken.begin(), pool.taken.end());
                write_slabs(&pool.pool, first, true);
                pool.take(2000, 0, 32);
                for (uint32_t address : first)
                        pool.taken.erase(address);
                write_slabs(&pool.pool, { pool.taken.begin(), pool.taken.end() }, true);
                write_slabs(&pool.pool, first, false);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_slabs_are_had),
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_growth),
                cmocka_unit_test(test_slabs_are_apart),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
