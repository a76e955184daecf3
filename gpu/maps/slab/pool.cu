#include "gpu/maps/slab/pool.cuh"

#include "gpu/device/warp.cuh"

#include <algorithm>

enum { THREADS = 256 };

static size_t super_nbytes(const struct kc_slab_pool *pool)
{
        return kc_slab_super_nbytes(pool->params.nblocks);
}

/* ---- making and growing */

static void fill_in(struct kc_slab_pool_params *params)
{
        params->nblocks = params->nblocks != 0 ? params->nblocks : 256;
        params->nsupers = params->nsupers != 0 ? params->nsupers : 1;
        params->max_supers =
                params->max_supers != 0 ? params->max_supers : (uint32_t)KC_SLAB_POOL_MAX_SUPERS;
        params->max_changes = params->max_changes != 0 ? params->max_changes : 32;
}

static enum kc_status check(const struct kc_slab_pool_params *params, struct kc_error *err)
{
        if (params->nblocks <= KC_SLAB_POOL_MAX_BLOCKS && params->nsupers <= params->max_supers &&
            params->max_supers <= KC_SLAB_POOL_MAX_SUPERS)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "slab pool: %u to %u super blocks of %u memory blocks are too many, the "
                       "limits are %u and %u",
                       params->nsupers, params->max_supers, params->nblocks,
                       (unsigned)KC_SLAB_POOL_MAX_SUPERS, (unsigned)KC_SLAB_POOL_MAX_BLOCKS);
}

/* Allocate a zeroed piece of `nbytes`. */
static enum kc_status new_piece(struct kc_gpu_stream on, char **piece, size_t nbytes,
                                struct kc_error *err)
{
        enum kc_status status = kc_gpu_new(on, piece, nbytes, err);
        return status != KC_OK ? status : KC_CUDA(cudaMemsetAsync(*piece, 0, nbytes, on.stream));
}

/* Address 0 means none, so its slab is never free. */
static enum kc_status reserve_first(struct kc_slab_pool *pool, struct kc_error *err)
{
        char *bitmap = pool->supers[0] + kc_slab_bitmap_offset(pool->params.nblocks, 0);
        return KC_CUDA(cudaMemsetAsync(bitmap, 1, 1, pool->on.stream));
}

static enum kc_status write_table(struct kc_slab_pool *pool, struct kc_error *err)
{
        return KC_CUDA(cudaMemcpyAsync(pool->table, pool->supers, sizeof(pool->supers),
                                       cudaMemcpyHostToDevice, pool->on.stream));
}

/* Grow to n super blocks in one piece, copying the old ones. */
static enum kc_status grow_light(struct kc_slab_pool *pool, uint32_t n, struct kc_error *err)
{
        enum kc_status status;
        size_t old_nbytes = pool->nsupers * super_nbytes(pool);
        char *piece = NULL;
        KC_TRY(new_piece(pool->on, &piece, n * super_nbytes(pool), err));
        if (old_nbytes > 0)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(piece, pool->supers[0], old_nbytes,
                                               cudaMemcpyDeviceToDevice, pool->on.stream)));
        std::swap(piece, pool->supers[0]);
        std::swap(n, pool->nsupers);
out:
        kc_gpu_delete(pool->on, piece, n * super_nbytes(pool));
        return status;
}

/* Grow to up to n super blocks; one more than before counts as success. */
static enum kc_status grow_regular(struct kc_slab_pool *pool, uint32_t n, struct kc_error *err)
{
        uint32_t before = pool->nsupers;
        enum kc_status status = KC_OK;
        while (status == KC_OK && pool->nsupers < n) {
                char **super = &pool->supers[pool->nsupers];
                struct kc_error refusal = {};
                status = new_piece(pool->on, super, super_nbytes(pool), &refusal);
                if (status == KC_OK)
                        pool->nsupers++;
                else if (status != KC_ENOMEM || pool->nsupers == before)
                        return kc_fail_as(err, &refusal);
        }
        return write_table(pool, err);
}

static enum kc_status grow_to(struct kc_slab_pool *pool, uint32_t n, struct kc_error *err)
{
        return pool->params.light ? grow_light(pool, n, err) : grow_regular(pool, n, err);
}

enum kc_status kc_slab_pool_init(struct kc_slab_pool *pool, struct kc_gpu_stream on,
                                 const struct kc_slab_pool_params *params, struct kc_error *err)
{
        enum kc_status status;
        *pool = {};
        pool->on = on;
        pool->params = *params;
        fill_in(&pool->params);
        KC_TRY(check(&pool->params, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&pool->news, sizeof *pool->news)));
        *pool->news = 0;
        KC_TRY(kc_gpu_new(on, &pool->table, KC_SLAB_POOL_MAX_SUPERS, err));
        for (uint32_t n = 0; n < pool->params.nsupers; n = pool->nsupers)
                KC_TRY(grow_to(pool, pool->params.nsupers, err));
        KC_TRY(reserve_first(pool, err));
out:
        return status;
}

void kc_slab_pool_free(struct kc_slab_pool *pool)
{
        if (pool->on.gpu == NULL)
                return;
        if (pool->params.light)
                kc_gpu_delete(pool->on, pool->supers[0], pool->nsupers * super_nbytes(pool));
        else
                for (char *super : pool->supers)
                        kc_gpu_delete(pool->on, super, super_nbytes(pool));
        kc_gpu_delete(pool->on, pool->table, KC_SLAB_POOL_MAX_SUPERS);
        (void)cudaFreeHost(pool->news);
        *pool = {};
}

enum kc_status kc_slab_pool_clear(struct kc_slab_pool *pool, struct kc_error *err)
{
        enum kc_status status;
        uint32_t npieces = pool->params.light ? 1 : pool->nsupers;
        size_t nbytes = pool->nsupers / npieces * super_nbytes(pool);
        for (uint32_t i = 0; i < npieces; i++)
                KC_TRY(KC_CUDA(cudaMemsetAsync(pool->supers[i], 0, nbytes, pool->on.stream)));
        KC_TRY(reserve_first(pool, err));
out:
        return status;
}

enum kc_status kc_slab_pool_grow(struct kc_slab_pool *pool, struct kc_error *err)
{
        if (pool->nsupers == pool->params.max_supers)
                return kc_fail(
                        err, KC_ENOMEM,
                        "the slab pool is full: it may have at most %u super blocks of %zu bytes",
                        pool->nsupers, super_nbytes(pool));
        uint32_t n = std::min(2 * pool->nsupers, pool->params.max_supers);
        struct kc_error refusal = {};
        enum kc_status status = grow_to(pool, n, &refusal);
        if (status == KC_ENOMEM && n > pool->nsupers + 1)
                return grow_to(pool, pool->nsupers + 1, err);
        return status == KC_OK ? KC_OK : kc_fail_as(err, &refusal);
}

/* While the pool may grow, warps give up early; otherwise they try every memory block. */
struct kc_slab_pool_view kc_slab_pool_view_of(const struct kc_slab_pool *pool)
{
        uint32_t ntotal = pool->nsupers * pool->params.nblocks;
        bool may_grow = pool->nsupers < pool->params.max_supers;
        struct kc_slab_pool_view view = {
                pool->params.light ? pool->supers[0] : NULL,
                pool->table,
                pool->nsupers,
                pool->params.nblocks,
                pool->nlaunches,
                may_grow ? std::min(pool->params.max_changes, ntotal) : ntotal,
        };
        return view;
}

/* ---- in bulk */

static __global__ void slab_pool_count_kernel(struct kc_slab_pool_view view,
                                              unsigned long long *nused)
{
        uint32_t number = blockIdx.x / view.nblocks, block = blockIdx.x % view.nblocks;
        const char *super = view.light != NULL
                                    ? view.light + number * kc_slab_super_nbytes(view.nblocks)
                                    : view.table[number];
        const uint32_t *bitmap =
                (const uint32_t *)(super + kc_slab_bitmap_offset(view.nblocks, block));
        uint32_t sum = __reduce_add_sync(KC_SLAB_ALL_LANES, __popc(bitmap[threadIdx.x]));
        if (threadIdx.x == 0)
                atomicAdd(nused, (unsigned long long)sum);
}

enum kc_status kc_slab_pool_nused(const struct kc_slab_pool *pool, uint64_t *nused,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_slab_pool_view view = kc_slab_pool_view_of(pool);
        cudaStream_t stream = pool->on.stream;
        unsigned long long *sum = NULL, total;
        KC_TRY(kc_gpu_new(pool->on, &sum, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream)));
        slab_pool_count_kernel<<<view.nsupers * view.nblocks, 32, 0, stream>>>(view, sum);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(pool->on, &total, sum, 1, err));
        *nused = total - 1; /* without the reserved one */
out:
        kc_gpu_delete(pool->on, sum, 1);
        return status;
}

/* Each warp fills 32 addresses, at_a_time of them at once; `again`: only those that are 0. */
static __global__ void __launch_bounds__(THREADS, 8)
        slab_pool_take_kernel(struct kc_slab_pool_view view, uint32_t *addresses, size_t n,
                              uint32_t at_a_time, bool again, uint32_t *news)
{
        __shared__ struct kc_slab_pool_shared shared;
        struct kc_slab_pool_warp pool;
        pool.begin(view, &shared);
        size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        bool wanted = i < n && (!again || addresses[i] == 0);
        uint32_t address = 0;
        for (uint32_t first = 0; first < 32; first += at_a_time)
                address |= pool.allocate(wanted && kc_warp_lane() - first < at_a_time);
        if (wanted)
                addresses[i] = address;
        if (wanted && address == 0)
                *news = 1;
}

/* *all: whether there was a slab for each. */
static enum kc_status take_once(struct kc_slab_pool *pool, uint32_t *addresses, size_t n,
                                int at_a_time, bool again, bool *all, struct kc_error *err)
{
        enum kc_status status;
        *pool->news = 0;
        pool->nlaunches++;
        slab_pool_take_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, pool->on.stream>>>(
                kc_slab_pool_view_of(pool), addresses, n, (uint32_t)at_a_time, again, pool->news);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(pool->on.stream)));
        *all = *(volatile uint32_t *)pool->news == 0;
out:
        return status;
}

enum kc_status kc_slab_pool_take(struct kc_slab_pool *pool, uint32_t *addresses, size_t n,
                                 int at_a_time, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool all;
        if (n == 0)
                return KC_OK;
        if (at_a_time < 1 || at_a_time > 32)
                return kc_fail(err, KC_EUSAGE,
                               "slab pool: 1 to 32 lanes take slabs at a time, not %d", at_a_time);
        KC_TRY(take_once(pool, addresses, n, at_a_time, false, &all, err));
        while (!all) {
                KC_TRY(kc_slab_pool_grow(pool, err));
                KC_TRY(take_once(pool, addresses, n, at_a_time, true, &all, err));
        }
out:
        return status;
}

static __global__ void slab_pool_give_kernel(struct kc_slab_pool_view view,
                                             const uint32_t *addresses, size_t n)
{
        __shared__ struct kc_slab_pool_shared shared;
        struct kc_slab_pool_warp pool;
        pool.begin(view, &shared);
        size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n && addresses[i] != 0)
                pool.deallocate(addresses[i]);
}

enum kc_status kc_slab_pool_give(struct kc_slab_pool *pool, const uint32_t *addresses, size_t n,
                                 struct kc_error *err)
{
        if (n == 0)
                return KC_OK;
        slab_pool_give_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, pool->on.stream>>>(
                kc_slab_pool_view_of(pool), addresses, n);
        return KC_LAUNCHED();
}
