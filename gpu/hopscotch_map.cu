#include "gpu/hopscotch_map.cuh"

#include <new>

enum { MAX_ROUNDS = 8, THREADS = 256 };

/* ---- kernels ---- */

/* What a launch works on. */
struct work {
        struct kc_hop_table table;
        uint32_t bits;
        const uint8_t *ops; /* or NULL */
        enum kc_hopscotch_op op;
        const uint32_t *keys;
        size_t n;
        uint8_t *results;
        uint32_t max_tries;
        bool again; /* only what is KC_HOP_BUSY in results */
        struct kc_hopscotch_told *told;
};

struct task {
        enum kc_hopscotch_op op;
        uint32_t key;
        enum kc_hop_result result;
};

/* False: there is nothing to do with number i. */
__device__ static bool take_task(const struct work *work, size_t i, struct task *task)
{
        if (i >= work->n || (work->again && work->results[i] != KC_HOP_BUSY))
                return false;
        task->op = work->ops != NULL ? (enum kc_hopscotch_op)__ldcs(&work->ops[i]) : work->op;
        task->key = __ldcs(&work->keys[i]);
        return true;
}

/* The sums of a warp, to those of the block. */
__device__ static void tell(const struct work *work, size_t i, bool has_task,
                            const struct task *task, struct kc_hopscotch_told *sums)
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

__device__ static void end_sums(const struct work *work, const struct kc_hopscotch_told *sums)
{
        __syncthreads();
        if (threadIdx.x != 0)
                return;
        if (sums->nbusy > 0)
                atomicAdd(&work->told->nbusy, sums->nbusy);
        if (sums->nfull > 0)
                atomicAdd(&work->told->nfull, sums->nfull);
        if (sums->grown != 0)
                atomicAdd((unsigned long long *)&work->told->grown,
                          (unsigned long long)sums->grown);
}

/* The lanes of a group bring a task each and do one after the other together: the paper's "warp
 * cooperative work sharing"; a lane alone does its own. */
template <int G> __global__ static void mixed_kernel(struct work work)
{
        const kc_hop<kc_lanes<G>, KC_SCOPE_DEVICE> hop = { work.table, {} };
        const kc_lanes<G> lanes = {};
        size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        struct task own = {};
        __shared__ struct kc_hopscotch_told sums;
        begin_sums(&sums);
        bool has_task = take_task(&work, i, &own);
        for (uint32_t waiting = lanes.ballot(has_task); waiting != 0; waiting &= waiting - 1) {
                uint32_t turn = kc_hop_lowest(waiting);
                enum kc_hop_result result = kc_hopscotch_do(
                        hop, work.bits, (enum kc_hopscotch_op)lanes.from((uint32_t)own.op, turn),
                        lanes.from(own.key, turn), work.max_tries);
                if (lanes.rank() == turn)
                        own.result = result;
        }
        __syncwarp();
        tell(&work, i, has_task, &own, &sums);
        end_sums(&work, &sums);
}

/* A warp alone, one lane after the other: nobody is in anyone's way. */
__global__ static void serial_kernel(struct work work)
{
        const kc_hop<kc_lanes<1>, KC_SCOPE_DEVICE> hop = { work.table, {} };
        __shared__ struct kc_hopscotch_told sums;
        begin_sums(&sums);
        for (size_t at = 0; at < work.n; at += 32) {
                struct task own = {};
                bool has_task = take_task(&work, at + threadIdx.x, &own);
                for (uint32_t turn = __ballot_sync(~0u, has_task); turn != 0; turn &= turn - 1) {
                        if (threadIdx.x == kc_hop_lowest(turn))
                                own.result = kc_hopscotch_do(hop, work.bits, own.op, own.key);
                        __syncwarp();
                }
                tell(&work, at + threadIdx.x, has_task, &own, &sums);
        }
        end_sums(&work, &sums);
}

/* The key in each full slot, to the front of `keys` as it comes. */
__global__ static void keys_kernel(struct kc_hop_table table, uint32_t bits, uint32_t *keys,
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
                        kc_hopscotch_join({ home, kc_hop_item(word) }, bits);
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
        return { map->words, (uint32_t)(nslots_of(map->bits) - 1), map->reach };
}

void kc_hopscotch_map_free(struct kc_hopscotch_map *map)
{
        if (map == NULL)
                return;
        kc_gpu_delete(map->gpu, map->words, nslots_of(map->bits));
        kc_gpu_delete(map->gpu, map->results, map->results_cap);
        kc_gpu_delete(map->gpu, map->told, 1);
        (void)cudaFreeHost(map->heard);
        delete map;
}

static enum kc_status take_memory(struct kc_hopscotch_map *map, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(map->gpu, &map->words, nslots_of(map->bits), err));
        KC_TRY(kc_gpu_new(map->gpu, &map->told, 1, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&map->heard, sizeof *map->heard)));
        KC_TRY(kc_hopscotch_map_clear(map, err));
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
        m->bits = bits;
        m->reach = KC_HOPSCOTCH_REACH < nslots_of(bits) ? (uint32_t)KC_HOPSCOTCH_REACH
                                                        : (uint32_t)nslots_of(bits) - 1;
        m->group = 1;
        m->nthreads = THREADS;
        m->max_tries = KC_HOP_MAX_TRIES;
        status = take_memory(m, err);
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
        return KC_CUDA(cudaMemsetAsync(map->words, 0, nslots_of(map->bits) * sizeof *map->words,
                                       map->gpu->stream));
}

/* ---- operations ---- */

/* A launch, and what it tells. */
static enum kc_status launch(struct kc_hopscotch_map *map, const struct work *work, bool serial,
                             struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->gpu->stream;
        const unsigned nblocks = kc_ceil_div(work->n, map->nthreads);
        KC_TRY(KC_CUDA(cudaMemsetAsync(map->told, 0, sizeof *map->told, stream)));
        if (serial)
                serial_kernel<<<1, 32, 0, stream>>>(*work);
        else if (map->group == 1)
                mixed_kernel<1><<<nblocks, map->nthreads, 0, stream>>>(*work);
        else if (map->group == 8)
                mixed_kernel<8><<<nblocks, map->nthreads, 0, stream>>>(*work);
        else
                mixed_kernel<32><<<nblocks, map->nthreads, 0, stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemcpyAsync(map->heard, map->told, sizeof *map->told,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        map->size += (uint64_t)map->heard->grown;
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
        struct work work = { table_of(map), map->bits, ops, op, keys, n };
        bool busy = n > 0;
        if (results == NULL)
                KC_TRY(take_results(map, n, err));
        work.results = results != NULL ? results : map->results;
        work.max_tries = map->max_tries;
        work.told = map->told;
        for (int round = 0; busy && round <= MAX_ROUNDS; round++) {
                work.again = round > 0;
                KC_TRY(launch(map, &work, round == MAX_ROUNDS, err));
                all_full += map->heard->nfull;
                busy = map->heard->nbusy > 0;
        }
        if (busy)
                status = kc_fail(err, KC_EDEVICE, "a hopscotch table has locks that nobody holds");
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
        KC_TRY(KC_CUDA(cudaMemsetAsync(map->told, 0, sizeof *map->told, stream)));
        keys_kernel<<<kc_ceil_div(nslots_of(map->bits), THREADS), THREADS, 0, stream>>>(
                table_of(map), map->bits, keys, &map->told->nbusy);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* A table of 2^bits slots with the keys [map->size]; *fits tells whether there was room. */
static enum kc_status fill(struct kc_hopscotch_map **fresh, const struct kc_hopscotch_map *map,
                           uint32_t bits, const uint32_t *keys, bool *fits, struct kc_error *err)
{
        enum kc_status status;
        uint64_t nfull = 0;
        KC_TRY(kc_hopscotch_map_new(fresh, map->gpu, nslots_of(bits), err));
        KC_TRY(kc_hopscotch_map_insert(*fresh, keys, map->size, NULL, &nfull, err));
out:
        *fits = status == KC_OK && nfull == 0;
        return status;
}

/* The words change hands; the fresh table goes. */
static void take_words(struct kc_hopscotch_map *map, struct kc_hopscotch_map *fresh)
{
        uint64_t *words = map->words;
        const uint32_t bits = map->bits;
        map->words = fresh->words;
        map->bits = fresh->bits;
        map->reach = fresh->reach;
        fresh->words = words;
        fresh->bits = bits;
}

enum kc_status kc_hopscotch_map_rebuild(struct kc_hopscotch_map *map, uint64_t nslots,
                                        struct kc_error *err)
{
        enum kc_status status;
        struct kc_hopscotch_map *fresh = NULL;
        uint32_t *keys = NULL, bits;
        bool fits = false;
        KC_TRY(bits_for(nslots > map->size ? nslots : map->size, &bits, err));
        KC_TRY(kc_gpu_new(map->gpu, &keys, map->size, err));
        KC_TRY(kc_hopscotch_map_keys(map, keys, err));
        for (; !fits; bits++) {
                kc_hopscotch_map_free(fresh);
                fresh = NULL;
                KC_TRY(fill(&fresh, map, bits, keys, &fits, err));
        }
        take_words(map, fresh);
out:
        kc_hopscotch_map_free(fresh);
        kc_gpu_delete(map->gpu, keys, map->size);
        return status;
}
