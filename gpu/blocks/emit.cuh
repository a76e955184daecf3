/*
 * The way out: ranges of the merged run, on the device, to the sink, part by part. The driver
 * thread encodes and starts downloads; worker threads take the parts in turn and write them.
 */
#ifndef KC_GPU_BLOCKS_EMIT_CUH
#define KC_GPU_BLOCKS_EMIT_CUH

#include "gpu/blocks/encode.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/run.cuh"
#include "gpu/device/trace.cuh"
#include "kmer/run.h"

template <class Key> struct kc_gpu_emitter;

struct kc_gpu_emit_totals {
        uint64_t ndistinct; /* pairs given to the sink, or left out by its filter */
        uint64_t sum;       /* of their counts */
};

/* Uses no device yet, so that workers may wait in it. */
template <class Key>
enum kc_status kc_gpu_emitter_new(struct kc_gpu_emitter<Key> **emitter, int k,
                                  const struct kc_run_sink *sink, struct kc_gate *gate,
                                  struct kc_gpu_trace *trace, struct kc_error *err);

/* The driver: take memory. */
template <class Key>
enum kc_status kc_gpu_emitter_attach(struct kc_gpu_emitter<Key> *emitter, struct kc_gpu *gpu,
                                     const struct kc_gpu_encoder_caps *caps, struct kc_error *err);

/* The driver: the next range of the run, caps->max_pairs pairs at most; an empty one ends it. The
 * range is free on return. */
template <class Key>
enum kc_status kc_gpu_emitter_put(struct kc_gpu_emitter<Key> *emitter,
                                  const struct kc_gpu_run<Key> *range, struct kc_error *err);

/* All of a range, empty or of any length, in pieces of no more than that. */
template <class Key>
enum kc_status kc_gpu_emitter_put_range(struct kc_gpu_emitter<Key> *emitter,
                                        const struct kc_gpu_run<Key> *range, struct kc_error *err);

/* A worker: give parts to the sink until the run has ended. */
template <class Key>
enum kc_status kc_gpu_emitter_write(struct kc_gpu_emitter<Key> *emitter, struct kc_error *err);

/* When all workers are done. */
template <class Key>
void kc_gpu_emitter_totals(const struct kc_gpu_emitter<Key> *emitter,
                           struct kc_gpu_emit_totals *totals);

/* No thread may be in it, and the driver's device still open. NULL is fine. */
template <class Key> void kc_gpu_emitter_free(struct kc_gpu_emitter<Key> *emitter);

#endif
