/*
 * Any bytes as a FastK table with two parts.
 *
 *      u16: length of .ktab | .ktab | u16: length of part 1 | part 1 | part 2
 */
#include "tests/fuzz/import_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const char *const names[] = { "x.ktab", ".x.ktab.1", ".x.ktab.2" };
        char paths[3][64];
        size_t at = 0;
        for (int i = 0; i < 3; i++) {
                const size_t n = i < 2 ? next_length(data, size, &at) : size - at;
                name_file(paths[i], names[i]);
                write_file(paths[i], data + at, n);
                at += n;
        }
        check_import(paths[0], size);
        for (int i = 0; i < 3; i++)
                unlink(paths[i]);
        return 0;
}
