/*
 * Large pieces copied into reserved space by many threads: the file holds exactly what was written,
 * and nothing after it.
 */
#include "base/parallel.h"
#include "io/store/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const struct kc_new_file_options plain = { 0 };

enum { NPIECES = 118, NTHREADS = 8 }; /* more than is mapped at a time */

/* Pieces of odd lengths, some of them small, one after the other. */
static size_t piece_nbytes(int piece)
{
        return piece % 3 == 0 ? 1000 : ((size_t)1 << 20) + 8 * (size_t)piece;
}

static uint64_t piece_offset(int piece)
{
        uint64_t offset = 0;
        for (int i = 0; i < piece; i++)
                offset += piece_nbytes(i);
        return offset;
}

struct writing {
        struct kc_output output;
        atomic_int next;
};

static enum kc_status write_pieces(void *ctx, int worker, struct kc_error *err)
{
        struct writing *w = ctx;
        char *data = malloc(piece_nbytes(NPIECES));
        enum kc_status status = KC_OK;
        int piece;
        (void)worker;
        assert_non_null(data);
        /* the last ones first: writes need not be in ascending order */
        while (status == KC_OK && (piece = NPIECES - 1 - atomic_fetch_add(&w->next, 1)) >= 0) {
                memset(data, 1 + piece, piece_nbytes(piece));
                status = kc_output_pwrite(&w->output, data, piece_nbytes(piece),
                                          piece_offset(piece), err);
        }
        free(data);
        return status;
}

static void check_file(const char *path)
{
        struct stat st;
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        assert_int_equal(fstat(fileno(file), &st), 0);
        assert_int_equal(st.st_size, piece_offset(NPIECES));
        for (int piece = 0; piece < NPIECES; piece++) {
                char *data = malloc(piece_nbytes(piece));
                assert_int_equal(fread(data, 1, piece_nbytes(piece), file), piece_nbytes(piece));
                for (size_t i = 0; i < piece_nbytes(piece); i++)
                        assert_int_equal(data[i], 1 + piece);
                free(data);
        }
        fclose(file);
}

/* folder: on the build's file system, or in memory. */
static void write_and_check(const char *folder)
{
        char path[256];
        struct writing w = { 0 };
        struct kc_error err = { 0 };
        snprintf(path, sizeof path, "%s/reserve.%ld", folder, (long)getpid());
        assert_int_equal(kc_output_create(&w.output, path, &plain, &err), KC_OK);
        assert_int_equal(kc_parallel(NTHREADS, write_pieces, NULL, &w, &err), KC_OK);
        assert_int_equal(kc_output_commit(&w.output, &err), KC_OK);
        kc_output_discard(&w.output);
        check_file(path);
        unlink(path);
}

static void pieces_by_many_threads(void **state)
{
        (void)state;
        write_and_check(".");
        if (access("/dev/shm", W_OK) == 0)
                write_and_check("/dev/shm");
}

/* No more may be reserved than the file may grow to; failing to reserve ahead is no error. */
static void a_limit_on_the_size_is_kept(void **state)
{
        struct rlimit before, limit;
        (void)state;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        limit = before;
        limit.rlim_cur = piece_offset(NPIECES);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        write_and_check(".");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* A file longer than what was written and what is known to be reserved, as ext4 leaves it if the
 * disk fills up during a reservation. */
static void left_by_a_full_disk(const char *folder)
{
        char path[256], *data = calloc(1, piece_nbytes(1));
        struct kc_output output;
        struct kc_error err = { 0 };
        struct stat st;
        snprintf(path, sizeof path, "%s/reserve.%ld", folder, (long)getpid());
        assert_non_null(data);
        assert_int_equal(kc_output_create(&output, path, &plain, &err), KC_OK);
        atomic_store(&output.reserve.nwriting, NTHREADS); /* one writer alone reserves nothing */
        assert_int_equal(kc_output_pwrite(&output, data, piece_nbytes(1), 0, &err), KC_OK);
        if (atomic_load(&output.reserve.tried)) {
                atomic_store(&output.reserve.reserved, 0);
                assert_int_equal(ftruncate(output.file.fd, 300 << 20), 0);
        }
        assert_int_equal(kc_output_commit(&output, &err), KC_OK);
        kc_output_discard(&output);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, piece_nbytes(1));
        unlink(path);
        free(data);
}

static void a_reservation_that_failed_is_cut_off(void **state)
{
        (void)state;
        left_by_a_full_disk(".");
        if (access("/dev/shm", W_OK) == 0)
                left_by_a_full_disk("/dev/shm");
}

/* Other tests use the file system too, so what is free now may not be so later. */
static void check_target(const struct kc_output *output)
{
        const uint64_t target = atomic_load(&output->reserve.target);
        struct statvfs fs;
        assert_int_equal(fstatvfs(output->file.fd, &fs), 0);
        if (fs.f_blocks != 0)
                assert_true(target <= (uint64_t)fs.f_blocks * fs.f_frsize / 2);
        if (fs.f_blocks != 0 && (uint64_t)fs.f_bavail * fs.f_frsize < (uint64_t)512 << 20)
                return; /* too little is free for any reservation */
        assert_true(target > 0 || output->reserve.windows == NULL);
}

/* The thread may be at work or idle. A reservation that is too large is cut short. */
static void working_ahead_ends_with_the_file(void **state)
{
        static const uint64_t sizes[] = { 1, (uint64_t)256 << 20, UINT64_MAX / 4 };
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".";
        (void)state;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                char path[256];
                struct kc_output output;
                struct kc_error err = { 0 };
                snprintf(path, sizeof path, "%s/reserve.%ld", folder, (long)getpid());
                assert_int_equal(kc_output_create(&output, path, &plain, &err), KC_OK);
                kc_reserve_ahead(&output.reserve, sizes[i]);
                if (i > 0)
                        check_target(&output);
                kc_output_discard(&output);
                assert_int_not_equal(access(path, F_OK), 0);
        }
}

/* Estimates are made before anything is counted, and may be much too high. */
static void a_lower_estimate_ends_the_work_ahead(void **state)
{
        enum { NMIB = 64, MOST_MS = 10000 };
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".";
        const struct timespec pause = { .tv_nsec = 1000000 };
        char path[256];
        struct kc_output output;
        struct kc_error err = { 0 };
        (void)state;
        snprintf(path, sizeof path, "%s/reserve.%ld", folder, (long)getpid());
        assert_int_equal(kc_output_create(&output, path, &plain, &err), KC_OK);
        struct kc_reserve *reserve = &output.reserve;
        kc_reserve_ahead(reserve, (uint64_t)1 << 40);
        kc_reserve_ahead(reserve, (uint64_t)NMIB << 20);
        for (int ms = 0; atomic_load(&reserve->busy) && ms < MOST_MS; ms++)
                nanosleep(&pause, NULL);
        assert_false(atomic_load(&reserve->busy));
        assert_true(atomic_load(&reserve->target) <= (uint64_t)NMIB << 20);
        kc_output_discard(&output);
}

/* Half of the free space is the bound for all that is reserved ahead, however many calls there are:
 * here they appear to have reserved twice the free space. */
static void many_calls_reserve_no_more_than_one(void **state)
{
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".";
        char path[256];
        struct kc_output output;
        struct kc_error err = { 0 };
        struct statvfs fs;
        (void)state;
        snprintf(path, sizeof path, "%s/reserve.%ld", folder, (long)getpid());
        assert_int_equal(kc_output_create(&output, path, &plain, &err), KC_OK);
        assert_int_equal(fstatvfs(output.file.fd, &fs), 0);
        const uint64_t reserved = (uint64_t)fs.f_bavail * fs.f_frsize * 2;
        atomic_store(&output.reserve.reserved, reserved);
        kc_reserve_ahead(&output.reserve, reserved + ((uint64_t)64 << 20));
        assert_false(output.reserve.has_thread && fs.f_blocks != 0);
        kc_output_discard(&output);
}

/* What the file held before the first piece stays, whatever was reserved. */
static void what_a_file_holds_is_kept(void **state)
{
        FILE *file = tmpfile();
        struct kc_reserve reserve;
        struct stat st;
        (void)state;
        assert_non_null(file);
        assert_int_equal(ftruncate(fileno(file), 5000), 0);
        kc_reserve_init(&reserve, fileno(file));
        atomic_store(&reserve.tried, true);
        assert_int_equal(ftruncate(fileno(file), 9000), 0);
        assert_true(kc_reserve_trim(&reserve));
        kc_reserve_destroy(&reserve);
        assert_int_equal(fstat(fileno(file), &st), 0);
        assert_int_equal(st.st_size, 5000);
        fclose(file);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pieces_by_many_threads),
                cmocka_unit_test(a_limit_on_the_size_is_kept),
                cmocka_unit_test(a_reservation_that_failed_is_cut_off),
                cmocka_unit_test(working_ahead_ends_with_the_file),
                cmocka_unit_test(a_lower_estimate_ends_the_work_ahead),
                cmocka_unit_test(many_calls_reserve_no_more_than_one),
                cmocka_unit_test(what_a_file_holds_is_kept),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
