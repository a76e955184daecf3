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
 * Uses params->nthreads threads, which all call source->next and sink->put. Memory of its own stays
 * within params->memory_nbytes (about 4 MB a thread are taken in any case); what does not fit goes
 * to unlinked files in params->tmp_dir. job     cancel is honoured, stage, done and total are kept
 * (done of KC_STAGE_PARTITION is the source's); may not be NULL totals  out, final only on KC_OK
 * The run depends on nothing but the multiset of segments, k and stranded.
 * Method: docs/design.md, "The CPU engine".
 */
enum kc_status kc_cpu_count(const struct kc_count_params *params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_error *err);

#endif
