/* BAM, compared with what htslib reads from the same bytes. */
#include "io/parse/bam_header.h"
#include "io/parse/bam_record.h"
#include "tests/io/parse/alignment_support.h"
#include "tests/sampling.h"

#include <htslib/bgzf.h>
#include <htslib/hts_log.h>

enum { NREFS = 300 };

/* ---- files ---- */

static sam_hdr_t *new_header(int nrefs)
{
        sam_hdr_t *header = sam_hdr_init();
        char name[32];
        assert_int_equal(sam_hdr_add_line(header, "HD", "VN", "1.6", NULL), 0);
        for (int i = 0; i < nrefs; i++) {
                snprintf(name, sizeof name, "chromosome%d", i);
                assert_int_equal(
                        sam_hdr_add_line(header, "SQ", "SN", name, "LN", "300000000", NULL), 0);
        }
        return header;
}

struct shape {
        int nrefs;
        size_t nbases, max_nops;
        bool primary; /* no secondary or supplementary alignments */
};

/* Write the operations of a CIGAR of n bases; returns how many there are. */
static size_t make_cigar(uint32_t *cigar, size_t n, size_t max_nops, uint64_t *seed)
{
        size_t nops = 0;
        for (; n > 0 && nops + 2 < max_nops; nops++) {
                uint32_t op = (uint32_t)(next_random(seed) % 9), most = n < 9 ? (uint32_t)n : 9;
                uint32_t length = 1 + (uint32_t)(next_random(seed) % most);
                cigar[nops] = length << 4 | op;
                if (bam_cigar_type(op) & 1)
                        n -= length;
        }
        if (n > 0)
                cigar[nops++] = (uint32_t)n << 4 | BAM_CSOFT_CLIP;
        return nops;
}

static void add_tags(bam1_t *record, uint64_t *seed)
{
        static uint8_t text[1000];
        size_t n = next_random(seed) % sizeof text;
        memset(text, 'x', sizeof text);
        text[n] = 0;
        if (next_random(seed) % 2 == 0)
                assert_int_equal(bam_aux_append(record, "RG", 'Z', (int)n + 1, text), 0);
        if (next_random(seed) % 2 == 0)
                assert_int_equal(bam_aux_update_int(record, "NM", 3), 0);
}

/* A record with any flags, and the given number of bases. */
static void make_record(bam1_t *record, const struct shape *shape, uint64_t *seed)
{
        static const char letters[] = "ACGTACGTACGTACGTACGTACGTACGTACGT=MRSVWYHKDBN";
        static const uint16_t flags[] = { 0, 4, 16, 20, 77, 141, 0x400, 0x100, 0x800, 0x910 };
        size_t n = shape->nbases, nname = 1 + next_random(seed) % 253;
        char name[256], *seq = malloc(n + 1), *qual = malloc(n + 1);
        uint32_t *cigar = malloc(4 * (shape->max_nops + 2));
        memset(name, 'q', sizeof name);
        for (size_t i = 0; i < n; i++) {
                seq[i] = letters[next_random(seed) % (next_random(seed) % 8 == 0 ? 43 : 32)];
                qual[i] = (char)(next_random(seed) % 94);
        }
        if (next_random(seed) % 8 == 0)
                qual[0] = (char)0xff; /* no qualities, whatever follows */
        uint16_t flag = flags[next_random(seed) % (shape->primary ? 7 : 10)];
        bool mapped = shape->nrefs > 0 && (flag & 4) == 0;
        if (!mapped)
                flag |= 4;
        size_t nops = mapped ? make_cigar(cigar, n, shape->max_nops, seed) : 0;
        int ref = mapped ? (int)(next_random(seed) % (unsigned)shape->nrefs) : -1;
        bool no_quality = next_random(seed) % 4 == 0;
        assert_true(bam_set1(record, nname, name, flag, ref, mapped ? 1000 : -1, 60, nops, cigar,
                             -1, -1, 0, n, seq, no_quality ? NULL : qual, 2048) >= 0);
        add_tags(record, seed);
        free(seq);
        free(qual);
        free(cigar);
}

/* The text of a BAM file with records of these numbers of bases. */
static struct buffer make_bam(const size_t *nbases, size_t nrecords, struct shape shape,
                              uint64_t seed)
{
        const char *path = scratch_path("made.bam");
        htsFile *out = hts_open(path, "wb1");
        sam_hdr_t *header = new_header(shape.nrefs);
        bam1_t *record = bam_init1();
        assert_int_equal(sam_hdr_write(out, header), 0);
        for (size_t i = 0; i < nrecords; i++) {
                shape.nbases = nbases[i];
                make_record(record, &shape, &seed);
                assert_true(sam_write1(out, header, record) >= 0);
        }
        bam_destroy1(record);
        sam_hdr_destroy(header);
        assert_int_equal(hts_close(out), 0);
        struct buffer packed = read_file(path), raw = inflate_all(&packed);
        unlink(path);
        drop(&packed);
        return raw;
}

/* Pack into BGZF blocks of 1 to max bytes of text, each a chunk of its own. The first one is long
 * enough to be recognized as BAM. */
static struct buffer pack_bam(const struct buffer *raw, size_t max, uint64_t seed)
{
        struct buffer out = { 0 };
        for (size_t at = 0; at < raw->n;) {
                size_t n = 1 + next_random(&seed) % max, least = at == 0 ? 4 : 1;
                n = n < least ? least : n;
                n = n < raw->n - at ? n : raw->n - at;
                bgzf_block(&out, raw->data + at, n);
                at += n;
        }
        bgzf_end(&out);
        return out;
}

/* ---- what htslib reads ---- */

static char complement(char c)
{
        static const char from[] = "ACMGRSVTWYHKDBN=", to[] = "TGKCYSBAWRDMHVN=";
        return to[strchr(from, c) - from];
}

static void expect_read(struct outcome *want, const bam1_t *b, const struct setting *setting)
{
        size_t n = (size_t)b->core.l_qseq;
        char *seq = malloc(n + 1), *qual = malloc(n + 1);
        bool has = n > 0 && bam_get_qual(b)[0] != 0xff;
        for (size_t i = 0; i < n; i++) {
                size_t to = bam_is_rev(b) ? n - 1 - i : i;
                char c = seq_nt16_str[bam_seqi(bam_get_seq(b), i)];
                uint8_t q = bam_get_qual(b)[i];
                seq[to] = bam_is_rev(b) ? complement(c) : c;
                qual[to] = (char)(has && q < 94 ? q + 33 : 126);
                if (!upper_base(c))
                        want->totals.nskipped++;
                else if (qual[to] - 33 < setting->min_quality)
                        want->totals.nlow_quality++;
        }
        digest_sequence(&want->digest, seq, qual, n, setting->k, setting->min_quality);
        want->totals.nreads++;
        want->totals.nbases += n;
        free(seq);
        free(qual);
}

/* What htslib reads from a regular file, with one thread. */
static struct outcome expect(const struct buffer *bytes, const struct setting *setting)
{
        struct outcome want = { 0 };
        const char *path = scratch_path("expect.bam");
        write_file(path, bytes->data, bytes->n);
        htsFile *in = hts_open(path, "r");
        sam_hdr_t *header = in != NULL ? sam_hdr_read(in) : NULL;
        bam1_t *record = bam_init1();
        int code = header == NULL ? -2 : 0;
        while (code >= 0) {
                code = sam_read1(in, header, record);
                if (code >= 0 && (record->core.flag & 0x900) == 0)
                        expect_read(&want, record, setting);
        }
        bool packed = in != NULL && in->is_bgzf && in->fp.bgzf->is_compressed;
        bool no_end = packed && in->fp.bgzf->no_eof_block;
        want.status = code < -1 || no_end ? KC_EINPUT : KC_OK;
        bam_destroy1(record);
        sam_hdr_destroy(header);
        if (in != NULL)
                hts_close(in);
        unlink(path);
        return want;
}

static void assert_as(const struct outcome *got, const struct outcome *want, const char *what,
                      size_t number)
{
        if (got->status != want->status)
                print_error("%s %zu: \"%s\"\n", what, number, got->message);
        assert_int_equal(got->status, want->status);
        if (want->status == KC_OK)
                assert_outcome(got, want);
        else
                assert_refused(got, "/tmp/kcount-test-");
}

/* ---- tests ---- */

static void check_bam(const struct buffer *raw, size_t max_block, uint64_t seed)
{
        static const int nworkers[] = { 1, 2, 7 };
        static const size_t record_maxima[] = { 0, 1, 300, 5000 };
        struct buffer bam = pack_bam(raw, max_block, seed);
        for (int q = 0; q <= 20; q += 20) {
                struct setting setting = { .k = 1 + (int)(next_random(&seed) % 40),
                                           .min_quality = q };
                struct outcome want = expect(raw, &setting);
                assert_int_equal(want.status, KC_OK);
                for (size_t i = 0; i < 12; i++) {
                        setting.nworkers = nworkers[i % 3];
                        setting.record_max = record_maxima[i / 3];
                        setting.chunk_nbytes = next_random(&seed) % 2 ? 0 : 1;
                        add_others(&setting, &seed);
                        struct outcome got = read_bytes(&bam, &setting);
                        assert_as(&got, &want, "record_max", setting.record_max);
                        assert_int_equal(got.done, bam.n);
                }
        }
        drop(&bam);
}

/* Reads of all lengths, in chunks of all sizes. */
static void test_random(void **state)
{
        (void)state;
        static const size_t max_blocks[] = { 7, 100, 3000, 60000 };
        enum { NROUNDS = 16, MAX_RECORDS = 60 };
        uint64_t seed = 12;
        for (uint64_t round = 0; round < NROUNDS; round += THREAD_STRIDE) {
                size_t nbases[MAX_RECORDS], n = next_random(&seed) % MAX_RECORDS;
                for (size_t i = 0; i < n; i++)
                        nbases[i] = next_random(&seed) % (next_random(&seed) % 2 ? 4 : 400);
                struct shape shape = { .nrefs = (int)(round % 3), .max_nops = 20 };
                struct buffer raw = make_bam(nbases, n, shape, round);
                check_bam(&raw, max_blocks[round % 4], round);
                drop(&raw);
        }
}

/* Records longer than a chunk; a CIGAR too long for its field; many references. */
static void test_large(void **state)
{
        (void)state;
        static const size_t nbases[] = { 100000, 3, 100001, 0, 200000, 150, 300001 };
        struct shape shape = { .nrefs = NREFS, .max_nops = 100000 };
        struct buffer raw = make_bam(nbases, 7, shape, 5);
        check_bam(&raw, 60000, 1);
        check_bam(&raw, 5000, 2);
        drop(&raw);
}

static void test_no_reads(void **state)
{
        (void)state;
        for (int nrefs = 0; nrefs <= NREFS; nrefs += NREFS) {
                struct buffer raw = make_bam(NULL, 0, (struct shape){ .nrefs = nrefs }, 1);
                check_bam(&raw, 11, 1);
                drop(&raw);
        }
}

/* ---- pipes ---- */

static struct outcome read_pipe(const struct buffer *bytes, const struct setting *setting)
{
        int ends[2];
        char path[64];
        const char *paths[] = { path };
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], bytes->data, bytes->n), (ssize_t)bytes->n);
        close(ends[1]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        struct outcome got = read_paths(paths, 1, setting);
        close(ends[0]);
        return got;
}

/* Whether the first n bytes of BAM end with its header, or with a record. */
static bool ends_with_record(const struct buffer *raw, size_t n)
{
        const uint8_t *bytes = (const uint8_t *)raw->data;
        size_t at = 8 + kc_bam_u32(bytes + 4);
        const uint32_t nrefs = kc_bam_u32(bytes + at);
        at += 4;
        for (uint32_t i = 0; i < nrefs; i++)
                at += 8 + kc_bam_u32(bytes + at);
        while (at < n)
                at += 4 + kc_bam_u32(bytes + at);
        return at == n;
}

/* Every truncated copy of such a file is refused, unless it is uncompressed and ends with a
 * record. */
static void check_cut_copies(const struct buffer *raw, enum packing packing)
{
        struct buffer packed = pack_text(raw, packing, 0);
        const size_t step = packing == PLAIN ? 1 : 3;
        for (size_t n = 1; n < packed.n; n += step) {
                struct setting setting = { .k = 5, .nworkers = 1 + (int)(n % 5) };
                struct buffer cut = { .data = packed.data, .n = n };
                struct outcome got = read_bytes(&cut, &setting);
                const bool whole = packing == PLAIN && ends_with_record(raw, n);
                if ((got.status == KC_OK) != whole)
                        print_error("packing %d, cut at %zu: %s\n", packing, n, got.message);
                assert_int_equal(got.status, whole ? KC_OK : KC_EINPUT);
        }
        drop(&packed);
}

/* BAM in gzip, or not compressed: from files and from pipes alike. */
static void test_not_bgzf(void **state)
{
        (void)state;
        static const enum packing packings[] = { PLAIN, GZIP };
        static const size_t nbases[] = { 150, 0, 151, 7, 1000, 2 };
        struct buffer raw = make_bam(nbases, 6, (struct shape){ .nrefs = 2, .max_nops = 9 }, 3);
        struct setting setting = { .k = 5, .min_quality = 20 };
        struct outcome want = expect(&raw, &setting);
        for (size_t i = 0; i < 2; i++) {
                struct buffer packed = pack_text(&raw, packings[i], 0);
                for (setting.nworkers = 1; setting.nworkers <= 5; setting.nworkers++) {
                        setting.chunk_nbytes = setting.nworkers % 2 ? 64 : 0;
                        struct outcome got = read_pipe(&packed, &setting);
                        assert_as(&got, &want, "packing", packings[i]);
                        got = read_bytes(&packed, &setting);
                        assert_as(&got, &want, "packing", packings[i]);
                        assert_int_equal(got.totals.input_nbytes, packed.n);
                }
                drop(&packed);
                check_cut_copies(&raw, packings[i]);
        }
        struct buffer packed = pack_text(&raw, ZSTD, 0);
        struct outcome got = read_bytes(&packed, &setting);
        assert_refused(&got, "BAM inside zstd");
        drop(&packed);
        drop(&raw);
}

static void test_pipe(void **state)
{
        (void)state;
        static const size_t nbases[] = { 150, 0, 151, 7, 1000, 2 };
        struct buffer raw = make_bam(nbases, 6, (struct shape){ .nrefs = 2, .max_nops = 9 }, 3);
        struct buffer bam = pack_bam(&raw, 500, 4);
        struct setting setting = { .k = 5 };
        struct outcome want = expect(&raw, &setting);
        for (setting.nworkers = 1; setting.nworkers <= 7; setting.nworkers += 3) {
                struct outcome got = read_pipe(&bam, &setting);
                assert_as(&got, &want, "workers", (size_t)setting.nworkers);
        }
        setting.nworkers = 2;
        for (bam.n--; bam.n > 4; bam.n -= bam.n < 40 ? 1 : 37) {
                struct outcome got = read_pipe(&bam, &setting);
                assert_refused(&got, "/proc/self/fd/");
        }
        drop(&bam);
        drop(&raw);
}

/* ---- damage ---- */

/* Three records: mapped, unmapped without bases, and reverse with a CIGAR of two operations. */
static struct buffer small_bam(void)
{
        struct buffer sam = { 0 };
        puts_to(&sam, "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:1000\n@SQ\tSN:c2\tLN:9\n"
                      "a\t0\tc1\t1\t9\t7M\t=\t5\t0\tACGTACG\tIIIIIII\n"
                      "bc\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tNM:i:1\n"
                      "d\t16\tc2\t2\t9\t4M4S\t*\t0\t0\tAACCGGTT\t*\tXX:Z:yes\n");
        struct buffer packed = convert(&sam, "wb", NULL), raw = inflate_all(&packed);
        drop(&packed);
        drop(&sam);
        return raw;
}

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

static void check_held(size_t nbases)
{
        const size_t reads[] = { 20, nbases };
        struct buffer raw = make_bam(reads, 2, (struct shape){ .primary = true }, 9);
        struct buffer bam = pack_bam(&raw, 3000, 1);
        struct setting setting = { .k = 9, .min_quality = 20, .nworkers = 2, .record_max = 100 };
        struct outcome want = expect(&raw, &setting);
        char refusal[80];
        snprintf(refusal, sizeof refusal, ": alignment record 2 has %zu bases, more than the ",
                 nbases);
        for (setting.sequence_max = 4990; setting.sequence_max < 5010; setting.sequence_max++) {
                struct outcome got = read_bytes(&bam, &setting);
                if (setting.sequence_max >= (nbases + 1) / 2)
                        assert_as(&got, &want, "held", setting.sequence_max);
                else
                        assert_refused(&got, refusal);
        }
        setting.min_quality = 0;
        setting.sequence_max = 1;
        want = expect(&raw, &setting);
        struct outcome got = read_bytes(&bam, &setting);
        assert_as(&got, &want, "held", 1);
        drop(&bam);
        drop(&raw);
}

/* With -q, the bases of a record that comes in pieces take half a byte each. */
static void test_held(void **state)
{
        (void)state;
        check_held(10000);
        check_held(10001);
}

static int quiet(void **state)
{
        (void)state;
        hts_set_log_level(HTS_LOG_OFF);
        return 0;
}

/* ---- the header alone ---- */

static bool measure(const struct buffer *raw, size_t n, uint64_t *nbytes, uint32_t *nrefs)
{
        const char *path = scratch_path("header.bam");
        struct buffer part = { .data = raw->data, .n = n }, bam = pack_bam(&part, 50, n);
        write_file(path, bam.data, bam.n);
        bool sound = kc_bam_header_measure(path, nbytes, nrefs);
        unlink(path);
        drop(&bam);
        return sound;
}

static void test_header_alone(void **state)
{
        (void)state;
        struct buffer raw = small_bam();
        const uint32_t ntext = kc_bam_u32((const uint8_t *)raw.data + 4);
        const size_t end = 8 + ntext + 4 + 2 * (4 + strlen("c1") + 1 + 4);
        uint64_t nbytes;
        uint32_t nrefs;
        for (size_t n = 4; n < raw.n; n++) {
                assert_int_equal(measure(&raw, n, &nbytes, &nrefs), n >= end);
                if (n < end)
                        continue;
                assert_int_equal(nbytes, end);
                assert_int_equal(nrefs, 2);
        }
        raw.data[8] = 'x';
        assert_false(measure(&raw, raw.n, &nbytes, &nrefs));
        assert_false(kc_bam_header_measure("/tmp/kcount-test-no-such-file", &nbytes, &nrefs));
        drop(&raw);
        raw = make_bam(NULL, 0, (struct shape){ .nrefs = 20000 }, 1); /* more than one chunk */
        assert_true(measure(&raw, raw.n, &nbytes, &nrefs));
        assert_int_equal(nbytes, raw.n);
        assert_int_equal(nrefs, 20000);
        drop(&raw);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_large),
                cmocka_unit_test(test_no_reads),
                cmocka_unit_test(test_not_bgzf),
                cmocka_unit_test(test_pipe),
                cmocka_unit_test(test_changed_bytes),
                cmocka_unit_test(test_truncated_text),
                cmocka_unit_test(test_truncated_file),
                cmocka_unit_test(test_damaged_records),
                cmocka_unit_test(test_damaged_header),
                cmocka_unit_test(test_first_damage),
                cmocka_unit_test(test_damaged_block),
                cmocka_unit_test(test_concatenated),
                cmocka_unit_test(test_held),
                cmocka_unit_test(test_header_alone),
        };
        return cmocka_run_group_tests(tests, quiet, NULL);
}
