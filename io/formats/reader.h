/*
 * Private to io/formats: what the readers of the formats have in common.
 */
#ifndef KC_IO_FORMATS_READER_H
#define KC_IO_FORMATS_READER_H

#include "io/formats/import.h"
#include "io/input/input.h"
#include "kmer/kmer.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KC_IMPORT_HEAD_NBYTES = 64 }; /* of a file, to recognize it */

/* Only forged counts add up to more; more would overflow the numbers of a .kc file. */
#define KC_IMPORT_MAX_SATURATED (UINT64_C(1) << 48)

/* Of one thread. */
struct kc_import_worker {
        uint8_t *buffer; /* of the format, which allocates it; freed by kc_import_close */
        size_t buffer_cap;
        bool noncanonical; /* it has seen a k-mer that is not canonical */
        struct kc_import_totals totals;
};

/* A format. Its functions keep their state in import->state. */
struct kc_import_format {
        const char *what;
        bool declares_strands;
        /* Whether a regular file that begins with these bytes is one. */
        bool (*recognizes)(const struct kc_import *import, const uint8_t *head, size_t n);
        /* Read the header: set k, stranded, unique and expected_npairs in import->info. A failure
         * is followed by close. */
        enum kc_status (*open)(struct kc_import *import, struct kc_error *err);
        /* As next() of a kc_pair_source, but counts may be 0. */
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
        char *path;       /* of the file that is read */
        const char *name; /* for messages */
        struct kc_input in;
        const struct kc_import_format *format;
        void *state;
        enum kc_import_strands strands;
        bool either_form; /* a canonical file may hold either form of a k-mer, but only one */
        struct kc_import_info info;
        struct kc_import_worker *workers; /* [nworkers] */
        int nworkers;
        pthread_mutex_t lock; /* of what a format's threads share */
};

/* The buffer of a worker, with room for at least nbytes; the old content stays. KC_ENOMEM. */
enum kc_status kc_import_reserve(struct kc_import *import, int worker, size_t nbytes,
                                 struct kc_error *err);

/* Whether a name ends so, with something before it. */
bool kc_import_has_ending(const char *path, const char *ending);

/* The first `length` bytes of path, and an ending. The caller frees it; NULL: out of memory. */
char *kc_import_join(const char *path, size_t length, const char *ending);

/* The largest count in so many bytes, at which programs stop counting; no bytes: it is always 1. 0 if a
 * .kc file has the same limit or a lower one. */
static inline uint64_t kc_import_limit(size_t nbytes)
{
        return nbytes == 0 ? 1 : nbytes < sizeof(uint32_t) ? (UINT64_C(1) << 8 * nbytes) - 1 : 0;
}

/* A count of the file as one of ours: at most UINT32_MAX. limit: the largest that the file can hold;
 * 0: there is none. */
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

/* KC_EINPUT if k is not one that a .kc file can have. */
enum kc_status kc_import_set_k(struct kc_import *import, uint64_t k, struct kc_error *err);

/* Read exactly n bytes at offset of a regular file; KC_EINPUT if it ends before. */
enum kc_status kc_import_read_at(const struct kc_input *in, void *buffer, size_t n, uint64_t offset,
                                 struct kc_error *err);

#endif
