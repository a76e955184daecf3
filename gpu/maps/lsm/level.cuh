/*
 * What an LSM map (gpu/maps/lsm/map.cuh) consists of: levels, and the memory of its steps.
 */
#ifndef KC_GPU_MAPS_LSM_LEVEL_CUH
#define KC_GPU_MAPS_LSM_LEVEL_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"

enum { KC_LSM_MAX_LEVELS = 32 };

/* Ordered elements, in memory owned elsewhere. */
template <class Word> struct kc_lsm_map_run {
        Word *words;
        uint32_t *values;
        size_t n;
};

/* A level's memory; kept when the level is emptied, for the next batch. */
template <class Word> struct kc_lsm_level {
        kc_lsm_map_run<Word> run; /* run.n = 0: empty */
        Word *fences;             /* NULL if reserved without fences */
        size_t cap;               /* 0: no memory yet */
        size_t nfences;
};

/* Scratch memory of a step, in stream order. It is kept for the next step, since host calls
 * dominate the time of small batches. */
struct kc_lsm_scratch {
        void *memory;
        size_t nbytes;
};

/* How the blocks of a sort communicate, see sort.cu. */
struct kc_lsm_sorter {
        uint32_t *messages; /* [nwords] device; NULL: no memory yet */
        size_t nwords;
        unsigned most_blocks;     /* blocks that can be resident at once */
        uint32_t serial, arrived; /* the last serial number published; how often blocks have
                                     waited */
};

#endif
