#include "gpu/kept/pack.cuh"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

enum { THREADS = 256, LANES = 8 /* for a span; a read of 150 bases lies in five or six words */ };

namespace
{

/* A span's own bases in the low half, and its marks in the high half. */
struct span_size {
        const struct kc_span *spans;
        int k;
        __device__ uint64_t operator()(uint32_t i) const
        {
                const struct kc_span span = spans[i];
                const uint64_t nmarks = (span.nbefore > 0) + (span.nafter > 0);
                return nmarks << 32 | kc_span_own_nbases(span.nkmers, span.ends != 0, k);
        }
};

} // namespace

/* The marks of a span whose own bases are those from begin to end - 1. */
static __device__ void put_marks(const struct kc_span &span, uint32_t begin, uint32_t end,
                                 struct kc_mark *marks)
{
        if (span.nbefore > 0)
                *marks++ = { begin, span.nbefore };
        if (span.nafter > 0)
                *marks = { end - span.nafter, span.nafter };
}

/* LANES threads per span write the span's own bases, each thread one word in LANES. The first and
 * the last word may hold bases of other spans, too; all words are zero at the start. */
static __global__ void pack_spans_kernel(struct kc_gpu_reads reads, int k,
                                         const uint64_t *positions, struct kc_packed to)
{
        const size_t thread = (size_t)blockIdx.x * THREADS + threadIdx.x, i = thread / LANES;
        if (i >= reads.nspans)
                return;
        const struct kc_span span = reads.spans[i];
        const uint32_t begin = (uint32_t)positions[i], lane = (uint32_t)(thread % LANES);
        const uint32_t end = begin + kc_span_own_nbases(span.nkmers, span.ends != 0, k);
        struct kc_span_group *group = &to.groups[i / KC_GROUP_NSPANS];
        if (lane == 0) {
                group->spans[i % KC_GROUP_NSPANS] = kc_group_span(span.nkmers, span.ends != 0);
                put_marks(span, begin, end, to.marks + (positions[i] >> 32));
        }
        if (lane == 0 && i % KC_GROUP_NSPANS == 0)
                group->first = begin;
        for (uint32_t word = begin / 32 + lane; word * 32 < end; word += LANES) {
                const uint32_t from = max(word * 32, begin), n = min(word * 32 + 32, end) - from;
                const uint64_t bases =
                        kc_packed_bases(reads.words + span.word, span.base + (from - begin), n);
                if (n == 32)
                        to.words[word] = bases;
                else
                        atomicOr((unsigned long long *)&to.words[word],
                                 (unsigned long long)(bases << 2 * (from % 32)));
        }
}

/* With scratch = NULL, sets *nbytes to the size it needs. */
static enum kc_status sum_sizes(const struct kc_span *spans, size_t n, int k, uint64_t *positions,
                                void *scratch, size_t *nbytes, cudaStream_t stream,
                                struct kc_error *err)
{
        thrust::counting_iterator<uint32_t> numbers(0);
        auto sizes = thrust::make_transform_iterator(numbers, span_size{ spans, k });
        return KC_CUDA(
                cub::DeviceScan::ExclusiveSum(scratch, *nbytes, sizes, positions, (int)n, stream));
}

enum kc_status kc_packer_new(struct kc_packer *packer, struct kc_gpu *gpu, size_t max_nspans,
                             struct kc_error *err)
{
        enum kc_status status;
        *packer = {};
        packer->max_nspans = max_nspans;
        KC_TRY(sum_sizes(NULL, max_nspans, 1, NULL, NULL, &packer->scratch_nbytes, gpu->stream,
                         err));
        KC_TRY(kc_gpu_new(gpu, &packer->positions, max_nspans, err));
        KC_TRY(kc_gpu_alloc(gpu, &packer->scratch, packer->scratch_nbytes, err));
out:
        return status;
}

void kc_packer_free(struct kc_packer *packer, struct kc_gpu *gpu)
{
        kc_gpu_delete(gpu, packer->positions, packer->max_nspans);
        kc_gpu_release(gpu, packer->scratch, packer->scratch_nbytes);
        *packer = {};
}

enum kc_status kc_pack_reads(struct kc_packer *packer, struct kc_gpu *gpu,
                             const struct kc_gpu_reads *reads, int k, const struct kc_packed *to,
                             struct kc_error *err)
{
        enum kc_status status;
        const size_t n = reads->nspans;
        KC_TRY(sum_sizes(reads->spans, n, k, packer->positions, packer->scratch,
                         &packer->scratch_nbytes, gpu->stream, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(to->words, 0, kc_pack_nwords(reads) * sizeof *to->words,
                                       gpu->stream)));
        if (reads->nmarks > 0) /* those that are not used come last */
                KC_TRY(KC_CUDA(cudaMemsetAsync(to->marks, 0xff, reads->nmarks * sizeof *to->marks,
                                               gpu->stream)));
        pack_spans_kernel<<<kc_ceil_div(n * LANES, THREADS), THREADS, 0, gpu->stream>>>(
                *reads, k, packer->positions, *to);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}
