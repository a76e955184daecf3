/*
 * A source: one input, decompressed, in numbered chunks of text.
 *
 * Any number of threads may fill chunks at once. What must happen in the file's order happens
 * under the source's lock (take): for plain and BGZF files that is next to nothing, and reading and
 * inflating follow outside (decode); a gzip or zstd stream is inflated under the lock.
 */
#ifndef KC_IO_INFLATE_SOURCE_H
#define KC_IO_INFLATE_SOURCE_H

#include "io/input/chunk.h"
#include "io/input/detect.h"
#include "io/input/input.h"

#include <pthread.h>

struct kc_source {
        const struct kc_source_ops *ops;
        struct kc_input input;
        size_t chunk_nbytes;
        size_t memory_nbytes; /* about what inflating may take; SIZE_MAX, as it is made: any */
        int nworkers;
        pthread_mutex_t lock;
        uint64_t next_seq;
        bool ended;
        bool serial; /* all the work is done under the lock: better not wait for it */
};

/* Either the first two, or fill. */
struct kc_source_ops {
        /* Under the lock. Sets chunk->last with the final one. */
        enum kc_status (*take)(struct kc_source *source, struct kc_chunk *chunk,
                               struct kc_error *err);
        /* Outside of it; may be NULL. */
        enum kc_status (*decode)(struct kc_source *source, struct kc_chunk *chunk,
                                 struct kc_error *err);
        /* All of kc_source_fill, in any thread at any time. */
        bool (*fill)(struct kc_source *source, struct kc_chunk *chunk);
        void (*free)(struct kc_source *source);
};

/*
 * Make a source of an open input, which moves into it (also on failure). KC_ENOMEM.
 *   chunk_nbytes  text in a chunk, about; a gzip stream inflated by many gives some twenty times
 *                 that
 *   nworkers      threads that shall inflate one gzip stream; 1: it is inflated under the lock
 */
enum kc_status kc_source_open(struct kc_source **source, struct kc_input *in,
                              enum kc_container container, size_t chunk_nbytes, int nworkers,
                              struct kc_error *err);

/*
 * Fill a cleared chunk with the next text. A failure is left in chunk->error, and the file ends
 * there; the chunk's number still takes its turn, so that the first failure in the file's order is
 * the one reported. Returns false, with nothing done, if the last chunk has been given.
 */
bool kc_source_fill(struct kc_source *source, struct kc_chunk *chunk);

void kc_source_close(struct kc_source *source);

/* The five kinds; each allocates a struct that begins with struct kc_source. NULL: no memory. */
struct kc_source *kc_source_new_plain(void);
struct kc_source *kc_source_new_bgzf(void);
struct kc_source *kc_source_new_gzip(void);
struct kc_source *kc_source_new_gunzip(void); /* of regular files, by many threads */
struct kc_source *kc_source_new_zstd(void);

/* Is this gzip input a regular file, and one in which deflate blocks can be found early? */
bool kc_source_can_gunzip(const struct kc_input *in);

#endif
