/*
 * BGZF: gzip in blocks of at most 64 KiB that state their own size, so that threads can inflate
 * different blocks. Under the lock only the chain of headers is followed (regular files) or the
 * blocks are read (pipes); inflating with libdeflate and checking follow without the lock.
 *
 * If a file goes on with gzip members that are not BGZF (`cat a.bgz b.gz`), or with anything else,
 * the gzip reader takes over from there; in BAM, which nothing can continue, that is an error.
 */
#include "io/inflate/gzip_stream.h"
#include "io/inflate/source.h"
#include "io/input/bgzf_header.h"
#include "io/input/damage.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

struct bgzf_source {
        struct kc_source base;
        struct kc_gzip_stream *rest; /* set once a member was not BGZF */
        uint32_t last_isize;         /* text in the last block read from a pipe */
};

static enum kc_status truncated(const struct kc_source *source, uint64_t offset,
                                struct kc_error *err)
{
        return kc_fail_at(
                err, KC_EINPUT, 0, kc_byte_of(source->input.name, offset),
                "%s is truncated: the BGZF block at byte %llu is not complete" KC_DAMAGE_REMEDY,
                source->input.name, (unsigned long long)offset);
}

/*
 * Put the next n bytes of the input after those that the chunk has. In a regular file they are not
 * consumed, because decode reads the whole range.
 */
static enum kc_status get(struct kc_source *source, struct kc_chunk *chunk, size_t at, size_t n,
                          size_t *got, struct kc_error *err)
{
        struct kc_input *in = &source->input;
        enum kc_status status;
        KC_TRY(kc_chunk_reserve_packed(chunk, chunk->packed_nbytes + at + n, err));
        uint8_t *to = chunk->packed + chunk->packed_nbytes + at;
        if (in->regular)
                KC_TRY(kc_input_read_at(in, to, n, in->offset + at, got, err));
        else
                KC_TRY(kc_input_read(in, to, n, got, err));
out:
        return status;
}

/* Read the header at the input's place; *got = 0 at the end. Not BGZF: header->block_nbytes = 0. */
static enum kc_status next_header(struct kc_source *source, struct kc_chunk *chunk, size_t *got,
                                  struct kc_bgzf_header *header, struct kc_error *err)
{
        enum kc_status status;
        size_t more = 0;
        *header = (struct kc_bgzf_header){ 0 };
        KC_TRY(get(source, chunk, 0, KC_BGZF_USUAL_NBYTES, got, err));
        if (*got < KC_BGZF_USUAL_NBYTES)
                goto out;
        uint32_t nbytes = kc_bgzf_header_nbytes(chunk->packed + chunk->packed_nbytes);
        if (nbytes > *got && nbytes <= KC_BGZF_LONGEST_NBYTES) {
                KC_TRY(get(source, chunk, *got, nbytes - *got, &more, err));
                *got += more;
        }
        if (!kc_bgzf_parse(chunk->packed + chunk->packed_nbytes, *got, header))
                header->block_nbytes = 0;
out:
        return status;
}

/* Whether the last block, before this offset, has text. Otherwise it is the end-of-file block,
 * which shows that nothing is missing. */
static enum kc_status is_open(const struct bgzf_source *bgzf, uint64_t offset, bool *open,
                              struct kc_error *err)
{
        const struct kc_input *in = &bgzf->base.input;
        uint8_t isize[4];
        size_t got = 0;
        uint32_t text_nbytes = bgzf->last_isize;
        if (in->regular && offset >= sizeof isize) {
                enum kc_status status =
                        kc_input_read_at(in, isize, sizeof isize, offset - 4, &got, err);
                if (status != KC_OK)
                        return status;
                text_nbytes = got == sizeof isize ? kc_bgzf_u32(isize) : 1;
        }
        *open = text_nbytes != 0;
        return KC_OK;
}

/* No blocks follow those that the chunk has: note whether the end-of-file block is missing. */
static enum kc_status end_blocks(const struct bgzf_source *bgzf, struct kc_chunk *chunk,
                                 struct kc_error *err)
{
        chunk->open_end.offset = chunk->packed_offset + chunk->packed_nbytes;
        return is_open(bgzf, chunk->open_end.offset, &chunk->open_end.found, err);
}

/* Take the block whose header follows the chunk's packed bytes. */
static enum kc_status take_block(struct bgzf_source *bgzf, struct kc_chunk *chunk, size_t have,
                                 uint32_t block_nbytes, struct kc_error *err)
{
        struct kc_source *source = &bgzf->base;
        struct kc_input *in = &source->input;
        enum kc_status status = KC_OK;
        uint64_t offset = chunk->packed_offset + chunk->packed_nbytes;
        size_t got = 0;
        if (in->regular) {
                if (in->size - in->offset < block_nbytes)
                        return truncated(source, offset, err);
                in->offset += block_nbytes;
        } else {
                size_t left = block_nbytes - have;
                KC_TRY(get(source, chunk, have, left, &got, err));
                if (got < left)
                        return truncated(source, offset, err);
                bgzf->last_isize =
                        kc_bgzf_u32(chunk->packed + chunk->packed_nbytes + block_nbytes - 4);
        }
        chunk->packed_nbytes += block_nbytes;
out:
        return status;
}

/*
 * What follows is not a whole BGZF header: let the gzip reader go on, with the bytes already read
 * from a pipe. Zeros are padding only after the end-of-file block, because a file whose end was
 * never written may also end with zeros.
 */
static enum kc_status leave_to_gzip(struct bgzf_source *bgzf, struct kc_chunk *chunk, size_t have,
                                    struct kc_error *err)
{
        struct kc_source *source = &bgzf->base;
        size_t taken = source->input.regular ? 0 : have;
        uint64_t offset = chunk->packed_offset + chunk->packed_nbytes;
        uint8_t first = chunk->packed[chunk->packed_nbytes];
        enum kc_status status;
        if (have < KC_BGZF_USUAL_NBYTES && first == 0x1f)
                return truncated(source, offset, err);
        if (source->part.end != UINT64_MAX)
                return kc_fail(err, KC_EINPUT,
                               "%s cannot be shared among processes: it is not BGZF from byte %llu "
                               "on; count it with one",
                               source->input.name, (unsigned long long)offset);
        if (source->bam)
                return kc_damage_trailing(
                        &(struct kc_trailing){ source->input.name, "BGZF", offset,
                                               source->input.regular ? source->input.size : 0,
                                               false },
                        err);
        status = end_blocks(bgzf, chunk, err);
        if (status != KC_OK)
                return status;
        if (first == 0 && chunk->open_end.found)
                return kc_damage_no_end_block(source->input.name, offset, false, "gzip -dc FILE",
                                              err);
        chunk->input_nbytes += taken;
        return kc_gzip_open(&bgzf->rest, &source->input, source->chunk_nbytes / 4,
                            chunk->packed + chunk->packed_nbytes, taken, err);
}

/* The part that is read ends with the beginning of the next block's text. That block's bytes count
 * as input of the part that follows. */
static enum kc_status end_part(struct bgzf_source *bgzf, struct kc_chunk *chunk,
                               struct kc_error *err)
{
        struct kc_source *source = &bgzf->base;
        const struct kc_source_part *part = &source->part;
        struct kc_bgzf_header header = { 0 };
        enum kc_status status = KC_OK;
        size_t have = 0;
        chunk->last = true;
        chunk->input_nbytes = chunk->packed_nbytes;
        if (part->kept > 0 && source->input.offset == part->end)
                KC_TRY(next_header(source, chunk, &have, &header, err));
        if (source->input.offset > part->end || (part->kept > 0 && header.block_nbytes == 0))
                return kc_fail(err, KC_EINPUT,
                               "%s cannot be shared among processes: no BGZF block begins at byte "
                               "%llu; count it with one",
                               source->input.name, (unsigned long long)part->end);
        if (part->kept == 0)
                return KC_OK;
        chunk->is_cut = true;
        chunk->nkept = part->kept;
        KC_TRY(take_block(bgzf, chunk, have, header.block_nbytes, err));
out:
        return status;
}

static enum kc_status take(struct kc_source *source, struct kc_chunk *chunk, struct kc_error *err)
{
        struct bgzf_source *bgzf = (struct bgzf_source *)source;
        struct kc_bgzf_header header;
        enum kc_status status;
        size_t nblocks = source->chunk_nbytes / KC_BGZF_MAX_NBYTES;
        if (bgzf->rest != NULL)
                return kc_gzip_fill(bgzf->rest, chunk, source->chunk_nbytes, err);
        chunk->packed_offset = source->input.offset;
        chunk->nskip = chunk->seq == 0 ? source->part.skip : 0;
        for (size_t i = 0; i < nblocks || i == 0; i++) {
                size_t have;
                if (source->input.offset >= source->part.end)
                        return end_part(bgzf, chunk, err);
                KC_TRY(next_header(source, chunk, &have, &header, err));
                if (have == 0) {
                        chunk->last = true;
                        KC_TRY(end_blocks(bgzf, chunk, err));
                        break;
                }
                if (header.block_nbytes == 0) {
                        KC_TRY(leave_to_gzip(bgzf, chunk, have, err));
                        break;
                }
                KC_TRY(take_block(bgzf, chunk, have, header.block_nbytes, err));
        }
        chunk->input_nbytes += chunk->packed_nbytes;
out:
        return status;
}

static enum kc_status corrupt(const struct kc_source *source, uint64_t offset, const char *what,
                              struct kc_error *err)
{
        return kc_fail_at(err, KC_EINPUT, 0, kc_byte_of(source->input.name, offset),
                          "%s is corrupt: the BGZF block at byte %llu has %s" KC_DAMAGE_REMEDY,
                          source->input.name, (unsigned long long)offset, what);
}

/* Inflate one block after the chunk's text. */
static enum kc_status inflate_block(const struct kc_source *source, struct kc_chunk *chunk,
                                    const uint8_t *block, const struct kc_bgzf_header *header,
                                    struct kc_error *err)
{
        uint64_t offset = chunk->packed_offset + (uint64_t)(block - chunk->packed);
        const uint8_t *footer = block + header->block_nbytes - KC_BGZF_FOOTER_NBYTES;
        uint32_t crc = kc_bgzf_u32(footer), isize = kc_bgzf_u32(footer + 4);
        enum kc_status status;
        if (isize > KC_BGZF_MAX_NBYTES)
                return corrupt(source, offset, "an impossible length", err);
        KC_TRY(kc_chunk_reserve(chunk, chunk->end - chunk->front + isize, err));
        uint8_t *text = chunk->buffer + chunk->end;
        size_t packed_nbytes = (size_t)(footer - block) - header->header_nbytes, used;
        enum libdeflate_result result =
                libdeflate_deflate_decompress_ex(chunk->inflater, block + header->header_nbytes,
                                                 packed_nbytes, text, isize, &used, NULL);
        if (result == LIBDEFLATE_SUCCESS && used < packed_nbytes)
                return corrupt(source, offset, "bytes after its compressed data", err);
        if (result != LIBDEFLATE_SUCCESS)
                return corrupt(source, offset, "invalid compressed data or a wrong length", err);
        if (libdeflate_crc32(0, text, isize) != crc)
                return corrupt(source, offset, "a wrong checksum", err);
        chunk->end += isize;
out:
        return status;
}

static enum kc_status read_blocks(const struct kc_source *source, struct kc_chunk *chunk,
                                  struct kc_error *err)
{
        size_t got;
        enum kc_status status;
        KC_TRY(kc_input_read_at(&source->input, chunk->packed, chunk->packed_nbytes,
                                chunk->packed_offset, &got, err));
        if (got < chunk->packed_nbytes)
                return truncated(source, chunk->packed_offset, err);
out:
        return status;
}

static enum kc_status decode(struct kc_source *source, struct kc_chunk *chunk, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (chunk->packed_nbytes == 0)
                return KC_OK;
        if (chunk->inflater == NULL)
                chunk->inflater = libdeflate_alloc_decompressor();
        if (chunk->inflater == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        KC_TRY(kc_chunk_reserve_packed(chunk, chunk->packed_nbytes, err));
        if (source->input.regular)
                KC_TRY(read_blocks(source, chunk, err));
        size_t before = chunk->end;
        for (size_t at = 0; at < chunk->packed_nbytes;) {
                struct kc_bgzf_header header;
                before = chunk->end;
                if (!kc_bgzf_parse(chunk->packed + at, chunk->packed_nbytes - at, &header) ||
                    header.block_nbytes > chunk->packed_nbytes - at)
                        return corrupt(source, chunk->packed_offset + at, "a damaged header", err);
                KC_TRY(inflate_block(source, chunk, chunk->packed + at, &header, err));
                at += header.block_nbytes;
        }
        if (chunk->is_cut && chunk->end - before > chunk->nkept)
                chunk->end = before + chunk->nkept;
        chunk->start = chunk->text += chunk->nskip;
out:
        return status;
}

static void free_bgzf(struct kc_source *source)
{
        kc_gzip_close(((struct bgzf_source *)source)->rest);
        free(source);
}

static const struct kc_source_ops bgzf_ops = { .take = take, .decode = decode, .free = free_bgzf };

struct kc_source *kc_source_new_bgzf(void)
{
        struct bgzf_source *bgzf = calloc(1, sizeof *bgzf);
        if (bgzf == NULL)
                return NULL;
        bgzf->base.ops = &bgzf_ops;
        return &bgzf->base;
}
