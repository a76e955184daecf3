/*
 * For the tests of counting: reads that are kept on a device, k-mers counted plainly, and the runs
 * that counting gives.
 */
#ifndef KC_TESTS_GPU_COUNT_COUNT_SUPPORT_CUH
#define KC_TESTS_GPU_COUNT_COUNT_SUPPORT_CUH

#include "gpu/count/count_internal.cuh"
#include "gpu/engine/plan.cuh"
#include "gpu/feed/spans.cuh"
#include "kmer/batch.h"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

using letters = std::vector<uint8_t>; /* one segment, one base per byte */

struct batch {
        std::vector<uint64_t> words;
        std::vector<kc_span> spans;
        struct kc_spans_size size;
};

static inline struct kc_segment pack_piece(const letters &s, size_t from, size_t end,
                                           std::vector<uint64_t> *words)
{
        struct kc_segment piece = { (uint32_t)words->size(), (uint32_t)(end - from) };
        words->resize(piece.word + (piece.nbases + 31) / 32);
        for (uint32_t i = 0; i < piece.nbases; i++)
                (*words)[piece.word + i / 32] |= (uint64_t)s[from + i] << (2 * (i % 32));
        return piece;
}

/* If several k are counted, k is the smallest of them, and max_k the largest; long segments then
 * come in pieces, and one of each two says which bases they share. max_k is 0 for a single k. */
static inline batch pack(const letters *segments, size_t n, int k, int max_k)
{
        batch b = {};
        std::vector<kc_segment> kept;
        for (const letters *s = segments; s < segments + n; s++) {
                const size_t most = max_k > 0 ? 2 * (size_t)max_k + 37 : s->size();
                uint8_t seen = 0, shared = (uint8_t)(max_k - 1);
                for (size_t from = 0, end = 0; end < s->size(); from = end - shared) {
                        end = std::min(s->size(), from + most);
                        if (end - from < (size_t)k)
                                break;
                        struct kc_segment piece = pack_piece(*s, from, end, &b.words);
                        const bool before = kept.size() % 3 != 0;
                        piece.nbefore = seen;
                        piece.nafter = end < s->size() && !before ? shared : 0;
                        seen = end < s->size() && before ? shared : 0;
                        kept.push_back(piece);
                }
        }
        b.size = kc_gpu_spans_measure(kept.data(), kept.size(), k);
        b.spans.resize(b.size.nspans);
        kc_gpu_spans_cut(kept.data(), kept.size(), k, 0, b.spans.data());
        return b;
}

template <class Key> using table = std::vector<std::pair<Key, uint64_t>>;

template <class Key>
static table<Key> count_plainly(const std::vector<letters> &segments, int k, bool stranded)
{
        const Key mask = ~(Key)0 >> (8 * sizeof(Key) - 2 * (size_t)k);
        std::vector<Key> all;
        for (const letters &s : segments) {
                Key forward = 0, reverse = 0;
                for (size_t i = 0; i < s.size(); i++) {
                        forward = (forward << 2 | (Key)s[i]) & mask;
                        reverse = reverse >> 2 | (Key)(3u - s[i]) << (2 * (k - 1));
                        if (i + 1 >= (size_t)k)
                                all.push_back(stranded ? forward : std::min(forward, reverse));
                }
        }
        std::sort(all.begin(), all.end());
        table<Key> counts;
        for (Key key : all) {
                if (counts.empty() || counts.back().first != key)
                        counts.push_back({ key, 0 });
                counts.back().second++;
        }
        return counts;
}

/* Collects the runs' pairs on the host. */
template <class Key> struct taken {
        struct kc_gpu *gpu;
        table<Key> pairs;
};

template <class Key>
static enum kc_status take(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        taken<Key> *t = (taken<Key> *)ctx;
        std::vector<Key> kmers(run->n);
        std::vector<uint32_t> counts(run->n);
        enum kc_status status;
        KC_TRY(kc_gpu_read(t->gpu, kmers.data(), run->kmers, run->n, err));
        KC_TRY(kc_gpu_read(t->gpu, counts.data(), run->counts, run->n, err));
        for (size_t i = 0; i < run->n; i++) {
                assert_true(i == 0 || kmers[i - 1] < kmers[i]);
                t->pairs.push_back({ kmers[i], counts[i] });
        }
out:
        kc_gpu_run_free(t->gpu, run);
        return status;
}

/* No k-mer is in two runs. */
template <class Key> static table<Key> sorted(table<Key> pairs)
{
        std::sort(pairs.begin(), pairs.end());
        for (size_t i = 1; i < pairs.size(); i++)
                assert_true(pairs[i - 1].first != pairs[i].first);
        return pairs;
}

/* How to count. */
struct counting {
        int k;
        bool stranded;
        enum kc_gpu_table table;
        struct kc_run_filter filter;
        size_t nchunks;
        size_t device_nbytes, host_nbytes; /* for the reads; the rest goes to a file */
        uint64_t nrecords;                 /* of a round; 0: all */
        bool surprise;                     /* the plan is wrong: a third of the records fit */
        uint64_t pass_nkmers;              /* 0: all */
        uint32_t nslots;                   /* of a table; 0: the usual number */
        int max_k;                         /* 0: a single k */
        int most_recounted;                /* percent of the k-mers; 0: any */
        int npasses;                       /* of a walk, if all reads are on the device */
        int position_bits;                 /* of a record */
        bool mixed; /* one pass of a walk has more records than fit, another does not */
};

static inline counting usual(int k, bool stranded, enum kc_gpu_table table)
{
        return { k, stranded, table, { 1, UINT32_MAX }, 1, SIZE_MAX, 0, 0, false, 0, 0, 0, 0,
                 1, 37,       false };
}

static inline void put(struct kc_gpu_kept *kept, const batch &b)
{
        struct kc_error error = {}, *err = &error;
        uint64_t *words;
        kc_span *spans;
        if (b.spans.empty())
                return;
        expect_ok(KC_CUDA(cudaMalloc(&words, b.words.size() * sizeof(uint64_t))), err);
        expect_ok(KC_CUDA(cudaMalloc(&spans, b.spans.size() * sizeof(kc_span))), err);
        expect_ok(KC_CUDA(cudaMemcpy(words, b.words.data(), b.words.size() * sizeof(uint64_t),
                                     cudaMemcpyHostToDevice)),
                  err);
        expect_ok(KC_CUDA(cudaMemcpy(spans, b.spans.data(), b.spans.size() * sizeof(kc_span),
                                     cudaMemcpyHostToDevice)),
                  err);
        expect_ok(KC_CUDA(cudaDeviceSynchronize()), err); /* gpu.stream does not wait for it */
        const struct kc_gpu_reads reads = { words,          spans,         b.words.size(),
                                            b.spans.size(), b.size.nbases, b.size.nkmers,
                                            b.size.nmarks };
        expect_ok(kc_gpu_kept_put(kept, &reads, err), err);
        expect_ok(KC_CUDA(cudaDeviceSynchronize()), err);
        expect_ok(KC_CUDA(cudaFree(words)), err);
        expect_ok(KC_CUDA(cudaFree(spans)), err);
}

static inline struct kc_gpu_kept *keep(struct kc_gpu *gpu,
                                       const struct kc_superkmer_setup *superkmers, int nks,
                                       const std::vector<letters> &segments, const counting &how)
{
        struct kc_error err = {};
        struct kc_gpu_kept *kept;
        const struct kc_gpu_kept_setup setup = {
                *superkmers, 1 << 22, 1 << 16, how.device_nbytes, how.host_nbytes,
                "/tmp",      2,       NULL,    superkmers + 1,    nks - 1
        };
        expect_ok(kc_gpu_kept_new(&kept, gpu, &setup, &err), &err);
        for (size_t i = 0; i < how.nchunks; i++) {
                const size_t first = segments.size() * i / how.nchunks;
                const size_t end = segments.size() * (i + 1) / how.nchunks;
                put(kept,
                    pack(segments.data() + first, end - first, superkmers->span_k, how.max_k));
        }
        return kept;
}

/* Counts that the filter keeps must be there, and no others; those are among the dropped ones. */
template <class Key>
static void compare(const table<Key> &expected, const table<Key> &found, const counting &how,
                    const struct kc_gpu_counted *counted)
{
        std::map<Key, uint64_t> sums(found.begin(), found.end());
        struct kc_run_dropped missing = {};
        for (const auto &pair : expected) {
                const auto there = sums.find(pair.first);
                const uint32_t wanted = (uint32_t)pair.second;
                assert_int_equal(there != sums.end(), kc_run_keeps(&how.filter, wanted));
                if (there == sums.end()) {
                        const struct kc_run_dropped one = { 1, pair.second, pair.second == 1 };
                        kc_run_add_dropped(&missing, &one);
                } else if (there->second != wanted) {
                        fail_msg("k=%d stranded=%d table %d: a count of %llu, not %u", how.k,
                                 how.stranded, (int)how.table, (unsigned long long)there->second,
                                 wanted);
                }
        }
        assert_int_equal(expected.size(), sums.size() + missing.ndistinct);
        assert_int_equal(counted->dropped.ndistinct, missing.ndistinct);
        assert_int_equal(counted->dropped.nkmers, missing.nkmers);
        assert_int_equal(counted->dropped.nunique, missing.nunique);
        assert_int_equal(counted->nsaturated, 0);
}

namespace
{

struct kept_on {
        struct kc_gpu *gpu;
        struct kc_gpu_kept *kept;
};

} // namespace

/* Their loads, and how many k-mers they say they have. */
static inline uint64_t settle(const std::vector<kept_on> &sources, int number,
                              struct kc_load *loads)
{
        struct kc_error err = {};
        uint64_t nkmers = 0;
        std::fill(loads, loads + KC_NLOADS, kc_load{});
        for (const kept_on &source : sources) {
                struct kc_load own[KC_NLOADS];
                uint64_t n;
                assert_int_equal(cudaSetDevice(source.gpu->device), cudaSuccess);
                expect_ok(kc_gpu_kept_loads(source.kept, number, own, &err), &err);
                expect_ok(kc_gpu_kept_nkmers(source.kept, number, &n, &err), &err);
                kc_gpu_kept_settle(source.kept);
                nkmers += n;
                for (int i = 0; i < KC_NLOADS; i++) {
                        loads[i].nrecords += own[i].nrecords;
                        loads[i].nkmers += own[i].nkmers;
                }
        }
        return nkmers;
}

static inline kc_superkmer_setup superkmers_for(int k, int position_bits)
{
        const int m = kc_gpu_minimizer_length(k, 1);
        kc_superkmer_setup setup = kc_key_choose(
                k, [&](auto key) { return kc_superkmer_setup_for<decltype(key)>(k, m); });
        setup.form.position_bits = position_bits;
        return setup;
}

static inline letters random_letters(uint64_t *state, size_t n, int nletters)
{
        letters s(n);
        for (uint8_t &base : s)
                base = (uint8_t)(next_random(state) % (uint64_t)nletters);
        return s;
}

/* As sequencers make them: 150 bases, 40 of them for each base of the genome, one in 200 wrong. */
static inline std::vector<letters> usual_reads(uint64_t seed, size_t ngenome)
{
        enum { LENGTH = 150, COVERAGE = 40, ERROR_EVERY = 200 };
        uint64_t state = seed;
        const letters genome = random_letters(&state, ngenome, 4);
        std::vector<letters> reads;
        for (size_t i = 0; i < ngenome * COVERAGE / LENGTH; i++) {
                const size_t start = next_random(&state) % (ngenome - LENGTH);
                letters s(genome.begin() + (long)start, genome.begin() + (long)start + LENGTH);
                for (uint8_t &base : s)
                        if (next_random(&state) % ERROR_EVERY == 0)
                                base ^= (uint8_t)(1 + next_random(&state) % 3);
                reads.push_back(s);
        }
        return reads;
}

/* Reads of a small genome, from either strand, with errors; of all kinds of lengths. */
static inline std::vector<letters> sample_reads(uint64_t seed, size_t nreads)
{
        uint64_t state = seed;
        letters genome = random_letters(&state, 5000, 4);
        std::vector<letters> reads;
        for (size_t i = 0; i < nreads; i++) {
                size_t n = next_random(&state) % 8 ? 100 + next_random(&state) % 60
                                                   : next_random(&state) % 900;
                size_t start = next_random(&state) % (genome.size() - n);
                letters s(genome.begin() + (long)start, genome.begin() + (long)(start + n));
                if (next_random(&state) % 2) {
                        std::reverse(s.begin(), s.end());
                        for (uint8_t &base : s)
                                base = 3 - base;
                }
                for (uint8_t &base : s)
                        if (next_random(&state) % 100 == 0)
                                base = (uint8_t)(next_random(&state) % 4);
                reads.push_back(s);
        }
        return reads;
}

#endif
