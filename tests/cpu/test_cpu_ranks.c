/* Several ranks, here threads of the test, count one input together. */
#include "ranks/messages.h"

#include "tests/cpu/cpu_support.h"
#include "tests/io/store/store_support.h"
#include "tests/ranks/run_blocks.h"
#include "tests/ranks/thread_transport.h"
#include "tests/sampling.h"

/* A rank, and what it is to count. */
struct member {
        struct thread_rank thread;
        struct kc_transport transport;
        struct kc_ranks_exchange *exchange;
        struct kc_count_params params;
        struct kc_batch_source source;
        struct kc_count_task tasks[2];
        int ntasks;
        struct kc_run_sink sinks[2];
        struct run runs[2];
        double patience_seconds; /* 0: the usual */
        struct kc_error err;
        struct numbers *numbers; /* pairs to order, in place of the source */
        struct kc_run_dropped dropped;
        uint64_t npairs;
        enum kc_status status, settled, all[MAX_RANKS];
        uint64_t nsent, ntaken;
        pthread_t id;
};

/* Pairs of different k-mers, which members take in turn. */
struct numbers {
        atomic_uint_fast64_t next;
        uint64_t n;
        int k;
        uint64_t repeated; /* the number whose k-mer is that of number 0; UINT64_MAX: none */
};

/* The multiplier is odd, so k-mers of different numbers are different. */
static uint64_t numbered_kmer(const struct numbers *numbers, uint64_t number)
{
        const uint64_t mask = (UINT64_C(1) << 2 * numbers->k) - 1;
        return number == numbers->repeated ? 0 : number * UINT64_C(0x9e3779b97f4a7c15) & mask;
}

static uint32_t numbered_count(uint64_t number)
{
        return number % 100 == 0 ? UINT32_MAX : (uint32_t)(1 + number % 1000);
}

static enum kc_status next_numbers(void *ctx, int worker, struct kc_pair_batch *batch,
                                   struct kc_error *err)
{
        struct member *m = ctx;
        uint64_t number;
        (void)worker, (void)err;
        batch->n = 0;
        while (batch->n < batch->cap / 8 &&
               (number = atomic_fetch_add(&m->numbers->next, 1)) < m->numbers->n) {
                batch->kmers[batch->n] = numbered_kmer(m->numbers, number);
                batch->counts[batch->n++] = numbered_count(number);
        }
        return KC_OK;
}

static enum kc_status order_numbers(struct member *m, struct kc_job *job)
{
        const struct kc_pair_source source = { .ctx = m,
                                               .next = next_numbers,
                                               .expected_npairs = m->numbers->n / 2,
                                               .dropped = &m->dropped };
        m->params.k = m->tasks[0].k;
        return kc_cpu_order(&m->params, &source, m->tasks[0].sink, job, &m->tasks[0].totals,
                            &m->npairs, &m->err);
}

static void *run_member(void *arg)
{
        struct member *m = arg;
        struct kc_job job = { 0 };
        const struct kc_exchange exchange = kc_ranks_exchange_interface(m->exchange);
        m->params.exchange = &exchange;
        if (m->patience_seconds > 0)
                kc_ranks_exchange_set_patience(m->exchange, m->patience_seconds);
        if (m->numbers != NULL)
                m->status = order_numbers(m, &job);
        else
                m->status = kc_cpu_count_all(&m->params, &m->source, m->tasks, m->ntasks, &job,
                                             &m->err);
        kc_ranks_exchange_totals(m->exchange, &m->nsent, &m->ntaken);
        m->settled = kc_ranks_exchange_settle(m->exchange, &m->status, sizeof m->status, m->all,
                                              &m->err);
        kc_ranks_exchange_free(m->exchange);
        return NULL;
}

struct crowd {
        struct post_office office;
        struct member members[MAX_RANKS];
};

static void run_crowd(struct crowd *crowd)
{
        for (int i = 0; i < crowd->office.nranks; i++) {
                struct member *m = &crowd->members[i];
                m->transport = thread_transport(&m->thread, &crowd->office, i);
                assert_int_equal(kc_ranks_exchange_new(&m->exchange, &m->transport, &m->err),
                                 KC_OK);
        }
        for (int i = 0; i < crowd->office.nranks; i++)
                assert_int_equal(
                        pthread_create(&crowd->members[i].id, NULL, run_member, &crowd->members[i]),
                        0);
        for (int i = 0; i < crowd->office.nranks; i++)
                pthread_join(crowd->members[i].id, NULL);
}

static void expect_settled(const struct crowd *crowd)
{
        for (int i = 0; i < crowd->office.nranks; i++) {
                assert_int_equal(crowd->members[i].settled, KC_OK);
                assert_null(crowd->office.boxes[i]);
                for (int j = 0; j < crowd->office.nranks; j++)
                        assert_int_equal(crowd->members[i].all[j], crowd->members[j].status);
        }
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
                        m->sinks[j].joint = &run_joint_sink;
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

static void expect_counted(struct crowd *crowd, struct reads *reads, const int *k, int nk,
                           bool stranded)
{
        uint64_t nsent = 0, ntaken = 0;
        expect_settled(crowd);
        for (int i = 0; i < crowd->office.nranks; i++) {
                const struct member *m = &crowd->members[i];
                assert_string_equal(m->err.message, "");
                assert_int_equal(m->status, KC_OK);
                nsent += m->nsent;
                ntaken += m->ntaken;
        }
        assert_int_equal(nsent, ntaken);
        assert_int_equal(nsent > 0, crowd->office.nranks > 1);
        for (int j = 0; j < nk; j++) {
                char **kmers;
                reads->k = k[j];
                const size_t n = all_kmers(reads, stranded, &kmers);
                compare(&crowd->members[0].runs[j], kmers, n, k[j]);
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

/* ---- existing pairs ---- */

/* The last of several members has no pairs. */
static void begin_order(struct crowd *crowd, int nranks, struct numbers *numbers,
                        struct numbers *none, uint64_t memory)
{
        struct reads nothing = { .fail_at = -1 };
        begin_crowd(crowd, nranks, &nothing, &nothing, &numbers->k, 1, memory, false);
        atomic_store(&numbers->next, 0);
        for (int i = 0; i < nranks; i++) {
                const uint64_t d = (uint64_t)i + 1;
                crowd->members[i].numbers = nranks > 1 && i == nranks - 1 ? none : numbers;
                crowd->members[i].dropped = (struct kc_run_dropped){ d, 3 * d, 2 * d };
        }
}

struct numbered {
        uint64_t kmer;
        uint32_t count;
};

static int by_kmer(const void *a, const void *b)
{
        const struct numbered *x = a, *y = b;
        return (x->kmer > y->kmer) - (x->kmer < y->kmer);
}

static void expect_ordered(struct crowd *crowd, const struct numbers *numbers)
{
        const uint64_t n = numbers->n, d = (uint64_t)crowd->office.nranks;
        const struct run *run = &crowd->members[0].runs[0];
        struct numbered *wanted = malloc(n * sizeof *wanted);
        uint64_t sum = 0, nown = 0;
        for (uint64_t i = 0; i < n; i++) {
                wanted[i] = (struct numbered){ numbered_kmer(numbers, i), numbered_count(i) };
                sum += wanted[i].count;
        }
        qsort(wanted, n, sizeof *wanted, by_kmer);
        for (int i = 0; i < crowd->office.nranks; i++) {
                const struct member *m = &crowd->members[i];
                const struct kc_count_totals *totals = &m->tasks[0].totals;
                assert_string_equal(m->err.message, "");
                assert_int_equal(m->status, KC_OK);
                assert_int_equal(m->npairs, n);
                assert_int_equal(totals->ndistinct, n);
                assert_int_equal(totals->nkmers, sum);
                nown += totals->nown;
        }
        assert_int_equal(nown, n);
        assert_int_equal(run->dropped.ndistinct, d * (d + 1) / 2);
        assert_int_equal(run->dropped.nkmers, 3 * d * (d + 1) / 2);
        assert_int_equal(run->dropped.nunique, d * (d + 1));
        struct pairs got = run_join(run);
        assert_int_equal(got.n, n);
        for (uint64_t i = 0; i < n; i++) {
                assert_int_equal(got.kmers[i], wanted[i].kmer);
                assert_int_equal(got.counts[i], wanted[i].count);
        }
        pairs_free(&got);
        free(wanted);
}

static void ranks_order_pairs(void **state)
{
        static const struct {
                uint64_t n;
                int k;
        } cases[] = { { 64, 3 }, { 1, 31 }, { FEW_CASES ? 50000 : 400000, 31 }, { 100000, 11 } };
        struct numbers none = { .k = 31 };
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (int nranks = 1; nranks <= 4; nranks += THREAD_STRIDE) {
                        struct numbers numbers = { .n = cases[i].n, .k = cases[i].k };
                        numbers.repeated = UINT64_MAX;
                        begin_order(crowd, nranks, &numbers, &none, i % 2 ? 64 << 20 : 1 << 20);
                        run_crowd(crowd);
                        expect_ordered(crowd, &numbers);
                        end_crowd(crowd);
                }
        free(crowd);
}

/* It is an error if a k-mer comes twice, whichever rank orders it: the counts would be wrong. */
static void ranks_with_the_same_kmer(void **state)
{
        struct numbers none = { .k = 31 };
        struct crowd *crowd = malloc(sizeof *crowd);
        (void)state;
        for (int nranks = 1; nranks <= 4; nranks += THREAD_STRIDE) {
                struct numbers numbers = { .n = 200000, .k = 31, .repeated = 150000 };
                begin_order(crowd, nranks, &numbers, &none, 64 << 20);
                run_crowd(crowd);
                for (int i = 0; i < nranks; i++)
                        assert_int_not_equal(crowd->members[i].status, KC_OK);
                end_crowd(crowd);
        }
        free(crowd);
}

/* Whatever fails on one rank, all ranks return, and exactly one has a message of its own. */
static void expect_failure(struct crowd *crowd, enum kc_status status, const char *message)
{
        int nown = 0;
        expect_settled(crowd);
        for (int i = 0; i < crowd->office.nranks; i++) {
                const struct member *m = &crowd->members[i];
                assert_int_not_equal(m->status, KC_OK);
                if (m->status == KC_ECANCELED)
                        continue;
                assert_int_equal(m->status, status);
                assert_string_equal(m->err.message, message);
                nown++;
        }
        assert_int_equal(nown, 1);
}

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
        expect_failure(crowd, KC_EINPUT, "no read 700");
        end_crowd(crowd);

        begin_crowd(crowd, 3, &reads, &nothing, &k, 1, 8 << 20, false);
        crowd->members[1].params.nthreads = 0;
        run_crowd(crowd);
        expect_failure(crowd, KC_EUSAGE, "k must be between 1 and 255");
        end_crowd(crowd);

        /* perhaps on more than one rank before the others know */
        begin_crowd(crowd, 3, &reads, &nothing, several, 2, 1 << 20, false);
        for (int i = 0; i < 3; i++)
                crowd->members[i].params.tmp_dir = "/nowhere";
        run_crowd(crowd);
        expect_settled(crowd);
        for (int i = 0; i < 3; i++)
                assert_int_not_equal(crowd->members[i].status, KC_OK);
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
                assert_int_equal(m->settled, KC_EIO);
                assert_non_null(strstr(m->err.message, "nothing was heard from rank "));
                if (i < 2) /* both blame the one that is lost */
                        assert_non_null(strstr(m->err.message, "rank 2"));
        }
        end_crowd(crowd);
        free(crowd);
        free_reads(&reads);
}

/* ---- the file of several ranks ---- */

/* A sink that may have no place for the blocks of other ranks. */
struct full_sink {
        struct kc_run_sink sink;
        atomic_int ncalls;
        int fail_at; /* the call that fails; -1: none */
};

static enum kc_status enter_unless_full(void *ctx, const struct kc_run_blocks *b,
                                        struct kc_error *err)
{
        struct full_sink *s = ctx;
        if (atomic_fetch_add(&s->ncalls, 1) == s->fail_at)
                return kc_fail(err, KC_EIO, "there is no place");
        return s->sink.joint->enter(s->sink.ctx, b, err);
}

static enum kc_status put_in_file(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct full_sink *s = ctx;
        return s->sink.put(s->sink.ctx, pairs, err);
}

static void cancel_file(void *ctx)
{
        struct full_sink *s = ctx;
        s->sink.cancel(s->sink.ctx);
}

static const struct kc_joint_sink unless_full = { .enter = enter_unless_full };

struct joint_file {
        struct crowd crowd;
        struct kc_store_writer *writer;
        struct full_sink full;
};

/* Rank 0 creates the file. */
static void begin_joint(struct joint_file *f, int nranks, struct reads *reads,
                        struct reads *nothing, int k, int fail_at)
{
        struct kc_store_options options = { .k = k, .replace = true };
        struct kc_error err = { 0 };
        begin_crowd(&f->crowd, nranks, reads, nothing, &k, 1, 8 << 20, false);
        assert_int_equal(kc_store_create(&f->writer, "joint.kc", &options, &err), KC_OK);
        f->full = (struct full_sink){ .sink = kc_store_sink(f->writer), .fail_at = fail_at };
        f->crowd.members[0].sinks[0] = (struct kc_run_sink){ .ctx = &f->full,
                                                             .filter = f->full.sink.filter,
                                                             .put = put_in_file,
                                                             .joint = &unless_full,
                                                             .cancel = cancel_file };
}

/* The file must be the same as alone.kc. */
static void commit_joint(struct joint_file *f)
{
        const struct member *members = f->crowd.members;
        const struct kc_store_origin origin = { .nkmers = members[0].tasks[0].totals.nkmers };
        struct kc_error err = { 0 };
        for (int i = 0; i < f->crowd.office.nranks; i++) {
                assert_string_equal(members[i].err.message, "");
                assert_int_equal(members[i].status, KC_OK);
        }
        assert_true(atomic_load(&f->full.ncalls) > 0);
        assert_int_equal(kc_store_commit(f->writer, &origin, NULL, &err), KC_OK);
        assert_same_files("alone.kc", "joint.kc");
        unlink("alone.kc");
        unlink("joint.kc");
}

static void write_alone(struct reads *reads, int k)
{
        struct kc_count_params params = {
                .k = k, .nthreads = 2, .memory_nbytes = 64 << 20, .tmp_dir = "/tmp"
        };
        struct kc_store_options options = { .k = k, .replace = true };
        struct kc_store_writer *w;
        struct kc_count_totals totals;
        struct kc_error err = { 0 };
        reads->piece = 0;
        assert_int_equal(kc_store_create(&w, "alone.kc", &options, &err), KC_OK);
        const struct kc_run_sink sink = kc_store_sink(w);
        assert_int_equal(count_into(reads, &params, &sink, &totals, &err), KC_OK);
        const struct kc_store_origin origin = { .nkmers = totals.nkmers };
        assert_int_equal(kc_store_commit(w, &origin, NULL, &err), KC_OK);
}

static void ranks_write_one_file(void **state)
{
        (void)state;
        static const int all_k[] = { 31, 21, 65, 161 };
        struct reads reads = { .fail_at = -1 }, nothing = { .fail_at = -1 };
        struct joint_file *f = malloc(sizeof *f);
        sequenced(&reads, 900000, 3000, 350);
        for (int i = 0; i < 4; i += THREAD_STRIDE)
                for (int nranks = 2; nranks <= 4; nranks += THREAD_STRIDE) {
                        write_alone(&reads, all_k[i]);
                        begin_joint(f, nranks, &reads, &nothing, all_k[i], -1);
                        run_crowd(&f->crowd);
                        commit_joint(f);
                        end_crowd(&f->crowd);
                }
        free(f);
        free_reads(&reads);
}

static void a_failed_write_ends_all_ranks(void **state)
{
        (void)state;
        struct reads reads = { .fail_at = -1 }, nothing = { .fail_at = -1 };
        struct joint_file *f = malloc(sizeof *f);
        sequenced(&reads, 900000, 3000, 350);
        for (int fail_at = 0; fail_at < 2; fail_at++) {
                begin_joint(f, 4, &reads, &nothing, 31, fail_at);
                run_crowd(&f->crowd);
                expect_failure(&f->crowd, KC_EIO, "there is no place");
                kc_store_abort(f->writer);
                end_crowd(&f->crowd);
        }
        free(f);
        free_reads(&reads);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ranks_agree_with_sorting),
                cmocka_unit_test(several_k_and_little_memory),
                cmocka_unit_test(ranks_order_pairs),
                cmocka_unit_test(ranks_with_the_same_kmer),
                cmocka_unit_test(a_failure_ends_all_ranks),
                cmocka_unit_test(a_lost_rank_ends_all_ranks),
                cmocka_unit_test(ranks_write_one_file),
                cmocka_unit_test(a_failed_write_ends_all_ranks),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
