/*
 * Rescued copies of damaged files: they are sound, hold all that was sound in the file, and what is
 * reported as lost is correct.
 */
#include "store_sets.h"

#include "io/rescue.h"
#include "io/store/file.h"
#include "tests/sampling.h"

/* ---- rescuing ---- */

struct outcome {
        enum kc_status status; /* of opening and of the rescue */
        struct kc_rescue_totals lost;
        uint64_t nlosses, nkmers; /* summed over single reports */
};

static void note_loss(void *ctx, const struct kc_loss *loss)
{
        struct outcome *o = ctx;
        assert_non_null(strstr(loss->why, "s.kc"));
        assert_non_null(strstr(loss->why, "offset"));
        assert_true(loss->nkmers > 0);
        assert_non_null(loss->from);
        o->nlosses++;
        o->nkmers += loss->nkmers;
}

/* Rescue s.kc to c.kc, and check the result. */
static struct outcome rescue(void)
{
        struct outcome o = { 0 };
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        struct kc_store_writer *w = NULL;
        struct kc_store_info info;
        const struct kc_rescue_report report = { note_loss, &o };
        unlink("c.kc");
        o.status = kc_store_open_rescue(&store, "s.kc", &err);
        if (o.status != KC_OK) {
                assert_non_null(strstr(err.message, "s.kc"));
                return o;
        }
        kc_store_get_info(store, &info);
        const struct kc_store_options options = { .k = info.k, .stranded = info.stranded };
        assert_ok(kc_store_create(&w, "c.kc", &options, &err), err);
        o.status = kc_store_rescue(store, w, NULL, &report, &o.lost, &err);
        assert_ok(o.status, err);
        assert_int_equal(o.nkmers, o.lost.nkmers + o.lost.ntombstones);
        assert_int_equal(o.lost.misses_newest,
                         kc_store_warning(store) != NULL &&
                                 kc_store_check_writable(store, NULL) != KC_OK);
        kc_store_close(store);
        store = open_store("c.kc");
        assert_ok(kc_store_check(store, 2, NULL, &err), err);
        kc_store_close(store);
        return o;
}

static bool lost_nothing(const struct outcome *o)
{
        return !o->lost.misses_newest && o->nlosses == 0 && o->lost.sum == 0;
}

/* ---- files ---- */

/* Runs of counts, tombstones, counts. */
struct runs {
        struct pair_set sets[3], model;
};

static struct pair_set merge_runs(const struct pair_set *sets)
{
        struct pair_set model = empty_set(&sets[0], sets[0].n);
        for (size_t i = 0; i < sets[0].n; i++)
                add_pair(&model, sets[0].kmers + i * sets[0].nw, sets[0].counts[i]);
        model_append(&model, &sets[1], true);
        model_append(&model, &sets[2], false);
        return model;
}

static void make_runs(struct runs *r, int k, size_t n)
{
        r->sets[0] = make_set(k, false, n, 1);
        r->sets[1] = relative(&r->sets[0], n / 4, 2);
        r->sets[2] = relative(&r->sets[0], n / 3, 3);
        r->model = merge_runs(r->sets);
        write_set(&r->sets[0], "s.kc", 1, 900, 1);
        append_set("s.kc", &r->sets[1], true, 1);
        append_set("s.kc", &r->sets[2], false, 1);
}

static void free_runs(struct runs *r)
{
        for (int i = 0; i < 3; i++)
                free_set(&r->sets[i]);
        free_set(&r->model);
        unlink("s.kc");
        unlink("c.kc");
}

static void damage(uint64_t offset)
{
        FILE *f = fopen("s.kc", "r+b");
        assert_non_null(f);
        fseek(f, (long)offset, SEEK_SET);
        const int byte = fgetc(f);
        fseek(f, (long)offset, SEEK_SET);
        fputc(byte ^ 32, f);
        fclose(f);
}

/* ---- tests ---- */

static void test_sound(void **state)
{
        (void)state;
        for (int k = 31; k < 80; k += 24) {
                struct runs r;
                struct pair_set s = make_set(k, false, 2500, 1);
                write_set(&s, "s.kc", 2, 900, 1);
                struct outcome o = rescue();
                assert_true(o.status == KC_OK && lost_nothing(&o));
                assert_same_files("s.kc", "c.kc");
                free_set(&s);
                make_runs(&r, k, 2500);
                o = rescue();
                assert_true(o.status == KC_OK && lost_nothing(&o));
                check_all("c.kc", &r.model);
                compact_into("s.kc", "a.kc", 1);
                compact_into("c.kc", "b.kc", 1);
                assert_same_files("a.kc", "b.kc"); /* including all that the records say */
                unlink("a.kc");
                unlink("b.kc");
                free_runs(&r);
        }
}

/* Remove the k-mers of a block from a set; returns the sum of their counts. */
static uint64_t drop_block(struct pair_set *s, size_t block)
{
        const size_t begin = block * KC_BLOCK_NKMERS;
        const size_t end = begin + KC_BLOCK_NKMERS < s->n ? begin + KC_BLOCK_NKMERS : s->n;
        uint64_t sum = 0;
        for (size_t i = begin; i < end; i++)
                sum += s->counts[i];
        memmove(s->kmers + begin * s->nw, s->kmers + end * s->nw,
                (s->n - end) * s->nw * sizeof *s->kmers);
        memmove(s->counts + begin, s->counts + end, (s->n - end) * sizeof *s->counts);
        s->n -= end - begin;
        return sum;
}

/* Damage a block in some of the runs. */
static void lose_blocks(int which)
{
        struct runs r;
        struct kc_error err = { 0 };
        uint64_t sum = 0, nlost = 0;
        make_runs(&r, 33, 4000);
        struct kc_store *store = open_store("s.kc");
        for (uint32_t run = 0; run < 3; run++) {
                struct kc_page page = { 0 };
                const size_t block = run == 0 ? 1 : (run == 1 ? 0 : store->runs[2].nblocks - 1);
                if (!(which >> run & 1))
                        continue;
                assert_ok(kc_page_load(&page, store, &store->runs[run], 0, &err), err);
                damage(page.offsets[block] + 16);
                free(page.words);
                const uint64_t n = r.sets[run].n, dropped = drop_block(&r.sets[run], block);
                nlost += n - r.sets[run].n;
                sum += run == 1 ? 0 : dropped;
        }
        struct kc_store_info before, after;
        kc_store_get_info(store, &before);
        struct outcome o = rescue();
        assert_int_equal(o.status, KC_OK);
        assert_int_equal(o.nkmers, nlost);
        assert_int_equal(o.lost.sum, sum);
        assert_int_equal(o.nlosses, __builtin_popcount((unsigned)which));
        assert_int_equal(o.lost.ntombstones > 0, which >> 1 & 1);
        free_set(&r.model);
        r.model = merge_runs(r.sets);
        check_all("c.kc", &r.model);
        struct kc_store *copy = open_store("c.kc");
        kc_store_get_info(copy, &after);
        assert_int_equal(after.nkmers, before.nkmers);
        assert_int_equal(after.ndropped_distinct, o.lost.nkmers);
        assert_int_equal(after.ndropped_kmers, sum);
        assert_int_equal(after.nnames, before.nnames);
        kc_store_close(copy);
        kc_store_close(store);
        free_runs(&r);
}

static void test_blocks(void **state)
{
        (void)state;
        for (int which = 1; which < 8; which++)
                lose_blocks(which);
}

static size_t block_nbytes(const struct kc_page *page, size_t i)
{
        return page->offsets[i + 1] - page->offsets[i];
}

/* Two blocks of a page that have the same length; *a < *b. */
static void find_similar(const struct kc_page *page, size_t *a, size_t *b)
{
        for (*b = 1; *b < page->n; ++*b)
                for (*a = 0; *a < *b; ++*a)
                        if (block_nbytes(page, *a) == block_nbytes(page, *b))
                                return;
        fail_msg("all blocks differ in length");
}

static void swap_blocks(const struct kc_page *page, size_t a, size_t b)
{
        const size_t nbytes = block_nbytes(page, a);
        size_t n;
        uint8_t *bytes = read_file("s.kc", &n), *block = malloc(nbytes);
        assert_non_null(block);
        memcpy(block, bytes + page->offsets[a], nbytes);
        memcpy(bytes + page->offsets[a], bytes + page->offsets[b], nbytes);
        memcpy(bytes + page->offsets[b], block, nbytes);
        write_file("s.kc", bytes, n);
        free(block);
        free(bytes);
}

/* Two swapped blocks are both lost: the index does not expect them in these places. */
static void test_misplaced(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, true, 40 * KC_BLOCK_NKMERS, 1);
        struct kc_error err = { 0 };
        struct kc_page page = { 0 };
        size_t a = 0, b = 0;
        write_set(&s, "s.kc", 2, 50000, 1);
        struct kc_store *store = open_store("s.kc");
        assert_ok(kc_page_load(&page, store, &store->runs[0], 0, &err), err);
        kc_store_close(store);
        find_similar(&page, &a, &b);
        swap_blocks(&page, a, b);
        struct outcome o = rescue();
        assert_int_equal(o.status, KC_OK);
        assert_int_equal(o.nlosses, 2);
        const uint64_t sum = drop_block(&s, b); /* before a, because removing a would move b */
        assert_int_equal(o.lost.sum, sum + drop_block(&s, a));
        assert_int_equal(o.nkmers, 2 * KC_BLOCK_NKMERS);
        check_pairs("c.kc", &s);
        free(page.words);
        free_set(&s);
        unlink("s.kc");
        unlink("c.kc");
}

/* A page is lost with all its blocks, but the pages around it are not. */
static void test_page(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, true, 270 * KC_BLOCK_NKMERS, 1);
        const size_t npage = (size_t)KC_PAGE_NBLOCKS * KC_BLOCK_NKMERS;
        for (int page = 0; page < 2; page++) {
                write_set(&s, "s.kc", 2, 50000, 1);
                struct kc_store *store = open_store("s.kc");
                damage(store->runs[0].record.index_offset +
                       (page == 0 ? 40 : 8 * kc_page_words(KC_PAGE_NBLOCKS, 1, true) + 40));
                kc_store_close(store);
                struct outcome o = rescue();
                assert_int_equal(o.status, KC_OK);
                assert_int_equal(o.nlosses, 1);
                assert_int_equal(o.nkmers, page == 0 ? npage : s.n - npage);
                struct pair_set left = { s.k,
                                         s.stranded,
                                         s.nw,
                                         page == 0 ? s.n - npage : npage,
                                         s.kmers + (page == 0 ? npage : 0),
                                         s.counts + (page == 0 ? npage : 0) };
                check_pairs("c.kc", &left);
        }
        free_set(&s);
        unlink("s.kc");
        unlink("c.kc");
}

/* k and strandedness are found despite a damaged header; the copy gets new references. */
static void test_header(void **state)
{
        (void)state;
        struct pair_set s = make_set(33, true, 50, 1);
        write_set(&s, "s.kc", 1, 50, 1);
        assert_int_equal(rename("s.kc", "good.kc"), 0);
        size_t nbytes;
        uint8_t *bytes = read_file("good.kc", &nbytes);
        for (uint64_t at = 0; at < sizeof(struct kc_store_header); at++) {
                write_file("s.kc", bytes, nbytes);
                damage(at);
                struct outcome o = rescue();
                if (o.status != KC_OK || !lost_nothing(&o))
                        fail_msg("byte %u: status %d", (unsigned)at, o.status);
                assert_same_files("good.kc", "c.kc");
        }
        free(bytes);
        free_set(&s);
        unlink("good.kc");
        unlink("s.kc");
        unlink("c.kc");
}

/* No count is larger than it was, unless tombstones or the newest state were lost. */
static void assert_is_part(const struct runs *r, const struct outcome *o)
{
        struct kc_error err = { 0 };
        struct kc_store *store = open_store("c.kc");
        struct kc_cursor *cursor = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n, ngot = 0;
        bool all = true;
        assert_ok(kc_cursor_open(&cursor, store, NULL, NULL, &err), err);
        do {
                assert_ok(kc_cursor_next(cursor, &kmers, &counts, &n, &err), err);
                for (size_t i = 0; i < n; i++) {
                        const uint32_t wanted = count_in(&r->model, kmers + i * r->model.nw);
                        all = all && counts[i] == wanted;
                        if (o->lost.ntombstones == 0 && !o->lost.misses_newest)
                                assert_true(counts[i] <= wanted);
                }
                ngot += n;
        } while (n > 0);
        if (lost_nothing(o))
                assert_true(all && ngot == r->model.n);
        kc_cursor_close(cursor);
        kc_store_close(store);
}

/* Damage every byte in turn, and truncate the file at every byte. */
static void test_every_byte(void **state)
{
        (void)state;
        struct runs r;
        size_t nbytes, nrescued = 0;
        make_runs(&r, 21, 30);
        uint8_t *bytes = read_file("s.kc", &nbytes);
        for (size_t at = 0; at < 2 * nbytes; at += THREAD_STRIDE) {
                write_file("s.kc", bytes, at < nbytes ? nbytes : at - nbytes);
                if (at < nbytes)
                        damage(at);
                struct outcome o = rescue();
                if (o.status == KC_OK)
                        assert_is_part(&r, &o);
                else
                        assert_int_equal(o.status, KC_ECORRUPT);
                if (at < nbytes) /* at least one footer is always left */
                        assert_int_equal(o.status, KC_OK);
                nrescued += o.status == KC_OK;
        }
        assert_true(nrescued > nbytes / THREAD_STRIDE);
        free(bytes);
        free_runs(&r);
}

static void test_hopeless(void **state)
{
        (void)state;
        struct pair_set s = make_set(33, true, 50, 1);
        write_set(&s, "s.kc", 1, 50, 1);
        struct kc_store *store = open_store("s.kc");
        const uint64_t offset = store->footer_offset;
        kc_store_close(store);
        damage(offset + 100);
        assert_int_equal(rescue().status, KC_ECORRUPT);
        write_file("s.kc", "no store at all", 15);
        assert_int_equal(rescue().status, KC_ECORRUPT);
        write_file("s.kc", "", 0);
        assert_int_equal(rescue().status, KC_ECORRUPT);
        free_set(&s);
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sound),      cmocka_unit_test(test_blocks),
                cmocka_unit_test(test_page),       cmocka_unit_test(test_header),
                cmocka_unit_test(test_every_byte), cmocka_unit_test(test_hopeless),
                cmocka_unit_test(test_misplaced),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
