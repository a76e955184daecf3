/*
 * Files of one run as earlier versions wrote them: without the checksums that link footer, index
 * and blocks.
 */
#ifndef KC_TESTS_IO_STORE_STORE_OLD_H
#define KC_TESTS_IO_STORE_STORE_OLD_H

#include "store_sets.h"

#include "io/store/file.h"

#include <xxhash.h>

static inline void append_words(struct kc_words *to, const void *bytes, size_t nbytes)
{
        struct kc_error err = { 0 };
        assert_ok(kc_words_append(to, bytes, nbytes, &err), err);
}

/* A page without the checksums of its blocks. */
static inline void append_old_page(struct kc_words *to, const struct kc_page *page, int nw)
{
        const size_t begin = to->n;
        append_words(to, page->words, (kc_page_words(page->n, nw, false) - 1) * 8);
        const uint64_t checksum = XXH3_64bits(to->data + begin, (to->n - begin) * 8);
        append_words(to, &checksum, sizeof checksum);
}

/* The footer with the given magic, of a store of one run with one page. */
static inline void make_old_footer(struct kc_words *footer, const char *magic, uint64_t offset,
                                   const struct kc_store *store, const struct kc_page *page)
{
        struct kc_error err = { 0 };
        const struct kc_run *run = &store->runs[0];
        struct kc_run_record record = run->record;
        struct kc_words records = { 0 }, kinds = { 0 }, first = { 0 }, none = { 0 };
        const struct kc_run_parts parts = { .rows = run->rows,
                                            .nrows = record.nhistogram,
                                            .page_firsts = &first,
                                            .page_checksums = &none,
                                            .names = store->names,
                                            .nnames = store->nnames };
        const uint64_t kind = KC_RUN_COUNTS;
        append_words(&kinds, &kind, sizeof kind);
        append_words(&first, page->firsts, (size_t)store->nwords * 8);
        assert_ok(kc_footer_append_run(&records, &record, &parts, &err), err);
        if (strcmp(magic, KC_FOOTER_MAGIC) == 0) {
                assert_ok(kc_footer_assemble(footer, offset, &kinds, &records, &err), err);
        } else {
                struct kc_old_footer_head head = { .nruns = 1 };
                memcpy(head.magic, magic, sizeof head.magic);
                append_words(footer, &head, sizeof head);
                if (strcmp(magic, KC_OLD_KINDS_FOOTER_MAGIC) == 0)
                        append_words(footer, kinds.data, kinds.n * 8);
                append_words(footer, records.data, records.n * 8);
        }
        free(records.data);
        free(kinds.data);
        free(first.data);
}

/* Make a new file of one run, of 1 to 256 blocks, an old one with a footer of the given magic. */
static inline void make_file_old(const char *path, const char *magic)
{
        struct kc_error err = { 0 };
        struct kc_page page = { 0 };
        struct kc_words file = { 0 }, footer = { 0 };
        struct kc_store_header header;
        size_t nbytes;
        uint8_t *bytes = read_file(path, &nbytes);
        struct kc_store *store = open_store(path);
        assert_true(store->nruns == 1 && store->runs[0].npages == 1 && store->runs[0].linked);
        assert_ok(kc_page_load(&page, store, &store->runs[0], 0, &err), err);
        append_words(&file, bytes, store->runs[0].record.index_offset);
        append_old_page(&file, &page, store->nwords);
        make_old_footer(&footer, magic, file.n * 8, store, &page);
        memcpy(&header, file.data, sizeof header);
        kc_footer_ref_fill(&header.footer[0], file.n * 8, footer.data, footer.n * 8);
        header.footer[1] = strcmp(magic, KC_FOOTER_MAGIC) == 0 ? header.footer[0]
                                                               : (struct kc_footer_ref){ 0 };
        memcpy(file.data, &header, sizeof header);
        append_words(&file, footer.data, footer.n * 8);
        write_file(path, file.data, file.n * 8);
        kc_store_close(store);
        free(page.words);
        free(footer.data);
        free(file.data);
        free(bytes);
}

#endif
