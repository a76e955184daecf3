/*
 * Decoding with all lanes of a warp.
 *
 * A window of the input is cut into 32 strips of equal length. Each lane decodes from the first bit
 * of its strip up to the first symbol that begins after the strip. Only for lane 0 is that bit
 * known to be the beginning of a symbol, but decoding from a wrong bit gets into step with the
 * right symbols after a few of them. Then each lane begins where the previous lane ended; those for
 * which that is another bit decode again, until there are none: usually twice. After round r, lane
 * r is right.
 *
 * Source: Klein and Wiseman, Parallel Huffman decoding with applications to JPEG files (2003).
 *
 * What a lane finds, it writes to its own list of tokens:
 *
 *      bits 0-1    number of literals, 1 to 3, which are bits 8-15, 16-23, 24-31. Or 0, and:
 *      bits 2-9    length - 3
 *      bit 10      set
 *      bits 16-30  distance - 1
 */
#ifndef KC_GPU_INFLATE_STRIPS_CUH
#define KC_GPU_INFLATE_STRIPS_CUH

#include "gpu/inflate/codes.cuh"

enum { KC_INFLATE_TOKEN_MATCH = 1 << 10 };

/* Why a lane stopped. */
enum kc_inflate_stop {
        KC_INFLATE_AT_END = 0, /* of the strip */
        KC_INFLATE_AT_END_OF_BLOCK,
        KC_INFLATE_TOKENS_FULL,
        KC_INFLATE_NO_CODE, /* invalid data */
};

struct kc_inflate_strip {
        uint32_t end; /* the bit after the last symbol */
        uint32_t ntokens, nbytes;
        enum kc_inflate_stop stop;
};

static __device__ inline uint32_t kc_inflate_token_nbytes(uint32_t token)
{
        const uint32_t nliterals = token % 4;
        return nliterals > 0 || token == 0 ? nliterals : KC_INFLATE_MIN_MATCH + (token >> 2) % 256;
}

static __device__ inline uint32_t kc_inflate_token_distance(uint32_t token)
{
        return (token >> 16) + 1;
}

/* What a lane has decoded: its list of tokens, and literals that are not in it yet. */
struct kc_inflate_list {
        uint32_t *tokens; /* [KC_INFLATE_NTOKENS] */
        uint32_t bit;     /* of the input: the next one */
        uint32_t n, literals, nliterals;
        uint32_t nbytes; /* of text */
};

static __device__ inline void kc_inflate_put_literals(struct kc_inflate_list *list)
{
        list->tokens[list->n++] = list->literals | list->nliterals;
        list->literals = list->nliterals = 0;
}

static __device__ inline void kc_inflate_put_literal(struct kc_inflate_list *list, uint32_t literal)
{
        list->literals |= literal << (8 + 8 * list->nliterals);
        list->nbytes++;
        if (++list->nliterals == 3)
                kc_inflate_put_literals(list);
}

/* length: - 3; distance: - 1 */
static __device__ inline void kc_inflate_put_match(struct kc_inflate_list *list, uint32_t length,
                                                   uint32_t distance)
{
        if (list->nliterals > 0)
                kc_inflate_put_literals(list);
        list->tokens[list->n++] = distance << 16 | KC_INFLATE_TOKEN_MATCH | length << 2;
        list->nbytes += KC_INFLATE_MIN_MATCH + length;
}

/* The distance - 1 whose code begins at *bit. False if it is invalid. */
static __device__ inline bool kc_inflate_distance_at(const struct kc_inflate_scratch *scratch,
                                                     uint32_t *bit, uint32_t *distance)
{
        const uint32_t word = kc_inflate_peek(scratch->input, *bit);
        const uint32_t entry = kc_inflate_look(&scratch->distance, word);
        const uint32_t nbits = entry % 16, extra = (entry >> 4) % 16;
        *distance = ((entry >> 8) % 4 << extra) + kc_inflate_low(word >> nbits, extra);
        *bit += nbits + extra;
        return entry != 0 && entry < KC_INFLATE_NO_DISTANCE;
}

/* If the entry is that of a literal, put it into the list. Returns whether it is. */
static __device__ inline bool kc_inflate_take_literal(struct kc_inflate_list *list, uint32_t entry)
{
        if (entry == 0 || (entry & KC_INFLATE_MEANS_LENGTH) != 0)
                return false;
        kc_inflate_put_literal(list, entry >> 8);
        list->bit += entry % 16;
        return true;
}

/* Decode the match or the end of the block whose first entry, not a literal's, is given. */
static __device__ inline enum kc_inflate_stop kc_inflate_take_other(
        const struct kc_inflate_scratch *scratch, struct kc_inflate_list *list, uint32_t word,
        uint32_t entry)
{
        const uint32_t nbits = entry % 16, extra = (entry >> 5) % 8;
        uint32_t distance;
        list->bit += nbits;
        if (entry == 0 || extra == KC_INFLATE_NO_LENGTH)
                return entry >> 4 == KC_INFLATE_MEANS_END >> 4 ? KC_INFLATE_AT_END_OF_BLOCK
                                                               : KC_INFLATE_NO_CODE;
        list->bit += extra;
        if (!kc_inflate_distance_at(scratch, &list->bit, &distance))
                return KC_INFLATE_NO_CODE;
        kc_inflate_put_match(list, (entry >> 8) + kc_inflate_low(word >> nbits, extra), distance);
        return KC_INFLATE_AT_END;
}

/* Decode a literal, if one is next, and then a literal or something else, unless that begins after
 * `end`. So lanes that are at literals do not wait for each match of other lanes. */
static __device__ inline enum kc_inflate_stop kc_inflate_step(
        const struct kc_inflate_scratch *scratch, struct kc_inflate_list *list, uint32_t end)
{
        uint32_t word = kc_inflate_peek(scratch->input, list->bit);
        uint32_t entry = kc_inflate_look(&scratch->litlen, word);
        if (kc_inflate_take_literal(list, entry)) {
                if (list->bit >= end)
                        return KC_INFLATE_AT_END;
                word = kc_inflate_peek(scratch->input, list->bit);
                entry = kc_inflate_look(&scratch->litlen, word);
        }
        if (kc_inflate_take_literal(list, entry))
                return KC_INFLATE_AT_END;
        return kc_inflate_take_other(scratch, list, word, entry);
}

/* Decode a strip: from the bit `begin` on, while symbols begin before `end`. A step adds two
 * tokens at most, and one may follow the last. */
static __device__ inline struct kc_inflate_strip kc_inflate_decode(
        const struct kc_inflate_scratch *scratch, uint32_t *tokens, uint32_t begin, uint32_t end)
{
        struct kc_inflate_list list = { tokens, begin };
        enum kc_inflate_stop stop = KC_INFLATE_AT_END;
        while (list.bit < end && stop == KC_INFLATE_AT_END) {
                stop = kc_inflate_step(scratch, &list, end);
                if (stop == KC_INFLATE_AT_END && list.n >= KC_INFLATE_NTOKENS - 2)
                        stop = KC_INFLATE_TOKENS_FULL;
        }
        if (list.nliterals > 0)
                kc_inflate_put_literals(&list);
        return { list.bit, list.n, list.nbytes, stop };
}

/*
 * Decode a window: strips of `span` bits from the bit `begin` of the input on; it ends at the bit
 * `end`, if not before. *nlanes: how many lanes' strips count; the last of these says why and where
 * the window ends.
 */
static __device__ inline struct kc_inflate_strip kc_inflate_window(
        struct kc_inflate_scratch *scratch, uint32_t begin, uint32_t end, uint32_t span,
        uint32_t *nlanes)
{
        const uint32_t lane = kc_warp_lane();
        uint32_t *tokens = scratch->tokens + lane * KC_INFLATE_NTOKENS;
        const uint32_t strip_end = min(begin + (lane + 1) * span, end);
        uint32_t at = begin + lane * span;
        struct kc_inflate_strip found;
        bool again = true;
        for (;;) {
                if (again)
                        found = kc_inflate_decode(scratch, tokens, at, strip_end);
                __syncwarp();
                const uint32_t below = __shfl_up_sync(UINT32_MAX, found.end, 1);
                const uint32_t stops = __ballot_sync(UINT32_MAX, found.stop != KC_INFLATE_AT_END);
                const uint32_t last = stops != 0 ? (uint32_t)__ffs((int)stops) - 1 : 31;
                again = lane > 0 && (stops >> (lane - 1)) % 2 == 0 && below != at;
                at = again ? below : at;
                if ((__ballot_sync(UINT32_MAX, again) & ((2u << last) - 1)) == 0) {
                        *nlanes = last + 1;
                        return found;
                }
        }
}

#endif
