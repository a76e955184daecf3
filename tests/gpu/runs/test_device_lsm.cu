/*
 * Merges and the LSM on the device, compared with plain merges on the host; and their speed.
 */
#include "base/clock.h"
#include "gpu/runs/lsm.cuh"
#include "gpu/runs/merge.cuh"
#include "gpu/runs/ranges.cuh"
#include "tests/gpu/copy_support.cuh"

static struct kc_gpu open_gpu(size_t limit_nbytes)
{
        struct kc_error err = {};
        struct kc_gpu gpu;
        expect_ok(kc_gpu_open(&gpu, 0, limit_nbytes, &err), &err);
        return gpu;
}

/* Checks that all memory has been released. */
static void close_gpu(struct kc_gpu *gpu)
{
        assert_int_equal(gpu->used_nbytes, 0);
        check(cudaDeviceSynchronize());
        kc_gpu_close(gpu);
}

template <class Key>
static void try_merge(struct kc_gpu *gpu, const pairs<Key> &a, const pairs<Key> &b)
{
        struct kc_error err = {};
        struct kc_gpu_run<Key> da = to_device(gpu, a, a.size()), db = to_device(gpu, b, b.size());
        struct kc_gpu_run<Key> merged;
        uint64_t *nsaturated, got_saturated, wanted_saturated = 0;
        pairs<Key> got, wanted = merge_plainly<Key>({ a, b }, &wanted_saturated);
        expect_ok(kc_gpu_new(gpu, &nsaturated, 1, &err), &err);
        check(cudaMemsetAsync(nsaturated, 0, 8, gpu->stream));
        expect_ok(kc_gpu_merge_runs(gpu, &da, &db, nsaturated, &merged, &err), &err);
        check(cudaMemcpyAsync(&got_saturated, nsaturated, 8, cudaMemcpyDeviceToHost, gpu->stream));
        to_host(gpu, &merged, &got);
        expect_equal(got, wanted);
        assert_int_equal(got_saturated, wanted_saturated);
        assert_int_equal(merged.cap, merged.n);
        kc_gpu_run_free(gpu, &da);
        kc_gpu_run_free(gpu, &db);
        kc_gpu_run_free(gpu, &merged);
        kc_gpu_delete(gpu, nsaturated, 1);
}

/* A tile has 3840 items, or with longer keys 2304 or 1280. */
template <class Key> static void try_merges(void)
{
        struct kc_gpu gpu = open_gpu(256 << 20);
        uint64_t state = 3;
        const size_t lengths[] = { 0,    1,    2,    640,  1151, 1152, 1153, 1279, 1280,
                                   1281, 1920, 2303, 2304, 2305, 3839, 3840, 3841, 20000 };
        for (size_t na : lengths)
                for (size_t nb : lengths) {
                        uint64_t many = (uint64_t)1 << 40, few = na + nb / 2 + 2;
                        try_merge(&gpu, random_run<Key>(na, many, &state, 8),
                                  random_run<Key>(nb, many, &state, 8));
                        try_merge(&gpu, random_run<Key>(na, few, &state, 32),
                                  random_run<Key>(nb, few, &state, 32));
                }
        pairs<Key> run = random_run<Key>(1000000, 1500000, &state, 32);
        try_merge(&gpu, run, random_run<Key>(1000000, 1500000, &state, 32));
        try_merge(&gpu, run, run);
        try_merge(&gpu, random_run<Key>(100, 1500000, &state, 32), run);
        close_gpu(&gpu);
}

static void test_merges(void **)
{
#define TRY(Key) try_merges<Key>();
        KC_GPU_KEYS(TRY)
#undef TRY
}

/* An LSM and all runs inserted into it. */
template <class Key> struct history {
        struct kc_gpu gpu;
        struct kc_gpu_lsm<Key> *lsm;
        size_t own_nbytes; /* device memory of the empty LSM */
        std::vector<pairs<Key>> runs;
};

template <class Key>
static void begin(struct history<Key> *history, size_t limit_nbytes, struct kc_gpu_lsm_setup setup)
{
        struct kc_error err = {};
        history->gpu = open_gpu(limit_nbytes);
        history->runs.clear();
        expect_ok(kc_gpu_lsm_new(&history->lsm, &history->gpu, &setup, &err), &err);
        history->own_nbytes = history->gpu.used_nbytes;
}

template <class Key>
static void insert(struct history<Key> *history, const pairs<Key> &run, size_t cap)
{
        struct kc_error err = {};
        expect_ok(kc_gpu_lsm_make_room(history->lsm, kc_gpu_run_nbytes<Key>(cap), &err), &err);
        struct kc_gpu_run<Key> device = to_device(&history->gpu, run, cap);
        expect_ok(kc_gpu_lsm_insert(history->lsm, &device, &err), &err);
        history->runs.push_back(run);
}

/* Device memory that is free if every run is on the host. */
template <class Key> static size_t all_room(const struct history<Key> *history)
{
        return history->gpu.limit_nbytes - history->own_nbytes;
}

/* Merge everything, compare, and close. */
template <class Key> static void finish(struct history<Key> *history, size_t max_pairs)
{
        struct kc_error err = {};
        uint64_t wanted_saturated = 0, got_saturated;
        pairs<Key> got, wanted = merge_plainly(history->runs, &wanted_saturated);
        struct kc_gpu_run<Key> range;
        do {
                expect_ok(kc_gpu_lsm_next(history->lsm, max_pairs, &range, &err), &err);
                assert_true(range.n <= max_pairs);
                to_host(&history->gpu, &range, &got);
        } while (range.n > 0);
        expect_ok(kc_gpu_lsm_next(history->lsm, max_pairs, &range, &err), &err);
        assert_int_equal(range.n, 0);
        expect_equal(got, wanted);
        expect_ok(kc_gpu_lsm_nsaturated(history->lsm, &got_saturated, &err), &err);
        assert_int_equal(got_saturated, wanted_saturated);
        kc_gpu_lsm_free(history->lsm);
        close_gpu(&history->gpu);
}

template <class Key> static void try_history(uint64_t seed)
{
        uint64_t state = seed;
        const size_t host_nbytes[] = { 0, 1 << 20, 3 << 20, 64 << 20 };
        const size_t chunks[] = { 0, 4096, 12288, 1 << 18 };
        struct kc_gpu_lsm_setup setup = { host_nbytes[next_random(&state) % 4], ".", 3,
                                          chunks[next_random(&state) % 4] };
        size_t limit = (size_t)(4 + next_random(&state) % 12) << 20;
        history<Key> history = {};
        begin(&history, limit, setup);
        uint64_t ndistinct = (uint64_t)1 << (next_random(&state) % 22);
        int count_bits = random_bool(&state) ? 32 : 3;
        size_t nruns = next_random(&state) % 40;
        for (size_t i = 0; i < nruns; i++) {
                size_t n = next_random(&state) % (random_bool(&state) ? 60000 : 500);
                pairs<Key> run = random_run<Key>(n, ndistinct, &state, count_bits);
                insert(&history, run, run.size() * 9 / 8);
        }
        finish(&history, 65536 << next_random(&state) % 4);
}

static void test_histories(void **)
{
        for (uint64_t seed = 100; seed < 130; seed++) {
                try_history<kc_key64>(seed);
                try_history<kc_key128>(seed);
                if (seed % 3 == 0)
                        try_history<kc_key192>(seed);
                if (seed % 3 == 1)
                        try_history<kc_key256>(seed);
        }
}

/* Every run moves to the host at once, so that nothing is merged before the end: more runs than one
 * merge takes. */
template <class Key> static void try_many_runs(size_t host_nbytes, size_t nruns)
{
        struct kc_error err = {};
        uint64_t state = 4;
        struct kc_gpu_lsm_setup setup = { host_nbytes, ".", 1, 12000 };
        history<Key> history = {};
        begin(&history, 6 << 20, setup);
        for (size_t i = 0; i < nruns; i++) {
                insert(&history, random_run<Key>(3000, 1 << 20, &state, 32), 3000);
                expect_ok(kc_gpu_lsm_make_room(history.lsm, all_room(&history), &err), &err);
        }
        if (host_nbytes == 0)
                assert_in_range(kc_gpu_lsm_spilled_nbytes(history.lsm), 1,
                                kc_gpu_lsm_npairs(history.lsm) * kc_gpu_run_nbytes<Key>(1));
        finish(&history, 65536);
}

static void test_many_runs(void **)
{
        try_many_runs<kc_key64>(0, 100);
        try_many_runs<kc_key64>(64 << 20, 200);
        try_many_runs<kc_key128>(1 << 20, 100);
        try_many_runs<kc_key192>(0, 60);
        try_many_runs<kc_key256>(1 << 20, 60);
}

/* Final merges of no run, of one run on the device or the host, and of equal k-mers. */
template <class Key> static void try_few_runs(void)
{
        struct kc_error err = {};
        uint64_t state = 5;
        struct kc_gpu_lsm_setup setup = { 0, ".", 0, 60000 };
        history<Key> history = {};
        begin(&history, 16 << 20, setup);
        finish(&history, 65536);
        begin(&history, 16 << 20, setup);
        insert(&history, pairs<Key>(), 0);
        insert(&history, pairs<Key>(), 100);
        finish(&history, 65536);
        for (int on_host = 0; on_host < 2; on_host++) {
                begin(&history, 32 << 20, setup);
                insert(&history, random_run<Key>(300000, 1 << 30, &state, 4), 300000);
                if (on_host)
                        expect_ok(kc_gpu_lsm_make_room(history.lsm, all_room(&history), &err),
                                  &err);
                finish(&history, 65536);
        }
        begin(&history, 16 << 20, setup);
        for (int i = 0; i < 20; i++)
                insert(&history, make_run<Key>({ 0, (Key) ~(Key)0 }, &state, 32), 2);
        finish(&history, 65536);
}

static void test_few_runs(void **)
{
#define TRY(Key) try_few_runs<Key>();
        KC_GPU_KEYS(TRY)
#undef TRY
}

/* An allocation that exceeds free memory moves runs off the device, until none is left. */
template <class Key> static void try_spare(void)
{
        struct kc_error err = {};
        uint64_t state = 7;
        struct kc_gpu_lsm_setup setup = { 1 << 20, ".", 1, 12000 };
        history<Key> history = {};
        void *memory;
        begin(&history, 4 << 20, setup);
        insert(&history, random_run<Key>(40000, 1 << 30, &state, 4), 40000);
        insert(&history, random_run<Key>(10000, 1 << 30, &state, 4), 10000);
        size_t nbytes = kc_gpu_room(&history.gpu) + 1;
        expect_ok(kc_gpu_alloc(&history.gpu, &memory, nbytes, &err), &err);
        assert_int_equal(history.gpu.used_nbytes,
                         nbytes + kc_gpu_run_nbytes<Key>(10000) + history.own_nbytes);
        kc_gpu_release(&history.gpu, memory, nbytes);
        assert_int_equal(kc_gpu_alloc(&history.gpu, &memory, 5 << 20, &err), KC_ENOMEM);
        assert_null(memory);
        assert_int_equal(history.gpu.used_nbytes, history.own_nbytes);
        finish(&history, 65536);
}

static void test_spare(void **)
{
#define TRY(Key) try_spare<Key>();
        KC_GPU_KEYS(TRY)
#undef TRY
}

/* Fences and rows of chunks count against the bound on host memory; less is left for chunks. */
static void test_host_bound(void **)
{
        enum { N = 400000, MAX_NBYTES = 1 << 20, OTHER_NBYTES = 600 << 10 };
        struct kc_error err = {};
        uint64_t state = 8;
        struct kc_gpu gpu = open_gpu(64 << 20);
        struct kc_host_store_setup setup = { 12000, MAX_NBYTES, ".", 1 };
        struct kc_gpu_run<kc_key64> run =
                to_device(&gpu, random_run<kc_key64>(N, 1 << 30, &state, 4), N);
        for (size_t other : { 0, (int)OTHER_NBYTES }) {
                struct kc_host_store store;
                struct kc_run_coder<kc_key64> coder;
                struct kc_lsm_run<kc_key64> *host =
                        (struct kc_lsm_run<kc_key64> *)calloc(1, sizeof *host);
                expect_ok(kc_host_store_open(&store, &gpu, &setup, &err), &err);
                kc_host_store_note(&store, 0, other);
                expect_ok(kc_lsm_run_add_fences(&store, host, &run, &err), &err);
                expect_ok(kc_run_coder_open(&coder, &gpu, 1 << 20, &err), &err);
                expect_ok(kc_coded_run_append(&store, &coder, &host->host, &run, true, &err), &err);
                kc_run_coder_close(&coder);
                size_t taken = host->fences.nfences * sizeof(kc_key64) +
                               host->host.cap * sizeof *host->host.starts +
                               host->host.bytes.cap * sizeof *host->host.bytes.chunks;
                assert_int_equal(store.beside_nbytes, other + taken);
                assert_in_range(store.pinned_nbytes + other + taken,
                                MAX_NBYTES - MAX_NBYTES / 32 - store.chunk_nbytes, MAX_NBYTES);
                kc_lsm_run_free(&store, host);
                assert_int_equal(store.beside_nbytes, other);
                kc_host_store_close(&store);
        }
        kc_gpu_run_free(&gpu, &run);
        close_gpu(&gpu);
}

static void test_failures(void **)
{
        struct kc_error err = {};
        uint64_t state = 6;
        struct kc_gpu_lsm_setup setup = { 0, "no/such/folder", 0, 0 };
        history<kc_key64> history = {};
        begin(&history, 4 << 20, setup);
        insert(&history, random_run<kc_key64>(1000, 1 << 30, &state, 4), 1000);
        assert_int_equal(kc_gpu_lsm_make_room(history.lsm, all_room(&history), &err), KC_EIO);
        assert_non_null(strstr(err.message, "no/such/folder"));
        err = {};
        assert_int_equal(kc_gpu_lsm_make_room(history.lsm, 5 << 20, &err), KC_EIO);
        struct kc_gpu_run<kc_key64> range, late;
        err = {};
        expect_ok(kc_gpu_lsm_next(history.lsm, 65536, &range, &err), &err);
        late = to_device(&history.gpu, history.runs[0], 1000);
        assert_int_equal(kc_gpu_lsm_insert(history.lsm, &late, &err), KC_EUSAGE);
        kc_gpu_lsm_free(history.lsm);
        history.lsm = NULL;
        close_gpu(&history.gpu);
}

/* Any part of bytes read back from the file is what was written. */
static void expect_kept(struct kc_gpu *gpu, struct kc_host_store *store,
                        const struct kc_host_bytes *bytes, const std::vector<uint8_t> &wanted,
                        uint64_t *state)
{
        struct kc_error err = {};
        const size_t at = next_random(state) % (wanted.size() + 1), n = wanted.size() - at;
        uint8_t *copy;
        std::vector<uint8_t> got(n);
        assert_int_equal(bytes->n, wanted.size());
        expect_ok(kc_gpu_new(gpu, &copy, n, &err), &err);
        check(cudaStreamSynchronize(gpu->stream));
        expect_ok(kc_host_bytes_read(store, bytes, at, n, copy, &err), &err);
        check(cudaStreamSynchronize(gpu->upload));
        if (n > 0)
                expect_ok(kc_gpu_read(gpu, got.data(), copy, n, &err), &err);
        assert_true(std::equal(got.begin(), got.end(), wanted.begin() + (ptrdiff_t)at));
        kc_gpu_delete(gpu, copy, n);
}

/* Append random bytes in a few pieces. */
static void append_random(struct kc_gpu *gpu, struct kc_host_store *store,
                          struct kc_host_bytes *bytes, std::vector<uint8_t> *all, uint64_t *state)
{
        struct kc_error err = {};
        for (uint64_t npieces = next_random(state) % 3 + 1; npieces > 0; npieces--) {
                const size_t before = all->size(), n = next_random(state) % 300000;
                uint8_t *piece;
                for (size_t i = 0; i < n; i++)
                        all->push_back((uint8_t)next_random(state));
                expect_ok(kc_gpu_new(gpu, &piece, n, &err), &err);
                if (n > 0)
                        check(cudaMemcpyAsync(piece, all->data() + before, n,
                                              cudaMemcpyHostToDevice, gpu->stream));
                check(cudaStreamSynchronize(gpu->stream));
                expect_ok(kc_host_bytes_append(store, bytes, piece, n, n, &err), &err);
                check(cudaStreamSynchronize(gpu->download));
                kc_gpu_delete(gpu, piece, n);
        }
}

/* Bytes come and go, and the file is never larger than the most that was in it at a time. */
static void test_file_space(void **)
{
        enum { NKEPT = 3, CHUNK = 12288 };
        struct kc_error err = {};
        uint64_t state = 10, most = 0;
        struct kc_gpu gpu = open_gpu(64 << 20);
        struct kc_host_store_setup setup = { CHUNK, 0, ".", 1 };
        struct kc_host_store store;
        struct kc_host_bytes kept[NKEPT] = {};
        std::vector<uint8_t> wanted[NKEPT];
        expect_ok(kc_host_store_open(&store, &gpu, &setup, &err), &err);
        for (int i = 0; i < 30; i++) {
                kc_host_bytes_free(&store, &kept[i % NKEPT]);
                wanted[i % NKEPT].clear();
                append_random(&gpu, &store, &kept[i % NKEPT], &wanted[i % NKEPT], &state);
                uint64_t nchunks = 0;
                for (int k = 0; k < NKEPT; k++) {
                        expect_kept(&gpu, &store, &kept[k], wanted[k], &state);
                        nchunks += kept[k].nchunks;
                }
                most = std::max(most, nchunks);
                assert_int_equal(store.file_nbytes, most * store.chunk_nbytes);
        }
        for (struct kc_host_bytes &bytes : kept)
                kc_host_bytes_free(&store, &bytes);
        assert_int_equal(store.nfree, most);
        kc_host_store_close(&store);
        close_gpu(&gpu);
}

/* Chunks that were given back are reused while the rest of the bytes is still there. */
static void test_give_back(void **)
{
        enum { CHUNK = 4096, NCHUNKS = 10, NGIVEN = 4 };
        struct kc_error err = {};
        uint64_t state = 11;
        struct kc_gpu gpu = open_gpu(64 << 20);
        struct kc_host_store_setup setup = { CHUNK, 0, ".", 1 };
        struct kc_host_store store;
        struct kc_host_bytes kept = {}, other = {};
        uint8_t *bytes, got = 0;
        const uint8_t marked = 77;
        expect_ok(kc_host_store_open(&store, &gpu, &setup, &err), &err);
        expect_ok(kc_gpu_new(&gpu, &bytes, NCHUNKS * CHUNK, &err), &err);
        check(cudaMemsetAsync(bytes, marked, NCHUNKS * CHUNK, gpu.stream));
        check(cudaStreamSynchronize(gpu.stream));
        expect_ok(
                kc_host_bytes_append(&store, &kept, bytes, NCHUNKS * CHUNK, NCHUNKS * CHUNK, &err),
                &err);
        kc_host_bytes_give_back(&store, &kept, NGIVEN * CHUNK + 1);
        assert_int_equal(store.nfree, NGIVEN);
        check(cudaMemsetAsync(bytes, (int)next_random(&state) & 63, NGIVEN * CHUNK, gpu.stream));
        check(cudaStreamSynchronize(gpu.stream));
        expect_ok(kc_host_bytes_append(&store, &other, bytes, NGIVEN * CHUNK, NGIVEN * CHUNK, &err),
                  &err);
        assert_int_equal(store.file_nbytes, NCHUNKS * CHUNK);
        expect_ok(kc_host_bytes_read(&store, &kept, NGIVEN * CHUNK, 1, bytes, &err), &err);
        check(cudaStreamSynchronize(gpu.upload));
        expect_ok(kc_gpu_read(&gpu, &got, bytes, 1, &err), &err);
        assert_int_equal(got, marked);
        kc_host_bytes_free(&store, &kept);
        kc_host_bytes_free(&store, &other);
        assert_int_equal(store.nfree, NCHUNKS);
        kc_gpu_delete(&gpu, bytes, NCHUNKS * CHUNK);
        kc_host_store_close(&store);
        close_gpu(&gpu);
}

/* Damage to a run's blocks in the file is an error, not a wrong pair. */
static void test_damage(void **)
{
        enum { N = 100000, MAX_PAIRS = 65536 };
        struct kc_error err = {};
        uint64_t state = 12;
        struct kc_gpu gpu = open_gpu(64 << 20);
        struct kc_host_store_setup setup = { 1 << 20, 0, ".", 1 };
        struct kc_host_store store;
        kc_run_coder<kc_key64> coder = {};
        struct kc_lsm_run<kc_key64> *run = (struct kc_lsm_run<kc_key64> *)calloc(1, sizeof *run);
        const kc_range_cuts<kc_key64> none = {};
        struct kc_ranges<kc_key64> *ranges;
        struct kc_gpu_run<kc_key64> range;
        uint64_t *nsaturated, damage = UINT64_MAX;
        run->device = to_device(&gpu, random_run<kc_key64>(N, 1 << 30, &state, 4), N);
        expect_ok(kc_host_store_open(&store, &gpu, &setup, &err), &err);
        expect_ok(kc_run_coder_open(&coder, &gpu, 1 << 20, &err), &err);
        expect_ok(kc_gpu_new(&gpu, &nsaturated, 1, &err), &err);
        expect_ok(kc_lsm_run_add_fences(&store, run, &run->device, &err), &err);
        expect_ok(kc_coded_run_append(&store, &coder, &run->host, &run->device, true, &err), &err);
        run->on_host = true;
        expect_ok(kc_temp_file_write(".", store.fd, &damage, sizeof damage,
                                     run->host.starts[3] * sizeof damage, &err),
                  &err);
        expect_ok(kc_ranges_new(&ranges, &store, &run, 1, MAX_PAIRS, &none, nsaturated, &err),
                  &err);
        assert_int_equal(kc_ranges_next(ranges, &range, &err), KC_EIO);
        assert_non_null(strstr(err.message, "damaged"));
        kc_ranges_free(ranges);
        kc_lsm_run_free(&store, run);
        kc_run_coder_close(&coder);
        kc_gpu_delete(&gpu, nsaturated, 1);
        kc_host_store_close(&store);
        close_gpu(&gpu);
}

/* Stopping the gate ends long operations: moving runs to the host, and merging. */
static void test_stopped(void **)
{
        struct kc_gpu_lsm_setup setup = { 1 << 20, ".", 0, 12000 };
        for (bool to_host : { false, true }) {
                struct kc_error err = {};
                uint64_t state = 9;
                struct kc_gate gate;
                struct kc_gpu_run<kc_key64> range;
                history<kc_key64> history = {};
                kc_gate_init(&gate, NULL);
                setup.gate = &gate;
                begin(&history, 16 << 20, setup);
                insert(&history, random_run<kc_key64>(100000, 1 << 30, &state, 4), 100000);
                if (!to_host)
                        expect_ok(kc_gpu_lsm_next(history.lsm, 65536, &range, &err), &err);
                kc_gate_stop(&gate);
                assert_int_equal(
                        to_host ? kc_gpu_lsm_make_room(history.lsm, all_room(&history), &err)
                                : kc_gpu_lsm_next(history.lsm, 65536, &range, &err),
                        KC_ECANCELED);
                kc_gpu_lsm_free(history.lsm);
                close_gpu(&history.gpu);
                kc_gate_destroy(&gate);
        }
}

/* K-mers spread evenly, half of which are the same for all seeds. */
template <class Key>
static __global__ void spread_kernel(Key *kmers, uint32_t *counts, size_t n, uint64_t seed)
{
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
        if (i >= n)
                return;
        Key width = (Key) ~(Key)0 / n;
        uint64_t mix = kc_key_hash((uint64_t)i);
        if (mix & 1)
                mix = kc_key_hash((uint64_t)i + seed * n);
        kmers[i] = (Key)i * width + (Key)(mix >> 1) % width;
        counts[i] = 1;
}

template <class Key>
static struct kc_gpu_run<Key> spread(struct kc_gpu *gpu, size_t n, uint64_t seed) {
        struct kc_error err = {};
        struct kc_gpu_run<Key> run;
        expect_ok(kc_gpu_run_new(gpu, &run, n, &err), &err);
        spread_kernel<<<kc_ceil_div(n, 256), 256, 0, gpu->stream>>>(run.kmers, run.counts, n, seed);
        check(cudaGetLastError());
        run.n = n;
        return run;
}

template <class Key>
static void time_merge(struct kc_gpu *gpu)
{
        enum { NTIMES = 5, N = 64 << 20 };
        struct kc_error err = {};
        struct kc_gpu_run<Key> a = spread<Key>(gpu, N, 1), b = spread<Key>(gpu, N, 2), result;
        struct kc_gpu_merge<Key> merge;
        cudaEvent_t events[3];
        uint64_t *nsaturated;
        float plan_ms[NTIMES], make_ms[NTIMES], best = 1e9f;
        expect_ok(kc_gpu_new(gpu, &nsaturated, 1, &err), &err);
        check(cudaMemsetAsync(nsaturated, 0, sizeof *nsaturated, gpu->stream));
        expect_ok(kc_gpu_run_new(gpu, &result, 2 * N, &err), &err);
        for (cudaEvent_t &event : events)
                check(cudaEventCreate(&event));
        for (int i = 0; i < NTIMES; i++) {
                check(cudaEventRecord(events[0], gpu->stream));
                expect_ok(kc_gpu_merge_plan(gpu, &merge, &a, &b, &err), &err);
                check(cudaEventRecord(events[1], gpu->stream));
                expect_ok(kc_gpu_merge_make(gpu, &merge, nsaturated, &result, &err), &err);
                check(cudaEventRecord(events[2], gpu->stream));
                check(cudaEventSynchronize(events[2]));
                check(cudaEventElapsedTime(&plan_ms[i], events[0], events[1]));
                check(cudaEventElapsedTime(&make_ms[i], events[1], events[2]));
                best = std::min(best, plan_ms[i] + make_ms[i]);
                kc_gpu_merge_free(gpu, &merge);
        }
        std::sort(plan_ms, plan_ms + NTIMES);
        std::sort(make_ms, make_ms + NTIMES);
        double ms = plan_ms[NTIMES / 2] + make_ms[NTIMES / 2];
        size_t nbytes = kc_gpu_run_nbytes<Key>(2 * N + result.n) + (size_t)2 * N * sizeof(Key);
        printf("merge of 2 x 64 Mi pairs, %zu bits, to %.1f Mi: %.3f ms (count %.3f, merge %.3f; "
               "best %.3f): %.1f G pairs/s in, %.1f out, %.0f GB/s\n",
               8 * sizeof(Key), (double)result.n / (1 << 20), ms, plan_ms[NTIMES / 2],
               make_ms[NTIMES / 2], best, 2 * N / ms / 1e6, (double)result.n / ms / 1e6,
               (double)nbytes / ms / 1e6);
        for (cudaEvent_t event : events)
                check(cudaEventDestroy(event));
        kc_gpu_run_free(gpu, &a);
        kc_gpu_run_free(gpu, &b);
        kc_gpu_run_free(gpu, &result);
        kc_gpu_delete(gpu, nsaturated, 1);
}

/* Insert 16 runs of 16 Mi pairs, move them to the host if `move`, merge in ranges of 16 Mi. */
template <class Key> static void time_lsm(size_t host_nbytes, bool move, int nthreads)
{
        enum { N = 16 << 20, NRUNS = 16 };
        struct kc_error err = {};
        struct kc_gpu gpu = open_gpu((size_t)24 << 30);
        struct kc_gpu_lsm_setup setup = { host_nbytes, ".", nthreads, 0 };
        struct kc_gpu_lsm<Key> *lsm;
        struct kc_gpu_run<Key> range;
        uint64_t npairs = 0, nout = 0, nranges = 0;
        double insert_s = 0, move_s = 0, next_s;
        expect_ok(kc_gpu_lsm_new(&lsm, &gpu, &setup, &err), &err);
        for (uint64_t i = 0; i < NRUNS; i++) {
                struct kc_gpu_run<Key> run = spread<Key>(&gpu, N, i);
                check(cudaStreamSynchronize(gpu.stream));
                double begun = kc_clock_seconds();
                expect_ok(kc_gpu_lsm_insert(lsm, &run, &err), &err);
                check(cudaStreamSynchronize(gpu.stream));
                insert_s += kc_clock_seconds() - begun;
                begun = kc_clock_seconds();
                if (move && i % 4 == 3)
                        expect_ok(kc_gpu_lsm_make_room(lsm, gpu.limit_nbytes - 8, &err), &err);
                move_s += kc_clock_seconds() - begun;
        }
        npairs = kc_gpu_lsm_npairs(lsm);
        next_s = kc_clock_seconds();
        do {
                expect_ok(kc_gpu_lsm_next(lsm, N, &range, &err), &err);
                nout += range.n;
                nranges++;
        } while (range.n > 0);
        check(cudaStreamSynchronize(gpu.stream));
        next_s = kc_clock_seconds() - next_s;
        printf("LSM, 16 x 16 Mi pairs, %zu bits, %zu MB in files: insert %.3f s, to host %.3f s "
               "(%.1f GB/s), merge of %.1f Mi to %.1f Mi in %llu ranges %.3f s (%.2f G pairs/s)\n",
               8 * sizeof(Key), (size_t)(kc_gpu_lsm_spilled_nbytes(lsm) >> 20), insert_s, move_s,
               move ? (double)npairs * (double)kc_gpu_run_nbytes<Key>(1) / move_s / 1e9 : 0,
               (double)npairs / (1 << 20), (double)nout / (1 << 20), (unsigned long long)nranges,
               next_s, (double)npairs / next_s / 1e9);
        kc_gpu_lsm_free(lsm);
        close_gpu(&gpu);
}

/* With KC_TEST_SPEED=1, only this runs; it prints lines for people to read. It takes 24 GB of
 * device memory, and 2 GB in a file. */
static void test_speed(void **)
{
        struct kc_gpu gpu = open_gpu(0);
        time_merge<kc_key64>(&gpu);
        time_merge<kc_key128>(&gpu);
        close_gpu(&gpu);
        time_lsm<kc_key64>(0, false, 1);
        time_lsm<kc_key64>((size_t)8 << 30, true, 1);
        time_lsm<kc_key64>((size_t)8 << 30, true, 8);
        time_lsm<kc_key64>(0, true, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_merges),     cmocka_unit_test(test_histories),
                cmocka_unit_test(test_many_runs),  cmocka_unit_test(test_few_runs),
                cmocka_unit_test(test_spare),      cmocka_unit_test(test_failures),
                cmocka_unit_test(test_host_bound), cmocka_unit_test(test_file_space),
                cmocka_unit_test(test_give_back),  cmocka_unit_test(test_damage),
                cmocka_unit_test(test_stopped),
        };
        const struct CMUnitTest timing[] = { cmocka_unit_test(test_speed) };
        need_device();
        if (getenv("KC_TEST_SPEED") != NULL)
                return cmocka_run_group_tests(timing, NULL, NULL);
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
