/*
 * BAM to packed reads on the device, compared with the host's reader: the same segments in the same
 * order and the same totals, wherever the text is cut and whatever it holds; and if a record is not
 * sound, everything before it and nothing after it.
 */
#include "tests/gpu/text/text_support.cuh"

enum { NREFS = 3 };

static const struct rules PLAIN_BAM = { 31, 31, 0, KC_GPU_TEXT_BAM, NREFS };

/* ---- made-up records ---- */

static std::string any_bytes(uint64_t *seed, size_t n)
{
        std::string bytes(n, 0);
        for (char &byte : bytes)
                byte = (char)next_random(seed);
        return bytes;
}

/* The operations of a CIGAR of n bases. */
static std::string any_cigar(uint64_t *seed, uint32_t n)
{
        std::string cigar;
        for (uint32_t ops = 0; n > 0 && ops < 1000; ops++) {
                const uint32_t op = (uint32_t)(next_random(seed) % 9);
                const uint32_t length = (uint32_t)std::min(next_random(seed) % 9, (uint64_t)n);
                cigar += number(length << 4 | op);
                if (op != 2 && op != 3 && op != 5 && op != 6) /* D, N, H and P take no bases */
                        n -= length;
        }
        return n > 0 ? cigar + number(n << 4 | 4) : cigar;
}

/* A read of n bases with any flags; few of the bases are not A, C, G or T. */
static struct record any_read(uint64_t *seed, uint32_t n)
{
        static const uint32_t flags[] = { 0, 4, 16, 20, 77, 141, 0x400, 0x110, 0x804, 0x914 };
        struct record r;
        r.nbases = n;
        r.flag = flags[next_random(seed) % (next_random(seed) % 2 ? 10 : 6)];
        r.name = any_letters(seed, next_random(seed) % 100, "abcACGT@+:/0123") + '\0';
        if (next_random(seed) % 8 == 0)
                r.name = "\1\377";
        for (uint32_t i = 0; i < (n + 1) / 2; i++)
                for (int shift = 0; shift < 8; shift += 4)
                        r.bases.resize(i + 1, 0),
                                r.bases[i] =
                                        (char)(r.bases[i] | (next_random(seed) % 64 == 0
                                                                     ? next_random(seed) % 16
                                                                     : 1u << next_random(seed) % 4)
                                                                    << shift);
        r.qualities = any_letters(seed, n, "\1\2\12\23\24\25\50\177\200\311\377");
        if (n > 0 && next_random(seed) % 4 == 0)
                r.qualities[0] = '\377';
        if (next_random(seed) % 4 == 0)
                r.qualities.assign(n, '\377');
        r.tags = any_bytes(seed, next_random(seed) % 40);
        if ((r.flag & 4) == 0) {
                r.ref = (uint32_t)(next_random(seed) % NREFS);
                r.next_ref = r.ref;
                r.cigar = any_cigar(seed, n);
        } else if (next_random(seed) % 4 == 0) {
                r.cigar = any_bytes(seed, 8); /* of an unmapped read: means nothing */
        }
        return r;
}

static std::string any_bam(uint64_t *seed, size_t nrecords, uint32_t longest)
{
        std::string text;
        for (size_t i = 0; i < nrecords; i++)
                text += text_of(any_read(seed, (uint32_t)(next_random(seed) % (longest + 1))));
        return text;
}

/* ---- sound files ---- */

static void sound(void **state)
{
        (void)state;
        uint64_t seed = 1;
        for (int k : { 1, 2, 15, 31, 32, 33, 64, 128, 255 })
                for (int min_quality : { 0, 1, 20, 128, 250 }) {
                        struct device d;
                        const struct rules rules = { k, k, min_quality, KC_GPU_TEXT_BAM, NREFS };
                        if (k != 15 && min_quality % 128 != 0 && min_quality != 20)
                                continue;
                        device_new(&d, &rules, 1 << 18);
                        const std::string text = any_bam(&seed, 150, 600);
                        check_file(&d, text, {});
                        check_file(&d, text, { 1000, 1, 2000, 30000, 35, 36, 37 });
                        device_free(&d);
                }
}

/* Records that are longer than the parts that a text is divided into. */
static void long_records(void **state)
{
        (void)state;
        uint64_t seed = 2;
        struct device d;
        device_new(&d, &PLAIN_BAM, 1 << 20);
        std::string text = any_bam(&seed, 30, 2000);
        for (uint32_t n : { 30000u, 0u, 11000u, 100001u, 10u })
                text += text_of(any_read(&seed, n)) + any_bam(&seed, n % 3, 300);
        check_file(&d, text, {});
        check_file(&d, text, { 50000, 50000, 1, 50000, 16000 });
        for (size_t i = 0; i < 2000; i++) /* many records without bases, or without a place */
                text += text_of(any_read(&seed, 0));
        check_file(&d, text, {});
        device_free(&d);
}

/* Sound records within the tags of others, where guesses find them, and arrays of small numbers. */
static void misleading(void **state)
{
        (void)state;
        uint64_t seed = 3;
        for (int round = 0; round < 6; round++) {
                struct device d;
                std::string text;
                device_new(&d, &PLAIN_BAM, 1 << 20);
                while (text.size() < 400000) {
                        struct record r = any_read(&seed, 100);
                        r.tags = any_bam(&seed, next_random(&seed) % 300, 200);
                        for (uint64_t n = next_random(&seed) % 20000; n > 0; n--)
                                r.tags += (char)(next_random(&seed) % 4 == 0);
                        text += text_of(r) + any_bam(&seed, next_random(&seed) % 60, 200);
                }
                check_file(&d, text, {});
                check_file(&d, text, { 70000, 70000, 100000 });
                device_free(&d);
        }
}

/* No guess finds a record, because no name ends with a NUL. */
static void no_guesses(void **state)
{
        (void)state;
        uint64_t seed = 4;
        struct device d;
        std::string text;
        device_new(&d, &PLAIN_BAM, 1 << 20);
        while (text.size() < 200000) {
                struct record r = any_read(&seed, 500);
                r.name = "name";
                text += text_of(r);
        }
        check_file(&d, text, {});
        device_free(&d);
}

static void cuts(void **state)
{
        (void)state;
        uint64_t seed = 5;
        for (int min_quality : { 0, 20 }) {
                struct device d;
                const struct rules rules = { 5, 5, min_quality, KC_GPU_TEXT_BAM, NREFS };
                device_new(&d, &rules, 1 << 12);
                const std::string text = any_bam(&seed, 5, 90);
                const struct host_reads want = read_on_host(text, &rules);
                for (size_t cut = 0; cut <= text.size(); cut++) {
                        const struct device_reads got = read_on_device(&d, text, { cut });
                        assert_false(got.foreign);
                        assert_int_equal(got.consumed, text.size());
                        check_reads(&d, got, want);
                }
                device_free(&d);
        }
}

/* ---- files that are not sound ---- */

/* Wherever a file ends. */
static void truncated(void **state)
{
        (void)state;
        uint64_t seed = 6;
        struct device d;
        const struct rules rules = { 5, 5, 0, KC_GPU_TEXT_BAM, NREFS };
        device_new(&d, &rules, 1 << 12);
        std::string text;
        for (uint32_t n : { 40u, 0u, 51u }) {
                const size_t begin = text.size();
                text += text_of(any_read(&seed, n));
                for (size_t end = begin + 1; end < text.size(); end++) {
                        check_strict_part(&d, text.substr(0, end), begin);
                        assert_int_equal(read_on_host(text.substr(0, end), &rules).error.status,
                                         KC_EINPUT);
                }
                check_file(&d, text, {});
        }
        check_file(&d, "", {});
        device_free(&d);
}

/* Records that the host refuses, in every place among others. */
static void check_unsound(struct device *d, const std::string &record)
{
        uint64_t seed = 7;
        assert_int_equal(read_on_host(record, &d->rules).error.status, KC_EINPUT);
        for (size_t nbefore = 0; nbefore < 3; nbefore++) {
                const std::string before = any_bam(&seed, nbefore, 100);
                check_strict_part(d, before + record + any_bam(&seed, 2, 100), before.size());
                check_strict_part(d, before + record, before.size());
        }
}

static void unsound(void **state)
{
        (void)state;
        uint64_t seed = 8;
        struct device d;
        struct record r = any_read(&seed, 60);
        device_new(&d, &PLAIN_BAM, 1 << 12);
        r.flag = 0;
        r.ref = r.next_ref = NREFS - 1;
        r.cigar = any_cigar(&seed, 60);
        check_file(&d, text_of(r), {});
        struct record s = r;
        s.ref = NREFS;
        check_unsound(&d, text_of(s));
        s = r, s.next_ref = UINT32_MAX - 1;
        check_unsound(&d, text_of(s));
        s = r, s.name = "";
        check_unsound(&d, text_of(s));
        s = r, s.cigar += number(1 << 4);
        check_unsound(&d, text_of(s));
        s = r, s.nbases = UINT32_MAX, s.cigar = "";
        check_unsound(&d, text_of(s));
        s = r, s.qualities.resize(59), s.tags = "";
        check_unsound(&d, text_of(s));
        s = r, s.cigar = "", s.nbases = 62;
        s.tags = "";
        check_unsound(&d, text_of(s));
        for (uint32_t length : { 0u, 31u, 0x80000000u, UINT32_MAX })
                check_unsound(&d, number(length) + text_of(r).substr(4));
        device_free(&d);
}

/* An impossible length shows before the record is whole. */
static void impossible_length(void **state)
{
        (void)state;
        uint64_t seed = 9;
        struct device d;
        device_new(&d, &PLAIN_BAM, 1 << 12);
        const std::string before = any_bam(&seed, 2, 50);
        const struct kc_gpu_text_result result = parse(&d, before + number(7), false, 0, 0);
        assert_true(result.foreign);
        assert_int_equal(result.consumed, before.size());
        assert_false(parse(&d, before + number(700), false, 0, 0).foreign);
        assert_false(parse(&d, before + "abc", false, 0, 0).foreign);
        assert_int_equal(parse(&d, "", false, 0, 3).consumed, 0);
        device_free(&d);
}

/* With random bits changed, the device accepts what the host accepts, and finds the same. */
static void damaged(void **state)
{
        (void)state;
        uint64_t seed = 10;
        size_t nsound = 0, nrounds = test_small() ? 400 : 4000;
        struct device d;
        const struct rules rules = { 7, 7, 20, KC_GPU_TEXT_BAM, NREFS };
        device_new(&d, &rules, 1 << 14);
        for (size_t i = 0; i < nrounds; i++) {
                std::string text = any_bam(&seed, 5, 70);
                for (uint64_t n = 1 + next_random(&seed) % 2; n > 0; n--)
                        text[next_random(&seed) % text.size()] ^=
                                (char)(1 << next_random(&seed) % 8);
                const struct host_reads want = read_on_host(text, &rules);
                const struct device_reads got =
                        read_on_device(&d, text, { next_random(&seed) % text.size() });
                assert_int_equal(got.foreign, want.error.status == KC_EINPUT);
                if (!got.foreign)
                        check_reads(&d, got, want);
                nsound += !got.foreign;
        }
        assert_in_range(nsound, nrounds / 8, nrounds / 8 * 7);
        device_free(&d);
}

/* ---- memory ---- */

/* More segments than there is memory for: the text is consumed in parts. */
static void many_segments(void **state)
{
        (void)state;
        struct device d;
        std::string text;
        struct record r;
        const struct rules rules = { 1, 1, 0, KC_GPU_TEXT_BAM, NREFS };
        r.nbases = 1000;
        r.bases.assign(500, '\x2f'); /* CN */
        r.qualities.assign(1000, '\377');
        for (int i = 0; i < 60; i++)
                text += text_of(r);
        device_new(&d, &rules, text.size());
        check_file(&d, text, {});
        device_free(&d);
}

/* Nothing is written outside of what a text needs, or beside the caller's memory. */
static void little_room(void **state)
{
        (void)state;
        uint64_t seed = 11;
        struct device d;
        const std::string text = any_bam(&seed, 20, 300);
        device_new(&d, &PLAIN_BAM, 1 << 14);
        assert_false(parse(&d, text, true, 0, 0).full);
        const struct kc_gpu_text_out need = d.out;
        assert_true(is_whole(&d.words, need.nwords * sizeof(uint64_t)));
        assert_true(is_whole(&d.spans, need.nspans * sizeof(struct kc_span)));
        d.out.spans_cap = need.nspans - 1;
        guarded_fill(&d.spans);
        assert_true(parse(&d, text, true, 0, 0).full);
        assert_true(is_whole(&d.spans, d.out.spans_cap * sizeof(struct kc_span)));
        d.out.spans_cap = need.spans_cap;
        d.out.words_cap = text.size() / 32;
        assert_true(parse(&d, text, true, 0, 0).full);
        device_free(&d);
}

static void several_k(void **state)
{
        (void)state;
        uint64_t seed = 12;
        const int kmers[] = { 15, 16, 33, 64 };
        struct rules rules = { 15, 64, 20, KC_GPU_TEXT_BAM, NREFS };
        struct device d;
        device_new(&d, &rules, 1 << 16);
        const std::string text = any_bam(&seed, 60, 500);
        assert_int_equal(parse(&d, text, true, 0, 5).consumed, text.size());
        for (int k : kmers) {
                struct kc_gpu_text_out out = d.out;
                struct kc_error err = {};
                std::vector<std::string> got;
                bool full;
                empty_out(&out);
                expect_ok(kc_gpu_text_cut(d.text, k, &out, &full, &err), &err);
                assert_false(full);
                out.nwords = d.out.nwords;
                read_segments(&gpu, &out, k, &got);
                rules.k = rules.max_k = k;
                check_segments(got, read_on_host(text, &rules).segments);
        }
        device_free(&d);
}

int main(int argc, char **argv)
{
        need_device();
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sound),       cmocka_unit_test(long_records),
                cmocka_unit_test(misleading),  cmocka_unit_test(no_guesses),
                cmocka_unit_test(cuts),        cmocka_unit_test(truncated),
                cmocka_unit_test(unsound),     cmocka_unit_test(impossible_length),
                cmocka_unit_test(damaged),     cmocka_unit_test(many_segments),
                cmocka_unit_test(little_room), cmocka_unit_test(several_k),
        };
        if (argc > 1)
                cmocka_set_test_filter(argv[1]);
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
