/*
 * Sets of pairs for the tests of the encoders.
 */
#ifndef KC_TESTS_GPU_BLOCKS_ENCODE_SUPPORT_CUH
#define KC_TESTS_GPU_BLOCKS_ENCODE_SUPPORT_CUH

#include "tests/gpu/support.cuh"

#include "gpu/device/key.cuh"
#include "kmer/block_codec.h"

#include <vector>

enum kmer_shape { RANDOM, DENSE, DENSE_TOP, CLUSTERS, ENDS, GROWING, NSHAPES };
enum count_shape { ONES, READS, ANY_SIZE, HUGE_ONES, ONE_EXCEPTION, ALL_TWO, NCOUNTS };

/* a / by, for keys that cannot be divided. */
template <class Key> static inline Key divided(Key a, uint32_t by)
{
        Key quotient = 0;
        uint64_t rest = 0;
        for (int bit = 8 * (int)sizeof(Key) - 1; bit >= 0; bit--) {
                rest = rest << 1 | ((uint64_t)(a >> bit) & 1);
                if (rest >= by) {
                        rest -= by;
                        quotient |= (Key)1 << bit;
                }
        }
        return quotient;
}

/* A random key below `end`, which is not 0. */
template <class Key> static inline Key random_below(Key end, uint64_t *rng)
{
        int nbits = 1;
        while (nbits < 8 * (int)sizeof(Key) && end >> nbits != 0)
                nbits++;
        Key key;
        do
                key = any_key<Key>(rng) >> (8 * (int)sizeof(Key) - nbits);
        while (key >= end);
        return key;
}

/* Ascending, distinct; fewer than n if there are no more. Steps let n k-mers fit below 4^k. */
template <class Key>
static inline std::vector<Key> make_kmers(int k, size_t n, enum kmer_shape shape, uint64_t seed)
{
        const Key top = kc_key_mask<Key>(k);
        const Key share = divided(top, (uint32_t)n + 1), step = share != 0 ? share : (Key)1;
        std::vector<Key> kmers;
        Key at = shape == DENSE_TOP && (Key)n < top ? top - (Key)n + 1 : 0;
        for (size_t i = 0; i < n; i++) {
                kmers.push_back(at);
                Key more = 1;
                if (shape == RANDOM)
                        more = random_below(step, &seed) + 1;
                else if (shape == CLUSTERS)
                        more = i % 700 == 699 ? step
                                              : random_below(step < 3 ? step : (Key)3, &seed) + 1;
                else if (shape == ENDS)
                        more = i == n / 2 ? top - at - (Key)(n - i - 1) : 1;
                else if (shape == GROWING)
                        more = (step >> (i % 60) >> 1) + 1;
                if (top - at < more)
                        break;
                at = at + more;
        }
        return kmers;
}

static inline uint32_t make_count(enum count_shape shape, size_t i, uint64_t *rng)
{
        uint64_t r = next_random(rng);
        switch (shape) {
        case ONES:
                return 1;
        case READS:
                return r % 4 != 0 ? 1 : r % 1000 == 0 ? (uint32_t)(r >> 40) : 2 + (r >> 8) % 60;
        case ANY_SIZE:
                return 1 + ((uint32_t)(r >> 32) & (UINT32_MAX >> 1)) % (1u << r % 31);
        case HUGE_ONES:
                return UINT32_MAX - r % 2 * (r >> 32 & 1);
        case ONE_EXCEPTION:
                return i % 1024 == 777 ? 1000000 : 1 + r % 3;
        default:
                return 2;
        }
}

static inline std::vector<uint32_t> make_counts(size_t n, enum count_shape shape, uint64_t seed)
{
        std::vector<uint32_t> counts(n);
        for (size_t i = 0; i < n; i++)
                counts[i] = make_count(shape, i, &seed);
        return counts;
}

#endif
