/*
 * The filter of a run, compared with a plain loop.
 */
#include "kmer/run.h"

#include "kmer/kmer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 200 };

static const struct kc_run_filter filters[] = {
        { 1, UINT32_MAX }, { 2, UINT32_MAX }, { 1, 1 }, { 2, 3 }, { 5, 5 }, { 2, UINT32_MAX - 1 },
};

static uint32_t count_of(size_t i)
{
        return i % 7 == 6 ? UINT32_MAX : (uint32_t)(i % 7 + 1);
}

static bool is_kept(const struct kc_run_filter *filter, uint32_t count)
{
        return filter->min_count <= count && count <= filter->max_count;
}

static void check(const struct kc_run_filter *filter, size_t n, size_t nwords)
{
        uint64_t kmers[N * KC_MAX_WORDS];
        uint32_t counts[N];
        struct kc_run_dropped wanted = { 10, 20, 30 }, dropped = wanted; /* sums go on from these */
        size_t nkept = 0;
        for (size_t i = 0; i < n; i++)
                counts[i] = count_of(i);
        for (size_t i = 0; i < n * nwords; i++)
                kmers[i] = i;
        const size_t nleft = kc_run_filter_pairs(filter, kmers, counts, n, (int)nwords, &dropped);
        for (size_t i = 0; i < n; i++) {
                const uint32_t count = count_of(i);
                if (is_kept(filter, count)) {
                        assert_true(nkept < nleft);
                        assert_int_equal(counts[nkept], count);
                        for (size_t w = 0; w < nwords; w++)
                                assert_int_equal(kmers[nkept * nwords + w], i * nwords + w);
                        nkept++;
                } else {
                        wanted.ndistinct++;
                        wanted.nkmers += count;
                        wanted.nunique += count == 1;
                }
        }
        assert_int_equal(nleft, nkept);
        assert_memory_equal(&dropped, &wanted, sizeof wanted);
}

static void filter_agrees_with_a_loop(void **state)
{
        (void)state;
        static const size_t ns[] = { 0, 1, 2, 7, N };
        for (size_t f = 0; f < sizeof filters / sizeof *filters; f++)
                for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
                        for (size_t nwords = 1; nwords <= KC_MAX_WORDS; nwords++)
                                check(&filters[f], ns[i], nwords);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(filter_agrees_with_a_loop),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
