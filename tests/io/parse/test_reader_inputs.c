/* Where input comes from: several files, lists, pipes, and files that cannot be read. */
#include "tests/io/parse/reader_support.h"

#include <sys/stat.h>
#include <sys/wait.h>

static const struct setting usual = { .k = 11, .nworkers = 2, .chunk_nbytes = 300 };
static const struct reads_shape shape = { .n = 40, .max_nbases = 100, .odd_letters = true };

static void add_outcome(struct outcome *sum, const struct outcome *more)
{
        sum->digest.nkmers += more->digest.nkmers;
        sum->digest.sum += more->digest.sum;
        sum->totals.nreads += more->totals.nreads;
        sum->totals.nbases += more->totals.nbases;
        sum->totals.nskipped += more->totals.nskipped;
        sum->totals.nlow_quality += more->totals.nlow_quality;
}

enum { NFILES = 12 };

/* Make files of every kind. Returns the outcome that reading all of them must have. */
static struct outcome make_files(char names[NFILES][64], const struct setting *setting)
{
        struct outcome want = { 0 };
        for (int i = 0; i < NFILES; i++) {
                struct reads reads = make_reads(shape, 500 + (uint64_t)i);
                struct layout layout = { .fasta = i % 2, .width = i % 3 == 2 ? 30 : 0 };
                struct buffer text = format_reads(&reads, &layout);
                struct buffer packed = pack_text(&text, (enum packing)(i % NPACKINGS), 500);
                struct outcome one = expect_reads(&reads, !layout.fasta, setting);
                add_outcome(&want, &one);
                snprintf(names[i], 64, "/tmp/kcount-test-%ld-many-%d", (long)getpid(), i);
                write_file(names[i], packed.data, packed.n);
                drop(&packed);
                drop(&text);
                free_reads(&reads);
        }
        want.totals.nfiles = NFILES;
        return want;
}

static void test_many_files(void **state)
{
        (void)state;
        char names[NFILES][64];
        const char *paths[NFILES];
        for (int t = 1; t <= 4; t++) {
                struct setting setting = usual;
                setting.nworkers = t;
                setting.min_quality = 15;
                struct outcome want = make_files(names, &setting);
                for (int i = 0; i < NFILES; i++)
                        paths[i] = names[i];
                struct outcome got = read_paths(paths, NFILES, &setting);
                assert_outcome(&got, &want);
                assert_int_equal(got.totals.nfiles, NFILES);
                assert_int_equal(got.done, got.total);
                assert_true(got.expected_nbases > got.totals.nbases / 4);
                assert_true(got.expected_nbases < 4 * got.totals.nbases);
        }
        for (int i = 0; i < NFILES; i++)
                unlink(names[i]);
}

#define LIST "list.txt"

/* Lists may have comments, blank lines, blanks around names, and a byte order mark. */
static void test_list(void **state)
{
        (void)state;
        static const char *const ends[] = { "\n", "\r\n", "\n\n", " \t\n  # a comment\n" };
        char names[NFILES][64];
        struct buffer lines = { 0 };
        struct outcome want = make_files(names, &usual);
        puts_to(&lines, "\xef\xbb\xbf# the first line\n");
        for (int i = 0; i < NFILES; i++) {
                puts_to(&lines, i % 3 ? "" : " \t");
                puts_to(&lines, names[i]);
                puts_to(&lines, i + 1 < NFILES ? ends[i % 4] : "");
        }
        write_file(LIST, lines.data, lines.n);
        const char *path = "@" LIST;
        struct outcome got = read_paths(&path, 1, &usual);
        assert_outcome(&got, &want);

        lines.n = 0;
        puts_to(&lines, "\xef\xbb\xbf");
        puts_to(&lines, names[0]);
        write_file(LIST, lines.data, lines.n);
        got = read_paths(&path, 1, &usual);
        assert_int_equal(got.status, KC_OK);
        unlink(LIST);
        for (int i = 0; i < NFILES; i++)
                unlink(names[i]);
        drop(&lines);
}

static void refuse_list(const char *text, size_t n, const char *want)
{
        const char *path = "@" LIST;
        write_file(LIST, text, n);
        struct outcome got = read_paths(&path, 1, &usual);
        assert_int_equal(got.status, KC_EINPUT);
        assert_string_equal(got.message, want);
        unlink(LIST);
}

#define REFUSE_LIST(text, want) refuse_list(text, sizeof(text) - 1, want)

/* The error of a file that a list names also names the list and the line. */
static void test_bad_lists(void **state)
{
        (void)state;
        write_file(LIST "-good", "@a\nACGT\n+\nIIII\n", 15);
        write_file(LIST "-bad", "<html>", 6);
        REFUSE_LIST("# two\n" LIST "-good\n\n " LIST "-none\n",
                    "line 4 of the list " LIST ": cannot open " LIST
                    "-none: No such file or directory");
        REFUSE_LIST(LIST "-good\n" LIST "-bad",
                    "line 2 of the list " LIST ": " LIST
                    "-bad is an HTML or XML page, as left by a failed download; look at it and "
                    "download the file again");
        REFUSE_LIST(LIST "-good\n @" LIST "\n",
                    "line 2 of the list " LIST " begins with '@', but a list cannot name another "
                    "one; name both on the command line, or ./@" LIST " for a file of that name; "
                    "if " LIST " holds reads, name it without '@'");
        REFUSE_LIST("", "the list " LIST " names no file");
        REFUSE_LIST("\n# no file\n \n", "the list " LIST " names no file");
        REFUSE_LIST("a\0b\n",
                    LIST " is not a list of file names: its line 1 holds binary data, "
                         "the bytes 61 00 62 0a; a list is plain text, in ASCII or UTF-8");
        REFUSE_LIST("\xff\xfe\x61\0\n\0",
                    LIST " is not a list of file names: its line 1 holds binary data, the bytes ff "
                         "fe 61 00 0a; a list is plain text, in ASCII or UTF-8");
        REFUSE_LIST("-\n-\n", "standard input (-) is named twice as an input");
        unlink(LIST "-good");
        unlink(LIST "-bad");
        static const char *const paths[] = { "@", "@" LIST "-none", "@/tmp", "" };
        static const char *const wants[] = {
                "'@' stands alone: the name of a list follows it, as in @files.txt",
                "cannot open the list " LIST "-none: No such file or directory",
                "cannot read the list /tmp: Is a directory",
                "the name of an input is empty; is it an unset variable?",
        };
        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
                struct outcome got = read_paths(&paths[i], 1, &usual);
                assert_string_equal(got.message, wants[i]);
        }
}
#undef LIST

/* Make standard input a pipe to which another process writes the bytes, a few at a time. */
static pid_t feed_standard_input(const struct buffer *bytes)
{
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                close(ends[0]);
                for (size_t at = 0; at < bytes->n;) {
                        size_t n = bytes->n - at < 777 ? bytes->n - at : 777;
                        ssize_t written = write(ends[1], bytes->data + at, n);
                        if (written < 0)
                                _exit(1);
                        at += (size_t)written;
                }
                _exit(0);
        }
        close(ends[1]);
        assert_true(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
        close(ends[0]);
        return child;
}

static void test_standard_input(void **state)
{
        (void)state;
        const char *path = "-";
        struct reads reads = make_reads(shape, 900);
        struct buffer text = format_reads(&reads, &(struct layout){ 0 });
        for (int packing = PLAIN; packing < NPACKINGS; packing++)
                for (int t = 1; t <= 3; t++) {
                        struct setting setting = usual;
                        setting.nworkers = t;
                        struct buffer packed = pack_text(&text, (enum packing)packing, 400);
                        struct outcome want = expect_reads(&reads, true, &setting);
                        pid_t child = feed_standard_input(&packed);
                        struct outcome got = read_paths(&path, 1, &setting);
                        assert_outcome(&got, &want);
                        assert_int_equal(got.total, 0);
                        assert_int_equal(got.done, packed.n);
                        waitpid(child, NULL, 0);

                        packed.n -= packed.n / 3;
                        child = feed_standard_input(&packed);
                        got = read_paths(&path, 1, &setting);
                        assert_refused(&got, "standard input");
                        waitpid(child, NULL, 0);
                        drop(&packed);
                }
        drop(&text);
        free_reads(&reads);
}

/* `kcount - < file` reads from the file's current offset. */
static void test_standard_input_is_file(void **state)
{
        (void)state;
        const char *path = "-", *file = scratch_path("stdin");
        struct reads reads = make_reads(shape, 901);
        struct buffer text = { 0 }, fastq = format_reads(&reads, &(struct layout){ 0 });
        struct outcome want = expect_reads(&reads, true, &usual);
        puts_to(&text, "a line that was read before\n");
        size_t skipped = text.n;
        put(&text, fastq.data, fastq.n);
        write_file(file, text.data, text.n);
        assert_non_null(freopen(file, "rb", stdin));
        assert_int_equal(lseek(STDIN_FILENO, (off_t)skipped, SEEK_SET), (off_t)skipped);
        struct outcome got = read_paths(&path, 1, &usual);
        assert_outcome(&got, &want);
        unlink(file);
        drop(&text);
        drop(&fastq);
        free_reads(&reads);
}

static void test_bad_paths(void **state)
{
        (void)state;
        const char *missing = "/tmp/kcount-test-no-such-file", *folder = "/tmp";
        struct outcome got = read_paths(&missing, 1, &usual);
        assert_refused(&got, "cannot open /tmp/kcount-test-no-such-file: No such file");
        got = read_paths(&folder, 1, &usual);
        assert_refused(&got, "/tmp is a folder");
        const char *url = "https://example.org/reads.fq.gz";
        got = read_paths(&url, 1, &usual);
        assert_refused(&got, "cannot open https://example.org/reads.fq.gz: kcount reads files, not "
                             "URLs [curl -fL FILE]");
        const char *twice[] = { "-", "-" };
        got = read_paths(twice, 2, &usual);
        assert_refused(&got, "twice");
        got = read_paths(NULL, 0, &usual);
        assert_refused(&got, "no input");
}

/* All files are good but the last: nothing is counted. */
static void test_bad_among_good(void **state)
{
        (void)state;
        char names[NFILES][64];
        const char *paths[NFILES + 1];
        make_files(names, &usual);
        for (int i = 0; i < NFILES; i++)
                paths[i] = names[i];
        paths[NFILES] = scratch_path("bad");
        write_file(paths[NFILES], "@a\nAC\n+\nI\n", 10);
        for (int t = 1; t <= 4; t++) {
                struct setting setting = usual;
                setting.nworkers = t;
                struct outcome got = read_paths(paths, NFILES + 1, &setting);
                assert_refused(&got, "record 1");
        }
        for (int i = 0; i <= NFILES; i++)
                unlink(paths[i]);
}

static void test_cancel(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct kc_job job = { 0 };
        struct kc_reader *reader;
        const char *path = scratch_path("cancel");
        write_file(path, "@a\nAC\n+\nII\n", 11);
        struct kc_reader_options options = { .k = 1, .nworkers = 1, .job = &job };
        assert_int_equal(kc_reader_open(&reader, &path, 1, &options, &err), KC_OK);
        atomic_store(&job.cancel, true);
        uint64_t words[KC_BATCH_MIN_WORDS + KC_BATCH_PADDING];
        struct kc_segment segment;
        struct kc_batch batch = { .words = words,
                                  .segments = &segment,
                                  .words_cap = KC_BATCH_MIN_WORDS,
                                  .segments_cap = 1 };
        struct kc_batch_source source = kc_reader_source(reader);
        assert_int_equal(source.next(source.ctx, 0, &batch, &err), KC_ECANCELED);
        kc_reader_close(reader);
        kc_reader_close(NULL);
        unlink(path);
}

static void test_names(void **state)
{
        (void)state;
        char names[NFILES][64];
        const char *paths[2] = { names[3], names[1] };
        const char *const *got;
        struct kc_error err = { 0 };
        struct kc_reader *reader;
        struct kc_reader_options options = { .k = 1, .nworkers = 1 };
        make_files(names, &usual);
        assert_int_equal(kc_reader_open(&reader, paths, 2, &options, &err), KC_OK);
        assert_int_equal(kc_reader_names(reader, &got), 2);
        assert_string_equal(got[0], names[3]);
        assert_string_equal(got[1], names[1]);
        kc_reader_close(reader);
        for (int i = 0; i < NFILES; i++)
                unlink(names[i]);
}

/* ---- files that change while they are read ---- */

#define CHANGING "changing"

static struct buffer addition;   /* what append() adds */
static atomic_flag have_changed; /* the file changes once */

static void append(void)
{
        if (atomic_flag_test_and_set(&have_changed))
                return;
        FILE *file = fopen(CHANGING, "ab");
        assert_non_null(file);
        assert_int_equal(fwrite(addition.data, 1, addition.n, file), addition.n);
        assert_int_equal(fclose(file), 0);
}

static void cut(void)
{
        struct stat st;
        if (atomic_flag_test_and_set(&have_changed))
                return;
        assert_int_equal(stat(CHANGING, &st), 0);
        assert_int_equal(truncate(CHANGING, st.st_size / 2), 0);
}

static struct outcome read_changing(const struct buffer *before, void (*change)(void), int nworkers)
{
        struct setting setting = usual;
        const char *path = CHANGING;
        setting.nworkers = nworkers;
        setting.after_batch = change;
        atomic_flag_clear(&have_changed);
        write_file(CHANGING, before->data, before->n);
        struct outcome got = read_paths(&path, 1, &setting);
        assert_true(atomic_flag_test_and_set(&have_changed));
        unlink(CHANGING);
        return got;
}

static bool is_same(const struct digest *a, const struct digest *b)
{
        return a->nkmers == b->nkmers && a->sum == b->sum;
}

/* The reads of a file, packed; the outcome that they should have is added to *want. */
static struct buffer packed_reads(uint64_t seed, bool fasta, enum packing packing,
                                  struct outcome *want)
{
        struct reads reads = make_reads(shape, seed);
        struct layout layout = { .fasta = fasta };
        struct buffer text = format_reads(&reads, &layout), packed = pack_text(&text, packing, 500);
        struct outcome one = expect_reads(&reads, !fasta, &usual);
        add_outcome(want, &one);
        drop(&text);
        free_reads(&reads);
        return packed;
}

/* All reads, or an error: nothing in between. */
static void assert_whole(const struct outcome *got, const struct outcome *want)
{
        if (got->status == KC_OK)
                assert_true(is_same(&got->digest, &want->digest));
        else
                assert_non_null(strstr(got->message, CHANGING " is truncated: "));
}

/*
 * Of plain FASTQ, what was there when the file was opened is read. Of plain FASTA too, unless the
 * growth is seen, which is an error. Of packed data also what was added, if it is whole; otherwise
 * that is an error.
 */
static void test_growing_file(void **state)
{
        int nlonger = 0;
        (void)state;
        for (int i = 0; i < 4 * NPACKINGS; i++) {
                const enum packing packing = (enum packing)(i / 4);
                const bool fasta = i % 2, whole = i / 2 % 2;
                struct outcome first = { 0 }, both;
                struct buffer before = packed_reads(600 + (uint64_t)i, fasta, packing, &first);
                both = first;
                addition = packed_reads(700 + (uint64_t)i, fasta, packing, &both);
                addition.n = whole ? addition.n : addition.n / 2;
                struct outcome got = read_changing(&before, append, 1 + i % 3);
                const bool longer = packing == PLAIN && fasta && got.status != KC_OK;
                nlonger += longer;
                if (longer)
                        assert_non_null(strstr(got.message, CHANGING " became longer while"));
                else if (packing == PLAIN)
                        assert_int_equal(got.status, KC_OK);
                if (!longer && (got.status != KC_OK || !is_same(&got.digest, &first.digest)))
                        assert_whole(&got, whole ? &both : &first);
                drop(&before);
                drop(&addition);
        }
        assert_true(nlonger > 0);
}

/* Of packed data, the rest may have been read before. */
static void test_shrinking_file(void **state)
{
        (void)state;
        for (int i = 0; i < 2 * NPACKINGS; i++) {
                const enum packing packing = (enum packing)(i / 2);
                struct outcome want = { 0 };
                struct buffer before = packed_reads(800, i % 2, packing, &want);
                struct outcome got = read_changing(&before, cut, 1);
                if (packing == PLAIN)
                        assert_non_null(strstr(got.message, CHANGING " became shorter while"));
                else
                        assert_whole(&got, &want);
                drop(&before);
        }
}

static char folder[] = "/tmp/kcount-test-XXXXXX";

static int enter_folder(void **state)
{
        (void)state;
        return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
        (void)state;
        return chdir("/") != 0 || rmdir(folder) != 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_many_files),
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_bad_lists),
                cmocka_unit_test(test_standard_input),
                cmocka_unit_test(test_standard_input_is_file),
                cmocka_unit_test(test_bad_paths),
                cmocka_unit_test(test_bad_among_good),
                cmocka_unit_test(test_cancel),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_growing_file),
                cmocka_unit_test(test_shrinking_file),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
