/*
 * The asker of the host: answers to sequences of all kinds, from tables in memory and from .kc
 * files, compared with each window's k-mer looked up by itself; and the summaries of kmer/ask.h.
 */
#include "tests/io/store/store_sets.h"

#include "base/job.h"
#include "cpu/ask/ask.h"
#include "tests/sampling.h"

enum { MAX_TEXTS = 400, ASKING_THREADS = 3 };

/* ---- sequences ---- */

struct texts {
        char *text[MAX_TEXTS];
        size_t n;
};

static void add_text(struct texts *texts, const char *text, size_t n)
{
        assert_true(texts->n < MAX_TEXTS);
        texts->text[texts->n++] = strndup(text, n);
}

static void free_texts(struct texts *texts)
{
        for (size_t i = 0; i < texts->n; i++)
                free(texts->text[i]);
}

/* Reads of a random genome: some with other letters, some in lower case, some as RNA; and what is
 * empty, too short, monotonous or long. */
static struct texts make_texts(uint64_t seed)
{
        struct texts texts = { 0 };
        char genome[3000], a[2500];
        for (size_t i = 0; i < sizeof genome; i++)
                genome[i] = "ACGT"[next_random(&seed) % 4];
        for (size_t i = 0; i < 150; i++) {
                char read[400];
                const size_t n = next_random(&seed) % 2 ? sizeof read : next_random(&seed) % 70;
                memcpy(read, genome + next_random(&seed) % (sizeof genome - sizeof read), n);
                for (size_t j = 0; i % 5 == 0 && j < n / 60; j++)
                        read[next_random(&seed) % n] = "N-*RnAC@"[next_random(&seed) % 8];
                for (size_t j = 0; j < n; j++)
                        read[j] = i % 3 == 0                     ? (char)(read[j] | 0x20)
                                  : i % 4 == 0 && read[j] == 'T' ? 'U'
                                                                 : read[j];
                add_text(&texts, read, n);
        }
        memset(a, 'A', sizeof a);
        add_text(&texts, a, sizeof a);
        memset(a, 'N', sizeof a);
        add_text(&texts, a, sizeof a);
        add_text(&texts, "", 0);
        add_text(&texts, "G", 1);
        add_text(&texts, "NACGTN", 6);
        add_text(&texts, genome, sizeof genome);
        return texts;
}

/* Two of three k-mers of the sequences, some of them with large counts, and other k-mers. */
static struct pair_set set_of_texts(const struct texts *texts, int k, bool stranded, uint64_t seed)
{
        struct pair_set others = make_set(k, stranded, 500, seed);
        size_t nbases = 0;
        for (size_t i = 0; i < texts->n; i++)
                nbases += strlen(texts->text[i]);
        struct pair_set all = empty_set(&others, nbases);
        for (size_t i = 0; i < texts->n; i++) {
                const size_t n = strlen(texts->text[i]);
                for (size_t at = 0; at + (size_t)k <= n; at++) {
                        uint64_t kmer[KC_MAX_WORDS];
                        if (kc_kmer_parse(texts->text[i] + at, k, kmer) < k)
                                continue;
                        if (!stranded)
                                kc_kmer_canonical(kmer, k);
                        add_pair(&all, kmer, 1);
                }
        }
        struct pair_set distinct = all_kmers((struct pair_set[]){ all, others }, 2);
        struct pair_set kept = empty_set(&distinct, distinct.n);
        for (size_t i = 0; i < distinct.n; i++)
                if (next_random(&seed) % 3 != 0)
                        add_pair(&kept, distinct.kmers + i * distinct.nw, random_count(&seed));
        free_set(&others);
        free_set(&all);
        free_set(&distinct);
        return kept;
}

/* ---- a table in memory ---- */

static enum kc_status split(void *ctx, size_t nparts, uint64_t **bounds, size_t *nbounds,
                            struct kc_error *err)
{
        (void)err;
        const struct pair_set *s = ctx;
        *bounds = malloc((nparts + 1) * s->nw * sizeof **bounds);
        *nbounds = 0;
        for (size_t p = 1; p < nparts && nparts <= s->n; p++)
                memcpy(*bounds + (*nbounds)++ * s->nw, s->kmers + p * s->n / nparts * s->nw,
                       s->nw * sizeof **bounds);
        return KC_OK;
}

struct walk {
        const struct pair_set *set;
        size_t at, end;
};

static enum kc_status walk_open(void *ctx, void **walk, struct kc_error *err)
{
        (void)err;
        struct walk *w = calloc(1, sizeof *w);
        w->set = ctx;
        *walk = w;
        return KC_OK;
}

static enum kc_status walk_move(void *walk, const uint64_t *from, const uint64_t *to,
                                struct kc_error *err)
{
        (void)err;
        struct walk *w = walk;
        w->at = from != NULL ? lower_bound(w->set, from, false) : 0;
        w->end = to != NULL ? lower_bound(w->set, to, true) : w->set->n;
        return KC_OK;
}

static enum kc_status walk_next(void *walk, const uint64_t **kmers, const uint32_t **counts,
                                size_t *n, struct kc_error *err)
{
        (void)err;
        struct walk *w = walk;
        *kmers = w->set->kmers + w->at * w->set->nw;
        *counts = w->set->counts + w->at;
        *n = w->end - w->at < 100 ? w->end - w->at : 100;
        w->at += *n;
        return KC_OK;
}

static struct kc_ask_table table_of(struct pair_set *s)
{
        return (struct kc_ask_table){ .ctx = s,
                                      .k = s->k,
                                      .stranded = s->stranded,
                                      .ndistinct = s->n,
                                      .split = split,
                                      .walk_open = walk_open,
                                      .walk_move = walk_move,
                                      .walk_next = walk_next,
                                      .walk_close = free };
}

/* ---- comparing answers ---- */

/* The answers that each window gives by itself. */
static void check_answer(const struct pair_set *s, const struct kc_ask_setup *setup,
                         const char *text, const struct kc_ask_answer *answer)
{
        struct kc_ask_summary wanted = KC_ASK_NOTHING;
        const size_t n = strlen(text), k = (size_t)s->k;
        size_t stretch = 0, in_stretch = 0;
        bool leads = true;
        for (size_t at = 0; at + k <= n; at++) {
                uint64_t kmer[KC_MAX_WORDS];
                wanted.nwindows++;
                if (kc_kmer_parse(text + at, s->k, kmer) < s->k) {
                        leads = false;
                        continue;
                }
                if (!s->stranded)
                        kc_kmer_canonical(kmer, s->k);
                const uint32_t count = count_in(s, kmer);
                const bool found = count >= setup->min_count && count <= setup->max_count;
                if (setup->wants_counts) {
                        assert_true(stretch < answer->nstretches);
                        assert_int_equal(answer->stretches[stretch].begin + in_stretch, at);
                        assert_int_equal(answer->counts[wanted.nvalid], count);
                        if (++in_stretch == answer->stretches[stretch].n) {
                                in_stretch = 0;
                                stretch++;
                        }
                }
                leads = leads && found;
                wanted.nlead += leads;
                wanted.nvalid++;
                wanted.nfound += found;
                wanted.sum += count;
                wanted.min = count < wanted.min ? count : wanted.min;
                wanted.max = count > wanted.max ? count : wanted.max;
        }
        assert_int_equal(answer->nstretches, stretch);
        assert_int_equal(answer->summary.nwindows, wanted.nwindows);
        assert_int_equal(answer->summary.nvalid, wanted.nvalid);
        assert_int_equal(answer->summary.nfound, wanted.nfound);
        assert_int_equal(answer->summary.nlead, wanted.nlead);
        assert_int_equal(answer->summary.sum, wanted.sum);
        assert_int_equal(answer->summary.min, wanted.min);
        assert_int_equal(answer->summary.max, wanted.max);
}

/* Threads that ask for texts in blocks, dealt in turn, until each is full or has no more. */
struct asking {
        const struct pair_set *set;
        const struct texts *texts;
        struct kc_ask_setup setup;
        struct kc_asker asker;
        size_t block;                 /* sequences in it, at most */
        size_t next[ASKING_THREADS];  /* block of each thread to add, */
        size_t first[ASKING_THREADS]; /* and to take */
        size_t nrounds;
};

static enum kc_status add_blocks(void *ctx, int worker, struct kc_error *err)
{
        struct asking *a = ctx;
        bool full = false;
        size_t i = a->next[worker];
        for (; !full && i * a->block < a->texts->n; i += (size_t)a->setup.nthreads) {
                struct kc_ask_sequence sequences[MAX_TEXTS];
                size_t n = 0;
                for (size_t at = i * a->block; n < a->block && at < a->texts->n; at++)
                        sequences[n++] = (struct kc_ask_sequence){ .bases = a->texts->text[at],
                                                                   .nbases = (uint32_t)strlen(
                                                                           a->texts->text[at]) };
                enum kc_status status =
                        a->asker.add(a->asker.ctx, worker, sequences, n, &full, err);
                if (status != KC_OK)
                        return status;
        }
        a->next[worker] = i;
        return KC_OK;
}

static enum kc_status take_blocks(void *ctx, int worker, struct kc_error *err)
{
        struct asking *a = ctx;
        size_t i = a->first[worker];
        for (; i < a->next[worker]; i += (size_t)a->setup.nthreads) {
                struct kc_ask_answer answers[MAX_TEXTS];
                const size_t at = i * a->block, left = a->texts->n - at,
                             n = left < a->block ? left : a->block;
                enum kc_status status = a->asker.take(a->asker.ctx, worker, answers, n, err);
                if (status != KC_OK)
                        return status;
                for (size_t j = 0; j < n; j++)
                        check_answer(a->set, &a->setup, a->texts->text[at + j], &answers[j]);
        }
        a->first[worker] = i;
        return KC_OK;
}

static size_t ask(const struct pair_set *s, const struct texts *texts,
                  const struct kc_ask_table *table, const struct kc_ask_setup *setup,
                  const struct kc_cpu_ask_tuning *tuning, size_t block)
{
        struct kc_error err = { 0 };
        struct asking a = { .set = s, .texts = texts, .setup = *setup, .block = block };
        bool more = true;
        assert_ok(kc_cpu_ask_open(&a.asker, table, setup, tuning, &err), err);
        for (int i = 0; i < setup->nthreads; i++)
                a.first[i] = a.next[i] = (size_t)i;
        for (; more; a.nrounds++) {
                assert_ok(kc_parallel(setup->nthreads, add_blocks, NULL, &a, &err), err);
                assert_ok(a.asker.answer(a.asker.ctx, &err), err);
                assert_ok(kc_parallel(setup->nthreads, take_blocks, NULL, &a, &err), err);
                more = false;
                for (int i = 0; i < setup->nthreads; i++)
                        more = more || a.next[i] * block < texts->n;
        }
        a.asker.close(a.asker.ctx);
        return a.nrounds;
}

/* ---- tests ---- */

static const int some_ks[] = { 1, 2, 11, 31, 32, 33, 63, 64, 65, 96, 127, 129, 255 };
enum { NKS = sizeof some_ks / sizeof *some_ks };

static const struct kc_cpu_ask_tuning tunings[] = {
        { 0 },
        { .nparts = 1 },
        { .nparts = 2, .piece_nkmers = 300, .group_nkmers = 500 },
        { .nparts = 7, .piece_nkmers = 1, .group_nkmers = 1 },
        { .nparts = 4096, .chunk_nbytes = 1024 },
};
enum { NTUNINGS = sizeof tunings / sizeof *tunings };

static void test_all_k(void **state)
{
        (void)state;
        struct texts texts = make_texts(1);
        for (size_t i = 0; i < NKS; i++)
                for (size_t j = 0; j < NTUNINGS; j++) {
                        if (!is_sampled())
                                continue;
                        struct pair_set s = set_of_texts(&texts, some_ks[i], (i + j) % 4 == 0, i);
                        const struct kc_ask_table table = table_of(&s);
                        const struct kc_ask_setup setup = {
                                .nthreads = 1 + (int)(i + j) % ASKING_THREADS,
                                .memory_nbytes = 64 << 20,
                                .min_count = (i + j) % 3 == 0 ? 0 : 1 + (uint32_t)(j % 3),
                                .max_count = j % 2 == 0 ? UINT32_MAX : 20,
                                .wants_counts = j % 5 != 4,
                        };
                        assert_int_equal(ask(&s, &texts, &table, &setup, &tunings[j], 1 + 6 * j),
                                         1);
                        free_set(&s);
                }
        free_texts(&texts);
}

static atomic_uint nmoves;

static enum kc_status counted_move(void *walk, const uint64_t *from, const uint64_t *to,
                                   struct kc_error *err)
{
        atomic_fetch_add(&nmoves, 1);
        return walk_move(walk, from, to, err);
}

/* How many times three threads decode a table of one part. */
static unsigned decodings(struct pair_set *s, const struct texts *texts)
{
        const struct kc_ask_setup setup = {
                .nthreads = 3, .memory_nbytes = 64 << 20, .min_count = 1, .max_count = UINT32_MAX
        };
        struct kc_ask_table table = table_of(s);
        table.walk_move = counted_move;
        atomic_store(&nmoves, 0);
        assert_int_equal(ask(s, texts, &table, &setup, &tunings[1], 1), 1);
        return atomic_load(&nmoves);
}

/* The lists of a small table's only part are shared among the threads; those of a table that takes
 * long to decode are not. */
static void test_shares(void **state)
{
        (void)state;
        struct texts texts = make_texts(4);
        struct pair_set small = make_set(31, false, 40, 1),
                        large = set_of_texts(&texts, 31, false, 2);
        assert_int_equal(decodings(&small, &texts), 3);
        assert_int_equal(decodings(&large, &texts), 1);
        free_set(&small);
        free_set(&large);
        free_texts(&texts);
}

/* Little memory, and chunks of one line: many rounds. */
static void test_rounds(void **state)
{
        (void)state;
        struct texts texts = make_texts(2);
        for (size_t i = 0; i < NKS; i += 3) {
                struct pair_set s = set_of_texts(&texts, some_ks[i], false, i);
                const struct kc_ask_table table = table_of(&s);
                const struct kc_ask_setup setup = { .nthreads = 1 + (int)i % 2,
                                                    .memory_nbytes = 1 << 10,
                                                    .min_count = 1,
                                                    .max_count = UINT32_MAX,
                                                    .wants_counts = i % 2 };
                const struct kc_cpu_ask_tuning tuning = { .nparts = 16,
                                                          .chunk_nbytes =
                                                                  some_ks[i] <= 32 ? 128 : 1024 };
                assert_true(ask(&s, &texts, &table, &setup, &tuning, 1) > 3);
                free_set(&s);
        }
        free_texts(&texts);
}

static void test_unusual_tables(void **state)
{
        (void)state;
        struct texts texts = make_texts(3);
        const struct kc_ask_setup setup = { .nthreads = 2,
                                            .memory_nbytes = 16 << 20,
                                            .min_count = 1,
                                            .max_count = UINT32_MAX,
                                            .wants_counts = true };
        for (size_t i = 0; i < NKS; i++) {
                struct pair_set s = make_set(some_ks[i], false, 1, 1);
                const struct kc_ask_table table = table_of(&s);
                s.n = 0;
                ask(&s, &texts, &table, &setup, NULL, 50);
                s.n = 1; /* all A, with the largest count */
                memset(s.kmers, 0, s.nw * sizeof *s.kmers);
                s.counts[0] = UINT32_MAX;
                ask(&s, &texts, &table, &setup, NULL, 50);
                free_set(&s);
        }
        free_texts(&texts);
}

/* k-mers that share all but their last bases, so that a directory does not suit them. */
static void test_clustered_table(void **state)
{
        (void)state;
        enum { K = 31, NSIXES = 1 << 12 };
        struct texts texts = { 0 };
        struct pair_set s = make_set(K, true, NSIXES, 1);
        uint64_t seed = 1;
        for (size_t i = 0; i < s.n; i++) {
                s.kmers[i] = i < 3 ? i : 2 * i;
                s.counts[i] = random_count(&seed);
        }
        for (size_t i = 0; i < 300; i++) {
                char text[K];
                memset(text, 'A', sizeof text);
                for (size_t j = K - 7; j < K; j++)
                        text[j] = "ACGT"[next_random(&seed) % 4];
                add_text(&texts, text, sizeof text);
        }
        const struct kc_ask_table table = table_of(&s);
        const struct kc_ask_setup setup = { .nthreads = 2,
                                            .memory_nbytes = 16 << 20,
                                            .min_count = 1,
                                            .max_count = UINT32_MAX,
                                            .wants_counts = true };
        ask(&s, &texts, &table, &setup, NULL, 50);
        free_set(&s);
        free_texts(&texts);
}

/* One run, several, and some with tombstones. */
static void test_files(void **state)
{
        (void)state;
        struct texts texts = make_texts(4);
        for (size_t i = 0; i < NKS; i += THREAD_STRIDE) {
                struct pair_set model = set_of_texts(&texts, some_ks[i], i % 3 == 0, i);
                write_set(&model, "s.kc", 2, 700, i);
                for (int run = 0; run < 4; run++) {
                        struct kc_store *store = open_store("s.kc");
                        const struct kc_ask_table table = kc_store_ask_table(store);
                        const struct kc_ask_setup setup = { .nthreads = 1 + run % ASKING_THREADS,
                                                            .memory_nbytes = 16 << 20,
                                                            .min_count = 2,
                                                            .max_count = UINT32_MAX,
                                                            .wants_counts = run % 2 };
                        ask(&model, &texts, &table, &setup,
                            &(struct kc_cpu_ask_tuning){ .nparts = 32 }, 40);
                        kc_store_close(store);
                        if (run == 3)
                                break;
                        struct pair_set r = relative(&model, 300, i);
                        append_set("s.kc", &r, run == 1, i);
                        model_append(&model, &r, run == 1);
                        free_set(&r);
                }
                free_set(&model);
        }
        unlink("s.kc");
        free_texts(&texts);
}

static enum kc_status fail_to_walk(void *walk, const uint64_t **kmers, const uint32_t **counts,
                                   size_t *n, struct kc_error *err)
{
        (void)walk, (void)kmers, (void)counts, (void)n;
        return kc_fail(err, KC_ECORRUPT, "damaged");
}

static void test_failure_of_the_table(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct kc_asker asker;
        bool full = false;
        const struct kc_ask_sequence sequence = { "ACGTACGTACGT", 12 };
        const struct kc_ask_setup setup = { .nthreads = 3, .memory_nbytes = 16 << 20 };
        struct pair_set s = make_set(5, false, 100, 1);
        struct kc_ask_table table = table_of(&s);
        table.walk_next = fail_to_walk;
        assert_ok(kc_cpu_ask_open(&asker, &table, &setup, NULL, &err), err);
        assert_ok(asker.add(asker.ctx, 1, &sequence, 1, &full, &err), err);
        assert_int_equal(asker.answer(asker.ctx, &err), KC_ECORRUPT);
        assert_string_equal(err.message, "damaged");
        asker.close(asker.ctx);
        free_set(&s);
}

static void test_canceled(void **state)
{
        (void)state;
        struct kc_job job = { .cancel = true };
        struct kc_error err = { 0 };
        struct kc_asker asker;
        const struct kc_ask_setup setup = { .nthreads = 2, .memory_nbytes = 1 << 24, .job = &job };
        struct pair_set s = make_set(5, false, 100, 1);
        const struct kc_ask_table table = table_of(&s);
        assert_ok(kc_cpu_ask_open(&asker, &table, &setup, NULL, &err), err);
        assert_int_equal(asker.answer(asker.ctx, &err), KC_ECANCELED);
        asker.close(asker.ctx);
        free_set(&s);
}

/* The summaries of pieces, appended, are that of the whole. */
static void test_pieces(void **state)
{
        (void)state;
        uint64_t seed = 1;
        for (int round = 0; round < 2000; round++) {
                const struct kc_ask_setup setup = { .min_count = 1 + round % 2, .max_count = 3 };
                uint32_t counts[40];
                const uint32_t k = 1 + next_random(&seed) % 5, n = next_random(&seed) % 40 + 1;
                const uint32_t nbases = n + k - 1, cut = next_random(&seed) % (n + 1);
                struct kc_ask_summary whole, left, right;
                for (uint32_t i = 0; i < n; i++)
                        counts[i] = next_random(&seed) % 8 > 0 ? 2 : next_random(&seed) % 6;
                const struct kc_ask_stretch all = { 0, n }, before = { 0, cut },
                                            after = { 0, n - cut };
                kc_ask_summarize(&whole, (int)k, &setup, nbases, counts, &all, 1);
                kc_ask_summarize(&left, (int)k, &setup, cut + k - 1, counts, &before, cut > 0);
                kc_ask_summarize(&right, (int)k, &setup, n - cut + k - 1, counts + cut, &after,
                                 cut < n);
                struct kc_ask_summary sum = KC_ASK_NOTHING;
                kc_ask_summary_append(&sum, &left);
                kc_ask_summary_append(&sum, &right);
                assert_memory_equal(&sum, &whole, sizeof whole);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_k),          cmocka_unit_test(test_rounds),
                cmocka_unit_test(test_unusual_tables), cmocka_unit_test(test_clustered_table),
                cmocka_unit_test(test_files),          cmocka_unit_test(test_failure_of_the_table),
                cmocka_unit_test(test_pieces),         cmocka_unit_test(test_shares),
                cmocka_unit_test(test_canceled),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
