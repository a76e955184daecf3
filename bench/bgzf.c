#include "bench/bgzf.h"

#include "io/input/bgzf_header.h"

#include <string.h>

enum {
        TEXT_NBYTES =
                0xfeff, /* most text in a block, less than in bgzip by the byte that may move */
        HEAD_NBYTES = KC_BGZF_USUAL_NBYTES - 2, /* before the block's size */
};

#define HEAD 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0

const uint8_t BGZF_END[BGZF_END_NBYTES] = { HEAD, BGZF_END_NBYTES - 1, 0, 3 };

static void put_number(uint8_t *out, uint32_t number, int nbytes)
{
        for (int i = 0; i < nbytes; i++)
                out[i] = (uint8_t)(number >> 8 * i);
}

static size_t count_blocks(size_t n)
{
        return (n + TEXT_NBYTES - 1) / TEXT_NBYTES;
}

size_t bgzf_room_nbytes(size_t n)
{
        return count_blocks(n) * KC_BGZF_MAX_NBYTES;
}

static size_t deflate_block(struct libdeflate_compressor *compressor, const char *text, size_t n,
                            uint8_t *out)
{
        static const uint8_t head[HEAD_NBYTES] = { HEAD };
        uint8_t *body = out + KC_BGZF_USUAL_NBYTES;
        size_t room = KC_BGZF_MAX_NBYTES - KC_BGZF_USUAL_NBYTES - KC_BGZF_FOOTER_NBYTES;
        size_t body_nbytes = libdeflate_deflate_compress(compressor, text, n, body, room);
        if (body_nbytes == 0)
                return 0;
        size_t block_nbytes = KC_BGZF_USUAL_NBYTES + body_nbytes + KC_BGZF_FOOTER_NBYTES;
        memcpy(out, head, HEAD_NBYTES);
        put_number(out + HEAD_NBYTES, (uint32_t)block_nbytes - 1, 2);
        put_number(body + body_nbytes, libdeflate_crc32(0, text, n), 4);
        put_number(body + body_nbytes + 4, (uint32_t)n, 4);
        return block_nbytes;
}

size_t bgzf_deflate(struct libdeflate_compressor *compressor, const char *text, size_t n,
                    uint8_t *out)
{
        size_t nblocks = count_blocks(n), nbytes = 0;
        for (size_t i = 0, begin = 0, end; i < nblocks; i++, begin = end) {
                end = n * (i + 1) / nblocks;
                end -= i + 1 < nblocks && text[end - 1] == '\n';
                size_t got = deflate_block(compressor, text + begin, end - begin, out + nbytes);
                if (got == 0)
                        return 0;
                nbytes += got;
        }
        return nbytes;
}
