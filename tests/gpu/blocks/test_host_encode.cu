/*
 * The functions with which the device encodes blocks, run by one thread: plans and words must be
 * those of kc_block_plan and kc_block_encode.
 */
#include "tests/gpu/blocks/encode_support.cuh"

#include "gpu/blocks/layout.cuh"

template <class Key>
static struct kc_block_plan make_plan(const uint32_t *counts, uint32_t n, Key range)
{
        struct kc_block_plan plan = {};
        uint32_t hist[33] = {}, nbig = 0, below = 0, best = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++)
                if (counts[i] > 1) {
                        hist[kc_block_nbits((uint64_t)(counts[i] - 2))]++;
                        nbig++;
                }
        for (uint32_t width = 0; width <= 32; width++) {
                below += hist[width];
                uint32_t cost = kc_block_width_cost(nbig, nbig - below, width);
                best = cost < best ? cost : best;
        }
        kc_block_plan_kmers(&plan, range, n);
        kc_block_plan_counts(&plan, nbig, best);
        return plan;
}

/* A row's fields. Fields beyond its end are requested, too, but their values do not matter. */
struct row {
        const uint64_t *low;
        uint32_t n;

        KC_HD uint64_t operator()(uint32_t i) const
        {
                return i >= 32 ? 0x5555 : i < n ? low[i] : 0;
        }
};

/* Rows of 32 fields; each half word is made independently. */
static void put_fields(const struct kc_block_plan *plan, const std::vector<uint64_t> &low,
                       uint32_t *halves)
{
        uint32_t r = plan->low_nbits % 64;
        uint32_t nhalves = 2 * kc_block_words_for(plan->n * r);
        for (uint32_t at = 0; r > 0 && at < nhalves; at++) {
                uint32_t i = at / r * 32; /* the row's first field */
                struct row row = { low.data() + i, i < plan->n ? plan->n - i : 0 };
                halves[at] = kc_block_half_word(kc_block_window(at % r, r), r, row);
        }
}

static void put_counts(const struct kc_block_plan *plan, const uint32_t *counts, uint64_t *words)
{
        uint64_t *bitmap = words + kc_block_bitmap_at(plan);
        uint32_t *halves = (uint32_t *)(words + kc_block_counts_at(plan));
        uint64_t *exception = words + plan->nwords - plan->nexceptions;
        uint32_t rank = 0;
        for (uint32_t i = 0; i < plan->n; i++) {
                if (counts[i] <= 1)
                        continue;
                bitmap[i / 64] |= UINT64_C(1) << i % 64;
                struct kc_block_scatter s = kc_block_count_field(rank++, plan->width, counts[i]);
                if (s.low != 0)
                        halves[s.half] |= s.low;
                if (s.high != 0)
                        halves[s.half + 1] |= s.high;
                if (kc_block_is_exception(counts[i], plan->width))
                        *exception++ = kc_block_exception(i, counts[i]);
        }
}

template <class Key>
static void put_block(const struct kc_block_plan *plan, const Key *kmers, const uint32_t *counts,
                      uint64_t *words)
{
        std::vector<uint64_t> low(plan->n);
        uint32_t l = plan->low_nbits;
        words[0] = kc_block_head(plan);
        for (uint32_t i = 0; i < plan->n; i++) {
                Key value = kmers[i] - kmers[0];
                uint32_t at = (uint32_t)(value >> l) + i;
                words[1 + at / 64] |= UINT64_C(1) << at % 64;
                for (uint32_t j = 0; j < l / 64; j++)
                        words[kc_block_plane_at(plan, j) + i] = kc_key_word(value, (int)j);
                low[i] = kc_block_low((uint64_t)(value >> l / 64 * 64), l % 64);
        }
        put_fields(plan, low, (uint32_t *)(words + kc_block_fields_at(plan)));
        put_counts(plan, counts, words);
}

template <class Key>
static void check_block(const std::vector<Key> &kmers, const std::vector<uint32_t> &counts)
{
        const size_t n = kmers.size();
        const int nw = sizeof(Key) / 8;
        struct kc_block_plan expected;
        kc_block_plan(&expected, (const uint64_t *)kmers.data(), counts.data(), n, nw);
        struct kc_block_plan plan =
                make_plan(counts.data(), (uint32_t)n, (Key)(kmers[n - 1] - kmers[0]));
        assert_memory_equal(&plan, &expected, sizeof plan);
        assert_true(plan.nwords <= kc_block_max_words(nw));

        std::vector<uint64_t> want(plan.nwords), words(plan.nwords);
        kc_block_encode(&expected, (const uint64_t *)kmers.data(), counts.data(), nw, want.data());
        struct kc_block_plan again = kc_block_plan_of(kc_block_head(&plan), plan.nwords);
        put_block(&again, kmers.data(), counts.data(), words.data());
        assert_memory_equal(words.data(), want.data(), plan.nwords * sizeof(uint64_t));
}

template <class Key> static void check_all(int k)
{
        static const size_t sizes[] = { 1, 2, 3, 31, 32, 33, 63, 64, 65, 100, 1000, 1023, 1024 };
        for (size_t n : sizes)
                for (int shape = 0; shape < NSHAPES; shape++) {
                        std::vector<Key> kmers = make_kmers<Key>(k, n, (kmer_shape)shape, n + k);
                        for (int c = 0; c < NCOUNTS; c++)
                                check_block(kmers, make_counts(kmers.size(), (count_shape)c, n));
                }
}

static void blocks_are_those_of_the_host(void **state)
{
        (void)state;
        for (int k = 1; k <= 32; k++)
                check_all<kc_key64>(k);
        for (int k = 33; k <= 64; k++)
                check_all<kc_key128>(k);
        for (int k = 65; k <= 96; k++)
                check_all<kc_key192>(k);
        for (int k = 97; k <= 128; k++)
                check_all<kc_key256>(k);
}

/* Every width of fields, every number of bits to skip. */
static void half_words(void **state)
{
        (void)state;
        uint64_t rng = 5;
        for (uint32_t r = 1; r < 64; r++) {
                uint64_t low[32], want[33] = {};
                for (uint32_t i = 0; i < 32; i++) {
                        low[i] = kc_block_low(next_random(&rng), r);
                        for (uint32_t b = 0; b < r; b++)
                                want[(i * r + b) / 64] |= (low[i] >> b & 1) << (i * r + b) % 64;
                }
                for (uint32_t half = 0; half < r; half++) {
                        uint32_t word =
                                kc_block_half_word(kc_block_window(half, r), r, row{ low, 32 });
                        assert_int_equal(word, (uint32_t)(want[half / 2] >> half % 2 * 32));
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(blocks_are_those_of_the_host),
                cmocka_unit_test(half_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
