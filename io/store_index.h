/*
 * The index of a run while its blocks are being written: entries in, whole pages at the end. The
 * pages of a billion k-mers are 16 MB; what is more than 256 KiB goes to a file without a name in the
 * output's folder.
 */
#ifndef KC_STORE_INDEX_H
#define KC_STORE_INDEX_H

#include "io/store_output.h"
#include "io/store_words.h"

/* Zero-initialise, with fd -1; free with kc_index_free. */
struct kc_index {
        struct kc_words page_firsts; /* the first k-mer of each page: for the footer */

        struct kc_words firsts, offsets; /* of the page under way */
        struct kc_words pages;           /* whole ones, behind those in the file */
        int fd;                          /* -1: none yet */
        uint64_t file_nbytes;
        bool stays; /* in memory, since no file can be created */
};

/* Begin the index of another run. */
void kc_index_begin(struct kc_index *index);

/* Add the next block: its first k-mer, of nwords words, and where it lies in the output at path. */
enum kc_status kc_index_add(struct kc_index *index, const uint64_t *first, int nwords,
                            uint64_t offset, const char *path, struct kc_error *err);

/* Write the index to the output at *end, which is where the last block ends; *end moves on. */
enum kc_status kc_index_store(struct kc_index *index, struct kc_output *output, uint64_t *end,
                              struct kc_error *err);

void kc_index_free(struct kc_index *index);

#endif
