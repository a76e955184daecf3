/*
 * The only door to CUDA: no CUDA type and no C++ passes it. The same header serves builds without
 * CUDA.
 */
#ifndef KC_GPU_H
#define KC_GPU_H

#include "base/status.h"
#include "kmer/batch.h"
#include "kmer/engine.h"
#include "kmer/join.h"
#include "kmer/run.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* False in a build without CUDA. */
bool kc_gpu_in_build(void);

struct kc_gpu_device {
        char name[256];
        int index;
        int major, minor; /* compute capability */
        size_t memory_nbytes, free_nbytes;
        int nmultiprocessors;
        char trouble[1024]; /* why it cannot be used (what is above may be missing then), or "" */
};

/*
 * List the devices.
 *   devices  out [cap]
 *   n        out, devices there are, even when > cap. With cap = 0 no device is made ready, which
 *            takes some tenths of a second each
 * Returns KC_OK with *n >= 1, also where a device cannot be used; KC_EDEVICE with a message that
 * says why there is none: no CUDA in this build, no driver, no device.
 */
enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err);

/* The tables that count a bin (docs/design.md, "The CUDA engine"). */
enum kc_gpu_table {
        KC_TABLE_WARPDRIVE, /* open addressing, cooperative groups probe windows */
        KC_TABLE_SLAB,      /* chains of 128-byte slabs, warp-cooperative */
        KC_TABLE_LINEAR,    /* open addressing, slot after slot */
        KC_TABLE_HOPSCOTCH, /* open addressing, all keys of a slot within the 31 behind it */
};

struct kc_gpu_params {
        int device; /* index, as listed */
        enum kc_gpu_table table;
        size_t memory_nbytes;  /* bound on device memory; 0, or more: nine tenths of what is free */
        size_t pinned_nbytes;  /* bound on the host memory that is pinned, which cannot be swapped;
                                  0: only params->memory_nbytes bounds it */
        uint64_t batch_nkmers; /* most k-mers counted, or decoded, at a time; 0: as memory and input
                                  suggest */
        bool read_ahead;       /* read while the device is being made ready; if that fails, what was
                                  read is lost, and the failure waits for source->next to return */
        const char *trace;     /* a file for a timeline (gpu/device/trace.cuh), or NULL */
};

/* What kc_gpu_count and kc_gpu_combine tell of the device, also when they fail. */
struct kc_gpu_report {
        bool began; /* false: the device could not be made ready. The sink was not called then, and,
                       without read_ahead, neither was the source */
        size_t peak_nbytes; /* most device memory taken */
        uint64_t nbatches;  /* or ranges */
};

enum { KC_GPU_ENGINE_MAX_K = 64 };

struct kc_job;

/*
 * The CUDA engine: kc_cpu_count's contract (cpu/cpu_engine.h) for k <= KC_GPU_ENGINE_MAX_K. The run
 * is the same, pair for pair. params->memory_nbytes bounds the host memory (buffers, runs that do
 * not fit the device). Where sink->put_blocks is set, blocks are encoded on the device.
 * KC_EUSAGE, KC_EDEVICE, KC_ENOMEM, and what source and sink return.
 */
enum kc_status kc_gpu_count(const struct kc_count_params *params,
                            const struct kc_gpu_params *gpu_params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_gpu_report *report, struct kc_error *err);

/*
 * Join the source's runs as its plan says, for source->k <= KC_GPU_ENGINE_MAX_K: the run is the one
 * that the host makes of them (kc_set_run in io/store.h), pair for pair.
 *   params    device, memory_nbytes, trace; batch_nkmers: most pairs decoded at a time (or more,
 *             where there are more runs than that has blocks); 0: as memory suggests
 *   nthreads  read and write, half of them each. One more waits for the device
 * KC_EUSAGE, KC_EDEVICE, KC_ENOMEM, and what source and sink return.
 */
enum kc_status kc_gpu_combine(const struct kc_gpu_params *params, int nthreads,
                              const struct kc_join_source *source, const struct kc_run_sink *sink,
                              struct kc_job *job, struct kc_join_totals *totals,
                              struct kc_gpu_report *report, struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
