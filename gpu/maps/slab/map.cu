#include "gpu/maps/slab/map.cuh"

#include "gpu/maps/slab/kernels.cuh"

#include <algorithm>
#include <new>

/* ---- making */

template <class Layout>
static enum kc_status check(const struct kc_slab_options *options, struct kc_error *err)
{
        uint32_t least = options->named ? 1 : 2;
        if (options->nlists < least || options->nlists > KC_SLAB_MAX_LISTS)
                return kc_fail(err, KC_EUSAGE, "slab hash: there must be %u to 2^31 lists, not %u",
                               least, options->nlists);
        if (options->nlanes != 8 && options->nlanes != 4)
                return kc_fail(err, KC_EUSAGE, "slab hash: a group has 4 or 8 lanes, not %d",
                               options->nlanes);
        if (options->reuse && Layout::APART)
                return kc_fail(err, KC_EUSAGE,
                               "slab hash: places are not reused where values are apart");
        return KC_OK;
}

template <class Layout>
static enum kc_status clear_heads(struct kc_slab_map<Layout> *map, struct kc_error *err)
{
        return KC_CUDA(cudaMemsetAsync(map->heads, 0, (size_t)map->options.nlists * KC_SLAB_NBYTES,
                                       map->on.stream));
}

/* The sums of operations. */
template <class Layout>
static enum kc_status clear_sums(struct kc_slab_map<Layout> *map, struct kc_error *err)
{
        map->host_sums = {};
        return KC_CUDA(
                cudaMemsetAsync(&map->state->sums, 0, sizeof map->host_sums, map->on.stream));
}

template <class Layout>
static enum kc_status take_memory(struct kc_slab_map<Layout> *map, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(check<Layout>(&map->options, err));
        KC_TRY(kc_gpu_new(map->on, &map->state, 1, err));
        KC_TRY(clear_sums(map, err));
        KC_TRY(kc_gpu_new(map->on, &map->heads, (size_t)map->options.nlists * KC_SLAB_NBYTES, err));
        KC_TRY(clear_heads(map, err));
        KC_TRY(kc_slab_pool_init(&map->pool, map->on, &map->options.pool, err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_new(struct kc_slab_map<Layout> **map, struct kc_gpu *gpu,
                           const struct kc_slab_options *options, cudaStream_t stream,
                           struct kc_error *err)
{
        *map = NULL;
        struct kc_slab_map<Layout> *fresh = new (std::nothrow) kc_slab_map<Layout>();
        if (fresh == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        fresh->on = { gpu, stream };
        fresh->options = *options;
        fresh->options.nlanes = options->nlanes != 0 ? options->nlanes : (int)KC_SLAB_NLANES;
        enum kc_status status = take_memory(fresh, err);
        if (status == KC_OK)
                *map = fresh;
        else
                kc_slab_free(fresh);
        return status;
}

template <class Layout> void kc_slab_free(struct kc_slab_map<Layout> *map)
{
        if (map == NULL)
                return;
        kc_slab_pool_free(&map->pool);
        kc_gpu_delete(map->on, map->heads, (size_t)map->options.nlists * KC_SLAB_NBYTES);
        kc_gpu_delete(map->on, map->pending, map->pending_nwords);
        kc_gpu_delete(map->on, map->state, 1);
        delete map;
}

/* ---- launching */

static unsigned grid_of(struct kc_gpu_stream on, uint64_t nthreads, int blocks)
{
        uint64_t most = (uint64_t)on.gpu->nmultiprocessors * (unsigned)blocks;
        return (unsigned)std::min((nthreads + THREADS - 1) / THREADS, most);
}

template <class Layout> static struct kc_slab_lists lists_of(const struct kc_slab_map<Layout> *map)
{
        return { map->heads, map->options.nlists, map->options.reuse };
}

namespace
{

/* Call f with the number of lanes as a type: the group sizes that are compiled. */
template <uint32_t N> struct lanes {
        enum : uint32_t { COUNT = N };
};

} // namespace

template <class Layout, class F>
static void with_lanes(const struct kc_slab_map<Layout> *map, const F &f)
{
        if (map->options.nlanes == 4)
                f(lanes<4>());
        else
                f(lanes<8>());
}

template <class Layout, uint32_t NLANES, uint32_t KIND>
static void launch_one(struct kc_gpu_stream on, const struct run_args<Layout> &args)
{
        unsigned grid = grid_of(on, args.ops.n, min_blocks<Layout>(KIND));
        slab_run_kernel<Layout, NLANES, KIND><<<grid, THREADS, 0, on.stream>>>(args);
}

/* Kinds used in bulk have their own kernels. */
template <class Layout, uint32_t NLANES>
static void launch_kind(struct kc_gpu_stream on, const struct run_args<Layout> &args)
{
        enum kc_slab_kind kind = args.ops.kinds != NULL ? KC_SLAB_ANY : args.ops.kind;
        if (kind == KC_SLAB_SEARCH)
                launch_one<Layout, NLANES, KC_SLAB_SEARCH>(on, args);
        else if (kind == KC_SLAB_REPLACE)
                launch_one<Layout, NLANES, KC_SLAB_REPLACE>(on, args);
        else if (kind == KC_SLAB_ADD)
                launch_one<Layout, NLANES, KC_SLAB_ADD>(on, args);
        else
                launch_one<Layout, NLANES, KC_SLAB_ANY>(on, args);
}

/* Whether the host must wait for the outcome. */
template <class Layout> static bool must_wait(const struct kc_slab_ops<Layout> *ops)
{
        return ops->kinds != NULL || kc_slab_inserts(ops->kind) || ops->lists != NULL ||
               ops->found_numbers != NULL;
}

template <class Layout>
static enum kc_status launch(const struct kc_slab_map<Layout> *map,
                             const struct kc_slab_ops<Layout> *ops, bool resume,
                             struct kc_error *err)
{
        run_args<Layout> args = {};
        args.lists = lists_of(map);
        args.pool = kc_slab_pool_view_of(&map->pool);
        args.ops = *ops;
        args.named = map->options.named;
        args.resume = resume;
        args.seed = map->options.seed;
        args.pending = map->pending;
        args.sums = &map->state->sums;
        args.news = map->pool.news;
        if (ops->found_numbers != NULL)
                args.found = { ops->found_numbers, ops->found_values, ops->found_cap,
                               &map->state->sums.nfound };
        if (must_wait(ops))
                *map->pool.news = 0; /* otherwise several threads may be here */
        with_lanes(map, [&](auto n) { launch_kind<Layout, decltype(n)::COUNT>(map->on, args); });
        return KC_LAUNCHED();
}

/* Forget how many operations the last launch left pending. */
template <class Layout>
static enum kc_status clear_npending(struct kc_slab_map<Layout> *map, struct kc_error *err)
{
        if (map->host_sums.npending == 0)
                return KC_OK;
        map->host_sums.npending = 0;
        return KC_CUDA(cudaMemsetAsync(&map->state->sums.npending, 0,
                                       sizeof map->host_sums.npending, map->on.stream));
}

/* Wait for the launch, and read its sums if it has set `news`. */
template <class Layout>
static enum kc_status read_sums(struct kc_slab_map<Layout> *map,
                                const struct kc_slab_ops<Layout> *ops, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = map->on.stream;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        if (*(volatile uint32_t *)map->pool.news == 0 && ops->found_numbers == NULL)
                return KC_OK;
        KC_TRY(kc_gpu_read(map->on, &map->host_sums, &map->state->sums, 1, err));
out:
        return status;
}

/* ---- running */

/* Between two runs, only the bits of pending operations are set: discard these. */
template <class Layout>
static enum kc_status clear_pending(struct kc_slab_map<Layout> *map, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t nwords = (n + 31) / 32;
        if (map->pending_nwords >= nwords && map->npending == 0)
                return KC_OK;
        if (map->pending_nwords < nwords) {
                kc_gpu_delete(map->on, map->pending, map->pending_nwords);
                map->pending = NULL;
                map->pending_nwords = 0;
                KC_TRY(kc_gpu_new(map->on, &map->pending, nwords, err));
                map->pending_nwords = nwords;
        }
        map->npending = 0;
        KC_TRY(KC_CUDA(cudaMemsetAsync(map->pending, 0, map->pending_nwords * sizeof *map->pending,
                                       map->on.stream)));
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_clear(struct kc_slab_map<Layout> *map, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(clear_pending(map, 0, err));
        KC_TRY(clear_heads(map, err));
        KC_TRY(kc_slab_pool_clear(&map->pool, err));
out:
        return status;
}

template <class Layout>
static enum kc_status check_ops(const struct kc_slab_map<Layout> *map,
                                const struct kc_slab_ops<Layout> *ops, struct kc_error *err)
{
        if (ops->n >> 32 != 0)
                return kc_fail(err, KC_EUSAGE,
                               "slab hash: %zu operations are too many for one call", ops->n);
        if (ops->kinds == NULL && !takes_kind<Layout>(lists_of(map), ops->kind))
                return kc_fail(err, KC_EUSAGE,
                               "slab hash: these options do not allow operations of kind %d",
                               (int)ops->kind);
        if (map->options.named != (ops->lists != NULL))
                return kc_fail(
                        err, KC_EUSAGE,
                        "slab hash: operations name their lists if the options say so, and only "
                        "then");
        if (ops->found_numbers != NULL && Layout::VALUES && ops->found_values == NULL)
                return kc_fail(err, KC_EUSAGE, "slab hash: found_values is missing");
        return KC_OK;
}

/*
 * Deal with operations that found no slab; `before` of them were pending before the launch. Grow
 * the pool if possible. If not, launch again as long as that completes some of them: a slab may
 * have been missing only because another warp held it for a moment and then did not need it. A
 * launch that completes none takes no slabs: then there really are none, nor any place in the lists
 * of the remaining operations.
 */
template <class Layout>
static enum kc_status find_room(struct kc_slab_map<Layout> *map, uint64_t before,
                                struct kc_error *err)
{
        struct kc_error refusal = {};
        enum kc_status status = kc_slab_pool_grow(&map->pool, &refusal);
        if (status == KC_OK || (status == KC_ENOMEM && map->npending < before))
                return KC_OK;
        return kc_fail_as(err, &refusal);
}

/* Launch until nothing is pending, or no more slabs can be obtained. */
template <class Layout>
static enum kc_status run_all(struct kc_slab_map<Layout> *map, struct kc_slab_ops<Layout> *ops,
                              bool resume, struct kc_error *err)
{
        enum kc_status status;
        for (;; resume = true) {
                uint64_t before = resume ? map->npending : ops->n;
                map->pool.nlaunches++;
                KC_TRY(clear_npending(map, err));
                KC_TRY(launch(map, ops, resume, err));
                if (!must_wait(ops))
                        return KC_OK;
                KC_TRY(read_sums(map, ops, err));
                ops->nrefused = map->host_sums.nrefused;
                ops->nfound = map->host_sums.nfound;
                map->npending = map->host_sums.npending;
                if (map->npending == 0)
                        break;
                KC_TRY(find_room(map, before, err));
        }
        if (ops->nrefused > 0)
                return kc_fail(err, KC_EUSAGE,
                               "slab hash: %llu operations are invalid, by their kind, list, key "
                               "or value",
                               (unsigned long long)ops->nrefused);
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_run(struct kc_slab_map<Layout> *map, struct kc_slab_ops<Layout> *ops,
                           struct kc_error *err)
{
        enum kc_status status;
        ops->nfound = ops->nrefused = 0;
        KC_TRY(check_ops(map, ops, err));
        KC_TRY(clear_pending(map, ops->n, err));
        if (ops->n == 0)
                return KC_OK;
        if (map->host_sums.npending != 0 || map->host_sums.nrefused != 0 ||
            map->host_sums.nfound != 0)
                KC_TRY(clear_sums(map, err));
        KC_TRY(run_all(map, ops, false, err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_resume(struct kc_slab_map<Layout> *map, struct kc_slab_ops<Layout> *ops,
                              struct kc_error *err)
{
        if (map->npending == 0)
                return KC_OK;
        if ((ops->n + 31) / 32 > map->pending_nwords)
                return kc_fail(err, KC_EUSAGE,
                               "slab hash: these are not the operations that are pending");
        return run_all(map, ops, true, err);
}

/* ---- walking */

template <class Layout>
static enum kc_status clear_walk(const struct kc_slab_map<Layout> *map, struct kc_error *err)
{
        return KC_CUDA(
                cudaMemsetAsync(&map->state->walk, 0, sizeof map->state->walk, map->on.stream));
}

template <class Layout>
static struct walk_args walk_of(const struct kc_slab_map<Layout> *map, uint32_t first, uint32_t n)
{
        uint32_t nlists = map->options.nlists;
        first = std::min(first, nlists);
        return { lists_of(map), kc_slab_pool_view_of(&map->pool), first,
                 first + std::min(n, nlists - first), map->state };
}

/* One group per list. */
template <uint32_t NLANES>
static unsigned walk_grid(struct kc_gpu_stream on, const struct walk_args &args)
{
        return grid_of(on, (uint64_t)(args.end - args.first) * NLANES, WALK_BLOCKS);
}

template <class Layout, uint32_t NLANES>
static void launch_flush(struct kc_gpu_stream on, const struct walk_args &args)
{
        unsigned grid = walk_grid<NLANES>(on, args);
        slab_flush_kernel<Layout, NLANES><<<grid, THREADS, 0, on.stream>>>(args);
}

template <class Layout, uint32_t NLANES>
static void launch_measure(struct kc_gpu_stream on, const struct walk_args &args)
{
        unsigned grid = walk_grid<NLANES>(on, args);
        slab_measure_kernel<Layout, NLANES><<<grid, THREADS, 0, on.stream>>>(args);
}

template <class Layout, uint32_t NLANES>
static void launch_export(struct kc_gpu_stream on, const struct walk_args &args,
                          const struct export_args<Layout> &to)
{
        unsigned grid = walk_grid<NLANES>(on, args);
        slab_export_kernel<Layout, NLANES><<<grid, THREADS, 0, on.stream>>>(args, to);
}

template <class Layout>
enum kc_status kc_slab_flush(struct kc_slab_map<Layout> *map, uint32_t first, uint32_t n,
                             uint64_t *nslabs, struct kc_error *err)
{
        enum kc_status status;
        struct walk_args args = walk_of(map, first, n);
        struct kc_slab_state::walk_sums walk = {};
        KC_TRY(clear_walk(map, err));
        if (args.end > args.first) {
                with_lanes(map, [&](auto n) {
                        launch_flush<Layout, decltype(n)::COUNT>(map->on, args);
                });
                KC_TRY(KC_LAUNCHED());
        }
        if (nslabs != NULL) {
                KC_TRY(kc_gpu_read(map->on, &walk, &map->state->walk, 1, err));
                *nslabs = walk.nslabs;
        }
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_measure(const struct kc_slab_map<Layout> *map, struct kc_slab_stats *stats,
                               struct kc_error *err)
{
        enum kc_status status;
        struct walk_args args = walk_of(map, 0, map->options.nlists);
        struct kc_slab_state::walk_sums walk = {};
        size_t element = sizeof(typename Layout::key) + (Layout::VALUES ? sizeof(uint32_t) : 0);
        KC_TRY(clear_walk(map, err));
        with_lanes(map, [&](auto n) { launch_measure<Layout, decltype(n)::COUNT>(map->on, args); });
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(map->on, &walk, &map->state->walk, 1, err));
        *stats = { walk.nelements, walk.ndeleted, walk.nslabs, walk.longest,
                   (double)(walk.nelements * element) / (double)(walk.nslabs * KC_SLAB_NBYTES) };
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_export_lists(const struct kc_slab_map<Layout> *map,
                                    typename Layout::key *keys, uint32_t *values, uint32_t *lists,
                                    uint64_t cap, uint64_t *n, struct kc_error *err)
{
        enum kc_status status;
        struct walk_args args = walk_of(map, 0, map->options.nlists);
        export_args<Layout> to = {
                keys, values, lists, cap, map->options.named, map->options.seed
        };
        struct kc_slab_state::walk_sums walk = {};
        KC_TRY(clear_walk(map, err));
        with_lanes(map,
                   [&](auto n) { launch_export<Layout, decltype(n)::COUNT>(map->on, args, to); });
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(map->on, &walk, &map->state->walk, 1, err));
        *n = walk.nelements;
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_export(const struct kc_slab_map<Layout> *map, typename Layout::key *keys,
                              uint32_t *values, uint64_t cap, uint64_t *n, struct kc_error *err)
{
        return kc_slab_export_lists(map, keys, Layout::VALUES ? values : NULL, NULL, cap, n, err);
}

/* ---- one kind of operation */

template <class Layout>
static enum kc_status run_kind(struct kc_slab_map<Layout> *map, enum kc_slab_kind kind,
                               const typename Layout::key *keys, const uint32_t *values, uint64_t n,
                               struct kc_error *err)
{
        kc_slab_ops<Layout> ops = {};
        ops.n = n;
        ops.kind = kind;
        ops.keys = keys;
        ops.values = values;
        return kc_slab_run(map, &ops, err);
}

template <class Layout>
enum kc_status kc_slab_insert(struct kc_slab_map<Layout> *map, const typename Layout::key *keys,
                              const uint32_t *values, uint64_t n, struct kc_error *err)
{
        return run_kind(map, KC_SLAB_REPLACE, keys, values, n, err);
}

template <class Layout>
enum kc_status kc_slab_find(const struct kc_slab_map<Layout> *map, const typename Layout::key *keys,
                            uint32_t *values, uint64_t n, struct kc_error *err)
{
        enum kc_status status;
        kc_slab_ops<Layout> ops = {};
        ops.n = n;
        ops.kind = KC_SLAB_SEARCH;
        ops.keys = keys;
        ops.results = values;
        KC_TRY(check_ops(map, &ops, err));
        if (n > 0)
                KC_TRY(launch(map, &ops, false, err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_erase(struct kc_slab_map<Layout> *map, const typename Layout::key *keys,
                             uint64_t n, struct kc_error *err)
{
        return run_kind(map, KC_SLAB_DELETE, keys, NULL, n, err);
}

/* ---- rebuilding */

namespace
{

/* A copy of all elements. */
template <class Layout> struct copied {
        typename Layout::key *keys; /* [n] */
        uint32_t *values;           /* [n]; NULL in a set */
        uint64_t n;
};

} // namespace

template <class Layout>
static enum kc_status copied_new(const struct kc_slab_map<Layout> *map, copied<Layout> *all,
                                 struct kc_error *err)
{
        enum kc_status status;
        uint64_t n;
        KC_TRY(kc_slab_export<Layout>(map, NULL, NULL, 0, &n, err));
        all->n = n;
        KC_TRY(kc_gpu_new(map->on, &all->keys, n, err));
        if (Layout::VALUES)
                KC_TRY(kc_gpu_new(map->on, &all->values, n, err));
        KC_TRY(kc_slab_export(map, all->keys, all->values, n, &n, err));
out:
        return status;
}

template <class Layout> static void copied_free(struct kc_gpu_stream on, copied<Layout> *all)
{
        kc_gpu_delete(on, all->values, all->n);
        kc_gpu_delete(on, all->keys, all->n);
}

/* In layouts in which a key may have several elements, it keeps all of them. */
template <class Layout>
static enum kc_status insert_copied(struct kc_slab_map<Layout> *map, const copied<Layout> *all,
                                    struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const enum kc_slab_kind kind = Layout::APART ? KC_SLAB_REPLACE : KC_SLAB_INSERT;
        const uint64_t most = UINT64_C(1) << 31; /* operations of a call */
        for (uint64_t at = 0; at < all->n; at += most)
                KC_TRY(run_kind(map, kind, all->keys + at, Layout::VALUES ? all->values + at : NULL,
                                std::min(all->n - at, most), err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_slab_rebuild(struct kc_slab_map<Layout> *map, uint64_t capacity,
                               struct kc_error *err)
{
        enum kc_status status;
        struct kc_slab_map<Layout> *fresh = NULL;
        struct kc_slab_options options = map->options;
        copied<Layout> all = {};
        const uint64_t heads = capacity / Layout::NPLACES + (capacity % Layout::NPLACES != 0);
        const uint64_t nlists = std::max(heads, UINT64_C(2));
        if (options.named)
                return kc_fail(err, KC_EUSAGE,
                               "slab hash: lists that operations name cannot be rebuilt");
        if (capacity != 0)
                options.nlists = (uint32_t)std::min(nlists, (uint64_t)UINT32_MAX);
        KC_TRY(kc_slab_new(&fresh, map->on.gpu, &options, map->on.stream, err));
        KC_TRY(copied_new(map, &all, err));
        KC_TRY(insert_copied(fresh, &all, err));
        std::swap(*map, *fresh);
out:
        copied_free(map->on, &all);
        kc_slab_free(fresh);
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_slab_new(struct kc_slab_map<Layout> **, struct kc_gpu *, \
                                            const struct kc_slab_options *, cudaStream_t, \
                                            struct kc_error *); \
        template void kc_slab_free(struct kc_slab_map<Layout> *); \
        template enum kc_status kc_slab_clear(struct kc_slab_map<Layout> *, struct kc_error *); \
        template enum kc_status kc_slab_insert(struct kc_slab_map<Layout> *, \
                                               const typename Layout::key *, const uint32_t *, \
                                               uint64_t, struct kc_error *); \
        template enum kc_status kc_slab_find(const struct kc_slab_map<Layout> *, \
                                             const typename Layout::key *, uint32_t *, uint64_t, \
                                             struct kc_error *); \
        template enum kc_status kc_slab_erase(struct kc_slab_map<Layout> *, \
                                              const typename Layout::key *, uint64_t, \
                                              struct kc_error *); \
        template enum kc_status kc_slab_export(const struct kc_slab_map<Layout> *, \
                                               typename Layout::key *, uint32_t *, uint64_t, \
                                               uint64_t *, struct kc_error *); \
        template enum kc_status kc_slab_rebuild(struct kc_slab_map<Layout> *, uint64_t, \
                                                struct kc_error *); \
        template enum kc_status kc_slab_run(struct kc_slab_map<Layout> *, \
                                            struct kc_slab_ops<Layout> *, struct kc_error *); \
        template enum kc_status kc_slab_resume(struct kc_slab_map<Layout> *, \
                                               struct kc_slab_ops<Layout> *, struct kc_error *); \
        template enum kc_status kc_slab_flush(struct kc_slab_map<Layout> *, uint32_t, uint32_t, \
                                              uint64_t *, struct kc_error *); \
        template enum kc_status kc_slab_measure(const struct kc_slab_map<Layout> *, \
                                                struct kc_slab_stats *, struct kc_error *); \
        template enum kc_status kc_slab_export_lists( \
                const struct kc_slab_map<Layout> *, typename Layout::key *, uint32_t *, \
                uint32_t *, uint64_t, uint64_t *, struct kc_error *);
KC_SLAB_LAYOUTS(INSTANTIATE)
