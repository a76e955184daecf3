/*
 * Which alignments, and which letters of reads, are taken: struct kc_selection of io/reader.h.
 */
#ifndef KC_IO_PARSE_SELECT_H
#define KC_IO_PARSE_SELECT_H

#include "io/input/chunk.h"
#include "io/reader.h"

/* Whether an alignment with these flags is taken. */
static inline bool kc_takes_flags(const struct kc_selection *selection, unsigned flags)
{
        return (flags & (KC_FLAGS_REPEATED | selection->excluded)) == 0 &&
               (flags & selection->required) == selection->required;
}

/* Note that an alignment of n letters is not taken; a repeated one has no letters of its own. */
static inline void kc_chunk_leave_out(struct kc_chunk *chunk, unsigned flags, uint64_t n)
{
        if ((flags & KC_FLAGS_REPEATED) == 0)
                chunk->nleft_out += n;
}

/*
 * Leave out those letters of a record that are among the first nskip of its read.
 *   first  the place in the read of the record's first letter, which may be one of its context
 */
void kc_chunk_skip(struct kc_chunk *chunk, struct kc_record *record, uint64_t first,
                   uint32_t nskip);

/* The same for the chunk's records from number `from` on, at each of which a read begins. */
void kc_chunk_skip_all(struct kc_chunk *chunk, size_t from, uint32_t nskip);

#endif
