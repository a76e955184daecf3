/*
 * Blocks: batches of records, or of pairs, that are held until their answers have been written.
 */
#ifndef APP_ASK_BLOCKS_H
#define APP_ASK_BLOCKS_H

#include "app/ask/asking.h"

#include <pthread.h>

struct asking_block {
        struct kc_asking_block base;  /* the first field; its units are bytes of the files */
        struct kc_record_batch batch; /* unless there are pairs */
        struct kc_mate_batch pairs;
        uint64_t nbytes; /* memory, unless counted with an earlier block */
};

struct asking_blocks {
        struct kc_records *records; /* either these, */
        struct kc_mates *mates;     /* or pairs */
        uint64_t input_nbytes;      /* of the files; 0: unknown */
        size_t chunk_nbytes;
        uint64_t bound_nbytes;
        size_t most_held;             /* of pairs */
        pthread_mutex_t lock;         /* for all below */
        struct kc_asking_block *pool; /* unused */
        uint64_t nbytes;              /* memory of all blocks, also of those in the pool */
        uint64_t slots_nbytes;        /* memory of what is formatted */
        size_t nheld;                 /* blocks that are not in the pool */
};

/*
 * Open the input for nthreads threads. Fails like kc_records_open and kc_mates_open. Close the
 * blocks in any case.
 *   overlap  bases that pieces of a sequence share
 *   nbytes   bound on the memory of all blocks and slots, which is exceeded only if it is less
 *            than what the threads need to read one batch each, or if the slots take more than half
 */
enum kc_status asking_blocks_open(struct asking_blocks *blocks, const struct asking_input *input,
                                  int overlap, int nthreads, uint64_t nbytes, struct kc_error *err);

/*
 * Get the next block, from any thread. Fails like kc_records_next and kc_mates_next.
 *   block  out: NULL: there is no room before others are released, or nothing left
 *   ended  out: set, and never cleared, if nothing is left
 */
enum kc_status asking_blocks_next(struct asking_blocks *blocks, struct asking_block **block,
                                  bool *ended, struct kc_error *err);

/* The block is no longer used. From any thread. */
void asking_blocks_release(struct asking_blocks *blocks, struct asking_block *block);

/* The memory of a slot, where a block is formatted, has changed. From any thread. */
void asking_blocks_resize_slot(struct asking_blocks *blocks, uint64_t from_nbytes,
                               uint64_t to_nbytes);

/* All blocks must have been released. */
void asking_blocks_close(struct asking_blocks *blocks);

/* Bases of a record that are asked: none of a secondary or supplementary alignment, which repeats
 * the read of another record. */
static inline uint32_t asking_nbases(const struct kc_seq_record *record)
{
        return record->flags & KC_RECORD_REPEATED ? 0 : record->nbases;
}

/* Sequences in the block: its records, or both mates of its pairs. */
static inline size_t asking_block_nsequences(const struct asking_block *block)
{
        return block->batch.n + 2 * block->pairs.n;
}

/* Sequence i of the block: all first mates come before all second ones. *bytes: what the places in
 * the record refer to. */
static inline const struct kc_seq_record *asking_block_record(const struct asking_block *block,
                                                              size_t i, const char **bytes)
{
        const struct kc_mate_batch *pairs = &block->pairs;
        if (pairs->n == 0) {
                *bytes = block->batch.bytes;
                return &block->batch.records[i];
        }
        const int mate = i >= pairs->n;
        const size_t pair = i - (mate ? pairs->n : 0);
        *bytes = pairs->batch[mate]->bytes;
        return &pairs->batch[mate]->records[pairs->first[mate] + pair * pairs->step];
}

#endif
