/*
 * The host engine.
 */
#ifndef KC_CPU_ENGINE_H
#define KC_CPU_ENGINE_H

#include "kmer/batch.h"
#include "kmer/engine.h"
#include "kmer/pairs.h"
#include "kmer/run.h"

/*
 * Count the k-mers of all batches of source and pass the sorted run to sink, or its counts alone if
 * sink->put_counts is set. Uses params->nthreads threads, which all call source->next and the sink.
 * Its own memory stays within params->memory_nbytes, except that it takes about 8 MiB per thread in
 * any case; what does not fit goes to nameless files in params->tmp_dir.
 *   job     cancel is honoured; stage, done and total are kept up to date, but the source updates
 *           done and total in KC_STAGE_PARTITION; may not be NULL
 *   totals  out, valid only on KC_OK
 * With params->exchange, the source has this rank's part of the input, all ranks call this with the
 * same k, and expected_nbases should be that of the whole input. The ranks count different k-mers:
 * each rank's sink gets those of that rank's bins.
 * totals are those of all ranks, except for nown, the times and spilled_nbytes. A failure is
 * reported to the other ranks, and then the exchange cannot be used any more.
 *
 * The run depends only on the multiset of segments, k and stranded. KC_EUSAGE for k out of range,
 * KC_ENOMEM, KC_EIO for temporary files, KC_ECANCELED, and errors of source and sink.
 * Method: docs/dev/design.md, "The CPU engine".
 */
enum kc_status kc_cpu_count(const struct kc_count_params *params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_error *err);

/*
 * The same for several k, from one pass over the source, whose segments must be cut for all of them
 * (kmer/batch.h): each run is the one that kc_cpu_count gives. They share the memory. params->k is
 * not used.
 *   tasks  [ntasks] at least one
 */
enum kc_status kc_cpu_count_all(const struct kc_count_params *params,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_error *err);

/*
 * Sort existing pairs, which may come in any order, and pass the sorted run to sink, which must
 * have put. The counts of equal k-mers are added up, saturating at UINT32_MAX, before the filter is
 * applied. Memory, threads, temporary files and job are as in kc_cpu_count, but there is no
 * KC_STAGE_COUNT; params->stranded, expected_nbases and exchange are not used. The units of
 * KC_STAGE_PARTITION are pairs.
 *   totals  out: nkmers is the sum of all counts
 *   npairs  out: pairs taken from the source; more than totals->ndistinct if k-mers were repeated
 * Both are valid only on KC_OK. Fails like kc_cpu_count, and with KC_EINPUT if the sum of all
 * counts is above KC_MAX_PAIRS_SUM.
 */
enum kc_status kc_cpu_order(const struct kc_count_params *params,
                            const struct kc_pair_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals, uint64_t *npairs,
                            struct kc_error *err);

/*
 * The part of memory_nbytes that is for tables and sorting. It is used only after the source has
 * delivered all batches, so until then the source may use that much.
 */
uint64_t kc_cpu_scratch_nbytes(uint64_t memory_nbytes, int nthreads);

#endif
