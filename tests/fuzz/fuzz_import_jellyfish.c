/* Any bytes as a Jellyfish file. */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        check_import_bytes(data, size);
        return 0;
}
