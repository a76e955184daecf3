/*
 * A chunk: the text of one file that one worker holds at a time.
 *
 *      buffer:  | room ..... | carried | text as read from the file .......... | slack |
 *                            ^start    ^text (usually at front)                ^end
 *
 * The source writes decoded text from `front` on; the start of a record that began in the previous
 * chunk is put before it. The parser makes an index of records, each with its sequence (and its
 * qualities) in one piece, joined in place if the file broke it into lines. Packing walks that
 * index and may stop anywhere, because a batch can become full in mid-record.
 */
#ifndef KC_IO_INPUT_CHUNK_H
#define KC_IO_INPUT_CHUNK_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        KC_CHUNK_SLACK = 128,          /* bytes after the text that kernels may touch */
        KC_CHUNK_LOW_QUALITY = '\001', /* stands for a base under the minimum quality */
};
#define KC_NO_QUALITY UINT32_MAX

/* Maximum size of a buffer in bytes: the offsets in records have 32 bits. */
#define KC_CHUNK_MAX ((size_t)UINT32_MAX - KC_CHUNK_SLACK)

/* Maximum bytes of a record that is held as a whole: a buffer has room for it and for a chunk's
 * text. */
#define KC_CHUNK_RECORD_MAX ((size_t)3 << 30)

/* A read, or the part of a FASTA sequence that lies in this chunk. Offsets into buffer. */
struct kc_record {
        uint32_t seq, nbases;
        uint32_t qual;     /* as many letters, or KC_NO_QUALITY */
        uint16_t ncontext; /* leading letters that the previous chunk has counted already; trailing
                              ones if the read is turned */
        bool turned;
};

/*
 * A place in a file where BGZF blocks end without the empty one that marks the end of all of them:
 * at the end of the file, or because members of gzip that are not blocks follow.
 */
struct kc_open_end {
        bool found;
        uint64_t offset; /* in the file, after the blocks */
        size_t nafter;   /* bytes of the chunk's text that come after the place */
};

struct libdeflate_decompressor;

struct kc_chunk {
        uint8_t *buffer;
        size_t front, capacity; /* text may lie in [front, front + capacity) */
        size_t start, text, end;
        uint64_t seq;                /* 0, 1, 2, ... within the file */
        bool last;                   /* the file's last chunk; may be empty */
        uint64_t input_nbytes;       /* bytes of the file that it consumed */
        struct kc_error error;       /* why it could not be filled */
        struct kc_open_end open_end; /* such a place; if there are several, one where the text
                                        breaks off within a line, if any */

        struct kc_record *records;
        size_t nrecords, records_cap;
        size_t next; /* record to pack next */
        uint64_t nreads;
        uint64_t nblanks;    /* letters that are in no record: blanks within a FASTA sequence */
        uint64_t nleft_out;  /* letters that are not wanted, and are in no record */
        size_t copied, copy; /* text from `copied` on is as read from `copy` on, if that is not 0 */
        uint64_t nlow_quality; /* bases that are KC_CHUNK_LOW_QUALITY in the buffer already */

        /* BGZF: blocks as they are in the file */
        uint8_t *packed;
        size_t packed_nbytes, packed_cap;
        uint64_t packed_offset;
        uint32_t nskip; /* bytes of the first block's text that are left out */
        bool is_cut;    /* of the last block's text, only the first nkept bytes are taken */
        uint32_t nkept;
        struct libdeflate_decompressor *inflater;
};

/* Make room for nbytes of text. KC_ENOMEM. Free the chunk in any case. */
enum kc_status kc_chunk_init(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);
void kc_chunk_free(struct kc_chunk *chunk);

/* The memory that the chunk takes. */
static inline size_t kc_chunk_nbytes(const struct kc_chunk *chunk)
{
        return chunk->front + chunk->capacity + KC_CHUNK_SLACK + chunk->packed_cap +
               chunk->records_cap * sizeof *chunk->records;
}

/* Discard the content, keep the memory. */
void kc_chunk_clear(struct kc_chunk *chunk);

/* Grow so that nbytes fit before `front`; the text from `front` on is kept. KC_ENOMEM. */
enum kc_status kc_chunk_reserve_front(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);

/* Grow so that capacity is at least nbytes; all text is kept. KC_ENOMEM. */
enum kc_status kc_chunk_reserve(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);

/* Grow packed to at least nbytes, keeping its first packed_nbytes. KC_ENOMEM. */
enum kc_status kc_chunk_reserve_packed(struct kc_chunk *chunk, size_t nbytes, struct kc_error *err);

/* Make room for `more` records after the nrecords there are. KC_ENOMEM. */
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

/* Bytes kept from one chunk for a later one. Zero-initialise; free with kc_bytes_free. Appending
 * fails with KC_ENOMEM only. */
struct kc_bytes {
        uint8_t *data;
        size_t nbytes, cap;
};
enum kc_status kc_bytes_append(struct kc_bytes *bytes, const void *data, size_t nbytes,
                               struct kc_error *err);
void kc_bytes_free(struct kc_bytes *bytes);

/* Move bytes kept from an earlier chunk to the front of this one's text. KC_ENOMEM. */
enum kc_status kc_chunk_take_over(struct kc_chunk *chunk, struct kc_bytes *kept,
                                  struct kc_error *err);

#endif
