/*
 * Sorting the buckets: a block loads a bucket into shared memory, distributes its pairs to
 * sub-buckets of about one pair each, sorts those, and writes the pairs to where the bucket begins.
 */
#ifndef KC_GPU_ORDER_SORT_CUH
#define KC_GPU_ORDER_SORT_CUH

#include "gpu/order/common.cuh"

template <class Key> struct sort_shared {
        enum { CAP = kc_order_size<Key>::CAP };
        Key staged[CAP];
        uint32_t counters[CAP / 2 + 4]; /* for two sub-buckets each */
        uint32_t sums[32], most;
};

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

/* The rank of a pair among the staged pairs, given its sub-bucket [from, to). */
template <class Key>
static __device__ uint32_t rank_pair(const Key *staged, Key pair, uint32_t from, uint32_t to)
{
        uint32_t rank = from;
        for (uint32_t i = from; i < to; i++)
                rank += staged[i] < pair;
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
        uint32_t at[NITEMS / 2] = {}; /* two places in each word */
        const auto place = [&](int i) { return at[i / 2] >> i % 2 * 16 & 0xffff; };
        const auto put = [&](int i, uint32_t value) {
                at[i / 2] = (at[i / 2] & 0xffff0000 >> i % 2 * 16) | value << i % 2 * 16;
        };
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
                put(i, atomicAdd(&shared->counters[sub / 2], 1u << shift) >> shift & 0xffff);
        }
        __syncthreads();
        scan_counters(shared);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++) {
                if (threadIdx.x + i * NTHREADS >= bucket.n)
                        break;
                put(i, place(i) + starts[kc_order_sub(pairs[i], scale)]);
                shared->staged[place(i)] = pairs[i];
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
                        put(i, rank_pair(shared->staged, pairs[i], from, to));
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NITEMS; i++)
                if (threadIdx.x + i * NTHREADS < bucket.n)
                        shared->staged[place(i)] = pairs[i];
        __syncthreads();
}

/* Write the bucket's k-mers and counts, from kmers[0] and counts[0] on. */
template <class Key>
static __device__ void write_bucket(const struct sort_shared<Key> *shared,
                                    const struct order_work<Key> *work,
                                    struct kc_order_bucket bucket, Key *kmers, uint32_t *counts)
{
        const Key *staged = shared->staged;
        const uint32_t prefix = kc_order_prefix(bucket);
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < bucket.n; i += NTHREADS) {
                kmers[i] = kc_order_kmer(staged[i], prefix, work->packing);
                counts[i] = kc_order_count(staged[i], work->packing);
        }
}

/* One block per bucket. Oversized buckets are sorted already. */
template <class Key>
static __global__ void __launch_bounds__(NTHREADS, 2)
        order_sort_buckets_kernel(struct order_work<Key> work, const Key *big_kmers,
                                  const uint32_t *big_counts, Key *out_kmers, uint32_t *out_counts)
{
        extern __shared__ __align__(16) unsigned char memory[];
        auto *shared = (struct sort_shared<Key> *)memory;
        const struct kc_order_bucket *at = &work.tables.buckets[blockIdx.x];
        if (at->n > sort_shared<Key>::CAP) {
                const uint32_t from = work.tables.bucket_cursors[blockIdx.x];
                for (uint32_t i = threadIdx.x; i < at->n; i += NTHREADS) {
                        out_kmers[at->start + i] = big_kmers[from + i];
                        out_counts[at->start + i] = big_counts[from + i];
                }
                return;
        }
        if (threadIdx.x == 0)
                shared->most = 0;
        for (int i = threadIdx.x; i < sort_shared<Key>::CAP / 2; i += NTHREADS)
                shared->counters[i] = 0;
        __syncthreads();
        sort_bucket(shared, work.in.kmers, *at);
        write_bucket(shared, &work, *at, out_kmers + at->start, out_counts + at->start);
}

#endif
