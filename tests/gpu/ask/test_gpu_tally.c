/*
 * How often each count occurs among the windows of files, found on one device and on two, against
 * counts found window by window in a sorted array. Skipped without a device.
 */
#include "tests/gpu/ask/file_table.h"
#include "tests/gpu/need_device.h"
#include "tests/io/store/store_sets.h"

#include "io/reader.h"

enum { READS_NBYTES = 1 << 20 };

struct counts {
        uint32_t *items;
        size_t n, cap;
};

static void add_count(struct counts *c, uint32_t count)
{
        if (c->n == c->cap) {
                c->cap = 2 * c->cap + 1024;
                c->items = realloc(c->items, c->cap * sizeof *c->items);
                assert_non_null(c->items);
        }
        c->items[c->n++] = count;
}

static int compare_items(const void *a, const void *b)
{
        const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return (x > y) - (x < y);
}

static void sort(struct counts *c)
{
        qsort(c->items, c->n, sizeof *c->items, compare_items);
}

/* ---- files ---- */

/* Letters of some k-mers of the set, one after the other, with N and A in between. */
static size_t make_read(const struct pair_set *s, char *letters, uint64_t *rng)
{
        size_t n = 0;
        for (size_t left = next_random(rng) % 8; left > 0; left--) {
                const uint64_t r = next_random(rng) % 8;
                if (s->n > 0) {
                        kc_kmer_format(s->kmers + next_random(rng) % s->n * s->nw, s->k,
                                       letters + n);
                        n += (size_t)s->k;
                }
                if (r < 2)
                        letters[n++] = r == 0 ? 'N' : 'n';
                for (size_t i = 0; r == 2 && i < 90; i++)
                        letters[n++] = 'A';
        }
        return n;
}

static void add_windows(const struct pair_set *s, const char *letters, size_t n,
                        struct counts *want)
{
        uint64_t kmer[KC_MAX_WORDS];
        for (size_t i = 0; i + (size_t)s->k <= n; i++) {
                if (kc_kmer_parse(letters + i, s->k, kmer) != s->k)
                        continue;
                if (!s->stranded)
                        kc_kmer_canonical(kmer, s->k);
                add_count(want, count_in(s, kmer));
        }
}

/* FASTQ of many reads. strange: the last one has two lines of letters, which no device parses. */
static void write_reads(const struct pair_set *s, const char *path, size_t nreads, bool strange,
                        struct counts *want, uint64_t seed)
{
        FILE *file = fopen(path, "w");
        char letters[8 * (KC_MAX_K + 100)];
        assert_non_null(file);
        for (size_t i = 0; i < nreads; i++) {
                const size_t n = make_read(s, letters, &seed);
                add_windows(s, letters, n, want);
                fprintf(file, "@%zu\n%.*s\n+\n", i, (int)n, letters);
                for (size_t j = 0; j < n; j++)
                        fputc('I', file);
                fputc('\n', file);
        }
        if (strange)
                fprintf(file, "@strange\nN\nN\n+\nI\nI\n");
        assert_int_equal(fclose(file), 0);
}

/* ---- asking ---- */

static enum kc_status put(void *ctx, uint32_t count, uint64_t n, struct kc_error *err)
{
        (void)err;
        for (uint64_t i = 0; i < n; i++)
                add_count(ctx, count);
        return KC_OK;
}

static void clear(void *ctx)
{
        ((struct counts *)ctx)->n = 0;
}

struct way {
        int ndevices, nthreads;
        uint32_t batch_nbases;
        bool stored, read_ahead;
};

static struct kc_gpu_ask_options options_of(const struct way *way, enum kc_gpu_map map,
                                            bool stranded)
{
        struct kc_gpu_device devices[2];
        struct kc_error err = { 0 };
        int n;
        assert_ok(kc_gpu_devices(devices, 2, &n, &err), err);
        return (struct kc_gpu_ask_options){ .devices = { 0, n > 1 ? 1 : 0 },
                                            .ndevices = way->ndevices,
                                            .map = map,
                                            .stranded = stranded,
                                            .memory_nbytes = UINT64_C(1) << 30,
                                            .batch_nbases = way->batch_nbases };
}

static struct kc_gpu_ask_table table_of(struct file_table *file, int k)
{
        const struct kc_set set = { &file->store, 1, KC_SET_UNION, KC_RULE_SUM };
        return (struct kc_gpu_ask_table){ file, k, kc_set_npairs(&set), read_file_table };
}

static void check_way(const struct way *way, enum kc_gpu_map map, const struct pair_set *s,
                      const char *const *paths, const struct counts *want)
{
        const struct kc_gpu_ask_options options = options_of(way, map, s->stranded);
        const struct kc_reader_options reading = { .k = s->k, .nworkers = way->nthreads };
        struct file_table file = { .store = open_store("t.kc") };
        const struct kc_gpu_ask_table table = table_of(&file, s->k);
        struct counts got = { 0 };
        const struct kc_ask_tally tally = { &got, put, clear };
        struct kc_error err = { 0 };
        struct kc_reader *reader;
        struct kc_stored_source stored;
        bool began;
        assert_ok(kc_reader_open(&reader, paths, 2, &reading, &err), err);
        assert_true(kc_reader_stored(reader, READS_NBYTES / 8, &stored));
        const struct kc_batch_source batches = kc_reader_source(reader);
        const struct kc_gpu_ask_reads reads = { .batches = &batches,
                                                .stored = way->stored ? &stored : NULL,
                                                .nthreads = way->nthreads,
                                                .memory_nbytes = 1 << 28,
                                                .read_ahead = way->read_ahead };
        assert_ok(kc_gpu_ask_tally(&table, &options, &reads, &tally, &began, &err), err);
        assert_true(began);
        assert_int_equal(got.n, want->n);
        sort(&got);
        assert_true(got.n == 0 || memcmp(got.items, want->items, got.n * sizeof *got.items) == 0);
        kc_reader_close(reader);
        kc_store_close(file.store);
        free(got.items);
}

/* ---- tests ---- */

/* strange: there are enough reads that some are looked up before the device gives the files up. */
static void check_k(int k, bool stranded, enum kc_gpu_map map, bool strange)
{
        static const struct way ways[] = { { 1, 1, 4096, true, true },
                                           { 2, 3, 4096, true, false },
                                           { 1, 2, 0, false, true },
                                           { 2, 3, 8192, false, true },
                                           { 2, 9, 8192, false, false } };
        const char *const paths[] = { "a.fq", "b.fq" };
        struct pair_set set = make_set(k, stranded, 3000, 1);
        struct counts want = { 0 };
        write_set(&set, "t.kc", 2, 700, 1);
        write_reads(&set, "a.fq", strange ? 9000 : 600, strange, &want, 2);
        write_reads(&set, "b.fq", 200, false, &want, 3);
        sort(&want);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
                if (ways[i].stored || !strange)
                        check_way(&ways[i], map, &set, paths, &want);
        unlink("t.kc");
        unlink("a.fq");
        unlink("b.fq");
        free_set(&set);
        free(want.items);
}

static void test_lengths(void **state)
{
        (void)state;
        check_k(7, false, KC_GPU_MAP_LINEAR, false);
        check_k(31, false, KC_GPU_MAP_WARPDRIVE, false);
        check_k(32, true, KC_GPU_MAP_SLAB, false);
        check_k(63, false, KC_GPU_MAP_LSM, false);
        check_k(64, true, KC_GPU_MAP_WARPDRIVE, false);
}

/* The device cannot parse the end of a file, so all files are read again. */
static void test_strange(void **state)
{
        (void)state;
        check_k(17, false, KC_GPU_MAP_WARPDRIVE, true);
}

/* What fails before reading begins says so, so that the caller can do it in another way. */
static void check_failure(struct file_table *file, uint64_t memory_nbytes, enum kc_status failure)
{
        const struct way way = { file->job != NULL ? 1 : 2, 1, 0, false, false };
        const struct kc_ask_tally tally = { NULL, put, clear };
        const struct kc_gpu_ask_reads reads = { .nthreads = 1,
                                                .memory_nbytes = 1 << 26,
                                                .job = file->job };
        struct kc_gpu_ask_options options = options_of(&way, KC_GPU_MAP_WARPDRIVE, false);
        const struct kc_gpu_ask_table table = table_of(file, 31);
        struct kc_error err = { 0 };
        bool began = true;
        options.memory_nbytes = memory_nbytes;
        assert_int_equal(kc_gpu_ask_tally(&table, &options, &reads, &tally, &began, &err), failure);
        assert_false(began);
}

/* Too little memory; a job that is canceled when the first of two pieces of a table has been
 * read. */
static void test_limits(void **state)
{
        (void)state;
        struct kc_job job = { 0 };
        struct pair_set set = make_set(31, false, 50000, 1);
        write_set(&set, "t.kc", 1, 700, 1);
        append_set("t.kc", &set, false, 1);
        struct file_table file = { .store = open_store("t.kc") };
        check_failure(&file, 300 << 10, KC_ENOMEM);
        assert_int_equal(file.npieces, 0);
        file.job = &job;
        check_failure(&file, 1 << 30, KC_ECANCELED);
        assert_int_equal(file.npieces, 1);
        kc_store_close(file.store);
        unlink("t.kc");
        free_set(&set);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_lengths, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_strange, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_limits, enter_folder, leave_folder),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
