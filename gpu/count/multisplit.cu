/*
 * The multisplit: sorts the records of super-k-mers by bin, and cuts the bins into tasks, one for
 * each thread block.
 */
#include "gpu/count/count_internal.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

enum { THREADS = 256, WARP = 32 };

/* ---- bins to tasks ---- */

/* Find where each bin begins among the sorted records; offsets[nbins] = n. A binary search for each
 * bin reads only a few sectors of memory; a scan would read all records. */
static __global__ void multisplit_offsets_kernel(const uint64_t *records, uint32_t n,
                                                 uint32_t nbins, kc_record_form form,
                                                 uint32_t *offsets)
{
        const uint32_t bin = blockIdx.x * blockDim.x + threadIdx.x;
        const uint64_t first = (uint64_t)bin << (form.position_bits + form.length_bits);
        if (bin <= nbins)
                offsets[bin] = bin == nbins ? n : kc_count_below(records, n, first);
}

namespace
{

struct pieces_of {
        const uint32_t *offsets;
        uint32_t nbins;
        __device__ uint32_t operator()(uint32_t bin) const
        {
                uint32_t n = bin < nbins ? offsets[bin + 1] - offsets[bin] : 0;
                return (n + TASK_NRECORDS - 1) / TASK_NRECORDS;
        }
};

} // namespace

/* Exclusive prefix sums of the number of pieces of each bin, and the total. */
template <class Key>
static enum kc_status sum_pieces(kc_gpu_counter<Key> *c, uint32_t nbins, struct kc_error *err)
{
        thrust::counting_iterator<uint32_t> bins(0);
        auto pieces = thrust::make_transform_iterator(bins, pieces_of{ c->offsets, nbins });
        size_t nbytes = c->cub_nbytes;
        return KC_CUDA(cub::DeviceScan::ExclusiveSum(c->cub_memory, nbytes, pieces, c->pieces,
                                                     nbins + 1, c->gpu->stream));
}

/* The bin of a task: the last one that has at most `task` tasks before it. */
__device__ static uint32_t bin_of_task(const uint32_t *pieces, uint32_t nbins, uint32_t task)
{
        uint32_t low = 0, high = nbins; /* pieces[low] <= task < pieces[high] */
        while (high - low > 1) {
                uint32_t middle = low + (high - low) / 2;
                if (pieces[middle] <= task)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* One warp per task; bounds[t] is the number of its k-mers. */
static __global__ void multisplit_tasks_kernel(const uint64_t *records, const uint32_t *offsets,
                                               const uint32_t *pieces, uint32_t nbins,
                                               kc_record_form form, kc_task *tasks,
                                               uint64_t *bounds)
{
        uint32_t t = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
        if (t >= pieces[nbins])
                return;
        uint32_t bin = bin_of_task(pieces, nbins, t);
        uint32_t first = offsets[bin] + (t - pieces[bin]) * TASK_NRECORDS;
        uint32_t n = min(offsets[bin + 1] - first, (uint32_t)TASK_NRECORDS), nkmers = 0;
        for (uint32_t i = lane; i < n; i += WARP)
                nkmers += kc_record_nkmers(records[first + i], form);
        nkmers = __reduce_add_sync(~0u, nkmers);
        if (lane == 0) {
                const bool alone = pieces[bin + 1] - pieces[bin] == 1;
                tasks[t] = { first, (uint16_t)n, (uint16_t)alone };
                bounds[t] = nkmers;
        }
}

/* From sorted records to tasks, bounds (cumulative) and readback->ntasks. */
template <class Key> static enum kc_status make_tasks(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = c->gpu->stream;
        const uint32_t nbins = 1u << c->bin_bits[c->number];
        const kc_record_form form = c->setup.superkmers.form;
        const uint32_t n = (uint32_t)kc_counter_nrecords(c);
        size_t nbytes = c->cub_nbytes;
        multisplit_offsets_kernel<<<kc_ceil_div((size_t)nbins + 1, THREADS), THREADS, 0, stream>>>(
                c->records, n, nbins, form, c->offsets);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(sum_pieces(c, nbins, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->ntasks, c->pieces + nbins, sizeof(uint32_t),
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        if (c->readback->ntasks == 0)
                return KC_OK;
        multisplit_tasks_kernel<<<kc_ceil_div((size_t)c->readback->ntasks * WARP, THREADS), THREADS,
                                  0, stream>>>(c->records, c->offsets, c->pieces, nbins, form,
                                               c->tasks, c->bounds);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cub::DeviceScan::InclusiveSum(c->cub_memory, nbytes, c->bounds, c->bounds,
                                                     (int)c->readback->ntasks, stream)));
out:
        return status;
}

/* ---- records to bins ---- */

/* Sort by bin: the multisplit. */
template <class Key> enum kc_status kc_counter_split(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        const kc_record_form form = c->setup.superkmers.form;
        const int bin_shift = form.position_bits + form.length_bits;
        const int bin_bits = c->bin_bits[c->number];
        cub::DoubleBuffer<uint64_t> buffers(c->found, c->records);
        size_t nbytes = c->cub_nbytes;
        KC_TRY(kc_counter_begin_time(c, err));
        if (bin_bits > 0) /* otherwise all are in one bin, in the order found */
                KC_TRY(KC_CUDA(cub::DeviceRadixSort::SortKeys(
                        c->cub_memory, nbytes, buffers, kc_counter_nrecords(c), bin_shift,
                        bin_shift + bin_bits, c->gpu->stream)));
        c->records = buffers.Current();
        c->found = buffers.Alternate();
        KC_TRY(make_tasks(c, err));
        KC_TRY(kc_counter_end_time(c, SPLIT, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_counter_split<Key>(kc_gpu_counter<Key> *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
