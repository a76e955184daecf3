/* The host engine, compared with sort-and-count on strings, and its super-k-mers. */
#include "cpu/pair.h"
#include "cpu/superkmer.h"

#include "tests/cpu/cpu_support.h"
#include "tests/sampling.h"

static void agrees_with_sorting(void **state)
{
        (void)state;
        static const int all_k[] = { 1,  2,  3,  5,  8,  12, 15, 16,  17,  21,  27,  31,
                                     32, 33, 41, 55, 63, 64, 65, 101, 127, 128, 129, 255 };
        struct reads reads = { 0 };
        sequenced(&reads, 2000, 60, 300);
        awkward(&reads);
        for (size_t i = 0; i < sizeof all_k / sizeof *all_k; i += THREAD_STRIDE)
                check(&reads, all_k[i], i % 2, 1 + (int)(i / THREAD_STRIDE) % 3,
                      i % 2 ? 64 << 20 : 1 << 20);
        free_reads(&reads);
}

static void little_memory_spills_and_agrees(void **state)
{
        (void)state;
        struct reads reads = { 0 };
        sequenced(&reads, 150000, 2500, 200);
        struct kc_count_params params = {
                .k = 31, .nthreads = 2, .memory_nbytes = 1 << 20, .tmp_dir = "/tmp"
        };
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        struct run run = { .fail_at = -1 };
        reads.fail_at = -1;
        assert_int_equal(count(&reads, &params, &run, &totals, &err), KC_OK);
        assert_true(totals.spilled_nbytes > 0);
        run_free(&run);
        check(&reads, 31, false, 2, 1 << 20);
        check(&reads, 65, true, 3, 1 << 20);
        free_reads(&reads);
}

enum { NKS = 5 };

/* Count with several k at once, and compare each run with the oracle. Returns the bytes spilled. */
static uint64_t check_several(struct reads *reads, const int *k, uint64_t memory, uint32_t piece)
{
        struct kc_count_params params = { .stranded = piece % 2,
                                          .nthreads = memory > 1 << 20 ? 3 : 1,
                                          .memory_nbytes = memory,
                                          .tmp_dir = "/tmp" };
        struct kc_job job = { 0 };
        struct kc_error err = { 0 };
        struct kc_batch_source source = { reads, next_batch };
        struct kc_count_task tasks[NKS];
        struct kc_run_sink sinks[NKS];
        struct run runs[NKS];
        uint64_t spilled = 0;
        atomic_store(&reads->next, 0);
        reads->fail_at = -1;
        reads->nworkers = params.nthreads;
        reads->piece = piece;
        reads->k = 255;
        reads->max_k = 1;
        for (int i = 0; i < NKS; i++) {
                runs[i] = (struct run){ .fail_at = -1, .nwords = kc_kmer_nwords(k[i]) };
                sinks[i] = run_sink(&runs[i]);
                tasks[i] = (struct kc_count_task){ .k = k[i], .sink = &sinks[i] };
                reads->k = k[i] < reads->k ? k[i] : reads->k;
                reads->max_k = k[i] > reads->max_k ? k[i] : reads->max_k;
        }
        assert_int_equal(kc_cpu_count_all(&params, &source, tasks, NKS, &job, &err), KC_OK);
        assert_int_equal(atomic_load(&job.stage), kc_stage_of(NKS - 1, KC_STAGE_ORDER));
        for (int i = 0; i < NKS; i++) {
                char **kmers;
                reads->k = k[i];
                size_t n = all_kmers(reads, params.stranded, &kmers);
                compare(&runs[i], kmers, n, k[i]);
                assert_int_equal(tasks[i].totals.nkmers, n);
                spilled += tasks[i].totals.spilled_nbytes;
                for (size_t j = 0; j < n; j++)
                        free(kmers[j]);
                free(kmers);
                run_free(&runs[i]);
        }
        return spilled;
}

static void several_k_agree_with_sorting(void **state)
{
        (void)state;
        static const int some[NKS] = { 21, 64, 5, 255, 31 }, others[NKS] = { 33, 1, 32, 101, 2 };
        static const int close[NKS] = { 51, 31, 32, 21, 63 };
        struct reads reads = { 0 }, many = { 0 };
        sequenced(&reads, 2000, 60, 300);
        awkward(&reads);
        check_several(&reads, some, 64 << 20, 300);
        check_several(&reads, others, 1 << 20, 111);
        free_reads(&reads);
        sequenced(&many, 100000, 1500, 250);
        assert_true(check_several(&many, close, 1 << 20, 90) > 0);
        free_reads(&many);
}

/* A failure of one k's sink ends the others, too. */
static void a_failure_of_one_of_several_k_comes_back(void **state)
{
        (void)state;
        struct reads reads = { .fail_at = -1, .nworkers = 2, .k = 21, .max_k = 31, .piece = 0 };
        struct kc_count_params params = { .nthreads = 2,
                                          .memory_nbytes = 8 << 20,
                                          .tmp_dir = "/tmp" };
        struct kc_job job = { 0 };
        struct kc_error err = { 0 };
        struct kc_batch_source source = { &reads, next_batch };
        struct run runs[2] = { { .fail_at = -1, .nwords = 1 }, { .fail_at = 0, .nwords = 1 } };
        struct kc_run_sink sinks[2] = { run_sink(&runs[0]), run_sink(&runs[1]) };
        struct kc_count_task tasks[2] = { { .k = 21, .sink = &sinks[0] },
                                          { .k = 31, .sink = &sinks[1] } };
        sequenced(&reads, 5000, 200, 150);
        assert_int_equal(kc_cpu_count_all(&params, &source, tasks, 2, &job, &err), KC_EIO);
        assert_string_equal(err.message, "the sink is full");
        assert_int_equal(runs[0].ncanceled, 1);
        assert_int_equal(runs[1].ncanceled, 1);
        tasks[1].k = 256;
        assert_int_equal(kc_cpu_count_all(&params, &source, tasks, 2, &job, &err), KC_EUSAGE);
        free_reads(&reads);
        run_free(&runs[0]);
        run_free(&runs[1]);
}

static void nothing_gives_an_empty_run(void **state)
{
        (void)state;
        struct reads reads = { 0 };
        check(&reads, 31, false, 2, 8 << 20);
        add_read(&reads, "ACGT");
        check(&reads, 31, false, 2, 8 << 20);
        free_reads(&reads);
}

static void failures_come_back(void **state)
{
        (void)state;
        struct reads reads = { 0 };
        sequenced(&reads, 5000, 200, 150);
        struct kc_count_params params = {
                .k = 21, .nthreads = 3, .memory_nbytes = 8 << 20, .tmp_dir = "/tmp"
        };
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        struct run run = { .fail_at = -1 };
        reads.fail_at = 150;
        assert_int_equal(count(&reads, &params, &run, &totals, &err), KC_EINPUT);
        assert_string_equal(err.message, "no read 150");
        assert_int_equal(run.ncanceled, 1);

        err = (struct kc_error){ 0 };
        reads.fail_at = -1;
        run_free(&run);
        run = (struct run){ .fail_at = 0 };
        assert_int_equal(count(&reads, &params, &run, &totals, &err), KC_EIO);
        assert_string_equal(err.message, "the sink is full");

        err = (struct kc_error){ 0 };
        params.k = 256;
        assert_int_equal(count(&reads, &params, &run, &totals, &err), KC_EUSAGE);

        free_reads(&reads);
        reads.n = 0;
        err = (struct kc_error){ 0 };
        params = (struct kc_count_params){
                .k = 31, .nthreads = 2, .memory_nbytes = 1 << 20, .tmp_dir = "/nowhere/at/all"
        };
        sequenced(&reads, 150000, 2500, 200);
        assert_int_equal(count(&reads, &params, &run, &totals, &err), KC_EIO);
        assert_non_null(strstr(err.message, "/nowhere/at/all"));
        free_reads(&reads);
        run_free(&run);
}

/* ---- components ---- */

static void counts_saturate(void **state)
{
        (void)state;
        uint64_t nsaturated = 0;
        assert_int_equal(kc_count_add(0, 1, &nsaturated), 1);
        assert_int_equal(kc_count_add(UINT32_MAX - 1, 1, &nsaturated), UINT32_MAX);
        assert_int_equal(nsaturated, 0);
        assert_int_equal(kc_count_add(UINT32_MAX - 1, 4, &nsaturated), UINT32_MAX);
        assert_int_equal(nsaturated, 3);
        assert_int_equal(kc_count_add(UINT32_MAX, UINT32_MAX, &nsaturated), UINT32_MAX);
        assert_int_equal(nsaturated, 3 + (uint64_t)UINT32_MAX);
}

static void pairs_are_not_cut(void **state)
{
        (void)state;
        uint8_t pairs[64];
        size_t n = 0;
        const uint32_t counts[] = { 1, 254, 255, 70000, 2 };
        for (size_t i = 0; i < 5; i++) {
                memcpy(pairs + n, "key", 3);
                n += 3;
                assert_int_equal(kc_pair_count_nbytes(counts[i]), i == 2 || i == 3 ? 5 : 1);
                n += kc_pair_put_count(pairs + n, counts[i]);
        }
        const size_t ends[] = { 0, 4, 8, 16, 24, 28 };
        for (size_t room = 0; room <= n; room++) {
                size_t want = 0;
                for (size_t i = 0; i < 6; i++)
                        if (ends[i] <= room)
                                want = ends[i];
                assert_int_equal(kc_pairs_that_fit(pairs, n, room, 3), want);
        }
        uint32_t count;
        assert_int_equal(kc_pair_get_count(pairs + 19, &count), 5);
        assert_int_equal(count, 70000);
}

/* A sequence and its reverse complement put equal numbers of k-mers into each bin. */
static void both_strands_share_bins(void **state)
{
        (void)state;
        enum { NBINS = 64, N = 3000 };
        static const int all_k[] = { 1, 4, 21, 31, 64, 255 };
        char *genome = random_genome(N), rc[N + 1] = { 0 };
        for (int i = 0; i < N; i++)
                rc[i] = complement(genome[N - 1 - i]);
        for (size_t i = 0; i < sizeof all_k / sizeof *all_k; i++) {
                uint64_t kmers_in_bin[2][NBINS] = { { 0 } };
                for (int strand = 0; strand < 2; strand++) {
                        struct kc_arena arena;
                        struct kc_lists bins;
                        struct kc_superkmer_scanner *scanner;
                        struct kc_error err = { 0 };
                        uint64_t words[N / 32 + 1 + KC_BATCH_PADDING];
                        struct kc_segment segment;
                        struct kc_batch batch = { .words = words,
                                                  .segments = &segment,
                                                  .words_cap = N / 32 + 1,
                                                  .segments_cap = 1 };
                        uint64_t nkmers = 0;
                        pack(&batch, strand ? rc : genome);
                        assert_int_equal(kc_arena_init(&arena, 1000, 1, &err), KC_OK);
                        assert_int_equal(
                                kc_lists_init(&bins, NBINS, 1, &arena, 800, NULL, "/tmp", &err),
                                KC_OK);
                        assert_int_equal(kc_superkmer_scanner_new(&scanner, all_k[i], NBINS, &err),
                                         KC_OK);
                        assert_int_equal(
                                kc_superkmer_scan(scanner, &batch, &bins, 0, &nkmers, &err), KC_OK);
                        assert_int_equal(nkmers, N - all_k[i] + 1);
                        assert_int_equal(kc_lists_seal(&bins, 0, NULL), KC_OK);
                        struct kc_list_reader reader;
                        kc_list_reader_init(&reader, &bins);
                        for (uint32_t bin = 0; bin < NBINS; bin++) {
                                const uint8_t *data;
                                size_t nbytes;
                                kc_list_rewind(&reader, bin);
                                while (kc_list_next(&reader, &data, &nbytes, &err) == KC_OK &&
                                       nbytes)
                                        for (size_t at = 0; at < nbytes;
                                             at += kc_superkmer_nbytes(all_k[i], data[at] + 1u))
                                                kmers_in_bin[strand][bin] += data[at] + 1u;
                        }
                        kc_list_reader_free(&reader);
                        kc_superkmer_scanner_free(scanner);
                        kc_lists_free(&bins);
                        kc_arena_free(&arena);
                }
                assert_memory_equal(kmers_in_bin[0], kmers_in_bin[1], sizeof kmers_in_bin[0]);
        }
        free(genome);
}

/* A sink that records the largest number of pairs it received in one call. */
struct largest {
        struct kc_run_sink to;
        size_t n;
};

static enum kc_status put_largest(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct largest *largest = ctx;
        largest->n = pairs->n > largest->n ? pairs->n : largest->n;
        return largest->to.put(largest->to.ctx, pairs, err);
}

static void cancel_largest(void *ctx)
{
        struct largest *largest = ctx;
        largest->to.cancel(largest->to.ctx);
}

/* K-mers with a common prefix fall into one bucket of one list, at several depths; they are still
 * sorted within the thread's memory. */
static void crowded_kmers_are_sorted_in_little_memory(void **state)
{
        (void)state;
        enum { MEMORY = 64 << 10, MOST_PAIRS = MEMORY / 2 / (8 + 8 + 8 + 4) };
        static const int all_k[] = { 31, 33, 64, 255 };
        for (size_t i = 0; i < sizeof all_k / sizeof *all_k; i++)
                for (int nalike = 0; nalike <= all_k[i] - 8; nalike += 23) {
                        struct reads reads = {
                                .n = 0, .k = all_k[i], .nworkers = 1, .fail_at = -1
                        };
                        for (int r = 0; r < MAX_SEQUENCES; r++) {
                                char text[256] = { 0 };
                                for (int b = 0; b < all_k[i]; b++)
                                        text[b] = b < nalike ? "ACGT"[b % 4] : "ACGT"[rand() % 4];
                                add_read(&reads, text);
                        }
                        struct run run = { .fail_at = -1 };
                        struct largest largest = { .to = run_sink(&run) };
                        struct kc_run_sink sink = { .ctx = &largest,
                                                    .filter = largest.to.filter,
                                                    .put = put_largest,
                                                    .cancel = cancel_largest };
                        struct kc_batch_source source = { &reads, next_batch };
                        struct kc_count_params params = { .k = all_k[i],
                                                          .stranded = true,
                                                          .nthreads = 1,
                                                          .memory_nbytes = MEMORY,
                                                          .tmp_dir = "/tmp" };
                        struct kc_job job = { 0 };
                        struct kc_count_totals totals;
                        struct kc_error err = { 0 };
                        run.nwords = kc_kmer_nwords(all_k[i]);
                        assert_int_equal(kc_cpu_count(&params, &source, &sink, &job, &totals, &err),
                                         KC_OK);
                        char **kmers;
                        size_t n = all_kmers(&reads, true, &kmers);
                        compare(&run, kmers, n, all_k[i]);
                        assert_true(largest.n > 0 && largest.n <= MOST_PAIRS);
                        for (size_t j = 0; j < n; j++)
                                free(kmers[j]);
                        free(kmers);
                        run_free(&run);
                        free_reads(&reads);
                }
}

/* Counting with the filter gives what filtering an unfiltered run gives. */
static void check_filter(const struct kc_run_filter *filter, int k, size_t genome, size_t length)
{
        struct kc_count_params params = {
                .k = k, .nthreads = 3, .memory_nbytes = 1 << 20, .tmp_dir = "/tmp"
        };
        struct reads reads = { .n = 0, .fail_at = -1 };
        struct run whole = { .fail_at = -1 };
        struct run some = { .filter = *filter, .fail_at = -1 };
        struct kc_count_totals all, totals;
        struct kc_run_dropped dropped = { 0 };
        struct kc_error err = { 0 };
        sequenced(&reads, genome, MAX_SEQUENCES, length);
        assert_int_equal(count(&reads, &params, &whole, &all, &err), KC_OK);
        assert_int_equal(count(&reads, &params, &some, &totals, &err), KC_OK);
        struct pairs wanted = run_join(&whole), got = run_join(&some);
        wanted.n = kc_run_filter_pairs(filter, wanted.kmers, wanted.counts, wanted.n, some.nwords,
                                       &dropped);
        assert_true(wanted.n > 0 && dropped.ndistinct > 0);
        assert_int_equal(got.n, wanted.n);
        assert_memory_equal(got.kmers, wanted.kmers,
                            got.n * (size_t)some.nwords * sizeof *got.kmers);
        assert_memory_equal(got.counts, wanted.counts, got.n * sizeof *got.counts);
        assert_memory_equal(&some.dropped, &dropped, sizeof dropped);
        assert_int_equal(totals.ndistinct, all.ndistinct);
        assert_int_equal(totals.nkmers, all.nkmers);
        pairs_free(&wanted);
        pairs_free(&got);
        run_free(&whole);
        run_free(&some);
        free_reads(&reads);
}

/* The engine drops pairs that the sink's filter rejects, and reports them; totals include them. The
 * larger genome has bins that take several passes. */
static void filter_is_applied(void **state)
{
        (void)state;
        static const struct kc_run_filter filters[] = {
                { 2, UINT32_MAX }, { 1, 1 }, { 1, 3 }, { 2, 3 }
        };
        for (size_t f = 0; f < sizeof filters / sizeof *filters; f++)
                for (int k = 31; k <= 40; k += 9) {
                        check_filter(&filters[f], k, 3000, 100);
                        if (!FEW_CASES || f == (size_t)k % 2)
                                check_filter(&filters[f], k, 150000, 200);
                }
}

/* ---- counts alone ---- */

/* A sink that keeps counts, as many as the reads can have; it is given nothing else. */
struct counts {
        uint32_t *counts;
        size_t n, cap;
        atomic_flag lock;
        atomic_int ncanceled, ncalls;
        int fail_at; /* number of the call that fails; -1: none */
};

static enum kc_status keep_counts(void *ctx, const struct kc_run_counts *in, struct kc_error *err)
{
        struct counts *to = ctx;
        assert_null(in->rows);
        if (atomic_fetch_add(&to->ncalls, 1) == to->fail_at)
                return kc_fail(err, KC_EIO, "the sink is full");
        while (atomic_flag_test_and_set(&to->lock))
                ;
        for (size_t i = 0; i < in->n; i++)
                if (in->counts[i] != 0) {
                        assert_true(to->n < to->cap);
                        to->counts[to->n++] = in->counts[i];
                }
        atomic_flag_clear(&to->lock);
        return KC_OK;
}

static enum kc_status refuse_pairs(void *ctx, const struct kc_run_pairs *pairs,
                                   struct kc_error *err)
{
        (void)ctx;
        (void)pairs;
        (void)err;
        fail_msg("pairs are put although only counts are wanted");
        return KC_EUSAGE;
}

static void cancel_counts(void *ctx)
{
        struct counts *counts = ctx;
        atomic_fetch_add(&counts->ncanceled, 1);
}

static struct kc_run_sink counts_sink(struct counts *counts)
{
        return (struct kc_run_sink){ .ctx = counts,
                                     .filter = { 1, UINT32_MAX },
                                     .put = refuse_pairs,
                                     .put_counts = keep_counts,
                                     .cancel = cancel_counts };
}

static int by_count(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return (x > y) - (x < y);
}

/* The counts of sorted k-mers, ascending; the k-mers are freed. Returns how many there are. */
static size_t sorted_counts(char **kmers, size_t n, uint32_t *counts)
{
        size_t ndistinct = 0;
        for (size_t first = 0, at = 0; first < n; first = at) {
                while (at < n && strcmp(kmers[at], kmers[first]) == 0)
                        at++;
                counts[ndistinct++] = (uint32_t)(at - first);
        }
        for (size_t i = 0; i < n; i++)
                free(kmers[i]);
        free(kmers);
        qsort(counts, ndistinct, sizeof *counts, by_count);
        return ndistinct;
}

/* Returns the bytes spilled. */
static uint64_t check_counts(struct reads *reads, const struct kc_count_params *params)
{
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        char **kmers;
        reads->k = params->k;
        size_t n = all_kmers(reads, params->stranded, &kmers);
        uint32_t *wanted = malloc((n + 1) * sizeof *wanted);
        size_t ndistinct = sorted_counts(kmers, n, wanted);
        struct counts got = { .counts = malloc((n + 1) * sizeof *got.counts),
                              .cap = n,
                              .fail_at = -1 };
        const struct kc_run_sink sink = counts_sink(&got);
        assert_int_equal(count_into(reads, params, &sink, &totals, &err), KC_OK);
        qsort(got.counts, got.n, sizeof *got.counts, by_count);
        assert_int_equal(got.n, ndistinct);
        assert_memory_equal(got.counts, wanted, ndistinct * sizeof *wanted);
        assert_int_equal(totals.nkmers, n);
        assert_int_equal(totals.ndistinct, ndistinct);
        assert_int_equal(totals.nsaturated, 0);
        assert_true(totals.stage_seconds[KC_STAGE_ORDER] == 0);
        free(wanted);
        free(got.counts);
        return totals.spilled_nbytes;
}

/* All widths, skewed reads; with 1 MiB, the bins of the larger genome take several passes. */
static void counts_alone_agree_with_sorting(void **state)
{
        (void)state;
        static const int all_k[] = { 1,  2,  8,   16,  31,  32,  33,  64,
                                     65, 96, 127, 129, 160, 191, 224, 255 };
        struct reads reads = { .n = 0, .fail_at = -1 }, more = { .n = 0, .fail_at = -1 };
        sequenced(&reads, 2000, 60, 300);
        awkward(&reads);
        sequenced(&more, 150000, 2500, 200);
        struct kc_count_params params = { .tmp_dir = "/tmp" };
        for (size_t i = 0; i < sizeof all_k / sizeof *all_k; i += THREAD_STRIDE) {
                params.k = all_k[i];
                params.stranded = i % 2;
                params.nthreads = 1 + (int)(i / THREAD_STRIDE) % 3;
                params.memory_nbytes = i % 2 ? 64 << 20 : 1 << 20;
                check_counts(&reads, &params);
        }
        params.nthreads = 1;
        params.memory_nbytes = 1 << 20;
        for (params.k = 21; params.k <= 101; params.k += 40 * THREAD_STRIDE)
                assert_true(check_counts(&more, &params) > 0);
        free_reads(&reads);
        free_reads(&more);
        reads.n = 0;
        check_counts(&reads, &params);
}

static void failures_of_a_sink_of_counts_come_back(void **state)
{
        (void)state;
        struct reads reads = { .n = 0, .fail_at = -1 };
        struct kc_count_params params = {
                .k = 21, .nthreads = 3, .memory_nbytes = 8 << 20, .tmp_dir = "/tmp"
        };
        sequenced(&reads, 5000, 200, 150);
        for (int fail_at = 0; fail_at <= 8; fail_at += 4) {
                uint32_t kept[200 * 150];
                struct counts counts = { .counts = kept, .cap = 200 * 150, .fail_at = fail_at };
                const struct kc_run_sink sink = counts_sink(&counts);
                struct kc_count_totals totals;
                struct kc_error err = { 0 };
                assert_int_equal(count_into(&reads, &params, &sink, &totals, &err), KC_EIO);
                assert_string_equal(err.message, "the sink is full");
                assert_int_equal(counts.ncanceled, 1);
        }
        free_reads(&reads);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(agrees_with_sorting),
                cmocka_unit_test(little_memory_spills_and_agrees),
                cmocka_unit_test(several_k_agree_with_sorting),
                cmocka_unit_test(a_failure_of_one_of_several_k_comes_back),
                cmocka_unit_test(nothing_gives_an_empty_run),
                cmocka_unit_test(failures_come_back),
                cmocka_unit_test(counts_saturate),
                cmocka_unit_test(pairs_are_not_cut),
                cmocka_unit_test(both_strands_share_bins),
                cmocka_unit_test(crowded_kmers_are_sorted_in_little_memory),
                cmocka_unit_test(filter_is_applied),
                cmocka_unit_test(counts_alone_agree_with_sorting),
                cmocka_unit_test(failures_of_a_sink_of_counts_come_back),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
