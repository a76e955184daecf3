/* What the user can do about a failure, as each command puts it. */
#include "app/cli/advice.h"
#include "app/cli/command.h"
#include "kmer/remedy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* main.c, which has the table of commands, is not in the library. */
static const struct command *const commands[] = {
        &command_count, &command_dump,  &command_hist,      &command_query,    &command_range,
        &command_info,  &command_check, &command_add,       &command_remove,   &command_compact,
        &command_merge, &command_union, &command_intersect, &command_subtract,
};
const struct command *const command_table[] = { NULL };

const struct command *command_find(const char *name)
{
        (void)name;
        return NULL;
}

static void expect(const struct command *command, const struct kc_error *failure, const char *want)
{
        const char *const words[] = { command != NULL ? command->name : "", NULL };
        const struct invocation call = { .command = command, .words = words, .nwords = 1 };
        char text[ADVICE_NBYTES];
        assert_string_equal(advice_text(command != NULL ? &call : NULL, failure, text), want);
}

/* Of a command line with these words, the operands at the end. */
static void expect_of(const struct command *command, const char *const *words, size_t nwords,
                      size_t noperands, const struct kc_error *failure, const char *want)
{
        const char *operands[8];
        struct invocation call = {
                .command = command, .words = words, .nwords = nwords, .operands = operands
        };
        char text[ADVICE_NBYTES];
        for (size_t i = nwords - noperands; i < nwords; i++)
                operands[call.noperands++] = words[i];
        assert_string_equal(advice_text(&call, failure, text), want);
}

static void test_options(void **state)
{
        (void)state;
        struct kc_error err = { .remedies = 0 };
        expect(&command_count, &err, "");
        err.remedies = KC_REMEDY_REPLACE | KC_REMEDY_OTHER_OUTPUT;
        expect(&command_count, &err, "; name another file with -o, or replace it with --force");
        expect(&command_query, &err, "");
        expect(&command_check, &err,
               "; name another file with --repair, or replace it with --force");
        expect(&command_hist, &err, "");
        expect(NULL, &err, "");
        err.remedies = KC_REMEDY_CPU;
        expect(&command_merge, &err, "; use --device cpu");
        expect(&command_dump, &err, "");
}

static void test_sizes(void **state)
{
        (void)state;
        struct kc_error err = { .remedies = KC_REMEDY_MORE_MEMORY | KC_REMEDY_IGNORE_QUALITIES };
        expect(&command_add, &err, "; allow more memory with -m, or count without -q");
        err.needed_nbytes = (256 << 20) + 1;
        expect(&command_count, &err, "; allow more memory with -m 257M, or count without -q");
        expect(&command_compact, &err, "; allow more memory with -m 257M");
        err.remedies = KC_REMEDY_STATE_GPU_MEMORY | KC_REMEDY_CPU;
        err.needed_nbytes = 256 << 20;
        expect(&command_count, &err,
               "; make the batches smaller with --gpu-memory 256M, or use --device cpu");
}

/* What the command line does not say stays open: FILE, or three dots. */
static void test_filters(void **state)
{
        (void)state;
        struct kc_error err = { .remedies = KC_REMEDY_FILTER, .filter = "xz -dc FILE" };
        expect(&command_count, &err, "; try: xz -dc FILE | kcount ... -");
        expect(&command_query, &err, "; try: xz -dc FILE | kcount query ... -f -");
        expect(NULL, &err, "; try: xz -dc FILE | kcount ... -");
        strcpy(err.file, "in a list.fq");
        expect(&command_add, &err, "; try: xz -dc 'in a list.fq' | kcount ... -");
        err.remedies = KC_REMEDY_FILTER_HEAD;
        expect(&command_count, &err,
               "; to read only what comes before: xz -dc 'in a list.fq' | kcount ... -");
        err.remedies = KC_REMEDY_MORE_MEMORY | KC_REMEDY_FILTER;
        expect(&command_query, &err,
               "; allow more memory with -m, or try: "
               "xz -dc 'in a list.fq' | kcount query ... -f -");
}

/* The command line is repeated, with - for the file and for those that the filter reads with it. */
static void test_own_line(void **state)
{
        (void)state;
        static const char *const short_form[] = { "build/kcount", "-k",      "5",       "r 1.fq.xz",
                                                  "b.fq",         "c.fa.xz", "r2.fq.xz" };
        static const char *const long_form[] = { "count", "-k", "5", "-", "r2.fq.xz" };
        static const char *const query[] = { "query", "-f", "it's.xz", "a.kc" };
        struct kc_error err = { .remedies = KC_REMEDY_FILTER, .filter = "xz -dc FILE" };
        strcpy(err.file, "r2.fq.xz");
        expect_of(&command_count, short_form, 7, 4, &err,
                  "; try: xz -dc 'r 1.fq.xz' r2.fq.xz | kcount -k 5 - b.fq c.fa.xz -o 'r 1.kc'");
        expect_of(&command_count, long_form, 5, 2, &err, "; try: xz -dc r2.fq.xz | kcount ... -");
        strcpy(err.filter, "gzip -dc FILE | xz -dc -");
        expect_of(&command_count, short_form, 7, 4, &err,
                  "; try: gzip -dc r2.fq.xz | xz -dc - | kcount -k 5 'r 1.fq.xz' b.fq c.fa.xz -");
        strcpy(err.file, "it's.xz");
        strcpy(err.filter, "tr a b < FILE");
        expect_of(&command_query, query, 4, 1, &err,
                  "; try: tr a b < 'it'\\''s.xz' | kcount query -f - a.kc");
        strcpy(err.file, "standard input");
        expect_of(&command_count, long_form, 5, 2, &err,
                  "; try: tr a b | kcount count -k 5 - r2.fq.xz");
}

static void test_files(void **state)
{
        (void)state;
        struct kc_error err = { .remedies = KC_REMEDY_RESCUE };
        expect(NULL, &err,
               "; to copy what is sound: kcount check FILE.kc --repair FILE.repaired.kc");
        strcpy(err.file, "no dir/a b.kc");
        expect(&command_dump, &err,
               "; to copy what is sound: kcount check 'no dir/a b.kc' --repair "
               "'no dir/a b.repaired.kc'");
        strcpy(err.file, "no dir/a.kmc_suf");
        err.remedies = KC_REMEDY_IMPORT;
        expect(&command_dump, &err, "; convert it: kcount import 'no dir/a' -o a.kc");
        err.remedies = KC_REMEDY_OTHER_INPUT;
        expect(&command_dump, &err, "");
        expect(&command_count, &err, "; name a file of reads: FASTQ, FASTA, SAM, BAM or CRAM");
}

/* Each remedy has advice for some command, and all of them together do not overflow. */
static void test_every_remedy(void **state)
{
        (void)state;
        char text[ADVICE_NBYTES];
        struct kc_error err = { .filter = "xz", .file = "a" };
        for (unsigned remedy = 1; remedy <= KC_REMEDY_LAST; remedy <<= 1) {
                size_t ncommands = 0;
                err.remedies = remedy;
                for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
                        const struct invocation call = { .command = commands[i],
                                                         .words = &commands[i]->name,
                                                         .nwords = 1 };
                        ncommands += advice_text(&call, &err, text)[0] != '\0';
                }
                if (ncommands == 0)
                        fail_msg("no command has advice for the remedy 0x%x", remedy);
        }
        err.remedies = UINT32_MAX;
        memset(err.filter, 'x', sizeof err.filter - 1);
        memset(err.file, 'x', sizeof err.file - 1);
        assert_true(strlen(advice_text(NULL, &err, text)) < ADVICE_NBYTES - 1);
}

/* The first failure's message is kept, with its status, remedies and filter. */
static void test_first_failure(void **state)
{
        (void)state;
        struct kc_error first = { 0 }, err = { 0 };
        assert_int_equal(kc_fail_filter(&first, KC_REMEDY_FILTER, "b", "a %s", "no %d", 1),
                         KC_EINPUT);
        assert_int_equal(kc_fail_remedy(&first, KC_EIO, KC_REMEDY_CPU, "later"), KC_EIO);
        assert_int_equal(kc_fail_as(&err, &first), KC_EINPUT);
        assert_int_equal(kc_fail_as(&err, &(struct kc_error){ .status = KC_EIO }), KC_EIO);
        assert_int_equal(err.remedies, KC_REMEDY_FILTER);
        assert_string_equal(err.filter, "a %s");
        assert_string_equal(err.file, "b");
        assert_string_equal(err.message, "no 1");
        assert_int_equal(kc_fail_as(NULL, &first), KC_EINPUT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_options),       cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_filters),       cmocka_unit_test(test_own_line),
                cmocka_unit_test(test_files),         cmocka_unit_test(test_every_remedy),
                cmocka_unit_test(test_first_failure),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
