/*
 * The codes of a block, and tables to decode them with.
 *
 * An entry of the tables:
 *
 *      bits 0-5    bits to drop: the codes and their extra bits
 *      bits 6-7    number of literals, 1 to 3; they are bits 8-15, 16-23, 24-31. Or 0, and:
 *      bits 8-11   of the bits to drop, those of the code; for a subtable, its index bits
 *      bits 12-15  none or one of the flags below
 *      bits 16-30  length or distance without what the extra bits add; for a subtable, its place
 *
 * A subtable is indexed by the bits after those that led to it. Only the litlen table holds
 * literals, as many in an entry as its index has whole codes of. Only there can a match be whole,
 * with or without a literal before it, if the index has all bits of its length:
 *
 *      bit 8       number of literals, 0 or 1
 *      bits 16-23  the literal
 *      bits 24-31  length - 3
 *
 * In reads, one literal or none separates successive matches, at random. So nearly all entries
 * found are whole matches, and branches are easy to predict.
 */
#ifndef KC_IO_INFLATE_DEFLATE_TABLES_H
#define KC_IO_INFLATE_DEFLATE_TABLES_H

#include "io/inflate/deflate.h"

#include <string.h>

#define KC_ENTRY_DROP     UINT32_C(0x3f)
#define KC_ENTRY_LITERALS UINT32_C(0xc0)
#define KC_ENTRY_SUBTABLE UINT32_C(0x1000)
#define KC_ENTRY_END      UINT32_C(0x2000) /* end of block */
#define KC_ENTRY_INVALID  UINT32_C(0x4000) /* a code that is not in use */
#define KC_ENTRY_WHOLE    UINT32_C(0x8000) /* a match that needs no extra bits */
#define KC_ENTRY_FLAGS    UINT32_C(0xf000)

enum {
        KC_MAX_CODE = 15,
        KC_NLITLEN = 288,
        KC_NDISTANCE = 32,
        KC_NPRECODE = 19,
        KC_END_OF_BLOCK = 256,
        KC_MIN_MATCH = 3,
};

/*
 * The n bits (up to 56) at this bit of the input; zeros after its end. `bit` may lie after the end.
 */
static inline uint64_t kc_deflate_peek(const uint8_t *in, size_t nin, uint64_t bit)
{
        uint64_t word = 0;
        size_t byte = (size_t)(bit / 8);
        if (byte < nin && nin - byte >= sizeof word)
                memcpy(&word, in + byte, sizeof word);
        else
                for (size_t i = 0; byte + i < nin; i++)
                        word |= (uint64_t)in[byte + i] << (8 * i);
        return word >> bit % 8;
}

static inline bool kc_entry_is_whole(uint32_t entry)
{
        return (entry & (KC_ENTRY_LITERALS | KC_ENTRY_WHOLE)) == KC_ENTRY_WHOLE;
}

/* The lengths of codes that a dynamic block's header gives. */
struct kc_deflate_lengths {
        unsigned nlitlen, ndistance;
        uint8_t of[KC_NLITLEN + KC_NDISTANCE]; /* literals and lengths, then distances */
};

/*
 * Read a dynamic block's header from the bit after its type on, and check its codes.
 * Returns the bit after it; 0 if it is invalid (*why) or goes on after the input's end (*why is
 * NULL).
 */
uint64_t kc_deflate_read_lengths(struct kc_deflate_lengths *lengths, const uint8_t *in, size_t nin,
                                 uint64_t bit, const char **why);

/* Fill d's tables for codes that were checked. */
void kc_deflate_make_tables(struct kc_deflate *d, const struct kc_deflate_lengths *lengths);
void kc_deflate_make_fixed_tables(struct kc_deflate *d);

#endif
