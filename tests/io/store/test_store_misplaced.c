/*
 * Sound blocks and index pages in the wrong place: swapped, repeated, from another run or file.
 * Their checksums are right, but not those that the index and the footer hold for the place. Every
 * way of reading must notice every case.
 */
#include "store_old.h"

#include "io/store/ranges.h"
#include "tests/sampling.h"

#include <fcntl.h>

enum { NBLOCKS = 300, NPAIRS = NBLOCKS * KC_BLOCK_NKMERS, NCASES = FEW_CASES ? 8 : 40 };

/* A file of one run, in memory, and where its blocks are. */
struct image {
        struct pair_set set;
        uint8_t *bytes;
        size_t nbytes;
        uint64_t offsets[NBLOCKS + 1], pages[2], pages_end;
};

static struct pair_set exact_set(bool stranded, uint64_t seed)
{
        struct pair_set s = make_set(31, stranded, NPAIRS + 10, seed);
        assert_true(s.n >= NPAIRS);
        s.n = NPAIRS;
        return s;
}

static void locate(struct image *im, const struct kc_store *store)
{
        struct kc_error err = { 0 };
        struct kc_page page = { 0 };
        const struct kc_run *run = &store->runs[0];
        const int nw = store->nwords;
        assert_int_equal(run->npages, 2);
        assert_true(run->linked);
        for (uint64_t p = 0; p < 2; p++) {
                assert_ok(kc_page_load(&page, store, run, p, &err), err);
                memcpy(im->offsets + p * KC_PAGE_NBLOCKS, page.offsets,
                       (page.n + 1) * sizeof *page.offsets);
                im->pages[p] =
                        run->record.index_offset + p * 8 * kc_page_words(KC_PAGE_NBLOCKS, nw, true);
        }
        im->pages_end = im->pages[1] + 8 * kc_page_words(NBLOCKS - KC_PAGE_NBLOCKS, nw, true);
        free(page.words);
}

/* The image takes over the set. */
static void make_image(struct image *im, struct pair_set set)
{
        im->set = set;
        write_set(&im->set, "s.kc", 2, 50000, 1);
        im->bytes = read_file("s.kc", &im->nbytes);
        struct kc_store *store = open_store("s.kc");
        locate(im, store);
        kc_store_close(store);
}

static void load_image(struct image *im, bool stranded, uint64_t seed)
{
        make_image(im, exact_set(stranded, seed));
}

static void free_image(struct image *im)
{
        free(im->bytes);
        free_set(&im->set);
        unlink("s.kc");
}

static size_t block_nbytes(const struct image *im, size_t block)
{
        return im->offsets[block + 1] - im->offsets[block];
}

/* The first block of nbytes at or after from, other than but; NBLOCKS if there is none. */
static size_t find_block_of_size(const struct image *im, size_t from, size_t nbytes, size_t but)
{
        while (from < NBLOCKS && (from == but || block_nbytes(im, from) != nbytes))
                from++;
        return from;
}

/* ---- every way of reading ---- */

/* The pairs of [from, to]; NULL: no bound. */
static enum kc_status walk(struct kc_store *store, const uint64_t *from, const uint64_t *to)
{
        struct kc_cursor *cursor = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
        enum kc_status status = kc_cursor_open(&cursor, store, from, to, NULL);
        do {
                KC_TRY(status);
                status = kc_cursor_next(cursor, &kmers, &counts, &n, NULL);
        } while (status != KC_OK || n > 0);
out:
        kc_cursor_close(cursor);
        return status;
}

static enum kc_status look_up(struct kc_store *store, const uint64_t *kmer)
{
        struct kc_error err = { 0 };
        struct kc_lookup *lookup = NULL;
        uint32_t count;
        assert_ok(kc_lookup_open(&lookup, store, &err), err);
        const enum kc_status status = kc_lookup_count(lookup, kmer, &count, NULL);
        kc_lookup_close(lookup);
        return status;
}

static enum kc_status swallow(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        (void)ctx, (void)pairs, (void)err;
        return KC_OK;
}

static void ignore(void *ctx)
{
        (void)ctx;
}

static enum kc_status combine(const struct kc_set *set)
{
        const struct kc_run_sink sink = { .filter = { 1, UINT32_MAX },
                                          .put = swallow,
                                          .cancel = ignore };
        struct kc_store_origin origin;
        const char **names = NULL;
        const enum kc_status status = kc_set_run(set, 2, NULL, &sink, &origin, &names, NULL);
        if (status == KC_OK)
                free(names);
        return status;
}

/* Read all blocks of a range, one at a time. */
static enum kc_status read_range(const struct kc_join_source *source,
                                 const struct kc_join_range *range)
{
        enum kc_status status = KC_OK;
        uint64_t *words = malloc(range->nwords * sizeof *words + 1);
        assert_non_null(words);
        for (size_t i = 0; i < range->nblocks && status == KC_OK; i++)
                status = source->read(source->ctx, range, i, i + 1, words, NULL);
        free(words);
        return status;
}

/* Read as for a device. */
static enum kc_status read_ranges(const struct kc_set *set)
{
        struct kc_error err = { 0 };
        struct kc_set_ranges *ranges = NULL;
        struct kc_join_range range;
        assert_ok(kc_set_ranges_open(&ranges, set, &err), err);
        const struct kc_join_source source = kc_set_ranges_source(ranges);
        enum kc_status status;
        do {
                KC_TRY(source.next(source.ctx, 50, &range, NULL));
                KC_TRY(read_range(&source, &range));
        } while (range.nblocks > 0);
out:
        kc_set_ranges_close(ranges);
        return status;
}

static void assert_all_read(enum kc_status wanted, const struct image *im, size_t block)
{
        const uint64_t *kmers = im->set.kmers + block * KC_BLOCK_NKMERS;
        struct kc_store *store = open_store("s.kc"), *stores[] = { store, store };
        const struct kc_set set = { stores, 2, KC_SET_UNION, KC_RULE_MAX };
        assert_int_equal(walk(store, NULL, NULL), wanted);
        assert_int_equal(walk(store, kmers + 9, kmers + 99), wanted);
        assert_int_equal(look_up(store, kmers + 500), wanted);
        assert_int_equal(combine(&set), wanted);
        assert_int_equal(read_ranges(&set), wanted);
        assert_int_equal(kc_store_check(store, 2, NULL, NULL), wanted);
        kc_store_close(store);
}

/* Every way of reading notices that the given block is wrong. */
static void assert_noticed(const struct image *im, size_t block)
{
        write_file("s.kc", im->bytes, im->nbytes);
        assert_all_read(KC_ECORRUPT, im, block);
}

static void assert_sound(const struct image *im, const struct image *good)
{
        assert_memory_equal(im->bytes, good->bytes, good->nbytes);
        write_file("s.kc", im->bytes, im->nbytes);
        assert_all_read(KC_OK, im, 1);
}

/* ---- blocks ---- */

static void put_block(struct image *im, size_t at, const struct image *from, size_t block)
{
        memcpy(im->bytes + im->offsets[at], from->bytes + from->offsets[block],
               block_nbytes(from, block));
}

/* Swap two blocks of equal size. */
static void swap_blocks(struct image *im, const struct image *good)
{
        uint64_t rng = 1;
        int ncases = 0;
        for (int i = 0; i < NCASES; i++) {
                const size_t a = next_random(&rng) % NBLOCKS;
                const size_t b =
                        find_block_of_size(im, next_random(&rng) % NBLOCKS, block_nbytes(im, a), a);
                if (b == NBLOCKS)
                        continue;
                put_block(im, a, good, b);
                put_block(im, b, good, a);
                assert_noticed(im, a);
                assert_noticed(im, b);
                put_block(im, a, good, a);
                put_block(im, b, good, b);
                ncases++;
        }
        assert_true(ncases >= NCASES / 2);
}

/* Put a block of from in a place of im: a repeated block of the same file, or one of another. */
static void plant_blocks(struct image *im, const struct image *good, const struct image *from)
{
        uint64_t rng = 2;
        int ncases = 0;
        for (int i = 0; i < NCASES; i++) {
                const size_t a = next_random(&rng) % NBLOCKS;
                const size_t b =
                        find_block_of_size(from, next_random(&rng) % NBLOCKS, block_nbytes(im, a),
                                           from == good ? a : NBLOCKS);
                if (b == NBLOCKS)
                        continue;
                put_block(im, a, from, b);
                assert_noticed(im, a);
                put_block(im, a, good, a);
                ncases++;
        }
        assert_true(ncases >= NCASES / 2);
}

static void put_bytes(int fd, const struct image *from, size_t block, uint64_t offset)
{
        const size_t nbytes = block_nbytes(from, block);
        assert_int_equal(pwrite(fd, from->bytes + from->offsets[block], nbytes, (off_t)offset),
                         nbytes);
}

/* Put every block of from, which is im or another file, in every place of equal size. */
static void plant_everywhere(const struct image *im, const struct image *from)
{
        struct kc_store *store = open_store("s.kc");
        const int fd = open("s.kc", O_WRONLY | O_CLOEXEC);
        size_t ncases = 0;
        assert_true(fd >= 0);
        for (size_t a = 0; a < NBLOCKS; a++) {
                const size_t nbytes = block_nbytes(im, a), but = im == from ? a : NBLOCKS;
                const uint64_t *kmer = im->set.kmers + a * KC_BLOCK_NKMERS;
                for (size_t b = 0; (b = find_block_of_size(from, b, nbytes, but)) < NBLOCKS;
                     b++, ncases++) {
                        put_bytes(fd, from, b, im->offsets[a]);
                        assert_int_equal(look_up(store, kmer), KC_ECORRUPT);
                }
                put_bytes(fd, im, a, im->offsets[a]);
                assert_int_equal(look_up(store, kmer), KC_OK);
        }
        assert_true(ncases > 1000);
        close(fd);
        kc_store_close(store);
}

/* Replace a block by the bytes of its size that begin one word later or earlier. */
static void shift_blocks(struct image *im, const struct image *good)
{
        for (size_t a = 1; a + 1 < NBLOCKS; a += 29) {
                const size_t nbytes = block_nbytes(im, a);
                memcpy(im->bytes + im->offsets[a], good->bytes + good->offsets[a] + 8, nbytes);
                assert_noticed(im, a);
                memcpy(im->bytes + im->offsets[a], good->bytes + good->offsets[a] - 8, nbytes);
                assert_noticed(im, a);
                put_block(im, a, good, a);
        }
}

static void test_blocks(void **unused)
{
        (void)unused;
        for (int stranded = 0; stranded < 2; stranded += THREAD_STRIDE) {
                struct image im, good, other;
                load_image(&other, stranded, 2);
                load_image(&good, stranded, 1);
                load_image(&im, stranded, 1);
                plant_everywhere(&im, &im);
                plant_everywhere(&im, &other);
                swap_blocks(&im, &good);
                plant_blocks(&im, &good, &good);
                plant_blocks(&im, &good, &other);
                shift_blocks(&im, &good);
                assert_sound(&im, &good);
                free_image(&im);
                free_image(&good);
                free_image(&other);
        }
}

/* ---- index pages ---- */

static void copy_pages(struct image *im, const struct image *from, size_t page)
{
        const uint64_t end = page == 0 ? im->pages[1] : im->pages_end;
        const uint64_t nbytes = end - im->pages[page];
        assert_true(from->pages[page] + nbytes <= from->nbytes);
        memcpy(im->bytes + im->pages[page], from->bytes + from->pages[page], nbytes);
}

/* The pages of another file, whose blocks lie elsewhere, or have other first k-mers. */
static void test_pages(void **unused)
{
        (void)unused;
        for (int stranded = 0; stranded < 2; stranded++) {
                struct image im, good, other;
                load_image(&other, stranded, 2);
                load_image(&good, stranded, 1);
                load_image(&im, stranded, 1);
                for (size_t page = 0; page < 2; page++) {
                        copy_pages(&im, &other, page);
                        assert_noticed(&im, page * KC_PAGE_NBLOCKS);
                        copy_pages(&im, &good, page);
                }
                /* the second page in place of the first, and vice versa */
                const size_t nbytes = im.pages_end - im.pages[1];
                memcpy(im.bytes + im.pages[0], good.bytes + good.pages[1], nbytes);
                assert_noticed(&im, 0);
                copy_pages(&im, &good, 0);
                memcpy(im.bytes + im.pages[1], good.bytes + good.pages[0], nbytes);
                assert_noticed(&im, KC_PAGE_NBLOCKS);
                copy_pages(&im, &good, 1);
                assert_sound(&im, &good);
                free_image(&im);
                free_image(&good);
                free_image(&other);
        }
}

/* The same set except for one k-mer: the first of a block is a little larger. */
static struct pair_set almost(const struct pair_set *s, size_t block)
{
        struct pair_set other = empty_set(s, s->n);
        for (size_t i = 0; i < s->n; i++)
                add_pair(&other, s->kmers + i, s->counts[i]);
        uint64_t *first = &other.kmers[block * KC_BLOCK_NKMERS];
        assert_true(*first + 1 < first[1]);
        ++*first;
        return other;
}

/*
 * Plant the index page of a file that is almost the same. It fits, except that one of its blocks is
 * not in this file: a lookup of the k-mer that differs would find nothing in the preceding block,
 * which is sound. Then plant that block, too, so that page and blocks agree.
 */
static void test_almost_the_same(void **unused)
{
        (void)unused;
        enum { BLOCK = 200 };
        struct image im, good, other;
        load_image(&good, true, 1);
        make_image(&other, almost(&good.set, BLOCK));
        load_image(&im, true, 1);
        assert_memory_equal(other.offsets, good.offsets, sizeof good.offsets);
        for (size_t b = 0; b < NBLOCKS; b++)
                assert_int_equal(memcmp(other.bytes + other.offsets[b],
                                        good.bytes + good.offsets[b], block_nbytes(&good, b)) != 0,
                                 b == BLOCK);
        copy_pages(&im, &other, 0);
        assert_noticed(&im, BLOCK);
        struct kc_store *store = open_store("s.kc");
        assert_int_equal(look_up(store, &im.set.kmers[BLOCK * KC_BLOCK_NKMERS]), KC_ECORRUPT);
        kc_store_close(store);
        put_block(&im, BLOCK, &other, BLOCK);
        assert_noticed(&im, BLOCK);
        put_block(&im, BLOCK, &good, BLOCK);
        copy_pages(&im, &good, 0);
        assert_sound(&im, &good);
        free_image(&im);
        free_image(&good);
        free_image(&other);
}

/* Swap the index pages of two runs with the same number of k-mers. */
static void test_runs(void **unused)
{
        (void)unused;
        struct pair_set a = make_set(31, true, 3000, 1), b = make_set(31, true, 3000, 2);
        assert_int_equal(a.n, b.n);
        write_set(&a, "s.kc", 1, 900, 1);
        append_set("s.kc", &b, false, 1);
        struct kc_store *store = open_store("s.kc");
        const struct kc_run_record first = store->runs[0].record, second = store->runs[1].record;
        kc_store_close(store);
        size_t nbytes;
        uint8_t *bytes = read_file("s.kc", &nbytes);
        const size_t index_nbytes = 8 * kc_index_words(3, 1, true);
        uint8_t *index = malloc(index_nbytes);
        assert_non_null(index);
        memcpy(index, bytes + first.index_offset, index_nbytes);
        memcpy(bytes + first.index_offset, bytes + second.index_offset, index_nbytes);
        memcpy(bytes + second.index_offset, index, index_nbytes);
        write_file("s.kc", bytes, nbytes);
        store = open_store("s.kc");
        assert_int_equal(walk(store, NULL, NULL), KC_ECORRUPT);
        assert_int_equal(look_up(store, a.kmers + 1), KC_ECORRUPT);
        assert_int_equal(kc_store_check(store, 1, NULL, NULL), KC_ECORRUPT);
        kc_store_close(store);
        free(index);
        free(bytes);
        free_set(&a);
        free_set(&b);
        unlink("s.kc");
}

/* ---- runs of earlier versions ---- */

static void assert_linked(const char *path, const char *wanted)
{
        struct kc_store *store = open_store(path);
        assert_int_equal(store->nruns, strlen(wanted));
        for (uint32_t r = 0; r < store->nruns; r++)
                assert_int_equal(store->runs[r].linked, wanted[r] == 'l');
        kc_store_close(store);
}

/* Runs of earlier versions are read, and adding does not change them; compact links them. */
static void test_not_linked(void **unused)
{
        (void)unused;
        static const char *const magics[] = { KC_OLD_FOOTER_MAGIC, KC_OLD_KINDS_FOOTER_MAGIC,
                                              KC_FOOTER_MAGIC };
        for (size_t m = 0; m < 3; m++) {
                struct pair_set model = make_set(31, false, 3000, 1);
                struct pair_set gone = relative(&model, 10, 2), more = relative(&model, 900, 3);
                write_set(&model, "s.kc", 2, 900, 1);
                make_file_old("s.kc", magics[m]);
                assert_linked("s.kc", "-");
                check_all("s.kc", &model);
                append_set("s.kc", &gone, true, 1);
                append_set("s.kc", &more, false, 1);
                model_append(&model, &gone, true);
                model_append(&model, &more, false);
                assert_linked("s.kc", "-ll");
                check_all("s.kc", &model);
                compact_into("s.kc", "c.kc", 2);
                assert_linked("c.kc", "l");
                check_all("c.kc", &model);
                free_set(&model);
                free_set(&gone);
                free_set(&more);
                unlink("s.kc");
                unlink("c.kc");
        }
}

/* A full page of a linked run is read into a buffer that held a page of an unlinked run. */
static void test_full_page_behind_old(void **unused)
{
        (void)unused;
        struct pair_set few = make_set(31, true, 3000, 1);
        struct pair_set many = make_set(31, true, KC_PAGE_NBLOCKS * KC_BLOCK_NKMERS, 2);
        struct kc_error err = { 0 };
        uint64_t *bounds = NULL;
        size_t nbounds;
        write_set(&few, "s.kc", 1, 900, 1);
        make_file_old("s.kc", KC_OLD_FOOTER_MAGIC);
        append_set("s.kc", &many, false, 1);
        assert_linked("s.kc", "-l");
        struct kc_store *store = open_store("s.kc");
        assert_ok(kc_store_split(store, NULL, NULL, 5, &bounds, &nbounds, &err),
                  err); /* one page buffer */
        assert_int_equal(walk(store, NULL, NULL), KC_OK);
        kc_store_close(store);
        free(bounds);
        free_set(&few);
        free_set(&many);
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_blocks),          cmocka_unit_test(test_pages),
                cmocka_unit_test(test_almost_the_same), cmocka_unit_test(test_runs),
                cmocka_unit_test(test_not_linked),      cmocka_unit_test(test_full_page_behind_old),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
