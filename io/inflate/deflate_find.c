/*
 * Where may a block begin? At one in nine bits of a stream, the next 13 bits look like those of a
 * dynamic block; at few of these, the code for code lengths uses up its space; at hardly one in
 * 10^10 bits, all three codes do. So each test removes nearly all that the previous one let pass,
 * and the first test takes 40 bits at once.
 *
 *      dynamic:  0 | 0 1 | HLIT: 5, at most 29 | HDIST: 5, at most 29 | HCLEN: 4 | 3 bits each
 *      stored:   0 | 0 0 | up to the byte's end | LEN: 16 | its complement: 16
 */
#include "io/inflate/deflate_tables.h"

/* A mask of the places in a word's first 52 bits where a dynamic block can begin. */
static inline uint64_t dynamic_places(uint64_t w)
{
        uint64_t type = ~w & ~(w >> 1) & w >> 2;
        uint64_t twice = w & w >> 1, four = twice & twice >> 2;
        uint64_t hlit = four >> 4, hdist = four >> 9; /* 30 or 31: four high bits are set */
        return type & ~hlit & ~hdist;
}

/* The space, of 128, that three codes take; their lengths have three bits each. */
#define S1(a)    ((a) == 0 ? 0 : 128 >> (a))
#define S3(a, b) (S1((a)&7) + S1((a) >> 3) + S1(b))
#define ROW(a, b) \
        S3(a, b), S3(a + 1, b), S3(a + 2, b), S3(a + 3, b), S3(a + 4, b), S3(a + 5, b), \
                S3(a + 6, b), S3(a + 7, b)
#define PLANE(b) \
        ROW(0, b), ROW(8, b), ROW(16, b), ROW(24, b), ROW(32, b), ROW(40, b), ROW(48, b), ROW(56, b)
static const uint8_t space_of_three[512] = { PLANE(0), PLANE(1), PLANE(2), PLANE(3),
                                             PLANE(4), PLANE(5), PLANE(6), PLANE(7) };
#undef PLANE
#undef ROW
#undef S3
#undef S1

/*
 * Does the code for code lengths use up its space? hclen, lengths: the input from there on. All
 * lengths are summed, because an unpredictable branch costs more.
 */
static inline bool precode_is_full(uint64_t hclen, uint64_t lengths)
{
        unsigned n = 4 + (hclen & 15), space = 0;
        lengths &= (UINT64_C(1) << 3 * n) - 1;
        for (unsigned i = 0; i < KC_NPRECODE; i += 3)
                space += space_of_three[lengths >> 3 * i & 511];
        return space == 128;
}

static bool is_dynamic(const uint8_t *in, size_t nin, uint64_t bit)
{
        struct kc_deflate_lengths lengths;
        const char *why;
        if (!precode_is_full(kc_deflate_peek(in, nin, bit + 13),
                             kc_deflate_peek(in, nin, bit + 17)))
                return false;
        return kc_deflate_read_lengths(&lengths, in, nin, bit + 3, &why) != 0;
}

/* Is this byte the LEN of a stored block? *after: the bit after the block. */
static bool is_stored(const uint8_t *in, size_t nin, uint64_t byte, uint64_t *after)
{
        if (nin < 4 || byte > nin - 4)
                return false;
        uint32_t word = (uint32_t)kc_deflate_peek(in, nin, 8 * byte);
        *after = 8 * (byte + 4 + (word & 0xffff));
        return (word & 0xffff) == ~word >> 16;
}

/* Whether what follows a stored block makes it credible. */
static bool is_believable(const uint8_t *in, size_t nin, uint64_t bit)
{
        uint64_t after;
        unsigned head = kc_deflate_peek(in, nin, bit) & 7;
        if (head == 0)
                return is_stored(in, nin, (bit + 3 + 7) / 8, &after);
        return head == 4 && (dynamic_places(kc_deflate_peek(in, nin, bit)) & 1) != 0 &&
               is_dynamic(in, nin, bit);
}

static uint64_t stored_key(uint64_t byte)
{
        return KC_STORED_KEY | 8 * byte;
}

uint64_t kc_deflate_block_key(const uint8_t *in, size_t nin, uint64_t bit)
{
        uint64_t word = kc_deflate_peek(in, nin, bit), after;
        if ((word & 7) == 0) {
                uint64_t byte = (bit + 3 + 7) / 8;
                if (is_stored(in, nin, byte, &after) && is_believable(in, nin, after))
                        return stored_key(byte);
                return KC_NO_BLOCK;
        }
        if ((dynamic_places(word) & 1) != 0 && is_dynamic(in, nin, bit))
                return bit;
        return KC_NO_BLOCK;
}

static uint64_t find_dynamic(const uint8_t *in, size_t nin, uint64_t from, uint64_t to)
{
        enum { STEP = 40 }; /* places that one word decides, in whole bytes */
        for (; from < to; from += STEP) {
                uint64_t places = dynamic_places(kc_deflate_peek(in, nin, from));
                places &= (UINT64_C(1) << STEP) - 1;
                for (; places != 0; places &= places - 1) {
                        uint64_t bit = from + (unsigned)__builtin_ctzll(places);
                        if (is_dynamic(in, nin, bit))
                                return bit < to ? bit : KC_NO_BLOCK;
                }
        }
        return KC_NO_BLOCK;
}

/* The first bit from which a stored block with this LEN can begin, not before from. */
static uint64_t first_start(const uint8_t *in, size_t nin, uint64_t byte, uint64_t from)
{
        uint64_t bit = 8 * byte - 3;
        while (bit > from && 8 * byte - bit < 10 && (kc_deflate_peek(in, nin, bit - 1) & 1) == 0)
                bit--;
        return bit;
}

static uint64_t find_stored(const uint8_t *in, size_t nin, uint64_t from, uint64_t to)
{
        uint64_t after;
        for (uint64_t byte = (from + 3 + 7) / 8; byte < (to + 3 + 7) / 8; byte++) {
                if (!is_stored(in, nin, byte, &after) || in[byte - 1] >> 5 != 0)
                        continue;
                if (is_believable(in, nin, after))
                        return first_start(in, nin, byte, from);
        }
        return KC_NO_BLOCK;
}

/* Stretch by stretch, so that a stream with one kind of block is not searched to its end for the
 * other. */
uint64_t kc_deflate_find(const uint8_t *in, size_t nin, uint64_t from, uint64_t to)
{
        enum { STRETCH = 8 << 13 };
        uint64_t found = KC_NO_BLOCK;
        for (uint64_t next; from < to && found == KC_NO_BLOCK; from = next) {
                next = to - from < STRETCH ? to : from + STRETCH;
                uint64_t dynamic = find_dynamic(in, nin, from, next);
                uint64_t stored = find_stored(in, nin, from, dynamic < next ? dynamic : next);
                found = stored < dynamic ? stored : dynamic;
        }
        return found;
}
