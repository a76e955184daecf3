/* Damaged and foreign input: always an error that says where, never an incomplete count. */
#include "tests/io/parse/reader_support.h"
#include "tests/sampling.h"

static const struct setting plain_setting = { .k = 5, .nworkers = 1, .chunk_nbytes = 100 };

static struct buffer small_fastq(uint64_t seed)
{
        struct reads reads = make_reads(
                (struct reads_shape){ .n = 12, .max_nbases = 40, .odd_letters = true }, seed);
        struct buffer text = format_reads(&reads, &(struct layout){ 0 });
        free_reads(&reads);
        return text;
}

/* Every cut copy is refused, except BGZF that lacks only its end-of-file block. */
static void check_truncation(enum packing packing)
{
        struct buffer text = small_fastq(7);
        struct buffer packed = pack_text(&text, packing, 150);
        for (int t = 1; t <= 3; t += 2)
                for (size_t n = 0; n < packed.n; n += CUT_STRIDE) {
                        struct buffer cut = { .data = packed.data, .n = n };
                        struct setting setting = plain_setting;
                        setting.nworkers = t;
                        struct outcome got = read_bytes(&cut, &setting);
                        if (packing == BLOCKS && n == packed.n - BGZF_END_NBYTES)
                                assert_int_equal(got.status, KC_OK);
                        else
                                assert_refused(&got, "/tmp/kcount-test-");
                }
        drop(&text);
        drop(&packed);
}

static void test_truncated(void **state)
{
        (void)state;
        check_truncation(GZIP);
        check_truncation(BLOCKS);
        check_truncation(ZSTD);
        check_truncation(BZIP2);
        check_truncation(XZ);
}

/* Several members: a cut between two of them shows only if it lies within a record. */
static void test_truncated_members(void **state)
{
        (void)state;
        struct buffer text = small_fastq(7);
        for (int packing = GZIP_MEMBERS; packing < NPACKINGS; packing++) {
                if (!is_in_parts((enum packing)packing))
                        continue;
                struct buffer packed = pack_text(&text, (enum packing)packing, 150);
                size_t nwhole = 0;
                for (size_t n = 1; n < packed.n; n += CUT_STRIDE) {
                        struct buffer cut = { .data = packed.data, .n = n };
                        struct outcome got = read_bytes(&cut, &plain_setting);
                        nwhole += got.status == KC_OK;
                }
                assert_true(nwhole <= 1);
                drop(&packed);
        }
        drop(&text);
}

/* Plain text can be cut between two records, with or without the line end, and nowhere else. */
static void test_truncated_text(void **state)
{
        (void)state;
        static const char text[] = "@a\nACGT\n+\nIIII\n@b x\nACGTACGTT\n+b x\n@+IIIIIII\n"
                                   "@c\nA\n+\nI\n";
        static const size_t records[] = { 15, 45, 54 };
        for (size_t chunk = 1; chunk < 60; chunk += CUT_STRIDE)
                for (size_t n = 1; n < sizeof text; n++) {
                        struct buffer cut = { .data = (char *)text, .n = n };
                        struct setting setting = { .k = 1, .nworkers = 2, .chunk_nbytes = chunk };
                        struct outcome got = read_bytes(&cut, &setting);
                        size_t whole = 0;
                        for (size_t r = 0; r < 3; r++)
                                if (n + 1 == records[r] || n == records[r])
                                        whole = r + 1;
                        if (whole > 0)
                                assert_int_equal(got.totals.nreads, whole);
                        else
                                assert_refused(&got, "is truncated");
                }
}

/* Every bit of a compressed file matters, except in header fields that do not concern the text. */
static void test_flipped_bits(void **state)
{
        (void)state;
        static const enum packing packings[] = { GZIP, GZIP_MEMBERS, BLOCKS, ZSTD, BZIP2, XZ };
        struct setting setting = plain_setting;
        struct buffer text = small_fastq(8);
        for (size_t p = 0; p < sizeof packings / sizeof *packings; p++) {
                struct buffer packed = pack_text(&text, packings[p], 150);
                struct outcome want = read_bytes(&packed, &setting);
                assert_int_equal(want.status, KC_OK);
                for (size_t bit = 0; bit < 8 * packed.n; bit += (1 + bit % 3) * CUT_STRIDE) {
                        setting.nworkers = 1 + (int)(bit % 2);
                        packed.data[bit / 8] ^= (char)(1 << bit % 8);
                        struct outcome got = read_bytes(&packed, &setting);
                        if (got.status == KC_OK)
                                assert_outcome(&got, &want);
                        else
                                assert_refused(&got, "/tmp/kcount-test-");
                        packed.data[bit / 8] ^= (char)(1 << bit % 8);
                }
                drop(&packed);
        }
        drop(&text);
}

/* The bytes after the deflate data are CRC32 and length: each must be checked. */
static void test_wrong_trailer(void **state)
{
        (void)state;
        static const enum packing packings[] = { GZIP, BLOCKS };
        struct buffer text = small_fastq(9);
        for (size_t p = 0; p < 2; p++)
                for (size_t i = 1; i <= 8; i++) {
                        struct buffer packed = pack_text(&text, packings[p], 1u << 16);
                        size_t end = packed.n - (packings[p] == BLOCKS ? BGZF_END_NBYTES : 0);
                        packed.data[end - i] ^= 1;
                        struct outcome got = read_bytes(&packed, &plain_setting);
                        assert_refused(&got, "corrupt");
                        drop(&packed);
                }
        drop(&text);
}

/* Read bytes with one thread and with three, which inflate a gzip stream together. */
static void refuse_bytes(const struct buffer *bytes, const char *part)
{
        for (int t = 1; t <= 3; t += 2) {
                struct setting setting = plain_setting;
                setting.nworkers = t;
                struct outcome got = read_bytes(bytes, &setting);
                assert_refused(&got, part);
        }
}

/* Bytes after compressed data are an error; the message says how many they are and where. */
static void check_trailing(enum packing packing, const char *format)
{
        static const char junk[] = "not part of any compressed file, and longer than any header";
        struct buffer text = small_fastq(10), packed = pack_text(&text, packing, 200);
        size_t end = packed.n;
        char part[128];
        for (size_t n = 1; n < sizeof junk; n += CUT_STRIDE + n / 8) {
                put(&packed, junk, n);
                snprintf(part, sizeof part,
                         n == 1 ? "-input has %zu byte that is not %s after the end of its %s data "
                                  "(offset %zu):"
                                : "-input has %zu bytes that are not %s after the end of its %s "
                                  "data (offset %zu):",
                         n, format, format, end);
                refuse_bytes(&packed, part);
                packed.n = end;
        }
        drop(&packed);
        drop(&text);
}

static void test_trailing(void **state)
{
        (void)state;
        check_trailing(GZIP, "gzip");
        check_trailing(GZIP_MEMBERS, "gzip");
        check_trailing(BLOCKS, "gzip");
        check_trailing(ZSTD, "zstd");
        check_trailing(BZIP2, "bzip2");
        check_trailing(BZIP2_STREAMS, "bzip2");
        check_trailing(XZ, "xz");
        check_trailing(XZ_STREAMS, "xz");
}

/* Zeros up to the end of the file are padding, as on tapes; zeros before anything else are not. */
static void check_padding(enum packing packing)
{
        static const char zeros[600] = { 0 };
        struct buffer text = small_fastq(10), packed = pack_text(&text, packing, 200);
        struct outcome want = read_bytes(&text, &plain_setting);
        size_t end = packed.n;
        char part[128];
        for (size_t n = 1; n <= sizeof zeros; n += 1 + n / 2) {
                put(&packed, zeros, n);
                for (int t = 1; t <= 3; t += 2) {
                        struct setting setting = plain_setting;
                        setting.nworkers = t;
                        struct outcome got = read_bytes(&packed, &setting);
                        assert_outcome(&got, &want);
                }
                put(&packed, "x", 1);
                snprintf(part, sizeof part,
                         "-input has 1 byte after zeros that end the gzip data (offset %zu):",
                         end + n);
                refuse_bytes(&packed, part);
                packed.n = end;
        }
        drop(&packed);
        drop(&text);
}

static void test_padding(void **state)
{
        (void)state;
        check_padding(GZIP);
        check_padding(BLOCKS);
}

/* Between streams of xz and after the last one, zeros are padding, a multiple of 4. */
static void test_xz_padding(void **state)
{
        (void)state;
        static const char zeros[16] = { 0 };
        struct buffer text = small_fastq(10), twice = { 0 };
        struct buffer packed = pack_text(&text, XZ, 0), padded = { 0 };
        put(&twice, text.data, text.n);
        put(&twice, text.data, text.n);
        struct outcome want = read_bytes(&text, &plain_setting);
        struct outcome want_twice = read_bytes(&twice, &plain_setting);
        for (size_t n = 0; n <= sizeof zeros; n += THREAD_STRIDE) {
                padded.n = 0;
                put(&padded, packed.data, packed.n);
                put(&padded, zeros, n);
                struct outcome got = read_bytes(&padded, &plain_setting);
                if (n % 4 == 0)
                        assert_outcome(&got, &want);
                else
                        refuse_bytes(&padded, "is truncated: its xz data breaks off");
                put(&padded, packed.data, packed.n);
                got = read_bytes(&padded, &plain_setting);
                if (n % 4 == 0)
                        assert_outcome(&got, &want_twice);
                else
                        refuse_bytes(&padded, n < 4 ? "bytes that are not xz after the end of its"
                                                    : "bytes after zeros that end the xz data");
        }
        padded.n = packed.n;
        put(&padded, zeros, 8);
        put(&padded, "x", 1);
        refuse_bytes(&padded, "has 1 byte after zeros that end the xz data");
        drop(&padded);
        drop(&packed);
        drop(&twice);
        drop(&text);
}

/* A dictionary that does not fit in the reader's memory: the message says how much it takes. */
static void test_xz_memory(void **state)
{
        (void)state;
        lzma_options_lzma options;
        lzma_filter filters[] = { { .id = LZMA_FILTER_LZMA2, .options = &options },
                                  { .id = LZMA_VLI_UNKNOWN } };
        struct buffer text = small_fastq(10), packed = { 0 };
        uint8_t out[4096];
        size_t n = 0;
        assert_false(lzma_lzma_preset(&options, 0));
        options.dict_size = 64 << 20;
        assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL,
                                                   (uint8_t *)text.data, text.n, out, &n,
                                                   sizeof out),
                         LZMA_OK);
        put(&packed, out, n);
        struct setting setting = plain_setting;
        struct outcome want = read_bytes(&text, &setting), got = read_bytes(&packed, &setting);
        assert_outcome(&got, &want);
        setting.memory_nbytes = 40 << 20;
        got = read_bytes(&packed, &setting);
        assert_refused(&got, "was compressed with a dictionary that takes 65 MiB of memory");
        drop(&packed);
        drop(&text);
}

/* The beginning of another member is not trailing data: the file is truncated. */
static void test_cut_member(void **state)
{
        (void)state;
        struct buffer text = small_fastq(10);
        for (int packing = GZIP; packing <= BLOCKS; packing++) {
                struct buffer packed = pack_text(&text, (enum packing)packing, 1 << 15);
                struct buffer twice = { 0 };
                for (size_t n = 1; n < 30; n += CUT_STRIDE) {
                        put(&twice, packed.data, packed.n);
                        put(&twice, packed.data, n);
                        refuse_bytes(&twice, "is truncated");
                        twice.n = 0;
                }
                put(&twice, packed.data, packed.n);
                put(&twice, packed.data, packed.n);
                twice.data[packed.n + 3] |= (char)0x80;
                refuse_bytes(&twice,
                             packing == BLOCKS ? "is corrupt" : "unknown flags in the gzip");
                drop(&twice);
                drop(&packed);
        }
        drop(&text);
}

static void refuse_text(const char *text, const char *part)
{
        for (size_t chunk = 1; chunk < 300; chunk += (1 + chunk / 8) * CUT_STRIDE)
                for (int t = 1; t <= 3; t++) {
                        struct setting setting = { .k = 3, .nworkers = t, .chunk_nbytes = chunk };
                        struct outcome got = read_text(text, &setting);
                        assert_refused(&got, part);
                }
}

static void test_bad_records(void **state)
{
        (void)state;
        refuse_text("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIII\n@c\nAC\n+\nII\n",
                    "record 2 has 4 bases but 3 quality letters");
        refuse_text("@a\nACGT\n+\nIIIII\n@b\nACGT\n+\nIIII\n",
                    "record 1 has 4 bases but 5 quality letters");
        refuse_text("@a\r\nACGTN\r\n+\r\nIIII\r\n@b\r\nA\r\n+\r\nI\r\n",
                    "record 1 has 5 bases but 4 quality letters");
        refuse_text("@a\nACGT\n+\nIIII\nb\nACGT\n+\nIIII\n",
                    "record 2 does not begin with '@' but with \"b\"");
        refuse_text("@a\nACGT\n+\nIIII\n>b\nACGT\n",
                    "record 2 does not begin with '@' but with \">b\"");
        refuse_text("@a\nACGT\nIIII\n@b\nACGT\n+\nIIII\n", "record 1 has no '+' line");
        refuse_text("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nII", "record 2 is truncated");
        refuse_text("@a\nACGT\n+\nIIII\n@b\nACGT\n+\n", "record 2 is truncated");
        refuse_text("@a\nACGT\n+\nIIII\n@b\nACG", "record 2 is truncated");
        refuse_text("@a\nACGT\n+\nIIII\n@b", "record 2 is truncated");
        refuse_text("@a\nAC\001T\n+\nIIII\n@b\nACGT\n+\nIIII\n",
                    "record 1 holds binary data (byte 0x01)");
        refuse_text(">a\nACGT\n>b\nAC\002GT\n", "record 2 holds binary data (byte 0x02)");
        refuse_text("@\xe9\nACGT\n+\nIIII\n@b\nAC\xc3\xa9\n+\nIIII\n",
                    "record 2 has the byte 0xc3 in its sequence: the file is damaged");
        refuse_text("@a\nAC\nGT\xa0\n+\nIIIII\n@b\nACGT\n+\nIIII\n",
                    "record 1 has the byte 0xa0 in its sequence");
        refuse_text(">a\nACGT\n>b\nACGT\nAC\xffGT\n>c\nA\200\n",
                    "record 2 has the byte 0xff in its sequence");
        refuse_text(">a\nACGT\n@b\nACGT\n+\nIIII\n", "record 1 has a line that begins with '@'");
        refuse_text("@a\nACGT\n+\nIIII\n@b\rACGT\r+\rIIII\r",
                    "record 2 has a carriage return within a line");
        refuse_text(">a\nACGT\n>b\rACGT\n", "record 2 has a carriage return within a line");
        refuse_text(">a\nACGT\r>b\rACGT\r", "record 1 has a carriage return within a line");
        refuse_text("; only\nACGT\n", "record 1 has no '>' line");
}

/* Files joined by cat of which one has no last line end, and headers after blanks. */
static void test_inner_headers(void **state)
{
        (void)state;
#define INNER(n) \
        "record " #n " has '>' in its sequence: a line end is missing before '>', or blanks"
        refuse_text(">a\nACGTACGT>b GATTACA\nACGT\n", INNER(1));
        refuse_text(">a\nACGT\n>b x\nAC\nACGT>c\nACGT", INNER(2));
        refuse_text(">a\r\nACGT>b\r\nACGT\r\n", INNER(1));
        refuse_text(">a\nACGT\n >b\nACGT\n", INNER(1));
        refuse_text(">a\nACGT\n>b\nACGT\n\n\t  \t>c\nACGT\n", INNER(2));
        refuse_text(">a\nACGT>\n>b\nACGT\n", INNER(1));
        refuse_text(">a\nACGT  \t >b\nACGT\n", INNER(1));
        refuse_text("> >a\n> ACGT\n>>>\nACGT>>>\n", INNER(3));
        refuse_text(";c\n >a\nACGT\n", INNER(1));
        refuse_text("@a\nACGT\n+\nIIII\n@b\nAC>GT\n+\nI>III\n@c\nA\n+\nI\n", INNER(2));
        refuse_text("@a\nACGT\n+\nIIII\n@b\nAC\nG>T\n+\nIII\nII\n", INNER(2));
        refuse_text("@a\nACGT\n >b\n+\nIIIIIII\n", INNER(1));
#undef INNER
}

/* Control characters: each of them, in every kind of sequence. */
static void test_control_characters(void **state)
{
        (void)state;
        static const char *const formats[] = {
                ">a\nACGT\n>b\nAC\nA%cC\n>c\nACGT\n",
                ">a\nACGT\n>b\nACGT%c\r\n",
                "@a\nACGT\n+\nIIII\n@b\nAC%cGT\n+\nIIIII\n@c\nA\n+\nI\n",
                "@a\nACGT\n+\nIIII\n@b\nACGT\n%cA\n+\nIIIIII\n@c\nA\n+\nI\n",
        };
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
                for (int c = '\v'; c <= 127; c = c == ' ' - 1 ? 127 : c + 1) {
                        char text[80], part[64];
                        snprintf(text, sizeof text, formats[f], c);
                        snprintf(part, sizeof part,
                                 c == '\r' ? "record 2 has a carriage return within a line"
                                           : "record 2 has the byte 0x%02x in its sequence",
                                 (unsigned)c);
                        refuse_text(text, part);
                }
        refuse_text(">a\nACG \r \nTTT\n", "record 1 has a carriage return within a line");
        refuse_text(">a\nACG\n>b\n\r\r\nACG\n", "record 2 has a carriage return within a line");
}

/* A wrong record hidden among strict ones: the number of lines is right, the lengths are not. */
static void test_quality_swallows(void **state)
{
        (void)state;
        refuse_text("@a\nACGTACGTAC\n+\nIIIIII\n@bc\nACGT\n+\nIIII\n@d\nAC\n+\nII\n",
                    "record 1 has 10 bases but 6 quality letters");
        /* five lines each, one letter short: the line end within could pass for that letter */
#define SHORT_RECORD "@a\nACGTACGTAC\n+\nIIII\nIIIII\n"
        refuse_text(SHORT_RECORD SHORT_RECORD SHORT_RECORD SHORT_RECORD,
                    "record 1 has 10 bases but 4 quality letters");
}

/* Blanks are letters within a line but not at its end; the message names them if lengths differ. */
static void test_blanks(void **state)
{
        (void)state;
#define IN_SEQUENCE ": there is a space or tab in or after its sequence"
#define IN_QUALITY  ": there is a space or tab in or after its quality"
#define GOOD        "@x\nACGT\n+\nIIII\n"
        refuse_text(GOOD "@a\nACGT \n+\nIIIII\n" GOOD,
                    "record 2 has 4 bases but 5 quality letters" IN_SEQUENCE);
        refuse_text(GOOD "@a\nACGT \nA\n+\nIIIIII\n" GOOD,
                    "record 2 has 5 bases but 6 quality letters" IN_SEQUENCE);
        refuse_text(GOOD "@a\nAC\tGT\n+\nIIII\n" GOOD,
                    "record 2 has 5 bases but 4 quality letters" IN_SEQUENCE);
        refuse_text(GOOD "@a\nACGT\n+\nII II\n" GOOD,
                    "record 2 has 4 bases but 5 quality letters" IN_QUALITY);
        refuse_text(GOOD "@a\nACGT\n+\nIII \t\r\n" GOOD,
                    "record 2 has 4 bases but 3 quality letters" IN_QUALITY);
        refuse_text(GOOD "@a\nACGT\n+\nIII \n",
                    "record 2 is truncated: the file ends within it, with 4 bases but 3 quality "
                    "letters" IN_QUALITY);
        refuse_text(GOOD "@a\nAC GT\n+\nIIII\n",
                    "record 2 is truncated: the file ends within it, with 5 bases but 4 quality "
                    "letters" IN_SEQUENCE);
        refuse_text(GOOD "     @a\nACGT\n+\nIIII\n", "record 2 does not begin with '@'");
#undef IN_SEQUENCE
#undef IN_QUALITY
#undef GOOD
}

/* The same record is blamed for any number of threads and any chunk size. */
static void test_first_error_wins(void **state)
{
        (void)state;
        struct buffer text = { 0 };
        char line[64];
        for (int i = 1; i <= 400; i++) {
                snprintf(line, sizeof line, "@r%d\nACGTACGTAA\n+\n%s\n", i,
                         i == 200 || i == 203 || i == 390 ? "IIII" : "IIIIIIIIII");
                puts_to(&text, line);
        }
        for (int round = 0; round < 40; round++) {
                struct setting setting = { .k = 3,
                                           .nworkers = 1 + round % 4,
                                           .chunk_nbytes = 30 + 17 * (size_t)round,
                                           .record_max = (size_t)round % 3 };
                struct outcome got = read_bytes(&text, &setting);
                assert_refused(&got, "record 200 has 10 bases but 4 quality letters");
        }
        drop(&text);
}

enum { MIB = 1 << 20 };

enum { NSHORT = 60000 };

/* A record of nbytes bytes of text, in lines of this width, with short records around it. */
static struct buffer long_record(size_t nbytes, size_t width)
{
        struct buffer text = { 0 };
        size_t nlines = 2 * (nbytes / 2 / (width + 1)), n = (nbytes - 5 - nlines) / 2;
        puts_to(&text, "@a\nACGT\n+\nIIII\n@b\n");
        for (int part = 0; part < 2; part++) {
                for (size_t at = 0; at < n; at += width)
                        for (size_t i = at; i <= at + width && i <= n; i++)
                                puts_to(&text, i == at + width || i == n ? "\n" : part ? "I" : "C");
                puts_to(&text, part ? "" : "+\n");
        }
        for (int i = 0; i < NSHORT; i++)
                puts_to(&text, "@c\nACGT\n+\nIIII\n");
        return text;
}

/* Without qualities a record of any length is read. With them, a sequence has to be held in memory,
 * and the message says how long it is and how much memory that takes. */
static void check_long(size_t nbytes, size_t width)
{
        struct buffer text = long_record(nbytes, width);
        for (int t = 1; t <= 3; t += 2)
                for (size_t chunk = 20000; chunk < 4 * MIB; chunk *= 13) {
                        struct setting setting = { .k = 31,
                                                   .nworkers = t,
                                                   .chunk_nbytes = chunk,
                                                   .record_max = MIB,
                                                   .sequence_max = MIB / 2 };
                        struct outcome got = read_bytes(&text, &setting);
                        assert_int_equal(got.status, KC_OK);
                        assert_int_equal(got.totals.nreads, 2 + NSHORT);
                        if (nbytes < MIB || chunk >= MIB)
                                continue;
                        setting.min_quality = 20;
                        got = read_bytes(&text, &setting);
                        assert_refused(&got, ": record 2 has ");
                        assert_refused(&got, " bases, more than the 524288 that memory can hold "
                                             "until their qualities are read");
                }
        drop(&text);
}

static void check_piece(const char *text, const char *message)
{
        struct setting setting = { .k = 3, .nworkers = 1, .chunk_nbytes = 7, .record_max = 1 };
        struct outcome got = read_text(text, &setting);
        assert_refused(&got, message);
}

/* An error in a record is reported even if the record comes in pieces. */
static void test_bad_pieces(void **state)
{
        (void)state;
        check_piece("@a\nACGTACGTACGT\n+\nIIIIIIIIIIIII\n", "has 12 bases but 13 quality letters");
        check_piece("@a\nACGTAC\nGTACGT\n+\nIIIIII\nIIIIIIII\n",
                    "has 12 bases but 14 quality letters");
        check_piece("@a\nACGTACGTACGT\n@b\nACGT\n+\nIIII\n",
                    "record 1 has no '+' line after its sequence");
        check_piece("@a\nACGTACGTACGT\nACGTAC", "record 1 is truncated: the file ends within it");
        check_piece("@a\nACGTACGTACGT\n+\nIIIIII",
                    "record 1 is truncated: the file ends within it, with 12 bases but 6 quality "
                    "letters");
        check_piece("@a\nACGTACG\001TACGT\n+\nIIIIIIIIIIIII\n",
                    "record 1 holds binary data: this is not FASTQ");
        check_piece("@\xe9\nACGTACG\xe9TACGT\n+\nIIIIIIIIIIIII\n",
                    "record 1 has the byte 0xe9 in its sequence");
}

/* More blanks than are kept until the line ends: FASTQ is refused, FASTA only counts them. */
static void test_many_blanks(void **state)
{
        (void)state;
        enum { MANY = (1 << 20) + 100000 };
        char *blanks = malloc(MANY + 1), *text = malloc(MANY + 64);
        memset(blanks, ' ', MANY);
        blanks[MANY] = 0;
        struct setting setting = {
                .k = 3, .nworkers = 2, .chunk_nbytes = 1 << 16, .record_max = 1
        };
        sprintf(text, "@a\nACGT%s\n+\nIIII\n", blanks);
        struct outcome got = read_text(text, &setting);
        assert_refused(&got, "record 1 has more than 1048576 spaces and tabs in a row");
        sprintf(text, ">a\nACGT%s\nACGT\n", blanks);
        got = read_text(text, &setting);
        assert_int_equal(got.status, KC_OK);
        assert_int_equal(got.totals.nbases, 8);
        assert_int_equal(got.digest.nkmers, 6);
        sprintf(text, ">a\nACGT%sACGT\n", blanks);
        got = read_text(text, &setting);
        assert_int_equal(got.status, KC_OK);
        assert_int_equal(got.totals.nbases, 8 + MANY);
        assert_int_equal(got.totals.nskipped, MANY);
        assert_int_equal(got.digest.nkmers, 4);
        free(blanks);
        free(text);
}

/* A long record with an odd byte, wherever the text is cut. */
static void refuse_in_pieces(const char *text, const char *part)
{
        for (size_t chunk = 2; chunk < 40; chunk += CUT_STRIDE) {
                struct setting setting = {
                        .k = 3, .nworkers = 1, .chunk_nbytes = chunk, .record_max = 1
                };
                struct outcome got = read_text(text, &setting);
                assert_refused(&got, part);
        }
}

static void test_odd_bytes_in_pieces(void **state)
{
        (void)state;
        static const char returns[] = "record 1 has a carriage return within a line";
#define REST "\r\n+\r\nIIIIIIIIIIIIII\r\n@b\nACGT\n+\nIIII\n"
        refuse_in_pieces("@a\nACGTACGT\rTACGT" REST, returns);
        refuse_in_pieces("@a\nACGTACGTTACGT\r" REST, returns);
        refuse_in_pieces("@a\nACGTACGT\r \t\nTACGT" REST, returns);
        refuse_in_pieces("@a\nACGTACGT>TACGT" REST, "record 1 has '>' in its sequence");
        refuse_in_pieces("@a\nACGTACGT\nTAC\n  >" REST, "record 1 has '>' in its sequence");
        refuse_in_pieces("@a\nACGTACGT\177TACGT" REST, "record 1 has the byte 0x7f");
#undef REST
}

/* Lines of one length, and wrapped. */
static void test_long_records(void **state)
{
        (void)state;
        check_long(MIB - 1000, 2 * MIB);
        check_long(MIB - 1000, 60);
        check_long(2 * MIB, 4 * MIB);
        check_long(2 * MIB, 60);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_truncated),
                cmocka_unit_test(test_truncated_members),
                cmocka_unit_test(test_truncated_text),
                cmocka_unit_test(test_flipped_bits),
                cmocka_unit_test(test_wrong_trailer),
                cmocka_unit_test(test_trailing),
                cmocka_unit_test(test_padding),
                cmocka_unit_test(test_xz_padding),
                cmocka_unit_test(test_xz_memory),
                cmocka_unit_test(test_cut_member),
                cmocka_unit_test(test_bad_records),
                cmocka_unit_test(test_inner_headers),
                cmocka_unit_test(test_control_characters),
                cmocka_unit_test(test_quality_swallows),
                cmocka_unit_test(test_many_blanks),
                cmocka_unit_test(test_blanks),
                cmocka_unit_test(test_first_error_wins),
                cmocka_unit_test(test_long_records),
                cmocka_unit_test(test_bad_pieces),
                cmocka_unit_test(test_odd_bytes_in_pieces),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
