/*
 * The counts of runs, without their k-mers: those below KC_RUN_NROWS become rows of a histogram on
 * the device, and only the others are downloaded, for the sink.
 */
#ifndef KC_GPU_OUTPUT_TALLY_CUH
#define KC_GPU_OUTPUT_TALLY_CUH

#include "gpu/device/context.cuh"
#include "kmer/run.h"

/* Zero-initialise. */
struct kc_gpu_tally {
        struct kc_gpu *gpu;
        uint64_t *rows;             /* [KC_RUN_NROWS] device; [0]: how many counts `big` has */
        uint32_t *big;              /* [KC_TALLY_NPAIRS] device */
        uint32_t *host_big;         /* [KC_TALLY_NPAIRS] */
        struct kc_run_dropped done; /* k-mers that the sink has the counts of, or that are in rows
                                       which have been read */
};

enum { KC_TALLY_NPAIRS = 1 << 22 };

/* Allocate memory. KC_ENOMEM, KC_EDEVICE; then, too, close it. */
enum kc_status kc_gpu_tally_open(struct kc_gpu_tally *tally, struct kc_gpu *gpu,
                                 struct kc_error *err);

/* Take n final counts, which are on the device. Waits for gpu->stream. KC_EDEVICE, or what the sink
 * returns. */
enum kc_status kc_gpu_tally_add(struct kc_gpu_tally *tally, const uint32_t *counts, size_t n,
                                const struct kc_run_sink *sink, struct kc_error *err);

/* Add the rows so far to rows[KC_RUN_NROWS], and all k-mers to *done. Once, at the end. */
enum kc_status kc_gpu_tally_end(struct kc_gpu_tally *tally, uint64_t *rows,
                                struct kc_run_dropped *done, struct kc_error *err);

void kc_gpu_tally_close(struct kc_gpu_tally *tally); /* the device must be current */

#endif
