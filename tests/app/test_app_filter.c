/* The rules of filter: judging, trimming, names of mates, texts that are held. */
#include "app/filter/held.h"
#include "app/filter/judge.h"
#include "app/filter/mates.h"
#include "app/filter/names.h"
#include "app/filter/trim.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct judge_bound no_bound = { .value = UINT64_MAX };

static struct judge_bound bound_of(const char *text)
{
        struct judge_bound bound;
        assert_true(judge_parse(text, &bound));
        return bound;
}

static struct kc_ask_summary summary(uint64_t nwindows, uint64_t nvalid, uint64_t nfound)
{
        return (struct kc_ask_summary){ .nwindows = nwindows, .nvalid = nvalid, .nfound = nfound };
}

static void test_bounds(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                bool is_share;
                uint64_t value;
        } good[] = {
                { "0", false, 0 },
                { "17", false, 17 },
                { "0%", true, 0 },
                { "100%", true, JUDGE_WHOLE },
                { "50%", true, 500000 },
                { "0.1%", true, 1000 },
                { "33.3333%", true, 333333 },
                { ".5%", true, 5000 },
                { "100.0%", true, JUDGE_WHOLE },
        };
        static const char *const bad[] = {
                "",    "%",        "-1",  "101%",   "100.0001%", "1.5",
                "1e3", "0.00001%", "5 %", "1.2.3%", "five",      "999999999999999999999%"
        };
        struct judge_bound bound;
        for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
                bound = bound_of(good[i].text);
                assert_int_equal(bound.is_share, good[i].is_share);
                assert_int_equal(bound.value, good[i].value);
        }
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                if (judge_parse(bad[i], &bound))
                        fail_msg("'%s' is a bound", bad[i]);
}

/* Whether reads of 10 valid windows out of 13, with 0 to 10 in range, are kept. */
static void check_kept(const char *at_least, const char *at_most, enum judge_denominator what,
                       const char *wanted)
{
        struct judge judge = { .at_least = bound_of(at_least),
                               .at_most = at_most ? bound_of(at_most) : no_bound,
                               .denominator = what };
        char kept[12] = "";
        for (size_t i = 0; i <= 10; i++) {
                const struct kc_ask_summary read = summary(13, 10, i);
                kept[i] = judge_keeps(&judge, &read) ? '+' : '-';
                judge.drops = true;
                assert_int_equal(judge_keeps(&judge, &read), kept[i] == '-');
                judge.drops = false;
        }
        assert_string_equal(kept, wanted);
}

static void test_judge(void **state)
{
        (void)state;
        check_kept("1", NULL, JUDGE_VALID, "-++++++++++");
        check_kept("0", NULL, JUDGE_VALID, "+++++++++++");
        check_kept("4", NULL, JUDGE_ALL, "----+++++++");
        check_kept("0", "0", JUDGE_VALID, "+----------");
        check_kept("2", "50%", JUDGE_VALID, "--++++-----");
        check_kept("50%", NULL, JUDGE_VALID, "-----++++++");
        check_kept("50.0001%", NULL, JUDGE_VALID, "------+++++");
        check_kept("50%", NULL, JUDGE_ALL, "------+++++"); /* 6.5, rounded down */
        check_kept("0%", "50%", JUDGE_ALL, "+++++++----");
        check_kept("100%", NULL, JUDGE_VALID, "----------+");
        check_kept("100%", NULL, JUDGE_ALL, "-----------");
}

/* The shares of long reads are exact, too. */
static void test_long_reads(void **state)
{
        (void)state;
        const uint64_t n = UINT64_C(1) << 50;
        const struct judge judge = { .at_least = bound_of("25%"), .at_most = no_bound };
        const struct kc_ask_summary enough = summary(n, n, n / 4);
        const struct kc_ask_summary fewer = summary(n, n, n / 4 - 1);
        assert_true(judge_keeps(&judge, &enough));
        assert_false(judge_keeps(&judge, &fewer));
}

/* A read without valid windows never passes, not even 0 or 0%. */
static void test_no_windows(void **state)
{
        (void)state;
        static const char *const bounds[] = { "0", "0%", "1" };
        const struct kc_ask_summary reads[] = { summary(0, 0, 0), summary(5, 0, 0) };
        for (size_t i = 0; i < 3; i++)
                for (size_t j = 0; j < 4; j++) {
                        struct judge judge = { .at_least = bound_of(bounds[i]),
                                               .at_most = no_bound,
                                               .denominator = j / 2 ? JUDGE_ALL : JUDGE_VALID };
                        assert_false(judge_keeps(&judge, &reads[j % 2]));
                        judge.drops = true;
                        assert_true(judge_keeps(&judge, &reads[j % 2]));
                }
}

static void test_pairs(void **state)
{
        (void)state;
        static const struct {
                uint64_t first, second; /* in range, of 10 each */
                const char *wanted;     /* any, both, pooled; at least 60 % */
        } cases[] = {
                { 0, 0, "---" },  { 6, 6, "+++" },  { 10, 0, "+--" }, { 10, 1, "+--" },
                { 10, 2, "+-+" }, { 2, 10, "+-+" }, { 5, 5, "---" },  { 7, 5, "+-+" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (int rule = 0; rule < 3; rule++) {
                        struct judge judge = { .at_least = bound_of("60%"),
                                               .at_most = no_bound,
                                               .pairs = (enum judge_pairs)rule };
                        const struct kc_ask_summary a = summary(10, 10, cases[i].first);
                        const struct kc_ask_summary b = summary(10, 10, cases[i].second);
                        const bool kept = cases[i].wanted[rule] == '+';
                        assert_int_equal(judge_keeps_pair(&judge, &a, &b), kept);
                        judge.drops = true;
                        assert_int_equal(judge_keeps_pair(&judge, &a, &b), !kept);
                }
}

/* ---- parts of reads ---- */

static const char *const part_bounds[] = { "0", "1", "3", "0%", "25%", "33.3%", "50%", "100%" };

/* Whether the verdict about `read` stays the same with nleft more windows, however many of them are
 * valid and in range. */
static bool is_certain(const struct judge *judge, struct kc_ask_summary read, uint64_t nleft)
{
        const bool keeps = judge_keeps(judge, &read);
        for (uint64_t nvalid = 0; nvalid <= nleft; nvalid++)
                for (uint64_t nfound = 0; nfound <= nvalid; nfound++) {
                        const struct kc_ask_summary whole = summary(
                                read.nwindows + nleft, read.nvalid + nvalid, read.nfound + nfound);
                        if (judge_keeps(judge, &whole) != keeps)
                                return false;
                }
        return true;
}

static void check_parts(const struct judge *judge, uint64_t *nsettled)
{
        for (uint64_t n = 0; n < 5 * 5 * 5 * 5; n++) {
                struct kc_asked_part part = { .summary = summary(n % 5, n / 5 % 5, n / 25 % 5),
                                              .nleft = n / 125 };
                if (part.summary.nvalid > part.summary.nwindows ||
                    part.summary.nfound > part.summary.nvalid)
                        continue;
                judge_settle(judge, &part, NULL);
                *nsettled += part.is_settled && part.nleft > 0;
                if (part.is_settled && !is_certain(judge, part.summary, part.nleft))
                        fail_msg("%d of %d, %d valid, %d left: this is not certain",
                                 (int)part.summary.nfound, (int)part.summary.nwindows,
                                 (int)part.summary.nvalid, (int)part.nleft);
        }
}

/* A part of a read is settled only if what is left cannot change the verdict. */
static void test_parts(void **state)
{
        enum { N = sizeof part_bounds / sizeof *part_bounds };
        uint64_t nsettled = 0;
        (void)state;
        for (size_t i = 0; i < 4 * N * (N + 1); i++) {
                const size_t most = i / 4 / N;
                const struct judge judge = {
                        .at_least = bound_of(part_bounds[i / 4 % N]),
                        .at_most = most < N ? bound_of(part_bounds[most]) : no_bound,
                        .denominator = i % 2 ? JUDGE_ALL : JUDGE_VALID,
                        .drops = i / 2 % 2,
                };
                check_parts(&judge, &nsettled);
        }
        assert_true(nsettled > 1000);
}

/* The windows that are asked first are enough if all of them are in range. */
static void test_first_windows(void **state)
{
        (void)state;
        for (uint64_t n = 0; n < 300; n++)
                for (size_t i = 0; i < sizeof part_bounds / sizeof *part_bounds; i++) {
                        const struct judge judge = { .at_least = bound_of(part_bounds[i]),
                                                     .at_most = no_bound };
                        const uint64_t first = judge_nfirst(&judge, n);
                        struct kc_asked_part part = { .summary = summary(first, first, first),
                                                      .nleft = n - first };
                        assert_in_range(first, n > 0, n);
                        judge_settle(&judge, &part, NULL);
                        assert_true(part.is_settled);
                }
}

static struct kc_asked_part random_part(uint64_t *seed)
{
        const uint64_t nwindows = next_random(seed) % 5,
                       nvalid = next_random(seed) % (nwindows + 1);
        return (struct kc_asked_part){ .summary = summary(nwindows, nvalid,
                                                          next_random(seed) % (nvalid + 1)),
                                       .nleft = next_random(seed) % 4 };
}

/* The part with all its windows, or the part alone if it is settled and `asks` is false. */
static struct kc_ask_summary complete(const struct kc_asked_part *part, bool asks, uint64_t *seed)
{
        struct kc_ask_summary whole = part->summary;
        const uint64_t nvalid = next_random(seed) % (part->nleft + 1),
                       nfound = next_random(seed) % (nvalid + 1);
        if (asks || !part->is_settled) {
                whole.nwindows += part->nleft;
                whole.nvalid += nvalid;
                whole.nfound += nfound;
        }
        return whole;
}

/* The verdict about a pair does not depend on windows of a mate that is settled. */
static void test_parts_of_pairs(void **state)
{
        uint64_t seed = 1, nsettled = 0;
        (void)state;
        for (int i = 0; i < 200000; i++) {
                const struct judge judge = { .at_least = bound_of(part_bounds[i % 8]),
                                             .at_most = i / 8 % 2 ? bound_of("50%") : no_bound,
                                             .pairs = (enum judge_pairs)(i / 16 % 3) };
                struct kc_asked_part first = random_part(&seed), second = random_part(&seed);
                judge_settle(&judge, &first, &second);
                nsettled += first.is_settled != second.is_settled;
                uint64_t part_seed = seed, whole_seed = seed;
                const struct kc_ask_summary a = complete(&first, false, &part_seed),
                                            b = complete(&second, false, &part_seed),
                                            all = complete(&first, true, &whole_seed),
                                            all2 = complete(&second, true, &whole_seed);
                assert_int_equal(judge_keeps_pair(&judge, &a, &b),
                                 judge_keeps_pair(&judge, &all, &all2));
        }
        assert_true(nsettled > 1000);
}

/* Groups that are not pairs, of reads with 10 windows each; a read passes with 60 % in range. */
static void test_groups(void **state)
{
        (void)state;
        static const struct {
                size_t n;
                uint64_t found[4];
                const char *wanted; /* any, both, pooled */
        } cases[] = {
                { 0, { 0 }, "---" },       { 1, { 6 }, "+++" },       { 1, { 5 }, "---" },
                { 3, { 9, 9, 1 }, "+-+" }, { 3, { 9, 9, 9 }, "+++" }, { 4, { 0, 0, 0, 6 }, "+--" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (int rule = 0; rule < 3; rule++) {
                        struct judge judge = { .at_least = bound_of("60%"),
                                               .at_most = no_bound,
                                               .pairs = (enum judge_pairs)rule };
                        struct judge_group group = JUDGE_NO_READS;
                        for (size_t j = 0; j < cases[i].n; j++) {
                                const struct kc_ask_summary s = summary(10, 10, cases[i].found[j]);
                                judge_add(&judge, &group, &s);
                        }
                        const bool kept = cases[i].wanted[rule] == '+';
                        assert_int_equal(judge_keeps_group(&judge, &group), kept);
                        judge.drops = true;
                        assert_int_equal(judge_keeps_group(&judge, &group), !kept);
                }
}

/* Name i: of 1 to 250 letters, many with the same beginning. */
static size_t make_name(char name[NAMES_MOST_NBYTES], unsigned i)
{
        const size_t n = (size_t)sprintf(name, "%x", i), most = i % 250 + 1;
        if (n < most)
                memset(name + n, 'x', most - n);
        return n < most ? most : n;
}

/* Every name is found again with its value, and no other name is; the memory stays within its
 * bound. */
static void test_table_of_names(void **state)
{
        (void)state;
        enum { N = 30000 };
        struct names names = { .value_nbytes = sizeof(unsigned), .most_nbytes = 32 << 20 };
        char name[NAMES_MOST_NBYTES];
        unsigned zero = 0, i;
        void *value;
        assert_null(names_find(&names, "a", 1));
        for (i = 0; i < 2 * N; i++) {
                const unsigned number = i % N;
                const size_t n = make_name(name, number);
                assert_int_equal(names_add(&names, name, n, &value, NULL), KC_OK);
                assert_non_null(value);
                assert_memory_equal(value, i < N ? &zero : &number, sizeof number);
                memcpy(value, &number, sizeof number);
        }
        assert_int_equal(names.n, N);
        for (i = 0; i < 2 * N; i++) {
                value = names_find(&names, name, make_name(name, i));
                assert_true((value != NULL) == (i < N));
                if (value != NULL)
                        assert_memory_equal(value, &i, sizeof i);
        }
        assert_true(names.nbytes <= names.most_nbytes);
        names_free(&names);
        assert_null(names_find(&names, "a", 1));
}

static void test_names_without_room(void **state)
{
        (void)state;
        for (uint64_t most = 0; most < 8 << 20; most += 700 << 10) {
                struct names names = { .value_nbytes = 1, .most_nbytes = most };
                char name[NAMES_MOST_NBYTES];
                unsigned n = 0;
                void *value;
                do {
                        const size_t nbytes = make_name(name, n);
                        assert_int_equal(names_add(&names, name, nbytes, &value, NULL), KC_OK);
                        n += value != NULL;
                        assert_true(names.nbytes <= most);
                } while (value != NULL);
                assert_int_equal(names.n, n);
                assert_true(most < 2 << 20 || n > 0);
                while (n-- > 0) /* those that are there stay */
                        assert_non_null(names_find(&names, name, make_name(name, n)));
                names_free(&names);
        }
}

static void test_empty_ranges(void **state)
{
        (void)state;
        static const struct {
                const char *at_least, *at_most;
                bool empty;
        } cases[] = { { "1", "0", true },    { "1", "1", false },    { "2", "1", true },
                      { "50%", "1", false }, { "50%", "40%", true }, { "1", "0%", false } };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct judge judge = { .at_least = bound_of(cases[i].at_least),
                                             .at_most = bound_of(cases[i].at_most) };
                assert_int_equal(judge_is_empty(&judge), cases[i].empty);
        }
}

/* ---- trimming ---- */

static void test_how_much_stays(void **state)
{
        (void)state;
        static const struct {
                uint64_t nwindows, nlead, nbases, stay;
        } cases[] = { { 10, 10, 14, 14 },
                      { 10, 9, 14, 13 },
                      { 10, 1, 14, 5 },
                      { 10, 0, 14, 0 },
                      { 0, 0, 3, 0 } };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct kc_ask_summary read = summary(cases[i].nwindows, 10, 9);
                read.nlead = cases[i].nlead;
                assert_int_equal(judge_trim(&read, 5, cases[i].nbases), cases[i].stay);
                assert_int_equal(read.nwindows, cases[i].nlead);
                assert_int_equal(read.nvalid, cases[i].nlead);
                assert_int_equal(read.nfound, cases[i].nlead);
        }
}

struct gathered {
        char text[512];
        size_t n;
};

static enum kc_status gather(void *ctx, const char *text, size_t nbytes, struct kc_error *err)
{
        struct gathered *gathered = ctx;
        (void)err;
        assert_true(nbytes > 0 && gathered->n + nbytes < sizeof gathered->text);
        memcpy(gathered->text + gathered->n, text, nbytes);
        gathered->n += nbytes;
        gathered->text[gathered->n] = '\0';
        return KC_OK;
}

/* In one part, and in parts of any size. */
static void check_trim(const char *text, uint64_t nbases, const char *wanted)
{
        const size_t n = strlen(text);
        for (size_t part = 1; part <= n; part++) {
                struct gathered gathered = { .n = 0 };
                struct trim trim = trim_begin(nbases, text[0] == '@');
                for (size_t at = 0; at < n; at += part)
                        trim_text(&trim, text + at, n - at < part ? n - at : part, gather,
                                  &gathered, NULL);
                assert_string_equal(gathered.text, wanted);
        }
}

static void test_trim(void **state)
{
        (void)state;
        check_trim("@r some\nACGTACGT\n+r\nIIII!III\n", 5, "@r some\nACGTA\n+r\nIIII!\n");
        check_trim("@r\r\nACGTACGT\r\n+\r\n@+II!III\r\n", 5, "@r\r\nACGTA\r\n+\r\n@+II!\r\n");
        check_trim("@r\nACGTACGT\n+\nIIIIIIII", 5, "@r\nACGTA\n+\nIIIII");
        check_trim("@r\nACGT\nACGT\n+\nIIII\n@II!\n", 4, "@r\nACGT\n+\nIIII\n");
        check_trim("@r\nACGT\nACGT\n+\nIIII\n@II!\n", 6, "@r\nACGT\nAC\n+\nIIII\n@I\n");
        check_trim("@r\nACGT \t\nACGT\n+\n+III \n@II!\n", 3, "@r\nACG \t\n+\n+II \n");
        check_trim("@r\nACGTA\nCG\nT\n+\nIIIIIIII\n", 2, "@r\nAC\n+\nII\n");
        check_trim(">r text\nACGTACGT\n", 5, ">r text\nACGTA\n");
        check_trim(">r\nACGT\r\nACGT\r\n\r\n", 5, ">r\nACGT\r\nA\r\n");
        check_trim(">r\nACGT\nACGT", 4, ">r\nACGT\n");
        check_trim(">r\nACGTACGT", 4, ">r\nACGT");
        check_trim(">r\nACGT\n;a comment\nACGT\n;more\nAC\n", 5, ">r\nACGT\n;a comment\nA\n");
        check_trim(">r\n\nACGT\n\n\nACGT\n", 5, ">r\n\nACGT\n\n\nA\n");
}

/* ---- names ---- */

static bool match(const char *a, const char *b)
{
        return mates_match(a, strlen(a), b, strlen(b));
}

static void test_names(void **state)
{
        (void)state;
        assert_true(match("r", "r"));
        assert_true(match("r/1", "r/2"));
        assert_true(match("r 1:N:0", "r 2:N:0"));
        assert_true(match("r/1 x", "r/2\ty"));
        assert_true(match("r/1", "r"));
        assert_true(match("", ""));
        assert_true(match("/1", "/2"));
        assert_false(match("r1", "r2"));
        assert_false(match("r/3", "r/1"));
        assert_false(match("r", "rr"));
        assert_false(match("r /1", "q /2"));
}

/* ---- held texts ---- */

struct compared {
        const char *text;
        size_t n;
};

static enum kc_status compare(void *ctx, const char *text, size_t nbytes, struct kc_error *err)
{
        struct compared *compared = ctx;
        (void)err;
        assert_memory_equal(text, compared->text + compared->n, nbytes);
        compared->n += nbytes;
        return KC_OK;
}

/* Several records after each other, shorter and longer than the memory. */
static void test_held(void **state)
{
        (void)state;
        enum { NTEXT = 100000, ROOM = 1000 };
        static const size_t sizes[] = { 10, NTEXT, 0, ROOM, ROOM + 1, NTEXT - 1, 5 };
        struct held held = held_begin(".", ROOM);
        char *text = malloc(NTEXT);
        uint64_t rng = 3;
        assert_non_null(text);
        for (size_t i = 0; i < NTEXT; i++)
                text[i] = (char)next_random(&rng);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                struct compared compared = { text, 0 };
                for (size_t at = 0, n; at < sizes[i]; at += n) {
                        n = next_random(&rng) % (3 * ROOM);
                        n = n < sizes[i] - at ? n : sizes[i] - at;
                        assert_int_equal(held_append(&held, text + at, n, NULL), KC_OK);
                }
                assert_int_equal(held_release(&held, compare, &compared, NULL), KC_OK);
                assert_int_equal(compared.n, sizes[i]);
        }
        assert_true(held.spilled_nbytes > 2 * (NTEXT - 2 * ROOM));
        held_free(&held);
        free(text);
}

static void test_held_nowhere(void **state)
{
        (void)state;
        struct held held = held_begin("/nonexistent", 10);
        struct kc_error err = { 0 };
        assert_int_equal(held_append(&held, "0123456789", 10, &err), KC_OK);
        assert_int_equal(held_append(&held, "0123456789", 10, &err), KC_EIO);
        assert_non_null(strstr(err.message, "/nonexistent"));
        held_free(&held);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_judge),
                cmocka_unit_test(test_long_reads),
                cmocka_unit_test(test_no_windows),
                cmocka_unit_test(test_pairs),
                cmocka_unit_test(test_groups),
                cmocka_unit_test(test_parts),
                cmocka_unit_test(test_first_windows),
                cmocka_unit_test(test_parts_of_pairs),
                cmocka_unit_test(test_table_of_names),
                cmocka_unit_test(test_names_without_room),
                cmocka_unit_test(test_empty_ranges),
                cmocka_unit_test(test_how_much_stays),
                cmocka_unit_test(test_trim),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_held),
                cmocka_unit_test(test_held_nowhere),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
