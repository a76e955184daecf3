/*
 * The memory of a WarpDrive map's slots, layout by layout, and of the side table of wrapped counts.
 * Private to map.cu.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_STORAGE_CUH
#define KC_GPU_MAPS_WARPDRIVE_STORAGE_CUH

#include "gpu/maps/warpdrive/kernels.cuh"

#include <algorithm>

/* ---- slots, by layout ---- */

static __global__ void wd_free_near_kernel(uint4 *slots, uint64_t n)
{
        for (uint64_t i = (uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x; i < n;
             i += (uint64_t)gridDim.x * KC_WD_THREADS)
                slots[i] = make_uint4(UINT32_MAX, UINT32_MAX, 0, 0);
}

static enum kc_status clear_words(struct kc_gpu_stream on, uint64_t *words, uint64_t n,
                                  struct kc_error *err)
{
        return KC_CUDA(cudaMemsetAsync(words, 0xff, n * sizeof *words, on.stream));
}

static enum kc_status slots_new(struct kc_gpu_stream on, struct kc_wd_pair32 *slots, uint64_t n,
                                struct kc_error *err)
{
        return kc_gpu_new(on, &slots->words, n, err);
}

static void slots_free(struct kc_gpu_stream on, struct kc_wd_pair32 *slots, uint64_t n)
{
        kc_gpu_delete(on, slots->words, n);
}

static enum kc_status slots_clear(struct kc_gpu_stream on, struct kc_wd_pair32 *slots, uint64_t n,
                                  struct kc_error *err)
{
        return clear_words(on, slots->words, n, err);
}

static enum kc_status slots_new(struct kc_gpu_stream on, struct kc_wd_words *slots, uint64_t n,
                                struct kc_error *err)
{
        return kc_gpu_new(on, &slots->words, n, err);
}

static uint64_t wraps_capacity(const struct kc_wd_wraps *wraps)
{
        return wraps->slots == NULL ? 0 : wraps->mask + 1;
}

static void wraps_free(struct kc_gpu_stream on, struct kc_wd_wraps *wraps)
{
        uint64_t n = wraps_capacity(wraps);
        kc_gpu_delete(on, wraps->slots, n);
        kc_gpu_delete(on, wraps->times, n);
        *wraps = {};
}

static void slots_free(struct kc_gpu_stream on, struct kc_wd_words *slots, uint64_t n)
{
        wraps_free(on, &slots->wraps);
        kc_gpu_delete(on, slots->words, n);
}

static enum kc_status slots_clear(struct kc_gpu_stream on, struct kc_wd_words *slots, uint64_t n,
                                  struct kc_error *err)
{
        wraps_free(on, &slots->wraps);
        return clear_words(on, slots->words, n, err);
}

template <class Key, int KS, int VS>
static enum kc_status slots_new(struct kc_gpu_stream on, kc_wd_apart<Key, KS, VS> *slots,
                                uint64_t n, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(on, &slots->keys, n * KS, err));
        KC_TRY(kc_gpu_new(on, &slots->values, n * VS, err));
out:
        return status;
}

template <class Key, int KS, int VS>
static void slots_free(struct kc_gpu_stream on, kc_wd_apart<Key, KS, VS> *slots, uint64_t n)
{
        kc_gpu_delete(on, slots->values, n * VS);
        kc_gpu_delete(on, slots->keys, n * KS);
}

template <class Key, int KS, int VS>
static enum kc_status slots_clear(struct kc_gpu_stream on, kc_wd_apart<Key, KS, VS> *slots,
                                  uint64_t n, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaMemsetAsync(slots->keys, 0xff, n * KS, on.stream)));
        KC_TRY(KC_CUDA(cudaMemsetAsync(slots->values, 0, n * VS, on.stream)));
out:
        return status;
}

static enum kc_status slots_new(struct kc_gpu_stream on, kc_wd_near64 *slots, uint64_t n,
                                struct kc_error *err)
{
        enum kc_status status = kc_gpu_new(on, &slots->keys, n * sizeof(uint4), err);
        slots->values = slots->keys + sizeof(kc_key64);
        return status;
}

static void slots_free(struct kc_gpu_stream on, kc_wd_near64 *slots, uint64_t n)
{
        kc_gpu_delete(on, slots->keys, n * sizeof(uint4));
}

static enum kc_status slots_clear(struct kc_gpu_stream on, kc_wd_near64 *slots, uint64_t n,
                                  struct kc_error *err)
{
        wd_free_near_kernel<<<16 * on.gpu->nmultiprocessors, KC_WD_THREADS, 0, on.stream>>>(
                (uint4 *)slots->keys, n);
        return KC_LAUNCHED();
}

/* ---- wraps of remainder words ---- */

static __global__ void wd_move_wraps_kernel(struct kc_wd_wraps from, struct kc_wd_wraps to)
{
        uint64_t i = (uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x;
        if (i <= from.mask && from.slots[i] != KC_WD_NONE && from.times[i] != 0)
                to.add(from.slots[i], from.times[i]);
}

static __global__ void wd_sum_kernel(const uint32_t *weights, uint64_t n, unsigned long long *sum)
{
        unsigned long long own = 0;
        for (uint64_t i = (uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x; i < n;
             i += (uint64_t)gridDim.x * KC_WD_THREADS)
                own += weights[i];
        if (own != 0)
                atomicAdd(sum, own);
}

/* Counts wrap at most weight / 2^count_bits times, and each of nslots has one entry: room for so
 * many, and as many free ones. */
static enum kc_status grow_wraps(struct kc_gpu_stream on, struct kc_wd_words *slots,
                                 uint64_t nslots, uint64_t weight, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t most = std::min(weight >> slots->shape_of.count_bits, nslots), n = 64;
        struct kc_wd_wraps wraps = {};
        while (n < 2 * most)
                n *= 2;
        if (most == 0 || n <= wraps_capacity(&slots->wraps))
                return KC_OK;
        wraps.mask = n - 1;
        KC_TRY(kc_gpu_new(on, &wraps.slots, n, err));
        KC_TRY(kc_gpu_new(on, &wraps.times, n, err));
        KC_TRY(clear_words(on, wraps.slots, n, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(wraps.times, 0, n * sizeof *wraps.times, on.stream)));
        if (slots->wraps.slots != NULL) {
                wd_move_wraps_kernel<<<kc_ceil_div(slots->wraps.mask + 1, KC_WD_THREADS),
                                       KC_WD_THREADS, 0, on.stream>>>(slots->wraps, wraps);
                KC_TRY(KC_LAUNCHED());
        }
        std::swap(wraps, slots->wraps);
out:
        wraps_free(on, &wraps);
        return status;
}

#endif
