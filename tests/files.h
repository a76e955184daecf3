/*
 * Files for tests. To be included after cmocka.h.
 */
#ifndef KC_TESTS_FILES_H
#define KC_TESTS_FILES_H

#include <stdio.h>

static inline void write_file(const char *path, const void *data, size_t nbytes)
{
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(data, 1, nbytes, file), nbytes);
        assert_int_equal(fclose(file), 0);
}

#endif
