#include "io/compress/codec.h"

#include "io/compress/bgzf.h"

#include <string.h>
#include <zstd.h>

/* A frame begins without knowledge of those before it: larger ones compress better. */
enum { LEVEL = 1, FRAME_NBYTES = 512 << 10 };

/* The libraries take 200 and 570 KiB now. */
enum { BGZF_STATE_NBYTES = 256 << 10, ZSTD_STATE_NBYTES = 768 << 10 };

/* ---- BGZF ---- */

static void *bgzf_open(void)
{
        return libdeflate_alloc_compressor(LEVEL);
}

static size_t bgzf_compress(void *state, const void *text, size_t n, void *block)
{
        return kc_bgzf_deflate(state, text, n, block);
}

static void bgzf_close(void *state)
{
        libdeflate_free_compressor(state);
}

static size_t bgzf_end(bool empty, void *to)
{
        (void)empty;
        memcpy(to, KC_BGZF_LAST, KC_BGZF_LAST_NBYTES);
        return KC_BGZF_LAST_NBYTES;
}

/* ---- zstd ---- */

static void *zstd_open(void)
{
        ZSTD_CCtx *context = ZSTD_createCCtx();
        if (context != NULL) {
                ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
                ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        }
        return context;
}

static size_t zstd_compress(void *state, const void *text, size_t n, void *block)
{
        const size_t nbytes =
                ZSTD_compress2(state, block, ZSTD_COMPRESSBOUND(FRAME_NBYTES), text, n);
        return ZSTD_isError(nbytes) ? 0 : nbytes;
}

static void zstd_close(void *state)
{
        ZSTD_freeCCtx(state);
}

/* A file without any frame is not one of zstd. */
static size_t zstd_end(bool empty, void *to)
{
        const size_t nbytes = empty ? ZSTD_compress(to, KC_CODEC_END_NBYTES, "", 0, LEVEL) : 0;
        return ZSTD_isError(nbytes) ? 0 : nbytes;
}

const struct kc_codec *kc_codec_of(enum kc_compression compression)
{
        static const struct kc_codec bgzf = {
                KC_BGZF_TEXT_NBYTES, KC_BGZF_MAX_NBYTES, BGZF_STATE_NBYTES, bgzf_open,
                bgzf_compress,       bgzf_close,         bgzf_end
        };
        static const struct kc_codec zstd = { FRAME_NBYTES,      ZSTD_COMPRESSBOUND(FRAME_NBYTES),
                                              ZSTD_STATE_NBYTES, zstd_open,
                                              zstd_compress,     zstd_close,
                                              zstd_end };
        switch (compression) {
        case KC_COMPRESSION_BGZF:
                return &bgzf;
        case KC_COMPRESSION_ZSTD:
                return &zstd;
        default:
                return NULL;
        }
}
