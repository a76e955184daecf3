/*
 * Counting passes over reads that are kept, compared with sorting and counting on the host.
 */
#include "tests/gpu/count/count_support.cuh"

/* Whether one of the walk's n passes has more records than fit, and another does not. */
template <class Key> static bool is_mixed(const kc_gpu_counter<Key> *counter, size_t n)
{
        size_t nover = 0;
        uint64_t nfound[KC_GPU_MAX_WALK_PASSES];
        struct kc_error err = {};
        expect_ok(kc_gpu_read(counter->gpu, nfound, counter->nfound, n, &err), &err);
        for (size_t i = 0; i < n; i++)
                nover += nfound[i] > counter->max_records;
        return nover > 0 && nover < n;
}

/* Count all passes for one of the k that the reads are kept for; returns their number.
 *   sources  if kept is a share of them; otherwise kept itself */
template <class Key>
static size_t check_kept(struct kc_gpu *gpu, struct kc_gpu_kept *kept,
                         const std::vector<kept_on> &sources, int number,
                         const struct kc_superkmer_setup &superkmers,
                         const std::vector<letters> &segments, const counting &how)
{
        struct kc_error err = {};
        kc_gpu_counter<Key> *counter = NULL;
        struct kc_load loads[KC_NLOADS], total = {};
        std::vector<kc_gpu_pass> passes(KC_NLOADS);
        struct kc_gpu_counted counted = {};
        const table<Key> expected = count_plainly<Key>(segments, how.k, how.stranded);
        uint64_t nkmers = 0;
        const uint64_t nkept = settle(sources, number, loads);
        assert_int_equal(cudaSetDevice(gpu->device), cudaSuccess);
        for (const struct kc_load &load : loads) {
                total.nrecords += load.nrecords;
                total.nkmers += load.nkmers;
        }
        for (const auto &pair : expected)
                nkmers += pair.second;
        assert_int_equal(total.nkmers, nkmers); /* every group was sampled */
        assert_int_equal(nkept, how.max_k > 0 ? nkmers : 0);
        const bool copies = kc_gpu_kept_pass_nbytes(kept) > 0;
        const uint64_t nrecords = how.surprise   ? total.nrecords / 3
                                  : how.nrecords ? how.nrecords
                                                 : total.nrecords * 2 + KC_GPU_MIN_RECORDS;
        const struct kc_gpu_counter_caps caps = {
                nrecords * kc_gpu_counter_record_nwords(&superkmers, how.npasses, copies),
                KC_GPU_MIN_PAIRS,
                how.pass_nkmers ? how.pass_nkmers : nkmers + 1,
                nkmers,
                superkmers.form.position_bits,
                how.npasses
        };
        const struct kc_load most = { how.surprise ? 2 * total.nrecords : nrecords, caps.nkmers };
        struct kc_records_out lists;
        const int nparts = 1 + how.npasses % 3; /* as if several devices shared the walk */
        size_t together, nmixed = 0;
        const size_t before = gpu->used_nbytes;
        const struct kc_gpu_counter_setup setup = { superkmers, how.stranded, how.table,
                                                    how.filter };
        passes.resize(kc_gpu_plan_passes(loads, &KC_GPU_ALL_POINTS, &most, passes.data()));
        expect_ok(kc_gpu_counter_new<Key>(&counter, gpu, &setup, &caps, &err), &err);
        assert_true(gpu->used_nbytes - before <= kc_gpu_counter_nbytes<Key>(how.table, &caps));
        if (how.nslots > 0 && how.table != KC_TABLE_SLAB) /* whose arenas have one size */
                counter->table.capacity = how.nslots;
        taken<Key> t = { gpu, {} };
        kc_gpu_run_taker<Key> taker = { &t, take<Key> };
        together = (size_t)kc_gpu_counter_max_passes(&caps, kept);
        assert_int_equal(together, copies ? 1 : how.npasses);
        for (size_t i = 0; i < passes.size(); i++) {
                const size_t n = std::min(together, passes.size() - i);
                if (i % together == 0) {
                        expect_ok(kc_gpu_counter_begin(counter, kept, &passes[i], (int)n, &lists,
                                                       &err),
                                  &err);
                        for (int part = 0; part < nparts; part++)
                                expect_ok(kc_gpu_counter_find(counter, &lists, part, nparts, &err),
                                          &err);
                        nmixed += is_mixed(counter, n);
                }
                expect_ok(
                        kc_gpu_counter_count(counter, (int)(i % together), &taker, &counted, &err),
                        &err);
        }
        assert_int_equal(counted.nkmers, nkmers);
        assert_true(!how.mixed || nmixed > 0);
        assert_true(how.most_recounted == 0 ||
                    counted.nrecounted * 100 <= nkmers * (uint64_t)how.most_recounted);
        assert_true(how.nslots == 0 || how.table == KC_TABLE_SLAB || counted.nrecounted > 0);
        compare(expected, sorted(t.pairs), how, &counted);
        kc_gpu_counter_free(counter);
        return passes.size();
}

static void close_kept(struct kc_gpu *gpu, struct kc_gpu_kept *kept)
{
        kc_gpu_kept_free(kept);
        assert_int_equal(gpu->used_nbytes, 0);
        kc_gpu_close(gpu);
}

static size_t check_how(const std::vector<letters> &segments, const counting &how)
{
        struct kc_error err = {};
        struct kc_gpu gpu;
        const kc_superkmer_setup superkmers = superkmers_for(how.k, how.position_bits);
        expect_ok(kc_gpu_open(&gpu, 0, (size_t)2 << 30, &err), &err);
        struct kc_gpu_kept *kept = keep(&gpu, &superkmers, 1, segments, how);
        const size_t npasses = kc_key_choose(how.k, [&](auto key) {
                return check_kept<decltype(key)>(&gpu, kept, { { &gpu, kept } }, 0, superkmers,
                                                 segments, how);
        });
        close_kept(&gpu, kept);
        return npasses;
}

/* Count the reads on the last device, which may be the first one, too. It keeps nown of nsegments
 * itself; the first device keeps the others. */
static void check_shared(const std::vector<letters> &segments, const counting &how,
                         size_t share_nbytes, size_t nown)
{
        struct kc_error err = {};
        struct kc_gpu gpu, other;
        struct kc_gpu_kept *share;
        struct kc_gpu_link link = {};
        int ndevices;
        const kc_superkmer_setup superkmers = superkmers_for(how.k, how.position_bits);
        const auto cut = segments.begin() + (long)nown;
        expect_ok(kc_gpu_devices(NULL, 0, &ndevices, &err), &err);
        expect_ok(kc_gpu_open(&other, ndevices - 1, (size_t)1 << 30, all_devices(), &err), &err);
        struct kc_gpu_kept *own = keep(&other, &superkmers, 1, { segments.begin(), cut }, how);
        kc_gpu_kept_end(own);
        expect_ok(kc_gpu_open(&gpu, 0, (size_t)1 << 30, all_devices(), &err), &err);
        struct kc_gpu_kept *kept = keep(&gpu, &superkmers, 1, { cut, segments.end() }, how);
        kc_gpu_kept_end(kept);
        expect_ok(kc_gpu_link_open(&link, &gpu, &other, &err), &err);
        const struct kc_gpu_kept_source sources[] = { { own, NULL }, { kept, &link } };
        expect_ok(kc_gpu_kept_join(&share, &other, sources, 2, share_nbytes, &err), &err);
        assert_int_equal(kc_gpu_kept_pass_nbytes(share) > 0,
                         share_nbytes == 0 || kc_gpu_kept_pass_nbytes(kept) > 0 ||
                                 kc_gpu_kept_pass_nbytes(own) > 0);
        kc_key_choose(how.k, [&](auto key) {
                return check_kept<decltype(key)>(&other, share, { { &other, own }, { &gpu, kept } },
                                                 0, superkmers, segments, how);
        });
        assert_int_equal(link.nbytes > 0, kc_gpu_kept_where(kept).device_nbytes > 0);
        kc_gpu_kept_free(share);
        kc_gpu_link_close(&link);
        close_kept(&other, own);
        assert_int_equal(cudaSetDevice(0), cudaSuccess);
        close_kept(&gpu, kept);
}

/* Count each k from the same reads, of which some leave the device before each. */
static void check_several(const std::vector<letters> &segments, const std::vector<int> &ks,
                          counting how)
{
        struct kc_error err = {};
        struct kc_gpu gpu;
        std::vector<kc_superkmer_setup> superkmers;
        how.max_k = *std::max_element(ks.begin(), ks.end());
        for (int k : ks) {
                superkmers.push_back(superkmers_for(k, how.position_bits));
                superkmers.back().span_k = *std::min_element(ks.begin(), ks.end());
        }
        expect_ok(kc_gpu_open(&gpu, 0, (size_t)2 << 30, &err), &err);
        struct kc_gpu_kept *kept = keep(&gpu, superkmers.data(), (int)ks.size(), segments, how);
        kc_gpu_kept_end(kept);
        for (size_t i = 0; i < ks.size(); i++) {
                bool gave;
                how.k = ks[i];
                kc_key_choose(ks[i], [&](auto key) {
                        return check_kept<decltype(key)>(&gpu, kept, { { &gpu, kept } }, (int)i,
                                                         superkmers[i], segments, how);
                });
                kc_gpu_kept_unsettle(kept);
                expect_ok(kc_gpu_kept_give(kept, &gave, &err), &err);
        }
        close_kept(&gpu, kept);
}

static void check_widths(const std::vector<letters> &segments, int k, bool stranded,
                         enum kc_gpu_table table)
{
        check_how(segments, usual(k, stranded, table));
}

static const int all_k[] = {
        1,  2,  3,  4,  5,  8,  11, 12, 13, 14, 15, 16, 17, 21, 25,  27,  31,
        32, 33, 34, 41, 47, 48, 49, 55, 63, 64, 65, 95, 96, 97, 101, 127, 128
};

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

/* Wherever the reads are, in passes that are as planned or not, segments shorter than some of the k
 * included. */
static void several_k(void **state)
{
        uint64_t random = 11;
        std::vector<letters> segments = sample_reads(9, test_small() ? 40 : 700);
        (void)state;
        for (size_t n = 1; n < 140; n += 3)
                segments.push_back(random_letters(&random, n, 4));
        /* The largest chunk, which is the last one to leave the device, comes first. */
        segments.insert(segments.begin(), random_letters(&random, test_small() ? 9000 : 90000, 4));
        for (const std::vector<int> &ks :
             { std::vector<int>{ 31, 101, 21, 5 }, { 33, 128, 40, 64, 65 }, { 1, 2, 97 } })
                for (size_t device_nbytes : { SIZE_MAX, (size_t)4000, (size_t)0 })
                        for (size_t host_nbytes : { (size_t)4 << 20, (size_t)0 })
                                for (uint64_t pass_nkmers : { 0, 2500 }) {
                                        counting how =
                                                usual(0, device_nbytes == 0, KC_TABLE_WARPDRIVE);
                                        how.nchunks = 4;
                                        how.device_nbytes = device_nbytes;
                                        how.host_nbytes = host_nbytes;
                                        how.pass_nkmers = pass_nkmers;
                                        how.surprise = pass_nkmers > 0 && host_nbytes > 0;
                                        how.npasses = pass_nkmers > 0 ? 3 : 1;
                                        check_several(segments, ks, how);
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
        for (int k : { 5, 31, 32, 55, 77, 101 })
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
        for (int k : { 16, 31, 64, 96, 101 })
                for (enum kc_gpu_table table : all_tables)
                        if (test_takes(number++, 3))
                                check_widths(reads, k, false, table);
}

/* Reads on the device, on the host, in a file and in all three; one pass and many. */
static void reads_are_anywhere(void **state)
{
        (void)state;
        const std::vector<letters> reads = sample_reads(21, test_small() ? 60 : 1500);
        const size_t few = test_small() ? 2500 : 60000; /* bytes of some chunks */
        for (int k : { 5, 31, 55, 77, 101 })
                for (size_t device : { (size_t)0, few, SIZE_MAX })
                        for (size_t host : { (size_t)0, (size_t)1 << 20 })
                                for (uint64_t pass : { 0, 3000 }) {
                                        counting how = usual(k, false, KC_TABLE_WARPDRIVE);
                                        how.nchunks = 7;
                                        how.device_nbytes = device;
                                        how.host_nbytes = host;
                                        how.pass_nkmers = pass;
                                        how.npasses = pass != 0 ? 5 : 1;
                                        const size_t npasses = check_how(reads, how);
                                        assert_true(pass != 0 ? npasses > 1 : npasses == 1);
                                }
}

/* The other device has them all, or only its own; there are some on the host and in a file, too. */
static void reads_are_shared(void **state)
{
        (void)state;
        const std::vector<letters> reads = sample_reads(25, test_small() ? 60 : 1500);
        const size_t few = test_small() ? 2500 : 60000;
        for (int k : { 31, 77 })
                for (size_t device : { (size_t)0, few, SIZE_MAX })
                        for (size_t host : { (size_t)0, (size_t)1 << 20 })
                                for (size_t share_nbytes : { (size_t)0, SIZE_MAX }) {
                                        counting how = usual(k, false, KC_TABLE_WARPDRIVE);
                                        how.nchunks = 7;
                                        how.device_nbytes = device;
                                        how.host_nbytes = host;
                                        how.pass_nkmers = 3000;
                                        how.npasses = 4;
                                        check_shared(reads, how, share_nbytes, 0);
                                        check_shared(reads, how, share_nbytes, reads.size() / 3);
                                }
}

/* However many passes a walk has, and if one of them is crowded: by one letter, or by one read. */
static void walks_of_several_passes(void **state)
{
        uint64_t random = 31;
        (void)state;
        const std::vector<letters> even = sample_reads(27, test_small() ? 80 : 1500);
        std::vector<letters> skewed = even;
        skewed.push_back(letters(test_small() ? 150000 : 600000, 0));
        skewed.insert(skewed.begin() + 7, test_size(8000), random_letters(&random, 150, 4));
        size_t number = 0;
        for (int npasses = 1; npasses <= KC_GPU_MAX_WALK_PASSES; npasses++)
                for (int k : { 21, 31, 55, 77, 101 })
                        for (bool crowded : { false, true }) {
                                const bool stranded = number++ % 3 == 0;
                                counting how = usual(k, stranded, KC_TABLE_WARPDRIVE);
                                how.nchunks = 3;
                                how.pass_nkmers = crowded ? 6000 : 1000;
                                how.nrecords = crowded ? (test_small() ? 1000 : 4096) : 0;
                                how.filter.min_count = number % 2 == 0 ? 2 : 1;
                                how.npasses = npasses;
                                how.mixed = crowded && npasses > 1;
                                const size_t n = check_how(crowded ? skewed : even, how);
                                assert_true(n > (size_t)KC_GPU_MAX_WALK_PASSES || crowded);
                        }
}

/* So many chunks that positions need more than the usual bits; with these, not all chunks stay on
 * the device. */
static void many_chunks(void **state)
{
        (void)state;
        const std::vector<letters> reads = sample_reads(33, 1200);
        for (int k : { 31, 77 })
                for (int position_bits : { 37, 38, 40 }) {
                        counting how = usual(k, false, KC_TABLE_WARPDRIVE);
                        how.nchunks = 1150;
                        how.position_bits = position_bits;
                        how.pass_nkmers = 40000;
                        how.npasses = 3;
                        how.host_nbytes = (size_t)1 << 20;
                        check_how(reads, how);
                }
}

/* Whatever is filtered, and in however many passes and rounds: also if bins are cut in pieces. */
static void filters_see_whole_counts(void **state)
{
        uint64_t random = 23;
        (void)state;
        std::vector<letters> reads = sample_reads(22, test_small() ? 60 : 800);
        reads.push_back(letters(test_small() ? 9000 : 300000, 0)); /* one bin of many records */
        reads.push_back(random_letters(&random, test_small() ? 3000 : 100000, 2));
        size_t number = 0;
        for (int k : { 11, 31, 55, 101 })
                for (enum kc_gpu_table table : all_tables)
                        for (const kc_run_filter &filter :
                             { kc_run_filter{ 2, UINT32_MAX }, kc_run_filter{ 1, 3 },
                               kc_run_filter{ 3, 40 } })
                                for (uint64_t nrecords : { 0, test_small() ? 1500 : 4096 }) {
                                        counting how = usual(k, false, table);
                                        how.filter = filter;
                                        how.nrecords = nrecords;
                                        how.nchunks = 3;
                                        how.device_nbytes = number % 2 == 0 ? SIZE_MAX : 0;
                                        how.pass_nkmers = number % 3 == 0 ? 5000 : 0;
                                        if (test_takes(number++, 4))
                                                check_how(reads, how);
                                }
}

/* Tables that hold so few k-mers that almost all are counted again: in one pass and many, in
 * rounds, and with reads anywhere. Filters must see the whole sums. */
static void tiny_tables(void **state)
{
        (void)state;
        const std::vector<letters> reads = sample_reads(24, test_small() ? 30 : 600);
        const kc_run_filter filters[] = { { 2, UINT32_MAX }, { 1, 3 }, { 1, UINT32_MAX } };
        size_t number = 0;
        for (int k : { 11, 31, 55, 77, 101 })
                for (enum kc_gpu_table table : all_tables)
                        for (const kc_run_filter &filter : filters)
                                for (int plan = 0; plan < 4; plan++) {
                                        counting how = usual(k, false, table);
                                        how.filter = filter;
                                        how.nslots = 8;
                                        how.nchunks = 10;
                                        how.device_nbytes = number % 2 == 0 ? SIZE_MAX : 0;
                                        how.pass_nkmers = plan % 2 == 1 ? 1000 : 0;
                                        how.surprise = plan / 2 == 1;
                                        how.npasses = 1 + (int)(number % 3);
                                        if (!test_takes(number++, 7))
                                                continue;
                                        const size_t npasses = check_how(reads, how);
                                        assert_true(npasses > 1 || plan != 1);
                                }
}

/* More distinct k-mers to count again than the table of sums holds: it takes them in parts. */
static void sums_in_parts(void **state)
{
        uint64_t random = 15;
        (void)state;
        const std::vector<letters> reads(2, random_letters(&random, 300000, 4));
        for (int k : { 31, 55, 77, 101 }) {
                counting how = usual(k, false, KC_TABLE_WARPDRIVE);
                how.nslots = 8;
                how.filter.min_count = k == 31 ? 2 : 1;
                check_how(reads, how);
        }
}

/* Add each of the k-mers 0 .. nkmers - 1 twice. */
template <class Key>
static __global__ void add_sums_kernel(kc_sums<Key> sums, uint32_t nkmers, uint32_t *full)
{
        const uint32_t weights[2][4] = { { UINT32_MAX - 1, UINT32_MAX, UINT32_MAX - 1, 7 },
                                         { 1, 1, 3, 1 } };
        const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < 2 * nkmers && !sums.add((Key)(i % nkmers), weights[i / nkmers][i % nkmers % 4]))
                *full = 1;
}

template <class Key> static void check_sums(int k)
{
        enum { N = 8192, NTHREADS = 128 };
        struct kc_error error = {}, *err = &error;
        struct kc_gpu gpu;
        kc_gpu_counter<Key> *c = NULL;
        const struct kc_gpu_counter_setup setup = {
                superkmers_for(k, 37), false, KC_TABLE_WARPDRIVE, { UINT32_MAX, UINT32_MAX }
        };
        const struct kc_gpu_counter_caps caps = { 1 << 14, KC_GPU_MIN_PAIRS, N, N, 37, 1 };
        std::vector<struct kc_count_cell> cells(KC_COUNT_NCELLS);
        std::vector<uint32_t> counts(N);
        uint64_t nsaturated = 0, nunique = 0, ndistinct = 0;
        bool fit;
        expect_ok(kc_gpu_open(&gpu, 0, (size_t)1 << 30, err), err);
        expect_ok(kc_gpu_counter_new<Key>(&c, &gpu, &setup, &caps, err), err);
        expect_ok(KC_CUDA(cudaMemsetAsync(c->cells, 0, KC_COUNT_NCELLS * sizeof *c->cells,
                                          gpu.stream)),
                  err);
        expect_ok(kc_counter_forget_pairs(c, err), err);
        expect_ok(kc_counter_begin_sums(c, N, 0, 1, err), err);
        add_sums_kernel<Key>
                <<<2 * N / NTHREADS, NTHREADS, 0, gpu.stream>>>(c->sums, N, &c->again.totals->full);
        expect_ok(KC_LAUNCHED(), err);
        expect_ok(kc_counter_end_sums(c, &fit, err), err);
        assert_true(fit);
        assert_int_equal(c->readback->npairs, N / 4 * 3); /* the others are 8 */
        expect_ok(kc_gpu_read(&gpu, counts.data(), c->counts, N / 4 * 3, err), err);
        expect_ok(kc_gpu_read(&gpu, cells.data(), c->cells, KC_COUNT_NCELLS, err), err);
        for (size_t i = 0; i < N / 4 * 3; i++)
                assert_int_equal(counts[i], UINT32_MAX);
        for (const struct kc_count_cell &cell : cells) {
                nsaturated += cell.nsaturated;
                ndistinct += cell.ndistinct;
                nunique += cell.nunique;
        }
        assert_int_equal(nsaturated, N / 4 * (1 + 2));
        assert_int_equal(ndistinct, N / 4);
        assert_int_equal(nunique, 0);
        kc_gpu_counter_free(c);
        kc_gpu_close(&gpu);
}

/* Sums that are too large for a count become the largest count. */
static void sums_saturate(void **state)
{
        (void)state;
        check_sums<kc_key64>(31);
        check_sums<kc_key128>(55);
        check_sums<kc_key192>(77);
        check_sums<kc_key256>(101);
}

/* At usual coverage and error rates, most bins fit their tables, however long k is. */
static void few_tables_overflow(void **state)
{
        (void)state;
        /* Whether the last k-mers of a crowded bin find slots depends on which threads come first:
         * of so many k-mers, that moves the part that is counted again by about 1 %. */
        const std::vector<letters> reads = usual_reads(31, 40000);
        for (int k : { 31, 55, 77, 101, 127 }) {
                counting how = usual(k, false, KC_TABLE_WARPDRIVE);
                how.most_recounted = 10;
                check_how(reads, how);
        }
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
        for (int k : { 5, 31, 32, 55, 77, 101 })
                for (enum kc_gpu_table table : all_tables)
                        check_widths(reads, k, k == 32, table);
}

int main(void)
{
        need_device();
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(little_of_all),
                cmocka_unit_test(one_kmer_and_none),
                cmocka_unit_test(reads_of_a_genome),
                cmocka_unit_test(several_k),
                cmocka_unit_test(long_segment),
                cmocka_unit_test(one_letter),
                cmocka_unit_test(one_read_again_and_again),
                cmocka_unit_test(all_distinct),
                cmocka_unit_test(reads_are_anywhere),
                cmocka_unit_test(reads_are_shared),
                cmocka_unit_test(walks_of_several_passes),
                cmocka_unit_test(many_chunks),
                cmocka_unit_test(filters_see_whole_counts),
                cmocka_unit_test(tiny_tables),
                cmocka_unit_test(sums_in_parts),
                cmocka_unit_test(sums_saturate),
                cmocka_unit_test(few_tables_overflow),
        };
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
