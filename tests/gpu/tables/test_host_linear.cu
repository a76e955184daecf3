/*
 * Linear probing's sequence, on the host.
 */
#include "gpu/tables/linear.cuh"
#include "tests/gpu/support.cuh"

/* Slots one after the other, from the hash's slot, wrapping around at the end. */
static void test_every_slot_in_turn(void **)
{
        uint64_t state = 1;
        for (uint32_t capacity = 1; capacity <= 4096; capacity *= 2)
                for (int i = 0; i < 8; i++) {
                        uint64_t hash = i == 0 ? UINT64_MAX : next_random(&state);
                        kc_probing p = kc_linear_begin(hash, capacity);
                        for (uint32_t step = 0; step <= capacity; step++) {
                                uint32_t wanted = ((uint32_t)(hash >> 32) + step) % capacity;
                                assert_int_equal(p.window, wanted);
                                kc_probing_next(&p);
                        }
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_slot_in_turn) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
