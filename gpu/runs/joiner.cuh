/*
 * Joins a source's runs range by range: blocks are decoded, and their pairs joined as the plan says
 * (kmer/join.h).
 */
#ifndef KC_GPU_RUNS_JOINER_CUH
#define KC_GPU_RUNS_JOINER_CUH

#include "gpu/blocks/decode.cuh"
#include "gpu/runs/join.cuh"

template <class Key> struct kc_joined_node {
        struct kc_gpu_run<Key, uint64_t> run;
        bool is_own; /* false: a slice of the joiner's pairs, the decoded range */
};

/* Callers may read nread and npairs. */
template <class Key> struct kc_gpu_joiner {
        struct kc_gpu *gpu;
        const struct kc_join_source *source;
        uint64_t nread;                         /* sum of the counts read so far */
        uint64_t npairs;                        /* pairs of runs joined so far */
        struct kc_gpu_run<Key, uint64_t> pairs; /* decoded, of one range */
        struct kc_decode_run *runs;             /* [nruns] device */
        struct kc_decode_run *host_runs;        /* pinned */
        unsigned long long *refused;            /* device, see kc_gpu_decode */
        struct kc_gpu_join_totals *totals;      /* device */
        struct kc_joined_node<Key> *nodes;      /* [nnodes] as in the plan, for one range */
};

/*
 * Choose how many blocks a range has: the usual number, or more if there are many runs, but no more
 * than the source has, nor than fit in five eighths of the bound on device memory, with their feed
 * (gpu/runs/join_feed.cuh). The rest of the bound is for what the caller makes of the pairs, for
 * small allocations, and for what the pool loses to fragmentation.
 *   batch_nkmers  as in kc_gpu_params
 *   more_nbytes   what the caller needs for each block besides
 * KC_ENOMEM, as from kc_gpu_joiner_no_room.
 */
template <class Key>
enum kc_status kc_gpu_joiner_plan(const struct kc_gpu *gpu, const struct kc_join_source *source,
                                  uint64_t batch_nkmers, size_t more_nbytes, size_t *max_blocks,
                                  struct kc_error *err);

/* Report that the bound is too little for joining nruns runs. Returns KC_ENOMEM. */
enum kc_status kc_gpu_joiner_no_room(const struct kc_gpu *gpu, size_t nruns, struct kc_error *err);

/* Bytes of device memory that a joiner takes for ranges of at most nblocks blocks: its own, and
 * what a join takes for a time. */
template <class Key> size_t kc_gpu_joiner_own_nbytes(size_t nblocks);
template <class Key> size_t kc_gpu_joiner_join_nbytes(size_t nblocks);

/*
 * Open a joiner for ranges of at most max_blocks blocks. Close it even after a failure, when the
 * device has no more work with it; a zeroed one may be closed, too. The source must outlive it.
 * KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_joiner_open(struct kc_gpu_joiner<Key> *joiner, struct kc_gpu *gpu,
                                  const struct kc_join_source *source, size_t max_blocks,
                                  struct kc_error *err);
template <class Key> void kc_gpu_joiner_close(struct kc_gpu_joiner<Key> *joiner);

/*
 * Join a range, complete in gpu->stream (gpu/runs/join_feed.cuh).
 *   in      as the source gave it
 *   decode  the same on the device; its runs are set here
 *   filter  what the result keeps
 *   result  out: new, to be freed with kc_gpu_run_free, on failure too
 * What the source says about a malformed block; KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_joiner_join(struct kc_gpu_joiner<Key> *joiner, const struct kc_join_range *in,
                                  struct kc_decode_range<Key> *decode,
                                  const struct kc_run_filter *filter,
                                  struct kc_gpu_run<Key> *result, struct kc_error *err);

/*
 * Join a range of a joint histogram (kc_joint_plan in io/store/join.h), but for its root: the sides
 * of the root, complete in gpu->stream, as two runs of values; of one file, only the left one has
 * any. Otherwise as kc_gpu_joiner_join.
 *   left, right  out: the joiner's, until kc_gpu_joiner_drop
 */
template <class Key>
enum kc_status kc_gpu_joiner_sides(struct kc_gpu_joiner<Key> *joiner,
                                   const struct kc_join_range *in,
                                   struct kc_decode_range<Key> *decode,
                                   struct kc_gpu_run<Key, uint64_t> *left,
                                   struct kc_gpu_run<Key, uint64_t> *right, struct kc_error *err);

/* Free what is left of joining a range, once all work with it is queued on gpu->stream. */
template <class Key> void kc_gpu_joiner_drop(struct kc_gpu_joiner<Key> *joiner);

/* What all joins so far have read and left out. KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_joiner_totals(const struct kc_gpu_joiner<Key> *joiner,
                                    struct kc_gpu_join_totals *totals, struct kc_error *err);

#endif
