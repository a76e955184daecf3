/*
 * The slab map's kernels: operations on batches, and walks over the lists between them. Private to
 * map.cu.
 */
#ifndef KC_GPU_MAPS_SLAB_KERNELS_CUH
#define KC_GPU_MAPS_SLAB_KERNELS_CUH

#include "gpu/device/warp.cuh"
#include "gpu/maps/slab/map.cuh"

enum { THREADS = 256, WALK_BLOCKS = 8 };

/* Blocks per multiprocessor that a kernel is compiled for and launched with: as many as possible
 * without spilling registers. */
template <class Layout> KC_HD constexpr int min_blocks(uint32_t kind)
{
        if (kind == KC_SLAB_SEARCH)
                return sizeof(typename Layout::key) == 8 ? 6 : 8;
        return kind == KC_SLAB_ANY ? 4 : 5;
}

/* Sums computed by kernels: of operations, and of walks over the lists between them. */
struct kc_slab_state {
        struct kc_slab_sums sums;
        struct walk_sums {
                unsigned long long nslabs, nelements, ndeleted, longest;
        } walk;
};

namespace
{

template <class Layout> struct run_args {
        struct kc_slab_lists lists;
        struct kc_slab_pool_view pool;
        struct kc_slab_ops<Layout> ops;
        struct kc_slab_found found;
        bool named, resume;
        uint64_t seed;
        uint32_t *pending;
        struct kc_slab_sums *sums;
        uint32_t *news; /* set if the host must look at the sums */
};

} // namespace

template <class Layout> KC_HD bool takes_kind(const struct kc_slab_lists &lists, uint32_t kind)
{
        if (kind == KC_SLAB_INSERT)
                return !Layout::APART;
        if (kind == KC_SLAB_REPLACE)
                return !lists.reuse;
        if (kind == KC_SLAB_ADD)
                return Layout::VALUES && !lists.reuse;
        return kind < KC_SLAB_NKINDS;
}

/* False if the operation is invalid. */
template <class Layout, uint32_t KIND>
static __device__ bool read_op(const struct run_args<Layout> &args, size_t i,
                               struct kc_slab_op<Layout> *op)
{
        typedef typename Layout::key key;
        const struct kc_slab_ops<Layout> &ops = args.ops;
        key given = __ldcs(&ops.keys[i]);
        op->number = (uint32_t)i;
        op->kind = KIND != KC_SLAB_ANY ? KIND : ops.kinds != NULL ? ops.kinds[i] : ops.kind;
        op->value = 1;
        if (Layout::VALUES && KIND != KC_SLAB_SEARCH && ops.values != NULL)
                op->value = __ldcs(&ops.values[i]);
        if (args.named) {
                op->list = __ldcs(&ops.lists[i]);
                op->key = (key)~given;
        } else {
                struct kc_slab_home<key> home =
                        kc_slab_map_home(given, args.lists.nlists, args.seed);
                op->list = home.list;
                op->key = home.stored;
        }
        return op->list < args.lists.nlists && op->key > KC_SLAB_DELETED &&
               takes_kind<Layout>(args.lists, op->kind) &&
               !(Layout::APART && op->value == 0 && kc_slab_inserts(op->kind));
}

/* Count those of 32 operations that are in the ballot, and notify the host. */
template <class Layout>
static __device__ void add_count(const struct run_args<Layout> &args, unsigned long long *sum,
                                 uint32_t ballot)
{
        if (ballot == 0 || kc_warp_lane() != 0)
                return;
        atomicAdd(sum, (unsigned long long)__popc(ballot));
        *args.news = 1;
}

/* Write the results of 32 operations; `mine`: this lane has one to write. */
template <class Layout>
static __device__ void write_results(const struct run_args<Layout> &args, size_t first,
                                     const struct kc_slab_op<Layout> &op, bool mine)
{
        uint32_t hits = __ballot_sync(KC_SLAB_ALL_LANES, mine && op.hit);
        if (mine && args.ops.results != NULL)
                __stcs(&args.ops.results[first + kc_warp_lane()], op.result);
        if (args.ops.hits != NULL && kc_warp_lane() == 0)
                args.ops.hits[first / 32] = hits | (args.resume ? args.ops.hits[first / 32] : 0);
}

/* One lane per operation, 32 at a time. */
template <class Layout, uint32_t NLANES, uint32_t KIND>
static __global__ void __launch_bounds__(THREADS, min_blocks<Layout>(KIND))
        slab_run_kernel(struct run_args<Layout> args)
{
        __shared__ struct kc_slab_pool_shared shared;
        struct kc_slab_list_warp<Layout, NLANES> warp;
        warp.begin(args.lists, args.pool, &shared);
        warp.silent = args.ops.results == NULL && args.ops.hits == NULL;
        size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        for (size_t first = thread / 32 * 32; first < args.ops.n;
             first += (size_t)gridDim.x * blockDim.x) {
                size_t i = first + kc_warp_lane();
                uint32_t due = args.resume ? args.pending[first / 32] : UINT32_MAX;
                bool active = i < args.ops.n && (due >> kc_warp_lane() & 1);
                kc_slab_op<Layout> op = {};
                bool valid = active && read_op<Layout, KIND>(args, i, &op);
                bool left = warp.template run<KIND>(&op, valid, args.found);
                write_results(args, first, op, active && !left);
                uint32_t lefts = __ballot_sync(KC_SLAB_ALL_LANES, left);
                if ((lefts != 0 || args.resume) && kc_warp_lane() == 0)
                        args.pending[first / 32] = lefts;
                add_count(args, &args.sums->npending, lefts);
                add_count(args, &args.sums->nrefused,
                          __ballot_sync(KC_SLAB_ALL_LANES, active && !valid));
        }
}

namespace
{

struct walk_args {
        struct kc_slab_lists lists;
        struct kc_slab_pool_view pool;
        uint32_t first, end; /* lists */
        struct kc_slab_state *state;
};

} // namespace

/* Call f(list) for each of the group's lists. All groups of a warp make equally many calls; a group
 * without a list left passes the number of one that does not exist. */
template <uint32_t NLANES, class F>
static __device__ void for_lists(const struct walk_args &args, const F &f)
{
        uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
        uint64_t nwarps = gridDim.x * blockDim.x / 32;
        for (uint64_t warp = thread / 32; warp * (32 / NLANES) < args.end - args.first;
             warp += nwarps) {
                uint64_t list = args.first + warp * (32 / NLANES) + kc_warp_lane() / NLANES;
                f(list < args.end ? (uint32_t)list : UINT32_MAX);
        }
}

template <class Layout, uint32_t NLANES>
static __global__ void __launch_bounds__(THREADS) slab_flush_kernel(struct walk_args args)
{
        __shared__ struct kc_slab_pool_shared shared;
        struct kc_slab_list_warp<Layout, NLANES> warp;
        warp.begin(args.lists, args.pool, &shared);
        uint32_t nslabs = 0;
        for_lists<NLANES>(args, [&](uint32_t list) { nslabs += warp.flush(list); });
        nslabs = __reduce_add_sync(KC_SLAB_ALL_LANES, nslabs);
        if (nslabs != 0 && kc_warp_lane() == 0)
                atomicAdd(&args.state->walk.nslabs, (unsigned long long)nslabs);
}

/* Call f(list, elements) for each slab of the list, and with no elements while other groups have
 * more slabs. */
template <class Warp, class F>
static __device__ void for_slabs(const Warp &warp, uint32_t list, const F &f)
{
        const char *at = list != UINT32_MAX ? warp.head(list) : NULL;
        while (__any_sync(KC_SLAB_ALL_LANES, at != NULL)) {
                typename Warp::elements elements;
                warp.get_elements(&elements, at);
                f(at != NULL, elements);
                at = at != NULL && elements.next != 0 ? warp.pool.slab(elements.next) : NULL;
        }
}

template <class Layout, uint32_t NLANES>
static __global__ void __launch_bounds__(THREADS) slab_measure_kernel(struct walk_args args)
{
        __shared__ struct kc_slab_pool_shared shared;
        typedef struct kc_slab_list_warp<Layout, NLANES> list_warp;
        list_warp warp;
        warp.begin(args.lists, args.pool, &shared);
        unsigned long long nelements = 0, ndeleted = 0, nslabs = 0, longest = 0;
        for_lists<NLANES>(args, [&](uint32_t list) {
                unsigned long long length = 0;
                for_slabs(warp, list, [&](bool there, const typename list_warp::elements &e) {
                        nelements += (unsigned)__popc(e.live);
                        ndeleted += e.ndeleted;
                        length += there;
                });
                nslabs += warp.group_lane() == 0 ? length : 0;
                longest = max(longest, length);
        });
        atomicAdd(&args.state->walk.nelements, nelements);
        atomicAdd(&args.state->walk.ndeleted, ndeleted);
        atomicAdd(&args.state->walk.nslabs, nslabs);
        atomicMax(&args.state->walk.longest, longest);
}

namespace
{

template <class Layout> struct export_args {
        typename Layout::key *keys;
        uint32_t *values, *lists;
        uint64_t cap;
        bool named;
        uint64_t seed;
};

} // namespace

template <class Layout>
static __device__ void put_element(const struct export_args<Layout> &to, uint64_t i,
                                   typename Layout::key stored, uint32_t value, uint32_t list)
{
        typedef typename Layout::key key;
        if (i >= to.cap)
                return;
        to.keys[i] = to.named ? (key)~stored : kc_slab_map_key(list, stored, to.seed);
        if (to.values != NULL)
                to.values[i] = value;
        if (to.lists != NULL)
                to.lists[i] = list;
}

template <class Layout, uint32_t NLANES>
static __global__ void __launch_bounds__(THREADS)
        slab_export_kernel(struct walk_args args, struct export_args<Layout> to)
{
        __shared__ struct kc_slab_pool_shared shared;
        typedef struct kc_slab_list_warp<Layout, NLANES> list_warp;
        list_warp warp;
        warp.begin(args.lists, args.pool, &shared);
        for_lists<NLANES>(args, [&](uint32_t list) {
                for_slabs(warp, list, [&](bool, const typename list_warp::elements &e) {
                        uint32_t n = (uint32_t)__popc(e.live), before = kc_warp_scan(n) - n;
                        uint32_t total = __shfl_sync(KC_SLAB_ALL_LANES, before + n, 31);
                        unsigned long long at = 0;
                        if (total != 0 && kc_warp_lane() == 0)
                                at = atomicAdd(&args.state->walk.nelements,
                                               (unsigned long long)total);
                        at = __shfl_sync(KC_SLAB_ALL_LANES, at, 0) + before;
#pragma unroll
                        for (uint32_t i = 0; i < list_warp::places::NELEMENTS; i++)
                                if (e.live >> i & 1)
                                        put_element(to, at++, e.key_of(i), e.value_of(i), list);
                });
        });
}

#endif
