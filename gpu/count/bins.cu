#include "gpu/count/bins.cuh"

#include "gpu/count/drain.cuh"

#include <algorithm>

/* Whether a table refers to the stretches of the fold. */
template <class Table> static constexpr bool refers = false;
template <class Key, class Fold> static constexpr bool refers<kc_refs<Key, Fold>> = true;

namespace
{

template <class Key> struct block_state {
        kc_gather<Key> gather;
        kc_drain drain;
};

} // namespace

/* Count the k-mers of a warp's part of the fold. Returns false as soon as one finds no room in the
 * table. The warp must be converged. */
template <class Key, class Table>
__device__ static bool count_part(Table *table, kc_gather<Key> *g, const struct kc_tasks_in &in)
{
        const kc_fold_part part = kc_gather_part(g);
        uint32_t owners = 0;
        for (uint32_t round = 0; round * WARP < part.nkmers; round++) {
                const bool active = round * WARP + threadIdx.x % WARP < part.nkmers;
                const kc_fold_kmer<Key> kmer = kc_gather_kmer(g, part, round, &owners);
                bool added;
                if constexpr (refers<Table>) {
                        kc_ref<Key> ref = kc_ref_of(kmer.packed, in.k, in.stranded);
                        ref.number = kmer.number;
                        ref.offset = kmer.offset;
                        added = table->add(ref, kmer.weight, active);
                } else {
                        Key key = kc_key_from_packed(kmer.packed, in.k, in.stranded);
                        added = table->add(key, kmer.weight, active);
                }
                if (__any_sync(~0u, !added))
                        return false;
        }
        return true;
}

/* Count all k-mers of a bin. Returns false if they do not fit in the table, or the stretches that
 * the table refers to in the fold. For the whole block. */
template <class Key, class Table>
__device__ static bool count_bin(Table *table, kc_gather<Key> *g, const kc_task &task,
                                 const struct kc_tasks_in &in)
{
        kc_records_walk walk = kc_records_begin(in, task);
        table->clear();
        for (;;) {
                kc_gather_fold<Key>(g, &walk, in);
                if (__syncthreads_or(!count_part<Key>(table, g, in)))
                        return false;
                if (!kc_records_left(&walk))
                        return true;
                if (refers<Table>)
                        return false;
        }
}

/* Leave a task to kc_recount_tasks. */
__device__ static void put_off(const struct kc_tasks_in &in, const kc_task &task, uint32_t number,
                               const struct kc_recounts &again)
{
        const uint64_t before = number == 0 ? 0 : in.bounds[number - 1];
        again.tasks[atomicAdd(&again.totals->ntasks, 1u)] = task;
        atomicAdd((unsigned long long *)&again.totals->nkmers,
                  (unsigned long long)(in.bounds[number] - before));
}

/* One block per task, or fewer blocks that loop over the tasks. */
template <class Key, class Table>
static __global__ void __launch_bounds__(THREADS, Table::MIN_BLOCKS)
        count_bins_kernel(kc_table_setup setup, struct kc_tasks_in in, uint32_t first,
                          uint32_t last, kc_pairs_out<Key> out, struct kc_recounts again)
{
        extern __shared__ uint4 dynamic[];
        __shared__ block_state<Key> state;
        Table table(setup, dynamic);
        if constexpr (refers<Table>)
                table.refer(&state.gather.records, in.k, in.stranded);
        /* The list takes the memory of the warp's expander, which is not needed during a drain. */
        static_assert(sizeof(kc_expander<Key>) >= sizeof(kc_drain_list), "shared memory");
        auto *list = (kc_drain_list *)&state.gather.expanders[threadIdx.x / WARP];
        kc_gather_open(&state.gather, in);
        for (uint32_t t = first + blockIdx.x; t < last; t += gridDim.x) {
                const kc_task task = in.tasks[t];
                if (task.whole && count_bin<Key>(&table, &state.gather, task, in))
                        kc_drain_table<Key>(&state.drain, list, table, out);
                else if (threadIdx.x == 0)
                        put_off(in, task, t, again);
                __syncthreads();
        }
}

/* ---- launching ---- */

template <class Key, class Table>
static enum kc_status launch(struct kc_gpu *gpu, const kc_table_setup *setup,
                             const struct kc_tasks_in *in, uint32_t first, uint32_t last,
                             const kc_pairs_out<Key> *out, const struct kc_recounts *again,
                             struct kc_error *err)
{
        static_assert(sizeof(block_state<Key>) +
                                      Table::shared_nbytes({ Table::CAPACITY, NULL, 0 }) <=
                              KC_GPU_BLOCK_SHARED_NBYTES,
                      "a block has enough shared memory on every device");
        enum kc_status status;
        const size_t shared = Table::shared_nbytes(*setup);
        const bool few = Table::ARENA_NBYTES != 0 && setup->capacity < last - first;
        const uint32_t nblocks = few ? setup->capacity : last - first;
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(count_bins_kernel<Key, Table>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)shared)));
        count_bins_kernel<Key, Table>
                <<<nblocks, THREADS, shared, gpu->stream>>>(*setup, *in, first, last, *out, *again);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Key>
enum kc_status kc_count_tasks(struct kc_gpu *gpu, enum kc_gpu_table kind,
                              const kc_table_setup *setup, const struct kc_tasks_in *in,
                              uint32_t first, uint32_t last, const kc_pairs_out<Key> *out,
                              const struct kc_recounts *again, struct kc_error *err)
{
        if (first == last)
                return KC_OK;
        return kc_table_choose<Key>(kind, [&](auto type) {
                using Table = typename decltype(type)::type;
                return launch<Key, Table>(gpu, setup, in, first, last, out, again, err);
        });
}

template <class Key>
void kc_count_tables_plan(const struct kc_gpu *gpu, enum kc_gpu_table kind, kc_table_setup *setup,
                          size_t *arena_nbytes)
{
        *setup = kc_table_choose<Key>(kind, [&](auto type) {
                using Table = typename decltype(type)::type;
                const uint32_t narenas =
                        std::min(4 * (uint32_t)gpu->nmultiprocessors, (uint32_t)Table::MAX_ARENAS);
                const uint32_t capacity = Table::ARENA_NBYTES != 0 ? narenas : Table::CAPACITY;
                return kc_table_setup{ capacity, NULL, Table::ARENA_NBYTES };
        });
        *arena_nbytes = setup->capacity * setup->arena_nbytes;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_count_tasks<Key>( \
                struct kc_gpu *, enum kc_gpu_table, const kc_table_setup *, \
                const struct kc_tasks_in *, uint32_t, uint32_t, const kc_pairs_out<Key> *, \
                const struct kc_recounts *, struct kc_error *); \
        template void kc_count_tables_plan<Key>(const struct kc_gpu *, enum kc_gpu_table, \
                                                kc_table_setup *, size_t *);
KC_GPU_KEYS(INSTANTIATE)
