/* Batches that are read once and given for one k after the other. */
#include "io/replay.h"

#include "tests/io/parse/reader_support.h"

enum { NKS = 5 };
static const int ks[NKS] = { 21, 5, 255, 64, 32 };

/* Write a text to a file and open it for all k. Returns the file's path. */
static const char *open_text(struct kc_reader **reader, const char *text, size_t n,
                             const struct setting *setting, struct kc_job *job)
{
        struct kc_error err = { 0 };
        const char *path = scratch_path("replay");
        struct kc_reader_options options = { .k = 5,
                                             .max_k = 255,
                                             .min_quality = setting->min_quality,
                                             .nworkers = setting->nworkers,
                                             .chunk_nbytes = setting->chunk_nbytes,
                                             .job = job };
        write_file(path, text, n);
        assert_int_equal(kc_reader_open(reader, &path, 1, &options, &err), KC_OK);
        return path;
}

/* All batches for k. */
static enum kc_status read_for(struct kc_replay *replay, int k, struct setting setting,
                               struct digest *digest, struct kc_error *err)
{
        setting.k = setting.max_k = k; /* segments that repeat nothing */
        struct reading reading = { .source = kc_replay_source(replay, k), .setting = &setting };
        enum kc_status status = kc_parallel(setting.nworkers, read_worker, NULL, &reading, err);
        *digest = (struct digest){ 0 };
        for (int i = 0; i < setting.nworkers; i++) {
                digest->nkmers += reading.digests[i].nkmers;
                digest->sum += reading.digests[i].sum;
        }
        return status;
}

static void check(const struct reads *reads, const struct buffer *text, bool qualities,
                  struct setting setting)
{
        struct kc_error err = { 0 };
        struct kc_job job = { 0 };
        struct kc_reader *reader;
        struct kc_replay *replay;
        const char *path = open_text(&reader, text->data, text->n, &setting, &job);
        const struct kc_batch_source source = kc_reader_source(reader);
        const struct kc_replay_setup setup = { &source, "/tmp", setting.nworkers, &job };
        assert_int_equal(kc_replay_new(&replay, &setup, &err), KC_OK);
        for (int i = 0; i < NKS; i++) {
                struct digest got;
                setting.k = ks[i];
                struct outcome want = expect_reads(reads, qualities, &setting);
                assert_int_equal(read_for(replay, ks[i], setting, &got, &err), KC_OK);
                assert_int_equal(got.nkmers, want.digest.nkmers);
                assert_int_equal(got.sum, want.digest.sum);
                assert_int_equal(atomic_load(&job.done), atomic_load(&job.total));
                assert_true(kc_replay_nbytes(replay) > want.totals.nbases / 4);
                unlink(path); /* nothing is read again */
        }
        kc_replay_free(replay);
        kc_reader_close(reader);
}

static void check_sizes(const struct layout *layout, struct reads_shape shape, uint64_t seed)
{
        static const uint32_t words_caps[] = { 64, 1000, 40000 };
        struct reads reads = make_reads(shape, seed);
        struct buffer text = format_reads(&reads, layout);
        for (int i = 0; i < 9; i++) {
                struct setting setting = { .min_quality = i % 2 ? 20 : 0,
                                           .nworkers = 1 + i / 3,
                                           .chunk_nbytes = i < 5 ? 1000 : 0,
                                           .words_cap = words_caps[i % 3],
                                           .segments_cap = i % 3 ? 500 : 3 };
                check(&reads, &text, !layout->fasta, setting);
        }
        drop(&text);
        free_reads(&reads);
}

static void test_short(void **state)
{
        (void)state;
        const struct reads_shape shape = { .n = 300, .max_nbases = 500, .odd_letters = true };
        check_sizes(&(struct layout){ 0 }, shape, 1);
        check_sizes(&(struct layout){ .fasta = true, .width = 60 }, shape, 2);
}

static void test_long(void **state)
{
        (void)state;
        const struct reads_shape shape = { .n = 6, .max_nbases = 70000, .odd_letters = false };
        check_sizes(&(struct layout){ 0 }, shape, 3);
        check_sizes(&(struct layout){ .fasta = true }, shape, 4);
}

static void test_failures(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct kc_job job = { 0 };
        struct kc_reader *reader;
        struct kc_replay *replay;
        struct digest digest;
        const struct setting setting = { .nworkers = 2 };
        const char text[] = "@r\nACGTACGT\n+\nIIIIIIII\n@s\nACGTACGT\n+\nIII\n";
        const char *path = open_text(&reader, text, sizeof text - 1, &setting, &job);
        const struct kc_batch_source source = kc_reader_source(reader);
        struct kc_replay_setup setup = { &source, "/nowhere/at/all", 2, &job };
        assert_int_equal(kc_replay_new(&replay, &setup, &err), KC_EIO);
        assert_null(replay);
        setup.tmp_dir = "/tmp";
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_replay_new(&replay, &setup, &err), KC_OK);
        assert_int_equal(read_for(replay, 5, setting, &digest, &err), KC_EINPUT);
        kc_replay_free(replay);
        kc_reader_close(reader);
        unlink(path);
}

/* A job that is canceled while batches come from the file. */
static void test_canceled(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct kc_job job = { 0 };
        struct kc_reader *reader;
        struct kc_replay *replay;
        struct digest digest;
        const struct setting setting = { .nworkers = 1 };
        const char text[] = ">r\nACGTACGT\n";
        const char *path = open_text(&reader, text, sizeof text - 1, &setting, &job);
        const struct kc_batch_source source = kc_reader_source(reader);
        const struct kc_replay_setup setup = { &source, "/tmp", 1, &job };
        assert_int_equal(kc_replay_new(&replay, &setup, &err), KC_OK);
        assert_int_equal(read_for(replay, 5, setting, &digest, &err), KC_OK);
        assert_int_equal(digest.nkmers, 4);
        atomic_store(&job.cancel, true);
        assert_int_equal(read_for(replay, 6, setting, &digest, &err), KC_ECANCELED);
        kc_replay_free(replay);
        kc_reader_close(reader);
        unlink(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_short),
                cmocka_unit_test(test_long),
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_canceled),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
