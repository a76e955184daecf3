/*
 * Any bytes as a .kc file, opened and read in every way.
 *
 * Checksums would keep a fuzzer out of all code that runs after they are verified, so those of half
 * of the inputs (of odd length) are corrected first, as far as the structure can be followed.
 */
#include "io/store/file.h"
#include "tests/io/store/store_seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

/* Look up k-mers of the first block, k-mers just above them, and k-mers far away. */
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

static enum kc_status swallow(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        (void)err;
        for (size_t i = 0; i < pairs->n; i++)
                *(uint64_t *)ctx += pairs->counts[i];
        return KC_OK;
}

static void ignore(void *ctx)
{
        (void)ctx;
}

/* Merge the runs; and subtract the file from itself, which must leave nothing. */
static void combine(struct kc_store *store, bool sound)
{
        struct kc_store *const stores[] = { store, store };
        struct kc_store_origin origin;
        const char **names;
        uint64_t sum = 0;
        const struct kc_run_sink sink = {
                .ctx = &sum, .filter = { 1, UINT32_MAX }, .put = swallow, .cancel = ignore
        };
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
        if (kc_store_histogram(store, 1, NULL, &rows, &nrows, NULL) != KC_OK && sound)
                abort();
        free(rows);
        walk(store, NULL, NULL);
        look_up(store);
        combine(store, sound);
        if (kc_store_split(store, NULL, NULL, 3, &bounds, &nbounds, NULL) != KC_OK)
                return;
        if (nbounds > 0)
                walk(store, bounds, bounds + (nbounds - 1) * (size_t)store->nwords);
        free(bounds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct kc_bytes im = { malloc(size + 1), size / 2 * 2 };
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        if (im.data == NULL || fd < 0)
                abort();
        if (size > 0)
                memcpy(im.data, data, size);
        if (size % 2 == 1)
                seal_store(&im);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        struct kc_store *store = NULL;
        if (write(fd, im.data, im.n) != (ssize_t)im.n)
                abort();
        if (kc_store_open(&store, path, NULL) == KC_OK)
                read_all(store);
        kc_store_close(store);
        close(fd);
        free(im.data);
        return 0;
}
