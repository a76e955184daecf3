/*
 * Counting a batch on the device, compared with sorting and counting on the host.
 */
#include "gpu/count/count.cuh"
#include "gpu/feed/spans.cuh"
#include "kmer/batch.h"
#include "support.cuh"

#include <algorithm>
#include <utility>
#include <vector>

using letters = std::vector<uint8_t>; /* one segment, one base per byte */

struct batch {
        std::vector<uint64_t> words;
        std::vector<kc_span> spans;
        uint64_t nkmers;
};

static batch pack(const std::vector<letters> &segments, int k)
{
        batch b = {};
        std::vector<kc_segment> kept;
        size_t nspans;
        for (const letters &s : segments) {
                if (s.size() < (size_t)k)
                        continue;
                uint32_t first = (uint32_t)b.words.size(), n = (uint32_t)s.size();
                b.words.resize(first + (n + 31) / 32);
                for (uint32_t i = 0; i < n; i++)
                        b.words[first + i / 32] |= (uint64_t)s[i] << (2 * (i % 32));
                kept.push_back({ first, n });
        }
        kc_gpu_spans_measure(kept.data(), kept.size(), k, &nspans, &b.nkmers);
        b.spans.resize(nspans);
        kc_gpu_spans_cut(kept.data(), kept.size(), k, 0, b.spans.data());
        return b;
}

template <class Key> using table = std::vector<std::pair<Key, uint64_t>>;

template <class Key>
static table<Key> count_plainly(const std::vector<letters> &segments, int k, bool stranded)
{
        std::vector<Key> all;
        for (const letters &s : segments)
                for (size_t i = 0; i + (size_t)k <= s.size(); i++) {
                        Key forward = 0, reverse = 0;
                        for (int j = 0; j < k; j++) {
                                forward = forward << 2 | s[i + (size_t)j];
                                reverse = reverse << 2 | (3u - s[i + (size_t)(k - 1 - j)]);
                        }
                        all.push_back(stranded ? forward : std::min(forward, reverse));
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
        int nruns;
};

template <class Key>
static enum kc_status take(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        taken<Key> *t = (taken<Key> *)ctx;
        std::vector<Key> kmers(run->n);
        std::vector<uint32_t> counts(run->n);
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(t->gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpy(kmers.data(), run->kmers, run->n * sizeof(Key),
                                  cudaMemcpyDeviceToHost)));
        KC_TRY(KC_CUDA(cudaMemcpy(counts.data(), run->counts, run->n * sizeof(uint32_t),
                                  cudaMemcpyDeviceToHost)));
        for (size_t i = 0; i < run->n; i++) {
                assert_true(i == 0 || kmers[i - 1] < kmers[i]);
                t->pairs.push_back({ kmers[i], counts[i] });
        }
        t->nruns++;
out:
        kc_gpu_run_free(t->gpu, run);
        return status;
}

template <class Key> static table<Key> summed(table<Key> pairs)
{
        std::sort(pairs.begin(), pairs.end());
        table<Key> sums;
        for (const auto &pair : pairs) {
                if (sums.empty() || sums.back().first != pair.first)
                        sums.push_back({ pair.first, 0 });
                sums.back().second += pair.second;
        }
        return sums;
}

/* The reads on the device, in the form of kc_gpu_reads. */
struct uploaded {
        struct kc_gpu_reads reads;
        uint64_t *words;
        kc_span *spans;
};

static void upload(uploaded *u, const batch &b)
{
        struct kc_error error = {}, *err = &error;
        u->words = NULL;
        u->spans = NULL;
        expect_ok(KC_CUDA(cudaMalloc(&u->words, b.words.size() * sizeof(uint64_t))), err);
        expect_ok(KC_CUDA(cudaMalloc(&u->spans, (b.spans.size() + 1) * sizeof(kc_span))), err);
        expect_ok(KC_CUDA(cudaMemcpy(u->words, b.words.data(), b.words.size() * sizeof(uint64_t),
                                     cudaMemcpyHostToDevice)),
                  err);
        expect_ok(KC_CUDA(cudaMemcpy(u->spans, b.spans.data(), b.spans.size() * sizeof(kc_span),
                                     cudaMemcpyHostToDevice)),
                  err);
        expect_ok(KC_CUDA(cudaDeviceSynchronize()), err); /* gpu.stream does not wait for it */
        u->reads = { u->words, u->spans, b.words.size(), b.spans.size(), b.nkmers };
}

template <class Key>
static void check(const std::vector<letters> &segments, int k, bool stranded,
                  enum kc_gpu_table table_kind)
{
        struct kc_error error = {}, *err = &error;
        struct kc_gpu gpu;
        kc_gpu_counter<Key> *counter = NULL;
        uint64_t nsaturated = 0;
        batch b = pack(segments, k);
        uploaded u;
        expect_ok(kc_gpu_open(&gpu, 0, (size_t)2 << 30, err), err);
        upload(&u, b);
        expect_ok(kc_gpu_counter_new<Key>(&counter, &gpu, k, stranded, table_kind, b.nkmers, err),
                  err);
        assert_true(gpu.used_nbytes <= kc_gpu_counter_nbytes<Key>(k, b.nkmers));
        taken<Key> t = { &gpu, {}, 0 };
        kc_gpu_run_taker<Key> taker = { &t, take<Key> };
        expect_ok(kc_gpu_counter_count(counter, &u.reads, &taker, &nsaturated, err), err);
        table<Key> expected = count_plainly<Key>(segments, k, stranded), got = summed(t.pairs);
        if (expected != got)
                fail_msg("k=%d stranded=%d table %d: %zu k-mers expected, %zu found", k, stranded,
                         (int)table_kind, expected.size(), got.size());
        assert_int_equal(nsaturated, 0);
        kc_gpu_counter_free(counter);
        assert_int_equal(gpu.used_nbytes, 0);
        kc_gpu_close(&gpu);
        expect_ok(KC_CUDA(cudaFree(u.words)), err);
        expect_ok(KC_CUDA(cudaFree(u.spans)), err);
}

static void check_widths(const std::vector<letters> &segments, int k, bool stranded,
                         enum kc_gpu_table table)
{
        if (k <= 32)
                check<kc_key64>(segments, k, stranded, table);
        else
                check<kc_key128>(segments, k, stranded, table);
}

static letters random_letters(uint64_t *state, size_t n, int nletters)
{
        letters s(n);
        for (uint8_t &base : s)
                base = (uint8_t)(next_random(state) % (uint64_t)nletters);
        return s;
}

/* Reads of a small genome, from either strand, with errors; of all kinds of lengths. */
static std::vector<letters> sample_reads(uint64_t seed, size_t nreads)
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

static const int all_k[] = { 1,  2,  3,  4,  5,  8,  11, 12, 13, 14, 15, 16, 17, 21,
                             25, 27, 31, 32, 33, 34, 41, 47, 48, 49, 55, 63, 64 };

static const enum kc_gpu_table all_tables[] = { KC_TABLE_WARPDRIVE, KC_TABLE_SLAB, KC_TABLE_LINEAR,
                                                KC_TABLE_HOPSCOTCH };

static void each_k(const std::vector<letters> &segments)
{
        for (int k : all_k)
                for (int stranded = 0; stranded < 2; stranded++)
                        for (enum kc_gpu_table table : all_tables)
                                check_widths(segments, k, stranded != 0, table);
}

static void reads_of_a_genome(void **state)
{
        (void)state;
        each_k(sample_reads(1, test_small() ? 40 : 1500));
}

static void one_kmer_and_none(void **state)
{
        (void)state;
        for (int k : all_k) {
                uint64_t random = 5;
                check_widths({ random_letters(&random, (size_t)k, 4) }, k, false,
                             KC_TABLE_WARPDRIVE);
                check_widths({ random_letters(&random, (size_t)k - 1, 4) }, k, false,
                             KC_TABLE_WARPDRIVE);
        }
}

static void long_segment(void **state)
{
        uint64_t random = 7;
        (void)state;
        size_t n = test_small() ? 1500 : 30000;
        each_k({ random_letters(&random, n, 4), random_letters(&random, n, 2) });
}

static void one_letter(void **state)
{
        (void)state;
        each_k({ letters(3000, 0), letters(3000, 3), letters(150, 0) });
}

static void one_read_again_and_again(void **state)
{
        uint64_t random = 9;
        (void)state;
        std::vector<letters> reads(test_size(20000), random_letters(&random, 150, 4));
        for (int k : { 5, 31, 32, 55 })
                for (enum kc_gpu_table table : all_tables)
                        check_widths(reads, k, false, table);
}

/* More distinct k-mers than tables and pair buffers hold at a time: several runs. */
static void all_distinct(void **state)
{
        uint64_t random = 11;
        (void)state;
        std::vector<letters> reads;
        for (int i = 0; i < (test_small() ? 9 : 30); i++)
                reads.push_back(random_letters(&random, 60000, 4));
        size_t number = 0;
        for (int k : { 16, 31, 64 })
                for (enum kc_gpu_table table : all_tables)
                        if (test_takes(number++, 3))
                                check_widths(reads, k, false, table);
}

/* For the memory and race checkers, which are slow. */
static void little_of_all(void **state)
{
        uint64_t random = 13;
        (void)state;
        std::vector<letters> reads = sample_reads(12, 60);
        reads.push_back(letters(700, 3));
        for (int i = 0; i < 40; i++)
                reads.push_back(reads[0]);
        reads.push_back(random_letters(&random, 6000, 4));
        for (int k : { 5, 31, 32, 55 })
                for (enum kc_gpu_table table : all_tables)
                        check_widths(reads, k, k == 32, table);
}

int main(void)
{
        need_device();
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(little_of_all),     cmocka_unit_test(one_kmer_and_none),
                cmocka_unit_test(reads_of_a_genome), cmocka_unit_test(long_segment),
                cmocka_unit_test(one_letter),        cmocka_unit_test(one_read_again_and_again),
                cmocka_unit_test(all_distinct),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
