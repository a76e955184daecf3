/*
 * Files of counts from other programs, read as pairs of a k-mer and its count.
 *
 * The content of a file decides its format. The pairs come in the order of the file, or, to several
 * threads, in any order; kc_cpu_order sorts them.
 */
#ifndef KC_IO_FORMATS_IMPORT_H
#define KC_IO_FORMATS_IMPORT_H

#include "kmer/pairs.h"

#include <stdbool.h>

struct kc_import;

/* What happens to k-mers that are not in canonical form. */
enum kc_import_strands {
        KC_IMPORT_AS_DECLARED, /* as the file declares; text, which declares nothing, is canonical
                                  if all of its k-mers are */
        KC_IMPORT_CANONICAL,   /* each is replaced with its canonical form */
        KC_IMPORT_STRANDED,    /* they are kept; KC_EUSAGE if the file is declared canonical */
};

struct kc_import_info {
        const char *what; /* the format: "a KMC database" */
        int k;
        bool stranded; /* for text, known only after all of it has been read */
        bool unique;   /* the file holds each k-mer once, so a repeated one means damage */
        uint64_t expected_npairs; /* an estimate; 0: unknown */
};

/* What was read. */
struct kc_import_totals {
        uint64_t nzero;      /* k-mers left out because their count is 0 */
        uint64_t noutside;   /* k-mers left out because their counts are outside the range that the
                                file states; its own tools ignore them, too */
        uint64_t natlimit;   /* k-mers with the largest count that the file can hold; they may have
                                occurred more often */
        uint64_t nsaturated; /* total by which counts above UINT32_MAX were lowered */
};

/*
 * Open a file of counts for nworkers threads, and read its header. For a KMC database, path names
 * one of its two files, or both without their endings; for a FastK table, the .ktab file, with or
 * without its ending. "-" is standard input; from a pipe, only text can be read. The caller frees
 * *import with kc_import_close. KC_EINPUT if it is not a file of counts or is damaged; KC_EUSAGE;
 * KC_EIO; KC_ENOMEM.
 */
enum kc_status kc_import_open(struct kc_import **import, const char *path, int nworkers,
                              enum kc_import_strands strands, struct kc_error *err);

/* The names of all files that the import reads, such as those of a database. They belong to the
 * import. Returns how many there are. */
size_t kc_import_paths(const struct kc_import *import, const char *const **paths);

/* The pairs. next() fails with KC_EINPUT and names the file if that is damaged or truncated;
 * KC_EIO; KC_ENOMEM. */
struct kc_pair_source kc_import_source(struct kc_import *import);

/* Not to be called while threads read. */
void kc_import_get_info(const struct kc_import *import, struct kc_import_info *info);
void kc_import_get_totals(const struct kc_import *import, struct kc_import_totals *totals);

/* To be called after everything has been read: KC_EINPUT if the file should hold each k-mer once,
 * but its npairs pairs have only ndistinct k-mers. */
enum kc_status kc_import_check_whole(struct kc_import *import, uint64_t npairs, uint64_t ndistinct,
                                     struct kc_error *err);

/* After that: why the file may lack its end although it could be read; NULL: no reason. */
const struct kc_error *kc_import_warning(const struct kc_import *import);

/* NULL is fine. */
void kc_import_close(struct kc_import *import);

#endif
