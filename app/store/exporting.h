/*
 * Writing the k-mers of a .kc file in another program's format: the code that export and
 * count --format share.
 */
#ifndef APP_STORE_EXPORTING_H
#define APP_STORE_EXPORTING_H

#include "base/job.h"
#include "io/formats/export.h"
#include "io/store.h"

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
        int nthreads;       /* that read the k-mers, for one that writes them; 0: one does both */
        struct kc_job *job; /* see app/library/walking.h; may be NULL */
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

/* Write the files, and warn if counts were clipped. On failure, none of them remains. */
enum kc_status exporting_write(const struct exporting *exporting, struct kc_store *store,
                               struct kc_error *err);

/*
 * exporting_write in two steps: the first writes everything but the names, and the second gives the
 * files their names, and warns.
 *   writer   out: given to kc_export_close in the end; NULL on failure
 *   other    gets its name together with them, as in kc_export_commit; may be NULL
 *   written  out
 */
enum kc_status exporting_fill(const struct exporting *exporting, struct kc_store *store,
                              struct kc_export **writer, struct kc_error *err);
enum kc_status exporting_commit(const struct exporting *exporting, struct kc_export *writer,
                                struct kc_new_file *other, struct kc_export_written *written,
                                struct kc_error *err);

#endif
