/*
 * A warp decodes a block, in rows of 32 pairs. What can only be found by scanning goes to shared
 * memory first: the high parts, which are stored as positions of set bits, and the counts, because
 * exceptions come last.
 */
#include "gpu/blocks/decode.cuh"

#include "gpu/blocks/layout.cuh"
#include "gpu/device/warp.cuh"

enum { THREADS = 128, WARPS = THREADS / 32, GRID_PER_PROCESSOR = 8 };

namespace
{

/* A warp's scratch memory for the block that it decodes. */
struct scratch {
        uint16_t high[KC_BLOCK_NKMERS];
        uint32_t counts[KC_BLOCK_NKMERS];
};

} // namespace

static __device__ uint32_t sum_of_lanes(uint32_t x)
{
        return __shfl_sync(UINT32_MAX, kc_warp_scan(x), 31);
}

static __device__ bool all_lanes(bool predicate)
{
        return __ballot_sync(UINT32_MAX, predicate) == UINT32_MAX;
}

static __device__ uint64_t shuffle_up(uint64_t x)
{
        return __shfl_up_sync(UINT32_MAX, x, 1);
}

static __device__ kc_key128 shuffle_up(kc_key128 x)
{
        return (kc_key128)shuffle_up((uint64_t)(x >> 64)) << 64 | shuffle_up((uint64_t)x);
}

template <int N> static __device__ kc_key_wide<N> shuffle_up(kc_key_wide<N> x)
{
        for (uint64_t &word : x.words)
                word = shuffle_up(word);
        return x;
}

static __device__ uint64_t from_last_lane(uint64_t x)
{
        return __shfl_sync(UINT32_MAX, x, 31);
}

static __device__ kc_key128 from_last_lane(kc_key128 x)
{
        return (kc_key128)from_last_lane((uint64_t)(x >> 64)) << 64 | from_last_lane((uint64_t)x);
}

template <int N> static __device__ kc_key_wide<N> from_last_lane(kc_key_wide<N> x)
{
        for (uint64_t &word : x.words)
                word = from_last_lane(word);
        return x;
}

/* Field i of a section of fields of nbits (below 64) each; also reads the word after the one in
 * which the field starts. */
static __device__ uint64_t get_field(const uint64_t *section, uint32_t i, uint32_t nbits)
{
        const uint32_t at = i * nbits, shift = at % 64;
        const uint64_t *word = section + at / 64;
        return kc_block_low(word[0] >> shift | word[1] << 1 << (63 - shift), nbits);
}

/* ---- the sections; false if a section is malformed ---- */

/* Read the head: all of the plan but nbig. */
template <class Key>
static __device__ bool read_head(const uint64_t *words, uint32_t nwords, uint32_t n,
                                 struct kc_block_plan *plan)
{
        *plan = kc_block_plan_of(words[0], nwords);
        return plan->n == n && plan->low_nbits < 8 * sizeof(Key) && plan->width <= 32 &&
               plan->high_words >= 1 && plan->high_words <= KC_BLOCK_HIGH_WORDS &&
               kc_block_counts_at(plan) + plan->nexceptions <= nwords;
}

/* Convert the set bits of word w of the high bits, `rank` of which precede it, to high parts. */
static __device__ void put_highs(uint64_t word, uint32_t w, uint32_t rank, uint16_t *high)
{
        for (; word != 0; word &= word - 1, rank++)
                high[rank] = (uint16_t)(64 * w + (uint32_t)__ffsll((long long)word) - 1 - rank);
}

static __device__ bool read_highs(const uint64_t *section, const struct kc_block_plan *plan,
                                  uint16_t *high)
{
        const uint32_t lane = kc_warp_lane(), nwords = plan->high_words;
        const uint64_t low = lane < nwords ? section[lane] : 0;
        const uint64_t top = lane + 32 < nwords ? section[lane + 32] : 0;
        const uint32_t nlow = (uint32_t)__popcll((unsigned long long)low);
        const uint32_t ntop = (uint32_t)__popcll((unsigned long long)top);
        const uint32_t all_low = sum_of_lanes(nlow);
        if (all_low + sum_of_lanes(ntop) != plan->n)
                return false;
        put_highs(low, lane, kc_warp_scan(nlow) - nlow, high);
        put_highs(top, lane + 32, all_low + kc_warp_scan(ntop) - ntop, high);
        return true;
}

namespace
{

/* Lane r holds row r of the bitmap, and how many bits are set before that row. */
struct bitmap {
        uint32_t row, rank;
};

} // namespace

static __device__ bool read_bitmap(const uint64_t *words, struct kc_block_plan *plan,
                                   struct bitmap *bitmap)
{
        const uint32_t lane = kc_warp_lane(), n = plan->n;
        const uint32_t *halves = (const uint32_t *)(words + kc_block_bitmap_at(plan));
        const uint32_t left = 32 * lane < n ? n - 32 * lane : 0;
        bitmap->row = lane < 2 * kc_block_words_for(n) ? halves[lane] : 0;
        const uint32_t count = (uint32_t)__popc(bitmap->row);
        bitmap->rank = kc_warp_scan(count) - count;
        plan->nbig = sum_of_lanes(count);
        return all_lanes(left >= 32 || bitmap->row >> left == 0) &&
               plan->nwords == kc_block_counts_at(plan) +
                                       kc_block_words_for(plan->nbig * plan->width) +
                                       plan->nexceptions;
}

static __device__ bool read_counts(const uint64_t *words, const struct kc_block_plan *plan,
                                   const struct bitmap *bitmap, uint32_t *counts)
{
        const uint32_t lane = kc_warp_lane();
        const uint64_t *fields = words + kc_block_counts_at(plan);
        const uint64_t *exceptions = words + plan->nwords - plan->nexceptions;
        bool sound = true;
        for (uint32_t row = 0; 32 * row < plan->n; row++) {
                const uint32_t big = __shfl_sync(UINT32_MAX, bitmap->row, (int)row);
                const uint32_t rank = __shfl_sync(UINT32_MAX, bitmap->rank, (int)row);
                uint32_t count = 1;
                if (big >> lane & 1)
                        count = 2 +
                                (uint32_t)get_field(fields, rank + kc_warp_rank(big), plan->width);
                counts[32 * row + lane] = count;
        }
        __syncwarp();
        for (uint32_t e = lane; e < plan->nexceptions; e += 32) {
                const uint64_t at = exceptions[e] >> 32;
                sound &= at < plan->n;
                if (at < plan->n)
                        counts[at] = (uint32_t)exceptions[e];
        }
        __syncwarp();
        return all_lanes(sound);
}

/* ---- pairs ---- */

namespace
{

/* What is reported of a block's pairs. */
struct found {
        uint32_t nbelow_from, nbelow_end;
        uint64_t sum; /* over the lane's pairs */
};

} // namespace

/* The low bits of k-mer i: a field above words from the planes. */
template <class Key>
static __device__ Key get_low(const uint64_t *words, const struct kc_block_plan *plan, uint32_t i)
{
        enum { NWORDS = sizeof(Key) / 8 };
        const uint32_t nplanes = plan->low_nbits / 64;
        const uint64_t field = get_field(words + kc_block_fields_at(plan), i, plan->low_nbits % 64);
        uint64_t parts[NWORDS];
        Key low;
        for (uint32_t j = 0; j < NWORDS; j++)
                parts[j] = j + 1 < NWORDS && j < nplanes ? words[kc_block_plane_at(plan, j) + i]
                           : j == nplanes                ? field
                                                         : 0;
        kc_key_set(&low, parts);
        return low;
}

/* The k-mer, from the parts of its value. */
template <class Key>
static __device__ Key assemble(const uint64_t *words, const struct kc_block_plan *plan, uint32_t i,
                               uint32_t high, Key first)
{
        return first + (get_low<Key>(words, plan, i) | (Key)high << (int)plan->low_nbits);
}

/* Write all pairs of a block, and check that they ascend, and stay below `next`. */
template <class Key, class Value>
static __device__ bool put_pairs(const struct kc_decode_range<Key> *range, size_t b,
                                 const struct kc_block_plan *plan, const struct scratch *scratch,
                                 const struct kc_gpu_run<Key, Value> *to, struct found *found)
{
        const struct kc_decode_block<Key> *block = &range->blocks[b];
        const struct kc_decode_run *run = &range->runs[block->run];
        const bool has_next = b + 1 < range->nblocks && block[1].run == block->run;
        const uint32_t lane = kc_warp_lane();
        bool sound = true;
        Key carried = 0; /* the last k-mer of the previous row */
        for (uint32_t row = 0; 32 * row < plan->n; row++) {
                const uint32_t i = 32 * row + lane;
                const bool is_one = i < plan->n;
                const uint32_t count = scratch->counts[i] & run->count_mask;
                Key kmer = 0;
                if (is_one)
                        kmer = assemble(range->words + block->at, plan, i, scratch->high[i],
                                        block->first);
                const Key up = shuffle_up(kmer), before = lane > 0 ? up : carried;
                carried = from_last_lane(kmer);
                if (is_one) {
                        sound &= i == 0 ? kmer == block->first : kmer > before;
                        sound &= i + 1 < plan->n || !has_next || kmer < block[1].first;
                        sound &= scratch->counts[i] > 0;
                        to->kmers[b * KC_BLOCK_NKMERS + i] = kmer;
                        to->counts[b * KC_BLOCK_NKMERS + i] = (Value)(count | run->mark);
                }
                const bool is_below_from = kmer < range->from;
                const bool is_below_end = !range->has_end || kmer < range->end;
                found->nbelow_from +=
                        (uint32_t)__popc(__ballot_sync(UINT32_MAX, is_one && is_below_from));
                found->nbelow_end +=
                        (uint32_t)__popc(__ballot_sync(UINT32_MAX, is_one && is_below_end));
                found->sum += is_one && !is_below_from && is_below_end ? count : 0;
        }
        return all_lanes(sound);
}

static __device__ void report_run(struct kc_decode_run *run, const struct found *found)
{
        uint64_t sum = found->sum;
        for (int d = 16; d > 0; d /= 2)
                sum += __shfl_xor_sync(UINT32_MAX, sum, d);
        if (kc_warp_lane() != 0)
                return;
        atomicAdd(&run->nbelow_from, (unsigned long long)found->nbelow_from);
        atomicAdd(&run->nbelow_end, (unsigned long long)found->nbelow_end);
        atomicAdd(&run->sum, (unsigned long long)sum);
}

template <class Key, class Value>
static __device__ bool decode_block(const struct kc_decode_range<Key> *range, size_t b,
                                    struct scratch *scratch,
                                    const struct kc_gpu_run<Key, Value> *to)
{
        const struct kc_decode_block<Key> *block = &range->blocks[b];
        const uint64_t *words = range->words + block->at;
        struct kc_block_plan plan;
        struct bitmap bitmap;
        struct found found = {};
        const bool sound = read_head<Key>(words, block->nwords, block->n, &plan) &&
                           read_highs(words + 1, &plan, scratch->high) &&
                           read_bitmap(words, &plan, &bitmap) &&
                           read_counts(words, &plan, &bitmap, scratch->counts) &&
                           put_pairs(range, b, &plan, scratch, to, &found);
        if (sound)
                report_run(&range->runs[block->run], &found);
        __syncwarp(); /* before the scratch is reused for another block */
        return sound;
}

template <class Key, class Value>
static __global__ void __launch_bounds__(THREADS)
        decode_blocks_kernel(struct kc_decode_range<Key> range, struct kc_gpu_run<Key, Value> to,
                             unsigned long long *refused)
{
        __shared__ struct scratch scratch[WARPS];
        const size_t nwarps = (size_t)gridDim.x * WARPS;
        size_t b = (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
        for (; b < range.nblocks; b += nwarps)
                if (!decode_block(&range, b, &scratch[threadIdx.x / 32], &to) &&
                    kc_warp_lane() == 0)
                        atomicMax(refused, (unsigned long long)(range.nblocks - b));
}

template <class Key, class Value>
enum kc_status kc_gpu_decode(struct kc_gpu *gpu, const struct kc_decode_range<Key> *range,
                             const struct kc_gpu_run<Key, Value> *pairs,
                             unsigned long long *refused, struct kc_error *err)
{
        enum kc_status status;
        const unsigned most = (unsigned)gpu->nmultiprocessors * GRID_PER_PROCESSOR;
        const unsigned wanted = kc_ceil_div(range->nblocks, WARPS),
                       grid = wanted < most ? wanted : most;
        KC_TRY(KC_CUDA(cudaMemsetAsync(refused, 0, sizeof *refused, gpu->stream)));
        if (range->nblocks == 0)
                return KC_OK;
        decode_blocks_kernel<<<grid, THREADS, 0, gpu->stream>>>(*range, *pairs, refused);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

#define INSTANTIATE_FOR(Key, Value) \
        template enum kc_status kc_gpu_decode( \
                struct kc_gpu *, const struct kc_decode_range<Key> *, \
                const struct kc_gpu_run<Key, Value> *, unsigned long long *, struct kc_error *);
#define INSTANTIATE(Key) INSTANTIATE_FOR(Key, uint32_t) INSTANTIATE_FOR(Key, uint64_t)
KC_GPU_KEYS(INSTANTIATE)
