/*
 * How many keys a block splits at a time: by the parts of a map (split.cuh), or by their owners
 * (owners.cuh), after equal keys have been found (tile_leaders.cuh).
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_TILE_CUH
#define KC_GPU_MAPS_WARPDRIVE_TILE_CUH

#include <cstdint>

enum { KC_WD_SPLIT_THREADS = 512 };

/* Keys of a tile: as many as leave room for two blocks on a multiprocessor. */
template <class Key> struct kc_wd_tile {
        enum { NITEMS = sizeof(Key) == 16 ? 8 : 16 };
        enum : uint32_t { NKEYS = KC_WD_SPLIT_THREADS * NITEMS };
};

#endif
