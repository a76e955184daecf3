/*
 * The WarpDrive table on the device, compared with a count on the host, for all group sizes.
 */
#include "gpu/tables/warpdrive.cuh"
#include "tests/gpu/table_cases.cuh"

int main(void)
{
        std::vector<CMUnitTest> tests;
#define ADD(G) \
        add_cases<kc_warpdrive<kc_key64, G>, kc_key64>(&tests, "groups of " #G ", K64"); \
        add_cases<kc_warpdrive<kc_key128, G>, kc_key128>(&tests, "groups of " #G ", K128");
        ADD(1) ADD(2) ADD(4) ADD(8) ADD(16) ADD(32) return run_cases(tests);
}
