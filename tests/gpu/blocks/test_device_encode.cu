/*
 * The device's encoder, compared with the host's: the same blocks word for word, whatever the
 * ranges and the pairs. With the argument "speed" it measures its speed; another
 * argument selects the tests of that name.
 */
#include "tests/gpu/blocks/encode_support.cuh"
#include "tests/gpu/open_gpu.cuh"

#include "base/clock.h"
#include "gpu/blocks/encode.cuh"

#include <algorithm>

/* A run as it should be encoded. */
template <class Key> struct expected {
        std::vector<uint64_t> words; /* with 0 for each checksum */
        std::vector<uint32_t> block_nwords, big_counts;
        std::vector<Key> kmers;
        std::vector<uint32_t> counts;
        uint64_t rows[KC_RUN_NROWS];
};

template <class Key> static void encode_on_host(struct expected<Key> *e)
{
        for (size_t at = 0; at < e->kmers.size(); at += KC_BLOCK_NKMERS) {
                size_t n = std::min(e->kmers.size() - at, (size_t)KC_BLOCK_NKMERS);
                const uint64_t *kmers = (const uint64_t *)(e->kmers.data() + at);
                struct kc_block_plan plan;
                kc_block_plan(&plan, kmers, e->counts.data() + at, n, sizeof(Key) / 8);
                size_t begin = e->words.size();
                e->words.resize(begin + plan.nwords + 1);
                kc_block_encode(&plan, kmers, e->counts.data() + at, sizeof(Key) / 8,
                                e->words.data() + begin);
                e->block_nwords.push_back(plan.nwords);
        }
}

template <class Key>
static struct expected<Key> expect(const std::vector<Key> &kmers,
                                   const std::vector<uint32_t> &counts) {
        expected<Key> e = {};
        e.kmers = kmers;
        e.counts = counts;
        for (uint32_t count : counts)
                if (count < KC_RUN_NROWS)
                        e.rows[count]++;
                else
                        e.big_counts.push_back(count);
        std::sort(e.big_counts.begin(), e.big_counts.end());
        encode_on_host(&e);
        return e;
}

/* Append the part's contents. */
template <class Key>
static void collect(struct expected<Key> *got, const struct kc_run_blocks *b)
{
        got->words.insert(got->words.end(), b->words, b->words + b->nwords);
        got->block_nwords.insert(got->block_nwords.end(), b->block_nwords,
                                 b->block_nwords + b->nblocks);
        got->big_counts.insert(got->big_counts.end(), b->big_counts, b->big_counts + b->nbig);
        for (int i = 0; i < KC_RUN_NROWS; i++)
                got->rows[i] += b->rows[i];
        assert_int_equal(b->dropped.ndistinct, 0);
}

/* Check the k-mers that come with a part's blocks. */
template <class Key>
static void check_ends(const struct expected<Key> *want, size_t begin,
                       const struct kc_run_blocks *b)
{
        const Key *firsts = (const Key *)b->firsts;
        assert_true(begin + b->n <= want->kmers.size());
        for (size_t i = 0; i < b->nblocks; i++)
                assert_true(firsts[i] == want->kmers[begin + i * KC_BLOCK_NKMERS]);
        if (b->nblocks > 0)
                assert_memory_equal(b->last_kmer, &want->kmers[begin + b->n - 1], sizeof(Key));
}

template <class T> static void assert_same(const std::vector<T> &a, const std::vector<T> &b)
{
        assert_int_equal(a.size(), b.size());
        for (size_t i = 0; i < a.size(); i++)
                if (a[i] != b[i])
                        fail_msg("element %zu of %zu: %llx, not %llx", i, a.size(),
                                 (unsigned long long)a[i], (unsigned long long)b[i]);
}

template <class Key> static void check_all(struct expected<Key> *want, struct expected<Key> *got)
{
        assert_same(got->block_nwords, want->block_nwords);
        assert_same(got->words, want->words);
        std::sort(got->big_counts.begin(), got->big_counts.end());
        assert_same(got->big_counts, want->big_counts);
        assert_memory_equal(got->rows, want->rows, sizeof want->rows);
}

template <class Key>
static void upload(struct kc_gpu_run<Key> *run, const Key *kmers, const uint32_t *counts, size_t n)
{
        struct kc_error error = {}, *err = &error;
        run->n = n;
        if (n == 0)
                return;
        expect_ok(KC_CUDA(cudaMemcpyAsync(run->kmers, kmers, n * sizeof *kmers,
                                          cudaMemcpyHostToDevice, gpu.stream)),
                  err);
        expect_ok(KC_CUDA(cudaMemcpyAsync(run->counts, counts, n * sizeof *counts,
                                          cudaMemcpyHostToDevice, gpu.stream)),
                  err);
        expect_ok(KC_CUDA(cudaStreamSynchronize(gpu.stream)), err);
}

enum { NSLOTS = 2 };

/* A run on its way through the encoder. */
template <class Key> struct passage {
        struct kc_gpu_encoder<Key> *encoder;
        struct expected<Key> *want, got;
        size_t nparts, nread; /* parts downloaded; k-mers of the parts read */
};

template <class Key> static void read_part(struct passage<Key> *p, size_t part, size_t part_pairs)
{
        struct kc_error err = {};
        struct kc_run_blocks blocks;
        expect_ok(kc_gpu_encoder_wait(p->encoder, (int)(part % NSLOTS), &blocks, &err), &err);
        assert_true(blocks.n <= std::max(part_pairs, (size_t)KC_BLOCK_NKMERS));
        check_ends(p->want, p->nread, &blocks);
        p->nread += blocks.n;
        collect(&p->got, &blocks);
}

/* A part is read after the download of the next one has begun. */
template <class Key>
static void put_range(struct passage<Key> *p, const struct kc_gpu_run<Key> *range, bool last,
                      size_t part_pairs)
{
        struct kc_error err = {};
        size_t nparts;
        expect_ok(kc_gpu_encoder_put(p->encoder, range, last, &nparts, &err), &err);
        assert_true(nparts >= 1);
        for (size_t i = 0; i < nparts; i++) {
                expect_ok(kc_gpu_encoder_download(p->encoder, (int)(p->nparts % NSLOTS), &err),
                          &err);
                if (p->nparts++ > 0)
                        read_part(p, p->nparts - 2, part_pairs);
        }
}

/* Encode in ranges of up to max_pairs. */
template <class Key>
static void encode_ranges(struct kc_gpu_encoder<Key> *encoder, const std::vector<Key> &kmers,
                          const std::vector<uint32_t> &counts,
                          const struct kc_gpu_encoder_caps *caps, uint64_t seed,
                          struct expected<Key> *want)
{
        struct kc_error err = {};
        struct kc_gpu_run<Key> range;
        struct passage<Key> passage = {
                encoder, want, {}, 0, 0
        };
        const size_t max_pairs = caps->max_pairs;
        size_t begin = 0;
        bool last = false;
        expect_ok(kc_gpu_run_new(&gpu, &range, max_pairs, &err), &err);
        expect_ok(kc_cuda_check(cudaStreamSynchronize(gpu.stream), "allocation", &err), &err);
        while (!last) {
                size_t n = next_random(&seed) % (max_pairs + 1);
                n = std::min(seed % 3 == 0 ? max_pairs : n, kmers.size() - begin);
                upload(&range, kmers.data() + begin, counts.data() + begin, n);
                begin += n;
                last = begin == kmers.size() && next_random(&seed) % 2 == 0;
                put_range(&passage, &range, last, caps->part_pairs);
        }
        read_part(&passage, passage.nparts - 1, caps->part_pairs);
        assert_int_equal(passage.nread, want->kmers.size());
        check_all(want, &passage.got);
        kc_gpu_run_free(&gpu, &range);
}

template <class Key>
static void check_pairs(int k, const std::vector<Key> &kmers, const std::vector<uint32_t> &counts,
                        size_t max_pairs, size_t part_pairs)
{
        struct kc_error err = {};
        struct kc_gpu_encoder<Key> *encoder = NULL;
        struct expected<Key> want = expect(kmers, counts);
        const struct kc_gpu_encoder_caps caps = { max_pairs, part_pairs, NSLOTS };
        expect_ok(kc_gpu_encoder_new(&encoder, &gpu, k, &caps, &err), &err);
        assert_true(gpu.used_nbytes <= kc_gpu_encoder_nbytes<Key>(max_pairs));
        for (uint64_t seed = 1; seed <= 2; seed++) /* one run after another */
                encode_ranges(encoder, kmers, counts, &caps, seed, &want);
        kc_gpu_encoder_free(encoder);
        assert_int_equal(gpu.used_nbytes, 0);
}

/* ---- tests ---- */

template <class Key> static void check_sizes(int k)
{
        static const size_t sizes[] = { 0, 1, 2, 33, 1023, 1024, 1025, 2048, 5000 };
        for (size_t n : sizes) {
                std::vector<Key> kmers = make_kmers<Key>(k, n, RANDOM, n);
                std::vector<uint32_t> counts = make_counts(kmers.size(), READS, n);
                check_pairs(k, kmers, counts, 3000, 2048);
                check_pairs(k, kmers, counts, 700, 1);
        }
}

static void sizes(void **state)
{
        (void)state;
        check_sizes<kc_key64>(31);
        check_sizes<kc_key128>(64);
        check_sizes<kc_key192>(96);
        check_sizes<kc_key256>(101);
}

template <class Key> static void check_shapes(int k, size_t n)
{
        for (int shape = 0; shape < NSHAPES; shape++) {
                std::vector<Key> kmers = make_kmers<Key>(k, n, (kmer_shape)shape, n + k);
                for (int c = 0; c < NCOUNTS; c++)
                        if (test_takes((size_t)(k + shape + c), 5))
                                check_pairs(k, kmers, make_counts(kmers.size(), (count_shape)c, k),
                                            9000, 3333);
        }
}

static void shapes(void **state)
{
        (void)state;
        static const int ks[] = { 1, 2, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 21, 27, 31, 32 };
        for (int k : ks)
                check_shapes<kc_key64>(k, 7001);
        for (int k : { 33, 36, 37, 38, 40, 47, 48, 55, 63, 64 })
                check_shapes<kc_key128>(k, 7001);
        for (int k : { 65, 68, 69, 70, 80, 95, 96 })
                check_shapes<kc_key192>(k, 7001);
        for (int k : { 97, 100, 101, 102, 112, 127, 128 })
                check_shapes<kc_key256>(k, 7001);
}

template <class Key> static void check_ranges(int k, size_t n, size_t max_pairs)
{
        std::vector<Key> kmers = make_kmers<Key>(k, n, RANDOM, n + k);
        for (int c = 0; c < NCOUNTS; c++)
                check_pairs(k, kmers, make_counts(kmers.size(), (count_shape)c, k), max_pairs,
                            3000);
}

static void ranges(void **state)
{
        (void)state;
        check_ranges<kc_key64>(31, 50001, 20000);
        check_ranges<kc_key64>(31, 9000, 100); /* a put seldom fills a block */
        check_ranges<kc_key128>(41, 20000, 7777);
        check_ranges<kc_key192>(77, 5000, 1777);
        check_ranges<kc_key256>(101, 5000, 1777);
}

static void many_blocks(void **state)
{
        (void)state;
        std::vector<kc_key64> kmers = make_kmers<kc_key64>(31, test_size(3000001), RANDOM, 1);
        check_pairs(31, kmers, make_counts(kmers.size(), READS, 1), 1 << 20, 1 << 18);
        check_pairs(31, kmers, make_counts(kmers.size(), ANY_SIZE, 1), 1 << 21, 1 << 22);
        std::vector<kc_key128> wide = make_kmers<kc_key128>(55, test_size(1000001), RANDOM, 1);
        check_pairs(55, wide, make_counts(wide.size(), READS, 1), 1 << 20, 100000);
        std::vector<kc_key256> wider = make_kmers<kc_key256>(101, test_size(500001), RANDOM, 1);
        check_pairs(101, wider, make_counts(wider.size(), READS, 1), 1 << 20, 100000);
}

static void too_many_pairs(void **state)
{
        (void)state;
        struct kc_error err = {};
        struct kc_gpu_encoder<kc_key64> *encoder = NULL;
        kc_gpu_run<kc_key64> range = {};
        struct kc_gpu_encoder_caps caps = { 1000, 1000, 1 };
        size_t limit = gpu.limit_nbytes, nparts;
        range.n = 1001;
        expect_ok(kc_gpu_encoder_new(&encoder, &gpu, 31, &caps, &err), &err);
        assert_int_equal(kc_gpu_encoder_put(encoder, &range, true, &nparts, &err), KC_EUSAGE);
        kc_gpu_encoder_free(encoder);
        err = {};
        encoder = NULL;
        gpu.limit_nbytes = 1 << 20;
        caps.max_pairs = 1 << 20;
        assert_int_equal(kc_gpu_encoder_new(&encoder, &gpu, 31, &caps, &err), KC_ENOMEM);
        assert_null(encoder);
        assert_int_equal(gpu.used_nbytes, 0);
        gpu.limit_nbytes = limit;
}

/* ---- speed ---- */

/* Ascending pairs spread over all k-mers of k bases; counts roughly as in reads at 30x. */
template <class Key> static __global__ void make_run_kernel(struct kc_gpu_run<Key> run, Key step)
{
        size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= run.n)
                return;
        uint64_t hash = kc_key_hash((kc_key64)i * 7919 + 1);
        hash = kc_key_hash(hash);
        run.kmers[i] = (Key)i * step + hash % (uint64_t)step;
        run.counts[i] = hash % 5 != 0 ? 1 : hash >> 40 & 127 ? 10 + (hash >> 20) % 40 : hash >> 50;
        if (run.counts[i] == 0)
                run.counts[i] = 1;
}

struct timing {
        double put_ms, total_ms; /* on the host: until put returns; until the blocks have arrived */
};

static double now_ms(void)
{
        return 1e3 * kc_clock_seconds();
}

template <class Key>
static void time_put(struct kc_gpu_encoder<Key> *encoder, const struct kc_gpu_run<Key> *run,
                     struct timing *best)
{
        struct kc_error error = {}, *err = &error;
        struct kc_run_blocks blocks;
        size_t nparts;
        double begin = now_ms();
        expect_ok(kc_gpu_encoder_put(encoder, run, true, &nparts, err), err);
        best->put_ms = std::min(best->put_ms, now_ms() - begin);
        expect_ok(kc_gpu_encoder_download(encoder, 0, err), err);
        expect_ok(kc_gpu_encoder_wait(encoder, 0, &blocks, err), err);
        best->total_ms = std::min(best->total_ms, now_ms() - begin);
}

template <class Key> static void time_encoder(int k, size_t n)
{
        struct kc_error error = {}, *err = &error;
        struct kc_gpu_encoder<Key> *encoder = NULL;
        struct kc_gpu_run<Key> run;
        struct kc_run_blocks blocks;
        struct timing best = { 1e9, 1e9 };
        expect_ok(kc_gpu_run_new(&gpu, &run, n, err), err);
        const struct kc_gpu_encoder_caps caps = { n, n, 1 };
        expect_ok(kc_gpu_encoder_new(&encoder, &gpu, k, &caps, err), err);
        run.n = n;
        make_run_kernel<<<kc_ceil_div(n, 256), 256, 0, gpu.stream>>>(
                run, (Key)(kc_key_mask<Key>(k) / (Key)n));
        expect_ok(KC_LAUNCHED(), err);
        for (int i = 0; i < 6; i++)
                time_put(encoder, &run, &best);
        expect_ok(kc_gpu_encoder_wait(encoder, 0, &blocks, err), err);
        double nbytes = (double)n * (sizeof(Key) + 4) + blocks.nwords * 8;
        printf("k %d, %zu Mi pairs: put %.3f ms, %.1f G pairs/s, %.0f GB/s (%.2f B a pair "
               "out); with the download %.3f ms, %.1f GB/s\n",
               k, n >> 20, best.put_ms, n / best.put_ms / 1e6, nbytes / best.put_ms / 1e6,
               blocks.nwords * 8.0 / n, best.total_ms,
               blocks.nwords * 8 / (best.total_ms - best.put_ms) / 1e6);
        kc_gpu_encoder_free(encoder);
        kc_gpu_run_free(&gpu, &run);
}

static void speed(void **state)
{
        (void)state;
        time_encoder<kc_key64>(31, 64 << 20);
        time_encoder<kc_key64>(31, 1 << 20);
        time_encoder<kc_key64>(31, 4 << 20);
        time_encoder<kc_key128>(55, 32 << 20);
}

int main(int argc, char **argv)
{
        need_device();
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes),          cmocka_unit_test(shapes),
                cmocka_unit_test(ranges),         cmocka_unit_test(many_blocks),
                cmocka_unit_test(too_many_pairs),
        };
        const struct CMUnitTest timings[] = { cmocka_unit_test(speed) };
        if (argc > 1 && strcmp(argv[1], "speed") != 0)
                cmocka_set_test_filter(argv[1]);
        else if (argc > 1)
                return cmocka_run_group_tests(timings, open_gpu, close_gpu);
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
