#include "gpu/plan.cuh"

#include "gpu/count.cuh"
#include "gpu/encode.cuh"

#define MIB ((size_t)1 << 20)
#define MOST_NKMERS (UINT64_C(1) << 31) /* in a batch: its words have numbers of 32 bits */

enum {
        MAX_BATCH_MIB_NKMERS = 512, /* k-mers in a batch: larger ones make fewer runs to merge, and
                                       leave more to be done after the last read */
        MIN_BATCH_MIB_NKMERS = 64,  /* unless memory asks for less */
        MIN_TOP_NKMERS = 1 << 20,
        BATCHES = 4,                /* at least, so that reading and counting overlap */
        NKMERS_PER_WORD = 16,       /* 17 to 24 at 150 bases a read, 32 in long ones */
        NKMERS_PER_SPAN = 64,       /* 87 to 128, likewise */
        MAX_SLOT_WORDS = 512 << 10, /* 4 MiB: copies reach full speed */
        MAX_SLOTS_MIB = 1024,       /* of all workers */
        LIMIT_PER_SLOT_WORD = 16384, /* bytes of the bound, so that a slot's reads fit a batch */
        MIN_PART_PAIRS = 64 << 10,
        MAX_PART_PAIRS = 1 << 20,
        MIN_SLOTS = 3,
        MAX_SLOTS = 24,
        LSM_NBYTES = 8 << 20, /* that the LSM takes of the host beside runs */
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
        plan->expected_nkmers = params->expected_nbases;
        plan->top_nkmers = top_nkmers(params->expected_nbases, gpu_params->batch_nkmers);
        size_t nslots = (size_t)params->nthreads * KC_FEED_NSLOTS;
        size_t slot_nbytes =
                smaller(MAX_SLOTS_MIB * MIB, (size_t)params->memory_nbytes / 4) / nslots;
        /* a slot takes 12 bytes a word */
        size_t words = smaller((size_t)MAX_SLOT_WORDS, slot_nbytes / 12);
        /* so that a batch gathers a few of each worker's, where there are enough */
        words = smaller(words, (size_t)(plan->top_nkmers / 64));
        if (gpu_params->memory_nbytes != 0)
                words = smaller(words, gpu_params->memory_nbytes / LIMIT_PER_SLOT_WORD);
        plan->slot_words = (uint32_t)larger(words, (size_t)KC_BATCH_MIN_WORDS);
}

/* Room in a batch for reads of usual lengths; others fill words or spans first. */
static struct kc_gpu_feed_caps caps_for(uint64_t nkmers, uint32_t slot_words)
{
        struct kc_gpu_feed_caps least = kc_gpu_feed_least(slot_words), caps = {};
        caps.nkmers = nkmers;
        caps.nwords = larger((size_t)(nkmers / NKMERS_PER_WORD), least.nwords);
        caps.nspans = larger((size_t)(nkmers / NKMERS_PER_SPAN), least.nspans);
        return caps;
}

template <class Key>
static void plan_parts(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                       size_t limit_nbytes)
{
        size_t bound = smaller(limit_nbytes / 8, (size_t)params->memory_nbytes / 4);
        int nslots = params->nthreads + 4;
        nslots = larger(smaller(nslots, (int)MAX_SLOTS), (int)MIN_SLOTS);
        size_t pairs = MAX_PART_PAIRS;
        if (plan->expected_nkmers != 0)
                pairs = smaller(pairs, (size_t)(plan->expected_nkmers / (unsigned)nslots));
        pairs = larger(pairs, (size_t)MIN_PART_PAIRS);
        while (pairs > MIN_PART_PAIRS && kc_gpu_encoder_nbytes<Key>(pairs, nslots) > bound)
                pairs = larger(pairs / 2, (size_t)MIN_PART_PAIRS);
        while (nslots > MIN_SLOTS && kc_gpu_encoder_nbytes<Key>(pairs, nslots) > bound)
                nslots--;
        plan->part_pairs = pairs;
        plan->nslots = nslots;
}

template <class Key>
static bool fits(const struct kc_gpu_feed_caps *caps, int k, size_t encoder_nbytes,
                 size_t limit_nbytes)
{
        size_t batch = kc_gpu_feed_nbytes(caps) + kc_gpu_counter_nbytes<Key>(k, caps->nkmers) +
                       encoder_nbytes;
        size_t run = kc_gpu_plan_room<Key>(caps->nkmers);
        return batch <= limit_nbytes / 2 && batch + run <= limit_nbytes / 4 * 3;
}

template <class Key>
enum kc_status kc_gpu_plan_device(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                  size_t limit_nbytes, bool blocks, struct kc_error *err)
{
        plan_parts<Key>(plan, params, limit_nbytes);
        size_t encoder =
                blocks ? kc_gpu_encoder_nbytes<Key>(plan->part_pairs, plan->nslots) : 0;
        uint64_t nkmers = plan->top_nkmers, least = kc_gpu_feed_least(plan->slot_words).nkmers;
        struct kc_gpu_feed_caps caps = caps_for(nkmers, plan->slot_words);
        while (nkmers > least && !fits<Key>(&caps, params->k, encoder, limit_nbytes)) {
                nkmers = larger(nkmers / 4 * 3, least);
                caps = caps_for(nkmers, plan->slot_words);
        }
        if (!fits<Key>(&caps, params->k, encoder, limit_nbytes))
                return kc_fail(err, KC_ENOMEM,
                               "%zu MiB of device memory are too little to count in; allow more "
                               "with --gpu-memory, or use --device cpu",
                               limit_nbytes / MIB);
        plan->batch = caps;
        size_t taken = (size_t)params->nthreads * KC_FEED_NSLOTS *
                               kc_gpu_feed_slot_nbytes(plan->slot_words) +
                       encoder + LSM_NBYTES;
        plan->host_nbytes =
                params->memory_nbytes > taken ? (size_t)params->memory_nbytes - taken : 0;
        return KC_OK;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_plan_device<Key>(struct kc_gpu_plan *, \
                                                        const struct kc_count_params *, size_t, \
                                                        bool, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
