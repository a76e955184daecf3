/* BAM that is damaged or truncated: refused where htslib refuses it, with the place of the
 * damage. */
#include "tests/io/parse/bam_support.h"
#include "tests/sampling.h"

/* Each byte of a file changed: refused if htslib refuses it, otherwise the same reads. */
static void test_changed_bytes(void **state)
{
        (void)state;
        static const uint8_t changes[] = { 1, 2, 0x10, 0x80, 0xff };
        struct buffer raw = small_bam();
        size_t nrefused = 0, ntried = 0;
        for (size_t at = 4; at < raw.n; at++)
                for (size_t i = 0; i < sizeof changes; i++) {
                        if (!is_sampled())
                                continue;
                        struct setting setting = { .k = 2,
                                                   .min_quality = i % 2 ? 10 : 0,
                                                   .nworkers = at % 16 == 0 ? 2 : 1,
                                                   .record_max = i == 4 ? 1 : 0 };
                        char byte = raw.data[at];
                        raw.data[at] = (char)(byte ^ changes[i]);
                        struct buffer bam = pack_bam(&raw, 100, at);
                        struct outcome want = expect(&raw, &setting);
                        struct outcome got = read_bytes(&bam, &setting);
                        assert_as(&got, &want, "change of byte", at);
                        nrefused += got.status != KC_OK;
                        ntried++;
                        raw.data[at] = byte;
                        drop(&bam);
                }
        assert_true(nrefused > ntried / 5);
        drop(&raw);
}

/* The text cut at each byte, in a file that is whole as BGZF. */
static void test_truncated_text(void **state)
{
        (void)state;
        struct buffer raw = small_bam();
        size_t n = raw.n, nwhole = 0;
        for (raw.n = 4; raw.n <= n; raw.n++) {
                struct setting setting = { .k = 2, .nworkers = 1 + (int)(raw.n % 3) };
                setting.record_max = raw.n % 2;
                struct buffer bam = pack_bam(&raw, 50, raw.n);
                struct outcome want = expect(&raw, &setting), got = read_bytes(&bam, &setting);
                assert_as(&got, &want, "text cut at byte", raw.n);
                nwhole += got.status == KC_OK;
                drop(&bam);
        }
        assert_int_equal(nwhole, 4); /* after the header, and after each record */
        drop(&raw);
}

/* The file cut at each byte: whole only where a block that looks like the end of the file ends. */
static void test_truncated_file(void **state)
{
        (void)state;
        struct buffer raw = small_bam(), bam = { 0 };
        size_t middle = raw.n / 2, nwhole = 0;
        bgzf_block(&bam, raw.data, middle);
        bgzf_block(&bam, raw.data + middle, raw.n - middle);
        bgzf_end(&bam);
        bgzf_end(&bam);
        size_t n = bam.n;
        for (bam.n = 1; bam.n <= n; bam.n++) {
                struct setting setting = { .k = 2, .nworkers = 1 + (int)(bam.n % 3) };
                struct outcome want = expect(&bam, &setting), got = read_bytes(&bam, &setting);
                assert_as(&got, &want, "file cut at byte", bam.n);
                nwhole += got.status == KC_OK;
        }
        assert_int_equal(nwhole, 2);
        drop(&bam);
        drop(&raw);
}

#define AGAIN "; copy or download the file again"

struct damage {
        const char *what; /* the field, of the record or of the header */
        size_t at, nbytes;
        int64_t value;
        const char *message;
};

/* Offsets in the first record, the one of 7 bases. */
static const struct damage in_record[] = {
        { "block_size", 0, 4, 31, "1 has the impossible length 31" AGAIN },
        { "block_size", 0, 4, -1, "1 has the impossible length -1" AGAIN },
        { "block_size", 0, 4, INT32_MIN, "1 has the impossible length -2147483648" AGAIN },
        { "block_size", 0, 4, INT32_MAX, "1 is truncated: the file ends within it" AGAIN },
        { "block_size", 0, 4, 48, "1 has 52 bytes, but its name, CIGAR and 7 bases take 53" AGAIN },
        { "refID", 4, 4, 2, "1 refers to reference sequence 2, but the header names 2" AGAIN },
        { "refID", 4, 4, -2, "1 refers to reference sequence -2, but the header names 2" AGAIN },
        { "l_read_name", 12, 1, 0, "1 has a name of length 0" AGAIN },
        { "l_read_name", 12, 1, 255,
          "1 has 53 bytes, but its name, CIGAR and 7 bases take 306" AGAIN },
        { "n_cigar_op", 16, 2, 65535,
          "1 has 53 bytes, but its name, CIGAR and 7 bases take 262189" AGAIN },
        { "n_cigar_op", 16, 2, 2, "1 has 53 bytes, but its name, CIGAR and 7 bases take 57" AGAIN },
        { "l_seq", 20, 4, -1, "1 has -1 bases" AGAIN },
        { "l_seq", 20, 4, INT32_MAX,
          "1 has 53 bytes, but its name, CIGAR and 2147483647 bases take 3221225513" AGAIN },
        { "l_seq", 20, 4, 6, "1 has 6 bases, but a CIGAR of 7" AGAIN },
        { "next_refID", 24, 4, 7,
          "1 refers to reference sequence 7, but the header names 2" AGAIN },
        { "CIGAR", 38, 4, 7 << 4 | 2, "1 has 7 bases, but a CIGAR of 0" AGAIN },
        { "CIGAR", 38, 4, -1, "1 has 7 bases, but a CIGAR of 0" AGAIN },
};

static void set(struct buffer *raw, size_t at, const struct damage *d)
{
        uint64_t value = (uint64_t)d->value;
        for (size_t i = 0; i < d->nbytes; i++)
                raw->data[at + d->at + i] = (char)(value >> 8 * i);
}

static void check_damage(const struct damage *d, size_t base, const char *kind)
{
        for (int round = 0; round < 6; round++) {
                char want[300];
                struct buffer raw = small_bam();
                set(&raw, base, d);
                struct buffer bam = pack_bam(&raw, round % 2 ? 5 : 500, 1);
                struct setting setting = { .k = 2,
                                           .nworkers = 1 + round,
                                           .record_max = round < 3 ? 0 : 1 };
                struct outcome got = read_bytes(&bam, &setting);
                assert_int_equal(got.status, KC_EINPUT);
                snprintf(want, sizeof want, "-input: %s %s", kind, d->message);
                assert_non_null(strstr(got.message, "-input"));
                if (strcmp(strstr(got.message, "-input"), want) != 0)
                        print_error("%s\n", d->what);
                assert_string_equal(strstr(got.message, "-input"), want);
                drop(&bam);
                drop(&raw);
        }
}

static void test_damaged_records(void **state)
{
        (void)state;
        struct buffer raw = small_bam();
        const char *name = memmem(raw.data, raw.n, "a\0\x70\0\0\0", 6);
        assert_non_null(name);
        for (size_t i = 0; i < sizeof in_record / sizeof in_record[0]; i++)
                check_damage(&in_record[i], (size_t)(name - raw.data) - 36, "alignment record");
        drop(&raw);
}

static void test_damaged_header(void **state)
{
        (void)state;
        struct buffer raw = small_bam();
        size_t ntext = (uint8_t)raw.data[4], refs = 8 + ntext;
        const struct damage in_header[] = {
                { "l_text", 4, 4, -1, "has a line that does not begin with '@'" AGAIN },
                { "text", 8, 1, 'x', "has a line that does not begin with '@'" AGAIN },
                { "n_ref", refs, 4, -3, "names -3 reference sequences" AGAIN },
                { "l_name", refs + 4, 4, 0,
                  "has a name of length 0 for reference sequence 0" AGAIN },
                { "l_name", refs + 4, 4, -9,
                  "has a name of length -9 for reference sequence 0" AGAIN },
                { "l_name", refs + 4, 4, INT32_MAX, "is truncated: the file ends within it" AGAIN },
        };
        for (size_t i = 0; i < sizeof in_header / sizeof in_header[0]; i++)
                check_damage(&in_header[i], 0, "its header");
        drop(&raw);
}

/* If several places are damaged, the first in the file is reported, whichever thread finds it. */
static void test_first_damage(void **state)
{
        (void)state;
        enum { NRECORDS = 300, STEP = 40 };
        size_t nbases[NRECORDS], at = 0;
        for (size_t i = 0; i < NRECORDS; i++)
                nbases[i] = 100;
        struct buffer raw = make_bam(nbases, NRECORDS, (struct shape){ .nrefs = 0 }, 8);
        at = 12 + (uint8_t)raw.data[4];
        for (size_t i = 0; i < NRECORDS; i++) {
                const uint8_t *bytes = (const uint8_t *)raw.data + at;
                if (i > 0 && i % STEP == 0)
                        raw.data[at + 12] = 0; /* l_read_name */
                at += 4 + (size_t)(bytes[0] | bytes[1] << 8);
        }
        assert_int_equal(at, raw.n);
        for (int t = 1; t <= 8; t++) {
                struct setting setting = { .k = 21, .nworkers = t, .chunk_nbytes = 1 };
                setting.record_max =
                        t % 2 ? 100 : 0; /* if set, records that are cut come in pieces */
                struct buffer bam = pack_bam(&raw, 2000, (uint64_t)t);
                struct outcome got = read_bytes(&bam, &setting);
                assert_refused(&got, ": alignment record 41 has a name of length 0");
                drop(&bam);
        }
        drop(&raw);
}

/* A block is damaged: the message names it, and how many records precede it. */
static void test_damaged_block(void **state)
{
        (void)state;
        char want[200];
        struct buffer raw = small_bam(), bam = { 0 };
        const char *name = memmem(raw.data, raw.n, "bc\0", 3);
        size_t second = (size_t)(name - raw.data) - 36, block;
        bgzf_block(&bam, raw.data, second);
        bgzf_block(&bam, raw.data + second, 20);
        block = bam.n;
        bgzf_block(&bam, raw.data + second + 20, raw.n - second - 20);
        bgzf_end(&bam);
        bam.data[block + 30] ^= 4;
        for (int t = 1; t <= 3; t++) {
                struct setting setting = { .k = 2, .nworkers = t, .chunk_nbytes = t % 2 };
                struct outcome got = read_bytes(&bam, &setting);
                snprintf(want, sizeof want, "-input is corrupt: the BGZF block at byte %zu has ",
                         block);
                assert_refused(&got, want);
                assert_refused(&got, AGAIN " (alignment records read: 1)");
        }
        drop(&bam);
        drop(&raw);
}

/* Two BAM files, one after the other, are not BAM; nor is BAM with a gzip member after it. */
static void test_concatenated(void **state)
{
        (void)state;
        struct setting setting = { .k = 2, .nworkers = 2 };
        struct buffer raw = small_bam(), bam = pack_bam(&raw, 500, 1);
        struct buffer twice = pack_bam(&raw, 500, 2);
        put(&twice, bam.data, bam.n);
        struct outcome got = read_bytes(&twice, &setting);
        assert_refused(&got, ": alignment record 4 is truncated: the file ends within it");
        gzip_member(&bam, "more", 4);
        got = read_bytes(&bam, &setting);
        assert_refused(&got, "bytes that are not BGZF after the end of its BGZF data");
        drop(&twice);
        drop(&bam);
        drop(&raw);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_changed_bytes),  cmocka_unit_test(test_truncated_text),
                cmocka_unit_test(test_truncated_file), cmocka_unit_test(test_damaged_records),
                cmocka_unit_test(test_damaged_header), cmocka_unit_test(test_first_damage),
                cmocka_unit_test(test_damaged_block),  cmocka_unit_test(test_concatenated),
        };
        return cmocka_run_group_tests(tests, quiet, NULL);
}
