#include "io/compress/bgzf.h"

#include <string.h>

enum { HEAD_NBYTES = KC_BGZF_USUAL_NBYTES - 2 }; /* before the block's size */

#define HEAD 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0

const uint8_t KC_BGZF_LAST[KC_BGZF_LAST_NBYTES] = { HEAD, KC_BGZF_LAST_NBYTES - 1, 0, 3 };

static void put_number(uint8_t *out, uint32_t number, int nbytes)
{
        for (int i = 0; i < nbytes; i++)
                out[i] = (uint8_t)(number >> 8 * i);
}

size_t kc_bgzf_deflate(struct libdeflate_compressor *compressor, const void *text, size_t n,
                       uint8_t *block)
{
        static const uint8_t head[HEAD_NBYTES] = { HEAD };
        uint8_t *body = block + KC_BGZF_USUAL_NBYTES;
        const size_t room = KC_BGZF_MAX_NBYTES - KC_BGZF_USUAL_NBYTES - KC_BGZF_FOOTER_NBYTES;
        const size_t body_nbytes = libdeflate_deflate_compress(compressor, text, n, body, room);
        if (body_nbytes == 0)
                return 0;
        const size_t block_nbytes = KC_BGZF_USUAL_NBYTES + body_nbytes + KC_BGZF_FOOTER_NBYTES;
        memcpy(block, head, HEAD_NBYTES);
        put_number(block + HEAD_NBYTES, (uint32_t)block_nbytes - 1, 2);
        put_number(body + body_nbytes, libdeflate_crc32(0, text, n), 4);
        put_number(body + body_nbytes + 4, (uint32_t)n, 4);
        return block_nbytes;
}
