/*
 * Times of ordering, stage by stage, compared with CUB's radix sort of the same pairs.
 *
 *      bench_order [pairs of k=31] [pairs of k=55]
 *
 * Two kinds of pairs: random canonical k-mers, and k-mers like those that errors in reads make, in
 * families that share a prefix of any length. Every run is checked: it ascends, and the sum of a
 * hash of its pairs is that of the input.
 */
#include "gpu/order/order.cuh"
#include "gpu/order/order_internal.cuh"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <vector>

#include "tests/gpu/support.cuh" /* after CUB: cmocka has a macro `fail` */

static struct kc_gpu gpu;
static struct kc_error err;
static double copy_rate; /* bytes per ms */

static void ok(cudaError_t code)
{
        if (code == cudaSuccess)
                return;
        printf("CUDA: %s\n", cudaGetErrorString(code));
        exit(1);
}

static void expect(enum kc_status status)
{
        if (status == KC_OK)
                return;
        printf("%s\n", err.message);
        exit(1);
}

static __device__ uint64_t mix(uint64_t x)
{
        return next_random(&x);
}

template <class Key> static __device__ Key random_kmer(uint64_t i, int k)
{
        Key a = mix(2 * i), b = mix(2 * i + 1);
        if (sizeof(Key) > 8) {
                a = (Key)(a << (sizeof(Key) > 8 ? 64 : 0)) | mix(~(2 * i));
                b = (Key)(b << (sizeof(Key) > 8 ? 64 : 0)) | mix(~(2 * i + 1));
        }
        a &= kc_key_mask<Key>(k);
        b &= kc_key_mask<Key>(k);
        return a < b ? a : b;
}

template <class Key>
static __global__ void make_kernel(Key *kmers, uint32_t *counts, size_t n, int k, int family)
{
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
        if (i >= n)
                return;
        uint64_t h = mix(i * 77 + 5);
        Key kmer = random_kmer<Key>(mix(i) % n / family, k);
        int shared = 2 * (h % k);
        if (family > 1)
                kmer ^= random_kmer<Key>(h, k) >> shared;
        else
                kmer = random_kmer<Key>(i, k);
        kmers[i] = kmer & kc_key_mask<Key>(k);
        counts[i] = 1 + (h >> 40) % (h % 8 ? 1 : 60);
}

struct sums {
        unsigned long long hash, count, bad;
};

template <class Key>
static __global__ void check_kernel(const Key *kmers, const uint32_t *counts, size_t n, bool sorted,
                                    struct sums *sums)
{
        unsigned long long hash = 0, count = 0, bad = 0;
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
             i += (size_t)gridDim.x * blockDim.x) {
                hash += (mix((uint64_t)kmers[i]) ^
                         mix((uint64_t)(kmers[i] >> 8 >> (8 * sizeof(Key) - 8 > 64 ? 56 : 8)))) *
                        counts[i];
                count += counts[i];
                bad += sorted && i > 0 && kmers[i - 1] >= kmers[i];
        }
        atomicAdd(&sums->hash, hash);
        atomicAdd(&sums->count, count);
        atomicAdd(&sums->bad, bad);
}

template <class Key>
static struct sums check(const Key *kmers, const uint32_t *counts, size_t n, bool sorted)
{
        struct sums *device, sums;
        ok(cudaMalloc(&device, sizeof *device));
        ok(cudaMemset(device, 0, sizeof *device));
        ok(cudaDeviceSynchronize()); /* gpu.stream does not wait for other streams */
        check_kernel<<<1024, 256, 0, gpu.stream>>>(kmers, counts, n, sorted, device);
        ok(cudaStreamSynchronize(gpu.stream));
        ok(cudaMemcpy(&sums, device, sizeof sums, cudaMemcpyDeviceToHost));
        ok(cudaFree(device));
        return sums;
}

enum { NROUNDS = 6 }; /* the first warms up */

static float median(std::vector<float> ms)
{
        std::sort(ms.begin() + 1, ms.end());
        return ms[1 + (ms.size() - 1) / 2];
}

static void measure_copy(void *to, const void *from, size_t nbytes)
{
        cudaEvent_t a, b;
        std::vector<float> ms(NROUNDS);
        ok(cudaEventCreate(&a));
        ok(cudaEventCreate(&b));
        for (float &t : ms) {
                ok(cudaEventRecord(a, gpu.stream));
                ok(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDeviceToDevice, gpu.stream));
                ok(cudaEventRecord(b, gpu.stream));
                ok(cudaStreamSynchronize(gpu.stream));
                ok(cudaEventElapsedTime(&t, a, b));
        }
        copy_rate = 2.0 * nbytes / median(ms);
        printf("copy %.2f TB/s (read + written)\n", copy_rate * 1e-9);
}

static void line(const char *what, float ms, size_t n, double nbytes)
{
        printf("  %-14s %7.3f ms  %6.1f G pairs/s  %4.0f%% of copy\n", what, ms, n / ms * 1e-6,
               100 * n * nbytes / ms / copy_rate);
}

template <class Key> struct bench {
        struct kc_order_input<Key> in;
        Key *kmers;
        uint32_t *counts;
};

template <class Key> static void refill(const struct bench<Key> *b)
{
        ok(cudaMemcpyAsync(b->in.kmers, b->kmers, b->in.n * sizeof(Key), cudaMemcpyDeviceToDevice,
                           gpu.stream));
        ok(cudaMemcpyAsync(b->in.counts, b->counts, b->in.n * 4, cudaMemcpyDeviceToDevice,
                           gpu.stream));
        ok(cudaStreamSynchronize(gpu.stream));
}

template <class Key>
using order_fn = enum kc_status(struct kc_gpu *, const struct kc_order_input<Key> *,
                                struct kc_gpu_run<Key> *, uint64_t *, bool *, cudaEvent_t *,
                                struct kc_error *);

template <class Key> static void time_order(const struct bench<Key> *b, order_fn<Key> *order)
{
        static const char *const names[] = { "",     "count coarse", "split", "count cells",
                                             "plan", "bucket",       "sort" };
        cudaEvent_t marks[KC_ORDER_NMARKS];
        std::vector<float> ms[KC_ORDER_NMARKS];
        size_t n = b->in.n, w = sizeof(Key), nout = 0;
        const double nbytes[] = {
                2.0 * (w + 4) + 7.0 * w, 1.0 * w, 2.0 * w + 4, 1.0 * w, 0, 2.0 * w, 2.0 * w + 4
        };
        struct sums before = check(b->kmers, b->counts, n, false), after = {};
        for (cudaEvent_t &m : marks)
                ok(cudaEventCreate(&m));
        for (int round = 0; round < NROUNDS; round++) {
                struct kc_gpu_run<Key> run;
                uint64_t nsaturated = 0;
                bool done;
                refill(b);
                expect(order(&gpu, &b->in, &run, &nsaturated, &done, marks, &err));
                if (!done) {
                        printf("  not done by buckets\n");
                        return;
                }
                ok(cudaStreamSynchronize(gpu.stream));
                for (int i = 0; i < KC_ORDER_NMARKS; i++) {
                        float t;
                        ok(cudaEventElapsedTime(&t, marks[i ? i - 1 : 0],
                                                marks[i ? i : KC_ORDER_NMARKS - 1]));
                        ms[i].push_back(t);
                }
                if (round == NROUNDS - 1) {
                        after = check(run.kmers, run.counts, run.n, true);
                        nout = run.n;
                }
                kc_gpu_run_free(&gpu, &run);
        }
        for (int i = 1; i < KC_ORDER_NMARKS; i++)
                line(names[i], median(ms[i]), n, nbytes[i]);
        line("order, total", median(ms[0]), n, nbytes[0]);
        bool right = before.hash == after.hash && before.count == after.count && after.bad == 0;
        printf("  %zu distinct, %s\n", nout, right ? "right" : "WRONG");
}

template <class Key> static void time_cub(const struct bench<Key> *b)
{
        size_t nbytes = 0;
        void *temporary;
        cudaEvent_t from, to;
        std::vector<float> ms;
        ok(cudaEventCreate(&from));
        ok(cudaEventCreate(&to));
        for (int round = -1; round < NROUNDS; round++) {
                cub::DoubleBuffer<Key> kmers(b->in.kmers, b->in.kmers_tmp);
                cub::DoubleBuffer<uint32_t> counts(b->in.counts, b->in.counts_tmp);
                refill(b);
                ok(cudaEventRecord(from, gpu.stream));
                ok(cub::DeviceRadixSort::SortPairs(round < 0 ? NULL : temporary, nbytes, kmers,
                                                   counts, b->in.n, 0, 2 * b->in.k, gpu.stream));
                ok(cudaEventRecord(to, gpu.stream));
                ok(cudaStreamSynchronize(gpu.stream));
                float t;
                ok(cudaEventElapsedTime(&t, from, to));
                if (round < 0)
                        ok(cudaMalloc(&temporary, nbytes));
                else
                        ms.push_back(t);
        }
        ok(cudaFree(temporary));
        line("CUB, sort only", median(ms), b->in.n, 0);
}

template <class Key> static void run(int k, size_t n, int family, bool cub)
{
        struct bench<Key> b = {
        };
        printf("k=%d, %zu pairs, %s\n", k, n, family > 1 ? "in families" : "at random");
        b.in.k = k;
        b.in.n = n;
        expect(kc_gpu_new(&gpu, &b.kmers, n, &err));
        expect(kc_gpu_new(&gpu, &b.counts, n, &err));
        expect(kc_gpu_new(&gpu, &b.in.kmers, n, &err));
        expect(kc_gpu_new(&gpu, &b.in.counts, n, &err));
        expect(kc_gpu_new(&gpu, &b.in.kmers_tmp, n, &err));
        expect(kc_gpu_new(&gpu, &b.in.counts_tmp, n, &err));
        make_kernel<<<kc_ceil_div(n, 256), 256, 0, gpu.stream>>>(b.kmers, b.counts, n, k, family);
        ok(cudaStreamSynchronize(gpu.stream));
        if (copy_rate == 0)
                measure_copy(b.in.kmers, b.kmers, n * sizeof(Key));
        time_order(&b, kc_order_by_buckets<Key>);
        if (cub)
                time_cub(&b);
        kc_gpu_delete(&gpu, b.kmers, n);
        kc_gpu_delete(&gpu, b.counts, n);
        kc_gpu_delete(&gpu, b.in.kmers, n);
        kc_gpu_delete(&gpu, b.in.counts, n);
        kc_gpu_delete(&gpu, b.in.kmers_tmp, n);
        kc_gpu_delete(&gpu, b.in.counts_tmp, n);
}

int main(int argc, char **argv)
{
        size_t n31 = argc > 1 ? (size_t)strtod(argv[1], NULL) : 370000000;
        size_t n55 = argc > 2 ? (size_t)strtod(argv[2], NULL) : 200000000;
        bool cub = argc <= 3;
        need_device();
        expect(kc_gpu_open(&gpu, 0, 0, &err));
        run<kc_key64>(31, n31, 1, cub);
        run<kc_key64>(31, n31, 8, false);
        if (n55 != 0)
                run<kc_key128>(55, n55, 1, cub);
        kc_gpu_close(&gpu);
        return 0;
}
