/*
 * Small files of other programs (from the fuzzers' corpora), cut off after each byte, with each
 * byte changed, and with absurd numbers in their headers. Import must refuse them with a message
 * that names the file, or read valid pairs.
 */
#include "tests/fuzz/import_check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MAX_NBYTES = 1 << 16, MAX_FILES = 3 };

/* A file of a corpus holds all files of a database. They are written to one folder under `names`,
 * and the first one is imported. */
struct sample {
        const char *corpus, *names[MAX_FILES];
        int nfiles;
        size_t record_nbytes; /* a cut between records goes unnoticed; 0: none does */
};

static const struct sample samples[] = {
        { "import_kmc/b9", { "x.kmc_pre", "x.kmc_suf" }, 2, 0 },
        { "import_kmc/s15", { "x.kmc_pre", "x.kmc_suf" }, 2, 0 },
        { "import_kff/kmc", { "x.kff" }, 1, 0 },
        { "import_kff/raw", { "x.kff" }, 1, 0 },
        { "import_kff/minimizers", { "x.kff" }, 1, 0 },
        { "import_kff/no-data", { "x.kff" }, 1, 0 },
        { "import_jellyfish/binary", { "x.jf" }, 1, 5 },
        { "import_fastk/k15", { "x.ktab", ".x.ktab.1", ".x.ktab.2" }, 3, 0 },
};

enum { NSAMPLES = sizeof samples / sizeof samples[0] };

struct files {
        uint8_t bytes[MAX_NBYTES];
        size_t at[MAX_FILES], size[MAX_FILES];
        char path[MAX_FILES][64];
        int n;
        struct imported intact;
};

static void write_one(const struct files *f, int i, size_t size)
{
        write_file(f->path[i], f->bytes + f->at[i], size);
}

static void take_apart(struct files *f, const struct sample *sample)
{
        char path[512];
        size_t at = 0;
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", KC_SOURCE_DIR, sample->corpus);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        const size_t size = fread(f->bytes, 1, MAX_NBYTES, file);
        fclose(file);
        f->n = sample->nfiles;
        for (int i = 0; i < f->n; i++) {
                f->size[i] = i < f->n - 1 ? next_length(f->bytes, size, &at) : size - at;
                f->at[i] = at;
                at += f->size[i];
                name_file(f->path[i], sample->names[i]);
                write_one(f, i, f->size[i]);
        }
        f->intact = import_once(f->path[0], KC_IMPORT_AS_DECLARED, 1, 100);
        assert_string_equal(f->intact.err.message, "");
        assert_true(f->intact.npairs > 5);
}

static void put_away(const struct files *f)
{
        for (int i = 0; i < f->n; i++)
                unlink(f->path[i]);
}

/* A change in one file may be reported for another one, but all of them are in the same folder. */
static void names_the_file(const struct imported *read)
{
        assert_true(read->status == KC_EINPUT);
        assert_non_null(strstr(read->err.message, import_folder));
}

static void a_cut_is_noticed(void **state)
{
        (void)state;
        static struct files f;
        for (int s = 0; s < NSAMPLES; s++) {
                take_apart(&f, &samples[s]);
                for (int i = 0; i < f.n; i++) {
                        for (size_t size = 0; size < f.size[i]; size++) {
                                const size_t record = samples[s].record_nbytes;
                                write_one(&f, i, size);
                                const struct imported read =
                                        import_once(f.path[0], KC_IMPORT_AS_DECLARED, 1, 100);
                                if (record == 0 || (f.size[i] - size) % record != 0)
                                        names_the_file(&read);
                        }
                        write_one(&f, i, f.size[i]);
                }
                put_away(&f);
        }
}

static void a_changed_byte_does_no_harm(void **state)
{
        (void)state;
        static const uint8_t changes[] = { 0x01, 0x80, 0xff };
        static struct files f;
        for (int s = 0; s < NSAMPLES; s++) {
                take_apart(&f, &samples[s]);
                for (int i = 0; i < f.n; i++)
                        for (size_t j = 0; j < f.size[i]; j++)
                                for (size_t c = 0; c < sizeof changes; c++) {
                                        f.bytes[f.at[i] + j] ^= changes[c];
                                        write_one(&f, i, f.size[i]);
                                        check_import(f.path[0], c * 100 + j);
                                        f.bytes[f.at[i] + j] ^= changes[c];
                                        write_one(&f, i, f.size[i]);
                                }
                put_away(&f);
        }
}

/* Each number in a header becomes absurdly large: its bytes are all 7f, then all ff. */
static void absurd_numbers_are_refused(void **state)
{
        (void)state;
        static const struct {
                int sample, file;
                size_t at; /* from the end of the file, if it is .kmc_pre */
                size_t nbytes;
        } numbers[] = {
                /* kmc: the header of 64 bytes, then its length and KMCP */
                { 1, 0, 72, 4 }, /* k */
                { 1, 0, 64, 4 }, /* bytes of a count */
                { 1, 0, 60, 4 }, /* length of prefixes */
                { 1, 0, 48, 8 }, /* k-mers */
                { 1, 0, 8, 4 },  /* length of the header */
                /* kff */
                { 2, 0, 8, 4 },  /* size of the free block */
                { 2, 0, 13, 8 }, /* values in a section */
                { 2, 0, 23, 8 }, /* k */
                { 2, 0, 35, 8 }, /* max */
                { 2, 0, 53, 8 }, /* bytes of a count */
                { 2, 0, 78, 8 }, /* blocks in a section */
                /* fastk */
                { 7, 0, 0, 4 },  /* k */
                { 7, 0, 4, 4 },  /* parts */
                { 7, 0, 12, 4 }, /* bytes of a prefix */
                { 7, 1, 4, 8 },  /* k-mers of a part */
                { 7, 0, 16, 8 }, /* first entry of the index */
        };
        static struct files f;
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
                const int i = numbers[n].file;
                take_apart(&f, &samples[numbers[n].sample]);
                const size_t at =
                        numbers[n].sample == 1 ? f.size[i] - numbers[n].at : numbers[n].at;
                for (int fill = 0x7f; fill <= 0xff; fill += 0x80) {
                        uint8_t kept[8];
                        memcpy(kept, f.bytes + f.at[i] + at, sizeof kept);
                        memset(f.bytes + f.at[i] + at, fill, numbers[n].nbytes);
                        write_one(&f, i, f.size[i]);
                        const struct imported read =
                                import_once(f.path[0], KC_IMPORT_AS_DECLARED, 2, 100);
                        names_the_file(&read);
                        memcpy(f.bytes + f.at[i] + at, kept, sizeof kept);
                }
                put_away(&f);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_cut_is_noticed),
                cmocka_unit_test(a_changed_byte_does_no_harm),
                cmocka_unit_test(absurd_numbers_are_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
