#include "kmer/block_codec.h"

#include "base/simd.h"

#include <string.h>

/* The hot loops are written once for any number of words and compiled for 1, 2 and n of them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

static inline uint64_t low_mask(uint32_t nbits)
{
        return (UINT64_C(1) << nbits) - 1; /* nbits < 64 */
}

static inline uint32_t bit_length(uint64_t x)
{
        return x == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(x);
}

/* The number of set bits of each byte, in that byte. */
static inline uint64_t popcounts_of_bytes(uint64_t x)
{
        x -= x >> 1 & UINT64_C(0x5555555555555555);
        x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
        return (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

/* Without a popcnt instruction in the baseline, the builtin is a slow call. */
static inline uint32_t popcount(uint64_t x)
{
        return (uint32_t)(popcounts_of_bytes(x) * UINT64_C(0x0101010101010101) >> 56);
}

/* out = a - b modulo 2^(64 * nwords). */
ALWAYS_INLINE void subtract(const uint64_t *a, const uint64_t *b, int nwords, uint64_t *out)
{
        uint64_t borrow = 0;
        for (int i = 0; i < nwords; i++) {
                uint64_t d = a[i] - b[i];
                uint64_t next = (a[i] < b[i]) | (d < borrow);
                out[i] = d - borrow;
                borrow = next;
        }
}

/* out = a + b modulo 2^(64 * nwords). */
ALWAYS_INLINE void add(const uint64_t *a, const uint64_t *b, int nwords, uint64_t *out)
{
        uint64_t carry = 0;
        for (int i = 0; i < nwords; i++) {
                uint64_t s = a[i] + b[i];
                uint64_t next = s < a[i];
                out[i] = s + carry;
                carry = next | (out[i] < s);
        }
}

/* The lowest 64 bits of value >> nbits. */
ALWAYS_INLINE uint64_t shifted_word(const uint64_t *value, int nwords, uint32_t nbits)
{
        int word = (int)(nbits / 64);
        uint32_t shift = nbits % 64;
        uint64_t x = value[word] >> shift;
        if (nwords > 1 && word + 1 < nwords)
                x |= value[word + 1] << 1 << (63 - shift);
        return x;
}

static uint32_t value_bit_length(const uint64_t *value, int nwords)
{
        for (int i = nwords - 1; i >= 0; i--)
                if (value[i] != 0)
                        return 64 * (uint32_t)i + bit_length(value[i]);
        return 0;
}

static inline uint32_t words_for(uint32_t nbits)
{
        return (nbits + 63) / 64;
}

/* ---- the sections of a block ---- */

struct sections {
        const uint64_t *high, *planes, *fields, *bitmap, *counts, *exceptions;
};

static uint32_t nplanes(const struct kc_block_plan *p)
{
        return p->low_nbits / 64;
}

static uint32_t bitmap_offset(const struct kc_block_plan *p)
{
        return 1 + p->high_words + p->n * nplanes(p) + words_for(p->n * (p->low_nbits % 64));
}

static uint32_t total_words(const struct kc_block_plan *p)
{
        return bitmap_offset(p) + words_for(p->n) + words_for(p->nbig * p->width) + p->nexceptions;
}

static struct sections locate(const struct kc_block_plan *p, const uint64_t *words)
{
        struct sections s;
        s.high = words + 1;
        s.planes = s.high + p->high_words;
        s.fields = s.planes + (size_t)p->n * nplanes(p);
        s.bitmap = words + bitmap_offset(p);
        s.counts = s.bitmap + words_for(p->n);
        s.exceptions = s.counts + words_for(p->nbig * p->width);
        return s;
}

/* ---- planning ---- */

/* Pick the width that takes the fewest bits in all, the smallest on a tie. hist[b]: number of
 * values of b bits. */
static void choose_width(struct kc_block_plan *plan, const uint32_t hist[33])
{
        uint32_t nabove = plan->nbig;
        uint32_t best_cost = UINT32_MAX;
        for (uint32_t width = 0; width <= 32; width++) {
                nabove -= hist[width];
                uint32_t cost = plan->nbig * width + 64 * nabove;
                if (cost < best_cost) {
                        best_cost = cost;
                        plan->width = width;
                        plan->nexceptions = nabove;
                }
        }
}

ALWAYS_INLINE void plan_counts(struct kc_block_plan *plan, const uint32_t *counts)
{
        uint32_t big[KC_BLOCK_NKMERS + 1];
        uint32_t nbig = 0;
        for (uint32_t i = 0; i < plan->n; i++) {
                big[nbig] = counts[i] - 2;
                nbig += counts[i] > 1;
        }
        uint32_t hist[33] = { 0 };
        for (uint32_t i = 0; i < nbig; i++)
                hist[bit_length(big[i])]++;
        plan->nbig = nbig;
        choose_width(plan, hist);
}

KC_SIMD_CLONES
void kc_block_plan(struct kc_block_plan *plan, const uint64_t *kmers, const uint32_t *counts,
                   size_t n, int key_nwords)
{
        uint64_t range[KC_MAX_WORDS] = { 0 };
        subtract(kmers + (n - 1) * (size_t)key_nwords, kmers, key_nwords, range);
        plan->n = (uint32_t)n;
        uint32_t range_nbits = value_bit_length(range, key_nwords), n_nbits = bit_length(n);
        uint32_t l = range_nbits > n_nbits ? range_nbits - n_nbits : 0;
        if (l > 0 && shifted_word(range, key_nwords, l) < n)
                l--;
        plan->low_nbits = l;
        plan->high_words = words_for((uint32_t)shifted_word(range, key_nwords, l) + plan->n);
        plan_counts(plan, counts);
        plan->nwords = total_words(plan);
}

/* ---- encoding ---- */

/* Appends fields of a fixed width below 64 bits; a word is stored as soon as it is full. */
struct bit_writer {
        uint64_t *out;
        uint64_t word;
        uint32_t fill;
};

ALWAYS_INLINE void put_bits(struct bit_writer *w, uint64_t bits, uint32_t nbits)
{
        w->word |= bits << w->fill;
        uint32_t fill = w->fill + nbits;
        if (fill >= 64) {
                *w->out++ = w->word;
                /* if fill was exactly 64, the shift is nbits; it is always below 64 */
                fill -= 64;
                w->word = bits >> (nbits - fill);
        }
        w->fill = fill;
}

static void flush_bits(struct bit_writer *w)
{
        if (w->fill > 0)
                *w->out = w->word;
}

ALWAYS_INLINE void encode_kmers(const struct kc_block_plan *plan, const uint64_t *kmers, int nw,
                                uint64_t *words)
{
        struct sections s = locate(plan, words);
        uint64_t *high = words + 1;
        uint64_t *plane = words + (s.planes - words);
        struct bit_writer fields = { .out = words + (s.fields - words) };
        const uint32_t l = plan->low_nbits, np = nplanes(plan), r = l % 64;
        const uint64_t mask = low_mask(r);
        uint64_t value[KC_MAX_WORDS] = { 0 };
        uint64_t word = 0, bits = 0; /* of the high bits: index and bits of the word being filled */

        memset(high, 0, plan->high_words * sizeof *high);
        for (uint32_t i = 0; i < plan->n; i++) {
                subtract(kmers + (size_t)i * (size_t)nw, kmers, nw, value);
                uint64_t at = shifted_word(value, nw, l) + i;
                if (at / 64 != word) {
                        high[word] = bits;
                        word = at / 64;
                        bits = 0;
                }
                bits |= UINT64_C(1) << (at % 64);
                for (uint32_t j = 0; nw > 1 && j < np; j++)
                        plane[(size_t)j * plan->n + i] = value[j];
                put_bits(&fields, value[nw > 1 ? np : 0] & mask, r);
        }
        high[word] = bits;
        flush_bits(&fields);
}

/* The positions of counts above 1 are gathered without a branch: with 20 % of such counts it would
 * often be mispredicted. */
ALWAYS_INLINE void encode_counts(const struct kc_block_plan *plan, const uint32_t *counts,
                                 uint64_t *words)
{
        struct sections s = locate(plan, words);
        uint64_t *bitmap = words + (s.bitmap - words);
        uint64_t *exception = words + (s.exceptions - words);
        struct bit_writer fields = { .out = words + (s.counts - words) };
        const uint64_t mask = low_mask(plan->width);
        uint16_t at[KC_BLOCK_NKMERS + 1];
        uint64_t bits = 0;
        uint32_t nbig = 0;

        for (uint32_t i = 0; i < plan->n; i++) {
                uint32_t is_big = counts[i] > 1;
                at[nbig] = (uint16_t)i;
                nbig += is_big;
                bits |= (uint64_t)is_big << (i % 64);
                if (i % 64 == 63 || i + 1 == plan->n) {
                        bitmap[i / 64] = bits;
                        bits = 0;
                }
        }
        for (uint32_t j = 0; j < nbig; j++)
                put_bits(&fields, (counts[at[j]] - 2) & mask, plan->width);
        flush_bits(&fields);
        for (uint32_t j = 0; j < nbig && plan->nexceptions > 0; j++)
                if (counts[at[j]] - 2 > mask)
                        *exception++ = (uint64_t)at[j] << 32 | counts[at[j]];
}

KC_SIMD_CLONES
void kc_block_encode(const struct kc_block_plan *plan, const uint64_t *kmers,
                     const uint32_t *counts, int key_nwords, uint64_t *words)
{
        words[0] = (uint64_t)plan->n | (uint64_t)plan->low_nbits << 16 |
                   (uint64_t)plan->nexceptions << 32 | (uint64_t)plan->high_words << 48 |
                   (uint64_t)plan->width << 56;
        if (key_nwords == 1)
                encode_kmers(plan, kmers, 1, words);
        else if (key_nwords == 2)
                encode_kmers(plan, kmers, 2, words);
        else
                encode_kmers(plan, kmers, key_nwords, words);
        encode_counts(plan, counts, words);
}

/* ---- decoding ---- */

static uint32_t popcount_all(const uint64_t *words, uint32_t nwords)
{
        uint32_t n = 0;
        for (uint32_t i = 0; i < nwords; i++)
                n += popcount(words[i]);
        return n;
}

/* Read the head into a plan; false unless all sections fit and have the right number of bits. */
static bool read_head(struct kc_block_plan *plan, const uint64_t *words, size_t nwords,
                      int key_nwords, size_t n)
{
        if (nwords < KC_BLOCK_MIN_WORDS || n < 1 || n > KC_BLOCK_NKMERS)
                return false;
        plan->n = words[0] & 0xffff;
        plan->low_nbits = words[0] >> 16 & 0xffff;
        plan->nexceptions = words[0] >> 32 & 0xffff;
        plan->high_words = words[0] >> 48 & 0xff;
        plan->width = (uint32_t)(words[0] >> 56);
        plan->nbig = 0;
        if (plan->n != n || plan->low_nbits >= 64 * (uint32_t)key_nwords || plan->width > 32 ||
            plan->high_words < 1 || plan->high_words > KC_BLOCK_HIGH_WORDS ||
            total_words(plan) > nwords)
                return false;
        struct sections s = locate(plan, words);
        if (popcount_all(s.high, plan->high_words) != n)
                return false;
        if (n % 64 != 0 && s.bitmap[n / 64] >> (n % 64) != 0)
                return false;
        plan->nbig = popcount_all(s.bitmap, words_for(plan->n));
        plan->nwords = total_words(plan);
        return plan->nwords == nwords;
}

/* Field i of a section of fixed-width fields; also reads the word after the field's first. */
ALWAYS_INLINE uint64_t get_bits(const uint64_t *section, uint32_t i, uint32_t nbits, uint64_t mask)
{
        uint32_t at = i * nbits, shift = at % 64;
        const uint64_t *word = section + at / 64;
        return (word[0] >> shift | word[1] << 1 << (63 - shift)) & mask;
}

/* The same for fields of at most 57 bits, which lie within eight bytes, so that one load suffices.
 * Assumes a little-endian machine, as all reading of .kc files does. */
enum { SHORT_NBITS = 57 };

ALWAYS_INLINE uint64_t get_short_bits(const uint64_t *section, uint32_t i, uint32_t nbits,
                                      uint64_t mask)
{
        uint32_t at = i * nbits;
        uint64_t bytes;
        memcpy(&bytes, (const char *)section + at / 8, sizeof bytes);
        return bytes >> at % 8 & mask;
}

/* value = high << l | low bits of k-mer i; without planes the field holds all low bits */
ALWAYS_INLINE void assemble(const struct kc_block_plan *plan, const struct sections *s, int nw,
                            uint32_t i, uint64_t high, bool is_short, uint64_t *value)
{
        const uint32_t np = nplanes(plan), r = plan->low_nbits % 64;
        uint64_t field = is_short ? get_short_bits(s->fields, i, r, low_mask(r))
                                  : get_bits(s->fields, i, r, low_mask(r));
        if (nw == 1) {
                value[0] = high << r | field;
                return;
        }
        for (int j = 0; j < nw; j++)
                value[j] = 0;
        for (uint32_t j = 0; j < np; j++)
                value[j] = s->planes[(size_t)j * plan->n + i];
        value[np] = high << r | field;
        if (np + 1 < (uint32_t)nw)
                value[np + 1] = high >> 1 >> (63 - r);
}

/* places[b]: where the set bits of the byte b are, each place in a byte of its own, the lowest
 * first. The macros go from the highest bit down: each set bit moves the places of those above it
 * up. */
#define PLACES_0(above) above, (above) << 8 | 0
#define PLACES_1(above) PLACES_0(above), PLACES_0((above) << 8 | 1)
#define PLACES_2(above) PLACES_1(above), PLACES_1((above) << 8 | 2)
#define PLACES_3(above) PLACES_2(above), PLACES_2((above) << 8 | 3)
#define PLACES_4(above) PLACES_3(above), PLACES_3((above) << 8 | 4)
#define PLACES_5(above) PLACES_4(above), PLACES_4((above) << 8 | 5)
#define PLACES_6(above) PLACES_5(above), PLACES_5((above) << 8 | 6)

static const uint64_t places[256] = { PLACES_6(UINT64_C(0)), PLACES_6(UINT64_C(7)) };

enum { BYTE_NBITS = 8 };

/* Find the set bits of the words. Eight places are written for each byte, and those of the next
 * byte overwrite all after the last set bit: so there is no branch that would be mispredicted.
 *   at  out [set bits + BYTE_NBITS] */
ALWAYS_INLINE void find_bits(const uint64_t *words, uint32_t nwords, uint16_t *at)
{
        for (uint32_t w = 0; w < nwords; w++) {
                const uint64_t counts = popcounts_of_bytes(words[w]);
                for (uint32_t b = 0; b < 64; b += BYTE_NBITS) {
                        uint8_t in_byte[BYTE_NBITS];
                        memcpy(in_byte, &places[words[w] >> b & 0xff], sizeof in_byte);
                        for (uint32_t j = 0; j < BYTE_NBITS; j++)
                                at[j] = (uint16_t)(64 * w + b + in_byte[j]);
                        at += counts >> b & 0xff;
                }
        }
}

/* Read short fields in groups of eight, which begin at whole bytes and are all laid out alike. */
ALWAYS_INLINE void read_short_fields(const uint64_t *section, uint32_t nbits, uint32_t n,
                                     uint64_t *fields)
{
        const uint64_t mask = low_mask(nbits);
        const char *group = (const char *)section;
        uint32_t byte[8], shift[8], i = 0;
        for (uint32_t j = 0; j < 8; j++) {
                byte[j] = j * nbits / 8;
                shift[j] = j * nbits % 8;
        }
        for (; i + 8 <= n; i += 8, group += nbits)
                for (uint32_t j = 0; j < 8; j++) {
                        uint64_t bytes;
                        memcpy(&bytes, group + byte[j], sizeof bytes);
                        fields[i + j] = bytes >> shift[j] & mask;
                }
        for (; i < n; i++)
                fields[i] = get_short_bits(section, i, nbits, mask);
}

/* k-mers of one word: first the fields, then everything that can be vectorized. */
ALWAYS_INLINE void decode_words(const struct kc_block_plan *plan, const struct sections *s,
                                const uint16_t *at, uint64_t first, bool is_short, uint64_t *kmers)
{
        const uint32_t n = plan->n, r = plan->low_nbits;
        if (is_short)
                read_short_fields(s->fields, r, n, kmers);
        for (uint32_t i = 0; !is_short && i < n; i++)
                kmers[i] = get_bits(s->fields, i, r, low_mask(r));
        for (uint32_t i = 0; i < n; i++)
                kmers[i] += first + ((uint64_t)(at[i] - i) << r);
}

ALWAYS_INLINE void decode_fields(const struct kc_block_plan *plan, const struct sections *s,
                                 const uint16_t *at, const uint64_t *first, int nw, bool is_short,
                                 uint64_t *kmers)
{
        uint64_t value[KC_MAX_WORDS] = { 0 };
        if (nw == 1) {
                decode_words(plan, s, at, first[0], is_short, kmers);
                return;
        }
        for (uint32_t i = 0; i < plan->n; i++) {
                assemble(plan, s, nw, i, at[i] - i, is_short, value);
                add(first, value, nw, kmers + (size_t)i * (size_t)nw);
        }
}

ALWAYS_INLINE void decode_kmers(const struct kc_block_plan *plan, const struct sections *s,
                                const uint64_t *first, int nw, uint64_t *kmers)
{
        uint16_t at[KC_BLOCK_NKMERS + BYTE_NBITS];
        find_bits(s->high, plan->high_words, at);
        if (plan->low_nbits % 64 <= SHORT_NBITS)
                decode_fields(plan, s, at, first, nw, true, kmers);
        else
                decode_fields(plan, s, at, first, nw, false, kmers);
}

ALWAYS_INLINE bool decode_counts(const struct kc_block_plan *plan, const struct sections *s,
                                 uint32_t *counts)
{
        const uint32_t width = plan->width;
        const uint64_t mask = low_mask(width);
        uint16_t big[KC_BLOCK_NKMERS + BYTE_NBITS];
        find_bits(s->bitmap, words_for(plan->n), big);
        for (uint32_t i = 0; i < plan->n; i++)
                counts[i] = 1;
        for (uint32_t j = 0; j < plan->nbig; j++)
                counts[big[j]] = 2 + (uint32_t)get_short_bits(s->counts, j, width, mask);
        for (uint32_t e = 0; e < plan->nexceptions; e++) {
                uint64_t at = s->exceptions[e] >> 32;
                if (at >= plan->n)
                        return false;
                counts[at] = (uint32_t)s->exceptions[e];
        }
        return true;
}

KC_SIMD_CLONES
bool kc_block_decode(const uint64_t *words, size_t nwords, const uint64_t *first, int key_nwords,
                     size_t n, uint64_t *kmers, uint32_t *counts)
{
        struct kc_block_plan plan;
        if (!read_head(&plan, words, nwords, key_nwords, n))
                return false;
        struct sections s = locate(&plan, words);
        if (key_nwords == 1)
                decode_kmers(&plan, &s, first, 1, kmers);
        else if (key_nwords == 2)
                decode_kmers(&plan, &s, first, 2, kmers);
        else
                decode_kmers(&plan, &s, first, key_nwords, kmers);
        return decode_counts(&plan, &s, counts);
}

/* ---- finding ---- */

/* Position after the nth zero (1, 2, ...) of the high bits; 0 if nth is 0, the end of the high bits
 * if there are fewer zeros. */
static uint32_t after_zero(const uint64_t *high, uint32_t high_words, uint64_t nth)
{
        if (nth == 0)
                return 0;
        for (uint32_t w = 0; w < high_words; w++) {
                uint64_t zeros = ~high[w];
                uint32_t n = popcount(zeros);
                if (nth > n) {
                        nth -= n;
                        continue;
                }
                while (--nth > 0)
                        zeros &= zeros - 1;
                return 64 * w + (uint32_t)__builtin_ctzll(zeros) + 1;
        }
        return 64 * high_words;
}

static uint32_t count_at(const struct kc_block_plan *plan, const struct sections *s, uint32_t i)
{
        if ((s->bitmap[i / 64] >> (i % 64) & 1) == 0)
                return 1;
        for (uint32_t e = 0; e < plan->nexceptions; e++)
                if (s->exceptions[e] >> 32 == i)
                        return (uint32_t)s->exceptions[e];
        uint32_t rank = popcount_all(s->bitmap, i / 64);
        if (i % 64 != 0)
                rank += popcount(s->bitmap[i / 64] << (64 - i % 64));
        return 2 + (uint32_t)get_bits(s->counts, rank, plan->width, low_mask(plan->width));
}

bool kc_block_find(const uint64_t *words, size_t nwords, const uint64_t *first, int key_nwords,
                   size_t n, const uint64_t *kmer, uint32_t *count)
{
        struct kc_block_plan plan;
        *count = 0;
        if (!read_head(&plan, words, nwords, key_nwords, n))
                return false;
        struct sections s = locate(&plan, words);
        uint64_t wanted[KC_MAX_WORDS] = { 0 }, value[KC_MAX_WORDS] = { 0 };
        subtract(kmer, first, key_nwords, wanted);
        if (value_bit_length(wanted, key_nwords) > plan.low_nbits + 13)
                return true; /* high would be above 2n */
        uint64_t high = shifted_word(wanted, key_nwords, plan.low_nbits);

        /* k-mers with this high part lie between the high-th zero and the next one */
        uint32_t at = after_zero(s.high, plan.high_words, high);
        for (; at < 64 * plan.high_words && (s.high[at / 64] >> (at % 64) & 1) != 0; at++) {
                uint32_t i = at - (uint32_t)high;
                assemble(&plan, &s, key_nwords, i, high, false, value);
                if (kc_kmer_compare(value, wanted, key_nwords) == 0) {
                        *count = count_at(&plan, &s, i);
                        return true;
                }
        }
        return true;
}
