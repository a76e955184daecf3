/*
 * Shared by the source files of the LSM dictionary (gpu/maps/lsm/map.cuh).
 */
#ifndef KC_GPU_MAPS_LSM_MAP_INTERNAL_CUH
#define KC_GPU_MAPS_LSM_MAP_INTERNAL_CUH

#include "gpu/maps/lsm/search.cuh"
#include "gpu/runs/merge_tile.cuh"

/* Make room for nbytes; the contents are lost. KC_ENOMEM. */
static inline enum kc_status kc_lsm_scratch_reserve(struct kc_gpu_stream on,
                                                    struct kc_lsm_scratch *scratch, size_t nbytes,
                                                    struct kc_error *err)
{
        if (nbytes <= scratch->nbytes)
                return KC_OK;
        kc_gpu_release(on, scratch->memory, scratch->nbytes);
        *scratch = {};
        enum kc_status status = kc_gpu_alloc(on, &scratch->memory, nbytes, err);
        scratch->nbytes = status == KC_OK ? nbytes : 0;
        return status;
}

static inline void kc_lsm_scratch_release(struct kc_gpu_stream on, struct kc_lsm_scratch *scratch)
{
        kc_gpu_release(on, scratch->memory, scratch->nbytes);
        *scratch = {};
}

/* Make room for cap elements; the contents are lost. KC_ENOMEM leaves it without memory. */
template <class Word>
enum kc_status kc_lsm_reserve(struct kc_gpu_stream on, kc_lsm_level<Word> *level, size_t cap,
                              bool with_fences, struct kc_error *err);
template <class Word> void kc_lsm_release(struct kc_gpu_stream on, kc_lsm_level<Word> *level);

/* One more than the highest level that a dictionary of nbatches batches occupies. */
static inline int kc_lsm_nlevels(uint64_t nbatches)
{
        int n = 0;
        while (n < KC_LSM_MAX_LEVELS && nbatches >> n != 0)
                n++;
        return n;
}

static inline bool kc_lsm_is_occupied(uint64_t nbatches, int level)
{
        return nbatches >> level & 1;
}

/* ---- merge.cu */

/*
 * Sort elements by word. Counts are reduced to one element per key, with the sum, or the tombstone
 * if there is one; this uses *more, with room for n, and out->n is known when the call returns.
 * fences: if not NULL, the result's fences are made too.
 */
template <class Word>
enum kc_status kc_lsm_sort(struct kc_lsm_map<Word> *map, const Word *words, const uint32_t *values,
                           size_t n, const kc_lsm_level<Word> *more, kc_lsm_map_run<Word> *out,
                           Word *fences, struct kc_error *err);

/* Merge by key; of equal keys, elements of `newer` come first. out has room for both, and does not
 * overlap them. fences: as above. */
template <class Word>
enum kc_status kc_lsm_merge(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *newer,
                            const kc_lsm_map_run<Word> *older, kc_lsm_map_run<Word> *out,
                            Word *fences, struct kc_error *err);

/* Make a run's fences, if it has elements. */
template <class Word>
enum kc_status kc_lsm_fence(struct kc_gpu_stream on, const kc_lsm_map_run<Word> *run, Word *fences,
                            struct kc_error *err);

/* ---- sort.cu */

/* Like kc_lsm_sort without summing, if n is small enough for one launch; otherwise it returns KC_OK
 * with *done false. */
template <class Word>
enum kc_status kc_lsm_sort_small(struct kc_lsm_map<Word> *map, const Word *words,
                                 const uint32_t *values, size_t n, kc_lsm_map_run<Word> *out,
                                 Word *fences, bool *done, struct kc_error *err);

/* ---- clean.cu */

/*
 * Distribute the valid elements of a run, in which elements of a key are newest first, to as few
 * levels as possible; the rest of the oldest is filled with placebos. The run must be in a spare.
 * Updates map->nbatches. On KC_ENOMEM nothing has changed.
 */
template <class Word>
enum kc_status kc_lsm_distribute(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *run,
                                 struct kc_error *err);

/* ---- find.cu */

/* Set up a view of the occupied levels for a kernel of `nthreads` threads in total; their tops take
 * *shared_nbytes of shared memory. */
template <class Word>
void kc_lsm_look(const struct kc_lsm_map<Word> *map, size_t nthreads, kc_lsm_view<Word> *view,
                 size_t *shared_nbytes);

enum { KC_LSM_FIND_NTHREADS = 512, KC_LSM_FIND_NBLOCKS = 3 }; /* per block; per multiprocessor */

/* Maximum shared memory per block for tops: three blocks share a multiprocessor. */
enum { KC_LSM_TOPS_NBYTES = 64 << 10 };

/* Blocks for n queries: no more than are resident at once, as each loads the tops. */
static inline unsigned kc_lsm_nblocks(struct kc_gpu_stream on, size_t n)
{
        unsigned nblocks = kc_ceil_div(n, KC_LSM_FIND_NTHREADS);
        unsigned most = (unsigned)on.gpu->nmultiprocessors * KC_LSM_FIND_NBLOCKS;
        return nblocks < most ? nblocks : most;
}

/* Load the tops to shared memory; called by all threads of a block. */
template <class Word>
static __device__ void kc_lsm_load_tops(const kc_lsm_view<Word> *view, Word *tops)
{
        for (uint32_t i = 0; i < view->nlevels; i++) {
                const kc_lsm_level_view<Word> *level = &view->levels[i];
                const Word *tier = kc_lsm_tier(level, level->top);
                for (uint32_t k = threadIdx.x; k < level->top_n; k += blockDim.x)
                        tops[level->top_at + k] = tier[k];
        }
        __syncthreads();
}

/* ---- words as merging compares them */

template <class Word>
KC_HD const typename kc_lsm_kind<Word>::ordered *kc_lsm_ordered_words(const Word *words)
{
        return (const typename kc_lsm_kind<Word>::ordered *)words;
}

#endif
