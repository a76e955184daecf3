/*
 * Sets of pairs for the tests of the encoders.
 */
#ifndef KC_TESTS_GPU_ENCODE_SUPPORT_CUH
#define KC_TESTS_GPU_ENCODE_SUPPORT_CUH

#include "support.cuh"

#include "gpu/device/key.cuh"
#include "kmer/block_codec.h"

#include <vector>

enum kmer_shape { RANDOM, DENSE, DENSE_TOP, CLUSTERS, ENDS, GROWING, NSHAPES };
enum count_shape { ONES, READS, ANY_SIZE, HUGE_ONES, ONE_EXCEPTION, ALL_TWO, NCOUNTS };

template <class Key> static inline Key random_key(uint64_t *rng)
{
        Key high = next_random(rng);
        return sizeof(Key) == 8 ? high : (Key)(high << 32 << 32 | next_random(rng));
}

/* Ascending, distinct; fewer than n if there are no more. Steps let n k-mers fit below 4^k. */
template <class Key>
static inline std::vector<Key> make_kmers(int k, size_t n, enum kmer_shape shape, uint64_t seed)
{
        const Key top = kc_key_mask<Key>(k);
        const Key step = top / (Key)(n + 1) ? top / (Key)(n + 1) : 1;
        std::vector<Key> kmers;
        Key at = shape == DENSE_TOP && (Key)n < top ? top - (Key)n + 1 : 0;
        for (size_t i = 0; i < n; i++) {
                kmers.push_back(at);
                Key more = 1;
                if (shape == RANDOM)
                        more = 1 + random_key<Key>(&seed) % step;
                else if (shape == CLUSTERS)
                        more = i % 700 == 699 ? step : 1 + next_random(&seed) % 3 % step;
                else if (shape == ENDS)
                        more = i == n / 2 ? top - at - (Key)(n - i - 1) : 1;
                else if (shape == GROWING)
                        more = 1 + (step >> (i % 60)) / 2;
                if (top - at < more)
                        break;
                at += more;
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
