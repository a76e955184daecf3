/*
 * Tasks whose counts no table of a block could make final: their k-mers are added to one table of
 * sums, in device memory. Once all tasks have added theirs, the sums are final.
 *
 * If the sums of all k-mers do not fit, the tasks are counted once for each of several parts of the
 * k-mers' hashes.
 */
#include "gpu/count/count_internal.cuh"
#include "gpu/count/drain.cuh"
#include "gpu/count/sums.cuh"

#include <algorithm>

enum { SLICE_NSLOTS = 2048 }; /* that a block drains */

/* ---- tasks to sums ---- */

/* Add the k-mers of a warp's part of the fold. */
template <class Key>
__device__ static void add_part(const kc_sums<Key> &sums, kc_gather<Key> *g,
                                const struct kc_tasks_in &in, uint32_t *full)
{
        const kc_fold_part part = kc_gather_part(g);
        uint32_t owners = 0;
        for (uint32_t round = 0; round * WARP < part.nkmers; round++) {
                const kc_fold_kmer<Key> kmer = kc_gather_kmer(g, part, round, &owners);
                if (round * WARP + threadIdx.x % WARP < part.nkmers) {
                        const Key key = kc_key_from_packed(kmer.packed, in.k, in.stranded);
                        if (sums.takes(key) && !sums.add(key, kmer.weight))
                                *full = 1;
                }
                __syncwarp();
        }
}

/* One block per task. */
template <class Key>
static __global__ void __launch_bounds__(THREADS)
        sum_tasks_kernel(struct kc_tasks_in in, const kc_task *tasks, kc_sums<Key> sums,
                         uint32_t *full)
{
        __shared__ kc_gather<Key> gather;
        kc_records_walk walk = kc_records_begin(in, tasks[blockIdx.x]);
        if (__syncthreads_or(*(volatile uint32_t *)full))
                return;
        kc_gather_open(&gather, in);
        do {
                kc_gather_fold<Key>(&gather, &walk, in);
                add_part<Key>(sums, &gather, in, full);
        } while (kc_records_left(&walk));
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
        drain_sums_kernel(kc_sums<Key> sums, kc_pairs_out<Key> out)
{
        __shared__ kc_drain drain;
        __shared__ kc_drain_list lists[WARPS];
        const uint32_t first = blockIdx.x * (uint32_t)SLICE_NSLOTS;
        const kc_sums_slice<Key> slice = { &sums, first,
                                           min(sums.capacity - first, (uint32_t)SLICE_NSLOTS) };
        for (uint32_t i = threadIdx.x; i < slice.n; i += THREADS)
                if (slice.excess(i) > 0)
                        atomicAdd((unsigned long long *)&out.cells[blockIdx.x % KC_COUNT_NCELLS]
                                          .nsaturated,
                                  (unsigned long long)slice.excess(i));
        kc_drain_table<Key>(&drain, &lists[threadIdx.x / WARP], slice, out);
}

/* ---- the table's memory ---- */

/* The table takes the memory in which pairs will be ordered later. */
template <class Key> static kc_sums<Key> sums_of(const kc_gpu_counter<Key> *c, uint64_t nkmers)
{
        const uintptr_t end = (uintptr_t)(c->counts + 2 * c->caps.npairs);
        const uintptr_t begin = ((uintptr_t)(c->counts + c->caps.npairs) + 7) / 8 * 8;
        const uint64_t most = std::min((end - begin) / sizeof(uint64_t), (uint64_t)UINT32_MAX);
        const uint64_t capacity = nkmers < most / 5 * 4 ? nkmers / 4 * 5 : most;
        return { c->kmers + c->caps.npairs, (uint64_t *)begin,
                 (uint32_t)std::max(capacity, (uint64_t)SLICE_NSLOTS), 0, 1 };
}

template <class Key>
enum kc_status kc_counter_begin_sums(kc_gpu_counter<Key> *c, uint64_t nkmers, uint32_t part,
                                     uint32_t nparts, struct kc_error *err)
{
        enum kc_status status;
        c->sums = sums_of(c, nkmers);
        c->sums.part = part;
        c->sums.nparts = nparts;
        if (c->readback->npairs + c->sums.capacity > c->caps.npairs)
                KC_TRY(kc_counter_give_run(c, err));
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(&c->again.totals->full, 0, sizeof(uint32_t), c->gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemsetAsync(c->sums.sums, 0, c->sums.capacity * sizeof(uint64_t),
                                       c->gpu->stream)));
out:
        return status;
}

template <class Key>
enum kc_status kc_counter_add_sums(kc_gpu_counter<Key> *c, const kc_task *tasks, uint32_t ntasks,
                                   struct kc_error *err)
{
        enum kc_status status;
        const struct kc_tasks_in in = kc_counter_tasks(c);
        if (ntasks == 0)
                return KC_OK;
        KC_TRY(kc_counter_begin_time(c, err));
        sum_tasks_kernel<Key><<<ntasks, THREADS, 0, c->gpu->stream>>>(in, tasks, c->sums,
                                                                      &c->again.totals->full);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_counter_end_time(c, COUNT, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_counter_end_sums(kc_gpu_counter<Key> *c, bool *fit, struct kc_error *err)
{
        enum kc_status status;
        const kc_pairs_out<Key> out = kc_counter_pairs(c);
        KC_TRY(kc_gpu_read(c->gpu, &c->readback->again, c->again.totals, 1, err));
        *fit = c->readback->again.full == 0;
        if (!*fit)
                return KC_OK;
        KC_TRY(kc_counter_begin_time(c, err));
        drain_sums_kernel<Key>
                <<<kc_ceil_div(c->sums.capacity, SLICE_NSLOTS), THREADS, 0, c->gpu->stream>>>(
                        c->sums, out);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(c->gpu, &c->readback->npairs, c->npairs, 1, err));
        KC_TRY(kc_counter_end_time(c, COUNT, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_counter_begin_sums<Key>(kc_gpu_counter<Key> *, uint64_t, \
                                                           uint32_t, uint32_t, struct kc_error *); \
        template enum kc_status kc_counter_add_sums<Key>(kc_gpu_counter<Key> *, const kc_task *, \
                                                         uint32_t, struct kc_error *); \
        template enum kc_status kc_counter_end_sums<Key>(kc_gpu_counter<Key> *, bool *, \
                                                         struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
