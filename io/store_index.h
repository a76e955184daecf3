/*
 * The index of a run while its blocks are being written: entries in, whole pages at the end.
 *
 * The first k-mers and the offsets of a billion k-mers are 16 MB, and would grow with the file in
 * spite of the bound on memory; what is more than 256 KiB of them goes to a file without a name in
 * the output's folder. The checksums, which are known after the entries, and in any order, stay in
 * memory: 8 bytes for each 1024 k-mers.
 */
#ifndef KC_STORE_INDEX_H
#define KC_STORE_INDEX_H

#include "io/store_output.h"
#include "io/store_words.h"

/* Zero-initialise, with fd -1; free with kc_index_free. */
struct kc_index {
        struct kc_words page_firsts;    /* the first k-mer of each page: for the footer */
        struct kc_words page_checksums; /* likewise, once the index is stored */
        struct kc_words checksums;      /* of all blocks */

        struct kc_words firsts, offsets; /* of the page under way */
        struct kc_words pages; /* whole ones without their checksums, behind those in the file */
        int fd;                /* -1: none yet */
        uint64_t file_nbytes;
        bool stays; /* in memory, since no file can be created */
};

struct kc_index_entry {
        const uint64_t *first; /* k-mer */
        uint64_t offset;       /* in the output */
        uint64_t checksum;     /* may be set later, in kc_index.checksums */
};

/* Begin the index of another run. */
void kc_index_begin(struct kc_index *index);

/* Add the next block, of k-mers of nwords words, of the output at path. KC_ENOMEM, KC_EIO. */
enum kc_status kc_index_add(struct kc_index *index, const struct kc_index_entry *entry, int nwords,
                            const char *path, struct kc_error *err);

/* Write the index to the output at *end, which is where the last block ends; *end moves on.
 * KC_ENOMEM, KC_EIO. */
enum kc_status kc_index_store(struct kc_index *index, int nwords, struct kc_output *output,
                              uint64_t *end, struct kc_error *err);

void kc_index_free(struct kc_index *index);

#endif
