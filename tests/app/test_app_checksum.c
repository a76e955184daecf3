/*
 * SHA-256 of files: the examples of FIPS 180-2, sizes around that of the buffer, and failures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/report/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20, NCASES = 7 };

/* A text, n times, and what sha256sum prints of it. */
static const struct {
        const char *text;
        size_t n;
        const char *hex;
} cases[NCASES] = {
        { "", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
        { "a", MIB - 1, "3311ea1faad557de3899e89a39076c69d9d0cc5b4cff56a0b61339f487395d56" },
        { "a", MIB, "9bc1b2a288b26af7257a36277ae3816a7d4f16e89c1e7e77d0a5c48bad62b360" },
        { "a", 2 * MIB + 1, "16a429a1e5162fcf59e3079724763e9afafcef1e2c7f862571e9267b3d959113" },
};

static void write_case(size_t i, char path[16])
{
        snprintf(path, 16, "%zu", i);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (size_t j = 0; j < cases[i].n; j++)
                fputs(cases[i].text, file);
        assert_int_equal(fclose(file), 0);
}

/* All at once; files are not read if the program cannot compute it. */
static void test_known(void **state)
{
        char paths[NCASES][16];
        struct checksum files[NCASES];
        struct kc_job job = { 0 };
        struct kc_error err = { 0 };
        (void)state;
        for (size_t i = 0; i < NCASES; i++) {
                write_case(i, paths[i]);
                files[i].path = paths[i];
        }
        assert_int_equal(checksums_find(files, NCASES, &job, &err), KC_OK);
        for (size_t i = 0; i < NCASES; i++)
                assert_string_equal(files[i].hex, KC_WITH_LIBCRYPTO ? cases[i].hex : "");
        assert_int_equal(checksums_find(files, 1, NULL, &err), KC_OK);
        assert_string_equal(files[0].hex, KC_WITH_LIBCRYPTO ? cases[0].hex : "");
        assert_int_equal(checksums_find(NULL, 0, NULL, &err), KC_OK);
}

static void expect_failure(const char *path, struct kc_job *job, enum kc_status status,
                           const char *message)
{
        char there[16];
        struct kc_error err = { 0 };
        write_case(0, there);
        struct checksum files[2] = { { .path = there }, { .path = path } };
        assert_int_equal(checksums_find(files, 2, job, &err), status);
        assert_string_equal(err.message, message);
}

static void test_failures(void **state)
{
        struct kc_job job = { 0 };
        (void)state;
        if (!KC_WITH_LIBCRYPTO)
                skip();
        expect_failure("none", &job, KC_EIO, "cannot open none: No such file or directory");
        expect_failure(".", &job, KC_EIO, "cannot read .: Is a directory");
        job.cancel = true;
        expect_failure("0", &job, KC_ECANCELED, "canceled");
}

static int enter_folder(void **state)
{
        char *folder = strdup("/tmp/kcount-checksum-XXXXXX");
        *state = folder;
        return folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
        for (size_t i = 0; i < NCASES; i++) {
                char path[16];
                snprintf(path, sizeof path, "%zu", i);
                unlink(path);
        }
        const int code = chdir("/") != 0 || rmdir(*state) != 0;
        free(*state);
        return code;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_known),
                                            cmocka_unit_test(test_failures) };
        const int nfailed = cmocka_run_group_tests(tests, enter_folder, leave_folder);
        return nfailed == 0 && !KC_WITH_LIBCRYPTO ? 77 : nfailed; /* 77: some were skipped */
}
