/*
 * From a table whose counts are final to pairs: those that the filter keeps are appended to the
 * output, and the others are counted.
 */
#ifndef KC_GPU_COUNT_DRAIN_CUH
#define KC_GPU_COUNT_DRAIN_CUH

#include "gpu/count/gather.cuh"

/*
 * Most places of a table in shared memory are empty, and the key of a place may have to be computed
 * (refs.cuh). So each warp takes two steps for every page of places: it first lists those of its
 * places whose pairs go to the output, and then all of its lanes compute and write these pairs.
 */
enum {
        PAGE_ROUNDS = 8, /* places in a page for each thread */
        PAGE_NPLACES = PAGE_ROUNDS * THREADS,
};

/* The places in a page whose pairs a warp has to write, each as | round | lane |. In shared
 * memory. */
struct kc_drain_list {
        uint8_t places[PAGE_ROUNDS * WARP];
};

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

/* Add up the pairs that the filter drops, and set their counts to 0, like those of empty places.
 * counts: the counts at the thread's places */
template <class Key>
__device__ static void kc_drain_drop(const kc_pairs_out<Key> &out, uint32_t (&counts)[PAGE_ROUNDS])
{
        uint64_t *rows = out.rows + blockIdx.x % KC_COUNT_NTALLIES * KC_RUN_NROWS;
        kc_drain_sums sums = {};
#pragma unroll
        for (uint32_t &count : counts) {
                const bool dropped = count > 0 && !kc_run_keeps(&out.filter, count);
                sums.ndistinct += dropped;
                sums.nkmers += dropped ? count : 0;
                sums.nunique += dropped && count == 1;
                if (dropped && out.rows != NULL && count > 1)
                        atomicAdd((unsigned long long *)&rows[count], 1ull);
                count = dropped ? 0 : count;
        }
        __syncwarp();
        kc_drain_add(out, sums);
}

/* List the warp's places in the page from `first` on whose pairs go to the output, and add up the
 * pairs that the filter drops. Returns how many places were listed. */
template <class Key, class Table>
__device__ static uint32_t kc_drain_choose(kc_drain_list *list, const Table &table, uint32_t first,
                                           const kc_pairs_out<Key> &out)
{
        const uint32_t nplaces = table.nplaces();
        uint32_t counts[PAGE_ROUNDS], n = 0;
#pragma unroll
        for (uint32_t round = 0; round < PAGE_ROUNDS; round++) {
                const uint32_t place = first + round * THREADS + threadIdx.x;
                Key key;
                if (place >= nplaces || !table.get(place, &key, &counts[round]))
                        counts[round] = 0;
        }
        if (!kc_run_keeps_all(&out.filter))
                kc_drain_drop(out, counts);
#pragma unroll
        for (uint32_t round = 0; round < PAGE_ROUNDS; round++) {
                const bool wanted = counts[round] > 0;
                const uint32_t all = __ballot_sync(~0u, wanted);
                if (wanted)
                        list->places[n + kc_warp_rank(all)] =
                                (uint8_t)(round * WARP + threadIdx.x % WARP);
                n += (uint32_t)__popc(all);
        }
        __syncwarp();
        return n;
}

/* Reserve room for the block's pairs; n of them are the warp's. One atomic operation adds the sum
 * over all warps to *out_n. Returns where the warp's pairs begin. */
__device__ static inline uint64_t kc_drain_reserve(kc_drain *d, uint32_t n, uint64_t *out_n)
{
        if (threadIdx.x % WARP == 0)
                d->warp_totals[threadIdx.x / WARP] = n;
        __syncthreads();
        if (threadIdx.x == 0) {
                uint32_t sum = 0;
                for (uint32_t i = 0; i < WARPS; i++) {
                        uint32_t own = d->warp_totals[i];
                        d->warp_totals[i] = sum;
                        sum += own;
                }
                d->base = atomicAdd((unsigned long long *)out_n, (unsigned long long)sum);
        }
        __syncthreads();
        return d->base + d->warp_totals[threadIdx.x / WARP];
}

/*
 * Write the pairs of the table to the output. All threads of the block call this. The block must be
 * synchronized before the call, and again before the table is changed.
 *   list  each warp has its own
 */
template <class Key, class Table>
__device__ static void kc_drain_table(kc_drain *d, kc_drain_list *list, const Table &table,
                                      const kc_pairs_out<Key> &out)
{
        const uint32_t lane = threadIdx.x % WARP, nplaces = table.nplaces();
        for (uint32_t first = 0; first < nplaces; first += PAGE_NPLACES) {
                if (first > 0)
                        __syncthreads();
                const uint32_t n = kc_drain_choose<Key>(list, table, first, out);
                const uint64_t to = kc_drain_reserve(d, n, out.n);
                for (uint32_t i = lane; i < n; i += WARP) {
                        const uint32_t at = list->places[i];
                        const uint32_t place =
                                first + at / WARP * THREADS + threadIdx.x - lane + at % WARP;
                        Key key;
                        uint32_t count;
                        if (!table.get(place, &key, &count))
                                continue; /* cannot happen: every listed place has a pair */
                        out.kmers[to + i] = key;
                        out.counts[to + i] = count;
                }
        }
}

#endif
