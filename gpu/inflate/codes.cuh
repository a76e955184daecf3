/*
 * The codes of a deflate block, made by a warp: reads the header, and makes tables to decode with.
 *
 * The meaning of a literal or length code:
 *
 *      bit 4       a length
 *      bits 5-7    number of extra bits; KC_INFLATE_NO_LENGTH: the end of the block, or invalid
 *      bits 8-15   the literal, or the length - 3 without its extra bits
 *
 * and of a distance code:
 *
 *      bits 4-7    number of extra bits
 *      bits 8-9    the bits of distance - 1 before the extra bits
 *      bit 15      invalid
 *
 * Bits 0-3 are free for the length of the code.
 */
#ifndef KC_GPU_INFLATE_CODES_CUH
#define KC_GPU_INFLATE_CODES_CUH

#include "gpu/inflate/scratch.cuh"

enum {
        KC_INFLATE_NO_LENGTH = 7,
        KC_INFLATE_END_OF_BLOCK = 256,
        KC_INFLATE_MEANS_LENGTH = 1 << 4,
        KC_INFLATE_MEANS_END = KC_INFLATE_MEANS_LENGTH | KC_INFLATE_NO_LENGTH << 5,
        KC_INFLATE_MEANS_NOTHING = KC_INFLATE_MEANS_END | 1 << 8,
        KC_INFLATE_NO_DISTANCE = 1 << 15,
        KC_INFLATE_NPRECODE = 19,
        KC_INFLATE_WHOLE = 1 << KC_INFLATE_MAX_CODE, /* the space that a complete code uses */
};

static __device__ inline uint32_t kc_inflate_meaning(const kc_inflate_litlen *, uint32_t symbol)
{
        if (symbol < 256)
                return symbol << 8;
        if (symbol == KC_INFLATE_END_OF_BLOCK)
                return KC_INFLATE_MEANS_END;
        if (symbol > 285)
                return KC_INFLATE_MEANS_NOTHING;
        const uint32_t i = symbol - 257, extra = i < 8 || i == 28 ? 0 : i / 4 - 1;
        const uint32_t base = i == 28 ? 255 : i < 8 ? i : (4 | i % 4) << extra;
        return KC_INFLATE_MEANS_LENGTH | extra << 5 | base << 8;
}

static __device__ inline uint32_t kc_inflate_meaning(const kc_inflate_distance *, uint32_t symbol)
{
        if (symbol > 29)
                return KC_INFLATE_NO_DISTANCE;
        return symbol < 2 ? symbol << 8 : (2 | symbol % 2) << 8 | (symbol / 2 - 1) << 4;
}

/* ---- looking up ---- */

/* A code longer than those in the table: meaning | length; 0 if it is not in use. */
template <int NSYMBOLS, int BITS>
static __device__ uint32_t kc_inflate_long(const kc_inflate_code<NSYMBOLS, BITS> *code,
                                           uint32_t word)
{
        const uint32_t bits = __brev(word) >> (32 - KC_INFLATE_MAX_CODE);
        uint32_t length = BITS + 1;
#pragma unroll
        for (int l = BITS + 1; l <= KC_INFLATE_MAX_CODE; l++)
                length += bits >= code->limit[l];
        if (length > KC_INFLATE_MAX_CODE)
                return 0;
        return code->meanings[code->adjust[length] +
                              (int)(bits >> (KC_INFLATE_MAX_CODE - length))] |
               length;
}

/* The code that the word begins with: meaning | length; 0 if it is not in use. */
template <int NSYMBOLS, int BITS>
static __device__ inline uint32_t kc_inflate_look(const kc_inflate_code<NSYMBOLS, BITS> *code,
                                                  uint32_t word)
{
        const uint32_t entry = code->table[kc_inflate_low(word, BITS)];
        return entry != 0 ? entry : kc_inflate_long(code, word);
}

/* ---- making a code from its lengths ---- */

/* Count the codes of each length, in shared memory. */
static __device__ inline void kc_inflate_count(struct kc_inflate_head *head, const uint8_t *lengths,
                                               uint32_t n)
{
        const uint32_t lane = kc_warp_lane();
        if (lane <= KC_INFLATE_MAX_CODE)
                head->count[lane] = 0;
        __syncwarp();
        for (uint32_t symbol = lane; symbol < n; symbol += 32)
                atomicAdd(&head->count[lengths[symbol]], 1u);
        __syncwarp();
}

/* Where the codes of each length begin and end. False if zlib would refuse them: a code must be
 * complete, but there may be a single code of one bit, or none. */
template <int NSYMBOLS, int BITS>
static __device__ bool kc_inflate_limits(kc_inflate_code<NSYMBOLS, BITS> *code,
                                         struct kc_inflate_head *head)
{
        const uint32_t lane = kc_warp_lane();
        const bool is_length = lane >= 1 && lane <= KC_INFLATE_MAX_CODE;
        const uint32_t shift = is_length ? KC_INFLATE_MAX_CODE - lane : 0;
        const uint32_t n = is_length ? head->count[lane] : 0, space = n << shift;
        const uint32_t first = kc_warp_scan(n) - n, limit = kc_warp_scan(space);
        if (lane <= KC_INFLATE_MAX_CODE) {
                head->next[lane] = first;
                code->limit[lane] = limit;
                code->adjust[lane] = (int32_t)first - (int32_t)((limit - space) >> shift);
        }
        __syncwarp();
        const uint32_t all = code->limit[KC_INFLATE_MAX_CODE];
        return all == KC_INFLATE_WHOLE || all == 0 ||
               (all == KC_INFLATE_WHOLE / 2 && head->count[1] == 1);
}

/* Put the meanings in the order of the codes: by length, then by symbol. */
template <int NSYMBOLS, int BITS>
static __device__ void kc_inflate_sort(kc_inflate_code<NSYMBOLS, BITS> *code,
                                       struct kc_inflate_head *head, const uint8_t *lengths,
                                       uint32_t n)
{
        const uint32_t lane = kc_warp_lane();
        for (uint32_t first = 0; first < n; first += 32) {
                const uint32_t symbol = first + lane, length = symbol < n ? lengths[symbol] : 0;
                const uint32_t same = __match_any_sync(UINT32_MAX, length);
                const uint32_t at = head->next[length], rank = kc_warp_rank(same);
                __syncwarp();
                if (rank == 0)
                        head->next[length] = at + (uint32_t)__popc(same);
                if (length > 0)
                        code->meanings[at + rank] = (uint16_t)kc_inflate_meaning(code, symbol);
                __syncwarp();
        }
}

template <int NSYMBOLS, int BITS>
static __device__ void kc_inflate_fill(kc_inflate_code<NSYMBOLS, BITS> *code)
{
        uint32_t limit[BITS + 1];
#pragma unroll
        for (int l = 1; l <= BITS; l++)
                limit[l] = code->limit[l];
        for (uint32_t i = kc_warp_lane(); i < 1u << BITS; i += 32) {
                const uint32_t bits = __brev(i) >> (32 - KC_INFLATE_MAX_CODE);
                uint32_t length = 1, entry = 0;
#pragma unroll
                for (int l = 1; l <= BITS; l++)
                        length += bits >= limit[l];
                if (length <= BITS)
                        entry = length |
                                code->meanings[code->adjust[length] +
                                               (int)(bits >> (KC_INFLATE_MAX_CODE - length))];
                code->table[i] = (uint16_t)entry;
        }
        __syncwarp();
}

/* Make a code from the lengths of its n symbols. False if they are not the lengths of a code. */
template <int NSYMBOLS, int BITS>
static __device__ bool kc_inflate_make(kc_inflate_code<NSYMBOLS, BITS> *code,
                                       struct kc_inflate_head *head, const uint8_t *lengths,
                                       uint32_t n)
{
        kc_inflate_count(head, lengths, n);
        if (!kc_inflate_limits(code, head))
                return false;
        kc_inflate_sort(code, head, lengths, n);
        kc_inflate_fill(code);
        return true;
}

/* ---- the header of a block with codes of its own ---- */

/* The code for code lengths, one symbol per lane; `nbits`: the length of the lane's code. */
static __device__ inline bool kc_inflate_make_precode(uint8_t *table, uint32_t nbits)
{
        const uint32_t lane = kc_warp_lane();
        uint32_t code = 0, limit = 0;
        for (uint32_t l = 1; l <= 7; l++) {
                const uint32_t same = __ballot_sync(UINT32_MAX, nbits == l);
                if (nbits == l)
                        code = (limit >> (7 - l)) + kc_warp_rank(same);
                limit += (uint32_t)__popc(same) << (7 - l);
        }
        if (limit != 128)
                return false;
        if (nbits > 0)
                for (uint32_t i = __brev(code) >> (32 - nbits); i < 128; i += 1u << nbits)
                        table[i] = (uint8_t)(lane << 3 | nbits);
        __syncwarp();
        return true;
}

/* Where the length of this symbol's code is among those of the code for code lengths: the inverse
 * of the order in RFC 1951, section 3.2.7, 5 bits each. */
static __device__ inline uint32_t kc_inflate_precode_place(uint32_t symbol)
{
        const uint64_t places =
                symbol < 12 ? UINT64_C(0x0520c429d2b6be23) : UINT64_C(0x00000000820941cc);
        return (uint32_t)(places >> 5 * (symbol % 12)) % 32;
}

/* Read the lengths of the code for code lengths, and make it. */
static __device__ inline bool kc_inflate_read_precode(struct kc_inflate_scratch *scratch,
                                                      uint32_t *bit, uint32_t n)
{
        const uint32_t lane = kc_warp_lane(), place = kc_inflate_precode_place(lane);
        uint32_t nbits = 0;
        if (lane < KC_INFLATE_NPRECODE && place < n)
                nbits = kc_inflate_low(kc_inflate_peek(scratch->input, *bit + 3 * place), 3);
        *bit += 3 * n;
        return kc_inflate_make_precode(scratch->head.precode, nbits);
}

/* A code length and how often it is repeated; nbits: of input. */
struct kc_inflate_repeat {
        uint32_t value, n, nbits;
};

/* What the next bits say; before: the previous length. */
static __device__ inline struct kc_inflate_repeat kc_inflate_next_repeat(const uint8_t *precode,
                                                                         uint32_t word,
                                                                         uint32_t before)
{
        const uint32_t entry = precode[word % 128], symbol = entry >> 3, nbits = entry % 8;
        word >>= nbits;
        if (symbol < 16)
                return { symbol, 1, nbits };
        if (symbol == 16)
                return { before, 3 + word % 4, nbits + 2 };
        if (symbol == 17)
                return { 0, 3 + word % 8, nbits + 3 };
        return { 0, 11 + word % 128, nbits + 7 };
}

/* Read n lengths. All lanes read the same. `before` = 16, no length, means: nothing to repeat. */
static __device__ inline bool kc_inflate_read_lengths(struct kc_inflate_scratch *scratch,
                                                      uint32_t *bit, uint32_t n)
{
        uint8_t *lengths = scratch->head.lengths;
        uint32_t before = 16;
        for (uint32_t i = 0; i < n;) {
                const uint32_t word = kc_inflate_peek(scratch->input, *bit);
                const struct kc_inflate_repeat repeat =
                        kc_inflate_next_repeat(scratch->head.precode, word, before);
                if (repeat.value == 16 || repeat.n > n - i)
                        return false;
                for (uint32_t j = kc_warp_lane(); j < repeat.n; j += 32)
                        lengths[i + j] = (uint8_t)repeat.value;
                *bit += repeat.nbits;
                i += repeat.n;
                before = repeat.value;
        }
        __syncwarp();
        return true;
}

/* The longest header and the bits peeked at after it fit. */
static_assert(31 + 3 + 14 + 3 * KC_INFLATE_NPRECODE + (286 + 30) * (7 + 7) + 64 <=
                      32 * KC_INFLATE_INPUT_WORDS,
              "a header must be in the scratch as a whole");

/* How many symbols the codes of a deflate block have. */
struct kc_inflate_sizes {
        uint32_t nlitlen, ndistance;
};

/* Read the header, the lengths of the codes, which begins after the block's type at *bit of
 * scratch->input. The caller checks *bit, which may be beyond the end of the data. */
static __device__ inline bool kc_inflate_read_head(struct kc_inflate_scratch *scratch,
                                                   uint32_t *bit, struct kc_inflate_sizes *sizes)
{
        const uint32_t word = kc_inflate_peek(scratch->input, *bit);
        *sizes = { 257 + word % 32, 1 + (word >> 5) % 32 };
        *bit += 14;
        return sizes->nlitlen <= 286 && sizes->ndistance <= 30 &&
               kc_inflate_read_precode(scratch, bit, 4 + (word >> 10) % 16) &&
               kc_inflate_read_lengths(scratch, bit, sizes->nlitlen + sizes->ndistance) &&
               scratch->head.lengths[KC_INFLATE_END_OF_BLOCK] != 0;
}

/* The lengths of the fixed codes. */
static __device__ inline struct kc_inflate_sizes kc_inflate_fixed_head(
        struct kc_inflate_scratch *scratch)
{
        for (uint32_t i = kc_warp_lane(); i < KC_INFLATE_NLITLEN + KC_INFLATE_NDISTANCE; i += 32)
                scratch->head.lengths[i] = i < 144   ? 8
                                           : i < 256 ? 9
                                           : i < 280 ? 7
                                           : i < 288 ? 8
                                                     : 5;
        __syncwarp();
        return { KC_INFLATE_NLITLEN, KC_INFLATE_NDISTANCE };
}

/* Make both codes from the lengths that were read. */
static __device__ inline bool kc_inflate_make_codes(struct kc_inflate_scratch *scratch,
                                                    const struct kc_inflate_sizes *sizes)
{
        const uint8_t *lengths = scratch->head.lengths;
        return kc_inflate_make(&scratch->litlen, &scratch->head, lengths, sizes->nlitlen) &&
               kc_inflate_make(&scratch->distance, &scratch->head, lengths + sizes->nlitlen,
                               sizes->ndistance);
}

#endif
