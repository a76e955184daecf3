/* Temporary files: holes in them, and the limit on the size of files. */
#include "base/temp_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char FOLDER[] = "/tmp";

static uint64_t disk_nbytes(int fd)
{
        struct stat st;
        assert_int_equal(fstat(fd, &st), 0);
        return (uint64_t)st.st_blocks * 512;
}

/* Whole pages of a range go back to the file system; what is next to them stays. */
static void test_holes_in_temporary_files(void **state)
{
        (void)state;
        enum { NBYTES = 1 << 20, FIRST = 100000, END = 900000, PAGE = 1 << 16 };
        struct kc_error err = { 0 };
        char *data = malloc(NBYTES), *back = malloc(NBYTES);
        int fd;
        memset(data, 'x', NBYTES);
        assert_int_equal(kc_temp_file_open(FOLDER, &fd, &err), KC_OK);
        assert_int_equal(kc_temp_file_write(FOLDER, fd, data, NBYTES, 0, &err), KC_OK);
        const uint64_t before = disk_nbytes(fd);
        kc_temp_file_punch(fd, FIRST, 100); /* less than a page: nothing changes */
        kc_temp_file_punch(fd, FIRST, END - FIRST);
        const uint64_t after = disk_nbytes(fd);
        assert_true(after <= before - (END - FIRST) + 2 * PAGE);
        assert_int_equal(kc_temp_file_read(FOLDER, fd, back, NBYTES, 0, &err), KC_OK);
        assert_memory_equal(back, data, FIRST);
        assert_memory_equal(back + END, data + END, NBYTES - END);
        close(fd);
        free(data);
        free(back);
}

static void test_limit_on_file_sizes(void **state)
{
        (void)state;
        struct rlimit before, limit;
        struct kc_error err = { 0 };
        char data[8192] = "";
        int fd;
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(kc_temp_file_open(FOLDER, &fd, &err), KC_OK);
        limit = before;
        limit.rlim_cur = 4096;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        enum kc_status status = kc_temp_file_write(FOLDER, fd, data, sizeof data, 0, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, KC_EIO);
        assert_non_null(strstr(err.message, "the limit on the size of files is reached"));
        close(fd);
}

/* Can the file system free pages of a file? */
static bool can_punch(void)
{
        enum { NBYTES = 4096 };
        struct kc_error err = { 0 };
        int fd;
        if (kc_temp_file_open(FOLDER, &fd, &err) != KC_OK)
                abort(); /* no test has begun that could fail */
        const bool can = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, NBYTES) == 0;
        close(fd);
        return can;
}

/* Without an argument, the tests that any file system passes; with "holes", the others. */
int main(int argc, char **argv)
{
        enum { SKIPPED = 77 };
        const struct CMUnitTest anywhere[] = { cmocka_unit_test(test_limit_on_file_sizes) };
        const struct CMUnitTest holes[] = { cmocka_unit_test(test_holes_in_temporary_files) };
        if (argc == 1)
                return cmocka_run_group_tests(anywhere, NULL, NULL);
        if (strcmp(argv[1], "holes") != 0)
                return 2;
        return can_punch() ? cmocka_run_group_tests(holes, NULL, NULL) : SKIPPED;
}
