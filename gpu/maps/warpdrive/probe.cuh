/*
 * The WarpDrive map's arithmetic: how keys are mixed, in which order their slots are probed, and
 * how a word of remainder and count is built. It also compiles for the host.
 *
 * Slots form windows of `group` slots. Probing visits `linear` neighbouring windows, then advances
 * by a step that depends on the key: chaotic probing. All of a key's windows are in one of
 * 2^part_bits parts of the map, which the top bits of its hash choose, so that a batch sorted by
 * those bits visits one part after the other. The number of windows in a part is prime, so steps
 * visit all of them.
 *
 * Source: Juenger et al., WarpDrive (2018), section II (equation 3), section IV-A and section V-A
 * (Mueller's hash, translated: h_y(x) = h(x + y)).
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_PROBE_CUH
#define KC_GPU_MAPS_WARPDRIVE_PROBE_CUH

#include "gpu/device/key.cuh"

/* ---- mixing: a permutation of the numbers below 2^nbits, another one for each seed ---- */

enum : uint64_t {
        KC_WD_FACTOR_32 = UINT64_C(0x45d9f3b),
        KC_WD_FACTOR_32_INVERSE = UINT64_C(0x119de1f3), /* modulo 2^32 */
        KC_WD_FACTOR_64 = UINT64_C(0xd6e8feb86659fd93),
        KC_WD_FACTOR_64_INVERSE = UINT64_C(0xcfee444d8b59a89b),
        KC_WD_SCATTER = UINT64_C(0x9e3779b97f4a7c15),
};

KC_HD uint64_t kc_wd_low_bits(uint64_t x, int nbits)
{
        return x & UINT64_MAX >> (64 - nbits);
}

/* x below 2^nbits, nbits 1 to 64. The folds are involutions, as they shift by at least half the
 * bits. */
KC_HD uint64_t kc_wd_mix_bits(uint64_t x, uint64_t seed, int nbits)
{
        int half = (nbits + 1) / 2;
        x = kc_wd_low_bits(x + seed, nbits);
        x ^= x >> half;
        x = kc_wd_low_bits(x * KC_WD_FACTOR_64, nbits);
        x ^= x >> half;
        x = kc_wd_low_bits(x * KC_WD_FACTOR_64, nbits);
        return x ^ x >> half;
}

KC_HD uint64_t kc_wd_unmix_bits(uint64_t x, uint64_t seed, int nbits)
{
        int half = (nbits + 1) / 2;
        x ^= x >> half;
        x = kc_wd_low_bits(x * KC_WD_FACTOR_64_INVERSE, nbits);
        x ^= x >> half;
        x = kc_wd_low_bits(x * KC_WD_FACTOR_64_INVERSE, nbits);
        x ^= x >> half;
        return kc_wd_low_bits(x - seed, nbits);
}

KC_HD uint32_t kc_wd_mix(uint32_t key, uint64_t seed, int)
{
        key += (uint32_t)seed;
        key = (key ^ key >> 16) * (uint32_t)KC_WD_FACTOR_32;
        key = (key ^ key >> 16) * (uint32_t)KC_WD_FACTOR_32;
        return key ^ key >> 16;
}

KC_HD uint32_t kc_wd_unmix(uint32_t mixed, uint64_t seed, int)
{
        mixed = (mixed ^ mixed >> 16) * (uint32_t)KC_WD_FACTOR_32_INVERSE;
        mixed = (mixed ^ mixed >> 16) * (uint32_t)KC_WD_FACTOR_32_INVERSE;
        return (mixed ^ mixed >> 16) - (uint32_t)seed;
}

KC_HD kc_key64 kc_wd_mix(kc_key64 key, uint64_t seed, int nbits)
{
        return kc_wd_mix_bits(key, seed, nbits);
}

KC_HD kc_key64 kc_wd_unmix(kc_key64 mixed, uint64_t seed, int nbits)
{
        return kc_wd_unmix_bits(mixed, seed, nbits);
}

KC_HD kc_key128 kc_wd_mix(kc_key128 key, uint64_t seed, int)
{
        uint64_t high = (uint64_t)(key >> 64);
        uint64_t low = kc_wd_mix_bits((uint64_t)key ^ high * KC_WD_SCATTER, seed, 64);
        high = kc_wd_mix_bits(high ^ low, seed, 64);
        return (kc_key128)high << 64 | low;
}

KC_HD kc_key128 kc_wd_unmix(kc_key128 mixed, uint64_t seed, int)
{
        uint64_t low = (uint64_t)mixed;
        uint64_t high = kc_wd_unmix_bits((uint64_t)(mixed >> 64), seed, 64) ^ low;
        low = kc_wd_unmix_bits(low, seed, 64) ^ high * KC_WD_SCATTER;
        return (kc_key128)high << 64 | low;
}

/* The hash of a mixed key: its top bits choose part and window, the low 32 the step.
 */
KC_HD uint64_t kc_wd_hash(uint32_t mixed, int)
{
        return mixed * KC_WD_SCATTER;
}

KC_HD uint64_t kc_wd_hash(kc_key64 mixed, int nbits)
{
        return mixed << (64 - nbits);
}

KC_HD uint64_t kc_wd_hash(kc_key128 mixed, int)
{
        return ((uint64_t)(mixed >> 64) & ~(uint64_t)UINT32_MAX) | (uint32_t)mixed;
}

KC_HD uint64_t kc_wd_high_product(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
        return __umul64hi(a, b);
#else
        return (uint64_t)((unsigned __int128)a * b >> 64);
#endif
}

/* ---- owners: which of several maps has a key ---- */

KC_HD uint64_t kc_wd_fold(uint32_t key)
{
        return key;
}

KC_HD uint64_t kc_wd_fold(kc_key64 key)
{
        return key;
}

KC_HD uint64_t kc_wd_fold(kc_key128 key)
{
        return (uint64_t)key ^ (uint64_t)(key >> 64) * KC_WD_SCATTER;
}

/*
 * The hash that chooses a key's owner. It depends neither on the maps' hash function nor on their
 * seed: otherwise the keys of an owner would be in 1 / nowners of its windows, and a rebuild would
 * change owners. (The mixing is MurmurHash3's.)
 */
template <class Key> KC_HD uint64_t kc_wd_owner_hash(Key key)
{
        uint64_t hash = kc_wd_fold(key);
        hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
        hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
        return hash ^ hash >> 33;
}

/* Uses only the upper 32 bits of the hash. */
KC_HD uint32_t kc_wd_owner_of(uint64_t hash, uint32_t nowners)
{
        return (uint32_t)((hash >> 32) * nowners >> 32);
}

/* The owner of a key among nowners, p(k) in the paper. */
template <class Key> KC_HD uint32_t kc_wd_owner(Key key, uint32_t nowners)
{
        return kc_wd_owner_of(kc_wd_owner_hash(key), nowners);
}

/* ---- shape and probing ---- */

struct kc_wd_shape {
        uint32_t group;      /* slots of a window */
        uint32_t nwindows;   /* of a part: prime, or 1 */
        uint32_t linear;     /* neighbouring windows probed before the next step */
        uint32_t max_probes; /* windows; a key that finds no room there is refused */
        int part_bits;
        int key_bits; /* of a key; all of the type's but for remainder words */
        uint64_t seed;
        uint64_t quotient; /* remainder words: mixed keys of a window */
        uint64_t inverse;  /* 2^64 / quotient */
};

KC_HD uint64_t kc_wd_nslots(const kc_wd_shape &shape)
{
        return (uint64_t)shape.group * shape.nwindows << shape.part_bits;
}

KC_HD uint32_t kc_wd_part(uint64_t hash, int part_bits)
{
        return part_bits == 0 ? 0 : (uint32_t)(hash >> (64 - part_bits));
}

struct kc_wd_probing {
        uint64_t first;  /* window of the part's beginning */
        uint32_t window; /* in the part */
        uint32_t outer;  /* where the neighbours began */
        uint32_t step;
        uint32_t number; /* of the probe */
        uint32_t near;   /* neighbours done */
};

KC_HD kc_wd_probing kc_wd_probing_at(const kc_wd_shape &shape, uint32_t part, uint32_t window,
                                     uint32_t step_hash)
{
        kc_wd_probing p;
        p.first = (uint64_t)part * shape.nwindows;
        p.window = p.outer = window;
        p.step = 1 + (uint32_t)((uint64_t)step_hash * (shape.nwindows - 1) >> 32);
        p.number = p.near = 0;
        return p;
}

KC_HD kc_wd_probing kc_wd_probing_begin(const kc_wd_shape &shape, uint64_t hash)
{
        uint64_t within = hash << shape.part_bits;
        return kc_wd_probing_at(shape, kc_wd_part(hash, shape.part_bits),
                                (uint32_t)kc_wd_high_product(within, shape.nwindows),
                                (uint32_t)hash * (uint32_t)KC_WD_SCATTER);
}

/* (a + b) modulo n for a, b up to n; may return n if n is 1 */
KC_HD uint32_t kc_wd_add_modulo(uint32_t a, uint32_t b, uint32_t n)
{
        uint64_t sum = (uint64_t)a + b;
        return (uint32_t)(sum >= n ? sum - n : sum);
}

KC_HD void kc_wd_probing_next(const kc_wd_shape &shape, kc_wd_probing *p)
{
        p->number++;
        if (++p->near < shape.linear) {
                p->window = kc_wd_add_modulo(p->window, 1, shape.nwindows);
                return;
        }
        p->near = 0;
        p->window = p->outer = kc_wd_add_modulo(p->outer, p->step, shape.nwindows);
}

/* The first slot of the window, of `group` slots. */
KC_HD uint64_t kc_wd_first_slot(const kc_wd_probing &p, uint32_t group)
{
        return (p.first + p.window) * group;
}

/* The smallest prime not less than n; 1 for n = 0 and 1. */
static inline uint32_t kc_wd_prime_from(uint32_t n)
{
        if (n <= 1)
                return 1;
        for (;; n++) {
                bool prime = n == 2 || n % 2 != 0;
                for (uint32_t d = 3; prime && (uint64_t)d * d <= n; d += 2)
                        prime = n % d != 0;
                if (prime)
                        return n;
        }
}

/* ---- words of remainder and count ---- */

/*
 *      bit 63                                                                bit 0
 *      [ count, modulo 2^count_bits | number of the probe | remainder ]
 *
 * A word need not store the window at which the key's probing starts: part, window, number of the
 * probe and remainder determine the mixed key (Cleary 1984; Knuth's exercise 6.4-13). The two
 * highest numbers stand for a free slot and a tombstone. Numbers have 8 bits, or as many as
 * max_probes needs if the count keeps 16.
 */
enum : uint32_t {
        KC_WD_MIN_NUMBER_BITS = 8,
        KC_WD_MIN_COUNT_BITS = 8,
        KC_WD_GOOD_COUNT_BITS = 16,
};

static constexpr uint64_t KC_WD_FREE = UINT64_MAX;

struct kc_wd_word_shape {
        int remainder_bits;
        int number_bits;
        int count_bits; /* below KC_WD_MIN_COUNT_BITS: the map has too few windows for the keys */
};

/* The number that a free slot has; tombstones have the one before, and keys those below. */
KC_HD uint32_t kc_wd_free_number(const kc_wd_word_shape &s)
{
        return ((uint32_t)1 << s.number_bits) - 1;
}

/* Divide the mixed keys of a part evenly among its windows; limits max_probes to what numbers can
 * express. */
static inline kc_wd_word_shape kc_wd_divide(kc_wd_shape *shape)
{
        kc_wd_word_shape s = { 1, KC_WD_MIN_NUMBER_BITS, 0 };
        unsigned __int128 nkeys = (unsigned __int128)1 << (shape->key_bits - shape->part_bits);
        unsigned __int128 quotient = (nkeys + shape->nwindows - 1) / shape->nwindows;
        while (s.remainder_bits < 64 && (quotient - 1) >> s.remainder_bits != 0)
                s.remainder_bits++;
        int spare_bits = 64 - s.remainder_bits - (int)KC_WD_GOOD_COUNT_BITS;
        while (s.number_bits < spare_bits && kc_wd_free_number(s) - 1 < shape->max_probes)
                s.number_bits++;
        s.count_bits = 64 - s.number_bits - s.remainder_bits;
        if (shape->max_probes > kc_wd_free_number(s) - 1)
                shape->max_probes = kc_wd_free_number(s) - 1;
        shape->quotient = (uint64_t)quotient; /* 0 for 2^64: too many */
        shape->inverse = shape->quotient == 0 ? 0 : UINT64_MAX / shape->quotient;
        return s;
}

KC_HD uint64_t kc_wd_word_mask(const kc_wd_word_shape &s)
{
        return UINT64_MAX >> s.count_bits;
}

/* All of a word but its count. */
KC_HD uint64_t kc_wd_word_of(const kc_wd_word_shape &s, uint64_t remainder, uint32_t number)
{
        return (uint64_t)number << s.remainder_bits | remainder;
}

KC_HD uint64_t kc_wd_word_tombstone(const kc_wd_word_shape &s)
{
        return kc_wd_word_of(s, 0, kc_wd_free_number(s) - 1);
}

KC_HD uint32_t kc_wd_word_number(const kc_wd_word_shape &s, uint64_t word)
{
        return (uint32_t)(word >> s.remainder_bits) & kc_wd_free_number(s);
}

KC_HD uint64_t kc_wd_word_remainder(const kc_wd_word_shape &s, uint64_t word)
{
        return kc_wd_low_bits(word, s.remainder_bits);
}

KC_HD uint64_t kc_wd_word_count(const kc_wd_word_shape &s, uint64_t word)
{
        return word >> (64 - s.count_bits);
}

/* Steps depend on the remainder alone, so that they can be recomputed from the word. */
KC_HD uint32_t kc_wd_step_hash(uint64_t remainder)
{
        return (uint32_t)(remainder * KC_WD_SCATTER >> 32);
}

KC_HD kc_wd_probing kc_wd_probing_words(const kc_wd_shape &shape, uint64_t mixed,
                                        uint64_t *remainder)
{
        int within_bits = shape.key_bits - shape.part_bits;
        uint64_t within = kc_wd_low_bits(mixed, within_bits);
        uint32_t part = shape.part_bits == 0 ? 0 : (uint32_t)(mixed >> within_bits);
        uint64_t window = kc_wd_high_product(within, shape.inverse); /* or one too few */
        *remainder = within - window * shape.quotient;
        if (*remainder >= shape.quotient) {
                *remainder -= shape.quotient;
                window++;
        }
        return kc_wd_probing_at(shape, part, (uint32_t)window, kc_wd_step_hash(*remainder));
}

/* The mixed key whose `word` is in slot `slot`. */
KC_HD uint64_t kc_wd_word_mixed(const kc_wd_shape &shape, const kc_wd_word_shape &s, uint64_t slot,
                                uint64_t word)
{
        uint64_t remainder = kc_wd_word_remainder(s, word);
        uint64_t number = kc_wd_word_number(s, word), window = slot / shape.group;
        uint64_t part = window / shape.nwindows;
        kc_wd_probing p = kc_wd_probing_at(shape, 0, 0, kc_wd_step_hash(remainder));
        uint64_t way = (number / shape.linear * p.step + number % shape.linear) % shape.nwindows;
        window = (window % shape.nwindows + shape.nwindows - way) % shape.nwindows;
        uint64_t within = window * shape.quotient + remainder;
        return (shape.part_bits == 0 ? 0 : part << (shape.key_bits - shape.part_bits)) | within;
}

#endif
