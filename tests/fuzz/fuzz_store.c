/*
 * Any bytes as a .kc file, opened and read in every way.
 *
 * Checksums would keep a fuzzer out of everything behind them, so half of the inputs (those of odd
 * length) have theirs put right first, as far as the structure can be followed.
 */
#include "io/store_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- checksums ---- */

struct image {
        uint8_t *bytes;
        uint64_t nbytes;
};

/* Put the checksum right that follows [offset, end). */
static void seal(struct image *im, uint64_t offset, uint64_t end)
{
        if (offset > end || end > im->nbytes || im->nbytes - end < 8)
                return;
        uint64_t checksum = XXH3_64bits(im->bytes + offset, end - offset);
        memcpy(im->bytes + end, &checksum, sizeof checksum);
}

static void seal_page(struct image *im, uint64_t offset, uint64_t nentries, int nw)
{
        uint64_t nbytes = 8 * kc_page_words(nentries, nw);
        if (offset > im->nbytes || im->nbytes - offset < nbytes)
                return;
        seal(im, offset, offset + nbytes - 8);
        const uint8_t *offsets = im->bytes + offset + 8 + 8 * nentries * (uint64_t)nw;
        for (uint64_t i = 0; i < nentries; i++) {
                uint64_t block[2];
                memcpy(block, offsets + 8 * i, sizeof block);
                if (block[1] >= 8)
                        seal(im, block[0], block[1] - 8);
        }
}

static bool is_inside(const struct image *im, uint64_t offset, uint64_t nbytes)
{
        return offset <= im->nbytes && nbytes <= im->nbytes - offset;
}

/* The blocks and pages of a footer that lies in the file. */
static void seal_runs(struct image *im, const struct kc_footer_ref *ref, int nw)
{
        struct kc_file_shape shape = { "", im->nbytes, ref->offset, nw };
        struct kc_run *runs = NULL;
        uint32_t nruns;
        uint64_t *footer = malloc(ref->nbytes);
        if (footer == NULL)
                return;
        memcpy(footer, im->bytes + ref->offset, ref->nbytes);
        if (kc_footer_parse(footer, ref->nbytes / 8, &shape, &runs, &nruns, NULL) == KC_OK) {
                for (uint32_t r = 0; r < nruns; r++) {
                        uint64_t at = runs[r].record.index_offset, left = runs[r].nblocks;
                        for (; left > 0; at += 8 * kc_page_words(KC_PAGE_NBLOCKS, nw)) {
                                uint64_t n = left < KC_PAGE_NBLOCKS ? left : KC_PAGE_NBLOCKS;
                                seal_page(im, at, n, nw);
                                left -= n;
                        }
                }
        }
        free(runs);
        free(footer);
}

/* Footers that have a checksum of their own, wherever they are. */
static void seal_footers(struct image *im, int nw)
{
        struct kc_footer_head head;
        for (uint64_t at = 0; is_inside(im, at, sizeof head); at += 8) {
                memcpy(&head, im->bytes + at, sizeof head);
                if (memcmp(head.magic, KC_FOOTER_MAGIC, sizeof head.magic) != 0 ||
                    head.nbytes < sizeof head || !is_inside(im, at, head.nbytes))
                        continue;
                seal(im, at, at + head.nbytes - 8);
                seal_runs(im, &(struct kc_footer_ref){ .offset = at, .nbytes = head.nbytes }, nw);
        }
}

/* An empty reference stays empty, as in files of earlier versions, and one that ends with ~0 stays
 * wrong: its footer is searched for. */
static void seal_ref(const struct image *im, struct kc_footer_ref *ref)
{
        if (kc_footer_ref_is_empty(ref) || ref->ref_checksum == UINT64_MAX)
                return;
        if (is_inside(im, ref->offset, ref->nbytes))
                ref->checksum = XXH3_64bits(im->bytes + ref->offset, ref->nbytes);
        ref->ref_checksum = XXH3_64bits(ref, offsetof(struct kc_footer_ref, ref_checksum));
}

static void seal_all(struct image *im)
{
        struct kc_store_header h;
        if (im->nbytes < sizeof h)
                return;
        seal(im, 0, offsetof(struct kc_store_header, checksum));
        memcpy(&h, im->bytes, sizeof h);
        if (kc_header_check(&h, "", NULL) != KC_OK)
                return;
        seal_footers(im, kc_kmer_nwords((int)h.k));
        for (int i = 0; i < 2; i++)
                seal_ref(im, &h.footer[i]);
        memcpy(im->bytes, &h, sizeof h);
        const int in_force = kc_footer_ref_in_force(&h);
        if (in_force >= 0 &&
            kc_footer_ref_check(&h.footer[in_force], "", im->nbytes, NULL) == KC_OK)
                seal_runs(im, &h.footer[in_force], kc_kmer_nwords((int)h.k));
}

/* ---- reading ---- */

static void walk(struct kc_store *store, const uint64_t *from, const uint64_t *to)
{
        struct kc_cursor *cursor = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n = 1;
        if (kc_cursor_open(&cursor, store, from, to, NULL) != KC_OK)
                return;
        while (n > 0 && kc_cursor_next(cursor, &kmers, &counts, &n, NULL) == KC_OK)
                ;
        kc_cursor_close(cursor);
}

/* K-mers of the first blocks, the next higher ones, and one far off. */
static void look_up(struct kc_store *store)
{
        struct kc_cursor *cursor = NULL;
        struct kc_lookup *lookup = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
        uint32_t count;
        if (kc_lookup_open(&lookup, store, NULL) == KC_OK &&
            kc_cursor_open(&cursor, store, NULL, NULL, NULL) == KC_OK &&
            kc_cursor_next(cursor, &kmers, &counts, &n, NULL) == KC_OK) {
                for (size_t i = 0; i < n; i += 1 + n / 16) {
                        uint64_t kmer[KC_MAX_WORDS];
                        memcpy(kmer, kmers + i * (size_t)store->nwords, (size_t)store->nwords * 8);
                        kc_lookup_count(lookup, kmer, &count, NULL);
                        kmer[0]++;
                        kc_lookup_count(lookup, kmer, &count, NULL);
                        kmer[store->nwords - 1] = ~kmer[0];
                        kc_lookup_count(lookup, kmer, &count, NULL);
                }
        }
        kc_cursor_close(cursor);
        kc_lookup_close(lookup);
}

static enum kc_status swallow(void *ctx, uint64_t part, bool last, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, struct kc_error *err)
{
        (void)part, (void)last, (void)kmers, (void)err;
        for (size_t i = 0; i < n; i++)
                *(uint64_t *)ctx += counts[i];
        return KC_OK;
}

static void ignore(void *ctx)
{
        (void)ctx;
}

/* The runs merged, and the file less itself, of which nothing may be left. */
static void combine(struct kc_store *store, bool sound)
{
        struct kc_store *const stores[] = { store, store };
        struct kc_store_origin origin;
        const char **names;
        uint64_t sum = 0;
        const struct kc_run_sink sink = { .ctx = &sum, .put = swallow, .cancel = ignore };
        struct kc_set set = { stores, 1, KC_SET_UNION, KC_RULE_SUM };
        if (kc_set_run(&set, 1, NULL, &sink, &origin, &names, NULL) == KC_OK) {
                if (sound && sum + origin.ndropped_kmers + origin.nsaturated != origin.nkmers)
                        abort();
                free(names);
        } else if (sound) {
                abort();
        }
        sum = 0;
        set = (struct kc_set){ stores, 2, KC_SET_SUBTRACT, KC_RULE_DIFFERENCE };
        if (kc_set_run(&set, 1, NULL, &sink, &origin, &names, NULL) == KC_OK) {
                if (sound && sum != 0)
                        abort();
                free(names);
        }
}

static void read_all(struct kc_store *store)
{
        struct kc_error err = { 0 };
        struct kc_store_info info;
        struct kc_histogram_row *rows = NULL;
        uint64_t *bounds = NULL;
        size_t nrows, nbounds = 0;
        kc_store_get_info(store, &info);
        for (size_t i = 0; i < info.nnames; i++)
                if (strlen(info.names[i]) > info.file_nbytes)
                        abort();
        const enum kc_status checked = kc_store_check(store, 1, NULL, &err);
        const bool sound = checked == KC_OK || checked == KC_EUNTIDY;
        if (!sound && err.message[0] == '\0')
                abort();
        if (kc_store_histogram(store, 1, &rows, &nrows, NULL) != KC_OK && sound)
                abort();
        free(rows);
        walk(store, NULL, NULL);
        look_up(store);
        combine(store, sound);
        if (kc_store_split(store, 3, &bounds, &nbounds, NULL) != KC_OK)
                return;
        if (nbounds > 0)
                walk(store, bounds, bounds + (nbounds - 1) * (size_t)store->nwords);
        free(bounds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct image im = { malloc(size + 1), size / 2 * 2 };
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        if (im.bytes == NULL || fd < 0)
                abort();
        if (size > 0)
                memcpy(im.bytes, data, size);
        if (size % 2 == 1)
                seal_all(&im);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        struct kc_store *store = NULL;
        if (write(fd, im.bytes, im.nbytes) != (ssize_t)im.nbytes)
                abort();
        if (kc_store_open(&store, path, NULL) == KC_OK)
                read_all(store);
        kc_store_close(store);
        close(fd);
        free(im.bytes);
        return 0;
}
