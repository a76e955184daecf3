/*
 * Counting with hopscotch on the device, compared with a count on the host.
 */
#include "gpu/tables/hopscotch.cuh"
#include "tests/gpu/table_cases.cuh"

int main(void)
{
        std::vector<CMUnitTest> tests;
        add_cases<kc_hopscotch<kc_key64>, kc_key64>(&tests, "hopscotch, K64");
        add_cases<kc_hopscotch<kc_key128>, kc_key128>(&tests, "hopscotch, K128");
        return run_cases(tests);
}
