#include "app/ask/blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
        CHUNK_NBYTES = 512 << 10,
        MIN_CHUNK_NBYTES = 16 << 10,
        MAX_RECORD_NBYTES = 16 << 20,
        BATCH_UNITS = 5,     /* a batch takes at most so many chunks and records... */
        STREAM_UNITS = 4,    /* ...and the stream so many more (io/records.h) */
        CHUNKS_A_THREAD = 4, /* of a small file, so that all threads have work */
};

/* ---- sizes ---- */

/* Bytes of a regular file; UINT64_MAX if that is unknown. */
static uint64_t file_nbytes(const char *path)
{
        struct stat found;
        if (strcmp(path, "-") == 0 || stat(path, &found) != 0 || !S_ISREG(found.st_mode))
                return UINT64_MAX;
        return (uint64_t)found.st_size;
}

/* A batch may need BATCH_UNITS * (chunk + record_max) bytes, but hardly ever does. Half of the
 * bound lets each thread read one batch at a time; the other half is for batches that are held. */
static void set_sizes(struct kc_records_options *options, const struct asking_input *input,
                      uint64_t nbytes)
{
        const uint64_t nstreams = input->paths[1] != NULL ? 2 : 1;
        const uint64_t nbatches = nstreams * (uint64_t)options->nthreads;
        const uint64_t unit = nbytes / 2 / (BATCH_UNITS * nbatches + STREAM_UNITS * nstreams);
        uint64_t chunk = unit / 4;
        /* mates must fit into a chunk, so that is not made smaller than it has to be */
        if (nstreams == 1 && !input->interleaved) {
                const uint64_t share = file_nbytes(input->paths[0]) / CHUNKS_A_THREAD /
                                       (uint64_t)options->nthreads;
                chunk = chunk < share ? chunk : share;
        }
        chunk = chunk < CHUNK_NBYTES ? chunk : CHUNK_NBYTES;
        chunk = chunk > MIN_CHUNK_NBYTES ? chunk : MIN_CHUNK_NBYTES;
        const uint64_t record = unit > 2 * chunk ? unit - chunk : chunk;
        options->chunk_nbytes = chunk;
        options->record_max = record < MAX_RECORD_NBYTES ? record : MAX_RECORD_NBYTES;
}

/* Bytes of the input; 0: unknown. */
static uint64_t input_nbytes(const struct asking_input *input)
{
        uint64_t sum = 0;
        for (int i = 0; i < 2 && input->paths[i] != NULL; i++) {
                const uint64_t nbytes = file_nbytes(input->paths[i]);
                if (nbytes == UINT64_MAX)
                        return 0;
                sum += nbytes;
        }
        return sum;
}

/* ---- opening and closing ---- */

enum kc_status asking_blocks_open(struct asking_blocks *b, const struct asking_input *input,
                                  int overlap, int nthreads, uint64_t nbytes, struct kc_error *err)
{
        struct kc_records_options options = { .accepted = input->accepted,
                                              .nthreads = nthreads,
                                              .overlap = overlap,
                                              .hpc = input->hpc };
        *b = (struct asking_blocks){ .bound_nbytes = nbytes, .input_nbytes = input_nbytes(input) };
        pthread_mutex_init(&b->lock, NULL);
        set_sizes(&options, input, nbytes);
        b->chunk_nbytes = options.chunk_nbytes;
        if (input->paths[1] == NULL && !input->interleaved)
                return kc_records_open(&b->records, input->paths[0], &options, err);
        /* each batch of records makes at most two of pairs */
        b->most_held = 2 * (size_t)(nbytes / options.chunk_nbytes) + (size_t)nthreads;
        options.nheld = b->most_held;
        return kc_mates_open(&b->mates, input->paths[0], input->paths[1], &options, err);
}

static void free_block(struct asking_block *block)
{
        kc_record_batch_free(&block->batch);
        free(block);
}

void asking_blocks_close(struct asking_blocks *b)
{
        while (b->pool != NULL) {
                struct kc_asking_block *next = b->pool->next;
                free_block((struct asking_block *)b->pool);
                b->pool = next;
        }
        kc_records_close(b->records);
        kc_mates_close(b->mates);
        pthread_mutex_destroy(&b->lock);
}

/* ---- memory ---- */

void asking_blocks_resize_slot(struct asking_blocks *b, uint64_t from_nbytes, uint64_t to_nbytes)
{
        pthread_mutex_lock(&b->lock);
        b->slots_nbytes += to_nbytes - from_nbytes;
        pthread_mutex_unlock(&b->lock);
}

/* Under the lock: the memory that blocks may take. Slots keep their memory until the end, so they
 * leave at least half to the blocks: rounds of a block or two would take forever. */
static uint64_t most_nbytes(const struct asking_blocks *b)
{
        const uint64_t half = b->bound_nbytes / 2;
        return b->bound_nbytes - (b->slots_nbytes < half ? b->slots_nbytes : half);
}

/* ---- next ---- */

/* Take a block from the pool, or make one if there is room; until it is filled, it counts as a
 * chunk. *block is NULL if there is no room. */
static enum kc_status take_block(struct asking_blocks *b, struct asking_block **block,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        pthread_mutex_lock(&b->lock);
        const bool has_room = b->nheld == 0 || (b->nbytes < most_nbytes(b) &&
                                                (b->mates == NULL || b->nheld < b->most_held));
        *block = b->mates == NULL || has_room ? (struct asking_block *)b->pool : NULL;
        if (*block != NULL) {
                b->pool = (*block)->base.next;
        } else if (has_room && (*block = calloc(1, sizeof **block)) == NULL) {
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
        }
        if (*block != NULL) {
                b->nheld++;
                if ((*block)->nbytes == 0)
                        b->nbytes += (*block)->nbytes = b->chunk_nbytes;
        }
        pthread_mutex_unlock(&b->lock);
        return status;
}

/* Blocks of pairs may share a batch of records, which counts with the first of them. */
static uint64_t measure_pairs(struct asking_block *block)
{
        const struct kc_mate_batch *pairs = &block->pairs;
        uint64_t nbytes = 0;
        for (int mate = 0; mate < 2; mate++)
                if (pairs->n > 0 && pairs->first[mate] == 0) {
                        block->base.nunits += pairs->batch[mate]->input_nbytes;
                        nbytes += kc_record_batch_nbytes(pairs->batch[mate]);
                }
        return nbytes;
}

static void measure(struct asking_blocks *b, struct asking_block *block)
{
        const bool paired = b->mates != NULL;
        block->base.nunits = paired ? 0 : block->batch.input_nbytes;
        const uint64_t nbytes =
                paired ? measure_pairs(block) : kc_record_batch_nbytes(&block->batch);
        pthread_mutex_lock(&b->lock);
        b->nbytes += nbytes - block->nbytes;
        pthread_mutex_unlock(&b->lock);
        block->nbytes = nbytes;
}

/* Say what is in the block. */
static void describe(struct asking_block *block)
{
        struct kc_asking_block *base = &block->base;
        base->npairs = block->pairs.n;
        base->nsequences = asking_block_nsequences(block);
        base->number = base->npairs > 0 ? block->pairs.number : block->batch.number;
        base->nbases = 0;
        for (size_t i = 0; i < base->nsequences; i++) {
                const char *bytes;
                base->nbases += asking_nbases(asking_block_record(block, i, &bytes));
        }
}

enum kc_status asking_blocks_next(struct asking_blocks *b, struct asking_block **block, bool *ended,
                                  struct kc_error *err)
{
        struct asking_block *taken;
        enum kc_status status;
        *block = NULL;
        KC_TRY(take_block(b, &taken, err));
        if (taken == NULL)
                return KC_OK;
        if (b->mates != NULL)
                status = kc_mates_next(b->mates, &taken->pairs, err);
        else
                status = kc_records_next(b->records, &taken->batch, err);
        measure(b, taken);
        if (status == KC_OK && asking_block_nsequences(taken) > 0) {
                describe(taken);
                *block = taken;
        } else {
                *ended |= status == KC_OK;
                taken->pairs.n = 0;
                asking_blocks_release(b, taken);
        }
out:
        return status;
}

/* A block beyond the bound is freed. */
void asking_blocks_release(struct asking_blocks *b, struct asking_block *block)
{
        if (block->pairs.n > 0)
                kc_mates_release(b->mates, &block->pairs);
        block->pairs.n = 0;
        pthread_mutex_lock(&b->lock);
        b->nheld--;
        const bool is_kept = b->mates == NULL && b->nbytes <= most_nbytes(b);
        if (!is_kept)
                b->nbytes -= block->nbytes;
        if (is_kept) {
                block->base.next = b->pool;
                b->pool = &block->base;
        }
        pthread_mutex_unlock(&b->lock);
        if (!is_kept)
                free_block(block);
}
