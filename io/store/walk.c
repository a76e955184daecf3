#include "io/store/file.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_NBYTES = 256 << 10 }; /* read at once, if that much is wanted */

/* A chunk ends with the first block that reaches chunk_nbytes. */
static enum kc_status allocate(struct kc_walk *walk, struct kc_error *err)
{
        const size_t nw = (size_t)walk->store->nwords;
        const size_t run_words =
                (size_t)((walk->run->record.index_offset - walk->run->record.blocks_offset) /
                         sizeof(uint64_t));
        if (walk->chunk_nbytes == 0)
                walk->chunk_nbytes = CHUNK_NBYTES;
        size_t most = walk->chunk_nbytes / sizeof(uint64_t) + kc_block_max_words((int)nw) + 1;
        walk->chunk_cap = run_words < most ? run_words : most;
        walk->chunk = malloc((walk->chunk_cap + KC_BLOCK_PADDING) * sizeof *walk->chunk);
        walk->kmers_buffer = malloc(KC_BLOCK_NKMERS * nw * sizeof *walk->kmers_buffer);
        walk->counts_buffer = malloc(KC_BLOCK_NKMERS * sizeof *walk->counts_buffer);
        if (walk->chunk == NULL || walk->kmers_buffer == NULL || walk->counts_buffer == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading %s", walk->store->path);
        return KC_OK;
}

enum kc_status kc_walk_begin(struct kc_walk *walk, const struct kc_store *store,
                             const struct kc_run *run, uint64_t begin, uint64_t end,
                             struct kc_error *err)
{
        walk->store = store;
        walk->run = run;
        walk->block = begin;
        walk->end = end;
        walk->chunk_begin = walk->chunk_end = 0;
        walk->from = walk->to = NULL;
        walk->n = 0;
        return walk->chunk == NULL && begin < end ? allocate(walk, err) : KC_OK;
}

enum kc_status kc_walk_range(struct kc_walk *walk, const uint64_t *from, const uint64_t *to,
                             struct kc_error *err)
{
        const int nw = walk->store->nwords;
        walk->from = from;
        walk->to = to;
        walk->block = 0;
        walk->end = walk->run->nblocks;
        if (from == NULL || walk->end == 0)
                return KC_OK;
        uint64_t page = kc_kmer_search(walk->run->page_firsts, walk->run->npages, from, nw);
        enum kc_status status = kc_page_load(&walk->page, walk->store, walk->run, page, err);
        if (status == KC_OK)
                walk->block = page * KC_PAGE_NBLOCKS +
                              kc_kmer_search(walk->page.firsts, walk->page.n, from, nw);
        return status;
}

static bool is_past_end(const struct kc_walk *walk, const uint64_t *first)
{
        return walk->to != NULL && kc_kmer_compare(first, walk->to, walk->store->nwords) > 0;
}

/* Read blocks from walk->block on, as far as the page, the walk and the chunk allow. */
static enum kc_status read_chunk(struct kc_walk *walk, struct kc_error *err)
{
        const struct kc_page *page = &walk->page;
        const uint64_t page_begin = page->number * KC_PAGE_NBLOCKS;
        size_t begin = (size_t)(walk->block - page_begin), end = begin;
        while (end < page->n && page_begin + end < walk->end &&
               page->offsets[end] - page->offsets[begin] < walk->chunk_nbytes &&
               !is_past_end(walk, page->firsts + end * (size_t)walk->store->nwords))
                end++;
        walk->chunk_begin = walk->chunk_end = 0;
        uint64_t offset = page->offsets[begin];
        enum kc_status status =
                kc_store_pread(walk->store, walk->chunk, page->offsets[end] - offset, offset, err);
        if (status != KC_OK)
                return status;
        walk->chunk_offset = offset;
        walk->chunk_begin = walk->block;
        walk->chunk_end = page_begin + end;
        return KC_OK;
}

/* Cut the decoded block to [from, to]. */
static void cut_to_range(struct kc_walk *walk)
{
        const int nw = walk->store->nwords;
        size_t begin = 0, end = walk->n;
        if (walk->from != NULL) {
                while (begin < end &&
                       kc_kmer_compare(walk->kmers + begin * (size_t)nw, walk->from, nw) < 0)
                        begin++;
                walk->from = NULL; /* all later blocks are above it */
        }
        while (end > begin && is_past_end(walk, walk->kmers + (end - 1) * (size_t)nw))
                end--;
        walk->kmers += begin * (size_t)nw;
        walk->counts += begin;
        walk->n = end - begin;
}

/* The first k-mer of the block after the i-th of the page; NULL after the run's last. */
static const uint64_t *next_first(const struct kc_walk *walk, size_t i)
{
        const struct kc_page *page = &walk->page;
        const size_t nw = (size_t)walk->store->nwords;
        if (i + 1 < page->n)
                return page->firsts + (i + 1) * nw;
        return page->number + 1 < walk->run->npages
                       ? walk->run->page_firsts + (page->number + 1) * nw
                       : NULL;
}

/* In a run that is not linked, a block in the wrong place has a valid checksum, but most such
 * blocks reach beyond the first k-mer of the next one. */
static bool ends_before_next(const struct kc_walk *walk, size_t i, size_t n)
{
        const int nw = walk->store->nwords;
        const uint64_t *next = next_first(walk, i);
        return next == NULL ||
               kc_kmer_compare(walk->kmers_buffer + (n - 1) * (size_t)nw, next, nw) < 0;
}

static enum kc_status decode_block(struct kc_walk *walk, struct kc_error *err)
{
        const struct kc_page *page = &walk->page;
        const size_t i = (size_t)(walk->block - page->number * KC_PAGE_NBLOCKS);
        const struct kc_block_place place = kc_page_place(page, i);
        const uint64_t *words = walk->chunk + (place.offset - walk->chunk_offset) / sizeof *words;
        const size_t n = kc_run_block_nkmers(walk->run, walk->block);
        walk->offset = place.offset;
        enum kc_status status = kc_block_verify(walk->store, words, &place, err);
        if (status != KC_OK)
                return status;
        if (!kc_block_decode(words, place.nwords - 1,
                             page->firsts + i * (size_t)walk->store->nwords, walk->store->nwords, n,
                             walk->kmers_buffer, walk->counts_buffer))
                return kc_block_damaged(walk->store, walk->offset, "is not laid out like one", err);
        if (!ends_before_next(walk, i, n))
                return kc_block_damaged(walk->store, walk->offset, "reaches into the next one",
                                        err);
        walk->kmers = walk->kmers_buffer;
        walk->counts = walk->counts_buffer;
        walk->n = n;
        walk->block++;
        return KC_OK;
}

enum kc_status kc_walk_next(struct kc_walk *walk, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        walk->n = 0;
        while (walk->n == 0 && walk->block < walk->end) {
                uint64_t page = walk->block / KC_PAGE_NBLOCKS, i = walk->block % KC_PAGE_NBLOCKS;
                KC_TRY(kc_page_load(&walk->page, walk->store, walk->run, page, err));
                if (is_past_end(walk, walk->page.firsts + i * (uint64_t)walk->store->nwords)) {
                        walk->block = walk->end;
                        break;
                }
                if (walk->block < walk->chunk_begin || walk->block >= walk->chunk_end)
                        KC_TRY(read_chunk(walk, err));
                KC_TRY(decode_block(walk, err));
                cut_to_range(walk);
        }
out:
        return status;
}

void kc_walk_free(struct kc_walk *walk)
{
        free(walk->page.words);
        free(walk->chunk);
        free(walk->kmers_buffer);
        free(walk->counts_buffer);
}
