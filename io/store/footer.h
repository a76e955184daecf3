/*
 * Encode and decode the header and footer of a .kc file.
 */
#ifndef KC_IO_STORE_FOOTER_H
#define KC_IO_STORE_FOOTER_H

#include "io/store.h"
#include "io/store/format.h"
#include "io/store/words.h"

/* ---- writing ---- */

void kc_header_fill(struct kc_store_header *header, int k, uint32_t flags, uint64_t only_checksum);

/* The version of the format that a file with these flags has. */
uint32_t kc_header_version(uint32_t flags);
void kc_footer_ref_fill(struct kc_footer_ref *ref, uint64_t offset, const void *footer,
                        size_t nbytes);

/* What follows a run's record. */
struct kc_run_parts {
        const struct kc_histogram_row *rows;
        size_t nrows;
        const struct kc_words *page_firsts;    /* first k-mers of the index's pages */
        const struct kc_words *page_checksums; /* of these pages */
        const char *const *names;
        size_t nnames;
};

/* Append a run; the record's nhistogram, nnames and names_nbytes are filled in here. KC_ENOMEM. */
enum kc_status kc_footer_append_run(struct kc_words *records, struct kc_run_record *record,
                                    const struct kc_run_parts *parts, struct kc_error *err);

static inline uint64_t kc_run_kind_word(enum kc_run_kind kind, bool linked)
{
        return (uint64_t)kind | (linked ? KC_RUN_LINKED : 0);
}

/*
 * Assemble the whole footer, to be written at offset. KC_ENOMEM.
 *   footer  out; its previous content is lost
 *   kinds   one word per run, from kc_run_kind_word
 */
enum kc_status kc_footer_assemble(struct kc_words *footer, uint64_t offset,
                                  const struct kc_words *kinds, const struct kc_words *records,
                                  struct kc_error *err);

/* ---- reading ---- */

/* A run of an open file. Pointers are into the footer's words. */
struct kc_run {
        struct kc_run_record record;
        enum kc_run_kind kind;
        bool linked; /* footer and index hold the checksums of pages and blocks */
        uint64_t nblocks, npages;
        const struct kc_histogram_row *rows;
        const uint64_t *page_firsts;    /* first k-mer of each index page [npages * key_nwords] */
        const uint64_t *page_checksums; /* [npages] if linked, else [0] */
        const char *names;              /* record.nnames strings, back to back */
};

/* The file's name and sizes, for messages and for bounds. */
struct kc_file_shape {
        const char *path;
        uint64_t nbytes;
        uint64_t footer_offset;
        int key_nwords;
};

/* Whether it begins like the header of a .kc file. */
bool kc_header_is_ours(const struct kc_store_header *header);

/* Check all of a header but its footer references. KC_ECORRUPT. */
enum kc_status kc_header_check(const struct kc_store_header *header, const char *path,
                               struct kc_error *err);

/*
 * Rebuild the first part of a damaged header if what is left determines k and strands, which are
 * all that it holds. The references stay as they are. False if it does not.
 */
bool kc_header_rebuild(struct kc_store_header *header);

bool kc_footer_ref_is_sound(const struct kc_footer_ref *ref);
bool kc_footer_ref_is_empty(const struct kc_footer_ref *ref); /* all bytes are 0 */

/* Index of the reference in force, the first of two equal ones; -1 if neither is sound. */
int kc_footer_ref_in_force(const struct kc_store_header *header);

/* Check that a sound reference points into the file. KC_ECORRUPT. */
enum kc_status kc_footer_ref_check(const struct kc_footer_ref *ref, const char *path,
                                   uint64_t file_nbytes, struct kc_error *err);

/* Whether a footer is of an earlier version, without a checksum of its own. */
bool kc_footer_is_old(const uint64_t *footer);

/* The run records of a footer that kc_footer_parse has accepted: *nrecord_words words. */
const uint64_t *kc_footer_records(const uint64_t *footer, size_t nwords, size_t *nrecord_words);

/*
 * Read a footer of nwords words. Its own checksum is checked, and every offset and length in it
 * against the file.
 *   runs  out [*nruns], freed by the caller
 * KC_ECORRUPT; KC_ENOMEM.
 */
enum kc_status kc_footer_parse(const uint64_t *footer, size_t nwords,
                               const struct kc_file_shape *file, struct kc_run **runs,
                               uint32_t *nruns, struct kc_error *err);

/* The filter bounds of runs of counts, taken together. Zero-initialise. */
struct kc_bounds {
        uint32_t nruns;
        uint32_t min_count, max_count; /* the loosest */
        uint32_t mixed;                /* of enum kc_mixed */
};
void kc_bounds_add(struct kc_bounds *bounds, const struct kc_run *run); /* ignores tombstones */

/* Sum up what the runs of a file hold. Sets all of *info except k, stranded, file_nbytes and the
 * names, which are 0. */
void kc_runs_info(const struct kc_run *runs, uint32_t nruns, struct kc_store_info *info);

#endif
