/* The command line of kmc. */
#include "app/kmc_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MAX = 32, LINE_NBYTES = 512 };

/* Parse the words of a command line; copy must live as long as options. */
static enum kc_status parse(const char *line, char copy[LINE_NBYTES], struct kmc_options *options,
                            struct kc_error *err)
{
        char *argv[WORDS_MAX] = { 0 };
        int argc = 0;
        strcpy(copy, line);
        for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
                argv[argc++] = word;
        return kmc_options_parse(options, argc, argv, err);
}

static struct kmc_options parsed(const char *line, char copy[LINE_NBYTES])
{
        struct kmc_options options;
        struct kc_error err = { 0 };
        if (parse(line, copy, &options, &err) != KC_OK)
                fail_msg("%s: %s", line, err.message);
        return options;
}

static void test_presets(void **state)
{
        (void)state;
        char copy[LINE_NBYTES];
        const struct kmc_options o = parsed("kmc reads.fq db tmp", copy);
        assert_string_equal(o.input, "reads.fq");
        assert_string_equal(o.output, "db");
        assert_string_equal(o.folder, "tmp");
        assert_int_equal(o.k, 25);
        assert_int_equal(o.memory_gb, 12);
        assert_int_equal(o.nthreads, 0);
        assert_int_equal(o.min_count, 2);
        assert_int_equal(o.max_count, 1000000000);
        assert_int_equal(o.count_limit, 255);
        assert_int_equal(o.input_kind, KMC_INPUT_FASTQ);
        assert_int_equal(o.output_kind, KMC_OUTPUT_KMC);
        assert_null(o.summary);
        assert_false(o.stranded || o.verbose || o.hides_progress || o.histogram_only ||
                     o.without_output || o.strict_memory || o.memory_only || o.wants_help);
}

/* What vg runs, and what the manuals of GenomeScope and Smudgeplot tell users to run. */
static void test_known_calls(void **state)
{
        (void)state;
        char copy[LINE_NBYTES];
        struct kmc_options o =
                parsed("kmc -k29 -m128 -okff -t16 -hp @reads.paths sample.k tmp", copy);
        assert_string_equal(o.input, "@reads.paths");
        assert_string_equal(o.output, "sample.k");
        assert_int_equal(o.k, 29);
        assert_int_equal(o.memory_gb, 128);
        assert_int_equal(o.nthreads, 16);
        assert_int_equal(o.output_kind, KMC_OUTPUT_KFF);
        assert_true(o.hides_progress);
        assert_int_equal(o.min_count, 2);
        assert_int_equal(o.count_limit, 255);

        o = parsed("kmc -k21 -t10 -m64 -ci1 -cs10000 @FILES reads tmp/", copy);
        assert_int_equal(o.min_count, 1);
        assert_int_equal(o.count_limit, 10000);
        assert_int_equal(o.max_count, 1000000000);
        assert_string_equal(o.folder, "tmp/");
}

static void test_each_option(void **state)
{
        (void)state;
        char copy[LINE_NBYTES];
        struct kmc_options o = parsed("kmc -v -k255 -m1 -sm -fbam -ci3 -cs4294967295 -cx77 -b -t1 "
                                      "-jout.json -w -okmc -hp -e in.bam out .",
                                      copy);
        assert_int_equal(o.k, 255);
        assert_int_equal(o.memory_gb, 1);
        assert_int_equal(o.input_kind, KMC_INPUT_BAM);
        assert_int_equal(o.min_count, 3);
        assert_int_equal(o.max_count, 77);
        assert_true(o.count_limit == UINT32_MAX);
        assert_int_equal(o.output_kind, KMC_OUTPUT_KMC);
        assert_string_equal(o.summary, "out.json");
        assert_true(o.stranded && o.verbose && o.hides_progress && o.histogram_only &&
                    o.without_output && o.strict_memory);
        assert_false(o.memory_only);
        assert_int_equal(parsed("kmc -fa a b c", copy).input_kind, KMC_INPUT_FASTA);
        assert_int_equal(parsed("kmc -fm a b c", copy).input_kind, KMC_INPUT_MULTI_FASTA);
        assert_int_equal(parsed("kmc -fm -fq a b c", copy).input_kind, KMC_INPUT_FASTQ);
        assert_true(parsed("kmc -r a b c", copy).memory_only);

        /* how to do the work */
        o = parsed("kmc -n512 -p9 -sf2 -sp3 -sr4 -smso1 -smun2 -smme3 --opt-out-size --reopen-tmp "
                   "--disable-small-k-opt -ssskmc -sssmin_hash --sig-to-bin-map-stats0.5 "
                   "--sig-to-bin-mappingmap.txt a b c",
                   copy);
        const struct kmc_options plain = parsed("kmc a b c", (char[LINE_NBYTES]){ 0 });
        assert_int_equal(o.nthreads, plain.nthreads);
        assert_int_equal(o.k, plain.k);
        assert_false(o.strict_memory || o.memory_only);
}

/* Bounds that no count exceeds, as kmc reads them. */
static void test_bounds(void **state)
{
        (void)state;
        char copy[LINE_NBYTES];
        const struct kmc_options o = parsed("kmc -ci0 -cx5000000000 -cs99999999999 a b c", copy);
        assert_int_equal(o.min_count, 1);
        assert_true(o.max_count == UINT32_MAX);
        assert_true(o.count_limit == UINT32_MAX);
        assert_int_equal(parsed("kmc -cs1 -ci5 -cx5 a b c", copy).count_limit, 1);
        assert_int_equal(parsed("kmc -ci1 -ci4 a b c", copy).min_count, 4);
}

static void test_help(void **state)
{
        (void)state;
        char copy[LINE_NBYTES];
        assert_true(parsed("kmc", copy).wants_help);
        assert_true(parsed("kmc --help", copy).wants_help);
        assert_true(parsed("kmc -k21 --version", copy).wants_help);
}

static void test_wrong_calls(void **state)
{
        (void)state;
        static const struct {
                const char *line, *message;
        } cases[] = {
                { "kmc -k21 a b", "three arguments are needed" },
                { "kmc -k21", "three arguments are needed" },
                { "kmc a b c d", "one argument too many: 'd'" },
                { "kmc -ci 1 a b c", "-ci: '' is not a whole number from 0 to 4294967295" },
                { "kmc a b c -k21", "one argument too many: '-k21'" },
                { "kmc -k a b c", "-k: '' is not a whole number from 1 to 255" },
                { "kmc -k256 a b c", "-k: '256' is not a whole number from 1 to 255" },
                { "kmc -k21x a b c", "-k: '21x' is not" },
                { "kmc -k-1 a b c", "-k: '-1' is not" },
                { "kmc -m0 a b c", "-m: '0' is not" },
                { "kmc -m1.5 a b c", "-m: '1.5' is not" },
                { "kmc -t0 a b c", "-t: '0' is not a whole number from 1 to 1024" },
                { "kmc -cs0 a b c", "-cs: '0' is not" },
                { "kmc -cx0 a b c", "-cx: '0' is not" },
                { "kmc -ci3 -cx2 a b c", "-ci3 is above -cx2" },
                { "kmc -sm -r a b c", "-sm and -r exclude each other" },
                { "kmc -fkmc a b c", "-fkmc: the input cannot be a KMC database" },
                { "kmc -okmcdb a b c", "-okmcdb: only -okmc and -okff" },
                { "kmc -hc a b c", "-hc: k-mers cannot be compressed by homopolymers" },
                { "kmc --only-generate-sig-to-bin-mappingx a b c", "there are no signatures" },
                { "kmc -j a b c", "-j needs a name: -jNAME" },
                { "kmc -Z a b c", "kmc has no option '-Z'" },
                { "kmc -fx a b c", "kmc has no option '-fx'" },
                { "kmc -o a b c", "kmc has no option '-o'" },
                { "kmc -okff2 a b c", "kmc has no option '-okff2'" },
                { "kmc -bad a b c", "kmc has no option '-bad'" },
                { "kmc -sssnew a b c", "kmc has no option '-sssnew'" },
                { "kmc -nonsense a b c", "-n: 'onsense' is not a whole number" },
                { "kmc - b c", "kmc has no option '-'" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char copy[LINE_NBYTES];
                struct kmc_options options;
                struct kc_error err = { 0 };
                if (parse(cases[i].line, copy, &options, &err) != KC_EUSAGE)
                        fail_msg("%s: accepted", cases[i].line);
                if (strstr(err.message, cases[i].message) == NULL)
                        fail_msg("%s: said %s", cases[i].line, err.message);
        }
}

/* The settings are those of the same call of kcount count; other presets stay. */
static void test_settings(void **state)
{
        (void)state;
        char copy[LINE_NBYTES];
        struct kmc_options o =
                parsed("kmc -k31 -m8 -t4 -ci1 -cs4294967295 -cx100 -b -hp a b tmp", copy);
        struct count_settings s = { .device = "auto", .reader = "auto", .min_quality = 0 };
        kmc_options_apply(&o, &s);
        assert_int_equal(s.ks.n, 1);
        assert_int_equal(s.ks.values[0], 31);
        assert_true(s.memory_nbytes == UINT64_C(8000000000));
        assert_int_equal(s.common.nthreads, 4);
        assert_true(s.common.no_progress && s.stranded && s.force);
        assert_int_equal(s.min_count, 1);
        assert_int_equal(s.max_count, 100);
        assert_string_equal(s.tmp_dir, "tmp");
        assert_string_equal(s.device, "auto");
        assert_string_equal(s.reader, "auto");
        assert_null(s.output);
        o = parsed("kmc a b tmp", copy);
        kmc_options_apply(&o, &s);
        assert_int_equal(s.common.nthreads, 0);
        assert_false(s.common.no_progress || s.stranded);
        assert_int_equal(s.min_count, 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_presets),     cmocka_unit_test(test_known_calls),
                cmocka_unit_test(test_each_option), cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_help),        cmocka_unit_test(test_wrong_calls),
                cmocka_unit_test(test_settings),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
