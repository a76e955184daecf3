/*
 * What several devices that merge and encode together compute on the host: how the merge is divided
 * into ranges, what one range hands over to the next, and how the devices agree to begin.
 */
#include "gpu/blocks/carry.cuh"
#include "gpu/engine/devices/vote.cuh"
#include "gpu/runs/deal.cuh"
#include "tests/gpu/runs/lsm_support.cuh"

#include <thread>

/* ---- ranges ---- */

template <class Key> using member_runs = std::vector<struct fenced_run<Key>>;

/* The ranges cover the key space, and each has room for all pairs of each member. */
template <class Key>
static void expect_ranges(const struct kc_deal<Key> *deal,
                          const std::vector<member_runs<Key>> &members, size_t max_pairs)
{
        std::vector<std::vector<size_t>> at;
        for (const member_runs<Key> &runs : members)
                at.emplace_back(runs.size(), 0);
        for (size_t i = 0; i < deal->nranges; i++) {
                const bool is_last = i + 1 == deal->nranges;
                assert_true(is_last || i == 0 || deal->cuts[i - 1] < deal->cuts[i]);
                assert_int_equal(kc_deal_taker(deal, i), i % members.size());
                assert_int_equal(kc_deal_place(deal, i, 0), 0);
                assert_in_range(kc_deal_place(deal, i, members.size()), 0, max_pairs);
                for (size_t m = 0; m < members.size(); m++) {
                        size_t n = 0;
                        for (size_t r = 0; r < members[m].size(); r++) {
                                const pairs<Key> &run = members[m][r].run;
                                const size_t end = is_last ? run.size() : rank(run, deal->cuts[i]);
                                assert_true(end >= at[m][r]);
                                n += end - at[m][r];
                                at[m][r] = end;
                        }
                        assert_true(kc_deal_place(deal, i, m) + n <= kc_deal_place(deal, i, m + 1));
                }
        }
}

/* Returns the number of ranges. */
template <class Key> static size_t divide(std::vector<member_runs<Key>> *members, size_t more_pairs)
{
        struct kc_error err = {};
        struct kc_deal<Key> deal;
        std::vector<std::vector<const struct kc_fences<Key> *>> fences(members->size());
        std::vector<struct kc_deal_member<Key>> listed;
        size_t nruns = 0;
        for (size_t m = 0; m < members->size(); m++) {
                for (struct fenced_run<Key> &run : (*members)[m]) {
                        fence(&run);
                        fences[m].push_back(&run.fences);
                        nruns++;
                }
                listed.push_back({ fences[m].data(), fences[m].size() });
        }
        const size_t max_pairs = kc_deal_least_pairs(nruns) + more_pairs;
        expect_ok(kc_deal_new(&deal, listed.data(), listed.size(), max_pairs, &err), &err);
        expect_ranges(&deal, *members, max_pairs);
        const size_t nranges = deal.nranges;
        kc_deal_free(&deal);
        return nranges;
}

/* Members with no, one or many runs, of any length, in any part of the key space. */
template <class Key> static void try_deals(void)
{
        uint64_t state = 7;
        for (int attempt = 0; attempt < 20; attempt++) {
                std::vector<member_runs<Key>> members(2 + next_random(&state) % 7);
                const uint64_t ndistinct = (uint64_t)1 << (2 + next_random(&state) % 20);
                for (member_runs<Key> &runs : members) {
                        runs.resize(next_random(&state) % 4);
                        for (struct fenced_run<Key> &run : runs)
                                run.run = random_run<Key>(next_random(&state) % 20000, ndistinct,
                                                          &state, 4);
                }
                std::vector<member_runs<Key>> again = members;
                divide(&members, 0);
                divide(&again, 5000);
        }
}

static void test_deals(void **)
{
#define TRY(Key) try_deals<Key>();
        KC_GPU_KEYS(TRY)
#undef TRY
}

/* Ranges are nearly as long as they may be. */
static void test_few_ranges(void **)
{
        uint64_t state = 8;
        std::vector<member_runs<kc_key64>> members(3);
        for (member_runs<kc_key64> &runs : members) {
                runs.resize(1);
                runs[0].run = random_run<kc_key64>(100000, (uint64_t)1 << 40, &state, 4);
        }
        assert_in_range(divide(&members, 42000), 6, 7); /* of 50192 pairs each, at most */
}

/* The end of the key space, to which no cut can be added; and nothing at all. */
static void test_deal_at_the_end(void **)
{
        std::vector<member_runs<kc_key64>> members(2);
        assert_int_equal(divide(&members, 0), 1);
        for (member_runs<kc_key64> &runs : members) {
                runs.resize(3);
                for (struct fenced_run<kc_key64> &run : runs)
                        for (uint64_t i = 0; i < 20000; i++)
                                run.run.push_back({ UINT64_MAX - 19999 + i, 1 });
        }
        assert_true(divide(&members, 0) > 5);
}

static void test_usual_lengths(void **)
{
        assert_int_equal(kc_deal_usual_pairs(0, 2, 0), 0);
        assert_int_equal(kc_deal_usual_pairs((2 << 20) - 1, 2, 0), 0);
        assert_int_equal(kc_deal_usual_pairs(2 << 20, 2, 0), 1 << 20);
        assert_int_equal(kc_deal_usual_pairs(64 << 20, 2, 0), 4 << 20);
        assert_int_equal(kc_deal_usual_pairs((uint64_t)1 << 40, 8, 0), 1 << 25);
        assert_int_equal(kc_deal_usual_pairs((uint64_t)1 << 40, 8, 5000), 5000);
        assert_int_equal(kc_deal_usual_pairs(9999, 2, 5000), 0);
}

/* ---- the carry ---- */

/* A run that is put range by range, each into another encoder. */
struct putting {
        uint64_t n, nparts;
        struct kc_gpu_carry<kc_key64> carry;
};

/* The k-mers of the run are 0, 1, 2, ..., and their counts one more. */
static void put_range(struct putting *p, size_t npairs, size_t max_pairs, size_t part_blocks)
{
        uint64_t nparts = 0;
        size_t waiting = p->carry.n;
        for (size_t left = npairs; left > 0;) { /* as the encoder does */
                const size_t piece = std::min(left, max_pairs);
                const size_t nblocks = (waiting + piece) / KC_BLOCK_NKMERS;
                nparts += std::max((nblocks + part_blocks - 1) / part_blocks, (size_t)1);
                waiting = waiting + piece - nblocks * KC_BLOCK_NKMERS;
                left -= piece;
        }
        assert_int_equal(kc_range_nparts(p->carry.n, npairs, max_pairs, part_blocks), nparts);
        const size_t ntail = kc_carry_ntail(p->carry.n, npairs);
        assert_true(ntail <= npairs);
        std::vector<kc_key64> kmers(ntail);
        std::vector<uint32_t> counts(ntail);
        p->n += npairs;
        for (size_t i = 0; i < ntail; i++) {
                kmers[i] = p->n - ntail + i;
                counts[i] = (uint32_t)kmers[i] + 1;
        }
        kc_carry_advance(&p->carry, npairs, kmers.data(), counts.data());
        assert_int_equal(p->carry.n, waiting);
        for (size_t i = 0; i < p->carry.n; i++) {
                assert_int_equal(p->carry.kmers[i], p->n - p->carry.n + i);
                assert_int_equal(p->carry.counts[i], p->carry.kmers[i] + 1);
        }
}

static void test_carries(void **)
{
        enum { B = KC_BLOCK_NKMERS };
        const size_t lengths[] = { 0, 1, 2, B - 2, B - 1, B, B + 1, 2 * B - 1, 2 * B, 5 * B + 7 };
        uint64_t state = 9;
        for (size_t max_pairs : { (size_t)B / 3, (size_t)B, (size_t)3 * B + 5, (size_t)1 << 30 })
                for (size_t part_blocks = 1; part_blocks < 4; part_blocks++) {
                        struct putting p = {};
                        for (size_t a : lengths)
                                for (size_t b : lengths) {
                                        put_range(&p, a, max_pairs, part_blocks);
                                        put_range(&p, b, max_pairs, part_blocks);
                                }
                        for (int i = 0; i < 300; i++)
                                put_range(&p, next_random(&state) % (3 * B), max_pairs,
                                          part_blocks);
                }
        assert_int_equal(kc_part_nblocks(0), 1);
        assert_int_equal(kc_part_nblocks(2 * B + 1), 2);
}

/* ---- votes ---- */

struct table {
        struct kc_gate gate;
        struct kc_gpu_vote vote;
};

static void begin(struct table *t)
{
        *t = {};
        kc_gate_init(&t->gate, NULL);
        t->vote.gate = &t->gate;
}

static size_t hear(struct table *t, size_t *nheard)
{
        struct kc_error err = {};
        size_t proposal = SIZE_MAX;
        expect_ok(kc_gpu_vote_hear(&t->vote, nheard, &proposal, &err), &err);
        return proposal;
}

static int count(struct table *t, int n)
{
        struct kc_error err = {};
        int nyes = -1;
        expect_ok(kc_gpu_vote_count(&t->vote, n, &nyes, &err), &err);
        return nyes;
}

/* A follower votes; if it is ready, it hears the second proposal, and votes no if that is 0. */
static void follow(struct table *t, bool is_ready, size_t second)
{
        size_t nheard = 0;
        assert_int_equal(hear(t, &nheard), 77);
        kc_gpu_vote_cast(&t->vote, is_ready);
        if (!is_ready)
                return;
        assert_int_equal(hear(t, &nheard), second);
        if (second == 0)
                kc_gpu_vote_cast(&t->vote, false);
}

/* The driver goes ahead with a proposal, or withdraws it. */
static void test_votes(void **)
{
        for (size_t second : { 0, 77 }) {
                struct table t;
                begin(&t);
                std::thread ready(follow, &t, true, second);
                std::thread other(follow, &t, false, second);
                kc_gpu_vote_propose(&t.vote, 77);
                assert_int_equal(count(&t, 2), 1);
                kc_gpu_vote_propose(&t.vote, second);
                assert_int_equal(count(&t, second == 0 ? 1 : 0), 0);
                ready.join();
                other.join();
                assert_int_equal(t.vote.nvotes, 0);
                kc_gate_destroy(&t.gate);
        }
}

/* A follower that comes late hears the last proposal, once. */
static void test_late_follower(void **)
{
        struct table t;
        size_t nheard = 0;
        begin(&t);
        for (size_t proposal : { 1, 2 })
                kc_gpu_vote_propose(&t.vote, proposal);
        assert_int_equal(hear(&t, &nheard), 2);
        std::thread later([&] { kc_gpu_vote_propose(&t.vote, 3); });
        assert_int_equal(hear(&t, &nheard), 3);
        later.join();
        kc_gate_destroy(&t.gate);
}

static void test_stopped_vote(void **)
{
        struct table t;
        struct kc_error err = {};
        size_t nheard = 0, proposal;
        int nyes;
        begin(&t);
        kc_gpu_vote_propose(&t.vote, 1);
        kc_gate_stop(&t.gate);
        assert_int_equal(kc_gpu_vote_hear(&t.vote, &nheard, &proposal, &err), KC_ECANCELED);
        assert_int_equal(kc_gpu_vote_count(&t.vote, 1, &nyes, &err), KC_ECANCELED);
        kc_gate_destroy(&t.gate);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_deals),           cmocka_unit_test(test_few_ranges),
                cmocka_unit_test(test_deal_at_the_end), cmocka_unit_test(test_usual_lengths),
                cmocka_unit_test(test_carries),         cmocka_unit_test(test_votes),
                cmocka_unit_test(test_late_follower),   cmocka_unit_test(test_stopped_vote),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
