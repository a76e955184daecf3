/*
 * Files of counts that other programs have written, read as pairs of a k-mer and its count.
 *
 * What a file is, is decided by its content. The pairs come in the order of the file, or by several
 * threads in any order; the engine sorts them (kc_cpu_order).
 */
#ifndef KC_IO_FORMATS_IMPORT_H
#define KC_IO_FORMATS_IMPORT_H

#include "kmer/pairs.h"

#include <stdbool.h>

struct kc_import;

/* What becomes of k-mers that are not in canonical form. */
enum kc_import_strands {
        KC_IMPORT_AS_DECLARED, /* what the file says; text, which says nothing, is canonical if all
                                  of its k-mers are */
        KC_IMPORT_CANONICAL,   /* each is replaced with its canonical form */
        KC_IMPORT_STRANDED,    /* they stay; KC_EUSAGE if the file says that it is canonical */
};

struct kc_import_info {
        const char *what; /* the format: "a KMC database" */
        int k;
        bool stranded; /* of text only after all of it has been read */
        bool unique;   /* the format has each k-mer once, so a repeated one means damage */
        uint64_t expected_npairs;
};

/* What was read. */
struct kc_import_totals {
        uint64_t nzero;      /* k-mers left out because their count is 0 */
        uint64_t noutside;   /* left out because the file says that counts like theirs are to be
                                ignored, as its own tools do */
        uint64_t natlimit;   /* k-mers with the largest count that the file can hold; they may have
                                occurred more often */
        uint64_t nsaturated; /* by how much counts above UINT32_MAX were lowered, in all */
};

/*
 * Open a file of counts for nworkers threads, and read its header. A KMC database is one of its two
 * files or what their names have in common; a FastK table is its .ktab file, whose ending may be left
 * out. "-" is standard input, for text and what can be read at any place.
 * The caller frees *import with kc_import_close.
 * KC_EINPUT if it is not a file of counts or is damaged; KC_EUSAGE; KC_EIO; KC_ENOMEM.
 */
enum kc_status kc_import_open(struct kc_import **import, const char *path, int nworkers,
                              enum kc_import_strands strands, struct kc_error *err);

/* The pairs. KC_EINPUT, with the file and the place, for whatever is damaged or truncated; KC_EIO;
 * KC_ENOMEM. */
struct kc_pair_source kc_import_source(struct kc_import *import);

/* May be called at any time, but not while threads read. */
void kc_import_get_info(const struct kc_import *import, struct kc_import_info *info);
void kc_import_get_totals(const struct kc_import *import, struct kc_import_totals *totals);

/* After everything has been read: KC_EINPUT if the format has each k-mer once, but npairs pairs held
 * only ndistinct k-mers. */
enum kc_status kc_import_check_unique(const struct kc_import *import, uint64_t npairs,
                                      uint64_t ndistinct, struct kc_error *err);

/* NULL is fine. */
void kc_import_close(struct kc_import *import);

#endif
