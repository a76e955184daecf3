/*
 * Thousands of lists of records, to which all threads append without a lock: each worker has a
 * chain of chunks for each list. When its quota and the pool are used up, a worker writes all its
 * chunks to a file of its own (nameless: nothing remains, however the program ends) and continues
 * with empty chains.
 *
 * The engine keeps both super-k-mers by minimizer and (k-mer, count) pairs by prefix in such lists.
 * A file holds what was spilled each time, a *spill*:
 *
 *      spill: list 0 | list 1 | ... | where each begins, and the last ends: u64 ...
 *      list: fragment ...      fragment: u32 nbytes, data
 *
 * where a fragment is the contents of one chunk: whole records. So even many spills leave next to
 * nothing in memory.
 *
 * Lists may belong to several ranks (ranks/exchange.h), in turn. A rank sends the chunks of
 * another's list when they are full, instead of keeping them, and takes what the others send as one
 * worker more.
 *
 * Lists with consecutive numbers form groups, which are adjacent in each spill. When all lists of
 * a group have been dropped, the disk space of the group is given back. So if lists are
 * dropped in about the order of their numbers, disk space is freed while they are read.
 */
#ifndef KC_LISTS_H
#define KC_LISTS_H

#include "cpu/arena.h"
#include "ranks/exchange.h"

#include <stdbool.h>

enum {
        KC_LISTS_SLACK = 16,                /* bytes after a record that its writer may overwrite */
        KC_LISTS_OVERREAD = KC_LISTS_SLACK, /* readable bytes (any value) after a record */
        KC_LISTS_MAX_GROUPS = 64, /* many enough to free space early; few holes in a file */
};

/* One spill of a worker: list i lies in [offset[i], offset[i + 1]) of its file. */
struct kc_spill {
        struct kc_spill *next;
        uint64_t offsets_at; /* position of the array offset[nlists + 1] in the file */
};

/* Where the records of other ranks' lists go. */
struct kc_lists_outlet {
        const struct kc_exchange *exchange;
        uint32_t first; /* the number that list 0 has in the exchange */
};

struct kc_lists_worker {
        uint8_t **pos; /* [nlists] where the next record goes, in the list's newest chunk */
        struct kc_arena_chunk **chunks; /* [nlists] newest first; pos points into the newest */
        uint64_t *nbytes;               /* [nlists] in sealed chunks and spilled fragments */
        size_t nchunks;                 /* held */
        struct kc_spill *spills;
        uint64_t file_nbytes;
        int fd; /* -1: nothing spilled */
};

struct kc_lists {
        uint32_t nlists;
        int nworkers;
        struct kc_arena *arena;
        const char *tmp_dir;
        size_t quota;        /* chunks that each worker may always hold */
        atomic_size_t *pool; /* chunks that any worker may take beyond its quota; NULL: none */
        struct kc_lists_outlet outlet; /* exchange = NULL: all lists are kept */
        struct kc_lists_worker *workers;
        uint32_t group_nlists;                  /* lists in a group; the last may have fewer */
        atomic_uint nleft[KC_LISTS_MAX_GROUPS]; /* lists of each group not dropped yet */
};

/*
 * The arena must have room for all quotas and the pool together; arena, tmp_dir and pool must
 * outlive the lists. KC_ENOMEM; then nothing needs to be freed.
 */
enum kc_status kc_lists_init(struct kc_lists *lists, uint32_t nlists, int nworkers,
                             struct kc_arena *arena, size_t quota, atomic_size_t *pool,
                             const char *tmp_dir, struct kc_error *err);
/* Does not give chunks back to the arena, which is freed as a whole. A zeroed struct is fine. */
void kc_lists_free(struct kc_lists *lists);

/* Send the lists of other ranks instead of keeping them. Call it before anything is appended. */
void kc_lists_connect(struct kc_lists *lists, const struct kc_lists_outlet *outlet);

/* The slow path of kc_lists_reserve: take a new chunk for the list, and spill first if necessary;
 * or send the chunk. KC_ENOMEM, KC_EIO, and failures of the exchange. */
enum kc_status kc_lists_grow(struct kc_lists *lists, int worker, uint32_t list,
                             struct kc_error *err);

/*
 * Reserve room for a record of at most nbytes (<= KC_CHUNK_DATA_NBYTES - KC_LISTS_SLACK) at
 * *record; kc_lists_append appends it with its actual size. One thread per worker.
 */
static inline enum kc_status kc_lists_reserve(struct kc_lists *lists, int worker, uint32_t list,
                                              size_t nbytes, uint8_t **record, struct kc_error *err)
{
        struct kc_lists_worker *w = &lists->workers[worker];
        size_t room = KC_CHUNK_NBYTES - ((uintptr_t)w->pos[list] & (KC_CHUNK_NBYTES - 1));
        if (__builtin_expect(room < nbytes + KC_LISTS_SLACK, 0)) {
                enum kc_status status = kc_lists_grow(lists, worker, list, err);
                if (status != KC_OK)
                        return status;
        }
        *record = w->pos[list];
        return KC_OK;
}

/* After kc_lists_reserve: bytes that may be appended together. */
static inline size_t kc_lists_room(const struct kc_lists *lists, int worker, uint32_t list)
{
        uintptr_t pos = (uintptr_t)lists->workers[worker].pos[list];
        return KC_CHUNK_NBYTES - (pos & (KC_CHUNK_NBYTES - 1)) - KC_LISTS_SLACK;
}

static inline void kc_lists_append(struct kc_lists *lists, int worker, uint32_t list, size_t nbytes)
{
        lists->workers[worker].pos[list] += nbytes;
}

/* Append whole records that another rank has sent. Fails as kc_lists_reserve does. */
enum kc_status kc_lists_take(struct kc_lists *lists, int worker, uint32_t list, const uint8_t *data,
                             size_t nbytes, struct kc_error *err);

/* End writing for one worker, and send what it has of other ranks' lists. All workers must seal
 * before anything is read. Fails only as the exchange does. */
enum kc_status kc_lists_seal(struct kc_lists *lists, int worker, struct kc_error *err);

/* Bytes of records in one sealed list, of all workers together. */
uint64_t kc_lists_nbytes(const struct kc_lists *lists, uint32_t list);

/* Bytes written to files so far. */
uint64_t kc_lists_spilled_nbytes(const struct kc_lists *lists);

/*
 * Reading: all fragments of one list, of each worker those in memory first. A reader serves one
 * thread and can be rewound to any list any number of times.
 */
struct kc_list_reader {
        const struct kc_lists *lists;
        uint32_t list;
        int worker; /* the worker whose fragments come next */
        const struct kc_arena_chunk *chunk;
        const struct kc_spill *spill;
        uint64_t file_pos, file_end; /* part of the list in the current spill that is not yet in the
                                        buffer */
        uint8_t *buffer;             /* allocated when first needed */
        size_t buffer_pos, buffer_end;
};

void kc_list_reader_init(struct kc_list_reader *reader, const struct kc_lists *lists);
void kc_list_reader_free(struct kc_list_reader *reader);
void kc_list_rewind(struct kc_list_reader *reader, uint32_t list);

/* Get the next fragment; *nbytes = 0 at the end. *data is valid until the next call. */
enum kc_status kc_list_next(struct kc_list_reader *reader, const uint8_t **data, size_t *nbytes,
                            struct kc_error *err);

/* Drop a list that is no longer needed; at most once. Its chunks go to `worker`, the caller.
 * Returns the number of chunks. All workers must have sealed. */
size_t kc_lists_drop(struct kc_lists *lists, int worker, uint32_t list);

#endif
