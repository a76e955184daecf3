/*
 * Counting with several ranks. Each counts some of the k-mers of all reads into a .kc file without
 * a name; these files go to rank 0, which merges them.
 *
 *      own reads ──▶ broadcast ──▶ the device's engine ──▶ file ──▶ merge ──▶ rank 0's sink
 *                      ▲  │                                           ▲
 *                      │  ▼                                           │
 *                   other ranks                           files of the other ranks
 *
 * CPU engines each get only their own rank's reads, and exchange super-k-mers.
 */
#ifndef APP_COUNT_JOINT_COUNT_H
#define APP_COUNT_JOINT_COUNT_H

#include "gpu/gpu.h"
#include "kmer/batch.h"
#include "kmer/engine.h"

/* The number of the stage that merges the files of task i. Merging stages follow all stages that
 * kc_stage_of numbers. How many units there are is unknown while the files are on their way. */
static inline int joint_merging_stage(int ntasks, int i)
{
        return kc_stage_of(ntasks, KC_STAGE_COUNT) + i;
}

/*
 * Like kc_gpu_count_all, or like kc_cpu_count_all if gpu is NULL, but for all ranks together: rank
 * 0's sinks get the runs, and of the other ranks' sinks, only the filter is used. But a sink of
 * counts (put_counts) gets, on every rank, the counts of the k-mers that this rank counted.
 *   params   memory_nbytes is for all of this; the exchange must be set
 *   gpu      read_ahead, stored, engine and nengines are not used: nothing is read before the
 *            device is ready, so that a rank without one fails at once
 *   source   of this rank's part of the input
 *   tasks    totals are those of all ranks, except nown, times and spilled_nbytes
 *   reports  out [ntasks]: of this rank's devices
 * KC_EUSAGE if two ranks have counted the same k-mer. A failure is reported to the other ranks;
 * after that, the exchange can no longer be used.
 */
enum kc_status joint_count(const struct kc_count_params *params, const struct kc_gpu_params *gpu,
                           const struct kc_batch_source *source, struct kc_count_task *tasks,
                           int ntasks, struct kc_job *job, struct kc_gpu_report *reports,
                           struct kc_error *err);

#endif
