/*
 * The stages that bench_gpu times. Each function prints its lines.
 */
#ifndef KC_BENCH_STAGES_CUH
#define KC_BENCH_STAGES_CUH

#include "bench/gpu/stage.cuh"
#include "gpu/device/run.cuh"
#include "gpu/kept/kept.cuh"

/* Time a copy within the device of at most most_nbytes, fewer if they suffice; sets
 * bench->copy_rate. */
enum kc_status bench_copy_inside(struct bench *bench, size_t most_nbytes, struct stage *stage,
                                 struct kc_error *err);

/* The same, and copies over the bus both ways; prints them. */
enum kc_status bench_copies(struct bench *bench, struct kc_error *err);

/*
 * With k-mers of type Key: packed reads in device memory to a sorted, summed run there, and the
 * counter's own stages, with each table; then bench_runs. With bench->check the runs are compared
 * with the truth first.
 */
template <class Key>
enum kc_status bench_counting(struct bench *bench, int k, struct kc_error *err);

/*
 * Look up the first 2^28 k-mers of the reads in a table of all k-mers of the genome: with each map
 * of gpu/ask/map.cuh, then with WarpDrive for several loads and numbers of slots in a window. Also
 * add up how often each count is found. k: at most 32. With bench->check the counts are compared
 * with those that were put.
 */
enum kc_status bench_asking(struct bench *bench, int k, struct kc_error *err);

/*
 * The reads of the first device, counted by one device and by all: each counts its share, as in the
 * engine. Times what it takes until each has its sorted runs, copies of the reads included, and
 * until the first one has gathered and merged them.
 *   devices  [ndevices], at least 2; the first one is open
 */
template <class Key>
enum kc_status bench_sharing(struct bench *bench, const int *devices, int ndevices, int k,
                             struct kc_error *err);

/* The number of super-k-mer records that the counter makes from the reads. */
enum kc_status bench_records(struct bench *bench, const struct kc_superkmer_setup *superkmers,
                             struct kc_gpu_kept *kept, uint64_t *nrecords, struct kc_error *err);

/* Order and encode the pairs of a; merge a and b. */
template <class Key>
enum kc_status bench_runs(struct bench *bench, int k, const struct kc_gpu_run<Key> *a,
                          const struct kc_gpu_run<Key> *b, struct kc_error *err);

#endif
