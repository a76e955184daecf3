/*
 * Limits of the CUDA engine, and its tables: what gpu/gpu.h and the rooms in gpu/ have in common.
 */
#ifndef KC_GPU_DEVICE_LIMITS_H
#define KC_GPU_DEVICE_LIMITS_H

enum {
        KC_GPU_MAX_DEVICES = 16,    /* that work together */
        KC_GPU_ENGINE_MAX_K = 128,  /* what the widest key holds (gpu/device/key.cuh) */
        KC_GPU_MAX_WALK_PASSES = 8, /* whose records are found in one walk over the reads */
};

/* The tables that count a bin (docs/dev/design.md, "The CUDA engine"). */
enum kc_gpu_table {
        KC_TABLE_WARPDRIVE, /* open addressing, cooperative groups probe windows */
        KC_TABLE_SLAB,      /* chains of 128-byte slabs, warp-cooperative */
        KC_TABLE_LINEAR,    /* open addressing, slot after slot */
        KC_TABLE_HOPSCOTCH, /* open addressing, all keys of a slot within the 31 after it */
};

#endif
