/*
 * Writing the k-mers of a .kc file in the format of another program: what export and count --format
 * have in common.
 */
#ifndef APP_EXPORTING_H
#define APP_EXPORTING_H

#include "io/formats/format.h"
#include "io/store.h"

struct exporting {
        enum kc_file_format format;
        const char *output;
        uint32_t min_count, max_count;
        uint32_t count_cap;    /* a count above it that is kept is written as it; 0: none is */
        const char *from, *to; /* bounds of the k-mers, as the user typed them; or NULL */
        bool force;            /* existing files may be replaced */
};

/* The format of that name. KC_EUSAGE. */
enum kc_status exporting_format(const char *name, enum kc_file_format *format,
                                struct kc_error *err);

/* The output that belongs to a .kc file: its name with the format's ending instead of .kc. The
 * caller frees it; NULL when out of memory. */
char *exporting_name(const char *path, enum kc_file_format format);

/* Check whether the k-mers of such a file could be written now. Fails like kc_format_create. */
enum kc_status exporting_check(const struct exporting *exporting, int k, bool stranded,
                               struct kc_error *err);

/* Write the files, with a warning if counts were clipped. On failure, none remains. */
enum kc_status exporting_write(const struct exporting *exporting, struct kc_store *store,
                               struct kc_error *err);

#endif
