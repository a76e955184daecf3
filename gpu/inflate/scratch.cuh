/*
 * What a warp keeps in shared memory for the block that it inflates.
 */
#ifndef KC_GPU_INFLATE_SCRATCH_CUH
#define KC_GPU_INFLATE_SCRATCH_CUH

#include "gpu/device/warp.cuh"

enum {
        KC_INFLATE_MAX_CODE = 15,
        KC_INFLATE_LITLEN_BITS = 10, /* codes up to this length are found in one step */
        KC_INFLATE_DISTANCE_BITS = 8,
        KC_INFLATE_NLITLEN = 288,
        KC_INFLATE_NDISTANCE = 32,
        KC_INFLATE_MIN_MATCH = 3,
        KC_INFLATE_STRIP_WORDS = 9, /* most input that a lane decodes at a time; odd, to avoid bank
                                         conflicts between lanes */
        KC_INFLATE_NTOKENS = 33,    /* that a lane may find in it; odd for the same reason */
        KC_INFLATE_INPUT_WORDS = 32 * KC_INFLATE_STRIP_WORDS + 4,
        KC_INFLATE_RING_NBYTES = 1024, /* the latest text */
};

/*
 * A prefix code. Bits are compared as numbers of KC_INFLATE_MAX_CODE bits, whose highest bit comes
 * first in the input: codes of length l are those from limit[l - 1] up to limit[l].
 */
template <int NSYMBOLS, int BITS> struct kc_inflate_code {
        uint32_t limit[KC_INFLATE_MAX_CODE + 1];
        int32_t adjust[KC_INFLATE_MAX_CODE + 1]; /* from a code, shifted to its length, to where its
                                                    meaning is */
        uint16_t meanings[NSYMBOLS];             /* by code */
        uint16_t table[1 << BITS]; /* by the next bits: meaning | length; 0: longer or invalid */
};

using kc_inflate_litlen = kc_inflate_code<KC_INFLATE_NLITLEN, KC_INFLATE_LITLEN_BITS>;
using kc_inflate_distance = kc_inflate_code<KC_INFLATE_NDISTANCE, KC_INFLATE_DISTANCE_BITS>;

/* What is needed only while a deflate block's header is read. */
struct kc_inflate_head {
        uint32_t count[KC_INFLATE_MAX_CODE + 1], next[KC_INFLATE_MAX_CODE + 1];
        uint8_t lengths[KC_INFLATE_NLITLEN + KC_INFLATE_NDISTANCE];
        uint8_t precode[128]; /* symbol << 3 | length */
};

struct kc_inflate_scratch {
        kc_inflate_litlen litlen;
        kc_inflate_distance distance;
        uint32_t input[KC_INFLATE_INPUT_WORDS];
        union {
                uint32_t tokens[32 * KC_INFLATE_NTOKENS];
                struct kc_inflate_head head;
                uint32_t crc[128];
        };
        uint8_t ring[KC_INFLATE_RING_NBYTES]; /* by the low bits of the place in the text */
};

/* The next 32 bits. */
static __device__ inline uint32_t kc_inflate_peek(const uint32_t *input, uint32_t bit)
{
        return __funnelshift_r(input[bit / 32], input[bit / 32 + 1], bit);
}

static __device__ inline uint32_t kc_inflate_low(uint32_t word, uint32_t nbits)
{
        return word & ((1u << nbits) - 1);
}

#endif
