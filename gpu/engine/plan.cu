#include "gpu/engine/plan.cuh"
#include "kmer/remedy.h"

#include <algorithm>

#define MIB ((size_t)1 << 20)

enum {
        MIN_TOP_NBASES = 1 << 20,
        BUFFERS = 8,                /* to fill at least, so that reading and uploading overlap */
        FIXED_MIB = 64,             /* of device memory, for passes over any input */
        MIN_RANGE_PAIRS = 64 << 10, /* encoded at a time */
        MAX_RANGE_PAIRS = 16 << 20, /* what the LSM merges at a time */
        MIN_PART_PAIRS = 64 << 10,
        MAX_PART_PAIRS = 512 << 10, /* small enough that every thread has parts to write */
        MIN_SLOTS = 3,
        USUAL_SLOTS = 24,
        MAX_SLOTS = 64,
        LSM_NBYTES = 16 << 20, /* host memory of the reads and the LSM besides their contents */
        LEAST_LIMIT_MIB = 256, /* enough to count with any other parameters */
        FEW_WALKS = 4, /* over the reads. With fewer, the records of a walk would take the room of
                          runs, and moving these to the host takes longer than a walk. The same for
                          every input, because a walk's time and its records grow together */
        GOOD_PASS_BITS = 30, /* k-mers of a pass that is large enough to be fast */
        MAX_RUN_PAIRS = 1 << 30,
        NKMERS_PER_PAIR = 8,      /* k-mers for each distinct one; 6 at coverage 32 with 0.5 %
                                     errors */
        NKMERS_PER_FREQUENT = 32, /* for each distinct one that is seen more than once, likewise */
        MAX_AHEAD_MIB = 16 << 10,
};

/* ---- what depends on the width of a key ---- */

static size_t run_nbytes(int k, size_t npairs)
{
        return kc_key_choose(k, [&](auto key) { return kc_gpu_run_nbytes<decltype(key)>(npairs); });
}

static size_t encoder_nbytes(int k, size_t max_pairs)
{
        return kc_key_choose(
                k, [&](auto key) { return kc_gpu_encoder_nbytes<decltype(key)>(max_pairs); });
}

static size_t encoder_pinned_nbytes(int k, const struct kc_gpu_encoder_caps *caps)
{
        return kc_key_choose(
                k, [&](auto key) { return kc_gpu_encoder_pinned_nbytes<decltype(key)>(caps); });
}

static uint64_t counter_max_nkmers(const struct kc_superkmer_setup *superkmers)
{
        return kc_key_choose(superkmers->k, [&](auto key) {
                return kc_gpu_counter_max_nkmers<decltype(key)>(superkmers->form.position_bits);
        });
}

static size_t arenas_nbytes(const struct kc_gpu_plan_input *input)
{
        return kc_key_choose(input->superkmers->k, [&](auto key) {
                return kc_gpu_counter_arenas_nbytes<decltype(key)>(input->table);
        });
}

size_t kc_gpu_plan_counter_nbytes(const struct kc_gpu_plan_input *input,
                                  const struct kc_gpu_counter_caps *caps)
{
        return kc_key_choose(input->superkmers->k, [&](auto key) {
                return kc_gpu_counter_nbytes<decltype(key)>(input->table, caps);
        });
}

size_t kc_gpu_plan_run_room(int k, uint64_t npairs)
{
        const size_t sorting = (size_t)48 << 20;
        return run_nbytes(k, npairs / 8 * 9 + 9) + sorting;
}

/* ---- buffers and parts ---- */

static uint64_t top_nbases(uint64_t expected, uint64_t wanted)
{
        uint64_t top = KC_CHUNK_NBASES;
        if (wanted != 0)
                top = std::max(wanted, (uint64_t)32 * KC_BATCH_MIN_WORDS);
        else if (expected != 0)
                top = std::max(expected / BUFFERS, (uint64_t)MIN_TOP_NBASES);
        return std::min(top, (uint64_t)KC_CHUNK_NBASES);
}

void kc_gpu_plan_host(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                      const struct kc_gpu_params *gpu_params)
{
        *plan = {};
        plan->nks = 1;
        plan->ndevices = 1;
        plan->top_nbases = top_nbases(params->expected_nbases, gpu_params->batch_nkmers);
        plan->top_nkmers = gpu_params->batch_nkmers != 0 ? gpu_params->batch_nkmers : UINT64_MAX;
        plan->pinned_nbytes = params->memory_nbytes;
        if (gpu_params->pinned_nbytes != 0)
                plan->pinned_nbytes =
                        std::min(plan->pinned_nbytes, (uint64_t)gpu_params->pinned_nbytes);
        plan->host_words = kc_gpu_feed_plan_words((size_t)params->memory_nbytes / 4,
                                                  params->nthreads, plan->top_nbases);
}

/* Most device memory for the encoder. */
static size_t parts_nbytes(size_t limit_nbytes)
{
        return limit_nbytes / 8;
}

/* Counts the buffers, and the memory in which the reads of one of them are packed. */
static bool fits(const struct kc_gpu_feed_caps *caps, int nks, size_t limit_nbytes)
{
        return kc_gpu_feed_nbytes(caps) + kc_gpu_kept_nbytes(caps->nbases, caps->nspans, nks) <=
               limit_nbytes / 8;
}

/* Add buffers while they take only a small part of the device memory. */
static void add_buffers(struct kc_gpu_feed_caps *caps, int nks, size_t limit_nbytes)
{
        struct kc_gpu_feed_caps more = *caps;
        while (++more.nbuffers <= KC_FEED_MAX_BUFFERS &&
               kc_gpu_feed_nbytes(&more) <= limit_nbytes / 16 && fits(&more, nks, limit_nbytes))
                *caps = more;
}

size_t kc_gpu_plan_kept_nbytes(size_t limit_nbytes)
{
        const size_t fixed = 2 * FIXED_MIB * MIB, most = limit_nbytes / 10 * 7;
        const size_t usual = (limit_nbytes - std::min(limit_nbytes, fixed)) / 20 * 11;
        return std::max(usual, most - std::min(most, 2 * fixed));
}

size_t kc_gpu_plan_reads_nbytes(uint64_t nbases)
{
        return nbases / 100 * 27;
}

static enum kc_status too_little(size_t limit_nbytes, struct kc_error *err)
{
        return kc_fail_remedy(err, KC_ENOMEM, KC_REMEDY_MORE_GPU_MEMORY | KC_REMEDY_CPU,
                              "%zu MiB of device memory is too little to count",
                              limit_nbytes / MIB);
}

enum kc_status kc_gpu_plan_buffers(struct kc_gpu_plan *plan, size_t limit_nbytes,
                                   struct kc_error *err)
{
        uint64_t nbases = plan->top_nbases, least = kc_gpu_feed_least(plan->host_words).nbases;
        struct kc_gpu_feed_caps caps = kc_gpu_feed_plan_caps(nbases, plan->host_words);
        while (nbases > least && !fits(&caps, plan->nks, limit_nbytes)) {
                nbases = std::max(nbases / 4 * 3, least);
                caps = kc_gpu_feed_plan_caps(nbases, plan->host_words);
        }
        if (!fits(&caps, plan->nks, limit_nbytes) || limit_nbytes < LEAST_LIMIT_MIB * MIB)
                return too_little(limit_nbytes, err);
        add_buffers(&caps, plan->nks, limit_nbytes);
        plan->buffers = caps;
        plan->kept_nbytes = kc_gpu_plan_kept_nbytes(limit_nbytes);
        return KC_OK;
}

/* Enough slots that the driver can put a whole range into them, and encode the next, while each
 * writer has a part. With little memory, longer parts are worth more than slots. */
static void add_slots(struct kc_gpu_encoder_caps *caps, int k, int nthreads, size_t host_nbytes)
{
        struct kc_gpu_encoder_caps more = *caps;
        const size_t enough = kc_ceil_div(caps->max_pairs, caps->part_pairs) + (size_t)nthreads;
        while ((size_t)++more.nslots <= std::min(enough, (size_t)MAX_SLOTS) &&
               encoder_pinned_nbytes(k, &more) <= host_nbytes / 2)
                *caps = more;
}

struct kc_gpu_encoder_caps kc_gpu_plan_encoder(int k, int nthreads, uint64_t npairs,
                                               size_t device_nbytes, size_t host_nbytes)
{
        struct kc_gpu_encoder_caps caps = {};
        caps.max_pairs = MAX_RANGE_PAIRS;
        caps.part_pairs = MAX_PART_PAIRS;
        caps.nslots = std::max(std::min(nthreads + 4, (int)USUAL_SLOTS), (int)MIN_SLOTS);
        if (npairs != 0) {
                caps.max_pairs = std::min(caps.max_pairs, (size_t)npairs);
                caps.part_pairs =
                        std::min(caps.part_pairs, (size_t)(npairs / (unsigned)caps.nslots));
        }
        caps.max_pairs = std::max(caps.max_pairs, (size_t)MIN_RANGE_PAIRS);
        caps.part_pairs = std::max(caps.part_pairs, (size_t)MIN_PART_PAIRS);
        while (caps.max_pairs > MIN_RANGE_PAIRS &&
               encoder_nbytes(k, caps.max_pairs) > device_nbytes)
                caps.max_pairs = std::max(caps.max_pairs / 2, (size_t)MIN_RANGE_PAIRS);
        while (caps.part_pairs > MIN_PART_PAIRS && encoder_pinned_nbytes(k, &caps) > host_nbytes)
                caps.part_pairs = std::max(caps.part_pairs / 2, (size_t)MIN_PART_PAIRS);
        while (caps.nslots > MIN_SLOTS && encoder_pinned_nbytes(k, &caps) > host_nbytes)
                caps.nslots--;
        add_slots(&caps, k, nthreads, host_nbytes);
        return caps;
}

enum kc_status kc_gpu_plan_parts(struct kc_gpu_plan *plan, const struct kc_count_params *params,
                                 int k, size_t limit_nbytes, struct kc_error *err)
{
        const size_t ndevices = (size_t)plan->ndevices;
        plan->parts = kc_gpu_plan_encoder(k, params->nthreads, params->expected_nbases,
                                          parts_nbytes(limit_nbytes),
                                          (size_t)params->memory_nbytes / 4 / ndevices);
        if (encoder_nbytes(k, plan->parts.max_pairs) > parts_nbytes(limit_nbytes))
                return too_little(limit_nbytes, err);
        size_t feed = (size_t)params->nthreads * kc_gpu_feed_worker_nbytes(plan->host_words);
        size_t taken = feed + ndevices * encoder_pinned_nbytes(k, &plan->parts) + LSM_NBYTES;
        plan->host_nbytes = plan->pinned_nbytes > taken ? (size_t)plan->pinned_nbytes - taken : 0;
        return KC_OK;
}

uint64_t kc_gpu_plan_expected_pairs(int k, uint64_t nkmers, bool drops_rare, uint64_t memory_nbytes)
{
        const uint64_t npairs = nkmers / (drops_rare ? NKMERS_PER_FREQUENT : NKMERS_PER_PAIR);
        const uint64_t nbytes = std::min(memory_nbytes / 4, (uint64_t)MAX_AHEAD_MIB * MIB);
        const uint64_t each =
                (uint64_t)kc_kmer_nwords(k) * 4; /* about what a pair takes in a file */
        return std::min(npairs, nbytes / each);
}

/* ---- passes ---- */

/* How many k-mers the records of a pass make: more than the average, because loads differ and
 * totals are estimates. */
static uint64_t nkmers_of(const struct kc_load *total, uint64_t nrecords)
{
        const uint64_t each = total->nkmers / (total->nrecords + 1) + 1;
        return std::min(total->nkmers, nrecords * each) / 4 * 5 + 1;
}

/* Of all reads, with a margin, because passes differ and totals are estimates. */
static uint64_t all_records(const struct kc_gpu_plan_input *input)
{
        return input->total.nrecords + input->total.nrecords / 16 + KC_GPU_MIN_RECORDS;
}

/* Whether walks of npasses passes fit in nbytes, if each pass has n records and one of nparts parts
 * of the k-mers. */
static bool fits_walk(const struct kc_gpu_plan_input *input, int npasses, uint64_t nparts,
                      uint64_t n, size_t nbytes)
{
        const uint64_t each =
                kc_gpu_counter_record_nwords(input->superkmers, npasses, input->copies);
        return n <= nbytes / (8 * each + 1) && /* one byte to sort a record */
               input->total.nkmers / nparts / 16 * 17 <= counter_max_nkmers(input->superkmers);
}

/* Passes of each of nwalks walks: as many as have enough k-mers each. */
static int walk_npasses(const struct kc_gpu_plan_input *input, uint64_t nwalks)
{
        const uint64_t n = (input->total.nkmers / nwalks) >> GOOD_PASS_BITS;
        if (input->walk_npasses != 0)
                return input->walk_npasses;
        const int most = std::min((int)KC_GPU_MAX_WALK_PASSES,
                                  (int)KC_MAX_RECORD_LISTS / std::max(input->ndevices, 1));
        return (int)std::min(std::max(n, UINT64_C(1)), (uint64_t)most);
}

/*
 * The records of a pass, for the least number of walks over reads that are on the device. Many
 * small passes in a walk take less memory than a few large ones: of their lists, only the spare one
 * is empty after a walk.
 *   nbytes   for records, at most
 *   spare    how many of these bytes the expected runs leave
 *   npasses  out: of a walk
 */
static uint64_t divide_records(const struct kc_gpu_plan_input *input, size_t nbytes, size_t spare,
                               int *npasses)
{
        const uint64_t all = all_records(input);
        uint64_t nwalks = all / (nbytes / 8 + 1) + 1, n;
        *npasses = 1;
        if (input->walk_npasses == 0 && fits_walk(input, 1, 1, all, nbytes))
                return all;
        for (;; nwalks += nwalks / 16 + 1) {
                *npasses = walk_npasses(input, nwalks);
                const uint64_t nparts = nwalks * (uint64_t)*npasses;
                n = all / nparts + 1;
                if (n <= KC_GPU_MIN_RECORDS ||
                    fits_walk(input, *npasses, nparts, n,
                              nwalks < FEW_WALKS ? std::min(spare, nbytes) : nbytes))
                        return n;
        }
}

/* Plan the records. room: for everything; nbytes: for records, at most; pairs_nbytes: for pairs */
static void plan_records(const struct kc_gpu_plan_input *input, size_t room, size_t nbytes,
                         size_t pairs_nbytes, struct kc_gpu_counter_caps *caps)
{
        const struct kc_superkmer_setup *superkmers = input->superkmers;
        const uint64_t with_copies = kc_gpu_counter_record_nwords(superkmers, 1, true);
        const uint64_t npairs =
                input->total.nkmers / (input->drops_rare ? NKMERS_PER_FREQUENT : NKMERS_PER_PAIR);
        const size_t runs = run_nbytes(superkmers->k, npairs) + pairs_nbytes;
        uint64_t n = std::min(nbytes / (8 * with_copies + 1), all_records(input));
        caps->npasses = 1;
        if (!input->copies) /* otherwise a pass reads everything over the bus */
                n = divide_records(input, nbytes, room - std::min(room, runs), &caps->npasses);
        n = std::max(std::min(n, input->top_nkmers), (uint64_t)KC_GPU_MIN_RECORDS);
        caps->nwords =
                std::max(n * kc_gpu_counter_record_nwords(superkmers, caps->npasses, input->copies),
                         with_copies * KC_GPU_MIN_RECORDS);
        caps->nkmers = std::min(nkmers_of(&input->total, n),
                                std::min(counter_max_nkmers(superkmers), input->top_nkmers));
        caps->position_bits = superkmers->form.position_bits;
        caps->total_nkmers = input->total.nkmers / 4 * 5 + 1;
}

/* Most pairs in a run. If most k-mers are dropped, one run is to hold all pairs of a pass. */
static uint64_t run_npairs(const struct kc_gpu_plan_input *input, uint64_t pass_nkmers,
                           size_t nbytes)
{
        const uint64_t expected = input->drops_rare ? pass_nkmers / 16 : input->total.nkmers / 2;
        const uint64_t n = std::min((uint64_t)nbytes / (2 * run_nbytes(input->superkmers->k, 1)),
                                    std::min(expected, (uint64_t)MAX_RUN_PAIRS));
        return std::max(n, (uint64_t)KC_GPU_MIN_PAIRS);
}

/* Of the room, records take 5/8 and pairs 1/8 if most k-mers are dropped, 2/5 and 1/4 otherwise;
 * the rest is for runs. */
enum kc_status kc_gpu_plan_counter(const struct kc_gpu_plan_input *input, size_t room_nbytes,
                                   struct kc_gpu_counter_caps *caps, struct kc_error *err)
{
        const size_t fixed = FIXED_MIB * MIB + arenas_nbytes(input);
        const size_t room = room_nbytes > fixed ? room_nbytes - fixed : 0;
        const bool rare = input->drops_rare;
        const size_t pairs = rare ? room / 8 : room / 4;
        *caps = {};
        plan_records(input, room, rare ? room / 8 * 5 : room / 5 * 2, pairs, caps);
        caps->npairs = run_npairs(input, caps->nkmers, pairs);
        if (kc_gpu_plan_counter_nbytes(input, caps) +
                    kc_gpu_plan_run_room(input->superkmers->k, caps->npairs) >
            room_nbytes)
                return too_little(room_nbytes, err);
        return KC_OK;
}

/* With a margin, because loads are estimated from a sample. */
static bool fits_pass(const struct kc_load *load, const struct kc_load *most)
{
        return load->nrecords <= most->nrecords / 32 * 31 && load->nkmers <= most->nkmers;
}

struct kc_gpu_share kc_gpu_plan_points(const struct kc_gpu_params *gpu_params)
{
        const size_t i = (size_t)gpu_params->engine, n = (size_t)gpu_params->nengines;
        if (n <= 1)
                return KC_GPU_ALL_POINTS;
        return { i * KC_NLOADS / n, (i + 1) * KC_NLOADS / n };
}

size_t kc_gpu_plan_shares(const struct kc_load *loads, const struct kc_gpu_share *points, size_t n,
                          struct kc_gpu_share *shares)
{
        size_t nshares = 0, first = points->first;
        uint64_t left = 0, share = 0; /* k-mers without a share yet; in the current share */
        for (size_t i = points->first; i < points->end; i++)
                left += loads[i].nkmers;
        for (size_t i = points->first; i < points->end; i++) {
                const uint64_t part = left / (n - nshares);
                if (nshares + 1 < n && share > 0 && share < left &&
                    share + loads[i].nkmers / 2 >= part) {
                        shares[nshares++] = { first, i };
                        first = i;
                        left -= share;
                        share = 0;
                }
                share += loads[i].nkmers;
        }
        shares[nshares++] = { first, points->end };
        return nshares;
}

static struct kc_gpu_pass pass_of(size_t first, size_t end, uint64_t nkmers, uint64_t total)
{
        return { (uint32_t)first << KC_LOAD_SHIFT, (uint32_t)(end - first) << KC_LOAD_SHIFT, nkmers,
                 total };
}

size_t kc_gpu_plan_passes(const struct kc_load *loads, const struct kc_gpu_share *share,
                          const struct kc_load *most, struct kc_gpu_pass *passes)
{
        size_t n = 0, first = share->first;
        uint64_t total = 0;
        struct kc_load pass = {};
        for (size_t i = first; i < share->end; i++)
                total += loads[i].nkmers;
        for (size_t i = first; i < share->end; i++) {
                struct kc_load more = { pass.nrecords + loads[i].nrecords,
                                        pass.nkmers + loads[i].nkmers };
                if (i > first && !fits_pass(&more, most)) {
                        passes[n++] = pass_of(first, i, pass.nkmers, total);
                        first = i;
                        more = loads[i];
                }
                pass = more;
        }
        passes[n++] = pass_of(first, share->end, pass.nkmers, total);
        return n;
}
