#include "gpu/plan.cuh"

#include "gpu/count/count.cuh"

#define MIB         ((size_t)1 << 20)
#define MOST_NKMERS (UINT64_C(1) << 31) /* in a batch: word numbers have 32 bits */

enum {
        MAX_BATCH_MIB_NKMERS = 1024, /* k-mers in a batch: larger ones make fewer runs to merge, but
                                        leave more to do after the last read */
        MIN_BATCH_MIB_NKMERS = 64,   /* unless memory is too small */
        MIN_TOP_NKMERS = 1 << 20,
        BATCHES = 8,                 /* at least, so that reading and counting overlap */
        NKMERS_PER_WORD = 16,        /* 17 to 24 for reads of 150 bases, 32 for long reads */
        NKMERS_PER_SPAN = 64,        /* 87 to 128, likewise */
        MAX_HOST_WORDS = 256 << 10,  /* 2 MiB: copies reach nearly full speed, and a worker's last
                                        batch does not take long at the end of the input */
        MAX_FEED_MIB = 2048,         /* of all workers */
        BYTES_PER_HOST_WORD = 12,    /* approximately, with segments and spans */
        LIMIT_PER_HOST_WORD = 16384, /* bytes of the device bound per word, so that these reads fit
                                        in a batch */
        MIN_RANGE_PAIRS = 64 << 10,  /* encoded at a time */
        MAX_RANGE_PAIRS = 16 << 20,  /* what the LSM merges at a time */
        MIN_PART_PAIRS = 64 << 10,
        MAX_PART_PAIRS = 512 << 10, /* small enough that every thread has parts to write */
        MIN_SLOTS = 3,
        MAX_SLOTS = 24,
        LSM_NBYTES = 8 << 20,  /* host memory of the LSM besides its runs */
        LEAST_LIMIT_MIB = 256, /* enough to count with any other parameters */
};

template <class T> static T smaller(T a, T b)
{
        return a < b ? a : b;
}

template <class T> static T larger(T a, T b)
{
        return a > b ? a : b;
}

static uint64_t top_nkmers(uint64_t expected, uint64_t wanted)
{
        if (wanted != 0)
                return smaller(larger(wanted, (uint64_t)32 * KC_BATCH_MIN_WORDS), MOST_NKMERS);
        if (expected == 0)
                return MAX_BATCH_MIB_NKMERS * MIB;
        uint64_t top = larger(expected / BATCHES,
                              smaller(expected, (uint64_t)(MIN_BATCH_MIB_NKMERS * MIB)));
        return smaller(larger(top, (uint64_t)MIN_TOP_NKMERS),
                       (uint64_t)(MAX_BATCH_MIB_NKMERS * MIB));
}

void kc_gpu_plan_host(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                      const struct kc_gpu_params *gpu_params)
{
        *plan = {};
        plan->top_nkmers = top_nkmers(params->expected_nbases, gpu_params->batch_nkmers);
        plan->pinned_nbytes = params->memory_nbytes;
        if (gpu_params->pinned_nbytes != 0)
                plan->pinned_nbytes =
                        smaller(plan->pinned_nbytes, (uint64_t)gpu_params->pinned_nbytes);
        size_t nbytes = smaller(MAX_FEED_MIB * MIB, (size_t)params->memory_nbytes / 4);
        size_t words = nbytes / (size_t)params->nthreads / KC_FEED_NAHEAD / BYTES_PER_HOST_WORD;
        words = smaller(words, (size_t)MAX_HOST_WORDS);
        /* so that a batch holds a few from each worker, if there is enough input */
        words = smaller(words, (size_t)(plan->top_nkmers / 64));
        plan->limit_named = gpu_params->memory_nbytes != 0;
        if (plan->limit_named)
                words = smaller(words, gpu_params->memory_nbytes / LIMIT_PER_HOST_WORD);
        plan->host_words = (uint32_t)larger(words, (size_t)KC_BATCH_MIN_WORDS);
}

/* Room in a batch for reads of usual lengths; for others, words or spans run out first. */
static struct kc_gpu_feed_caps caps_for(uint64_t nkmers, uint32_t host_words)
{
        struct kc_gpu_feed_caps caps = kc_gpu_feed_least(host_words);
        caps.nkmers = nkmers;
        caps.nwords = larger((size_t)(nkmers / NKMERS_PER_WORD), caps.nwords);
        caps.nspans = larger((size_t)(nkmers / NKMERS_PER_SPAN), caps.nspans);
        return caps;
}

/* Most device memory for the encoder. */
static size_t parts_nbytes(size_t limit_nbytes)
{
        return limit_nbytes / 8;
}

template <class Key>
static bool fits(const struct kc_gpu_feed_caps *caps, int k, size_t limit_nbytes)
{
        size_t batch = kc_gpu_feed_nbytes(caps) + kc_gpu_counter_nbytes<Key>(k, caps->nkmers) +
                       parts_nbytes(limit_nbytes);
        size_t run = kc_gpu_plan_room<Key>(caps->nkmers);
        return batch <= limit_nbytes / 2 && batch + run <= limit_nbytes / 4 * 3;
}

/* Add buffers while they take only a small part of the device memory. */
template <class Key>
static void add_buffers(struct kc_gpu_feed_caps *caps, int k, size_t limit_nbytes)
{
        struct kc_gpu_feed_caps more = *caps;
        while (++more.nbuffers <= KC_FEED_MAX_BUFFERS &&
               kc_gpu_feed_nbytes(&more) <= limit_nbytes / 16 && fits<Key>(&more, k, limit_nbytes))
                *caps = more;
}

static enum kc_status too_little(size_t limit_nbytes, struct kc_error *err)
{
        return kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_MORE_GPU_MEMORY | KC_REMEDY_CPU,
                              "%zu MiB of device memory is too little to count",
                              limit_nbytes / MIB);
}

/* The workers' batches were sized before the device was known, and are too large for it. */
static enum kc_status too_little_for_these(size_t limit_nbytes, struct kc_error *err)
{
        struct kc_error own = {};
        kc_fail_remedy(&own, KC_ENOMEM, KC_REMEDY_STATE_GPU_MEMORY | KC_REMEDY_CPU,
                       "%zu MiB of device memory is too little for batches of the usual size",
                       limit_nbytes / MIB);
        own.needed_nbytes = limit_nbytes;
        return kc_fail_as(err, &own);
}

template <class Key>
enum kc_status kc_gpu_plan_batch(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 size_t limit_nbytes, struct kc_error *err)
{
        uint64_t nkmers = plan->top_nkmers, least = kc_gpu_feed_least(plan->host_words).nkmers;
        struct kc_gpu_feed_caps caps = caps_for(nkmers, plan->host_words);
        while (nkmers > least && !fits<Key>(&caps, params->k, limit_nbytes)) {
                nkmers = larger(nkmers / 4 * 3, least);
                caps = caps_for(nkmers, plan->host_words);
        }
        if (fits<Key>(&caps, params->k, limit_nbytes)) {
                add_buffers<Key>(&caps, params->k, limit_nbytes);
                plan->batch = caps;
                return KC_OK;
        }
        if (plan->limit_named || limit_nbytes < LEAST_LIMIT_MIB * MIB)
                return too_little(limit_nbytes, err);
        return too_little_for_these(limit_nbytes, err);
}

template <class Key>
struct kc_gpu_encoder_caps kc_gpu_plan_encoder(int nthreads, uint64_t npairs, size_t device_nbytes,
                                               size_t host_nbytes)
{
        struct kc_gpu_encoder_caps caps = {};
        caps.max_pairs = MAX_RANGE_PAIRS;
        caps.part_pairs = MAX_PART_PAIRS;
        caps.nslots = larger(smaller(nthreads + 4, (int)MAX_SLOTS), (int)MIN_SLOTS);
        if (npairs != 0) {
                caps.max_pairs = smaller(caps.max_pairs, (size_t)npairs);
                caps.part_pairs =
                        smaller(caps.part_pairs, (size_t)(npairs / (unsigned)caps.nslots));
        }
        caps.max_pairs = larger(caps.max_pairs, (size_t)MIN_RANGE_PAIRS);
        caps.part_pairs = larger(caps.part_pairs, (size_t)MIN_PART_PAIRS);
        while (caps.max_pairs > MIN_RANGE_PAIRS &&
               kc_gpu_encoder_nbytes<Key>(caps.max_pairs) > device_nbytes)
                caps.max_pairs = larger(caps.max_pairs / 2, (size_t)MIN_RANGE_PAIRS);
        while (caps.part_pairs > MIN_PART_PAIRS &&
               kc_gpu_encoder_pinned_nbytes<Key>(&caps) > host_nbytes)
                caps.part_pairs = larger(caps.part_pairs / 2, (size_t)MIN_PART_PAIRS);
        while (caps.nslots > MIN_SLOTS && kc_gpu_encoder_pinned_nbytes<Key>(&caps) > host_nbytes)
                caps.nslots--;
        return caps;
}

template <class Key>
enum kc_status kc_gpu_plan_parts(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 size_t limit_nbytes, struct kc_error *err)
{
        plan->parts = kc_gpu_plan_encoder<Key>(params->nthreads, params->expected_nbases,
                                               parts_nbytes(limit_nbytes),
                                               (size_t)params->memory_nbytes / 4);
        if (kc_gpu_encoder_nbytes<Key>(plan->parts.max_pairs) > parts_nbytes(limit_nbytes))
                return too_little(limit_nbytes, err);
        size_t feed = (size_t)params->nthreads * kc_gpu_feed_worker_nbytes(plan->host_words);
        size_t taken = feed + kc_gpu_encoder_pinned_nbytes<Key>(&plan->parts) + LSM_NBYTES;
        plan->host_nbytes = plan->pinned_nbytes > taken ? (size_t)plan->pinned_nbytes - taken : 0;
        return KC_OK;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_plan_batch<Key>( \
                struct kc_gpu_plan *, const struct kc_count_params *, size_t, struct kc_error *); \
        template enum kc_status kc_gpu_plan_parts<Key>( \
                struct kc_gpu_plan *, const struct kc_count_params *, size_t, struct kc_error *); \
        template struct kc_gpu_encoder_caps kc_gpu_plan_encoder<Key>(int, uint64_t, size_t, size_t);
KC_GPU_KEYS(INSTANTIATE)
