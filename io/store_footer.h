/*
 * Header and footer of a .kc file, to bytes and back.
 */
#ifndef KC_STORE_FOOTER_H
#define KC_STORE_FOOTER_H

#include "io/store.h"
#include "io/store_format.h"
#include "io/store_words.h"

/* ---- writing ---- */

void kc_header_fill(struct kc_store_header *header, int k, bool stranded);
void kc_footer_ref_fill(struct kc_footer_ref *ref, uint64_t offset, const void *footer,
                        size_t nbytes);

/* What stands behind a run's record. */
struct kc_run_parts {
        const struct kc_histogram_row *rows;
        size_t nrows;
        const struct kc_words *page_firsts; /* first k-mers of the index's pages */
        const char *const *names;
        size_t nnames;
};

/* Append a run; the record's nhistogram, nnames and names_nbytes are filled in here. */
enum kc_status kc_footer_append_run(struct kc_words *records, struct kc_run_record *record,
                                    const struct kc_run_parts *parts, struct kc_error *err);

/*
 * The whole footer: the head, the kinds where one of them is not KC_RUN_COUNTS, the records.
 *   footer  out; what it held is gone
 *   kinds   one word a run, enum kc_run_kind
 */
enum kc_status kc_footer_assemble(struct kc_words *footer, const struct kc_words *kinds,
                                  const struct kc_words *records, struct kc_error *err);

/* ---- reading ---- */

/* A run of an open file. Pointers are into the footer's words. */
struct kc_run {
        struct kc_run_record record;
        enum kc_run_kind kind;
        uint64_t nblocks, npages;
        const struct kc_histogram_row *rows;
        const uint64_t *page_firsts; /* first k-mer of each index page [npages * key_nwords] */
        const char *names;           /* record.nnames strings, one behind the other */
};

/* What the file is, for messages and for bounds. */
struct kc_file_shape {
        const char *path;
        uint64_t nbytes;
        uint64_t footer_offset;
        int key_nwords;
};

/*
 * Check a header; *ref is the reference in force. KC_ECORRUPT.
 */
enum kc_status kc_header_check(const struct kc_store_header *header, const char *path,
                               uint64_t file_nbytes, struct kc_footer_ref *ref,
                               struct kc_error *err);

/* True for a reference that is sound or all zero, as one that was never used. */
bool kc_footer_ref_is_usable(const struct kc_footer_ref *ref);

/* Index of the reference in force, in a header that kc_header_check has found good. */
int kc_footer_ref_in_force(const struct kc_store_header *header);

/* Where the records begin in a footer of nruns runs that kc_footer_parse has found good, in words.
 */
size_t kc_footer_records_at(const uint64_t *footer, uint32_t nruns);

/*
 * Read a footer of nwords words whose checksum was right. Every offset and length in it is checked
 * against the file's.
 *   runs  out [*nruns], freed by the caller
 */
enum kc_status kc_footer_parse(const uint64_t *footer, size_t nwords,
                               const struct kc_file_shape *file, struct kc_run **runs,
                               uint32_t *nruns, struct kc_error *err);

#endif
