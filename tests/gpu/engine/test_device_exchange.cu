/*
 * One merge by several devices: whatever runs they have, on the device or on the host, the ranges
 * that they take are the merge of all runs.
 */
#include "gpu/engine/devices/exchange.cuh"
#include "tests/gpu/copy_support.cuh"

#include <map>
#include <thread>

enum { LEAST_PAIRS = 1 << 16 };

template <class Key> struct member {
        struct kc_gpu gpu;
        struct kc_gpu_lsm<Key> *lsm;
        std::map<size_t, pairs<Key>> ranges; /* that it took */
        enum kc_status status;
};

template <class Key> struct crowd {
        struct kc_gate gate;
        struct kc_gpu_exchange<Key> exchange;
        std::vector<struct member<Key>> members;
        std::vector<pairs<Key>> runs; /* of all */
};

/* ---- memory ---- */

template <class Key>
static void open_member(struct member<Key> *m, int device, struct kc_gate *gate)
{
        struct kc_error err = {};
        struct kc_gpu_lsm_setup setup = {};
        setup.host_nbytes = 1 << 20;
        setup.chunk_nbytes = 64 << 10;
        setup.tmp_dir = "/tmp";
        setup.gate = gate;
        expect_ok(kc_gpu_open(&m->gpu, device, 64 << 20, all_devices(), &err), &err);
        expect_ok(kc_gpu_lsm_new(&m->lsm, &m->gpu, &setup, &err), &err);
}

template <class Key> static void open_crowd(struct crowd<Key> *c, size_t n)
{
        struct kc_error err = {};
        int ndevices;
        expect_ok(kc_gpu_devices(NULL, 0, &ndevices, &err), &err);
        kc_gate_init(&c->gate, NULL);
        c->exchange.gate = &c->gate;
        c->members.resize(n);
        for (size_t i = 0; i < n; i++)
                open_member(&c->members[i], (int)i % ndevices, &c->gate);
}

template <class Key> static void close_crowd(struct crowd<Key> *c)
{
        kc_gpu_exchange_free(&c->exchange);
        for (struct member<Key> &m : c->members) {
                check(cudaSetDevice(m.gpu.device));
                kc_gpu_lsm_free(m.lsm);
                assert_int_equal(m.gpu.used_nbytes, 0);
                kc_gpu_close(&m.gpu);
        }
        check(cudaSetDevice(0));
        kc_gate_destroy(&c->gate);
}

/* moves: to the host, and to files from there. */
template <class Key>
static void insert(struct crowd<Key> *c, size_t number, const pairs<Key> &run, bool moves)
{
        struct kc_error err = {};
        struct member<Key> *m = &c->members[number];
        check(cudaSetDevice(m->gpu.device));
        struct kc_gpu_run<Key> device = to_device(&m->gpu, run, run.size());
        expect_ok(kc_gpu_lsm_insert(m->lsm, &device, &err), &err);
        c->runs.push_back(run);
        if (moves) /* fails, because the LSM itself takes some memory */
                assert_int_equal(kc_gpu_lsm_make_room(m->lsm, m->gpu.limit_nbytes, &err),
                                 KC_ENOMEM);
}

/* ---- merging ---- */

template <class Key> static void join(struct crowd<Key> *c, size_t number)
{
        struct kc_error err = {};
        struct member<Key> *m = &c->members[number];
        check(cudaSetDevice(m->gpu.device));
        expect_ok(kc_gpu_exchange_join(&c->exchange, (int)number, &m->gpu, m->lsm,
                                       number == 0 ? KC_GATE_DRIVER : KC_GATE_FOLLOWERS,
                                       LEAST_PAIRS, &err),
                  &err);
}

/* Until the end, or until the exchange fails; after `most` ranges, stop everything. */
template <class Key> static void take(struct crowd<Key> *c, size_t number, size_t most)
{
        struct kc_error err = {};
        struct member<Key> *m = &c->members[number];
        struct kc_gpu_run<Key> range;
        size_t i = 0;
        check(cudaSetDevice(m->gpu.device));
        while (i < c->exchange.deal.nranges) {
                if (m->ranges.size() == most)
                        kc_gate_stop(&c->gate);
                m->status = kc_gpu_exchange_next(&c->exchange, (int)number, &i, &range, &err);
                if (m->status != KC_OK)
                        break;
                if (i < c->exchange.deal.nranges)
                        to_host(&m->gpu, &range, &m->ranges[i]);
        }
}

template <class Key, class Work> static void do_at_once(struct crowd<Key> *c, Work work)
{
        std::vector<std::thread> threads;
        for (size_t i = 0; i < c->members.size(); i++)
                threads.emplace_back([=] { work(c, i); });
        for (std::thread &thread : threads)
                thread.join();
}

template <class Key> static void begin(struct crowd<Key> *c, size_t usual)
{
        struct kc_error err = {};
        do_at_once(c, join<Key>);
        expect_ok(kc_gpu_exchange_begin(&c->exchange, usual, &err), &err);
}

template <class Key> static uint64_t sum_saturated(struct crowd<Key> *c)
{
        struct kc_error err = {};
        uint64_t sum = 0, own;
        for (struct member<Key> &m : c->members) {
                check(cudaSetDevice(m.gpu.device));
                expect_ok(kc_gpu_lsm_nsaturated(m.lsm, &own, &err), &err);
                sum += own;
        }
        return sum;
}

template <class Key> static void expect_merged(struct crowd<Key> *c)
{
        uint64_t nsaturated = 0;
        pairs<Key> got, wanted = merge_plainly(c->runs, &nsaturated);
        const size_t n = c->members.size();
        for (size_t i = 0; i < c->exchange.deal.nranges; i++) {
                const struct member<Key> &m = c->members[i % n];
                assert_int_equal(m.ranges.count(i), 1);
                const pairs<Key> &range = m.ranges.at(i);
                got.insert(got.end(), range.begin(), range.end());
        }
        for (const struct member<Key> &m : c->members)
                assert_int_equal(m.status, KC_OK);
        expect_equal(got, wanted);
        assert_int_equal(sum_saturated(c), nsaturated);
}

/* Each member has at most nruns runs of at most npairs pairs, whose k-mers are drawn from the same
 * `ndistinct` ones. */
template <class Key>
static void try_exchange(size_t nmembers, size_t nruns, size_t npairs, uint64_t ndistinct,
                         uint64_t *state)
{
        struct crowd<Key> c = {
        };
        open_crowd(&c, nmembers);
        for (size_t i = 0; i < nmembers; i++)
                for (size_t n = next_random(state) % (nruns + 1); n > 0; n--)
                        insert(&c, i,
                               random_run<Key>(1 + next_random(state) % npairs, ndistinct, state,
                                               ndistinct < 10000 ? 32 : 8),
                               next_random(state) % 3 == 0);
        begin(&c, 1);
        do_at_once(&c, [](struct crowd<Key> *crowd, size_t i) { take(crowd, i, SIZE_MAX); });
        expect_merged(&c);
        close_crowd(&c);
}

template <class Key> static void try_exchanges(void)
{
        uint64_t state = 11;
        const uint64_t many = (uint64_t)1 << 40;
        for (size_t nmembers : { 2, 3, 5, 8 }) {
                try_exchange<Key>(nmembers, 3, 20000, many, &state);
                try_exchange<Key>(nmembers, 2, 30000, 5000, &state);
        }
        try_exchange<Key>(1, 4, 20000, many, &state);
        try_exchange<Key>(3, 1, 1, many, &state); /* nearly nothing */
        try_exchange<Key>(3, 0, 1, many, &state);
        try_exchange<Key>(4, 6, 3000, 2, &state);
}

static void test_exchanges(void **)
{
#define TRY(Key) try_exchanges<Key>();
        KC_GPU_KEYS(TRY)
#undef TRY
}

/* All pairs are on one device, but all devices merge. */
static void test_one_has_all(void **)
{
        uint64_t state = 12;
        for (size_t owner = 0; owner < 3; owner++) {
                struct crowd<kc_key64> c = {
                };
                open_crowd(&c, 3);
                insert(&c, owner, random_run<kc_key64>(60000, (uint64_t)1 << 40, &state, 8), false);
                begin(&c, 1);
                do_at_once(&c, [](struct crowd<kc_key64> *crowd, size_t i) {
                        take(crowd, i, SIZE_MAX);
                });
                expect_merged(&c);
                for (const struct member<kc_key64> &m : c.members)
                        assert_true(m.ranges.size() >= 2);
                close_crowd(&c);
        }
}

/* A device that stops at any range stops all. */
static void test_stopping(void **)
{
        uint64_t state = 13;
        for (size_t stopping = 0; stopping < 3; stopping++)
                for (size_t after = 0; after < 3; after++) {
                        struct crowd<kc_key64> c = {
                        };
                        open_crowd(&c, 3);
                        for (size_t i = 0; i < 3; i++)
                                insert(&c, i,
                                       random_run<kc_key64>(40000, (uint64_t)1 << 40, &state, 8),
                                       i == 1);
                        begin(&c, 1);
                        do_at_once(&c, [=](struct crowd<kc_key64> *crowd, size_t i) {
                                take(crowd, i, i == stopping ? after : SIZE_MAX);
                        });
                        for (const struct member<kc_key64> &m : c.members)
                                assert_int_equal(m.status, KC_ECANCELED);
                        close_crowd(&c);
                }
}

/* Whoever leaves can insert and merge again. */
static void test_leaving(void **)
{
        uint64_t state = 14;
        struct crowd<kc_key64> c = {
        };
        struct kc_error err = {};
        struct kc_gpu_run<kc_key64> range;
        open_crowd(&c, 1);
        struct member<kc_key64> *m = &c.members[0];
        insert(&c, 0, random_run<kc_key64>(9000, 20000, &state, 8), false);
        join(&c, 0);
        kc_gpu_exchange_leave(&c.exchange, 0);
        insert(&c, 0, random_run<kc_key64>(9000, 20000, &state, 8), false);
        insert(&c, 0, random_run<kc_key64>(5000, 20000, &state, 8), true);
        uint64_t nsaturated = 0;
        pairs<kc_key64> got, wanted = merge_plainly(c.runs, &nsaturated);
        do {
                expect_ok(kc_gpu_lsm_next(m->lsm, LEAST_PAIRS, &range, &err), &err);
                to_host(&m->gpu, &range, &got);
        } while (range.n > 0);
        expect_equal(got, wanted);
        close_crowd(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_exchanges),
                cmocka_unit_test(test_one_has_all),
                cmocka_unit_test(test_stopping),
                cmocka_unit_test(test_leaving),
        };
        need_device();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
