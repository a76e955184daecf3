/*
 * Any bytes as a KMC database.
 *
 *      u16: length of .kmc_pre | .kmc_pre | .kmc_suf
 */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char pre[64], suf[64];
        size_t at = 0;
        const size_t n = next_length(data, size, &at);
        name_file(pre, "x.kmc_pre");
        name_file(suf, "x.kmc_suf");
        write_file(pre, data + at, n);
        write_file(suf, data + at + n, size - at - n);
        check_import(pre, size);
        unlink(pre);
        unlink(suf);
        return 0;
}
