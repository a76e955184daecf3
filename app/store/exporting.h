/*
 * Writing the k-mers of a .kc file in another program's format: the code that export and
 * count --format share.
 */
#ifndef APP_STORE_EXPORTING_H
#define APP_STORE_EXPORTING_H

#include "app/library/export.h"
#include "base/job.h"
#include "include/kcount.h"
#include "io/formats/export.h"

/* The names of the formats, for help and for shells. */
#define EXPORTING_FORMATS      "tsv, kff, kmc, jellyfish, fastk or arrow"
#define EXPORTING_FORMAT_WORDS "tsv kff kmc jellyfish fastk arrow"

struct exporting {
        enum kc_file_format format;
        const char *output;
        uint32_t min_count, max_count;
        uint32_t count_cap;    /* higher counts are written as this; UINT32_MAX: no cap */
        const char *from, *to; /* bounds on the k-mers, as the user typed them, or NULL */
        bool force;            /* existing files may be replaced */
        int nthreads;          /* that read the k-mers; 0: one thread */
        struct kc_job *job;    /* to be watched and canceled. NULL: the command has written
                                  something already, and nothing cancels its export */
};

/* Find the format with this name. Fails with KC_EUSAGE. */
enum kc_status exporting_format(const char *name, enum kc_file_format *format,
                                struct kc_error *err);

/* The default output name for a .kc file: its own name, with the format's ending instead of .kc.
 * The caller frees it; NULL when out of memory. */
char *exporting_name(const char *path, enum kc_file_format format);

/* A name that the user gave, without an ending that the format adds anyway. The caller frees it;
 * NULL when out of memory. */
char *exporting_stem(const char *name, enum kc_file_format format);

/* The names of an export's files. */
struct exporting_files {
        char *paths[KC_EXPORT_MAX_FILES]; /* [n] */
        size_t n;
};

/* KC_ENOMEM. Free the names with exporting_free. */
enum kc_status exporting_name_files(const struct exporting *exporting,
                                    struct exporting_files *files, struct kc_error *err);
void exporting_free(struct exporting_files *files);

/* Check whether k-mers of this length could be exported now. Fails like kc_export_create. */
enum kc_status exporting_check(const struct exporting *exporting, int k, bool stranded,
                               struct kc_error *err);

/* kcount_export, with warnings. On failure, none of the files remains.
 *   inside, exported  may be NULL */
enum kc_status exporting_write(const struct exporting *exporting, struct kcount_counts *counts,
                               const struct kcount_export_inside *inside,
                               struct kcount_exported *exported, struct kc_error *err);

#endif
