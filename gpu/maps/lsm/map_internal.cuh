/*
 * What the files of the LSM dictionary share (gpu/maps/lsm/map.cuh).
 */
#ifndef KC_GPU_MAPS_LSM_MAP_INTERNAL_CUH
#define KC_GPU_MAPS_LSM_MAP_INTERNAL_CUH

#include "gpu/maps/lsm/search.cuh"
#include "gpu/runs/merge_tile.cuh"

/* Elements in order, in memory of somebody else. */
template <class Word> struct kc_lsm_map_run {
        Word *words;
        uint32_t *values;
        size_t n;
};

/* Memory for a level; it stays when the level is emptied, for the next batch. */
template <class Word> struct kc_lsm_level {
        kc_lsm_map_run<Word> run; /* run.n = 0: empty */
        Word *fences;             /* NULL if it was reserved without */
        size_t cap;               /* 0: no memory yet */
        size_t nfences;
};

/* Memory for a step, in order of the stream; kept for the next one, since the host's calls are what
 * small batches wait for. */
struct kc_lsm_scratch {
        void *memory;
        size_t nbytes;
};

/* Room for nbytes; what was in there is lost. */
static inline enum kc_status kc_lsm_scratch_reserve(struct kc_gpu *gpu,
                                                    struct kc_lsm_scratch *scratch, size_t nbytes,
                                                    struct kc_error *err)
{
        if (nbytes <= scratch->nbytes)
                return KC_OK;
        kc_gpu_release(gpu, scratch->memory, scratch->nbytes);
        *scratch = {};
        enum kc_status status = kc_gpu_alloc(gpu, &scratch->memory, nbytes, err);
        scratch->nbytes = status == KC_OK ? nbytes : 0;
        return status;
}

static inline void kc_lsm_scratch_release(struct kc_gpu *gpu, struct kc_lsm_scratch *scratch)
{
        kc_gpu_release(gpu, scratch->memory, scratch->nbytes);
        *scratch = {};
}

/* By what blocks that sort speak to each other, see sort.cu. */
struct kc_lsm_sorter {
        uint32_t *told; /* NULL: no memory yet */
        size_t nwords;
        unsigned most_blocks;     /* that can be on the device at once */
        uint32_t serial, arrived; /* what was told last; how often a block has waited */
};

template <class Word> struct kc_lsm_map {
        struct kc_gpu *gpu;
        size_t batch;
        int key_nbits;
        uint64_t nbatches; /* bit i: level i is occupied */
        kc_lsm_level<Word> levels[KC_LSM_MAX_LEVELS];
        kc_lsm_level<Word> spares[2]; /* for what is on its way; without fences */
        struct kc_lsm_scratch scratch;
        struct kc_lsm_sorter sorter;
};

/* Room for cap elements; what was in there is lost. KC_ENOMEM leaves it without memory. */
template <class Word>
enum kc_status kc_lsm_reserve(struct kc_gpu *gpu, kc_lsm_level<Word> *level, size_t cap,
                              bool with_fences, struct kc_error *err);
template <class Word> void kc_lsm_release(struct kc_gpu *gpu, kc_lsm_level<Word> *level);

/* Levels that a dictionary of so many batches has occupied: one more than the greatest. */
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
 * Sort elements by word; of counts, one element a key is left, with the sum, or the tombstone if
 * there is one (out->n is then known when the call returns, and *more, with room for n, is used).
 * fences: made too, if that is not NULL.
 */
template <class Word>
enum kc_status kc_lsm_sort(struct kc_lsm_map<Word> *map, const Word *words, const uint32_t *values,
                           size_t n, const kc_lsm_level<Word> *more, kc_lsm_map_run<Word> *out,
                           Word *fences, struct kc_error *err);

/* Merge by key; of equal ones those of `newer` come first. out has room for both, and is apart.
 * fences: as above. */
template <class Word>
enum kc_status kc_lsm_merge(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *newer,
                            const kc_lsm_map_run<Word> *older, kc_lsm_map_run<Word> *out,
                            Word *fences, struct kc_error *err);

/* Make a run's fences, where it has elements. */
template <class Word>
enum kc_status kc_lsm_fence(struct kc_gpu *gpu, const kc_lsm_map_run<Word> *run, Word *fences,
                            struct kc_error *err);

/* ---- sort.cu */

/* As kc_lsm_sort where nothing is summed, if n is not too large for one launch: else, and with
 * KC_OK, *done is false. */
template <class Word>
enum kc_status kc_lsm_sort_small(struct kc_lsm_map<Word> *map, const Word *words,
                                 const uint32_t *values, size_t n, kc_lsm_map_run<Word> *out,
                                 Word *fences, bool *done, struct kc_error *err);

/* ---- clean.cu */

/*
 * Distribute what is valid of a run, in which elements of a key are newest first, to as few levels
 * as will do; the rest of the oldest is filled with placebos. The run must be in a spare. nbatches
 * becomes what it is then. On KC_ENOMEM nothing has changed.
 */
template <class Word>
enum kc_status kc_lsm_distribute(struct kc_lsm_map<Word> *map, const kc_lsm_map_run<Word> *run,
                                 struct kc_error *err);

/* ---- find.cu */

/* The occupied levels for a kernel of `nthreads` threads in all; their tops take *shared_nbytes of
 * shared memory. */
template <class Word>
void kc_lsm_look(const struct kc_lsm_map<Word> *map, size_t nthreads, kc_lsm_view<Word> *view,
                 size_t *shared_nbytes);

enum { KC_LSM_FIND_NTHREADS = 512, KC_LSM_FIND_NBLOCKS = 3 }; /* a block's; a multiprocessor's */

/* Most shared memory of a block for tops: three blocks share a multiprocessor. */
enum { KC_LSM_TOPS_NBYTES = 64 << 10 };

/* Blocks for n queries: no more than run at once, as each brings the tops in. */
static inline unsigned kc_lsm_nblocks(const struct kc_gpu *gpu, size_t n)
{
        unsigned nblocks = kc_ceil_div(n, KC_LSM_FIND_NTHREADS);
        unsigned most = (unsigned)gpu->nmultiprocessors * KC_LSM_FIND_NBLOCKS;
        return nblocks < most ? nblocks : most;
}

/* Bring the tops in; by all threads of a block. */
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

/* ---- as merging compares them */

template <class Word>
KC_HD const typename kc_lsm_kind<Word>::ordered *kc_lsm_ordered_words(const Word *words)
{
        return (const typename kc_lsm_kind<Word>::ordered *)words;
}

#endif
