/*
 * What the tests of the tables share: a kernel that counts bins of keys, each block one bin at a
 * time, and the same on the host.
 */
#ifndef KC_TESTS_GPU_TABLES_TABLE_SUPPORT_CUH
#define KC_TESTS_GPU_TABLES_TABLE_SUPPORT_CUH

#include "gpu/tables/table.cuh"
#include "tests/gpu/support.cuh"

#include <algorithm>
#include <cmath>
#include <vector>

template <class Key> struct counted_pair {
        Key key;
        uint32_t count;
        uint32_t bin;
};

template <class Key>
static inline bool operator<(const counted_pair<Key> &a, const counted_pair<Key> &b)
{
        return a.key != b.key ? a.key < b.key : a.bin < b.bin;
}

/* The output of all blocks: pairs in any order. */
template <class Key> struct counted_pairs {
        Key *keys; /* [cap] each, on the device; bins: NULL if not wanted */
        uint32_t *counts, *bins;
        unsigned long long cap;
        unsigned long long *n;      /* device; may exceed cap */
        unsigned long long *sum;    /* device: of all counts */
        unsigned long long *drains; /* device */
};

/* Reserve room for a warp's pairs of a table, which it then scans again to write them. *first: the
 * place of the first one. Returns their number. */
template <class Table, class Key>
static __device__ uint32_t reserve_pairs(const Table &table, const counted_pairs<Key> &out,
                                         unsigned long long *first)
{
        uint32_t nplaces = table.nplaces(), n = 0, sum = 0;
        for (uint32_t i = threadIdx.x; i - threadIdx.x < nplaces; i += blockDim.x) {
                Key key;
                uint32_t count = 0;
                bool has = i < nplaces && table.get(i, &key, &count);
                n += (uint32_t)__popc(__ballot_sync(UINT32_MAX, has));
                sum += has ? count : 0;
        }
        sum = __reduce_add_sync(UINT32_MAX, sum);
        if (threadIdx.x % 32 == 0 && n > 0) {
                *first = atomicAdd(out.n, (unsigned long long)n);
                atomicAdd(out.sum, (unsigned long long)sum);
        }
        *first = __shfl_sync(UINT32_MAX, *first, 0);
        return n;
}

/* Write all pairs of the table and empty it. Called by the whole block. */
template <class Table, class Key>
static __device__ void drain(Table *table, const counted_pairs<Key> &out, uint32_t bin)
{
        unsigned long long at = 0;
        __syncthreads();
        uint32_t nplaces = table->nplaces(), left = reserve_pairs(*table, out, &at);
        for (uint32_t i = threadIdx.x; left > 0; i += blockDim.x) {
                Key key = 0;
                uint32_t count = 0;
                bool has = i < nplaces && table->get(i, &key, &count);
                uint32_t with = __ballot_sync(UINT32_MAX, has);
                uint32_t below = with & ((1u << threadIdx.x % 32) - 1);
                unsigned long long to = at + (unsigned)__popc(below);
                if (has && to < out.cap) {
                        out.keys[to] = key;
                        out.counts[to] = count;
                        if (out.bins != NULL)
                                out.bins[to] = bin;
                }
                at += (unsigned)__popc(with);
                left -= (uint32_t)__popc(with);
        }
        if (threadIdx.x == 0)
                atomicAdd(out.drains, 1ull);
        __syncthreads();
        table->clear();
        __syncthreads();
}

/* The weight with which key i is counted, from 1 to max_weight. */
KC_HD uint32_t weight_of(size_t i, uint32_t max_weight)
{
        return max_weight == 1 ? 1 : 1 + (uint32_t)(kc_key_hash((kc_key64)i) >> 32) % max_weight;
}

/* Bin i is keys[ends[i - 1] .. ends[i]). Blocks have at most 1024 threads or, if several are to be
 * resident on a multiprocessor, 512. */
template <class Table, class Key, int MIN_BLOCKS>
__global__ __launch_bounds__(MIN_BLOCKS == 1 ? 1024 : 512,
                             MIN_BLOCKS) void count_bins(kc_table_setup setup, const Key *keys,
                                                         uint32_t max_weight, const size_t *ends,
                                                         uint32_t nbins, counted_pairs<Key> out)
{
        extern __shared__ uint4 shared[];
        Table table(setup, shared);
        table.clear();
        __syncthreads();
        for (uint32_t bin = blockIdx.x; bin < nbins; bin += gridDim.x) {
                size_t end = ends[bin], warp_at = (bin ? ends[bin - 1] : 0) + threadIdx.x / 32 * 32;
                size_t at = warp_at + threadIdx.x % 32;
                bool active = at < end;
                Key key = active ? keys[at] : 0;
                do {
                        while (warp_at < end) {
                                bool counted = table.add(key, weight_of(at, max_weight), active);
                                active = active && !counted;
                                if (__any_sync(UINT32_MAX, active))
                                        break; /* full */
                                warp_at += blockDim.x;
                                at += blockDim.x;
                                active = at < end;
                                key = active ? keys[at] : 0;
                        }
                        bool more = __syncthreads_or(warp_at < end);
                        drain(&table, out, bin);
                        if (!more)
                                break;
                } while (true);
        }
}

/* A table under test: how it is set up and launched. */
struct table_launch {
        unsigned nblocks, nthreads;
        uint32_t max_weight; /* of keys; 1: each counts once */
        struct kc_table_setup setup;
};

/* If the setup has arena_nbytes, allocate the arenas and fill them with garbage. */
static inline void take_arenas(struct table_launch *launch)
{
        size_t nbytes = launch->nblocks * launch->setup.arena_nbytes;
        struct kc_error error = {}, *err = &error;
        if (nbytes == 0)
                return;
        expect_ok(KC_CUDA(cudaMalloc(&launch->setup.arena, nbytes)), err);
        expect_ok(KC_CUDA(cudaMemset(launch->setup.arena, 0xa5, nbytes)), err);
}

template <class T> static T *new_device_array(size_t n)
{
        struct kc_error error = {}, *err = &error;
        void *memory = NULL;
        expect_ok(KC_CUDA(cudaMalloc(&memory, (n ? n : 1) * sizeof(T))), err);
        expect_ok(KC_CUDA(cudaMemset(memory, 0, (n ? n : 1) * sizeof(T))), err);
        return (T *)memory;
}

template <class T> static T *to_device(const std::vector<T> &host)
{
        struct kc_error error = {}, *err = &error;
        T *memory = new_device_array<T>(host.size());
        expect_ok(KC_CUDA(cudaMemcpy(memory, host.data(), host.size() * sizeof(T),
                                     cudaMemcpyHostToDevice)),
                  err);
        return memory;
}

template <class T> static std::vector<T> to_host(const T *device, size_t n)
{
        struct kc_error error = {}, *err = &error;
        std::vector<T> host(n);
        expect_ok(KC_CUDA(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost)),
                  err);
        return host;
}

/* Device arrays for pairs; n, sum and drains are in one array of three. */
template <class Key> static counted_pairs<Key> new_pairs(size_t cap, bool with_bins)
{
        counted_pairs<Key> out = {};
        out.cap = cap;
        out.keys = new_device_array<Key>(cap);
        out.counts = new_device_array<uint32_t>(cap);
        out.bins = with_bins ? new_device_array<uint32_t>(cap) : NULL;
        out.n = new_device_array<unsigned long long>(3);
        out.sum = out.n + 1;
        out.drains = out.n + 2;
        return out;
}

template <class Key> static void free_pairs(counted_pairs<Key> *out)
{
        cudaFree(out->keys);
        cudaFree(out->counts);
        cudaFree(out->bins);
        cudaFree(out->n);
}

template <class Table, class Key, int MIN_BLOCKS>
static void launch_count(const struct table_launch *launch, const Key *keys, const size_t *ends,
                         uint32_t nbins, const counted_pairs<Key> &out)
{
        struct kc_error error = {}, *err = &error;
        size_t shared_nbytes = Table::shared_nbytes(launch->setup);
        expect_ok(KC_CUDA(cudaFuncSetAttribute(count_bins<Table, Key, MIN_BLOCKS>,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               (int)shared_nbytes)),
                  err);
        count_bins<Table, Key, MIN_BLOCKS><<<launch->nblocks, launch->nthreads, shared_nbytes>>>(
                launch->setup, keys, launch->max_weight, ends, nbins, out);
        expect_ok(KC_CUDA(cudaGetLastError()), err);
}

/* The bins' pairs in order of key, then bin, as the host counts them. */
template <class Key>
static std::vector<counted_pair<Key>> count_on_host(const std::vector<Key> &keys,
                                                    const std::vector<size_t> &ends,
                                                    uint32_t max_weight)
{
        std::vector<counted_pair<Key>> all, distinct;
        uint32_t bin = 0;
        for (size_t i = 0; i < keys.size(); i++) {
                while (i >= ends[bin])
                        bin++;
                all.push_back({ keys[i], weight_of(i, max_weight), bin });
        }
        std::sort(all.begin(), all.end());
        for (const counted_pair<Key> &pair : all)
                if (distinct.empty() || distinct.back() < pair)
                        distinct.push_back(pair);
                else
                        distinct.back().count += pair.count;
        return distinct;
}

/* The same, counted on the device; *ndrains minus the number of bins is how often a table was full.
 * A bin drained only once must not have a key twice: *merged is how many pairs had to be merged. */
template <class Table, class Key>
static std::vector<counted_pair<Key>> count_on_device(struct table_launch launch,
                                                      const std::vector<Key> &keys,
                                                      const std::vector<size_t> &ends,
                                                      unsigned long long *ndrains, size_t *merged)
{
        struct kc_error error = {}, *err = &error;
        Key *device_keys = to_device(keys);
        size_t *device_ends = to_device(ends);
        counted_pairs<Key> out = new_pairs<Key>(keys.size(), true);
        take_arenas(&launch);
        launch_count<Table, Key, 1>(&launch, device_keys, device_ends, (uint32_t)ends.size(), out);
        expect_ok(KC_CUDA(cudaDeviceSynchronize()), err);
        std::vector<unsigned long long> figures = to_host(out.n, 3);
        assert_true(figures[0] <= keys.size());
        *ndrains = figures[2];

        size_t n = figures[0];
        std::vector<Key> out_keys = to_host(out.keys, n);
        std::vector<uint32_t> counts = to_host(out.counts, n), bins = to_host(out.bins, n);
        std::vector<counted_pair<Key>> all, distinct;
        for (size_t i = 0; i < n; i++)
                all.push_back({ out_keys[i], counts[i], bins[i] });
        std::sort(all.begin(), all.end());
        for (const counted_pair<Key> &pair : all)
                if (distinct.empty() || distinct.back() < pair)
                        distinct.push_back(pair);
                else
                        distinct.back().count += pair.count;
        *merged = all.size() - distinct.size();
        free_pairs(&out);
        cudaFree(device_keys);
        cudaFree(device_ends);
        cudaFree(launch.setup.arena);
        return distinct;
}

/* Count on device and host and compare. Returns the number of drains beyond one per bin. */
template <class Table, class Key>
static unsigned long long expect_counts(struct table_launch launch, const std::vector<Key> &keys,
                                        const std::vector<size_t> &ends)
{
        unsigned long long ndrains;
        size_t merged;
        std::vector<counted_pair<Key>> want = count_on_host(keys, ends, launch.max_weight);
        std::vector<counted_pair<Key>> got =
                count_on_device<Table, Key>(launch, keys, ends, &ndrains, &merged);
        if (ndrains == ends.size())
                assert_int_equal(merged, 0);
        assert_int_equal(got.size(), want.size());
        for (size_t i = 0; i < want.size(); i++)
                if (got[i].key != want[i].key || got[i].count != want[i].count ||
                    got[i].bin != want[i].bin)
                        fail_msg("pair %zu: key %016llx, count %u, bin %u; not %016llx, %u, %u", i,
                                 (unsigned long long)got[i].key, got[i].count, got[i].bin,
                                 (unsigned long long)want[i].key, want[i].count, want[i].bin);
        return ndrains - ends.size();
}

/* ---- keys */

template <class Key> static Key random_key(uint64_t *state)
{
        if constexpr (sizeof(Key) <= 8)
                return (Key)next_random(state);
        else
                return any_key<Key>(state);
}

template <class Key> static std::vector<Key> random_keys(size_t n, uint64_t seed)
{
        std::vector<Key> keys(n);
        for (Key &key : keys)
                key = random_key<Key>(&seed);
        return keys;
}

/* Draw from `from`, rank r with a probability of about 1 / (r + 1), normalized. */
template <class Key>
static std::vector<Key> zipf_draws(const std::vector<Key> &from, size_t n, uint64_t seed)
{
        std::vector<Key> keys(n);
        for (Key &key : keys) {
                double u = (double)(next_random(&seed) >> 11) / 9007199254740992.0;
                size_t rank = (size_t)exp(u * log((double)from.size()));
                key = from[rank < from.size() ? rank : from.size() - 1];
        }
        return keys;
}

template <class Key>
static std::vector<Key> uniform_draws(const std::vector<Key> &from, size_t n, uint64_t seed)
{
        std::vector<Key> keys(n);
        for (Key &key : keys)
                key = from[next_random(&seed) % from.size()];
        return keys;
}

/* Bins of up to bin_nkeys keys. */
static inline std::vector<size_t> equal_bins(size_t nkeys, size_t bin_nkeys)
{
        std::vector<size_t> ends;
        for (size_t at = 0; at < nkeys; at += bin_nkeys)
                ends.push_back(std::min(at + bin_nkeys, nkeys));
        if (ends.empty())
                ends.push_back(0);
        return ends;
}

/* ---- timing */

/*
 * Key i of bins of bin_nkeys keys each: a tenth occurs once, nine tenths 30 times on average, as in
 * reads at a coverage of 30 with errors. No two bins share a key.
 */
KC_HD uint64_t timing_id(size_t i, uint32_t bin_nkeys)
{
        uint64_t bin = i / bin_nkeys, hash = kc_key_hash((kc_key64)i * 2 + 1);
        hash = kc_key_hash((kc_key64)hash) >> 20;
        if (hash % 10 == 0)
                return bin * 2 * bin_nkeys + bin_nkeys + i % bin_nkeys;
        return bin * 2 * bin_nkeys + hash / 10 % (bin_nkeys * 3 / 100);
}

template <class Key> __global__ void make_timing_keys(Key *keys, size_t n, uint32_t bin_nkeys)
{
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
        if (i >= n)
                return;
        Key key = (Key)(timing_id(i, bin_nkeys) * UINT64_C(0xd6e8feb86659fd93));
        if (sizeof(Key) == 16)
                key |= key << 32 << 32;
        keys[i] = key;
}

/* The milliseconds of the fastest of three runs over nkeys keys; checks the sum of the counts. */
template <class Table, class Key, int MIN_BLOCKS>
static double time_counting(struct table_launch launch, const Key *keys, size_t nkeys,
                            size_t bin_nkeys, unsigned long long figures[3])
{
        struct kc_error error = {}, *err = &error;
        std::vector<size_t> ends = equal_bins(nkeys, bin_nkeys);
        size_t *device_ends = to_device(ends);
        counted_pairs<Key> out = new_pairs<Key>(nkeys / 4, false);
        cudaEvent_t begin, end;
        float best = 1e30f;
        take_arenas(&launch);
        expect_ok(KC_CUDA(cudaEventCreate(&begin)), err);
        expect_ok(KC_CUDA(cudaEventCreate(&end)), err);
        for (int i = 0; i < 4; i++) {
                float ms;
                expect_ok(KC_CUDA(cudaMemset(out.n, 0, 3 * sizeof(*out.n))), err);
                expect_ok(KC_CUDA(cudaEventRecord(begin)), err);
                launch_count<Table, Key, MIN_BLOCKS>(&launch, keys, device_ends,
                                                     (uint32_t)ends.size(), out);
                expect_ok(KC_CUDA(cudaEventRecord(end)), err);
                expect_ok(KC_CUDA(cudaEventSynchronize(end)), err);
                expect_ok(KC_CUDA(cudaEventElapsedTime(&ms, begin, end)), err);
                if (i > 0)
                        best = std::min(best, ms);
        }
        std::vector<unsigned long long> host = to_host(out.n, 3);
        std::copy(host.begin(), host.end(), figures);
        assert_int_equal(figures[1], nkeys);
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
        free_pairs(&out);
        cudaFree(device_ends);
        cudaFree(launch.setup.arena);
        return best;
}

/* The number of blocks that are resident at once. */
template <class Table, class Key, int MIN_BLOCKS>
static unsigned resident_blocks(const struct table_launch *launch)
{
        struct kc_error error = {}, *err = &error;
        size_t shared_nbytes = Table::shared_nbytes(launch->setup);
        int per_sm, nsms;
        expect_ok(KC_CUDA(cudaFuncSetAttribute(count_bins<Table, Key, MIN_BLOCKS>,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               (int)shared_nbytes)),
                  err);
        expect_ok(KC_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                          &per_sm, count_bins<Table, Key, MIN_BLOCKS>, (int)launch->nthreads,
                          shared_nbytes)),
                  err);
        expect_ok(KC_CUDA(cudaDeviceGetAttribute(&nsms, cudaDevAttrMultiProcessorCount, 0)), err);
        return (unsigned)(per_sm * nsms);
}

/* The number of keys to time: 2^log2, or as KC_TEST_TIMING says. */
static inline size_t timing_nkeys(int log2)
{
        const char *wanted = getenv("KC_TEST_TIMING");
        return (size_t)1 << (wanted != NULL ? atoi(wanted) : test_small() ? log2 - 8 : log2);
}

/* Print how fast a table counts, for people to read. */
template <class Table, class Key, int MIN_BLOCKS>
static void report_time(const char *name, struct table_launch launch, const Key *keys, size_t nkeys,
                        size_t bin_nkeys)
{
        unsigned long long figures[3];
        launch.nblocks = resident_blocks<Table, Key, MIN_BLOCKS>(&launch);
        double ms = time_counting<Table, Key, MIN_BLOCKS>(launch, keys, nkeys, bin_nkeys, figures);
        print_message("%s, K%zu: %zu keys, %llu pairs, bins of %zu, %u blocks of %u: %.2f ms, "
                      "%.1f G keys/s\n",
                      name, 8 * sizeof(Key), nkeys, figures[0], bin_nkeys, launch.nblocks,
                      launch.nthreads, ms, (double)nkeys / ms / 1e6);
}

#endif
