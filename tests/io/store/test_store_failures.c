/*
 * The store when things go wrong: damaged files, full disks, engines that fail or break their
 * contract, targets that exist. In every case there is an error, and no file is left behind.
 */
#include "store_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int nfiles_here(void)
{
        int n = 0;
        DIR *folder = opendir(".");
        assert_non_null(folder);
        for (struct dirent *e; (e = readdir(folder)) != NULL;)
                n += e->d_name[0] != '.';
        closedir(folder);
        return n;
}

/* ---- damaged files ---- */

/* Read everything; returns the first error. */
static enum kc_status read_all(const char *path, struct kc_error *err)
{
        struct kc_store *store = NULL;
        enum kc_status status = kc_store_open(&store, path, err);
        if (status != KC_OK)
                return status;
        struct kc_cursor *cursor = NULL;
        struct kc_lookup *lookup = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
        KC_TRY(kc_store_check(store, 1, NULL, err));
        KC_TRY(kc_cursor_open(&cursor, store, NULL, NULL, err));
        do
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
        while (n > 0);
out:
        kc_lookup_close(lookup);
        kc_cursor_close(cursor);
        kc_store_close(store);
        return status;
}

static void assert_damaged(const char *path)
{
        struct kc_error err = { 0 };
        assert_int_equal(read_all(path, &err), KC_ECORRUPT);
        assert_non_null(strstr(err.message, path));
}

static uint8_t *make_small_file(size_t *nbytes)
{
        struct pair_set s = make_set(33, false, 1100, 1);
        write_set(&s, "s.kc", 1, 500, 1);
        free_set(&s);
        struct kc_error err = { 0 };
        assert_ok(read_all("s.kc", &err), err);
        return read_file("s.kc", nbytes);
}

static void test_truncated(void **state)
{
        (void)state;
        size_t nbytes;
        uint8_t *data = make_small_file(&nbytes);
        for (size_t n = 0; n < nbytes; n += n < 300 || n > nbytes - 2000 ? 1 : 37) {
                write_file("t.kc", data, n);
                assert_damaged("t.kc");
        }
        data[nbytes] = 0;
        write_file("t.kc", data, nbytes + 1);
        struct kc_error err = { 0 };
        assert_int_equal(read_all("t.kc", &err), KC_EUNTIDY);
        free(data);
        unlink("s.kc");
        unlink("t.kc");
}

/* Any single flipped bit is noticed. */
static void test_flipped(void **state)
{
        (void)state;
        size_t nbytes;
        uint64_t rng = 2;
        uint8_t *data = make_small_file(&nbytes);
        int fd = open("s.kc", O_RDWR);
        assert_true(fd >= 0);
        for (size_t at = 0; at < nbytes; at += at < 256 || at > nbytes - 1500 ? 1 : 7) {
                uint8_t flipped = data[at] ^ (uint8_t)(1 << next_random(&rng) % 8);
                assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
                struct kc_error err = { 0 };
                if (at >= 64 && at < 128) /* a footer reference: nothing is lost */
                        assert_int_equal(read_all("s.kc", &err), KC_EUNTIDY);
                else
                        assert_damaged("s.kc");
                assert_int_equal(pwrite(fd, &data[at], 1, (off_t)at), 1);
        }
        close(fd);
        free(data);
        unlink("s.kc");
}

/* A file that another process cuts short while it is open. */
static void test_shrinking(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 100000, 1);
        write_set(&s, "s.kc", 1, 50000, 1);
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        assert_int_equal(truncate("s.kc", 1000), 0);
        assert_int_equal(kc_store_check(store, 2, NULL, &err), KC_ECORRUPT);
        struct kc_lookup *lookup;
        uint32_t count;
        err = (struct kc_error){ 0 };
        assert_ok(kc_lookup_open(&lookup, store, &err), err);
        assert_int_equal(kc_lookup_count(lookup, s.kmers, &count, &err), KC_ECORRUPT);
        kc_lookup_close(lookup);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

static void test_not_a_store(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        assert_int_equal(kc_store_open(&store, "missing.kc", &err), KC_EIO);
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_store_open(&store, ".", &err), KC_ECORRUPT);
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_store_open(&store, "/dev/null", &err), KC_ECORRUPT);
        write_file("x.kc", "@read\nACGT\n+\nIIII\n", 18);
        assert_damaged("x.kc");
        write_file("x.kc", "", 0);
        assert_damaged("x.kc");
        assert_null(store);
        unlink("x.kc");
}

/* ---- targets ---- */

static enum kc_status create(struct kc_store_writer **w, const char *path, bool replace)
{
        struct kc_error err = { 0 };
        struct kc_store_options options = { .k = 31, .replace = replace };
        *w = NULL;
        enum kc_status status = kc_store_create(w, path, &options, &err);
        if (status != KC_OK) /* for a link, the message names the file that it leads to */
                assert_true(strstr(err.message, path) || strstr(err.message, "new.kc"));
        return status;
}

static void test_targets(void **state)
{
        (void)state;
        struct kc_store_writer *w;
        struct kc_error err = { 0 };
        struct kc_store_origin origin = { 0 };
        assert_int_equal(create(&w, "/dev/null", true), KC_EIO);
        assert_int_equal(create(&w, ".", true), KC_EIO);
        assert_int_equal(create(&w, "no/such/folder.kc", true), KC_EIO);
        write_file("old.kc", "precious", 8);
        assert_int_equal(create(&w, "old.kc", false), KC_EEXIST);
        assert_int_equal(nfiles_here(), 1);

        /* replaced only by the commit; aborted, it is as it was */
        assert_int_equal(create(&w, "old.kc", true), KC_OK);
        assert_in_range(nfiles_here(), 1, 2); /* see test_new_file */
        kc_store_abort(w);
        kc_store_abort(NULL);
        size_t nbytes;
        uint8_t *data = read_file("old.kc", &nbytes);
        assert_int_equal(nbytes, 8);
        free(data);
        assert_int_equal(nfiles_here(), 1);

        /* a file that another program creates in the meantime */
        assert_int_equal(create(&w, "new.kc", false), KC_OK);
        write_file("new.kc", "precious", 8);
        assert_int_equal(kc_store_commit(w, &origin, NULL, &err), KC_EEXIST);
        data = read_file("new.kc", &nbytes);
        assert_int_equal(nbytes, 8);
        free(data);

        /* through a link, whose file is the one replaced */
        assert_int_equal(symlink("new.kc", "link.kc"), 0);
        assert_int_equal(create(&w, "link.kc", false), KC_EEXIST);
        assert_int_equal(create(&w, "link.kc", true), KC_OK);
        err = (struct kc_error){ 0 };
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
        assert_ok(read_all("new.kc", &err), err);
        struct stat st;
        assert_int_equal(lstat("link.kc", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(nfiles_here(), 3);
        unlink("link.kc");
        unlink("new.kc");
        unlink("old.kc");
}

static void test_mode(void **state)
{
        (void)state;
        struct kc_store_writer *w;
        struct kc_error err = { 0 };
        struct kc_store_origin origin = { 0 };
        mode_t old = umask(027);
        assert_int_equal(create(&w, "s.kc", false), KC_OK);
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
        umask(old);
        struct stat st;
        assert_int_equal(stat("s.kc", &st), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
        unlink("s.kc");
}

/* ---- failures while writing ---- */

static void limit_file_size(rlim_t nbytes)
{
        struct rlimit limit;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = nbytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk is full: at the blocks, or only at the end. */
static void test_full(void **state)
{
        (void)state;
        signal(SIGXFSZ, SIG_IGN);
        struct pair_set s = make_set(31, false, 50000, 1);
        struct kc_store_origin origin = make_origin(sum_of_counts(&s));
        for (int late = 0; late < 2; late++) {
                struct kc_error err = { 0 };
                struct kc_store_writer *w;
                write_file("s.kc", "precious", 8);
                assert_int_equal(create(&w, "s.kc", true), KC_OK);
                if (!late)
                        limit_file_size(50000);
                enum kc_status status = feed_set(&s, kc_store_sink(w), 4, 3000, 1, &err);
                if (late) {
                        assert_ok(status, err);
                        limit_file_size(50000);
                }
                if (status == KC_OK)
                        status = kc_store_commit(w, &origin, NULL, &err);
                else
                        kc_store_abort(w);
                limit_file_size(RLIM_INFINITY);
                assert_int_equal(status, KC_EIO);
                assert_non_null(strstr(err.message, "s.kc"));
                assert_int_equal(nfiles_here(), 1);
                size_t nbytes;
                free(read_file("s.kc", &nbytes));
                assert_int_equal(nbytes, 8);
        }
        free_set(&s);
        unlink("s.kc");
}

static void test_identity(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 2000, 1);
        struct kc_store_origin origin = make_origin(sum_of_counts(&s) + 1);
        struct kc_store_writer *w;
        struct kc_error err = { 0 };
        assert_int_equal(create(&w, "s.kc", true), KC_OK);
        assert_ok(feed_set(&s, kc_store_sink(w), 1, 3000, 1, &err), err);
        assert_int_equal(kc_store_commit(w, &origin, NULL, &err), KC_ECORRUPT);
        assert_int_equal(nfiles_here(), 0);

        origin.nsaturated = 1; /* which makes the totals add up */
        err = (struct kc_error){ 0 };
        assert_int_equal(create(&w, "s.kc", true), KC_OK);
        assert_ok(feed_set(&s, kc_store_sink(w), 1, 3000, 1, &err), err);
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
        assert_ok(read_all("s.kc", &err), err);
        free_set(&s);
        unlink("s.kc");
}

static void assert_put_fails(const uint64_t *kmers, const uint32_t *counts, size_t n, uint64_t part)
{
        struct kc_store_writer *w;
        struct kc_error err = { 0 };
        uint64_t low = 5;
        uint32_t one = 1;
        assert_int_equal(create(&w, "s.kc", true), KC_OK);
        struct kc_run_sink sink = kc_store_sink(w);
        assert_ok(put_part(&sink, 0, &low, &one, 1, &err), err);
        assert_int_equal(put_part(&sink, part, kmers, counts, n, &err), KC_EUSAGE);
        err = (struct kc_error){ 0 };
        assert_int_equal(put_part(&sink, 9, NULL, NULL, 0, &err), KC_EUSAGE);
        kc_store_abort(w);
        assert_int_equal(nfiles_here(), 0);
}

/* A faulty engine must not cause a wrong file to be written. */
static void test_contract(void **state)
{
        (void)state;
        uint32_t ones[] = { 1, 1, 1 }, zero[] = { 1, 0, 1 };
        assert_put_fails((uint64_t[]){ 6, 8, 7 }, ones, 3, 1);
        assert_put_fails((uint64_t[]){ 6, 6, 7 }, ones, 3, 1);
        assert_put_fails((uint64_t[]){ 5, 6, 7 }, ones, 3, 1);
        assert_put_fails((uint64_t[]){ 6, 7, 8 }, zero, 3, 1);
        assert_put_fails((uint64_t[]){ 6, 7, 8 }, ones, 3, 0);
        struct kc_store_writer *w = NULL;
        struct kc_error err = { 0 };
        assert_int_equal(kc_store_create(&w, "s.kc", &(struct kc_store_options){ .k = 0 }, &err),
                         KC_EUSAGE);
        assert_int_equal(kc_store_create(&w, "s.kc", &(struct kc_store_options){ .k = 256 }, &err),
                         KC_EUSAGE);
}

struct blocked {
        struct kc_run_sink sink;
        enum kc_status status;
};

static void *put_too_early(void *arg)
{
        struct blocked *b = arg;
        struct kc_error err = { 0 };
        uint64_t kmer = 1;
        uint32_t count = 1;
        b->status = put_part(&b->sink, 1, &kmer, &count, 1, &err);
        return NULL;
}

/* Part 1 waits for part 0, which never comes. */
static void test_cancel(void **state)
{
        (void)state;
        struct kc_store_writer *w;
        struct kc_error err = { 0 };
        struct kc_store_origin origin = { 0 };
        assert_int_equal(create(&w, "s.kc", true), KC_OK);
        struct blocked b[3];
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) {
                b[i] = (struct blocked){ .sink = kc_store_sink(w) };
                assert_int_equal(pthread_create(&threads[i], NULL, put_too_early, &b[i]), 0);
        }
        usleep(20000);
        b[0].sink.cancel(b[0].sink.ctx);
        for (int i = 0; i < 3; i++) {
                pthread_join(threads[i], NULL);
                assert_int_equal(b[i].status, KC_ECANCELED);
        }
        assert_int_equal(kc_store_commit(w, &origin, NULL, &err), KC_ECANCELED);
        assert_int_equal(nfiles_here(), 0);
}

static void test_check_canceled(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 2000, 1);
        write_set(&s, "s.kc", 1, 500, 1);
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        struct kc_job job = { 0 };
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        assert_ok(kc_store_check(store, 2, &job, &err), err);
        assert_int_equal(job.done, 1);
        assert_int_equal(job.total, 1);
        job.cancel = true;
        assert_int_equal(kc_store_check(store, 2, &job, &err), KC_ECANCELED);
        kc_store_close(store);
        free_set(&s);
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_truncated),      cmocka_unit_test(test_flipped),
                cmocka_unit_test(test_shrinking),      cmocka_unit_test(test_not_a_store),
                cmocka_unit_test(test_targets),        cmocka_unit_test(test_mode),
                cmocka_unit_test(test_full),           cmocka_unit_test(test_identity),
                cmocka_unit_test(test_contract),       cmocka_unit_test(test_cancel),
                cmocka_unit_test(test_check_canceled),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
