/*
 * The door to CUDA in a build without it.
 */
#include "gpu/ask.h"
#include "gpu/gpu.h"
#include "kmer/remedy.h"

bool kc_gpu_in_build(void)
{
        return false;
}

const char *kc_gpu_archs(void)
{
        return "";
}

static enum kc_status no_cuda(struct kc_error *err)
{
        return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_BUILD_CUDA | KC_REMEDY_CPU,
                              "this build has no CUDA engine");
}

enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err)
{
        (void)devices, (void)cap;
        *n = 0;
        return no_cuda(err);
}

enum kc_status kc_gpu_count(const struct kc_count_params *params,
                            const struct kc_gpu_params *gpu_params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_gpu_report *report, struct kc_error *err)
{
        (void)params, (void)gpu_params, (void)source, (void)sink, (void)job, (void)totals;
        *report = (struct kc_gpu_report){ 0 };
        return no_cuda(err);
}

enum kc_status kc_gpu_count_all(const struct kc_count_params *params,
                                const struct kc_gpu_params *gpu_params,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_gpu_report *reports,
                                struct kc_error *err)
{
        (void)params, (void)gpu_params, (void)source, (void)tasks, (void)job;
        for (int i = 0; i < ntasks; i++)
                reports[i] = (struct kc_gpu_report){ 0 };
        return no_cuda(err);
}

enum kc_status kc_gpu_combine(const struct kc_gpu_params *params, int nthreads,
                              const struct kc_join_source *source, const struct kc_run_sink *sink,
                              struct kc_job *job, struct kc_join_totals *totals,
                              struct kc_gpu_report *report, struct kc_error *err)
{
        (void)params, (void)nthreads, (void)source, (void)sink, (void)job, (void)totals;
        *report = (struct kc_gpu_report){ 0 };
        return no_cuda(err);
}

enum kc_status kc_gpu_joint(const struct kc_gpu_params *params, int nthreads,
                            const struct kc_join_source *source, const struct kc_joint_taker *taker,
                            struct kc_job *job, uint64_t *nread, struct kc_gpu_report *report,
                            struct kc_error *err)
{
        (void)params, (void)nthreads, (void)source, (void)taker, (void)job, (void)nread;
        *report = (struct kc_gpu_report){ 0 };
        return no_cuda(err);
}

enum kc_status kc_gpu_ask_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                               const struct kc_gpu_ask_options *options,
                               const struct kc_ask_setup *setup, enum kc_gpu_ask_way *way,
                               struct kc_error *err)
{
        (void)table, (void)options, (void)setup, (void)way;
        *asker = (struct kc_asker){ 0 };
        return no_cuda(err);
}

enum kc_status kc_gpu_ask_tally(const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_gpu_ask_reads *reads,
                                const struct kc_ask_tally *tally, bool *began, struct kc_error *err)
{
        (void)table, (void)options, (void)reads, (void)tally;
        *began = false;
        return no_cuda(err);
}
