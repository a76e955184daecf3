/* SAM, BAM and CRAM. */
#include "tests/io/parse/alignment_support.h"
#include "tests/sampling.h"

/* Reads as they came from the sequencer, and how an aligner stored them. */
static const struct stored {
        int flag;
        const char *seq, *qual; /* in the file */
        const char *read;       /* what was sequenced; NULL: must be left out */
} records[] = {
        { 4, "ACGTACGTNNACG", "IIIIIIIIIIIII", "ACGTACGTNNACG" },
        { 0, "GGGGCCCCATA", "IIIII#IIIII", "GGGGCCCCATA" },
        { 16, "GGGGCCCCATA", "#IIIIIIIIII", "TATGGGGCCCC" },
        { 0x100, "GGGGCCCCATA", "IIIIIIIIIII", NULL },
        { 0x800, "GGGGCCCC", "IIIIIIII", NULL },
        { 0x910, "GGGGCCCC", "IIIIIIII", NULL },
        { 4, "*", "*", "" },
        { 77, "ACGRYTTTT", "*", "ACGRYTTTT" },
        { 16, "AACCGGTTRN", "IIIIIIIII#", "NNAACCGGTT" },
};
enum { NRECORDS = sizeof records / sizeof records[0] };

static struct buffer sam_text(size_t copies)
{
        struct buffer b = { 0 };
        char line[256];
        puts_to(&b, "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:100000\n");
        for (size_t c = 0; c < copies; c++)
                for (size_t i = 0; i < NRECORDS; i++) {
                        const struct stored *r = &records[i];
                        bool mapped = (r->flag & 4) == 0;
                        snprintf(line, sizeof line, "r%zu.%zu\t%d\t%s\t%d\t%d\t", c, i, r->flag,
                                 mapped ? "chr1" : "*", mapped ? 100 : 0, mapped ? 60 : 0);
                        puts_to(&b, line);
                        snprintf(line, sizeof line, "%zuM", strlen(r->seq));
                        puts_to(&b, mapped ? line : "*");
                        snprintf(line, sizeof line, "\t*\t0\t0\t%s\t%s\n", r->seq, r->qual);
                        puts_to(&b, line);
                }
        return b;
}

/* Whether base i of the read as sequenced has a quality below 20: '#' at its place in the file. */
static bool is_low(const struct stored *r, size_t i)
{
        size_t n = strlen(r->seq);
        return r->qual[0] != '*' && r->qual[r->flag & 16 ? n - 1 - i : i] == '#';
}

static struct outcome expect_records(size_t copies, const struct setting *setting)
{
        struct outcome want = { 0 };
        for (size_t c = 0; c < copies; c++)
                for (size_t i = 0; i < NRECORDS; i++) {
                        const char *read = records[i].read;
                        if (read == NULL)
                                continue;
                        size_t n = strlen(read), skipped = skipped_of(setting, n);
                        char qual[32] = "";
                        for (size_t j = skipped; j < n; j++) {
                                bool low = setting->min_quality > 0 && is_low(&records[i], j);
                                qual[j] = low ? '#' : 'I';
                                if (!upper_base(read[j]))
                                        want.totals.nskipped++;
                                else if (low)
                                        want.totals.nlow_quality++;
                        }
                        digest_sequence(&want.digest, read + skipped, qual + skipped, n - skipped,
                                        setting->k, setting->min_quality, false);
                        want.totals.nreads++;
                        want.totals.nbases += n - skipped;
                        want.totals.nleft_out += skipped;
                }
        return want;
}

static void check_kinds(const struct buffer *bytes, size_t copies)
{
        for (int t = 1; t <= 4; t += THREAD_STRIDE)
                for (int q = 0; q <= 20; q += 20) {
                        struct setting setting = { .k = 3,
                                                   .min_quality = q,
                                                   .nworkers = t,
                                                   .selection.nskip = t / 2 * 3,
                                                   .chunk_nbytes = t % 2 ? 0 : 100 };
                        struct outcome want = expect_records(copies, &setting);
                        struct outcome got = read_bytes(bytes, &setting);
                        assert_outcome(&got, &want);
                        assert_int_equal(got.done, bytes->n);
                        assert_true(got.expected_nbases > 0);
                }
}

static void test_kinds(void **state)
{
        (void)state;
        static const char *const modes[] = { "wb", "wb0", "wz", "wc" };
        for (size_t copies = 1; copies < 10000; copies = 100 * copies + 7) {
                struct buffer sam = sam_text(copies);
                check_kinds(&sam, copies);
                for (size_t m = 0; m < 4; m++) {
                        struct buffer bytes = convert(&sam, modes[m], NULL);
                        check_kinds(&bytes, copies);
                        drop(&bytes);
                }
                drop(&sam);
        }
}

/* `samtools view x.bam` prints no header: unaligned reads do not need one. */
static void test_sam_without_header(void **state)
{
        (void)state;
        struct setting setting = { .k = 3, .nworkers = 1 };
        struct buffer sam = sam_text(1);
        char *body = strstr(sam.data, "r0.0"), *end = strchr(body, '\n');
        struct outcome got = read_text(body, &setting);
        assert_refused(&got, "samtools view -h");
        end[1] = 0;
        got = read_text(body, &setting);
        assert_int_equal(got.status, KC_OK);
        assert_int_equal(got.totals.nreads, 1);
        assert_int_equal(got.totals.nbases, 13);
        drop(&sam);
}

/* What looks like SAM's header in its first line, and is read as FASTQ or as SAM. */
static void test_names_like_headers(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                bool fastq;
        } cases[] = {
                { "@PG\tID:x\nACGTACGT\n+\nIIIIIIII\n", true },
                { "@SQ\tSN:chr\tLN:9\nACGT\nACGT\n+SQ\tSN:chr\tLN:9\nIIII\nIIII\n", true },
                { "@CO\ttext\r\nACGTACGT\r\n+\r\n@IIIIIII\r\n", true },
                { "@HD\t\n\n+\n\n@r\nACGTACGT\n+\nIIIIIIII\n", true },
                { "@RG\tID:x\n@PG\tID:y\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGTACGT\t*\n", false },
                { "@PG\tID:x\n+\t4\t*\t0\t0\t*\t*\t0\t0\tACGTACGT\t*\n", false },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct setting setting = { .k = 3, .nworkers = 1 };
                struct outcome got = read_text(cases[i].text, &setting);
                if (got.status != KC_OK)
                        print_error("case %zu: %s\n", i, got.message);
                assert_int_equal(got.status, KC_OK);
                assert_int_equal(got.totals.nbases, 8);
                /* text_nbytes is that of the file only if htslib did not read it */
                assert_int_equal(got.totals.text_nbytes == strlen(cases[i].text), cases[i].fastq);
        }
}

/* The sequence is longer than what is seen in advance. */
static void test_long_read_named_like_header(void **state)
{
        (void)state;
        struct setting setting = { .k = 3, .nworkers = 1 };
        struct buffer text = { 0 };
        puts_to(&text, "@PG\tID:x\n");
        for (int i = 0; i < 20000; i++)
                puts_to(&text, "ACGTACGTAC");
        struct buffer sam = { 0 };
        put(&sam, text.data, 300);
        struct outcome got = read_bytes(&sam, &setting);
        assert_refused(&got, ": record 1 is truncated");
        puts_to(&text, "\n+\n");
        for (int i = 0; i < 20000; i++)
                puts_to(&text, "IIIIIIIIII");
        puts_to(&text, "\n");
        got = read_bytes(&text, &setting);
        assert_int_equal(got.status, KC_OK);
        assert_int_equal(got.totals.nbases, 200000);
        drop(&sam);
        drop(&text);
}

static void check_cuts(const struct buffer *bytes, size_t step)
{
        struct setting setting = { .k = 3, .nworkers = 1 };
        for (size_t n = 1; n < bytes->n; n += step) {
                struct buffer cut = { .data = bytes->data, .n = n };
                setting.nworkers = 1 + (int)(n % 3);
                struct outcome got = read_bytes(&cut, &setting);
                if (got.status == KC_OK)
                        print_error("%s: cut at %zu of %zu\n",
                                    bytes->data[0] == 0x1f ? "gz" : "other", n, bytes->n);
                assert_refused(&got, "/tmp/kcount-test-");
        }
}

static void test_truncated(void **state)
{
        (void)state;
        static const char *const modes[] = { "wb", "wz", "wc" };
        struct buffer sam = sam_text(3);
        for (size_t m = 0; m < 3; m++) {
                struct buffer bytes = convert(&sam, modes[m], NULL);
                check_cuts(&bytes, CUT_STRIDE);
                drop(&bytes);
        }
        drop(&sam);
        sam = sam_text(5000);
        for (size_t m = 0; m < 3; m++) {
                struct buffer bytes = convert(&sam, modes[m], NULL);
                check_cuts(&bytes, bytes.n / (40 / THREAD_STRIDE) + 1);
                drop(&bytes);
        }
        drop(&sam);
}

/* SAM in gzip that is not BGZF. */
static void test_sam_in_gzip(void **state)
{
        (void)state;
        struct setting setting = { .k = 3, .nworkers = 2 };
        struct buffer sam = sam_text(50), packed = pack_text(&sam, GZIP, 0);
        struct outcome want = expect_records(50, &setting), got = read_bytes(&packed, &setting);
        assert_outcome(&got, &want);
        check_cuts(&packed, packed.n / 40 + 1);
        drop(&packed);
        static const enum packing others[] = { ZSTD, BZIP2, XZ };
        static const char *const refused[] = { "SAM inside zstd", "SAM inside bzip2",
                                               "SAM inside xz" };
        for (size_t i = 0; i < 3; i++) {
                packed = pack_text(&sam, others[i], 0);
                got = read_bytes(&packed, &setting);
                assert_refused(&got, refused[i]);
                drop(&packed);
        }
        drop(&sam);
}

static const char *growing_path;
static struct buffer growth; /* empty once it is added */

static void grow(void)
{
        FILE *file = fopen(growing_path, "ab");
        assert_non_null(file);
        assert_int_equal(fwrite(growth.data, 1, growth.n, file), growth.n);
        assert_int_equal(fclose(file), 0);
        growth.n = 0;
}

/* What is added to a SAM file while it is read is read too, and the bytes read include it. */
static void test_growing_sam(void **state)
{
        (void)state;
        enum { COPIES = 5000 };
        struct setting setting = {
                .k = 3, .nworkers = 1, .chunk_nbytes = 100, .after_batch = grow
        };
        struct buffer sam = sam_text(COPIES);
        struct outcome want = expect_records(COPIES, &setting);
        growing_path = scratch_path("growing.sam");
        write_file(growing_path, sam.data, sam.n - 5); /* within the last record */
        put(&growth, sam.data + sam.n - 5, 5);
        struct outcome got = read_paths(&growing_path, 1, &setting);
        assert_outcome(&got, &want);
        assert_int_equal(got.totals.input_nbytes, sam.n);
        unlink(growing_path);
        drop(&growth);
        drop(&sam);
}

static void assert_message(const struct outcome *got, const char *want)
{
        assert_int_equal(got->status, KC_EINPUT);
        assert_non_null(strstr(got->message, "-input"));
        assert_string_equal(strstr(got->message, "-input") + strlen("-input"), want);
}

static void refuse(const struct buffer *bytes, size_t n, const char *want)
{
        for (int t = 1; t <= 3; t++) {
                struct setting setting = { .k = 3, .nworkers = t };
                struct buffer cut = { .data = bytes->data, .n = n };
                struct outcome got = read_bytes(&cut, &setting);
                assert_message(&got, want);
        }
}

#define AGAIN "; copy or download the file again"

/* Where the last BGZF block with text begins. */
static size_t last_block(const struct buffer *bam)
{
        size_t at = 0, next = 0;
        while (next < bam->n - BGZF_END_NBYTES) {
                const uint8_t *block = (const uint8_t *)bam->data + next;
                at = next;
                next += (size_t)(block[16] | block[17] << 8) + 1;
        }
        return at;
}

/* A file cut within a block, one cut between two, and one with something after its end. */
static void test_bam_messages(void **state)
{
        (void)state;
        char want[300];
        struct buffer sam = sam_text(2000), bam = convert(&sam, "wb", NULL);
        snprintf(want, sizeof want,
                 " is truncated: the BGZF block at byte %zu is not complete" AGAIN
                 " (alignment records read: 17443)",
                 last_block(&bam));
        refuse(&bam, bam.n - 40, want);
        snprintf(want, sizeof want,
                 " is truncated: it ends at byte %zu without BGZF's end-of-file block" AGAIN
                 " (alignment records read: 18000) [samtools fastq FILE]",
                 bam.n - BGZF_END_NBYTES);
        refuse(&bam, bam.n - BGZF_END_NBYTES, want);
        size_t end = bam.n;
        put(&bam, "not BGZF!", 9);
        snprintf(want, sizeof want,
                 " has 9 bytes that are not BGZF after the end of its BGZF data (offset %zu): the "
                 "file is damaged there, or something was added to it (alignment records read: "
                 "18000) [head -c %zu FILE]",
                 end, end);
        refuse(&bam, bam.n, want);
        bam.n = end;
        bam.data[end - BGZF_END_NBYTES - 30] ^= 1;
        struct setting setting = { .k = 3, .nworkers = 1 };
        struct outcome got = read_bytes(&bam, &setting);
        snprintf(want, sizeof want, "-input is corrupt: the BGZF block at byte %zu has ",
                 last_block(&bam));
        assert_refused(&got, want);
        assert_refused(&got, " (alignment records read: 17443)");
        drop(&bam);

        bam = convert(&sam, "wb", NULL);
        struct buffer whole = inflate_all(&bam), blocks = { 0 };
        for (size_t at = 0; at < whole.n - 500; at += 50000)
                bgzf_block(&blocks, whole.data + at,
                           whole.n - 500 - at < 50000 ? whole.n - 500 - at : 50000);
        bgzf_end(&blocks);
        refuse(&blocks, blocks.n,
               ": alignment record 17992 is truncated: the file ends within it" AGAIN);
        whole.n -= 500;
        refuse(&whole, whole.n,
               ": alignment record 17992 is truncated: the file ends within it" AGAIN);
        drop(&blocks);
        drop(&whole);
        drop(&bam);
        drop(&sam);
}

static void test_sam_messages(void **state)
{
        (void)state;
        struct buffer sam = sam_text(2);
        refuse(&sam, sam.n - 12, ": alignment record 18 (line 20) is truncated or damaged");
        sam.n = 0;
        puts_to(&sam, "r\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\nr\t0\tchr1\t1\t0\t4M\t*\t0\t0\t"
                      "ACGT\tIIII\n");
        refuse(&sam, sam.n,
               ": alignment record 2 (line 2) is truncated or damaged, or the header that names "
               "its reference sequence is missing (samtools view -h keeps it)");
        drop(&sam);
}

static const char no_end[] = " is truncated: it does not end with CRAM's end-of-file container (or "
                             "something was added after it)" AGAIN;

/* Three causes, three messages: not readable at all, truncated, damaged; see below for a fourth. */
static void test_cram_messages(void **state)
{
        (void)state;
        enum { END_NBYTES = 38 };
        char want[300];
        struct buffer sam = sam_text(100), cram = convert(&sam, "wc", NULL);
        refuse(&cram, cram.n - END_NBYTES, no_end);
        refuse(&cram, cram.n - 1, no_end);
        refuse(&cram, cram.n / 2, no_end);
        put(&cram, "x", 1);
        refuse(&cram, cram.n, no_end);
        cram.n--;
        cram.data[4] = 9;
        snprintf(want, sizeof want,
                 " is CRAM 9.0, which htslib %s cannot read; convert it to CRAM 3.0 or BAM with a "
                 "program that can",
                 hts_version());
        refuse(&cram, cram.n, want);
        cram.data[4] = 3;
        /* The reads' container follows the header's; its blocks fill it to its end. */
        size_t ndamaged = 0;
        for (size_t at = cram.n / 3; at < cram.n - END_NBYTES; at += 7 * THREAD_STRIDE) {
                struct setting setting = { .k = 3, .nworkers = 1 + (int)(at % 3) };
                cram.data[at] ^= 0x10;
                struct outcome got = read_bytes(&cram, &setting);
                if (got.status != KC_OK)
                        assert_refused(&got, "-input is corrupt: damaged CRAM container at byte ");
                else /* blocks that hold neither flags nor bases are not decoded */
                        assert_int_equal(got.totals.nreads, 600);
                ndamaged += got.status != KC_OK;
                cram.data[at] ^= 0x10;
        }
        assert_true(ndamaged > 0);
        drop(&cram);
        drop(&sam);
}

static void test_cram_without_reference(void **state)
{
        (void)state;
        struct buffer sam = sam_text(3), fasta = { 0 };
        const char *reference = scratch_path("reference.fa"),
                   *index = scratch_path("reference.fa.fai");
        puts_to(&fasta, ">chr1\n");
        for (int i = 0; i < 25000; i++)
                puts_to(&fasta, "ACGT");
        puts_to(&fasta, "\n");
        write_file(reference, fasta.data, fasta.n);
        struct buffer cram = convert(&sam, "wc", reference);
        unlink(reference);
        unlink(index);
        struct setting setting = { .k = 3, .nworkers = 1 };
        struct outcome got = read_bytes(&cram, &setting);
        assert_refused(&got, "-input: the reference sequence that this CRAM file needs was not "
                             "found, or is a different one (alignment records read: ");
        assert_refused(&got, ") [samtools fastq --reference REF.fa FILE]");
        refuse(&cram, cram.n - 5, no_end);
        drop(&cram);
        drop(&fasta);
        drop(&sam);
}

/* For LeakSanitizer: htslib 1.16 does not free a container if one of its slices is damaged. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
        return "leak:^cram_\n";
}

static int no_network(void **state)
{
        (void)state;
        hts_set_log_level(HTS_LOG_OFF);
        setenv("REF_CACHE", "/nonexistent/%s", 1);
        return setenv("REF_PATH", "/nonexistent/%s", 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kinds),
                cmocka_unit_test(test_sam_without_header),
                cmocka_unit_test(test_names_like_headers),
                cmocka_unit_test(test_long_read_named_like_header),
                cmocka_unit_test(test_truncated),
                cmocka_unit_test(test_sam_in_gzip),
                cmocka_unit_test(test_bam_messages),
                cmocka_unit_test(test_sam_messages),
                cmocka_unit_test(test_cram_messages),
                cmocka_unit_test(test_cram_without_reference),
                cmocka_unit_test(test_growing_sam),
        };
        return cmocka_run_group_tests(tests, no_network, NULL);
}
