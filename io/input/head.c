#include "io/input/head.h"

#include <bzlib.h>
#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <stdlib.h>
#include <zstd.h>

/* How much text is looked at, and memory that may be used to inflate it. */
enum { TEXT = 256 << 10, MEMORY = 128 << 20 };

/* ntext bytes of text came from nused bytes. */
static void end_head(struct kc_head *head, size_t ntext, size_t nused)
{
        head->ntext = ntext < TEXT ? ntext : TEXT;
        head->bytes_per_letter = ntext > 0 ? (double)nused / (double)ntext : 0;
}

static bool gzip_head(struct kc_head *head, const uint8_t *bytes, size_t n)
{
        struct inflate_state *state = malloc(sizeof *state);
        if (state == NULL)
                return false;
        isal_inflate_init(state);
        state->crc_flag = ISAL_GZIP;
        state->next_in = (uint8_t *)bytes;
        state->avail_in = (uint32_t)n;
        state->next_out = head->text;
        state->avail_out = TEXT;
        isal_inflate(state);
        end_head(head, TEXT - state->avail_out, n - state->avail_in);
        free(state);
        return true;
}

static bool zstd_head(struct kc_head *head, const uint8_t *bytes, size_t n)
{
        ZSTD_DStream *stream = ZSTD_createDStream();
        if (stream == NULL)
                return false;
        ZSTD_inBuffer in = { .src = bytes, .size = n };
        ZSTD_outBuffer out = { .dst = head->text, .size = TEXT };
        while (in.pos < in.size && out.pos < out.size)
                if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)))
                        break;
        end_head(head, out.pos, in.pos);
        ZSTD_freeDStream(stream);
        return true;
}

/* The library gives out the text of a block once it has all of the block. It is given no more than
 * that, so that the text is compared with the bytes that it came from. */
static bool bzip2_head(struct kc_head *head, const uint8_t *bytes, size_t n)
{
        enum { PIECE = 4096 };
        bz_stream stream = { .next_in = (char *)bytes,
                             .next_out = (char *)head->text,
                             .avail_out = KC_BZIP2_BLOCK_NBYTES };
        size_t given = 0;
        int code = BZ_OK;
        if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK)
                return false;
        while (code == BZ_OK && given < n && stream.avail_out == KC_BZIP2_BLOCK_NBYTES) {
                stream.avail_in = (unsigned)(n - given < PIECE ? n - given : PIECE);
                given += stream.avail_in;
                code = BZ2_bzDecompress(&stream);
        }
        end_head(head, KC_BZIP2_BLOCK_NBYTES - stream.avail_out, given - stream.avail_in);
        BZ2_bzDecompressEnd(&stream);
        return true;
}

static bool xz_head(struct kc_head *head, const uint8_t *bytes, size_t n)
{
        lzma_stream stream = LZMA_STREAM_INIT;
        if (lzma_stream_decoder(&stream, MEMORY, 0) != LZMA_OK)
                return false;
        stream.next_in = bytes;
        stream.avail_in = n;
        stream.next_out = head->text;
        stream.avail_out = TEXT;
        while (lzma_code(&stream, LZMA_RUN) == LZMA_OK && stream.avail_in > 0 &&
               stream.avail_out > 0)
                ;
        end_head(head, TEXT - stream.avail_out, n - stream.avail_in);
        lzma_end(&stream);
        return true;
}

static bool inflate(struct kc_head *head, enum kc_container container, const uint8_t *bytes,
                    size_t n)
{
        switch (container) {
        case KC_CONTAINER_ZSTD:
                return zstd_head(head, bytes, n);
        case KC_CONTAINER_BZIP2:
                return bzip2_head(head, bytes, n);
        case KC_CONTAINER_XZ:
                return xz_head(head, bytes, n);
        default:
                return gzip_head(head, bytes, n);
        }
}

enum kc_status kc_head_inflate(struct kc_head *head, enum kc_container container,
                               const uint8_t *bytes, size_t n, struct kc_error *err)
{
        *head = (struct kc_head){
                .text = malloc(container == KC_CONTAINER_BZIP2 ? KC_BZIP2_BLOCK_NBYTES : TEXT),
        };
        if (head->text != NULL && inflate(head, container, bytes, n))
                return KC_OK;
        free(head->text);
        return kc_fail(err, KC_ENOMEM, "out of memory for reading");
}
