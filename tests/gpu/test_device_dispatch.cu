/*
 * Super-k-mers sent to the devices that count them, compared with counting on the host: however the
 * reads are spread, and however many passes each device makes.
 */
#include "count_support.cuh"
#include "gpu/dispatch.cuh"

#include <thread>

enum { REGION = 1 << 10 };

/* What is to be tried. */
struct scene {
        counting how;
        size_t nmembers;
        size_t last_nreads;     /* of the last member: few, or none */
        uint64_t inbox_records; /* 0: enough for all */
        bool stops;             /* everything is canceled midway */
};

template <class Key> struct member {
        struct kc_gpu gpu;
        struct kc_gpu_kept *kept;
        struct kc_gpu_counter<Key> *counter;
        struct kc_gpu_inbox inboxes[KC_COUNT_NINBOXES];
        struct kc_gpu_share share;
        std::vector<kc_gpu_pass> passes;
        std::vector<kc_bins> bins;
        taken<Key> got;
        struct kc_gpu_counted counted;
        bool fits;
        enum kc_status sent, status;
};

template <class Key> struct crowd {
        struct kc_gate gate;
        struct kc_gpu_dispatch dispatch;
        std::vector<struct member<Key>> members;
        struct kc_load loads[KC_NLOADS];
        kc_superkmer_setup superkmers;
        struct scene scene;
};

/* ---- memory ---- */

static void use(const struct kc_gpu *gpu)
{
        assert_int_equal(cudaSetDevice(gpu->device), cudaSuccess);
}

/* Spread the reads: some to each member, so that their numbers differ. */
template <class Key>
static void spread(struct crowd<Key> *c, const std::vector<letters> &reads, int ndevices)
{
        struct kc_error err = {};
        const size_t n = c->members.size(), nlast = n > 1 ? c->scene.last_nreads : reads.size();
        std::vector<kept_on> sources;
        size_t first = 0;
        for (size_t i = 0; i < n; i++) {
                struct member<Key> *m = &c->members[i];
                const size_t left = reads.size() - nlast - (n > 1 ? first : 0);
                const size_t own = i + 1 == n ? nlast : i + 2 == n ? left : left / 2;
                const std::vector<letters> some(reads.begin() + (long)first,
                                                reads.begin() + (long)(first + own));
                expect_ok(kc_gpu_open(&m->gpu, (int)i % ndevices, (size_t)1 << 30, all_devices(),
                                      &err),
                          &err);
                m->kept = keep(&m->gpu, &c->superkmers, 1, some, c->scene.how);
                kc_gpu_kept_end(m->kept);
                sources.push_back({ &m->gpu, m->kept });
                first += own;
        }
        (void)settle(sources, 0, c->loads);
}

static struct kc_load sum(const struct kc_load *loads, const struct kc_gpu_share &share)
{
        struct kc_load total = {};
        for (size_t i = share.first; i < share.end; i++) {
                total.nrecords += loads[i].nrecords;
                total.nkmers += loads[i].nkmers;
        }
        return total;
}

/* A counter for the member's share, its passes, and its place in the dispatch. */
template <class Key> static void join(struct crowd<Key> *c, size_t number)
{
        struct kc_error err = {};
        struct member<Key> *m = &c->members[number];
        const counting &how = c->scene.how;
        const struct kc_load total = sum(c->loads, m->share);
        const uint64_t most = c->scene.inbox_records ? c->scene.inbox_records : total.nrecords + 8;
        const uint64_t pass = how.pass_nkmers ? how.pass_nkmers << number % 2 : total.nkmers + 1;
        const struct kc_gpu_counter_caps caps = { most * kc_gpu_counter_sent_nwords(&c->superkmers),
                                                  KC_GPU_MIN_PAIRS, pass };
        const struct kc_gpu_counter_setup setup = { c->superkmers, how.stranded, how.table,
                                                    how.filter };
        const struct kc_load plan = { UINT64_MAX, pass };
        struct kc_gpu_chunks chunks;
        uint64_t position;
        use(&m->gpu);
        m->passes.resize(KC_NLOADS);
        m->passes.resize(kc_gpu_plan_passes(c->loads, &m->share, &plan, m->passes.data()));
        expect_ok(kc_gpu_counter_new<Key>(&m->counter, &m->gpu, &setup, &caps, &err), &err);
        assert_true(m->gpu.used_nbytes > 0);
        expect_ok(kc_gpu_counter_inboxes(m->counter, m->inboxes, &err), &err);
        for (const kc_gpu_pass &one : m->passes)
                m->bins.push_back(kc_gpu_counter_bins(m->counter, &one));
        m->got = { &m->gpu, NULL, {} };
        expect_ok(kc_gpu_kept_begin(m->kept, NULL, 0, &chunks, &position, &err), &err);
        expect_ok(kc_gpu_dispatch_join(&c->dispatch, (int)number, &m->gpu, &c->superkmers, &chunks,
                                       m->inboxes, REGION,
                                       number == 0 ? KC_GATE_DRIVER : KC_GATE_FOLLOWERS, &err),
                  &err);
        const struct kc_dispatch_passes passes = { m->passes.data(), m->passes.size() };
        kc_gpu_dispatch_plan(&c->dispatch, (int)number, &passes, m->bins.data());
}

template <class Key> static void leave(struct crowd<Key> *c, size_t number)
{
        struct member<Key> *m = &c->members[number];
        use(&m->gpu);
        kc_gpu_counter_free(m->counter);
        kc_gpu_kept_free(m->kept);
        assert_int_equal(m->gpu.used_nbytes, 0);
        kc_gpu_close(&m->gpu);
}

/* ---- threads ---- */

template <class Key>
static enum kc_status count_passes(struct crowd<Key> *c, size_t number, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct member<Key> *m = &c->members[number];
        struct kc_gpu_run_taker<Key> taker = {
                &m->got, take<Key>
        };
        m->fits = true;
        for (size_t step = 0; step < m->passes.size(); step++) {
                uint64_t nrecords;
                KC_TRY(kc_gpu_dispatch_receive(&c->dispatch, (int)number, step, &nrecords, &m->fits,
                                               err));
                if (!m->fits)
                        break;
                if (c->scene.stops && step == 1)
                        kc_gate_stop(&c->gate);
                KC_TRY(kc_gpu_counter_count_inbox(m->counter, (int)(step % KC_COUNT_NINBOXES),
                                                  nrecords, &m->passes[step], &taker, &m->counted,
                                                  err));
                kc_gpu_dispatch_release(&c->dispatch, (int)number);
        }
        KC_TRY(kc_gpu_dispatch_wait(&c->dispatch, (int)number, err));
out:
        return status;
}

/* A failure of one thread ends all of them. */
template <class Key> static void count_and_send(struct crowd<Key> *c)
{
        std::vector<std::thread> threads;
        for (size_t i = 0; i < c->members.size(); i++) {
                struct member<Key> *m = &c->members[i];
                threads.emplace_back([=] {
                        struct kc_error err = {};
                        use(&m->gpu);
                        m->sent = kc_gpu_dispatch_send(&c->dispatch, (int)i, &err);
                        if (m->sent != KC_OK)
                                kc_gate_stop(&c->gate);
                });
                threads.emplace_back([=] {
                        struct kc_error err = {};
                        use(&m->gpu);
                        m->status = count_passes(c, i, &err);
                        if (m->status != KC_OK)
                                kc_gate_stop(&c->gate);
                });
        }
        for (std::thread &thread : threads)
                thread.join();
        for (size_t i = 0; i < c->members.size(); i++)
                kc_gpu_dispatch_leave(&c->dispatch, (int)i);
}

/* ---- comparing ---- */

/* The members' k-mers, each of which has been counted by one of them. */
template <class Key>
static void check_all(const struct crowd<Key> &c, const std::vector<letters> &reads)
{
        struct kc_gpu_counted counted = {};
        table<Key> all;
        for (const struct member<Key> &m : c.members) {
                assert_int_equal(m.sent, KC_OK);
                assert_int_equal(m.status, KC_OK);
                assert_true(m.fits);
                const table<Key> own = summed(m.got.pairs);
                all.insert(all.end(), own.begin(), own.end());
                kc_gpu_counted_add(&counted, &m.counted);
        }
        const size_t n = all.size();
        all = summed(all);
        assert_int_equal(all.size(), n); /* none is on two devices */
        compare(count_plainly<Key>(reads, c.scene.how.k, c.scene.how.stranded), all, c.scene.how,
                &counted);
}

template <class Key>
static void run_scene(struct crowd<Key> *c, const std::vector<letters> &reads,
                      const struct scene &scene)
{
        struct kc_error err = {};
        int ndevices;
        expect_ok(kc_gpu_devices(NULL, 0, &ndevices, &err), &err);
        kc_gate_init(&c->gate, NULL);
        c->scene = scene;
        c->superkmers = superkmers_for(scene.how.k);
        c->members.resize(scene.nmembers);
        c->dispatch.gate = &c->gate;
        c->dispatch.n = (int)scene.nmembers;
        spread(c, reads, ndevices);
        std::vector<kc_gpu_share> shares(scene.nmembers);
        const size_t nshares =
                kc_gpu_plan_shares(c->loads, &KC_GPU_ALL_POINTS, scene.nmembers, shares.data());
        for (size_t i = 0; i < scene.nmembers; i++)
                c->members[i].share = i < nshares ? shares[i] : kc_gpu_share{};
        for (size_t i = 0; i < scene.nmembers; i++)
                join(c, i);
        count_and_send(c);
}

template <class Key> static void end_scene(struct crowd<Key> *c)
{
        for (size_t i = 0; i < c->members.size(); i++)
                leave(c, i);
        use(&c->members[0].gpu);
        kc_gate_destroy(&c->gate);
}

static void check_scene(const std::vector<letters> &reads, const struct scene &scene)
{
        kc_key_choose(scene.how.k, [&](auto key) {
                struct crowd<decltype(key)> c = {
                };
                run_scene(&c, reads, scene);
                check_all(c, reads);
                end_scene(&c);
                return KC_OK;
        });
}

/* ---- tests ---- */

static std::vector<letters> some_reads()
{
        std::vector<letters> reads = sample_reads(31, test_small() ? 120 : 3000);
        uint64_t random = 32;
        reads.push_back(letters(test_small() ? 700 : 30000, 0)); /* one letter */
        const letters repeated = random_letters(&random, 150, 4);
        for (int i = 0; i < (test_small() ? 30 : 1000); i++)
                reads.insert(reads.begin() + i, repeated);
        return reads;
}

static void members_and_passes(void **)
{
        const std::vector<letters> reads = some_reads();
        size_t number = 0;
        for (int k : { 21, 31, 55, 77, 101 })
                for (size_t nmembers : { 1, 2, 3, 4, 8 })
                        for (uint64_t pass : { 0, test_small() ? 1200 : 40000 }) {
                                struct scene scene = {};
                                scene.how = usual(k, nmembers == 3, KC_TABLE_WARPDRIVE);
                                scene.how.filter.min_count = 1 + (uint32_t)(number++ % 3);
                                scene.how.nchunks = 3;
                                scene.how.pass_nkmers = pass;
                                scene.nmembers = nmembers;
                                scene.last_nreads = number % 2 ? 0 : 5;
                                check_scene(reads, scene);
                        }
}

/* A member's inbox is too small: it learns that, and the others have all their k-mers. */
static void overflowing_inbox(void **)
{
        const std::vector<letters> reads = some_reads();
        struct scene scene = {};
        struct crowd<uint64_t> c = {
        };
        scene.how = usual(31, false, KC_TABLE_WARPDRIVE);
        scene.how.nchunks = 2;
        scene.nmembers = 3;
        scene.inbox_records = 150;
        run_scene(&c, reads, scene);
        for (const struct member<uint64_t> &m : c.members) {
                assert_int_equal(m.sent, KC_OK);
                assert_int_equal(m.status, KC_OK);
                assert_false(m.fits);
                assert_int_equal(m.got.pairs.size(), 0);
        }
        end_scene(&c);
}

static void stopped(void **)
{
        const std::vector<letters> reads = some_reads();
        struct scene scene = {};
        struct crowd<uint64_t> c = {
        };
        scene.how = usual(31, false, KC_TABLE_WARPDRIVE);
        scene.how.nchunks = 2;
        scene.how.pass_nkmers = 500;
        scene.nmembers = 4;
        scene.stops = true;
        run_scene(&c, reads, scene);
        bool canceled = false;
        for (const struct member<uint64_t> &m : c.members)
                canceled |= m.status == KC_ECANCELED || m.sent == KC_ECANCELED;
        assert_true(canceled);
        end_scene(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(members_and_passes),
                cmocka_unit_test(overflowing_inbox),
                cmocka_unit_test(stopped),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
