/*
 * Runs that come as blocks: the file is byte for byte the same as from pairs, and impossible blocks
 * are refused.
 */
#include "store_support.h"

#include "kmer/block_codec.h"

static const uint32_t filters[][2] = { { 0, 0 }, { 2, 0 }, { 1, 1 }, { 2, 600 }, { 5, 1u << 20 } };
#define NFILTERS (sizeof filters / sizeof *filters)

/* ---- an encoder like an engine's, on the host ---- */

/* The arrays of a part. */
struct part {
        struct kc_run_blocks blocks;
        uint64_t *firsts, *last_kmer, *words, *rows;
        uint32_t *block_nwords, *big_counts;
};

struct run {
        const struct pair_set *set;
        uint32_t min, max;
        struct part *parts;
        size_t nparts;
        size_t begin, end; /* the kept pairs that are in no block yet */
        struct pair_set kept;
};

/* Take pairs [begin, end) of the set: tally them, and keep those that pass the filter. */
static void take_pairs(struct run *run, struct part *part, size_t begin, size_t end)
{
        const struct pair_set *s = run->set;
        for (size_t i = begin; i < end; i++) {
                uint32_t c = s->counts[i];
                if (c < run->min || c > run->max) {
                        part->blocks.dropped.ndistinct++;
                        part->blocks.dropped.nkmers += c;
                        part->blocks.dropped.nunique += c == 1;
                        continue;
                }
                if (c < KC_RUN_NROWS)
                        part->rows[c]++;
                else
                        part->big_counts[part->blocks.nbig++] = c;
                memcpy(run->kept.kmers + run->end * s->nw, s->kmers + i * s->nw,
                       s->nw * sizeof *s->kmers);
                run->kept.counts[run->end++] = c;
        }
}

static void encode_block(struct run *run, struct part *part, size_t n)
{
        struct kc_run_blocks *b = &part->blocks;
        const size_t nw = run->set->nw;
        const uint64_t *kmers = run->kept.kmers + run->begin * nw;
        struct kc_block_plan plan;
        kc_block_plan(&plan, kmers, run->kept.counts + run->begin, n, (int)nw);
        kc_block_encode(&plan, kmers, run->kept.counts + run->begin, (int)nw,
                        part->words + b->nwords);
        part->words[b->nwords + plan.nwords] = 0xabcdef;
        memcpy(part->firsts + b->nblocks * nw, kmers, nw * sizeof *kmers);
        memcpy(part->last_kmer, kmers + (n - 1) * nw, nw * sizeof *kmers);
        part->block_nwords[b->nblocks++] = plan.nwords;
        b->nwords += plan.nwords + 1;
        b->n += n;
        run->begin += n;
}

static void *array(size_t n, size_t each)
{
        void *memory = calloc(n + 1, each);
        assert_non_null(memory);
        return memory;
}

static void make_part(struct run *run, struct part *part, size_t begin, size_t end, bool last)
{
        const size_t nw = run->set->nw;
        part->big_counts = array(end - begin, sizeof *part->big_counts);
        part->rows = array(KC_RUN_NROWS, sizeof *part->rows);
        part->last_kmer = array(nw, sizeof *part->last_kmer);
        take_pairs(run, part, begin, end);
        size_t nblocks = (run->end - run->begin) / KC_BLOCK_NKMERS + 1;
        part->firsts = array(nblocks * nw, sizeof *part->firsts);
        part->words = array(nblocks * (kc_block_max_words((int)nw) + 1), sizeof *part->words);
        part->block_nwords = array(nblocks, sizeof *part->block_nwords);
        while (run->end - run->begin >= KC_BLOCK_NKMERS)
                encode_block(run, part, KC_BLOCK_NKMERS);
        if (last && run->end > run->begin)
                encode_block(run, part, run->end - run->begin);
        part->blocks.part = run->nparts++;
        part->blocks.firsts = part->firsts;
        part->blocks.last_kmer = part->last_kmer;
        part->blocks.block_nwords = part->block_nwords;
        part->blocks.words = part->words;
        part->blocks.rows = part->rows;
        part->blocks.big_counts = part->big_counts;
}

/* The set in at least one part, each of up to 2 * mean_part pairs. */
static struct run make_run(const struct pair_set *s, uint32_t min, uint32_t max, size_t mean_part,
                           uint64_t seed)
{
        struct run run = { .set = s, .min = min, .max = max ? max : UINT32_MAX };
        size_t cap = 16, at = 0;
        run.kept.kmers = array(s->n * s->nw, sizeof *s->kmers);
        run.kept.counts = array(s->n, sizeof *s->counts);
        run.parts = array(cap, sizeof *run.parts);
        do {
                if (run.nparts == cap) {
                        run.parts = realloc(run.parts, 2 * cap * sizeof *run.parts);
                        assert_non_null(run.parts);
                        memset(run.parts + cap, 0, cap * sizeof *run.parts);
                        cap *= 2;
                }
                size_t n = next_random(&seed) % (2 * mean_part + 1);
                size_t end = n < s->n - at ? at + n : s->n;
                make_part(&run, &run.parts[run.nparts], at, end, end == s->n);
                at = end;
        } while (at < s->n);
        return run;
}

static void free_run(struct run *run)
{
        for (size_t p = 0; p < run->nparts; p++) {
                free(run->parts[p].firsts);
                free(run->parts[p].last_kmer);
                free(run->parts[p].words);
                free(run->parts[p].rows);
                free(run->parts[p].block_nwords);
                free(run->parts[p].big_counts);
        }
        free(run->parts);
        free_set(&run->kept);
}

/* ---- files ---- */

struct block_feed {
        const struct run *run;
        struct kc_run_sink sink;
        atomic_size_t next;
};

static enum kc_status feed_blocks(void *ctx, int worker, struct kc_error *err)
{
        struct block_feed *f = ctx;
        enum kc_status status = KC_OK;
        (void)worker;
        for (size_t p; status == KC_OK && (p = atomic_fetch_add(&f->next, 1)) < f->run->nparts;)
                status = f->sink.put_blocks(f->sink.ctx, &f->run->parts[p].blocks, err);
        return status;
}

static void cancel_blocks(void *ctx)
{
        struct block_feed *f = ctx;
        f->sink.cancel(f->sink.ctx);
}

static struct kc_store_options make_options(const struct pair_set *s, const uint32_t filter[2])
{
        return (struct kc_store_options){ .k = s->k,
                                          .stranded = s->stranded,
                                          .replace = true,
                                          .min_count = filter[0],
                                          .max_count = filter[1] };
}

static void write_pairs(const struct pair_set *s, const uint32_t filter[2], const char *path)
{
        struct kc_error err = { 0 };
        struct kc_store_options options = make_options(s, filter);
        struct kc_store_origin origin = make_origin(sum_of_counts(s));
        struct kc_store_writer *w = NULL;
        assert_ok(kc_store_create(&w, path, &options, &err), err);
        assert_ok(feed_set(s, kc_store_sink(w), 2, 3000, 1, &err), err);
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
}

static void write_blocks(const struct run *run, const uint32_t filter[2], const char *path,
                         int nthreads)
{
        struct kc_error err = { 0 };
        struct kc_store_options options = make_options(run->set, filter);
        struct kc_store_origin origin = make_origin(sum_of_counts(run->set));
        struct kc_store_writer *w = NULL;
        assert_ok(kc_store_create(&w, path, &options, &err), err);
        struct block_feed f = { .run = run, .sink = kc_store_sink(w) };
        assert_int_equal(f.sink.filter.min_count, run->min ? run->min : 1);
        assert_int_equal(f.sink.filter.max_count, run->max);
        assert_ok(kc_parallel(nthreads, feed_blocks, cancel_blocks, &f, &err), err);
        struct kc_store_written written;
        assert_ok(kc_store_commit(w, &origin, &written, &err), err);
        assert_int_equal(written.nunique, count_unique(run->set));
}

static void check_set(const struct pair_set *s, size_t mean_part, int nthreads, uint64_t seed)
{
        for (size_t f = 0; f < NFILTERS; f++) {
                struct run run = make_run(s, filters[f][0], filters[f][1], mean_part, seed);
                write_pairs(s, filters[f], "pairs.kc");
                write_blocks(&run, filters[f], "blocks.kc", nthreads);
                assert_same_files("pairs.kc", "blocks.kc");
                free_run(&run);
        }
        unlink("pairs.kc");
        unlink("blocks.kc");
}

/* ---- tests ---- */

static void test_sizes(void **state)
{
        (void)state;
        static const size_t sizes[] = { 0, 1, 2, 1023, 1024, 1025, 2048, 5000 };
        static const int ks[] = { 1, 31, 33, 64, 100 };
        for (size_t ik = 0; ik < sizeof ks / sizeof *ks; ik++)
                for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                        struct pair_set s = make_set(ks[ik], true, sizes[i], i);
                        check_set(&s, 700, 1, i);
                        free_set(&s);
                }
}

static void test_threads(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 400000, 3);
        check_set(&s, 3000, 7, 3);
        check_set(&s, 100000, 2, 4);
        free_set(&s);
        s = make_set(40, false, 100000, 3);
        check_set(&s, 1500, 5, 5);
        free_set(&s);
}

/* A run of blocks may follow one of pairs, but one run cannot mix them. */
static void test_forms(void **state)
{
        (void)state;
        static const uint32_t all[2] = { 0, 0 };
        struct pair_set s = make_set(31, false, 3000, 1);
        struct run run = make_run(&s, 0, 0, 5000, 1);
        struct kc_store_options options = make_options(&s, all);
        struct kc_store_origin origin = make_origin(sum_of_counts(&s));
        for (int mixed = 0; mixed < 2; mixed++) {
                struct kc_store_writer *w = NULL;
                struct kc_error err = { 0 };
                assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
                struct kc_run_sink sink = kc_store_sink(w);
                assert_ok(put_part(&sink, 0, s.kmers, s.counts, mixed ? 1 : s.n, &err), err);
                if (!mixed)
                        assert_ok(kc_store_end_run(w, &origin, &err), err);
                run.parts[0].blocks.part = (uint64_t)mixed;
                assert_int_equal(sink.put_blocks(sink.ctx, &run.parts[0].blocks, &err),
                                 mixed ? KC_EUSAGE : KC_OK);
                if (mixed)
                        kc_store_abort(w);
                else
                        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
        }
        free_run(&run);
        free_set(&s);
        unlink("s.kc");
}

/* Wrong blocks that a faulty engine could give; each is made from right ones. */
enum fault {
        NO_FAULT,
        PART_TWICE,
        MORE_KMERS,
        FEWER_BLOCKS,
        BLOCK_LONGER,
        BLOCK_TOO_SHORT,
        WORDS_MISSING,
        WORDS_LEFT,
        HEAD,
        FIRSTS,
        LAST,
        BEFORE,
        BEHIND_SHORT,
        ROW,
        BIG_COUNT,
        NFAULTS,
};

static void spoil(struct run *run, enum fault fault)
{
        struct part *p = &run->parts[1];
        struct kc_run_blocks *b = &p->blocks;
        switch (fault) {
        case PART_TWICE:
                b->part = 0;
                break;
        case MORE_KMERS:
                b->n += KC_BLOCK_NKMERS;
                break;
        case FEWER_BLOCKS:
                b->nblocks--;
                break;
        case BLOCK_LONGER:
                p->block_nwords[0]++;
                break;
        case BLOCK_TOO_SHORT:
                p->block_nwords[0] = 2;
                break;
        case WORDS_MISSING:
                b->nwords--;
                break;
        case WORDS_LEFT:
                b->nwords++;
                break;
        case HEAD:
                p->words[0]--;
                break;
        case FIRSTS:
                p->firsts[1] = p->firsts[0];
                break;
        case LAST:
                p->last_kmer[0] = p->firsts[b->nblocks - 1];
                break;
        case BEFORE:
                p->firsts[0] = run->parts[0].last_kmer[0];
                break;
        case BEHIND_SHORT:
                run->parts[0].blocks.n--;
                run->parts[0].words[0]--;
                break;
        case ROW:
                p->rows[1] = 1;
                break;
        case BIG_COUNT:
                p->big_counts[b->nbig++] = 511;
                break;
        default:
                break;
        }
}

static void test_refused(void **state)
{
        (void)state;
        static const uint32_t filter[2] = { 2, 0 };
        struct pair_set s = make_set(31, false, 20000, 1);
        struct kc_store_options options = make_options(&s, filter);
        for (enum fault fault = NO_FAULT; fault < NFAULTS; fault++) {
                struct kc_store_writer *w = NULL;
                struct kc_error err = { 0 };
                struct run run = { .set = &s, .min = 2, .max = UINT32_MAX };
                run.kept.kmers = array(s.n, sizeof *s.kmers);
                run.kept.counts = array(s.n, sizeof *s.counts);
                run.parts = array(2, sizeof *run.parts);
                make_part(&run, &run.parts[0], 0, 5000, false); /* one block */
                make_part(&run, &run.parts[1], 5000, s.n, true);
                spoil(&run, fault);
                assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
                struct kc_run_sink sink = kc_store_sink(w);
                assert_ok(sink.put_blocks(sink.ctx, &run.parts[0].blocks, &err), err);
                assert_int_equal(sink.put_blocks(sink.ctx, &run.parts[1].blocks, &err),
                                 fault == NO_FAULT ? KC_OK : KC_EUSAGE);
                kc_store_abort(w);
                free_run(&run);
        }
        free_set(&s);
}

/* Tallies that do not match the blocks are noticed at the commit. */
static void test_wrong_tally(void **state)
{
        (void)state;
        static const uint32_t all[2] = { 0, 0 };
        struct pair_set s = make_set(31, false, 3000, 1);
        struct kc_store_options options = make_options(&s, all);
        struct kc_store_origin origin = make_origin(sum_of_counts(&s));
        for (int wrong = 0; wrong < 2; wrong++) {
                struct kc_store_writer *w = NULL;
                struct kc_error err = { 0 };
                struct run run = make_run(&s, 0, 0, 5000, 1);
                run.parts[0].rows[2]--; /* two seen once in place of one seen twice: the same sum */
                run.parts[0].rows[1] += wrong == 0 ? 2 : 1;
                assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
                struct block_feed f = { .run = &run, .sink = kc_store_sink(w) };
                assert_ok(kc_parallel(1, feed_blocks, cancel_blocks, &f, &err), err);
                assert_int_equal(kc_store_commit(w, &origin, NULL, &err), KC_ECORRUPT);
                free_run(&run);
        }
        free_set(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes),       cmocka_unit_test(test_threads),
                cmocka_unit_test(test_forms),       cmocka_unit_test(test_refused),
                cmocka_unit_test(test_wrong_tally),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
