/*
 * A table of the prefixes of sorted k-mers, written while they pass: for each prefix, how many
 * k-mers have it or a lower one.
 */
#ifndef KC_FORMATS_PREFIX_H
#define KC_FORMATS_PREFIX_H

#include "io/formats/export_internal.h"

#include <stddef.h>

struct kc_prefix_table {
        struct kc_export_out *out;
        size_t nwords;   /* of a k-mer */
        int shift;       /* the prefix is the k-mer shifted right by that; negative: left */
        uint64_t end;    /* numbers are written for the prefixes below it */
        uint64_t next;   /* the prefix whose number is next */
        uint64_t nkmers; /* noted so far */
};

/* note() of a kc_export_format whose state begins with a table. KC_EIO. */
enum kc_status kc_prefix_note(struct kc_export *writer, const uint64_t *kmers, size_t n,
                              struct kc_error *err);

/* Write the rest of the table. KC_EIO. */
enum kc_status kc_prefix_end(struct kc_prefix_table *table, struct kc_error *err);

#endif
