#include "base/file_io.h"
#include "io/store/file.h"
#include "kmer/remedy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Open the file of a detached store again. It must still be the same file. */
static enum kc_status open_again(const struct kc_store *store, int *fd, struct kc_error *err)
{
        struct stat st;
        *fd = open(store->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (*fd < 0 || fstat(*fd, &st) != 0)
                return kc_fail(err, KC_EIO, "cannot open %s again: %s", store->path,
                               strerror(errno));
        if (st.st_dev == store->device && st.st_ino == store->inode)
                return KC_OK;
        return kc_fail(err, KC_EIO, "%s was replaced by another file while it was being read",
                       store->path);
}

static enum kc_status read_all(const struct kc_store *store, int fd, void *to, size_t nbytes,
                               uint64_t offset, struct kc_error *err)
{
        const size_t n = kc_file_read(fd, to, nbytes, offset);
        const struct kc_error_place at = kc_byte_of(store->path, offset + n);
        if (n == nbytes)
                return KC_OK;
        if (errno != 0)
                return kc_fail_at(err, KC_EIO, 0, at, "cannot read %s at offset %llu: %s", at.file,
                                  (unsigned long long)at.number, strerror(errno));
        return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE, at, "%s is truncated at offset %llu",
                          at.file, (unsigned long long)at.number);
}

enum kc_status kc_store_pread(const struct kc_store *store, void *to, size_t nbytes,
                              uint64_t offset, struct kc_error *err)
{
        if (store->fd >= 0)
                return read_all(store, store->fd, to, nbytes, offset, err);
        int fd;
        enum kc_status status = open_again(store, &fd, err);
        if (status == KC_OK)
                status = read_all(store, fd, to, nbytes, offset, err);
        if (fd >= 0)
                close(fd);
        return status;
}

size_t kc_kmer_search(const uint64_t *kmers, size_t n, const uint64_t *kmer, int nwords)
{
        size_t low = 0, high = n; /* all before low are <= kmer, all from high on are above it */
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (kc_kmer_compare(kmers + middle * (size_t)nwords, kmer, nwords) <= 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low == 0 ? 0 : low - 1;
}

enum kc_status kc_block_damaged(const struct kc_store *store, uint64_t offset, const char *what,
                                struct kc_error *err)
{
        return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE, kc_byte_of(store->path, offset),
                          "%s is damaged: the block at offset %llu %s", store->path,
                          (unsigned long long)offset, what);
}

enum kc_status kc_block_verify(const struct kc_store *store, const uint64_t *words,
                               const struct kc_block_place *place, struct kc_error *err)
{
        const uint64_t checksum = words[place->nwords - 1];
        if (XXH3_64bits(words, (place->nwords - 1) * sizeof *words) != checksum)
                return kc_block_damaged(store, place->offset, "has a wrong checksum", err);
        if (place->linked && checksum != place->checksum)
                return kc_block_damaged(store, place->offset,
                                        "is not the block that the index says is there", err);
        return KC_OK;
}

/* Whether entries ascend from this page's first k-mer in the footer and stay below the next
 * page's. */
static bool firsts_are_sound(const struct kc_page *page, const struct kc_run *run, int nw)
{
        const size_t key_words = (size_t)nw;
        if (kc_kmer_compare(page->firsts, run->page_firsts + page->number * key_words, nw) != 0)
                return false;
        for (size_t i = 1; i < page->n; i++)
                if (kc_kmer_compare(page->firsts + (i - 1) * key_words,
                                    page->firsts + i * key_words, nw) >= 0)
                        return false;
        return page->number + 1 == run->npages ||
               kc_kmer_compare(page->firsts + (page->n - 1) * key_words,
                               run->page_firsts + (page->number + 1) * key_words, nw) < 0;
}

/* Whether blocks follow one another inside the run's part of the file, each of a possible size. */
static bool offsets_are_sound(const struct kc_page *page, const struct kc_run *run, int nw)
{
        const uint64_t least = (KC_BLOCK_MIN_WORDS + 1) * sizeof(uint64_t);
        const uint64_t most = (kc_block_max_words(nw) + 1) * sizeof(uint64_t);
        if (page->offsets[0] < run->record.blocks_offset ||
            page->offsets[page->n] > run->record.index_offset)
                return false;
        if (page->number == 0 && page->offsets[0] != run->record.blocks_offset)
                return false;
        if (page->number + 1 == run->npages && page->offsets[page->n] != run->record.index_offset)
                return false;
        for (size_t i = 0; i < page->n; i++) {
                uint64_t nbytes = page->offsets[i + 1] - page->offsets[i];
                if (page->offsets[i + 1] < page->offsets[i] || page->offsets[i] % 8 != 0 ||
                    nbytes % 8 != 0 || nbytes < least || nbytes > most)
                        return false;
        }
        return true;
}

/* Whether the checksum is right, and is that of the page that belongs here. */
static bool checksum_is_sound(const struct kc_page *page, const struct kc_run *run, size_t nwords)
{
        const uint64_t checksum = page->words[nwords - 1];
        return XXH3_64bits(page->words, (nwords - 1) * sizeof *page->words) == checksum &&
               (!run->linked || checksum == run->page_checksums[page->number]);
}

enum kc_status kc_page_load(struct kc_page *page, const struct kc_store *store,
                            const struct kc_run *run, uint64_t number, struct kc_error *err)
{
        if (page->n > 0 && page->number == number)
                return KC_OK;
        page->n = 0;
        const size_t full = kc_page_words(KC_PAGE_NBLOCKS, store->nwords, run->linked);
        if (page->words == NULL) /* the next run may be linked, even if this one is not */
                page->words = malloc(kc_page_words(KC_PAGE_NBLOCKS, store->nwords, true) *
                                     sizeof *page->words);
        if (page->words == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the index of %s", store->path);

        uint64_t nleft = run->nblocks - number * KC_PAGE_NBLOCKS;
        size_t n = nleft < KC_PAGE_NBLOCKS ? (size_t)nleft : KC_PAGE_NBLOCKS;
        size_t nwords = kc_page_words(n, store->nwords, run->linked);
        uint64_t offset = run->record.index_offset + number * full * sizeof *page->words;
        enum kc_status status =
                kc_store_pread(store, page->words, nwords * sizeof *page->words, offset, err);
        if (status != KC_OK)
                return status;

        page->number = number;
        page->firsts = page->words + 1;
        page->offsets = page->firsts + n * (size_t)store->nwords;
        page->checksums = run->linked ? page->offsets + n + 1 : NULL;
        page->n = n;
        if (checksum_is_sound(page, run, nwords) && page->words[0] == n &&
            firsts_are_sound(page, run, store->nwords) &&
            offsets_are_sound(page, run, store->nwords))
                return KC_OK;
        page->n = 0;
        return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE, kc_byte_of(store->path, offset),
                          "%s is damaged: the index page at offset %llu is wrong", store->path,
                          (unsigned long long)offset);
}
