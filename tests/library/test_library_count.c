/* Counting through kcount.h: progress, cancelling, giving up, several counts at once. */
#include "include/kcount.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/files.h"

static char folder[64];

static int make_folder(void **state)
{
        (void)state;
        strcpy(folder, "/tmp/test_library_count.XXXXXX");
        return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

/* No file is left in the folder. */
static int remove_folder(void **state)
{
        (void)state;
        return chdir("/") != 0 || rmdir(folder) != 0;
}

static double seconds(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Random sequences of 1000 letters: endless, or as many as nleft. */
struct endless {
        uint64_t seed, ngiven, nleft;
        char letters[1000];
        bool gives_up;
        bool slow;
};

static bool next_endless(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        struct endless *e = ctx;
        (void)cap;
        for (size_t i = 0; i < sizeof e->letters; i++) {
                e->seed = e->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                e->letters[i] = "ACGT"[e->seed >> 62];
        }
        if (e->slow)
                usleep(1000);
        sequences[0] = (struct kcount_sequence){ e->letters, sizeof e->letters };
        *n = e->nleft > 0;
        e->nleft -= *n;
        e->ngiven += *n;
        return !(e->gives_up && e->ngiven == 500);
}

struct watcher {
        pthread_t thread; /* that called the library */
        uint64_t ncalls, last_done, total;
        double refused; /* when it canceled; 0: it has not */
        bool wrong;
        uint64_t cancel_at;    /* call; 0: never */
        const char *cancel_in; /* stage; NULL: any */
        bool saw_writing;
};

static bool watch(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        struct watcher *w = ctx;
        w->ncalls++;
        w->wrong |= !pthread_equal(pthread_self(), w->thread) || w->refused > 0 ||
                    (total > 0 && done > total);
        w->saw_writing |= strcmp(stage, "writing") == 0;
        w->last_done = done;
        w->total = total;
        if (w->cancel_at == 0 || w->ncalls < w->cancel_at ||
            (w->cancel_in != NULL && strcmp(stage, w->cancel_in) != 0))
                return true;
        w->refused = seconds();
        return false;
}

static struct kcount_count_options options_of(struct watcher *w)
{
        struct kcount_count_options options = KCOUNT_COUNT_OPTIONS_INIT;
        options.nthreads = 3;
        options.memory_nbytes = 256 << 20;
        options.device = "cpu";
        if (w != NULL) {
                w->thread = pthread_self();
                options.progress = watch;
                options.progress_ctx = w;
        }
        return options;
}

static void expect_canceled(enum kcount_status status, struct kcount_error *error)
{
        assert_int_equal(status, KCOUNT_ECANCELED);
        assert_int_equal(kcount_error_status(error), KCOUNT_ECANCELED);
        assert_true(strlen(kcount_error_message(error)) > 0);
        kcount_error_free(error);
}

/* Cancel endless sequences in the first call of the callback, or in a later one. */
static void test_cancel(void **state)
{
        (void)state;
        for (uint64_t at = 1; at <= 4; at += 3) {
                struct endless input = { .nleft = UINT64_MAX };
                struct watcher w = { .cancel_at = at };
                struct kcount_count_options options = options_of(&w);
                struct kcount_counts *counts = (void *)&input;
                struct kcount_error *error;
                const char *output = at == 1 ? NULL : "canceled.kc";
                const enum kcount_status status = kcount_count_sequences(
                        next_endless, &input, &options, output, &counts, &error);
                expect_canceled(status, error);
                assert_int_equal(w.ncalls, at);
                assert_false(w.wrong);
                assert_ptr_equal(counts, &input);       /* unchanged */
                assert_true(seconds() - w.refused < 5); /* 0.1 s, except on slow machines */
        }
}

/* Cancel counting a file in the stage after reading. */
static void test_cancel_counting(void **state)
{
        (void)state;
        FILE *file = fopen("reads.fa", "w");
        struct endless input = { .nleft = UINT64_MAX };
        struct kcount_sequence sequence;
        for (size_t i = 0, n; i < 20000; i++) {
                next_endless(&input, &sequence, 1, &n);
                fprintf(file, ">r\n%.*s\n", (int)sequence.nbases, sequence.bases);
        }
        fclose(file);
        struct watcher w = { .cancel_at = 1, .cancel_in = "counting" };
        struct kcount_count_options options = options_of(&w);
        struct kcount_error *error = NULL;
        const char *path = "reads.fa";
        options.nthreads = 1;
        options.k = 255;
        const enum kcount_status status =
                kcount_count_files(&path, 1, &options, "canceled.kc", NULL, &error);
        unlink("reads.fa");
        if (status == KCOUNT_OK) { /* no call came in this stage */
                assert_int_equal(w.refused, 0);
                unlink("canceled.kc");
        } else {
                expect_canceled(status, error);
        }
        assert_false(w.wrong);
        assert_true(w.total > 0);
}

static bool give_too_many(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        (void)ctx;
        (void)sequences;
        *n = cap + 1;
        return true;
}

static void test_too_many_sequences(void **state)
{
        (void)state;
        struct kcount_counts *counts;
        struct kcount_error *error;
        assert_int_equal(kcount_count_sequences(give_too_many, NULL, NULL, NULL, &counts, &error),
                         KCOUNT_EUSAGE);
        kcount_error_free(error);
}

/* A program that was compiled with a header that had fewer options, or will have more. */
static void test_other_sizes(void **state)
{
        (void)state;
        struct {
                struct kcount_count_options known;
                uint64_t later[4];
        } options = { .known = KCOUNT_COUNT_OPTIONS_INIT };
        const size_t sizes[] = { offsetof(struct kcount_count_options, nthreads), sizeof options };
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                struct endless input = { .nleft = 10 };
                struct kcount_counts *counts;
                struct kcount_info info = { .size = sizeof info };
                options.known.size = sizes[i];
                options.known.k = 21;
                options.known.nthreads = i == 0 ? -5 : 2; /* not read with the shorter size */
                assert_int_equal(kcount_count_sequences(next_endless, &input, &options.known, NULL,
                                                        &counts, NULL),
                                 KCOUNT_OK);
                kcount_get_info(counts, &info);
                assert_int_equal(info.k, 21);
                assert_string_equal(kcount_warning(counts), "");
                kcount_close(counts);
        }
        options.known.size = 0;
        assert_int_equal(
                kcount_count_sequences(next_endless, NULL, &options.known, "x.kc", NULL, NULL),
                KCOUNT_EUSAGE);
}

static void test_give_up(void **state)
{
        (void)state;
        struct endless input = { .nleft = UINT64_MAX, .gives_up = true };
        struct kcount_count_options options = options_of(NULL);
        struct kcount_error *error;
        const enum kcount_status status =
                kcount_count_sequences(next_endless, &input, &options, "given.kc", NULL, &error);
        expect_canceled(status, error);
        assert_int_equal(input.ngiven, 500); /* the callback is not called again */
        input.nleft = 10;
        assert_int_equal(
                kcount_count_sequences(next_endless, &input, &options, "given.kc", NULL, NULL),
                KCOUNT_OK);
        assert_int_equal(unlink("given.kc"), 0);
}

/* The callback is called about ten times a second. */
static void test_progress(void **state)
{
        (void)state;
        struct endless input = { .nleft = 500, .slow = true };
        struct watcher w = { 0 };
        struct kcount_count_options options = options_of(&w);
        struct kcount_counts *counts;
        const double begun = seconds();
        assert_int_equal(
                kcount_count_sequences(next_endless, &input, &options, NULL, &counts, NULL),
                KCOUNT_OK);
        const double elapsed = seconds() - begun;
        assert_in_range(w.ncalls, 2, (uint64_t)(elapsed * 10) + 3);
        assert_false(w.wrong);
        struct kcount_info info = { .size = sizeof info };
        kcount_get_info(counts, &info);
        assert_int_equal(info.nreads, 500);
        assert_int_equal(info.nbases, 500000);
        assert_int_equal(info.nkmers, 500 * (1000 - 31 + 1));
        kcount_close(counts);
}

static void *count_one(void *arg)
{
        struct endless input = { .seed = *(uint64_t *)arg, .nleft = 300 };
        struct kcount_count_options options = options_of(NULL);
        struct kcount_counts *counts;
        struct kcount_info info = { .size = sizeof info };
        if (kcount_count_sequences(next_endless, &input, &options, NULL, &counts, NULL) !=
            KCOUNT_OK)
                return NULL;
        kcount_get_info(counts, &info);
        *(uint64_t *)arg = info.nkmers;
        kcount_close(counts);
        return arg;
}

/* Several threads may count at the same time, into files without names in one folder. */
static void test_together(void **state)
{
        (void)state;
        pthread_t threads[3];
        uint64_t seeds[3] = { 1, 2, 3 };
        for (size_t i = 0; i < 3; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, count_one, &seeds[i]), 0);
        for (size_t i = 0; i < 3; i++) {
                void *done;
                pthread_join(threads[i], &done);
                assert_ptr_equal(done, &seeds[i]);
                assert_int_equal(seeds[i], 300 * (1000 - 31 + 1));
        }
}

static void test_options(void **state)
{
        (void)state;
        static const char *const path = "reads.fq";
        struct endless input = { .nleft = 1 };
        struct kcount_count_options options = options_of(NULL);
        struct kcount_error *error;
        options.size = 0;
        assert_int_equal(
                kcount_count_sequences(next_endless, &input, &options, "o.kc", NULL, &error),
                KCOUNT_EUSAGE);
        assert_non_null(strstr(kcount_error_message(error), "COUNT_OPTIONS_INIT"));
        kcount_error_free(error);
        assert_int_equal(kcount_count_sequences(next_endless, &input, NULL, NULL, NULL, NULL),
                         KCOUNT_EUSAGE);
        assert_int_equal(kcount_count_several(&path, 1, NULL, 2, NULL, NULL, NULL, &error),
                         KCOUNT_EUSAGE);
        assert_non_null(strstr(kcount_error_message(error), "ks has 0 values"));
        kcount_error_free(error);
        assert_int_equal(input.ngiven, 0);
        assert_int_equal(kcount_count_sequences(next_endless, &input, NULL, "o.kc", NULL, NULL),
                         KCOUNT_OK);
        assert_int_equal(unlink("o.kc"), 0);
}

/* An error has the file and the place in it that the message names. */
static void test_places(void **state)
{
        (void)state;
        static const struct {
                const char *path, *text,
                        *input; /* text is written to path, then input is counted */
                const char *message;
                enum kcount_unit unit;
                uint64_t place;
        } cases[] = {
                { "a.fq", "@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIII\n", "a.fq", "record 2",
                  KCOUNT_UNIT_RECORD, 2 },
                { "a.fa", ">a\nACGT\n>b\nACGT\n>c\nAC\001GT\n", "a.fa", "record 3",
                  KCOUNT_UNIT_RECORD, 3 },
                { "list", "# reads\n\n@other\n", "@list", "line 3", KCOUNT_UNIT_LINE, 3 },
                { "a.fa.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03\x03", "a.fa.gz", "byte 11",
                  KCOUNT_UNIT_BYTE, 11 },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct kcount_error *error = NULL;
                enum kcount_unit unit;
                const size_t nbytes = cases[i].unit == KCOUNT_UNIT_BYTE ? (size_t)cases[i].place
                                                                        : strlen(cases[i].text);
                write_file(cases[i].path, cases[i].text, nbytes);
                assert_int_equal(kcount_count_files(&cases[i].input, 1, NULL, "a.kc", NULL, &error),
                                 KCOUNT_EINPUT);
                assert_non_null(strstr(kcount_error_message(error), cases[i].message));
                assert_string_equal(kcount_error_file(error), cases[i].path);
                assert_int_equal(kcount_error_place(error, &unit), cases[i].place);
                assert_int_equal(unit, cases[i].unit);
                kcount_error_free(error);
                unlink(cases[i].path);
        }
}

static volatile sig_atomic_t ncaught;
static pthread_t catcher;
static volatile sig_atomic_t caught_elsewhere;

static void on_signal(int number)
{
        (void)number;
        ncaught++;
        caught_elsewhere |= !pthread_equal(pthread_self(), catcher);
}

/* The caller's signal handlers run only in the caller's threads. */
static void test_signals(void **state)
{
        (void)state;
        struct endless input = { .nleft = 100, .slow = true };
        struct kcount_count_options options = options_of(NULL);
        const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
        const struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } }, never = { 0 };
        timer_t timer;
        catcher = pthread_self();
        sigaction(SIGALRM, &action, NULL);
        timer_create(CLOCK_MONOTONIC, NULL, &timer);
        timer_settime(timer, 0, &often, NULL);
        assert_int_equal(kcount_count_sequences(next_endless, &input, &options, "s.kc", NULL, NULL),
                         KCOUNT_OK);
        timer_settime(timer, 0, &never, NULL);
        timer_delete(timer);
        assert_true(ncaught > 0);
        assert_false(caught_elsewhere);
        unlink("s.kc");
}

static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };

static bool fail_and_end(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        (void)ctx;
        (void)sequences;
        (void)cap;
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
                raise(faults[i]);
        *n = 0;
        return true;
}

/* But a handler that reports crashes also runs in a thread of the library that has crashed. */
static void test_faults(void **state)
{
        (void)state;
        struct kcount_count_options options = options_of(NULL);
        const size_t n = sizeof faults / sizeof *faults;
        const struct sigaction action = { .sa_handler = on_signal };
        struct sigaction before[sizeof faults / sizeof *faults];
        struct kcount_counts *counts;
        catcher = pthread_self();
        ncaught = caught_elsewhere = 0;
        for (size_t i = 0; i < n; i++)
                sigaction(faults[i], &action, &before[i]);
        assert_int_equal(kcount_count_sequences(fail_and_end, NULL, &options, NULL, &counts, NULL),
                         KCOUNT_OK);
        for (size_t i = 0; i < n; i++)
                sigaction(faults[i], &before[i], NULL);
        assert_int_equal(ncaught, n);
        assert_true(caught_elsewhere);
        kcount_close(counts);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_cancel, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_cancel_counting, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_give_up, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_too_many_sequences, make_folder,
                                                remove_folder),
                cmocka_unit_test_setup_teardown(test_other_sizes, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_progress, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_together, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_options, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_places, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_signals, make_folder, remove_folder),
                cmocka_unit_test_setup_teardown(test_faults, make_folder, remove_folder),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
