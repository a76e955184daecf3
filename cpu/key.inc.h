/*
 * Keys of KC_WORDS 64-bit words, least significant first (kmer/kmer.h). Included once for each
 * width by width.inc.h; with a constant width the loops below unroll into a few instructions.
 */

struct W(key) {
        uint64_t word[KC_WORDS];
};

/* A k-mer with its count. */
struct W(item) {
        struct W(key) key;
        uint32_t count;
};

static inline bool W(key_equal)(const struct W(key) *a, const struct W(key) *b)
{
        uint64_t differ = 0;
        for (int i = 0; i < KC_WORDS; i++)
                differ |= a->word[i] ^ b->word[i];
        return differ == 0;
}

static inline bool W(key_less)(const struct W(key) *a, const struct W(key) *b)
{
        for (int i = KC_WORDS - 1; i > 0; i--)
                if (a->word[i] != b->word[i])
                        return a->word[i] < b->word[i];
        return a->word[0] < b->word[0];
}

static inline uint64_t W(key_hash)(const struct W(key) *key)
{
        uint64_t hash = key->word[0];
        for (int i = 1; i < KC_WORDS; i++)
                hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) + key->word[i];
        return (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

/* nbits (<= 32) bits of the key from bit `low` on; bits beyond the key's words read as zero. */
static inline uint32_t W(key_bits)(const struct W(key) *key, int low, int nbits)
{
        int i = low / 64, shift = low % 64;
        uint64_t bits = key->word[i] >> shift;
        if (KC_WORDS > 1 && shift > 32 && i + 1 < KC_WORDS)
                bits |= key->word[i + 1] << (64 - shift);
        return (uint32_t)(bits & ((UINT64_C(1) << nbits) - 1));
}

/* Set nbits (<= 32) bits of the key from bit `low` on, which must be zero so far. */
static inline void W(key_add_bits)(struct W(key) *key, int low, int nbits, uint32_t bits)
{
        int i = low / 64, shift = low % 64;
        key->word[i] |= (uint64_t)bits << shift;
        if (shift + nbits > 64)
                key->word[i + 1] |= (uint64_t)bits >> (64 - shift);
}
