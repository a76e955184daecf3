/*
 * Who counts which share: each one is counted once, whatever devices yield.
 */
#include "gpu/engine/devices/shares.cuh"
#include "tests/gpu/support.cuh"

/* Three shares for the driver and two followers. */
struct board {
        struct kc_gate gate;
        struct kc_gpu_shares shares;
};

static void begin(board *b)
{
        *b = {};
        kc_gate_init(&b->gate, NULL);
        b->shares.gate = &b->gate;
        b->shares.nfollowers = 2;
        kc_gpu_shares_open(&b->shares, 3);
}

static int take(board *b, int device)
{
        struct kc_error err = {};
        int number = -2;
        expect_ok(kc_gpu_shares_take(&b->shares, device, &number, &err), &err);
        return number;
}

static void each_counts_its_own(void **state)
{
        board b;
        (void)state;
        begin(&b);
        for (int device : { 2, 0, 1 })
                assert_int_equal(take(&b, device), device);
        for (int follower : { 1, 2 }) {
                assert_int_equal(take(&b, follower), -1);
                kc_gpu_shares_done(&b.shares);
        }
        assert_int_equal(take(&b, 0), -1);
        kc_gate_destroy(&b.gate);
}

/* A follower yields two shares, one of which another one has yielded. */
static void what_is_yielded_is_counted(void **state)
{
        board b;
        (void)state;
        begin(&b);
        assert_int_equal(take(&b, 1), 1);
        kc_gpu_shares_yield(&b.shares, 1);
        kc_gpu_shares_done(&b.shares);
        assert_int_equal(take(&b, 2), 2);
        assert_int_equal(take(&b, 2), 1);
        assert_int_equal(take(&b, 0), 0);
        kc_gpu_shares_yield(&b.shares, 2);
        kc_gpu_shares_done(&b.shares);
        assert_int_equal(take(&b, 0), 1);
        assert_int_equal(take(&b, 0), 2);
        assert_int_equal(take(&b, 0), -1);
        kc_gate_destroy(&b.gate);
}

static void a_stopped_gate_gives_none(void **state)
{
        board b;
        struct kc_error err = {};
        int number;
        (void)state;
        begin(&b);
        kc_gate_stop(&b.gate);
        for (int device = 0; device < 3; device++)
                assert_int_equal(kc_gpu_shares_take(&b.shares, device, &number, &err),
                                 KC_ECANCELED);
        kc_gate_destroy(&b.gate);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_counts_its_own),
                cmocka_unit_test(what_is_yielded_is_counted),
                cmocka_unit_test(a_stopped_gate_gives_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
