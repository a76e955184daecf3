/* Several ranks, here threads of the test, count one input together. */
#include "ranks/messages.h"

#include "tests/cpu/cpu_support.h"
#include "tests/ranks/thread_transport.h"
#include "tests/sampling.h"

/* A rank, and what it is to count. */
struct member {
        struct crowd_rank rank;
        struct kc_count_params params;
        struct kc_batch_source source;
        struct kc_count_task tasks[2];
        int ntasks;
        struct kc_run_sink sinks[2];
        struct run runs[2];
        double patience_seconds; /* 0: the usual */
        uint64_t nsent, ntaken;
};

#include "tests/ranks/crowd.h"

static enum kc_status work_of_member(struct member *m, const struct kc_exchange *exchange,
                                     struct kc_error *err)
{
        struct kc_job job = { 0 };
        m->params.exchange = exchange;
        if (m->patience_seconds > 0)
                kc_ranks_exchange_set_patience(m->rank.exchange, m->patience_seconds);
        const enum kc_status status =
                kc_cpu_count_all(&m->params, &m->source, m->tasks, m->ntasks, &job, err);
        kc_ranks_exchange_totals(m->rank.exchange, &m->nsent, &m->ntaken);
        return status;
}

/* The members share one source, so faster members read more. The last rank reads nothing. */
static void begin_crowd(struct crowd *crowd, int nranks, struct reads *reads, struct reads *nothing,
                        const int *k, int nk, uint64_t memory, bool stranded)
{
        memset(crowd, 0, sizeof *crowd);
        post_office_init(&crowd->office, nranks);
        atomic_store(&reads->next, 0);
        reads->nworkers = nothing->nworkers = 4;
        reads->k = k[0];
        reads->piece = nk > 1 ? 100 : 0;
        reads->max_k = k[nk - 1];
        reads->fail_at = -1;
        for (int i = 0; i < nranks; i++) {
                struct member *m = &crowd->members[i];
                const bool idle = nranks > 1 && i == nranks - 1;
                m->params = (struct kc_count_params){ .stranded = stranded,
                                                      .nthreads = 1 + i % 3,
                                                      .memory_nbytes = memory << i % 2,
                                                      .tmp_dir = "/tmp" };
                m->source = (struct kc_batch_source){ idle ? nothing : reads, next_batch };
                m->ntasks = nk;
                for (int j = 0; j < nk; j++) {
                        m->runs[j].fail_at = -1;
                        m->runs[j].nwords = kc_kmer_nwords(k[j]);
                        m->sinks[j] = run_sink(&m->runs[j]);
                        m->tasks[j] = (struct kc_count_task){ .k = k[j], .sink = &m->sinks[j] };
                }
        }
}

static void end_crowd(struct crowd *crowd)
{
        for (int i = 0; i < crowd->office.nranks; i++)
                for (int j = 0; j < crowd->members[i].ntasks; j++)
                        run_free(&crowd->members[i].runs[j]);
        post_office_destroy(&crowd->office);
}

static int by_kmer(const void *a, const void *b, void *nwords)
{
        return kc_kmer_compare(a, b, *(const int *)nwords);
}

/* What the ranks have counted, as one run. */
static struct run unite(const struct crowd *crowd, int j)
{
        struct run all = { .fail_at = -1, .nwords = crowd->members[0].runs[j].nwords };
        const size_t nw = (size_t)all.nwords, nbytes = nw * sizeof(uint64_t);
        struct pairs *part = run_part(&all, 0);
        size_t n = 0;
        uint64_t *items = NULL; /* a k-mer, and its count */
        for (int i = 0; i < crowd->office.nranks; i++) {
                struct pairs own = run_join(&crowd->members[i].runs[j]);
                items = realloc(items, (n + own.n) * (nw + 1) * sizeof *items + 1);
                for (size_t at = 0; at < own.n; at++) {
                        uint64_t *item = items + n++ * (nw + 1);
                        memcpy(item, own.kmers + at * nw, nbytes);
                        item[nw] = own.counts[at];
                }
                pairs_free(&own);
        }
        qsort_r(items, n, (nw + 1) * sizeof *items, by_kmer, &all.nwords);
        *part = (struct pairs){ malloc(n * nbytes + 1), malloc(n * sizeof *part->counts + 1), n,
                                true };
        for (size_t at = 0; at < n; at++) {
                memcpy(part->kmers + at * nw, items + at * (nw + 1), nbytes);
                part->counts[at] = (uint32_t)items[at * (nw + 1) + nw];
        }
        free(items);
        return all;
}

static void expect_counted(struct crowd *crowd, struct reads *reads, const int *k, int nk,
                           bool stranded)
{
        uint64_t nsent = 0, ntaken = 0;
        expect_success(crowd);
        for (int i = 0; i < crowd->office.nranks; i++) {
                const struct member *m = &crowd->members[i];
                nsent += m->nsent;
                ntaken += m->ntaken;
        }
        assert_int_equal(nsent, ntaken);
        assert_int_equal(nsent > 0, crowd->office.nranks > 1);
        for (int j = 0; j < nk; j++) {
                char **kmers;
                reads->k = k[j];
                const size_t n = all_kmers(reads, stranded, &kmers);
                struct run all = unite(crowd, j);
                compare(&all, kmers, n, k[j]);
                run_free(&all);
                for (int i = 0; i < crowd->office.nranks; i++)
                        assert_int_equal(crowd->members[i].tasks[j].totals.nkmers, n);
                for (size_t i = 0; i < n; i++)
                        free(kmers[i]);
                free(kmers);
        }
}

static void ranks_agree_with_sorting(void **state)
{
        (void)state;
        static const int all_k[] = { 1, 2, 5, 15, 21, 31, 33, 65, 101, 255 };
        struct reads reads = { 0 }, nothing = { .fail_at = -1 };
        struct crowd *crowd = malloc(sizeof *crowd);
        sequenced(&reads, 2000, 60, 300);
        awkward(&reads);
        for (size_t i = 0; i < sizeof all_k / sizeof *all_k; i += THREAD_STRIDE)
                for (int nranks = 1; nranks <= 4; nranks += THREAD_STRIDE) {
                        begin_crowd(crowd, nranks, &reads, &nothing, &all_k[i], 1,
                                    (i + (size_t)nranks) % 3 ? 64 << 20 : 1 << 20, i % 2);
                        run_crowd(crowd);
                        expect_counted(crowd, &reads, &all_k[i], 1, i % 2);
                        end_crowd(crowd);
                }
        free(crowd);
        free_reads(&reads);
}

static void several_k_and_little_memory(void **state)
{
        (void)state;
        static const int k[] = { 31, 55 };
        struct reads reads = { 0 }, nothing = { .fail_at = -1 };
        struct crowd *crowd = malloc(sizeof *crowd);
        uint64_t spilled = 0;
        sequenced(&reads, 900000, 3000, 350);
        begin_crowd(crowd, 3, &reads, &nothing, k, 2, 1 << 20, false);
        run_crowd(crowd);
        expect_counted(crowd, &reads, k, 2, false);
        for (int i = 0; i < 3; i++)
                spilled += crowd->members[i].tasks[0].totals.spilled_nbytes;
        assert_true(spilled > 0);
        end_crowd(crowd);
        free(crowd);
        free_reads(&reads);
}

/* Whatever fails on one rank, all ranks return, and exactly one has a message of its own. */
static void a_failure_ends_all_ranks(void **state)
{
        (void)state;
        static const int k = 31, several[] = { 31, 55 };
        struct reads reads = { 0 }, nothing = { .fail_at = -1 };
        struct crowd *crowd = malloc(sizeof *crowd);
        sequenced(&reads, 900000, 3000, 350);
        begin_crowd(crowd, 4, &reads, &nothing, &k, 1, 8 << 20, false);
        reads.fail_at = 700;
        run_crowd(crowd);
        assert_int_equal(count_failed(crowd, KC_EINPUT, "no read 700"), 1);
        end_crowd(crowd);

        begin_crowd(crowd, 3, &reads, &nothing, &k, 1, 8 << 20, false);
        crowd->members[1].params.nthreads = 0;
        run_crowd(crowd);
        assert_int_equal(count_failed(crowd, KC_EUSAGE, "k must be between 1 and 255"), 1);
        end_crowd(crowd);

        /* perhaps on more than one rank before the others know */
        begin_crowd(crowd, 3, &reads, &nothing, several, 2, 1 << 20, false);
        for (int i = 0; i < 3; i++)
                crowd->members[i].params.tmp_dir = "/nowhere";
        run_crowd(crowd);
        expect_settled(crowd);
        for (int i = 0; i < 3; i++)
                assert_int_not_equal(crowd->members[i].rank.status, KC_OK);
        end_crowd(crowd);
        free(crowd);
        free_reads(&reads);
}

/* From the middle of the input on, nothing reaches the last rank, and nothing comes from it. */
struct lossy {
        struct reads *reads;
        struct post_office *office;
};

static enum kc_status next_lossy(void *ctx, int worker, struct kc_batch *batch,
                                 struct kc_error *err)
{
        const struct lossy *lossy = ctx;
        if (atomic_load(&lossy->reads->next) > lossy->reads->n / 2)
                atomic_store(&lossy->office->unreachable, lossy->office->nranks - 1);
        return next_batch(lossy->reads, worker, batch, err);
}

static void a_lost_rank_ends_all_ranks(void **state)
{
        (void)state;
        static const int k = 31;
        struct reads reads = { 0 }, nothing = { .fail_at = -1 };
        struct crowd *crowd = malloc(sizeof *crowd);
        struct lossy lossy = { &reads, &crowd->office };
        sequenced(&reads, 90000, 3000, 350);
        begin_crowd(crowd, 3, &reads, &nothing, &k, 1, 8 << 20, false);
        for (int i = 0; i < 3; i++)
                crowd->members[i].patience_seconds = 1;
        for (int i = 0; i < 2; i++)
                crowd->members[i].source = (struct kc_batch_source){ &lossy, next_lossy };
        run_crowd(crowd);
        for (int i = 0; i < 3; i++) {
                const struct member *m = &crowd->members[i];
                assert_int_equal(m->rank.settled, KC_EIO);
                assert_non_null(strstr(m->rank.err.message, "nothing was heard from rank "));
                if (i < 2) /* both blame the one that is lost */
                        assert_non_null(strstr(m->rank.err.message, "rank 2"));
        }
        end_crowd(crowd);
        free(crowd);
        free_reads(&reads);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ranks_agree_with_sorting),
                cmocka_unit_test(several_k_and_little_memory),
                cmocka_unit_test(a_failure_ends_all_ranks),
                cmocka_unit_test(a_lost_rank_ends_all_ranks),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
