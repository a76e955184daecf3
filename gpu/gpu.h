/*
 * The only interface to CUDA. It exposes no CUDA types and no C++. Where the engine is not linked
 * in, it is a plug-in behind the same header (gpu/plugin.c).
 */
#ifndef KC_GPU_H
#define KC_GPU_H

#include "base/status.h"
#include "gpu/device/limits.h"
#include "kmer/batch.h"
#include "kmer/engine.h"
#include "kmer/join.h"
#include "kmer/joint.h"
#include "kmer/run.h"
#include "kmer/stored.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* False if there is no CUDA engine, neither linked in nor as a plug-in. A plug-in may still turn
 * out to be damaged or of another version: the functions below then fail with KC_EDEVICE. */
bool kc_gpu_has_engine(void);

/* The architectures for which the engine has machine code or PTX, as CMake names them, with commas
 * between them; "" without an engine that can be used. */
const char *kc_gpu_archs(void);

struct kc_gpu_device {
        char name[256];
        int index;
        int major, minor; /* compute capability */
        size_t memory_nbytes, free_nbytes;
        int nmultiprocessors;
        bool compiled;      /* this build has machine code for it; otherwise the driver compiles the
                               kernels when the program starts */
        char trouble[1024]; /* why it cannot be used (the fields above may then be unset), or "" */
};

/*
 * List the devices.
 *   devices  out [cap]
 *   n        out, number of devices, which may exceed cap. With cap = 0 no device is initialized,
 *            which takes some tenths of a second each
 * Returns KC_OK with *n >= 1, even if some device cannot be used; KC_ENODEVICE if the machine has
 * no device or no driver, or if there is no CUDA engine; or KC_EDEVICE if the driver is too old, or
 * the plug-in cannot be used.
 */
enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err);

enum { KC_GPU_MAX_ENGINES = 4096 };

struct kc_gpu_params {
        int device; /* index, as listed */
        /* Further devices that count (kc_gpu_count): indices. A device that occurs twice is used as
         * two, which share its memory. */
        int others[KC_GPU_MAX_DEVICES - 1]; /* [nothers + nleft_out] */
        int nothers;
        int nleft_out; /* listed after those that count: unused, but they must exist */
        enum kc_gpu_table table;
        size_t memory_nbytes; /* bound on the memory of each device; 0 or too large: nine tenths
                                  of what is free */
        size_t pinned_nbytes; /* bound on pinned host memory, which cannot be swapped out; 0:
                                  bounded by params->memory_nbytes alone */
        /* The most k-mers uploaded, counted or decoded at a time, and that one of several devices
         * merges; 0: chosen from the memory and the input. */
        uint64_t batch_nkmers;
        /* How many passes are counted after each walk over the reads, at most
         * KC_GPU_MAX_WALK_PASSES, if all reads are on the device; 0: chosen from the memory and the
         * input. */
        int walk_npasses;
        bool read_ahead; /* read while the device is being initialized; if that fails, the
                                  sequences read are lost, and the failure is returned only after
                                  source->next returns */
        /* The files that the batches of kc_gpu_count's source come from, for the device to inflate
         * and parse, or NULL. If it cannot, it starts again with batches. */
        const struct kc_stored_source *stored;
        /* Several engines that get the same reads, in any order, can count them together: each
         * k-mer is counted by one of them. engine: the number of this one, 0 .. nengines-1. All
         * must have the same nengines (at most KC_GPU_MAX_ENGINES), tasks and expected_nbases.
         * nengines 0 or 1: this one counts all k-mers. */
        int engine, nengines;
        const char *trace; /* path of a timeline to write (gpu/device/trace.cuh), or NULL */
};

/* What one of several devices did. */
struct kc_gpu_part_report {
        int device;
        uint64_t nkmers, npasses; /* that it counted */
        uint64_t nwalks;          /* over the reads, for these passes */
        uint64_t nshared;         /* those walks in which other devices took the other parts
                                     of the reads */
        size_t peak_nbytes;
        uint64_t nmerged;                   /* pairs that it merged and put */
        uint64_t reads_nbytes, runs_nbytes; /* sent to it by others, and by it to others */
        uint64_t text_nbytes;               /* that it parsed */
        uint64_t kept_nbytes;               /* of packed reads that it received first, and kept */
};

/* What kc_gpu_count, kc_gpu_combine and kc_gpu_joint report about the device, even when they
 * fail. */
struct kc_gpu_report {
        bool began; /* false: the device could not be initialized. Then, at most, expect() of
                       the sink was called, and the source only if read_ahead was set */
        size_t peak_nbytes; /* most memory allocated on the first device */
        /* kc_gpu_count */
        struct kc_gpu_part_report parts[KC_GPU_MAX_DEVICES]; /* [nparts] for each device */
        int nparts;
        uint64_t npasses, nwalks, nshared; /* of all devices */
        uint64_t nrecounted;               /* k-mers that no table of a block could count */
        size_t kept_device_nbytes, kept_host_nbytes, kept_file_nbytes; /* where reads were kept */
        uint64_t text_nbytes; /* parsed by the devices; 0: all reads came in batches */
        uint64_t nread;       /* k-mers in the reads, whichever engine counts them */
        /* kc_gpu_combine and kc_gpu_joint */
        uint64_t nranges;
};

struct kc_job;

/*
 * The CUDA engine: the contract of kc_cpu_count (cpu/cpu_engine.h) for k <= KC_GPU_ENGINE_MAX_K.
 * The run is the same, pair for pair. params->memory_nbytes bounds the host memory (buffers, and
 * reads and runs that do not fit on the device). If sink->put_blocks is set, blocks are encoded on
 * the device. If sink->put_counts is set, counts are tallied on the devices, and no k-mers are
 * passed to put. Returns KC_EUSAGE, KC_EDEVICE, KC_ENOMEM, KC_ECANCELED, KC_EIO if the trace
 * cannot be written, or what source or sink return.
 */
enum kc_status kc_gpu_count(const struct kc_count_params *params,
                            const struct kc_gpu_params *gpu_params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_gpu_report *report, struct kc_error *err);

/*
 * Like kc_gpu_count, but for several k, from one pass over the source or the files. Segments must
 * be cut for all k (kmer/batch.h). Each run is the one that kc_gpu_count gives. The reads are kept
 * until the last k is counted. params->k is not used.
 *   tasks    [ntasks] 1 to 16; totals are valid only on KC_OK
 *   reports  out [ntasks]; reports[0].began: whether the device was initialized
 */
enum kc_status kc_gpu_count_all(const struct kc_count_params *params,
                                const struct kc_gpu_params *gpu_params,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_gpu_report *reports,
                                struct kc_error *err);

/*
 * Join the source's runs as its plan says, for source->k <= KC_GPU_ENGINE_MAX_K. The run is the one
 * that the host would produce (kc_set_run in io/store.h), pair for pair.
 *   params    device, memory_nbytes, trace; batch_nkmers: most pairs decoded at a time (more if
 *             there are more runs than blocks in that many pairs); 0: chosen from the memory
 *   nthreads  half of them read and half write; one more thread waits for the device
 * Returns KC_EUSAGE, KC_EDEVICE, KC_ENOMEM, KC_ECANCELED, KC_EIO if the trace cannot be written, or
 * what source or sink return.
 */
enum kc_status kc_gpu_combine(const struct kc_gpu_params *params, int nthreads,
                              const struct kc_join_source *source, const struct kc_run_sink *sink,
                              struct kc_job *job, struct kc_join_totals *totals,
                              struct kc_gpu_report *report, struct kc_error *err);

/*
 * The joint histogram of the files of a source (kc_store_joint_by in io/joint.h), for source->k <=
 * KC_GPU_ENGINE_MAX_K. The cells are those that the host would find.
 *   params    as for kc_gpu_combine
 *   nthreads  all of them read; one more thread waits for the device
 *   taker     called only after the device is ready, by one thread
 *   job       done and total count pairs
 *   nread     out: sum of the counts read
 * Returns like kc_gpu_combine, or what the taker returns.
 */
enum kc_status kc_gpu_joint(const struct kc_gpu_params *params, int nthreads,
                            const struct kc_join_source *source, const struct kc_joint_taker *taker,
                            struct kc_job *job, uint64_t *nread, struct kc_gpu_report *report,
                            struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
