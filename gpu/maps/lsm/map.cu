#include "gpu/maps/lsm/map.cuh"

#include "gpu/maps/lsm/map_internal.cuh"

#include <new>

template <class Word>
enum kc_status kc_lsm_new(struct kc_lsm_map<Word> **map, struct kc_gpu *gpu,
                          const struct kc_lsm_options *options, cudaStream_t stream,
                          struct kc_error *err)
{
        enum { MAX_NBITS = kc_lsm_kind<Word>::KEY_NBITS };
        int key_nbits = options->key_nbits != 0 ? options->key_nbits : (int)MAX_NBITS;
        *map = NULL;
        if (options->batch == 0 || options->batch > UINT32_MAX)
                return kc_fail(err, KC_EUSAGE,
                               "LSM map: a batch has 1 to 2^32 - 1 elements, not %zu",
                               options->batch);
        if (key_nbits < 1 || key_nbits > MAX_NBITS)
                return kc_fail(err, KC_EUSAGE, "LSM map: a key has 1 to %d bits, not %d",
                               (int)MAX_NBITS, key_nbits);
        struct kc_lsm_map<Word> *fresh = new (std::nothrow) kc_lsm_map<Word>();
        if (fresh == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        fresh->on = { gpu, stream };
        fresh->batch = options->batch;
        fresh->key_nbits = key_nbits;
        *map = fresh;
        return KC_OK;
}

/* Free the spares, through which elements pass on their way to levels. */
template <class Word> static void release_spares(struct kc_lsm_map<Word> *map)
{
        for (kc_lsm_level<Word> &spare : map->spares)
                kc_lsm_release(map->on, &spare);
        kc_lsm_scratch_release(map->on, &map->scratch);
        kc_gpu_delete(map->on, map->sorter.messages, map->sorter.nwords);
        map->sorter = {};
}

template <class Word> void kc_lsm_free(struct kc_lsm_map<Word> *map)
{
        if (map == NULL)
                return;
        for (kc_lsm_level<Word> &level : map->levels)
                kc_lsm_release(map->on, &level);
        release_spares(map);
        delete map;
}

/* ---- memory of levels */

template <class Word> void kc_lsm_release(struct kc_gpu_stream on, kc_lsm_level<Word> *level)
{
        kc_gpu_delete(on, level->run.words, level->cap);
        kc_gpu_delete(on, level->run.values, level->cap);
        kc_gpu_delete(on, level->fences, level->nfences);
        *level = {};
}

/* Rounded up, because searches read whole nodes. */
template <class Word>
enum kc_status kc_lsm_reserve(struct kc_gpu_stream on, kc_lsm_level<Word> *level, size_t cap,
                              bool with_fences, struct kc_error *err)
{
        enum kc_status status;
        cap = kc_round_up(cap, kc_lsm_fan<Word>::N);
        if (cap <= level->cap)
                return KC_OK;
        kc_lsm_release(on, level);
        level->cap = cap;
        level->nfences = with_fences ? kc_lsm_tiers_of<Word>((uint32_t)cap).nfences : 0;
        KC_TRY(kc_gpu_new(on, &level->run.words, cap, err));
        KC_TRY(kc_gpu_new(on, &level->run.values, cap, err));
        KC_TRY(kc_gpu_new(on, &level->fences, level->nfences, err));
out:
        if (status != KC_OK)
                kc_lsm_release(on, level);
        return status;
}

/* ---- updates */

static int first_empty(uint64_t nbatches)
{
        int level = 0;
        while (kc_lsm_is_occupied(nbatches, level))
                level++;
        return level;
}

/* On the way to level `to`, the result of i merges is b 2^i long, in spare i % 2; a batch of counts
 * is first sorted in spare 1. */
template <class Word>
static enum kc_status reserve_way(struct kc_lsm_map<Word> *map, int to, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        if (to >= KC_LSM_MAX_LEVELS || (uint64_t)map->batch << to > UINT32_MAX)
                return kc_fail(err, KC_ENOMEM,
                               "LSM map: full, as level %d would have 2^32 elements or more", to);
        KC_TRY(kc_lsm_reserve(on, &map->levels[to], map->batch << to, true, err));
        if (kc_lsm_kind<Word>::SUMS)
                KC_TRY(kc_lsm_reserve(on, &map->spares[1], map->batch, false, err));
        for (int i = to - 1; i >= 0 && i >= to - 2; i--)
                KC_TRY(kc_lsm_reserve(on, &map->spares[i % 2], map->batch << i, false, err));
out:
        return status;
}

/* Sort a batch into level 0, or merge it with the levels below `to`, which stay as they are; the
 * last merge writes level `to`. */
template <class Word>
static enum kc_status carry(struct kc_lsm_map<Word> *map, const Word *words, const uint32_t *values,
                            size_t n, int to, struct kc_error *err)
{
        enum kc_status status;
        kc_lsm_level<Word> *last = &map->levels[to];
        kc_lsm_map_run<Word> run = to == 0 ? last->run : map->spares[0].run;
        KC_TRY(kc_lsm_sort(map, words, values, n, &map->spares[1], &run,
                           to == 0 ? last->fences : NULL, err));
        for (int i = 0; i < to; i++) {
                bool is_last = i + 1 == to;
                kc_lsm_map_run<Word> merged = is_last ? last->run : map->spares[(i + 1) % 2].run;
                KC_TRY(kc_lsm_merge(map, &run, &map->levels[i].run, &merged,
                                    is_last ? last->fences : NULL, err));
                run = merged;
        }
        last->run.n = run.n;
out:
        if (status != KC_OK)
                last->run.n = 0;
        return status;
}

template <class Word>
enum kc_status kc_lsm_update(struct kc_lsm_map<Word> *map, const Word *words,
                             const uint32_t *values, size_t n, struct kc_error *err)
{
        enum kc_status status;
        int to = first_empty(map->nbatches);
        if (n > map->batch)
                return kc_fail(err, KC_EUSAGE,
                               "LSM map: a batch of %zu elements is too large, the limit is %zu", n,
                               map->batch);
        if (n == 0)
                return KC_OK;
        KC_TRY(reserve_way(map, to, err));
        KC_TRY(carry(map, words, values, n, to, err));
        for (int i = 0; i < to; i++)
                map->levels[i].run.n = 0;
        map->nbatches++;
out:
        return status;
}

/* ---- all at once */

template <class Word>
enum kc_status kc_lsm_build(struct kc_lsm_map<Word> *map, const Word *words, const uint32_t *values,
                            size_t n, struct kc_error *err)
{
        enum kc_status status;
        if (map->nbatches > 0)
                return kc_fail(err, KC_EUSAGE, "LSM map: only an empty map can be built");
        if (n == 0)
                return KC_OK;
        for (int i = 0; i < 1 + kc_lsm_kind<Word>::SUMS; i++)
                KC_TRY(kc_lsm_reserve(map->on, &map->spares[i], n, false, err));
        {
                kc_lsm_map_run<Word> run = map->spares[0].run;
                KC_TRY(kc_lsm_sort(map, words, values, n, &map->spares[1], &run, (Word *)NULL,
                                   err));
                KC_TRY(kc_lsm_distribute(map, &run, err));
        }
out:
        release_spares(map);
        return status;
}

template <class Word>
static enum kc_status copy(struct kc_gpu_stream on, const kc_lsm_map_run<Word> *from,
                           kc_lsm_map_run<Word> *to, struct kc_error *err)
{
        enum kc_status status;
        to->n = from->n;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(to->words, from->words, from->n * sizeof *from->words,
                                       cudaMemcpyDeviceToDevice, on.stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(to->values, from->values, from->n * sizeof *from->values,
                                       cudaMemcpyDeviceToDevice, on.stream)));
out:
        return status;
}

/* All levels, newest first, merged into spare 0. */
template <class Word>
static enum kc_status merge_all(struct kc_lsm_map<Word> *map, kc_lsm_map_run<Word> *all,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_lsm_map_run<Word> *runs[KC_LSM_MAX_LEVELS] = {};
        int nruns = 0;
        for (kc_lsm_level<Word> &level : map->levels)
                if (level.run.n > 0)
                        runs[nruns++] = &level.run;
        size_t n = runs[0]->n;
        *all = *runs[0];
        for (int i = 1; i < nruns; i++) {
                kc_lsm_level<Word> *spare = &map->spares[(nruns - 1 - i) % 2];
                n += runs[i]->n;
                KC_TRY(kc_lsm_reserve(map->on, spare, n, false, err));
                kc_lsm_map_run<Word> merged = spare->run;
                KC_TRY(kc_lsm_merge(map, all, runs[i], &merged, (Word *)NULL, err));
                *all = merged;
        }
        if (nruns == 1) {
                KC_TRY(kc_lsm_reserve(map->on, &map->spares[0], n, false, err));
                *all = map->spares[0].run;
                KC_TRY(copy(map->on, runs[0], all, err));
        }
out:
        return status;
}

template <class Word>
enum kc_status kc_lsm_cleanup(struct kc_lsm_map<Word> *map, struct kc_error *err)
{
        enum kc_status status;
        kc_lsm_map_run<Word> all;
        if (map->nbatches == 0)
                return KC_OK;
        KC_TRY(merge_all(map, &all, err));
        KC_TRY(kc_lsm_distribute(map, &all, err));
        for (int i = kc_lsm_nlevels(map->nbatches); i < KC_LSM_MAX_LEVELS; i++)
                kc_lsm_release(map->on, &map->levels[i]);
out:
        release_spares(map);
        return status;
}

/* ---- contents */

template <class Word> enum kc_status kc_lsm_clear(struct kc_lsm_map<Word> *map, struct kc_error *)
{
        for (kc_lsm_level<Word> &level : map->levels)
                level.run.n = 0;
        map->nbatches = 0;
        return KC_OK;
}

template <class Word>
enum kc_status kc_lsm_rebuild(struct kc_lsm_map<Word> *map, uint64_t, struct kc_error *err)
{
        return kc_lsm_cleanup(map, err);
}

template <class Word> uint64_t kc_lsm_nelements(const struct kc_lsm_map<Word> *map)
{
        uint64_t n = 0;
        for (const kc_lsm_level<Word> &level : map->levels)
                n += level.run.n;
        return n;
}

#define INSTANTIATE(Word) \
        template enum kc_status kc_lsm_new(struct kc_lsm_map<Word> **, struct kc_gpu *, \
                                           const struct kc_lsm_options *, cudaStream_t, \
                                           struct kc_error *); \
        template void kc_lsm_free(struct kc_lsm_map<Word> *); \
        template enum kc_status kc_lsm_reserve(struct kc_gpu_stream, kc_lsm_level<Word> *, size_t, \
                                               bool, struct kc_error *); \
        template void kc_lsm_release(struct kc_gpu_stream, kc_lsm_level<Word> *); \
        template enum kc_status kc_lsm_update(struct kc_lsm_map<Word> *, const Word *, \
                                              const uint32_t *, size_t, struct kc_error *); \
        template enum kc_status kc_lsm_build(struct kc_lsm_map<Word> *, const Word *, \
                                             const uint32_t *, size_t, struct kc_error *); \
        template enum kc_status kc_lsm_cleanup(struct kc_lsm_map<Word> *, struct kc_error *); \
        template enum kc_status kc_lsm_clear(struct kc_lsm_map<Word> *, struct kc_error *); \
        template enum kc_status kc_lsm_rebuild(struct kc_lsm_map<Word> *, uint64_t, \
                                               struct kc_error *); \
        template uint64_t kc_lsm_nelements(const struct kc_lsm_map<Word> *);
KC_LSM_WORDS(INSTANTIATE)
