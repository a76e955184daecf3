/* What the command line reads and writes: sizes, numbers, names, k-mers as text, JSON. */
#include "app/cli/command.h"
#include "app/cli/device.h"
#include "app/cli/json.h"
#include "app/cli/message.h"
#include "app/cli/output_name.h"
#include "app/cli/size.h"
#include "kmer/kmer.h"
#include "kmer/text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What the pieces of app/cli refer to; no command is run. */
const struct command *const command_table[] = { NULL };

static void test_parse_size(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                uint64_t nbytes;
        } good[] = {
                { "0", 0 },
                { "1048576", 1 << 20 },
                { "8G", UINT64_C(8) << 30 },
                { "8g", UINT64_C(8) << 30 },
                { "500M", UINT64_C(500) << 20 },
                { "1.5G", UINT64_C(3) << 29 },
                { ".5k", 512 },
                { "2TB", UINT64_C(2) << 40 },
                { "2GiB", UINT64_C(2) << 30 },
                { "7B", 7 },
        };
        for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
                uint64_t nbytes = 1;
                assert_true(parse_size(good[i].text, &nbytes));
                assert_int_equal(nbytes, good[i].nbytes);
        }
        static const char *const bad[] = { "",      "G",   ".",         "-1",  "+1",
                                           "1.2.3", "8X",  "8GX",       "1e3", "0x10",
                                           " 8G",   "8 G", "99999999T", "8iB", "nan" };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                uint64_t nbytes;
                if (parse_size(bad[i], &nbytes))
                        fail_msg("'%s' was taken for a size", bad[i]);
        }
}

static void test_parse_number(void **state)
{
        (void)state;
        uint64_t number;
        assert_true(parse_number("18446744073709551615", &number));
        assert_true(number == UINT64_MAX);
        static const char *const bad[] = {
                "", "-1", "+1", " 1", "1 ", "1k", "18446744073709551616"
        };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                assert_false(parse_number(bad[i], &number));
}

static void test_format_number(void **state)
{
        (void)state;
        char text[FORMATTED_NBYTES];
        assert_string_equal(format_number(0, text), "0");
        assert_string_equal(format_number(999, text), "999");
        assert_string_equal(format_number(1000, text), "1,000");
        assert_string_equal(format_number(UINT64_MAX, text), "18,446,744,073,709,551,615");
        static const struct {
                uint64_t nbytes;
                const char *text;
        } sizes[] = {
                { 0, "0 bytes" },
                { 1023, "1023 bytes" },
                { 1024, "1 KiB" },
                { 1536, "1.5 KiB" },
                { 1002496, "979 KiB" },
                { 1023 << 10, "1023 KiB" },
                { 1048575, "1 MiB" },
                { 14 << 20, "14 MiB" },
                { 5 << 28, "1.25 GiB" },
                { 10 << 20, "10 MiB" },
                { 201431450, "192 MiB" },
                { 40370176, "38.5 MiB" },
                { (uint64_t)7 << 50, "7168 TiB" },
        };
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                assert_string_equal(format_size(sizes[i].nbytes, text), sizes[i].text);
        assert_string_equal(format_seconds(0.016, text), "0.02 s");
        assert_string_equal(format_seconds(9.999, text), "10.0 s");
        assert_string_equal(format_seconds(24.52, text), "24.5 s");
        assert_string_equal(format_seconds(753.6, text), "754 s");
        assert_string_equal(format_share(2, 3, text), "66.7%");
        assert_string_equal(format_share(3, 3, text), "100%");
        assert_string_equal(format_share(0, 0, text), "");
}

static void test_output_name(void **state)
{
        (void)state;
        static const struct {
                const char *input, *output;
        } cases[] = {
                { "reads.fq.gz", "reads.kc" },
                { "/a/b.c/reads.fastq", "reads.kc" },
                { "x.y.FASTA.ZST", "x.y.kc" },
                { "x.bam", "x.kc" },
                { "reads", "reads.kc" },
                { "reads.txt", "reads.txt.kc" },
                { "reads.gz", "reads.kc" },
                { ".fq", ".fq.kc" },
                { ".fq.gz", ".fq.kc" },
                { "-", "stdin.kc" },
                { "@files.txt", "files.kc" },
                { "@/tmp/l.list", "l.kc" },
                { "@files", "files.kc" },
                { "a.fq.fq", "a.fq.kc" },
                { "dir.fq/reads.bgz", "reads.kc" },
                { "/dev/stdin", "stdin.kc" },
                { "/dev/fd/63", "stdin.kc" },
                { "/proc/self/fd/0", "stdin.kc" },
                { "@/dev/fd/63", "stdin.kc" },
                { "@/dev/stdin", "stdin.kc" },
                { "/dev/fda/63", "63.kc" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char *name = output_name(cases[i].input);
                assert_string_equal(name, cases[i].output);
                free(name);
        }
}

static char *message_of(const char *format, ...)
{
        va_list args;
        va_start(args, format);
        char *text = message_format(format, args);
        va_end(args);
        return text;
}

/* What a terminal would obey is shown as text; letters stay as they are. */
static void test_message_format(void **state)
{
        (void)state;
        static const struct {
                const char *text, *shown;
        } cases[] = {
                { "", "" },
                { "reads.fq", "reads.fq" },
                { "a\tb\\n", "a\tb\\n" },
                { "\x1b[31m\x1b]0;x\a", "\\x1b[31m\\x1b]0;x\\x07" },
                { "a\rb\x7f\x01", "a\\rb\\x7f\\x01" },
                { "d\u00e9j\u00e0 \u65e5\u672c \U0001f9ec",
                  "d\u00e9j\u00e0 \u65e5\u672c \U0001f9ec" },
                { "\xc2\x9b", "\\u009b" },
                { "\u202e\u2066\u200f\u061c\u2028", "\\u202e\\u2066\\u200f\\u061c\\u2028" },
                { "\xff\x9b\xc3", "\\xff\\x9b\\xc3" },
                { "\xed\xa0\x80\xc0\xaf", "\\xed\\xa0\\x80\\xc0\\xaf" },
                { "\xe2\x82", "\\xe2\\x82" },
                { "a\nkcount: b", "a\\nkcount: b" },
                { "a\n", "a\\n" },
                { "\n\n", "\\n\\n" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char *shown = message_of("<%s>\n", cases[i].text), wanted[80];
                snprintf(wanted, sizeof wanted, "<%s>\n", cases[i].shown);
                assert_string_equal(shown, wanted);
                free(shown);
                shown = message_of("%s", cases[i].text);
                assert_string_equal(shown, cases[i].shown);
                free(shown);
        }
        char *shown = message_of("one %s\ntwo\t%d\n", "a", 2);
        assert_string_equal(shown, "one a\ntwo\t2\n");
        free(shown);
}

static void test_output_folder(void **state)
{
        (void)state;
        static const struct {
                const char *path, *folder;
        } cases[] = { { "x.kc", "." }, { "a/b/x.kc", "a/b" }, { "/x.kc", "/" }, { "./x", "." } };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char *folder = kc_path_folder(cases[i].path);
                assert_string_equal(folder, cases[i].folder);
                free(folder);
        }
}

enum { NKMERS = 200, NFORMS = KC_KMER_TEXT_FASTA + 1 };

/* Every k, compared with the plain formatter of kmer/. */
static void test_kmer_text(void **state)
{
        (void)state;
        static uint64_t kmers[NKMERS * KC_MAX_WORDS];
        static uint32_t counts[NKMERS];
        uint64_t seed = 1;
        for (int k = 1; k <= KC_MAX_K; k++) {
                size_t nwords = (size_t)kc_kmer_nwords(k);
                for (size_t i = 0; i < NKMERS; i++) {
                        for (size_t w = 0; w < nwords; w++) {
                                seed = seed * UINT64_C(6364136223846793005) + 1;
                                kmers[i * nwords + w] = seed ^ seed >> 29;
                        }
                        kmers[i * nwords + nwords - 1] &= kc_kmer_top_mask(k);
                        counts[i] = (uint32_t)(seed >> 32) >> i % 32;
                }
                counts[0] = UINT32_MAX;
                counts[1] = 0;
                char *text = malloc(NKMERS * kc_kmer_text_line_nbytes(k));
                char *wanted = malloc(NKMERS * (size_t)(k + 16)), *p = wanted;
                for (int form = 0; form < NFORMS; form++) {
                        struct kc_kmer_text format = {
                                .k = k, .form = form, .min_count = 3, .max_count = 1u << 30
                        };
                        p = wanted;
                        for (size_t i = 0; i < NKMERS; i++) {
                                char letters[KC_MAX_K + 1] = "";
                                kc_kmer_format(kmers + i * nwords, k, letters);
                                if (counts[i] < 3 || counts[i] > 1u << 30)
                                        continue;
                                p += form == KC_KMER_TEXT_FASTA
                                             ? sprintf(p, ">%" PRIu32 "\n%s\n", counts[i], letters)
                                             : sprintf(p, "%s%c%" PRIu32 "\n", letters,
                                                       form == KC_KMER_TEXT_SPACE ? ' ' : '\t',
                                                       counts[i]);
                        }
                        char *end = kc_kmer_text_lines(&format, kmers, counts, NKMERS, text);
                        assert_int_equal(end - text, p - wanted);
                        assert_memory_equal(text, wanted, (size_t)(end - text));
                }
                free(wanted);
                free(text);
        }
}

/* Letters alone, in an array that ends with the scratch space. */
static void test_kmer_letters(void **state)
{
        (void)state;
        uint64_t kmers[2 * KC_MAX_WORDS];
        for (int k = 1; k <= KC_MAX_K; k++) {
                const size_t nwords = (size_t)kc_kmer_nwords(k), length = (size_t)k;
                char wanted[2 * KC_MAX_K];
                for (size_t i = 0; i < 2; i++) {
                        uint64_t *kmer = kmers + i * nwords;
                        memset(kmer, i ? 0x1b : 0xe4, nwords * sizeof *kmer);
                        kmer[nwords - 1] &= kc_kmer_top_mask(k);
                        kc_kmer_format(kmer, k, wanted + i * length);
                }
                const size_t room = 2 * length + KC_KMER_TEXT_SCRATCH_NBYTES;
                char *text = malloc(room + 1);
                text[room] = '#';
                char *end = kc_kmer_text_letters(kmers, k, 2, text);
                assert_int_equal(end - text, 2 * k);
                assert_memory_equal(text, wanted, 2 * length);
                assert_int_equal(text[room], '#');
                free(text);
        }
}

/* The room set aside for a line is enough for the largest count. */
static void test_kmer_text_room(void **state)
{
        (void)state;
        uint64_t kmer[KC_MAX_WORDS] = { 0 };
        uint32_t count = UINT32_MAX;
        for (int k = 1; k <= KC_MAX_K; k++) {
                size_t room = kc_kmer_text_line_nbytes(k);
                char *text = malloc(room + 1);
                for (int form = 0; form < NFORMS; form++) {
                        struct kc_kmer_text format = { .k = k, .form = form, .max_count = count };
                        text[room] = '#';
                        char *end = kc_kmer_text_lines(&format, kmer, &count, 1, text);
                        assert_true(end <= text + room);
                        assert_int_equal(text[room], '#');
                }
                free(text);
        }
}

static void test_json_strings(void **state)
{
        (void)state;
        static struct text_out out;
        text_out_stdout(&out);
        struct json json = { .out = &out };
        json_begin(&json, NULL, '{');
        json_string(&json, "q\"\\\n\x01", "\xc3\xa9 \xff \xe2\x82\xac \xc3");
        json_begin(&json, "empty", '[');
        json_end(&json, ']');
        json_bool(&json, "b", true);
        json_end(&json, '}');
        static const char wanted[] = "{\n  \"q\\\"\\\\\\u000a\\u0001\": "
                                     "\"\xc3\xa9 \\ufffd \xe2\x82\xac \\ufffd\",\n"
                                     "  \"empty\": [],\n  \"b\": true\n}\n";
        assert_int_equal(out.used, sizeof wanted - 1);
        assert_memory_equal(out.buffer, wanted, out.used);
}

/* Where k-mers were looked up. In turns, only the first of the devices works. */
static void test_answers(void **state)
{
        static const char *const wanted[] = {
                [KC_GPU_ASK_WHOLE] = "looked up on cuda:2,3, map lsm\n"
                                     "{\n  \"device\": \"cuda:2,3\",\n  \"map\": \"lsm\",\n"
                                     "  \"loaded\": \"whole\"\n}\n",
                [KC_GPU_ASK_SPREAD] = "looked up on cuda:2,3, map lsm, spread\n"
                                      "{\n  \"device\": \"cuda:2,3\",\n  \"map\": \"lsm\",\n"
                                      "  \"loaded\": \"spread\"\n}\n",
                [KC_GPU_ASK_TURNS] = "looked up on cuda:2, map lsm, part by part\n"
                                     "{\n  \"device\": \"cuda:2\",\n  \"map\": \"lsm\",\n"
                                     "  \"loaded\": \"parts\"\n}\n",
        };
        (void)state;
        for (int way = KC_GPU_ASK_WHOLE; way <= KC_GPU_ASK_TURNS; way++) {
                const struct device_answers answers = {
                        .cuda = true,
                        .used = true,
                        .way = (enum kc_gpu_ask_way)way,
                        .options = { .devices = { 2, 3 }, .ndevices = 2, .map = KC_GPU_MAP_LSM },
                };
                static struct text_out out;
                text_out_stdout(&out);
                struct json json = { .out = &out };
                device_put_answers(&out, &answers);
                json_begin(&json, NULL, '{');
                device_json_answers(&json, &answers);
                json_end(&json, '}');
                out.buffer[out.used] = '\0';
                assert_string_equal(out.buffer, wanted[way]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse_size),     cmocka_unit_test(test_parse_number),
                cmocka_unit_test(test_format_number),  cmocka_unit_test(test_output_name),
                cmocka_unit_test(test_message_format), cmocka_unit_test(test_output_folder),
                cmocka_unit_test(test_kmer_text),      cmocka_unit_test(test_kmer_text_room),
                cmocka_unit_test(test_kmer_letters),   cmocka_unit_test(test_json_strings),
                cmocka_unit_test(test_answers),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
