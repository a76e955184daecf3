#include "io/store_index.h"

#include "io/new_file.h"
#include "io/store_format.h"
#include "kmer/temp_file.h"

#include <unistd.h>
#include <xxhash.h>

enum { HELD_WORDS = 1 << 15 }; /* of whole pages in memory */

void kc_index_begin(struct kc_index *index)
{
        index->page_firsts.n = index->firsts.n = index->offsets.n = index->pages.n = 0;
        index->file_nbytes = 0;
}

void kc_index_free(struct kc_index *index)
{
        free(index->page_firsts.data);
        free(index->firsts.data);
        free(index->offsets.data);
        free(index->pages.data);
        if (index->fd >= 0)
                close(index->fd);
}

/* Move the pages to the file. */
static enum kc_status spill(struct kc_index *index, const char *path, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_error unused = { 0 };
        size_t nbytes = index->pages.n * sizeof *index->pages.data;
        char *folder = kc_path_folder(path);
        if (folder == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for an index");
        if (index->fd < 0 && kc_temp_file_open(folder, &index->fd, &unused) != KC_OK) {
                index->fd = -1;
                index->stays = true;
                goto out;
        }
        KC_TRY(kc_temp_file_write(folder, index->fd, index->pages.data, nbytes, index->file_nbytes,
                                  err));
        index->file_nbytes += nbytes;
        index->pages.n = 0;
out:
        free(folder);
        return status;
}

/* The page under way is whole: its last block ends at `end`. */
static enum kc_status end_page(struct kc_index *index, uint64_t end, struct kc_error *err)
{
        enum kc_status status;
        struct kc_words *pages = &index->pages;
        const uint64_t n = index->offsets.n;
        const size_t begin = pages->n, word = sizeof n;
        KC_TRY(kc_words_append(pages, &n, word, err));
        KC_TRY(kc_words_append(pages, index->firsts.data, index->firsts.n * word, err));
        KC_TRY(kc_words_append(pages, index->offsets.data, index->offsets.n * word, err));
        KC_TRY(kc_words_append(pages, &end, word, err));
        const uint64_t checksum = XXH3_64bits(pages->data + begin, (pages->n - begin) * word);
        KC_TRY(kc_words_append(pages, &checksum, word, err));
        index->firsts.n = index->offsets.n = 0;
out:
        return status;
}

enum kc_status kc_index_add(struct kc_index *index, const uint64_t *first, int nwords,
                            uint64_t offset, const char *path, struct kc_error *err)
{
        enum kc_status status;
        const size_t key_nbytes = (size_t)nwords * sizeof *first;
        if (index->offsets.n == KC_PAGE_NBLOCKS)
                KC_TRY(end_page(index, offset, err));
        if (index->pages.n >= HELD_WORDS && !index->stays)
                KC_TRY(spill(index, path, err));
        if (index->offsets.n == 0)
                KC_TRY(kc_words_append(&index->page_firsts, first, key_nbytes, err));
        KC_TRY(kc_words_append(&index->firsts, first, key_nbytes, err));
        KC_TRY(kc_words_append(&index->offsets, &offset, sizeof offset, err));
out:
        return status;
}

/* Copy what is in the file to the output at *end, by way of memory of HELD_WORDS. */
static enum kc_status store_spilled(struct kc_index *index, struct kc_output *output, uint64_t *end,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t *words = malloc(HELD_WORDS * sizeof *words);
        if (words == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for an index");
        for (uint64_t at = 0; at < index->file_nbytes;) {
                uint64_t left = index->file_nbytes - at, most = HELD_WORDS * sizeof *words;
                size_t n = (size_t)(left < most ? left : most);
                KC_TRY(kc_temp_file_read("the output's folder", index->fd, words, n, at, err));
                KC_TRY(kc_output_pwrite(output, words, n, *end, err));
                at += n;
                *end += n;
        }
out:
        free(words);
        return status;
}

enum kc_status kc_index_store(struct kc_index *index, struct kc_output *output, uint64_t *end,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (index->offsets.n > 0)
                KC_TRY(end_page(index, *end, err));
        if (index->file_nbytes > 0)
                KC_TRY(store_spilled(index, output, end, err));
        size_t nbytes = index->pages.n * sizeof *index->pages.data;
        KC_TRY(kc_output_pwrite(output, index->pages.data, nbytes, *end, err));
        *end += nbytes;
out:
        return status;
}
