#include "io/store/index.h"

#include "base/new_file.h"
#include "base/temp_file.h"
#include "io/store/format.h"

#include <unistd.h>
#include <xxhash.h>

enum { HELD_WORDS = 1 << 15 }; /* words of whole pages that stay in memory */

void kc_index_begin(struct kc_index *index)
{
        index->page_firsts.n = index->page_checksums.n = index->checksums.n = 0;
        index->firsts.n = index->offsets.n = index->pages.n = 0;
        index->file_nbytes = 0;
}

void kc_index_free(struct kc_index *index)
{
        free(index->page_firsts.data);
        free(index->page_checksums.data);
        free(index->checksums.data);
        free(index->firsts.data);
        free(index->offsets.data);
        free(index->pages.data);
        if (index->fd >= 0)
                close(index->fd);
}

/* Move the whole pages to the file. */
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

/* Words of a page of n entries up to the checksums of its blocks. */
static size_t front_nwords(size_t n, int nwords)
{
        return 1 + n * (size_t)nwords + n + 1;
}

/* End the current page; its last block ends at `end`. */
static enum kc_status end_page(struct kc_index *index, uint64_t end, struct kc_error *err)
{
        enum kc_status status;
        struct kc_words *pages = &index->pages;
        const uint64_t n = index->offsets.n;
        const size_t word = sizeof n;
        KC_TRY(kc_words_append(pages, &n, word, err));
        KC_TRY(kc_words_append(pages, index->firsts.data, index->firsts.n * word, err));
        KC_TRY(kc_words_append(pages, index->offsets.data, index->offsets.n * word, err));
        KC_TRY(kc_words_append(pages, &end, word, err));
        index->firsts.n = index->offsets.n = 0;
out:
        return status;
}

enum kc_status kc_index_add(struct kc_index *index, const struct kc_index_entry *entry, int nwords,
                            const char *path, struct kc_error *err)
{
        enum kc_status status;
        const size_t word = sizeof(uint64_t), key_nbytes = (size_t)nwords * word;
        if (index->offsets.n == KC_PAGE_NBLOCKS)
                KC_TRY(end_page(index, entry->offset, err));
        if (index->pages.n >= HELD_WORDS && !index->stays)
                KC_TRY(spill(index, path, err));
        if (index->offsets.n == 0)
                KC_TRY(kc_words_append(&index->page_firsts, entry->first, key_nbytes, err));
        KC_TRY(kc_words_append(&index->firsts, entry->first, key_nbytes, err));
        KC_TRY(kc_words_append(&index->offsets, &entry->offset, word, err));
        KC_TRY(kc_words_append(&index->checksums, &entry->checksum, word, err));
out:
        return status;
}

/* Get a page up to the checksums of its blocks: n words that begin nbytes into all pages. Only
 * whole pages are in the file. */
static enum kc_status get_front(const struct kc_index *index, uint64_t nbytes, size_t n,
                                struct kc_words *page, struct kc_error *err)
{
        enum kc_status status;
        page->n = 0;
        if (nbytes >= index->file_nbytes)
                return kc_words_append(page,
                                       index->pages.data +
                                               (nbytes - index->file_nbytes) / sizeof *page->data,
                                       n * sizeof *page->data, err);
        KC_TRY(kc_words_reserve(page, n, err));
        KC_TRY(kc_temp_file_read("the output's folder", index->fd, page->data,
                                 n * sizeof *page->data, nbytes, err));
        page->n = n;
out:
        return status;
}

/* Append the checksums of a page's n blocks, from number `block` on, and its own. */
static enum kc_status add_checksums(struct kc_index *index, size_t block, size_t n,
                                    struct kc_words *page, struct kc_error *err)
{
        enum kc_status status;
        const size_t word = sizeof(uint64_t);
        KC_TRY(kc_words_append(page, index->checksums.data + block, n * word, err));
        const uint64_t checksum = XXH3_64bits(page->data, page->n * word);
        KC_TRY(kc_words_append(page, &checksum, word, err));
        KC_TRY(kc_words_append(&index->page_checksums, &checksum, word, err));
out:
        return status;
}

enum kc_status kc_index_store(struct kc_index *index, int nwords, struct kc_output *output,
                              uint64_t *end, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_words page = { 0 };
        const size_t nblocks = index->checksums.n;
        uint64_t at = 0;
        if (index->offsets.n > 0)
                KC_TRY(end_page(index, *end, err));
        for (size_t b = 0; b < nblocks; b += KC_PAGE_NBLOCKS) {
                size_t n = nblocks - b < KC_PAGE_NBLOCKS ? nblocks - b : KC_PAGE_NBLOCKS;
                KC_TRY(get_front(index, at, front_nwords(n, nwords), &page, err));
                at += page.n * sizeof *page.data;
                KC_TRY(add_checksums(index, b, n, &page, err));
                KC_TRY(kc_output_pwrite(output, page.data, page.n * sizeof *page.data, *end, err));
                *end += page.n * sizeof *page.data;
        }
out:
        free(page.data);
        return status;
}
