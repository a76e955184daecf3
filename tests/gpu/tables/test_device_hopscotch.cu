/*
 * Counting with hopscotch on the device, compared with a count on the host.
 */
#include "gpu/tables/hopscotch.cuh"
#include "tests/gpu/tables/table_cases.cuh"

int main(void)
{
        std::vector<CMUnitTest> tests;
        add_cases<kc_hopscotch<kc_key64>, kc_key64>(&tests, "hopscotch, K64");
        add_cases<kc_hopscotch<kc_key128>, kc_key128>(&tests, "hopscotch, K128");
        add_cases<kc_hopscotch<kc_key192>, kc_key192>(&tests, "hopscotch, K192");
        add_cases<kc_hopscotch<kc_key256>, kc_key256>(&tests, "hopscotch, K256");
        return run_cases(tests);
}
