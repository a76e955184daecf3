/* Records that are damaged, truncated or of another kind: the message names file and place. */
#include "tests/io/records/records_support.h"

#include "io/input/detect.h"

#include <malloc.h>

enum { QUERY = KC_RECORDS_LINES };

static void check_bad(const char *text, unsigned accepted, const char *what)
{
        for (size_t chunk = 1; chunk < 3000; chunk = 4 * chunk + 3)
                for (int nthreads = 1; nthreads < 4; nthreads += 2) {
                        struct stream s = read_record_text(
                                text, &(struct kc_records_options){ .accepted = accepted,
                                                                    .nthreads = nthreads,
                                                                    .chunk_nbytes = chunk });
                        assert_bad(&s, what);
                        assert_non_null(strstr(s.message, "kcount-test-"));
                        drop_stream(&s);
                }
}

static void test_letters(void **state)
{
        (void)state;
        check_bad(">a\nACGT\n>b\nAC GT\n", 0,
                  "records: line 4 is not a sequence: it contains a space (record 2)");
        check_bad(">a\nACGT\n\n\nA\tC\n", 0,
                  "records: line 5 is not a sequence: it contains a tab (record 1)");
        check_bad(">a\nACGT>b\nACGT\n", 0, "line 2 is not a sequence: it contains '>': a line end");
        check_bad(">a\nACGT1\n", 0, "line 2 is not a sequence: it contains the byte 0x31");
        check_bad(">a\n;c\nACGT\n", 0, "line 2 is not a sequence: it contains the byte 0x3b");
        check_bad("@a\nACGT\n+\nIIII\n@b\nAC1T\n+\nIIII\n", 0,
                  "record 2 is not a sequence: it contains the byte 0x31");
        check_bad("@a\nAC\nGT\n+\nIIII\n\n@b\nAC\n1T\n+\nIIII\n", 0,
                  "record 2 is not a sequence: it contains the byte 0x31");
        check_bad("\n\nACGT\n\n >\n", QUERY,
                  "records: line 5 is not a sequence: it contains the byte 0x3e");
        check_bad("ACGT\nAC>T\n", QUERY, "line 2 is not a sequence: it contains '>'");
        check_bad(";c\nACGT\n", QUERY, "line 1 is not a sequence: it contains the byte 0x3b");
        check_bad(">a\nACGT\n>b\nAC\x07GT\n", KC_RECORDS_SYMBOLS,
                  "record 2 has the byte 0x07 in its sequence");
        check_bad(">a\nACGT\n@b\nAC\n", KC_RECORDS_SYMBOLS,
                  "record 1 has a line that begins with '@'");
        check_bad(";c\nACGT\n", KC_RECORDS_SYMBOLS, "record 1 has no '>' line");
}

static void test_symbols(void **state)
{
        (void)state;
        const char *text = ";c\n>a b\nAC 1T\n;c\nGG\n";
        struct stream s =
                read_record_text(text, &(struct kc_records_options){ .accepted = KC_RECORDS_SYMBOLS,
                                                                     .nthreads = 1 });
        assert_int_equal(s.n, 1);
        assert_buffer(&s.got[0].bases, "AC 1TGG");
        assert_buffer(&s.got[0].name, "a b");
        assert_buffer(&s.text, text);
        drop_stream(&s);
}

static void test_fastq(void **state)
{
        (void)state;
        const char *good = "@a\nACGT\n+\nIIII\n@b\nAC\n+\nII\n";
        char text[256];
        for (size_t cut = strlen(good); cut-- > 16;) {
                snprintf(text, sizeof text, "%.*s", (int)cut, good);
                if (cut == 25)
                        continue; /* only the line end is missing */
                check_bad(text, KC_RECORDS_SYMBOLS,
                          "record 2 is truncated: the file ends within it");
        }
        check_bad("@a\nACGT\n+\nIIII\n@b\nAC\n+\nIII\n", 0,
                  "records: record 2 has 2 bases but 3 quality letters");
        check_bad("@a\nACGT\n+\nIIII\nb\nAC\n+\nII\n", 0, "record 2 does not begin with '@'");
        check_bad("@a\nACGT\n+\nIIII\n@b\nAC\n@c\nAC\n+\nII\n", 0, "record 2 has no '+' line");
}

/* A long record is read in pieces, and its end is checked all the same. */
static void test_long_fastq(void **state)
{
        (void)state;
        static const char *const ends[] = { "", "III", "IIIIIIIIIIIIIII\n" };
        for (int i = 0; i < 3; i++) {
                struct buffer text = { 0 };
                puts_to(&text, "@a\nA\n+\nI\n@long\n");
                for (int j = 0; j < 5000; j++)
                        puts_to(&text, "ACGT");
                puts_to(&text, "\n+\n");
                for (int j = 0; j < 19990; j++)
                        puts_to(&text, "I");
                puts_to(&text, ends[i]);
                struct stream s = read_record_bytes(
                        &text, &(struct kc_records_options){
                                       .nthreads = 2, .chunk_nbytes = 1000, .record_max = 3000 });
                assert_bad(&s, i == 2 ? "record 2 has 20000 bases but" : "record 2 is truncated");
                drop_stream(&s);
                drop(&text);
        }
}

static void test_names(void **state)
{
        (void)state;
        for (int fastq = 0; fastq < 2; fastq++) {
                struct buffer text = { 0 };
                puts_to(&text, fastq ? "@a\nA\n+\nI\n@" : ">a\nA\n>");
                for (int j = 0; j < 9000; j++)
                        puts_to(&text, "x");
                puts_to(&text, "\nACGT\n");
                struct stream s = read_record_bytes(
                        &text, &(struct kc_records_options){
                                       .nthreads = 2, .chunk_nbytes = 1000, .record_max = 3000 });
                assert_bad(&s, fastq ? "record 2 has a name of more than 3000 bytes"
                                     : "line 3 has a name, or blanks in a row, of more than 3000");
                drop_stream(&s);
                drop(&text);
        }
}

static void test_containers(void **state)
{
        (void)state;
        struct reads reads = make_reads((struct reads_shape){ .n = 500, .max_nbases = 200 }, 3);
        struct buffer text = format_reads(&reads, &(struct layout){ 0 });
        for (enum packing p = GZIP; p < NPACKINGS; p++) {
                struct buffer packed = pack_text(&text, p, 5000);
                for (size_t cut = 1; cut < packed.n; cut *= 3) {
                        struct buffer part = { .data = packed.data, .n = packed.n - cut };
                        struct stream s = read_record_bytes(
                                &part,
                                &(struct kc_records_options){ .nthreads = 3, .chunk_nbytes = 999 });
                        assert_bad(&s, "kcount-test-");
                        drop_stream(&s);
                }
                packed.data[packed.n / 2] ^= 0x55;
                struct stream s = read_record_bytes(
                        &packed,
                        &(struct kc_records_options){ .nthreads = 3, .chunk_nbytes = 999 });
                assert_bad(&s, "kcount-test-");
                drop_stream(&s);
                drop(&packed);
        }
        drop(&text);
        free_reads(&reads);
}

static void test_kinds(void **state)
{
        (void)state;
        check_bad("", 0, "is empty");
        check_bad("ACGT\n", 0, "kcount-test-");
        check_bad("@HD\tVN:1.6\n", QUERY, "is SAM, BAM or CRAM, which is not read here");
        struct stream s = read_records("/nonexistent/kcount-test-x",
                                       &(struct kc_records_options){ .nthreads = 1 });
        assert_bad(&s, "/nonexistent/kcount-test-x");
        drop_stream(&s);
        static const char *const nothing[] = { "", "\n \n\t\r\n", KC_BOM "\n" };
        for (int i = 0; i < 3; i++) {
                s = read_record_text(nothing[i], &(struct kc_records_options){ .accepted = QUERY,
                                                                               .nthreads = 2,
                                                                               .chunk_nbytes = 2 });
                assert_int_equal(s.status, KC_OK);
                assert_int_equal(s.n, 0);
                drop_stream(&s);
        }
        for (size_t chunk = 1; chunk < 9; chunk++) {
                s = read_record_text(
                        KC_BOM "\n\n>a\nAC\n",
                        &(struct kc_records_options){ .nthreads = 2, .chunk_nbytes = chunk });
                assert_int_equal(s.status, KC_OK);
                assert_buffer(&s.text, ">a\nAC\n");
                drop_stream(&s);
        }
}

/* ---- memory ---- */

/* The most memory in use while the records of a file are read, beyond what is now. */
static size_t measure(const char *path, const struct kc_records_options *options, size_t *npieces)
{
        struct kc_records *records;
        struct kc_record_batch batch = { 0 };
        const struct mallinfo2 before = mallinfo2();
        size_t most = 0;
        assert_int_equal(kc_records_open(&records, path, options, NULL), KC_OK);
        *npieces = 0;
        do {
                assert_int_equal(kc_records_next(records, &batch, NULL), KC_OK);
                const struct mallinfo2 now = mallinfo2();
                const size_t n = now.uordblks + now.hblkhd - before.uordblks - before.hblkhd;
                most = n > most ? n : most;
                *npieces += batch.n;
        } while (batch.n > 0);
        kc_record_batch_free(&batch);
        kc_records_close(records);
        return most;
}

/* The memory does not grow with the record's length. */
static void test_memory(void **state)
{
        (void)state;
        enum { CHUNK = 64 << 10, RECORD_MAX = 256 << 10, RECORD = 20 << 20, LINE = 100 };
        const char *path = scratch_path("long");
        for (int kind = 0; kind < 5; kind++) {
                const bool fastq = kind >= 3, lines = kind % 2 == 0;
                struct buffer text = { 0 };
                char line[LINE + 1] = { 0 };
                memset(line, 'A', LINE);
                puts_to(&text, kind == 0 ? "" : fastq ? "@a\n" : ">a\n");
                for (int part = 0; part < 1 + fastq; part++) {
                        for (size_t n = 0; n < RECORD; n += LINE) {
                                puts_to(&text, line);
                                puts_to(&text, lines && kind > 0 ? "\n" : "");
                        }
                        puts_to(&text, part == 0 && fastq ? "\n+\n" : "\n");
                }
                write_file(path, text.data, text.n);
                drop(&text);
                size_t npieces;
                const struct kc_records_options options = { .accepted = KC_RECORDS_LINES,
                                                            .nthreads = 1,
                                                            .overlap = 30,
                                                            .chunk_nbytes = CHUNK,
                                                            .record_max = RECORD_MAX };
                const size_t most = measure(path, &options, &npieces);
                assert_true(npieces > RECORD / 8 / (CHUNK + RECORD_MAX));
                assert_true(most < (fastq ? 9 * (CHUNK + RECORD_MAX) : 9 * CHUNK));
        }
        unlink(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_letters), cmocka_unit_test(test_symbols),
                cmocka_unit_test(test_fastq),   cmocka_unit_test(test_long_fastq),
                cmocka_unit_test(test_names),   cmocka_unit_test(test_containers),
                cmocka_unit_test(test_kinds),   cmocka_unit_test(test_memory),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
