/*
 * Runs of the tests, copied to a device and back.
 */
#ifndef KC_TESTS_GPU_COPY_SUPPORT_CUH
#define KC_TESTS_GPU_COPY_SUPPORT_CUH

#include "gpu/device/run.cuh"
#include "tests/gpu/runs/lsm_support.cuh"

static void check(cudaError_t code)
{
        struct kc_error err = {};
        expect_ok(kc_cuda_check(code, "test", &err), &err);
}

template <class Key>
static struct kc_gpu_run<Key> to_device(struct kc_gpu *gpu, const pairs<Key> &run, size_t cap) {
        struct kc_error err = {};
        struct kc_gpu_run<Key> copy;
        std::vector<Key> kmers;
        std::vector<uint32_t> counts;
        for (const pair<Key> &p : run) {
                kmers.push_back(p.kmer);
                counts.push_back(p.count);
        }
        expect_ok(kc_gpu_run_new(gpu, &copy, cap, &err), &err);
        copy.n = run.size();
        if (copy.n == 0)
                return copy;
        check(cudaMemcpyAsync(copy.kmers, kmers.data(), copy.n * sizeof(Key),
                              cudaMemcpyHostToDevice, gpu->stream));
        check(cudaMemcpyAsync(copy.counts, counts.data(), copy.n * sizeof(uint32_t),
                              cudaMemcpyHostToDevice, gpu->stream));
        check(cudaStreamSynchronize(gpu->stream));
        return copy;
}

/* Append the device's run to *run. */
template <class Key>
static void to_host(struct kc_gpu *gpu, const struct kc_gpu_run<Key> *device, pairs<Key> *run)
{
        std::vector<Key> kmers(device->n);
        std::vector<uint32_t> counts(device->n);
        check(cudaMemcpyAsync(kmers.data(), device->kmers, device->n * sizeof(Key),
                              cudaMemcpyDeviceToHost, gpu->stream));
        check(cudaMemcpyAsync(counts.data(), device->counts, device->n * sizeof(uint32_t),
                              cudaMemcpyDeviceToHost, gpu->stream));
        check(cudaStreamSynchronize(gpu->stream));
        for (size_t i = 0; i < device->n; i++)
                run->push_back({ kmers[i], counts[i] });
}

#endif
