/*
 * The asker on a device, with every map, against counts found window by window in a sorted array.
 * Skipped without a device.
 */
#include "tests/gpu/ask/ask_texts.h"
#include "tests/gpu/ask/file_table.h"
#include "tests/gpu/need_device.h"

enum { MOST_THREADS = 4, BLOCK = 5 /* sequences */ };

/* KC_TEST_SMALL=1 in the environment: smaller inputs, for an emulated device. */
static size_t size(size_t n)
{
        return getenv("KC_TEST_SMALL") != NULL ? n / 4 + 1 : n;
}

/* ---- asking ---- */

struct asking {
        struct kc_gpu_ask_options options;
        struct kc_ask_setup setup;
        struct file_table table;
        struct kc_asker asker;
        enum kc_gpu_ask_way way;
        const struct pair_set *set;
        const struct texts *texts;
        size_t added[MOST_THREADS], taken[MOST_THREADS]; /* each thread has every nth block */
        unsigned ahead;            /* blocks that a thread has added before it takes one */
        struct kc_ask_answer *got; /* [texts->n] with counts and stretches of their own */
        bool full;
        size_t nrounds;
        size_t nreads, nopened; /* how often the table was read, and of these, to open the asker */
        size_t nscarce; /* how often reading the table fails, once it is open, for want of memory */
};

static enum kc_status read_table(void *ctx, const struct kc_gpu_ask_reader *reader,
                                 struct kc_error *err)
{
        struct asking *a = ctx;
        const enum kc_status status = read_file_table(&a->table, reader, err);
        __atomic_add_fetch(&a->nreads, 1, __ATOMIC_RELAXED); /* a thread for each device */
        if (status == KC_OK && a->nopened > 0 && a->nscarce > 0) {
                a->nscarce--;
                return kc_fail(err, KC_ENOMEM, "memory is short");
        }
        return status;
}

/* The store is to be closed in any case. */
static enum kc_status open_asker(struct asking *a, const char *path, struct kc_error *err)
{
        a->table.store = open_store(path);
        const struct kc_set set = { &a->table.store, 1, KC_SET_UNION, KC_RULE_SUM };
        const struct kc_gpu_ask_table table = { a, a->set->k, kc_set_npairs(&set), read_table };
        return kc_gpu_ask_open(&a->asker, &table, &a->options, &a->setup, &a->way, err);
}

static size_t block_of(const struct asking *a, size_t block, const char ***texts)
{
        const size_t from = block * BLOCK;
        *texts = (const char **)a->texts->items + from;
        return from >= a->texts->n ? 0 : a->texts->n - from < BLOCK ? a->texts->n - from : BLOCK;
}

/* Add the thread's next block. The letters do not outlive the call. */
static enum kc_status add_next(struct asking *a, int thread, bool *full, struct kc_error *err)
{
        const char **texts;
        struct kc_ask_sequence sequences[BLOCK] = { 0 };
        char *copies[BLOCK];
        const size_t n = block_of(a, a->added[thread], &texts);
        for (size_t i = 0; i < n; i++) {
                copies[i] = strdup(texts[i]);
                sequences[i].bases = copies[i];
                sequences[i].nbases = (uint32_t)strlen(copies[i]);
        }
        const enum kc_status status = a->asker.add(a->asker.ctx, thread, sequences, n, full, err);
        for (size_t i = 0; i < n; i++)
                free(copies[i]);
        a->added[thread] += (size_t)a->setup.nthreads;
        return status;
}

static void *copy_of(const void *from, size_t nbytes)
{
        void *copy = malloc(nbytes + 1);
        if (nbytes > 0)
                memcpy(copy, from, nbytes);
        return copy;
}

/* What answers point to is valid until the thread's next call only. */
static enum kc_status take_next(struct asking *a, int thread, struct kc_error *err)
{
        const char **texts;
        struct kc_ask_answer *got = a->got + a->taken[thread] * BLOCK;
        const size_t n = block_of(a, a->taken[thread], &texts);
        const enum kc_status status = a->asker.take(a->asker.ctx, thread, got, n, err);
        for (size_t i = 0; i < n && status == KC_OK; i++) {
                const size_t ncounts = a->setup.wants_counts ? got[i].summary.nvalid : 0;
                got[i].counts = copy_of(got[i].counts, ncounts * sizeof *got[i].counts);
                got[i].stretches =
                        copy_of(got[i].stretches, got[i].nstretches * sizeof *got[i].stretches);
        }
        a->taken[thread] += (size_t)a->setup.nthreads;
        return status;
}

static bool has_more(const struct asking *a, int thread)
{
        return a->added[thread] * BLOCK < a->texts->n;
}

/* A prompt asker: keep some blocks added, and take one after the other. */
static enum kc_status stream(void *ctx, int thread, struct kc_error *err)
{
        struct asking *a = ctx;
        enum kc_status status = KC_OK;
        bool full = false;
        while (status == KC_OK) {
                const size_t nadded =
                        (a->added[thread] - a->taken[thread]) / (size_t)a->setup.nthreads;
                if (nadded < a->ahead && has_more(a, thread))
                        status = add_next(a, thread, &full, err);
                else if (nadded > 0)
                        status = take_next(a, thread, err);
                else
                        break;
        }
        return status != KC_OK || !full ? status : kc_fail(err, KC_EUSAGE, "the asker is full");
}

static enum kc_status add_round(void *ctx, int thread, struct kc_error *err)
{
        struct asking *a = ctx;
        enum kc_status status = KC_OK;
        bool full = false;
        while (status == KC_OK && !full && has_more(a, thread) &&
               !__atomic_load_n(&a->full, __ATOMIC_RELAXED))
                status = add_next(a, thread, &full, err);
        if (full)
                __atomic_store_n(&a->full, true, __ATOMIC_RELAXED);
        return status;
}

static enum kc_status take_round(void *ctx, int thread, struct kc_error *err)
{
        struct asking *a = ctx;
        enum kc_status status = KC_OK;
        while (status == KC_OK && a->taken[thread] < a->added[thread])
                status = take_next(a, thread, err);
        return status;
}

static void run_rounds(struct asking *a)
{
        struct kc_error err = { 0 };
        bool more = true;
        for (a->nrounds = 0; more; a->nrounds++) {
                a->full = more = false;
                assert_ok(kc_parallel(a->setup.nthreads, add_round, NULL, a, &err), err);
                assert_ok(a->asker.answer(a->asker.ctx, &err), err);
                assert_ok(kc_parallel(a->setup.nthreads, take_round, NULL, a, &err), err);
                for (int t = 0; t < a->setup.nthreads; t++)
                        more |= has_more(a, t);
        }
}

/* The count of the k-mer that begins here; false: it is no k-mer. */
static bool count_at(const struct pair_set *s, const char *letters, size_t nleft, uint32_t *count)
{
        uint64_t kmer[KC_MAX_WORDS];
        for (size_t i = 0; i < (size_t)s->k; i++)
                if (i == nleft || strchr("ACGTUacgtu", letters[i]) == NULL)
                        return false;
        assert_int_equal(kc_kmer_parse(letters, s->k, kmer), s->k);
        if (!s->stranded)
                kc_kmer_canonical(kmer, s->k);
        *count = count_in(s, kmer);
        return true;
}

static void assert_same_summary(const struct kc_ask_summary *got, const struct kc_ask_summary *want)
{
        assert_int_equal(got->nwindows, want->nwindows);
        assert_int_equal(got->nvalid, want->nvalid);
        assert_int_equal(got->nfound, want->nfound);
        assert_int_equal(got->nlead, want->nlead);
        assert_int_equal(got->sum, want->sum);
        assert_int_equal(got->min, want->min);
        assert_int_equal(got->max, want->max);
}

static void check_answer(const struct asking *a, const char *text, const struct kc_ask_answer *got)
{
        struct kc_ask_summary want = { .min = UINT32_MAX };
        const size_t n = strlen(text), k = (size_t)a->set->k;
        size_t nstretches = 0, last_end = SIZE_MAX;
        for (size_t i = 0; i + k <= n; i++) {
                uint32_t count = 0;
                const bool valid = count_at(a->set, text + i, n - i, &count);
                const bool found =
                        valid && count >= a->setup.min_count && count <= a->setup.max_count;
                want.nlead += found && want.nlead == want.nwindows;
                want.nwindows++;
                if (!valid)
                        continue;
                if (a->setup.wants_counts) {
                        nstretches += last_end != i;
                        last_end = i + 1;
                        assert_true(got->nstretches >= nstretches);
                        const struct kc_ask_stretch *s = &got->stretches[nstretches - 1];
                        assert_true(i >= s->begin && i - s->begin < s->n);
                        assert_int_equal(got->counts[want.nvalid], count);
                }
                want.nvalid++;
                want.nfound += found;
                want.sum += count;
                want.min = count < want.min ? count : want.min;
                want.max = count > want.max ? count : want.max;
        }
        assert_same_summary(&got->summary, &want);
        if (a->setup.wants_counts)
                assert_int_equal(got->nstretches, nstretches);
}

static void ask_all(struct asking *a, const char *path)
{
        struct kc_error err = { 0 };
        a->got = calloc(a->texts->n, sizeof *a->got);
        assert_non_null(a->got);
        assert_ok(open_asker(a, path, &err), err);
        a->nopened = a->nreads;
        for (int t = 0; t < a->setup.nthreads; t++)
                a->added[t] = a->taken[t] = (size_t)t;
        if (a->asker.depth > 0)
                assert_ok(kc_parallel(a->setup.nthreads, stream, NULL, a, &err), err);
        else
                run_rounds(a);
        a->asker.close(a->asker.ctx);
        kc_store_close(a->table.store);
        for (size_t i = 0; i < a->texts->n; i++) {
                check_answer(a, a->texts->items[i], &a->got[i]);
                free((void *)a->got[i].counts);
                free((void *)a->got[i].stretches);
        }
        free(a->got);
}

static struct asking make_asking(enum kc_gpu_map map, const struct pair_set *set,
                                 const struct texts *texts)
{
        return (struct asking){
                .options = { .ndevices = 1,
                             .map = map,
                             .stranded = set->stranded,
                             .batch_nbases = 5000 },
                .setup = { .nthreads = 1,
                           .memory_nbytes = 1 << 24,
                           .min_count = 1,
                           .max_count = UINT32_MAX,
                           .wants_counts = true },
                .set = set,
                .texts = texts,
                .ahead = 3,
        };
}

/* ---- tests ---- */

/* What differs between the askers of a k: all of this is tried with every map. */
static const struct {
        int nthreads;
        uint32_t batch_nbases, min_count, max_count;
        unsigned ahead;
        bool wants_counts;
} ways[] = { { 1, 3000, 1, UINT32_MAX, 4, true },
             { 3, 400, 3, 65535, 2, false },
             { 2, 150, 0, 0, 1, true },
             { 4, 0, 0, UINT32_MAX - 1, 100, false } };

static struct asking make_way(size_t way, enum kc_gpu_map map, const struct pair_set *set,
                              const struct texts *texts)
{
        struct asking a = make_asking(map, set, texts);
        struct kc_gpu_device devices[2];
        struct kc_error err = { 0 };
        int n;
        assert_ok(kc_gpu_devices(devices, 2, &n, &err), err);
        a.options.ndevices = 1 + (int)(way % 2);
        a.options.devices[1] = n > 1 ? 1 : 0;
        a.options.batch_nbases = ways[way].batch_nbases;
        a.setup.nthreads = ways[way].nthreads;
        a.setup.min_count = ways[way].min_count;
        a.setup.max_count = ways[way].max_count;
        a.ahead = ways[way].ahead;
        a.setup.wants_counts = ways[way].wants_counts;
        return a;
}

static void check_way(size_t way, enum kc_gpu_map map, const struct pair_set *set,
                      const struct texts *texts)
{
        struct asking a = make_way(way, map, set, texts);
        ask_all(&a, "t.kc");
        assert_true(a.asker.depth > 0);
}

static void check_k(int k, bool stranded, uint64_t seed)
{
        char *genome = random_letters(size(6000) + 300, &seed);
        struct pair_set set = set_of(genome, k, stranded, &seed);
        struct texts reads = make_reads(genome, k, size(80), &seed);
        write_set(&set, "t.kc", 2, 700, seed);
        for (int map = 0; map < KC_GPU_NMAPS; map++)
                for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
                        if (k <= kc_gpu_map_max_k((enum kc_gpu_map)map) &&
                            (size(8) == 8 || (way + (size_t)map + (size_t)k + stranded) % 2 == 0))
                                check_way(way, (enum kc_gpu_map)map, &set, &reads);
        unlink("t.kc");
        free_texts(&reads);
        free_set(&set);
        free(genome);
}

static void test_lengths(void **state)
{
        (void)state;
        static const int some_ks[] = { 1, 2, 11, 31, 32, 33, 63, 64 };
        for (size_t i = 0; i < sizeof some_ks / sizeof *some_ks; i++) {
                check_k(some_ks[i], false, 10 + i);
                if (size(8) == 8 || i % 3 == 2)
                        check_k(some_ks[i], true, 20 + i);
        }
}

/* Runs that add up to more than UINT32_MAX, and tombstones. */
static void test_runs(void **state)
{
        (void)state;
        static const int some_ks[] = { 15, 32, 41 };
        uint64_t seed = 5;
        for (size_t i = 0; i < sizeof some_ks / sizeof *some_ks; i++) {
                char *genome = random_letters(size(6000) + 300, &seed);
                struct pair_set set = set_of(genome, some_ks[i], false, &seed);
                struct pair_set other = set_of(genome, some_ks[i], false, &seed);
                struct texts reads = make_reads(genome, some_ks[i], size(60), &seed);
                write_set(&set, "t.kc", 2, 700, seed);
                append_set("t.kc", &other, false, seed);
                model_append(&set, &other, false);
                other.n /= 3;
                append_set("t.kc", &other, true, seed);
                model_append(&set, &other, true);
                other.n /= 2;
                append_set("t.kc", &other, false, seed);
                model_append(&set, &other, false);
                for (int map = 0; map < KC_GPU_NMAPS; map++)
                        if (some_ks[i] <= kc_gpu_map_max_k((enum kc_gpu_map)map))
                                check_way(0, (enum kc_gpu_map)map, &set, &reads);
                unlink("t.kc");
                free_texts(&reads);
                free_set(&other);
                free_set(&set);
                free(genome);
        }
}

/* A table of so many k-mers that WarpDrive's words hold them; and one without any. */
static void test_sizes(void **state)
{
        (void)state;
        static const struct {
                int k;
                size_t n;
        } some[] = { { 12, 200000 }, { 31, 150000 }, { 31, 0 }, { 40, 30000 }, { 64, 0 } };
        for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
                uint64_t seed = i;
                struct pair_set set =
                        make_set(some[i].k, false, size(4) == 4 ? some[i].n : some[i].n / 2, i);
                char *genome = random_letters(2000, &seed);
                struct texts reads = make_reads(genome, some[i].k, 20, &seed);
                for (size_t j = 0; j < 300 && j < set.n; j++) {
                        char text[KC_MAX_K];
                        kc_kmer_format(set.kmers + next_random(&seed) % set.n * set.nw, set.k,
                                       text);
                        add_text(&reads, text, (size_t)set.k);
                }
                write_set(&set, "t.kc", 2, 900, seed);
                for (int map = 0; map < KC_GPU_NMAPS; map++)
                        if (set.k <= kc_gpu_map_max_k((enum kc_gpu_map)map))
                                check_way(0, (enum kc_gpu_map)map, &set, &reads);
                unlink("t.kc");
                free_texts(&reads);
                free_set(&set);
                free(genome);
        }
}

/* Devices that each have a part of the k-mers; if there are fewer, some have several parts. */
static void test_spread(void **state)
{
        (void)state;
        static const struct {
                int k;
                size_t n, genome; /* n: 0: as many k-mers as there are in the genome */
        } some[] = { { 12, 0, 500 },  { 20, 20000, 2000 }, { 31, 0, 6000 },
                     { 32, 0, 6000 }, { 33, 0, 6000 },     { 64, 0, 3000 } };
        int nusable;
        struct kc_error err = { 0 };
        assert_ok(kc_gpu_devices(NULL, 0, &nusable, &err), err);
        for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
                uint64_t seed = i;
                char *genome = random_letters(some[i].genome, &seed);
                struct texts reads = make_reads(genome, some[i].k, size(80), &seed);
                struct pair_set set = some[i].n > 0 ? make_set(some[i].k, false, some[i].n, i)
                                                    : set_of(genome, some[i].k, i == 3, &seed);
                for (size_t j = 0; j < set.n; j += 1 + set.n / 100) {
                        char text[KC_MAX_K];
                        kc_kmer_format(set.kmers + j * set.nw, set.k, text);
                        add_text(&reads, text, (size_t)set.k);
                }
                write_set(&set, "t.kc", 2, 700, seed);
                for (int n = 2; n <= 4; n++) {
                        if (size(8) != 8 && n != 2 + (int)i % 3)
                                continue;
                        struct asking a =
                                make_way((i + (size_t)n) % 4, KC_GPU_MAP_WARPDRIVE, &set, &reads);
                        a.options.ndevices = n;
                        a.options.spread = true;
                        for (int j = 0; j < n; j++)
                                a.options.devices[j] = j % nusable;
                        ask_all(&a, "t.kc");
                        assert_true(a.asker.depth > 0);
                        assert_int_equal(a.way, KC_GPU_ASK_SPREAD);
                        assert_int_equal(a.nreads, 1);
                }
                unlink("t.kc");
                free_texts(&reads);
                free_set(&set);
                free(genome);
        }
}

/* Enough for ranges of a few blocks, but not also for a map of n k-mers. */
static uint64_t scarce_nbytes(enum kc_gpu_map map, int k, uint64_t n)
{
        static const uint64_t nbytes[KC_GPU_NMAPS] = { 6, 12, 6, 28 };
        return (k <= 32 ? 1 : 2) * ((160 << 10) + nbytes[map] * n);
}

static void check_turns(enum kc_gpu_map map, size_t way, const struct pair_set *set,
                        const struct texts *reads)
{
        struct asking a = make_way(way, map, set, reads);
        a.options.memory_nbytes = scarce_nbytes(map, set->k, set->n);
        if (way >= 2)
                a.setup.memory_nbytes = 60000;
        if (a.options.batch_nbases == 0)
                a.options.batch_nbases = 700;
        ask_all(&a, "t.kc");
        assert_int_equal(a.asker.depth, 0);
        assert_int_equal(a.way, KC_GPU_ASK_TURNS);
        assert_true(a.nreads >= a.nopened + a.nrounds);
}

/* Tables that take more than the memory of the device. */
static void test_turns(void **state)
{
        (void)state;
        static const int some_ks[] = { 11, 31, 32, 33, 64 };
        uint64_t seed = 7;
        for (size_t i = 0; i < sizeof some_ks / sizeof *some_ks; i++) {
                char *genome = random_letters(25000, &seed);
                struct pair_set set = set_of(genome, some_ks[i], i == 2, &seed);
                struct pair_set other = set_of(genome, some_ks[i], i == 2, &seed);
                struct texts reads = make_reads(genome, some_ks[i], size(80), &seed);
                write_set(&set, "t.kc", 2, 700, seed);
                append_set("t.kc", &other, false, seed);
                model_append(&set, &other, false);
                for (int map = 0; map < KC_GPU_NMAPS; map++)
                        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
                                if (some_ks[i] <= kc_gpu_map_max_k((enum kc_gpu_map)map) &&
                                    (size(8) == 8 ||
                                     (i % 2 == 0 && (way + (size_t)map + i / 2) % 4 == 0)))
                                        check_turns((enum kc_gpu_map)map, way, &set, &reads);
                unlink("t.kc");
                free_texts(&reads);
                free_set(&other);
                free_set(&set);
                free(genome);
        }
}

/* Sequences that are longer than what is packed at a time, 16,384 bases, with stretches that end
 * near there. */
static void test_long(void **state)
{
        (void)state;
        enum { PIECE = 16384, K = 31, NBASES = 2 * PIECE + 100 };
        uint64_t seed = 11;
        char *genome = random_letters(NBASES, &seed);
        struct pair_set set = set_of(genome, K, false, &seed);
        struct texts reads = { 0 };
        static const size_t odd[] = {
                PIECE - K, PIECE - 1, PIECE, 5, PIECE + K - 1, PIECE - K + 1
        };
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
                add_text(&reads, genome, i % 2 == 0 ? NBASES : PIECE + K + i);
                reads.items[reads.n - 1][odd[i]] = 'N';
                add_text(&reads, genome, PIECE - 1 + i % 3);
        }
        add_text(&reads, genome, NBASES);
        write_set(&set, "t.kc", 1, 700, seed);
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
                check_way(way, KC_GPU_MAP_WARPDRIVE, &set, &reads);
        unlink("t.kc");
        free_texts(&reads);
        free_set(&set);
        free(genome);
}

/* A table that does not fit on each device: it is spread if its parts fit; otherwise it passes
 * through the first device, and is read in each round. Each attempt to load it reads it. */
static void test_spread_turns(void **state)
{
        (void)state;
        static const struct {
                uint64_t nbytes; /* for each k-mer; a map takes 26 */
                bool spread, turns;
                size_t nopened;
        } some[] = { { 22, false, false, 3 }, { 10, false, true, 3 }, { 10, true, true, 1 } };
        uint64_t seed = 8;
        char *genome = random_letters(60000, &seed);
        struct pair_set set = set_of(genome, 64, false, &seed);
        struct texts reads = make_reads(genome, 64, 10, &seed);
        write_set(&set, "t.kc", 1, 700, seed);
        for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
                struct asking a = make_way(1, KC_GPU_MAP_WARPDRIVE, &set, &reads);
                a.options.spread = some[i].spread;
                a.options.memory_nbytes = some[i].nbytes * set.n;
                a.nscarce = some[i].turns; /* so they are repeated with smaller maps */
                ask_all(&a, "t.kc");
                assert_int_equal(a.nopened, some[i].nopened);
                assert_true(some[i].turns ? a.nreads > a.nopened + a.nrounds
                                          : a.nreads == a.nopened);
                assert_int_equal(a.asker.depth == 0, some[i].turns);
                assert_int_equal(a.way, some[i].turns ? KC_GPU_ASK_TURNS : KC_GPU_ASK_SPREAD);
        }
        unlink("t.kc");
        free_texts(&reads);
        free_set(&set);
        free(genome);
}

/* A batch for each window. */
static void test_windows(void **state)
{
        (void)state;
        uint64_t seed = 9;
        char *genome = random_letters(600, &seed);
        struct pair_set set = set_of(genome, 33, false, &seed);
        struct texts reads = { 0 };
        add_text(&reads, genome, 200);
        add_text(&reads, genome + 100, 60);
        write_set(&set, "t.kc", 1, 700, seed);
        struct asking a = make_asking(KC_GPU_MAP_LSM, &set, &reads);
        a.options.batch_nbases = 1;
        a.ahead = 2;
        ask_all(&a, "t.kc");
        unlink("t.kc");
        free_texts(&reads);
        free_set(&set);
        free(genome);
}

/* A job that is canceled when the first of several pieces of a table has been read. */
static void test_canceled(void **state)
{
        (void)state;
        const struct texts none = { 0 };
        struct pair_set set = make_set(31, false, 20000, 1);
        write_set(&set, "t.kc", 1, 700, 1);
        append_set("t.kc", &set, false, 1);
        append_set("t.kc", &set, false, 1);
        for (int way = KC_GPU_ASK_WHOLE; way <= KC_GPU_ASK_TURNS; way++) {
                struct kc_job job = { 0 };
                struct kc_error err = { 0 };
                struct asking a = make_asking(KC_GPU_MAP_WARPDRIVE, &set, &none);
                a.setup.job = a.table.job = &job;
                a.options.spread = way == KC_GPU_ASK_SPREAD;
                a.options.ndevices = a.options.spread ? 2 : 1;
                if (way == KC_GPU_ASK_TURNS)
                        a.options.memory_nbytes = 24 * set.n; /* a map takes 36 */
                enum kc_status status = open_asker(&a, "t.kc", &err);
                if (way == KC_GPU_ASK_TURNS) {
                        assert_ok(status, err);
                        status = a.asker.answer(a.asker.ctx, &err);
                        a.asker.close(a.asker.ctx);
                }
                assert_int_equal(status, KC_ECANCELED);
                assert_int_equal(a.way, way);
                assert_int_equal(a.table.npieces, 1);
                kc_store_close(a.table.store);
        }
        unlink("t.kc");
        free_set(&set);
}

static void expect_failure(struct asking *a, enum kc_status status, const char *words)
{
        struct kc_error err = { 0 };
        assert_int_equal(open_asker(a, "t.kc", &err), status);
        kc_store_close(a->table.store);
        assert_non_null(strstr(err.message, words));
}

static void test_limits(void **state)
{
        (void)state;
        const struct texts none = { 0 };
        struct pair_set set = make_set(33, false, 100, 1);
        write_set(&set, "t.kc", 1, 700, 1);
        struct asking a = make_asking(KC_GPU_MAP_SLAB, &set, &none);
        expect_failure(&a, KC_EUSAGE, "the map slab holds k-mers up to k = 32, not 33");
        a.options.map = KC_GPU_MAP_LINEAR;
        expect_failure(&a, KC_EUSAGE, "the map linear holds k-mers up to k = 32, not 33");
        free_set(&set);
        set = make_set(65, false, 100, 1);
        write_set(&set, "t.kc", 1, 700, 1);
        a.options.map = KC_GPU_MAP_WARPDRIVE;
        expect_failure(&a, KC_EUSAGE, "the map warpdrive holds k-mers up to k = 64, not 65");
        free_set(&set);
        set = make_set(31, false, 50000, 1);
        write_set(&set, "t.kc", 1, 700, 1);
        a.options.spread = true;
        a.options.map = KC_GPU_MAP_LSM;
        expect_failure(&a, KC_EUSAGE, "the map lsm cannot be spread over several devices");
        a.options.spread = false;
        a.options.map = KC_GPU_MAP_WARPDRIVE;
        a.options.memory_nbytes = 10 << 10;
        expect_failure(&a, KC_ENOMEM, "device memory");
        a.options.devices[0] = 99;
        expect_failure(&a, KC_EDEVICE, "cuda:99");
        free_set(&set);
        unlink("t.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_lengths, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_runs, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_sizes, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_spread, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_turns, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_spread_turns, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_windows, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_long, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_canceled, enter_folder, leave_folder),
                cmocka_unit_test_setup_teardown(test_limits, enter_folder, leave_folder),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
