/*
 * What of the reads is taken: struct kc_selection of io/reader.h.
 */
#ifndef KC_IO_PARSE_SELECT_H
#define KC_IO_PARSE_SELECT_H

#include "io/input/chunk.h"
#include "io/reader.h"

/*
 * Leave out those letters of a record that are among the first nskip of its read.
 *   first  the place in the read of the record's first letter, which may be one of its context
 */
void kc_chunk_skip(struct kc_chunk *chunk, struct kc_record *record, uint64_t first,
                   uint32_t nskip);

/* The same for the chunk's records from number `from` on, at each of which a read begins. */
void kc_chunk_skip_all(struct kc_chunk *chunk, size_t from, uint32_t nskip);

#endif
