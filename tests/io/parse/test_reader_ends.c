/* Where compressed data ends: BGZF with and without its end-of-file block, alone and joined with
 * others in every order, and data that holds nothing. */
#include "tests/io/parse/reader_support.h"
#include "tests/sampling.h"

enum { NREADS = 200, MAX_NBASES = 400 };

/* A file that others can be joined to. */
enum part_kind {
        WHOLE_GZIP,  /* one member, no BGZF block */
        WITH_END,    /* BGZF */
        WITHOUT_END, /* BGZF without its end-of-file block */
        CUT_IN_READ, /* likewise; blocks are missing from within the last record on */
        CUT_IN_NAME, /* likewise, from within its first line on */
        NKINDS,
        NWHOLE = CUT_IN_READ,
};

struct part {
        struct buffer text, packed;
};

/* Blocks of text that end anywhere in records. */
static void put_blocks(struct buffer *packed, const struct buffer *text, size_t nbytes)
{
        for (size_t at = 0, n; at < text->n; at += n) {
                n = text->n - at < nbytes ? text->n - at : nbytes;
                bgzf_block(packed, text->data + at, n);
        }
}

/* How much of the text is left if it is cut in the last record: in its name, or after that. */
static size_t cut_place(const struct buffer *text, char first, bool in_name)
{
        size_t at = text->n;
        do
                at--;
        while (!(text->data[at] == first && memcmp(text->data + at + 1, "read", 4) == 0));
        return in_name ? at + 7 : (size_t)(strchr(text->data + at, '\n') - text->data) + 2;
}

static struct part make_part(enum part_kind kind, bool fasta, uint64_t seed)
{
        struct part part = { 0 };
        struct reads reads =
                make_reads((struct reads_shape){ .n = NREADS, .max_nbases = MAX_NBASES }, seed);
        part.text = format_reads(&reads, &(struct layout){ .fasta = fasta });
        put(&part.text, "", 1); /* ends a string */
        part.text.n--;
        if (kind >= CUT_IN_READ)
                part.text.n = cut_place(&part.text, fasta ? '>' : '@', kind == CUT_IN_NAME);
        if (kind == WHOLE_GZIP)
                gzip_member(&part.packed, part.text.data, part.text.n);
        else
                put_blocks(&part.packed, &part.text, 500 + seed % 3 * 2000);
        if (kind == WITH_END)
                bgzf_end(&part.packed);
        free_reads(&reads);
        return part;
}

/* Parts, joined as cat does. */
struct joined {
        struct part all;
        enum part_kind kinds[3];
        size_t n;
        bool fasta;
};

static struct joined join(const struct part *parts, const enum part_kind *kinds, size_t n,
                          bool fasta)
{
        struct joined joined = { .n = n, .fasta = fasta };
        for (size_t i = 0; i < n; i++) {
                joined.kinds[i] = kinds[i];
                put(&joined.all.text, parts[kinds[i]].text.data, parts[kinds[i]].text.n);
                put(&joined.all.packed, parts[kinds[i]].packed.data, parts[kinds[i]].packed.n);
        }
        return joined;
}

/* Whether it shows that a part lacks its end-of-file block. It does not if other blocks follow. */
static bool is_open(const struct joined *joined)
{
        bool open = false;
        for (size_t i = 0; i < joined->n; i++)
                if (joined->kinds[i] >= WITHOUT_END)
                        open |= i + 1 == joined->n || joined->kinds[i + 1] == WHOLE_GZIP;
        return open;
}

static struct outcome read_piped(const struct buffer *bytes, const struct setting *setting)
{
        int ends[2];
        char path[64];
        const char *paths[] = { path };
        assert_int_equal(pipe(ends), 0);
        assert_true(bytes->n < 60000); /* what a pipe holds */
        assert_int_equal(write(ends[1], bytes->data, bytes->n), (ssize_t)bytes->n);
        close(ends[1]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        struct outcome got = read_paths(paths, 1, setting);
        close(ends[0]);
        return got;
}

static void fail_joined(const struct joined *joined, const struct setting *setting,
                        const struct outcome *got)
{
        static const char *const names[] = { "gzip", "BGZF", "open BGZF", "cut BGZF",
                                             "BGZF cut in a name" };
        print_error("%s, %d workers, chunks of %zu:", joined->fasta ? "FASTA" : "FASTQ",
                    setting->nworkers, setting->chunk_nbytes);
        for (size_t i = 0; i < joined->n; i++)
                print_error(" [%s]", names[joined->kinds[i]]);
        print_error(" gave status %d, \"%s\", marks %u\n", got->status, got->message, got->marks);
        fail();
}

/* Read in all ways; with ThreadSanitizer, each file with another number of threads. want: on
 * failure, only its status matters. */
static void check(const struct joined *joined, const struct outcome *want)
{
        static int ncalls;
        for (int t = 1 + 2 * (ncalls++ % THREAD_STRIDE); t <= 5; t += 2 * THREAD_STRIDE)
                for (int way = 0; way < 3; way++) {
                        struct setting setting = { .k = 21, .nworkers = t };
                        setting.chunk_nbytes = way == 1 ? 64 : way == 2 ? 3000 : 0;
                        struct outcome got = way == 2 && joined->all.packed.n < 60000
                                                     ? read_piped(&joined->all.packed, &setting)
                                                     : read_bytes(&joined->all.packed, &setting);
                        if (got.status != want->status ||
                            (got.status == KC_OK && got.marks != want->marks))
                                fail_joined(joined, &setting, &got);
                        if (got.status == KC_OK)
                                assert_outcome(&got, want);
                }
}

static void make_parts(struct part parts[NKINDS], bool fasta)
{
        for (int i = 0; i < NKINDS; i++)
                parts[i] = make_part((enum part_kind)i, fasta, 7 + (uint64_t)i);
}

static void drop_part(struct part *part)
{
        drop(&part->text);
        drop(&part->packed);
}

/* Whole parts: all of it is counted, with a mark if a part shows that it lacks its end. FASTA is
 * refused then. */
static void check_whole(const struct part *parts, const enum part_kind *kinds, size_t n, bool fasta)
{
        const struct setting setting = { .k = 21, .nworkers = 1 };
        struct joined joined = join(parts, kinds, n, fasta);
        struct outcome want = read_bytes(&joined.all.text, &setting);
        assert_int_equal(want.status, KC_OK);
        assert_int_equal(want.marks, KC_INPUT_HAS_BASES);
        if (is_open(&joined) && fasta)
                want.status = KC_EINPUT;
        else if (is_open(&joined))
                want.marks |= KC_INPUT_NO_END_BLOCK;
        check(&joined, &want);
        drop_part(&joined.all);
}

static void test_joined(void **state)
{
        (void)state;
        for (int fasta = 0; fasta <= 1; fasta++) {
                struct part parts[NKINDS];
                make_parts(parts, fasta);
                for (size_t n = 1, all = NWHOLE; n <= 3; n++, all *= NWHOLE)
                        for (size_t i = 0; i < all; i++) {
                                const enum part_kind kinds[] = { i % NWHOLE, i / NWHOLE % NWHOLE,
                                                                 i / NWHOLE / NWHOLE };
                                check_whole(parts, kinds, n, fasta);
                        }
                for (int i = 0; i < NKINDS; i++)
                        drop_part(&parts[i]);
        }
}

/* A part that is cut within a record is refused if anything shows it. In a name that blocks of
 * another part follow, nothing does. */
static void test_cut(void **state)
{
        (void)state;
        struct outcome refused = { .status = KC_EINPUT };
        for (int fasta = 0; fasta <= 1; fasta++) {
                struct part parts[NKINDS];
                make_parts(parts, fasta);
                for (size_t i = 0; i < 2 * NWHOLE * (NWHOLE + 1); i += THREAD_STRIDE) {
                        const enum part_kind cut = CUT_IN_READ + i % 2;
                        const enum part_kind others[] = { i / 2 % NWHOLE, i / 2 / NWHOLE };
                        const enum part_kind kinds[] = { others[0], cut, others[1] };
                        const bool last = others[1] == NWHOLE;
                        struct joined joined = join(parts, kinds, last ? 2 : 3, fasta);
                        if (fasta ? is_open(&joined)
                                  : cut == CUT_IN_READ || last || others[1] == WHOLE_GZIP)
                                check(&joined, &refused);
                        drop_part(&joined.all);
                }
                for (int i = 0; i < NKINDS; i++)
                        drop_part(&parts[i]);
        }
}

/* Zeros are padding only after the end-of-file block: a file whose end was never written may also
 * end with zeros. */
static void test_zeros(void **state)
{
        (void)state;
        for (int i = 0; i < NWHOLE * NWHOLE; i += THREAD_STRIDE) {
                const enum part_kind kinds[] = { i / NWHOLE, i % NWHOLE };
                struct part parts[NKINDS];
                make_parts(parts, false);
                struct joined joined = join(parts, kinds, 2, false);
                const struct setting setting = { .k = 21, .nworkers = 1 };
                struct outcome want = read_bytes(&joined.all.packed, &setting);
                for (int nzeros = 1; nzeros <= 1000; nzeros += 333) {
                        for (size_t at = joined.all.packed.n; nzeros > 0 && at % 333 != 0; at++)
                                put(&joined.all.packed, "", 1);
                        put(&joined.all.packed, "", 1);
                        if (kinds[1] == WITHOUT_END)
                                want.status = KC_EINPUT;
                        check(&joined, &want);
                }
                drop_part(&joined.all);
                for (int p = 0; p < NKINDS; p++)
                        drop_part(&parts[p]);
        }
}

/* Messages: where the data ends, and what to do. */
static void test_messages(void **state)
{
        (void)state;
        char want[300];
        const struct setting setting = { .k = 5, .nworkers = 1 };
        struct part parts[NKINDS];
        make_parts(parts, true);
        const size_t end = parts[WITHOUT_END].packed.n;
        struct outcome got = read_bytes(&parts[WITHOUT_END].packed, &setting);
        snprintf(want, sizeof want,
                 " is truncated: it ends at byte %zu without BGZF's end-of-file block; copy or "
                 "download the file again [gzip -dc FILE]",
                 end);
        assert_refused(&got, want);
        put(&parts[WITHOUT_END].packed, parts[WHOLE_GZIP].packed.data, parts[WHOLE_GZIP].packed.n);
        got = read_bytes(&parts[WITHOUT_END].packed, &setting);
        snprintf(want, sizeof want,
                 " is truncated: its BGZF data ends at byte %zu without BGZF's end-of-file block;",
                 end);
        assert_refused(&got, want);
        for (int i = 0; i < NKINDS; i++)
                drop_part(&parts[i]);
}

/* Compressed data that holds nothing has no reads. */
static void test_nothing(void **state)
{
        (void)state;
        const struct buffer nothing = { 0 };
        for (int packing = GZIP; packing < NPACKINGS; packing++) {
                struct buffer packed = pack_text(&nothing, (enum packing)packing, 10);
                for (int i = 0; i < 3 && is_in_parts((enum packing)packing); i++)
                        pack_part(&packed, "", 0, (enum packing)packing);
                for (int t = 1; t <= 4; t += 3) {
                        struct setting setting = { .k = 5, .nworkers = t };
                        struct outcome file = read_bytes(&packed, &setting);
                        struct outcome piped = read_piped(&packed, &setting), want = { 0 };
                        assert_outcome(&file, &want);
                        assert_outcome(&piped, &want);
                        assert_int_equal(file.marks | piped.marks, 0);
                }
                for (size_t n = 1; n < packed.n; n += CUT_STRIDE) {
                        struct setting setting = { .k = 5, .nworkers = 1 };
                        struct buffer cut = { .data = packed.data, .n = n };
                        struct outcome got = read_bytes(&cut, &setting);
                        if (!is_in_parts((enum packing)packing))
                                assert_refused(&got, "/tmp/kcount-test-");
                }
                drop(&packed);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_joined),  cmocka_unit_test(test_cut),
                cmocka_unit_test(test_zeros),   cmocka_unit_test(test_messages),
                cmocka_unit_test(test_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
