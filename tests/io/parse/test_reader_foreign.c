/* Files that are not reads: the message names the format and a remedy. Text with small flaws. */
#include "tests/io/parse/reader_support.h"

#include "io/input/detect.h"

static const struct setting usual = { .k = 5, .nworkers = 2, .chunk_nbytes = 100 };

/* want: the message without the file's name, which precedes it. */
static void assert_message(const struct outcome *got, const char *want)
{
        const char *name_end = strstr(got->message, "-input");
        assert_int_equal(got->status, KC_EINPUT);
        assert_non_null(name_end);
        assert_string_equal(name_end + strlen("-input"), want);
}

static void refuse(const char *bytes, size_t n, enum packing packing, const char *want)
{
        struct buffer plain = { .data = (char *)bytes, .n = n };
        struct buffer packed = pack_text(&plain, packing, 1 << 15);
        for (int t = 1; t <= 3; t++) {
                struct setting setting = usual;
                setting.nworkers = t;
                struct outcome got = read_bytes(&packed, &setting);
                assert_message(&got, want);
        }
        drop(&packed);
}

#define REFUSE(bytes, packing, want) refuse(bytes, sizeof(bytes) - 1, packing, want)

static void test_compressed(void **state)
{
        (void)state;
        REFUSE("]\0\0\x80 and so on", PLAIN,
               " is compressed with lzma, which kcount cannot read [xz -dc FILE]");
        REFUSE("\xfd\x37zXZ\0\0\4 and so on", GZIP,
               " is compressed with xz inside gzip, which kcount cannot read "
               "[gzip -dc FILE | xz -dc -]");
        REFUSE("BZh91AY&SY", BZIP2,
               " is compressed with bzip2 inside bzip2, which kcount cannot read "
               "[bzip2 -dc FILE | bzip2 -dc -]");
        REFUSE("BZh91AY&SY", XZ,
               " is compressed with bzip2 inside xz, which kcount cannot read "
               "[xz -dc FILE | bzip2 -dc -]");
        REFUSE("\x04\x22\x4d\x18 and so on", ZSTD,
               " is compressed with lz4 inside zstd, which kcount cannot read "
               "[zstd -dc FILE | lz4 -dc -]");
        REFUSE("\x1f\x8b\x08\0\0\0\0\0", GZIP,
               " is compressed with gzip inside gzip, which kcount cannot read "
               "[gzip -dc FILE | gzip -dc -]");
        REFUSE("\x1f\x8b\x08\0\0\0\0\0", BLOCKS,
               " is compressed with gzip inside BGZF, which kcount cannot read "
               "[gzip -dc FILE | gzip -dc -]");
        REFUSE("PK\3\4\x14\0", PLAIN, " is a zip archive [unzip -p FILE]");
}

static void test_tar(void **state)
{
        (void)state;
        char tar[600] = "@reads.fq"; /* the name of the first file */
        memcpy(tar + 257, "ustar", 6);
        memcpy(tar + 512, "@a\nACGT\n+\nIIII\n", 15);
        refuse(tar, sizeof tar, PLAIN,
               " is a tar archive, which kcount cannot read [tar -xOf FILE]");
        refuse(tar, sizeof tar, GZIP,
               " is a tar archive inside gzip, which kcount cannot read "
               "[gzip -dc FILE | tar -xOf -]");
}

static void test_other_kinds(void **state)
{
        (void)state;
        REFUSE("\x89KC\r\n\x1a\n\0\1\0\0\0", PLAIN, " is a .kc file, which holds counts already");
        REFUSE("<!DOCTYPE html>\n<html>404</html>\n", PLAIN,
               " is an HTML or XML page, as left by a failed download; look at it and download "
               "the file again");
        REFUSE("<!DOCTYPE html>\n<html>404</html>\n", GZIP,
               " is, once decompressed, an HTML or XML page, as left by a failed download; look "
               "at it and download the file again");
        REFUSE("NCBI.sra\5\3", PLAIN, " is an SRA archive [fastq-dump -Z FILE]");
        REFUSE("\x89HDF\r\n\x1a\n", PLAIN,
               " is an HDF5 file (a fast5 file, if it comes from a sequencer); make FASTQ or BAM "
               "from it with a basecaller");
        REFUSE("BAI\1\0\0", PLAIN, " is the index of a BAM file; name the file that it belongs to");
        REFUSE("CRAM\3\0 and so on", GZIP,
               " is, once decompressed, CRAM; decompress it to a file, since CRAM cannot be read "
               "from a pipe");
        REFUSE("\0\0\0\0\0\0\0\0", PLAIN,
               " begins with NUL bytes, like a file that was not written completely; copy or "
               "download it again");
}

static void test_unknown(void **state)
{
        (void)state;
#define NEITHER \
        " is neither FASTQ nor FASTA (nor SAM, BAM or CRAM): " \
        "it does not begin with '@' or '>', but "
        REFUSE("hello, world\n", PLAIN, NEITHER "with \"hello, world\"");
        REFUSE("\n\t\nchr1\t0\t100\n", GZIP, NEITHER "with \"chr1 0 100\"");
        REFUSE("a line that is longer than what is shown of it\n", PLAIN,
               NEITHER "with \"a line that is longer th...\"");
        REFUSE("CRAMped quarters\n", PLAIN, NEITHER "with \"CRAMped quarters\"");
        REFUSE("\xe9t\xe9\n", PLAIN, NEITHER "with the bytes e9 74 e9 0a");
        REFUSE("ABCDEF\1\2\3\4", PLAIN, NEITHER "with the bytes 41 42 43 44 45 46 01 02");
#undef NEITHER
        REFUSE("ACGTACGT\nACGTT\n", PLAIN,
               " is a list of sequences without '>' lines, which kcount cannot read "
               "[awk '{ print \">\" NR \"\\n\" $1 }' FILE]");
        REFUSE("ACGTACGT\tx\n", GZIP,
               " is a list of sequences without '>' lines inside gzip, which kcount cannot read "
               "[gzip -dc FILE | awk '{ print \">\" NR \"\\n\" $1 }']");
        REFUSE("ACGTACGT\t12\n", GZIP, " is a list of k-mers and their counts");
        REFUSE("acgu 1\n", PLAIN, " is a list of k-mers and their counts");
}

static void test_empty(void **state)
{
        (void)state;
        static const char blank[] = " holds no reads: all of its lines are blank";
        struct buffer lines = { 0 };
        REFUSE("", PLAIN, " is empty");
        REFUSE(" \n\t\n\r\n", PLAIN, blank);
        REFUSE("\n\n\n\n\n\n", GZIP, blank);
        REFUSE(KC_BOM "\n", PLAIN, blank);
        for (int i = 0; i < 300000; i++) /* more than is inspected to tell the kind of file */
                puts_to(&lines, i % 7 ? "\n" : " \r\n");
        refuse(lines.data, lines.n, PLAIN, blank);
        puts_to(&lines, "no read");
        struct outcome got = read_bytes(&lines, &usual);
        assert_refused(&got, "does not begin with '@' or '>', but with \"");
        drop(&lines);
}

/* ---- text in other forms ---- */

static struct buffer widen(const char *text, size_t nbytes, size_t at)
{
        struct buffer wide = { 0 };
        for (; *text != 0; text++)
                for (size_t i = 0; i < nbytes; i++)
                        put(&wide, i == at ? text : "", 1);
        return wide;
}

static void test_wide(void **state)
{
        (void)state;
        static const char text[] = "@read 1\nACGT\n+\nIIII\n";
        static const struct {
                const char *bom;
                size_t nbom, nbytes, at;
                const char *encoding;
        } forms[] = {
                { "", 0, 2, 0, "UTF-16LE" },           { "", 0, 2, 1, "UTF-16BE" },
                { "\xff\xfe", 2, 2, 0, "UTF-16" },     { "\xfe\xff", 2, 2, 1, "UTF-16" },
                { "\xff\xfe\0\0", 4, 4, 0, "UTF-32" },
        };
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
                char want[200];
                struct buffer wide = { 0 }, body = widen(text, forms[f].nbytes, forms[f].at);
                put(&wide, forms[f].bom, forms[f].nbom);
                put(&wide, body.data, body.n);
                snprintf(want, sizeof want,
                         " is %s text, which kcount cannot read [iconv -f %s -t UTF-8 FILE]",
                         forms[f].encoding, forms[f].encoding);
                refuse(wide.data, wide.n, PLAIN, want);
                snprintf(want, sizeof want,
                         " is %s text inside zstd, which kcount cannot read "
                         "[zstd -dc FILE | iconv -f %s -t UTF-8 -]",
                         forms[f].encoding, forms[f].encoding);
                refuse(wide.data, wide.n, ZSTD, want);
                drop(&wide);
                drop(&body);
        }
}

static void test_returns_only(void **state)
{
        (void)state;
        static const char want[] =
                " is text whose lines end with a carriage return only (old Mac), "
                "which kcount cannot read "
                "[tr '\\r' '\\n' < FILE]";
        REFUSE("@a\rACGT\r+\rIIII\r", PLAIN, want);
        REFUSE(">a\rACGT\r>b\rACGT", PLAIN, want);
        REFUSE("@a\rACGT\r+\rIIII\r", GZIP,
               " is text whose lines end with a carriage return only (old Mac) inside gzip, "
               "which kcount cannot read "
               "[gzip -dc FILE | tr '\\r' '\\n']");
}

/* A byte order mark is skipped, however it is packed, and wherever chunks cut it. */
static void test_byte_order_mark(void **state)
{
        (void)state;
        struct reads reads = make_reads((struct reads_shape){ .n = 9, .max_nbases = 40 }, 77);
        for (int fasta = 0; fasta <= 1; fasta++) {
                struct buffer text = { 0 },
                              body = format_reads(&reads, &(struct layout){ .fasta = fasta });
                puts_to(&text, KC_BOM);
                put(&text, body.data, body.n);
                for (int packing = PLAIN; packing < NPACKINGS; packing++)
                        for (size_t chunk = 1; chunk < 10; chunk++) {
                                struct setting setting = { .k = 5,
                                                           .nworkers = 1 + (int)(chunk % 3),
                                                           .chunk_nbytes = chunk };
                                struct outcome want = expect_reads(&reads, !fasta, &setting);
                                struct buffer packed =
                                        pack_text(&text, (enum packing)packing, chunk);
                                struct outcome got = read_bytes(&packed, &setting);
                                assert_outcome(&got, &want);
                                assert_true(got.expected_nbases > 0 || packing != PLAIN);
                                drop(&packed);
                        }
                drop(&text);
                drop(&body);
        }
        free_reads(&reads);
        for (size_t chunk = 1; chunk < 10; chunk++) {
                struct setting setting = { .k = 1, .nworkers = 1, .chunk_nbytes = chunk };
                struct outcome got = read_text("\xef\xbb@a\nA\n+\nI\n", &setting);
                assert_refused(&got, "but with the bytes ef bb");
                got = read_text(KC_BOM KC_BOM "@a\nA\n+\nI\n", &setting);
                assert_refused(&got, "but with the bytes ef bb bf");
        }
}

static void test_mark_before_sam(void **state)
{
        (void)state;
        REFUSE(KC_BOM "@HD\tVN:1.6\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n", PLAIN,
               " is SAM that begins with a UTF-8 byte order mark, which kcount cannot read "
               "[tail -c +4 FILE]");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_compressed),      cmocka_unit_test(test_tar),
                cmocka_unit_test(test_other_kinds),     cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_empty),           cmocka_unit_test(test_wide),
                cmocka_unit_test(test_returns_only),    cmocka_unit_test(test_byte_order_mark),
                cmocka_unit_test(test_mark_before_sam),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
