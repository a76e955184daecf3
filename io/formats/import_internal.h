/*
 * Private to io/formats: what the readers of all formats share.
 */
#ifndef KC_IO_FORMATS_IMPORT_INTERNAL_H
#define KC_IO_FORMATS_IMPORT_INTERNAL_H

#include "io/formats/import.h"
#include "io/input/input.h"
#include "kmer/kmer.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KC_IMPORT_HEAD_NBYTES = 64 }; /* the start of a file, by which it is recognized */

/* Limit on nsaturated. Only forged counts reach it, and without it they could overflow the totals
 * of a .kc file. */
#define KC_IMPORT_MAX_SATURATED (UINT64_C(1) << 48)

/* What belongs to one thread. */
struct kc_import_worker {
        uint8_t *buffer; /* for the format, through kc_import_reserve; kc_import_close frees it */
        size_t buffer_cap;
        bool noncanonical; /* the thread has seen a k-mer that is not canonical */
        struct kc_import_totals totals;
};

/* A format. Its functions keep their state in import->state. */
struct kc_import_format {
        const char *what;
        bool declares_strands;
        /* Whether a regular file that begins with these bytes is of this format. */
        bool (*recognizes)(const struct kc_import *import, const uint8_t *head, size_t n);
        /* Read the header: set k, stranded, unique and expected_npairs in import->info. close
         * follows even a failure. */
        enum kc_status (*open)(struct kc_import *import, struct kc_error *err);
        /* Like next() of a kc_pair_source, but counts may be 0. */
        enum kc_status (*read)(struct kc_import *import, int worker, struct kc_pair_batch *batch,
                               struct kc_error *err);
        void (*close)(void *state); /* NULL is fine */
};

extern const struct kc_import_format kc_import_kmc;
extern const struct kc_import_format kc_import_kff;
extern const struct kc_import_format kc_import_jellyfish;
extern const struct kc_import_format kc_import_fastk;
extern const struct kc_import_format kc_import_text;

struct kc_import {
        char *path;       /* with the ending, if the user left it out */
        const char *name; /* for messages */
        char **paths;     /* [npaths] of all files that were opened */
        size_t npaths;
        struct kc_input in;
        const struct kc_import_format *format;
        void *state;
        enum kc_import_strands strands;
        bool either_form; /* a canonical file may hold a k-mer or its reverse complement */
        struct kc_import_info info;
        struct kc_import_worker *workers; /* [nworkers] */
        int nworkers;
        double last_place; /* of the last record in the order of hashes: above 0, and 1 for the last
                              hash; 0 if records are in another order, or there are none */
        struct kc_error warning;
        pthread_mutex_t lock; /* guards what threads share in state, and warning */
};

/* Like kc_input_open, for every file that a format reads. */
enum kc_status kc_import_open_file(struct kc_import *import, struct kc_input *in, const char *path,
                                   struct kc_error *err);

/* Make room for nbytes in a worker's buffer, which may move; its content is kept. KC_ENOMEM. */
enum kc_status kc_import_reserve(struct kc_import *import, int worker, size_t nbytes,
                                 struct kc_error *err);

/* Whether path has this ending, after at least one character. */
bool kc_import_has_ending(const char *path, const char *ending);

/* The first `length` bytes of path, then an ending. The caller frees it; NULL: out of memory. */
char *kc_import_join(const char *path, size_t length, const char *ending);

/* The largest count that fits in nbytes, where programs stop counting; without bytes, each count is
 * 1. Returns 0 for 4 bytes or more: a .kc file has no higher limit. */
static inline uint64_t kc_import_limit(size_t nbytes)
{
        return nbytes == 0 ? 1 : nbytes < sizeof(uint32_t) ? (UINT64_C(1) << 8 * nbytes) - 1 : 0;
}

/* Clip a count of the file to UINT32_MAX, and note what was lost. limit: from kc_import_limit, or
 * the format's own; 0: none. */
static inline uint32_t kc_import_count(struct kc_import_worker *worker, uint64_t count,
                                       uint64_t limit)
{
        uint64_t *nsaturated = &worker->totals.nsaturated;
        worker->totals.natlimit += limit != 0 && count == limit;
        if (__builtin_expect(count <= UINT32_MAX, 1))
                return (uint32_t)count;
        if (__builtin_add_overflow(*nsaturated, count - UINT32_MAX, nsaturated) ||
            *nsaturated > KC_IMPORT_MAX_SATURATED)
                *nsaturated = KC_IMPORT_MAX_SATURATED;
        return UINT32_MAX;
}

/* Set import->info.k. KC_EINPUT if a .kc file cannot have this k. */
enum kc_status kc_import_set_k(struct kc_import *import, uint64_t k, struct kc_error *err);

/* Read exactly n bytes at offset of a regular file; KC_EINPUT if the file ends before that. */
enum kc_status kc_import_read_at(const struct kc_input *in, void *buffer, size_t n, uint64_t offset,
                                 struct kc_error *err);

#endif
