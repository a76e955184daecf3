/*
 * Runs for the tests of the LSM, and the plain merge with which results are compared.
 */
#ifndef KC_TESTS_GPU_RUNS_LSM_SUPPORT_CUH
#define KC_TESTS_GPU_RUNS_LSM_SUPPORT_CUH

#include "gpu/device/key.cuh"
#include "gpu/runs/cuts.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <vector>

template <class Key> struct pair {
        Key kmer;
        uint32_t count;
};

template <class Key> using pairs = std::vector<pair<Key>>;

static inline bool random_bool(uint64_t *state)
{
        return next_random(state) & 1;
}

/* Distinct, ascending. */
template <class Key>
static pairs<Key> make_run(std::vector<Key> kmers, uint64_t *state, int count_bits)
{
        std::sort(kmers.begin(), kmers.end());
        kmers.erase(std::unique(kmers.begin(), kmers.end()), kmers.end());
        pairs<Key> run;
        for (Key kmer : kmers)
                run.push_back({ kmer, std::max((uint32_t)next_random(state) >> (32 - count_bits),
                                               (uint32_t)1) });
        return run;
}

/*
 * About n pairs, drawn from `ndistinct` k-mers, which are the same for all runs, spread over the
 * key space, and include the lowest and the highest.
 */
template <class Key>
static pairs<Key> random_run(size_t n, uint64_t ndistinct, uint64_t *state, int count_bits)
{
        std::vector<Key> kmers;
        for (size_t i = 0; i < n; i++) {
                uint64_t which = next_random(state) % ndistinct;
                kmers.push_back(which == 0   ? (Key)0
                                : which == 1 ? (Key) ~(Key)0
                                             : any_key<Key>(&which));
        }
        return make_run(kmers, state, count_bits);
}

/* Merge all runs; *nsaturated grows by what saturation cuts off. */
template <class Key>
static pairs<Key> merge_plainly(const std::vector<pairs<Key>> &runs, uint64_t *nsaturated)
{
        pairs<Key> all, merged;
        for (const pairs<Key> &run : runs)
                all.insert(all.end(), run.begin(), run.end());
        std::sort(all.begin(), all.end(),
                  [](const pair<Key> &a, const pair<Key> &b) { return a.kmer < b.kmer; });
        for (size_t i = 0; i < all.size();) {
                Key kmer = all[i].kmer;
                uint64_t sum = 0;
                for (; i < all.size() && all[i].kmer == kmer; i++)
                        sum += all[i].count;
                merged.push_back({ kmer, (uint32_t)std::min(sum, (uint64_t)UINT32_MAX) });
                *nsaturated += sum - merged.back().count;
        }
        return merged;
}

/* Fails the test if the runs differ. */
template <class Key> static void expect_equal(const pairs<Key> &got, const pairs<Key> &wanted)
{
        for (size_t i = 0; i < got.size() && i < wanted.size(); i++)
                if (got[i].kmer != wanted[i].kmer || got[i].count != wanted[i].count)
                        fail_msg("pair %zu of %zu: k-mer %016llx count %u, wanted %016llx count %u",
                                 i, wanted.size(), (unsigned long long)got[i].kmer, got[i].count,
                                 (unsigned long long)wanted[i].kmer, wanted[i].count);
        assert_int_equal(got.size(), wanted.size());
}

/* A run and its fences. */
template <class Key> struct fenced_run {
        pairs<Key> run;
        std::vector<Key> kmers;
        struct kc_fences<Key> fences;
};

template <class Key> static void fence(struct fenced_run<Key> *run)
{
        for (size_t i = 0; i < run->run.size(); i += KC_FENCE_NPAIRS)
                run->kmers.push_back(run->run[i].kmer);
        assert_int_equal(run->kmers.size(), kc_fences_count(run->run.size()));
        run->fences = { run->kmers.data(), run->kmers.size(), run->run.size(), 0 };
}

/* Pairs below the split. */
template <class Key> static size_t rank(const pairs<Key> &run, Key split)
{
        return (size_t)(std::lower_bound(run.begin(), run.end(), split,
                                         [](const pair<Key> &p, Key k) { return p.kmer < k; }) -
                        run.begin());
}

#endif
