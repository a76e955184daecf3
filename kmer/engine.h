/*
 * What an engine is asked for and what it tells, the same for cpu/ and gpu/.
 */
#ifndef KC_ENGINE_H
#define KC_ENGINE_H

#include "base/status.h"

#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stages, in the order in which they run; each is timed, and shown by the progress bar. */
enum kc_stage {
        KC_STAGE_PARTITION, /* read, parse, pack, cut into super-k-mers */
        KC_STAGE_COUNT,     /* count each partition */
        KC_STAGE_ORDER,     /* sort the distinct k-mers, encode, write */
        KC_NSTAGES,
};

struct kc_count_params {
        int k;                    /* 1 .. KC_MAX_K */
        bool stranded;            /* count k-mers as they stand; else in canonical form */
        int nthreads;             /* 1 at least; the source serves as many workers */
        uint64_t memory_nbytes;   /* bound for the engine's own memory */
        const char *tmp_dir;      /* where partitions are spilled when the bound asks for it */
        uint64_t expected_nbases; /* a guess of the input's size; 0 where there is none */
};

struct kc_count_totals {
        uint64_t nkmers;     /* k-mers counted */
        uint64_t ndistinct;  /* pairs given to the sink */
        uint64_t nsaturated; /* nkmers minus the sum of counts: what saturation at UINT32_MAX cut
                                off */
        uint64_t spilled_nbytes;
        double stage_seconds[KC_NSTAGES]; /* wall */
};

#ifndef __cplusplus
/* A running job, shared with whoever watches it. All fields may be read, and cancel set, at any
 * time. */
struct kc_job {
        atomic_bool cancel; /* set by the watcher: stop soon with KC_ECANCELED */
        atomic_int stage;   /* enum kc_stage */
        atomic_uint_fast64_t
                done; /* units of the present stage: input bytes (PARTITION), else parts */
        atomic_uint_fast64_t total; /* 0 where unknown */
};
#endif

#ifdef __cplusplus
}
#endif
#endif
