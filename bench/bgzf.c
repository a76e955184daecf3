#include "bench/bgzf.h"

/* Most text in a block: a byte may be added, which moves from the block before it. */
enum { TEXT_NBYTES = KC_BGZF_TEXT_NBYTES - 1 };

static size_t count_blocks(size_t n)
{
        return (n + TEXT_NBYTES - 1) / TEXT_NBYTES;
}

size_t bgzf_room_nbytes(size_t n)
{
        return count_blocks(n) * KC_BGZF_MAX_NBYTES;
}

size_t bgzf_deflate(struct libdeflate_compressor *compressor, const char *text, size_t n,
                    uint8_t *out)
{
        size_t nblocks = count_blocks(n), nbytes = 0;
        for (size_t i = 0, begin = 0, end; i < nblocks; i++, begin = end) {
                end = n * (i + 1) / nblocks;
                end -= i + 1 < nblocks && text[end - 1] == '\n';
                size_t got = kc_bgzf_deflate(compressor, text + begin, end - begin, out + nbytes);
                if (got == 0)
                        return 0;
                nbytes += got;
        }
        return nbytes;
}
