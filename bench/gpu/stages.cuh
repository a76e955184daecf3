/*
 * The stages that bench_gpu times. Each function prints its lines.
 */
#ifndef KC_BENCH_STAGES_CUH
#define KC_BENCH_STAGES_CUH

#include "bench/gpu/stage.cuh"
#include "gpu/device/run.cuh"

/* Time a copy of most_nbytes, or of as many as suffice, in the device: sets bench->copy_rate. */
enum kc_status bench_copy_inside(struct bench *bench, size_t most_nbytes, struct stage *stage,
                                 struct kc_error *err);

/* The same, printed, and copies over the bus both ways. */
enum kc_status bench_copies(struct bench *bench, struct kc_error *err);

/*
 * With k-mers of Key: packed reads in device memory to a sorted, summed run there, and the
 * counter's own stages, with each table; then bench_runs. With bench->check the runs are held
 * against the truth first.
 */
template <class Key>
enum kc_status bench_counting(struct bench *bench, int k, struct kc_error *err);

/* How many super-k-mer records the counter makes of the reads. */
template <class Key>
enum kc_status bench_records(struct bench *bench, int k, const struct kc_gpu_reads *reads,
                             uint64_t *nrecords, struct kc_error *err);

/* Ordering and encoding the pairs of a, merging a and b. */
template <class Key>
enum kc_status bench_runs(struct bench *bench, int k, const struct kc_gpu_run<Key> *a,
                          const struct kc_gpu_run<Key> *b, struct kc_error *err);

#endif
