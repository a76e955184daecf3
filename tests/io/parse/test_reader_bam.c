/* BAM, compared with what htslib reads from the same bytes. */
#include "io/parse/bam_header.h"
#include "io/parse/bam_record.h"
#include "tests/io/parse/bam_support.h"
#include "tests/sampling.h"

enum { NREFS = 300 };

static void check_bam(const struct buffer *raw, size_t max_block, uint64_t seed)
{
        static const int nworkers[] = { 1, 2, 7 };
        static const size_t record_maxima[] = { 0, 1, 300, 5000 };
        struct buffer bam = pack_bam(raw, max_block, seed);
        for (int q = 0; q <= 20; q += 20) {
                static const uint32_t skips[] = { 0, 0, 5, 1000, 99999 };
                static const uint16_t flags[] = { 0, 0, 0, 16, 4, 0x400, 0x44 };
                struct setting setting = {
                        .k = 1 + (int)(next_random(&seed) % 40),
                        .min_quality = q,
                        .selection = { .nskip = skips[next_random(&seed) % 5],
                                       .required = flags[next_random(&seed) % 7],
                                       .excluded = flags[next_random(&seed) % 7] },
                };
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
        const size_t step = (packing == PLAIN ? 1 : 3) * CUT_STRIDE;
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
                for (setting.nworkers = 1; setting.nworkers <= 5;
                     setting.nworkers += THREAD_STRIDE) {
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
        static const enum packing others[] = { ZSTD, BZIP2, XZ };
        static const char *const refused[] = { "BAM inside zstd", "BAM inside bzip2",
                                               "BAM inside xz" };
        for (size_t i = 0; i < 3; i++) {
                struct buffer packed = pack_text(&raw, others[i], 0);
                struct outcome got = read_bytes(&packed, &setting);
                assert_refused(&got, refused[i]);
                drop(&packed);
        }
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
        for (setting.sequence_max = 4990; setting.sequence_max < 5010;
             setting.sequence_max += THREAD_STRIDE) {
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
                cmocka_unit_test(test_random),       cmocka_unit_test(test_large),
                cmocka_unit_test(test_no_reads),     cmocka_unit_test(test_not_bgzf),
                cmocka_unit_test(test_pipe),         cmocka_unit_test(test_held),
                cmocka_unit_test(test_header_alone),
        };
        return cmocka_run_group_tests(tests, quiet, NULL);
}
