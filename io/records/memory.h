/*
 * What a batch of records owns: an arena and the records' places in it.
 */
#ifndef KC_IO_RECORDS_MEMORY_H
#define KC_IO_RECORDS_MEMORY_H

#include "io/input/chunk.h"
#include "io/records.h"

struct kc_record_memory {
        struct kc_chunk chunk; /* its buffer is the arena: text, then what is not there as such */
        struct kc_seq_record *records; /* [cap] */
        size_t n, cap;
        struct bam1_t **alignments; /* [nalignments] */
        size_t nalignments;
};

/* Make room for one more record; it is zeroed and not yet one of the n. KC_ENOMEM. */
enum kc_status kc_record_memory_reserve(struct kc_record_memory *memory, struct kc_error *err);

/* Make room in the arena for nbytes after its text. KC_ENOMEM. */
static inline enum kc_status kc_record_memory_extend(struct kc_record_memory *memory, size_t nbytes,
                                                     struct kc_error *err)
{
        struct kc_chunk *chunk = &memory->chunk;
        return kc_chunk_reserve(chunk, chunk->end - chunk->front + nbytes, err);
}

static inline bool kc_record_begins(const struct kc_seq_record *record)
{
        return record->flags & KC_RECORD_BEGINS;
}

static inline bool kc_record_ends(const struct kc_seq_record *record)
{
        return record->flags & KC_RECORD_ENDS;
}

#endif
