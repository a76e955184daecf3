/*
 * The CUDA engine as a plug-in, a shared library that libkcount, and programs without the engine,
 * load when they first need it (gpu/plugin.c). It has its own copy of base/ and kmer/, and exports
 * one function, kcount_cuda_door (gpu/plugin_door.c).
 */
#ifndef KC_GPU_PLUGIN_H
#define KC_GPU_PLUGIN_H

#include "base/job.h"
#include "gpu/ask.h"
#include "gpu/gpu.h"

/* What passes through the door. Its size tells builds of one version apart if a struct has changed
 * between them, as happens during development. */
struct kc_gpu_layout {
        struct kc_error err;
        struct kc_job job;
        struct kc_gpu_device device;
        struct kc_gpu_params gpu_params;
        struct kc_gpu_report report;
        struct kc_count_params params;
        struct kc_count_task task;
        struct kc_count_totals totals;
        struct kc_batch_source batches;
        struct kc_batch batch;
        struct kc_stored_source stored;
        struct kc_run_sink sink;
        struct kc_join_source runs;
        struct kc_join_totals joined;
        struct kc_joint_taker taker;
        struct kc_asker asker;
        struct kc_ask_setup setup;
        struct kc_gpu_ask_table table;
        struct kc_gpu_ask_options options;
        struct kc_gpu_ask_reads reads;
        struct kc_ask_tally tally;
};

struct kc_gpu_door {
        /* These two are the first in every version. */
        const char *version;    /* of kcount */
        uint64_t layout_nbytes; /* of struct kc_gpu_layout */
        __typeof__(kc_gpu_archs) *archs;
        __typeof__(kc_gpu_devices) *devices;
        __typeof__(kc_gpu_count) *count;
        __typeof__(kc_gpu_count_all) *count_all;
        __typeof__(kc_gpu_combine) *combine;
        __typeof__(kc_gpu_joint) *joint;
        __typeof__(kc_gpu_ask_open) *ask_open;
        __typeof__(kc_gpu_ask_tally) *ask_tally;
};

__attribute__((visibility("default"))) const struct kc_gpu_door *kcount_cuda_door(void);

#endif
