/* Gzip files inflated in regions, with guesses or without, compared with zlib. */
#include "io/inflate/gunzip.h"
#include "tests/io/inflate/gzip_texts.h"
#include "tests/sampling.h"

#include <zlib.h>

/* ---- files ---- */

struct packing {
        int level, strategy, memory;
        unsigned fields; /* 0, all optional header fields, or those of a BGZF block */
        bool flushes;
};

enum { ALL_FIELDS = true, BLOCK_FIELDS };

static void put_member(struct buffer *file, const uint8_t *text, size_t n, struct packing packing)
{
        z_stream z = { .next_in = (Bytef *)text };
        gz_header header = { .name = (Bytef *)"name",
                             .extra = (Bytef *)"AB\1\0x",
                             .extra_len = 5,
                             .comment = (Bytef *)"why",
                             .hcrc = 1 };
        gz_header block = { .extra = (Bytef *)"BC\2\0\xff\xff", .extra_len = 6 };
        size_t room = 2 * n + 1000 + n / 50;
        uint8_t *packed = malloc(room);
        assert_non_null(packed);
        assert_int_equal(
                deflateInit2(&z, packing.level, Z_DEFLATED, 31, packing.memory, packing.strategy),
                Z_OK);
        if (packing.fields)
                deflateSetHeader(&z, packing.fields == BLOCK_FIELDS ? &block : &header);
        z.next_out = packed;
        z.avail_out = (uInt)room;
        for (size_t at = 0; packing.flushes && at + 9000 < n; at += 9000) {
                z.avail_in = 9000;
                assert_int_equal(deflate(&z, at % 2000 ? Z_FULL_FLUSH : Z_SYNC_FLUSH), Z_OK);
        }
        z.avail_in = (uInt)(n - (size_t)(z.next_in - text));
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        put(file, packed, room - z.avail_out);
        deflateEnd(&z);
        free(packed);
}

static struct buffer pack(const struct buffer *text, struct packing packing, size_t member_nbytes)
{
        struct buffer file = { 0 };
        for (size_t at = 0; at == 0 || at < text->n; at += member_nbytes) {
                size_t n = text->n - at < member_nbytes ? text->n - at : member_nbytes;
                put_member(&file, text->data + at, n, packing);
        }
        return file;
}

/* ---- inflating in regions ---- */

struct setting {
        size_t region_nbytes, max;
        unsigned guesses; /* for how many of 4 regions, on average */
        int patience;     /* a guess gives up the n-th time it asks; 0: it never asks */
};

static bool gives_up_waiting(const void *ctx)
{
        int *left = (int *)ctx;
        return --*left == 0;
}

/* What a thread sees of the file when it works on a region; a copy, so that sanitizers notice reads
 * beyond it. */
static struct kc_view see(const struct buffer *file, uint64_t from, uint64_t to)
{
        uint64_t end = to + KC_BLOCK_LOOKAHEAD < file->n ? to + KC_BLOCK_LOOKAHEAD : file->n;
        from = from < end ? from : end;
        uint8_t *copy = malloc((size_t)(end - from));
        if (end > from)
                memcpy(copy, file->data + from, (size_t)(end - from));
        return (struct kc_view){ copy, (size_t)(end - from), from, end == file->n };
}

struct outcome {
        bool good;
        struct buffer text;
        size_t nguesses, nright; /* guesses that found a block; that were accepted */
        struct buffer open;      /* an 'x' for each member: BGZF ends after it without its end */
        struct kc_error error;
};

static void note_open_ends(const struct kc_region *region, struct buffer *open)
{
        if (region->open_before > 0 && open->n > 0)
                open->data[open->n - 1] = 'x';
        for (size_t i = 0; i < region->nends; i++)
                put(open, region->ends[i].open ? "x" : ".", 1);
}

/* Take the next region in file order. Returns false after a failure. */
static bool take_region(struct kc_region *region, struct kc_gunzip *gunzip,
                        const struct buffer *file, uint64_t to, size_t max, struct outcome *outcome)
{
        static uint8_t window[KC_WINDOW];
        struct kc_region_sums sums;
        bool done;
        struct kc_error *err = &outcome->error;
        const struct kc_deflate *guess = region->key == KC_NO_BLOCK ? NULL : region->place.deflate;
        struct kc_view view = see(file, gunzip->place.bit / 8, file->n);
        outcome->nguesses += guess != NULL;
        enum kc_status status =
                kc_region_accept(region, gunzip, window, &view, to, max, &done, err);
        outcome->nright += guess != NULL && guess == gunzip->place.deflate;
        free((void *)view.data);
        if (status != KC_OK)
                return false;
        note_open_ends(region, &outcome->open);
        size_t n = region->nsymbols + region->nbytes;
        uint8_t *text = malloc(n + 1);
        assert_non_null(text);
        status = kc_region_finish(region, window, text, &sums, "FILE", err);
        put(&outcome->text, text, n);
        free(text);
        return status == KC_OK && kc_gunzip_fold(gunzip, region, &sums, err) == KC_OK;
}

static struct outcome gunzip_regions(const struct buffer *file, struct setting setting)
{
        struct outcome outcome = { .good = true };
        struct kc_gunzip gunzip;
        assert_int_equal(kc_gunzip_init(&gunzip, "FILE", 0, NULL), KC_OK);
        struct kc_region region = { 0 };
        for (uint64_t from = 0; outcome.good && gunzip.place.phase != KC_AT_END;
             from += setting.region_nbytes) {
                uint64_t to = from + setting.region_nbytes;
                region.key = KC_NO_BLOCK;
                if (from < file->n && next_random(&(uint64_t){ from }) % 4 < setting.guesses) {
                        struct kc_view view = see(file, from, to);
                        int left = setting.patience;
                        struct kc_guess_limits limits = { .to = to < file->n ? to : file->n,
                                                          .max = setting.max };
                        if (setting.patience > 0) {
                                limits.has_ended = gives_up_waiting;
                                limits.ctx = &left;
                        }
                        assert_int_equal(kc_region_guess(&region, &view, from, &limits, NULL),
                                         KC_OK);
                        free((void *)view.data);
                }
                outcome.good = take_region(&region, &gunzip, file, to, setting.max, &outcome);
        }
        kc_region_free(&region);
        kc_gunzip_free(&gunzip);
        return outcome;
}

static void assert_text(struct outcome *got, const struct buffer *want)
{
        if (!got->good)
                print_message("%s\n", got->error.message);
        assert_true(got->good);
        assert_int_equal(got->text.n, want->n);
        if (want->n > 0)
                assert_memory_equal(got->text.data, want->data, want->n);
        drop(&got->text);
        drop(&got->open);
}

static void check_file(const struct buffer *text, const struct buffer *file)
{
        static const struct setting settings[] = {
                { 1 << 30, 1 << 30, 0, 0 }, { 3000, 1 << 30, 4, 0 },  { 20000, 1 << 30, 4, 0 },
                { 20000, 1 << 30, 2, 0 },   { 700, 5000, 4, 0 },      { 30000, 70000, 4, 0 },
                { 1000, 1 << 30, 0, 0 },    { 60000, 1 << 30, 4, 1 }, { 90000, 1 << 30, 4, 2 },
        };
        for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
                if (!is_sampled())
                        continue;
                struct outcome got = gunzip_regions(file, settings[s]);
                assert_text(&got, text);
        }
}

/* In FASTQ all guesses are right, except perhaps where the window is short. */
static void test_guesses(void **state)
{
        (void)state;
        struct buffer text = make_fastq(2000000, 1);
        for (int level = 1; level <= 9; level += 4) {
                struct buffer file =
                        pack(&text, (struct packing){ level, 0, 8, false, false }, SIZE_MAX);
                struct outcome got =
                        gunzip_regions(&file, (struct setting){ 50000, 1 << 30, 4, 0 });
                assert_true(got.nguesses > 8);
                assert_true(got.nright + 2 >= got.nguesses);
                assert_text(&got, &text);
                drop(&file);
        }
        drop(&text);
}

static void test_packings(void **state)
{
        (void)state;
        static const size_t members[] = { SIZE_MAX, 100000, 7000 };
        static const struct packing packings[] = {
                { 1, 0, 8, false, false },      { 6, 0, 8, true, false },
                { 9, 0, 1, true, true },        { 0, 0, 8, false, true },
                { 6, Z_FIXED, 8, true, false }, { 0, 0, 1, false, false },
                { 6, Z_RLE, 5, false, true },
        };
        for (size_t t = 0; t < 4; t++) {
                struct buffer text = t == 0 ? make_fastq(300000, 2)
                                            : make_random(250000, t,
                                                          t == 1   ? 256
                                                          : t == 2 ? 1
                                                                   : 3);
                for (size_t m = 0; m < 3; m++)
                        for (size_t p = 0; p < sizeof packings / sizeof *packings; p++) {
                                struct buffer file = pack(&text, packings[p], members[m]);
                                check_file(&text, &file);
                                put(&file, "\0\0\0", 3);
                                check_file(&text, &file);
                                drop(&file);
                        }
                drop(&text);
        }
}

/* Members of several deflate blocks: 'g' is gzip, 'b' a BGZF block, 'e' BGZF's empty one. */
static struct buffer pack_kinds(const char *kinds, const struct buffer *text)
{
        struct buffer file = { 0 };
        for (const char *kind = kinds; *kind; kind++) {
                const size_t n = *kind == 'e' ? 0 : 50000;
                put_member(&file, text->data, n,
                           (struct packing){ 6, 0, 2, *kind == 'g' ? 0 : BLOCK_FIELDS, false });
        }
        return file;
}

/* BGZF without its end-of-file block is noticed where it ends, whatever the regions and guesses. */
static void test_open_ends(void **state)
{
        (void)state;
        static const char *const kinds[] = { "gb",    "gbe",   "ggg", "gbg",   "gbeg",
                                             "ggbbg", "gbgbg", "bbg", "gebgg", "gbbegbgb" };
        static const char *const wants[] = { ".x",
                                             "...",
                                             "...",
                                             ".x.",
                                             "....",
                                             "...x.",
                                             ".x.x.",
                                             ".x.",
                                             "..x..",
                                             "....."
                                             "x.x" };
        static const struct setting settings[] = {
                { 1 << 30, 1 << 30, 0, 0 }, { 700, 1 << 30, 0, 0 },   { 700, 1 << 30, 4, 0 },
                { 6000, 1 << 30, 4, 0 },    { 40000, 1 << 30, 4, 0 }, { 40000, 20000, 2, 0 },
                { 100, 100, 4, 0 },         { 1200, 1 << 30, 2, 0 },
        };
        struct buffer text = make_fastq(50000, 6);
        size_t nright = 0;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                struct buffer file = pack_kinds(kinds[i], &text);
                for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
                        struct outcome got = gunzip_regions(&file, settings[s]);
                        assert_true(got.good);
                        put(&got.open, "", 1);
                        assert_string_equal((char *)got.open.data, wants[i]);
                        nright += got.nright;
                        drop(&got.text);
                        drop(&got.open);
                }
                drop(&file);
        }
        assert_true(nright > 100);
        drop(&text);
}

static void test_small_files(void **state)
{
        (void)state;
        for (size_t n = 0; n < 40; n++) {
                struct buffer text = make_fastq(n, 3);
                struct buffer file = pack(&text, (struct packing){ 6, 0, 8, n % 2, false }, 11);
                check_file(&text, &file);
                drop(&file);
                drop(&text);
        }
}

static void test_truncated(void **state)
{
        (void)state;
        struct buffer text = make_fastq(90000, 4);
        struct buffer file = pack(&text, (struct packing){ 6, 0, 1, true, false }, SIZE_MAX);
        for (size_t n = 1; n < file.n; n += 1 + (n > 400 && n + 400 < file.n) * 37) {
                struct buffer cut = { .data = file.data, .n = n };
                if (!is_sampled())
                        continue;
                for (unsigned guesses = 0; guesses <= 4; guesses += 4) {
                        struct setting setting = { 6000, 1 << 30, guesses, 0 };
                        struct outcome got = gunzip_regions(&cut, setting);
                        assert_false(got.good);
                        assert_non_null(strstr(got.error.message, "FILE is truncated"));
                        drop(&got.text);
                        drop(&got.open);
                }
        }
        drop(&file);
        drop(&text);
}

/* Either the same text or an error; and the same error with or without guesses. */
static void test_flipped_bits(void **state)
{
        (void)state;
        uint64_t seed = 5;
        struct buffer text = make_fastq(120000, 5);
        struct buffer file = pack(&text, (struct packing){ 6, 0, 2, false, true }, 70000);
        size_t ngood = 0;
        for (size_t i = 0; i < 1500; i++) {
                size_t bit = i < 160 ? i : next_random(&seed) % (8 * file.n);
                if (!is_sampled())
                        continue;
                file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
                struct setting whole = { 1 << 30, 1 << 30, 0, 0 },
                               regions = { 5000, 1 << 30, 4, 0 };
                struct outcome plain = gunzip_regions(&file, whole);
                struct outcome got = gunzip_regions(&file, regions);
                assert_int_equal(got.good, plain.good);
                if (got.good) {
                        ngood++;
                        assert_int_equal(got.text.n, text.n);
                        assert_memory_equal(got.text.data, text.data, text.n);
                } else {
                        assert_string_equal(got.error.message, plain.error.message);
                }
                drop(&plain.text);
                drop(&plain.open);
                drop(&got.text);
                drop(&got.open);
                file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_true(ngood < 100); /* flips that do not matter: in the header's time or system */
        drop(&file);
        drop(&text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_small_files),  cmocka_unit_test(test_guesses),
                cmocka_unit_test(test_packings),     cmocka_unit_test(test_truncated),
                cmocka_unit_test(test_flipped_bits), cmocka_unit_test(test_open_ends),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
