/*
 * How the engine divides memory, on the host and on the device: the sizes of buffers, of the reads
 * that are kept, of passes and of a part of the output. This only computes numbers and allocates
 * nothing.
 *
 * Of the bound on device memory, an eighth is for the encoder, an eighth for the reads being
 * uploaded, and up to seven tenths for the reads that are kept. What is left when the input has
 * ended is for the passes and their runs; runs move off the device if it is not enough.
 */
#ifndef KC_GPU_ENGINE_PLAN_CUH
#define KC_GPU_ENGINE_PLAN_CUH

#include "gpu/blocks/encode.cuh"
#include "gpu/count/count.cuh"
#include "gpu/engine/devices/shares.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/gpu.h"

struct kc_gpu_plan {
        /* kc_gpu_plan_host */
        uint64_t top_nbases;    /* upper limit for a buffer */
        uint64_t top_nkmers;    /* upper limit for a pass */
        uint32_t host_words;    /* words of a worker's batch */
        uint64_t pinned_nbytes; /* most host memory to pin */
        int nks;                /* k counted from the same reads: 1, unless changed */
        int ndevices;           /* that encode, with equal parts of host memory: likewise */
        /* kc_gpu_plan_buffers */
        struct kc_gpu_feed_caps buffers;
        size_t kept_nbytes; /* most device memory for the reads kept there */
        /* kc_gpu_plan_parts */
        struct kc_gpu_encoder_caps parts;
        size_t host_nbytes; /* host memory left for reads and runs */
};

/* The part of the plan that does not depend on the device. Initializes *plan; call it first. */
void kc_gpu_plan_host(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                      const struct kc_gpu_params *gpu_params);

/* Most device memory for the reads kept there, out of a bound of at least 256 MiB. Passes over
 * reads on the device are so much faster than passes over the bus that even small passes are
 * worth it; but with little memory, passes would become too small. */
size_t kc_gpu_plan_kept_nbytes(size_t limit_nbytes);

/* About how many bytes reads of this many bases take, if they are not very short. */
size_t kc_gpu_plan_reads_nbytes(uint64_t nbases);

/* Plan buffers for a bound on device memory. KC_ENOMEM if the bound is too small for any work. */
enum kc_status kc_gpu_plan_buffers(struct kc_gpu_plan *plan, size_t limit_nbytes,
                                   struct kc_error *err);

/* Plan the encoder's parts for the same bound; k: in place of params->k. KC_ENOMEM likewise.
 * Separate from kc_gpu_plan_buffers because it queries CUDA, whose first call takes time. */
enum kc_status kc_gpu_plan_parts(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 int k, size_t limit_nbytes, struct kc_error *err);

/*
 * How many pairs the sink should prepare for when nkmers k-mers have been read: as many as they
 * make at usual coverage and error rates. At high coverage that is too many. The sink gives the
 * excess back in the end, but on a tmpfs it takes memory until then, so an estimate takes at most
 * a quarter of memory_nbytes, and at most 16 GiB.
 *   drops_rare  the filter drops most k-mers
 */
uint64_t kc_gpu_plan_expected_pairs(int k, uint64_t nkmers, bool drops_rare,
                                    uint64_t memory_nbytes);

/* What a counter is planned for. */
struct kc_gpu_plan_input {
        const struct kc_superkmer_setup *superkmers;
        enum kc_gpu_table table;
        struct kc_load total; /* of all reads */
        uint64_t top_nkmers;  /* upper limit for a pass */
        bool drops_rare;      /* most k-mers are dropped by the filter */
        bool copies;          /* some reads are not on the device */
        int walk_npasses;     /* passes of a walk; 0: chosen here */
        int ndevices;         /* devices that may share a walk; 0: one */
};

/* Divide room_nbytes of device memory, and set the caps of a counter for passes over the reads.
 * KC_ENOMEM if room_nbytes is too little for any work. */
enum kc_status kc_gpu_plan_counter(const struct kc_gpu_plan_input *input, size_t room_nbytes,
                                   struct kc_gpu_counter_caps *caps, struct kc_error *err);

/* Bytes of device memory for a counter with these caps. */
size_t kc_gpu_plan_counter_nbytes(const struct kc_gpu_plan_input *input,
                                  const struct kc_gpu_counter_caps *caps);

/* Bytes of device memory to free before a pass: enough for the largest possible run and for sorting
 * it. */
size_t kc_gpu_plan_run_room(int k, uint64_t npairs);

static const struct kc_gpu_share KC_GPU_ALL_POINTS = { 0, KC_NLOADS };

static_assert((int)KC_GPU_MAX_ENGINES == (int)KC_NLOADS, "each engine has points");

/* The points that an engine counts. They do not depend on the loads, because the engines that count
 * the other points may have sampled different reads. */
struct kc_gpu_share kc_gpu_plan_points(const struct kc_gpu_params *gpu_params);

/*
 * Divide points into shares for n devices, with about the same number of k-mers in each. A single
 * load is not divided, so shares differ if one has much more than others.
 *   loads   [KC_NLOADS], estimated from a sample
 *   points  not empty
 *   shares  out [n]; each of these points is in one of them
 * Returns the number of shares, 1 to n.
 */
size_t kc_gpu_plan_shares(const struct kc_load *loads, const struct kc_gpu_share *points, size_t n,
                          struct kc_gpu_share *shares);

/*
 * Divide a share into passes, each of which has at most the records and k-mers of `most`, unless a
 * single load has more.
 *   loads   [KC_NLOADS], estimated from a sample
 *   passes  out [share->end - share->first]; every point of the share is in one of them
 * Returns the number of passes.
 */
size_t kc_gpu_plan_passes(const struct kc_load *loads, const struct kc_gpu_share *share,
                          const struct kc_load *most, struct kc_gpu_pass *passes);

/*
 * Plan an encoder whose ranges fit in device_nbytes of device memory (the minimum may need more:
 * check kc_gpu_encoder_nbytes) and whose parts fit in host_nbytes of pinned host memory.
 *   npairs  most pairs to expect; 0: unknown
 */
struct kc_gpu_encoder_caps kc_gpu_plan_encoder(int k, int nthreads, uint64_t npairs,
                                               size_t device_nbytes, size_t host_nbytes);

#endif
