/* Which files of pictures and for MultiQC there are, and what becomes of their folder. */
#include "app/report/multiqc.h"
#include "app/report/pictures.h"
#include "app/report/svg/drawings.h"
#include "tests/app/report_example.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
        char scratch[32], folder[64];
        struct files files;
        struct pictures pictures;
        struct kc_error err;
};

static int set_up(void **state)
{
        struct scene *s = calloc(1, sizeof *s);
        assert_non_null(s);
        strcpy(s->scratch, "/tmp/kcount-pictures-XXXXXX");
        assert_non_null(mkdtemp(s->scratch));
        snprintf(s->folder, sizeof s->folder, "%s/svg", s->scratch);
        *state = s;
        return 0;
}

static int tear_down(void **state)
{
        struct scene *s = *state;
        for (size_t i = 0; i < s->files.n; i++)
                unlink(s->files.all[i].path);
        files_close(&s->files);
        pictures_close(&s->pictures);
        const int failed = rmdir(s->scratch); /* nothing is left in it */
        free(s);
        return failed;
}

static bool exists(const char *path)
{
        struct stat found;
        return stat(path, &found) == 0;
}

static bool has(const struct scene *s, const char *name)
{
        bool found = false;
        for (size_t i = 0; i < s->files.n; i++)
                found = found || strcmp(strrchr(s->files.all[i].path, '/') + 1, name) == 0;
        return found;
}

static void test_files_of_reads(void **state)
{
        struct scene *s = *state;
        assert_int_equal(pictures_add(&s->pictures, &s->files, s->folder, 0, false, &s->err),
                         KC_OK);
        assert_int_equal(s->files.n, 4);
        assert_true(has(s, "spectrum.svg") && has(s, "spectrum-log.svg") && has(s, "gc.svg"));
        assert_true(has(s, "ploidy.svg"));
}

static void test_files_of_counts(void **state)
{
        struct scene *s = *state;
        assert_int_equal(pictures_add(&s->pictures, &s->files, s->folder, 1, false, &s->err),
                         KC_OK);
        assert_int_equal(s->files.n, 5);
        assert_true(has(s, "copies.svg") && !has(s, "sequences.svg"));
}

static void test_files_of_two(void **state)
{
        struct scene *s = *state;
        assert_int_equal(pictures_add(&s->pictures, &s->files, s->folder, 2, true, &s->err), KC_OK);
        assert_int_equal(s->files.n, PICTURES_MOST);
        assert_true(has(s, "holders.svg") && has(s, "copies-1.svg") && has(s, "copies-2.svg"));
}

/* The first `most` bytes of the SVG of sequences. */
static void draw_sequences(const struct scene *s, const struct page *page, char *text, size_t most)
{
        static struct text_out out;
        struct kc_error err = { 0 };
        char path[96];
        snprintf(path, sizeof path, "%s/sequences.svg", s->scratch);
        assert_int_equal(text_out_open(&out, path, true, &err), KC_OK);
        drawing_put_sequences(&out, page);
        assert_int_equal(text_out_close(&out, &err), KC_OK);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, most - 1, file)] = '\0';
        fclose(file);
        unlink(path);
}

/* A bin without k-mers is a gap; one whose k-mers are all absent has no depth. */
static void test_gaps_have_no_depth(void **state)
{
        enum { MOST = 1 << 16 };
        static const uint32_t bins[2][2][PAGE_NBIN_VALUES] = { { { 0, 0, 40 }, { 0, 0, 0 } },
                                                               { { 0, 0, 40 }, { 9, 0, 0 } } };
        struct page *page = report_example_make("diploid");
        char *texts[2];
        page->depth = 40;
        page->nsequences = 1;
        for (int i = 0; i < 2; i++) {
                struct page_sequence sequence = page->sequences[0];
                const struct page_sequence *all = page->sequences;
                sequence.nbins = 2;
                sequence.bins = bins[i];
                page->sequences = &sequence;
                texts[i] = malloc(MOST);
                assert_non_null(texts[i]);
                draw_sequences(*state, page, texts[i], MOST);
                page->sequences = all;
        }
        /* the key is a rectangle, the spans are a path */
        assert_null(strstr(texts[0], "<path class=\"f-repeated\" d=\"M"));
        assert_non_null(strstr(texts[1], "<path class=\"f-repeated\" d=\"M"));
        free(texts[0]);
        free(texts[1]);
        report_example_free(page);
}

/* Nothing was committed, so nothing is left: tear_down finds the scratch folder empty. */
static void test_folder_goes(void **state)
{
        struct scene *s = *state;
        struct page *page = report_example_make("alone");
        assert_int_equal(pictures_add(&s->pictures, &s->files, s->folder, 0, false, &s->err),
                         KC_OK);
        assert_true(s->pictures.made_folder && exists(s->folder));
        assert_int_equal(files_open(&s->files, false, &s->err), KC_OK);
        pictures_put(&s->pictures, page);
        report_example_free(page);
}

static void test_folder_stays(void **state)
{
        struct scene *s = *state;
        assert_int_equal(mkdir(s->folder, 0777), 0);
        assert_int_equal(pictures_add(&s->pictures, &s->files, s->folder, 0, false, &s->err),
                         KC_OK);
        pictures_close(&s->pictures);
        assert_true(exists(s->folder));
        rmdir(s->folder);
}

static void test_no_folder(void **state)
{
        struct scene *s = *state;
        FILE *file = fopen(s->folder, "w");
        char deep[80];
        assert_non_null(file);
        fclose(file);
        assert_int_equal(pictures_add(&s->pictures, &s->files, s->folder, 0, false, &s->err),
                         KC_EUSAGE);
        assert_non_null(strstr(s->err.message, "is a file, not a folder"));
        s->err = (struct kc_error){ 0 };
        snprintf(deep, sizeof deep, "%s/deep", s->folder);
        assert_int_equal(pictures_add(&s->pictures, &s->files, deep, 0, false, &s->err), KC_EIO);
        assert_non_null(strstr(s->err.message, "cannot make the folder"));
        unlink(s->folder);
        snprintf(deep, sizeof deep, "%s/missing/svg", s->scratch);
        assert_int_equal(pictures_add(&s->pictures, &s->files, deep, 0, false, &s->err), KC_EIO);
}

/* Reads without k-mers have no rows, and each picture says so. */
static void test_no_kmers(void **state)
{
        struct scene *s = *state;
        struct page *page = report_example_make("diploid");
        char text[8192];
        page->spectrum.n = 0;
        assert_int_equal(pictures_add(&s->pictures, &s->files, s->folder, 1, true, &s->err), KC_OK);
        assert_int_equal(files_open(&s->files, false, &s->err), KC_OK);
        pictures_put(&s->pictures, page);
        assert_int_equal(files_commit(&s->files, &s->err), KC_OK);
        for (size_t i = 0; i < s->files.n; i++) {
                FILE *file = fopen(s->files.all[i].path, "r");
                assert_non_null(file);
                text[fread(text, 1, sizeof text - 1, file)] = '\0';
                fclose(file);
                assert_non_null(strstr(text, "The reads have no k-mers.</text>"));
        }
        report_example_free(page);
}

static void test_multiqc_names(void **state)
{
        static const char *const refused[] = { "a.json", "_mqc.json", "a_mqc.jso", "a_mqc.json.gz",
                                               "" };
        struct scene *s = *state;
        struct multiqc multiqc = { 0 };
        struct page *page = report_example_make("alone");
        multiqc_put(&multiqc, page); /* there are no files */
        report_example_free(page);
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
                assert_int_equal(multiqc_add(&multiqc, &s->files, refused[i], &s->err), KC_EUSAGE);
        assert_int_equal(s->files.n, 0);
        assert_int_equal(multiqc_add(&multiqc, &s->files, "x/a_mqc.json", &s->err), KC_OK);
        assert_int_equal(s->files.n, 2);
        assert_string_equal(s->files.all[0].path, "x/a_mqc.json");
        assert_string_equal(s->files.all[1].path, "x/a_spectrum_mqc.json");
        assert_ptr_equal(s->files.all[1].out, multiqc.spectrum);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_files_of_reads, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_files_of_counts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_files_of_two, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_folder_goes, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_folder_stays, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_no_folder, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_no_kmers, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_gaps_have_no_depth, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_multiqc_names, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
