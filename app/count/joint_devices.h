/*
 * Counting on devices with several ranks. Every rank gets the reads of all ranks
 * (ranks/broadcast.h), and counts some of the k-mers on its own device or devices. All ranks
 * together order the pairs on the CPU.
 *
 *      own reads ──▶ broadcast ──▶ the device's engine ──▶ queue ──▶ kc_cpu_order ──▶ rank 0's sink
 *                      ▲  │                                             ▲  │
 *                      │  ▼                                             │  ▼
 *                   other ranks                                      other ranks
 */
#ifndef APP_COUNT_JOINT_DEVICES_H
#define APP_COUNT_JOINT_DEVICES_H

#include "gpu/gpu.h"
#include "kmer/batch.h"

struct joint_devices_setup {
        /* memory_nbytes is for all of this; the exchange must be set. */
        const struct kc_count_params *params;
        /* read_ahead, stored, engine and nengines are not used: nothing is read before the device
         * is ready, so that a rank without one fails at once. */
        const struct kc_gpu_params *gpu;
        const struct kc_batch_source *source; /* of this rank's part of the input */
        struct kc_job *job;                   /* canceled if any rank fails */
};

/*
 * Like kc_gpu_count_all, but for all ranks together: rank 0's sinks get the runs, and of the other
 * ranks' sinks, only the filter is used. But a sink of counts (put_counts) gets, on every rank, the
 * counts of the k-mers that this rank counted; a task with such a sink must be the only one.
 *   tasks    totals are those of all ranks, except nown, times and spilled_nbytes
 *   reports  out [ntasks]: of this rank's devices
 * A failure is reported to the other ranks; after that, the exchange can no longer be used.
 */
enum kc_status joint_devices_count(const struct joint_devices_setup *setup,
                                   struct kc_count_task *tasks, int ntasks,
                                   struct kc_gpu_report *reports, struct kc_error *err);

#endif
