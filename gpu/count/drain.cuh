/*
 * From a table whose counts are final to pairs: those that the filter keeps are appended to the
 * output, and the others are counted.
 */
#ifndef KC_GPU_COUNT_DRAIN_CUH
#define KC_GPU_COUNT_DRAIN_CUH

#include "gpu/count/gather.cuh"

/* In shared memory. */
struct kc_drain {
        uint32_t warp_totals[WARPS];
        uint64_t base; /* of the block's pairs in the output */
};

/* Sums over the pairs that a thread does not output. */
struct kc_drain_sums {
        uint32_t ndistinct, nunique;
        uint64_t nkmers;
};

/* The sum of a number of each of the warp's lanes, each below 2^51. */
__device__ static inline uint64_t kc_warp_sum(uint64_t n)
{
        enum { LOW_BITS = 24 };
        const uint32_t low = (uint32_t)n & ((1u << LOW_BITS) - 1);
        return ((uint64_t)__reduce_add_sync(~0u, (uint32_t)(n >> LOW_BITS)) << LOW_BITS) +
               __reduce_add_sync(~0u, low);
}

/* Add the sums of the warp's lanes to a cell. */
template <class Key>
__device__ static void kc_drain_add(const kc_pairs_out<Key> &out, const kc_drain_sums &sums)
{
        const uint32_t warp = threadIdx.x / WARP;
        struct kc_count_cell *cell = &out.cells[(blockIdx.x * WARPS + warp) % KC_COUNT_NCELLS];
        const uint64_t all[] = { __reduce_add_sync(~0u, sums.ndistinct), kc_warp_sum(sums.nkmers),
                                 __reduce_add_sync(~0u, sums.nunique) };
        uint64_t *const to[] = { &cell->ndistinct, &cell->nkmers, &cell->nunique };
        for (int i = 0; i < 3; i++)
                if (threadIdx.x % WARP == 0 && all[i] > 0)
                        atomicAdd((unsigned long long *)to[i], (unsigned long long)all[i]);
}

/* The number of pairs that the thread will output; it adds up the others. */
template <class Key, class Table>
__device__ static uint32_t kc_drain_sum(const Table &table, const kc_pairs_out<Key> &out,
                                        kc_drain_sums *sums)
{
        uint32_t nwanted = 0;
        uint64_t *rows = out.rows + blockIdx.x % KC_COUNT_NTALLIES * KC_RUN_NROWS;
        for (uint32_t place = threadIdx.x; place < table.nplaces(); place += THREADS) {
                Key key;
                uint32_t count;
                if (!table.get(place, &key, &count))
                        continue;
                const bool dropped = !kc_run_keeps(&out.filter, count);
                nwanted += !dropped;
                sums->ndistinct += dropped;
                sums->nkmers += dropped ? count : 0;
                sums->nunique += dropped && count == 1;
                if (dropped && out.rows != NULL && count > 1)
                        atomicAdd((unsigned long long *)&rows[count], 1ull);
        }
        return nwanted;
}

/* The number of pairs that the warp's lanes will output; the others are counted. */
template <class Key, class Table>
__device__ static uint32_t kc_drain_count(const Table &table, const kc_pairs_out<Key> &out)
{
        uint32_t own = 0;
        if (kc_run_keeps_all(&out.filter)) {
                for (uint32_t place = threadIdx.x; place < table.nplaces(); place += THREADS) {
                        Key key;
                        uint32_t count;
                        own += table.get(place, &key, &count);
                }
        } else {
                kc_drain_sums sums = {};
                own = kc_drain_sum(table, out, &sums);
                __syncwarp();
                kc_drain_add(out, sums);
        }
        return __reduce_add_sync(~0u, own);
}

/* Reserve room for the block's pairs: one atomic adds the sum of all warps to *n. */
template <class Key, class Table>
__device__ static void kc_drain_reserve(kc_drain *d, const Table &table,
                                        const kc_pairs_out<Key> &out)
{
        const uint32_t total = kc_drain_count(table, out);
        if (threadIdx.x % WARP == 0)
                d->warp_totals[threadIdx.x / WARP] = total;
        __syncthreads();
        if (threadIdx.x == 0) {
                uint32_t sum = 0;
                for (uint32_t i = 0; i < WARPS; i++) {
                        uint32_t own = d->warp_totals[i];
                        d->warp_totals[i] = sum;
                        sum += own;
                }
                d->base = atomicAdd((unsigned long long *)out.n, (unsigned long long)sum);
        }
        __syncthreads();
}

/* Write the pairs of the table to the output. For the whole block, which must be synchronized
 * before, and again before the table is changed. */
template <class Key, class Table>
__device__ static void kc_drain_table(kc_drain *d, const Table &table, const kc_pairs_out<Key> &out)
{
        kc_drain_reserve<Key>(d, table, out);
        const uint32_t nplaces = table.nplaces();
        const uint64_t first = d->base + d->warp_totals[threadIdx.x / WARP];
        Key *kmers = out.kmers + first;
        uint32_t *counts = out.counts + first, n = 0;
        for (uint32_t place = threadIdx.x; place - threadIdx.x < nplaces; place += THREADS) {
                Key key;
                uint32_t count;
                const bool wanted = place < nplaces && table.get(place, &key, &count) &&
                                    kc_run_keeps(&out.filter, count);
                const uint32_t pairs = __ballot_sync(~0u, wanted);
                const uint32_t at = n + kc_warp_rank(pairs);
                if (wanted) {
                        kmers[at] = key;
                        counts[at] = count;
                }
                n += (uint32_t)__popc(pairs);
        }
}

#endif
