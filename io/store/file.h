/*
 * Private to the store's reader: an open file, its index pages and its blocks.
 *
 * Everything is read with pread, not mapped: if another process truncates the file meanwhile, that
 * is an error and not a signal. What is read is checked before it is used (checksum, then every
 * offset and length), so that no file, even a forged one, leads outside a buffer.
 */
#ifndef KC_IO_STORE_FILE_H
#define KC_IO_STORE_FILE_H

#include "io/store.h"
#include "io/store/footer.h"
#include "io/store/format.h"

#include <sys/types.h>

/* How certain it is that the footer in use is the newest that was committed. */
enum kc_footing {
        KC_FOOTING_SOUND,    /* the references say so */
        KC_FOOTING_MENDABLE, /* a reference is damaged, but no data can have been lost */
        KC_FOOTING_DOUBTFUL, /* a reference is damaged, and a newer footer may have been lost */
};

struct kc_store {
        int fd; /* -1 after kc_store_detach */
        dev_t device;
        ino_t inode;
        char *path;
        uint64_t nbytes, footer_offset, footer_nbytes;
        int k, nwords; /* nwords: of a k-mer */
        bool stranded, hpc;
        uint64_t only_checksum; /* as in struct kc_store_options */
        uint32_t version;
        uint64_t *footer;
        struct kc_run *runs;
        uint32_t nruns;
        const char **names; /* of all runs, in order */
        size_t nnames;
        bool is_changing; /* kc_store_check has found that another process is appending */
        enum kc_footing footing;
        struct kc_error warning; /* what is wrong with the footing, if anything */
};

/* Whether the file ends with its footer. */
static inline bool kc_store_is_at_end(const struct kc_store *store)
{
        return store->footer_offset + store->footer_nbytes == store->nbytes;
}

/* Number of pages of all runs. */
static inline uint64_t kc_store_npages(const struct kc_store *store)
{
        uint64_t npages = 0;
        for (uint32_t i = 0; i < store->nruns; i++)
                npages += store->runs[i].npages;
        return npages;
}

/* An index page. Zero-initialise; free words. */
struct kc_page {
        uint64_t *words;           /* room for a whole page of any run */
        uint64_t number;           /* of the page in its run; valid while n > 0 */
        size_t n;                  /* entries; 0: none loaded */
        const uint64_t *firsts;    /* [n * nwords] */
        const uint64_t *offsets;   /* [n + 1] */
        const uint64_t *checksums; /* of the blocks [n]; NULL if the run is not linked */
};

/* Load page number < run->npages, unless it is loaded already. KC_ECORRUPT, KC_EIO, KC_ENOMEM. */
enum kc_status kc_page_load(struct kc_page *page, const struct kc_store *store,
                            const struct kc_run *run, uint64_t number, struct kc_error *err);

/* As kc_store_split, for several stores of the same k. */
enum kc_status kc_stores_split(struct kc_store *const *stores, size_t nstores, const uint64_t *from,
                               const uint64_t *to, size_t nparts, uint64_t **bounds,
                               size_t *nbounds, struct kc_error *err);

/* Number of k-mers in a block of a run. */
static inline size_t kc_run_block_nkmers(const struct kc_run *run, uint64_t block)
{
        uint64_t nleft = run->record.ndistinct - block * KC_BLOCK_NKMERS;
        return nleft < KC_BLOCK_NKMERS ? (size_t)nleft : KC_BLOCK_NKMERS;
}

/*
 * Where a search for kmer must begin: the index of the last of n ascending k-mers that is not above
 * it; 0 if all are.
 */
size_t kc_kmer_search(const uint64_t *kmers, size_t n, const uint64_t *kmer, int nwords);

/* The error for any block that is not what it should be. Returns KC_ECORRUPT. */
enum kc_status kc_block_damaged(const struct kc_store *store, uint64_t offset, const char *what,
                                struct kc_error *err);

/* What the index says about a block. */
struct kc_block_place {
        uint64_t offset;   /* in the file */
        size_t nwords;     /* including its checksum */
        bool linked;       /* the index holds its checksum */
        uint64_t checksum; /* if linked */
};

/* The place of the i-th block of a page. */
static inline struct kc_block_place kc_page_place(const struct kc_page *page, size_t i)
{
        return (struct kc_block_place){
                .offset = page->offsets[i],
                .nwords = (page->offsets[i + 1] - page->offsets[i]) / sizeof(uint64_t),
                .linked = page->checksums != NULL,
                .checksum = page->checksums != NULL ? page->checksums[i] : 0
        };
}

/*
 * Check the checksum after a block's words, and that the block belongs to the place; in a run that
 * is not linked, the latter cannot be checked. KC_ECORRUPT.
 */
enum kc_status kc_block_verify(const struct kc_store *store, const uint64_t *words,
                               const struct kc_block_place *place, struct kc_error *err);

/* ---- a walk over the blocks of one run ---- */

struct kc_walk {
        const struct kc_store *store;
        const struct kc_run *run;
        const uint64_t *from, *to; /* or NULL; owned by the caller */
        uint64_t block, end;       /* next block to decode; where to stop */
        struct kc_page page;
        uint64_t *chunk;     /* encoded blocks as in the file, several read at once */
        size_t chunk_nbytes; /* bytes to read at once; 0: what is best for a single walk */
        size_t chunk_cap;
        uint64_t chunk_begin, chunk_end; /* blocks */
        uint64_t chunk_offset;           /* in the file */

        /* the block decoded last, cut to [from, to] */
        uint64_t *kmers_buffer;
        uint32_t *counts_buffer;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
        uint64_t offset; /* of that block in the file */
};

/*
 * Begin a walk over blocks [begin, end) of a run, end <= run->nblocks, and in it over [from, to].
 * walk is zero-initialised, or was in use for the same store and run; kc_walk_free in any case.
 */
enum kc_status kc_walk_begin(struct kc_walk *walk, const struct kc_store *store,
                             const struct kc_run *run, uint64_t begin, uint64_t end,
                             struct kc_error *err);
/* Restart at from, over all blocks; from and to may be NULL and must outlive the walk. */
enum kc_status kc_walk_range(struct kc_walk *walk, const uint64_t *from, const uint64_t *to,
                             struct kc_error *err);
/* The next pairs, at least one; walk->n = 0 at the end. */
enum kc_status kc_walk_next(struct kc_walk *walk, struct kc_error *err);
void kc_walk_free(struct kc_walk *walk);

/*
 * Check what a walk does not check in the block that it decoded last, for a walk without bounds:
 * that its k-mers ascend, have k bases and are in canonical form, and that no count is 0.
 * KC_ECORRUPT.
 */
enum kc_status kc_walk_check_block(const struct kc_walk *walk, struct kc_error *err);

#endif
