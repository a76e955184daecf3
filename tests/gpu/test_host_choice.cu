/*
 * Which device gets a batch: shares decide, and if they leave a choice, the batch's node.
 */
#include "gpu/feed/choice.cuh"
#include "support.cuh"

#include <vector>

enum { LEAD = 100, BATCH = 7 };

using devices = std::vector<kc_feed_candidate>;

static int choose(const devices &all, int node)
{
        return kc_feed_choose(all.data(), (int)all.size(), node);
}

static void shares_decide(void **)
{
        const devices all = { { true, 0, 50, 1, LEAD },
                              { true, 1, 80, 2, LEAD },
                              { false, 1, 0, 1, LEAD } };
        assert_int_equal(choose(all, -1), 1); /* 40 for each of two; the last one is not free */
        assert_int_equal(choose({ all[0], all[2] }, -1), 0);
        assert_int_equal(choose({ all[2] }, -1), -1);
        assert_int_equal(choose({}, 0), -1);
        assert_int_equal(choose({ all[0], all[0] }, -1), 0); /* the first of equal ones */
}

/* On one node, or where nothing is known about nodes, the choice is the same as without nodes. */
static void nodes_that_do_not_matter(void **)
{
        uint64_t state = 3;
        for (int attempt = 0; attempt < 1000; attempt++) {
                devices all(1 + next_random(&state) % 5);
                for (kc_feed_candidate &device : all)
                        device = { next_random(&state) % 4 > 0, -1, next_random(&state) % 300,
                                   1 + next_random(&state) % 3, LEAD };
                const int wanted = choose(all, -1);
                assert_int_equal(choose(all, 0), wanted);
                for (kc_feed_candidate &device : all)
                        device.node = 0;
                assert_int_equal(choose(all, 0), wanted);
                assert_int_equal(choose(all, 1), wanted);
                assert_int_equal(choose(all, -1), wanted);
                for (kc_feed_candidate &device : all)
                        device.node = (int)(next_random(&state) % 3) - 1;
                assert_int_equal(choose(all, -1), wanted);
        }
}

static void own_node_comes_first(void **)
{
        for (uint64_t share : { 1, 3 }) {
                devices all = { { true, 0, 10, 1, LEAD },
                                { true, 1, 0, share, LEAD },
                                { true, 1, 0, share, LEAD } };
                all[1].nwords = 10 * share + LEAD;
                all[2].nwords = 10 * share + LEAD - 1;
                assert_int_equal(choose(all, 1), 2); /* the one of the two that has received less */
                all[2].is_free = false;
                assert_int_equal(choose(all, 1), 1);
                all[1].nwords++;
                assert_int_equal(choose(all, 1), 0); /* too far ahead */
                assert_int_equal(choose(all, 2), 0); /* a node without a device */
        }
}

/* However unequal the numbers of the nodes' batches are, no device is further ahead than its lead
 * plus a batch. If both nodes have equally many, nearly all batches stay on their node. */
static void balance(void **)
{
        for (uint64_t of_ten : { 0, 1, 5, 10 }) {
                devices all = { { true, 0, 0, 1, LEAD }, { true, 1, 0, 1, LEAD } };
                uint64_t state = 5, nnear = 0;
                for (int i = 0; i < 10000; i++) {
                        const int node = next_random(&state) % 10 < of_ten;
                        const int chosen = choose(all, node);
                        all[(size_t)chosen].nwords += BATCH;
                        nnear += chosen == node;
                        const uint64_t a = all[0].nwords, b = all[1].nwords;
                        assert_true(std::max(a, b) - std::min(a, b) <= LEAD + BATCH);
                }
                if (of_ten == 5)
                        assert_in_range(nnear, 9500, 9999);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(shares_decide),
                cmocka_unit_test(nodes_that_do_not_matter),
                cmocka_unit_test(own_node_comes_first),
                cmocka_unit_test(balance),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
