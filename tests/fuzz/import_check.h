/*
 * Any bytes as a file to import. The pairs must be valid, and the same for every batch size and
 * number of workers.
 */
#ifndef KC_FUZZ_IMPORT_CHECK_H
#define KC_FUZZ_IMPORT_CHECK_H

#include "io/formats/import.h"
#include "kmer/kmer.h"
#include "tests/fuzz/memory_input.h"
#include "tests/fuzz/require.h"
#include "tests/random.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* What was read from a file; the hash does not depend on the order of the pairs. */
struct imported {
        enum kc_status status;
        struct kc_import_info info;
        struct kc_import_totals totals;
        struct kc_error err;
        uint64_t npairs, hash;
};

static inline void take_pair(struct imported *read, const uint64_t *kmer, uint32_t count)
{
        const int nwords = kc_kmer_nwords(read->info.k);
        uint64_t hash = count;
        for (int i = 0; i < nwords; i++)
                hash = random_mix(hash + kmer[i] + 1);
        REQUIRE(count >= 1);
        REQUIRE((kmer[nwords - 1] & ~kc_kmer_top_mask(read->info.k)) == 0);
        read->hash += hash;
        read->npairs++;
}

/* The workers take turns. */
static inline enum kc_status read_pairs(struct kc_import *import, int nworkers, size_t cap,
                                        struct imported *read)
{
        const struct kc_pair_source source = kc_import_source(import);
        const size_t nwords = (size_t)kc_kmer_nwords(read->info.k);
        struct kc_pair_batch batch = { .kmers = malloc(cap * nwords * sizeof *batch.kmers),
                                       .counts = malloc(cap * sizeof *batch.counts),
                                       .cap = cap };
        enum kc_status status = KC_OK;
        REQUIRE(batch.kmers != NULL && batch.counts != NULL);
        for (int idle = 0, worker = 0; idle < nworkers && status == KC_OK;
             worker = (worker + 1) % nworkers) {
                status = source.next(source.ctx, worker, &batch, &read->err);
                if (status != KC_OK)
                        break;
                REQUIRE(batch.n <= cap);
                idle = batch.n == 0 ? idle + 1 : 0;
                for (size_t i = 0; i < batch.n; i++)
                        take_pair(read, batch.kmers + i * nwords, batch.counts[i]);
        }
        free(batch.kmers);
        free(batch.counts);
        return status;
}

static inline struct imported import_once(const char *path, enum kc_import_strands strands,
                                          int nworkers, size_t cap)
{
        struct kc_import *import;
        struct imported read = { 0 };
        read.status = kc_import_open(&import, path, nworkers, strands, &read.err);
        if (read.status == KC_OK) {
                kc_import_get_info(import, &read.info);
                REQUIRE(read.info.k >= 1 && read.info.k <= KC_MAX_K);
                read.status = read_pairs(import, nworkers, cap, &read);
                kc_import_get_info(import, &read.info);
                kc_import_get_totals(import, &read.totals);
        }
        REQUIRE((read.status == KC_OK) == (read.err.message[0] == '\0'));
        kc_import_close(import);
        return read;
}

/* Read the file in the usual way and in one that variant chooses, and compare. */
static inline void check_import(const char *path, size_t variant)
{
        const enum kc_import_strands strands = (enum kc_import_strands)(variant % 3);
        const struct imported usual = import_once(path, strands, 1, 4096);
        const struct imported other =
                import_once(path, strands, 1 + (int)(variant / 3 % 2), 1 + variant / 6 % 40);
        REQUIRE(usual.status == other.status);
        if (usual.status != KC_OK)
                return;
        REQUIRE(usual.npairs == other.npairs && usual.hash == other.hash);
        REQUIRE(usual.info.stranded == other.info.stranded);
        REQUIRE(memcmp(&usual.totals, &other.totals, sizeof usual.totals) == 0);
}

/* ---- files with names ---- */

/* This process's folder, in memory if possible; removed at exit. */
static char import_folder[32];

static inline void remove_folder(void)
{
        rmdir(import_folder);
}

static inline void name_file(char path[64], const char *name)
{
        if (import_folder[0] == '\0') {
                const bool shm = access("/dev/shm", W_OK) == 0;
                strcpy(import_folder, shm ? "/dev/shm/kc-fuzz-XXXXXX" : "/tmp/kc-fuzz-XXXXXX");
                REQUIRE(mkdtemp(import_folder) != NULL);
                atexit(remove_folder);
        }
        snprintf(path, 64, "%s/%s", import_folder, name);
}

static inline void write_file(const char *path, const uint8_t *data, size_t n)
{
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        REQUIRE(fd >= 0 && write(fd, data, n) == (ssize_t)n);
        close(fd);
}

/* Read a length at *at, which moves past it. Returns it, or what is left if that is less. */
static inline size_t next_length(const uint8_t *data, size_t size, size_t *at)
{
        size_t n = 0;
        if (size - *at >= 2) {
                n = data[*at] | (size_t)data[*at + 1] << 8;
                *at += 2;
        }
        return n < size - *at ? n : size - *at;
}

/* For formats of a single file. */
static inline void check_import_bytes(const uint8_t *data, size_t size)
{
        char path[64];
        const int fd = memory_file(data, size);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        check_import(path, size);
        close(fd);
}

#endif
