/*
 * The host engine.
 */
#ifndef KC_CPU_ENGINE_H
#define KC_CPU_ENGINE_H

#include "kmer/batch.h"
#include "kmer/engine.h"
#include "kmer/run.h"

/*
 * Count the k-mers of all batches of source and give the sorted run to sink.
 * Uses params->nthreads threads, which all call source->next and sink->put. Its own memory stays
 * within params->memory_nbytes, but about 8 MiB a thread are taken in any case; what does not
 * fit goes to files without a name in params->tmp_dir.
 *   job     cancel is honoured, stage, done and total are kept (done of KC_STAGE_PARTITION is the
 *           source's); may not be NULL
 *   totals  out, final only on KC_OK
 * The run depends on nothing but the multiset of segments, k and stranded.
 * Method: docs/design.md, "The CPU engine".
 */
enum kc_status kc_cpu_count(const struct kc_count_params *params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_error *err);

/*
 * The part of memory_nbytes that is for tables and sorting. It is taken only when the source has
 * given all its batches, so until then the source may use as much.
 */
uint64_t kc_cpu_scratch_nbytes(uint64_t memory_nbytes, int nthreads);

#endif
