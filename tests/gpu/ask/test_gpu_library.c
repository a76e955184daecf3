/* The askers of kcount.h on devices: the answers are those of the CPU. */
#include "include/kcount.h"

#include "tests/gpu/need_device.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NLETTERS = 300000, NCOUNTED = 40000, NKMERS = 20000 };
enum { NREADS = 6000, LONGEST = 90 }; /* more reads than devices take at a time */

/* Letters, and the counts of the k-mers of the first of them. */
struct asked {
        char letters[NLETTERS];
        struct kcount_counts *counts;
        size_t k;
        uint64_t kmers[NKMERS * 3]; /* of at most 3 words */
};

/* Bases, sometimes in lower case or as U, and now and then another letter. */
static void make_letters(char letters[NLETTERS])
{
        uint64_t seed = 5;
        for (size_t i = 0; i < NLETTERS; i++) {
                const uint64_t number = next_random(&seed);
                const char *kind = number % 97 == 0 ? "acgu" : number % 991 == 0 ? "NR-n" : "ACGT";
                letters[i] = kind[number >> 62];
        }
        memcpy(letters + NLETTERS - NCOUNTED / 2, letters, NCOUNTED / 2);
}

static bool give(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        const char **letters = ctx;
        (void)cap;
        *sequences = (struct kcount_sequence){ *letters, NCOUNTED };
        *n = *letters != NULL;
        *letters = NULL;
        return true;
}

static struct asked *make_asked(int k, bool stranded)
{
        struct kcount_count_options options = KCOUNT_COUNT_OPTIONS_INIT;
        struct asked *a = calloc(1, sizeof *a);
        const char *letters = a->letters;
        size_t at = 0, n = 0;
        make_letters(a->letters);
        options.k = k;
        options.stranded = stranded;
        options.device = "cpu";
        options.nthreads = 2;
        a->k = (size_t)k;
        assert_int_equal(kcount_count_sequences(give, &letters, &options, NULL, &a->counts, NULL),
                         KCOUNT_OK);
        for (; n < NKMERS; at += 4) /* half of them are counted */
                n += kcount_encode(k, a->letters + at, 1,
                                   a->kmers + n * (size_t)kcount_nwords(k)) == 1;
        return a;
}

static void free_asked(struct asked *a)
{
        kcount_close(a->counts);
        free(a);
}

static struct kcount_asker *open_asker(const struct asked *a, const char *device, int nthreads)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        struct kcount_asker *asker;
        options.device = device;
        options.nthreads = nthreads;
        options.memory_nbytes = 256 << 20;
        assert_int_equal(kcount_asker_open(&asker, a->counts, &options, NULL), KCOUNT_OK);
        return asker;
}

struct answers {
        uint32_t by_kmer[NKMERS], by_sequence[NLETTERS], by_read[NLETTERS], few[10];
        bool valid[NLETTERS], valid_of_reads[NLETTERS];
};

static void ask_reads(struct answers *answers, const struct asked *a, struct kcount_asker *asker)
{
        struct kcount_sequence *reads = malloc(NREADS * sizeof *reads);
        for (size_t i = 0, at = 0; i < NREADS; at += reads[i++].nbases / 2)
                reads[i] = (struct kcount_sequence){ a->letters + at, i * 7 % LONGEST };
        assert_int_equal(kcount_ask_sequences(asker, reads, NREADS, answers->by_read,
                                              answers->valid_of_reads, NULL),
                         KCOUNT_OK);
        free(reads);
}

static void ask(struct answers *answers, struct asked *a, const char *device, int nthreads)
{
        struct kcount_asker *asker = open_asker(a, device, nthreads);
        memset(answers, 0xff, sizeof *answers);
        assert_int_equal(kcount_ask(asker, a->kmers, NKMERS, answers->by_kmer, NULL), KCOUNT_OK);
        assert_int_equal(kcount_ask(asker, a->kmers, 10, answers->few, NULL), KCOUNT_OK);
        assert_int_equal(kcount_ask_sequence(asker, a->letters, NLETTERS, answers->by_sequence,
                                             answers->valid, NULL),
                         KCOUNT_OK);
        ask_reads(answers, a, asker);
        kcount_asker_close(asker);
}

static void test_answers(void **state)
{
        static const char *const devices[] = { "cuda", "cuda:0,0" };
        struct answers *cpu = malloc(sizeof *cpu), *cuda = malloc(sizeof *cuda);
        (void)state;
        for (int k = 21; k <= 64; k += 43) {
                struct asked *a = make_asked(k, k == 64);
                ask(cpu, a, "cpu", 2);
                for (int i = 0; i < 2; i++) {
                        ask(cuda, a, devices[i], 2 + i);
                        assert_memory_equal(cuda, cpu, sizeof *cpu);
                }
                size_t nfound = 0;
                for (size_t i = 0; i < NKMERS; i++)
                        nfound += cpu->by_kmer[i] > 0;
                assert_in_range(nfound, NKMERS / 3, NKMERS * 4 / 5);
                free_asked(a);
        }
        free(cpu);
        free(cuda);
}

static void expect_refused(const struct asked *a, const char *device, enum kcount_status wanted,
                           const char *message)
{
        struct kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        struct kcount_asker *asker;
        struct kcount_error *error;
        options.device = device;
        assert_int_equal(kcount_asker_open(&asker, a->counts, &options, &error), wanted);
        assert_non_null(strstr(kcount_error_message(error), message));
        kcount_error_free(error);
}

/* Devices that cannot be used; numbers that are not k-mers, after which the asker still answers. */
static void test_failures(void **state)
{
        struct asked *a = make_asked(31, false);
        struct kcount_asker *asker = open_asker(a, "cuda", 2);
        uint32_t *found = malloc(NKMERS * sizeof *found);
        (void)state;
        expect_refused(a, "gpu", KCOUNT_EUSAGE, "'gpu' is no device");
        expect_refused(a, "cuda:999", KCOUNT_EDEVICE, "cuda:999");
        a->kmers[NKMERS / 2] |= UINT64_C(1) << 62;
        assert_int_equal(kcount_ask(asker, a->kmers, NKMERS, found, NULL), KCOUNT_EUSAGE);
        a->kmers[NKMERS / 2] ^= UINT64_C(1) << 62;
        assert_int_equal(kcount_ask(asker, a->kmers, NKMERS, found, NULL), KCOUNT_OK);
        assert_true(found[0] > 0);
        free(found);
        kcount_asker_close(asker);
        free_asked(a);
        a = make_asked(65, false);
        expect_refused(a, "cuda", KCOUNT_EUSAGE, "k up to 64");
        free_asked(a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_failures),
        };
        need_device();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
