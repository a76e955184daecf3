/*
 * The parameters and results of an engine, the same for cpu/ and gpu/.
 */
#ifndef KC_ENGINE_H
#define KC_ENGINE_H

#include "base/job.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stages, in the order in which they run; each is timed and shown by the progress bar. A job's
 * units are input bytes in the first, which the reader counts, and parts in the others. If several
 * k are counted, the second and the third run for each of them in turn; see kc_stage_of. */
enum kc_stage {
        KC_STAGE_PARTITION, /* read, parse, pack, cut into super-k-mers */
        KC_STAGE_COUNT,     /* count each partition */
        KC_STAGE_ORDER,     /* sort the distinct k-mers, encode, write */
        KC_NSTAGES,
};

/* The job's number of a stage of the i-th k: 0 1 2 for the first, 3 4 for the second, and so on. */
static inline int kc_stage_of(int i, enum kc_stage stage)
{
        return stage == KC_STAGE_PARTITION ? 0 : (int)stage + i * (KC_NSTAGES - 1);
}

struct kc_exchange;

struct kc_count_params {
        int k;                    /* 1 .. KC_MAX_K */
        bool stranded;            /* count k-mers as they are; otherwise in canonical form */
        int nthreads;             /* at least 1; the source must serve that many workers */
        uint64_t memory_nbytes;   /* bound on the engine's own memory */
        const char *tmp_dir;      /* folder to spill to when memory_nbytes is used up */
        uint64_t expected_nbases; /* estimate of the input's size; 0 if unknown */
        const struct kc_exchange *exchange; /* with other ranks; NULL: there are none */
};

struct kc_count_totals {
        uint64_t nkmers;     /* k-mers counted */
        uint64_t ndistinct;  /* pairs, including those that the sink's filter drops */
        uint64_t nsaturated; /* nkmers minus the sum of counts, which saturate at UINT32_MAX */
        uint64_t nother_distinct, nother_kmers; /* of these, what a sink of counts alone does not
                                                   get, because of kc_count_task.only */
        uint64_t spilled_nbytes;
        uint64_t nown; /* pairs of ndistinct that this rank counted; all, if there are no others */
        double stage_seconds[KC_NSTAGES]; /* wall */
};

struct kc_run_sink;
struct kc_kmer_set;

/* One of several k that are counted in one run. */
struct kc_count_task {
        int k;
        const struct kc_run_sink *sink;
        const struct kc_kmer_set *only; /* the host's engine drops all other k-mers, whatever their
                                           counts are; NULL: it drops none */
        struct kc_count_totals totals;  /* out; all have the same time for KC_STAGE_PARTITION */
};

#ifdef __cplusplus
}
#endif
#endif
