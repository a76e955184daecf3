/*
 * Private to gpu/engine: an engine and the state that its source files share, which are the steps
 * of the driver (count.cu), memory for the stages (memory.cu), reading (reading.cu), counting
 * shares (followers.cu), merging (merging.cu), and tallying in place of merging (tallying.cu).
 */
#ifndef KC_GPU_ENGINE_ENGINE_INTERNAL_CUH
#define KC_GPU_ENGINE_ENGINE_INTERNAL_CUH

#include "gpu/count/count.cuh"
#include "gpu/engine/crew.cuh"
#include "gpu/engine/devices/exchange.cuh"
#include "gpu/engine/devices/shares.cuh"
#include "gpu/engine/devices/vote.cuh"
#include "gpu/engine/plan.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/intake/intake.cuh"
#include "gpu/output/emit.cuh"
#include "gpu/runs/lsm.cuh"

/* A further device, for all k. */
struct gpu_other {
        struct kc_gpu gpu;
        bool is_open;
        struct kc_gpu_intake *intake; /* or NULL */
        struct kc_gpu_kept *kept;     /* the reads that it has read; NULL: none */
};

/* How the devices get the reads. */
enum gpu_reading {
        READING_FILES,   /* from the intakes; if one gives up, in batches */
        READING_BATCHES, /* from the feed */
        READING_OVER,
};

/* The reads, which the engines of all k share. */
struct gpu_input {
        const struct kc_count_params *params; /* k is not used */
        const struct kc_gpu_params *gpu_params;
        const struct kc_batch_source *source;
        struct kc_job *job;
        struct kc_superkmer_setup superkmers[KC_KEPT_MAX_KS]; /* [nks] */
        int nks, min_k, max_k;
        struct kc_gpu_session session;
        struct kc_gpu_intakes intakes;
        struct kc_gpu_intake_setup stored; /* of the first device's intake */
        struct kc_gpu_intake *intake;      /* the first device's, or NULL */
        bool takes_files;                  /* from the intakes; otherwise reads come in batches */
        struct kc_gpu_feed *feed;
        struct kc_gpu_kept *kept; /* the reads that the first device has read */
        struct kc_gpu_kept_where where;
        double reading_seconds; /* that reading took */
        struct gpu_other others[KC_GPU_MAX_DEVICES - 1];
        size_t kept_host_nbytes; /* most pinned host memory for the reads of one device */
        size_t kept_nbytes[KC_GPU_MAX_DEVICES]; /* of reads that each device keeps */
        struct kc_gpu_vote reading;             /* proposals: enum gpu_reading */
};

struct gpu_engine;

/* What a device counts with, and what it has counted, for one k. */
struct gpu_counting {
        struct gpu_engine *engine;
        int device; /* CUDA's index */
        struct kc_gpu *gpu;
        struct kc_gpu_kept *kept;        /* all reads: in->kept, or those of all devices, joined */
        struct kc_gpu_counter_caps caps; /* of the counter */
        struct kc_gpu_counted counted;
        uint64_t npasses, nwalks;
        uint64_t nshared; /* those walks in which other devices took the other parts of the reads */
        bool meets;       /* the other devices expect it at the next meeting */
        uint64_t nmerged; /* pairs of the run that it merged */
        uint64_t nsaturated, spilled_nbytes;          /* of its LSM, in the end */
        uint64_t runs_nbytes;                         /* pairs that it sent to other devices */
        uint64_t reads_nbytes;                        /* sent to this device */
        struct kc_gpu_link links[KC_GPU_MAX_DEVICES]; /* from other devices, for reads */
};

template <class Key> struct gpu_counting_of : gpu_counting {
        struct kc_gpu_counter<Key> *counter;
        struct kc_gpu_lsm<Key> *lsm;
};

/* An engine counts one k. What does not depend on the width of its keys is kept apart. */
struct gpu_engine {
        struct kc_count_params params;
        struct gpu_input *in;
        int number; /* of its k, among all */
        struct kc_gpu_crew crew;
        struct kc_gpu_plan plan;
        struct kc_superkmer_setup superkmers;
        struct kc_load loads[KC_NLOADS];
        struct kc_gpu_shares shares;
        struct kc_gpu_meeting walking;                   /* before and after a shared walk */
        struct kc_records_out lists[KC_GPU_MAX_DEVICES]; /* of each device, for the next walk */
        struct kc_gpu_vote merging; /* proposals: most pairs of a range, or 0: alone */
        double start, order_start;
        uint64_t nkmers;          /* in the reads; while they are read, each device adds its own */
        uint64_t expected_npairs; /* the last estimate that the sink was given */
        struct kc_gpu_counted counted; /* by all devices; at the end, nsaturated includes what the
                                          LSMs cut off */
        uint64_t spilled_nbytes;
        struct kc_count_totals *totals;
};

template <class Key> struct gpu_engine_of : gpu_engine {
        struct kc_gpu_emitter<Key> *emitter;
        struct kc_gpu_exchange<Key> exchange;
        struct gpu_counting_of<Key> own; /* the first device */
        struct gpu_counting_of<Key> others[KC_GPU_MAX_DEVICES - 1];
};

/* ---- the devices' reads ---- */

/* Devices are numbered 0 (the driver's), 1, ... in the order in which they are listed: follower i
 * drives device i + 1, which is member i + 1 of a merge. Only gpu_counting.device is CUDA's
 * index. */
static inline const struct kc_gpu *kc_engine_device_of(const struct gpu_input *in, int device)
{
        return device == 0 ? &in->session.gpu : &in->others[device - 1].gpu;
}

static inline struct kc_gpu_kept *kc_engine_reads_of(const struct gpu_input *in, int device)
{
        return device == 0 ? in->kept : in->others[device - 1].kept;
}

/* Call `work` for the reads of each device, with the device current. The first device is current
 * afterwards. */
template <class Work>
static inline enum kc_status kc_engine_for_all_reads(const struct gpu_input *in, Work work,
                                                     struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i <= in->gpu_params->nothers; i++) {
                if (kc_engine_reads_of(in, i) == NULL)
                        continue;
                KC_TRY(KC_CUDA(cudaSetDevice(kc_engine_device_of(in, i)->device)));
                KC_TRY(work(kc_engine_reads_of(in, i)));
        }
out:
        if (in->gpu_params->nothers > 0)
                (void)cudaSetDevice(in->session.gpu.device);
        return status;
}

/* Whether devices other than the first one have read some of the input. */
bool kc_engine_have_read_together(const struct gpu_input *in);

/* Free the reads of the further devices. None of their threads may use them. */
void kc_engine_free_other_reads(struct gpu_input *in);

size_t kc_engine_pinned_for_reads(const struct gpu_input *in);

/* ---- reading.cu ---- */

/* Space for the output takes time to allocate, so the sink gets estimates while reads arrive. Each
 * must exceed the previous one by enough to be worth passing on. */
void kc_engine_expect_pairs(struct gpu_engine *e, uint64_t nkmers);

/* How much text a round of an intake may have. On the host, the portions of all intakes may take
 * the quarter of the memory that the plan sets aside for reading. */
size_t kc_engine_plan_rounds(const struct gpu_engine *e, size_t limit_nbytes);

enum kc_status kc_engine_attach_feed(struct gpu_engine *e, struct kc_error *err);

/* Make the intake fit the device, which was not open when the intake was made. *fits = false: the
 * device has too little memory for it. */
enum kc_status kc_engine_attach_intake(struct gpu_engine *e, bool *fits, struct kc_error *err);

/* End the first device's intake, then all. */
enum kc_status kc_engine_end_intakes(struct gpu_engine *e, struct kc_error *err);

enum kc_status kc_engine_keep_reads(struct gpu_engine *e, struct kc_error *err);

/* Keep the batches that arrive on a device, to the end of the input. */
enum kc_status kc_engine_keep_batches(struct gpu_engine *e, int device, struct kc_gpu *gpu,
                                      struct kc_gpu_kept *kept, struct kc_error *err);

/* Keep the reads of the parts of the files that an intake takes. */
enum kc_status kc_engine_keep_parts(struct gpu_engine *e, struct kc_gpu_intake *intake,
                                    struct kc_gpu *gpu, struct kc_gpu_kept *kept,
                                    struct kc_error *err);

/* Take part in whatever the driver proposes. */
enum kc_status kc_engine_follow_reading(struct gpu_engine *e, int follower, struct kc_error *err);

/* ---- memory.cu ---- */

static inline bool kc_engine_tallies(const struct gpu_engine *e)
{
        return e->crew.sink->put_counts != NULL;
}

struct kc_load kc_engine_sum_loads(const struct kc_load *loads, const struct kc_gpu_share *share);

/* Add up the loads of all reads. */
enum kc_status kc_engine_read_loads(struct gpu_engine *e, struct kc_error *err);

/* Plan a share for each device; returns the number of shares. */
size_t kc_engine_plan_shares(struct gpu_engine *e);

/* Devices that count the reads, those of other engines included. */
uint64_t kc_engine_count_devices(const struct gpu_engine *e);

struct kc_gpu_plan_input kc_engine_plan_input(const struct gpu_engine *e,
                                              const struct kc_load *total);

/* Make a device's LSM, with an equal part of the host memory that the reads leave. */
template <class Key>
enum kc_status kc_engine_make_lsm(const struct gpu_engine_of<Key> *e,
                                  struct gpu_counting_of<Key> *c, struct kc_error *err);

template <class Key>
enum kc_status kc_engine_make_counter(const struct gpu_engine_of<Key> *e,
                                      struct gpu_counting_of<Key> *c, struct kc_error *err);

/* The workers read the files from the beginning, as batches: drop the reads that the intakes have
 * found, and free the memory that was planned for use with them. */
template <class Key> void kc_engine_drop_files(struct gpu_engine_of<Key> *e);

/* Prepare for batches instead of files. */
template <class Key>
enum kc_status kc_engine_prepare_batches(struct gpu_engine_of<Key> *e, struct kc_error *err);

/* If the intake leaves too little memory for the rest, do without it. */
template <class Key> enum kc_status kc_engine_take_memory(void *ctx, struct kc_error *err);

/* The memory for a further k. */
template <class Key> enum kc_status kc_engine_take_next_memory(void *ctx, struct kc_error *err);

/* ---- followers.cu ---- */

enum kc_status kc_engine_open_follower(struct gpu_engine *e, int follower, struct kc_error *err);

/* Keep all reads in device memory if they take at most about two thirds of it; if counting then has
 * too little, copy those of other devices in each pass. */
template <class Key>
enum kc_status kc_engine_prepare_share(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                       const struct kc_gpu_share *share, struct kc_error *err);

/* Take shares and count them, as long as there are any for this device. The first device has its
 * memory already. If all reads are on every device, and each has a share of its own, the devices
 * walk over the reads together. */
template <class Key>
enum kc_status kc_engine_count_shares(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                      int device, struct kc_error *err);

/* Free what only counting needs. */
template <class Key> void kc_engine_end_counting(struct gpu_counting_of<Key> *c);

/* A device that lacks the memory yields all its shares to the others, even if it has counted
 * some of the k-mers in them. */
template <class Key>
enum kc_status kc_engine_follow_shares(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                       int device, struct kc_error *err);

/* Free all memory of a follower's device, after all threads have ended. A copy may still be under
 * way if another device has failed. */
template <class Key> void kc_engine_end_follower(struct gpu_counting_of<Key> *c);

/* ---- tallying.cu ---- */

/* Tally the runs of a follower's device, and free them. If the device lacks the memory, they stay,
 * for the first device to take over. */
template <class Key>
enum kc_status kc_engine_tally_follower(const struct gpu_engine_of<Key> *e,
                                        struct gpu_counting_of<Key> *c, struct kc_error *err);

/* Tally the first device's runs. */
template <class Key>
enum kc_status kc_engine_tally_first(struct gpu_engine_of<Key> *e, struct kc_error *err);

/* ---- merging.cu ---- */

/* Note what saturation cut off, and what went to files. The device must be current. */
template <class Key>
enum kc_status kc_engine_settle_sums(struct gpu_counting_of<Key> *c, struct kc_error *err);

/* With several devices, a message says which one failed. */
enum kc_status kc_engine_fail_for(const struct gpu_counting *c, const struct kc_error *failure,
                                  struct kc_error *err);

/* Whether there are temporary files, which may be on the same disk as the output. */
template <class Key>
bool kc_engine_uses_files(const struct gpu_engine_of<Key> *e, const struct gpu_counting_of<Key> *c);

/* Tell the sink how many pairs to expect, in place of the estimates. */
void kc_engine_expect_counted(const struct gpu_engine *e, uint64_t npairs);

/* Called once this device has counted. */
template <class Key>
enum kc_status kc_engine_follow_merge(struct gpu_engine_of<Key> *e, struct gpu_counting_of<Key> *c,
                                      int member, struct kc_error *err);

/* Called once all devices have counted. */
template <class Key>
enum kc_status kc_engine_merge_all(struct gpu_engine_of<Key> *e, struct kc_error *err);

#endif
