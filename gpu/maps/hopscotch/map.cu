#include "gpu/maps/hopscotch/map.cuh"

#include <algorithm>
#include <new>
#include <utility>

enum { MAX_ROUNDS = 8, THREADS = 256, FUNCTIONS_PER_SIZE = 2 };

/* Resident threads per multiprocessor, for kernels with 32 registers. */
#if defined(__CUDA_ARCH__) && \
        (__CUDA_ARCH__ >= 1200 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900))
enum { RESIDENT = 1536 };
#else
enum { RESIDENT = 2048 };
#endif

/* ---- kernels ---- */

namespace
{

/* What a launch works on. */
struct work {
        struct kc_hop_table table;
        struct kc_hopscotch_hash hash;
        const uint8_t *ops; /* or NULL */
        enum kc_hopscotch_op op;
        const uint32_t *keys;
        size_t n;
        uint8_t *results;
        uint32_t max_tries;
        bool again; /* do only operations whose result is KC_HOP_BUSY */
        struct kc_hopscotch_sums *sums;
        struct kc_hopscotch_told *told;
};

struct hopscotch_task {
        enum kc_hopscotch_op op;
        uint32_t key;
        enum kc_hop_result result;
};

} // namespace

/* False if operation i does not exist or is not to be done. */
__device__ static bool take_task(const struct work *work, size_t i, struct hopscotch_task *task)
{
        if (i >= work->n || (work->again && work->results[i] != KC_HOP_BUSY))
                return false;
        task->op = work->ops != NULL ? (enum kc_hopscotch_op)__ldcs(&work->ops[i]) : work->op;
        task->key = __ldcs(&work->keys[i]);
        return true;
}

/* Store the results, and add the sums of a warp to those of the block. */
__device__ static void tell(const struct work *work, size_t i, bool has_task,
                            const struct hopscotch_task *task, struct kc_hopscotch_told *sums)
{
        if (has_task)
                work->results[i] = (uint8_t)task->result;
        bool changed = has_task && task->result == KC_HOP_YES;
        uint32_t nbusy =
                (uint32_t)__popc(__ballot_sync(~0u, has_task && task->result == KC_HOP_BUSY));
        uint32_t nfull =
                (uint32_t)__popc(__ballot_sync(~0u, has_task && task->result == KC_HOP_FULL_TABLE));
        int grown = __popc(__ballot_sync(~0u, changed && task->op == KC_HOPSCOTCH_INSERT)) -
                    __popc(__ballot_sync(~0u, changed && task->op == KC_HOPSCOTCH_ERASE));
        if (kc_warp_lane() != 0)
                return;
        if (nbusy > 0)
                atomicAdd(&sums->nbusy, (unsigned long long)nbusy);
        if (nfull > 0)
                atomicAdd(&sums->nfull, (unsigned long long)nfull);
        if (grown != 0)
                atomicAdd((unsigned long long *)&sums->grown, (unsigned long long)grown);
}

__device__ static void begin_sums(struct kc_hopscotch_told *sums)
{
        if (threadIdx.x == 0)
                *sums = {};
        __syncthreads();
}

/* Add a block's sums to those of the launch, which the last block reports to the host. */
__device__ static void end_sums(const struct work *work, const struct kc_hopscotch_told *block)
{
        struct kc_hopscotch_told *all = &work->sums->told;
        __syncthreads();
        if (threadIdx.x != 0)
                return;
        if (block->nbusy > 0)
                atomicAdd(&all->nbusy, block->nbusy);
        if (block->nfull > 0)
                atomicAdd(&all->nfull, block->nfull);
        if (block->grown != 0)
                atomicAdd((unsigned long long *)&all->grown, (unsigned long long)block->grown);
        __threadfence();
        if (atomicAdd(&work->sums->nblocks, 1u) != gridDim.x - 1)
                return;
        __threadfence();
        work->sums->nblocks = 0;
        work->told->nbusy = atomicExch(&all->nbusy, 0ULL);
        work->told->nfull = atomicExch(&all->nfull, 0ULL);
        work->told->grown = (long long)atomicExch((unsigned long long *)&all->grown, 0ULL);
}

/* Each lane of a group brings a task, and the group does one after the other together: the paper's
 * "warp cooperative work sharing". With G = 1 a lane does its own. FINDS: all tasks are lookups. */
template <int G, bool FINDS>
__device__ static void do_tasks(const struct work *work, bool has_task, struct hopscotch_task *own)
{
        const kc_hop<kc_lanes<G>, KC_SCOPE_DEVICE> hop = { work->table, {} };
        const kc_lanes<G> lanes = {};
        for (uint32_t waiting = lanes.ballot(has_task); waiting != 0; waiting &= waiting - 1) {
                uint32_t turn = kc_hop_lowest(waiting);
                auto op = (enum kc_hopscotch_op)lanes.from((uint32_t)own->op, turn);
                enum kc_hop_result result =
                        kc_hopscotch_do(hop, work->hash, FINDS ? KC_HOPSCOTCH_FIND : op,
                                        lanes.from(own->key, turn), work->max_tries);
                if (lanes.rank() == turn)
                        own->result = result;
        }
        __syncwarp();
}

template <int G>
static __global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
        hopscotch_mixed_kernel(struct work work)
{
        const size_t step = (size_t)gridDim.x * blockDim.x;
        __shared__ struct kc_hopscotch_told sums;
        begin_sums(&sums);
        for (size_t at = (size_t)blockIdx.x * blockDim.x; at < work.n; at += step) {
                struct hopscotch_task own = {};
                bool has_task = take_task(&work, at + threadIdx.x, &own);
                do_tasks<G, false>(&work, has_task, &own);
                tell(&work, at + threadIdx.x, has_task, &own, &sums);
        }
        end_sums(&work, &sums);
}

/* One task per thread; lookups have nothing to report. */
template <int G> static __global__ void hopscotch_find_kernel(struct work work)
{
        const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        struct hopscotch_task own = {};
        bool has_task = take_task(&work, i, &own);
        do_tasks<G, true>(&work, has_task, &own);
        if (has_task)
                work.results[i] = (uint8_t)own.result;
}

/* Collect the keys of all full slots at the front of `keys`, in any order. */
static __global__ void hopscotch_keys_kernel(struct kc_hop_table table,
                                             struct kc_hopscotch_hash hash, uint32_t *keys,
                                             unsigned long long *n)
{
        uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;
        uint64_t word = slot <= table.mask ? table.words[slot] : 0;
        uint32_t full = __ballot_sync(~0u, kc_hop_is_full(word));
        unsigned long long first = 0;
        if (kc_warp_lane() == 0 && full != 0)
                first = atomicAdd(n, (unsigned long long)__popc(full));
        first = __shfl_sync(~0u, first, 0);
        if (kc_hop_is_full(word)) {
                uint32_t home = (slot - kc_hop_offset(word)) & table.mask;
                keys[first + kc_warp_rank(full)] =
                        kc_hopscotch_join({ home, kc_hop_item(word) }, hash);
        }
}

/* ---- memory ---- */

static size_t nslots_of(uint32_t bits)
{
        return (size_t)1 << bits;
}

static enum kc_status bits_for(uint64_t nslots, uint32_t *bits, struct kc_error *err)
{
        for (*bits = KC_HOPSCOTCH_MIN_BITS; *bits < KC_HOPSCOTCH_MAX_BITS; ++*bits)
                if (nslots <= nslots_of(*bits))
                        break;
        if (nslots > nslots_of(*bits))
                return kc_fail(err, KC_EUSAGE, "a hopscotch table of %llu slots: 2^%u are the most",
                               (unsigned long long)nslots, (unsigned)KC_HOPSCOTCH_MAX_BITS);
        return KC_OK;
}

static struct kc_hop_table table_of(const struct kc_hopscotch_map *map)
{
        return { map->words, (uint32_t)(nslots_of(map->hash.bits) - 1), map->reach };
}

void kc_hopscotch_map_free(struct kc_hopscotch_map *map)
{
        if (map == NULL)
                return;
        kc_gpu_delete(map->gpu, map->words, nslots_of(map->hash.bits));
        kc_gpu_delete(map->gpu, map->results, map->results_cap);
        kc_gpu_delete(map->gpu, map->sums, 1);
        (void)cudaFreeHost(map->told);
        delete map;
}

/* Allocate empty slots; the map must have none. */
static enum kc_status take_slots(struct kc_hopscotch_map *map, struct kc_hopscotch_hash hash,
                                 struct kc_error *err)
{
        enum kc_status status;
        const size_t nslots = nslots_of(hash.bits);
        map->hash = hash;
        map->reach =
                nslots > KC_HOPSCOTCH_REACH ? (uint32_t)KC_HOPSCOTCH_REACH : (uint32_t)nslots - 1;
        KC_TRY(kc_gpu_new(map->gpu, &map->words, nslots, err));
        KC_TRY(kc_hopscotch_map_clear(map, err));
out:
        return status;
}

static enum kc_status take_memory(struct kc_hopscotch_map *map, uint32_t bits, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(take_slots(map, { bits, 0 }, err));
        KC_TRY(kc_gpu_new(map->gpu, &map->sums, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(map->sums, 0, sizeof *map->sums, map->gpu->stream)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&map->told, sizeof *map->told)));
out:
        return status;
}

enum kc_status kc_hopscotch_map_new(struct kc_hopscotch_map **map, struct kc_gpu *gpu,
                                    uint64_t nslots, struct kc_error *err)
{
        uint32_t bits;
        enum kc_status status = bits_for(nslots, &bits, err);
        if (status != KC_OK)
                return status;
        struct kc_hopscotch_map *m = new (std::nothrow) kc_hopscotch_map();
        if (m == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        m->gpu = gpu;
        m->group = 1;
        m->nthreads = THREADS;
        m->max_tries = KC_HOP_MAX_TRIES;
        status = take_memory(m, bits, err);
        if (status != KC_OK) {
                kc_hopscotch_map_free(m);
                return status;
        }
        *map = m;
        return KC_OK;
}

enum kc_status kc_hopscotch_map_clear(struct kc_hopscotch_map *map, struct kc_error *err)
{
        map->size = 0;
        return KC_CUDA(cudaMemsetAsync(
                map->words, 0, nslots_of(map->hash.bits) * sizeof *map->words, map->gpu->stream));
}

/* ---- operations ---- */

/* As many threads as are resident at once go through all tasks; with `alone`, just one warp does,
 * so that nothing can interfere. map->told receives what the launch reports. */
static enum kc_status launch(struct kc_hopscotch_map *map, const struct work *work, bool alone,
                             struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->gpu->stream;
        const unsigned nresident =
                (unsigned)map->gpu->nmultiprocessors * (RESIDENT / map->nthreads);
        const unsigned nblocks = std::min(kc_ceil_div(work->n, map->nthreads), nresident);
        if (alone)
                hopscotch_mixed_kernel<32><<<1, 32, 0, stream>>>(*work);
        else if (map->group == 1)
                hopscotch_mixed_kernel<1><<<nblocks, map->nthreads, 0, stream>>>(*work);
        else
                hopscotch_mixed_kernel<32><<<nblocks, map->nthreads, 0, stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        map->size += (uint64_t)map->told->grown;
out:
        return status;
}

static enum kc_status launch_find(struct kc_hopscotch_map *map, const struct work *work,
                                  struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->gpu->stream;
        const unsigned nblocks = kc_ceil_div(work->n, map->nthreads);
        if (map->group == 1)
                hopscotch_find_kernel<1><<<nblocks, map->nthreads, 0, stream>>>(*work);
        else
                hopscotch_find_kernel<32><<<nblocks, map->nthreads, 0, stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

/* Launch until no operation is BUSY; the last round runs in a single warp. *nfull: how many found
 * no room. */
static enum kc_status do_rounds(struct kc_hopscotch_map *map, struct work *work, uint64_t *nfull,
                                struct kc_error *err)
{
        enum kc_status status;
        for (int round = 0; round <= MAX_ROUNDS; round++) {
                work->again = round > 0;
                KC_TRY(launch(map, work, round == MAX_ROUNDS, err));
                *nfull += map->told->nfull;
                if (map->told->nbusy == 0)
                        return KC_OK;
        }
        status = kc_fail(err, KC_EDEVICE, "a hopscotch table has locks that nobody holds");
out:
        return status;
}

static enum kc_status take_results(struct kc_hopscotch_map *map, size_t n, struct kc_error *err)
{
        if (n <= map->results_cap)
                return KC_OK;
        kc_gpu_delete(map->gpu, map->results, map->results_cap);
        map->results = NULL;
        map->results_cap = 0;
        enum kc_status status = kc_gpu_new(map->gpu, &map->results, n, err);
        if (status == KC_OK)
                map->results_cap = n;
        return status;
}

enum kc_status kc_hopscotch_map_mixed(struct kc_hopscotch_map *map, const uint8_t *ops,
                                      enum kc_hopscotch_op op, const uint32_t *keys, size_t n,
                                      uint8_t *results, uint64_t *nfull, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t all_full = 0;
        struct work work = { table_of(map), map->hash, ops, op, keys, n };
        if (results == NULL)
                KC_TRY(take_results(map, n, err));
        work.results = results != NULL ? results : map->results;
        work.max_tries = map->max_tries;
        work.sums = map->sums;
        work.told = map->told;
        if (n > 0 && ops == NULL && op == KC_HOPSCOTCH_FIND)
                KC_TRY(launch_find(map, &work, err));
        else if (n > 0)
                KC_TRY(do_rounds(map, &work, &all_full, err));
out:
        if (nfull != NULL)
                *nfull = all_full;
        return status;
}

/* ---- all keys ---- */

enum kc_status kc_hopscotch_map_keys(struct kc_hopscotch_map *map, uint32_t *keys,
                                     struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->gpu->stream;
        unsigned long long *nkeys = &map->sums->nkeys;
        hopscotch_keys_kernel<<<kc_ceil_div(nslots_of(map->hash.bits), THREADS), THREADS, 0,
                                stream>>>(table_of(map), map->hash, keys, nkeys);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemsetAsync(nkeys, 0, sizeof *nkeys, stream)));
out:
        return status;
}

/* ---- a table of another size ---- */

static void swap_slots(struct kc_hopscotch_map *a, struct kc_hopscotch_map *b)
{
        std::swap(a->words, b->words);
        std::swap(a->hash, b->hash);
        std::swap(a->reach, b->reach);
        std::swap(a->size, b->size);
}

/* Insert the keys [map->size] into new slots; if they do not fit, nothing changes. */
static enum kc_status refill(struct kc_hopscotch_map *map, struct kc_hopscotch_hash hash,
                             const uint32_t *keys, bool *fits, struct kc_error *err)
{
        enum kc_status status;
        struct kc_hopscotch_map before = {};
        uint64_t nfull = 0;
        swap_slots(map, &before);
        KC_TRY(take_slots(map, hash, err));
        KC_TRY(kc_hopscotch_map_insert(map, keys, before.size, NULL, &nfull, err));
out:
        *fits = status == KC_OK && nfull == 0;
        if (!*fits)
                swap_slots(map, &before);
        kc_gpu_delete(map->gpu, before.words, nslots_of(before.hash.bits));
        return status;
}

enum kc_status kc_hopscotch_map_rebuild(struct kc_hopscotch_map *map, uint64_t nslots,
                                        struct kc_error *err)
{
        enum kc_status status;
        const uint64_t nkeys = map->size;
        uint32_t *keys = NULL;
        struct kc_hopscotch_hash hash = map->hash;
        bool fits = false;
        KC_TRY(bits_for(nslots > nkeys ? nslots : nkeys, &hash.bits, err));
        KC_TRY(kc_gpu_new(map->gpu, &keys, nkeys, err));
        KC_TRY(kc_hopscotch_map_keys(map, keys, err));
        for (int ntried = 0; !fits; ntried++) {
                hash.bits += ntried > 0 && ntried % FUNCTIONS_PER_SIZE == 0;
                hash.seed += UINT32_C(0x9e3779b9);
                KC_TRY(bits_for(nslots_of(hash.bits), &hash.bits, err));
                KC_TRY(refill(map, hash, keys, &fits, err));
        }
out:
        kc_gpu_delete(map->gpu, keys, nkeys);
        return status;
}
