/*
 * A source: one input, decompressed, in numbered chunks of text.
 *
 * Any number of threads may fill chunks at once. What must be done in the file's order is done
 * under the source's lock (take): for plain and BGZF files that is next to nothing, and reading and
 * inflating follow without the lock (decode); a stream of gzip, zstd, bzip2 or xz is inflated under
 * the lock, unless threads inflate it together (fill).
 */
#ifndef KC_IO_INFLATE_SOURCE_H
#define KC_IO_INFLATE_SOURCE_H

#include "io/input/chunk.h"
#include "io/input/detect.h"
#include "io/input/input.h"

#include <pthread.h>

/* The part of a BGZF file that is read: from byte `skip` of the text of the block where the input
 * begins to byte `kept` of the text of the block at `end`. */
struct kc_source_part {
        uint64_t end; /* UINT64_MAX: up to the end of the file */
        uint32_t skip, kept;
};

struct kc_stream_library;

struct kc_source {
        const struct kc_source_ops *ops;
        struct kc_input input;
        size_t chunk_nbytes;
        size_t memory_nbytes; /* about what inflating may take; initially SIZE_MAX: unlimited */
        int nworkers;
        struct kc_source_part part; /* initially all */
        pthread_mutex_t lock;
        uint64_t next_seq;
        bool ended;
        bool must_not_grow; /* plain text that does not show where its last record ends: FASTA,
                             * BAM */
        bool bam;           /* the text is BAM, so nothing but BGZF may follow BGZF */
        bool inflates;      /* it is not plain text */
        bool serial;        /* all the work is done under the lock: better not to wait for it */
};

/* Either the first two, or fill. */
struct kc_source_ops {
        /* Under the lock. Sets chunk->last in the final chunk. */
        enum kc_status (*take)(struct kc_source *source, struct kc_chunk *chunk,
                               struct kc_error *err);
        /* Without the lock; may be NULL. */
        enum kc_status (*decode)(struct kc_source *source, struct kc_chunk *chunk,
                                 struct kc_error *err);
        /* All of kc_source_fill, from any thread at any time. */
        bool (*fill)(struct kc_source *source, struct kc_chunk *chunk);
        void (*free)(struct kc_source *source);
};

/*
 * Make a source of an open input, which moves into it (also on failure). KC_ENOMEM.
 *   chunk_nbytes  about the text in a chunk; a gzip stream inflated by many threads gives some
 *                 twenty times that
 *   nworkers      threads that inflate one gzip stream together; 1: it is inflated under the lock
 */
enum kc_status kc_source_open(struct kc_source **source, struct kc_input *in,
                              enum kc_container container, size_t chunk_nbytes, int nworkers,
                              struct kc_error *err);

/*
 * Fill a cleared chunk with the next text; from any thread. A failure is left in chunk->error, and
 * the file ends there; with BGZF, the text before it is still in the chunk. The chunk's number
 * still takes its turn, so that the first failure in the file's order is the one reported. Returns
 * false, with nothing done, after the last chunk.
 */
bool kc_source_fill(struct kc_source *source, struct kc_chunk *chunk);

void kc_source_close(struct kc_source *source);

/* The five kinds; each allocates a struct that begins with struct kc_source. NULL: no memory. */
struct kc_source *kc_source_new_plain(void);
struct kc_source *kc_source_new_bgzf(void);
struct kc_source *kc_source_new_gzip(void);
struct kc_source *kc_source_new_gunzip(void); /* of regular files, by many threads */
struct kc_source *kc_source_new_stream(const struct kc_stream_library *library);

/* Is this gzip input a regular file in which deflate blocks can be found early? */
bool kc_source_can_gunzip(const struct kc_input *in);

#endif
