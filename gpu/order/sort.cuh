/*
 * Sorting the buckets: a block loads a bucket into shared memory, distributes its pairs to
 * sub-buckets of about one pair each, sorts those, and writes each k-mer once, with the sum of its
 * counts.
 */
#ifndef KC_GPU_ORDER_SORT_CUH
#define KC_GPU_ORDER_SORT_CUH

#include "gpu/order/common.cuh"

template <class Key> struct sort_shared {
        enum { CAP = kc_order_size<Key>::CAP };
        Key staged[CAP];
        uint32_t counters[CAP / 2 + 4]; /* for two sub-buckets each */
        uint32_t sums[32], heads[CAP / 32];
        uint32_t bucket, before, most, nheads;
};

/* States of a bucket in the look-back: its own sum is known, or the sum of all so far. */
enum { LOOK_SUM = 1, LOOK_ALL = 2 };

/* Publish the number of k-mers of bucket b; returns the number in all buckets before. For one warp.
 * Look-back as in Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back
 * (2016). */
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

/* Sort n pairs in place, whatever their distribution; for buckets with crowded sub-buckets. Pads
 * the array to a power of two. */
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

/* Turn the sizes of sub-buckets, two per word, into their starts; shared->most is the largest
 * size. */
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

/* The rank of the pair at position `at` of the staged pairs, given its sub-bucket [from, to). */
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

/* Load the bucket from device memory, and sort it in shared->staged. */
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

/* Whether sorted pair i is the first of its k-mer. */
template <class Key>
static __device__ bool is_head(const Key *staged, uint32_t i, struct kc_order_packing packing)
{
        return i == 0 || !kc_order_same(staged[i], staged[i - 1], packing);
}

/* The sum of the counts of the k-mer whose pairs begin at i. */
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

/* For each group of 32 pairs, compute where its heads go in the bucket's part of the run; nheads is
 * the number of all heads. */
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

/* Write the bucket's k-mers and counts, from kmers[0] and counts[0] on. */
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
                counts[to] =
                        sum_counts(staged, i, bucket.n, work->packing, &work->tables.state->cut);
        }
}

template <class Key>
static __global__ void __launch_bounds__(NTHREADS, 2)
        order_sort_buckets_kernel(struct order_work<Key> work, const Key *big_kmers,
                                  const uint32_t *big_counts, Key *out_kmers, uint32_t *out_counts)
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

#endif
