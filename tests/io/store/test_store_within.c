/*
 * Runs whose parts come partly as pairs, partly as the pieces that kc_part_encoder makes of them.
 * The file is byte for byte the same as from pairs alone.
 */
#include "store_support.h"

#include "ranks/run.h"
#include "ranks/run/part_encoder.h"

struct mixed_feed {
        const struct pair_set *set;
        struct kc_run_sink sink;
        const size_t *begins; /* [nparts + 1] */
        size_t nparts;
        atomic_size_t next;
        size_t words_nbytes;
};

struct piece {
        const struct kc_run_sink *sink;
        uint64_t part;
};

static enum kc_status take_pairs(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n,
                                 struct kc_error *err)
{
        const struct piece *p = ctx;
        assert_true(n > 0 && n < KC_BLOCK_NKMERS);
        return p->sink->put(
                p->sink->ctx,
                &(struct kc_run_pairs){ .part = p->part, .n = n, .kmers = kmers, .counts = counts },
                err);
}

static enum kc_status take_blocks(void *ctx, const struct kc_run_blocks *blocks,
                                  struct kc_error *err)
{
        const struct piece *p = ctx;
        struct kc_run_blocks b = *blocks;
        assert_true(b.nblocks > 0 && b.nblocks <= KC_PART_MAX_BLOCKS);
        b.part = p->part;
        return p->sink->joint->enter(p->sink->ctx, &b, err);
}

/* In calls of several sizes. */
static enum kc_status encode(const struct mixed_feed *f, struct kc_part_encoder *encoder,
                             size_t part, struct kc_error *err)
{
        struct piece piece = { .sink = &f->sink, .part = part };
        const struct kc_part_taker taker = { &piece, take_pairs, take_blocks };
        const struct pair_set *s = f->set;
        const size_t nw = (size_t)kc_kmer_nwords(s->k), end = f->begins[part + 1];
        enum kc_status status = KC_OK;
        kc_part_encoder_begin(encoder, f->begins[part], end - f->begins[part]);
        for (size_t at = f->begins[part], n; at < end; at += n) {
                n = end - at < 1 + part % 5 * 700 ? end - at : 1 + part % 5 * 700;
                KC_TRY(kc_part_encoder_add(encoder, s->kmers + at * nw, s->counts + at, n, &taker,
                                           err));
        }
        KC_TRY(kc_part_encoder_end(encoder, &taker, err));
        KC_TRY(f->sink.put(f->sink.ctx, &(struct kc_run_pairs){ .part = part, .last = true }, err));
out:
        return status;
}

static enum kc_status feed_mixed(void *ctx, int worker, struct kc_error *err)
{
        struct mixed_feed *f = ctx;
        const struct pair_set *s = f->set;
        const size_t nw = (size_t)kc_kmer_nwords(s->k);
        struct kc_part_encoder *encoder;
        enum kc_status status =
                kc_part_encoder_new(&encoder, kc_kmer_nwords(s->k), f->words_nbytes, err);
        size_t part;
        (void)worker;
        while (status == KC_OK && (part = atomic_fetch_add(&f->next, 1)) < f->nparts) {
                const size_t at = f->begins[part];
                if (part % 3 == 0)
                        status = put_part(&f->sink, part, s->kmers + at * nw, s->counts + at,
                                          f->begins[part + 1] - at, err);
                else
                        status = encode(f, encoder, part, err);
        }
        kc_part_encoder_free(encoder);
        return status;
}

static void cancel_mixed(void *ctx)
{
        const struct mixed_feed *f = ctx;
        f->sink.cancel(f->sink.ctx);
}

/* Parts of 0 to 2 * mean_part - 1 pairs. */
static size_t cut_parts(const struct pair_set *s, size_t mean_part, uint64_t seed, size_t *begins)
{
        size_t n = 0;
        for (begins[0] = 0; begins[n] < s->n; n++) {
                const size_t size = (size_t)(next_random(&seed) % (2 * mean_part));
                begins[n + 1] = s->n - begins[n] < size ? s->n : begins[n] + size;
        }
        return n;
}

static void write_mixed(const struct pair_set *s, const char *path, struct mixed_feed *f,
                        int nthreads)
{
        struct kc_error err = { 0 };
        struct kc_store_options options = { .k = s->k, .stranded = s->stranded, .replace = true };
        struct kc_store_origin origin = make_origin(sum_of_counts(s));
        struct kc_store_writer *w = NULL;
        assert_ok(kc_store_create(&w, path, &options, &err), err);
        if (f == NULL) {
                assert_ok(feed_set(s, kc_store_sink(w), 2, 3000, 1, &err), err);
        } else {
                f->sink = kc_store_sink(w);
                atomic_store(&f->next, 0);
                assert_ok(kc_parallel(nthreads, feed_mixed, cancel_mixed, f, &err), err);
        }
        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
}

static void check_mixed(int k, size_t n, size_t mean_part, int nthreads, uint64_t seed)
{
        struct pair_set s = make_set(k, seed % 2, n, seed);
        size_t *begins = malloc((20 * n + 2000) * sizeof *begins);
        struct mixed_feed f = { .set = &s, .begins = begins, .words_nbytes = 1000 << seed % 8 };
        f.nparts = cut_parts(&s, mean_part, seed, begins);
        write_mixed(&s, "pairs.kc", NULL, 1);
        write_mixed(&s, "within.kc", &f, nthreads);
        assert_same_files("pairs.kc", "within.kc");
        unlink("pairs.kc");
        unlink("within.kc");
        free(begins);
        free_set(&s);
}

static void test_sizes(void **state)
{
        (void)state;
        static const size_t sizes[] = { 1, 2, 1023, 1024, 1025, 2048, 5000 };
        static const int ks[] = { 1, 31, 33, 100, 255 };
        for (size_t ik = 0; ik < sizeof ks / sizeof *ks; ik++)
                for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                        check_mixed(ks[ik], sizes[i], 1 + 400 * (i % 4), 1, i + ik);
}

static void test_threads(void **state)
{
        (void)state;
        check_mixed(31, 300000, 3000, 5, 3);
        check_mixed(31, 300000, 100000, 3, 4);
        check_mixed(40, 50000, 300, 4, 5);
}

/* Blocks that would not be where the whole run is cut, or are not full. */
static void test_refused(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 3000, 1);
        struct kc_store_options options = { .k = 31, .replace = true };
        for (int fault = 0; fault < 2; fault++) {
                struct kc_error err = { 0 };
                struct kc_store_writer *w = NULL;
                struct kc_part_encoder *encoder;
                assert_ok(kc_store_create(&w, "s.kc", &options, &err), err);
                const struct kc_run_sink sink = kc_store_sink(w);
                struct piece piece = { .sink = &sink };
                const struct kc_part_taker taker = { &piece, take_pairs, take_blocks };
                assert_ok(kc_part_encoder_new(&encoder, 1, 1 << 16, &err), err);
                kc_part_encoder_begin(encoder, 0, fault == 0 ? 2990 : 2048);
                if (fault == 0)
                        assert_ok(sink.put(sink.ctx,
                                           &(struct kc_run_pairs){
                                                   .n = 10, .kmers = s.kmers, .counts = s.counts },
                                           &err),
                                  err);
                enum kc_status status = kc_part_encoder_add(encoder, s.kmers + 10, s.counts + 10,
                                                            2990, &taker, &err);
                if (status == KC_OK)
                        status = kc_part_encoder_end(encoder, &taker, &err);
                assert_int_equal(status, KC_EUSAGE);
                kc_part_encoder_free(encoder);
                kc_store_abort(w);
        }
        free_set(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_refused),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
