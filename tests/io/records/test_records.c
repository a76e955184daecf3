/* Records of text: all formats and layouts against the reads that were written. */
#include "tests/io/records/records_support.h"
#include "tests/sampling.h"

enum { ALL = KC_RECORDS_SYMBOLS };

/* A layout's text, without the blank lines that no record has. */
static size_t text_nbytes(const struct buffer *text, const struct layout *l)
{
        return text->n - (l->fasta ? 0 : (size_t)l->blank_lines * (l->crlf ? 2 : 1));
}

static void check_layout(const struct reads *reads, const struct layout *l, enum packing packing,
                         const struct kc_records_options *options)
{
        struct buffer text = format_reads(reads, l), packed = pack_text(&text, packing, 700);
        struct stream s = read_record_bytes(&packed, options);
        assert_reads(&s, reads, l);
        /* blank lines at the end may, but need not, be the last record's */
        if (reads->n > 0) {
                assert_true(s.text.n >= text_nbytes(&text, l) && s.text.n <= text.n);
                assert_memory_equal(s.text.data, text.data, s.text.n);
        }
        drop_stream(&s);
        drop(&packed);
        drop(&text);
}

static const struct layout layouts[] = {
        { 0 },
        { .crlf = true },
        { .plus_name = true, .no_final_eol = true },
        { .width = 7 },
        { .width = 60, .crlf = true, .plus_name = true },
        { .max_blanks = 3 },
        { .fasta = true },
        { .fasta = true, .width = 7, .crlf = true, .no_final_eol = true },
        { .fasta = true, .width = 60, .blank_lines = 2 },
        { .fasta = true, .width = 11, .max_blanks = 3 },
        { .blank_lines = 3 },
};
enum { NLAYOUTS = sizeof layouts / sizeof layouts[0] };

static void test_layouts(void **state)
{
        (void)state;
        static const size_t chunks[] = { 1, 17, 100, 1000, 0 };
        for (size_t i = 0; i < NLAYOUTS; i += THREAD_STRIDE) {
                struct reads reads = make_reads(
                        (struct reads_shape){ .n = 40, .max_nbases = 200, .odd_letters = true }, i);
                for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; c++)
                        for (int nthreads = 1; nthreads <= (c == 0 ? 1 : 4); nthreads += 3)
                                check_layout(
                                        &reads, &layouts[i], PLAIN,
                                        &(struct kc_records_options){ .accepted = ALL,
                                                                      .nthreads = nthreads,
                                                                      .overlap = 30,
                                                                      .chunk_nbytes = chunks[c] });
                free_reads(&reads);
        }
}

static void test_packings(void **state)
{
        (void)state;
        for (size_t i = 0; i < NLAYOUTS; i += THREAD_STRIDE) {
                struct reads reads =
                        make_reads((struct reads_shape){ .n = 900, .max_nbases = 150 }, 100 + i);
                for (enum packing p = PLAIN; p < NPACKINGS; p++)
                        for (int nthreads = FEW_CASES ? 4 : 1; nthreads <= 4; nthreads += 3)
                                check_layout(&reads, &layouts[i], p,
                                             &(struct kc_records_options){ .nthreads = nthreads,
                                                                           .chunk_nbytes = 4096 });
                free_reads(&reads);
        }
}

/* ---- records in pieces ---- */

static void test_pieces(void **state)
{
        (void)state;
        static const size_t chunks[] = { 64, 500, 5000 };
        for (size_t i = 0; i < NLAYOUTS; i += THREAD_STRIDE) {
                struct reads reads = make_reads(
                        (struct reads_shape){ .n = 9, .max_nbases = 60000, .odd_letters = i % 2 },
                        200 + i);
                struct buffer text = format_reads(&reads, &layouts[i]);
                for (size_t c = 0; c < 3; c++)
                        for (int overlap = 0; overlap < 255; overlap += 127 * THREAD_STRIDE) {
                                struct stream s = read_record_bytes(
                                        &text,
                                        &(struct kc_records_options){ .accepted = ALL,
                                                                      .nthreads = 1 + (int)c,
                                                                      .overlap = overlap,
                                                                      .chunk_nbytes = chunks[c],
                                                                      .record_max = 1000 });
                                size_t npieces = 0;
                                assert_reads(&s, &reads, &layouts[i]);
                                assert_memory_equal(s.text.data, text.data, s.text.n);
                                assert_true(s.text.n >= text_nbytes(&text, &layouts[i]));
                                for (size_t r = 0; r < s.n; r++)
                                        npieces += s.got[r].npieces;
                                assert_true(npieces > 2 * s.n);
                                drop_stream(&s);
                        }
                drop(&text);
                free_reads(&reads);
        }
}

/* FASTA records that are shorter than a chunk are whole, wherever chunks end. */
static void test_whole(void **state)
{
        (void)state;
        struct reads reads = make_reads((struct reads_shape){ .n = 500, .max_nbases = 300 }, 5);
        for (size_t i = 0; i < NLAYOUTS; i++) {
                struct buffer text = format_reads(&reads, &layouts[i]);
                struct stream s = read_record_bytes(
                        &text, &(struct kc_records_options){ .nthreads = 2, .chunk_nbytes = 1000 });
                for (size_t r = 0; r < s.n; r++)
                        assert_int_equal(s.got[r].npieces, 1);
                assert_int_equal(s.n, reads.n);
                drop_stream(&s);
                drop(&text);
        }
        free_reads(&reads);
}

/* ---- lines ---- */

/* A line for each read; where it is empty, the line is blank, or what follows is the first
 * field. */
static struct buffer format_lines(const struct reads *reads)
{
        struct buffer text = { 0 };
        for (size_t r = 0; r < reads->n; r++) {
                puts_to(&text, r % 5 == 0 ? " \t" : "");
                puts_to(&text, reads->seq[r]);
                puts_to(&text, r % 3 == 0 ? "\tGA rest 17" : "");
                puts_to(&text, r % 7 == 0 ? "  \r\n" : "\n");
        }
        return text;
}

/* Remove blank lines. */
static void squeeze(struct buffer *b)
{
        size_t out = 0;
        for (char *line = b->data; line < b->data + b->n;) {
                char *end = strchr(line, '\n') + 1;
                if (line + strspn(line, " \t\r\n") < end) {
                        memmove(b->data + out, line, (size_t)(end - line));
                        out += (size_t)(end - line);
                }
                line = end;
        }
        b->data[b->n = out] = 0;
}

static void check_lines(const struct reads *reads, size_t chunk_nbytes)
{
        struct buffer text = format_lines(reads);
        struct stream s = read_record_bytes(
                &text, &(struct kc_records_options){ .accepted = KC_RECORDS_LINES,
                                                     .nthreads = 3,
                                                     .overlap = 20,
                                                     .chunk_nbytes = chunk_nbytes });
        size_t n = 0;
        assert_int_equal(s.status, KC_OK);
        for (size_t r = 0; r < reads->n; r++) {
                const bool empty = reads->seq[r][0] == 0;
                if (!empty || r % 3 == 0)
                        assert_buffer(&s.got[n++].bases, empty ? "GA" : reads->seq[r]);
        }
        assert_int_equal(s.n, n);
        squeeze(&text);
        squeeze(&s.text);
        assert_buffer(&s.text, text.data);
        drop_stream(&s);
        drop(&text);
}

static void test_lines(void **state)
{
        (void)state;
        for (size_t width = 50; width <= 5000; width *= 10)
                for (size_t chunk = 16; chunk <= 1600; chunk *= 10) {
                        struct reads reads = make_reads(
                                (struct reads_shape){ .n = 100, .max_nbases = width }, chunk);
                        check_lines(&reads, chunk);
                        free_reads(&reads);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_layouts), cmocka_unit_test(test_packings),
                cmocka_unit_test(test_pieces),  cmocka_unit_test(test_whole),
                cmocka_unit_test(test_lines),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
