#include "gpu/ask/map.cuh"

#include "gpu/maps/linear/map.cuh"
#include "gpu/maps/lsm/map.cuh"
#include "gpu/maps/slab/map.cuh"
#include "gpu/maps/warpdrive/map.cuh"

template <class Key> struct kc_ask_map_functions {
        enum kc_status (*open)(void **map, struct kc_gpu *gpu,
                               const struct kc_ask_map_options *options, struct kc_error *err);
        enum kc_status (*put)(void *map, Key *kmers, uint32_t *counts, size_t n,
                              struct kc_error *err);
        enum kc_status (*find)(const void *map, cudaStream_t stream, const Key *kmers,
                               uint32_t *counts, size_t n, struct kc_error *err);
        void (*close)(void *map);
};

/* The same map for work on another stream. Look-ups do not change a map, so a copy will do. */
template <class Map> static Map on_stream(const void *map, cudaStream_t stream)
{
        Map copy = *(const Map *)map;
        copy.on.stream = stream;
        return copy;
}

/* ---- WarpDrive ---- */

/* Puts add, because the layout of words only counts. The map is filled to two thirds, where larger
 * windows read more slots but save hardly any probes. */
template <class Layout> struct warpdrive {
        enum : uint32_t { GROUP = 4 };

        typedef kc_wd_map<Layout> map;
        typedef typename Layout::key key;

        static enum kc_status open(void **out, struct kc_gpu *gpu,
                                   const struct kc_ask_map_options *o, struct kc_error *err)
        {
                struct kc_wd_options options = {};
                options.capacity = kc_ask_warpdrive_slots<Layout>(o->npairs);
                options.key_bits = 2 * o->k;
                options.group = GROUP;
                return kc_wd_new((map **)out, gpu, &options, gpu->stream, err);
        }

        static enum kc_status put(void *m, key *kmers, uint32_t *counts, size_t n,
                                  struct kc_error *err)
        {
                return kc_wd_put((map *)m, kmers, counts, n, KC_WD_ADD, NULL, err);
        }

        static enum kc_status find(const void *m, cudaStream_t stream, const key *kmers,
                                   uint32_t *counts, size_t n, struct kc_error *err)
        {
                const map asked = on_stream<map>(m, stream);
                static_assert(KC_WD_ABSENT == 0, "the count of an absent k-mer");
                return kc_wd_find(&asked, kmers, counts, n, err);
        }

        static void close(void *m)
        {
                kc_wd_free((map *)m);
        }
};

/* ---- slab hash ---- */

/* A small table takes blocks of slabs for a quarter of its lists; a larger one takes as many as the
 * pool usually does. */
struct slab {
        enum : uint32_t { USUAL_BLOCKS = 256 };

        typedef struct kc_slab_map<kc_slab_pair64> map;

        static enum kc_status open(void **out, struct kc_gpu *gpu,
                                   const struct kc_ask_map_options *o, struct kc_error *err)
        {
                struct kc_slab_options options = {};
                options.nlists = kc_slab_nlists<kc_slab_pair64>(o->npairs, 0.6);
                options.pool.nblocks = options.nlists / KC_SLAB_BLOCK_NSLABS / 4 + 1;
                if (options.pool.nblocks > USUAL_BLOCKS)
                        options.pool.nblocks = 0;
                return kc_slab_new((map **)out, gpu, &options, gpu->stream, err);
        }

        static enum kc_status put(void *m, kc_key64 *kmers, uint32_t *counts, size_t n,
                                  struct kc_error *err)
        {
                return kc_slab_insert((map *)m, kmers, counts, n, err);
        }

        static enum kc_status find(const void *m, cudaStream_t stream, const kc_key64 *kmers,
                                   uint32_t *counts, size_t n, struct kc_error *err)
        {
                const map asked = on_stream<map>(m, stream);
                static_assert(KC_SLAB_ABSENT == 0, "the count of an absent k-mer");
                return kc_slab_find(&asked, kmers, counts, n, err);
        }

        static void close(void *m)
        {
                kc_slab_free((map *)m);
        }
};

/* ---- linear probing ---- */

enum { THREADS = 256 };

static __global__ void shift_kernel(uint32_t *counts, size_t n, uint32_t by)
{
        const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < n)
                counts[i] += by;
}

/*
 * The mark of an absent key is UINT32_MAX, which is the count of a k-mer whose count is saturated.
 * So the values are counts less 1: from 0 to UINT32_MAX - 1, and an absent key's value plus 1 is 0.
 */
struct linear {
        typedef kc_linear_map<kc_key64> map;

        static enum kc_status shift(const map *m, uint32_t *counts, size_t n, uint32_t by,
                                    struct kc_error *err)
        {
                if (n == 0)
                        return KC_OK;
                shift_kernel<<<kc_ceil_div(n, THREADS), THREADS, 0, m->on.stream>>>(counts, n, by);
                return KC_LAUNCHED();
        }

        static enum kc_status open(void **out, struct kc_gpu *gpu,
                                   const struct kc_ask_map_options *o, struct kc_error *err)
        {
                struct kc_linear_options options = {};
                options.capacity = o->npairs + o->npairs / 4;
                options.grows = true;
                return kc_linear_new((map **)out, gpu, &options, gpu->stream, err);
        }

        static enum kc_status put(void *m, kc_key64 *kmers, uint32_t *counts, size_t n,
                                  struct kc_error *err)
        {
                enum kc_status status = shift((const map *)m, counts, n, UINT32_MAX, err);
                return status == KC_OK ? kc_linear_insert((map *)m, (const kc_key64 *)kmers,
                                                          (const uint32_t *)counts, n, err)
                                       : status;
        }

        static enum kc_status find(const void *m, cudaStream_t stream, const kc_key64 *kmers,
                                   uint32_t *counts, size_t n, struct kc_error *err)
        {
                const map asked = on_stream<map>(m, stream);
                static_assert(KC_LINEAR_ABSENT + 1 == 0, "the count of an absent k-mer");
                enum kc_status status = kc_linear_find(&asked, kmers, counts, n, err);
                return status == KC_OK ? shift(&asked, counts, n, 1, err) : status;
        }

        static void close(void *m)
        {
                kc_linear_free((map *)m);
        }
};

/* ---- LSM ---- */

template <class Key> struct lsm {
        typedef struct kc_lsm_map<Key> map;

        static enum kc_status open(void **out, struct kc_gpu *gpu,
                                   const struct kc_ask_map_options *o, struct kc_error *err)
        {
                struct kc_lsm_options options = {};
                options.batch = o->most_at_once;
                options.key_nbits = 2 * o->k;
                return kc_lsm_new((map **)out, gpu, &options, gpu->stream, err);
        }

        static enum kc_status put(void *m, Key *kmers, uint32_t *counts, size_t n,
                                  struct kc_error *err)
        {
                return kc_lsm_insert((map *)m, (const Key *)kmers, (const uint32_t *)counts, n,
                                     err);
        }

        static enum kc_status find(const void *m, cudaStream_t stream, const Key *kmers,
                                   uint32_t *counts, size_t n, struct kc_error *err)
        {
                const map asked = on_stream<map>(m, stream);
                static_assert(KC_LSM_ABSENT == 0, "the count of an absent k-mer");
                return kc_lsm_find(&asked, kmers, counts, n, err);
        }

        static void close(void *m)
        {
                kc_lsm_free((map *)m);
        }
};

/* ---- all of them ---- */

template <class Map, class Key> static const struct kc_ask_map_functions<Key> *functions_of(void) {
        static const struct kc_ask_map_functions<Key> functions = {
                Map::open, Map::put, Map::find, Map::close
        };
        return &functions;
}

static const struct kc_ask_map_functions<kc_key64>
        *functions_for(enum kc_gpu_map map, kc_key64) {
        switch (map) {
        case KC_GPU_MAP_SLAB:
                return functions_of<slab, kc_key64>();
        case KC_GPU_MAP_LINEAR:
                return functions_of<linear, kc_key64>();
        case KC_GPU_MAP_LSM:
                return functions_of<lsm<kc_key64>, kc_key64>();
        default:
                return functions_of<warpdrive<kc_wd_words>, kc_key64>();
        }
}

static const struct kc_ask_map_functions<kc_key128>
        *functions_for(enum kc_gpu_map map, kc_key128) {
        return map == KC_GPU_MAP_LSM ? functions_of<lsm<kc_key128>, kc_key128>()
                                     : functions_of<warpdrive<kc_wd_apart128>, kc_key128>();
}

/* For tables of so few k-mers that remainders are long, and words of remainder and count would have
 * no room for the count. */
static const struct kc_ask_map_functions<kc_key64>
        *functions_instead(kc_key64) {
        return functions_of<warpdrive<kc_wd_near64>, kc_key64>();
}

static const struct kc_ask_map_functions<kc_key128>
        *functions_instead(kc_key128) {
        return functions_of<warpdrive<kc_wd_apart128>, kc_key128>();
}

enum kc_status
kc_ask_check_map(enum kc_gpu_map map, int k, struct kc_error *err)
{
        const int max_k = kc_gpu_map_max_k(map);
        return k <= max_k ? KC_OK
                          : kc_fail(err, KC_EUSAGE, "the map %s holds k-mers up to k = %d, not %d",
                                    kc_gpu_map_name(map), max_k, k);
}

template <class Key>
enum kc_status kc_ask_map_open(struct kc_ask_map<Key> *table, struct kc_gpu *gpu,
                               const struct kc_ask_map_options *options, struct kc_error *err)
{
        struct kc_error failure = {};
        *table = {};
        table->functions = functions_for(options->map, Key());
        enum kc_status status = table->functions->open(&table->map, gpu, options, &failure);
        if (status == KC_EUSAGE && options->map == KC_GPU_MAP_WARPDRIVE) {
                failure = {};
                table->functions = functions_instead(Key());
                status = table->functions->open(&table->map, gpu, options, &failure);
        }
        return status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
}

template <class Key> void kc_ask_map_close(struct kc_ask_map<Key> *table)
{
        if (table->functions != NULL)
                table->functions->close(table->map);
        *table = {};
}

template <class Key>
enum kc_status kc_ask_map_put(struct kc_ask_map<Key> *table, Key *kmers, uint32_t *counts, size_t n,
                              struct kc_error *err)
{
        return table->functions->put(table->map, kmers, counts, n, err);
}

template <class Key>
enum kc_status kc_ask_map_find(const struct kc_ask_map<Key> *table, cudaStream_t stream,
                               const Key *kmers, uint32_t *counts, size_t n, struct kc_error *err)
{
        return table->functions->find(table->map, stream, kmers, counts, n, err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_map_open(struct kc_ask_map<Key> *, struct kc_gpu *, \
                                                const struct kc_ask_map_options *, \
                                                struct kc_error *); \
        template void kc_ask_map_close(struct kc_ask_map<Key> *); \
        template enum kc_status kc_ask_map_put(struct kc_ask_map<Key> *, Key *, uint32_t *, \
                                               size_t, struct kc_error *); \
        template enum kc_status kc_ask_map_find(const struct kc_ask_map<Key> *, cudaStream_t, \
                                                const Key *, uint32_t *, size_t, \
                                                struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
