#include "io/inflate/deflate.h"

#include "io/inflate/deflate_tables.h"

enum {
        LITLEN_MASK = (1 << KC_LITLEN_BITS) - 1,
        DISTANCE_MASK = (1 << KC_DISTANCE_BITS) - 1,
        MIN_FAST = 32, /* bytes of input ahead that make the fast loop worth starting */
};

/*
 * The next bits, of which n are counted. The bits above those are input bits, too: a refill ORs the
 * same bits in again, which needs no mask and no branch.
 */
struct bits {
        uint64_t word;
        unsigned n;
};

/* Have at least 56 bits: enough for a length with its distance, which take up to 48. */
#define REFILL(b, next) \
        do { \
                uint64_t more_; \
                memcpy(&more_, (next), sizeof more_); \
                (b).word |= more_ << (b).n; \
                (next) += (63 - (b).n) >> 3; \
                (b).n |= 56; \
        } while (0)

#define DROP(b, entry) \
        do { \
                (b).word >>= (entry)&KC_ENTRY_DROP; \
                (b).n -= (entry)&KC_ENTRY_DROP; \
        } while (0)

/* Length or distance: the symbol's base value plus the extra bits after its code. */
#define LOW_BITS(word, n) ((word) & ((UINT64_C(1) << (n)) - 1))
#define VALUE(word, entry) \
        ((unsigned)((entry) >> 16) + \
         (unsigned)(LOW_BITS(word, (entry)&KC_ENTRY_DROP) >> ((entry) >> 8 & 15)))
#define SUBTABLE_INDEX(word, entry) (((entry) >> 16) + LOW_BITS(word, (entry) >> 8 & 15))

static inline uint32_t distance_entry(const uint32_t *table, uint64_t word)
{
        uint32_t entry = table[word & DISTANCE_MASK];
        if (entry & KC_ENTRY_SUBTABLE)
                entry = table[SUBTABLE_INDEX(word >> KC_DISTANCE_BITS, entry)];
        return entry;
}

static enum kc_deflate_stop bad(struct kc_deflate *d, const char *why)
{
        d->why = why;
        return KC_DEFLATE_BAD;
}

/* Read LEN and NLEN, which begin at a byte boundary. */
static enum kc_deflate_stop read_stored(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                        bool final)
{
        uint64_t bit = (d->bit + 3 + 7) / 8 * 8;
        if (bit + 32 > 8 * (uint64_t)nin)
                return KC_DEFLATE_INPUT;
        uint32_t word = (uint32_t)kc_deflate_peek(in, nin, bit);
        if ((word & 0xffff) != (~word >> 16))
                return bad(d, "a stored block whose lengths contradict each other");
        d->bit = bit + 32;
        d->stored_left = word & 0xffff;
        d->final = final;
        d->phase = KC_IN_STORED;
        return KC_DEFLATE_BLOCK;
}

/* Read a block's header. BLOCK: done; otherwise nothing has changed. */
static enum kc_deflate_stop read_header(struct kc_deflate *d, const uint8_t *in, size_t nin)
{
        struct kc_deflate_lengths lengths;
        unsigned head = kc_deflate_peek(in, nin, d->bit) & 7;
        uint64_t bit = d->bit + 3;
        if (bit > 8 * (uint64_t)nin)
                return KC_DEFLATE_INPUT;
        switch (head >> 1) {
        case 0:
                return read_stored(d, in, nin, head & 1);
        case 1:
                kc_deflate_make_fixed_tables(d);
                break;
        case 2:
                bit = kc_deflate_read_lengths(&lengths, in, nin, bit, &d->why);
                if (bit == 0)
                        return d->why != NULL ? KC_DEFLATE_BAD : KC_DEFLATE_INPUT;
                kc_deflate_make_tables(d, &lengths);
                break;
        default:
                return bad(d, "a block of an unknown type");
        }
        d->bit = bit;
        d->final = head & 1;
        d->phase = KC_IN_CODED;
        return KC_DEFLATE_BLOCK;
}

#define VECTOR   16 /* symbols */
#define NVECTORS 3

#define TARGET
#define NAME(x) x##_bytes
#define SYMBOL  uint8_t
#define OUTPUT  struct kc_deflate_bytes
#include "io/inflate/deflate_template.h"
#define NAME(x) x##_symbols
#define SYMBOL  uint16_t
#define OUTPUT  struct kc_deflate_symbols
#include "io/inflate/deflate_template.h"
#undef TARGET

#ifdef __x86_64__
#define TARGET  __attribute__((target("avx2,bmi,bmi2")))
#define NAME(x) x##_bytes_avx2
#define SYMBOL  uint8_t
#define OUTPUT  struct kc_deflate_bytes
#include "io/inflate/deflate_template.h"
#define NAME(x) x##_symbols_avx2
#define SYMBOL  uint16_t
#define OUTPUT  struct kc_deflate_symbols
#include "io/inflate/deflate_template.h"
#define HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
#else
#define HAS_AVX2             false
#define inflate_bytes_avx2   inflate_bytes
#define inflate_symbols_avx2 inflate_symbols
#endif

void kc_deflate_begin(struct kc_deflate *d, uint64_t bit)
{
        d->bit = bit;
        d->phase = KC_IN_HEADER;
        d->final = d->stop_at_blocks = d->fixed = false;
        d->stored_left = 0;
        d->why = NULL;
}

enum kc_deflate_stop kc_deflate_bytes(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                      struct kc_deflate_bytes *out)
{
        return HAS_AVX2 ? inflate_bytes_avx2(d, in, nin, out) : inflate_bytes(d, in, nin, out);
}

enum kc_deflate_stop kc_deflate_symbols(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                        struct kc_deflate_symbols *out)
{
        return HAS_AVX2 ? inflate_symbols_avx2(d, in, nin, out) : inflate_symbols(d, in, nin, out);
}
