/*
 * Lookups, one thread per query, in the given order or roughly sorted first.
 */
#include "gpu/maps/lsm/map_internal.cuh"

#include <cub/device/device_radix_sort.cuh>

enum {
        NTHREADS = KC_LSM_FIND_NTHREADS,
        /* After sorting by this many of the highest bits, in two passes, neighbouring queries lie
         * within 1/65,536 of the key space: a few nodes of each level. */
        ORDER_NBITS = 16,
        /* Queries that are sorted together; four words of memory each. */
        SLICE = 1 << 27,
};

/* ---- levels for kernels */

/* Loading a few words of tops for each query that the block answers pays off. */
static uint32_t room_for_tops(size_t nlevels, size_t node_nbytes, size_t per_block)
{
        enum { MIN_NBYTES = 2 << 10, NBYTES_EACH = 16 };
        size_t nbytes = per_block * NBYTES_EACH;
        nbytes = nbytes < MIN_NBYTES ? (size_t)MIN_NBYTES : nbytes;
        nbytes = nbytes < KC_LSM_TOPS_NBYTES ? nbytes : (size_t)KC_LSM_TOPS_NBYTES;
        size_t least = nlevels * node_nbytes;
        return (uint32_t)(nbytes > least ? nbytes : least);
}

template <class Word>
void kc_lsm_look(const struct kc_lsm_map<Word> *map, size_t n, kc_lsm_view<Word> *view,
                 size_t *shared_nbytes)
{
        *view = {};
        for (const kc_lsm_level<Word> &level : map->levels) {
                if (level.run.n == 0)
                        continue;
                kc_lsm_level_view<Word> *to = &view->levels[view->nlevels++];
                to->words = level.run.words;
                to->values = level.run.values;
                to->fences = level.fences;
                to->n = (uint32_t)level.run.n;
                kc_lsm_tiers tiers = kc_lsm_tiers_of<Word>(to->n);
                memcpy(to->begin, tiers.begin, sizeof to->begin);
        }
        size_t per_block = n / (kc_lsm_nblocks(map->on, n) + 1);
        uint32_t room = room_for_tops(view->nlevels, kc_lsm_fan<Word>::N * sizeof(Word), per_block);
        kc_lsm_choose_tops(view, room / (uint32_t)sizeof(Word));
        *shared_nbytes = view->ntops * sizeof(Word);
}

/* ---- the lookup */

/* Query i is keys[i]; its result goes to index number[i], or to i if numbers are NULL. */
template <class Word>
static __global__ void __launch_bounds__(NTHREADS, KC_LSM_FIND_NBLOCKS)
        lsm_find_kernel(const __grid_constant__ kc_lsm_view<Word> view, const Word *keys,
                        const uint32_t *numbers, size_t n, uint32_t *values, uint8_t *found)
{
        extern __shared__ uint4 shared[];
        Word *tops = (Word *)shared;
        kc_lsm_load_tops(&view, tops);
        size_t step = (size_t)gridDim.x * NTHREADS;
        for (size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x; i < n; i += step) {
                kc_lsm_answer answer = kc_lsm_seek(&view, tops, 0, keys[i]);
                size_t to = numbers != NULL ? numbers[i] : i;
                values[to] = answer.value;
                if (found != NULL)
                        found[to] = answer.found;
        }
}

template <class Word>
static enum kc_status find(const struct kc_lsm_map<Word> *map, const Word *keys,
                           const uint32_t *numbers, size_t n, uint32_t *values, uint8_t *found,
                           struct kc_error *err)
{
        enum kc_status status;
        kc_lsm_view<Word> view;
        size_t shared_nbytes;
        unsigned nblocks = kc_lsm_nblocks(map->on, n);
        kc_lsm_look(map, n, &view, &shared_nbytes);
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(lsm_find_kernel<Word>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            KC_LSM_TOPS_NBYTES)));
        lsm_find_kernel<Word><<<nblocks, NTHREADS, shared_nbytes, map->on.stream>>>(
                view, keys, numbers, n, values, found);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* ---- sorted first */

static __global__ void lsm_number_kernel(uint32_t *numbers, size_t n)
{
        size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x;
        if (i < n)
                numbers[i] = (uint32_t)i;
}

namespace
{

/* Roughly sorted queries, with their original numbers. */
template <class Word> struct queries {
        Word *keys;                  /* [cap] */
        uint32_t *unsorted, *sorted; /* [cap] numbers */
        void *temporary;
        size_t cap, temporary_nbytes;
};

} // namespace

template <class Word>
static cudaError_t sort(const struct kc_lsm_map<Word> *map, struct queries<Word> *queries,
                        const Word *keys, size_t n, void *temporary, size_t *nbytes)
{
        int end = map->key_nbits, begin = end > ORDER_NBITS ? end - ORDER_NBITS : 0;
        return cub::DeviceRadixSort::SortPairs(temporary, *nbytes, keys, queries->keys,
                                               (const uint32_t *)queries->unsorted, queries->sorted,
                                               n, begin, end, map->on.stream);
}

template <class Word>
static enum kc_status take_queries(const struct kc_lsm_map<Word> *map,
                                   struct queries<Word> *queries, size_t cap, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        queries->cap = cap;
        KC_TRY(kc_gpu_new(on, &queries->keys, cap, err));
        KC_TRY(kc_gpu_new(on, &queries->unsorted, cap, err));
        KC_TRY(kc_gpu_new(on, &queries->sorted, cap, err));
        KC_TRY(KC_CUDA(
                sort(map, queries, (const Word *)NULL, cap, NULL, &queries->temporary_nbytes)));
        KC_TRY(kc_gpu_alloc(on, &queries->temporary, queries->temporary_nbytes, err));
        lsm_number_kernel<<<kc_ceil_div(cap, NTHREADS), NTHREADS, 0, on.stream>>>(queries->unsorted,
                                                                                  cap);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Word>
static void free_queries(struct kc_gpu_stream on, struct queries<Word> *queries)
{
        kc_gpu_delete(on, queries->keys, queries->cap);
        kc_gpu_delete(on, queries->unsorted, queries->cap);
        kc_gpu_delete(on, queries->sorted, queries->cap);
        kc_gpu_release(on, queries->temporary, queries->temporary_nbytes);
}

template <class Word>
static enum kc_status find_sorted(const struct kc_lsm_map<Word> *map, const Word *keys, size_t n,
                                  uint32_t *values, uint8_t *found, struct kc_error *err)
{
        enum kc_status status;
        queries<Word> queries = {};
        KC_TRY(take_queries(map, &queries, n < SLICE ? n : (size_t)SLICE, err));
        for (size_t at = 0; at < n; at += queries.cap) {
                size_t m = n - at < queries.cap ? n - at : queries.cap;
                KC_TRY(KC_CUDA(sort(map, &queries, keys + at, m, queries.temporary,
                                    &queries.temporary_nbytes)));
                KC_TRY(find(map, queries.keys, queries.sorted, m, values + at,
                            found != NULL ? found + at : NULL, err));
        }
out:
        free_queries(map->on, &queries);
        return status;
}

template <class Word>
enum kc_status kc_lsm_retrieve(const struct kc_lsm_map<Word> *map, const Word *keys,
                               uint32_t *values, size_t n, enum kc_lsm_order order, uint8_t *found,
                               struct kc_error *err)
{
        if (n == 0)
                return KC_OK;
        if (order == KC_LSM_SORTED_FIRST)
                return find_sorted(map, keys, n, values, found, err);
        return find(map, keys, (const uint32_t *)NULL, n, values, found, err);
}

template <class Word>
enum kc_status kc_lsm_find(const struct kc_lsm_map<Word> *map, const Word *keys, uint32_t *values,
                           uint64_t n, struct kc_error *err)
{
        return kc_lsm_retrieve(map, keys, values, n, KC_LSM_AS_GIVEN, NULL, err);
}

#define INSTANTIATE(Word) \
        template void kc_lsm_look(const struct kc_lsm_map<Word> *, size_t, kc_lsm_view<Word> *, \
                                  size_t *); \
        template enum kc_status kc_lsm_retrieve(const struct kc_lsm_map<Word> *, const Word *, \
                                                uint32_t *, size_t, enum kc_lsm_order, uint8_t *, \
                                                struct kc_error *); \
        template enum kc_status kc_lsm_find(const struct kc_lsm_map<Word> *, const Word *, \
                                            uint32_t *, uint64_t, struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
