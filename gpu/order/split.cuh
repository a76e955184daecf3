/*
 * Counting cells, planning splits and buckets, and moving pairs to them.
 */
#ifndef KC_GPU_ORDER_SPLIT_CUH
#define KC_GPU_ORDER_SPLIT_CUH

#include "gpu/order/common.cuh"

/* Counts the pairs in one of every `step` rows of NTHREADS pairs. */
template <class Key>
static __global__ void __launch_bounds__(NTHREADS)
        order_count_coarse_kernel(const Key *kmers, size_t n, int k, uint32_t step,
                                  uint32_t *coarse)
{
        __shared__ uint32_t counts[KC_ORDER_NCOARSE];
        const size_t swath = (size_t)kc_order_size<Key>::CAP * SWATH_NTILES * step;
        size_t begin = blockIdx.x * swath, end = n - begin < swath ? n : begin + swath;
        for (int i = threadIdx.x; i < KC_ORDER_NCOARSE; i += NTHREADS)
                counts[i] = 0;
        __syncthreads();
#pragma unroll 8
        for (size_t i = begin + threadIdx.x; i < end; i += NTHREADS * step)
                atomicAdd(&counts[kc_order_coarse(kmers[i], k)], 1);
        __syncthreads();
        for (int i = threadIdx.x; i < KC_ORDER_NCOARSE; i += NTHREADS)
                if (counts[i] != 0)
                        atomicAdd(&coarse[i], counts[i]);
}

template <class Key>
static __global__ void __launch_bounds__(NTHREADS)
        order_count_cells_kernel(const Key *packed, struct order_tables tables)
{
        __shared__ uint32_t counts[KC_ORDER_NLOCAL];
        __shared__ uint32_t found;
        for (int i = threadIdx.x; i < KC_ORDER_NLOCAL; i += NTHREADS)
                counts[i] = 0;
        struct swath_range range =
                find_swath(&tables, blockIdx.x, kc_order_size<Key>::CAP * SWATH_NTILES, &found);
        if (range.begin == range.end)
                return;
#pragma unroll 8
        for (uint32_t i = range.begin + threadIdx.x; i < range.end; i += NTHREADS)
                atomicAdd(&counts[kc_order_local(packed[i])], 1);
        __syncthreads();
        uint32_t prefix = kc_order_prefix(tables.splits[range.split]);
        uint32_t *cells = tables.cells + (size_t)prefix * KC_ORDER_NLOCAL;
        for (int i = threadIdx.x; i < KC_ORDER_NLOCAL; i += NTHREADS)
                if (counts[i] != 0)
                        atomicAdd(&cells[i], counts[i]);
}

/* ---- planning ---- */

/* The room for the pairs of coarse cells [begin, end). */
static __device__ uint32_t split_room(const uint32_t *coarse, uint32_t begin, uint32_t end,
                                      uint32_t step, uint32_t slack)
{
        uint32_t n = 0;
        for (uint32_t i = begin; i < end; i++)
                n += coarse[i];
        return step == 1 ? n : n + n / 32 + slack;
}

/* One block, one thread per prefix. One pair in `step` was counted. If step is not 1, each split
 * gets room for the number of pairs expected, for a thirty-second more, and for `slack` more. */
static __global__ void __launch_bounds__(PLAN_NTHREADS)
        order_plan_splits_kernel(struct order_tables tables, uint32_t max_pairs, uint32_t step,
                                 uint32_t slack)
{
        __shared__ uint32_t coarse[KC_ORDER_NCOARSE], sums[32];
        enum { PER_PREFIX = KC_ORDER_NCOARSE / KC_ORDER_NPREFIXES };
        uint32_t begin = threadIdx.x * PER_PREFIX, end = begin + PER_PREFIX;
        uint32_t n = 0, nsplits = 0, all;
        bool active = threadIdx.x < KC_ORDER_NPREFIXES;
        for (uint32_t i = threadIdx.x; i < KC_ORDER_NCOARSE; i += PLAN_NTHREADS)
                coarse[i] = tables.coarse[i] * step;
        __syncthreads();
        for (uint32_t i = begin; active && i < end; nsplits++) {
                uint32_t next = kc_order_split_end(coarse, i, end, max_pairs);
                n += split_room(coarse, i, next, step, slack);
                i = next;
        }
        uint32_t start = block_scan(n, sums, &all);
        uint32_t split = block_scan(nsplits, sums, &all);
        for (uint32_t i = begin; active && i < end; split++) {
                uint32_t next = kc_order_split_end(coarse, i, end, max_pairs);
                struct kc_order_bucket *s = &tables.splits[split];
                const uint32_t room = split_room(coarse, i, next, step, slack);
                *s = { start, room, i * KC_ORDER_PER_COARSE, (next - i) * KC_ORDER_PER_COARSE };
                tables.cursors[split * CURSOR_STRIDE] = start;
                for (; i < next; i++)
                        tables.split_of[i] = (uint16_t)split;
                start += room;
        }
        if (threadIdx.x == 0)
                tables.state->nsplits = all;
}

/* Count the pairs that each split received, and its swaths. One block, one thread per split. */
static __global__ void __launch_bounds__(PLAN_NTHREADS)
        order_measure_splits_kernel(struct order_tables tables, uint32_t swath_npairs)
{
        __shared__ uint32_t sums[32];
        const uint32_t split = threadIdx.x, nsplits = tables.state->nsplits;
        uint32_t n = 0, all;
        if (split < nsplits && tables.state->overflowed == 0)
                n = tables.cursors[split * CURSOR_STRIDE] - tables.splits[split].start;
        const uint32_t pair = block_scan(n, sums, &all);
        const uint32_t swath = block_scan((n + swath_npairs - 1) / swath_npairs, sums, &all);
        if (split < nsplits) {
                tables.splits[split].n = n;
                tables.first_pair[split] = pair;
                tables.first_swath[split] = swath;
        }
        if (split == 0)
                tables.first_swath[nsplits] = all;
}

/* How many more cells, in multiples of `stride`, fit in the bucket of cells [begin, end). At most
 * 32 * stride. */
static __device__ uint32_t more_cells(const uint32_t *starts, uint32_t begin, uint32_t end,
                                      uint32_t stride, uint32_t ncells, uint32_t cap)
{
        uint32_t next = end + stride * (threadIdx.x + 1);
        bool fits = next <= ncells && starts[next] - starts[begin] <= cap;
        return stride * __popc(__ballot_sync(~0u, fits));
}

/*
 * Grouping, by one warp: the end of the bucket that begins with cell `begin`. starts [ncells + 1]
 * is where the pairs of each cell start. A bucket takes cells as long as it has at most `cap`
 * pairs, but at least one cell, so two consecutive buckets have more than cap pairs. Fast for
 * buckets of few cells.
 */
static __device__ uint32_t bucket_end(const uint32_t *starts, uint32_t begin, uint32_t ncells,
                                      uint32_t cap)
{
        uint32_t end = begin + 1, more = more_cells(starts, begin, end, 1, ncells, cap);
        if (more < 32)
                return end + more;
        end += more_cells(starts, begin, end, KC_ORDER_NLOCAL / 32, ncells, cap);
        end += more_cells(starts, begin, end, KC_ORDER_NLOCAL / 1024, ncells, cap);
        return end + more_cells(starts, begin, end, 1, ncells, cap);
}

/* Group the cells of a split into buckets: ends[i] is the end of bucket i. Returns the number of
 * buckets. For one warp. */
static __device__ uint32_t group(const uint32_t *starts, uint32_t ncells, uint32_t cap,
                                 uint16_t *ends)
{
        uint32_t nbuckets = 0;
        for (uint32_t cell = 0; cell < ncells; nbuckets++) {
                cell = nbuckets == KC_ORDER_FANOUT - 1 ? ncells
                                                       : bucket_end(starts, cell, ncells, cap);
                if (threadIdx.x == 0)
                        ends[nbuckets] = (uint16_t)cell;
        }
        return nbuckets;
}

/* One block per split; four cells per thread. */
static __global__ void __launch_bounds__(PLAN_NTHREADS)
        order_plan_buckets_kernel(struct order_tables tables, uint32_t cap)
{
        enum { PER_THREAD = KC_ORDER_NLOCAL / PLAN_NTHREADS };
        __shared__ uint32_t starts[KC_ORDER_NLOCAL + 1], sums[32], nbuckets;
        __shared__ uint16_t ends[KC_ORDER_FANOUT];
        if (blockIdx.x >= tables.state->nsplits)
                return;
        struct kc_order_bucket split = tables.splits[blockIdx.x];
        uint32_t begin = threadIdx.x * PER_THREAD, sum = 0, all;
        for (uint32_t i = begin; i < begin + PER_THREAD; i++)
                sum += i < split.ncells ? tables.cells[split.cell + i] : 0;
        sum = block_scan(sum, sums, &all);
        for (uint32_t i = begin; i < begin + PER_THREAD && i < split.ncells; i++) {
                starts[i] = sum;
                sum += tables.cells[split.cell + i];
                starts[i + 1] = sum;
        }
        __syncthreads();
        if (threadIdx.x < 32) {
                uint32_t n = split.n == 0 ? 0 : group(starts, split.ncells, cap, ends);
                if (threadIdx.x == 0)
                        tables.nbuckets[blockIdx.x] = nbuckets = n;
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < nbuckets; i += PLAN_NTHREADS) {
                uint32_t from = i == 0 ? 0 : ends[i - 1];
                for (uint32_t cell = from; cell < ends[i]; cell++)
                        tables.bucket_of[split.cell + cell] = (uint16_t)i;
                tables.cell_ends[blockIdx.x * KC_ORDER_FANOUT + i] = ends[i];
                tables.pair_ends[blockIdx.x * KC_ORDER_FANOUT + i] = starts[ends[i]];
        }
}

/* Number the buckets of all splits consecutively. One block per split. */
static __global__ void __launch_bounds__(PLAN_NTHREADS)
        order_number_buckets_kernel(struct order_tables tables, uint32_t cap)
{
        __shared__ uint32_t sums[32];
        if (blockIdx.x >= tables.state->nsplits)
                return;
        uint32_t first, i = threadIdx.x;
        (void)block_scan(i < blockIdx.x ? tables.nbuckets[i] : 0, sums, &first);
        uint32_t nbuckets = tables.nbuckets[blockIdx.x];
        if (i == 0) {
                tables.first_bucket[blockIdx.x] = first;
                if (blockIdx.x + 1 == tables.state->nsplits)
                        tables.state->nbuckets = first + nbuckets;
        }
        if (i >= nbuckets)
                return;
        struct kc_order_bucket split = tables.splits[blockIdx.x], bucket;
        const uint32_t *pair_ends = tables.pair_ends + blockIdx.x * KC_ORDER_FANOUT;
        const uint16_t *cell_ends = tables.cell_ends + blockIdx.x * KC_ORDER_FANOUT;
        uint32_t start = i == 0 ? 0 : pair_ends[i - 1], cell = i == 0 ? 0 : cell_ends[i - 1];
        bucket = { tables.first_pair[blockIdx.x] + start, pair_ends[i] - start, split.cell + cell,
                   cell_ends[i] - cell };
        tables.buckets[first + i] = bucket;
        tables.bucket_cursors[first + i] = bucket.start;
        if (bucket.n > cap) {
                uint32_t to = (uint32_t)atomicAdd(&tables.state->noversized_pairs,
                                                  (unsigned long long)bucket.n);
                tables.oversized[atomicAdd(&tables.state->noversized, 1)] = { first + i, to };
        }
}

/* ---- splitting ---- */

template <class Key> struct split_shared {
        enum { CAP = kc_order_size<Key>::CAP };
        Key staged[CAP];
        uint32_t offsets[KC_ORDER_FANOUT]; /* counts at first */
        uint32_t places[KC_ORDER_FANOUT];  /* where a part goes in the output, minus its offset */
        uint32_t sums[32], found;
        uint16_t parts[CAP];
        uint16_t map[KC_ORDER_NLOCAL];
};

enum { NO_PART = 0xffff };

/*
 * Move a tile of pairs to its parts, which are splits or buckets. It is staged in shared memory
 * part by part, so that writes are contiguous.
 *   pairs, parts  [NITEMS] the thread's own; NO_PART: no pair
 *   reserve       reserve(part, n) returns where the next n pairs of a part go
 */
template <class Key, int NITEMS, class Reserve>
static __device__ void split_tile(struct split_shared<Key> *shared, const Key *pairs,
                                  uint32_t *parts, uint32_t n, Reserve reserve, Key *out)
{
        uint32_t all, part = 2 * threadIdx.x;
        for (int i = threadIdx.x; i < KC_ORDER_FANOUT; i += NTHREADS)
                shared->offsets[i] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                if (parts[i] != NO_PART)
                        parts[i] |= atomicAdd(&shared->offsets[parts[i]], 1) << 16;
        __syncthreads();
        uint32_t n0 = shared->offsets[part], n1 = shared->offsets[part + 1];
        uint32_t offset = block_scan(n0 + n1, shared->sums, &all);
        shared->offsets[part] = offset;
        shared->offsets[part + 1] = offset + n0;
        if (n0 != 0)
                shared->places[part] = reserve(part, n0) - offset;
        if (n1 != 0)
                shared->places[part + 1] = reserve(part + 1, n1) - offset - n0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (parts[i] == NO_PART)
                        continue;
                uint32_t at = shared->offsets[parts[i] & 0xffff] + (parts[i] >> 16);
                shared->staged[at] = pairs[i];
                shared->parts[at] = (uint16_t)parts[i];
        }
        __syncthreads();
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < n; i += NTHREADS)
                out[shared->places[shared->parts[i]] + i] = shared->staged[i];
        __syncthreads();
}

/* Reserve room for n pairs in a split; every split has room for n pairs when it is empty. Once a
 * split has overflowed, its pairs may overwrite each other, because the result is not used. */
static __device__ uint32_t reserve_in_split(const struct order_tables *tables, uint32_t split,
                                            uint32_t n)
{
        const struct kc_order_bucket room = tables->splits[split];
        const uint32_t at = atomicAdd(&tables->cursors[split * CURSOR_STRIDE], n);
        if (at - room.start + n <= room.n)
                return at;
        tables->state->overflowed = 1;
        return room.start;
}

/* Returns the count to pack; the excess becomes an exception. */
template <class Key>
static __device__ uint32_t keep_count(struct order_work<Key> *work, Key kmer, uint32_t count)
{
        uint32_t max = kc_order_max_count(work->packing);
        if (count <= max)
                return count;
        uint32_t *n = &work->tables.state->nexceptions;
        if (*(volatile uint32_t *)n <= work->max_exceptions) {
                uint32_t at = atomicAdd(n, 1);
                if (at < work->max_exceptions)
                        work->exceptions[at] = { kmer, count - max };
        }
        return max;
}

template <class Key>
static __global__ void __launch_bounds__(NTHREADS, 2)
        order_split_kernel(struct order_work<Key> work)
{
        enum { CAP = kc_order_size<Key>::CAP, NITEMS = CAP / NTHREADS };
        extern __shared__ __align__(16) unsigned char memory[];
        auto *shared = (struct split_shared<Key> *)memory;
        const Key *kmers = work.in.kmers;
        const uint32_t *counts = work.in.counts;
        for (int i = threadIdx.x; i < KC_ORDER_NCOARSE; i += NTHREADS)
                shared->map[i] = work.tables.split_of[i];
        __syncthreads();
        size_t begin = (size_t)blockIdx.x * CAP * SWATH_NTILES;
        for (int tile = 0; tile < SWATH_NTILES && begin < work.in.n; tile++, begin += CAP) {
                uint32_t n = (uint32_t)min((size_t)CAP, work.in.n - begin);
                Key pairs[NITEMS];
                uint32_t parts[NITEMS];
#pragma unroll
                for (int i = 0; i < NITEMS; i++) {
                        uint32_t at = threadIdx.x + i * NTHREADS;
                        pairs[i] = at < n ? kmers[begin + at] : 0;
                        parts[i] = at < n ? counts[begin + at] : 0;
                }
#pragma unroll
                for (int i = 0; i < NITEMS; i++) {
                        Key kmer = pairs[i];
                        uint32_t count = keep_count(&work, kmer, parts[i]);
                        pairs[i] = kc_order_pack(kmer, count, work.packing);
                        parts[i] = threadIdx.x + i * NTHREADS < n
                                           ? shared->map[kc_order_coarse(kmer, work.in.k)]
                                           : (uint32_t)NO_PART;
                }
                const auto reserve = [&](uint32_t split, uint32_t npairs) {
                        return reserve_in_split(&work.tables, split, npairs);
                };
                split_tile<Key, NITEMS>(shared, pairs, parts, n, reserve, work.in.kmers_tmp);
        }
}

template <class Key>
static __global__ void __launch_bounds__(NTHREADS, 2)
        order_bucket_kernel(struct order_work<Key> work)
{
        enum { CAP = kc_order_size<Key>::CAP, NITEMS = CAP / NTHREADS };
        extern __shared__ __align__(16) unsigned char memory[];
        auto *shared = (struct split_shared<Key> *)memory;
        const Key *packed = work.in.kmers_tmp;
        struct swath_range range =
                find_swath(&work.tables, blockIdx.x, CAP * SWATH_NTILES, &shared->found);
        if (range.begin == range.end)
                return;
        struct kc_order_bucket split = work.tables.splits[range.split];
        uint32_t first_local = split.cell % KC_ORDER_NLOCAL;
        for (int i = threadIdx.x; i < (int)split.ncells; i += NTHREADS)
                shared->map[i] = work.tables.bucket_of[split.cell + i];
        uint32_t *cursors = work.tables.bucket_cursors + work.tables.first_bucket[range.split];
        __syncthreads();
        for (uint32_t begin = range.begin; begin < range.end; begin += CAP) {
                uint32_t n = range.end - begin < CAP ? range.end - begin : (uint32_t)CAP;
                Key pairs[NITEMS];
                uint32_t parts[NITEMS];
#pragma unroll
                for (int i = 0; i < NITEMS; i++) {
                        uint32_t at = threadIdx.x + i * NTHREADS;
                        pairs[i] = at < n ? packed[begin + at] : 0;
                }
#pragma unroll
                for (int i = 0; i < NITEMS; i++)
                        parts[i] = threadIdx.x + i * NTHREADS < n
                                           ? shared->map[kc_order_local(pairs[i]) - first_local]
                                           : (uint32_t)NO_PART;
                const auto reserve = [&](uint32_t bucket, uint32_t npairs) {
                        return atomicAdd(&cursors[bucket], npairs);
                };
                split_tile<Key, NITEMS>(shared, pairs, parts, n, reserve, work.in.kmers);
        }
}

#endif
