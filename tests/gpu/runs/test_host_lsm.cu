/*
 * The parts of the LSM that run on the host: where merges are cut and how they walk, when runs are
 * merged, how the key space is split, unnamed files.
 */
#include "base/temp_file.h"
#include "gpu/runs/merge.cuh"
#include "tests/gpu/runs/lsm_support.cuh"

#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

template <class Key> static std::vector<Key> kmers_of(const pairs<Key> &run)
{
        std::vector<Key> kmers;
        for (const pair<Key> &p : run)
                kmers.push_back(p.kmer);
        return kmers;
}

/* Merge as the device does: in tiles of `length` items, each of them by walks of `step` items. */
template <class Key>
static pairs<Key> merge_by_tiles(const pairs<Key> &a, const pairs<Key> &b, size_t length,
                                 unsigned step)
{
        pairs<Key> merged;
        std::vector<Key> ka = kmers_of(a), kb = kmers_of(b);
        size_t na = a.size(), nb = b.size(), n = na + nb;
        for (size_t begin = 0; begin < n; begin += length) {
                struct kc_merge_cut<size_t> from =
                        kc_merge_cut_at(ka.data(), na, kb.data(), nb, begin);
                struct kc_merge_cut<size_t> to =
                        kc_merge_cut_at(ka.data(), na, kb.data(), nb, std::min(begin + length, n));
                unsigned ta = (unsigned)(to.a - from.a), tb = (unsigned)(to.b - from.b);
                assert_in_range(ta + tb, 0, length + 1);
                for (unsigned at = 0; at < length; at += step) {
                        struct kc_merge_walk<Key> walk;
                        kc_merge_walk_begin(&walk, ka.data() + from.a, ta, kb.data() + from.b, tb,
                                            std::min(at, ta + tb));
                        unsigned end = std::min(at + step, ta + tb), nsteps = 0;
                        for (; walk.at.a + walk.at.b < end; nsteps++) {
                                struct kc_merge_cut<unsigned> was = walk.at;
                                struct kc_merge_item<Key> item = kc_merge_walk_step(&walk);
                                uint32_t ca = item.in_a ? a[from.a + was.a].count : 0;
                                uint32_t cb = item.in_b ? b[from.b + was.b].count : 0;
                                merged.push_back({ item.kmer, kc_count_add(ca, cb) });
                        }
                        assert_in_range(nsteps, 0, step);
                }
        }
        return merged;
}

template <class Key> static void try_merges(void)
{
        uint64_t state = 1;
        const size_t lengths[] = { 0, 1, 2, 7, 31, 32, 33, 100, 1000 };
        for (size_t na : lengths)
                for (size_t nb : lengths)
                        for (uint64_t ndistinct : { 2, 40, 500, 1 << 30 }) {
                                pairs<Key> a = random_run<Key>(na, ndistinct, &state, 31);
                                pairs<Key> b = random_run<Key>(nb, ndistinct, &state, 32);
                                uint64_t nsaturated = 0;
                                pairs<Key> wanted = merge_plainly<Key>({ a, b }, &nsaturated);
                                expect_equal(merge_by_tiles(a, b, 32, 4), wanted);
                                expect_equal(merge_by_tiles(a, b, 1, 1), wanted);
                                expect_equal(merge_by_tiles(a, b, 45, 9), wanted);
                                expect_equal(merge_by_tiles(a, a, 14, 7),
                                             merge_plainly<Key>({ a, a }, &nsaturated));
                        }
}

static void test_merge_by_tiles(void **)
{
#define TRY(Key) try_merges<Key>();
        KC_GPU_KEYS(TRY)
#undef TRY
}

/* A pair is merged O(log n) times, and there are at most about log n runs. */
static void test_levels(void **)
{
        std::vector<size_t> levels;
        size_t work = 0;
        enum { NRUNS = 1000 };
        for (int i = 0; i < NRUNS; i++) {
                levels.push_back(100 + i % 7);
                while (levels.size() > 1 &&
                       kc_lsm_should_merge(levels[levels.size() - 2], levels.back())) {
                        size_t newest = levels.back();
                        levels.pop_back();
                        levels.back() += newest;
                        work += levels.back();
                }
                assert_in_range(levels.size(), 1, 11);
        }
        assert_in_range(work, 1, (size_t)NRUNS * 103 * 12);
        assert_true(kc_lsm_should_merge(1, 1));
        assert_true(kc_lsm_should_merge(7, 3));
        assert_false(kc_lsm_should_merge(8, 3));
}

/* Cut range by range, as the LSM does: every range fits, none is empty, few are short. */
template <class Key>
static void cut_all(std::vector<struct fenced_run<Key>> *runs, size_t max_pairs)
{
        std::vector<const struct kc_fences<Key> *> fences;
        for (struct fenced_run<Key> &run : *runs) {
                fence(&run);
                fences.push_back(&run.fences);
        }
        size_t left, total = kc_fences_left(fences.data(), fences.size()), nranges = 0;
        while ((left = kc_fences_left(fences.data(), fences.size())) > max_pairs) {
                Key split = kc_fences_split(fences.data(), fences.size(), max_pairs);
                size_t n = 0;
                for (struct fenced_run<Key> &run : *runs) {
                        size_t end = rank(run.run, split);
                        assert_true(end >= run.fences.at);
                        assert_true(end - run.fences.at <= kc_fences_bound(&run.fences, split));
                        n += end - run.fences.at;
                        run.fences.at = end;
                }
                assert_in_range(n, 1, max_pairs);
                nranges++;
        }
        if (max_pairs >= 4 * KC_FENCE_NPAIRS * runs->size())
                assert_in_range(nranges, 0, 2 * total / max_pairs + 1);
}

template <class Key> static void try_splits(void)
{
        uint64_t state = 2;
        for (int attempt = 0; attempt < 20; attempt++) {
                size_t nruns = 1 + next_random(&state) % 9;
                uint64_t ndistinct = (uint64_t)1 << (2 + next_random(&state) % 20);
                std::vector<struct fenced_run<Key>> runs(nruns);
                for (struct fenced_run<Key> &run : runs) {
                        size_t n = next_random(&state) % 20000;
                        run.run = random_run<Key>(n, ndistinct, &state, 4);
                }
                std::vector<struct fenced_run<Key>> again = runs;
                cut_all(&runs, nruns * KC_FENCE_NPAIRS);
                cut_all(&again, 4 * nruns * KC_FENCE_NPAIRS);
        }
}

static void test_splits(void **)
{
#define TRY(Key) try_splits<Key>();
        KC_GPU_KEYS(TRY)
#undef TRY
}

/* The all-ones key is a k-mer, and no split can be above it. */
static void test_split_at_the_end(void **)
{
        std::vector<struct fenced_run<kc_key64>> runs(3);
        for (struct fenced_run<kc_key64> &run : runs)
                for (uint64_t i = 0; i < 5000; i++)
                        run.run.push_back({ UINT64_MAX - 4999 + i, 1 });
        cut_all(&runs, 3 * KC_FENCE_NPAIRS);
        const struct kc_fences<kc_key64> *fences[] = {
                &runs[0].fences, &runs[1].fences, &runs[2].fences
        };
        assert_in_range(kc_fences_left(fences, 3), 1, 3 * KC_FENCE_NPAIRS);
}

static void test_count_below(void **)
{
        const kc_key64 kmers[] = { 0, 3, 5, UINT64_MAX };
        assert_int_equal(kc_count_below<kc_key64>(kmers, 0, 1), 0);
        assert_int_equal(kc_count_below<kc_key64>(kmers, 4, 0), 0);
        assert_int_equal(kc_count_below<kc_key64>(kmers, 4, 3), 1);
        assert_int_equal(kc_count_below<kc_key64>(kmers, 4, 4), 2);
        assert_int_equal(kc_count_below<kc_key64>(kmers, 4, UINT64_MAX), 3);
}

static void test_temp_file(void **)
{
        struct kc_error err = {};
        int fd;
        char text[6] = "";
        expect_ok(kc_temp_file_open(".", &fd, &err), &err);
        expect_ok(kc_temp_file_write(".", fd, "hello", 5, 1000, &err), &err);
        expect_ok(kc_temp_file_read(".", fd, text, 5, 1000, &err), &err);
        assert_string_equal(text, "hello");
        assert_int_equal(kc_temp_file_read(".", fd, text, 5, 1003, &err), KC_EIO);
        close(fd);
}

static void test_no_folder(void **)
{
        struct kc_error err = {};
        int fd;
        assert_int_equal(kc_temp_file_open("no/such/folder", &fd, &err), KC_EIO);
        assert_non_null(strstr(err.message, "no/such/folder"));
}

/* A limit on file size stands in for a full disk. */
static void test_full_disk(void **)
{
        struct kc_error err = {};
        struct rlimit old_limit, limit;
        int fd;
        std::vector<char> data(100000);
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
        limit = old_limit;
        limit.rlim_cur = 4096;
        expect_ok(kc_temp_file_open(".", &fd, &err), &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        enum kc_status status = kc_temp_file_write(".", fd, data.data(), data.size(), 0, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
        assert_int_equal(status, KC_EIO);
        assert_non_null(strstr(err.message, "temporary file in .:"));
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_merge_by_tiles), cmocka_unit_test(test_levels),
                cmocka_unit_test(test_splits),         cmocka_unit_test(test_split_at_the_end),
                cmocka_unit_test(test_count_below),    cmocka_unit_test(test_temp_file),
                cmocka_unit_test(test_no_folder),      cmocka_unit_test(test_full_disk),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
