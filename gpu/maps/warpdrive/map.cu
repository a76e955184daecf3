#include "gpu/maps/warpdrive/storage.cuh"

#include <algorithm>
#include <new>

enum { THREADS = KC_WD_THREADS, REBUILDS = 4 };
static const uint64_t CHUNK_NSLOTS = 1 << 22; /* moved between tables at a time */

template <class Layout>
static enum kc_status expect_weights(kc_wd_map<Layout> *, const uint32_t *, uint64_t,
                                     struct kc_error *)
{
        return KC_OK;
}

static enum kc_status expect_weights(kc_wd_map<kc_wd_words> *map, const uint32_t *weights,
                                     uint64_t n, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        unsigned long long sums[KC_WD_NTOTALS] = { n };
        if (weights != NULL) {
                KC_TRY(kc_wd_clear_totals(on, map->totals, err));
                wd_sum_kernel<<<8 * on.gpu->nmultiprocessors, THREADS, 0, on.stream>>>(weights, n,
                                                                                       map->totals);
                KC_TRY(KC_LAUNCHED());
                KC_TRY(kc_gpu_read(on, sums, map->totals, KC_WD_NTOTALS, err));
        }
        KC_TRY(grow_wraps(on, &map->view.slots, map->nslots, map->weight + sums[0], err));
        map->weight += sums[0];
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_expect_weights(kc_wd_map<Layout> *map, const uint32_t *weights, uint64_t n,
                                    struct kc_error *err)
{
        return expect_weights(map, weights, n, err);
}

/* The same for all that is in another map. */
template <class Layout>
static enum kc_status expect_pairs(kc_wd_map<Layout> *, uint64_t, struct kc_error *)
{
        return KC_OK;
}

static enum kc_status expect_pairs(kc_wd_map<kc_wd_words> *map, uint64_t weight,
                                   struct kc_error *err)
{
        map->weight = weight;
        return grow_wraps(map->on, &map->view.slots, map->nslots, weight, err);
}

/* ---- making ---- */

template <class Layout>
static enum kc_status set_shape(kc_wd_map<Layout> *map, struct kc_error *err)
{
        const struct kc_wd_options *o = &map->options;
        struct kc_wd_shape *s = &map->view.shape;
        uint64_t per_part = o->capacity >> o->part_bits;
        s->group = o->group;
        s->linear = o->linear;
        s->part_bits = o->part_bits;
        s->key_bits = Layout::COUNTS_ONLY && o->key_bits != 0 ? o->key_bits : 64;
        s->seed = o->seed;
        uint64_t nwindows = per_part / s->group + (per_part % s->group != 0);
        if (nwindows > UINT32_MAX / 2 || s->part_bits > KC_WD_MAX_PART_BITS)
                return kc_fail(err, KC_EUSAGE,
                               "WarpDrive map: %llu slots in 2^%d parts are too many",
                               (unsigned long long)o->capacity, o->part_bits);
        s->nwindows = kc_wd_prime_from((uint32_t)nwindows);
        uint32_t all = std::min((uint64_t)s->nwindows * s->linear, (uint64_t)UINT32_MAX / 64);
        s->max_probes = std::min(o->max_probes, all);
        map->nslots = kc_wd_nslots(*s);
        if constexpr (Layout::COUNTS_ONLY) {
                struct kc_wd_word_shape *word = &map->view.slots.shape_of;
                if (s->key_bits <= s->part_bits || s->key_bits > 64 ||
                    (*word = kc_wd_divide(s)).count_bits < (int)KC_WD_MIN_COUNT_BITS)
                        return kc_fail(
                                err, KC_EUSAGE,
                                "WarpDrive map: words of remainder and count: %d bits of key and "
                                "%u windows leave too few for the count",
                                s->key_bits, s->nwindows);
        }
        return KC_OK;
}

template <class Layout>
static struct kc_wd_options with_defaults(const struct kc_wd_options *options)
{
        struct kc_wd_options o = *options;
        o.capacity = std::max(o.capacity, (uint64_t)1);
        o.group = o.group == 0 ? 4 * Layout::SLOTS_16 : o.group;
        o.linear = std::max(o.linear, 1u);
        o.max_probes = o.max_probes == 0 ? std::max(64u, 4096 / o.group) : o.max_probes;
        o.max_rebuilds = o.max_rebuilds == 0 ? (int)REBUILDS : o.max_rebuilds;
        return o;
}

template <class Layout>
static enum kc_status take_memory(kc_wd_map<Layout> *map, struct kc_error *err)
{
        enum kc_status status;
        uint32_t group = map->options.group;
        if (group > 32 || (group & (group - 1)) != 0)
                return kc_fail(err, KC_EUSAGE,
                               "WarpDrive map: a window has 1, 2, 4, 8, 16 or 32 slots, not %u",
                               group);
        KC_TRY(set_shape(map, err));
        KC_TRY(slots_new(map->on, &map->view.slots, map->nslots, err));
        KC_TRY(kc_gpu_new(map->on, &map->view.odd, 1, err));
        KC_TRY(kc_gpu_new(map->on, &map->totals, KC_WD_NTOTALS, err));
        KC_TRY(kc_wd_clear(map, err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_new(kc_wd_map<Layout> **map, struct kc_gpu *gpu,
                         const struct kc_wd_options *options, cudaStream_t stream,
                         struct kc_error *err)
{
        *map = NULL;
        kc_wd_map<Layout> *fresh = new (std::nothrow) kc_wd_map<Layout>();
        if (fresh == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        fresh->on = { gpu, stream };
        fresh->options = with_defaults<Layout>(options);
        enum kc_status status = take_memory(fresh, err);
        if (status == KC_OK)
                *map = fresh;
        else
                kc_wd_free(fresh);
        return status;
}

template <class Layout> void kc_wd_free(kc_wd_map<Layout> *map)
{
        if (map == NULL)
                return;
        slots_free(map->on, &map->view.slots, map->nslots);
        kc_gpu_delete(map->on, map->view.odd, 1);
        kc_gpu_delete(map->on, map->totals, KC_WD_NTOTALS);
        delete map;
}

template <class Layout> enum kc_status kc_wd_clear(kc_wd_map<Layout> *map, struct kc_error *err)
{
        enum kc_status status;
        map->nkeys = map->ntombs = map->weight = 0;
        KC_TRY(slots_clear(map->on, &map->view.slots, map->nslots, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(map->view.odd, 0, sizeof *map->view.odd, map->on.stream)));
out:
        return status;
}

/* ---- launches ---- */

/* As many blocks as are resident at once; together they loop over the batch. */
template <class Layout, class Kernel>
static enum kc_status grid_for(const kc_wd_map<Layout> *map, Kernel *kernel, uint64_t n,
                               unsigned *grid, struct kc_error *err)
{
        int per_sm = 0;
        enum kc_status status =
                KC_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, THREADS, 0));
        if (map->options.blocks_per_sm != 0)
                per_sm = (int)map->options.blocks_per_sm;
        uint64_t resident = (uint64_t)std::max(per_sm, 1) * map->on.gpu->nmultiprocessors;
        *grid = (unsigned)std::min((n + THREADS - 1) / THREADS, resident);
        return status;
}

template <class Layout, int G>
static enum kc_status launch_put(const kc_wd_map<Layout> *map,
                                 const kc_wd_batch<typename Layout::key> *batch,
                                 enum kc_wd_mode mode, struct kc_error *err)
{
        enum kc_status status;
        unsigned grid;
        cudaStream_t stream = map->on.stream;
        KC_TRY(grid_for(map, wd_put_kernel<Layout, G>, batch->n, &grid, err));
        wd_put_kernel<Layout, G><<<grid, THREADS, 0, stream>>>(map->view, *batch, mode);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout, int G>
static enum kc_status launch_retrieve(const kc_wd_map<Layout> *map,
                                      const kc_wd_batch<typename Layout::key> *batch,
                                      const struct kc_wd_answers *answers, struct kc_error *err)
{
        enum kc_status status;
        unsigned grid;
        cudaStream_t stream = map->on.stream;
        KC_TRY(grid_for(map, wd_retrieve_kernel<Layout, G>, batch->n, &grid, err));
        wd_retrieve_kernel<Layout, G><<<grid, THREADS, 0, stream>>>(map->view, *batch, *answers);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout, int G>
static enum kc_status launch_erase(const kc_wd_map<Layout> *map,
                                   const kc_wd_batch<typename Layout::key> *batch,
                                   struct kc_error *err)
{
        enum kc_status status;
        unsigned grid;
        cudaStream_t stream = map->on.stream;
        KC_TRY(grid_for(map, wd_erase_kernel<Layout, G>, batch->n, &grid, err));
        wd_erase_kernel<Layout, G><<<grid, THREADS, 0, stream>>>(map->view, *batch);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* launch<Layout, G>(map, ...), G being the map's group. */
#define BY_GROUP(launch, map, ...) \
        ((map)->options.group == 1    ? launch<Layout, 1>(map, __VA_ARGS__) \
         : (map)->options.group == 2  ? launch<Layout, 2>(map, __VA_ARGS__) \
         : (map)->options.group == 4  ? launch<Layout, 4>(map, __VA_ARGS__) \
         : (map)->options.group == 8  ? launch<Layout, 8>(map, __VA_ARGS__) \
         : (map)->options.group == 16 ? launch<Layout, 16>(map, __VA_ARGS__) \
                                      : launch<Layout, 32>(map, __VA_ARGS__))

/* Put once; keys that find no room get a bit in batch->refused, which must be cleared before. */
template <class Layout>
static enum kc_status put_once(kc_wd_map<Layout> *map, enum kc_wd_mode mode,
                               const kc_wd_batch<typename Layout::key> *batch, uint64_t *nrefused,
                               struct kc_error *err)
{
        enum kc_status status;
        unsigned long long totals[KC_WD_NTOTALS];
        KC_TRY(kc_wd_clear_totals(map->on, map->totals, err));
        KC_TRY(BY_GROUP(launch_put, map, batch, mode, err));
        KC_TRY(kc_gpu_read(map->on, totals, map->totals, KC_WD_NTOTALS, err));
        map->nkeys += totals[KC_WD_NCLAIMED];
        *nrefused = totals[KC_WD_NREFUSED];
out:
        return status;
}

template <class Layout>
static kc_wd_batch<typename Layout::key> batch_of(const kc_wd_map<Layout> *map,
                                                  const typename Layout::key *keys,
                                                  const uint32_t *values, uint64_t n)
{
        kc_wd_batch<typename Layout::key> batch = {};
        batch.keys = keys;
        batch.values = values;
        batch.n = n;
        batch.totals = map->totals;
        return batch;
}

/* Bits for the refused of n keys. */
static enum kc_status bits_new(struct kc_gpu_stream on, uint32_t **bits, uint64_t n,
                               struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(on, bits, (n + 31) / 32, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(*bits, 0, (n + 31) / 32 * 4, on.stream)));
out:
        return status;
}

static enum kc_status fail_full(struct kc_error *err, uint64_t nrefused, uint64_t nkeys,
                                uint64_t nslots)
{
        return kc_fail(
                err, KC_ENOMEM,
                "WarpDrive map: there is no room for %llu keys beside %llu others in %llu slots",
                (unsigned long long)nrefused, (unsigned long long)nkeys,
                (unsigned long long)nslots);
}

/* Rebuild and retry the refused keys until none is refused. *bits: the refused keys, in and out. */
template <class Layout>
static enum kc_status put_again(kc_wd_map<Layout> *map, enum kc_wd_mode mode,
                                kc_wd_batch<typename Layout::key> batch, uint32_t **bits,
                                uint64_t nrefused, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint32_t *next = NULL;
        for (int i = 0; nrefused != 0; i++) {
                if (i >= map->options.max_rebuilds || map->nkeys >= map->nslots)
                        KC_TRY(fail_full(err, nrefused, map->nkeys, map->nslots));
                KC_TRY(bits_new(map->on, &next, batch.n, err));
                KC_TRY(kc_wd_rebuild(map, 0, err));
                batch.todo = *bits;
                batch.refused = next;
                batch.totals = map->totals;
                KC_TRY(put_once(map, mode, &batch, &nrefused, err));
                std::swap(*bits, next);
                kc_gpu_delete(map->on, next, (batch.n + 31) / 32);
                next = NULL;
        }
out:
        kc_gpu_delete(map->on, next, (batch.n + 31) / 32);
        return status;
}

void kc_wd_report_refused(struct kc_gpu_stream on, uint32_t *refused, const uint32_t *bits,
                          uint64_t n)
{
        struct kc_error error = {}, *err = &error; /* the caller is reporting another error */
        const size_t nbytes = (n + 31) / 32 * sizeof *bits;
        if (refused != NULL && bits != NULL)
                (void)KC_CUDA(cudaMemcpyAsync(refused, bits, nbytes, cudaMemcpyDeviceToDevice,
                                              on.stream));
        else if (refused != NULL)
                (void)KC_CUDA(cudaMemsetAsync(refused, 0xff, nbytes, on.stream));
}

template <class Layout>
enum kc_status kc_wd_put_expected(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                  const uint32_t *values, uint64_t n, enum kc_wd_mode mode,
                                  uint32_t *refused, struct kc_error *err)
{
        enum kc_status status;
        kc_wd_batch<typename Layout::key> batch = batch_of(map, keys, values, n);
        uint32_t *bits = NULL;
        uint64_t nrefused;
        KC_TRY(bits_new(map->on, &bits, n, err));
        batch.refused = bits;
        KC_TRY(put_once(map, mode, &batch, &nrefused, err));
        KC_TRY(put_again(map, mode, batch, &bits, nrefused, err));
out:
        if (status == KC_ENOMEM)
                kc_wd_report_refused(map->on, refused, bits, n);
        kc_gpu_delete(map->on, bits, (n + 31) / 32);
        return status;
}

template <class Layout>
enum kc_status kc_wd_put(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                         const uint32_t *values, uint64_t n, enum kc_wd_mode mode,
                         uint32_t *refused, struct kc_error *err)
{
        if (n == 0)
                return KC_OK;
        if (Layout::COUNTS_ONLY && mode != KC_WD_ADD)
                return kc_fail(err, KC_EUSAGE,
                               "WarpDrive map: slots of remainder and count can only be added to");
        enum kc_status status = kc_wd_expect_weights(map, values, n, err);
        if (status == KC_ENOMEM)
                kc_wd_report_refused(map->on, refused, NULL, n);
        if (status != KC_OK)
                return status;
        return kc_wd_put_expected(map, keys, values, n, mode, refused, err);
}

template <class Layout>
enum kc_status kc_wd_insert(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                            const uint32_t *values, uint64_t n, struct kc_error *err)
{
        return kc_wd_put(map, keys, values, n, KC_WD_INSERT, NULL, err);
}

template <class Layout>
enum kc_status kc_wd_retrieve(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                              uint32_t *values, uint64_t n, uint32_t missing, uint8_t *found,
                              uint64_t *nfound, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_wd_batch<typename Layout::key> batch = batch_of(map, keys, NULL, n);
        struct kc_wd_answers answers = { values, found, missing };
        unsigned long long totals[KC_WD_NTOTALS] = {};
        if (nfound == NULL)
                batch.totals = NULL;
        if (n == 0)
                goto out;
        if (nfound != NULL)
                KC_TRY(kc_wd_clear_totals(map->on, map->totals, err));
        KC_TRY(BY_GROUP(launch_retrieve, map, &batch, &answers, err));
        if (nfound != NULL)
                KC_TRY(kc_gpu_read(map->on, totals, map->totals, KC_WD_NTOTALS, err));
out:
        if (nfound != NULL)
                *nfound = totals[KC_WD_NHIT];
        return status;
}

template <class Layout>
enum kc_status kc_wd_find(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                          uint32_t *values, uint64_t n, struct kc_error *err)
{
        return kc_wd_retrieve(map, keys, values, n, KC_WD_ABSENT, NULL, NULL, err);
}

template <class Layout>
enum kc_status kc_wd_erase(kc_wd_map<Layout> *map, const typename Layout::key *keys, uint64_t n,
                           struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_wd_batch<typename Layout::key> batch = batch_of(map, keys, NULL, n);
        unsigned long long totals[KC_WD_NTOTALS];
        if (n == 0)
                return KC_OK;
        KC_TRY(kc_wd_clear_totals(map->on, map->totals, err));
        KC_TRY(BY_GROUP(launch_erase, map, &batch, err));
        KC_TRY(kc_gpu_read(map->on, totals, map->totals, KC_WD_NTOTALS, err));
        map->nkeys -= totals[KC_WD_NHIT];
        map->ntombs += totals[KC_WD_NHIT];
out:
        return status;
}

/* ---- walking over all slots ---- */

/* Pairs in slots [begin, end), and the odd keys' where begin is 0; *n may exceed cap. */
template <class Layout>
static __global__ void __launch_bounds__(THREADS)
        wd_export_kernel(kc_wd_view<Layout> map, uint64_t begin, uint64_t end,
                         typename Layout::key *keys, uint32_t *values, uint64_t cap,
                         unsigned long long *n)
{
        typedef typename Layout::key Key;
        uint64_t at = begin + (uint64_t)blockIdx.x * THREADS + threadIdx.x,
                 nodd = begin == 0 ? KC_WD_NODD : 0;
        Key mixed = 0;
        uint32_t value = 0;
        bool live = false;
        if (at < end)
                live = map.slots.get(map.shape, at, &mixed, &value);
        else if (at - end < nodd && map.odd->there[at - end] != 0) {
                live = true; /* all ones but for the last bit, see odd() */
                mixed = (Key) ~(Key)0 - (sizeof(Key) > 4 && at == end);
                value = map.odd->values[at - end];
        }
        unsigned long long to = kc_warp_append(n, live);
        if (live && to < cap) {
                keys[to] = kc_wd_unmix(mixed, map.shape.seed, map.shape.key_bits);
                values[to] = value;
        }
}

template <class Layout>
static enum kc_status export_range(const kc_wd_map<Layout> *map, uint64_t begin, uint64_t end,
                                   typename Layout::key *keys, uint32_t *values, uint64_t cap,
                                   uint64_t *n, struct kc_error *err)
{
        enum kc_status status;
        unsigned long long totals[KC_WD_NTOTALS];
        unsigned grid = kc_ceil_div(end - begin + KC_WD_NODD, THREADS);
        KC_TRY(kc_wd_clear_totals(map->on, map->totals, err));
        wd_export_kernel<Layout><<<grid, THREADS, 0, map->on.stream>>>(map->view, begin, end, keys,
                                                                       values, cap, map->totals);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(map->on, totals, map->totals, KC_WD_NTOTALS, err));
        *n = totals[0];
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_export(const kc_wd_map<Layout> *map, typename Layout::key *keys,
                            uint32_t *values, uint64_t cap, uint64_t *n, struct kc_error *err)
{
        return export_range(map, 0, map->nslots, keys, values, cap, n, err);
}

namespace
{

/* The pairs moved between tables at a time. */
template <class Key> struct pouring {
        Key *keys;
        uint32_t *values, *bits;
        uint64_t cap;
};

} // namespace

template <class Key>
static enum kc_status pouring_new(struct kc_gpu_stream on, pouring<Key> *p, uint64_t nslots,
                                  struct kc_error *err)
{
        enum kc_status status;
        p->cap = std::min(nslots, CHUNK_NSLOTS) + KC_WD_NODD;
        KC_TRY(kc_gpu_new(on, &p->keys, p->cap, err));
        KC_TRY(kc_gpu_new(on, &p->values, p->cap, err));
        KC_TRY(bits_new(on, &p->bits, p->cap, err));
out:
        return status;
}

template <class Key> static void pouring_free(struct kc_gpu_stream on, pouring<Key> *p)
{
        kc_gpu_delete(on, p->bits, (p->cap + 31) / 32);
        kc_gpu_delete(on, p->values, p->cap);
        kc_gpu_delete(on, p->keys, p->cap);
}

/* Move all pairs of `from` to the empty map `to`; *nrefused: how many found no room. */
template <class Layout>
static enum kc_status pour(const kc_wd_map<Layout> *from, kc_wd_map<Layout> *to,
                           pouring<typename Layout::key> *p, uint64_t *nrefused,
                           struct kc_error *err)
{
        enum kc_status status = KC_OK;
        enum kc_wd_mode mode = Layout::COUNTS_ONLY ? KC_WD_ADD : KC_WD_INSERT;
        *nrefused = 0;
        for (uint64_t at = 0, n; at < from->nslots && *nrefused == 0; at += CHUNK_NSLOTS) {
                uint64_t end = std::min(at + CHUNK_NSLOTS, from->nslots);
                KC_TRY(export_range(from, at, end, p->keys, p->values, p->cap, &n, err));
                kc_wd_batch<typename Layout::key> batch = batch_of(to, p->keys, p->values, n);
                batch.refused = p->bits;
                if (n != 0)
                        KC_TRY(put_once(to, mode, &batch, nrefused, err));
        }
out:
        return status;
}

static uint64_t next_seed(uint64_t seed)
{
        return kc_wd_mix_bits(seed + KC_WD_SCATTER, 1, 64);
}

template <class Layout>
enum kc_status kc_wd_rebuild(kc_wd_map<Layout> *map, uint64_t capacity, struct kc_error *err)
{
        enum kc_status status;
        kc_wd_map<Layout> *fresh = NULL;
        pouring<typename Layout::key> p = {};
        struct kc_wd_options options = map->options;
        uint64_t nrefused = 1, nrebuilds = map->nrebuilds;
        options.capacity = capacity != 0 ? capacity : options.capacity;
        KC_TRY(pouring_new(map->on, &p, map->nslots, err));
        for (int i = 0; nrefused != 0; i++) {
                if (i == REBUILDS)
                        KC_TRY(fail_full(err, nrefused, fresh->nkeys, fresh->nslots));
                kc_wd_free(fresh);
                options.seed = next_seed(options.seed);
                KC_TRY(kc_wd_new(&fresh, map->on.gpu, &options, map->on.stream, err));
                KC_TRY(expect_pairs(fresh, map->weight, err));
                KC_TRY(pour(map, fresh, &p, &nrefused, err));
                nrebuilds++;
        }
        fresh->nrebuilds = nrebuilds;
        std::swap(*map, *fresh);
out:
        kc_wd_free(fresh);
        pouring_free(map->on, &p);
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_new(kc_wd_map<Layout> **, struct kc_gpu *, \
                                          const struct kc_wd_options *, cudaStream_t, \
                                          struct kc_error *); \
        template void kc_wd_free(kc_wd_map<Layout> *); \
        template enum kc_status kc_wd_clear(kc_wd_map<Layout> *, struct kc_error *); \
        template enum kc_status kc_wd_insert(kc_wd_map<Layout> *, const typename Layout::key *, \
                                             const uint32_t *, uint64_t, struct kc_error *); \
        template enum kc_status kc_wd_find(const kc_wd_map<Layout> *, \
                                           const typename Layout::key *, uint32_t *, uint64_t, \
                                           struct kc_error *); \
        template enum kc_status kc_wd_erase(kc_wd_map<Layout> *, const typename Layout::key *, \
                                            uint64_t, struct kc_error *); \
        template enum kc_status kc_wd_export(const kc_wd_map<Layout> *, typename Layout::key *, \
                                             uint32_t *, uint64_t, uint64_t *, struct kc_error *); \
        template enum kc_status kc_wd_rebuild(kc_wd_map<Layout> *, uint64_t, struct kc_error *); \
        template enum kc_status kc_wd_put(kc_wd_map<Layout> *, const typename Layout::key *, \
                                          const uint32_t *, uint64_t, enum kc_wd_mode, uint32_t *, \
                                          struct kc_error *); \
        template enum kc_status kc_wd_put_expected( \
                kc_wd_map<Layout> *, const typename Layout::key *, const uint32_t *, uint64_t, \
                enum kc_wd_mode, uint32_t *, struct kc_error *); \
        template enum kc_status kc_wd_expect_weights(kc_wd_map<Layout> *, const uint32_t *, \
                                                     uint64_t, struct kc_error *); \
        template enum kc_status kc_wd_retrieve( \
                const kc_wd_map<Layout> *, const typename Layout::key *, uint32_t *, uint64_t, \
                uint32_t, uint8_t *, uint64_t *, struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
