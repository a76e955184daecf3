/*
 * K-mers: packing, reverse complement, canonical form, order; each compared with strings.
 */
#include "kmer/kmer.h"

#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int ALL_K[] = { 1, 2, 3, 15, 16, 31, 32, 33, 63, 64, 65, 96, 97, 127, 128, 129, 255 };
enum { NK = sizeof ALL_K / sizeof *ALL_K };

static void random_text(char *text, int k)
{
        for (int i = 0; i < k; i++)
                text[i] = "ACGT"[rand() % 4];
        text[k] = '\0';
}

static void reverse_complement_text(const char *text, int k, char *out)
{
        for (int i = 0; i < k; i++)
                out[i] = "TGCA"[strchr("ACGT", text[k - 1 - i]) - "ACGT"];
        out[k] = '\0';
}

static void text_survives(void **state)
{
        (void)state;
        for (int i = 0; i < NK; i++) {
                int k = ALL_K[i];
                char text[256], back[256] = { 0 };
                uint64_t kmer[KC_MAX_WORDS];
                random_text(text, k);
                assert_int_equal(kc_kmer_parse(text, k, kmer), k);
                kc_kmer_format(kmer, k, back);
                assert_string_equal(back, text);
                assert_int_equal(kmer[kc_kmer_nwords(k) - 1] & ~kc_kmer_top_mask(k), 0);
        }
}

static void other_letters_are_reported(void **state)
{
        (void)state;
        uint64_t kmer[KC_MAX_WORDS];
        assert_int_equal(kc_kmer_parse("acgtuU", 6, kmer), 6);
        assert_int_equal(kmer[0], 0x1bf);
        assert_int_equal(kc_kmer_parse("ACNT", 4, kmer), 2);
        assert_int_equal(kc_kmer_parse("", 4, kmer), 0);
        for (int c = 0; c < 256; c++) {
                const char *found = c ? strchr("AaCcGgTtUu", c) : NULL;
                int want = found ? (int)(found - "AaCcGgTtUu") / 2 : -1;
                assert_int_equal(kc_base_code((unsigned char)c), want == 4 ? 3 : want);
        }
}

static void reverse_complement_and_canonical(void **state)
{
        (void)state;
        for (int round = 0; round < 50; round++)
                for (int i = 0; i < NK; i++) {
                        int k = ALL_K[i];
                        char text[256], rc[256], back[256] = { 0 };
                        uint64_t kmer[KC_MAX_WORDS], other[KC_MAX_WORDS];
                        random_text(text, k);
                        reverse_complement_text(text, k, rc);
                        kc_kmer_parse(text, k, kmer);
                        kc_kmer_reverse_complement(kmer, k, other);
                        kc_kmer_format(other, k, back);
                        assert_string_equal(back, rc);
                        kc_kmer_canonical(kmer, k);
                        kc_kmer_format(kmer, k, back);
                        assert_string_equal(back, strcmp(text, rc) < 0 ? text : rc);
                }
}

static void order_is_alphabetical(void **state)
{
        (void)state;
        for (int round = 0; round < 2000; round++) {
                int k = ALL_K[rand() % NK];
                char a[256], b[256];
                uint64_t x[KC_MAX_WORDS], y[KC_MAX_WORDS];
                random_text(a, k);
                strcpy(b, a);
                b[rand() % k] = "ACGT"[rand() % 4];
                kc_kmer_parse(a, k, x);
                kc_kmer_parse(b, k, y);
                int want = strcmp(a, b);
                int got = kc_kmer_compare(x, y, kc_kmer_nwords(k));
                assert_int_equal(got, (want > 0) - (want < 0));
        }
}

/* ---- threads ---- */

struct team {
        atomic_int ncalls, nfailures;
        int failing; /* the worker that fails; -1: none */
};

static enum kc_status visit(void *ctx, int worker, struct kc_error *err)
{
        struct team *team = ctx;
        atomic_fetch_add(&team->ncalls, 1 << (4 * worker));
        if (worker == team->failing)
                return kc_fail(err, KC_EIO, "worker %d failed", worker);
        return KC_OK;
}

static void note_failure(void *ctx)
{
        struct team *team = ctx;
        atomic_fetch_add(&team->nfailures, 1);
}

static void every_worker_runs_once(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        struct team team = { .failing = -1 };
        assert_int_equal(kc_parallel(7, visit, note_failure, &team, &err), KC_OK);
        assert_int_equal(team.ncalls, 0x1111111);
        assert_int_equal(team.nfailures, 0);
}

static void a_failure_is_reported_once(void **state)
{
        (void)state;
        for (int failing = 0; failing < 3; failing++) {
                struct kc_error err = { 0 };
                struct team team = { .failing = failing };
                assert_int_equal(kc_parallel(3, visit, note_failure, &team, &err), KC_EIO);
                assert_int_equal(err.status, KC_EIO);
                assert_non_null(strstr(err.message, "failed"));
                assert_int_equal(team.nfailures, 1);
        }
}

static void the_first_error_is_kept(void **state)
{
        (void)state;
        struct kc_error err = { 0 };
        assert_int_equal(kc_fail(&err, KC_EINPUT, "record %d", 7), KC_EINPUT);
        assert_int_equal(kc_fail(&err, KC_EIO, "later"), KC_EIO);
        assert_int_equal(err.status, KC_EINPUT);
        assert_string_equal(err.message, "record 7");
        assert_int_equal(kc_fail(NULL, KC_EIO, "nowhere"), KC_EIO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_survives),
                cmocka_unit_test(other_letters_are_reported),
                cmocka_unit_test(reverse_complement_and_canonical),
                cmocka_unit_test(order_is_alphabetical),
                cmocka_unit_test(every_worker_runs_once),
                cmocka_unit_test(a_failure_is_reported_once),
                cmocka_unit_test(the_first_error_is_kept),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
