/*
 * Private to the writers of this room: what each format provides, and what all formats share.
 *
 * A format's records go to its first file. export.c collects filtered pairs into batches and calls
 * the format to encode them. The format adds what comes before and after the records, and maintains
 * its indexes.
 */
#ifndef KC_IO_FORMATS_EXPORT_INTERNAL_H
#define KC_IO_FORMATS_EXPORT_INTERNAL_H

#include "io/formats/export.h"
#include "io/formats/out.h"
#include "kmer/kmer.h"

#include <string.h>

enum {
        KC_EXPORT_BATCH_NKMERS = 1 << 13, /* the batch and its records fit in the L2 */
        KC_EXPORT_SLACK = 8,              /* bytes that a record may scribble over after its end */
};

/* The name of a file: DIR/, `before`, BASE, `after`, where DIR/BASE is the path that was given. */
struct kc_export_file {
        const char *before, *after;
};

struct kc_export_format {
        uint32_t count_limit;                             /* the largest count that fits */
        struct kc_export_file files[KC_EXPORT_MAX_FILES]; /* none: one file, without an ending */
        size_t batch_nkmers;

        /* NULL, or write what comes before the records, to files that are open, and set
         * record_nbytes. */
        enum kc_status (*begin)(struct kc_export *writer, struct kc_error *err);

        /* The most bytes that the records of a batch of n pairs take; NULL: record_nbytes each. */
        size_t (*batch_nbytes)(const struct kc_export *writer, size_t n);

        /* Write the records of n pairs; returns their end. Depends on nothing but the pairs. */
        char *(*encode)(const struct kc_export *writer, const uint64_t *kmers,
                        const uint32_t *counts, size_t n, char *to);

        /* NULL, or note n pairs just before their records are written. */
        enum kc_status (*note)(struct kc_export *writer, const uint64_t *kmers, size_t n,
                               struct kc_error *err);

        /* NULL, or note counts before the filter. */
        void (*tally)(struct kc_export *writer, const uint32_t *counts, size_t n);

        /* Write what comes after the records. */
        enum kc_status (*end)(struct kc_export *writer, struct kc_error *err);
};

struct kc_export {
        const struct kc_export_format *kind;
        struct kc_export_options options;
        const char *path; /* the caller's, valid during begin */
        size_t nwords, record_nbytes;
        struct kc_export_written written;

        struct kc_export_out outs[KC_EXPORT_MAX_FILES];
        size_t nouts;
        void *state; /* the format's own, freed with free() */

        /* the batch */
        uint64_t *kmers;
        uint32_t *counts;
        size_t n;
        char *records;
};

/* The bytes of a k-mer's bases, 4 a byte. */
static inline size_t kc_export_kmer_nbytes(const struct kc_export *writer)
{
        return ((size_t)writer->options.k + 3) / 4;
}

extern const struct kc_export_format kc_export_tsv, kc_export_kff, kc_export_kmc,
        kc_export_jellyfish, kc_export_fastk, kc_export_arrow;

#endif
