/* Any bytes as k-mers and counts in text, plain or compressed. */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        check_import_bytes(data, size);
        return 0;
}
