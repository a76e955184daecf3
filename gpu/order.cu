/*
 * Order by buckets that fit shared memory (gpu/order_plan.cuh says what cells, splits and buckets are):
 *
 *      count coarse cells ─▶ plan splits ─▶ pairs packed, and to their splits
 *        ─▶ count cells ─▶ plan buckets ─▶ pairs to their buckets ─▶ each bucket sorted by one block
 *
 * Nothing has to be stable, so a tile of pairs gets its place in a split or bucket by an atomic add for
 * each part it has pairs of. A bucket of more pairs than a block sorts is a cell by itself, or the
 * rest of a split that has too many buckets; those are taken out and sorted together the plain way.
 */
#include "gpu/order.cuh"
#include "gpu/order_parts.cuh"
#include "gpu/order_plan.cuh"

enum {
        NTHREADS = 512,
        NWARPS = NTHREADS / 32,
        PLAN_NTHREADS = 1024,
        CHUNK_NTILES = 8,       /* tiles that one block splits or counts */
        CURSOR_STRIDE = 8,      /* words between the cursors of two splits: a sector each */
        MAX_EXCEPTIONS = 1 << 20,
        SUB_LIMIT = 48,         /* pairs of a sub-bucket that are ranked by comparing each with each */
        MIN_PAIRS = 1 << 19,    /* for fewer the plain way is as fast */
};

/* What a packed count does not hold. */
template <class Key> struct exception {
        Key kmer;
        uint32_t count;
};

struct oversized {
        uint32_t bucket, to;
};

struct order_state {
        unsigned long long noversized_pairs, cut;
        uint32_t nsplits, nbuckets, noversized, nexceptions, ticket, nout;
};

/* All tables, in one allocation. */
struct order_tables {
        struct order_state *state;
        uint32_t *coarse;               /* [KC_ORDER_NCOARSE] pairs */
        uint32_t *cells;                /* [KC_ORDER_NCELLS] pairs */
        uint64_t *progress;             /* [max_buckets] look-back */
        struct kc_order_bucket *splits; /* [KC_ORDER_FANOUT] */
        uint32_t *cursors;              /* [KC_ORDER_FANOUT * CURSOR_STRIDE] of the splits */
        uint32_t *first_chunk;          /* [KC_ORDER_FANOUT + 1] */
        uint32_t *nbuckets;             /* [KC_ORDER_FANOUT] of each split */
        uint32_t *first_bucket;         /* [KC_ORDER_FANOUT + 1] */
        uint32_t *pair_ends;            /* [KC_ORDER_FANOUT * KC_ORDER_FANOUT] of the splits' buckets */
        struct kc_order_bucket *buckets; /* [max_buckets] */
        uint32_t *bucket_cursors;       /* [max_buckets] */
        struct oversized *oversized;    /* [max_buckets] */
        uint16_t *split_of;             /* [KC_ORDER_NCOARSE] */
        uint16_t *cell_ends;            /* as pair_ends */
        uint16_t *bucket_of;            /* [KC_ORDER_NCELLS] within the split */
        size_t max_buckets;
        size_t nbytes, zero_nbytes; /* of the allocation; of its front, zero at first */
};

template <class Key> struct order_work {
        struct kc_order_input<Key> in;
        struct kc_order_packing packing;
        struct order_tables tables;
        struct order_state state; /* as last read */
        struct exception<Key> *exceptions;
        uint32_t max_exceptions;
};

/* ---- pieces of blocks ---- */

/* The sum of the threads' values before this thread's; all values' in *total. sums: [32] shared. */
static __device__ uint32_t block_scan(uint32_t value, uint32_t *sums, uint32_t *total)
{
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32, nwarps = blockDim.x / 32;
        uint32_t sum = value;
        for (int step = 1; step < 32; step *= 2) {
                uint32_t other = __shfl_up_sync(~0u, sum, step);
                sum += lane >= step ? other : 0;
        }
        if (lane == 31)
                sums[warp] = sum;
        __syncthreads();
        uint32_t mine = lane < nwarps ? sums[lane] : 0;
        for (int step = 1; step < 32; step *= 2) {
                uint32_t other = __shfl_up_sync(~0u, mine, step);
                mine += lane >= step ? other : 0;
        }
        *total = __shfl_sync(~0u, mine, 31);
        uint32_t before = __shfl_sync(~0u, mine, warp == 0 ? 0 : warp - 1);
        __syncthreads();
        return sum - value + (warp == 0 ? 0 : before);
}

/* Which split chunk number `chunk` is of, and its pairs. To all threads; [begin, end) is empty for a
 * block too many. */
struct chunk_range {
        uint32_t split, begin, end;
};

static __device__ struct chunk_range find_chunk(const struct order_tables *tables, uint32_t chunk,
                                                uint32_t chunk_npairs, uint32_t *found)
{
        struct chunk_range range = {};
        if (threadIdx.x == 0)
                *found = KC_ORDER_FANOUT;
        __syncthreads();
        uint32_t nsplits = tables->state->nsplits;
        for (uint32_t i = threadIdx.x; i < nsplits; i += blockDim.x)
                if (tables->first_chunk[i] <= chunk && chunk < tables->first_chunk[i + 1])
                        *found = i;
        __syncthreads();
        range.split = *found;
        if (range.split == KC_ORDER_FANOUT)
                return range;
        struct kc_order_bucket split = tables->splits[range.split];
        uint32_t skip = (chunk - tables->first_chunk[range.split]) * chunk_npairs;
        range.begin = split.start + skip;
        range.end = split.start + (split.n - skip < chunk_npairs ? split.n : skip + chunk_npairs);
        return range;
}

/* ---- counting ---- */

template <class Key>
static __global__ void __launch_bounds__(NTHREADS)
count_coarse_kernel(const Key *kmers, size_t n, int k, uint32_t *coarse)
{
        __shared__ uint32_t counts[KC_ORDER_NCOARSE];
        const size_t chunk = (size_t)kc_order_size<Key>::CAP * CHUNK_NTILES;
        size_t begin = blockIdx.x * chunk, end = n - begin < chunk ? n : begin + chunk;
        for (int i = threadIdx.x; i < KC_ORDER_NCOARSE; i += NTHREADS)
                counts[i] = 0;
        __syncthreads();
#pragma unroll 8
        for (size_t i = begin + threadIdx.x; i < end; i += NTHREADS)
                atomicAdd(&counts[kc_order_coarse(kmers[i], k)], 1);
        __syncthreads();
        for (int i = threadIdx.x; i < KC_ORDER_NCOARSE; i += NTHREADS)
                if (counts[i] != 0)
                        atomicAdd(&coarse[i], counts[i]);
}

template <class Key>
static __global__ void __launch_bounds__(NTHREADS)
count_cells_kernel(const Key *packed, struct order_tables tables)
{
        __shared__ uint32_t counts[KC_ORDER_NLOCAL];
        __shared__ uint32_t found;
        for (int i = threadIdx.x; i < KC_ORDER_NLOCAL; i += NTHREADS)
                counts[i] = 0;
        struct chunk_range range =
                find_chunk(&tables, blockIdx.x, kc_order_size<Key>::CAP * CHUNK_NTILES, &found);
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

/* One block; a thread a prefix, then a thread a split. */
static __global__ void __launch_bounds__(PLAN_NTHREADS)
plan_splits_kernel(struct order_tables tables, uint32_t max_pairs, uint32_t chunk_npairs)
{
        __shared__ uint32_t coarse[KC_ORDER_NCOARSE], sums[32];
        enum { PER_PREFIX = KC_ORDER_NCOARSE / KC_ORDER_NPREFIXES };
        uint32_t begin = threadIdx.x * PER_PREFIX, end = begin + PER_PREFIX;
        uint32_t n = 0, nsplits = 0, all, nchunks = 0;
        bool active = threadIdx.x < KC_ORDER_NPREFIXES;
        for (uint32_t i = threadIdx.x; i < KC_ORDER_NCOARSE; i += PLAN_NTHREADS)
                coarse[i] = tables.coarse[i];
        __syncthreads();
        for (uint32_t i = begin; active && i < end; i++)
                n += coarse[i];
        for (uint32_t i = begin; active && i < end; nsplits++)
                i = kc_order_split_end(coarse, i, end, max_pairs);
        uint32_t start = block_scan(n, sums, &all);
        uint32_t split = block_scan(nsplits, sums, &all);
        for (uint32_t i = begin; active && i < end; split++) {
                uint32_t next = kc_order_split_end(coarse, i, end, max_pairs);
                struct kc_order_bucket *s = &tables.splits[split];
                *s = { start, 0, i * KC_ORDER_PER_COARSE, (next - i) * KC_ORDER_PER_COARSE };
                tables.cursors[split * CURSOR_STRIDE] = start;
                for (; i < next; i++) {
                        s->n += coarse[i];
                        tables.split_of[i] = (uint16_t)split;
                }
                start += s->n;
        }
        __syncthreads();
        if (threadIdx.x < all)
                nchunks = (tables.splits[threadIdx.x].n + chunk_npairs - 1) / chunk_npairs;
        uint32_t nall;
        uint32_t first = block_scan(nchunks, sums, &nall);
        if (threadIdx.x < all)
                tables.first_chunk[threadIdx.x] = first;
        if (threadIdx.x == 0) {
                tables.first_chunk[all] = nall;
                tables.state->nsplits = all;
        }
}

/* How many more cells, each `stride` after the other, a bucket can take: its cells end at `end`. */
static __device__ uint32_t more_cells(const uint32_t *starts, uint32_t begin, uint32_t end,
                                      uint32_t stride, uint32_t ncells, uint32_t cap)
{
        uint32_t next = end + stride * (threadIdx.x + 1);
        bool fits = next <= ncells && starts[next] - starts[begin] <= cap;
        return stride * __popc(__ballot_sync(~0u, fits));
}

/* kc_order_bucket_end by one warp, quick where buckets have few cells. */
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

/* The buckets of a split: the ends of their cells. Returns how many. One warp. */
static __device__ uint32_t group(const uint32_t *starts, uint32_t ncells, uint32_t cap,
                                 uint16_t *ends)
{
        uint32_t nbuckets = 0;
        for (uint32_t cell = 0; cell < ncells; nbuckets++) {
                cell = nbuckets == KC_ORDER_FANOUT - 1 ? ncells :
                                                         bucket_end(starts, cell, ncells, cap);
                if (threadIdx.x == 0)
                        ends[nbuckets] = (uint16_t)cell;
        }
        return nbuckets;
}

/* One block a split; four cells a thread. */
static __global__ void __launch_bounds__(PLAN_NTHREADS)
plan_buckets_kernel(struct order_tables tables, uint32_t cap)
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

/* Buckets numbered through. One block a split. */
static __global__ void __launch_bounds__(PLAN_NTHREADS)
number_buckets_kernel(struct order_tables tables, uint32_t cap)
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
        bucket = { split.start + start, pair_ends[i] - start, split.cell + cell,
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
        uint32_t places[KC_ORDER_FANOUT];  /* where a part goes, less its offset */
        uint32_t sums[32], found;
        uint16_t parts[CAP];
        uint16_t map[KC_ORDER_NLOCAL];
};

enum { NO_PART = 0xffff };

/*
 * One tile to its parts: staged in shared memory part by part, so that what is written together lies
 * together.
 *   pairs, parts  [NITEMS] a thread's own; NO_PART: none
 *   cursors       where the next pair of each part goes, every `stride` words
 */
template <class Key, int NITEMS>
static __device__ void split_tile(struct split_shared<Key> *shared, const Key *pairs,
                                  uint32_t *parts, uint32_t n, uint32_t *cursors, int stride,
                                  Key *out)
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
                shared->places[part] = atomicAdd(&cursors[part * stride], n0) - offset;
        if (n1 != 0)
                shared->places[part + 1] =
                        atomicAdd(&cursors[(part + 1) * stride], n1) - offset - n0;
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

/* The count that is packed; the rest is an exception. */
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
split_kernel(struct order_work<Key> work)
{
        enum { CAP = kc_order_size<Key>::CAP, NITEMS = CAP / NTHREADS };
        extern __shared__ __align__(16) unsigned char memory[];
        auto *shared = (struct split_shared<Key> *)memory;
        const Key *kmers = work.in.kmers;
        const uint32_t *counts = work.in.counts;
        for (int i = threadIdx.x; i < KC_ORDER_NCOARSE; i += NTHREADS)
                shared->map[i] = work.tables.split_of[i];
        __syncthreads();
        size_t begin = (size_t)blockIdx.x * CAP * CHUNK_NTILES;
        for (int tile = 0; tile < CHUNK_NTILES && begin < work.in.n; tile++, begin += CAP) {
                uint32_t n = work.in.n - begin < CAP ? (uint32_t)(work.in.n - begin) : (uint32_t)CAP;
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
                        parts[i] = threadIdx.x + i * NTHREADS < n ?
                                           shared->map[kc_order_coarse(kmer, work.in.k)] :
                                           (uint32_t)NO_PART;
                }
                split_tile<Key, NITEMS>(shared, pairs, parts, n, work.tables.cursors, CURSOR_STRIDE,
                                        work.in.kmers_tmp);
        }
}

template <class Key>
static __global__ void __launch_bounds__(NTHREADS, 2)
bucket_kernel(struct order_work<Key> work)
{
        enum { CAP = kc_order_size<Key>::CAP, NITEMS = CAP / NTHREADS };
        extern __shared__ __align__(16) unsigned char memory[];
        auto *shared = (struct split_shared<Key> *)memory;
        const Key *packed = work.in.kmers_tmp;
        struct chunk_range range =
                find_chunk(&work.tables, blockIdx.x, CAP * CHUNK_NTILES, &shared->found);
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
                        parts[i] = threadIdx.x + i * NTHREADS < n ?
                                           shared->map[kc_order_local(pairs[i]) - first_local] :
                                           (uint32_t)NO_PART;
                split_tile<Key, NITEMS>(shared, pairs, parts, n, cursors, 1, work.in.kmers);
        }
}

/* ---- sorting a bucket ---- */

template <class Key> struct sort_shared {
        enum { CAP = kc_order_size<Key>::CAP };
        Key staged[CAP];
        uint32_t counters[CAP / 2 + 4]; /* two sub-buckets' each */
        uint32_t sums[32], heads[CAP / 32];
        uint32_t bucket, before, most, nheads;
};

enum { LOOK_SUM = 1, LOOK_ALL = 2 }; /* states of a bucket in the look-back */

/* Tell how many k-mers bucket b has; returns how many are before. One warp; look-back as in
 * Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back (2016). */
static __device__ uint32_t look_back(uint64_t *progress, uint32_t b, uint32_t n)
{
        volatile uint64_t *at = progress;
        uint32_t lane = threadIdx.x % 32, before = 0;
        if (lane == 0)
                at[b] = (uint64_t)(b == 0 ? LOOK_ALL : LOOK_SUM) << 32 | n;
        for (int64_t i = (int64_t)b - 1 - lane; b != 0; i -= 32) {
                uint64_t seen = (uint64_t)LOOK_ALL << 32;
                while (i >= 0 && (seen = at[i]) >> 32 == 0)
                        ;
                __syncwarp();
                uint32_t done = __ballot_sync(~0u, seen >> 32 == LOOK_ALL);
                bool use = done == 0 || lane <= (uint32_t)__ffs(done) - 1;
                before += __reduce_add_sync(~0u, use ? (uint32_t)seen : 0);
                if (done != 0)
                        break;
        }
        if (lane == 0 && b != 0)
                at[b] = (uint64_t)LOOK_ALL << 32 | (before + n);
        return before;
}

/* Sorts 2^m >= n pairs in place whatever they are; for buckets with crowded sub-buckets. */
template <class Key> static __device__ void sort_bitonic(Key *pairs, uint32_t n)
{
        uint32_t size = 32;
        while (size < n)
                size *= 2;
        for (uint32_t i = n + threadIdx.x; i < size; i += NTHREADS)
                pairs[i] = ~(Key)0;
        for (uint32_t width = 2; width <= size; width *= 2) {
                for (uint32_t step = width / 2; step > 0; step /= 2) {
                        __syncthreads();
                        for (uint32_t i = threadIdx.x; i < size / 2; i += NTHREADS) {
                                uint32_t low = 2 * i - (i & (step - 1));
                                Key a = pairs[low], b = pairs[low + step];
                                if ((a > b) == ((low & width) == 0)) {
                                        pairs[low] = b;
                                        pairs[low + step] = a;
                                }
                        }
                }
        }
        __syncthreads();
}

/* Counts of sub-buckets, two a word, to where they start. *most: the largest (block-wide). */
template <class Key> static __device__ void scan_counters(struct sort_shared<Key> *shared)
{
        enum { PER_THREAD = sort_shared<Key>::CAP / 2 / NTHREADS };
        uint32_t *mine = shared->counters + threadIdx.x * PER_THREAD;
        uint32_t words[PER_THREAD], sum = 0, most = 0, all;
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++) {
                words[i] = mine[i];
                uint32_t low = words[i] & 0xffff, high = words[i] >> 16;
                sum += low + high;
                most = max(most, max(low, high));
        }
        most = __reduce_max_sync(~0u, most);
        if (threadIdx.x % 32 == 0)
                atomicMax(&shared->most, most);
        sum = block_scan(sum, shared->sums, &all);
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++) {
                uint32_t low = words[i] & 0xffff, high = words[i] >> 16;
                mine[i] = sum | (sum + low) << 16;
                sum += low + high;
        }
        if (threadIdx.x == NTHREADS - 1)
                shared->counters[sort_shared<Key>::CAP / 2] = all;
}

/* Where a pair at `at` among those of its sub-bucket [from, to) belongs. */
template <class Key>
static __device__ uint32_t rank_pair(const Key *staged, Key pair, uint32_t at, uint32_t from,
                                     uint32_t to)
{
        uint32_t rank = from;
        for (uint32_t i = from; i < to; i++) {
                Key other = staged[i];
                rank += other < pair || (other == pair && i < at);
        }
        return rank;
}

/* The bucket, from device memory to order in shared->staged. */
template <class Key>
static __device__ void sort_bucket(struct sort_shared<Key> *shared, const Key *packed,
                                   struct kc_order_bucket bucket)
{
        enum { CAP = sort_shared<Key>::CAP, NITEMS = CAP / NTHREADS };
        struct kc_order_scale scale = kc_order_scale_for(bucket, CAP);
        const uint16_t *starts = (const uint16_t *)shared->counters;
        Key pairs[NITEMS];
        uint32_t at[NITEMS];
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                uint32_t p = threadIdx.x + i * NTHREADS;
                pairs[i] = p < bucket.n ? packed[bucket.start + p] : 0;
        }
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (threadIdx.x + i * NTHREADS >= bucket.n)
                        break;
                uint32_t sub = kc_order_sub(pairs[i], scale), shift = sub % 2 * 16;
                at[i] = atomicAdd(&shared->counters[sub / 2], 1u << shift) >> shift & 0xffff;
        }
        __syncthreads();
        scan_counters(shared);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (threadIdx.x + i * NTHREADS >= bucket.n)
                        break;
                at[i] += starts[kc_order_sub(pairs[i], scale)];
                shared->staged[at[i]] = pairs[i];
        }
        __syncthreads();
        if (shared->most > SUB_LIMIT) {
                sort_bitonic(shared->staged, bucket.n);
                return;
        }
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (threadIdx.x + i * NTHREADS >= bucket.n)
                        break;
                uint32_t sub = kc_order_sub(pairs[i], scale);
                uint32_t from = starts[sub], to = starts[sub + 1];
                if (to - from > 1)
                        at[i] = rank_pair(shared->staged, pairs[i], at[i], from, to);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                if (threadIdx.x + i * NTHREADS < bucket.n)
                        shared->staged[at[i]] = pairs[i];
        __syncthreads();
}

/* Whether the sorted pair is the first of its k-mer. */
template <class Key>
static __device__ bool is_head(const Key *staged, uint32_t i, struct kc_order_packing packing)
{
        return i == 0 || !kc_order_same(staged[i], staged[i - 1], packing);
}

/* The sum of the counts of the k-mer that begins at i. */
template <class Key>
static __device__ uint32_t sum_counts(const Key *staged, uint32_t i, uint32_t n,
                                      struct kc_order_packing packing, unsigned long long *cut)
{
        uint64_t sum = kc_order_count(staged[i], packing);
        for (uint32_t j = i + 1; j < n && kc_order_same(staged[j], staged[i], packing); j++)
                sum += kc_order_count(staged[j], packing);
        if (sum <= UINT32_MAX)
                return (uint32_t)sum;
        atomicAdd(cut, (unsigned long long)(sum - UINT32_MAX));
        return UINT32_MAX;
}

/* Heads of each 32 pairs to where they go in the bucket's part of the run; all in nheads. */
template <class Key>
static __device__ void number_heads(struct sort_shared<Key> *shared, uint32_t n,
                                    struct kc_order_packing packing)
{
        enum { NGROUPS = sort_shared<Key>::CAP / 32 };
        uint32_t all;
        for (uint32_t i = threadIdx.x; i < NGROUPS * 32; i += NTHREADS) {
                uint32_t heads = __ballot_sync(~0u, i < n && is_head(shared->staged, i, packing));
                if (threadIdx.x % 32 == 0)
                        shared->heads[i / 32] = __popc(heads);
        }
        __syncthreads();
        uint32_t mine = threadIdx.x < NGROUPS ? shared->heads[threadIdx.x] : 0;
        mine = block_scan(mine, shared->sums, &all);
        if (threadIdx.x < NGROUPS)
                shared->heads[threadIdx.x] = mine;
        if (threadIdx.x == 0)
                shared->nheads = all;
        __syncthreads();
}

/* The bucket's k-mers to the run, from number `to` on. */
template <class Key>
static __device__ void write_bucket(const struct sort_shared<Key> *shared,
                                    const struct order_work<Key> *work,
                                    struct kc_order_bucket bucket, Key *kmers, uint32_t *counts)
{
        const Key *staged = shared->staged;
        uint32_t prefix = kc_order_prefix(bucket);
        if (shared->nheads == bucket.n) {
#pragma unroll 4
                for (uint32_t i = threadIdx.x; i < bucket.n; i += NTHREADS) {
                        kmers[i] = kc_order_kmer(staged[i], prefix, work->packing);
                        counts[i] = kc_order_count(staged[i], work->packing);
                }
                return;
        }
        for (uint32_t i = threadIdx.x; i / 32 * 32 < bucket.n; i += NTHREADS) {
                bool head = i < bucket.n && is_head(staged, i, work->packing);
                uint32_t heads = __ballot_sync(~0u, head);
                uint32_t below = heads & ((1u << threadIdx.x % 32) - 1);
                uint32_t to = shared->heads[i / 32] + __popc(below);
                if (!head)
                        continue;
                kmers[to] = kc_order_kmer(staged[i], prefix, work->packing);
                counts[to] = sum_counts(staged, i, bucket.n, work->packing,
                                        &work->tables.state->cut);
        }
}

template <class Key>
static __global__ void __launch_bounds__(NTHREADS, 2)
sort_kernel(struct order_work<Key> work, const Key *big_kmers, const uint32_t *big_counts,
            Key *out_kmers, uint32_t *out_counts)
{
        extern __shared__ __align__(16) unsigned char memory[];
        auto *shared = (struct sort_shared<Key> *)memory;
        const struct order_tables *tables = &work.tables;
        if (threadIdx.x == 0) {
                shared->bucket = atomicAdd(&tables->state->ticket, 1);
                shared->most = 0;
        }
        for (int i = threadIdx.x; i < sort_shared<Key>::CAP / 2; i += NTHREADS)
                shared->counters[i] = 0;
        __syncthreads();
        uint32_t b = shared->bucket;
        struct kc_order_bucket bucket = tables->buckets[b];
        bool big = bucket.n > sort_shared<Key>::CAP;
        uint32_t n = big ? tables->bucket_cursors[b] - bucket.start : 0;
        if (!big) {
                sort_bucket(shared, work.in.kmers, bucket);
                number_heads(shared, bucket.n, work.packing);
                n = shared->nheads;
        }
        if (threadIdx.x < 32) {
                uint32_t before = look_back(tables->progress, b, n);
                if (threadIdx.x == 0)
                        shared->before = before;
                if (threadIdx.x == 0 && b + 1 == tables->state->nbuckets)
                        tables->state->nout = before + n;
        }
        __syncthreads();
        out_kmers += shared->before;
        out_counts += shared->before;
        if (!big)
                write_bucket(shared, &work, bucket, out_kmers, out_counts);
        for (uint32_t i = threadIdx.x; big && i < n; i += NTHREADS) {
                out_kmers[i] = big_kmers[bucket.start + i];
                out_counts[i] = big_counts[bucket.start + i];
        }
}

/* ---- oversized buckets ---- */

template <class Key>
static __global__ void unpack_oversized_kernel(struct order_work<Key> work)
{
        struct oversized big = work.tables.oversized[blockIdx.x];
        struct kc_order_bucket bucket = work.tables.buckets[big.bucket];
        uint32_t step = gridDim.y * blockDim.x;
        for (uint32_t i = blockIdx.y * blockDim.x + threadIdx.x; i < bucket.n; i += step) {
                Key packed = work.in.kmers[bucket.start + i];
                work.in.kmers_tmp[big.to + i] =
                        kc_order_kmer(packed, kc_order_prefix(bucket), work.packing);
                work.in.counts_tmp[big.to + i] = kc_order_count(packed, work.packing);
        }
}

/* The first of n ascending k-mers that is `kmer` or above. */
template <class Key>
static __device__ uint32_t lower_bound(const Key *kmers, uint32_t n, Key kmer)
{
        uint32_t low = 0, high = n;
        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (kmers[middle] < kmer)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* The buckets' parts of the sorted k-mers, in place of what they had: [start, cursor). */
template <class Key>
static __global__ void find_oversized_kernel(struct order_work<Key> work, const Key *kmers,
                                             uint32_t n)
{
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= work.tables.state->noversized)
                return;
        uint32_t b = work.tables.oversized[i].bucket;
        struct kc_order_bucket *bucket = &work.tables.buckets[b];
        int shift = 2 * work.in.k - KC_ORDER_CELL_BITS;
        uint32_t end = bucket->cell + bucket->ncells;
        bucket->start = lower_bound(kmers, n, (Key)bucket->cell << shift);
        work.tables.bucket_cursors[b] =
                end == KC_ORDER_NCELLS ? n : lower_bound(kmers, n, (Key)end << shift);
}

/* ---- exceptions ---- */

template <class Key>
static __global__ void add_exceptions_kernel(struct order_work<Key> work, const Key *kmers,
                                             uint32_t *counts)
{
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        struct order_state *state = work.tables.state;
        if (i >= state->nexceptions)
                return;
        struct exception<Key> more = work.exceptions[i];
        uint32_t *count = &counts[lower_bound(kmers, state->nout, more.kmer)];
        uint32_t old = *count, seen;
        while ((seen = atomicCAS(count, old, kc_count_add(old, more.count))) != old)
                old = seen;
        uint32_t room = UINT32_MAX - old;
        if (more.count > room)
                atomicAdd(&state->cut, (unsigned long long)(more.count - room));
}

/* ---- driving ---- */

/* A part of the allocation; with memory == NULL only its size counts. */
template <class T> static void place(T **table, char *memory, size_t *nbytes, size_t n)
{
        *table = memory == NULL ? NULL : (T *)(memory + *nbytes);
        *nbytes += (n * sizeof(T) + 255) / 256 * 256;
}

static void place_tables(struct order_tables *t, char *memory)
{
        size_t nbytes = 0;
        place(&t->state, memory, &nbytes, 1);
        place(&t->coarse, memory, &nbytes, KC_ORDER_NCOARSE);
        place(&t->cells, memory, &nbytes, KC_ORDER_NCELLS);
        place(&t->progress, memory, &nbytes, t->max_buckets);
        t->zero_nbytes = nbytes;
        place(&t->splits, memory, &nbytes, KC_ORDER_FANOUT);
        place(&t->cursors, memory, &nbytes, KC_ORDER_FANOUT * CURSOR_STRIDE);
        place(&t->first_chunk, memory, &nbytes, KC_ORDER_FANOUT + 1);
        place(&t->nbuckets, memory, &nbytes, KC_ORDER_FANOUT);
        place(&t->first_bucket, memory, &nbytes, KC_ORDER_FANOUT + 1);
        place(&t->pair_ends, memory, &nbytes, KC_ORDER_FANOUT * KC_ORDER_FANOUT);
        place(&t->buckets, memory, &nbytes, t->max_buckets);
        place(&t->bucket_cursors, memory, &nbytes, t->max_buckets);
        place(&t->oversized, memory, &nbytes, t->max_buckets);
        place(&t->split_of, memory, &nbytes, KC_ORDER_NCOARSE);
        place(&t->cell_ends, memory, &nbytes, KC_ORDER_FANOUT * KC_ORDER_FANOUT);
        place(&t->bucket_of, memory, &nbytes, KC_ORDER_NCELLS);
        t->nbytes = nbytes;
}

/* Most pairs of a split: no more buckets than KC_ORDER_FANOUT, however the cells fall. */
template <class Key> static constexpr size_t max_split_npairs()
{
        return (size_t)kc_order_size<Key>::CAP * (KC_ORDER_FANOUT / 2 - 1);
}

/* Most pairs in all: no more splits than KC_ORDER_FANOUT. */
template <class Key> static constexpr size_t max_npairs()
{
        return max_split_npairs<Key>() * ((KC_ORDER_FANOUT - KC_ORDER_NPREFIXES) / 2);
}

/* Exceptions lie in the upper half of counts_tmp. */
template <class Key> static void place_exceptions(struct order_work<Key> *work)
{
        uintptr_t begin = (uintptr_t)(work->in.counts_tmp + work->in.n / 2);
        uintptr_t end = (uintptr_t)(work->in.counts_tmp + work->in.n);
        begin = (begin + alignof(struct exception<Key>) - 1) / alignof(struct exception<Key>) *
                alignof(struct exception<Key>);
        size_t n = begin < end ? (end - begin) / sizeof(struct exception<Key>) : 0;
        work->exceptions = (struct exception<Key> *)begin;
        work->max_exceptions = n < MAX_EXCEPTIONS ? (uint32_t)n : (uint32_t)MAX_EXCEPTIONS;
}

static enum kc_status mark(struct kc_gpu *gpu, cudaEvent_t *marks, int at, struct kc_error *err)
{
        return marks == NULL ? KC_OK : KC_CUDA(cudaEventRecord(marks[at], gpu->stream));
}

template <class Key>
static enum kc_status read_state(struct kc_gpu *gpu, struct order_work<Key> *work,
                                 struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&work->state, work->tables.state, sizeof work->state,
                                       cudaMemcpyDeviceToHost, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* To splits in kmers_tmp, and the plan of the buckets. */
template <class Key>
static enum kc_status split(struct kc_gpu *gpu, struct order_work<Key> *work, cudaEvent_t *marks,
                            struct kc_error *err)
{
        enum { CHUNK = kc_order_size<Key>::CAP * CHUNK_NTILES };
        enum kc_status status;
        unsigned nchunks = kc_ceil_div(work->in.n, CHUNK);
        const int nbytes = sizeof(struct split_shared<Key>);
        const uint32_t cap = kc_order_size<Key>::CAP;
        struct order_tables *t = &work->tables;
        KC_TRY(mark(gpu, marks, KC_ORDER_BEGIN, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(t->state, 0, t->zero_nbytes, gpu->stream)));
        count_coarse_kernel<<<nchunks, NTHREADS, 0, gpu->stream>>>(work->in.kmers, work->in.n,
                                                                   work->in.k, t->coarse);
        KC_TRY(KC_LAUNCHED());
        plan_splits_kernel<<<1, PLAN_NTHREADS, 0, gpu->stream>>>(
                *t, (uint32_t)max_split_npairs<Key>(), CHUNK);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(mark(gpu, marks, KC_ORDER_COARSE_COUNTED, err));
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(split_kernel<Key>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize, nbytes)));
        split_kernel<<<nchunks, NTHREADS, nbytes, gpu->stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(mark(gpu, marks, KC_ORDER_SPLIT, err));
        count_cells_kernel<<<nchunks + KC_ORDER_FANOUT, NTHREADS, 0, gpu->stream>>>(
                work->in.kmers_tmp, *t);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(mark(gpu, marks, KC_ORDER_CELLS_COUNTED, err));
        plan_buckets_kernel<<<KC_ORDER_FANOUT, PLAN_NTHREADS, 0, gpu->stream>>>(*t, cap);
        KC_TRY(KC_LAUNCHED());
        number_buckets_kernel<<<KC_ORDER_FANOUT, PLAN_NTHREADS, 0, gpu->stream>>>(*t, cap);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(read_state(gpu, work, err));
        KC_TRY(mark(gpu, marks, KC_ORDER_PLANNED, err));
out:
        return status;
}

/* Oversized buckets: their pairs, in order, in *kmers and *counts. */
template <class Key>
static enum kc_status order_oversized(struct kc_gpu *gpu, struct order_work<Key> *work, Key **kmers,
                                      uint32_t **counts, uint64_t *cut, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t n = (size_t)work->state.noversized_pairs, nout;
        struct kc_order_input<Key> in = { work->in.k, n, work->in.kmers_tmp,
                                          work->in.kmers_tmp + n, work->in.counts_tmp,
                                          work->in.counts };
        *kmers = NULL;
        *counts = NULL;
        if (n == 0)
                return KC_OK;
        unpack_oversized_kernel<<<dim3(work->state.noversized, 16), 256, 0, gpu->stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_order_sort_and_sum(gpu, &in, &nout, kmers, counts, cut, err));
        find_oversized_kernel<<<kc_ceil_div(work->state.noversized, 128), 128, 0, gpu->stream>>>(
                *work, *kmers, (uint32_t)nout);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* To buckets, and each of them to order: all pairs to kmers and counts. */
template <class Key>
static enum kc_status sort_buckets(struct kc_gpu *gpu, struct order_work<Key> *work, Key *kmers,
                                   uint32_t *counts, uint64_t *cut, cudaEvent_t *marks,
                                   struct kc_error *err)
{
        enum { CHUNK = kc_order_size<Key>::CAP * CHUNK_NTILES };
        enum kc_status status;
        const int split_nbytes = sizeof(struct split_shared<Key>);
        const int sort_nbytes = sizeof(struct sort_shared<Key>);
        unsigned nchunks = kc_ceil_div(work->in.n, CHUNK) + work->state.nsplits;
        Key *big_kmers;
        uint32_t *big_counts;
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(
                bucket_kernel<Key>, cudaFuncAttributeMaxDynamicSharedMemorySize, split_nbytes)));
        bucket_kernel<<<nchunks, NTHREADS, split_nbytes, gpu->stream>>>(*work);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(order_oversized(gpu, work, &big_kmers, &big_counts, cut, err));
        KC_TRY(mark(gpu, marks, KC_ORDER_BUCKETED, err));
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(
                sort_kernel<Key>, cudaFuncAttributeMaxDynamicSharedMemorySize, sort_nbytes)));
        sort_kernel<<<work->state.nbuckets, NTHREADS, sort_nbytes, gpu->stream>>>(
                *work, big_kmers, big_counts, kmers, counts);
        KC_TRY(KC_LAUNCHED());
        if (work->state.nexceptions != 0) {
                add_exceptions_kernel<<<kc_ceil_div(work->state.nexceptions, 256), 256, 0,
                                        gpu->stream>>>(*work, kmers, counts);
                KC_TRY(KC_LAUNCHED());
        }
        KC_TRY(mark(gpu, marks, KC_ORDER_SORTED, err));
        KC_TRY(read_state(gpu, work, err));
        *cut += work->state.cut;
out:
        return status;
}

/*
 * The sorted pairs, in an own run or (own = false) in the scratch, to the run that is given out: of the
 * size they need. Where there is no room for two runs, the pairs wait in the scratch.
 */
template <class Key>
static enum kc_status settle(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                             struct kc_gpu_run<Key> *sorted, bool own, struct kc_gpu_run<Key> *run,
                             struct kc_error *err)
{
        enum kc_status status;
        size_t n = sorted->n;
        if (own && sorted->cap - n <= n / 8) {
                *run = *sorted;
                return KC_OK;
        }
        if (!own || kc_gpu_room(gpu) >= kc_gpu_run_nbytes<Key>(n)) {
                status = kc_order_copy_run(gpu, sorted->kmers, sorted->counts, n, run, err);
                if (own)
                        kc_gpu_run_free(gpu, sorted);
                return status;
        }
        KC_TRY(KC_CUDA(cudaMemcpyAsync(in->kmers_tmp, sorted->kmers, n * sizeof(Key),
                                       cudaMemcpyDeviceToDevice, gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(in->counts, sorted->counts, n * sizeof(uint32_t),
                                       cudaMemcpyDeviceToDevice, gpu->stream)));
out:
        kc_gpu_run_free(gpu, sorted);
        return status != KC_OK ? status :
                                 kc_order_copy_run(gpu, in->kmers_tmp, in->counts, n, run, err);
}

/* Whether the plan can be carried out; room: for a run of all pairs. */
template <class Key> static bool plan_holds(const struct order_work<Key> *work, bool room)
{
        const struct order_state *state = &work->state;
        return state->nexceptions <= work->max_exceptions &&
               state->noversized_pairs <= work->in.n / 2 && (room || state->noversized == 0);
}

template <class Key>
enum kc_status kc_order_by_buckets(struct kc_gpu *gpu, const struct kc_order_input<Key> *in,
                                   struct kc_gpu_run<Key> *run, uint64_t *nsaturated, bool *done,
                                   cudaEvent_t *marks, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct order_work<Key> work = {};
        struct order_tables *tables = &work.tables;
        struct kc_gpu_run<Key> sorted = { in->kmers_tmp, in->counts, 0, in->n };
        void *memory = NULL;
        uint64_t cut = 0;
        bool own = false;
        *run = {};
        *done = false;
        if (in->n > max_npairs<Key>() || in->k < KC_ORDER_MIN_K)
                return KC_OK;
        work.in = *in;
        work.packing = kc_order_packing_for<Key>(in->k);
        place_exceptions(&work);
        tables->max_buckets = 2 * (in->n / kc_order_size<Key>::CAP + KC_ORDER_FANOUT);
        place_tables(tables, NULL);
        if (kc_gpu_room(gpu) < tables->nbytes)
                return KC_OK;
        KC_TRY(kc_gpu_alloc(gpu, &memory, tables->nbytes, err));
        place_tables(tables, (char *)memory);
        KC_TRY(split(gpu, &work, marks, err));
        own = kc_gpu_room(gpu) >= kc_gpu_run_nbytes<Key>(in->n);
        if (!plan_holds(&work, own)) {
                own = false;
                goto out;
        }
        if (own)
                KC_TRY(kc_gpu_run_new(gpu, &sorted, in->n, err));
        KC_TRY(sort_buckets(gpu, &work, sorted.kmers, sorted.counts, &cut, marks, err));
        sorted.n = work.state.nout;
        *done = true;
out:
        kc_gpu_release(gpu, memory, tables->nbytes);
        if (!*done && own)
                kc_gpu_run_free(gpu, &sorted);
        if (*done && (status = settle(gpu, in, &sorted, own, run, err)) == KC_OK)
                *nsaturated += cut;
        return status;
}

template <class Key>
enum kc_status kc_gpu_order(struct kc_gpu *gpu, int k, Key *kmers, uint32_t *counts, Key *kmers_tmp,
                            uint32_t *counts_tmp, size_t n, struct kc_gpu_run<Key> *run,
                            uint64_t *nsaturated, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_order_input<Key> in = { k, n, kmers, kmers_tmp, counts, counts_tmp };
        bool done = false;
        if (n >= MIN_PAIRS)
                KC_TRY(kc_order_by_buckets(gpu, &in, run, nsaturated, &done, (cudaEvent_t *)NULL,
                                           err));
        if (!done)
                KC_TRY(kc_order_plainly(gpu, &in, run, nsaturated, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_order_by_buckets(struct kc_gpu *, \
                                                    const struct kc_order_input<Key> *, \
                                                    struct kc_gpu_run<Key> *, uint64_t *, bool *, \
                                                    cudaEvent_t *, struct kc_error *); \
        template enum kc_status kc_gpu_order(struct kc_gpu *, int, Key *, uint32_t *, Key *, \
                                             uint32_t *, size_t, struct kc_gpu_run<Key> *, \
                                             uint64_t *, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
