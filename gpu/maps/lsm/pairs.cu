/*
 * Pairs in and out: keys become words, which are inserted batch by batch; all pairs are exported
 * from the levels as they are, without a cleanup.
 */
#include "gpu/device/warp.cuh"
#include "gpu/maps/lsm/map_internal.cuh"

#include <algorithm>

enum { NTHREADS = KC_LSM_FIND_NTHREADS };

/* ---- in */

static __global__ void lsm_words_kernel(const uint32_t *keys, size_t n, bool inserts,
                                        uint32_t *words)
{
        size_t i = blockIdx.x * (size_t)NTHREADS + threadIdx.x;
        if (i < n)
                words[i] = inserts ? kc_lsm_insertion(keys[i]) : kc_lsm_deletion(keys[i]);
}

/* Make *words the words for n keys; buffer: room for them. */
static enum kc_status words_of(struct kc_gpu_stream on, const uint32_t *keys, size_t n,
                               bool inserts, uint32_t *buffer, const uint32_t **words,
                               struct kc_error *err)
{
        *words = buffer;
        lsm_words_kernel<<<kc_ceil_div(n, NTHREADS), NTHREADS, 0, on.stream>>>(keys, n, inserts,
                                                                               buffer);
        return KC_LAUNCHED();
}

/* Counts: keys are words, and a count of 0 is a tombstone. */
template <class Word>
static enum kc_status words_of(struct kc_gpu_stream, const Word *keys, size_t, bool, Word *,
                               const Word **words, struct kc_error *)
{
        *words = keys;
        return KC_OK;
}

/* Insert n pairs or, if values are NULL, tombstones, batch by batch. */
template <class Word>
static enum kc_status update_all(struct kc_lsm_map<Word> *map, const Word *keys,
                                 const uint32_t *values, uint64_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t cap = (size_t)std::min(n, (uint64_t)map->batch);
        const size_t nbuffer = kc_lsm_kind<Word>::SUMS ? 0 : cap, nzeros = values == NULL ? cap : 0;
        Word *buffer = NULL;
        uint32_t *zeros = NULL;
        KC_TRY(kc_gpu_new(map->on, &buffer, nbuffer, err));
        KC_TRY(kc_gpu_new(map->on, &zeros, nzeros, err));
        if (nzeros > 0)
                KC_TRY(KC_CUDA(cudaMemsetAsync(zeros, 0, nzeros * sizeof *zeros, map->on.stream)));
        for (uint64_t at = 0; at < n; at += cap) {
                size_t own = (size_t)std::min(n - at, (uint64_t)cap);
                const Word *words;
                KC_TRY(words_of(map->on, keys + at, own, values != NULL, buffer, &words, err));
                KC_TRY(kc_lsm_update(map, words, values != NULL ? values + at : zeros, own, err));
        }
out:
        kc_gpu_delete(map->on, zeros, nzeros);
        kc_gpu_delete(map->on, buffer, nbuffer);
        return status;
}

template <class Word>
enum kc_status kc_lsm_insert(struct kc_lsm_map<Word> *map, const Word *keys, const uint32_t *values,
                             uint64_t n, struct kc_error *err)
{
        return update_all(map, keys, values, n, err);
}

template <class Word>
enum kc_status kc_lsm_erase(struct kc_lsm_map<Word> *map, const Word *keys, uint64_t n,
                            struct kc_error *err)
{
        return update_all(map, keys, (const uint32_t *)NULL, n, err);
}

/* ---- out */

/* Whether no newer element has the key of element `at` of level number `number`. */
template <class Word>
static __device__ bool is_newest(const kc_lsm_view<Word> *view, const Word *tops, uint32_t number,
                                 size_t at)
{
        const Word *words = view->levels[number].words;
        if (at > 0 && kc_lsm_same_key(words[at - 1], words[at]))
                return false;
        const Word key = kc_lsm_kind<Word>::key(words[at]);
        for (uint32_t i = 0; i < number; i++)
                if (kc_lsm_bound(&view->levels[i], tops, key, key).n > 0)
                        return false;
        return true;
}

/* Export the pairs whose newest elements are in level number `number`. */
template <class Word>
static __global__ void __launch_bounds__(NTHREADS, KC_LSM_FIND_NBLOCKS)
        lsm_export_kernel(const __grid_constant__ kc_lsm_view<Word> view, uint32_t number,
                          Word *keys, uint32_t *values, uint64_t cap, unsigned long long *npairs)
{
        extern __shared__ uint4 shared[];
        Word *tops = (Word *)shared;
        kc_lsm_load_tops(&view, tops);
        const kc_lsm_level_view<Word> &level = view.levels[number];
        const size_t step = (size_t)gridDim.x * NTHREADS;
        for (size_t first = blockIdx.x * (size_t)NTHREADS; first < level.n; first += step) {
                const size_t i = first + threadIdx.x;
                kc_lsm_answer answer = { 0, false };
                Word key = 0;
                if (i < level.n && is_newest(&view, tops, number, i)) {
                        key = kc_lsm_kind<Word>::key(level.words[i]);
                        answer = kc_lsm_seek(&view, tops, number, key);
                }
                const unsigned long long to = kc_warp_append(npairs, answer.found);
                if (answer.found && to < cap) {
                        keys[to] = key;
                        values[to] = answer.value;
                }
        }
}

/* Export all levels, one after the other; npairs: device, initially 0. */
template <class Word>
static enum kc_status export_levels(const struct kc_lsm_map<Word> *map, Word *keys,
                                    uint32_t *values, uint64_t cap, unsigned long long *npairs,
                                    struct kc_error *err)
{
        enum kc_status status;
        kc_lsm_view<Word> view;
        size_t shared_nbytes;
        kc_lsm_look(map, (size_t)kc_lsm_nelements(map), &view, &shared_nbytes);
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(lsm_export_kernel<Word>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            KC_LSM_TOPS_NBYTES)));
        for (uint32_t i = 0; i < view.nlevels; i++) {
                unsigned nblocks = kc_lsm_nblocks(map->on, view.levels[i].n);
                lsm_export_kernel<Word><<<nblocks, NTHREADS, shared_nbytes, map->on.stream>>>(
                        view, i, keys, values, cap, npairs);
                KC_TRY(KC_LAUNCHED());
        }
out:
        return status;
}

template <class Word>
enum kc_status kc_lsm_export(const struct kc_lsm_map<Word> *map, Word *keys, uint32_t *values,
                             uint64_t cap, uint64_t *n, struct kc_error *err)
{
        enum kc_status status;
        unsigned long long *npairs = NULL, total;
        KC_TRY(kc_gpu_new(map->on, &npairs, 1, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(npairs, 0, sizeof *npairs, map->on.stream)));
        KC_TRY(export_levels(map, keys, values, cap, npairs, err));
        KC_TRY(kc_gpu_read(map->on, &total, npairs, 1, err));
        *n = total;
out:
        kc_gpu_delete(map->on, npairs, 1);
        return status;
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_insert(struct kc_lsm_map<Word> *, const Word *, \
                                              const uint32_t *, uint64_t, struct kc_error *); \
        template enum kc_status kc_lsm_erase(struct kc_lsm_map<Word> *, const Word *, uint64_t, \
                                             struct kc_error *); \
        template enum kc_status kc_lsm_export(const struct kc_lsm_map<Word> *, Word *, uint32_t *, \
                                              uint64_t, uint64_t *, struct kc_error *);
KC_LSM_WORDS(INSTANTIATE)
