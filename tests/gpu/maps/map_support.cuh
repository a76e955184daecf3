/*
 * What the tests of the maps share: copying batches to device memory and back.
 */
#ifndef KC_TESTS_GPU_MAPS_MAP_SUPPORT_CUH
#define KC_TESTS_GPU_MAPS_MAP_SUPPORT_CUH

#include "tests/gpu/tables/table_support.cuh"

#include <map>

/* A copy of host values in device memory. */
template <class T> static T *up(struct kc_gpu_stream on, const std::vector<T> &values)
{
        struct kc_error error = {}, *err = &error;
        T *device = NULL;
        expect_ok(kc_gpu_new(on, &device, values.size(), err), err);
        if (!values.empty())
                expect_ok(KC_CUDA(cudaMemcpyAsync(device, values.data(), values.size() * sizeof(T),
                                                  cudaMemcpyHostToDevice, on.stream)),
                          err);
        return device;
}

template <class T> static T *up(struct kc_gpu *gpu, const std::vector<T> &values)
{
        return up(kc_gpu_stream{ gpu, gpu->stream }, values);
}

/* Copy n values from a device array of `capacity`, and release the array. */
template <class T>
static std::vector<T> down(struct kc_gpu_stream on, T *device, size_t n, size_t capacity)
{
        struct kc_error error = {}, *err = &error;
        std::vector<T> values(n);
        expect_ok(KC_CUDA(cudaStreamSynchronize(on.stream)), err);
        if (n != 0)
                expect_ok(KC_CUDA(cudaMemcpy(values.data(), device, n * sizeof(T),
                                             cudaMemcpyDeviceToHost)),
                          err);
        kc_gpu_delete(on, device, capacity);
        return values;
}

template <class T>
static std::vector<T> down(struct kc_gpu *gpu, T *device, size_t n, size_t capacity)
{
        return down(kc_gpu_stream{ gpu, gpu->stream }, device, n, capacity);
}

/* Random values below 2^31. */
static inline std::vector<uint32_t> some_values(size_t n, uint64_t seed)
{
        std::vector<uint32_t> values;
        for (size_t i = 0; i < n; i++)
                values.push_back((uint32_t)(next_random(&seed) >> 33));
        return values;
}

#endif
