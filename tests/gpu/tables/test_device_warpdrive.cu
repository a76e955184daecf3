/*
 * The WarpDrive table on the device, compared with a count on the host, for all group sizes.
 */
#include "gpu/tables/warpdrive.cuh"
#include "tests/gpu/tables/table_cases.cuh"

int main(void)
{
        std::vector<CMUnitTest> tests;
#define ADD(G) \
        add_cases<kc_warpdrive<kc_key64, G>, kc_key64>(&tests, "groups of " #G ", K64"); \
        add_cases<kc_warpdrive<kc_key128, G>, kc_key128>(&tests, "groups of " #G ", K128");
        ADD(1)
        ADD(2)
        ADD(4)
        ADD(8)
        ADD(16)
        ADD(32) add_cases<kc_warpdrive<kc_key192, 1>, kc_key192>(&tests, "groups of 1, K192");
        add_cases<kc_warpdrive<kc_key256, 1>, kc_key256>(&tests, "groups of 1, K256");
        add_cases<kc_warpdrive<kc_key256, 8>, kc_key256>(&tests, "groups of 8, K256");
        return run_cases(tests);
}
