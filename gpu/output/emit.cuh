/*
 * The output: ranges of the merged run on the device go to the sink, part by part. The driver
 * thread encodes and starts downloads; worker threads take the parts in turn and write them.
 *
 * Several devices may encode the ranges of one run. Each has a lane: an encoder, and slots that its
 * thread fills with parts. To encode a range, a lane must know the number of the range's first part
 * and the earlier pairs that did not fill a block; lanes hand these on (gpu/blocks/carry.cuh).
 */
#ifndef KC_GPU_OUTPUT_EMIT_CUH
#define KC_GPU_OUTPUT_EMIT_CUH

#include "base/job.h"
#include "gpu/blocks/encode.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/limits.h"
#include "gpu/device/run.cuh"
#include "gpu/device/trace.cuh"
#include "kmer/run.h"

template <class Key> struct kc_gpu_emitter;

struct kc_gpu_emit_totals {
        uint64_t ndistinct; /* pairs given to the sink or dropped before they came here */
        uint64_t sum;       /* of their counts */
};

/* Create an emitter; each part written is a unit of the job's progress. It uses no device yet, so
 * workers may already wait in kc_gpu_emitter_write. KC_ENOMEM. */
template <class Key>
enum kc_status kc_gpu_emitter_new(struct kc_gpu_emitter<Key> **emitter, int k,
                                  const struct kc_run_sink *sink, struct kc_job *job,
                                  struct kc_gate *gate, struct kc_gpu_trace *trace,
                                  struct kc_error *err);

/* Driver only: allocate memory. KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_emitter_attach(struct kc_gpu_emitter<Key> *emitter, struct kc_gpu *gpu,
                                     const struct kc_gpu_encoder_caps *caps, struct kc_error *err);

/* Driver only: pass the next range of the run, at most caps->max_pairs pairs; an empty range ends
 * the run. The caller may reuse the range's memory on return. KC_ENOMEM; KC_EDEVICE; KC_ECANCELED
 * if the job was canceled or another thread failed. */
template <class Key>
enum kc_status kc_gpu_emitter_put(struct kc_gpu_emitter<Key> *emitter,
                                  const struct kc_gpu_run<Key> *range, struct kc_error *err);

/* Driver only: pass a range of any length, in pieces of at most caps->max_pairs; does not end the
 * run, even if the range is empty. Errors as in kc_gpu_emitter_put. */
template <class Key>
enum kc_status kc_gpu_emitter_put_range(struct kc_gpu_emitter<Key> *emitter,
                                        const struct kc_gpu_run<Key> *range, struct kc_error *err);

/*
 * Add the lane of a further device. Called by that device's thread, before the first part; lane 0
 * is the driver's.
 *   lane  1 .. KC_GPU_MAX_DEVICES - 1
 *   bell  the bell that this thread waits for
 * KC_ENOMEM leaves the emitter as it was; KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_emitter_add_lane(struct kc_gpu_emitter<Key> *emitter, int lane,
                                       struct kc_gpu *gpu, enum kc_gate_bell bell,
                                       const struct kc_gpu_encoder_caps *caps,
                                       struct kc_error *err);

/* By the same thread: free the lane again, if no part has been put. */
template <class Key> void kc_gpu_emitter_remove_lane(struct kc_gpu_emitter<Key> *emitter, int lane);

/*
 * In place of kc_gpu_emitter_put_range, by a lane's thread: pass range `number` (0, 1, ...) of the
 * run, of any length. Each lane passes its ranges in ascending order; a call waits until it is
 * known where the range begins, so no range may be left out. Errors as in kc_gpu_emitter_put.
 */
template <class Key>
enum kc_status kc_gpu_emitter_put_turn(struct kc_gpu_emitter<Key> *emitter, int lane,
                                       uint64_t number, const struct kc_gpu_run<Key> *range,
                                       struct kc_error *err);

/* Driver only: end the run after nranges ranges. Errors as in kc_gpu_emitter_put. */
template <class Key>
enum kc_status kc_gpu_emitter_end_turns(struct kc_gpu_emitter<Key> *emitter, uint64_t nranges,
                                        struct kc_error *err);

/* Driver only, before it ends the run: what the filter dropped from the run before it came here,
 * which the sink learns with the last part. */
template <class Key>
void kc_gpu_emitter_drop(struct kc_gpu_emitter<Key> *emitter, const struct kc_run_dropped *dropped);

/* A worker thread: give parts to the sink until the run has ended. The sink's errors; KC_EDEVICE;
 * KC_ECANCELED as above. */
template <class Key>
enum kc_status kc_gpu_emitter_write(struct kc_gpu_emitter<Key> *emitter, struct kc_error *err);

/* Call it when all workers are done. */
template <class Key>
void kc_gpu_emitter_totals(const struct kc_gpu_emitter<Key> *emitter,
                           struct kc_gpu_emit_totals *totals);

/* No thread may still use the emitter, and the devices must still be open; afterwards, the
 * driver's is current. NULL is fine. */
template <class Key> void kc_gpu_emitter_free(struct kc_gpu_emitter<Key> *emitter);

#endif
