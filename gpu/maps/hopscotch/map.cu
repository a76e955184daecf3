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
        struct kc_hopscotch_totals *totals;
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
__device__ static void report(const struct work *work, size_t i, bool has_task,
                              const struct hopscotch_task *task, struct kc_hopscotch_totals *sums)
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

__device__ static void begin_sums(struct kc_hopscotch_totals *sums)
{
        if (threadIdx.x == 0)
                *sums = {};
        __syncthreads();
}

/* Add a block's sums to those of the launch, which the last block reports to the host. */
__device__ static void end_sums(const struct work *work, const struct kc_hopscotch_totals *block)
{
        struct kc_hopscotch_totals *all = &work->sums->totals;
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
        work->totals->nbusy = atomicExch(&all->nbusy, 0ULL);
        work->totals->nfull = atomicExch(&all->nfull, 0ULL);
        work->totals->grown = (long long)atomicExch((unsigned long long *)&all->grown, 0ULL);
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
        __shared__ struct kc_hopscotch_totals sums;
        begin_sums(&sums);
        for (size_t at = (size_t)blockIdx.x * blockDim.x; at < work.n; at += step) {
                struct hopscotch_task own = {};
                bool has_task = take_task(&work, at + threadIdx.x, &own);
                do_tasks<G, false>(&work, has_task, &own);
                report(&work, at + threadIdx.x, has_task, &own, &sums);
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

/* Collect the keys of all full slots at the front of `keys`, in any order, as far as they fit. */
static __global__ void hopscotch_export_kernel(struct kc_hop_table table,
                                               struct kc_hopscotch_hash hash, uint32_t *keys,
                                               uint64_t cap, unsigned long long *n)
{
        uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;
        uint64_t word = slot <= table.mask ? table.words[slot] : 0;
        bool full = kc_hop_is_full(word);
        unsigned long long to = kc_warp_append(n, full);
        if (full && to < cap) {
                uint32_t home = (slot - kc_hop_offset(word)) & table.mask;
                keys[to] = kc_hopscotch_join({ home, kc_hop_item(word) }, hash);
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
                return kc_fail(err, KC_EUSAGE,
                               "hopscotch map: %llu slots are too many, the limit is 2^%u",
                               (unsigned long long)nslots, (unsigned)KC_HOPSCOTCH_MAX_BITS);
        return KC_OK;
}

static struct kc_hop_table table_of(const struct kc_hopscotch_map *map)
{
        return { map->words, (uint32_t)(nslots_of(map->hash.bits) - 1), map->reach };
}

void kc_hopscotch_free(struct kc_hopscotch_map *map)
{
        if (map == NULL)
                return;
        kc_gpu_delete(map->on, map->words, nslots_of(map->hash.bits));
        kc_gpu_delete(map->on, map->results, map->results_cap);
        kc_gpu_delete(map->on, map->sums, 1);
        (void)cudaFreeHost(map->totals);
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
        KC_TRY(kc_gpu_new(map->on, &map->words, nslots, err));
        KC_TRY(kc_hopscotch_clear(map, err));
out:
        return status;
}

static enum kc_status take_memory(struct kc_hopscotch_map *map, uint32_t bits, struct kc_error *err)
{
        enum kc_status status;
        map->group = 1;
        map->nthreads = THREADS;
        map->max_tries = KC_HOP_MAX_TRIES;
        KC_TRY(take_slots(map, { bits, 0 }, err));
        KC_TRY(kc_gpu_new(map->on, &map->sums, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(map->sums, 0, sizeof *map->sums, map->on.stream)));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&map->totals, sizeof *map->totals)));
out:
        return status;
}

enum kc_status kc_hopscotch_new(struct kc_hopscotch_map **map, struct kc_gpu *gpu,
                                const struct kc_hopscotch_options *options, cudaStream_t stream,
                                struct kc_error *err)
{
        uint32_t bits;
        *map = NULL;
        enum kc_status status = bits_for(options->capacity, &bits, err);
        if (status != KC_OK)
                return status;
        struct kc_hopscotch_map *fresh = new (std::nothrow) kc_hopscotch_map();
        if (fresh == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        fresh->on = { gpu, stream };
        status = take_memory(fresh, bits, err);
        if (status == KC_OK)
                *map = fresh;
        else
                kc_hopscotch_free(fresh);
        return status;
}

enum kc_status kc_hopscotch_clear(struct kc_hopscotch_map *map, struct kc_error *err)
{
        map->size = 0;
        return KC_CUDA(cudaMemsetAsync(
                map->words, 0, nslots_of(map->hash.bits) * sizeof *map->words, map->on.stream));
}

/* ---- operations ---- */

/* As many threads as are resident at once go through all tasks; with `alone`, just one warp does,
 * so that nothing can interfere. map->totals receives what the launch reports. */
static enum kc_status launch(struct kc_hopscotch_map *map, const struct work *work, bool alone,
                             struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->on.stream;
        const unsigned nresident =
                (unsigned)map->on.gpu->nmultiprocessors * (RESIDENT / map->nthreads);
        const unsigned nblocks = std::min(kc_ceil_div(work->n, map->nthreads), nresident);
        if (alone)
                hopscotch_mixed_kernel<32><<<1, 32, 0, stream>>>(*work);
        else if (map->group == 1)
                hopscotch_mixed_kernel<1><<<nblocks, map->nthreads, 0, stream>>>(*work);
        else
                hopscotch_mixed_kernel<32><<<nblocks, map->nthreads, 0, stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        map->size += (uint64_t)map->totals->grown;
out:
        return status;
}

static enum kc_status launch_find(const struct kc_hopscotch_map *map, const struct work *work,
                                  struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->on.stream;
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
                *nfull += map->totals->nfull;
                if (map->totals->nbusy == 0)
                        return KC_OK;
        }
        status = kc_fail(err, KC_EDEVICE,
                         "hopscotch map: slots are locked although no operation is under way");
out:
        return status;
}

static enum kc_status take_results(struct kc_hopscotch_map *map, size_t n, struct kc_error *err)
{
        if (n <= map->results_cap)
                return KC_OK;
        kc_gpu_delete(map->on, map->results, map->results_cap);
        map->results = NULL;
        map->results_cap = 0;
        enum kc_status status = kc_gpu_new(map->on, &map->results, n, err);
        if (status == KC_OK)
                map->results_cap = n;
        return status;
}

static struct work work_of(const struct kc_hopscotch_map *map, const uint32_t *keys, uint64_t n,
                           uint8_t *results)
{
        struct work work = { table_of(map), map->hash };
        work.keys = keys;
        work.n = n;
        work.results = results;
        work.max_tries = map->max_tries;
        work.sums = map->sums;
        work.totals = map->totals;
        return work;
}

enum kc_status kc_hopscotch_mixed(struct kc_hopscotch_map *map, const uint8_t *ops,
                                  enum kc_hopscotch_op op, const uint32_t *keys, uint64_t n,
                                  uint8_t *results, uint64_t *nfull, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t all_full = 0;
        struct work work;
        if (results == NULL)
                KC_TRY(take_results(map, n, err));
        work = work_of(map, keys, n, results != NULL ? results : map->results);
        work.ops = ops;
        work.op = op;
        if (n > 0 && ops == NULL && op == KC_HOPSCOTCH_FIND)
                KC_TRY(launch_find(map, &work, err));
        else if (n > 0)
                KC_TRY(do_rounds(map, &work, &all_full, err));
out:
        if (nfull != NULL)
                *nfull = all_full;
        return status;
}

enum kc_status kc_hopscotch_insert(struct kc_hopscotch_map *map, const uint32_t *keys,
                                   const uint8_t *, uint64_t n, struct kc_error *err)
{
        uint64_t nfull;
        enum kc_status status =
                kc_hopscotch_mixed(map, NULL, KC_HOPSCOTCH_INSERT, keys, n, NULL, &nfull, err);
        if (status == KC_OK && nfull > 0)
                status = kc_fail(
                        err, KC_ENOMEM,
                        "hopscotch map: there is no room for %llu keys beside %llu others in "
                        "2^%u slots",
                        (unsigned long long)nfull, (unsigned long long)map->size, map->hash.bits);
        return status;
}

enum kc_status kc_hopscotch_find(const struct kc_hopscotch_map *map, const uint32_t *keys,
                                 uint8_t *values, uint64_t n, struct kc_error *err)
{
        static_assert(KC_HOP_YES == 1 && (int)KC_HOP_NO == (int)KC_HOPSCOTCH_ABSENT, "");
        struct work work = work_of(map, keys, n, values);
        work.op = KC_HOPSCOTCH_FIND;
        return n > 0 ? launch_find(map, &work, err) : KC_OK;
}

enum kc_status kc_hopscotch_erase(struct kc_hopscotch_map *map, const uint32_t *keys, uint64_t n,
                                  struct kc_error *err)
{
        return kc_hopscotch_mixed(map, NULL, KC_HOPSCOTCH_ERASE, keys, n, NULL, NULL, err);
}

/* ---- all keys ---- */

enum kc_status kc_hopscotch_export(const struct kc_hopscotch_map *map, uint32_t *keys, uint8_t *,
                                   uint64_t cap, uint64_t *n, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->on.stream;
        unsigned long long *nkeys = &map->sums->nkeys;
        hopscotch_export_kernel<<<kc_ceil_div(nslots_of(map->hash.bits), THREADS), THREADS, 0,
                                  stream>>>(table_of(map), map->hash, keys, cap, nkeys);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemsetAsync(nkeys, 0, sizeof *nkeys, stream)));
        *n = map->size;
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
        KC_TRY(kc_hopscotch_mixed(map, NULL, KC_HOPSCOTCH_INSERT, keys, before.size, NULL, &nfull,
                                  err));
out:
        *fits = status == KC_OK && nfull == 0;
        if (!*fits)
                swap_slots(map, &before);
        kc_gpu_delete(map->on, before.words, nslots_of(before.hash.bits));
        return status;
}

enum kc_status kc_hopscotch_rebuild(struct kc_hopscotch_map *map, uint64_t capacity,
                                    struct kc_error *err)
{
        enum kc_status status;
        const uint64_t nslots = capacity != 0 ? capacity : nslots_of(map->hash.bits);
        const uint64_t nkeys = map->size;
        uint64_t ncopied;
        uint32_t *keys = NULL;
        struct kc_hopscotch_hash hash = map->hash;
        bool fits = false;
        KC_TRY(bits_for(nslots > nkeys ? nslots : nkeys, &hash.bits, err));
        KC_TRY(kc_gpu_new(map->on, &keys, nkeys, err));
        KC_TRY(kc_hopscotch_export(map, keys, NULL, nkeys, &ncopied, err));
        for (int ntried = 0; !fits; ntried++) {
                hash.bits += ntried > 0 && ntried % FUNCTIONS_PER_SIZE == 0;
                hash.seed += UINT32_C(0x9e3779b9);
                KC_TRY(bits_for(nslots_of(hash.bits), &hash.bits, err));
                KC_TRY(refill(map, hash, keys, &fits, err));
        }
out:
        kc_gpu_delete(map->on, keys, nkeys);
        return status;
}
