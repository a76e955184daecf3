/*
 * What checksums cannot find: files that are intact but whose contents are wrong. And files that
 * have grown as docs/dev/kc-writing.md, "Growing a file", describes.
 */
#include "store_support.h"

#include "store_seal.h"

static void assert_check_ends(enum kc_status wanted, const char *what)
{
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        assert_ok(kc_store_open(&store, "s.kc", &err), err);
        enum kc_status status = kc_store_check(store, 2, NULL, &err);
        kc_store_close(store);
        if (wanted == KC_OK) {
                assert_ok(status, err);
                return;
        }
        assert_int_equal(status, wanted);
        if (strstr(err.message, what) == NULL)
                fail_msg("'%s' is not about: %s", err.message, what);
        assert_non_null(strstr(err.message, "s.kc"));
}

static void assert_check_says(const char *what)
{
        assert_check_ends(what == NULL ? KC_OK : KC_ECORRUPT, what);
}

static void test_not_canonical(void **state)
{
        (void)state;
        static const int ks[] = { 31, 32, 33 };
        for (size_t i = 0; i < 3; i++) {
                struct pair_set s = make_set(ks[i], true, 3000, 1);
                s.stranded = false;
                write_set(&s, "s.kc", 1, 3000, 1);
                assert_check_says("not canonical");
                free_set(&s);
        }
        unlink("s.kc");
}

static void test_too_long(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, true, 3000, 1);
        s.k = 30;
        write_set(&s, "s.kc", 1, 3000, 1);
        assert_check_says("longer than k");
        free_set(&s);
        unlink("s.kc");
}

/* A file in memory whose footer can be changed. */
struct image {
        uint8_t *bytes;
        size_t nbytes;
        struct kc_store_header header;
        uint64_t *footer; /* a copy */
        struct kc_footer_head *head;
        struct kc_run_record *record;
        struct kc_histogram_row *rows;
};

static struct image load_image(void)
{
        struct pair_set s = make_set(21, false, 3000, 1);
        write_set(&s, "s.kc", 1, 3000, 1);
        free_set(&s);
        assert_check_says(NULL);
        struct image im = { 0 };
        im.bytes = read_file("s.kc", &im.nbytes);
        memcpy(&im.header, im.bytes, sizeof im.header);
        im.footer = malloc(im.header.footer[0].nbytes);
        assert_non_null(im.footer);
        memcpy(im.footer, im.bytes + im.header.footer[0].offset, im.header.footer[0].nbytes);
        im.head = (struct kc_footer_head *)im.footer;
        im.record = (struct kc_run_record *)(im.footer + sizeof *im.head / 8 + 1);
        im.rows = (struct kc_histogram_row *)(im.record + 1);
        return im;
}

static void free_image(struct image *im)
{
        free(im->bytes);
        free(im->footer);
        unlink("s.kc");
}

static void seal_footer(uint64_t *footer, size_t nbytes)
{
        footer[nbytes / 8 - 1] = XXH3_64bits(footer, nbytes - 8);
}

/* Write the file with the footer in its place, all checksums right. */
static void store_image(struct image *im)
{
        struct kc_footer_ref *ref = &im->header.footer[0];
        seal_footer(im->footer, ref->nbytes);
        memcpy(im->bytes + ref->offset, im->footer, ref->nbytes);
        kc_footer_ref_fill(ref, ref->offset, im->footer, ref->nbytes);
        im->header.footer[1] = *ref;
        memcpy(im->bytes, &im->header, sizeof im->header);
        write_file("s.kc", im->bytes, im->nbytes);
}

static void test_histogram(void **state)
{
        (void)state;
        struct image im = load_image();
        store_image(&im);
        assert_check_says(NULL);
        for (uint64_t c = 0; c < 3; c++)
                assert_int_equal(im.rows[c].count, c + 1);
        im.rows[0].ndistinct++; /* the same number and sum, but other counts */
        im.rows[1].ndistinct -= 2;
        im.rows[2].ndistinct++;
        store_image(&im);
        assert_check_says("histogram");
        free_image(&im);
}

static void test_identity(void **state)
{
        (void)state;
        struct image im = load_image();
        im.record->nkmers++;
        store_image(&im);
        assert_check_says("add up");
        im.record->ndropped_kmers++;
        store_image(&im);
        assert_check_says(NULL);
        free_image(&im);
}

static void test_filter(void **state)
{
        (void)state;
        struct image im = load_image();
        im.record->min_count = 2;
        store_image(&im);
        assert_check_says("filter");
        free_image(&im);
}

/* The first block of an image, decoded. */
struct first_block {
        uint64_t *words; /* in the image */
        size_t nwords;
        struct kc_block_plan plan;
        uint64_t next; /* first k-mer of the next block */
        uint64_t kmers[KC_BLOCK_NKMERS];
        uint32_t counts[KC_BLOCK_NKMERS];
};

static void load_block(struct first_block *b, const struct image *im)
{
        const uint64_t *page = (const uint64_t *)(im->bytes + im->record->index_offset);
        const uint64_t *firsts = page + 1, *offsets = firsts + page[0];
        b->words = (uint64_t *)(im->bytes + offsets[0]);
        b->nwords = (offsets[1] - offsets[0]) / 8 - 1;
        b->next = firsts[1];
        assert_true(kc_block_decode(b->words, b->nwords, firsts, 1, KC_BLOCK_NKMERS, b->kmers,
                                    b->counts));
        kc_block_plan(&b->plan, b->kmers, b->counts, KC_BLOCK_NKMERS, 1);
        assert_int_equal(b->plan.nwords, b->nwords);
}

static void store_block(struct first_block *b, struct image *im)
{
        kc_block_encode(&b->plan, b->kmers, b->counts, 1, b->words);
        seal_store(&(struct kc_bytes){ im->bytes, im->nbytes });
        write_file("s.kc", im->bytes, im->nbytes);
}

/* Swap two k-mers that differ only in their low bits. */
static void test_order(void **state)
{
        (void)state;
        static struct first_block b;
        struct image im = load_image();
        load_block(&b, &im);
        size_t i = 1;
        while ((b.kmers[i] - b.kmers[0]) >> b.plan.low_nbits !=
               (b.kmers[i + 1] - b.kmers[0]) >> b.plan.low_nbits)
                i++;
        assert_true(i + 2 < KC_BLOCK_NKMERS);
        uint64_t kmer = b.kmers[i];
        b.kmers[i] = b.kmers[i + 1];
        b.kmers[i + 1] = kmer;
        store_block(&b, &im);
        assert_check_says("out of order");
        free_image(&im);
}

/* A block's last k-mer is also the next block's first. */
static void test_overlap(void **state)
{
        (void)state;
        static struct first_block b;
        struct image im = load_image();
        load_block(&b, &im);
        b.kmers[KC_BLOCK_NKMERS - 1] = b.next;
        kc_block_plan(&b.plan, b.kmers, b.counts, KC_BLOCK_NKMERS, 1);
        assert_int_equal(b.plan.nwords, b.nwords);
        store_block(&b, &im);
        assert_check_says("reaches into the next");
        free_image(&im);
}

/* Changes that opening itself must refuse. */
static void assert_open_refuses(struct image *im)
{
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        store_image(im);
        assert_int_equal(kc_store_open(&store, "s.kc", &err), KC_ECORRUPT);
        assert_non_null(strstr(err.message, "footer"));
        kc_store_close(store);
}

static void test_footer(void **state)
{
        (void)state;
        static const size_t fields[] = { offsetof(struct kc_run_record, blocks_offset),
                                         offsetof(struct kc_run_record, index_offset),
                                         offsetof(struct kc_run_record, ndistinct),
                                         offsetof(struct kc_run_record, sum),
                                         offsetof(struct kc_run_record, nhistogram),
                                         offsetof(struct kc_run_record, nnames),
                                         offsetof(struct kc_run_record, names_nbytes) };
        static const uint64_t values[] = { 1, UINT64_MAX, UINT64_MAX / 16, UINT64_C(1) << 40 };
        struct image im = load_image();
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
                for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                        uint64_t *field = (uint64_t *)((uint8_t *)im.record + fields[f]);
                        uint64_t old = *field;
                        *field = values[v];
                        assert_open_refuses(&im);
                        *field = old;
                }
        const struct kc_footer_head good = *im.head;
        im.head->nruns = 0;
        assert_open_refuses(&im);
        im.head->nruns = KC_STORE_MAX_RUNS + 1;
        assert_open_refuses(&im);
        *im.head = good;
        im.head->offset += 8;
        assert_open_refuses(&im);
        *im.head = good;
        im.head->nbytes -= 8;
        assert_open_refuses(&im);
        *im.head = good;
        store_image(&im);
        assert_check_says(NULL);
        free_image(&im);
}

/* A second footer after the first; its reference is not yet written, complete, or torn. */
static void test_grown(void **state)
{
        (void)state;
        struct image im = load_image();
        const struct kc_footer_ref *old = &im.header.footer[0];
        size_t nbytes = im.nbytes + old->nbytes;
        uint8_t *grown = malloc(nbytes);
        assert_non_null(grown);
        memcpy(grown, im.bytes, im.nbytes);
        memcpy(grown + im.nbytes, im.footer, old->nbytes);
        write_file("s.kc", grown, nbytes);
        assert_check_ends(KC_EUNTIDY, "after its footer");

        struct kc_store_header header = im.header;
        im.head->offset = im.nbytes;
        seal_footer(im.footer, old->nbytes);
        memcpy(grown + im.nbytes, im.footer, old->nbytes);
        kc_footer_ref_fill(&header.footer[1], im.nbytes, im.footer, old->nbytes);
        memcpy(grown, &header, sizeof header);
        write_file("s.kc", grown, nbytes);
        assert_check_says(NULL);

        /* torn: the footer is found; without it, nothing was appended */
        header.footer[1].checksum++;
        memcpy(grown, &header, sizeof header);
        write_file("s.kc", grown, nbytes);
        assert_check_ends(KC_EUNTIDY, "offset 96");
        write_file("s.kc", grown, im.nbytes);
        assert_check_ends(KC_EUNTIDY, "offset 96");

        header.footer[0].offset++;
        memcpy(grown, &header, sizeof header);
        write_file("s.kc", grown, nbytes);
        assert_check_ends(KC_EUNTIDY, "both");
        free(grown);
        free_image(&im);
}

static void assert_is_changing(struct kc_store *store)
{
        struct kc_error err = { 0 };
        assert_ok(kc_store_check(store, 2, NULL, &err), err);
        assert_true(kc_store_is_changing(store));
}

/* A file that is opened while something is appended to it needs no repair, however that ends. */
static void test_changing(void **state)
{
        (void)state;
        for (int commits = 0; commits < 2; commits++) {
                struct pair_set s = make_set(31, true, 3000, 1);
                struct kc_store_origin origin = make_origin(sum_of_counts(&s));
                struct kc_error err = { 0 };
                struct kc_store_writer *w = NULL;
                struct kc_store *store = NULL;
                int k;
                bool stranded;
                write_set(&s, "s.kc", 1, 3000, 1);
                assert_ok(kc_store_append(&w, "s.kc", false, &k, &stranded, &err), err);
                assert_ok(feed_set(&s, kc_store_sink(w), 1, 3000, 1, &err), err);
                assert_ok(kc_store_open(&store, "s.kc", &err), err);
                assert_false(kc_store_is_tidy(store));
                assert_is_changing(store);
                if (commits)
                        assert_ok(kc_store_commit(w, &origin, NULL, &err), err);
                else
                        kc_store_abort(w);
                assert_is_changing(store);
                kc_store_close(store);
                assert_check_ends(KC_OK, NULL);
                free_set(&s);
        }
        unlink("s.kc");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_not_canonical), cmocka_unit_test(test_too_long),
                cmocka_unit_test(test_histogram),     cmocka_unit_test(test_identity),
                cmocka_unit_test(test_filter),        cmocka_unit_test(test_footer),
                cmocka_unit_test(test_grown),         cmocka_unit_test(test_order),
                cmocka_unit_test(test_overlap),       cmocka_unit_test(test_changing),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
