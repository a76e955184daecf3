/*
 * Deflate data in all the ways that zlib can make them.
 */
#ifndef KC_TESTS_GPU_INFLATE_DEFLATE_SUPPORT_CUH
#define KC_TESTS_GPU_INFLATE_DEFLATE_SUPPORT_CUH

#include "tests/gpu/support.cuh"

#include <vector>
#include <zlib.h>

using bytes = std::vector<uint8_t>;

struct way {
        int level, strategy, memory;
};

static bytes deflate_with(const bytes &text, const struct way &way)
{
        z_stream z = {};
        assert_int_equal(deflateInit2(&z, way.level, Z_DEFLATED, -15, way.memory, way.strategy),
                         Z_OK);
        bytes out(deflateBound(&z, (uLong)text.size()) + 64);
        z.next_in = (Bytef *)text.data();
        z.avail_in = (uInt)text.size();
        z.next_out = out.data();
        z.avail_out = (uInt)out.size();
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        out.resize(z.total_out);
        deflateEnd(&z);
        return out;
}

#endif
