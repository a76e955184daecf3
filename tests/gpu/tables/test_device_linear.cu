/*
 * Counting with linear probing on the device, compared with a count on the host.
 */
#include "gpu/tables/linear.cuh"
#include "tests/gpu/tables/table_cases.cuh"

int main(void)
{
        std::vector<CMUnitTest> tests;
        add_cases<kc_linear<kc_key64>, kc_key64>(&tests, "linear, K64");
        add_cases<kc_linear<kc_key128>, kc_key128>(&tests, "linear, K128");
        add_cases<kc_linear<kc_key192>, kc_key192>(&tests, "linear, K192");
        add_cases<kc_linear<kc_key256>, kc_key256>(&tests, "linear, K256");
        return run_cases(tests);
}
