/*
 * Corrects the checksums of a .kc file in memory after a change, as far as its structure can be
 * followed, so that a test reaches the code that runs after they are verified. The bytes may be
 * anything.
 */
#ifndef KC_TESTS_IO_STORE_STORE_SEAL_H
#define KC_TESTS_IO_STORE_STORE_SEAL_H

#include "io/store/footer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct kc_bytes {
        uint8_t *data;
        uint64_t n;
};

static inline bool is_inside(const struct kc_bytes *b, uint64_t offset, uint64_t nbytes)
{
        return offset <= b->n && nbytes <= b->n - offset;
}

/* Correct the checksum at end, which is that of [offset, end), and copy it to copy unless NULL. */
static inline void seal(struct kc_bytes *b, uint64_t offset, uint64_t end, uint8_t *copy)
{
        if (offset > end || !is_inside(b, end, 8))
                return;
        const uint64_t checksum = XXH3_64bits(b->data + offset, end - offset);
        memcpy(b->data + end, &checksum, sizeof checksum);
        if (copy != NULL)
                memcpy(copy, &checksum, sizeof checksum);
}

/* A page and its blocks. copy: where the page's checksum is copied to, or NULL. */
static inline void seal_page(struct kc_bytes *b, uint64_t offset, uint64_t nentries, int nw,
                             bool linked, uint8_t *copy)
{
        const uint64_t nbytes = 8 * kc_page_words(nentries, nw, linked);
        if (!is_inside(b, offset, nbytes))
                return;
        uint8_t *offsets = b->data + offset + 8 + 8 * nentries * (uint64_t)nw;
        uint8_t *checksums = linked ? offsets + 8 * (nentries + 1) : NULL;
        for (uint64_t i = 0; i < nentries; i++) {
                uint64_t block[2];
                memcpy(block, offsets + 8 * i, sizeof block);
                if (block[1] >= 8)
                        seal(b, block[0], block[1] - 8, linked ? checksums + 8 * i : NULL);
        }
        seal(b, offset, offset + nbytes - 8, copy);
}

static inline void seal_run(struct kc_bytes *b, const struct kc_run *run, int nw,
                            uint8_t *page_checksums)
{
        uint64_t at = run->record.index_offset, left = run->nblocks;
        for (uint64_t page = 0; left > 0; page++) {
                const uint64_t n = left < KC_PAGE_NBLOCKS ? left : KC_PAGE_NBLOCKS;
                seal_page(b, at, n, nw, run->linked,
                          run->linked ? page_checksums + 8 * page : NULL);
                at += 8 * kc_page_words(KC_PAGE_NBLOCKS, nw, run->linked);
                left -= n;
        }
}

/* The blocks and pages of the footer at offset. */
static inline void seal_runs(struct kc_bytes *b, uint64_t offset, uint64_t nbytes, int nw)
{
        const struct kc_file_shape shape = { "", b->n, offset, nw };
        struct kc_run *runs = NULL;
        uint32_t nruns;
        uint64_t *footer = malloc(nbytes);
        if (footer == NULL)
                return;
        memcpy(footer, b->data + offset, nbytes);
        if (kc_footer_parse(footer, nbytes / 8, &shape, &runs, &nruns, NULL) == KC_OK)
                for (uint32_t r = 0; r < nruns; r++)
                        seal_run(b, &runs[r], nw,
                                 b->data + offset +
                                         8 * (uint64_t)(runs[r].page_checksums - footer));
        free(runs);
        free(footer);
}

/* Footers that have a checksum of their own, wherever they are. */
static inline void seal_footers(struct kc_bytes *b, int nw)
{
        struct kc_footer_head head;
        for (uint64_t at = 0; is_inside(b, at, sizeof head); at += 8) {
                memcpy(&head, b->data + at, sizeof head);
                if (memcmp(head.magic, KC_FOOTER_MAGIC, sizeof head.magic) != 0 ||
                    head.nbytes < sizeof head || !is_inside(b, at, head.nbytes))
                        continue;
                seal(b, at, at + head.nbytes - 8, NULL); /* otherwise it would not be parsed */
                seal_runs(b, at, head.nbytes, nw);
                seal(b, at, at + head.nbytes - 8, NULL);
        }
}

/* An empty reference stays empty, as in files of earlier versions, and one that ends with ~0 stays
 * wrong, so that the reader has to search for its footer. */
static inline void seal_ref(const struct kc_bytes *b, struct kc_footer_ref *ref)
{
        if (kc_footer_ref_is_empty(ref) || ref->ref_checksum == UINT64_MAX)
                return;
        if (is_inside(b, ref->offset, ref->nbytes))
                ref->checksum = XXH3_64bits(b->data + ref->offset, ref->nbytes);
        ref->ref_checksum = XXH3_64bits(ref, offsetof(struct kc_footer_ref, ref_checksum));
}

static inline void seal_store(struct kc_bytes *b)
{
        struct kc_store_header h;
        if (b->n < sizeof h)
                return;
        seal(b, 0, offsetof(struct kc_store_header, checksum), NULL);
        memcpy(&h, b->data, sizeof h);
        if (kc_header_check(&h, "", NULL) != KC_OK)
                return;
        const int nw = kc_kmer_nwords((int)h.k);
        seal_footers(b, nw);
        for (int i = 0; i < 2; i++)
                seal_ref(b, &h.footer[i]);
        memcpy(b->data, &h, sizeof h);
        const int in_force = kc_footer_ref_in_force(&h);
        if (in_force < 0 || kc_footer_ref_check(&h.footer[in_force], "", b->n, NULL) != KC_OK)
                return;
        const struct kc_footer_ref *ref = &h.footer[in_force];
        uint64_t magic;
        memcpy(&magic, b->data + ref->offset, sizeof magic);
        if (kc_footer_is_old(&magic))
                seal_runs(b, ref->offset, ref->nbytes, nw);
}

#endif
