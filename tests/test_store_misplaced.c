/*
 * Sound blocks and index pages in the wrong place: swapped, repeated, from another run or file.
 * Their checksums are right. Index pages are always noticed, since the footer names the first k-mer
 * of each. A block does not know its place. 'check' notices it in a canonical file, where the
 * k-mers that it then spells are not all canonical; in a stranded one, and when a file is only
 * read, a block is noticed if it reaches beyond the beginning of the next one. What is not noticed
 * keeps within its place, so no more than its own k-mers are wrong; how many cases that are is
 * printed.
 */
#include "store_sets.h"

#include "io/store_file.h"

enum { NBLOCKS = 300, NPAIRS = NBLOCKS * KC_BLOCK_NKMERS, NCASES = 40 };

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
        assert_int_equal(run->npages, 2);
        for (uint64_t p = 0; p < 2; p++) {
                assert_ok(kc_page_load(&page, store, run, p, &err), err);
                memcpy(im->offsets + p * KC_PAGE_NBLOCKS, page.offsets,
                       (page.n + 1) * sizeof *page.offsets);
                im->pages[p] = run->record.index_offset +
                               p * 8 * kc_page_words(KC_PAGE_NBLOCKS, store->nwords);
        }
        im->pages_end = im->pages[1] + 8 * kc_page_words(NBLOCKS - KC_PAGE_NBLOCKS, store->nwords);
        free(page.words);
}

static void load_image(struct image *im, bool stranded, uint64_t seed)
{
        im->set = exact_set(stranded, seed);
        write_set(&im->set, "s.kc", 2, 50000, seed);
        im->bytes = read_file("s.kc", &im->nbytes);
        struct kc_store *store = open_store("s.kc");
        locate(im, store);
        kc_store_close(store);
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

/* Another block with as many bytes, from the given one on; NBLOCKS: there is none. */
static size_t like(const struct image *im, size_t from, size_t nbytes, size_t but)
{
        while (from < NBLOCKS && (from == but || block_nbytes(im, from) != nbytes))
                from++;
        return from;
}

/* ---- what reading and checking notice ---- */

struct tally {
        int ncases, nread, nchecked; /* noticed by reading, by check */
};

/* Whether the k-mers of block b of from, put to block at of into, stay before the next block. */
static bool fits(const struct image *into, size_t at, const struct image *from, size_t b)
{
        const uint64_t *k = from->set.kmers + b * KC_BLOCK_NKMERS;
        const uint64_t *first = into->set.kmers + at * KC_BLOCK_NKMERS;
        const uint64_t last = first[0] + (k[KC_BLOCK_NKMERS - 1] - k[0]);
        return at + 1 == NBLOCKS || last < first[KC_BLOCK_NKMERS];
}

/* All pairs, by a walk; KC_OK and *right: they are what they were. */
static enum kc_status read_through(struct kc_store *store, const struct pair_set *s, bool *right)
{
        struct kc_error err = { 0 };
        struct kc_cursor *cursor = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n, at = 0;
        enum kc_status status;
        *right = true;
        KC_TRY(kc_cursor_open(&cursor, store, NULL, NULL, &err));
        do {
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, &err));
                *right = *right && at + n <= s->n &&
                         memcmp(kmers, s->kmers + at, n * sizeof *kmers) == 0 &&
                         memcmp(counts, s->counts + at, n * sizeof *counts) == 0;
                at += n;
        } while (n > 0);
        *right = *right && at == s->n;
out:
        kc_cursor_close(cursor);
        return status;
}

/* Read and check the bytes as they are now. must: reading has to notice. */
static void try_image(const struct image *im, bool must, struct tally *tally)
{
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        bool right;
        write_file("s.kc", im->bytes, im->nbytes);
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        const enum kc_status read = read_through(store, &im->set, &right);
        const enum kc_status checked = kc_store_check(store, 2, NULL, &err);
        kc_store_close(store);
        assert_true(read == KC_OK || read == KC_ECORRUPT);
        assert_true(checked == KC_OK || checked == KC_ECORRUPT);
        if (must)
                assert_int_equal(read, KC_ECORRUPT);
        if (read == KC_ECORRUPT || !im->set.stranded)
                assert_int_equal(checked, KC_ECORRUPT);
        assert_false(read == KC_OK && right); /* the case is one */
        tally->ncases++;
        tally->nread += read == KC_ECORRUPT;
        tally->nchecked += checked == KC_ECORRUPT;
}

static void tell(const char *what, const struct image *im, const struct tally *t)
{
        print_message("%s, %s: %d cases, %d noticed by reading, %d by check\n", what,
                      im->set.stranded ? "stranded" : "canonical", t->ncases, t->nread,
                      t->nchecked);
        assert_true(t->ncases >= NCASES / 2);
        assert_true(t->nread > 0);
}

/* ---- blocks ---- */

static void put_block(struct image *im, size_t at, const struct image *from, size_t block)
{
        memcpy(im->bytes + im->offsets[at], from->bytes + from->offsets[block],
               block_nbytes(from, block));
}

/* Two blocks of like size change places. */
static void swap_blocks(struct image *im, const struct image *good)
{
        struct tally tally = { 0 };
        uint64_t rng = 1;
        for (int i = 0; i < NCASES; i++) {
                const size_t a = next_random(&rng) % NBLOCKS;
                const size_t b = like(im, next_random(&rng) % NBLOCKS, block_nbytes(im, a), a);
                if (b == NBLOCKS)
                        continue;
                put_block(im, a, good, b);
                put_block(im, b, good, a);
                try_image(im, !fits(im, a, good, b) || !fits(im, b, good, a), &tally);
                put_block(im, a, good, a);
                put_block(im, b, good, b);
        }
        tell("swapped blocks", im, &tally);
}

/* A block of from is in a place of im: of the same file it is repeated, of another it is foreign.
 */
static void plant_blocks(struct image *im, const struct image *good, const struct image *from,
                         const char *what)
{
        struct tally tally = { 0 };
        uint64_t rng = 2;
        for (int i = 0; i < NCASES; i++) {
                const size_t a = next_random(&rng) % NBLOCKS;
                const size_t b = like(from, next_random(&rng) % NBLOCKS, block_nbytes(im, a),
                                      from == good ? a : NBLOCKS);
                if (b == NBLOCKS)
                        continue;
                put_block(im, a, from, b);
                try_image(im, !fits(im, a, from, b), &tally);
                put_block(im, a, good, a);
        }
        tell(what, im, &tally);
}

/* Bytes that are not cut where a block is: their checksum is wrong, and always noticed. */
static void shift_blocks(struct image *im, const struct image *good)
{
        struct tally tally = { 0 };
        for (size_t a = 1; a + 1 < NBLOCKS; a += 15) {
                const size_t nbytes = block_nbytes(im, a);
                memcpy(im->bytes + im->offsets[a], good->bytes + good->offsets[a] + 8, nbytes);
                try_image(im, true, &tally);
                memcpy(im->bytes + im->offsets[a], good->bytes + good->offsets[a] - 8, nbytes);
                try_image(im, true, &tally);
                put_block(im, a, good, a);
        }
        assert_int_equal(tally.nread, tally.ncases);
        assert_int_equal(tally.nchecked, tally.ncases);
}

static void test_blocks(void **unused)
{
        (void)unused;
        for (int stranded = 0; stranded < 2; stranded++) {
                struct image im, good, other;
                load_image(&other, stranded, 2);
                load_image(&good, stranded, 1);
                load_image(&im, stranded, 1);
                swap_blocks(&im, &good);
                plant_blocks(&im, &good, &good, "repeated blocks");
                plant_blocks(&im, &good, &other, "foreign blocks");
                shift_blocks(&im, &good);
                assert_memory_equal(im.bytes, good.bytes, good.nbytes);
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
        struct image im, good, other;
        struct tally tally = { 0 };
        load_image(&other, true, 2);
        load_image(&good, true, 1);
        load_image(&im, true, 1);
        for (size_t page = 0; page < 2; page++) {
                copy_pages(&im, &other, page);
                try_image(&im, true, &tally);
                copy_pages(&im, &good, page);
        }
        /* the second one in the place of the first, and the other way round */
        const size_t nbytes = im.pages_end - im.pages[1];
        memcpy(im.bytes + im.pages[0], good.bytes + good.pages[1], nbytes);
        try_image(&im, true, &tally);
        copy_pages(&im, &good, 0);
        memcpy(im.bytes + im.pages[1], good.bytes + good.pages[0], nbytes);
        try_image(&im, true, &tally);
        copy_pages(&im, &good, 1);
        assert_memory_equal(im.bytes, good.bytes, good.nbytes);
        free_image(&im);
        free_image(&good);
        free_image(&other);
}

/* Two runs with as many k-mers each: their index pages, or all their blocks, change places. */
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
        const size_t index_nbytes = 8 * kc_index_words(3, 1);
        uint8_t *index = malloc(index_nbytes);
        assert_non_null(index);
        memcpy(index, bytes + first.index_offset, index_nbytes);
        memcpy(bytes + first.index_offset, bytes + second.index_offset, index_nbytes);
        memcpy(bytes + second.index_offset, index, index_nbytes);
        write_file("s.kc", bytes, nbytes);
        bool right;
        struct kc_error err = { 0 };
        store = open_store("s.kc");
        assert_int_equal(read_through(store, &a, &right), KC_ECORRUPT);
        assert_int_equal(kc_store_check(store, 1, NULL, &err), KC_ECORRUPT);
        kc_store_close(store);
        free(index);
        free(bytes);
        free_set(&a);
        free_set(&b);
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_blocks),
                cmocka_unit_test(test_pages),
                cmocka_unit_test(test_runs),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
