#include "io/inflate/deflate_tables.h"

/* ---- reading and judging code lengths ---- */

/*
 * A code must use up its space. zlib also accepts a single code of one bit (its twin is unused) and
 * no code at all, but neither of these as the code for code lengths.
 */
static const char *judge(const uint8_t *lengths, unsigned n, bool may_be_single)
{
        unsigned count[KC_MAX_CODE + 1] = { 0 };
        int left = 1;
        for (unsigned i = 0; i < n; i++)
                count[lengths[i]]++;
        for (unsigned length = 1; length <= KC_MAX_CODE; length++) {
                left = 2 * left - (int)count[length];
                if (left < 0)
                        return "more codes than fit";
        }
        if (left == 0)
                return NULL;
        if (may_be_single && count[0] >= n - 1 && count[0] + count[1] == n)
                return NULL;
        return "codes are missing";
}

/* Codes are sent with their most significant bit first, which is an index's least significant
 * bit. */
static unsigned reverse(unsigned code, unsigned nbits)
{
        unsigned reversed = 0;
        for (; nbits > 0; nbits--, code >>= 1)
                reversed = reversed << 1 | (code & 1);
        return reversed;
}

/* [128]: symbol << 3 | bits. The codes must use up their space. */
static void make_precode_table(uint8_t *table, const uint8_t *lengths)
{
        unsigned code = 0;
        for (unsigned length = 1; length <= 7; length++, code <<= 1)
                for (unsigned symbol = 0; symbol < KC_NPRECODE; symbol++) {
                        if (lengths[symbol] != length)
                                continue;
                        for (unsigned i = reverse(code, length); i < 128; i += 1u << length)
                                table[i] = (uint8_t)(symbol << 3 | length);
                        code++;
                }
}

/* Returns the bit after it, or 0: *why says why, or is NULL if the input ends within it. */
static uint64_t read_precode(uint8_t *table, const uint8_t *in, size_t nin, uint64_t bit,
                             const char **why)
{
        static const uint8_t order[KC_NPRECODE] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                    11, 4,  12, 3, 13, 2, 14, 1, 15 };
        uint8_t lengths[KC_NPRECODE] = { 0 };
        unsigned n = 4 + (kc_deflate_peek(in, nin, bit) & 15);
        uint64_t word = kc_deflate_peek(in, nin, bit + 4);
        for (unsigned i = 0; i < n && i < 18; i++, word >>= 3)
                lengths[order[i]] = word & 7;
        bit += 4 + 3 * n;
        if (n == KC_NPRECODE)
                lengths[order[18]] = kc_deflate_peek(in, nin, bit - 3) & 7;
        if (bit > 8 * (uint64_t)nin)
                return 0;
        *why = judge(lengths, KC_NPRECODE, false);
        if (*why != NULL)
                return 0;
        make_precode_table(table, lengths);
        return bit;
}

/* Undo the run lengths. Returns as read_precode. */
static uint64_t read_runs(uint8_t *lengths, unsigned n, const uint8_t *table, const uint8_t *in,
                          size_t nin, uint64_t bit, const char **why)
{
        static const struct {
                uint8_t nbits, least;
        } runs[3] = { { 2, 3 }, { 3, 3 }, { 7, 11 } };
        uint64_t end = 8 * (uint64_t)nin;
        for (unsigned i = 0; i < n;) {
                uint64_t word = kc_deflate_peek(in, nin, bit);
                unsigned symbol = table[word & 127] >> 3, nbits = table[word & 127] & 7;
                if (symbol < 16) {
                        lengths[i++] = (uint8_t)symbol;
                        bit += nbits;
                        continue;
                }
                unsigned extra = runs[symbol - 16].nbits;
                unsigned run = runs[symbol - 16].least + (word >> nbits & ((1u << extra) - 1));
                bit += nbits + extra;
                if (bit > end)
                        return 0;
                if ((symbol == 16 && i == 0) || run > n - i) {
                        *why = "invalid repeat of code lengths";
                        return 0;
                }
                memset(lengths + i, symbol == 16 ? lengths[i - 1] : 0, run);
                i += run;
        }
        return bit <= end ? bit : 0;
}

uint64_t kc_deflate_read_lengths(struct kc_deflate_lengths *lengths, const uint8_t *in, size_t nin,
                                 uint64_t bit, const char **why)
{
        uint8_t table[128];
        uint64_t word = kc_deflate_peek(in, nin, bit);
        *why = NULL;
        lengths->nlitlen = 257 + (word & 31);
        lengths->ndistance = 1 + (word >> 5 & 31);
        if (bit + 10 > 8 * (uint64_t)nin)
                return 0;
        if (lengths->nlitlen > 286 || lengths->ndistance > 30) {
                *why = "too many codes";
                return 0;
        }
        bit = read_precode(table, in, nin, bit + 10, why);
        if (bit > 0)
                bit = read_runs(lengths->of, lengths->nlitlen + lengths->ndistance, table, in, nin,
                                bit, why);
        if (bit == 0)
                return 0;
        if (lengths->of[KC_END_OF_BLOCK] == 0)
                *why = "no code for the end of a block";
        if (*why == NULL)
                *why = judge(lengths->of, lengths->nlitlen, true);
        if (*why == NULL)
                *why = judge(lengths->of + lengths->nlitlen, lengths->ndistance, true);
        return *why == NULL ? bit : 0;
}

/* ---- tables ---- */

/* A symbol's entry, without the length of its code. */
static const uint32_t *litlen_symbols(void)
{
#define W(base, extra) (UINT32_C(base) << 16 | (extra))
        static const uint32_t of_lengths[KC_NLITLEN - 256] = {
                KC_ENTRY_END,     W(3, 0),          W(4, 0),   W(5, 0),   W(6, 0),   W(7, 0),
                W(8, 0),          W(9, 0),          W(10, 0),  W(11, 1),  W(13, 1),  W(15, 1),
                W(17, 1),         W(19, 2),         W(23, 2),  W(27, 2),  W(31, 2),  W(35, 3),
                W(43, 3),         W(51, 3),         W(59, 3),  W(67, 4),  W(83, 4),  W(99, 4),
                W(115, 4),        W(131, 5),        W(163, 5), W(195, 5), W(227, 5), W(258, 0),
                KC_ENTRY_INVALID, KC_ENTRY_INVALID,
        };
        return of_lengths;
}

static const uint32_t *distance_symbols(void)
{
        static const uint32_t of_distances[KC_NDISTANCE] = {
                W(1, 0),          W(2, 0),          W(3, 0),      W(4, 0),      W(5, 1),
                W(7, 1),          W(9, 2),          W(13, 2),     W(17, 3),     W(25, 3),
                W(33, 4),         W(49, 4),         W(65, 5),     W(97, 5),     W(129, 6),
                W(193, 6),        W(257, 7),        W(385, 7),    W(513, 8),    W(769, 8),
                W(1025, 9),       W(1537, 9),       W(2049, 10),  W(3073, 10),  W(4097, 11),
                W(6145, 11),      W(8193, 12),      W(12289, 12), W(16385, 13), W(24577, 13),
                KC_ENTRY_INVALID, KC_ENTRY_INVALID,
        };
        return of_distances;
#undef W
}

static uint32_t entry_of(unsigned symbol, unsigned length, bool litlen)
{
        if (litlen && symbol < 256)
                return symbol << 8 | 1 << 6 | length;
        uint32_t meaning = litlen ? litlen_symbols()[symbol - 256] : distance_symbols()[symbol];
        return meaning + (length << 8 | length);
}

/* Symbols that have a code, by its length and then by number: the order in which codes are
 * assigned. */
struct sorted {
        unsigned count[KC_MAX_CODE + 1];
        uint16_t symbols[KC_NLITLEN];
        unsigned n;
};

static void sort_symbols(struct sorted *sorted, const uint8_t *lengths, unsigned n)
{
        unsigned next[KC_MAX_CODE + 1];
        memset(sorted->count, 0, sizeof sorted->count);
        for (unsigned i = 0; i < n; i++)
                sorted->count[lengths[i]]++;
        sorted->count[0] = 0;
        sorted->n = 0;
        for (unsigned length = 1; length <= KC_MAX_CODE; length++) {
                next[length] = sorted->n;
                sorted->n += sorted->count[length];
        }
        for (unsigned i = 0; i < n; i++)
                if (lengths[i] > 0)
                        sorted->symbols[next[lengths[i]]++] = (uint16_t)i;
}

/* The code after this one, of the same length; codes are reversed, so the carry goes down. */
static unsigned next_code(unsigned code, unsigned length)
{
        unsigned bit = 1u << (length - 1);
        while (code & bit) {
                code ^= bit;
                bit >>= 1;
        }
        return code | bit;
}

/* Index bits of the subtable whose first code has this length: enough for all of its prefix. */
static unsigned subtable_bits(const unsigned *left, unsigned length, unsigned table_bits)
{
        unsigned nbits = length - table_bits;
        unsigned used = left[length];
        while (used < 1u << nbits && table_bits + nbits < KC_MAX_CODE) {
                nbits++;
                used = 2 * used + left[table_bits + nbits];
        }
        return nbits;
}

/*
 * One symbol per entry. Short codes come first: the table is made for their length and doubled as
 * the length grows.
 */
static void make_table(uint32_t *table, unsigned table_bits, const uint8_t *lengths, unsigned n,
                       bool litlen)
{
        struct sorted sorted;
        sort_symbols(&sorted, lengths, n);
        if (sorted.n < 2) {
                for (unsigned i = 0; i < 1u << table_bits; i++)
                        table[i] = KC_ENTRY_INVALID | 1;
                for (unsigned i = 0; sorted.n == 1 && i < 1u << table_bits; i += 2)
                        table[i] = entry_of(sorted.symbols[0], 1, litlen);
                return;
        }
        const uint16_t *symbol = sorted.symbols;
        unsigned code = 0, length = 1, size = 2;
        for (; length <= table_bits; length++) {
                for (unsigned left = sorted.count[length]; left > 0; left--) {
                        table[code] = entry_of(*symbol++, length, litlen);
                        code = next_code(code, length);
                }
                if (length < table_bits) {
                        memcpy(table + size, table, size * sizeof *table);
                        size *= 2;
                }
        }
        unsigned end = size, start = 0, nbits = 0, prefix = UINT32_MAX;
        unsigned *left = sorted.count;
        for (; length <= KC_MAX_CODE; length++)
                for (; left[length] > 0; left[length]--) {
                        if ((code & (size - 1)) != prefix) {
                                prefix = code & (size - 1);
                                nbits = subtable_bits(left, length, table_bits);
                                start = end;
                                end += 1u << nbits;
                                table[prefix] = KC_ENTRY_SUBTABLE | start << 16 | nbits << 8;
                        }
                        uint32_t entry = entry_of(*symbol++, length, litlen);
                        for (unsigned i = code >> table_bits; i < 1u << nbits;
                             i += 1u << (length - table_bits))
                                table[start + i] = entry;
                        code = next_code(code, length);
                }
}

/* Add the literal that follows in the same index, if the index has its whole code. */
static inline uint32_t with_next(uint32_t entry, const uint32_t *table, unsigned index,
                                 unsigned shift)
{
        uint32_t next = table[index >> (entry & KC_ENTRY_DROP)];
        unsigned drop = (entry & KC_ENTRY_DROP) + (next & KC_ENTRY_DROP);
        bool fits = (next & KC_ENTRY_LITERALS) != 0 && drop <= KC_LITLEN_BITS;
        uint32_t both = (entry & ~KC_ENTRY_DROP) + (1 << 6) + ((next & 0xff00) << shift) + drop;
        return fits ? both : entry;
}

/*
 * The match that begins at bit `at` of the index, if the index has all bits of its length; else 0.
 * What comes before it, a literal or nothing, is not included.
 */
static inline uint32_t whole_match(uint32_t match, unsigned index, unsigned at)
{
        unsigned code = match >> 8 & 15, drop = match & KC_ENTRY_DROP;
        if ((match & (KC_ENTRY_LITERALS | KC_ENTRY_FLAGS)) != 0 || at + drop > KC_LITLEN_BITS)
                return 0;
        unsigned extra = index >> (at + code) & ((1u << (drop - code)) - 1);
        return ((match >> 16) + extra - KC_MIN_MATCH) << 24 | KC_ENTRY_WHOLE | (at + drop);
}

/* A literal and what follows it: up to two more, or a match. */
static inline uint32_t join_literal(const uint32_t *table, unsigned index)
{
        uint32_t entry = table[index], two = with_next(entry, table, index, 8);
        if (two != entry)
                return with_next(two, table, index, 16);
        unsigned drop = entry & KC_ENTRY_DROP;
        uint32_t match = whole_match(table[index >> drop], index, drop);
        return match == 0 ? entry : match | 1 << 8 | (entry & 0xff00) << 8;
}

/* Put more than one symbol into an entry. From the end down: entries below still have one
 * symbol. */
static void join_symbols(uint32_t *table)
{
        for (unsigned i = 1u << KC_LITLEN_BITS; i-- > 0;) {
                if (table[i] & KC_ENTRY_LITERALS) {
                        table[i] = join_literal(table, i);
                } else {
                        uint32_t match = whole_match(table[i], i, 0);
                        table[i] = match == 0 ? table[i] : match;
                }
        }
}

void kc_deflate_make_tables(struct kc_deflate *d, const struct kc_deflate_lengths *lengths)
{
        memcpy(d->lengths, lengths->of, lengths->nlitlen);
        make_table(d->litlen, KC_LITLEN_BITS, lengths->of, lengths->nlitlen, true);
        join_symbols(d->litlen);
        make_table(d->distance, KC_DISTANCE_BITS, lengths->of + lengths->nlitlen,
                   lengths->ndistance, false);
        d->fixed = false;
}

void kc_deflate_make_fixed_tables(struct kc_deflate *d)
{
        struct kc_deflate_lengths lengths = { .nlitlen = KC_NLITLEN, .ndistance = KC_NDISTANCE };
        if (d->fixed)
                return;
        memset(lengths.of, 8, 144);
        memset(lengths.of + 144, 9, 112);
        memset(lengths.of + 256, 7, 24);
        memset(lengths.of + 280, 8, 8);
        memset(lengths.of + KC_NLITLEN, 5, KC_NDISTANCE);
        kc_deflate_make_tables(d, &lengths);
        d->fixed = true;
}
