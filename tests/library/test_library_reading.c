/*
 * The reading half of include/kcount.h, compared with plain lists of k-mers and counts
 * (tests/io/store/store_sets.h), and with strings.
 */
#include "library_support.h"

#include "tests/sampling.h"

enum { GENOME = 3000, ASKERS = 4 };

static const int all_ks[] = { 1, 21, 31, 32, 33, 64, 65, 127, 128, 129, 255 };
enum { NKS = sizeof all_ks / sizeof *all_ks };

/* ---- k-mers as text and as numbers ---- */

static void random_letters(char *text, size_t n, uint64_t *rng)
{
        for (size_t i = 0; i < n; i++)
                text[i] = "ACGT"[next_random(rng) % 4];
}

static void complement(const char *text, int k, char *out)
{
        for (int i = 0; i < k; i++)
                out[i] = "TGCA"[strchr("ACGT", text[k - 1 - i]) - "ACGT"];
}

/* Bit by bit, the most significant word first. */
static void number_of(const char *text, int k, uint64_t *kmer)
{
        const int nwords = kcount_nwords(k);
        memset(kmer, 0, (size_t)nwords * sizeof *kmer);
        for (int i = 0; i < k; i++) {
                const int place = k - 1 - i; /* from the last base */
                kmer[nwords - 1 - place / 32] |= (uint64_t)(strchr("ACGT", text[i]) - "ACGT")
                                                 << 2 * (place % 32);
        }
}

static void check_numbers(int k, uint64_t *rng)
{
        enum { N = 50 };
        const size_t nw = (size_t)kcount_nwords(k), nbytes = nw * sizeof(uint64_t);
        char letters[N * KCOUNT_MAX_K], typed[N * KCOUNT_MAX_K], decoded[N * KCOUNT_MAX_K + 1];
        char other[KCOUNT_MAX_K];
        uint64_t kmers[N * KCOUNT_MAX_WORDS], turned[N * KCOUNT_MAX_WORDS],
                least[N * KCOUNT_MAX_WORDS], expected[KCOUNT_MAX_WORDS];
        random_letters(letters, sizeof letters, rng);
        for (size_t i = 0; i < sizeof letters; i++)
                typed[i] = i % 3 == 0                        ? (char)(letters[i] | 0x20)
                           : i % 5 == 0 && letters[i] == 'T' ? 'U'
                                                             : letters[i];
        assert_int_equal(kcount_encode(k, typed, N, kmers), N);
        decoded[N * (size_t)k] = '#';
        kcount_decode(k, kmers, N, decoded);
        assert_memory_equal(decoded, letters, N * (size_t)k);
        assert_int_equal(decoded[N * (size_t)k], '#');
        memcpy(turned, kmers, N * nbytes);
        memcpy(least, kmers, N * nbytes);
        kcount_reverse_complement(k, turned, N);
        kcount_canonical(k, least, N);
        for (size_t i = 0; i < N; i++) {
                const char *text = letters + i * (size_t)k;
                number_of(text, k, expected);
                assert_memory_equal(kmers + i * nw, expected, nbytes);
                complement(text, k, other);
                number_of(other, k, expected);
                assert_memory_equal(turned + i * nw, expected, nbytes);
                number_of(memcmp(text, other, (size_t)k) < 0 ? text : other, k, expected);
                assert_memory_equal(least + i * nw, expected, nbytes);
        }
        typed[7 * (size_t)k + (size_t)k / 2] = 'N';
        assert_int_equal(kcount_encode(k, typed, N, kmers), 7);
        assert_int_equal(kcount_encode(k, typed, 7, kmers), 7);
        assert_int_equal(kcount_encode(k, typed, 0, kmers), 0);
}

static void test_numbers(void **state)
{
        (void)state;
        uint64_t rng = 1;
        for (int k = 1; k <= KCOUNT_MAX_K; k++)
                check_numbers(k, &rng);
}

/* ---- counts ---- */

/* The k-mers of a sequence with their counts, found by sorting all of its k-mers. */
static struct pair_set count_text(const char *text, size_t n, int k, bool stranded)
{
        const struct pair_set model = { .k = k,
                                        .stranded = stranded,
                                        .nw = (size_t)kc_kmer_nwords(k) };
        struct pair_set windows = empty_set(&model, n), set;
        for (size_t i = 0; i + (size_t)k <= n; i++) {
                uint64_t kmer[KC_MAX_WORDS];
                if (kc_kmer_parse(text + i, k, kmer) < k)
                        continue;
                if (!stranded)
                        kc_kmer_canonical(kmer, k);
                add_pair(&windows, kmer, 1);
        }
        set = all_kmers(&windows, 1);
        memset(set.counts, 0, set.n * sizeof *set.counts);
        qsort_r(windows.kmers, windows.n, windows.nw * sizeof *windows.kmers, compare_kmers,
                &windows.nw);
        for (size_t i = 0, at = 0; i < windows.n; i++) {
                const uint64_t *kmer = windows.kmers + i * windows.nw;
                while (kc_kmer_compare(set.kmers + at * set.nw, kmer, (int)set.nw) != 0)
                        at++;
                set.counts[at]++;
        }
        free_set(&windows);
        return set;
}

static void check_info(struct kcount_counts *counts, const struct pair_set *s, bool is_exact)
{
        struct kcount_info info = { .size = sizeof info }, part = { .size = 16, .hpc = true };
        uint32_t max = 0;
        for (size_t i = 0; i < s->n; i++)
                max = s->counts[i] > max ? s->counts[i] : max;
        part.total = 77;
        kcount_get_info(counts, &info);
        kcount_get_info(counts, &part); /* as a caller with an older struct */
        assert_int_equal(part.k, s->k);
        assert_int_equal(part.total, 77);
        assert_int_equal(info.size, sizeof info);
        assert_int_equal(info.k, s->k);
        assert_int_equal(info.stranded, s->stranded);
        assert_false(info.hpc);
        assert_int_equal(info.exact, is_exact);
        assert_true(info.ndistinct >= s->n && info.total >= sum_of_counts(s));
        if (!is_exact)
                return;
        assert_int_equal(info.ndistinct, s->n);
        assert_int_equal(info.nunique, count_unique(s));
        assert_int_equal(info.total, sum_of_counts(s));
        assert_int_equal(info.max_count, max);
        assert_int_equal(info.nreads, 11);
        assert_int_equal(info.nbases, 22);
        assert_int_equal(info.nkmers, info.total);
        assert_true(info.ndropped_distinct == 0 && info.ndropped_kmers == 0);
        assert_int_equal(info.kept_max_count, UINT32_MAX);
}

static void check_rows(struct kcount_counts *counts, const struct pair_set *s)
{
        struct kcount_row *rows = NULL;
        size_t nrows = 0;
        uint64_t ndistinct = 0, total = 0;
        struct kcount_histogram_options options = KCOUNT_HISTOGRAM_OPTIONS_INIT;
        options.nthreads = 2;
        assert_done(kcount_histogram, counts, &options, &rows, &nrows);
        for (size_t i = 0; i < nrows; i++) {
                uint64_t n = 0;
                for (size_t j = 0; j < s->n; j++)
                        n += s->counts[j] == rows[i].count;
                assert_true(i == 0 || rows[i - 1].count < rows[i].count);
                assert_int_equal(rows[i].number, n);
                ndistinct += n;
                total += n * rows[i].count;
        }
        assert_int_equal(ndistinct, s->n);
        assert_int_equal(total, sum_of_counts(s));
        kcount_free(rows);
}

/* ---- cursors ---- */

static void check_cursors(struct kcount_counts *counts, const struct pair_set *s, uint64_t *rng)
{
        static const size_t caps[] = { 1, 7, 1000, 1024, 1025, 100000 };
        uint64_t a[KC_MAX_WORDS], b[KC_MAX_WORDS], least[KC_MAX_WORDS] = { 0 };
        for (size_t i = 0; i < 6; i++)
                check_range(counts, s, NULL, NULL, caps[i]);
        for (size_t i = 0; i < 20; i++) {
                const size_t cap = 1 + next_random(rng) % 700;
                random_kmer(s, rng, a);
                random_kmer(s, rng, b);
                check_range(counts, s, a, b, cap); /* empty if a is above b */
                check_range(counts, s, a, a, cap);
                check_range(counts, s, NULL, a, cap);
                check_range(counts, s, a, NULL, cap);
        }
        check_range(counts, s, least, least, 3);
        if (s->n > 0) {
                const uint64_t *last = s->kmers + (s->n - 1) * s->nw;
                check_range(counts, s, s->kmers, s->kmers, 3);
                check_range(counts, s, last, last, 3);
                check_range(counts, s, s->kmers, last, 3000);
                kc_kmer_decrement(last, (int)s->nw, a);
                check_range(counts, s, a, NULL, 3);
        }
}

/* Together, the ranges contain all k-mers. */
static void check_parts(struct kcount_counts *counts, const struct pair_set *s, size_t nparts)
{
        uint64_t *bounds = NULL, from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        size_t nbounds = 0, n = 0;
        assert_done(kcount_split, counts, nparts, &bounds, &nbounds);
        assert_true(nbounds < nparts);
        for (size_t p = 0; p <= nbounds; p++) {
                if (p > 0)
                        turn(bounds + (p - 1) * s->nw, s->nw, 1, from);
                if (p < nbounds) {
                        turn(bounds + p * s->nw, s->nw, 1, to);
                        kc_kmer_decrement(to, (int)s->nw, to);
                }
                check_range(counts, s, p > 0 ? from : NULL, p < nbounds ? to : NULL, 500);
                n += (p < nbounds ? lower_bound(s, to, true) : s->n) -
                     (p > 0 ? lower_bound(s, from, false) : 0);
        }
        assert_int_equal(n, s->n);
        kcount_free(bounds);
}

/* ---- asking ---- */

/* n k-mers, some of them of the set, in either form; expected: their counts. */
static void make_question(const struct pair_set *s, size_t n, uint64_t *rng, uint64_t *kmers,
                          uint32_t *expected)
{
        for (size_t i = 0; i < n; i++) {
                uint64_t kmer[KC_MAX_WORDS], kept[KC_MAX_WORDS];
                random_kmer(s, rng, kmer);
                memcpy(kept, kmer, sizeof kept);
                if (!s->stranded) {
                        kc_kmer_canonical(kept, s->k);
                        if (next_random(rng) % 2)
                                kc_kmer_reverse_complement(kept, s->k, kmer);
                }
                expected[i] = count_in(s, kept);
                turn(kmer, s->nw, 1, kmers + i * s->nw);
        }
}

static void check_asked(struct kcount_asker *asker, const struct pair_set *s, size_t n,
                        uint64_t seed)
{
        uint64_t *kmers = malloc((n + 1) * s->nw * sizeof *kmers);
        uint32_t *expected = malloc((n + 1) * sizeof *expected);
        uint32_t *found = malloc((n + 1) * sizeof *found);
        make_question(s, n, &seed, kmers, expected);
        found[n] = 123456;
        assert_done(kcount_ask, asker, kmers, n, found);
        assert_memory_equal(found, expected, n * sizeof *found);
        assert_int_equal(found[n], 123456);
        free(kmers);
        free(expected);
        free(found);
}

/* A sequence, the expected counts of its k-mers, and which k-mers are valid. */
struct sequence {
        const char *bases;
        size_t nbases, nkmers;
        uint32_t *counts;
        bool *valid;
};

static struct sequence expect_sequence(const struct pair_set *s, const char *bases, size_t nbases)
{
        struct sequence q = { .bases = bases, .nbases = nbases };
        q.counts = malloc((nbases + 1) * sizeof *q.counts);
        q.valid = malloc(nbases + 1);
        for (; q.nkmers + (size_t)s->k <= nbases; q.nkmers++) {
                uint64_t kmer[KC_MAX_WORDS];
                const bool valid = kc_kmer_parse(bases + q.nkmers, s->k, kmer) == s->k;
                if (valid && !s->stranded)
                        kc_kmer_canonical(kmer, s->k);
                q.valid[q.nkmers] = valid;
                q.counts[q.nkmers] = valid ? count_in(s, kmer) : 0;
        }
        return q;
}

static void free_sequence(struct sequence *q)
{
        free(q->counts);
        free(q->valid);
}

static void check_summary(struct kcount_asker *asker, const struct sequence *q)
{
        struct {
                struct kcount_summary known;
                uint64_t later;
        } summary = { .known.size = sizeof summary, .later = 77 };
        assert_done(kcount_ask_summary, asker, q->bases, q->nbases, 2, 300, &summary.known);
        expect_summary(&summary.known, q->counts, q->valid, q->nkmers, 2, 300);
        assert_int_equal(summary.later, 77);
}

static void check_sequence(struct kcount_asker *asker, const struct sequence *q)
{
        const size_t nbytes = (q->nbases + 1) * sizeof(uint32_t);
        uint32_t *found = malloc(nbytes), *again = malloc(nbytes);
        bool *valid = malloc(q->nbases + 1);
        memset(found, 0x55, nbytes);
        assert_done(kcount_ask_sequence, asker, q->bases, q->nbases, found, valid);
        assert_done(kcount_ask_sequence, asker, q->bases, q->nbases, again, NULL);
        assert_memory_equal(valid, q->valid, q->nkmers * sizeof *valid);
        assert_memory_equal(found, q->counts, q->nkmers * sizeof *found);
        assert_memory_equal(again, q->counts, q->nkmers * sizeof *again);
        assert_int_equal(found[q->nkmers], 0x55555555);
        check_summary(asker, q);
        free(found);
        free(again);
        free(valid);
}

static void check_text(struct kcount_asker *asker, const struct pair_set *s, const char *bases,
                       size_t nbases)
{
        struct sequence q = expect_sequence(s, bases, nbases);
        check_sequence(asker, &q);
        free_sequence(&q);
}

/* Some letters are not bases, or in lower case. */
static void check_sequences(struct kcount_asker *asker, const struct pair_set *s,
                            const char *genome, uint64_t *rng)
{
        char text[GENOME];
        static const size_t lengths[] = { 0, 1, 20, 31, 64, 150, 300, 1000, GENOME };
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                const size_t n = lengths[i];
                memcpy(text, genome + next_random(rng) % (GENOME - n + 1), n);
                check_text(asker, s, text, n);
                for (size_t j = 0; j < n / 100 + 1 && n > 0; j++) {
                        text[next_random(rng) % n] |= 0x20;
                        text[next_random(rng) % n] = "NnX-\0\xff"[next_random(rng) % 6];
                }
                check_text(asker, s, text, n);
                memset(text, 'N', n);
                check_text(asker, s, text, n);
        }
}

/* The first k-mers are looked up. After many, the counts are loaded if there is memory. */
static void check_asker(struct kcount_counts *counts, const struct pair_set *s, const char *genome,
                        uint64_t memory_nbytes, int nthreads)
{
        static const size_t sizes[] = { 0, 1, 2, 63, 64, 65, 1000 };
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        struct kcount_asker *asker = NULL;
        uint64_t rng = 3;
        options.memory_nbytes = memory_nbytes;
        options.nthreads = nthreads;
        assert_done(kcount_asker_open, &asker, counts, &options);
        for (int round = 0; round < 2; round++) {
                for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                        check_asked(asker, s, sizes[i], i);
                check_sequences(asker, s, genome, &rng);
                check_asked(asker, s, 40000, 5);
        }
        kcount_asker_close(asker);
}

/* ---- files of all kinds ---- */

static void check_file(const struct pair_set *s, const char *genome, bool is_exact)
{
        struct kcount_counts *counts = open_counts("s.kc");
        uint64_t rng = 9;
        check_info(counts, s, is_exact);
        check_rows(counts, s);
        check_cursors(counts, s, &rng);
        for (size_t nparts = 1; nparts < 40; nparts += 12)
                check_parts(counts, s, nparts);
        check_asker(counts, s, genome, 0, 1);
        check_asker(counts, s, genome, 1, 2);
        kcount_close(counts);
}

static void test_files(void **state)
{
        (void)state;
        uint64_t rng = 11;
        for (size_t i = 0; i < 2 * NKS; i += FEW_CASES ? 13 : CASES_A_SAMPLE) {
                char genome[GENOME];
                random_letters(genome, GENOME, &rng);
                memset(genome + 500, 'N', 3);
                struct pair_set s = count_text(genome, GENOME, all_ks[i / 2], i % 2);
                write_set(&s, "s.kc", 2, 700, i);
                check_file(&s, genome, true);
                for (int run = 0; run < 2; run++) { /* added, then removed */
                        struct pair_set r = relative(&s, 300, i);
                        append_set("s.kc", &r, run == 1, i);
                        model_append(&s, &r, run == 1);
                        free_set(&r);
                        check_file(&s, genome, false);
                }
                free_set(&s);
        }
        unlink("s.kc");
}

/* Tables of one part and of several; more k-mers than in a slice; other letters in a slice. */
static void check_large(int k, size_t ntable, size_t nasked)
{
        struct pair_set s = make_set(k, false, ntable, 4);
        uint64_t rng = 5;
        char *text = malloc(nasked);
        write_set(&s, "s.kc", 2, 9000, 5);
        struct kcount_counts *counts = open_counts("s.kc");
        random_letters(text, nasked, &rng);
        text[nasked / 2] = 'N';
        struct sequence q = expect_sequence(&s, text, nasked);
        for (int kept = 0; kept < 2; kept++)
                for (int nthreads = 1; nthreads < 4; nthreads += 2) {
                        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
                        struct kcount_asker *asker = NULL;
                        options.nthreads = nthreads;
                        options.memory_nbytes = kept ? 0 : 1;
                        assert_done(kcount_asker_open, &asker, counts, &options);
                        check_asked(asker, &s, nasked, 6);
                        check_asked(asker, &s, 300, 7);
                        check_sequence(asker, &q);
                        kcount_asker_close(asker);
                }
        kcount_close(counts);
        unlink("s.kc");
        free_sequence(&q);
        free_set(&s);
        free(text);
}

static void test_large(void **state)
{
        (void)state;
        check_large(40, 100000, 300000);
        if (CASES_A_SAMPLE > 1)
                return; /* the others start the same threads and run the same code */
        check_large(31, 200000, 700000);
        check_large(21, 100000, 1200000);
}

/* ---- threads ---- */

struct sharing {
        struct kcount_counts *counts;
        const struct pair_set *set;
};

static enum kc_status use(void *ctx, int worker, struct kc_error *err)
{
        struct sharing *sharing = ctx;
        struct kcount_asker *asker = NULL;
        (void)err;
        assert_done(kcount_asker_open, &asker, sharing->counts, NULL);
        for (uint64_t i = 0; i < (FEW_CASES ? 6 : 30); i++)
                check_asked(asker, sharing->set, 2000, i + (uint64_t)worker);
        check_range(sharing->counts, sharing->set, NULL, NULL, 500 + (size_t)worker);
        check_rows(sharing->counts, sharing->set);
        check_parts(sharing->counts, sharing->set, 5);
        kcount_asker_close(asker);
        return KC_OK;
}

static void test_threads(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct pair_set s = make_set(31, false, 9000, 1), r = relative(&s, 300, 2);
        write_set(&s, "s.kc", 2, 700, 3);
        append_set("s.kc", &r, false, 4);
        model_append(&s, &r, false);
        struct sharing sharing = { open_counts("s.kc"), &s };
        assert_ok(kc_parallel(ASKERS, use, NULL, &sharing, &err), err);
        kcount_close(sharing.counts);
        unlink("s.kc");
        free_set(&s);
        free_set(&r);
}

/* ---- failures ---- */

static void test_refused_files(void **state)
{
        (void)state;
        struct kcount_counts *counts = NULL;
        struct kcount_error *error = NULL;
        assert_int_equal(kcount_open(&counts, "missing.kc", &error), KCOUNT_EIO);
        assert_place(error, KCOUNT_UNIT_NONE, 0);
        assert_error(error, KCOUNT_EIO, "missing.kc: No such file", "missing.kc", "");
        write_file("reads.fa", ">a\nACGT\n", 8);
        assert_int_equal(kcount_open(&counts, "reads.fa", &error), KCOUNT_EDAMAGED);
        assert_error(error, KCOUNT_EDAMAGED, "reads.fa", "reads.fa",
                     "If it holds reads, count them with kcount_count_files.");
        assert_int_equal(kcount_open(&counts, "reads.fa", NULL), KCOUNT_EDAMAGED);
        unlink("reads.fa");
        assert_null(counts);
        kcount_close(NULL);
        kcount_cursor_close(NULL);
        kcount_asker_close(NULL);
        kcount_error_free(NULL);
        kcount_free(NULL);
}

/* One of the two references to the footer is wrong: the file opens, with a warning. */
static void test_warning(void **state)
{
        (void)state;
        enum { FIRST_REFERENCE = 64 };
        struct pair_set s = make_set(31, false, 100, 1);
        size_t nbytes;
        write_set(&s, "s.kc", 1, 100, 1);
        struct kcount_counts *counts = open_counts("s.kc");
        assert_string_equal(kcount_warning(counts), "");
        kcount_close(counts);
        uint8_t *data = read_file("s.kc", &nbytes);
        data[FIRST_REFERENCE] ^= 1;
        write_file("s.kc", data, nbytes);
        free(data);
        counts = open_counts("s.kc");
        assert_non_null(strstr(kcount_warning(counts), "s.kc"));
        kcount_close(counts);
        unlink("s.kc");
        free_set(&s);
}

/* One bit of a block is wrong: all that read the block report it, and can be closed. */
static void test_damage(void **state)
{
        (void)state;
        enum { CAP = 64 };
        struct pair_set s = make_set(31, false, 5000, 1);
        size_t nbytes;
        char offset[32];
        write_set(&s, "s.kc", 2, 700, 1);
        uint8_t *data = read_file("s.kc", &nbytes);
        data[nbytes / 3] ^= 4;
        write_file("s.kc", data, nbytes);
        free(data);
        struct kcount_counts *counts = open_counts("s.kc");
        struct kcount_cursor *cursor = NULL;
        struct kcount_error *error = NULL;
        uint64_t kmers[CAP];
        uint32_t found[CAP];
        size_t n = 1;
        assert_done(kcount_cursor_open, &cursor, counts, NULL, NULL);
        enum kcount_status status = KCOUNT_OK;
        while (status == KCOUNT_OK && n > 0)
                status = kcount_cursor_next(cursor, kmers, found, CAP, &n, &error);
        assert_int_equal(status, KCOUNT_EDAMAGED);
        const uint64_t place = kcount_error_place(error, NULL);
        assert_place(error, KCOUNT_UNIT_BYTE, place);
        assert_in_range(nbytes / 3, place, place + 8192);
        snprintf(offset, sizeof offset, "offset %llu ", (unsigned long long)place);
        assert_error(error, KCOUNT_EDAMAGED, offset, "s.kc",
                     "'kcount check --repair' copies what is sound.");
        kcount_cursor_close(cursor);

        uint32_t *all = malloc(40000 * sizeof *all);
        uint64_t *asked = calloc(40000, sizeof *asked);
        for (int way = 0; way < 3; way++) { /* looked up, loaded, in rounds */
                struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
                struct kcount_asker *asker = NULL;
                options.nthreads = 2;
                options.memory_nbytes = way == 2;
                memcpy(asked, s.kmers, s.n * sizeof *asked);
                assert_done(kcount_asker_open, &asker, counts, &options);
                for (int twice = 0; twice < 2; twice++) {
                        assert_int_equal(
                                kcount_ask(asker, asked, way == 0 ? s.n : 40000, all, &error),
                                KCOUNT_EDAMAGED);
                        assert_error(error, KCOUNT_EDAMAGED, "s.kc", "s.kc",
                                     "'kcount check --repair' copies what is sound.");
                }
                kcount_asker_close(asker);
        }
        free(all);
        free(asked);
        kcount_close(counts);
        unlink("s.kc");
        free_set(&s);
}

/* Numbers that are not k-mers are refused, and the asker works afterwards. */
static void test_no_kmers(void **state)
{
        (void)state;
        struct pair_set s = make_set(21, false, 3000, 1);
        write_set(&s, "s.kc", 2, 700, 1);
        struct kcount_counts *counts = open_counts("s.kc");
        uint64_t *kmers = malloc(40000 * sizeof *kmers);
        uint32_t *found = malloc(40000 * sizeof *found);
        memset(kmers, 0xff, 40000 * sizeof *kmers);
        for (uint64_t memory_nbytes = 0; memory_nbytes < 2; memory_nbytes++) {
                struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
                struct kcount_asker *asker = NULL;
                struct kcount_error *error = NULL;
                options.memory_nbytes = memory_nbytes;
                assert_done(kcount_asker_open, &asker, counts, &options);
                for (size_t n = 3; n < 40000; n += 39000) {
                        assert_int_equal(kcount_ask(asker, kmers, n, found, &error), KCOUNT_EUSAGE);
                        assert_error(error, KCOUNT_EUSAGE, "is not a k-mer: for k = 21", "", "");
                        check_asked(asker, &s, 100, 8);
                        check_asked(asker, &s, 39999, 8);
                }
                kcount_asker_close(asker);
        }
        kcount_close(counts);
        unlink("s.kc");
        free_set(&s);
        free(kmers);
        free(found);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),       cmocka_unit_test(test_files),
                cmocka_unit_test(test_large),         cmocka_unit_test(test_threads),
                cmocka_unit_test(test_refused_files), cmocka_unit_test(test_damage),
                cmocka_unit_test(test_warning),       cmocka_unit_test(test_no_kmers),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
