/*
 * Lists of records, thousands of them, appended to by all threads without a lock: each worker has a
 * chain of chunks for each list. When the arena is exhausted a worker writes all its chunks to a
 * file of its own (unlinked at once: nothing remains, however the program ends) and goes on
 * with empty chains.
 *
 * Both partitionings of the engine are such lists: super-k-mers by minimizer, and (k-mer, count)
 * pairs by prefix. A file holds one region a spill:
 *
 *      region: list 0 | list 1 | ... | where each begins, and the last ends: u64 ...
 *      list: fragment ...      fragment: u32 nbytes, data
 *
 * where a fragment is what was in one chunk: whole records. So a spill leaves next to nothing in
 * memory, however many there are.
 */
#ifndef KC_LISTS_H
#define KC_LISTS_H

#include "cpu/arena.h"

#include <stdbool.h>

enum {
        KC_LISTS_SLACK = 16, /* bytes that may be scribbled behind a record when it is written */
        KC_LISTS_OVERREAD = KC_LISTS_SLACK, /* bytes that can be read (any value) behind a record */
};

/* One spill of a worker: list i lies in [offset[i], offset[i + 1]) of its file. */
struct kc_spill {
        struct kc_spill *next;
        uint64_t offsets_at; /* where the array offset[nlists + 1] is in the file */
};

struct kc_lists_worker {
        uint8_t **pos; /* [nlists] where the next record goes, in the list's newest chunk */
        struct kc_arena_chunk **chunks; /* [nlists] newest first; pos points into the newest */
        uint64_t *nbytes;               /* [nlists] of sealed chunks and spilled fragments */
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
        size_t quota;        /* chunks that each worker may hold in any case */
        atomic_size_t *pool; /* chunks that any worker may take beyond its quota; NULL: none */
        struct kc_lists_worker *workers;
};

/*
 * The arena must have room for all quotas and the pool together; arena, tmp_dir and pool must
 * outlive the lists.
 */
enum kc_status kc_lists_init(struct kc_lists *lists, uint32_t nlists, int nworkers,
                             struct kc_arena *arena, size_t quota, atomic_size_t *pool,
                             const char *tmp_dir, struct kc_error *err);
/* Chunks are not given back: the arena goes with them. A zeroed struct is fine. */
void kc_lists_free(struct kc_lists *lists);

/* The slow path of kc_lists_reserve: a new chunk for the list, spilling if need be. */
enum kc_status kc_lists_grow(struct kc_lists *lists, int worker, uint32_t list,
                             struct kc_error *err);

/*
 * Room for a record of at most nbytes (<= KC_CHUNK_DATA_NBYTES - KC_LISTS_SLACK) at *record; it is
 * appended by kc_lists_append, with its true size.
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

/* After kc_lists_reserve: bytes that may be appended in one go. */
static inline size_t kc_lists_room(const struct kc_lists *lists, int worker, uint32_t list)
{
        uintptr_t pos = (uintptr_t)lists->workers[worker].pos[list];
        return KC_CHUNK_NBYTES - (pos & (KC_CHUNK_NBYTES - 1)) - KC_LISTS_SLACK;
}

static inline void kc_lists_append(struct kc_lists *lists, int worker, uint32_t list, size_t nbytes)
{
        lists->workers[worker].pos[list] += nbytes;
}

/* End of writing for one worker; before anything is read, every worker's lists must be sealed. */
void kc_lists_seal(struct kc_lists *lists, int worker);

/* Bytes of records in one list, all workers together; of sealed lists. */
uint64_t kc_lists_nbytes(const struct kc_lists *lists, uint32_t list);

/* Bytes written to files so far. */
uint64_t kc_lists_spilled_nbytes(const struct kc_lists *lists);

/*
 * Reading: all fragments of one list, those in memory first. A reader serves one thread and can be
 * rewound to any list as often as wanted.
 */
struct kc_list_reader {
        const struct kc_lists *lists;
        uint32_t list;
        int worker; /* whose fragments come next */
        const struct kc_arena_chunk *chunk;
        const struct kc_spill *spill;
        uint64_t file_pos, file_end; /* of the present spill's region, not yet in the buffer */
        uint8_t *buffer;             /* allocated when first needed */
        size_t buffer_pos, buffer_end;
};

void kc_list_reader_init(struct kc_list_reader *reader, const struct kc_lists *lists);
void kc_list_reader_free(struct kc_list_reader *reader);
void kc_list_rewind(struct kc_list_reader *reader, uint32_t list);

/* The next fragment; *nbytes = 0 at the end. *data is valid until the next call. */
enum kc_status kc_list_next(struct kc_list_reader *reader, const uint8_t **data, size_t *nbytes,
                            struct kc_error *err);

/* The list is not needed any more: its chunks go to `worker`, the caller. Returns how many there
 * were. */
size_t kc_lists_drop(struct kc_lists *lists, int worker, uint32_t list);

#endif
