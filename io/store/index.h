/*
 * The index of a run while its blocks are being written: entries in, whole pages at the end.
 *
 * For a billion k-mers, first k-mers and offsets take 16 MB, and would grow with the file in spite
 * of the memory limit. So what exceeds 256 KiB goes to a nameless file in the output's folder. The
 * checksums, which become known after the entries and in any order, stay in memory: 8 bytes per
 * 1024 k-mers.
 */
#ifndef KC_IO_STORE_INDEX_H
#define KC_IO_STORE_INDEX_H

#include "io/store/output.h"
#include "io/store/words.h"

/* Zero-initialise, with fd -1; free with kc_index_free. */
struct kc_index {
        struct kc_words page_firsts;    /* the first k-mer of each page: for the footer */
        struct kc_words page_checksums; /* of these pages, once the index is stored */
        struct kc_words checksums;      /* of all blocks */

        struct kc_words firsts, offsets; /* of the page being filled */
        struct kc_words pages; /* whole pages without checksums; they follow those in the file */
        int fd;                /* -1: none yet */
        uint64_t file_nbytes;
        bool stays; /* pages stay in memory: no file can be created */
};

struct kc_index_entry {
        const uint64_t *first; /* k-mer */
        uint64_t offset;       /* in the output */
        uint64_t checksum;     /* may be set later, in kc_index.checksums */
};

/* Begin the index of another run; the previous run's is lost. */
void kc_index_begin(struct kc_index *index);

/* Add the next block of the output at path, with k-mers of nwords words. KC_ENOMEM, KC_EIO. */
enum kc_status kc_index_add(struct kc_index *index, const struct kc_index_entry *entry, int nwords,
                            const char *path, struct kc_error *err);

/* Write the index to the output at *end, where the last block ends; *end moves past it. All
 * checksums must be set. KC_ENOMEM, KC_EIO. */
enum kc_status kc_index_store(struct kc_index *index, int nwords, struct kc_output *output,
                              uint64_t *end, struct kc_error *err);

/* Free everything and close the file; the struct itself is the caller's. */
void kc_index_free(struct kc_index *index);

#endif
