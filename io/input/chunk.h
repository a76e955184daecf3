/*
 * A chunk: what one worker holds of one file at a time.
 *
 *      buffer:  | room ..... | carried | text as read from the file .......... | slack |
 *                            ^start    ^text (at front, as a rule)             ^end
 *
 * The source writes decoded text from `front` on; the record that began in the chunk before is
 * put in front of it. The parser leaves an index of records, each with its sequence (and its
 * qualities) in one piece, moved together in place where the file broke it into lines. Packing
 * walks that index and may stop anywhere, because a batch can be full in mid-record.
 */
#ifndef KC_IO_INPUT_CHUNK_H
#define KC_IO_INPUT_CHUNK_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        KC_CHUNK_SLACK = 128,          /* bytes behind the text that kernels may touch */
        KC_CHUNK_LOW_QUALITY = '\001', /* stands for a base under the minimum quality */
};
#define KC_NO_QUALITY UINT32_MAX

/* Bytes of a buffer: the offsets in records have 32 bits. */
#define KC_CHUNK_MAX ((size_t)UINT32_MAX - KC_CHUNK_SLACK)

/* Bytes of a record that is held as a whole, at most: a buffer has room for it and for the text of a
 * chunk. */
#define KC_CHUNK_RECORD_MAX ((size_t)3 << 30)

/* A read, or the part of a FASTA sequence that lies in this chunk. Offsets into buffer. */
struct kc_record {
        uint32_t seq, nbases;
        uint32_t qual;     /* as many letters, or KC_NO_QUALITY */
        uint32_t ncontext; /* first letters that the chunk before has counted already */
};

struct libdeflate_decompressor;

struct kc_chunk {
        uint8_t *buffer;
        size_t front, capacity; /* text can lie in [front, front + capacity) */
        size_t start, text, end;
        uint64_t seq;          /* 0, 1, 2, ... within the file */
        bool last;             /* the file's last, may be empty */
        uint64_t input_nbytes; /* bytes of the file that it took */
        struct kc_error error; /* why it could not be filled */

        struct kc_record *records;
        size_t nrecords, records_cap;
        size_t next; /* record to pack next */
        uint64_t nreads;
        uint64_t nblanks; /* letters that no record holds: blanks within a FASTA sequence */

        /* BGZF: blocks as they are in the file */
        uint8_t *packed;
        size_t packed_nbytes, packed_cap;
        uint64_t packed_offset;
        struct libdeflate_decompressor *inflater;
};

/* Make room for nbytes of text. KC_ENOMEM. Free it in any case. */
enum kc_status kc_chunk_init(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);
void kc_chunk_free(struct kc_chunk *chunk);

/* Forget the content. */
void kc_chunk_clear(struct kc_chunk *chunk);

/* Grow so that nbytes fit before `front`; the text from front on is kept. KC_ENOMEM. */
enum kc_status kc_chunk_reserve_front(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);

/* Grow so that capacity is nbytes at least; all text is kept. KC_ENOMEM. */
enum kc_status kc_chunk_reserve(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);

/* Grow packed to nbytes at least, keeping packed_nbytes of it. */
enum kc_status kc_chunk_reserve_packed(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);

/* Room for more records, behind nrecords. */
enum kc_status kc_chunk_reserve_records(struct kc_chunk *chunk, size_t more, struct kc_error *err);

static inline enum kc_status kc_chunk_add_record(struct kc_chunk *chunk, struct kc_record record,
                                                 struct kc_error *err)
{
        if (chunk->nrecords == chunk->records_cap) {
                enum kc_status status = kc_chunk_reserve_records(chunk, 1, err);
                if (status != KC_OK)
                        return status;
        }
        chunk->records[chunk->nrecords++] = record;
        return KC_OK;
}

/* Bytes kept from one chunk for a later one. Zero-initialise; free with kc_bytes_free. */
struct kc_bytes {
        uint8_t *data;
        size_t nbytes, cap;
};
enum kc_status kc_bytes_append(struct kc_bytes *bytes, const void *data, size_t nbytes,
                               struct kc_error *err);
void kc_bytes_free(struct kc_bytes *bytes);

#endif
