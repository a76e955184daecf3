/*
 * What the host engine spills: lists come back intact, and take and free the disk space that they
 * should.
 */
#include "cpu/lists.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/cpu/cpu_support.h"

static bool watches_disk; /* only while one thread counts */
static uint64_t most_disk_nbytes;

/* The disk space of all open files without a name. */
static uint64_t disk_nbytes(void)
{
        DIR *fds = opendir("/proc/self/fd");
        uint64_t sum = 0;
        struct stat st;
        assert_non_null(fds);
        for (struct dirent *fd; (fd = readdir(fds));)
                if (fstat(atoi(fd->d_name), &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
                        sum += (uint64_t)st.st_blocks * 512;
        closedir(fds);
        return sum;
}

/* In place of the function of the C library, with which lists are spilled: notes the disk space. */
ssize_t pwritev(int fd, const struct iovec *iov, int niov, off_t offset)
{
        ssize_t n = syscall(SYS_pwritev, fd, iov, niov, offset, 0);
        uint64_t now = watches_disk ? disk_nbytes() : 0;
        if (now > most_disk_nbytes)
                most_disk_nbytes = now;
        return n;
}

/* Can the file system free single pages of a file? */
static bool can_punch(const char *folder)
{
        enum { PAGE = 4096, NBYTES = 16 * PAGE };
        static const char zeros[NBYTES];
        int fd = open(folder, O_TMPFILE | O_RDWR, 0600);
        if (fd < 0 || write(fd, zeros, NBYTES) != NBYTES)
                abort(); /* no test has begun that could fail */
        const uint64_t before = disk_nbytes();
        const bool can =
                fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE) == 0 &&
                disk_nbytes() == before - PAGE;
        close(fd);
        return can;
}

/* Of reads of 150 bases, spilled bins take at most 1.2 bytes a k-mer. No pair is kept here. One
 * thread: how much two spill depends on how they share the reads. */
static void spilled_bins_are_compact(void **state)
{
        (void)state;
        struct reads reads = { .n = 0, .fail_at = -1 };
        struct run run = { .filter = { 1000, UINT32_MAX }, .fail_at = -1 };
        struct kc_count_params params = {
                .k = 31, .nthreads = 1, .memory_nbytes = 1 << 18, .tmp_dir = "/tmp"
        };
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        sequenced(&reads, 400000, MAX_SEQUENCES, 150);
        assert_int_equal(count(&reads, &params, &run, &totals, &err), KC_OK);
        assert_true(totals.spilled_nbytes > totals.nkmers / 2);
        assert_true(totals.spilled_nbytes <= totals.nkmers * 6 / 5);
        run_free(&run);
        free_reads(&reads);
}

/*
 * Spilled bins make room on the disk for pairs, and pairs are gone when the last is passed on. The
 * reads are such that both take nearly the same room.
 */
static void disk_is_given_back_while_it_is_read(void **state)
{
        (void)state;
        struct reads reads = { .n = 0, .fail_at = -1 };
        struct run run = { .fail_at = -1 };
        struct kc_count_params params = {
                .k = 31, .nthreads = 1, .memory_nbytes = 4 << 20, .tmp_dir = "/tmp"
        };
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        sequenced(&reads, 400000, MAX_SEQUENCES, 900);
        watches_disk = true;
        most_disk_nbytes = 0;
        assert_int_equal(count(&reads, &params, &run, &totals, &err), KC_OK);
        watches_disk = false;
        assert_true(most_disk_nbytes < totals.spilled_nbytes * 3 / 4);
        run_free(&run);
        free_reads(&reads);
}

enum { NWORKERS = 2, NRECORDS = 60000 };

/* Append numbered records to all lists in turn. */
static void append_records(struct kc_lists *lists)
{
        struct kc_error err = { 0 };
        for (uint32_t i = 0; i < NRECORDS; i++) {
                uint8_t *record = NULL;
                int worker = (int)(i % NWORKERS);
                size_t nbytes = 5 + i % 60;
                assert_int_equal(
                        kc_lists_reserve(lists, worker, i % lists->nlists, nbytes, &record, &err),
                        KC_OK);
                record[0] = (uint8_t)nbytes;
                memcpy(record + 1, &i, sizeof i);
                memset(record + 5, (int)i, nbytes - 5);
                kc_lists_append(lists, worker, i % lists->nlists, nbytes);
        }
        for (int i = 0; i < NWORKERS; i++)
                assert_int_equal(kc_lists_seal(lists, i, NULL), KC_OK);
        assert_true(kc_lists_spilled_nbytes(lists) > 0);
}

/* Read a list and mark the records that are seen. */
static void see_records(struct kc_list_reader *reader, uint32_t list, uint8_t *seen)
{
        struct kc_error err = { 0 };
        const uint8_t *data;
        size_t nbytes;
        uint64_t sum = 0;
        for (kc_list_rewind(reader, list);; sum += nbytes) {
                assert_int_equal(kc_list_next(reader, &data, &nbytes, &err), KC_OK);
                if (nbytes == 0)
                        break;
                for (size_t at = 0; at < nbytes; at += data[at]) {
                        uint32_t i;
                        memcpy(&i, data + at + 1, sizeof i);
                        assert_int_equal(i % reader->lists->nlists, list);
                        assert_int_equal(data[at], 5 + i % 60);
                        for (size_t j = 5; j < data[at]; j++)
                                assert_int_equal(data[at + j], (uint8_t)i);
                        seen[i]++;
                }
        }
        assert_int_equal(sum, kc_lists_nbytes(reader->lists, list));
}

/* Records that pass through chunks and files come back intact, each once, although the disk space
 * of lists that were read is given back meanwhile. punches: check that it is, too. */
static void check_lists(uint32_t nlists, size_t quota, bool punches)
{
        struct kc_arena arena;
        struct kc_lists lists;
        struct kc_list_reader reader;
        struct kc_error err = { 0 };
        atomic_size_t pool = 7;
        uint8_t *seen = calloc(NRECORDS, 1);
        assert_int_equal(
                kc_arena_init(&arena, NWORKERS * (quota + KC_ARENA_HOARD) + 7, NWORKERS, &err),
                KC_OK);
        assert_int_equal(
                kc_lists_init(&lists, nlists, NWORKERS, &arena, quota, &pool, "/tmp", &err), KC_OK);
        append_records(&lists);
        const uint64_t before = punches ? disk_nbytes() : UINT64_MAX;
        kc_list_reader_init(&reader, &lists);
        for (uint32_t i = 0; i < nlists; i++) {
                if (i == nlists / 2)
                        assert_true(disk_nbytes() < before / 4 * 3);
                const uint32_t list = i ^ 1; /* not quite in order */
                see_records(&reader, list, seen);
                kc_lists_drop(&lists, 0, list);
        }
        assert_true(disk_nbytes() < before / 3);
        for (uint32_t i = 0; i < NRECORDS; i++)
                assert_int_equal(seen[i], 1);
        free(seen);
        kc_list_reader_free(&reader);
        kc_lists_free(&lists);
        kc_arena_free(&arena);
}

static void lists_keep_every_record(void **state)
{
        (void)state;
        check_lists(6, 20, false);
        check_lists(150, 200, false); /* groups of three lists */
}

static void lists_give_disk_back(void **state)
{
        (void)state;
        check_lists(6, 20, true);
        check_lists(150, 200, true);
}

/* Without an argument, the tests that any file system passes; with "holes", those that need one
 * that can free single pages of a file. */
int main(int argc, char **argv)
{
        enum { SKIPPED = 77 };
        const struct CMUnitTest anywhere[] = {
                cmocka_unit_test(spilled_bins_are_compact),
                cmocka_unit_test(lists_keep_every_record),
        };
        const struct CMUnitTest holes[] = {
                cmocka_unit_test(disk_is_given_back_while_it_is_read),
                cmocka_unit_test(lists_give_disk_back),
        };
        if (argc == 1)
                return cmocka_run_group_tests(anywhere, NULL, NULL);
        if (strcmp(argv[1], "holes") != 0)
                return 2;
        if (!can_punch("/tmp"))
                return SKIPPED;
        return cmocka_run_group_tests(holes, NULL, NULL);
}
