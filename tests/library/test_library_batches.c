/*
 * Askers of include/kcount.h with sequences in batches, compared with their k-mers asked one by
 * one; and queries that are canceled.
 */
#include "library_support.h"

#include "base/job.h"
#include "tests/random.h"
#include "tests/sampling.h"

#include <unistd.h>

enum { NCOUNTED = FEW_CASES ? 20000 : 50000, NLETTERS = 4 * NCOUNTED, NSTAGES = 2 };
/* Memory in which the counts are kept, but slices are small. */
enum { FEW_SLICES = 10 << 20 };

/* Letters, the counts of the k-mers of the first ones, and the sequences that they are cut to. */
struct batch {
        int k;
        char letters[NLETTERS];
        struct kcount_counts *counts;
        struct kcount_sequence *sequences; /* [nsequences] */
        size_t nsequences, nkmers;
        uint32_t *expected, *found; /* [nkmers], [nkmers + 1] */
        bool *is_kmer, *valid;
};

static const char *const folder_text = "a batch";

static bool give(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        const char **letters = ctx;
        (void)cap;
        *sequences = (struct kcount_sequence){ *letters, NCOUNTED };
        *n = *letters != NULL;
        *letters = NULL;
        return true;
}

static void make_counts(struct batch *b, bool stranded)
{
        struct kcount_count_options options = KCOUNT_COUNT_OPTIONS_INIT;
        const char *letters = b->letters;
        uint64_t seed = 5;
        for (size_t i = 0; i < NLETTERS; i++)
                b->letters[i] = "ACGT"[next_random(&seed) >> 62];
        memcpy(b->letters + NCOUNTED / 2, b->letters, NCOUNTED / 4);
        for (size_t i = 0; i < NLETTERS / 50; i++)
                b->letters[next_random(&seed) % NLETTERS] = "acgtuUNR-\n"[next_random(&seed) % 10];
        memcpy(b->letters + NLETTERS / 2, b->letters, NCOUNTED);
        options.k = b->k;
        options.stranded = stranded;
        options.nthreads = 1;
        options.device = "cpu";
        assert_done(kcount_count_sequences, give, &letters, &options, NULL, &b->counts);
}

/* Cut the letters into sequences of at most so many: some have no letters, some k - 1, k or k + 1,
 * and one may be very long. */
static void cut(struct batch *b, size_t most)
{
        uint64_t seed = most;
        b->nsequences = b->nkmers = 0;
        b->sequences = malloc((NLETTERS + 2) * sizeof *b->sequences);
        for (size_t at = 0; at < NLETTERS;) {
                const uint64_t kind = next_random(&seed) % 8;
                size_t n = kind < 3   ? (size_t)b->k - 1 + kind
                           : kind < 4 ? 0
                                      : next_random(&seed) % most + 1;
                n = n < NLETTERS - at ? n : NLETTERS - at;
                b->sequences[b->nsequences++] = (struct kcount_sequence){ b->letters + at, n };
                b->nkmers += n < (size_t)b->k ? 0 : n - (size_t)b->k + 1;
                at += n > 0 ? n : 1;
                if (b->nsequences > NLETTERS)
                        break;
        }
}

/* The expected counts: those of the k-mers, each asked by itself. */
static void expect(struct batch *b)
{
        const size_t k = (size_t)b->k, nwords = (size_t)kcount_nwords(b->k);
        uint64_t *kmers = calloc(b->nkmers + 1, nwords * sizeof *kmers);
        struct kcount_asker *asker = NULL;
        size_t at = 0;
        b->expected = malloc((b->nkmers + 1) * sizeof *b->expected);
        b->found = malloc((b->nkmers + 1) * sizeof *b->found);
        b->is_kmer = malloc(b->nkmers + 1);
        b->valid = malloc(b->nkmers + 1);
        for (size_t i = 0; i < b->nsequences; i++)
                for (size_t j = 0; j + k <= b->sequences[i].nbases; j++, at++)
                        b->is_kmer[at] = kcount_encode(b->k, b->sequences[i].bases + j, 1,
                                                       kmers + at * nwords) == 1;
        assert_int_equal(at, b->nkmers);
        for (size_t i = 0; i < at; i++)
                if (!b->is_kmer[i])
                        memset(kmers + i * nwords, 0, nwords * sizeof *kmers);
        assert_done(kcount_asker_open, &asker, b->counts, NULL);
        assert_done(kcount_ask, asker, kmers, at, b->expected);
        for (size_t i = 0; i < at; i++)
                b->expected[i] = b->is_kmer[i] ? b->expected[i] : 0;
        kcount_asker_close(asker);
        free(kmers);
}

static void free_answers(struct batch *b)
{
        free(b->sequences);
        free(b->expected);
        free(b->found);
        free(b->is_kmer);
        free(b->valid);
}

/* ---- batches ---- */

static void check_found(struct batch *b, struct kcount_asker *asker)
{
        for (int wants_valid = 0; wants_valid < 2; wants_valid++) {
                memset(b->found, 0x55, (b->nkmers + 1) * sizeof *b->found);
                memset(b->valid, 2, b->nkmers + 1);
                assert_done(kcount_ask_sequences, asker, b->sequences, b->nsequences, b->found,
                            wants_valid ? b->valid : NULL);
                assert_memory_equal(b->found, b->expected, b->nkmers * sizeof *b->found);
                assert_int_equal(b->found[b->nkmers], 0x55555555);
        }
        assert_memory_equal(b->valid, b->is_kmer, b->nkmers);
        assert_int_equal(*(char *)&b->valid[b->nkmers], 2);
}

/* The caller's struct may be larger than the library's. */
static void check_summaries(const struct batch *b, struct kcount_asker *asker)
{
        struct longer {
                struct kcount_summary known;
                uint64_t later;
        } *all = calloc(b->nsequences + 1, sizeof *all);
        size_t at = 0;
        for (size_t i = 0; i < b->nsequences; i++)
                all[i] = (struct longer){ .known.size = sizeof *all, .later = 77 + i };
        assert_done(kcount_ask_summaries, asker, b->sequences, b->nsequences, 1, 2,
                    (struct kcount_summary *)all);
        for (size_t i = 0; i < b->nsequences; i++) {
                const size_t nbases = b->sequences[i].nbases, k = (size_t)b->k;
                const size_t n = nbases < k ? 0 : nbases - k + 1;
                expect_summary(&all[i].known, b->expected + at, b->is_kmer + at, n, 1, 2);
                assert_int_equal(all[i].later, 77 + i);
                at += n;
        }
        free(all);
}

/* The first k-mers are looked up; then the counts are kept, if there is memory, or asked in
 * rounds. */
static void check_batch(struct batch *b, uint64_t memory_nbytes, int nthreads)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        struct kcount_asker *asker = NULL;
        struct batch first = *b;
        options.memory_nbytes = memory_nbytes;
        options.nthreads = nthreads;
        assert_done(kcount_asker_open, &asker, b->counts, &options);
        assert_done(kcount_ask_sequences, asker, b->sequences, 0, NULL, NULL);
        assert_done(kcount_ask_summaries, asker, b->sequences, 0, 1, 2, NULL);
        first.nsequences = b->nsequences < 9 ? b->nsequences : 9;
        first.nkmers = 0;
        for (size_t i = 0; i < first.nsequences; i++)
                if (b->sequences[i].nbases >= (size_t)b->k)
                        first.nkmers += b->sequences[i].nbases - (size_t)b->k + 1;
        check_found(&first, asker);
        check_found(b, asker);
        check_summaries(b, asker);
        kcount_asker_close(asker);
}

static void test_batches(void **state)
{
        static const uint64_t memory_nbytes[] = { 0, FEW_SLICES, 1 };
        static const int ks[] = { 21, 33, 255 };
        static const size_t most[] = { 20, 300, 3 * NLETTERS / 4 };
        (void)state;
        for (size_t i = 0; i < 9; i += FEW_CASES ? 4 : 1) {
                struct batch *b = calloc(1, sizeof *b);
                b->k = ks[i % 3];
                make_counts(b, i % 3 == 1);
                cut(b, most[i / 3]);
                expect(b);
                for (int way = 0; way < 6; way++)
                        check_batch(b, memory_nbytes[way / 2], way % 2 == 0 ? 1 : 3);
                kcount_close(b->counts);
                free_answers(b);
                free(b);
        }
}

/* ---- cancelling ---- */

/* Where the callback cancels; NULL: nowhere. Work that asks whether it is canceled waits there. */
static struct {
        const char *stage;
        int number;
        bool is_shown[NSTAGES];
} cancel;

static const char *const stages[NSTAGES] = { "loading", "asking" };

bool __real_kc_job_is_canceled(const struct kc_job *job);
bool __wrap_kc_job_is_canceled(const struct kc_job *job);

bool __wrap_kc_job_is_canceled(const struct kc_job *job)
{
        while (cancel.stage != NULL && job != NULL && atomic_load(&job->stage) == cancel.number &&
               !atomic_load(&job->cancel))
                usleep(1000);
        return __real_kc_job_is_canceled(job);
}

static bool show(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        assert_string_equal(ctx, folder_text);
        assert_true(done <= total);
        for (int i = 0; i < NSTAGES; i++)
                cancel.is_shown[i] |= strcmp(stage, stages[i]) == 0;
        return cancel.stage == NULL || strcmp(stage, cancel.stage) != 0;
}

/* After a batch was canceled in a stage, the asker still works. */
static void check_canceled(struct batch *b, struct kcount_asker *asker, size_t n, int number)
{
        struct kcount_error *error = NULL;
        cancel.number = number;
        cancel.stage = stages[number];
        cancel.is_shown[number] = false;
        assert_int_equal(kcount_ask_sequences(asker, b->sequences, n, b->found, NULL, &error),
                         KCOUNT_ECANCELED);
        cancel.stage = NULL;
        assert_error(error, KCOUNT_ECANCELED, "", "", "");
        assert_true(cancel.is_shown[number]);
}

static void test_cancel(void **state)
{
        (void)state;
        struct batch *b = calloc(1, sizeof *b);
        b->k = 31;
        make_counts(b, false);
        cut(b, 300);
        expect(b);
        for (int is_kept = 0; is_kept < 2; is_kept++) {
                struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
                struct kcount_asker *asker = NULL;
                options.memory_nbytes = is_kept ? FEW_SLICES : 1;
                options.nthreads = 2;
                options.progress = show;
                options.progress_ctx = (void *)folder_text;
                assert_done(kcount_asker_open, &asker, b->counts, &options);
                check_canceled(b, asker, 9, 1); /* looked up */
                if (is_kept)
                        check_canceled(b, asker, b->nsequences, 0);
                check_canceled(b, asker, b->nsequences, 1);
                check_found(b, asker);
                check_canceled(b, asker, b->nsequences, 1);
                check_found(b, asker);
                check_summaries(b, asker);
                kcount_asker_close(asker);
        }
        kcount_close(b->counts);
        free_answers(b);
        free(b);
}

/* ---- streams ---- */

enum { STREAM_NTHREADS = 3, GIVE_UP = 400 };

enum callback { NEXT, FORMAT, WRITE, NONE };

/* Gives the sequences of a batch, and expects their counts. */
struct streamed {
        struct batch *batch;
        enum callback gives_up; /* at sequence GIVE_UP */
        size_t ngiven, nwritten, nkmers, nrefusals;
        char *letters;                       /* of what was given last */
        uint64_t formatted[STREAM_NTHREADS]; /* 1 + the first sequence of the thread's block */
};

/* A few at a time. Letters that are given are gone at the next call. */
static bool give_some(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        struct streamed *s = ctx;
        size_t nletters = 0;
        if (s->gives_up == NEXT && s->ngiven >= GIVE_UP) {
                s->nrefusals++;
                return false;
        }
        for (*n = 0; *n < 7 && *n < cap && s->ngiven + *n < s->batch->nsequences; ++*n)
                nletters += s->batch->sequences[s->ngiven + *n].nbases;
        free(s->letters);
        char *to = s->letters = malloc(nletters + 1);
        for (size_t i = 0; i < *n; i++) {
                const struct kcount_sequence from = s->batch->sequences[s->ngiven++];
                memcpy(to, from.bases, from.nbases);
                sequences[i] = (struct kcount_sequence){ to, from.nbases };
                to += from.nbases;
        }
        return true;
}

static bool format_some(void *ctx, int thread, const struct kcount_asked *asked)
{
        struct streamed *s = ctx;
        assert_in_range(thread, 0, STREAM_NTHREADS - 1);
        s->formatted[thread] = asked->first + 1;
        return s->gives_up != FORMAT || asked->first < GIVE_UP;
}

static bool write_some(void *ctx, int thread, const struct kcount_asked *asked)
{
        struct streamed *s = ctx;
        const struct batch *b = s->batch;
        const size_t k = (size_t)b->k;
        size_t n = 0;
        assert_int_equal(asked->first, s->nwritten);
        assert_int_equal(s->formatted[thread], asked->first + 1);
        for (size_t i = 0; i < asked->n; i++) {
                const struct kcount_sequence *right = &b->sequences[s->nwritten++];
                assert_int_equal(asked->sequences[i].nbases, right->nbases);
                assert_memory_equal(asked->sequences[i].bases, right->bases, right->nbases);
                n += right->nbases < k ? 0 : right->nbases - k + 1;
        }
        assert_memory_equal(asked->found, b->expected + s->nkmers, n * sizeof *asked->found);
        assert_memory_equal(asked->valid, b->is_kmer + s->nkmers, n);
        s->nkmers += n;
        return s->gives_up != WRITE || asked->first < GIVE_UP;
}

static void check_stream(struct batch *b, uint64_t memory_nbytes, int nthreads)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        struct kcount_asker *asker = NULL;
        options.memory_nbytes = memory_nbytes;
        options.nthreads = nthreads;
        assert_done(kcount_asker_open, &asker, b->counts, &options);
        for (enum callback gives_up = NEXT; gives_up <= NONE; gives_up++) {
                struct streamed s = { .batch = b, .gives_up = gives_up };
                const struct kcount_stream stream = { sizeof stream, &s, give_some, format_some,
                                                      write_some };
                struct kcount_error *error = NULL;
                const enum kcount_status status = kcount_ask_stream(asker, &stream, &error);
                free(s.letters);
                if (gives_up != NONE) {
                        assert_int_equal(status, KCOUNT_ECANCELED);
                        assert_error(error, KCOUNT_ECANCELED, "canceled by a callback", "", "");
                        assert_int_equal(s.nrefusals, gives_up == NEXT);
                        continue;
                }
                assert_int_equal(status, KCOUNT_OK);
                assert_int_equal(s.nwritten, b->nsequences);
                assert_int_equal(s.nkmers, b->nkmers);
        }
        check_found(b, asker);
        kcount_asker_close(asker);
}

static bool give_too_many(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        (void)ctx, (void)sequences;
        *n = cap + 1;
        return true;
}

static void check_too_many(struct batch *b)
{
        const struct kcount_stream stream = { sizeof stream, NULL, give_too_many, format_some,
                                              write_some };
        struct kcount_asker *asker = NULL;
        struct kcount_error *error = NULL;
        assert_done(kcount_asker_open, &asker, b->counts, NULL);
        assert_int_equal(kcount_ask_stream(asker, &stream, &error), KCOUNT_EUSAGE);
        assert_error(error, KCOUNT_EUSAGE, "the callback gave 65 sequences", "", "");
        kcount_asker_close(asker);
}

static void test_streams(void **state)
{
        static const size_t most[] = { 60, 100 }; /* for several blocks */
        (void)state;
        for (int i = 0; i < 2; i++) {
                struct batch *b = calloc(1, sizeof *b);
                b->k = i == 0 ? 21 : 33;
                make_counts(b, i == 1);
                cut(b, most[i]);
                expect(b);
                check_stream(b, 0, 1);
                check_stream(b, 1, STREAM_NTHREADS);
                check_stream(b, 0, STREAM_NTHREADS);
                check_too_many(b);
                kcount_close(b->counts);
                free_answers(b);
                free(b);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_batches),
                cmocka_unit_test(test_cancel),
                cmocka_unit_test(test_streams),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
