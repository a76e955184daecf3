/*
 * Write the pictures and MultiQC's files of all examples, to look at them, and for
 * tests/cli/report_pictures.py and scripts/check_multiqc.sh.
 *
 *      report_pictures FOLDER
 *
 * Each example gets a folder.
 */
#include "app/report/multiqc.h"
#include "app/report/pictures.h"
#include "tests/app/report_example.h"

#include <stdio.h>

/* Whether one is more than a file of counts. */
static bool has_sequences(const struct page *page)
{
        for (int i = 0; i < page->nassemblies; i++)
                if (!page->assemblies[i].is_counted)
                        return true;
        return false;
}

static enum kc_status write_all(const char *folder, const char *name, struct page *page,
                                struct kc_error *err)
{
        char path[4096], numbers[4200];
        struct files files = { 0 };
        struct pictures pictures = { 0 };
        struct multiqc multiqc = { 0 };
        enum kc_status status;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        snprintf(numbers, sizeof numbers, "%s/%s_mqc.json", path, name);
        KC_TRY(pictures_add(&pictures, &files, path, (size_t)page->nassemblies, has_sequences(page),
                            err));
        KC_TRY(multiqc_add(&multiqc, &files, numbers, err));
        KC_TRY(files_check(&files, NULL, 0, true, err));
        KC_TRY(files_open(&files, true, err));
        pictures_put(&pictures, page);
        multiqc_put(&multiqc, page);
        KC_TRY(files_commit(&files, err));
out:
        files_close(&files);
        pictures_close(&pictures);
        return status;
}

static enum kc_status write_example(const char *folder, const char *name, struct kc_error *err)
{
        struct page *page = report_example_make(name);
        enum kc_status status = write_all(folder, name, page, err);
        report_example_free(page);
        return status;
}

int main(int argc, char **argv)
{
        struct kc_error err = { 0 };
        enum kc_status status = KC_OK;
        if (argc != 2)
                return 2;
        for (size_t i = 0; report_example_names[i] != NULL; i++)
                KC_TRY(write_example(argv[1], report_example_names[i], &err));
out:
        if (status != KC_OK)
                puts(err.message);
        return status != KC_OK;
}
