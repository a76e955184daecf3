#include "gpu/maps/linear/map.cuh"

#include "gpu/maps/linear/search.cuh"

#include <algorithm>
#include <new>

enum { THREADS = 256, BLOCKS_PER_SM = 6, MAX_PROBES = 65536 };
static const uint64_t MAX_CAPACITY = UINT64_C(1) << 40;

/* What a launch adds to map->totals. */
enum { NCLAIMED, NREFUSED, NTOTALS };

/* ---- kernels ---- */

static __device__ uint64_t thread_number(void)
{
        return (uint64_t)blockIdx.x * THREADS + threadIdx.x;
}

static __device__ uint64_t nthreads(void)
{
        return (uint64_t)gridDim.x * THREADS;
}

/* Rounded up to whole blocks, so that the kernels' loops end for all threads of a block at once. */
static __device__ uint64_t whole_blocks(uint64_t n)
{
        return (n + THREADS - 1) / THREADS * THREADS;
}

namespace
{

/* The outcomes of a thread's insertions. */
struct linear_tally {
        uint32_t nclaimed, nrefused;

        __device__ void add(enum kc_linear_outcome outcome)
        {
                nclaimed += outcome == KC_LINEAR_CLAIMED;
                nrefused += outcome == KC_LINEAR_NOWHERE;
        }
};

} // namespace

/* By all lanes of a warp. */
static __device__ void add_totals(unsigned long long *totals, const struct linear_tally &own)
{
        uint32_t nclaimed = __reduce_add_sync(UINT32_MAX, own.nclaimed);
        uint32_t nrefused = __reduce_add_sync(UINT32_MAX, own.nrefused);
        if (kc_warp_lane() != 0)
                return;
        if (nclaimed != 0)
                atomicAdd(&totals[NCLAIMED], (unsigned long long)nclaimed);
        if (nrefused != 0)
                atomicAdd(&totals[NREFUSED], (unsigned long long)nrefused);
}

template <class Key>
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
        linear_insert_kernel(kc_linear_view<Key> map, const Key *keys, const uint32_t *values,
                             uint64_t n, unsigned long long *totals)
{
        struct linear_tally tally = {};
        for (uint64_t i = thread_number(); i < whole_blocks(n); i += nthreads()) {
                uint32_t value = i < n ? __ldcs(&values[i]) : 0;
                Key key = i < n ? __ldcs(&keys[i]) : 0;
                tally.add(kc_linear_do<KC_LINEAR_INSERT>(map, i < n, key, &value));
        }
        add_totals(totals, tally);
}

template <class Key>
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
        linear_find_kernel(kc_linear_view<Key> map, const Key *keys, uint32_t *values, uint64_t n)
{
        for (uint64_t i = thread_number(); i < whole_blocks(n); i += nthreads()) {
                uint32_t value;
                kc_linear_do<KC_LINEAR_FIND>(map, i < n, i < n ? __ldcs(&keys[i]) : 0, &value);
                if (i < n)
                        __stcs(&values[i], value);
        }
}

template <class Key>
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
        linear_erase_kernel(kc_linear_view<Key> map, const Key *keys, uint64_t n)
{
        for (uint64_t i = thread_number(); i < whole_blocks(n); i += nthreads()) {
                uint32_t value;
                kc_linear_do<KC_LINEAR_ERASE>(map, i < n, i < n ? __ldcs(&keys[i]) : 0, &value);
        }
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
        linear_mixed_kernel(kc_linear_view<Key> map, const enum kc_linear_op *ops, const Key *keys,
                            uint32_t *values, uint64_t n, unsigned long long *totals)
{
        struct linear_tally tally = {};
        for (uint64_t i = thread_number(); i < whole_blocks(n); i += nthreads()) {
                enum kc_linear_op op = i < n ? ops[i] : KC_LINEAR_FIND;
                Key key = i < n ? keys[i] : 0;
                uint32_t value = op == KC_LINEAR_INSERT ? values[i] : 0;
                tally.add(kc_linear_do<KC_LINEAR_INSERT>(map, op == KC_LINEAR_INSERT, key, &value));
                kc_linear_do<KC_LINEAR_ERASE>(map, op == KC_LINEAR_ERASE, key, &value);
                kc_linear_do<KC_LINEAR_FIND>(map, i < n && op == KC_LINEAR_FIND, key, &value);
                if (i < n && op == KC_LINEAR_FIND)
                        values[i] = value;
        }
        add_totals(totals, tally);
}

/* Whether slot i holds a pair, and which. The last slot is that of the key that looks empty. */
template <class Key> static __device__ bool is_pair(const kc_linear_view<Key> &map, uint64_t i)
{
        return i <= map.mask + 1 && map.slots[i].value != KC_LINEAR_ABSENT &&
               (map.slots[i].key != (Key) ~(Key)0 || i == map.mask + 1);
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
        linear_export_kernel(kc_linear_view<Key> map, Key *keys, uint32_t *values, uint64_t cap,
                             unsigned long long *n)
{
        uint64_t i = thread_number();
        bool has_any = is_pair(map, i);
        unsigned long long to = kc_warp_append(n, has_any);
        if (has_any && to < cap) {
                keys[to] = map.slots[i].key;
                values[to] = map.slots[i].value;
        }
}

template <class Key>
static __global__ void __launch_bounds__(THREADS)
        linear_rebuild_kernel(kc_linear_view<Key> from, kc_linear_view<Key> to,
                              unsigned long long *totals)
{
        struct linear_tally tally = {};
        for (uint64_t i = thread_number(); i < whole_blocks(from.mask + 2); i += nthreads()) {
                bool has_any = is_pair(from, i);
                uint32_t value = has_any ? from.slots[i].value : 0;
                Key key = has_any ? from.slots[i].key : 0;
                tally.add(kc_linear_do<KC_LINEAR_INSERT>(to, has_any, key, &value));
        }
        add_totals(totals, tally);
}

/* stats: laid out as struct kc_linear_stats */
template <class Key>
static __global__ void __launch_bounds__(THREADS)
        linear_stats_kernel(kc_linear_view<Key> map, unsigned long long *stats)
{
        __shared__ unsigned long long own[3 + KC_LINEAR_NBUCKETS];
        for (int i = threadIdx.x; i < 3 + KC_LINEAR_NBUCKETS; i += THREADS)
                own[i] = 0;
        __syncthreads();
        for (uint64_t i = thread_number(); i <= map.mask; i += nthreads()) {
                Key key = map.slots[i].key;
                if (key == (Key) ~(Key)0)
                        continue;
                unsigned long long probes = kc_linear_probes(key, i, map.mask);
                int bucket = 0;
                while (probes >> (bucket + 1) != 0 && bucket < KC_LINEAR_NBUCKETS - 1)
                        bucket++;
                atomicAdd(&own[0], 1ull);
                atomicAdd(&own[1], probes);
                atomicMax(&own[2], probes);
                atomicAdd(&own[3 + bucket], 1ull);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < 3 + KC_LINEAR_NBUCKETS; i += THREADS) {
                if (i == 2)
                        atomicMax(&stats[i], own[i]);
                else if (own[i] != 0)
                        atomicAdd(&stats[i], own[i]);
        }
}

/* ---- making ---- */

static unsigned grid_for(struct kc_gpu_stream on, uint64_t n)
{
        return (unsigned)std::min((n + THREADS - 1) / THREADS,
                                  (uint64_t)BLOCKS_PER_SM * on.gpu->nmultiprocessors);
}

static enum kc_status clear_totals(struct kc_gpu_stream on, unsigned long long *totals, size_t n,
                                   struct kc_error *err)
{
        return KC_CUDA(cudaMemsetAsync(totals, 0, n * sizeof *totals, on.stream));
}

template <class Key>
static enum kc_status take_memory(kc_linear_map<Key> *map, struct kc_error *err)
{
        enum kc_status status;
        uint32_t most =
                map->options.max_probes != 0 ? map->options.max_probes : (uint32_t)MAX_PROBES;
        map->capacity = 32;
        while (map->capacity < map->options.capacity)
                map->capacity *= 2;
        map->view.mask = map->capacity - 1;
        map->view.max_probes = (uint32_t)std::min((uint64_t)most, map->capacity);
        KC_TRY(kc_gpu_new(map->on, &map->view.slots, map->capacity + 1, err));
        KC_TRY(kc_gpu_new(map->on, &map->totals, NTOTALS, err));
        KC_TRY(kc_linear_clear(map, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_linear_new(kc_linear_map<Key> **map, struct kc_gpu *gpu,
                             const struct kc_linear_options *options, cudaStream_t stream,
                             struct kc_error *err)
{
        *map = NULL;
        if (options->capacity > MAX_CAPACITY)
                return kc_fail(
                        err, KC_EUSAGE, "linear map: %llu slots are too many, the limit is %llu",
                        (unsigned long long)options->capacity, (unsigned long long)MAX_CAPACITY);
        kc_linear_map<Key> *fresh = new (std::nothrow) kc_linear_map<Key>();
        if (fresh == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        fresh->on = { gpu, stream };
        fresh->options = *options;
        enum kc_status status = take_memory(fresh, err);
        if (status == KC_OK)
                *map = fresh;
        else
                kc_linear_free(fresh);
        return status;
}

template <class Key> void kc_linear_free(kc_linear_map<Key> *map)
{
        if (map == NULL)
                return;
        kc_gpu_delete(map->on, map->view.slots, map->capacity + 1);
        kc_gpu_delete(map->on, map->totals, NTOTALS);
        delete map;
}

template <class Key> enum kc_status kc_linear_clear(kc_linear_map<Key> *map, struct kc_error *err)
{
        map->nused = 0;
        return KC_CUDA(cudaMemsetAsync(map->view.slots, 0xff,
                                       (map->capacity + 1) * sizeof *map->view.slots,
                                       map->on.stream));
}

/* ---- batches ---- */

static enum kc_status fail_full(struct kc_error *err, uint64_t nrefused, uint64_t nused,
                                uint64_t capacity)
{
        return kc_fail(
                err, KC_ENOMEM,
                "linear map: there is no room for %llu keys beside %llu others in %llu slots",
                (unsigned long long)nrefused, (unsigned long long)nused,
                (unsigned long long)capacity);
}

/* Call it after a launch that may have claimed slots. */
template <class Key>
static enum kc_status take_totals(kc_linear_map<Key> *map, uint64_t *nrefused, struct kc_error *err)
{
        enum kc_status status;
        unsigned long long totals[NTOTALS];
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(map->on, totals, map->totals, NTOTALS, err));
        map->nused += totals[NCLAIMED];
        *nrefused = totals[NREFUSED];
out:
        return status;
}

template <class Key>
enum kc_status kc_linear_insert(kc_linear_map<Key> *map, const Key *keys, const uint32_t *values,
                                uint64_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t nrefused = n;
        while (nrefused != 0) {
                KC_TRY(clear_totals(map->on, map->totals, NTOTALS, err));
                linear_insert_kernel<<<grid_for(map->on, n), THREADS, 0, map->on.stream>>>(
                        map->view, keys, values, n, map->totals);
                KC_TRY(take_totals(map, &nrefused, err));
                if (nrefused != 0 && !map->options.grows)
                        return fail_full(err, nrefused, map->nused, map->capacity);
                if (nrefused != 0)
                        KC_TRY(kc_linear_rebuild(map, 2 * map->capacity, err));
        }
out:
        return status;
}

template <class Key>
enum kc_status kc_linear_mixed(kc_linear_map<Key> *map, const enum kc_linear_op *ops,
                               const Key *keys, uint32_t *values, uint64_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t nrefused = 0;
        if (n == 0)
                return KC_OK;
        KC_TRY(clear_totals(map->on, map->totals, NTOTALS, err));
        linear_mixed_kernel<<<grid_for(map->on, n), THREADS, 0, map->on.stream>>>(
                map->view, ops, keys, values, n, map->totals);
        KC_TRY(take_totals(map, &nrefused, err));
        if (nrefused != 0)
                status = fail_full(err, nrefused, map->nused, map->capacity);
out:
        return status;
}

template <class Key>
enum kc_status kc_linear_find(const kc_linear_map<Key> *map, const Key *keys, uint32_t *values,
                              uint64_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (n == 0)
                return KC_OK;
        linear_find_kernel<<<grid_for(map->on, n), THREADS, 0, map->on.stream>>>(map->view, keys,
                                                                                 values, n);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Key>
enum kc_status kc_linear_erase(kc_linear_map<Key> *map, const Key *keys, uint64_t n,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (n == 0)
                return KC_OK;
        linear_erase_kernel<<<grid_for(map->on, n), THREADS, 0, map->on.stream>>>(map->view, keys,
                                                                                  n);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(map->on.stream)));
out:
        return status;
}

template <class Key>
enum kc_status kc_linear_export(const kc_linear_map<Key> *map, Key *keys, uint32_t *values,
                                uint64_t cap, uint64_t *n, struct kc_error *err)
{
        enum kc_status status;
        unsigned long long totals[NTOTALS];
        KC_TRY(clear_totals(map->on, map->totals, NTOTALS, err));
        linear_export_kernel<<<kc_ceil_div(map->capacity + 1, THREADS), THREADS, 0,
                               map->on.stream>>>(map->view, keys, values, cap, map->totals);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(map->on, totals, map->totals, NTOTALS, err));
        *n = totals[0];
out:
        return status;
}

template <class Key>
enum kc_status kc_linear_rebuild(kc_linear_map<Key> *map, uint64_t capacity, struct kc_error *err)
{
        enum kc_status status;
        kc_linear_map<Key> *to = NULL;
        struct kc_linear_options options = map->options;
        uint64_t nrefused = 0;
        options.capacity = capacity != 0 ? capacity : map->capacity;
        do {
                kc_linear_free(to);
                KC_TRY(kc_linear_new(&to, map->on.gpu, &options, map->on.stream, err));
                KC_TRY(clear_totals(map->on, to->totals, NTOTALS, err));
                linear_rebuild_kernel<<<grid_for(map->on, map->capacity + 1), THREADS, 0,
                                        map->on.stream>>>(map->view, to->view, to->totals);
                KC_TRY(take_totals(to, &nrefused, err));
                options.capacity = 2 * to->capacity;
        } while (nrefused != 0);
        to->options = map->options;
        std::swap(*map, *to);
out:
        kc_linear_free(to);
        return status;
}

template <class Key>
enum kc_status kc_linear_get_stats(const kc_linear_map<Key> *map, struct kc_linear_stats *stats,
                                   struct kc_error *err)
{
        enum { N = 3 + KC_LINEAR_NBUCKETS };
        enum kc_status status;
        unsigned long long *sums = NULL, host[N];
        KC_TRY(kc_gpu_new(map->on, &sums, N, err));
        KC_TRY(clear_totals(map->on, sums, N, err));
        linear_stats_kernel<<<grid_for(map->on, map->capacity), THREADS, 0, map->on.stream>>>(
                map->view, sums);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(map->on, host, sums, N, err));
        stats->nkeys = host[0];
        stats->sum = host[1];
        stats->most = host[2];
        std::copy(host + 3, host + N, stats->buckets);
out:
        kc_gpu_delete(map->on, sums, N);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_linear_new(kc_linear_map<Key> **, struct kc_gpu *, \
                                              const struct kc_linear_options *, cudaStream_t, \
                                              struct kc_error *); \
        template void kc_linear_free(kc_linear_map<Key> *); \
        template enum kc_status kc_linear_clear(kc_linear_map<Key> *, struct kc_error *); \
        template enum kc_status kc_linear_insert(kc_linear_map<Key> *, const Key *, \
                                                 const uint32_t *, uint64_t, struct kc_error *); \
        template enum kc_status kc_linear_find(const kc_linear_map<Key> *, const Key *, \
                                               uint32_t *, uint64_t, struct kc_error *); \
        template enum kc_status kc_linear_erase(kc_linear_map<Key> *, const Key *, uint64_t, \
                                                struct kc_error *); \
        template enum kc_status kc_linear_mixed(kc_linear_map<Key> *, const enum kc_linear_op *, \
                                                const Key *, uint32_t *, uint64_t, \
                                                struct kc_error *); \
        template enum kc_status kc_linear_export(const kc_linear_map<Key> *, Key *, uint32_t *, \
                                                 uint64_t, uint64_t *, struct kc_error *); \
        template enum kc_status kc_linear_rebuild(kc_linear_map<Key> *, uint64_t, \
                                                  struct kc_error *); \
        template enum kc_status kc_linear_get_stats(const kc_linear_map<Key> *, \
                                                    struct kc_linear_stats *, struct kc_error *);
INSTANTIATE(uint32_t)
INSTANTIATE(kc_key64)
